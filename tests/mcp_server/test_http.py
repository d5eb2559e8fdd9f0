"""MCP over HTTP: mounted as the service mounts it, and as `memstrata mcp --http` runs it."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from mcp_server.speaking import MODES, Process, call, line
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import memstrata
from memstrata.access import Grant
from memstrata.mcp_server import HttpApp, Options, http_app
from memstrata.memory import AsyncMemory

pytestmark = pytest.mark.anyio

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
VERSIONS = [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS]
ABOUT = {
    "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL_VERSIONS[-1],
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Door:
    """What lets requests in, as the service does: it says what each may do."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = dict(scope.get("headers", [])).get(b"x-user")
        if user is not None:
            scope["state"] = {"grant": Grant(user_id=user.decode(), key="a key")}
        await self.app(scope, receive, send)


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemory]:
    async with await memstrata.open_async(":memory:", embedder="fake") as opened:
        yield opened


@asynccontextmanager
async def mounted(app: HttpApp, **headers: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of a service in which MCP is mounted."""
    service = Starlette(routes=[Route("/mcp", endpoint=app)], middleware=[Middleware(Door)])
    async with (
        app.running(),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(service),
            base_url="http://127.0.0.1:8765",
            headers=headers,
        ) as client,
    ):
        yield client


def called(version: str, tool: str, **arguments: Any) -> tuple[str, dict[str, str]]:
    """The body and the headers of one call."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    headers = {**HEADERS, "MCP-Protocol-Version": version}
    if version in MODERN_PROTOCOL_VERSIONS:
        params["_meta"] = ABOUT
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
    return line("tools/call", params, 1), headers


def address(process: Process) -> str:
    """Where the command says it serves."""
    return re.search(r"http://[^;]+", process.told())[0]  # pyright: ignore[reportOptionalSubscript]


def is_closed(folder: Path) -> bool:
    """Whether the store was closed in order: nothing is left in its journal."""
    return not list(folder.glob("memory.db-wal"))


async def posted(client: httpx2.AsyncClient, version: str, tool: str, **arguments: Any) -> Any:
    body, headers = called(version, tool, **arguments)
    answer = await client.post("/mcp", content=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("mode", [*MODES, "auto"])
async def test_the_official_client_over_http(memory: AsyncMemory, mode: str) -> None:
    async with mounted(http_app(memory), **{"X-User": "ana"}) as http:
        transport = streamable_http_client("http://127.0.0.1:8765/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            assert (await client.list_tools()).tools[0].name == "add"
            await call(client, "add", messages="我喜欢喝茶 🍵")
            assert "喝茶" in (await call(client, "search", query="喝茶"))["hits"][0]["text"]
            core = await client.read_resource("memstrata://core")
            assert core.contents[0].uri == "memstrata://core"
            assert (await client.get_prompt("about_me")).messages
    assert len((await memory.messages(user_id="ana")).items) == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_characters_are_themselves_on_the_wire(memory: AsyncMemory, version: str) -> None:
    text = ("我喜欢喝茶 🍵 " * 50).strip()
    await memory.add(text, user_id="ana", infer=False)
    async with mounted(http_app(memory), **{"X-User": "ana"}) as http:
        answer = await posted(http, version, "search", query="喝茶")
        raw = answer.content
        copies = 2 if version >= "2025-06-18" else 1
        assert raw.count(text.encode()) == copies and b"\\u" not in raw
        assert len(raw) < (copies + 1) * len(text.encode())
        assert answer.headers["content-length"] == str(len(raw))
        result = json.loads(raw)["result"]
        assert json.loads(result["content"][0]["text"])["hits"][0]["text"] == text
        # Half a surrogate pair is no character; what quotes it does not break the answer.
        body = line("tools/call", {"name": "x\ud800", "_meta": ABOUT}, 2)
        headers = called(version, "x")[1] | {"Mcp-Name": "x"}
        odd = await http.post("/mcp", content=body, headers=headers)
        assert "error" in odd.json()


async def test_whose_memory_it_is_is_asked_of_each_request(memory: AsyncMemory) -> None:
    await memory.add("The plums are ripe.", user_id="ana")
    await memory.add("The pears are ripe.", user_id="bo")
    async with mounted(http_app(memory)) as http:
        for user, mine, others in (("ana", "plums", "pears"), ("bo", "pears", "plums")):
            http.headers["X-User"] = user
            found = (await posted(http, VERSIONS[0], "search", query="what is ripe?")).text
            assert mine in found and others not in found
        del http.headers["X-User"]
        for version in VERSIONS:
            refused = (await posted(http, version, "search", query="ripe")).json()
            assert "PermissionDenied" in refused["error"]["message"]
            assert "ripe" not in json.dumps(refused)


async def test_only_the_names_it_may_be_called_by(memory: AsyncMemory) -> None:
    body, headers = called("2025-06-18", "list")
    async with mounted(http_app(memory), **{"X-User": "ana"}) as http:
        for name, value in (("Host", "evil.example"), ("Origin", "http://evil.example")):
            refused = await http.post("/mcp", content=body, headers={**headers, name: value})
            assert refused.status_code in (403, 421)
        for name, value in (("Host", "localhost"), ("Origin", "http://localhost:8765")):
            answer = await http.post("/mcp", content=body, headers={**headers, name: value})
            assert answer.status_code == 200
            assert not [each for each in answer.headers if each.startswith("access-control")]
    async with mounted(http_app(memory, hosts=None), **{"X-User": "ana"}) as http:
        answer = await http.post("/mcp", content=body, headers={**headers, "Host": "any.example"})
        assert answer.status_code == 200


@pytest.mark.parametrize("version", VERSIONS)
async def test_malformed_requests(memory: AsyncMemory, version: str) -> None:
    _, headers = called(version, "list")
    app = http_app(memory, Options(user="ana"), max_body=10_000)
    async with mounted(app, **{"X-User": "ana"}) as http:
        for body, statuses in (
            ("{broken", (400,)),
            ("[" * 9000, (400,)),
            ("[]", (400,)),
            ('"tea"', (400,)),
            ("x" * 10_001, (413,)),
        ):
            answer = await http.post("/mcp", content=body, headers=headers)
            assert answer.status_code in statuses, (body[:20], answer.text)
            assert "Traceback" not in answer.text
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            assert (await http.request(method, "/mcp", headers=headers)).status_code == 405
        plain = {**headers, "Content-Type": "text/plain"}
        assert (await http.post("/mcp", content="{}", headers=plain)).status_code in (400, 415)
        assert (await posted(http, version, "list")).json()["result"]


async def test_it_answers_only_while_it_runs(memory: AsyncMemory) -> None:
    app = http_app(memory)
    for _ in range(2):  # it can be started again
        async with mounted(app, **{"X-User": "ana"}) as http:
            await posted(http, "2025-06-18", "list")
    with pytest.raises(RuntimeError, match="running"):
        await app({"type": "http", "method": "POST"}, None, None)  # pyright: ignore


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_the_command_serves_http_until_it_is_asked_to_end(tmp_path: Path) -> None:
    with Process.started(tmp_path, "--http", "127.0.0.1:0") as process:
        url = address(process)
        async with Client(url) as client:
            await call(client, "add", messages="I moved to Porto.")
            assert (await call(client, "search", query="where do I live?"))["hits"]
        async with httpx2.AsyncClient() as http:
            body, headers = called("2025-06-18", "list")
            evil = {**headers, "Host": "evil.example"}
            assert (await http.post(url, content=body, headers=evil)).status_code == 403
            missing = await http.post(url + "x", content=body, headers=headers)
            assert missing.status_code == 404
        assert process.interrupted(signal.SIGINT) == 0
        assert process.out.empty()
    assert is_closed(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_with_keys_each_request_needs_one(tmp_path: Path) -> None:
    async with await memstrata.open_async(tmp_path / "memory.db", embedder="fake") as memory:
        await memory.add("The plums are ripe.", user_id="ana")
        await memory.add("The pears are ripe.", user_id="bo")
        key = await memory.keys.create("bo's", user_id="bo", permissions=["read"])
    body, headers = called("2025-06-18", "search", query="what is ripe?")
    with Process.started(tmp_path, "--http", "0.0.0.0:0") as process:
        url = address(process).replace("0.0.0.0", "127.0.0.1")
        async with httpx2.AsyncClient() as http:
            for given in ({}, {"Authorization": "Bearer mst_wrong"}):
                refused = await http.post(url, content=body, headers={**headers, **given})
                assert refused.status_code == 401 and "ripe" not in refused.text
            http.headers["Authorization"] = f"Bearer {key.secret}"
            found = (await http.post(url, content=body, headers=headers)).text
            assert "pears" in found and "plums" not in found
            tools = (
                await http.post(url, content=line("tools/list", {}, 1), headers=headers)
            ).json()
            assert "add" not in {each["name"] for each in tools["result"]["tools"]}
        assert process.interrupted(signal.SIGTERM) == 0
