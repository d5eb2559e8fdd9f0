"""What the contract suite runs on: each kind of store, the shipped fake model, a clock of ours.

A new kind of store joins the whole suite by one entry in `STORES`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memstrata
from memstrata import AsyncMemory
from memstrata.models.base import Embedder
from memstrata.models.fake import FakeEmbedder

Open = Callable[..., Awaitable[AsyncMemory]]

STORES: Mapping[str, Callable[[Path, str], str]] = {
    "file": lambda folder, name: str(folder / f"{name}.db"),
    "memory": lambda folder, name: ":memory:",
}
"""Kind of store → the URL of a fresh one of that name."""


class Clock:
    """Tells a later instant each time it is asked, and jumps when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 8, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def advance(self, **by: float) -> datetime:
        """Let time pass, in the words of `timedelta`."""
        self.now += timedelta(**by)
        return self.now


@pytest.fixture(autouse=True)
def _own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a configuration folder, and so a vault key, of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture(params=sorted(STORES))
async def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, embedder: FakeEmbedder
) -> AsyncIterator[Open]:
    """Opens empty stores of one kind; they are closed when the test ends."""
    opened: list[AsyncMemory] = []

    async def open_one(
        name: str = "store", model: Embedder | str | None = None, **options: Any
    ) -> AsyncMemory:
        url = STORES[request.param](tmp_path, name)
        memory = await memstrata.open_async(url, embedder=model or embedder, **options)
        memory._runtime.clock = clock
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        await memory.close()


@pytest.fixture
async def memory(open_store: Open) -> AsyncMemory:
    """One empty store."""
    return await open_store()
