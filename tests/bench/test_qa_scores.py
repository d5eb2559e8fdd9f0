"""Scores of answers against values worked out by hand, and what judges say."""

from __future__ import annotations

import math

import pytest

from memstrata.bench import qa_score


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("The canoes!", "a canoe", 1.0),  # articles, signs and endings do not count
        ("red and green", "red, blue", 0.5),  # 1 of 2 said, 1 of 2 wanted
        ("a red red kite", "red kite", 0.8),  # 2 of 3 said, 2 of 2 wanted
        ("", "Pixel", 0.0),
        ("the", "the", 0.0),
    ],
)
def test_f1_counts_stemmed_words(answer: str, gold: str, score: float) -> None:
    assert qa_score.f1(answer, gold) == pytest.approx(score)


def test_locomo_scores_each_category_its_way() -> None:
    score = qa_score.locomo_f1
    assert score("pottery, running", "running, pottery, chess", "multi-hop") == pytest.approx(2 / 3)
    assert score("likely no", "Likely no; she said so", "open-domain") == 1.0
    assert score("likely no", "Likely no; she said so", "single-hop") < 1.0
    assert score("It was Not mentioned in the conversation.", "", "adversarial") == 1.0
    assert score("pottery school", "", "adversarial") == 0.0


def test_bleu_1_is_cut_where_the_answer_is_short() -> None:
    assert qa_score.bleu_1("7 May 2023", "7 May 2023") == 1.0
    assert qa_score.bleu_1("May", "7 May 2023") == pytest.approx(math.exp(-2))
    assert qa_score.bleu_1("in May , I think", "May") == pytest.approx(1 / 5)
    assert qa_score.bleu_1("may may", "May") == pytest.approx(1 / 2), "no word counts twice"
    assert qa_score.bleu_1("June", "May") == qa_score.bleu_1("", "May") == 0.0


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ('{"label": "CORRECT"}', True),
        ('Same dog.\n```json\n{"label": "WRONG"}\n```', False),
        ('<think>{"label": "CORRECT"}?</think>{"label": "WRONG"}', False),
        ("That is not CORRECT at all, so WRONG", False),
        ("INCORRECT", None),
        ("I cannot tell", None),
        ("", None),
    ],
)
def test_a_label_is_read_from_what_a_judge_says(reply: str, right: bool | None) -> None:
    assert qa_score.label_of(reply) is right


def test_yes_counts_wherever_it_stands_as_a_word() -> None:
    assert qa_score.says_yes("Well, Yes.") is True
    assert qa_score.says_yes("no") is False
    assert qa_score.says_yes("<think>yes</think> No.") is False
    assert qa_score.says_yes("eyes everywhere") is None


def test_a_letter_means_its_choice() -> None:
    choices = ("not said", "pottery")
    assert [qa_score.chosen(one, choices) for one in ("a", "(B)", "b) pottery", "A moped")] == [
        "not said",
        "pottery",
        "pottery",
        "A moped",
    ]
