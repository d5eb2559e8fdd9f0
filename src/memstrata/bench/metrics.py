"""Evidence recall: how much of what a question needs is found, and how high it stands.

A ranking is a sequence of turn ids, best first; the evidence is the set of turn ids the answer
rests on. Ids have the form `D<session>:<turn>`. All functions are pure; the bootstrap takes its
seed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CUTOFFS",
    "SESSION_CUTOFFS",
    "all_at",
    "any_at",
    "auroc",
    "intervals",
    "judge",
    "judge_sessions",
    "means",
    "recall_at",
    "reciprocal_rank",
    "session_of",
    "session_ranking",
]

CUTOFFS = (1, 3, 5, 10, 20, 50)
"""Ranks at which turn recall is reported."""

SESSION_CUTOFFS = (1, 3, 5, 10)
"""Ranks at which session recall is reported."""


def recall_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """The share of the evidence among the first `k`; `evidence` is not empty."""
    top = set(ranked[:k])
    return sum(item in top for item in evidence) / len(evidence)


def any_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1.0 if any piece of evidence is among the first `k`, else 0.0."""
    return float(recall_at(ranked, evidence, k) > 0.0)


def all_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """1.0 if every piece of evidence is among the first `k`, else 0.0."""
    return float(recall_at(ranked, evidence, k) == 1.0)


def reciprocal_rank(ranked: Sequence[str], evidence: Collection[str]) -> float:
    """One over the rank of the first piece of evidence; 0.0 if none was found."""
    for rank, item in enumerate(ranked, start=1):
        if item in evidence:
            return 1.0 / rank
    return 0.0


def session_of(turn_id: str) -> str:
    """The session a turn id belongs to: `D8` of `D8:6`."""
    return turn_id.partition(":")[0]


def session_ranking(ranked: Sequence[str]) -> list[str]:
    """The sessions in order of their best turn."""
    return list(dict.fromkeys(map(session_of, ranked)))


def judge(ranked: Sequence[str], evidence: Collection[str]) -> dict[str, float]:
    """Every metric for one question, by name: `recall@k`, `any@k`, `all@k`, `mrr`, `session_…`."""
    unique = list(dict.fromkeys(ranked))
    scores = {f"recall@{k}": recall_at(unique, evidence, k) for k in CUTOFFS}
    scores["any@10"] = any_at(unique, evidence, 10)
    scores["all@10"] = all_at(unique, evidence, 10)
    scores["mrr"] = reciprocal_rank(unique, evidence)
    sessions = session_ranking(unique)
    wanted = set(map(session_of, evidence))
    return scores | judge_sessions(sessions, wanted)


def judge_sessions(ranked: Sequence[str], wanted: Collection[str]) -> dict[str, float]:
    """Of sessions, each once and best first: `session_recall@k` and `session_any@k`."""
    shares = {f"session_recall@{k}": recall_at(ranked, wanted, k) for k in SESSION_CUTOFFS}
    return shares | {f"session_any@{k}": any_at(ranked, wanted, k) for k in SESSION_CUTOFFS}


def means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The macro-average over questions, each counting once; empty for no question."""
    if not scores:
        return {}
    names = list(scores[0])
    return dict(zip(names, map(float, _matrix(scores, names).mean(axis=0)), strict=True))


def intervals(
    scores: Sequence[Mapping[str, float]], *, seed: int, rounds: int = 2000, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """Percentile bootstrap intervals of the means, resampling whole questions with replacement.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13.
    """
    if not scores:
        return {}
    names = list(scores[0])
    values = _matrix(scores, names)
    count = len(scores)
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1.0 / count), rounds)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(draws @ values / count, (tail, 1.0 - tail), axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(names)}


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """The chance that a random positive scores above a random negative, ties counting half."""
    if not positive or not negative:
        return None
    high = np.asarray(positive, np.float64)[:, None]
    low = np.asarray(negative, np.float64)[None, :]
    return float(np.sign(high - low).mean()) / 2.0 + 0.5


def _matrix(scores: Sequence[Mapping[str, float]], names: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[score[name] for name in names] for score in scores], dtype=np.float64)
