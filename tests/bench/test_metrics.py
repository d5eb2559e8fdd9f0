"""The metrics of evidence recall, on rankings small enough to count by hand."""

from __future__ import annotations

import json

import pytest

from memstrata.bench import metrics
from memstrata.bench.data import Conversation, Question
from memstrata.bench.locomo import Answer, folds, foreign_questions, report

RANKED = ("D2:1", "D1:4", "D2:7", "D3:2", "D1:1")


def test_recall_is_the_share_of_the_evidence_found() -> None:
    assert metrics.recall_at(RANKED, {"D1:4", "D3:2"}, 1) == 0.0
    assert metrics.recall_at(RANKED, {"D1:4", "D3:2"}, 2) == 0.5
    assert metrics.recall_at(RANKED, {"D1:4", "D3:2"}, 4) == 1.0
    assert metrics.recall_at(RANKED, {"D1:4", "D9:9"}, 50) == 0.5


def test_any_wants_one_and_all_wants_every_one() -> None:
    evidence = {"D1:4", "D3:2"}
    assert [metrics.any_at(RANKED, evidence, k) for k in (1, 2, 4)] == [0.0, 1.0, 1.0]
    assert [metrics.all_at(RANKED, evidence, k) for k in (1, 2, 4)] == [0.0, 0.0, 1.0]


def test_reciprocal_rank_is_of_the_first_evidence() -> None:
    assert metrics.reciprocal_rank(RANKED, {"D3:2", "D2:7"}) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(RANKED, {"D9:9"}) == 0.0
    assert metrics.reciprocal_rank((), {"D9:9"}) == 0.0


def test_a_session_ranks_as_its_best_turn() -> None:
    assert metrics.session_ranking(RANKED) == ["D2", "D1", "D3"]
    scores = metrics.judge(RANKED, {"D1:1", "D1:2", "D3:9"})
    assert scores["session_recall@1"] == 0.0
    assert scores["session_recall@3"] == 1.0, "two sessions are wanted, and both are in three"
    assert scores["session_any@1"] == 0.0
    assert scores["session_any@3"] == 1.0


def test_a_turn_that_comes_twice_takes_one_place() -> None:
    scores = metrics.judge(("D1:1", "D1:1", "D1:1", "D2:2"), {"D2:2"})
    assert scores["recall@3"] == 1.0
    assert scores["mrr"] == 0.5


def test_means_count_every_question_once() -> None:
    assert metrics.means([{"mrr": 1.0}, {"mrr": 0.0}, {"mrr": 0.5}]) == {"mrr": 0.5}
    assert metrics.means([]) == {}


def test_intervals_hold_the_mean_and_narrow_with_more_questions() -> None:
    few = [{"mrr": float(n % 2)} for n in range(20)]
    low, high = metrics.intervals(few, seed=1)["mrr"]
    assert 0.2 < low < 0.5 < high < 0.8
    nearer, farther = metrics.intervals(few * 25, seed=1)["mrr"]
    assert farther - nearer < (high - low) / 3


def test_intervals_are_the_same_for_the_same_seed_and_cover_as_they_say() -> None:
    scores = [{"mrr": n / 40} for n in range(40)]
    assert metrics.intervals(scores, seed=3) == metrics.intervals(scores, seed=3)
    assert metrics.intervals(scores, seed=3) != metrics.intervals(scores, seed=4)
    # The deviation of this mean is 0.0456, so that 95 % lie within 1.96 of them on each side.
    low, high = metrics.intervals(scores, seed=3, rounds=20_000)["mrr"]
    assert high - low == pytest.approx(2 * 1.96 * 0.0456, rel=0.05)
    assert metrics.intervals([], seed=3) == {}


def test_a_certain_figure_has_no_interval() -> None:
    assert metrics.intervals([{"mrr": 0.25}] * 9, seed=5)["mrr"] == (0.25, 0.25)


def test_auroc_counts_ordered_pairs_and_ties_by_half() -> None:
    assert metrics.auroc([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert metrics.auroc([0.1], [0.9]) == 0.0
    assert metrics.auroc([0.5, 0.5], [0.5]) == 0.5
    assert metrics.auroc([0.9, 0.3], [0.5, 0.3]) == pytest.approx(2.5 / 4)
    assert metrics.auroc([], [0.5]) is None


def _answer(category: int, found: str, wanted: str, audited: str, sure: float) -> Answer:
    question = Question("Who?", category, frozenset({wanted}), frozenset({audited}))
    return Answer(question, (found, "D8:8"), confidence=sure, answerable=sure > 0.5)


def test_the_report_keeps_adversarial_questions_and_audited_evidence_apart() -> None:
    answers = [
        _answer(1, "D1:1", "D1:1", "D1:1", 0.9),
        _answer(4, "D1:2", "D1:3", "D1:2", 0.8),
        _answer(5, "D4:4", "D5:5", "D5:5", 0.6),
        _answer(5, "D4:4", "D4:4", "D4:4", 0.1),
        Answer(Question("Why?", 3, frozenset(), frozenset()), ("D1:1",), 0.7, True),
    ]
    result = json.loads(json.dumps(report(answers)))
    assert result["questions"] == 2, "a question without evidence cannot be judged"
    assert result["overall"]["recall@1"] == 0.5
    assert result["by_category"]["multi-hop"]["recall@1"] == 1.0
    assert result["by_category"]["single-hop"]["recall@1"] == 0.0
    assert result["audited"]["overall"]["recall@1"] == 1.0
    low, high = result["intervals"]["overall"]["recall@1"]
    assert (low, high) == (0.0, 1.0)
    adversarial = result["adversarial"]
    assert adversarial["overall"]["recall@1"] == 0.5
    assert adversarial["answerable_share"] == 0.5
    assert adversarial["answerable_share_of_the_others"] == 1.0
    assert adversarial["confidence_auroc"] == 1.0


def test_foreign_questions_and_conversations_are_apart() -> None:
    answers = [
        Answer(Question("Who?", 1, frozenset({"D1:1"}), frozenset()), ("D1:1",), 0.9, True, "c1"),
        Answer(Question("Who?", 4, frozenset({"D1:1"}), frozenset()), ("D1:2",), 0.7, True, "c2"),
    ]
    foreign = [Answer(Question("What?", 4, frozenset({"D3:3"}), frozenset()), (), 0.8, True, "c1")]
    result = report(answers, foreign)
    assert result["foreign"]["questions"] == 1
    assert result["foreign"]["confidence_auroc"] == 0.5
    assert result["by_conversation"]["c1"]["recall@1"] == 1.0
    assert result["by_conversation"]["c2"]["recall@1"] == 0.0
    assert "episodes" not in result


def test_sessions_found_by_episodes_are_judged_by_themselves() -> None:
    question = Question("Who?", 4, frozenset({"D1:1", "D2:2"}), frozenset())
    result = report([Answer(question, (), sessions=("D7", "D2"))])
    assert result["episodes"]["overall"]["session_any@3"] == 1.0
    assert result["episodes"]["overall"]["session_recall@3"] == 0.5
    assert result["episodes"]["overall"]["session_any@1"] == 0.0


def _conversations(count: int) -> list[Conversation]:
    def question(name: str, category: int) -> Question:
        return Question(name, category, frozenset({"D1:1"}), frozenset())

    return [
        Conversation(f"c{n}", (), tuple(question(f"{n} {k}", k) for k in (1, 4, 5)))
        for n in range(count)
    ]


def test_foreign_questions_are_of_others_and_can_be_answered_there() -> None:
    drawn = foreign_questions(_conversations(4), 5)
    for name, questions in drawn.items():
        assert len(questions) == 5
        assert all(q.category != 5 and not q.text.startswith(name[1:]) for q in questions)
    assert drawn == foreign_questions(_conversations(4), 5)
    assert len(foreign_questions(_conversations(2), 5)["c0"]) == 2


@pytest.mark.parametrize(("count", "parts"), [(7, 5), (3, 3)])
def test_folds_measure_every_conversation_once(count: int, parts: int) -> None:
    conversations = _conversations(count)
    made = folds(conversations)
    assert len(made) == parts
    assert sorted(c.id for _, part in made for c in part) == sorted(c.id for c in conversations)
    for fitted, measured in made:
        assert len(fitted) + len(measured) == count
        assert not {c.id for c in fitted} & {c.id for c in measured}
