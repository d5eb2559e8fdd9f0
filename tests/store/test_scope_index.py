"""The scope index against a slow model of it that computes every signal item by item."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memstrata.errors import InvalidInput, StoreUnavailable
from memstrata.records import Chunk, Message
from memstrata.store.items import (
    ASKS,
    HIDDEN,
    MAX,
    MIN,
    REMOVED,
    close_header,
    flag_header,
    message_passages,
    own_header,
)
from memstrata.store.scope_index import (
    ITEM,
    TERM,
    Candidates,
    ItemRow,
    Query,
    ScopeIndex,
)
from memstrata.store.scope_search import find

EVERYTHING = frozenset({0, 1, 2, 3})
NOW = 1000


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
        seen = [self.cosine(other, query) for other in beside if self.visible(other, query)]
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
        counted = [item for item in self.items.values() if self.readable(item, plain)]
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

    def own(self, item: Item, query: Query) -> float:
        if not query.terms:
            return 0.0
        _, mean = self.statistics(query)
        return self.weighted(
            query, {term: self.strength(item, term, mean, 0.3, 0.3) for term, _ in query.terms}
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
                        felt = weight * self.strength(other, term, mean, 0.3, 0.3)
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


# ── against the model ────────────────────────────────────────────────────────────────────────

WORDS = [2**64 - 1, 2**63, 5, 17, 2**40 + 3]
SEQS, ROOM = st.integers(1, 30), st.just(1000)
VECTORS = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8), (0.0, -0.6, 0.8)]


def mostly(value, *others):
    """`value` two times in three, so that most items of an example are visible."""
    return st.one_of(st.just(value), st.just(value), st.sampled_from(others))


@st.composite
def items(draw, seqs=SEQS) -> Item:
    seq = draw(seqs)
    return Item(
        seq=seq,
        terms=draw(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 3), max_size=4)),
        vector=draw(st.sampled_from([None, *VECTORS])),
        occurred=draw(st.integers(0, 8)),
        opened=draw(st.sampled_from([0, 400, 900])),
        closed=draw(mostly(MAX, 400, 900, 1500)),
        valid_from=draw(mostly(MIN, 400, NOW, 1500)),
        valid_to=draw(mostly(MAX, 400, NOW, 1500)),
        expires=draw(mostly(MAX, 400, NOW, 1500)),
        session=draw(st.sampled_from([0, 11, 11, 2**64 - 9])),
        speaker=draw(st.sampled_from([0, 3, 4])),
        group=draw(mostly(0, max(seq - 1, 1), max(seq - 2, 1))),
        stratum=draw(mostly(0, 1, 2, 3)),
        kind=draw(st.sampled_from([255, 1, 2])),
        role=draw(st.sampled_from([0, 1, 255])),
        flags=draw(mostly(0, REMOVED, HIDDEN, ASKS, ASKS, ASKS | 8, 16)),
        lifecycle=draw(mostly(0, 1, 2, 3)),
        sensitivity=draw(mostly(0, 1, 2)),
    )


instants = st.one_of(st.none(), st.none(), st.sampled_from([3, 400, 700, NOW, 1700]))


@st.composite
def queries(draw, per_channel=ROOM) -> Query:
    words = draw(st.lists(st.sampled_from([*WORDS, 99]), unique=True, max_size=4))
    start = draw(st.integers(0, 8))
    return ask(
        terms=[(word, draw(st.sampled_from([1.0, 0.5]))) for word in words],
        vector=draw(st.sampled_from([None, unit(1, 2, 3), unit(0, 1, 0)])),
        speaker=draw(st.sampled_from([0, 0, 3])),
        window=draw(st.sampled_from([None, None, (start, start + 3)])),
        per_channel=draw(per_channel),
        now=draw(st.sampled_from([NOW, NOW, 399, 1600])),
        as_of=draw(instants),
        known_at=draw(instants),
        since=draw(mostly(None, 2)),
        until=draw(mostly(None, 6)),
        strata=draw(mostly(EVERYTHING, frozenset({0}), frozenset({1, 2}), frozenset())),
        kinds=draw(mostly(None, frozenset({1}), frozenset({255, 2}))),
        session=draw(mostly(0, 11)),
        sensitivity=draw(st.sampled_from([1, 1, 0, 2])),
        allowed=draw(mostly(None, np.arange(3, 17), np.array([5, 999, 2]))),
    )


@given(
    st.lists(items(), max_size=25, unique_by=lambda item: item.seq),
    st.lists(queries(), min_size=1, max_size=3),
)
def test_signals_are_those_of_the_definitions(stored: list[Item], asked: list[Query]):
    index = index_of(stored)
    for query in asked:
        check(index, stored, query)


@given(st.lists(st.lists(items(), min_size=1, max_size=6), max_size=8), queries())
def test_updates_in_any_order_lead_to_the_same_index(batches: list[list[Item]], query: Query):
    index, now = ScopeIndex(), dict[int, Item]()
    for batch in batches:
        index.apply([item.row() for item in batch])
        now.update({item.seq: item for item in batch})
        index.search(query)  # what it keeps for the next question must not outlive a change
    assert index.count == len(now)
    check(index, now.values(), query)
    same(index.search(query), index_of(now.values()).search(query))


@st.composite
def changed(draw, item: Item) -> Item:
    """The item after something happened to it that leaves its text alone."""
    return draw(
        st.sampled_from(
            [
                replace(item, vector=VECTORS[0]),
                replace(item, closed=NOW - 1),
                replace(item, closed=MAX),
                replace(item, flags=item.flags | REMOVED, terms={}, vector=None),
                replace(item, flags=item.flags | REMOVED),
                replace(item, flags=item.flags ^ HIDDEN),
                replace(item, lifecycle=1, valid_to=NOW - 1),
            ]
        )
    )


@given(st.data(), queries())
def test_a_life_of_appends_late_arrivals_and_changes(data: st.DataObject, query: Query):
    index, now, waiting = ScopeIndex(), dict[int, Item](), list(range(1, 41))
    for _ in range(data.draw(st.integers(1, 12))):
        if now and data.draw(st.booleans()):
            batch = [data.draw(changed(now[data.draw(st.sampled_from(sorted(now)))]))]
        else:
            size = data.draw(st.integers(1, 5))
            late = data.draw(st.integers(0, 3))
            seqs, waiting = waiting[late : late + size], waiting[:late] + waiting[late + size :]
            batch = [data.draw(items(st.just(seq))) for seq in seqs]
        index.apply([item.row() for item in batch])
        now.update({item.seq: item for item in batch})
        index.search(query)
    check(index, now.values(), query)


@given(st.lists(items(), max_size=25, unique_by=lambda item: item.seq), queries(st.integers(1, 4)))
def test_a_channel_takes_nothing_before_what_is_better(stored: list[Item], query: Query):
    model, got = Model(stored), set(index_of(stored).search(query).seq.tolist())
    seen = [item for item in stored if model.visible(item, query)]
    room, half = query.per_channel, (query.per_channel + 1) // 2
    channels = [(seen, room, s) for s in (model.cosine, model.bm25, model.coverage)]
    if query.speaker:
        theirs = [item for item in seen if item.speaker == query.speaker]
        channels += [(theirs, half, s) for s in (model.cosine, model.coverage)]
    if query.window:
        inside = [i for i in seen if query.window[0] <= i.occurred < query.window[1]]
        channels += [(inside, half, s) for s in (model.cosine, model.coverage)]
        assert sum(item.seq in got for item in inside) >= min(len(inside), room)
    assert len(got) <= 3 * room + 2 * half * bool(query.speaker) + (room + 1) * bool(query.window)
    for pool, size, signal in channels:
        values = {item.seq: signal(item, query) for item in pool}
        found = [v for v in values.values() if v > 0 or (signal == model.cosine and v == v)]
        limit = sorted(found)[-size] if len(found) >= size else -2.0
        for item in pool:
            better = values[item.seq] > limit + 1e-3 and values[item.seq] in found
            several = len(model.message(item)) > 1 and signal == model.coverage
            assert item.seq in got or not better or several


# ── one thing at a time ──────────────────────────────────────────────────────────────────────

T1, T2, T3 = WORDS[:3]


def talk(*texts: dict[int, int], session: int = 7, **common) -> list[Item]:
    """Messages of one session, a minute apart."""
    return [
        Item(seq=i, terms=terms, session=session, occurred=60 * i, **common)
        for i, terms in enumerate(texts, 1)
    ]


def seqs(got: Candidates) -> list[int]:
    return got.seq.tolist()


def of(got: Candidates, signal: str) -> dict[int, float]:
    return dict(zip(seqs(got), getattr(got, signal).tolist(), strict=True))


def test_an_empty_index_answers_with_nothing():
    got = ScopeIndex().search(ask(terms=[(T1, 1.0)], vector=unit(1, 0, 0), allowed=np.array([1])))
    assert (seqs(got), got.total) == ([], 0)
    index = ScopeIndex()
    index.apply([])
    assert (index.count, seqs(index.search(ask(window=(0, 9), speaker=3)))) == (0, [])


def test_a_question_of_nothing_finds_nothing_but_counts():
    index = index_of([Item(seq=1, terms={T1: 1}, vector=VECTORS[0]), Item(seq=2)])
    got = index.search(ask())
    assert (seqs(got), got.total) == ([], 2)
    got = index.search(ask(terms=[(T1, 1.0)], vector=unit(1, 0, 0), per_channel=0))
    assert (seqs(got), got.total) == ([], 2)


def test_terms_and_vectors_find_without_each_other():
    index = index_of([Item(seq=1, terms={T1: 1}), Item(seq=2, vector=VECTORS[0])])
    got = index.search(ask(terms=[(T1, 1.0)]))
    assert seqs(got) == [1]
    assert math.isnan(got.cosine[0])
    got = index.search(ask(vector=unit(1, 0, 0)))
    assert seqs(got) == [2]
    assert got.cosine[0] == pytest.approx(1.0)
    got = index.search(ask(terms=[(T1, 1.0)], vector=unit(1, 0, 0)))
    assert seqs(got) == [1, 2]


def test_a_match_fades_with_distance_and_counts_more_for_what_follows():
    stored = talk(*[{T1: 1} if i == 6 else {T2: 1} for i in range(1, 13)])
    cover = of(index_of(stored).search(ask(terms=[(T1, 1.0)], vector=None)), "coverage")
    shares = {seq: value / cover[6] for seq, value in cover.items()}
    assert shares == pytest.approx(
        {2: 0.12, 3: 0.2, 4: 0.28, 5: 0.4, 6: 1, 7: 0.6, 8: 0.42, 9: 0.3, 10: 0.18}
    )


def test_neighbours_are_of_the_same_session():
    stored = talk({T2: 1}, {T1: 1}, {T2: 1})
    stored += [replace(item, seq=item.seq + 10, session=8, terms={T2: 1}) for item in stored]
    stored += [Item(seq=20, occurred=121), Item(seq=21, session=7, occurred=122, stratum=2)]
    assert seqs(index_of(stored).search(ask(terms=[(T1, 1.0)]))) == [1, 2, 3]


def test_a_late_message_pushes_its_neighbours_apart():
    early, late = talk({T1: 1}, {T2: 1}), Item(seq=9, terms={T2: 1}, session=7, occurred=90)
    index, question = index_of(early), ask(terms=[(T1, 1.0)])
    near = of(index.search(question), "coverage")
    index.apply([late.row()])
    assert near[2] / near[1] == pytest.approx(0.6)
    after = of(index.search(question), "coverage")
    assert after[9] / after[1] == pytest.approx(0.6)
    assert after[2] / after[1] == pytest.approx(0.42)


def test_what_is_hidden_neither_stands_between_nor_speaks():
    stored = talk({T1: 1}, {T2: 1}, {T3: 1})
    index = index_of(stored)
    index.apply([replace(stored[1], flags=HIDDEN).row()])
    after = of(index.search(ask(terms=[(T1, 1.0)])), "coverage")
    assert after[3] / after[1] == pytest.approx(0.6)
    assert seqs(index.search(ask(terms=[(T2, 1.0)]))) == []
    index.apply([stored[1].row()])
    assert seqs(index.search(ask(terms=[(T2, 1.0)]))) == [1, 2, 3]


def test_an_answer_inherits_from_the_question_of_the_other_speaker():
    texts = [{T1: 1, T2: 1}, {T3: 1}, {T3: 1}]
    for asker, flags, inherits in [(3, ASKS, True), (4, ASKS, False), (3, 0, False)]:
        stored = talk(*texts, speaker=4)
        stored[0] = replace(stored[0], speaker=asker, flags=flags)
        got = index_of(stored).search(ask(terms=[(T1, 1.0)]))
        expected = of(got, "coverage")[1] if inherits else 0.0
        assert of(got, "asked") == pytest.approx({1: 0.0, 2: expected, 3: 0.0})


def test_an_answer_inherits_nothing_from_a_question_one_may_not_read():
    stored = talk({T1: 1}, {T1: 1}, {T3: 1}, speaker=4)
    stored[1] = replace(stored[1], speaker=3, flags=ASKS, sensitivity=2)
    question = ask(terms=[(T1, 1.0)])
    assert of(index_of(stored).search(question), "asked")[3] == 0.0
    assert of(index_of(stored).search(replace(question, sensitivity=2)), "asked")[3] > 0.5


def test_a_long_question_asks_whichever_passage_came_last():
    stored = talk({T1: 1}, {T3: 1}, speaker=4)
    stored[0] = replace(stored[0], speaker=3, flags=ASKS)
    index = index_of(stored[:1])
    second = replace(stored[0], seq=9, group=1, flags=0, terms={T2: 1})
    index.apply([second.row()])
    index.apply([stored[1].row()])
    got = check(index, [*stored, second], ask(terms=[(T1, 1.0)]))
    assert of(got, "asked")[2] > 0.5


def test_passages_of_a_message_are_one_position_and_one_offer():
    stored = talk({T3: 1}, {T2: 1}, {T1: 1})
    passages = [
        Item(seq=10 + i, group=10, session=7, occurred=130, terms={T3: 1} if i != 33 else {T2: 9})
        for i in range(60)
    ]
    everyone = [*stored, *passages]
    question = ask(terms=[(T2, 1.0)], per_channel=3)
    got = check_in_two_orders(everyone, replace(question, per_channel=1000))
    assert of(got, "coverage")[3] / of(got, "coverage")[2] == pytest.approx(0.6, rel=0.2)
    found = seqs(index_of(everyone).search(question))
    assert {2, 3, 43} <= set(found)
    assert sum(seq >= 10 for seq in found) == 1


def check_in_two_orders(stored: Sequence[Item], query: Query) -> Candidates:
    """The same, whether loaded at once or row by row from the end."""
    one_by_one = ScopeIndex()
    for item in reversed(stored):
        one_by_one.apply([item.row()])
    got = check(index_of(stored), stored, query)
    same(got, one_by_one.search(query))
    return got


@pytest.mark.parametrize(
    ("hides", "given"),
    [
        ({"flags": REMOVED}, {}),
        ({"flags": HIDDEN}, {}),
        ({"closed": 500}, {}),
        ({"lifecycle": 1}, {}),
        ({"lifecycle": 2}, {"as_of": 900}),
        ({"lifecycle": 3}, {"as_of": 900}),
        ({"valid_from": NOW + 1}, {}),
        ({"valid_to": NOW}, {}),
        ({"expires": NOW}, {}),
        ({"occurred": 901}, {"as_of": 900}),
        ({"valid_to": 900, "stratum": 2}, {"as_of": 900}),
        ({"opened": 901}, {"known_at": 900}),
        ({"closed": 900}, {"known_at": 900}),
        ({"occurred": 499}, {"since": 500}),
        ({"occurred": 500}, {"until": 500}),
        ({"kind": 2}, {"kinds": frozenset({1})}),
        ({"stratum": 1}, {"strata": frozenset({0, 2})}),
        ({"session": 8}, {"session": 7}),
        ({"sensitivity": 2}, {}),
        ({"sensitivity": 1}, {"sensitivity": 0}),
        ({}, {"allowed": np.array([9999, 1, 0])}),
    ],
)
def test_what_is_masked_neither_appears_nor_crowds_out(
    hides: dict[str, Any], given: dict[str, Any]
):
    """A thousand better matches that the question may not see, and one that it may."""
    shown = Item(seq=1, terms={T1: 1, T2: 5}, vector=(0.6, 0.8, 0.0), occurred=600, kind=1)
    shown = replace(shown, session=given.get("session", 0))
    if given.get("since") or given.get("until"):
        shown = replace(shown, occurred=given.get("since", given.get("until", 0) - 1))
    better = replace(shown, seq=2, terms={T1: 1}, vector=(1.0, 0.0, 0.0), **hides)
    crowd = [replace(better, seq=better.seq + i) for i in range(1000)]
    question = ask(terms=[(T1, 1.0)], vector=unit(1, 0, 0), per_channel=1, **given)
    index = index_of([*crowd, shown])
    index.search(ask(sensitivity=2))  # no leave given to one question holds for the next
    got = index.search(question)
    assert (seqs(got), got.total) == ([1], 1)


@pytest.mark.parametrize(
    ("fact", "given"),
    [
        ({"lifecycle": 1, "valid_to": 900}, {"as_of": 899}),
        ({"closed": 901}, {"known_at": 900}),
        ({"closed": 901, "valid_to": 950}, {"known_at": 900}),
        ({"occurred": 5000, "valid_from": 400}, {"as_of": 900}),
        ({"sensitivity": 2}, {"sensitivity": 2}),
        ({"valid_from": NOW, "valid_to": NOW + 1, "expires": NOW + 1}, {}),
    ],
)
def test_the_past_can_be_read(fact: dict[str, Any], given: dict[str, Any]):
    stored = [Item(seq=1, terms={T1: 1}, stratum=2, kind=1, **fact)]
    check(index_of(stored), stored, ask(terms=[(T1, 1.0)], **given))
    assert seqs(index_of(stored).search(ask(terms=[(T1, 1.0)], **given))) == [1]


def test_what_holds_only_for_a_time_is_seen_only_then():
    stored = [Item(seq=1, terms={T1: 1}, stratum=2, valid_from=100, valid_to=200, expires=150)]
    index = index_of([*stored, Item(seq=2, terms={T1: 1})])
    seen = {now: index.search(ask(terms=[(T1, 1.0)], now=now)).total for now in range(95, 205, 5)}
    assert seen == {now: 2 if 100 <= now < 150 else 1 for now in range(95, 205, 5)}


def test_past_versions_move_no_statistics():
    stored = [Item(seq=1, terms={T1: 2, T2: 1}), Item(seq=2, terms={T2: 1}), Item(seq=3)]
    past = [Item(seq=10 + i, terms={T1: 9}, closed=NOW - 1, stratum=2) for i in range(50)]
    question = ask(terms=[(T1, 1.0), (T2, 1.0)])
    same(index_of(stored).search(question), index_of([*stored, *past]).search(question))


def test_filters_move_no_statistics():
    stored = talk({T1: 2, T2: 1}, {T2: 1}, {T3: 4})
    index = index_of([*stored, *(Item(seq=10 + i, terms={T1: 1}, stratum=2) for i in range(9))])
    wide = index.search(ask(terms=[(T1, 1.0)]))
    narrow = index.search(ask(terms=[(T1, 1.0)], strata=frozenset({0})))
    kept = {seq: value for seq, value in of(wide, "bm25").items() if seq < 10}
    assert of(narrow, "bm25") == kept


def test_a_missing_term_lowers_coverage():
    index = index_of([Item(seq=1, terms={T1: 1}), Item(seq=2, terms={T2: 1})])
    sure = of(index.search(ask(terms=[(T1, 1.0)])), "coverage")[1]
    unsure = of(index.search(ask(terms=[(T1, 1.0), (99, 1.0)])), "coverage")[1]
    assert 0 < unsure < sure / 2 < 1


def test_the_named_speaker_has_a_channel():
    stored = [Item(seq=i, terms={T1: 1}, vector=VECTORS[0], speaker=3) for i in range(1, 50)]
    stored.append(Item(seq=50, terms={T1: 1, T2: 7}, vector=(-1.0, 0.0, 0.0), speaker=4))
    index = index_of(stored)
    question = ask(terms=[(T1, 1.0)], vector=unit(1, 0, 0), per_channel=2)
    assert 50 not in seqs(index.search(question))
    assert of(index.search(replace(question, speaker=4)), "speaker")[50] is True


def test_the_window_has_a_channel_best_first_then_newest():
    stored = [Item(seq=i, terms={T2: 1}, occurred=i) for i in range(1, 100)]
    stored += [Item(seq=200 + i, terms={T1: 1}, occurred=500) for i in range(9)]
    stored[40] = replace(stored[40], terms={T1: 1, T2: 30})
    index = index_of(stored)
    found = seqs(index.search(ask(terms=[(T1, 1.0)], per_channel=4, window=(20, 60))))
    assert [seq for seq in found if seq < 100] == [41, 57, 58, 59]
    assert seqs(index.search(ask(per_channel=4, window=(97, 400)))) == [97, 98, 99]


def test_of_equals_the_newest_are_taken():
    stored = [Item(seq=i, terms={T1: 1, T2: 1}, occurred=i % 100) for i in range(1, 400)]
    stored[4] = replace(stored[4], terms={T1: 2})
    index = index_of(stored)
    assert seqs(index.search(ask(terms=[(T1, 1.0)], per_channel=3))) == [5, 299, 399]
    assert seqs(index.search(ask(terms=[(T1, 1.0)], per_channel=5))) == [5, 99, 199, 299, 399]
    assert seqs(index.search(ask(terms=[(T1, 1.0)], per_channel=6))) == [5, 99, 199, 299, 398, 399]


def test_an_update_may_change_the_terms():
    stored = talk({T1: 1}, {T2: 1})
    index = index_of(stored)
    stored[0] = replace(stored[0], terms={T2: 2, T3: 1})
    index.apply([stored[0].row()])
    for term in (T1, T2, T3):
        check(index, stored, ask(terms=[(term, 1.0)]))
    assert seqs(index.search(ask(terms=[(T1, 1.0)]))) == []


def test_what_is_erased_leaves_no_terms_and_no_vector():
    stored = [Item(seq=1, terms={T1: 1}, vector=VECTORS[0]), Item(seq=2, terms={T2: 1})]
    index = index_of(stored)
    index.apply([Item(seq=1, flags=REMOVED).row()])
    snapshot = index._snapshot
    assert [len(p.slots) for p in snapshot.terms.postings([T1, T2])] == [0, 1]
    assert not snapshot.matrix.any()


def test_of_several_rows_of_one_item_the_last_counts():
    index = ScopeIndex()
    index.apply([Item(seq=4, terms={T1: 1}).row(), Item(seq=4, terms={T2: 1}).row()])
    assert index.count == 1
    assert seqs(index.search(ask(terms=[(T1, 1.0)]))) == []
    assert seqs(index.search(ask(terms=[(T2, 1.0)]))) == [4]


def test_a_header_reads_as_it_was_packed():
    said = datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC)
    message = Message(
        id="msg_1",
        session_id="harbour",
        role="assistant",
        name="Odette Quill",
        content="Which boat?",
        occurred_at=said,
        recorded_at=said + timedelta(seconds=1),
        batch_id="bat_1",
    )
    (passage,) = message_passages(message, [Chunk(start=0, end=11)])
    header = flag_header(close_header(own_header(passage.header, 77), 5), HIDDEN, on=True)
    read = dict(zip(ITEM.names or (), np.frombuffer(header, ITEM)[0].item(), strict=True))
    assert read["opened"] - read["occurred"] == 1_000_000
    assert (read["closed"], read["group"]) == (5, 77)
    assert (read["valid_from"], read["valid_to"], read["expires"]) == (MIN, MAX, MAX)
    assert (read["stratum"], read["kind"], read["role"]) == (0, 255, 1)
    assert read["flags"] & (ASKS | HIDDEN | REMOVED) == ASKS | HIDDEN
    assert (read["lifecycle"], read["sensitivity"]) == (0, 0)
    assert len({read["session"], read["speaker"], 0}) == 3


# ── bad rows ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "bad",
    [
        {"header": b"\0" * 79},
        {"terms": b"\0" * 11},
        {"vector": b"\0" * 8},
        {"vector": b"\0" * 7},
        {"vector": b""},
    ],
)
def test_a_damaged_row_is_refused_and_changes_nothing(bad: dict[str, bytes]):
    stored = [Item(seq=1, terms={T1: 1}, vector=VECTORS[0])]
    index = index_of(stored)
    good = Item(seq=2, terms={T1: 1}, vector=VECTORS[1]).row()
    with pytest.raises(StoreUnavailable, match=r"item 3"):
        index.apply([good, replace(Item(seq=3).row(), **bad)])
    assert index.count == 1
    check(index, stored, ask(terms=[(T1, 1.0)], vector=unit(1, 0, 0)))


@pytest.mark.parametrize("vector", [b"", b"\0" * 7])
def test_a_damaged_first_vector_is_refused(vector: bytes):
    index = ScopeIndex()
    with pytest.raises(StoreUnavailable, match=r"item 1"):
        index.apply([replace(Item(seq=1).row(), vector=vector)])
    assert index.count == 0


def test_a_vector_of_another_model_is_refused():
    index = index_of([Item(seq=1, vector=VECTORS[0])])
    with pytest.raises(InvalidInput, match="3 dimensions"):
        index.search(ask(vector=np.zeros(4, np.float32)))


# ── in size ──────────────────────────────────────────────────────────────────────────────────


def crowd(count: int, seed: int) -> list[Item]:
    """Interleaved sessions with a few long messages; common and rare terms."""
    rng = random.Random(seed)
    stored: list[Item] = []
    while len(stored) < count:
        seq = len(stored) + 1
        message = Item(
            seq=seq,
            session=rng.choice([0, *range(1, 8), seq // 40 + 10, seq // 40 + 11]),
            occurred=seq - rng.choice([0, 0, 0, 30]),
            speaker=rng.choice([3, 4]),
            flags=rng.choice([0, 0, ASKS]),
            stratum=rng.choice([0, 0, 0, 0, 2]),
        )
        for i in range(rng.choice([1] * 20 + [3])):
            words = {int(rng.paretovariate(0.4)) % 50_000 + 1: 1 for _ in range(6)}
            # No two vectors alike: which of equals is taken would hang on the last bit of a sum.
            near = tuple(unit(*(rng.gauss(0, 1) for _ in range(3))).tolist())
            vector = None if rng.random() < 0.1 else near
            stored.append(replace(message, seq=seq + i, group=seq, terms=words, vector=vector))
    return stored


QUESTION = ask(terms=[(1, 1.0), (2, 1.0), (40, 0.5), (900, 1.0)], vector=unit(1, 2, 3), speaker=3)


def test_an_index_grown_row_by_row_equals_one_loaded_at_once():
    stored = crowd(3000, seed=1)
    rng = random.Random(2)
    arriving = sorted(stored, key=lambda item: item.seq + rng.choice([0] * 9 + [400]))
    index = ScopeIndex()
    while arriving:
        size = rng.choice([1, 1, 2, 7])
        index.apply([item.row() for item in arriving[:size]])
        del arriving[:size]
    fresh = index_of(stored)
    for question in (
        QUESTION,
        replace(QUESTION, per_channel=20),
        replace(QUESTION, strata=frozenset({0}), window=(500, 900)),
        replace(QUESTION, session=14, allowed=np.arange(100, 600)),
    ):
        same(index.search(question), fresh.search(question))
    assert index.nbytes < 4 * fresh.nbytes


def test_a_long_line_of_sessions_agrees_with_the_model():
    stored = [replace(item, session=item.seq // 3 + 1) for item in crowd(9000, seed=3)]
    model, got = Model(stored), index_of(stored).search(replace(QUESTION, per_channel=40))
    for i in range(0, len(got.seq), 7):
        item = model.items[int(got.seq[i])]
        assert got.bm25[i] == pytest.approx(model.bm25(item, QUESTION), rel=1e-4)
        assert got.coverage[i] == pytest.approx(model.coverage(item, QUESTION), rel=1e-4)
        assert got.asked[i] == pytest.approx(model.asked(item, QUESTION), rel=1e-4)


@pytest.mark.parametrize("late", [0, 350])
def test_a_search_keeps_the_state_it_began_with(late: int):
    stored = crowd(2500, seed=4)
    index = index_of(stored[:300])
    for item in stored[300:400]:
        index.apply([item.row()])
    snapshot = index._snapshot
    before = find(snapshot, QUESTION)
    coming = [replace(item, occurred=item.occurred - late) for item in stored[400:]]
    for start in range(0, len(coming), 5):
        index.apply([item.row() for item in coming[start : start + 5]])
        if start % 50 == 0:
            same(before, find(replace(snapshot), QUESTION))
    assert index.count == len(stored)


def test_searches_go_on_while_another_thread_writes():
    stored = crowd(1500, seed=5)
    index = index_of(stored[:50])
    totals: list[int] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set() or not totals:
            got = index.search(QUESTION)
            assert len(got.seq) == len(set(got.seq.tolist()))
            assert np.isfinite(got.coverage).all()
            totals.append(got.total)

    failures: list[BaseException] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda args: failures.append(args.exc_value))
        readers = [threading.Thread(target=search) for _ in range(2)]
        for reader in readers:
            reader.start()
        for start in range(50, len(stored), 10):
            index.apply([item.row() for item in stored[start : start + 10]])
        done.set()
        for reader in readers:
            reader.join()
    assert failures == []
    assert totals
    assert index.search(QUESTION).total == len(stored)


def test_bytes_are_those_of_the_arrays():
    stored = [replace(item, vector=VECTORS[0]) for item in crowd(2000, seed=6)]
    wide = [replace(item.row(), vector=b"\0\0" * 256) for item in stored]
    index = ScopeIndex()
    index.apply(wide)
    least = len(stored) * (256 * 4 + ITEM.itemsize)
    assert least < index.nbytes < 1.5 * least
