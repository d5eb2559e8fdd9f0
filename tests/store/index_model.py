"""The scope index as slow, plain Python: what the fast one is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memstrata.store.items import (
    ASKS,
    HIDDEN,
    MAX,
    MIN,
    REMOVED,
)
from memstrata.store.scope_index import (
    ITEM,
    TERM,
    Candidates,
    ItemRow,
    Query,
    ScopeIndex,
)

EVERYTHING = frozenset({0, 1, 2, 3})
NOW = 1000
WORDS = [2**64 - 1, 2**63, 5, 17, 2**40 + 3]
VECTORS = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8), (0.0, -0.6, 0.8)]


@dataclass(frozen=True)
class Item:
    """An item as a test states it."""

    seq: int
    terms: dict[int, int] = field(default_factory=dict[int, int])
    vector: tuple[float, ...] | None = None
    occurred: int = 0
    opened: int = 0
    closed: int = MAX
    valid_from: int = MIN
    valid_to: int = MAX
    expires: int = MAX
    session: int = 0
    speaker: int = 0
    group: int = 0
    stratum: int = 0
    kind: int = 255
    role: int = 0
    flags: int = 0
    lifecycle: int = 0
    sensitivity: int = 0

    @property
    def owner(self) -> int:
        return self.group or self.seq

    def row(self) -> ItemRow:
        header = np.zeros(1, ITEM)
        for name in ITEM.names or ():
            if name != "scope":
                header[name] = self.owner if name == "group" else getattr(self, name)
        terms = np.array(sorted(self.terms.items()), TERM) if self.terms else np.zeros(0, TERM)
        vector = None if self.vector is None else np.array(self.vector, "<f2").tobytes()
        return ItemRow(self.seq, header.tobytes(), terms.tobytes(), vector)


def index_of(items: Iterable[Item]) -> ScopeIndex:
    index = ScopeIndex()
    index.apply([item.row() for item in items])
    return index


def ask(**given) -> Query:
    defaults: dict[str, Any] = {"now": NOW, "strata": EVERYTHING, "per_channel": 1000}
    return Query(**(defaults | given))


def unit(*parts: float) -> NDArray[np.float32]:
    vector = np.array(parts, np.float32)
    return np.divide(vector, np.linalg.norm(vector))


# ── the model ────────────────────────────────────────────────────────────────────────────────


class Model:
    """What the index must answer, by definition and without haste."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.known: tuple[Query, tuple[dict[int, float], float]] | None = None
        self.items = {item.seq: item for item in items}
        self.lines: dict[int, list[list[Item]]] = {}
        for item in sorted(self.items.values(), key=lambda i: (i.occurred, i.owner, i.seq)):
            if item.stratum == 0 and item.session and not item.flags & (REMOVED | HIDDEN):
                line = self.lines.setdefault(item.session, [])
                if line and self._moment(line[-1][0]) == self._moment(item):
                    line[-1].append(item)
                else:
                    line.append([item])
        self.places = {
            item.seq: (line, at)
            for line in self.lines.values()
            for at, message in enumerate(line)
            for item in message
        }

    @staticmethod
    def _moment(item: Item) -> tuple[int, int]:
        return item.occurred, item.owner

    def readable(self, item: Item, query: Query) -> bool:
        instants = [t for t in (query.as_of, query.known_at, query.now) if t is not None]
        if query.known_at is None:
            in_time = item.closed == MAX
        else:
            in_time = item.opened <= query.known_at < item.closed
        if query.as_of is not None and item.stratum in (0, 1):
            in_time = in_time and item.occurred <= query.as_of
        return (
            in_time
            and not item.flags & (REMOVED | HIDDEN)
            and item.lifecycle in ((0,) if query.as_of is None else (0, 1))
            and item.valid_from <= instants[0] < item.valid_to
            and item.expires > instants[0]
            and item.sensitivity <= query.sensitivity
        )

    def visible(self, item: Item, query: Query) -> bool:
        return (
            self.readable(item, query)
            and item.stratum in query.strata
            and (query.kinds is None or item.kind in query.kinds)
            and (not query.session or item.session == query.session)
            and (query.since is None or item.occurred >= query.since)
            and (query.until is None or item.occurred < query.until)
            and (query.allowed is None or item.seq in query.allowed.tolist())
        )

    def near_cosine(self, item: Item, query: Query) -> float:
        line, at = self.places.get(item.seq, ([], 0))
        beside = [line[there][0] for there in (at - 1, at + 1) if 0 <= there < len(line)]
        seen = [self.cosine(other, query) for other in beside if self.readable(other, query)]
        known = [value for value in seen if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan

    def message(self, item: Item) -> list[Item]:
        """The passages of the message an item belongs to, itself only if it stands in no line."""
        line, at = self.places.get(item.seq, ([[item]], 0))
        return line[at]

    def statistics(self, query: Query) -> tuple[dict[int, float], float]:
        """The idf of each term of the question, and the mean length."""
        if self.known and self.known[0] is query:
            return self.known[1]
        plain = ask(now=query.now, sensitivity=9)
        told = [item for item in self.items.values() if item.stratum in (0, 2)]
        counted = [item for item in told if self.readable(item, plain)]
        total = len(counted)
        idf: dict[int, float] = {}
        for term, _ in query.terms:
            df = sum(term in item.terms for item in counted)
            idf[term] = math.log(1 + (total - df + 0.5) / (df + 0.5))
        length = sum(sum(item.terms.values()) for item in counted)
        self.known = query, (idf, (length / total if total else 0) or 1.0)
        return self.known[1]

    def strength(self, item: Item, term: int, mean: float, k1: float, b: float) -> float:
        tf = item.terms.get(term, 0)
        return tf / (tf + k1 * (1 - b + b * sum(item.terms.values()) / mean)) if tf else 0.0

    def weighted(self, query: Query, of: dict[int, float]) -> float:
        idf, _ = self.statistics(query)
        whole = sum(weight * idf[term] for term, weight in query.terms)
        return sum(weight * idf[term] * of[term] for term, weight in query.terms) / whole

    def bm25(self, item: Item, query: Query) -> float:
        idf, mean = self.statistics(query)
        return sum(
            weight * idf[term] * 2.2 * self.strength(item, term, mean, 1.2, 0.75)
            for term, weight in query.terms
        )

    def felt(self, item: Item, query: Query, term: int, mean: float) -> float:
        """How much a term counts in an item: itself, else the first of what may stand for it."""
        if term in item.terms:
            return self.strength(item, term, mean, 0.3, 0.3)
        places = [place for place, (known, _) in enumerate(query.terms) if known == term]
        for place, other, share in query.alternatives:
            if place in places and other in item.terms:
                return share * self.strength(item, other, mean, 0.3, 0.3)
        return 0.0

    def own(self, item: Item, query: Query) -> float:
        if not query.terms:
            return 0.0
        _, mean = self.statistics(query)
        return self.weighted(
            query, {term: self.felt(item, query, term, mean) for term, _ in query.terms}
        )

    def coverage(self, item: Item, query: Query) -> float:
        if item.seq not in self.places or not query.terms:
            return self.own(item, query)
        _, mean = self.statistics(query)
        line, at = self.places[item.seq]
        best = dict.fromkeys((term for term, _ in query.terms), 0.0)
        for there in range(max(0, at - 4), min(len(line), at + 5)):
            weight = (1, 0.5, 0.35, 0.25, 0.15)[abs(there - at)]
            weight *= 1.0 if there == at else 1.2 if there < at else 0.8
            for other in line[there]:
                if self.readable(other, query):
                    for term in best:
                        felt = weight * self.felt(other, query, term, mean)
                        best[term] = max(best[term], felt)
        return self.weighted(query, best)

    def asked(self, item: Item, query: Query) -> float:
        line, at = self.places.get(item.seq, ([], 0))
        if at == 0:
            return 0.0
        before = line[at - 1]
        asks = any(other.flags & ASKS for other in before)
        other = before[0].speaker != item.speaker
        if not (asks and other and self.readable(before[0], query)):
            return 0.0
        return self.coverage(before[0], query)

    def cosine(self, item: Item, query: Query) -> float:
        if item.vector is None or query.vector is None:
            return math.nan
        return float(np.array(item.vector, "<f2").astype(float) @ query.vector)

    def offers(self, query: Query) -> list[set[int]]:
        """One of each set at least is found where no channel is short of room."""
        seen = [item for item in self.items.values() if self.visible(item, query)]
        start, end = query.window or (0, 0)
        sure = [
            {item.seq}
            for item in seen
            if not math.isnan(self.cosine(item, query))
            or self.own(item, query) > 0
            or start <= item.occurred < end
        ]
        messages: dict[object, list[Item]] = {}
        for item in seen:
            if item.seq in self.places and self.coverage(item, query) > 0:
                messages.setdefault((item.session, self._moment(item)), []).append(item)
        for message in messages.values():
            best = max(self.own(item, query) for item in message)
            sure.append({i.seq for i in message if self.own(i, query) > best - 1e-6})
        return sure


def check(index: ScopeIndex, items: Iterable[Item], query: Query) -> Candidates:
    """Compare every signal of every candidate, and that all are candidates who should be."""
    model = Model(items)
    got = index.search(query)
    visible = {item.seq for item in model.items.values() if model.visible(item, query)}
    found = got.seq.tolist()
    assert got.total == len(visible)
    assert found == sorted(set(found))
    assert set(found) <= visible
    assert all(offer & set(found) for offer in model.offers(query))
    for i, seq in enumerate(found):
        item = model.items[seq]
        near = partial(pytest.approx, rel=1e-4, abs=1e-6)
        assert got.cosine[i] == pytest.approx(model.cosine(item, query), abs=1e-3, nan_ok=True)
        beside = model.near_cosine(item, query)
        assert got.near_cosine[i] == pytest.approx(beside, abs=1e-3, nan_ok=True)
        assert got.bm25[i] == near(model.bm25(item, query))
        assert got.own_coverage[i] == near(model.own(item, query))
        assert got.coverage[i] == near(model.coverage(item, query))
        assert got.asked[i] == near(model.asked(item, query))
        assert got.speaker[i] == (bool(query.speaker) and item.speaker == query.speaker)
        assert got.group[i] == item.owner
        for name in ("occurred", "flags", "role", "stratum", "kind", "session"):
            assert getattr(got, name)[i] == getattr(item, name)
    return got


def same(one: Candidates, other: Candidates) -> None:
    """Equal but for the last bits of sums taken in another order."""
    assert one.total == other.total
    for name in ("seq", "speaker", "occurred", "flags", "role", "stratum", "kind", "group"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name in ("cosine", "near_cosine", "bm25", "coverage", "own_coverage", "asked"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-5, atol=1e-6)
