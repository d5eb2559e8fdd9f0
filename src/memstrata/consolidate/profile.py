"""The profile: a block of core memory made of what is known of the user. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from memstrata.consolidate.derived import (
    Derived,
    Key,
    Line,
    least_trusted,
    made_of,
    marked,
    most_sensitive,
)
from memstrata.ingest.statements import USER_NAMES
from memstrata.kinds import Core, Semantic
from memstrata.kinds.attributes import statement
from memstrata.records import Record
from memstrata.text.analyse import fold
from memstrata.text.names import normal_form
from memstrata.text.topics import is_chinese

__all__ = ["LABEL", "LONGEST", "PROFILE", "called", "profile"]

LABEL = "profile"
PROFILE: Key = (LABEL, "")
LONGEST = 1500
"""Characters."""
_LIMIT = 2000
_VALUES = 8
"""Of one attribute: the rest is found by searching."""
_TRUSTED = ("user", "agent")
_FEWEST = 0.5
"""The confidence from which a fact is no guess."""


class _Row(NamedTuple):
    """One line: the facts of one attribute, the best supported first."""

    attribute: str
    affirmed: bool
    facts: list[Record]


def called(speakers: Collection[str | None], facts: Iterable[Record]) -> frozenset[str]:
    """What the user is called as the subject of facts, folded.

    `speakers` are the names under which somebody spoke as the user, None for without one. A name
    is the user's only where nobody else ever spoke so: in a chat of two it is not known which of
    them the memory is about.
    """
    named = [name for name in speakers if name]
    if len({normal_form(name) for name in named}) > 1:
        return frozenset(USER_NAMES)
    claims = [
        Semantic.claim(fact)
        for fact in facts
        if fact.lifecycle == "current" and fact.trust in _TRUSTED
    ]
    told = [
        claim.value
        for claim in claims
        if claim.value and claim.attribute == "name" and fold(claim.subject) in USER_NAMES
    ]
    names = [*(named if None not in speakers else ()), *told]
    return frozenset({*USER_NAMES, *map(fold, names)})


def profile(
    facts: Iterable[Record], names: frozenset[str], now: datetime, *, known: str | None
) -> Derived | bool | None:
    """The block that the semantic facts about the user make; None if there is nothing to say, True
    if it is the one `known` by the hash of its sources."""
    facts = [fact for fact in facts if _tells(fact, names, now)]
    if not facts:
        return None
    rows = _rows(facts)
    sources = made_of([f"{fact.id} {fact.version}" for row in rows for fact in row.facts])
    if sources == known:
        return True
    lines: dict[str, Line] = {}
    basis: list[Line] = []
    length = 0
    for row in rows:
        shown = row.facts[:_VALUES]
        line = _line(row, shown)
        if line in lines or length + len(line) + 1 > min(LONGEST, _LIMIT):
            continue
        lines[line] = _of_facts(line, shown)
        basis += (_of_fact(row, one) for one in shown)
        length += len(line) + 1
    if not lines:
        return None
    model = Core(
        label=LABEL,
        value="\n".join(lines),
        limit=_LIMIT,
        trust=least_trusted(line.trust for line in lines.values()),
        sensitivity=most_sensitive(line.sensitivity for line in lines.values()),
    )
    return Derived(
        model=marked(model, PROFILE, sources),
        messages=tuple(one for line in lines.values() for one in line.messages),
        records=tuple(one for line in lines.values() for one in line.records),
        basis=tuple(basis),
        lines=tuple(lines.values()),
    )


def _of_facts(text: str, facts: Sequence[Record]) -> Line:
    return Line(
        text=text,
        messages=tuple(
            item.source_id
            for fact in facts
            for item in fact.evidence
            if item.source_id.startswith("msg_")
        ),
        records=tuple(fact.id for fact in facts),
        trust=least_trusted(fact.trust for fact in facts),
        sensitivity=most_sensitive(fact.sensitivity for fact in facts),
    )


def _of_fact(row: _Row, fact: Record) -> Line:
    """A fact in its own words, and in those of its attribute where they differ."""
    claim = Semantic.claim(fact)
    plain = _line(row, [fact])
    text = claim.name if fold(claim.name) == fold(plain) else f"{claim.name} ({plain})"
    core = claim.name if row.attribute.startswith(" ") else claim.value
    return replace(_of_facts(text, [fact]), core=core)


def _tells(record: Record, names: frozenset[str], now: datetime) -> bool:
    """Whether it is something that may stand before a model whatever is asked."""
    subject = fold(Semantic.claim(record).subject).strip()
    return (
        subject in names
        and record.lifecycle == "current"
        and record.trust in _TRUSTED
        and record.sensitivity != "high"
        and record.confidence >= _FEWEST
        and record.expires_at is None  # it would be shown when it is over
        and record.valid_to is None
        and not (record.valid_from and record.valid_from > now)
    )


def _rows(facts: Iterable[Record]) -> list[_Row]:
    """The facts by what they say of the user, the most evidenced and then the newest first."""
    grouped: defaultdict[tuple[str, bool], list[Record]] = defaultdict(list)
    for fact in facts:
        claim = Semantic.claim(fact)
        whole = claim.attribute and claim.value
        grouped[claim.attribute if whole else f" {fact.id}", claim.affirmed].append(fact)
    rows = [_Row(*key, sorted(group, key=_rank)) for key, group in grouped.items()]
    return sorted(rows, key=lambda row: _rank(row.facts[0]))


def _rank(fact: Record) -> tuple[int, float, str]:
    told = fact.occurred_at or fact.valid_from or fact.created_at
    return -len(fact.evidence), -told.timestamp(), fact.id


def _line(row: _Row, facts: Sequence[Record]) -> str:
    """One sentence for all values of an attribute."""
    claims = [Semantic.claim(fact) for fact in facts]
    if row.attribute.startswith(" "):
        return claims[0].name
    subject = claims[0].subject
    values = list({fold(claim.value): claim.value for claim in claims}.values())
    chinese = is_chinese("".join(values)) or is_chinese(subject)
    listed = ("、" if chinese else ", ").join(values)
    who = "user" if fold(subject) in USER_NAMES else subject
    return statement(who, row.attribute, listed, row.affirmed, "zh" if chinese else "en")
