"""Running the server by itself over HTTP: `memstrata mcp --http`."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from memstrata.api.caller import grant_of, is_loopback
from memstrata.api.problems import Refused, problem, problem_of
from memstrata.errors import InvalidInput, MemstrataError
from memstrata.mcp_server.http import LOOPBACK, HttpApp, http_app
from memstrata.mcp_server.serve import on_signals
from memstrata.mcp_server.server import Options
from memstrata.memory import AsyncMemory

__all__ = ["PATH", "serve_http"]

PATH = "/mcp"
_PATIENCE = 10
"""Seconds for what is under way when the process is asked to end."""


async def serve_http(
    memory: AsyncMemory, options: Options, address: str, ready: Callable[[str], None]
) -> None:
    """Serve at `HOST:PORT` until the process is asked to end; `ready` is told the URL.

    Beyond this machine only where the store has keys, and then every request brings one.
    """
    host, port = _place(address)
    keyed = await memory.keys.required()
    if not keyed and not is_loopback(host):
        raise InvalidInput(
            f"without keys MCP is served on this machine only, not at {host}: make a key with "
            "`memstrata keys create`, or listen at 127.0.0.1"
        )
    with _listening(host, port) as listener:
        name = f"[{host}]" if ":" in host else host
        app = http_app(memory, options, hosts=None if keyed else LOOPBACK)
        server = _Server(
            uvicorn.Config(
                _Door(memory, app),
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                server_header=False,
                timeout_graceful_shutdown=_PATIENCE,
            )
        )

        def stop() -> None:
            server.should_exit = True

        async with app.running(), on_signals(stop, signal.SIGINT, signal.SIGTERM):
            ready(f"http://{name}:{listener.getsockname()[1]}{PATH}")
            await server.serve([listener])


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    host = (host or "127.0.0.1").removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise InvalidInput(f"{address!r} is no HOST:PORT such as 127.0.0.1:8765")
    return host, int(port)


@contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # With its protocol named: asyncio else leaves Nagle's algorithm on.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        raise InvalidInput(f"nothing can listen at {host}, port {port}: {error}") from error
    with listener:
        yield listener


class _Server(uvicorn.Server):
    """One that leaves signals to us: its own way ends the process before the store is closed."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Door:
    """Lets requests in, by their key, to the one path there is."""

    def __init__(self, memory: AsyncMemory, app: HttpApp) -> None:
        self._memory = memory
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            if scope["path"].rstrip("/") != PATH:
                raise Refused(404, "NoSuchRoute", f"MCP is at {PATH}")
            grant = await grant_of(request, self._memory)
        except Refused as error:
            refusal = problem(request, error.status, error.name, str(error), error.headers)
        except MemstrataError as error:
            refusal = problem_of(request, error)
        else:
            scope["state"] = {**scope.get("state", {}), "grant": grant}
            await self._app(scope, receive, send)
            return
        await refusal(scope, receive, send)
