"""The scope index against a slow model of it that computes every signal item by item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from store.index_model import (
    NOW,
    VECTORS,
    WORDS,
    Item,
    ask,
    check,
    index_of,
    same,
    unit,
)

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
    Candidates,
    Query,
    ScopeIndex,
)

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


def test_what_stands_in_place_of_a_term_counts_in_part_and_once():
    stored = [
        Item(seq=1, terms={T1: 1}),
        Item(seq=2, terms={T2: 1}),
        Item(seq=3, terms={T1: 1, T2: 1}),
        Item(seq=4, terms={99: 1}),
    ]
    plain = index_of(stored).search(ask(terms=[(T1, 1.0)], vector=None))
    query = replace(ask(terms=[(T1, 1.0)], vector=None), alternatives=[(0, T2, 0.5)])
    wide = index_of(stored).search(query)
    assert (seqs(plain), seqs(wide)) == ([1, 3], [1, 2, 3])
    cover = of(wide, "coverage")
    assert cover[2] == pytest.approx(cover[1] / 2)
    assert cover[3] == pytest.approx(of(plain, "coverage")[3])
    assert of(wide, "bm25")[2] == 0.0


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
