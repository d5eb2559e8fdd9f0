"""A real server in a thread of the test process, on a port of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import uvicorn

import memstrata
from memstrata.api import Options, make_app

__all__ = ["listener", "serving"]


def listener() -> socket.socket:
    """A bound socket; asyncio turns Nagle's delay off only where the protocol is named."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.bind(("127.0.0.1", 0))
    return made


@contextmanager
def serving(url: str, *, options: Options | None = None, **given: object) -> Generator[str]:
    """The URL of a server over a store, which is opened and closed by it."""
    bound = listener()
    servers: list[uvicorn.Server] = []

    async def main() -> None:
        async with await memstrata.open_async(url, **given) as memory:
            config = uvicorn.Config(
                make_app(memory, options), log_config=None, timeout_keep_alive=75,
                timeout_graceful_shutdown=5,
            )  # fmt: skip
            servers.append(uvicorn.Server(config))
            await servers[0].serve(sockets=[bound])

    thread = threading.Thread(target=anyio.run, args=(main,), name="server")
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while not (servers and servers[0].started):
            assert thread.is_alive() and time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        if servers:
            servers[0].should_exit = True
        thread.join(30)
        bound.close()
