"""The plain mix: turns by half BM25 and half cosine, as most memories for agents rank them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memstrata.bench.bare import BM25
from memstrata.models.base import Embedder
from memstrata.passages import limits_of
from memstrata.recall.assemble import assemble
from memstrata.records import Hit, Message
from memstrata.text.analyse import pack_terms, term_hash, terms

__all__ = ["Mix"]


class Mix:
    """One conversation's messages."""

    def __init__(self, messages: Sequence[Message], model: Embedder) -> None:
        self._messages = messages
        self._model = model
        self._count = limits_of(model).count
        said = [f"{one.speaker}: {one.content}" for one in messages]
        self._words = BM25([pack_terms(text) for text in said])
        self._matrix = model.embed_passages(said)
        self.vectors = {one.id: row for one, row in zip(messages, self._matrix, strict=True)}
        """By the id of a message."""
        self._tokens: dict[str, int] = {}

    def rank(self, query: str, now: datetime, most: int) -> list[tuple[str, int]]:
        """Ids of the best messages, and the tokens of each as a line of a prompt."""
        words = self._words.scores({term_hash(term) for term in terms(query)})
        near = self._matrix @ self._model.embed_query(query)
        best = np.argsort(-(_scaled(words) + _scaled(near)), kind="stable")[:most]
        found: list[Message] = [self._messages[at] for at in best.tolist()]
        return [(one.id, self._cost(one, now)) for one in found]

    def _cost(self, message: Message, now: datetime) -> int:
        if message.id not in self._tokens:
            hit = Hit(id=message.id, stratum="messages", text=message.content, score=1.0)
            made = assemble(
                [hit.model_copy(update={"message": message})],
                max_tokens=100_000,
                count=self._count,
                zone=now.tzinfo or message.occurred_at.tzinfo,  # type: ignore[arg-type]
            )
            self._tokens[message.id] = made.items[0].tokens
        return self._tokens[message.id]


def _scaled(values: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = values.min(), values.max()
    return (values - low) / max(high - low, np.float32(1e-9))
