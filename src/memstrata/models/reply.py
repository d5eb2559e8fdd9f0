"""What a reply of a language model holds: the object that was asked for, or what is wrong with it.

Models wrap an object in fences, prose, tool calls and reasoning, write drafts before it, and echo
what they were shown. The last object that answers counts; what stands in reasoning never does, and
neither does an earlier draft when the last word is broken.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.fields import FieldInfo

from memstrata.models.loose import Loose, read_json
from memstrata.records import JsonObject

__all__ = ["Malformed", "Unfit", "fitted", "read_as", "sift"]

T = TypeVar("T", bound=BaseModel)

_SHOWN = 5
_LEVELS = 6
"""Of wrappers around the object."""
_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think"
_OPENS = (
    rf"<(?:{_NAMES})(?:\s[^<>]{{0,80}})?>|\[think\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|START_THINKING\|>|<\|channel\|>\s*analysis"
)
_CLOSES = (
    rf"</(?:{_NAMES})\s*>|\[/think\]|◁/think▷|<\|end_of_thought\|>"
    r"|<\|END_THINKING\|>|<\|channel\|>\s*(?:final|commentary)"
)
_FIRST = r"(?:\A|```[\w-]*)\s*(?=[\[［])"
"""Before a list that begins a text or a fence; elsewhere `[1]` is a footnote."""
_BEGINS = (
    r"""[{｛](?=\s*(?:["'“”＂‘’]|[A-Za-z_]\w*\s*[:：]|//|/\*|\Z))"""
    r"|[\[［](?=\s*(?:[{\[｛［]|\Z))"
)
_MARK = re.compile(
    rf"(?P<opens>{_OPENS})|(?P<closes>{_CLOSES})|(?P<first>{_FIRST})|(?P<begins>{_BEGINS})", re.I
)
_CLOSE = re.compile(_CLOSES, re.I)
_AFTER = re.compile(r"\s*(?=[\[［])")
_JSON = re.compile(r"\s*(?=[{\[])")
_CALL = {"arguments", "parameters", "args", "input"}
_OF_CALL = _CALL | {"name", "function", "tool", "tool_name", "id", "call_id", "type", "index"}
_OF_SCHEMA = {"$schema", "$defs", "$ref", "properties"}
_WORD = re.compile(r"[A-Za-z_]\w{0,39}")


class Malformed(Exception):
    """A reply does not hold what was asked for.

    Its text tells a model what to do about it. It never quotes the reply: it is kept as the reason
    of a failed batch, which outlives what is forgotten.
    """


class Unfit(NamedTuple):
    """An item of a list that is not what was asked for, among others that may be."""

    place: int
    """In the list, from 0."""
    value: JsonValue
    reason: str


def read_as(text: str, shape: type[T], *, echoes: Sequence[JsonObject] = ()) -> T:
    """The object of a shape that a reply holds; raises `Malformed`. In linear time.

    `echoes` are objects the model was shown as examples: given back unchanged, they are no answer.
    An object that names none of the shape's fields is none either, even if all have defaults; a
    list stands for the object if the shape has exactly one list, and its items fit.
    """
    inner = _of_string(text)
    found, unended = _found(text if inner is None else inner)
    # Who has begun to think again may have been about to say something else.
    for one in reversed([] if unended else found):
        if one.problem is not None:
            raise Malformed(f"the JSON cannot be read: {one.problem}")
        answer = _answer(one.value, shape, echoes)
        if answer is not None:
            return answer
    raise Malformed(_nothing(text, shape, found, unended))


def fitted(value: object, shape: type[T]) -> T:
    """A value as an instance of a shape; raises `Malformed` naming every field that is wrong."""
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise Malformed(_in_words(error)) from None


def sift(items: Sequence[JsonValue], shape: type[T]) -> tuple[list[tuple[int, T]], list[Unfit]]:
    """The items of a list that fit a shape, with their places, and the others.

    For a field of a reply that is typed `list[JsonValue]`, so that one bad item does not cost the
    good ones::

        reply = read_as(text, Memories)
        good, bad = sift(reply.memories, Memory)
    """
    good: list[tuple[int, T]] = []
    bad: list[Unfit] = []
    for index, item in enumerate(items):
        try:
            good.append((index, fitted(item, shape)))
        except Malformed as error:
            bad.append(Unfit(index, item, str(error)))
    return good, bad


# ── finding ──────────────────────────────────────────────────────────────────────────────────


def _of_string(text: str) -> str | None:
    """What a reply holds that is, as a whole, a JSON string: JSON in JSON."""
    stripped = text.strip()
    if not stripped.startswith('"'):
        return None
    try:
        inner = json.loads(stripped, strict=False)
    except ValueError:
        return None
    return inner if isinstance(inner, str) else None


def _found(text: str) -> tuple[list[Loose], bool]:
    """The objects and lists outside reasoning, and whether reasoning was left open."""
    found: list[Loose] = []
    closings = [(mark.start(), mark.end()) for mark in _CLOSE.finditer(text)]
    at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        start: int | None = None
        if mark["opens"]:
            place = bisect_left(closings, (at, at))
            if place == len(closings):
                return found, True
            at = closings[place][1]
        elif mark["closes"]:
            # Some templates open the reasoning in the prompt: all that came was it.
            found.clear()
        else:
            start = at if mark["begins"] is None else mark.start()
        if start is None and (begins := _AFTER.match(text, at)):
            start = begins.end()
        if start is None:
            continue
        one = read_json(text, start)
        if one.problem is not None and closings and closings[-1][0] >= start:
            # To the last one: to be tried again at each would not be linear.
            at = closings[-1][0]
        else:
            at = one.end
            found.append(one)
    return found, False


# ── fitting ──────────────────────────────────────────────────────────────────────────────────


def _answer(value: Any, shape: type[T], echoes: Sequence[JsonObject]) -> T | None:
    """The instance in a value or its wrappers; None if it is about something else."""
    names = _names(shape)
    for level in range(_LEVELS):
        value = _of_json(value) if isinstance(value, str) else value
        if value in echoes or not isinstance(value, (dict, list)):
            return None
        inner = _of_call(value, names)
        if inner is None and isinstance(value, dict):
            offer = cast("JsonObject", value)
            if offer.keys() & (_OF_SCHEMA - names):
                return None
            if offer.keys() & names:
                return fitted(offer, shape)
        elif inner is None and (level == 0 or _objects(value)):
            answer = _of_list(cast("list[Any]", value), shape)
            if answer is not None:
                return answer
        value = _only(value) if inner is None else inner
    return None


def _objects(items: Any) -> bool:
    """Whether a list within something may be the one asked for: of what else are texts a list?"""
    return bool(items) and all(isinstance(item, dict) for item in items)


def _only(value: Any) -> Any:
    """The one thing an object or list holds."""
    held = cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    return next(iter(held)) if len(held) == 1 else None


def _of_call(value: Any, names: set[str]) -> Any:
    """The arguments of a tool call; None if it is none."""
    if not isinstance(value, dict):
        return None
    call = cast("dict[str, Any]", value)
    if not call.keys() <= _OF_CALL or call.keys() & (_CALL & names):
        return None
    if isinstance(call.get("function"), dict):
        return call["function"]
    for key in sorted(call.keys() & _CALL):
        inner = call[key]
        if isinstance(inner, (dict, list)) or (isinstance(inner, str) and _JSON.match(inner)):
            return cast("Any", inner)
    return None


def _of_json(text: str) -> Any:
    begins = _JSON.match(text)
    read = read_json(text, begins.end()) if begins else None
    return None if read is None or read.problem is not None else read.value


def _of_list(items: list[Any], shape: type[T]) -> T | None:
    """A bare list as the one list of a shape; raises `Malformed` if objects in it do not fit."""
    lists = [(name, one) for name, one in shape.model_fields.items() if _item(one) is not None]
    if len(lists) != 1:
        return None
    name, one = lists[0]
    name = one.alias or name
    objects = [cast("JsonObject", item) for item in items if isinstance(item, dict)]
    if any(name in item or _of_call(item, {name}) is not None for item in objects):
        return None
    untyped = _item(one) in (Any, JsonValue, object)
    if len(objects) < len(items):
        return None if untyped else _of_texts(items, name, shape)
    if len(items) == 1 and not untyped:
        return _of_texts(items, name, shape)
    return fitted({name: items}, shape)


def _of_texts(items: list[Any], name: str, shape: type[T]) -> T | None:
    """The same, where what does not fit may be a wrapper, or a footnote."""
    try:
        return fitted({name: items}, shape)
    except Malformed:
        return None


def _item(field: FieldInfo) -> Any:
    """What a field is a list of; None if it is no list."""
    kinds: tuple[Any, ...] = (field.annotation,)
    if get_origin(field.annotation) in (Union, UnionType):
        kinds = get_args(field.annotation)
    for kind in kinds:
        if kind is list or get_origin(kind) in (list, tuple, Sequence):
            return (*get_args(kind), Any)[0]
    return None


def _names(shape: type[BaseModel]) -> set[str]:
    fields = shape.model_fields.items()
    return {name for name, _ in fields} | {one.alias for _, one in fields if one.alias}


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def _nothing(text: str, shape: type[BaseModel], found: list[Loose], unended: bool) -> str:
    fields = ", ".join(one.alias or name for name, one in shape.model_fields.items())
    if not text.strip():
        return f"the reply is empty: it must be one JSON object with the fields {fields}"
    if unended:
        return "the reply has no answer after its reasoning: end the reasoning, then answer"
    if found:
        return f"the reply holds no JSON object that answers: its fields must be {fields}"
    return f"the reply holds no JSON object: it must be one with the fields {fields}"


def _in_words(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{_place(one['loc'])}: {one['msg']}" for one in errors[:_SHOWN]]
    if len(errors) > _SHOWN:
        lines.append(f"and {len(errors) - _SHOWN} more")
    return "; ".join(lines)


def _place(loc: tuple[int | str, ...]) -> str:
    """Where it is wrong; what may be words of the reply, and not of the shape, is left out."""
    parts = [str(part) for part in loc if isinstance(part, int) or _WORD.fullmatch(part)]
    return ".".join(parts) or "the object"
