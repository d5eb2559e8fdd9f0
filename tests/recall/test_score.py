from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memstrata.recall.plan import Plan
from memstrata.recall.score import WEIGHTS, Scored, score
from memstrata.records import Method
from memstrata.text.analyse import QueryTerm

DAY = 86_400_000_000
ASKED = Plan(query="pear tree", words=(QueryTerm("pear"), QueryTerm("tree")))
WORDLESS = Plan(query="*")


@dataclass(frozen=True)
class Found:
    """Candidates as an index would give them, from a few numbers."""

    coverage: NDArray[Any]
    cosine: NDArray[Any]
    near_cosine: NDArray[Any]
    bm25: NDArray[Any]
    asked: NDArray[Any]
    speaker: NDArray[np.bool_]
    occurred: NDArray[np.int64]
    flags: NDArray[np.uint8]
    role: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    session: NDArray[np.uint64]
    stratum: NDArray[np.uint8]
    wanted: NDArray[np.bool_]
    entity: NDArray[np.float32]
    links: NDArray[np.int64]
    seq: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seq", np.arange(1, len(self.coverage) + 1))


def found(coverage: list[float], **arrays: list[Any]) -> Found:
    n = len(coverage)

    def column(name: str, default: Any, dtype: Any) -> NDArray[Any]:
        return np.array(arrays.get(name, [default] * n), dtype)

    return Found(
        coverage=np.array(coverage, np.float32),
        cosine=column("cosine", np.nan, np.float32),
        near_cosine=column("near_cosine", np.nan, np.float32),
        bm25=column("bm25", 0.0, np.float32),
        asked=column("asked", 0.0, np.float32),
        speaker=column("speaker", False, np.bool_),
        occurred=column("occurred", 0, np.int64),
        flags=column("flags", 0, np.uint8),
        role=column("role", 0, np.uint8),
        kind=column("kind", 255, np.uint8),
        session=column("session", 0, np.uint64),
        stratum=column("stratum", 0, np.uint8),
        wanted=column("wanted", True, np.bool_),
        entity=column("entity", 0.0, np.float32),
        links=np.array(arrays.get("links", []), np.int64).reshape(-1, 3),
    )


def same(cosines: NDArray[Any]) -> NDArray[Any]:
    return cosines


def ranked(candidates: Found, plan: Plan = ASKED, method: Method = "hybrid") -> Scored:
    return score(candidates, plan, same, method=method)


# ── the fusion ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arrays", "plan"),
    [
        ({"cosine": [0.2, 0.7]}, ASKED),
        ({"asked": [0.0, 0.6]}, ASKED),
        ({"speaker": [False, True]}, ASKED),
        ({"flags": [8, 0]}, ASKED),
        ({"flags": [0, 16]}, replace(ASKED, asks_when=True)),
        ({"occurred": [20 * DAY, 2 * DAY]}, replace(ASKED, window=(DAY, 3 * DAY))),
        ({"occurred": [20 * DAY, 4 * DAY]}, replace(ASKED, window=(DAY, 3 * DAY))),
        ({"occurred": [-20 * DAY, -2 * DAY]}, replace(ASKED, window=(DAY, 3 * DAY))),
    ],
)
def test_each_signal_lifts_what_has_it(arrays: dict[str, list[Any]], plan: Plan) -> None:
    # The first is newer or earlier in the sequence, so that only the signal can turn them round.
    result = ranked(found([0.5, 0.5], **arrays), plan)
    assert list(result.order) == [1, 0]
    assert result.score[1] > result.score[0]


def test_coverage_leads_and_neighbours_by_meaning_lift() -> None:
    assert list(ranked(found([0.2, 0.9])).order) == [1, 0]
    lifted = ranked(found([0.5, 0.5], cosine=[0.4, 0.4], near_cosine=[0.1, 0.6]))
    assert list(lifted.order) == [1, 0]


def test_a_time_expression_counts_only_when_the_question_asks_when() -> None:
    candidates = found([0.5, 0.5], flags=[16, 0], occurred=[0, 1])
    assert list(ranked(candidates).order) == [1, 0]
    assert list(ranked(candidates, replace(ASKED, asks_when=True)).order) == [0, 1]


def test_the_same_evidence_scores_the_same_whatever_else_was_found() -> None:
    alone = ranked(found([0.6], cosine=[0.5]))
    among = ranked(found([0.6, 1.0, 0.1], cosine=[0.5, 0.9, 0.0]))
    assert alone.score[0] == among.score[0]


def test_an_item_without_a_vector_ranks_by_its_terms_among_those_with_one() -> None:
    result = ranked(found([0.9, 0.6, 0.1], cosine=[np.nan, 0.6, 0.1]))
    assert list(result.order) == [0, 1, 2]
    assert "semantic" not in result.signals_of(0)
    assert result.signals_of(1)["semantic"] == pytest.approx(0.6)


def test_without_any_vector_scores_keep_their_scale() -> None:
    assert ranked(found([0.9])).score[0] > 0.5
    assert ranked(found([0.2])).score[0] < 0.1


def test_without_terms_meaning_alone_ranks_on_the_same_scale() -> None:
    result = ranked(found([0.0, 0.0], cosine=[0.2, 0.9]), WORDLESS)
    assert list(result.order) == [1, 0]
    assert result.score[1] > 0.5


def test_no_evidence_scores_nothing() -> None:
    result = ranked(found([0.0, 0.0], flags=[8, 0]))
    assert list(result.score) == [0.0, 0.0]


def test_ties_go_to_the_newer_then_to_the_lower_sequence() -> None:
    result = ranked(found([0.5, 0.5, 0.5, 0.5000001], occurred=[5, 9, 9, 7]))
    assert list(result.order) == [1, 2, 3, 0]


def test_nothing_found_is_nothing_ranked() -> None:
    result = ranked(found([]))
    assert len(result.order) == len(result.score) == 0
    assert not result.answerable
    assert result.confidence == 0.0


_unit = st.floats(0, 1, width=32)


@given(st.lists(st.tuples(_unit, _unit | st.just(float("nan")), _unit, st.booleans()), max_size=8))
def test_scores_lie_between_0_and_1_and_fall_along_the_order(
    rows: list[tuple[float, float, float, bool]],
) -> None:
    candidates = found(
        [row[0] for row in rows],
        cosine=[row[1] for row in rows],
        asked=[row[2] for row in rows],
        speaker=[row[3] for row in rows],
    )
    result = ranked(candidates, replace(ASKED, window=(-DAY, DAY)))
    along = result.score[result.order]
    assert len(along) == len(rows)
    assert np.all((along >= 0) & (along <= 1))
    # Ties are decided on the rounded sum, so that a rounding is all that may be out of order.
    assert np.all(np.diff(along) <= 1e-4)
    assert 0 <= result.confidence <= 1


# ── methods ──────────────────────────────────────────────────────────────────────────────────


def test_embedding_ranks_by_cosine_and_only_what_has_a_vector() -> None:
    candidates = found([0.9, 0.0, 0.1], cosine=[np.nan, 0.5, 0.8], speaker=[True, True, False])
    result = ranked(candidates, method="embedding")
    assert list(result.order) == [2, 1]
    assert list(result.score) == pytest.approx([0.0, 0.5, 0.8])


def test_bm25_ranks_by_bm25_and_only_what_shares_a_term() -> None:
    candidates = found([0.9, 0.1, 0.1], cosine=[0.9, 0.1, 0.1], bm25=[0.0, 4.0, 60.0])
    result = ranked(candidates, method="bm25")
    assert list(result.order) == [2, 1]
    assert result.score[0] == 0.0 < result.score[1] < result.score[2] <= 1.0


def test_bm25_is_squashed_by_how_many_terms_could_add_to_it() -> None:
    long = replace(ASKED, words=tuple(QueryTerm(f"w{i}") for i in range(20)))
    candidates = found([0.5], bm25=[6.0])
    assert ranked(candidates).signals_of(0)["lexical"] == pytest.approx(0.6682)
    assert ranked(candidates, long).signals_of(0)["lexical"] == pytest.approx(0.0474)


def test_what_the_store_matched_literally_is_all_kept_with_score_1() -> None:
    result = ranked(found([0.0, 0.4]), method="string_match")
    assert list(result.order) == [1, 0]
    assert list(result.score) == [1.0, 1.0]


def test_the_three_base_signals_and_all_weighed_ones_are_shown() -> None:
    shown = ranked(found([0.5], cosine=[0.25], bm25=[3.0])).signals_of(0)
    assert {"semantic", "lexical", "entity", "coverage", "speaker", "asked", "time"} <= set(shown)
    assert set(ranked(found([0.5])).signals) == {"lexical", *WEIGHTS}


# ── confidence ───────────────────────────────────────────────────────────────────────────────


def test_strong_evidence_is_answerable_and_weak_is_not() -> None:
    strong = ranked(found([0.8, 0.2], cosine=[0.8, 0.3]))
    weak = ranked(found([0.15, 0.1], cosine=[0.3, 0.2]))
    assert strong.answerable
    assert strong.confidence > 0.8
    assert not weak.answerable
    assert weak.confidence < 0.3


def test_a_fact_that_is_the_other_persons_is_less_sure() -> None:
    theirs = found([0.7, 0.2], cosine=[0.5, 0.5], speaker=[True, False])
    others = found([0.7, 0.2], cosine=[0.5, 0.5], speaker=[False, True])
    unnamed = found([0.7, 0.2], cosine=[0.5, 0.5])
    sure, unsure, plain = (ranked(each).confidence for each in (theirs, others, unnamed))
    assert unsure < plain < sure


def test_what_the_asker_said_ranks_above_others_where_it_is_asked_for() -> None:
    told = found([0.5, 0.5], role=[1, 0], occurred=[2, 1])
    assert list(ranked(told, replace(ASKED, of_asker=True)).order) == [1, 0]
    assert list(ranked(told).order) == [0, 1]


def test_the_newer_of_equally_strong_ranks_first_where_the_newest_is_asked_for() -> None:
    told = found([0.55, 0.5, 0.1], occurred=[1, 2, 3])
    assert list(ranked(told, replace(ASKED, newest=True)).order) == [1, 0, 2]
    assert list(ranked(told).order) == [0, 1, 2]


def test_the_best_of_its_session_lifts_a_candidate() -> None:
    told = found([0.9, 0.4, 0.45], session=[7, 7, 8])
    assert list(ranked(told).order) == [0, 1, 2]


def test_weights_replace_single_ones() -> None:
    told = found([0.5, 0.45], speaker=[False, True])
    assert list(score(told, ASKED, same).order) == [1, 0]
    assert list(score(told, ASKED, same, weights={"speaker": 0.0}).order) == [0, 1]


def test_an_old_event_ranks_lower_and_stays() -> None:
    """By kind: what happened fades, what is so does not; neither where the past is asked for."""
    year = 365 * 86_400_000_000
    plan = Plan("q", words=ASKED.words, asked_at=10 * year)
    episodic, semantic = 1, 2
    aged = {"stratum": [2, 2], "occurred": [10 * year, 5 * year]}
    events = found([0.5, 0.5], kind=[episodic, episodic], **aged)
    assert ranked(events, plan).signals["faded"].round(2).tolist() == [0.0, 0.97]
    assert ranked(events, plan).order.tolist() == [0, 1]
    facts = found([0.5, 0.5], kind=[semantic, semantic], **aged)
    assert ranked(facts, plan).signals["faded"].tolist() == [0.0, 0.0]
    past = replace(plan, past=True)
    assert ranked(events, past).signals["faded"].tolist() == [0.0, 0.0]
