"""Stage one: which of the candidates stand for the rest, so that no spot is taken twice.

A memory's records lie close together, and the best of a ranking are often one thing said several
times. The order made here is by relevance, less what an item says that was chosen already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["SELECTIONS", "Selection", "redundancy", "select"]

_Array = NDArray[np.float64]

Selection = Literal["discounted", "coverage", "mmr", "mmr_narrow", "mmr_wide", "relevance"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)

NEAR, SAME = 0.45, 0.75
"""Likeness, in levels of `Embedder.relate`, from which two items begin to say the same (one pair
in 180 is so near), and at which they do. Beginning at 0.4 costs recall (R@10 on LoCoMo 83.4 for
83.6), at 0.5 it leaves twice the near-duplicates."""
_NEIGHBOURS = 10
_LEAST_LIKENESS = 0.2
_COVERED, _RELEVANT = 0.7, 0.3
"""Of coverage: the weight of what is newly covered, and of the similarity to the question."""
_BALANCE = 0.4
_SHORT, _SHORT_BALANCE, _LONG_BALANCE = 5, 0.7, 0.3
"""Of MMR: λ, and its two values for questions of fewer terms, and of more."""


def redundancy(likeness: _Array | float) -> _Array:
    """How much of one item another says, in [0, 1], from their likeness in levels."""
    return np.clip((np.asarray(likeness, np.float64) - NEAR) / (SAME - NEAR), 0.0, 1.0)


def select(
    scores: _Array, likeness: _Array, how: Selection = "discounted", *, terms: int = 0
) -> list[int]:
    """All candidates in the order in which they are worth having.

    `scores` (n,) in [0, 1] say how well each answers the question, `likeness` (n, n) how near two
    are, in levels of `Embedder.relate`, 1 where one rests on the other. `terms` are those of the
    question.

    - `discounted`: score × (1 − the redundancy with what is chosen).
    - `coverage`: 0.7 × the newly covered, score-weighted share of the candidates, over each one's
      ten nearest, + 0.3 × score (xMemory).
    - `mmr`: λ · score − (1 − λ) · the largest likeness to what is chosen, λ 0.4 (Carbonell and
      Goldstein, 1998); `mmr_narrow` with λ 0.7 for questions under five terms, 0.3 from five, as
      the article's formula has it; `mmr_wide` the other way round, as its text has it.
    - `relevance`: by score alone.
    """
    if how == "relevance":
        return _best_first(scores)
    if how == "coverage":
        return _by_coverage(scores, likeness)
    if how == "discounted":
        return _greedily(scores, likeness, lambda most: scores * (1.0 - redundancy(most)))
    short = _SHORT_BALANCE if how == "mmr_narrow" else _LONG_BALANCE
    long = _LONG_BALANCE if how == "mmr_narrow" else _SHORT_BALANCE
    balance = _BALANCE if how == "mmr" else short if terms < _SHORT else long
    return _greedily(scores, likeness, lambda most: balance * scores - (1.0 - balance) * most)


def _best_first(scores: _Array) -> list[int]:
    return np.argsort(-np.round(scores, 6), kind="stable").tolist()


def _greedily(scores: _Array, likeness: _Array, worth: Callable[[_Array], _Array]) -> list[int]:
    """Again and again the one of the largest worth, given how like each is to what is chosen."""
    count = len(scores)
    left = np.ones(count, np.bool_)
    most = np.zeros(count)
    order: list[int] = []
    for _ in range(count):
        best = int(np.where(left, np.round(worth(most), 6), -np.inf).argmax())
        order.append(best)
        left[best] = False
        most = np.maximum(most, likeness[best])
    return order


def _by_coverage(scores: _Array, likeness: _Array) -> list[int]:
    graph = _nearest(likeness)
    share = scores / (scores.sum() or 1.0)

    def worth(covered: _Array) -> _Array:
        newly = np.maximum(graph - covered[None, :], 0.0) @ share
        return _COVERED * newly + _RELEVANT * scores

    return _greedily(scores, graph, worth)


def _nearest(likeness: _Array) -> _Array:
    """The graph of each one's ten nearest, both ways; every one covers itself."""
    count = len(likeness)
    graph = np.zeros_like(likeness)
    most = min(_NEIGHBOURS + 1, count)
    for row in range(count):
        near = np.argpartition(-likeness[row], most - 1)[:most]
        graph[row, near] = likeness[row, near]
    graph = np.maximum(graph, graph.T)
    graph[graph < _LEAST_LIKENESS] = 0.0
    np.fill_diagonal(graph, 1.0)
    return graph
