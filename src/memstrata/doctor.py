"""`doctor`: try every part and say in words what works and what does not."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio.to_thread

from memstrata._version import __version__
from memstrata.checkup import models_by_use, try_chat, try_embedder
from memstrata.errors import MemstrataError
from memstrata.models.chat import ChatModel
from memstrata.runtime import Runtime
from memstrata.vault_keys import MARKS, Sealed

__all__ = ["examine"]


async def examine(runtime: Runtime, tenant: str) -> list[dict[str, Any]]:
    """One entry per check: `check`, `ok`, and `detail` in words."""
    checks: list[tuple[str, Callable[[Runtime, str], Awaitable[str]]]] = [
        ("program", _program),
        ("store", _store),
        ("embedder", _embedder),
        ("vectors", _vectors),
        ("batches", _batches),
        ("vault", _vault),
    ]
    found: list[dict[str, Any]] = []
    checks[3:3] = [(name, partial(_chat, model)) for name, model in models_by_use(runtime.llm)]
    for name, check in checks:
        try:
            detail, ok = await check(runtime, tenant), True
        except MemstrataError as error:
            detail, ok = str(error), False
        found.append({"check": name, "ok": ok, "detail": detail})
    return found


async def _program(_runtime: Runtime, _tenant: str) -> str:
    return f"memstrata {__version__}, Python {sys.version.split()[0]} on {sys.platform}"


async def _store(runtime: Runtime, tenant: str) -> str:
    problems = await runtime.store.verify(None, tenant)
    if problems:
        raise MemstrataError("; ".join(problems))
    return f"{runtime.store.location} is sound"


async def _embedder(runtime: Runtime, _tenant: str) -> str:
    return await try_embedder(runtime.embedder)


async def _chat(model: ChatModel, _runtime: Runtime, _tenant: str) -> str:
    return await try_chat(model)


async def _vectors(runtime: Runtime, _tenant: str) -> str:
    if runtime.notes:
        raise MemstrataError("; ".join(runtime.notes))
    return "the store's vectors are this embedder's"


async def _batches(runtime: Runtime, tenant: str) -> str:
    waiting, failed = await runtime.store.open_batches(tenant)
    if failed:
        raise MemstrataError(f"{failed} batches have failed: see `batches`, then `retry` them")
    return f"{waiting} batches are waiting, none has failed"


async def _vault(runtime: Runtime, _tenant: str) -> str:
    held = await runtime.store.vault_key()
    where = runtime.keys.name
    if held is None:
        return f"nothing is sealed yet; keys are kept in {where}"
    await anyio.to_thread.run_sync(runtime.keys.open, Sealed(*held), MARKS)
    sealed = await runtime.store.count_not_under("")
    return f"key {held[0]} in {where} opens it; {sealed} secrets are sealed"
