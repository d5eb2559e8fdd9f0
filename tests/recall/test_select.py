"""Selection: the orders in which candidates are worth having."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memstrata.recall.select import SELECTIONS, redundancy, select


def alike(count: int, **pairs: float) -> NDArray[np.float64]:
    """Likeness of `count` items: nothing but `_0_1=0.8`."""
    likeness = np.eye(count)
    for name, level in pairs.items():
        one, other = map(int, name.strip("_").split("_"))
        likeness[one, other] = likeness[other, one] = level
    return likeness


def test_redundancy_begins_at_near_and_is_whole_at_the_same() -> None:
    assert redundancy(np.array([0.0, 0.45, 0.6, 0.75, 1.0])).round(6).tolist() == [0, 0, 0.5, 1, 1]


def test_by_relevance_the_best_come_first_and_of_equals_the_first() -> None:
    assert select(np.array([0.2, 0.9, 0.2, 0.5]), alike(4), "relevance") == [1, 3, 0, 2]


def test_what_says_the_same_comes_last_whatever_its_score() -> None:
    scores = np.array([0.9, 0.8, 0.3])
    assert select(scores, alike(3, _0_1=0.9)) == [0, 2, 1]
    assert select(scores, alike(3, _0_1=0.4)) == [0, 1, 2]  # near is not the same


def test_mmr_by_the_length_of_the_question_both_ways() -> None:
    """λ 0.7 keeps to relevance, λ 0.3 goes for variety."""
    scores = np.array([0.9, 0.8, 0.5])
    likeness = alike(3, _0_1=0.6)
    relevant, varied = [0, 1, 2], [0, 2, 1]
    assert select(scores, likeness, "mmr_narrow", terms=3) == relevant
    assert select(scores, likeness, "mmr_narrow", terms=5) == varied
    assert select(scores, likeness, "mmr_wide", terms=3) == varied
    assert select(scores, likeness, "mmr_wide", terms=5) == relevant


def test_mmr_against_the_formula() -> None:
    scores = np.array([0.9, 0.85, 0.4, 0.3])
    likeness = alike(4, _0_1=0.5, _0_2=0.1, _1_2=0.2, _2_3=0.7)
    left, order = {0, 1, 2, 3}, list[int]()
    while left:
        worth = {
            i: 0.4 * scores[i] - 0.6 * max((likeness[i, j] for j in order), default=0.0)
            for i in left
        }
        best = max(sorted(left), key=lambda i: round(float(worth[i]), 6))
        order.append(best)
        left.remove(best)
    assert select(scores, likeness, "mmr") == order


def test_coverage_takes_the_one_that_stands_for_most_of_the_others_first() -> None:
    """The middle of three that are alike covers all of them; the fourth is alone."""
    scores = np.array([0.5, 0.5, 0.5, 0.45])
    likeness = alike(4, _0_1=0.9, _1_2=0.9)
    assert select(scores, likeness, "coverage")[:2] == [1, 3]


@given(st.data(), st.sampled_from(SELECTIONS), st.integers(0, 9))
def test_every_candidate_comes_once_and_the_same_way_every_time(
    data: Any, how: Any, terms: int
) -> None:
    count = data.draw(st.integers(0, 12))
    scores = np.array(data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count)))
    numbers = st.lists(st.floats(0, 1), min_size=count * count, max_size=count * count)
    half = np.array(data.draw(numbers)).reshape(count, count)
    likeness = np.maximum(np.maximum(half, half.T), np.eye(count))
    order = select(scores, likeness, how, terms=terms)
    assert sorted(order) == list(range(count))
    assert select(scores, likeness, how, terms=terms) == order


@pytest.mark.parametrize("how", SELECTIONS)
def test_nothing_and_one(how: Any) -> None:
    assert select(np.zeros(0), np.zeros((0, 0)), how) == []
    assert select(np.array([0.3]), np.eye(1), how) == [0]
