"""Several callers at once in one process: every success is a row, and nobody is turned away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from cases.support import FOREVER, found, texts

import memstrata
from memstrata import Memory
from memstrata.errors import Conflict, StoreUnavailable
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Record
from memstrata.store.sqlite import store

CALLERS = 20


@contextmanager
def reading(memory: Memory, read: Callable[[], int]) -> Generator[list[int]]:
    """What `read` gave, over and over in a thread of its own while the block runs."""
    seen: list[int] = []
    over = threading.Event()

    def loop() -> None:
        while not over.is_set() or not seen:
            seen.append(read())

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(loop)
        try:
            yield seen
        finally:
            over.set()
        reader.result()


@pytest.mark.parametrize("users", [1, 4])
def test_r39_parallel_adds_from_threads(path: Path, users: int) -> None:
    """Parallel calls corrupted the file or overwrote each other
    (modelcontextprotocol/servers #1819)."""
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:

        def add(number: int) -> str:
            receipt = memory.add(f"crate {number}", user_id=f"u{number % users}", session_id="s")
            assert receipt.state == "done"
            return receipt.message_ids[0]

        def count() -> int:
            return len(memory.search("crate", user_id="u0", limit=FOREVER))

        with ThreadPoolExecutor(CALLERS) as pool, reading(memory, count) as seen:
            ids = list(pool.map(add, range(CALLERS)))

        assert len(set(ids)) == CALLERS
        assert seen == sorted(seen)
        stored = [text for n in range(users) for text in texts(memory.messages(user_id=f"u{n}"))]
        assert sorted(stored) == sorted(f"crate {n}" for n in range(CALLERS))
        assert all(memory.stats(user_id=f"u{n}")["items_without_vector"] == 0 for n in range(users))
        assert memory.verify() == []


@pytest.mark.anyio
async def test_r39_parallel_adds_from_tasks(path: Path) -> None:
    """The same on one event loop, with reads in between."""
    embedder = FakeEmbedder(dimensions=64)
    async with await memstrata.open_async(path, embedder=embedder) as memory:
        ids: set[str] = set()

        async def add(number: int) -> None:
            receipt = await memory.add(f"crate {number}", user_id="ann")
            hits = await memory.search(f"crate {number}", user_id="ann", limit=100)
            assert f"crate {number}" in found(hits)
            ids.update(receipt.message_ids)

        async with anyio.create_task_group() as group:
            for number in range(CALLERS):
                group.start_soon(add, number)
        assert len(ids) == CALLERS
        assert len(await memory.messages(user_id="ann")) == CALLERS
        assert await memory.verify() == []


def test_r39_the_same_call_at_once_is_one_message(memory: Memory) -> None:
    """A client that repeats a call it thinks lost must not be stored twice."""

    def add(number: int) -> list[str]:
        key = "k" if number % 2 else None
        return memory.add("crate 1", user_id=f"u{number % 2}", idempotency_key=key).message_ids

    with ThreadPoolExecutor(CALLERS) as pool:
        ids = {each for found_ids in pool.map(add, range(CALLERS)) for each in found_ids}
    assert len(ids) == 2
    assert [memory.stats(user_id=user)["messages"] for user in ("u0", "u1")] == [1, 1]


def test_r39_no_edit_is_lost(memory: Memory) -> None:
    """Of edits at once each is there afterwards, or was told that it is not."""
    [record_id] = memory.create({"kind": "semantic", "name": "x"}, user_id="ann").record_ids

    def edit(number: int) -> int | None:
        try:
            memory.update(record_id, metadata={f"k{number}": number}, user_id="ann")
        except Conflict as error:
            assert "repeat" in str(error)
            return None
        return number

    with ThreadPoolExecutor(CALLERS) as pool:
        kept = [number for number in pool.map(edit, range(CALLERS)) if number is not None]
    record = memory.get(record_id, user_id="ann")
    assert isinstance(record, Record)
    assert record.metadata == {f"k{number}": number for number in kept} and kept
    assert record.version == 1 + len(kept)
    assert memory.verify() == []

    same: dict[str, Any] = {"if_version": record.version, "user_id": "ann"}
    with ThreadPoolExecutor(CALLERS) as pool:
        edits = [
            pool.submit(memory.update, record_id, name=f"n{n}", **same) for n in range(CALLERS)
        ]
    stale = [edit.exception() for edit in edits]
    assert [type(each) for each in stale].count(type(None)) == 1
    assert all(isinstance(each, Conflict) for each in stale if each is not None)


def test_r39_a_locked_store_is_waited_for(path: Path) -> None:
    """SQLite failed at once with `locked` where a short wait would have done
    (modelcontextprotocol/servers #4797)."""
    with (
        memstrata.open(path, embedder="none") as memory,
        ThreadPoolExecutor(1) as pool,
    ):
        memory.add("crate 0", user_id="ann")
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        waiting: Future[Any] = pool.submit(memory.add, "crate 1", user_id="ann")
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
        assert texts(memory.messages(user_id="ann")) == ["crate 0"]  # readers do not wait
        other.execute("COMMIT")
        other.close()
        assert waiting.result(timeout=30).state == "done"
        assert texts(memory.messages(user_id="ann")) == ["crate 0", "crate 1"]


def test_r39_a_lock_that_stays_is_an_error_that_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the documented wait the call fails, nothing of it is there, and the handle lives."""
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    with memstrata.open(path, embedder="none") as memory:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        for attempt in (
            lambda: memory.add("crate 1", user_id="ann"),
            lambda: memory.create({"kind": "semantic", "name": "x"}, user_id="ann"),
            lambda: memory.set_user(user_id="ann", timezone="Asia/Tokyo"),
        ):
            with pytest.raises(StoreUnavailable, match="lock"):
                attempt()
        other.execute("ROLLBACK")
        other.close()
        assert memory.scopes() == []
        assert memory.add("crate 1", user_id="ann").state == "done"
        assert memory.verify() == []


def test_r39_closing_under_way_loses_nothing(path: Path) -> None:
    """Calls that meet a closing store are done or refused; none hangs, none is half there."""
    memory = memstrata.open(path, embedder=FakeEmbedder(dimensions=64))
    memory.add("crate", user_id="ann")

    def add(number: int) -> str | None:
        try:
            receipt = memory.add(f"crate {number}", user_id="ann")
            memory.search("crate", user_id="ann")
            memory.messages(user_id="ann")
        except StoreUnavailable as error:
            assert "closed" in str(error)
            return None
        return receipt.message_ids[0]

    with ThreadPoolExecutor(8) as pool:
        attempts = [pool.submit(add, number) for number in range(60)]
        attempts[5].result(timeout=60)
        memory.close()
        memory.close()
        done = [attempt.result(timeout=60) for attempt in attempts]
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as again:
        stored = {message.id for message in again.messages(user_id="ann", limit=1_000)}
        assert {each for each in done if each} <= stored
        assert again.verify() == []
