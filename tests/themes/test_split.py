"""The ways in which a group may fall into pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memstrata.themes.split import ways_to_split


def units(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def ways(vectors: NDArray[np.float32], link: float = 0.5) -> list[list[list[int]]]:
    return [[part.tolist() for part in way] for way in ways_to_split(vectors, link)]


@given(st.integers(0, 2**32 - 1), st.integers(2, 14), st.floats(-1, 1))
def test_every_way_has_each_row_once_and_no_empty_piece(seed: int, count: int, link: float) -> None:
    vectors = units(np.random.default_rng(seed).normal(size=(count, 5)))
    found = ways(vectors, link)
    assert found
    for way in found:
        assert len(way) >= 2 and all(way)
        assert sorted(row for part in way for row in part) == list(range(count))


def test_one_row_and_none_cannot_be_divided() -> None:
    assert ways(units(np.ones((1, 3)))) == []
    assert ways(np.zeros((0, 3), np.float32)) == []


def test_what_is_linked_through_others_is_one_component() -> None:
    angles = np.radians([0.0, 40.0, 80.0, 180.0, 200.0])
    chain = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # 0° and 80° are further than the link from each other, and both near 40°.
    assert ways(units(chain), 0.7)[0] == [[0, 1, 2], [3, 4]]


def test_one_component_is_no_way_and_slices_still_are() -> None:
    dice = np.random.default_rng(3)
    vectors = units(np.array([1.0, 0, 0]) + 0.1 * dice.normal(size=(9, 3)))
    found = ways(vectors, 0.5)
    sizes = [sorted(map(len, way)) for way in found]
    assert [4, 5] in sizes and [3, 3, 3] in sizes
    assert all(len(way) <= 3 for way in found)


def test_two_clusters_are_cut_where_they_part_whatever_the_order() -> None:
    dice = np.random.default_rng(5)
    first = np.array([1.0, 0.2, 0]) + 0.05 * dice.normal(size=(6, 3))
    second = np.array([0.2, 1.0, 0]) + 0.05 * dice.normal(size=(4, 3))
    rows = np.concatenate((first, second))
    order = dice.permutation(10)
    wanted = {frozenset(np.flatnonzero(order < 6).tolist()),
              frozenset(np.flatnonzero(order >= 6).tolist())}  # fmt: skip
    found = ways(units(rows[order]), -1.0)
    assert wanted in [{frozenset(part) for part in way} for way in found]


@pytest.mark.parametrize("count", [2, 3, 5, 6, 12])
def test_identical_vectors_are_sliced_all_the_same(count: int) -> None:
    vectors = units(np.ones((count, 4)))
    found = ways(vectors)
    assert found and all(sum(map(len, way)) == count for way in found)


def test_the_same_rows_are_divided_the_same_way_each_time() -> None:
    vectors = units(np.random.default_rng(9).normal(size=(12, 6)))
    assert ways(vectors) == ways(vectors.copy())
