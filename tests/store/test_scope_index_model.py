"""The scope index against its model, on whatever Hypothesis thinks of and in size."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store.index_model import (
    EVERYTHING,
    NOW,
    VECTORS,
    WORDS,
    Item,
    Model,
    ask,
    check,
    index_of,
    same,
    unit,
)

from memstrata.store.items import (
    ASKS,
    HIDDEN,
    MAX,
    MIN,
    REMOVED,
)
from memstrata.store.scope_index import (
    ITEM,
    Query,
    ScopeIndex,
)
from memstrata.store.scope_search import find

# ── against the model ────────────────────────────────────────────────────────────────────────

SEQS, ROOM = st.integers(1, 30), st.just(1000)


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
        alternatives=[
            (place, draw(st.sampled_from(WORDS)), 0.4)
            for place in range(len(words))
            for _ in range(draw(st.integers(0, 2)))
        ],
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
