"""Thresholds: from levels to a model's cosines, and what a caller may change."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memstrata import InvalidInput
from memstrata.models.fake import FakeEmbedder
from memstrata.themes.rules import ARTICLE, LEVELS, check_grouping, rules_for


def test_of_a_model_whose_scale_is_the_cosine_the_levels_are_the_thresholds() -> None:
    rules = rules_for(FakeEmbedder().relate)
    for name, level in asdict(LEVELS).items():
        assert getattr(rules, name) == pytest.approx(level, abs=1e-3)
    assert (rules.largest, rules.split_from, rules.splits, rules.merges) == (12, 8, True, True)


def test_each_is_the_least_cosine_that_reaches_its_level() -> None:
    def crowded(cosines: NDArray[Any]) -> NDArray[np.float64]:
        """A model whose vectors are all near each other."""
        return np.clip((np.asarray(cosines, np.float64) - 0.8) / 0.2, 0.0, 1.0)

    rules = rules_for(crowded)
    for name, level in asdict(LEVELS).items():
        cosine = getattr(rules, name)
        assert crowded(np.array(cosine)) >= level - 1e-9
        assert crowded(np.array(cosine - 0.001)) < level
        assert 0.8 < cosine < 1.0
    assert rules.room <= rules.attach <= rules.merge


def test_a_level_that_no_cosine_reaches_is_the_highest_cosine() -> None:
    assert rules_for(lambda cosines: np.zeros_like(cosines)).merge == 1.0


def test_changes_are_taken_as_they_are() -> None:
    rules = rules_for(FakeEmbedder().relate, check_grouping({**ARTICLE, "splits": 0, "largest": 5}))
    assert (rules.attach, rules.link, rules.largest) == (0.65, 0.3, 5)
    assert not rules.splits and rules.merges
    assert isinstance(rules.largest, int)


@pytest.mark.parametrize(
    "changes", [{"size": 3}, {"attach": float("nan")}, {"merge": float("inf")}, {"splits": True}]
)
def test_what_is_no_rule_or_no_number_is_refused(changes: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        check_grouping(changes)
