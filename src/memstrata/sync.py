"""`Memory`: the verbs of `AsyncMemory` as ordinary blocking calls, one line each."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from memstrata import jobs
from memstrata.memory import AsyncMemory

__all__ = ["Memory"]

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    verb: Callable[Concatenate[AsyncMemory, P], Awaitable[T]],
) -> Callable[Concatenate[Memory, P], T]:
    @functools.wraps(verb)
    def call(memory: Memory, *args: P.args, **kwargs: P.kwargs) -> T:
        return jobs.run(lambda: verb(memory.aio, *args, **kwargs))

    return call


class Memory:
    """A memory with blocking verbs; safe to use from any thread, also inside a running loop."""

    def __init__(self, aio: AsyncMemory) -> None:
        self.aio = aio
        """The same memory with awaitable verbs; use it on one event loop only."""

    add = _blocking(AsyncMemory.add)
    batches = _blocking(AsyncMemory.batches)
    close = _blocking(AsyncMemory.close)
    context = _blocking(AsyncMemory.context)
    count = _blocking(AsyncMemory.count)
    create = _blocking(AsyncMemory.create)
    decide = _blocking(AsyncMemory.decide)
    doctor = _blocking(AsyncMemory.doctor)
    dump = _blocking(AsyncMemory.dump)
    entities = _blocking(AsyncMemory.entities)
    episodes = _blocking(AsyncMemory.episodes)
    forget = _blocking(AsyncMemory.forget)
    get = _blocking(AsyncMemory.get)
    history = _blocking(AsyncMemory.history)
    kinds = _blocking(AsyncMemory.kinds)
    list = _blocking(AsyncMemory.list)
    load = _blocking(AsyncMemory.load)
    messages = _blocking(AsyncMemory.messages)
    retire = _blocking(AsyncMemory.retire)
    retry = _blocking(AsyncMemory.retry)
    review = _blocking(AsyncMemory.review)
    scopes = _blocking(AsyncMemory.scopes)
    search = _blocking(AsyncMemory.search)
    set_user = _blocking(AsyncMemory.set_user)
    stats = _blocking(AsyncMemory.stats)
    timeline = _blocking(AsyncMemory.timeline)
    undo = _blocking(AsyncMemory.undo)
    update = _blocking(AsyncMemory.update)
    verify = _blocking(AsyncMemory.verify)
    wait_for = _blocking(AsyncMemory.wait_for)

    def scoped(self, *, user_id: str | None = None, agent_id: str | None = None) -> Memory:
        """The same memory for one user or agent, so that calls need not name it."""
        return Memory(self.aio.scoped(user_id=user_id, agent_id=agent_id))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.aio).replace("AsyncMemory", "Memory")
