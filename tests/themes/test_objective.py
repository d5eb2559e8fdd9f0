"""The objective against the formula written out, and what it does at its edges."""

from __future__ import annotations

import itertools
import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memstrata.themes.objective import cohesion, objective, tightness

LEAST_SPREAD = 0.05
Group = list[NDArray[np.float64]]


def unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector / math.sqrt(float(vector @ vector))


def written_out(groups: list[Group]) -> float:
    """N² / (K Σ nₖ²) + meanₖ[cohesionₖ · exp(−(sₖ − m)² / 2σ²)], word for word."""
    total, count = sum(len(g) for g in groups), len(groups)
    even = total**2 / (count * sum(len(g) ** 2 for g in groups))
    centroids = [unit(np.sum(g, axis=0)) for g in groups]
    held = [sum(float(v @ c) for v in g) / len(g) for g, c in zip(groups, centroids, strict=True)]
    if count == 1:
        return even + held[0]
    nearest = [
        max(float(c @ other) for j, other in enumerate(centroids) if j != i)
        for i, c in enumerate(centroids)
    ]
    middle = median(nearest)
    spread = max(median([abs(s - middle) for s in nearest]), LEAST_SPREAD)
    parts = [
        h * math.exp(-((s - middle) ** 2) / (2 * spread**2))
        for h, s in zip(held, nearest, strict=True)
    ]
    return even + sum(parts) / count


def measured(groups: list[Group]) -> float:
    sizes = np.array([len(g) for g in groups], np.float64)
    return objective(sizes, np.array([np.sum(g, axis=0) for g in groups], np.float32))


def some_groups(seed: int, sizes: list[int]) -> list[Group]:
    dice = np.random.default_rng(seed)
    middles = dice.normal(size=(len(sizes), 8))
    return [
        [unit(middle + 0.6 * dice.normal(size=8)) for _ in range(size)]
        for middle, size in zip(middles, sizes, strict=True)
    ]


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 12), min_size=1, max_size=11))
def test_it_is_the_formula(seed: int, sizes: list[int]) -> None:
    groups = some_groups(seed, sizes)
    assert measured(groups) == pytest.approx(written_out(groups), abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_the_order_of_the_themes_does_not_matter(seed: int, sizes: list[int]) -> None:
    groups = some_groups(seed, sizes)
    assert measured(groups) == pytest.approx(measured(groups[::-1]), abs=1e-5)


def test_no_theme_and_one_theme() -> None:
    assert objective(np.zeros(0), np.zeros((0, 4), np.float32)) == 0.0
    alone = [[np.array([1.0, 0, 0])]]
    assert measured(alone) == pytest.approx(2.0)
    apart = [[np.array([1.0, 0, 0]), np.array([0, 1.0, 0])]]
    assert measured(apart) == pytest.approx(1.0 + math.sqrt(0.5))


def test_identical_vectors_in_all_themes() -> None:
    same = np.array([0.6, 0.8, 0.0])
    assert measured([[same] * 3, [same] * 3, [same] * 3]) == pytest.approx(2.0, abs=1e-5)
    # Uneven sizes cost, and nothing else does: (3 + 1)² / (2 · (9 + 1)).
    assert measured([[same] * 3, [same]]) == pytest.approx(0.8 + 1.0, abs=1e-5)


def test_vectors_that_cancel_each_other_are_no_division_by_zero() -> None:
    one = np.array([1.0, 0.0])
    assert math.isfinite(measured([[one, -one], [np.array([0.0, 1.0])]]))


def test_where_all_are_equally_near_none_is_punished_for_it() -> None:
    axes = [[row] for row in np.eye(4)]
    assert measured(axes) == pytest.approx(2.0)
    # Two themes are each other's nearest: no spread at all, whatever their cosine.
    two = [[np.array([1.0, 0.0])], [unit(np.array([1.0, 0.2]))]]
    assert measured(two) == pytest.approx(2.0, abs=1e-5)


def test_a_theme_beside_another_is_worth_less_than_one_as_far_off_as_the_rest() -> None:
    axes = np.eye(6)
    even = [[axes[i]] for i in range(5)]
    near = [*even[:4], [unit(axes[0] + 0.3 * axes[5])]]
    assert measured(near) < measured(even)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_cohesion_and_tightness_from_the_sum_alone(seed: int, size: int) -> None:
    [group] = some_groups(seed, [size])
    total = np.sum(group, axis=0).astype(np.float32)
    centre = unit(np.sum(group, axis=0))
    expected = sum(float(v @ centre) for v in group) / size
    assert cohesion(size, total) == pytest.approx(expected, abs=1e-4)
    pairs = [float(a @ b) for a, b in itertools.combinations(group, 2)]
    mean = sum(pairs) / len(pairs) if pairs else 1.0
    assert tightness(size, total) == pytest.approx(mean, abs=1e-4)
