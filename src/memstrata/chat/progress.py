"""What an answer in the making comes upon, told while it is made to whoever listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from memstrata.answers import Answer, Searched
from memstrata.records import Receipt

__all__ = ["Listener", "Step", "listening", "tell"]

Step = Literal["search", "answer", "receipt"]
"""A search was made; the answer is checked; what became of learning from the turn."""
Listener = Callable[[Step, Searched | Answer | Receipt], Awaitable[None]]

_LISTENER: ContextVar[Listener | None] = ContextVar("memstrata_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Be told of the steps of what is answered within, in order."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


async def tell(step: Step, what: Searched | Answer | Receipt) -> None:
    """Tell it to who listens, if anybody does."""
    listener = _LISTENER.get()
    if listener is not None:
        await listener(step, what)
