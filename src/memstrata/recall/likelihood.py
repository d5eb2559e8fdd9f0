"""Stage two with a model: evidence only while it makes a draft answer surer, or another one.

A model that gives log-probabilities drafts an answer of at most 20 tokens from what is taken, and
again with the next evidence beside it. The evidence is worth its tokens if the draft's mean
negative log-likelihood falls by it, or if it moves the distribution of the draft's first token
(Kullback-Leibler divergence): at least θ of either, in nats, less where the model is unsure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from memstrata.errors import BudgetExceeded, ModelFailed
from memstrata.models.chat import PATIENCE, ChatModel, Prompt, Said, TokenProbability
from memstrata.models.spending import Meter
from memstrata.models.wording import language_of, wording
from memstrata.recall.gate import Offer, ShareGate, admit
from memstrata.text.clean import shorten
from memstrata.text.untrusted import as_data

__all__ = ["CALLS", "THETA", "LikelihoodGate", "divergence"]

THETA = 0.19
"""Nats from which evidence pays for a model that is sure; xMemory has 0.18 to 0.2."""
CALLS = 6
"""Drafts per context at most."""
_DRAFT = 20
"""Tokens of a draft."""
_ALTERNATIVES = 10
_LEAST_SURE = 0.1
_UNLIKELY = 1e-6
_TEXT = 400
"""Characters of one item that the draft is made from."""


class LikelihoodGate:
    """A `Gate` that asks a model.

    It looks at what the gate without a model would take, in its order, in at most `calls` groups:
    the first stands, and each of the others stays only if the draft changes enough by it. Where the
    endpoint gives no log-probabilities, the model fails or a limit of spending is reached, the
    gate without a model decides on what is left, and `note` says why.
    """

    least = 1.0
    """Gains are in units of what pays."""

    def __init__(
        self,
        model: ChatModel,
        meter: Meter,
        otherwise: ShareGate,
        *,
        theta: float = THETA,
        calls: int = CALLS,
    ) -> None:
        self._model = model
        self._meter = meter
        self._otherwise = otherwise
        self._theta = theta
        self._calls = calls
        self._worth: dict[int, float] = {}
        self.note: str | None = None
        """Why the gate without a model had to decide, if it had to."""

    async def look(self, question: str, stages: Sequence[Sequence[Offer]]) -> None:
        """Ask the model about all that may be taken."""
        passing = await admit(self._otherwise, question, stages)
        self._worth = {offer.key: 0.0 for stage in stages for offer in stage}
        self._worth |= {offer.key: self.least for offer in passing}
        first, *others = _groups(passing, self._calls) or [[]]
        if not others:
            return
        try:
            await self._measure(question, first, others)
        except (_NoOdds, ModelFailed, BudgetExceeded) as error:
            self.note = f"evidence was weighed without the model: {error}"

    async def gain(self, question: str, taken: Sequence[Offer], offer: Offer) -> float:
        """See `Gate.gain`: 1 and more is worth its tokens."""
        return self._worth[offer.key]

    async def _measure(
        self, question: str, first: Sequence[Offer], others: Sequence[Sequence[Offer]]
    ) -> None:
        taken = list(first)
        before = await self._draft(question, taken)
        for group in others:
            after = await self._draft(question, [*taken, *group])
            worth = _worth(before, after, self._theta)
            self._worth |= {offer.key: worth for offer in group}
            if worth >= self.least:
                taken += group
                before = after

    async def _draft(self, question: str, offers: Sequence[Offer]) -> Sequence[TokenProbability]:
        items = "\n".join(f"- {as_data(shorten(offer.text, _TEXT))}" for offer in offers)
        asked = f"<memory>\n{items}\n</memory>\n\n{as_data(question)}"
        reply = await self._model.complete(
            Prompt(
                purpose="gate",
                system=wording("memstrata.recall", "draft", language_of(question)).text,
                turns=(Said("user", asked),),
                max_tokens=_DRAFT,
                logprobs=_ALTERNATIVES,
                patience=PATIENCE,
            )
        )
        self._meter.note(reply.use)
        if not reply.tokens:
            raise _NoOdds(f"{self._model.id} gives no log-probabilities")
        return reply.tokens[:_DRAFT]


class _NoOdds(Exception):
    """The reply came without log-probabilities."""


def _groups(offers: Sequence[Offer], most: int) -> list[Sequence[Offer]]:
    """The offers in order, in at most so many groups; the later ones are the larger."""
    count = min(len(offers), most)
    edges = [len(offers) * place // count for place in range(count + 1)] if count else []
    return [offers[start:end] for start, end in pairwise(edges)]


def _worth(
    before: Sequence[TokenProbability], after: Sequence[TokenProbability], theta: float
) -> float:
    """What new evidence does to a draft, in units of what pays."""
    fall = _unsureness(before) - _unsureness(after)
    moved = divergence(after[0], before[0])
    sure = max(math.exp(-_unsureness(before)), _LEAST_SURE)
    return max(fall, moved) / (theta * sure)


def _unsureness(draft: Sequence[TokenProbability]) -> float:
    """The mean negative log-likelihood of its tokens."""
    return -sum(token.logprob for token in draft) / len(draft)


def divergence(one: TokenProbability, other: TokenProbability) -> float:
    """Kullback-Leibler divergence of the distribution of `one` from that of `other`, in nats.

    Over the tokens that either lists; all others are one. A token that is not listed is taken to
    be as likely as the least likely one that is, or as all that are not, if that is less.
    """
    p, q = _distribution(one), _distribution(other)
    rest_p, rest_q = 1.0 - sum(p.values()), 1.0 - sum(q.values())
    least = min(min(q.values()), max(rest_q, _UNLIKELY))
    found = sum(share * math.log(share / q.get(token, least)) for token, share in p.items())
    if rest_p > _UNLIKELY:
        found += rest_p * math.log(rest_p / max(rest_q, _UNLIKELY))
    return max(found, 0.0)


def _distribution(token: TokenProbability) -> dict[str, float]:
    listed = {token.token: token.logprob} | dict(token.alternatives)
    return {name: max(math.exp(min(odds, 0.0)), _UNLIKELY) for name, odds in listed.items()}
