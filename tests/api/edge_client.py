"""The application in process, asked as from some address; and `memstrata serve` as a process."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from cli_shell import RUN
from fastapi import FastAPI

import memstrata
from memstrata.api import Options, make_app
from memstrata.memory import AsyncMemory

__all__ = ["Service", "Started", "asking", "problem", "service", "started"]

_LONGEST = 60


@dataclass
class Service:
    """An application over a store of its own."""

    memory: AsyncMemory
    app: FastAPI
    client: httpx2.AsyncClient
    """Of a program on the same machine."""

    async def post(self, verb: str, /, **arguments: Any) -> httpx2.Response:
        return await self.client.post(f"/api/v1/{verb}", json=arguments)

    async def figures(self, key: str | None = None) -> dict[str, float]:
        """What `/metrics` says, by name and labels."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        answer = await self.client.get("/metrics", headers=headers)
        assert answer.status_code == 200, answer.text
        rows = (line.rsplit(" ", 1) for line in answer.text.splitlines() if line[:1] != "#")
        return {name: float(value) for name, value in rows}


def asking(
    app: FastAPI, address: str | None = "127.0.0.1", base: str = "http://127.0.0.1"
) -> httpx2.AsyncClient:
    """A client of the application, at that address, which calls it by that name."""
    client = (address, 5000) if address is not None else None
    transport = httpx2.ASGITransport(app=app, client=client)  # pyright: ignore
    return httpx2.AsyncClient(transport=transport, base_url=base)


@asynccontextmanager
async def service(options: Options | None = None) -> AsyncGenerator[Service]:
    """An application over an empty store."""
    async with await memstrata.open_async(":memory:", embedder="fake") as memory:
        app = make_app(memory, options)
        async with asking(app) as client:
            yield Service(memory, app, client)


def problem(answer: httpx2.Response, status: int, name: str) -> dict[str, Any]:
    """The problem in an answer, which must be this one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert (found["type"], found["status"]) == (f"urn:memstrata:error:{name}", status)
    assert found["request_id"] == answer.headers["x-request-id"]
    return found


@dataclass
class Started:
    """`memstrata serve`, running."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def ask(self, verb: str, /, **arguments: Any) -> Any:
        """A verb's result."""
        answer = httpx2.post(f"{self.url}/api/v1/{verb}", json=arguments, timeout=_LONGEST)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(how)
        return self.process.wait(_LONGEST)


@contextmanager
def started(folder: Path, *options: str, store: str = "memory.db") -> Generator[Started]:
    """`memstrata serve` on a free port, over a store in this folder."""
    log = folder / "log.txt"
    given = ["serve", "--port", "0", "--json", "--url", str(folder / store), *options]
    if "--embedder" not in options:
        given += ["--embedder", "fake"]
    with log.open("a") as errors:
        process = subprocess.Popen(
            [*RUN, *given], stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder
        )
    with process:
        try:
            assert process.stdout is not None
            told = "".join(process.stdout.readline() for _ in range(3))
            assert told, log.read_text()
            yield Started(process, json.loads(told)["url"], log)
        finally:
            if process.poll() is None:
                process.kill()
