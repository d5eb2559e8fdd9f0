"""Stage two: evidence only while it pays.

A gate says what each item that is offered would gain, given what is taken already. Without a
model it is the item's share of all the evidence there seems to be, less what it repeats: where
one item stands out, the others gain little, and where many are equally good, each gains something.
With one that gives log-probabilities it is what the item does to a draft answer (`likelihood`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memstrata.recall.select import redundancy

__all__ = ["GAIN", "Gate", "Offer", "ShareGate", "admit", "shares"]

GAIN = 0.01
"""The least gain, as a share of the evidence, for which an item is taken."""
_SHARP = 1.5
"""How fast shares fall with the logit of the score. Over the same candidates tokens for a recall of
0.8 on LoCoMo are 15 % fewer at 1.5 than with a fixed number of items, at 1 7 %, at 2 10 %; a
logistic regression over score, rank and the distance to the best saves 5 %."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that may be taken into the context."""

    key: int
    text: str
    """As it would stand before a model."""
    share: float
    """Of all the evidence there seems to be."""
    words: frozenset[str]
    """The terms of the question that it has."""
    trust: int
    """How much its source is trusted, the larger the more."""
    likeness: Sequence[float] | NDArray[np.float64]
    """To every other one, by key, in levels of `Embedder.relate`."""


class Gate(Protocol):
    """Decides whether one more item pays."""

    least: float
    """The gain from which an item is taken."""

    async def look(self, question: str, stages: Sequence[Sequence[Offer]]) -> None:
        """Told once all that will be offered, before any of it is."""
        ...

    async def gain(self, question: str, taken: Sequence[Offer], offer: Offer) -> float:
        """What `offer` adds to an answer, beside what is taken."""
        ...


class ShareGate:
    """The gate without a model: the item's share of the evidence, less what is said already.

    A word of the question that nothing taken has is worth a hundredth: a question may ask for two
    things, of which one is told far more clearly. At the default gain recall on LoCoMo rises by it
    from 86.1 to 86.4, for 3 % more tokens.
    """

    def __init__(self, least: float = GAIN) -> None:
        self.least = least

    async def look(self, question: str, stages: Sequence[Sequence[Offer]]) -> None:
        """See `Gate.look`: nothing to prepare."""

    async def gain(self, question: str, taken: Sequence[Offer], offer: Offer) -> float:
        """See `Gate.gain`."""
        # A page may have every word of the question: it does not stand in for what the user said.
        trusted = [one.words for one in taken if one.trust >= offer.trust]
        known = frozenset[str]().union(*trusted)
        if offer.words - known:
            return max(offer.share, GAIN)
        most = max((float(offer.likeness[one.key]) for one in taken), default=0.0)
        return offer.share * (1.0 - float(redundancy(most)))


def shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each candidate's share of the evidence, from its score in [0, 1]; they sum to 1."""
    if not len(scores):
        return np.zeros(0)
    inside = np.clip(scores, 1e-4, 1.0 - 1e-4)
    logits = _SHARP * np.log(inside / (1.0 - inside))
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


async def admit(gate: Gate, question: str, stages: Sequence[Sequence[Offer]]) -> list[Offer]:
    """What pays, of stages from the most condensed down to the original words, each in order.

    Where nothing pays by itself, as where very many say as little, the largest share does.
    """
    taken: list[Offer] = []
    await gate.look(question, stages)
    for stage in stages:
        for offer in stage:
            if await gate.gain(question, taken, offer) >= gate.least:
                taken.append(offer)
    offered = [offer for stage in stages for offer in stage]
    return taken or sorted(offered, key=lambda offer: -offer.share)[:1]
