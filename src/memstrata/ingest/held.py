"""Keeping a batch while something is waited for that may take longer than its lease."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from memstrata.errors import MemstrataError
from memstrata.runtime import Runtime
from memstrata.store.batches import Lease

__all__ = ["held"]

T = TypeVar("T")

_RENEW_SECONDS = 10
_LEASE_MICROS = 60 * 1_000_000


async def held(runtime: Runtime, lease: Lease, call: Callable[[], Awaitable[T]]) -> T:
    """What a call gives; the lease is kept while a model is asked, however long it takes."""
    results: list[T] = []
    failed: list[MemstrataError] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_renewed, runtime, lease)
        try:
            results.append(await call())
        except MemstrataError as error:
            failed.append(error)  # raised out here it would come as a group
        group.cancel_scope.cancel()
    for error in failed:
        raise error
    return results[0]


async def _renewed(runtime: Runtime, lease: Lease) -> None:
    while True:
        await anyio.sleep(_RENEW_SECONDS)
        if not await runtime.store.renew(lease, runtime.now() + _LEASE_MICROS):
            return  # another process has it: what comes of this is not written
