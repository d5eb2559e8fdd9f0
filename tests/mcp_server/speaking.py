"""What the tests of MCP speak with: the official client in process, and the real command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import anyio
import anyio.to_thread
from cli_shell import RUN
from mcp import Client
from mcp.types import CallToolResult, TextContent

from memstrata.access import Grant
from memstrata.mcp_server import Options, make_server
from memstrata.mcp_server.serve import serve_stdio
from memstrata.memory import AsyncMemory

__all__ = [
    "HELLO",
    "MODES",
    "Process",
    "call",
    "called",
    "command",
    "conversation",
    "environment",
    "hello",
    "line",
    "messages_in",
    "speaking",
    "text_of",
]

PATIENCE = 60.0
MODES = ("legacy", "2026-07-28")
"""The handshake of the older protocol versions, and the newest, which has none."""


@asynccontextmanager
async def speaking(
    memory: AsyncMemory,
    *,
    grant: Grant | None = None,
    user: str | None = "ana",
    reveal: bool = False,
    mode: str = "legacy",
) -> AsyncGenerator[Client]:
    """The official client, connected to a server in this process."""
    given = grant or Grant()
    server = make_server(memory, lambda _: given, Options(user=user, reveal=reveal))
    async with Client(server, mode=mode) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    """The text of a tool's result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's structured result; an error of the tool fails the test."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    return result.structured_content


def line(method: str, params: Any = None, key: int | str | None = None) -> str:
    """A message as one line, in ASCII: what hosts write varies."""
    message = {"jsonrpc": "2.0", "id": key, "method": method, "params": params}
    return json.dumps({name: each for name, each in message.items() if each is not None}) + "\n"


def hello(version: str) -> str:
    """The two lines that open a connection of an older protocol version."""
    about = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "a host", "version": "1"},
    }
    return line("initialize", about, 0) + line("notifications/initialized")


HELLO = hello("2025-06-18")


def called(tool: str, key: int = 1, **arguments: Any) -> str:
    """A call of a tool as one line."""
    return line("tools/call", {"name": tool, "arguments": arguments}, key)


def messages_in(out: bytes) -> dict[Any, dict[str, Any]]:
    """What was said, by id; every line is a JSON-RPC message."""
    said = [json.loads(each) for each in out.decode("utf-8").splitlines()]
    assert all(each["jsonrpc"] == "2.0" for each in said)
    return {each.get("id"): each for each in said}


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What the command runs in: a store of its own, and the embedder that needs no model."""
    return {
        **os.environ,
        "MEMSTRATA_URL": str(folder / "memory.db"),
        "MEMSTRATA_USER": "ana",
        "MEMSTRATA_EMBEDDER": "fake",
        "XDG_CONFIG_HOME": str(folder / "config"),
        **more,
    }


async def conversation(memory: AsyncMemory, given: str | bytes) -> bytes:
    """What is said over the pipes of a host that writes all of this and then goes."""
    source, from_host = os.pipe()
    to_host, sink = os.pipe()

    async def hearing() -> None:
        heard.append(await anyio.to_thread.run_sync(_all_of, to_host))

    async def saying() -> None:
        data = given.encode() if isinstance(given, str) else given
        await anyio.to_thread.run_sync(_put, from_host, data)

    heard: list[bytes] = []
    async with anyio.create_task_group() as group:
        group.start_soon(hearing)
        group.start_soon(saying)
        await serve_stdio(memory, Options(user="ana"), source, sink)
        os.close(sink)
    os.close(source)
    return heard[0]


def command(
    folder: Path, given: str | bytes, *arguments: str, **more: str
) -> subprocess.CompletedProcess[bytes]:
    """The whole of a connection over standard input: what is written, and then its end."""
    data = given.encode() if isinstance(given, str) else given
    return subprocess.run(
        [*RUN, "mcp", *arguments],
        input=data,
        capture_output=True,
        env=environment(folder, **more),
        timeout=PATIENCE,
        check=False,
    )


class Process:
    """The command as a host runs it, spoken to line by line."""

    def __init__(self, running: subprocess.Popen[bytes]) -> None:
        self.running = running
        self.out: Queue[bytes] = Queue()
        self.err: Queue[bytes] = Queue()
        self.listening = [
            threading.Thread(target=_drain, args=(pipe, lines))
            for pipe, lines in ((running.stdout, self.out), (running.stderr, self.err))
        ]
        for each in self.listening:
            each.start()

    def join(self) -> None:
        for each in self.listening:
            each.join()

    @classmethod
    @contextmanager
    def started(cls, folder: Path, *arguments: str, **more: str) -> Generator[Process]:
        running = subprocess.Popen(
            [*RUN, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(folder, **more),
        )
        with running:
            process = cls(running)
            try:
                yield process
            finally:
                running.kill()
                process.join()

    def say(self, text: str) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(text.encode())
        self.running.stdin.flush()

    def heard(self) -> dict[str, Any]:
        """The next line of standard output."""
        return json.loads(_next(self.out))

    def told(self) -> str:
        """The next line of standard error."""
        return _next(self.err).decode()

    def asked(self, method: str, params: Any = None, key: int = 1) -> dict[str, Any]:
        self.say(line(method, params, key))
        answer = self.heard()
        assert answer["id"] == key
        return answer

    def interrupted(self, by: signal.Signals) -> int:
        """Its exit code when it is sent a signal."""
        self.running.send_signal(by)
        return self.running.wait(PATIENCE)


def _all_of(source: int) -> bytes:
    with open(source, "rb") as pipe:
        return pipe.read()


def _put(sink: int, data: bytes) -> None:
    with open(sink, "wb") as pipe:
        pipe.write(data)


def _drain(pipe: Any, lines: Queue[bytes]) -> None:
    for each in pipe:
        lines.put(each)


def _next(lines: Queue[bytes]) -> bytes:
    try:
        return lines.get(timeout=PATIENCE)
    except Empty:
        raise AssertionError(f"nothing was said in {PATIENCE} s") from None
