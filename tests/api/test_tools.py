"""MCP at a server: the same tools, with the key of each request."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from surfaces.serving import serving

import memstrata

pytestmark = pytest.mark.anyio


async def _tools(url: str, key: str | None) -> list[str]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        return sorted(tool.name for tool in (await client.list_tools()).tools)


async def test_a_key_sees_the_tools_it_may_use_and_the_memory_it_is_bound_to(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "memory.db")
    with serving(path, embedder="fake") as url, memstrata.open(url) as memory:
        memory.add("I keep bees.", user_id="ana")
        memory.add("I keep goats.", user_id="ben")
        assert "forget" in await _tools(url, None)
        reader = memory.keys.create("reader", user_id="ana", permissions=["read"]).secret
        assert await _tools(url, reader) == ["ask", "context", "list", "search", "timeline"]
        headers = {"Authorization": f"Bearer {reader}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            found = await client.call_tool("search", {"query": "What animals are kept?"})
            assert not found.is_error
            assert "bees" in str(found.structured_content)
            assert "goats" not in str(found.structured_content)
            other = await client.call_tool("search", {"query": "goats", "user_id": "ben"})
            assert other.is_error and "bound to another user_id" in str(other.content)


async def test_without_a_key_nobody_gets_in(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with serving(path, embedder="fake") as url, memstrata.open(url) as memory:
        memory.keys.create("reader", user_id="ana")
        ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for headers in ({}, {"Authorization": "Bearer mst_0_0"}):
            answer = httpx2.post(f"{url}/mcp", json=ping, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "application/problem+json"
