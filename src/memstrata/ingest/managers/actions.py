"""What a manager writes: its form, and the proposals in it that are sound. Pure.

What is refused is noted with its batch, so that no reason repeats what a model wrote.

A reply is read action by action. One that names no message that was shown, a kind it was not asked
for, or a memory it was not shown, is refused by itself, with the reason; the others hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from memstrata.ingest.managers.dates import absolute, interval_of, settled
from memstrata.ingest.managers.shown import Known
from memstrata.ingest.managers.units import Line, Unit
from memstrata.ingest.narrate import sentences
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.standing import restore
from memstrata.kinds import KINDS, KindModel, Semantic, Stated, explain, kind_of, text_of
from memstrata.kinds.attributes import Language, find
from memstrata.records import TRUST_RANK, Evidence, JsonObject, Record, Trust
from memstrata.text.analyse import repair, terms
from memstrata.text.clean import shorten

__all__ = [
    "Actions",
    "Drafted",
    "Routing",
    "actions_schema",
    "drafted",
    "numbers_in",
    "routing_schema",
]

Op = Literal["create", "supersede", "correct", "revise", "retire", "skip"]
_OPS: Mapping[str, Op] = {
    **{name: name for name in ("create", "supersede", "correct", "revise", "retire", "skip")},
    **dict.fromkeys(("add", "insert", "new"), "create"),
    **dict.fromkeys(("update", "modify", "merge", "append"), "revise"),
    **dict.fromkeys(("replace", "change"), "supersede"),
    **dict.fromkeys(("delete", "remove", "end", "invalidate"), "retire"),
    **dict.fromkeys(("none", "noop", "no_op", "ignore", "keep"), "skip"),
}
"""What models call an operation, whatever they were told."""
_ALIAS = re.compile(r"[a-z]{0,2}\d{1,3}", re.IGNORECASE)
_PROSE = frozenset({"sentence", "name", "summary", "details", "value", "line", "caption"})
"""What is told in words, whose dates are made absolute; the rest are names, and what is copied."""
_QUOTE = 280
_NUMBER = re.compile(r"(?<![\d.-])[0-9]{1,4}(?![\d-]|\.\d)")
_NO_NUMBER = 10_000
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*([%％])?")
_LONGEST = 2000
"""Characters of what one memory may say; a document is not written by a model."""


class Actions(BaseModel):
    """A manager's reply; each memory is checked by itself."""

    model_config = ConfigDict(extra="ignore")

    title: JsonValue = None
    summary: JsonValue = None
    memories: list[JsonValue] = Field(max_length=200)


class Routing(BaseModel):
    """The Meta Memory Manager's reply."""

    model_config = ConfigDict(extra="ignore")

    title: JsonValue = None
    summary: JsonValue = None
    kinds: list[JsonValue] = Field(max_length=50)


def actions_schema(
    kinds: Sequence[str], numbers: int, aliases: Sequence[str], *, told: bool, most: int = 40
) -> JsonObject:
    """The JSON schema of `Actions` for some kinds, with at most so many memories; `told` asks for
    title and summary.
    """
    forms: list[JsonValue] = [_form(kind, numbers, aliases) for kind in kinds]
    items: JsonObject = {"anyOf": forms} if len(forms) > 1 else cast("JsonObject", forms[0])
    memories: JsonObject = {"type": "array", "items": items, "maxItems": most}
    return _object({"memories": memories, **(_told() if told else {})})


def routing_schema(kinds: Sequence[str], numbers: int) -> JsonObject:
    """The JSON schema of `Routing`."""
    one = _object({"kind": {"type": "string", "enum": [*kinds]}, "from": _numbers(numbers)})
    return _object({**_told(), "kinds": {"type": "array", "items": one, "maxItems": len(kinds)}})


def _told() -> JsonObject:
    return {"title": {"type": "string"}, "summary": {"type": "string"}}


def _numbers(most: int) -> JsonObject:
    return {
        "type": "array",
        "items": {"type": "integer", "minimum": 1, "maximum": most},
        "minItems": 1,
        "maxItems": min(most, 12),
    }


def _form(kind: str, numbers: int, aliases: Sequence[str]) -> JsonObject:
    """Where nothing is known that could be meant, only new memories can be written."""
    model = KINDS[kind]
    ops = sorted(set(_OPS.values())) if aliases else ["create"]
    always: JsonObject = {
        "kind": {"type": "string", "const": kind},
        "op": {"type": "string", "enum": [*ops]},
        "from": _numbers(numbers),
    }
    target: JsonObject = {"target": {"type": "string", "enum": [*aliases]}} if aliases else {}
    optional: JsonObject = {
        "when": {"type": "string"},
        "until": {"type": "string"},
        "confidence": {"type": "number"},
    }
    required = [*always, *model.needs]
    return _object({**always, **target, **model.draft, **optional}, required)


def _object(properties: JsonObject, required: Sequence[str] | None = None) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": [*(properties if required is None else required)],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Drafted:
    """What of a reply is sound, and what is not, with reasons."""

    proposals: tuple[Proposal, ...]
    refused: tuple[str, ...]


class _Refused(Exception):
    """One action is not sound; its text says why."""


def drafted(
    given: Sequence[JsonValue],
    unit: Unit,
    known: Known,
    kinds: Sequence[str],
    language: Language,
) -> Drafted:
    """The proposals of a reply's memories, each checked by itself; `kinds` were asked for."""
    proposals: list[Proposal] = []
    refused: list[str] = []
    reader = _Reader(unit, known, kinds, language)
    for place, item in enumerate(given, 1):
        try:
            proposals += reader.read(_repaired(item))
        except _Refused as reason:
            refused.append(f"memory {place}: {reason}")
        refused += [f"memory {place}: {note}" for note in reader.notes]
        reader.notes.clear()
    return Drafted(tuple(proposals), tuple(refused))


def _repaired(value: JsonValue) -> JsonValue:
    """Without what no store can hold: NUL, and halves of pairs that JSON can spell."""
    if isinstance(value, str):
        return repair(value)[0]
    if isinstance(value, list):
        return [_repaired(one) for one in value]
    if isinstance(value, dict):
        return {repair(key)[0]: _repaired(one) for key, one in value.items()}
    return value


class _Reader:
    """Reads the actions of one reply."""

    def __init__(self, unit: Unit, known: Known, kinds: Sequence[str], language: Language) -> None:
        self.lines = {line.number: line for line in unit.lines}
        self.known = known
        self.zone: tzinfo = known.zone
        self.kinds = kinds
        self.language: Language = language
        self.notes: list[str] = []

    def read(self, item: JsonValue) -> list[Proposal]:
        if not isinstance(item, dict):
            raise _Refused("it is no object")
        op = self._op(item)
        lines = self._lines(item.get("from"))
        target = self._target(item)
        if op in ("retire", "skip", "revise") and target is None:
            raise _Refused(f"{op} needs a target that was shown")
        if op in ("retire", "skip"):
            assert target is not None
            return [self._about(op, target, lines)]
        kind = self._kind(item, target)
        record = self._record(kind, item, lines)
        evidence = _evidence(lines, record.body())
        proposal = Proposal(
            op=self._form(op, record, target),
            record=record,
            evidence=evidence,
            said_at=max(line.message.occurred_at for line in lines),
            replaces=self._replaced(item, record, target),
            reason=f"{kind} manager",
            target=target.id if target is not None else None,
        )
        return [proposal]

    def _form(
        self, op: Op, record: KindModel, target: Record | None
    ) -> Literal["create", "supersede", "correct", "revise"]:
        """Of another kind than its target a memory stands beside it.

        Where there may be several values, nothing says which a correction without target means.
        """
        if target is not None and target.kind != record.name_of_kind:
            return "create"
        if op == "correct" and target is None and isinstance(record, Semantic):
            attribute = find(record.attribute or "")
            return "correct" if attribute and attribute.exclusive else "create"
        return op if op in ("supersede", "correct", "revise") else "create"

    def _op(self, item: Mapping[str, JsonValue]) -> Op:
        given = str(item.get("op") or item.get("action") or item.get("event") or "create")
        op = _OPS.get(given.strip().casefold())
        if op is None:
            raise _Refused(f"its op is none of {', '.join(sorted(set(_OPS.values())))}")
        return op

    def _lines(self, given: JsonValue) -> list[Line]:
        numbers = numbers_in(given)
        if not numbers and len(self.lines) == 1:
            return [*self.lines.values()]  # there is but one that it can rest on
        lines = [self.lines[number] for number in dict.fromkeys(numbers) if number in self.lines]
        if not lines:
            shown = ", ".join(map(str, self.lines))
            raise _Refused(f'"from" names none of the new messages: use their numbers, {shown}')
        return lines

    def _target(self, item: Mapping[str, JsonValue]) -> Record | None:
        alias = text_of(item.get("target"))
        if alias is None or alias.casefold() in ("none", "null", "n/a", "new"):
            return None
        record = self.known.aliases.get(alias.strip("[]()").casefold())
        if record is None:
            shown = f" {alias}" if _ALIAS.fullmatch(alias) else ""
            self.notes.append(f"its target{shown} was not shown")
        return record

    def _kind(self, item: Mapping[str, JsonValue], target: Record | None) -> str:
        given = text_of(item.get("kind"))
        kind = given.casefold() if given else target.kind if target else self.kinds[0]
        kind = kind.removesuffix("_memory").removesuffix(" memory")
        if kind not in self.kinds:
            raise _Refused(f"its kind is none of {', '.join(self.kinds)}")
        return kind

    def _about(self, op: Op, target: Record, lines: Sequence[Line]) -> Proposal:
        """That a known memory was said again, or is no longer so."""
        return Proposal(
            op="retire" if op == "retire" else "support",
            record=restore(target).model.model_copy(update={"trust": _trust(lines)}),
            evidence=_evidence(lines, target.text),
            said_at=max(line.message.occurred_at for line in lines),
            reason=f"{target.kind} manager",
            target=target.id,
        )

    def _record(self, kind: str, item: Mapping[str, JsonValue], lines: Sequence[Line]) -> KindModel:
        said_at = max(line.message.occurred_at for line in lines)
        given = {
            key: self._absolute(value, said_at) if key in _PROSE else value
            for key, value in item.items()
        }
        words = " ".join(line.text for line in lines)
        until = interval_of(item.get("until"), said_at, self.zone)
        text = str(given.get("summary") or given.get("sentence") or words)
        span = self._when(item, lines, text, until)
        stated = Stated(
            fields=given,
            texts=tuple(line.message.content for line in lines),
            said_at=said_at,
            start=span[0] if span else None,
            end=span[1] if span else None,
            until=until[0] if until else None,
            language=self.language,
        )
        try:
            record = kind_of(kind).drafted(stated)
        except ValidationError as error:
            raise _Refused(explain(error)) from error
        except ValueError as error:
            raise _Refused(str(error)) from error
        if kind != "resource" and len(record.body()) > _LONGEST:
            raise _Refused(f"it is longer than {_LONGEST} characters")
        common = {"confidence": _confidence(item.get("confidence")), "trust": _trust(lines)}
        return record.model_copy(update=common)

    def _absolute(self, value: JsonValue, said_at: datetime) -> JsonValue:
        return absolute(value, said_at, self.zone) if isinstance(value, str) else value

    def _when(
        self,
        item: Mapping[str, JsonValue],
        lines: Sequence[Line],
        text: str,
        until: tuple[datetime, datetime] | None,
    ) -> tuple[datetime, datetime] | None:
        said_at = max(line.message.occurred_at for line in lines)
        stated = interval_of(item.get("when") or item.get("date"), said_at, self.zone)
        quotes = {item.source_id: item.quote or "" for item in _evidence(lines, text)}
        messages = {line.message.id: line.message for line in lines}
        spans = [
            span
            for message in messages.values()
            for span in message.spans
            if span.text
            and span.text in quotes[message.id]
            # The day that something ended says nothing of when it began.
            and (until is None or not span.start <= until[0] < span.end)
        ]
        return settled(stated, spans)

    def _replaced(
        self, item: Mapping[str, JsonValue], record: KindModel, target: Record | None
    ) -> str | None:
        """The old line of a block, or the value of the fact that is meant."""
        old = text_of(item.get("old"))
        if old is None and target is not None and target.kind == record.name_of_kind:
            old = Semantic.claim(target).value or None
        return old


def numbers_in(given: JsonValue) -> list[int]:
    """The numbers of messages, however they are written: 1, "1", "[1]", [1, "2"]; no dates."""
    if isinstance(given, list):
        return [number for one in given for number in numbers_in(one)]
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return []
    if isinstance(given, str):
        return [int(found) for found in _NUMBER.findall(given)]
    return [int(given)] if 0 < given < _NO_NUMBER and given == int(given) else []


def _confidence(given: JsonValue) -> float:
    """As it was given, within bounds; percent are taken for what they are."""
    if isinstance(given, str) and (found := _SHARE.fullmatch(given.strip())):
        given = float(found[1]) / (100 if found[2] else 1)
    number = given if isinstance(given, int | float) and not isinstance(given, bool) else 0.8
    if number != number:  # no number at all
        return 0.8
    if not 0 <= number <= 100:
        return 0.1 if number < 0 else 1.0
    return max(number / 100 if number > 1 else float(number), 0.1)


def _trust(lines: Sequence[Line]) -> Trust:
    """Within one derivation the lowest counts."""
    return min((line.message.trust for line in lines), key=lambda trust: TRUST_RANK[trust])


def _evidence(lines: Sequence[Line], text: str) -> tuple[Evidence, ...]:
    """The messages it rests on, each with the sentence that is most like it."""
    found: dict[str, Evidence] = {}
    said: Any = frozenset(terms(text))
    for line in lines:
        parts = sentences(line.text) or [line.text]
        best = max(parts, key=lambda part: len(said & frozenset(terms(part))))
        quote = best if len(parts) == 1 or said & frozenset(terms(best)) else None
        quote = quote and shorten(quote, _QUOTE).removesuffix("…" if len(quote) > _QUOTE else "")
        found.setdefault(line.message.id, Evidence(source_id=line.message.id, quote=quote))
    return tuple(found.values())
