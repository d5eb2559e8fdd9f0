"""How many: distinct things with evidence, or a clear "cannot tell".

What was stored is a lower bound of what is so, and a number somebody said may be old. So a number
is given only where records tell the things apart, or somebody stated it outright, and where both
are there one must not contradict the other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from memstrata.kinds import KINDS
from memstrata.kinds.attributes import ATTRIBUTES
from memstrata.recall.count_question import (
    MEASURES_HAN,
    MINE,
    USER,
    Asked,
    content_terms,
    understand,
)
from memstrata.recall.plan import Plan
from memstrata.records import Evidence, Hit, Message, Record, micros
from memstrata.text.analyse import QueryTerm, fold, terms
from memstrata.text.lexicon import NUMBER_WORDS
from memstrata.text.names import normal_form

__all__ = ["Count", "Counted", "count_things"]

_SURE = 0.5
"""The confidence from which a record counts."""
_MATCH = 0.6
"""The share of the question's terms a record of an event must have."""


class Counted(BaseModel):
    """One of the things counted, and the records or messages that show it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    ids: list[str]
    evidence: list[Evidence] = Field(default_factory=list[Evidence])


class Count(BaseModel):
    """How many there are, as far as memory can tell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: int | None
    """`None`: cannot tell."""
    items: list[Counted] = Field(default_factory=list[Counted])
    note: str
    """What the number rests on, or why there is none."""


def count_things(query: str, hits: Sequence[Hit], plan: Plan, zone: tzinfo = UTC) -> Count:
    """Count what a question asks the number of, among what was found for it; days are `zone`'s.

    Things are counted from facts about one subject, times from events; a message counts only
    where it states the number outright.
    """
    asked = understand(query, hits, plan)
    if asked is None:
        return Count(value=None, note="cannot tell: the question does not say what to count")
    by_subject = _things(asked, hits, plan) if not (asked.times or asked.amount) else {}
    if len(by_subject) > 1:
        named = ", ".join(sorted(by_subject))
        items = [item for found in by_subject.values() for item in found]
        note = f"cannot tell: the question names nobody, and there is more than one ({named})"
        return Count(value=None, items=items, note=note)
    found = [item for items in by_subject.values() for item in items]
    if asked.times:
        found = _times(asked, hits, plan, zone)
    return _verdict(asked, found, list(_stated(asked, hits, zone)))


# ── whose, and whether it counts ────────────────────────────────────────────────────────────────


def _owned(asked: Asked, about: object) -> bool:
    """Whether a record about this subject or actor answers for the one asked about."""
    if asked.owner is None:
        return True
    subject = normal_form(about) if isinstance(about, str) and about.strip() else ""
    if asked.mine and (subject == "" or subject in USER):
        return True
    return asked.owner != "" and asked.owner in (subject, subject.partition(" ")[0])


def _counts(record: Record) -> bool:
    return (
        record.lifecycle == "current"
        and record.confidence >= _SURE
        and record.fields.get("polarity") is not False
        and not KINDS[record.kind].is_derived(record)
    )


def _inside(record: Record, plan: Plan) -> bool:
    """Whether the record falls into the time the question names; undated ones do not."""
    if plan.window is None:
        return True
    when = record.occurred_at or record.valid_from
    return when is not None and plan.window[0] <= micros(when) < plan.window[1]


# ── things: facts ────────────────────────────────────────────────────────────────────────────

_GATHERS: dict[str, tuple[str, ...]] = {
    "pet 宠物": ("has_pet", "pet"),
    "child children kid kids 孩子 小孩 子女": ("son", "daughter", "child"),
    "sibling siblings 兄弟姐妹": ("brother", "sister", "sibling"),
    "parent parents 父母": ("mother", "father"),
    "language languages 语言 外语": ("speaks",),
    "allergy allergies 过敏": ("allergic_to",),
    "place places 地方": ("visited",),
    "sister sisters 姐妹": ("sister",),
    "brother brothers 兄弟": ("brother",),
    "friend friends 朋友": ("friend",),
}


@lru_cache(maxsize=1)
def _gathered() -> dict[frozenset[str], frozenset[str]]:
    """The terms of a noun to the attributes whose values are all of that sort."""
    table = {
        content_terms(word): frozenset(attributes)
        for words, attributes in _GATHERS.items()
        for word in words.split()
    }
    for name in ATTRIBUTES:
        table.setdefault(content_terms(name.replace("_", " ")), frozenset({name}))
    table.pop(frozenset(), None)
    return table


_NAMED_BY = {"has_pet": "pet"}
"""Attributes that say the sort, and those that name what is of it."""


def _things(asked: Asked, hits: Sequence[Hit], plan: Plan) -> dict[str, list[Counted]]:
    """By subject, the distinct values of facts whose attribute or value is what is asked for.

    Of several subjects only those the question has in its words, if there are such.
    """
    gathered = _gathered().get(asked.thing, frozenset[str]())
    found: dict[str, list[tuple[str, Record, Hit]]] = {}
    for hit in hits:
        record = hit.record
        if record is None or not _counts(record) or not _inside(record, plan):
            continue
        value = record.fields.get("value")
        about = record.fields.get("subject")
        if not isinstance(value, str) or not _owned(asked, about) or _is_number(value):
            continue
        if record.fields.get("attribute") in gathered or _acts_on(asked, record, value):
            key = "user" if asked.mine else normal_form(str(about or "")) or "user"
            found.setdefault(key, []).append((value, record, hit))
    named = {subject: rows for subject, rows in found.items() if subject in asked.query}
    chosen: Mapping[str, list[tuple[str, Record, Hit]]] = named or found
    return {subject: list(_distinct(_unnamed_only(rows))) for subject, rows in chosen.items()}


def _unnamed_only(rows: list[tuple[str, Record, Hit]]) -> list[tuple[str, Record, Hit]]:
    """Without what only says the sort of something that is there by its name as well."""
    naming: dict[object, set[tuple[str, str | None]]] = {}
    for _, record, hit in rows:
        naming.setdefault(record.fields.get("attribute"), set()).update(_places(record, hit))
    return [
        (value, record, hit)
        for value, record, hit in rows
        if not naming.get(_NAMED_BY.get(str(record.fields.get("attribute"))), set())
        & _places(record, hit)
    ]


def _places(record: Record, hit: Hit) -> set[tuple[str, str | None]]:
    return {(place.source_id, place.quote) for place in (hit.evidence or record.evidence)}


def _acts_on(asked: Asked, record: Record, value: str) -> bool:
    """Whether the value is such a thing, and the fact says of it what the question says."""
    if not asked.thing <= set(terms(value)):
        return False
    said = set(terms(f"{record.text} {str(record.fields.get('attribute', '')).replace('_', ' ')}"))
    return _share(asked.act, said) >= _MATCH or not asked.act


def _share(wanted: Sequence[QueryTerm], said: Collection[str]) -> float:
    whole = sum(word.weight for word in wanted)
    return sum(word.weight for word in wanted if word.term in said) / whole if whole else 0.0


def _distinct(rows: Sequence[tuple[str, Record, Hit]]) -> Iterator[Counted]:
    """One item for values that are the same, or of which one says less of the same thing."""
    groups: list[tuple[frozenset[str], list[tuple[str, Record, Hit]]]] = []
    for row in sorted(rows, key=lambda row: -len(_value_terms(row[0]))):
        own = _value_terms(row[0])
        for known, members in groups:
            if own <= known:
                members.append(row)
                break
        else:
            groups.append((own, [row]))
    for _, members in groups:
        yield _counted(members[0][0], [(record, hit) for _, record, hit in members])


def _value_terms(value: str) -> frozenset[str]:
    return content_terms(value) or frozenset({normal_form(value)})


def _counted(text: str, shown: Sequence[tuple[Record, Hit]]) -> Counted:
    evidence = {
        (place.source_id, place.quote): place
        for record, hit in shown
        for place in (hit.evidence or record.evidence)
    }
    ids = list(dict.fromkeys(record.id for record, _ in shown))
    return Counted(text=text, ids=ids, evidence=list(evidence.values()))


# ── times: events ────────────────────────────────────────────────────────────────────────────


def _times(asked: Asked, hits: Sequence[Hit], plan: Plan, zone: tzinfo) -> list[Counted]:
    """Distinct days on which such an event is recorded; of undated ones distinct wordings."""
    days: dict[str, list[tuple[Record, Hit]]] = {}
    for hit in hits:
        record = hit.record
        if record is None or not _counts(record) or not _inside(record, plan):
            continue
        if record.fields.get("summary") is None or "subject" in record.fields:
            continue
        if record.fields.get("event_type") == "plan" and record.fields.get("done") is not True:
            continue
        if not _owned(asked, record.fields.get("actor")):
            continue
        if _share(asked.act, set(terms(record.text))) < _MATCH:
            continue
        when = record.occurred_at
        key = _day(when, zone) if when else " ".join(sorted(content_terms(record.text)))
        days.setdefault(key, []).append((record, hit))
    return [_counted(shown[0][0].text, shown) for _, shown in sorted(days.items())]


def _day(when: datetime, zone: tzinfo) -> str:
    with suppress(OverflowError):  # on the first or the last day there is
        when = when.astimezone(zone)
    return when.date().isoformat()


# ── numbers somebody said ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Stated:
    number: int
    item: Counted
    day: str
    speaker: str


_HAN_DIGITS = {char: n for n, char in enumerate("零一二三四五六七八九十")} | {"两": 2}
_ONE_TO_TWELVE = "one two three four five six seven eight nine ten eleven twelve"
_SAID = {word: n for n, word in enumerate(_ONE_TO_TWELVE.split(), 1)} | {"a": 1, "an": 1}
_NUMBER = rf"(?:\d{{1,4}}|{_ONE_TO_TWELVE.replace(' ', '|')})"
_STATED = re.compile(rf"\b({_NUMBER})\s+((?:[\w'-]+\s+){{0,2}}[\w'-]+)")

_STATED_TIMES = re.compile(
    rf"\b(?:(once|twice)|({_NUMBER}) times)\b|(\d{{1,4}}|[一两二三四五六七八九十])[次回趟遍]"
)
_STATED_HAN = re.compile(
    rf"(\d{{1,4}}|[一两二三四五六七八九十]{{1,2}})[{MEASURES_HAN}]([\u3400-\u9fff]{{1,6}})"
)
_INEXACT = re.compile(
    r"\b(?:about|around|almost|nearly|at least|at most|over|more than|less than|another|roughly"
    r"|approximately|maybe|or so|up to|first|want|wish|hope|plan|would|used to|if)\b|\bmore\b"
    r"|大概|大约|左右|至少|差不多|可能|不到|超过|多于|又|再|另外|想|打算|希望|如果|以前|曾经|第"
)
_CLAUSES = re.compile(r"(?<=[.!?;。！？；\n])\s*")


def _stated(asked: Asked, hits: Sequence[Hit], zone: tzinfo) -> Iterator[_Stated]:
    """The exact numbers of the thing that messages state outright, about the one asked about.

    What stands for a message quotes it.
    """
    for hit in hits:
        if hit.record is not None:
            yield from _quoted(asked, hit, hit.record, zone)
        elif hit.message is not None and hit.message.role not in ("system", "tool"):
            message = hit.message
            day, speaker = _day(message.occurred_at, zone), normal_form(message.speaker)
            for sentence, folded in _exact(message.content):
                for number in _numbers(asked, folded) if _says_of(asked, message, folded) else ():
                    shown = Evidence(source_id=message.id, quote=sentence)
                    item = Counted(text=sentence, ids=[message.id], evidence=[shown])
                    yield _Stated(number, item, day, speaker)


def _exact(content: str) -> Iterator[tuple[str, str]]:
    """The sentences that neither ask nor guess, as they are and folded."""
    for sentence in map(str.strip, _CLAUSES.split(content)):
        folded = fold(sentence)
        if not folded.endswith("?") and not _INEXACT.search(folded):
            yield sentence, folded


def _quoted(asked: Asked, hit: Hit, record: Record, zone: tzinfo) -> Iterator[_Stated]:
    """The numbers in what a record quotes, if it is about the one asked about."""
    about = KINDS[record.kind].about(record)
    if about is None or not _counts(record) or not _owned(asked, about):
        return
    when = record.valid_from or record.occurred_at
    day = _day(when, zone) if when else ""
    for place in hit.evidence or record.evidence:
        for sentence, folded in _exact(place.quote or ""):
            for number in _numbers(asked, folded):
                item = Counted(text=sentence, ids=[record.id], evidence=[place])
                yield _Stated(number, item, day, normal_form(about))


def _says_of(asked: Asked, message: Message, folded: str) -> bool:
    """Whether the sentence is about the one asked about: their own first person, or their name."""
    speaker = normal_form(message.speaker)
    own = MINE.search(folded) is not None
    if asked.owner is None:
        return True
    if asked.mine:
        return own and message.role == "user"
    if asked.owner in (speaker, speaker.partition(" ")[0]):
        return own
    return asked.owner in folded


def _numbers(asked: Asked, folded: str) -> Iterator[int]:
    if asked.times:
        if _share(asked.act, set(terms(folded))) >= _MATCH:
            for match in _STATED_TIMES.finditer(folded):
                word = match[1] or match[2] or match[3]
                yield {"once": 1, "twice": 2}.get(word) or _as_number(word)
        return
    for pattern in (_STATED, _STATED_HAN):
        for match in pattern.finditer(folded):
            if asked.thing <= set(terms(match[2])):
                yield _as_number(match[1])


def _as_number(word: str) -> int:
    if word.isdigit():
        return int(word)
    if word in _SAID:
        return _SAID[word]
    tens, ten, units = word.rpartition("十")
    if not ten:
        return _HAN_DIGITS.get(word, 0)
    return _HAN_DIGITS.get(tens, 1) * 10 + _HAN_DIGITS.get(units, 0)


def _is_number(value: str) -> bool:
    """Whether a value is a number of things ("two cats") and none of them."""
    first = fold(value).split(" ")[0]
    han = re.match(rf"(?:\d+|[两二三四五六七八九十]+)[{MEASURES_HAN}]", first)
    return first.isdigit() or (first in NUMBER_WORDS and first != "one") or han is not None


# ── the verdict ──────────────────────────────────────────────────────────────────────────────


def _verdict(asked: Asked, found: Sequence[Counted], stated: Sequence[_Stated]) -> Count:
    items = [*found, *(one.item for one in stated)]
    said = _newest(stated)
    told = " and ".join(map(str, sorted(said)))
    speakers = {one.speaker for one in stated}
    if asked.owner is None and len(speakers) > 1:
        who = ", ".join(sorted(speakers))
        note = f"cannot tell: the question names nobody, and there is more than one ({who})"
        return Count(value=None, items=items, note=note)
    if len(said) > 1:
        note = f"cannot tell: different numbers were stated ({told})"
        return Count(value=None, items=items, note=note)
    if said and min(said) < len(found):
        note = f"cannot tell: {told} stated, but {len(found)} found one by one"
        return Count(value=None, items=items, note=note)
    if said:
        return Count(value=min(said), items=items, note=_stated_note(said, found, stated))
    if found:
        what = "days with such an event" if asked.times else "distinct things"
        note = f"at least: {what} on record; one that was never mentioned is not counted"
        return Count(value=len(found), items=items, note=note)
    why = "an amount is only known where it was stated" if asked.amount else "nothing on record"
    return Count(value=None, note=f"cannot tell: {why}, and no number was stated")


def _newest(stated: Sequence[_Stated]) -> set[int]:
    """The numbers stated on the last day: one of a later day takes the place of older ones."""
    last = max((one.day for one in stated), default="")
    return {one.number for one in stated if one.day == last}


def _stated_note(said: set[int], found: Sequence[Counted], stated: Sequence[_Stated]) -> str:
    older = sorted({one.number for one in stated} - said)
    note = (
        f"stated outright; before that {', '.join(map(str, older))}" if older else "stated outright"
    )
    return f"{note}; {len(found)} found one by one" if found else note
