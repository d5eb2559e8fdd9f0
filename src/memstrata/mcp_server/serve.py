"""Running the server by itself over standard input and output: `memstrata mcp`."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from memstrata.access import Grant
from memstrata.mcp_server.server import Options, make_server
from memstrata.mcp_server.stdio import connected
from memstrata.memory import AsyncMemory

__all__ = ["on_signals", "serve_stdio"]


async def serve_stdio(memory: AsyncMemory, options: Options, source: int, sink: int) -> None:
    """Serve over two file descriptors until the input ends, or the process is asked to end.

    Who can start the process can read the store's file, so that everything is allowed.
    """
    grant = Grant(tenant=memory.tenant)
    server = make_server(memory, lambda _: grant, options)
    with anyio.CancelScope() as scope:
        async with (
            on_signals(scope.cancel, signal.SIGTERM),
            connected(source, sink) as (heard, said),
        ):
            await server.run(heard, said, server.create_initialization_options())


@asynccontextmanager
async def on_signals(stop: Callable[[], None], *signals: signal.Signals) -> AsyncGenerator[None]:
    """While it lasts, these signals end the work and not the process."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return

    async def wait() -> None:
        with anyio.open_signal_receiver(*signals) as received:
            async for _ in received:
                stop()
                return

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        yield
        group.cancel_scope.cancel()
