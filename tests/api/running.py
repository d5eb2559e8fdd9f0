"""A server on the test's own event loop, and what it streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import uvicorn
from fastapi import FastAPI
from surfaces.serving import listener

from memstrata import AsyncMemory
from memstrata.api import make_app

__all__ = ["Event", "Server", "events", "served"]


@dataclass(frozen=True)
class Server:
    """One that answers, and a client for it."""

    url: str
    app: FastAPI
    http: httpx2.AsyncClient


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    name: str
    data: str
    id: str | None


@asynccontextmanager
async def served(memory: AsyncMemory, **headers: str) -> AsyncGenerator[Server]:
    """Serve an open store, on loopback."""
    app = make_app(memory)
    config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    bound = listener()
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, server, bound)
        with anyio.fail_after(20):
            while not server.started:  # noqa: ASYNC110 - it sets nothing else
                await anyio.sleep(0.005)
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=20) as http:
            yield Server(url, app, http)
        app.state.stopping.set()
        server.should_exit = True


async def _serve(server: uvicorn.Server, bound: Any) -> None:
    with bound:
        await server._serve([bound])


@asynccontextmanager
async def events(
    http: httpx2.AsyncClient,
    path: str,
    given: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncGenerator[AsyncIterator[Event]]:
    """The events of a stream; with arguments it is asked for with a `POST`."""
    asked = {"Accept": "text/event-stream", **(headers or {})}
    method = "GET" if given is None else "POST"
    async with http.stream(method, path, json=given, headers=asked) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _events(response)


async def _events(response: httpx2.Response) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Event(fields["event"], fields.get("data", ""), fields.get("id"))
            fields = {}
