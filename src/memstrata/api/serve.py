"""Serving HTTP until the process is asked to end: `memstrata serve`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import ClassVar, cast

import anyio
import httptools
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from memstrata.api.app import make_app
from memstrata.api.caller import is_loopback
from memstrata.api.limits import Guard, Options
from memstrata.api.log import set_up
from memstrata.errors import InvalidInput, PermissionDenied
from memstrata.memory import AsyncMemory
from memstrata.memory.pulse import Pulse

__all__ = ["Place", "Protocol", "bound", "last_resort", "serve"]

_KEEP_ALIVE = 75
"""Seconds that an idle connection is kept: more than clients and proxies do, so that they close
it and never send a request into one that we are closing."""
_BACKLOG = 1024
_WAKE = 30.0
"""Seconds after which it is looked whether another process has left work."""
_LAST = 3.0
"""Seconds for what is called off to clean up."""
_log = logging.getLogger("memstrata.api")


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how to serve."""

    host: str = "127.0.0.1"
    port: int = 8283
    options: Options = field(default_factory=Options)
    grace: int = 30
    """Seconds for requests under way when the process is asked to end."""
    log_level: str = "info"
    log_json: bool = False


@contextmanager
def bound(host: str, port: int) -> Generator[list[socket.socket]]:
    """Sockets at a place, which nobody can connect to yet; `InvalidInput` if it is not to be had.

    A port of 0 is one that is free.
    """
    with contextlib.ExitStack() as stack:
        made: list[socket.socket] = []
        for family, address in _addresses(host, port):
            # With its protocol named: asyncio else leaves Nagle's algorithm on, and an answer
            # waits for 40 ms now and then.
            listener = stack.enter_context(
                socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            )
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            at = port or (made[0].getsockname()[1] if made else 0)
            try:
                listener.bind((address, at))
            except OSError as error:
                raise _not_to_be_had(host, at, error) from error
            made.append(listener)
        yield made


@contextmanager
def last_resort() -> Generator[Callable[[float], None]]:
    """Something to call with seconds after which the process ends, whatever is still under way.

    What was acknowledged is stored by then; what keeps it are calls of models that nobody can call
    off. The exit code is 0 if all else was done.
    """
    done = threading.Event()

    def end() -> None:
        if not done.is_set():
            _log.warning("ended with work under way; what was acknowledged is stored")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0 if done.is_set() else 1)

    def within(seconds: float) -> None:
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()

    try:
        yield within
    finally:
        done.set()


async def serve(
    memory: AsyncMemory,
    sockets: Sequence[socket.socket],
    place: Place,
    ready: Callable[[str, bool], None],
    within: Callable[[float], None],
) -> None:
    """Serve a store at bound sockets until the process is asked to end, and all is answered.

    `ready` is told the URL, and whether keys are wanted; `within`, how many seconds ending may take
    from then on. Raises `PermissionDenied`, before anybody can connect, where a store without keys
    would be open to other machines.
    """
    keyed = await memory.keys.required()
    # By what it has come to: a name may lead anywhere.
    if not keyed and not all(is_loopback(str(each.getsockname()[0])) for each in sockets):
        raise PermissionDenied(
            f"without keys a store is served to this machine alone, not at {place.host}: make a "
            "key with `memstrata keys create NAME`, or leave --host out"
        )
    for each in sockets:
        try:
            each.listen(_BACKLOG)
        except OSError as error:
            raise _not_to_be_had(place.host, each.getsockname()[1], error) from error
    set_up(place.log_level, in_json=place.log_json)
    app = make_app(memory, place.options)
    server = _Server(_config(app), app.state.stopping, app.state.guard, place.grace, within)
    async with anyio.create_task_group() as group:
        group.start_soon(_keep_awake, Pulse(memory))
        ready(_url(place.host, sockets[0].getsockname()[1]), keyed)
        await server.serve(list(sockets))
        group.cancel_scope.cancel()


def _config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # it has the query of every request in it
        server_header=False,
        proxy_headers=False,  # or a stranger could say that it is this machine
        timeout_keep_alive=_KEEP_ALIVE,
    )


async def _keep_awake(pulse: Pulse) -> None:
    """Work that other processes left is done here, at the start and later."""
    while True:
        pulse.wake()
        await anyio.sleep(_WAKE)


class Protocol(HttpToolsProtocol):
    """HTTP/1.1 whose first lines are bounded, in length and in time."""

    patience: ClassVar[float] = 30.0
    """Seconds in which they must have come."""
    longest: ClassVar[int] = 2**16
    """Bytes that they may have."""

    _late: asyncio.TimerHandle | None = None
    _read = 0
    """Bytes that have come of first lines that have not ended."""
    _begun = False
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def on_message_begin(self) -> None:
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._begun, self._read = False, 0
        named = sum(name == b"host" for name, _ in self.headers)
        parser = cast("httptools.HttpRequestParser", self.parser)
        if named > 1 or (not named and parser.get_http_version() == "1.1"):
            self._refused = True
            self.send_400_response("The request does not name one host.")
            return
        super().on_headers_complete()
        if not self.url.startswith(b"/") or self.url.startswith(b"//"):
            # Of a proxy's target only the path was left, and it is no route of ours.
            self.scope["path"] = self.url.decode("ascii", "replace")
            self.scope["raw_path"] = self.url

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._begun:
            self._read += len(data)
            if self._read > self.longest and not self.transport.is_closing():
                self.send_400_response("The first lines of the request are too long.")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_complete:
            self._stop_watching()
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(self.patience, self._give_up)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        if not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """One that ends well: its own way sends itself the signal again when it is done, which ends
    the process before the store is closed.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        stopping: anyio.Event,
        guard: Guard,
        grace: float,
        within: Callable[[float], None],
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._guard = guard
        self._grace = grace
        self._within = within

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in wanted}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Asked once, end when all is answered; asked twice, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests under way end, call off those that do not in time."""
        self._within(self._grace + 2 * _LAST)
        self._stopping.set()  # streams of events end now
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_in_time)
            await super().shutdown(sockets)
            group.cancel_scope.cancel()

    async def _end_in_time(self) -> None:
        with anyio.move_on_after(self._grace):
            while not self.force_exit:  # noqa: ASYNC110 - a signal handler sets it
                await anyio.sleep(0.1)
        self._within(_LAST)
        # Not by cancelling their tasks: what a thread does for them, such as a write, ends first.
        self._guard.call_off()
        tasks = list(self.server_state.tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST / 2)
        self.force_exit = True
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, str]]:
    bare = host.removeprefix("[").removesuffix("]")
    try:
        found = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InvalidInput(f"--host {host} is no address of this machine: {error}") from error
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _not_to_be_had(host: str, port: int, error: OSError) -> InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(
            f"port {port} at {host} is taken by another program: end that, or give another --port"
        )
    return InvalidInput(f"nothing can listen at {host}, port {port}: {error.strerror}")


def _url(host: str, port: int) -> str:
    bare = host.removeprefix("[").removesuffix("]")
    return f"http://[{bare}]:{port}" if ":" in bare else f"http://{bare}:{port}"
