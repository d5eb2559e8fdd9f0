"""How an operation is run: whole, in one transaction, on a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, cast

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import RunVar

from memstrata.store.keeping import Held, held
from memstrata.store.ports import Backend, Tx

__all__ = ["Running"]

P = ParamSpec("P")
T = TypeVar("T")

_KEPT = 1_000

_THREADS: RunVar[dict[str, anyio.CapacityLimiter]] = RunVar("memstrata_threads")


def _limiter(name: str, tokens: int) -> anyio.CapacityLimiter:
    """This event loop's limiter for reads or writes."""
    limiters = _THREADS.get(None)
    if limiters is None:
        limiters = dict[str, anyio.CapacityLimiter]()
        _THREADS.set(limiters)
    return limiters.setdefault(name, anyio.CapacityLimiter(tokens))


class Running:
    """A backend, and operations that run on it: one that writes, beside some that read."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.location = backend.location
        self._kept: tuple[object, dict[object, object]] = (None, {})
        """What was read since the store was at a version."""

    async def _write(
        self, operation: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        call: Callable[[Tx], T] = lambda tx: operation(tx, *args, **kwargs)  # noqa: E731
        return await anyio.to_thread.run_sync(
            self._backend.write, call, limiter=_limiter("write", 1)
        )

    async def _read(
        self, operation: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        call: Callable[[Tx], T] = lambda tx: operation(tx, *args, **kwargs)  # noqa: E731
        return await anyio.to_thread.run_sync(self._backend.read, call, limiter=_limiter("read", 4))

    async def _read_while_unchanged(
        self, operation: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `_read`, and from memory for as long as nobody has committed anything.

        For what every request asks: a thread's turn costs more than looking whether it may be kept.
        """
        version = self._backend.version()  # before reading: what is committed meanwhile counts
        if version != self._kept[0] or len(self._kept[1]) >= _KEPT:
            self._kept = version, {}
        key = operation, args, *sorted(kwargs.items())
        kept = self._kept[1]
        if key not in kept:
            kept[key] = await self._read(operation, *args, **kwargs)
        return cast("T", kept[key])

    async def backup(self, path: Path, *, force: bool) -> tuple[Held, int]:
        """Write a copy of the whole store; what is in it, and its bytes."""
        pause = anyio.from_thread.check_cancelled
        call = partial(self._backend.backup, path, held, force=force, pause=pause)
        return await anyio.to_thread.run_sync(call)
