"""What commands read: conversations in files or standard input, and values on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from memstrata.errors import InvalidInput

__all__ = [
    "Group",
    "Line",
    "assignments",
    "filters",
    "groups",
    "json_document",
    "read",
    "read_text",
]

GROUP = 1000
"""How many messages are stored in one call."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a file: the line it stands on, and what the engine is given."""

    number: int
    message: Any
    session: Any = None
    problem: str | None = None
    """Why the line is no message, if it is none."""

    def spoken(self, said: Mapping[str, str]) -> Line:
        """The same line; where it does not say who speaks, as `said`."""
        own: Any = {"content": self.message} if isinstance(self.message, str) else self.message
        return replace(self, message={**said, **own}) if said and isinstance(own, dict) else self


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that are stored in one call, all of one session."""

    session: Any
    lines: Sequence[Line]


def read_text(source: str) -> str:
    """The whole text of a file, or of standard input for `-`."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{source}: cannot be read: {error.strerror or error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{_called(source)}, line {line}: this is no UTF-8 text") from error


def _called(source: str) -> str:
    return "standard input" if source == "-" else source


def read(source: str, *, plain: bool = False) -> list[Line]:
    """The messages of a file: JSON lines, a JSON document, or plain text with one on each line.

    A message in JSON may say its `session_id`. Blank lines are left out.
    """
    text = read_text(source)
    lines = _texts(text)
    if plain or not text.lstrip().startswith(("{", "[")):
        return [Line(number, line) for number, line in lines]
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return _json_lines(lines, source)
    return [_line(number, item) for number, item in enumerate(_listed(document), 1)]


def _texts(text: str) -> list[tuple[int, str]]:
    # Not splitlines(): it also splits at characters that stand inside JSON texts.
    numbered = enumerate((line.strip() for line in text.split("\n")), 1)
    return [(number, line) for number, line in numbered if line]


def _json_lines(lines: Sequence[tuple[int, str]], source: str) -> list[Line]:
    number, first = lines[0]
    if not isinstance(_parsed(first), Mapping):
        if first.startswith("["):  # a log such as `[10:05] Ana: hello`
            return [Line(number, line) for number, line in lines]
        raise InvalidInput(
            f"{_called(source)}, line {number} begins like JSON and is none: give one message as "
            "JSON on each line, or --plain for text as it stands"
        )
    return [
        Line(number, line, problem="this is no JSON")
        if (item := _parsed(line)) is None
        else _line(number, item)
        for number, line in lines
    ]


def _parsed(line: str) -> Any:
    """The JSON value of a line, None if it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _listed(document: Any) -> list[Any]:
    """The messages of one JSON document: a list, one message, or a mapping with `messages`."""
    if isinstance(document, list):
        return cast("list[Any]", document)
    whole = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    inner, session = whole.get("messages"), whole.get("session_id")
    if not isinstance(inner, list):
        return [document]
    return [
        {"session_id": session, **item} if session and isinstance(item, Mapping) else item
        for item in cast("list[Any]", inner)
    ]


def _line(number: int, item: Any) -> Line:
    if not isinstance(item, Mapping):
        return Line(number, item)
    message = dict(cast("Mapping[str, Any]", item))
    session = message.pop("session_id", None)
    return Line(number, message, session)


def groups(lines: Sequence[Line], *, session: str | None, size: int = GROUP) -> Iterator[Group]:
    """The lines in runs of one session, at most `size` each; `session` is the default one."""
    start = 0
    for place, line in enumerate(lines):
        same = (line.session or session) == (lines[start].session or session)
        if place > start and (not same or place - start == size):
            yield Group(lines[start].session or session, lines[start:place])
            start = place
    if lines:
        yield Group(lines[start].session or session, lines[start:])


def assignments(given: Iterable[str], what: str) -> dict[str, Any]:
    """`key=text` and `key:=JSON` as a mapping."""
    values: dict[str, Any] = {}
    for item in given:
        key, equals, value = item.partition("=")
        is_json = key.endswith(":")
        name = key.removesuffix(":").strip()
        if not equals or not name:
            raise InvalidInput(f"{what}: {item!r} is no key=text and no key:=JSON")
        values[name] = json_document(value, f"{what} {name}") if is_json else value
    return values


def json_document(text: str, what: str) -> Any:
    """A JSON value given on the command line."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{what} is no JSON: {error}") from error


def filters(text: str | None) -> Mapping[str, Any] | None:
    """A filter given as JSON."""
    return None if text is None else json_document(text, "--filters")
