"""The same tools over a memory at a server: `memstrata mcp` with the URL of one."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
import uvicorn
from mcp_server.speaking import call, speaking

import memstrata
from memstrata.api import make_app
from memstrata.memory import AsyncMemory

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def served(memory: AsyncMemory) -> AsyncGenerator[str]:
    """The URL of the service over a store, in this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(make_app(memory), log_config=None))
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True


async def test_a_memory_at_a_server_is_served_all_the_same() -> None:
    async with (
        await memstrata.open_async(":memory:", embedder="fake") as memory,
        served(memory) as url,
        await memstrata.open_async(url) as remote,
        speaking(remote) as client,
    ):
        await call(client, "add", messages="我喜欢喝茶 🍵")
        assert "喝茶" in (await call(client, "search", query="喝茶"))["hits"][0]["text"]
        assert len((await memory.messages(user_id="ana")).items) == 1
