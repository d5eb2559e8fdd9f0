"""From signals to one score: how strongly each candidate answers the question.

Three signals are mem0's: semantic, lexical, entity. The order comes from a fusion of signals that
mean the same from question to question (coverage is a fraction, a calibrated cosine says how
rarely unrelated texts come so close), so it is a plain weighted sum: learned combinations of the
same signals measured equal or worse. Nothing is scaled by what else was found, so that scores can
be compared from question to question and with a fixed threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memstrata.recall.plan import Plan
from memstrata.records import Method

__all__ = ["WEIGHTS", "Scored", "Signals", "score"]

_Array = NDArray[np.float64]

# After each signal: what leaving it out costs, all others on, in points of turn recall R@1 / R@10
# on LoCoMo (two people, 760 questions); R@5 / R@10 on LongMemEval evidence (user and assistant,
# 234). Weights near these measure within half a point.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        # The share of the question's terms found in the turn or near it. 7.0 / 6.2; 5.4 / 2.6
        "coverage": 1.0,
        # The calibrated cosine. 0.1 / 0.4; 3.0 / 3.8
        "semantic": 0.5,
        # The same of the turns before and after, their mean. 0.5 / 0.3; 2.0 / 1.7
        "near": 0.25,
        # The one participant the question names said it. 3.3 / 1.2; -0.4 / -0.4
        "speaker": 0.25,
        # Coverage of the turn before, if it is another's question: its answer. 3.2 / 0.4; 0 / 0
        "asked": 0.3,
        # Nearness to the time the question refers to. 2.1 / 2.0; 3.1 / 2.7
        "time": 0.4,
        # Has a time expression, and the question asks when. 0.9 / -0.2; 0 / -0.2
        "dated": 0.15,
        # Only asks, so that it tells nothing: a tie-break, as much more costs user questions that
        # say something by the way. 0 / 0; 0 / 0
        "asks": -0.05,
    }
)
"""What each signal adds to the sum that orders results; 1 is all that a question's terms give."""

_MIDDLE, _SLOPE = 0.75, 5.0
"""The sum that scores one half, and how fast scores rise there. The best sum is 0.25 to 0.35 in
the median for a question of another conversation, for one of this conversation 0.95 (where no
participant is named) to 1.15."""
_DAYS = 7.0
"""Time fit falls by e for each such distance from the window: what happened is told soon after.
Between 3 and 30 days recall differs by less than half a point."""
_ENOUGH, _SURE, _CONTRAST = 0.5, 5.0, 5.0
"""Confidence, a logistic of the strength of the best evidence (coverage + half the semantic
signal) and of the contrast between the named participant's best and the others' best. Of
questions of another conversation 0 to 5 % pass as answerable, of answerable ones 82 to 88 %; a
fact that belongs to the other person is told apart by the contrast alone (AUROC 0.82)."""
_SQUASH = ((3, 5.0, 0.7), (6, 7.0, 0.6), (9, 9.0, 0.5), (15, 10.0, 0.5))
_SQUASH_LONG = (12.0, 0.5)
"""mem0's logistic for BM25: up to so many terms, middle and slope."""

_ONLY_ASKS, _DATED = 8, 16
"""Bits of `flags`."""
_DAY = 86_400e6


class Signals(Protocol):
    """What the index says of each candidate: parallel arrays (the scope index's `Candidates`)."""

    @property
    def seq(self) -> NDArray[np.int64]: ...
    @property
    def cosine(self) -> NDArray[Any]:
        """Not a number where the item, or the question, has no vector."""
        ...

    @property
    def near_cosine(self) -> NDArray[Any]:
        """Mean cosine of the messages before and after; not a number where there are none."""
        ...

    @property
    def bm25(self) -> NDArray[Any]: ...
    @property
    def coverage(self) -> NDArray[Any]: ...
    @property
    def asked(self) -> NDArray[Any]: ...
    @property
    def speaker(self) -> NDArray[np.bool_]: ...
    @property
    def occurred(self) -> NDArray[np.int64]: ...
    @property
    def flags(self) -> NDArray[np.uint8]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Candidates in order, with why."""

    order: NDArray[np.intp]
    """Positions among the candidates, best first: those the method can rank."""
    score: _Array
    """By position, in [0, 1]; never rising along `order`."""
    signals: Mapping[str, _Array]
    """By position: `semantic`, `lexical`, `entity`, and what `WEIGHTS` weighs, before weighing."""
    answerable: bool
    """Whether the evidence is strong enough to answer from, that is `confidence` at least 0.5."""
    confidence: float

    def signals_of(self, position: int) -> dict[str, float]:
        """The signals of one candidate, rounded, without those it has no value for."""
        values = {name: float(array[position]) for name, array in self.signals.items()}
        return {name: round(value, 4) for name, value in values.items() if not np.isnan(value)}


def score(
    candidates: Signals,
    plan: Plan,
    calibrate: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    method: Method = "hybrid",
) -> Scored:
    """Rank `candidates` for the question of `plan`.

    `calibrate` is the embedder's: cosines to [0, 1], nan to nan.
    Methods: `hybrid` ranks all by the weighted sum; `embedding` those with a vector by cosine;
    `bm25` those that share a term by BM25; `string_match` all by the weighted sum, each with score
    1, as the store has matched them. Ties go to the newer `occurred`, then the lower `seq`.
    """
    signals = _signals(candidates, plan, calibrate)
    evidence = _evidence(plan, signals)
    key, shown = _ranking(candidates, signals, _total(evidence, WEIGHTS), method)
    confidence = _confidence(candidates.speaker, evidence)
    return Scored(
        order=_order(key, candidates),
        score=np.round(np.nan_to_num(shown), 6),
        signals=signals,
        answerable=confidence >= 0.5,
        confidence=confidence,
    )


# ── signals ──────────────────────────────────────────────────────────────────────────────────


def _signals(
    candidates: Signals,
    plan: Plan,
    calibrate: Callable[[NDArray[Any]], NDArray[Any]],
) -> dict[str, _Array]:
    n = len(candidates.seq)
    flags = candidates.flags
    return {
        "semantic": np.asarray(calibrate(candidates.cosine), np.float64),
        "lexical": _lexical(np.asarray(candidates.bm25, np.float64), len(plan.words)),
        "entity": np.zeros(n),
        "coverage": np.asarray(candidates.coverage, np.float64),
        "near": np.asarray(calibrate(candidates.near_cosine), np.float64),
        "speaker": candidates.speaker.astype(np.float64),
        "asked": np.asarray(candidates.asked, np.float64),
        "time": _time_fit(candidates.occurred, plan.window),
        "dated": ((flags & _DATED > 0) & plan.asks_when).astype(np.float64),
        "asks": (flags & _ONLY_ASKS > 0).astype(np.float64),
    }


def _lexical(bm25: _Array, terms: int) -> _Array:
    """BM25 in [0, 1], 0 where no term is shared."""
    middle, slope = next((rest for most, *rest in _SQUASH if terms <= most), _SQUASH_LONG)
    return np.where(bm25 > 0, 1.0 / (1.0 + np.exp(slope * (middle - bm25))), 0.0)


def _time_fit(occurred: NDArray[np.int64], window: tuple[int, int] | None) -> _Array:
    """1 inside the window, falling with the distance from it; 0 without one."""
    if window is None:
        return np.zeros(len(occurred))
    start, end = window
    when = occurred.astype(np.float64)
    distance = np.maximum(np.maximum(start - when, when - (end - 1)), 0.0)
    return np.exp(-distance / (_DAYS * _DAY))


def _evidence(plan: Plan, signals: Mapping[str, _Array]) -> dict[str, _Array]:
    """The signals that are weighed, with stand-ins for those that are missing.

    Of two signals of one thing, the one there is speaks for both: an item whose vector is still
    to come ranks by its terms as if its meaning agreed, a turn alone in its session stands for its
    neighbours, and a question without terms (or a scope without vectors) is scored on the same
    scale as any other.
    """
    evidence = {name: signals[name] for name in WEIGHTS}
    semantic, coverage, near = signals["semantic"], signals["coverage"], signals["near"]
    semantic = np.where(np.isnan(semantic), coverage, semantic)
    if not plan.words:
        coverage = semantic
    near = np.where(np.isnan(near), semantic, near)
    return evidence | {"coverage": coverage, "semantic": semantic, "near": near}


# ── ranks ────────────────────────────────────────────────────────────────────────────────────


def _total(evidence: Mapping[str, _Array], weights: Mapping[str, float]) -> _Array:
    return np.sum([weight * evidence[name] for name, weight in weights.items()], axis=0)


def _ranking(
    candidates: Signals, signals: Mapping[str, _Array], total: _Array, method: Method
) -> tuple[_Array, _Array]:
    """What orders the candidates, nan for those the method cannot rank, and their scores."""
    if method == "embedding":
        return np.asarray(candidates.cosine, np.float64), signals["semantic"]
    if method == "bm25":
        bm25 = np.asarray(candidates.bm25, np.float64)
        return np.where(bm25 > 0, bm25, np.nan), signals["lexical"]
    return total, np.ones_like(total) if method == "string_match" else _squash(total)


def _squash(total: _Array) -> _Array:
    """The weighted sum in [0, 1]: a logistic, moved so that no evidence scores 0."""
    floor = 1.0 / (1.0 + np.exp(_SLOPE * _MIDDLE))
    logistic = 1.0 / (1.0 + np.exp(_SLOPE * (_MIDDLE - total)))
    return np.maximum((logistic - floor) / (1.0 - floor), 0.0)


def _order(key: _Array, candidates: Signals) -> NDArray[np.intp]:
    """Positions by falling `key`, without nan; rounded, so that every platform agrees on ties."""
    order = np.lexsort((candidates.seq, -candidates.occurred, -np.round(key, 5)))
    return order[~np.isnan(key[order])]


def _confidence(speaker: NDArray[np.bool_], evidence: Mapping[str, _Array]) -> float:
    """How sure it is, in [0, 1], that the best evidence answers the question."""
    if not len(speaker):
        return 0.0
    strength = evidence["coverage"] + 0.5 * evidence["semantic"]
    logit = _SURE * (float(strength.max()) - _ENOUGH)
    if speaker.any() and not speaker.all():
        # The bonus for the speaker would hide what it is about: who the fact belongs to.
        total = _total(evidence, {**WEIGHTS, "speaker": 0.0})
        logit += _CONTRAST * float(total[speaker].max() - total[~speaker].max())
    return round(float(1.0 / (1.0 + np.exp(-logit))), 4)
