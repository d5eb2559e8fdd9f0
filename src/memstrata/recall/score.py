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
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memstrata.arguments import check_numbers
from memstrata.kinds import KINDS
from memstrata.recall.plan import Plan
from memstrata.records import Method
from memstrata.store.items import STRATA

__all__ = ["RELATED", "WEIGHTS", "Scored", "Signals", "check_weights", "score"]

_Array = NDArray[np.float64]

# After each signal: what leaving it out costs, all others on, in points of turn recall R@1 / R@10
# on LoCoMo (two people, 760 questions); R@5 / R@10 on LongMemEval evidence (user and assistant,
# 234), as `memstrata bench ablation` measures. Weights near these measure within half a point.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        # The share of the question's terms found in the turn or near it. 6.5 / 6.4; 6.1 / 3.3
        "coverage": 1.0,
        # The calibrated cosine. -0.8 / 0.0; 3.6 / 2.0
        "semantic": 0.5,
        # The same of the turns before and after, their mean. -0.4 / 0.6; 0.5 / 0.8
        "near": 0.25,
        # The one participant the question names said it. 2.3 / 1.0; -0.4 / -0.4
        "speaker": 0.25,
        # Coverage of the turn before, if it is another's question: its answer.
        # 1.9 / 0.4; 0.0 / 0.0
        "asked": 0.3,
        # Nearness to the time the question refers to. 1.4 / 0.7; 3.1 / 2.2
        "time": 0.4,
        # Has a time expression, and the question asks when. 0.3 / 0.3; -0.2 / -0.2
        "dated": 0.15,
        # Only asks, so that it tells nothing: a tie-break, as much more costs user questions that
        # say something by the way. 0.0 / 0.0; 0.0 / 0.0
        "asks": -0.05,
        # Another than the asker said it, where the asker's own things are asked for.
        # 0.0 / 0.0; 0.2 / 0.0; without "recent", 1.1 / 0.7
        "others": -0.2,
        # An event that is long past, where no time is asked for: it ranks a little lower and never
        # goes. 0.0 / 0.0; 0.0 / 0.0
        "faded": -0.05,
        # The best sum of the above in its session. 0.0 / 0.3; 0.0 / -0.1
        "session": 0.15,
        # Of the asker's turns about as strong as the best, the newer ones, where it is asked how
        # things stand: the newest evidence of LongMemEval's 36 updates first in 81 % for 39 %.
        # 0.0 / 0.0; -0.8 / -0.3
        "recent": 0.5,
        # Mentions what the question is about (mem0's entity rule). 0.0 / 0.0; 0.0 / -0.2
        "entity": 0.1,
        # The best sum of the records made from it; of a record, that of the messages it rests on.
        # -0.5 / 0.1; 0.4 / -0.3
        "facts": 0.1,
        # The sum of the episode it is in; of an episode, the best of its messages.
        # -0.1 / 0.9; 0.6 / -0.2
        "episodes": 0.25,
        # All that is known from it is no longer so, and the past is not asked for.
        # 0.0 / 0.0; 0.0 / 0.0
        "ended": -0.3,
    }
)
"""What each signal adds to the sum that orders results; 1 is all that a question's terms give."""

_MIDDLE, _SLOPE = 0.86, 4.35
"""The sum that scores one half, and how fast scores rise there. The best sum is 0.3 to 0.4 in
the median for a question of another conversation, for one of this conversation 1.1 (where no
participant is named) to 1.3."""
RELATED = 0.2
"""The score from which a hit has to do with the question: the best hits of 99 % of LoCoMo's
questions reach it, and of 17 % of the questions of another conversation."""
_DAYS = 7.0
"""Time fit falls by e for each such distance from the window: what happened is told soon after.
Between 3 and 30 days recall differs by less than half a point."""
_ENOUGH, _SURE, _CONTRAST = 0.5, 5.0, 8.0
"""Confidence, a logistic of the strength of the best evidence (coverage + half the semantic
signal) and of the contrast between the named participant's best and the others' best. Of
questions of another conversation 0 to 5 % pass as answerable, of answerable ones 82 to 88 %; a
fact that belongs to the other person is told apart by the contrast alone (AUROC 0.80 in all, at a
contrast of 5 it is 0.77; of foreign questions 0.985 and 0.987)."""
_AS_STRONG, _AS_NEAR = 0.5, 0.6
"""How far below the best sum a turn may be for its being newer to count, and what share of the best
semantic signal among those it must have: an update says nearly the same again."""
_LENT = ("facts", "episodes", "ended")
"""Signals made from the sum of those before, over the links between strata."""
_LAST = ("session", "recent")
"""Signals made from the sum of all others."""
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
    @property
    def role(self) -> NDArray[np.uint8]: ...
    @property
    def session(self) -> NDArray[np.uint64]:
        """0: in none."""
        ...

    @property
    def kind(self) -> NDArray[np.uint8]: ...
    @property
    def stratum(self) -> NDArray[np.uint8]: ...
    @property
    def wanted(self) -> NDArray[np.bool_]:
        """Whether it is asked for; others only lend strength."""
        ...

    @property
    def entity(self) -> NDArray[Any]: ...
    @property
    def links(self) -> NDArray[np.int64]:
        """Rows (message, what was made from it or -1, whether that is past), by position."""
        ...


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
    weights: Mapping[str, float] = WEIGHTS,
) -> Scored:
    """Rank `candidates` for the question of `plan`.

    `calibrate` is the embedder's: cosines to [0, 1], nan to nan.
    Methods: `hybrid` ranks all by the weighted sum; `embedding` those with a vector by cosine;
    `bm25` those that share a term by BM25; `string_match` all by the weighted sum, each with score
    1, as the store has matched them. Ties go to the newer `occurred`, then the lower `seq`.
    `weights` replaces single `WEIGHTS`.
    """
    weights = {**WEIGHTS, **weights}
    signals = _signals(candidates, plan, calibrate)
    evidence = _evidence(plan, signals)
    own = _total(evidence, {k: v for k, v in weights.items() if k not in (*_LENT, *_LAST)})
    lent = _lent(candidates.links, own, candidates.stratum, past=plan.past)
    signals |= lent
    first = own + _total(lent, {name: weights[name] for name in _LENT})
    last = {
        "session": _best_in_session(candidates.session, first),
        "recent": _recent(candidates, evidence["semantic"], first, asked=plan.newest),
    }
    signals |= last
    total = first + _total(last, {name: weights[name] for name in _LAST})
    key, shown = _ranking(candidates, signals, total, method)
    wanted = candidates.wanted
    confidence = _confidence(
        candidates.speaker[wanted], {name: values[wanted] for name, values in evidence.items()}
    )
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
    flags = candidates.flags
    said = candidates.stratum == STRATA["messages"]
    return {
        "semantic": np.asarray(calibrate(candidates.cosine), np.float64),
        "lexical": _lexical(np.asarray(candidates.bm25, np.float64), len(plan.words)),
        "entity": np.asarray(candidates.entity, np.float64),
        "coverage": np.asarray(candidates.coverage, np.float64),
        "near": np.asarray(calibrate(candidates.near_cosine), np.float64),
        "speaker": candidates.speaker.astype(np.float64),
        "asked": np.asarray(candidates.asked, np.float64),
        "time": _time_fit(candidates.occurred, plan.window),
        "dated": ((flags & _DATED > 0) & plan.asks_when).astype(np.float64),
        "asks": (flags & _ONLY_ASKS > 0).astype(np.float64),
        "faded": _faded(candidates, plan),
        "others": (said & (candidates.role != 0) & plan.of_asker).astype(np.float64),
    }


def _faded(candidates: Signals, plan: Plan) -> _Array:
    """How much of an event has faded, by half in each half-life of its kind; nothing where the
    past is asked for."""
    lives = _half_lives()[candidates.kind]
    if plan.past:
        return np.zeros(len(lives))
    age = np.maximum(plan.asked_at - candidates.occurred.astype(np.float64), 0.0)
    return 1.0 - 0.5 ** (age / (lives * _DAY))


@lru_cache(maxsize=1)
def _half_lives() -> _Array:
    """By the code of a kind, in days; infinite for what does not fade."""
    lives = np.full(256, np.inf)
    for kind in KINDS.values():
        if kind.half_life is not None:
            lives[kind.code] = kind.half_life
    return lives


def _lent(
    links: NDArray[np.int64], own: _Array, stratum: NDArray[np.uint8], *, past: bool
) -> dict[str, _Array]:
    """What each candidate gains from what it was made from, and from what was made from it."""
    lower, upper, over = links[:, 0], links[:, 1], links[:, 2] == 1
    there = upper >= 0
    told = there & (stratum[np.maximum(upper, 0)] == STRATA["episodes"])
    fact = there & ~told & ~over
    facts = _best_over(len(own), own, lower[fact], upper[fact])
    episodes = _best_over(len(own), own, lower[told], upper[told])
    ended = np.zeros(len(own))
    if not past:
        ended[lower[over]] = 1.0
        ended[lower[~told & ~over]] = 0.0
    return {"facts": facts, "episodes": episodes, "ended": ended}


def _best_over(n: int, own: _Array, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> _Array:
    """The best sum at the other end of each candidate's links, 0 where it has none."""
    best = np.zeros(n)
    np.maximum.at(best, lower, own[upper])
    np.maximum.at(best, upper, own[lower])
    return best


def _best_in_session(session: NDArray[np.uint64], total: _Array) -> _Array:
    """The largest sum in each candidate's session; its own where it is in none."""
    names, place = np.unique(session, return_inverse=True)
    best = np.full(len(names), -np.inf)
    np.maximum.at(best, place, total)
    return np.where(session == 0, total, best[place])


def _recent(candidates: Signals, semantic: _Array, total: _Array, *, asked: bool) -> _Array:
    """How new each is among the asker's turns that are about as strong as the best."""
    recent = np.zeros(len(total))
    theirs = (candidates.role == 0) | (candidates.stratum == STRATA["records"])
    near = candidates.wanted & theirs & (total > total.max(initial=0) - _AS_STRONG)
    if not asked or not near.any():
        return recent
    near &= semantic >= _AS_NEAR * semantic[near].max()
    moments, place = np.unique(candidates.occurred[near], return_inverse=True)
    if len(moments) > 1:
        recent[near] = place / (len(moments) - 1)
    return recent


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
    evidence = dict(signals)
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
        told = {k: v for k, v in WEIGHTS.items() if k not in (*_LENT, *_LAST, "speaker")}
        total = _total(evidence, told)
        logit += _CONTRAST * float(total[speaker].max() - total[~speaker].max())
    return round(float(1.0 / (1.0 + np.exp(-logit))), 4)


def check_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights a caller gives, checked: a known signal each, and a finite number."""
    return check_numbers("weights", weights, ("lexical", *WEIGHTS))
