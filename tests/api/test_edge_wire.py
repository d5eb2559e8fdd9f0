"""Connections that say nothing, or not all, for long."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import pytest
import uvicorn
from api.edge_client import service

from memstrata.api.serve import Protocol, bound

pytestmark = pytest.mark.anyio

ASKED = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Hasty(Protocol):
    patience = 0.2


class Calm(Protocol):
    patience = 1.0


@asynccontextmanager
async def listening(protocol: type[Protocol]) -> AsyncGenerator[int]:
    """The port of an application whose server speaks so."""
    with bound("127.0.0.1", 0) as sockets:
        for each in sockets:
            each.listen()
        async with service() as one, anyio.create_task_group() as group:
            config = uvicorn.Config(one.app, http=protocol, log_config=None, ws="none")
            server = uvicorn.Server(config)
            group.start_soon(server._serve, sockets)
            yield sockets[0].getsockname()[1]
            server.should_exit = True


async def _ended(wire: anyio.abc.ByteReceiveStream) -> bool:
    """Whether the other side closes the connection without a word."""
    with anyio.fail_after(10), pytest.raises(anyio.EndOfStream):
        await wire.receive()
    return True


@pytest.mark.parametrize("said", [b"", b"GET /heal", ASKED[:-2], ASKED + b"GET /heal"])
async def test_who_does_not_end_its_first_lines_is_left(said: bytes) -> None:
    async with listening(Hasty) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        if said:
            await wire.send(said)
        if said.startswith(ASKED):
            assert (await wire.receive()).startswith(b"HTTP/1.1 200 OK")
        assert await _ended(wire)


async def test_who_does_is_answered_for_as_long_as_it_asks() -> None:
    """The time is that of each request, not of the connection."""
    async with listening(Calm) as port, await anyio.connect_tcp("127.0.0.1", port) as wire:
        with anyio.fail_after(20):
            for _ in range(4):
                await wire.send(ASKED[:20])
                await anyio.sleep(0.1)
                await wire.send(ASKED[20:])
                assert (await wire.receive()).startswith(b"HTTP/1.1 200 OK")
                await anyio.sleep(0.3)
