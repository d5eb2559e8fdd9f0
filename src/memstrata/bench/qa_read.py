"""What stands before an answerer, by condition: a memory's context, all of it, the nearest of it.

The controls are written the same way: a heading for each date, then a line for each message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from memstrata.answers import Answer
from memstrata.bench.mix import Mix
from memstrata.bench.qa_data import Asked
from memstrata.errors import InvalidInput
from memstrata.models.base import Embedder
from memstrata.passages import chunk, limits_of
from memstrata.records import Ledger, Message
from memstrata.sync import Memory

__all__ = ["CONDITIONS", "Limits", "Reader", "Shown"]

CONDITIONS = ("context", "ask", "full", "rag")
"""What is measured in one run; the last two are controls."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an answerer is shown."""

    context: int = 6000
    """Tokens of a memory's context, and of each prompt of its agent."""
    window: int = 100_000
    """Tokens of the conversation in the full-context control; what is older is cut."""
    chunks: int = 20
    """Chunks in the naive RAG control."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands before the answerer, or, if memory answers by itself, its answer."""

    text: str
    tokens: int
    items: list[str] = field(default_factory=list[str])
    """Ids of what is in it."""
    left_out: int = 0
    """Messages for which there was no room."""
    ledger: Ledger = field(default_factory=Ledger)
    seconds: float = 0.0
    answer: str | None = None


class Reader:
    """One user's memory, read in every condition."""

    def __init__(
        self, memory: Memory, user_id: str, embedder: Embedder | None, limits: Limits
    ) -> None:
        self._memory, self._user = memory, user_id
        self._limits = limits
        self._embedder = embedder
        self._passage = limits_of(embedder)
        self._messages = _all_messages(memory, user_id)
        self._whole: Shown | None = None
        self._mix: Mix | None = None
        self._chunks: dict[str, Message] = {}

    def show(self, condition: str, asked: Asked) -> Shown:
        """What a question is answered from in a condition; timed."""
        ways: Mapping[str, Callable[[Asked], Shown]] = {
            "context": self._context,
            "ask": self._ask,
            "full": self._full,
            "rag": self._rag,
        }
        if condition == "rag":
            self._prepare()
        started = time.perf_counter()
        made = ways[condition](asked)
        seconds = time.perf_counter() - started
        return Shown(
            made.text, made.tokens, made.items, made.left_out, made.ledger, seconds, made.answer
        )

    def _context(self, asked: Asked) -> Shown:
        made = self._memory.context(
            asked.text, user_id=self._user, now=asked.now, max_tokens=self._limits.context
        )
        ids = [item.id for item in made.items]
        return Shown(str(made), made.tokens, ids, len(made.dropped), made.ledger)

    def _ask(self, asked: Asked) -> Shown:
        verb: Any = getattr(self._memory, "ask", None)
        if verb is None:
            raise InvalidInput("this version has no `ask`: leave that condition out")
        made: Answer = verb(
            asked.wording, user_id=self._user, now=asked.now, max_tokens=self._limits.context
        )
        ids = [item.id for item in made.items]
        tokens = sum(item.tokens for item in made.items)
        return Shown("", tokens, ids, 0, made.ledger, answer=made.text)

    def _full(self, asked: Asked) -> Shown:
        """The same for every question."""
        if self._whole is None:
            room, kept = self._limits.window, list[Message]()
            for message in reversed(self._messages):
                room -= self._passage.count(_line(message)) + 1
                if room < 0:
                    break
                kept.append(message)
            self._whole = self._written(kept, len(self._messages) - len(kept))
        return self._whole

    def _rag(self, asked: Asked) -> Shown:
        assert self._mix is not None
        ranked = self._mix.rank(asked.text, asked.now, self._limits.chunks)
        return self._written([self._chunks[name] for name, _ in ranked], 0)

    def _prepare(self) -> None:
        """Cut and embed once, outside the times."""
        if self._mix is not None:
            return
        if self._embedder is None:
            raise InvalidInput("the naive RAG control needs an embedder")
        for message in self._messages:
            for number, one in enumerate(
                chunk(message.content, self._passage, speaker=message.speaker)
            ):
                text = message.content[one.start : one.end]
                name = f"{message.id}#{number}"
                self._chunks[name] = message.model_copy(update={"id": name, "content": text})
        self._mix = Mix(list(self._chunks.values()), self._embedder)

    def _written(self, messages: Sequence[Message], left_out: int) -> Shown:
        order = {m.id: at for at, m in enumerate([*self._messages, *self._chunks.values()])}
        ordered = sorted(messages, key=lambda m: (m.occurred_at, order[m.id]))
        parts = [
            "\n".join([_heading(at), *map(_line, group)])
            for at, group in groupby(ordered, lambda m: m.occurred_at)
        ]
        text = "\n\n".join(parts)
        return Shown(text, self._passage.count(text), [m.id for m in ordered], left_out)


def _all_messages(memory: Memory, user_id: str) -> list[Message]:
    found: list[Message] = []
    cursor: str | None = None
    while True:
        page: Any = memory.messages(user_id=user_id, limit=1000, cursor=cursor)
        found += page.items
        cursor = page.next
        if cursor is None:
            return found


def _heading(at: datetime) -> str:
    return f"Conversation of {at:%A}, {at.day} {at:%B %Y}, {at:%H:%M}:"


def _line(message: Message) -> str:
    return f"{message.speaker}: {message.content}"
