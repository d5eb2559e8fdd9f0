"""Pairs of records that may say the same, contradict each other, or mean two things by one name.

Pure. Vectors and claims propose, a model is asked, and what it answers is held against what can be
seen without one: two records whose numbers, dates, names or denials differ are never the same.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.consolidate.borne import denies, telling
from memstrata.consolidate.derived import is_derived
from memstrata.consolidate.duplicates import is_linked
from memstrata.ingest.provisional import MARK
from memstrata.ingest.standing import restore
from memstrata.ingest.statements import opposed
from memstrata.kinds import Core, KindModel, Procedural, Resource, Semantic, Vault, kind_of
from memstrata.kinds.attributes import ATTRIBUTES
from memstrata.kinds.semantic import Claim
from memstrata.records import Record, micros
from memstrata.text.analyse import fold, terms
from memstrata.text.name_words import CALENDAR
from memstrata.text.names import names

__all__ = ["MOST", "Pair", "are_apart", "are_namesakes", "pairs"]

MOST = 60
"""Pairs of one consolidation, the likeliest first."""
_COMPARED = 4000
"""Records of one kind, the newest: all pairs of these are looked at."""
_ALIKE = 20
"""Of one subject and attribute, or one name, the newest."""
_LOOKED_AT = 3000
"""Of the pairs of one kind, the nearest."""
_BLOCK = 512
_NEAR, _SAME = 0.48, 0.3
"""On the scale of `Embedder.relate`: so near are a few pairs in a thousand, and one in 30."""
_UNJUDGED = frozenset(kind.name_of_kind for kind in (Core, Resource, Vault))
_NAMED = frozenset(kind.name_of_kind for kind in (Procedural, Semantic))
"""Whose titles name something that may come to mean something else."""
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*|[零〇二三四五六七八九十百千万亿两]+")

Relate = Callable[[NDArray[Any]], NDArray[np.float64]]
Vectors = Mapping[str, NDArray[np.float32]]
_Near = tuple["_Read", "_Read", float]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two current records of one kind, the one that was learned first being `older`."""

    older: Record
    newer: Record
    likelihood: float
    """How likely something is to be done about them; only to compare."""

    @property
    def ids(self) -> tuple[str, str]:
        """In order, by which it is known again."""
        one, other = sorted((self.older.id, self.newer.id))
        return one, other

    @property
    def key(self) -> tuple[str, int, str, int]:
        """The versions that are compared."""
        return self.older.id, self.older.version, self.newer.id, self.newer.version


def pairs(
    records: Iterable[Record],
    vectors: Vectors,
    relate: Relate | None,
    judged: Collection[tuple[str, str]],
) -> list[Pair]:
    """The likeliest pairs of some records that were not judged before, at most `MOST`.

    `vectors` are of unit length, by record; `relate` says how near two of them are.
    """
    by_kind: dict[str, list[_Read]] = {}
    for record in records:
        if _may_be_judged(record):
            by_kind.setdefault(record.kind, []).append(_Read(record))
    found: dict[tuple[str, str], Pair] = {}
    for group in by_kind.values():
        group.sort(key=lambda one: (one.record.created_at, one.record.id))
        del group[:-_COMPARED]
        for older, newer, nearness in (*_by_claim(group), *_by_vector(group, vectors, relate)):
            pair = Pair(older.record, newer.record, 0.0)
            if pair.ids not in judged:
                likelihood = _likelihood(older, newer, nearness)
                if likelihood > (found[pair.ids].likelihood if pair.ids in found else 0.0):
                    found[pair.ids] = replace(pair, likelihood=likelihood)
    return sorted(found.values(), key=lambda one: (-one.likelihood, one.ids))[:MOST]


class _Read:
    """A record, and what can be told of it by itself: worked out once, if at all."""

    def __init__(self, record: Record) -> None:
        self.record = record

    @cached_property
    def model(self) -> KindModel:
        return restore(self.record).model

    @cached_property
    def claim(self) -> Claim:
        return Semantic.claim(self.record)

    @cached_property
    def name(self) -> str:
        return fold(self.record.title).strip(" .。!！")

    @cached_property
    def telling(self) -> frozenset[str]:
        return telling(self.record.text)

    @cached_property
    def value(self) -> frozenset[str]:
        return telling(self.claim.value)

    @cached_property
    def denies(self) -> bool:
        return denies(self.record.text)

    @cached_property
    def numbers(self) -> frozenset[str]:
        # In words, too: `terms` gives "2" for "two".
        spelt = {term for term in terms(self.record.text) if term.isdigit()}
        return frozenset({*_DIGITS.findall(self.record.text), *spelt})

    @cached_property
    def days(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.record.text.casefold())) & CALENDAR

    @cached_property
    def folded(self) -> str:
        return fold(f"{self.record.text} {self.claim.subject}")

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.folded))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(fold(name.text) for name in names(self.record.text))

    @cached_property
    def common(self) -> tuple[object, ...]:
        ends = self.record.expires_at
        return self.record.sensitivity, ends and micros(ends)

    @cached_property
    def times(self) -> tuple[object, ...]:
        """When it happened, or is to be done, or ended: what has no such time happened once
        more."""
        record = self.record
        ends = record.valid_to and micros(record.valid_to)
        if record.kind == Semantic.name_of_kind:
            begun = record.valid_from if record.valid_from != record.occurred_at else None
            return ends, begun and micros(begun)
        if kind_of(record.kind).gist(record) is None:
            return (record.id,)
        said = record.fields
        done = (said.get("due"), said.get("done"), said.get("event_type"))
        return ends, record.occurred_at, record.ended_at, *done


def _may_be_judged(record: Record) -> bool:
    return (
        record.lifecycle == "current"
        and record.kind not in _UNJUDGED
        and record.sensitivity != "high"
        and not is_derived(record)
        and MARK not in record.metadata
    )


def _by_claim(group: Sequence[_Read]) -> Iterator[_Near]:
    """Those that claim something of one subject and attribute, or have one name."""
    known: dict[tuple[str, ...], list[_Read]] = {}
    for one in group:
        if one.claim.subject and one.claim.attribute:
            known.setdefault((fold(one.claim.subject), one.claim.attribute), []).append(one)
        known.setdefault((one.name,), []).append(one)
    for same in known.values():
        few = same[-_ALIKE:]
        for place, newer in enumerate(few):
            yield from ((older, newer, 0.0) for older in few[:place])


def _by_vector(group: Sequence[_Read], vectors: Vectors, relate: Relate | None) -> Iterator[_Near]:
    """The nearest pairs, as far as they are near enough for anything to be done about them."""
    with_vector = [one for one in group if one.record.id in vectors]
    if relate is None or len(with_vector) < 2:
        return
    matrix = np.stack([vectors[one.record.id] for one in with_vector])
    nearest: list[tuple[float, int, int]] = []
    for begin in range(0, len(with_vector), _BLOCK):
        near = np.tril(relate(matrix[begin : begin + _BLOCK] @ matrix.T), begin - 1)
        rows, columns = np.nonzero(near >= _SAME)
        found = zip(near[rows, columns].tolist(), (rows + begin).tolist(), columns, strict=True)
        nearest += ((nearness, row, int(column)) for nearness, row, column in found)
        nearest = heapq.nlargest(_LOOKED_AT, nearest)
    for nearness, row, column in nearest:
        yield with_vector[column], with_vector[row], nearness


def _likelihood(older: _Read, newer: _Read, nearness: float) -> float:
    """0 for a pair that nothing would be done about, whatever is said of it."""
    if opposed(older.model, newer.model) and not _parted(older.record, newer.record):
        return 4.0 + nearness
    if _are_namesakes(older, newer):
        return 3.0 + nearness
    if nearness >= _SAME and _apart(older, newer) is None:
        return 2.0 + nearness
    both = older.record.kind == newer.record.kind == Semantic.name_of_kind
    return nearness if both and nearness >= _NEAR else 0.0


def _parted(one: Record, other: Record) -> bool:
    """Whether the one was over when the other began."""
    for first, second in ((one, other), (other, one)):
        if first.valid_to and second.valid_from and first.valid_to <= second.valid_from:
            return True
    return False


def are_namesakes(one: Record, other: Record) -> bool:
    """Whether they have one name and say something else of it."""
    return _are_namesakes(_Read(one), _Read(other))


def _are_namesakes(one: _Read, other: _Read) -> bool:
    alike = one.record.kind == other.record.kind and one.record.kind in _NAMED
    return alike and one.name == other.name and one.telling != other.telling


# ── what can be seen without a model ─────────────────────────────────────────────────────────


def are_apart(one: Record, other: Record) -> str | None:
    """Why two records cannot be the same, whatever a model says; None if nothing tells them apart.

    Numbers, dates, names and denials must agree, and one of the two must say no word of weight
    that the other lacks: taken for the same, what differs would be lost from sight.
    """
    return _apart(_Read(one), _Read(other))


def _apart(one: _Read, other: _Read) -> str | None:
    first, second = one.record, other.record
    if first.kind != second.kind or is_linked(first) or is_linked(second):
        return "kind or chain"
    if one.common != other.common:
        return "sensitivity or end"
    if one.times != other.times:
        return "time"
    if one.numbers != other.numbers or one.days != other.days:
        return "numbers or dates"
    if one.denies != other.denies or one.claim.affirmed != other.claim.affirmed:
        return "one denies"
    if _names_beyond(one, other) or _names_beyond(other, one):
        return "names"
    return _claims_apart(one, other)


def _names_beyond(one: _Read, other: _Read) -> bool:
    """Whether one names something that the other does not."""
    # Two names that stand side by side are taken for one.
    return any(
        name not in other.folded and not other.words.issuperset(_WORD.findall(name))
        for name in one.names
    )


def _claims_apart(one: _Read, other: _Read) -> str | None:
    first, second = one.claim, other.claim
    if first.subject and second.subject and fold(first.subject) != fold(second.subject):
        return "subject"
    if not (first.value and second.value and first.attribute and second.attribute):
        return None if _one_in_other(one.telling, other.telling) else "words"
    known = {first.attribute, second.attribute} <= ATTRIBUTES.keys()
    if first.attribute != second.attribute and known:
        return "attribute"
    return None if _one_in_other(one.value, other.value) else "value"


def _one_in_other(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether all that the shorter one says, the other says too."""
    return bool(one and other) and (one <= other or other <= one)
