"""The surfaces, each as a way to do a verb and get its result as JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread
import httpx2
from cli_shell import Shell
from mcp import Client
from mcp.types import TextContent
from surfaces.serving import serving

import memstrata
from memstrata import Memory
from memstrata.access import Grant
from memstrata.errors import MemstrataError
from memstrata.mcp_server import Options, make_server
from memstrata.memory import AsyncMemory
from memstrata.verbs import VERBS

__all__ = [
    "Driver",
    "blocking",
    "blocking_client",
    "client",
    "command_line",
    "in_process",
    "mcp_tools",
    "wire",
]


class Driver(Protocol):
    """One surface over one store."""

    async def do(self, verb: str, given: Mapping[str, Any]) -> Any:
        """The result as JSON, or `{"error": {"type": …, "message": …}}`."""
        ...


def _spread(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as Python takes them: what is one mapping on the wire are keywords there."""
    return {**{k: v for k, v in given.items() if k != "changes"}, **given.get("changes", {})}


def _error(error: MemstrataError) -> dict[str, Any]:
    return {"error": {"type": type(error).__name__, "message": str(error)}}


class _Async:
    def __init__(self, memory: AsyncMemory) -> None:
        self.memory = memory

    async def do(self, verb: str, given: Mapping[str, Any]) -> Any:
        owner, _, name = verb.rpartition(".")
        handle = self.memory.vault if owner else self.memory
        try:
            value = await getattr(handle, name)(**_spread(given))
        except MemstrataError as error:
            return _error(error)
        return VERBS[verb].result.dump_python(value, mode="json")


class _Blocking:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def do(self, verb: str, given: Mapping[str, Any]) -> Any:
        owner, _, name = verb.rpartition(".")
        handle = self.memory.vault if owner else self.memory
        try:
            value = getattr(handle, name)(**_spread(given))
        except MemstrataError as error:
            return _error(error)
        return VERBS[verb].result.dump_python(value, mode="json")


class _Wire:
    """Requests written by hand, as any language would send them."""

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http

    async def do(self, verb: str, given: Mapping[str, Any]) -> Any:
        response = self.http.post(f"/api/v1/{verb.replace('.', '/')}", json=dict(given))
        body = response.json()
        if response.is_success:
            return body
        assert response.headers["content-type"] == "application/problem+json"
        assert body["status"] == response.status_code
        kind = body["type"].removeprefix("urn:memstrata:error:")
        return {"error": {"type": kind, "message": body["detail"]}}


@asynccontextmanager
async def in_process(folder: Path) -> AsyncGenerator[Driver]:
    """`AsyncMemory`."""
    async with await memstrata.open_async(folder / "memory.db", embedder="fake") as memory:
        yield _Async(memory)


@asynccontextmanager
async def blocking(folder: Path) -> AsyncGenerator[Driver]:
    """`Memory`."""
    with memstrata.open(folder / "memory.db", embedder="fake") as memory:
        yield _Blocking(memory)


@asynccontextmanager
async def client(folder: Path) -> AsyncGenerator[Driver]:
    """`AsyncMemory` over HTTP."""
    with serving(str(folder / "memory.db"), embedder="fake") as url:
        async with await memstrata.open_async(url) as memory:
            yield _Async(memory)


@asynccontextmanager
async def blocking_client(folder: Path) -> AsyncGenerator[Driver]:
    """`Memory` over HTTP."""
    with (
        serving(str(folder / "memory.db"), embedder="fake") as url,
        memstrata.open(url) as memory,
    ):
        yield _Blocking(memory)


@asynccontextmanager
async def wire(folder: Path) -> AsyncGenerator[Driver]:
    """HTTP, without a client of ours."""
    with (
        serving(str(folder / "memory.db"), embedder="fake") as url,
        httpx2.Client(base_url=url) as http,
    ):
        yield _Wire(http)


class _Mcp:
    """An agent's tools; what has none is done in process, on the same memory."""

    def __init__(self, memory: AsyncMemory, client: Client, tools: Mapping[str, set[str]]) -> None:
        self.own = _Async(memory)
        self.client = client
        self.tools = tools

    async def do(self, verb: str, given: Mapping[str, Any]) -> Any:
        name = "reveal" if verb == "vault.reveal" else verb
        if name not in self.tools or not given.keys() <= self.tools[name]:
            return await self.own.do(verb, given)
        result = await self.client.call_tool(name, dict(given))
        if result.is_error:
            [said] = result.content
            assert isinstance(said, TextContent)
            kind, _, message = said.text.partition(": ")
            return {"error": {"type": kind, "message": message}}
        return result.structured_content


@asynccontextmanager
async def mcp_tools(folder: Path) -> AsyncGenerator[Driver]:
    """The tools of the MCP server, by the official client."""
    async with await memstrata.open_async(folder / "memory.db", embedder="fake") as memory:
        server = make_server(memory, lambda _: Grant(), Options(reveal=True))
        async with Client(server) as client:
            offered = (await client.list_tools()).tools
            tools = {tool.name: set(tool.input_schema["properties"]) for tool in offered}
            yield _Mcp(memory, client, tools)


_WORDS = {
    "kinds": "kind", "strata": "stratum", "search_fields": "search-field", "tags": "tag",
    "session_id": "session", "user_id": "user", "agent_id": "agent",
}  # fmt: skip
_PLACED = ("messages", "query", "question", "id", "record_id", "batch_id", "batch_or_change", "ids",
           "caption", "name")  # fmt: skip
"""Arguments that stand by themselves on a command line, in order."""


def _command(verb: str, given: Mapping[str, Any]) -> tuple[list[str], str]:
    """The command, and what it reads from standard input."""
    line = ["audit", "list"] if verb == "audit" else verb.replace("_", "-").split(".")
    rest = dict(given)
    if "record" in rest:
        line.append(json.dumps(rest.pop("record")))
    for name in _PLACED:
        value = rest.pop(name, None)
        line += value if isinstance(value, list) else [] if value is None else [value]
    secret = rest.pop("secret", "")
    line += ["--stdin"] if secret else []
    line += [f"{key}:={json.dumps(value)}" for key, value in rest.pop("changes", {}).items()]
    for name, value in rest.items():
        line += _option(_WORDS.get(name, name).replace("_", "-"), value)
    return [*line, *(["--yes"] if verb == "forget" else []), "--json"], secret


def _option(name: str, value: Any) -> list[str]:
    match value:
        case True:
            return [f"--{name}"]
        case False:
            return [f"--no-{name}"]
        case list():
            return [part for item in value for part in (f"--{name}", str(item))]
        case dict() if name == "metadata":
            return [
                part for key in value for part in ("--metadata", f"{key}:={json.dumps(value[key])}")
            ]
        case dict():
            return [f"--{name}", json.dumps(value, ensure_ascii=False)]
        case _:
            return [f"--{name}", str(value)]


class _CommandLine:
    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    async def do(self, verb: str, given: Mapping[str, Any]) -> Any:
        line, secret = _command(verb, given)
        # A command has an event loop of its own, and this thread runs one.
        done = await anyio.to_thread.run_sync(lambda: self.shell(*line, given=secret))
        return done.json["secret"] if verb == "vault.reveal" and done.code == 0 else done.json


@asynccontextmanager
async def command_line(folder: Path, shell: Shell) -> AsyncGenerator[Driver]:
    """`memstrata …`, with JSON for its result."""
    async with in_process(folder):
        pass  # commands that only read make no store
    yield _CommandLine(shell)
