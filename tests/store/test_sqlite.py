"""What is SQLite's own: files, connections, snapshots, and other processes on the same file."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memstrata
from memstrata import InvalidInput, Memory, MemstrataError, PermissionDenied, StoreUnavailable
from memstrata.models.fake import FakeEmbedder
from memstrata.store.sqlite.store import READERS, SqliteBackend, open_backend

IVO: dict[str, Any] = {"user_id": "ivo"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def backend(path: Path) -> Iterator[SqliteBackend]:
    made = open_backend(str(path))
    yield made
    made.close()


def texts(memory: Memory) -> list[str]:
    return [message.content for message in memory.messages(**IVO)]


# ── starting ─────────────────────────────────────────────────────────────────────────────────


def test_a_second_start_finds_what_was_there(path: Path) -> None:
    """R43."""
    uuids: set[str] = set()
    for n in range(3):
        with memstrata.open(path, embedder="fake") as memory:
            memory.add(f"note number {n}", **IVO)
            assert texts(memory) == [f"note number {k}" for k in range(n + 1)]
            row = memory.aio._runtime.store._backend.read(lambda tx: tx.one("store_row"))
            uuids.add(row[0] if row else "")
    assert len(uuids) == 1
    assert [p.name for p in path.parent.iterdir()] == ["memory.db"]


START = textwrap.dedent("""
    import sys
    import memstrata

    memstrata.open(":memory:", embedder="fake").close()
    print("ready", flush=True)
    for path in sys.stdin:
        with memstrata.open(path.strip(), embedder="fake") as memory:
            memory.add(f"note number {sys.argv[1]}", user_id="ivo")
        print("done", flush=True)
""")


@pytest.fixture
def starters() -> Iterator[list[Starter]]:
    """Programs that open the stores they are told."""
    started = [Starter(n) for n in range(3)]
    yield started
    for starter in started:
        starter.stop()


class Starter:
    def __init__(self, number: int) -> None:
        command = [sys.executable, "-c", START, str(number)]
        self._child = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def hear(self) -> str:
        return self._child.stdout.readline().strip() if self._child.stdout else ""

    def tell(self, path: Path) -> None:
        assert self._child.stdin
        self._child.stdin.write(f"{path}\n")
        self._child.stdin.flush()

    def stop(self) -> None:
        self._child.communicate(timeout=60)


def test_starts_at_the_same_time_all_succeed(tmp_path: Path, starters: list[Starter]) -> None:
    """R43: whoever comes first makes the file, and nobody fails."""
    assert [starter.hear() for starter in starters] == ["ready"] * 3
    for attempt in range(8):
        path = tmp_path / f"{attempt}.db"
        for starter in starters:
            starter.tell(path)
        assert [starter.hear() for starter in starters] == ["done"] * 3
        with memstrata.open(path, embedder="fake") as memory:
            assert sorted(texts(memory)) == [f"note number {n}" for n in range(3)]
            assert len(memory.search("note", method="embedding", **IVO)) == 3
            assert memory.verify() == []


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with memstrata.open(path, embedder="none") as memory:
        memory.add("one", **IVO)
    with memstrata.open(path, embedder="none") as memory:
        assert texts(memory) == ["one"]


def test_names_with_signs_in_them_are_paths(tmp_path: Path) -> None:
    for name in ("a b.db", "ü?x=1.db", "100%.db", "file:x.db", "#.db", "'.db", ":memory: "):
        target = tmp_path / name
        with memstrata.open(target, embedder="none") as memory:
            memory.add("one", **IVO)
        assert target.is_file(), name


def test_memory_is_gone_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with memstrata.open(":memory:", embedder="none") as memory:
        memory.add("one", **IVO)
    with memstrata.open(":memory:", embedder="none") as memory:
        assert texts(memory) == []
    assert list(tmp_path.iterdir()) == []


# ── connections ──────────────────────────────────────────────────────────────────────────────


def test_how_the_file_is_written(backend: SqliteBackend) -> None:
    writer = backend._writer
    assert writer.pragma("journal_mode") == "wal"
    assert writer.pragma("synchronous") == 2
    assert writer.pragma("secure_delete") == 1


def test_readers_cannot_write(backend: SqliteBackend) -> None:
    with pytest.raises(PermissionDenied):
        backend.read(lambda tx: tx.run("model_use", {"model": 1}))
    assert backend._readers.qsize() == READERS


def test_a_read_is_one_snapshot(backend: SqliteBackend) -> None:
    """What is written meanwhile is seen by the next one."""

    def twice(tx: Any) -> tuple[Any, Any]:
        before = tx.one("store_row")
        backend.write(lambda other: other.one("reserve", {"count": 5}))
        number = backend.write(lambda other: other.one("model_add", {"name": "m", "dimensions": 3}))
        assert number is not None
        backend.write(lambda other: other.run("model_use", {"model": number[0]}))
        return before, tx.one("store_row")

    before, after = backend.read(twice)
    assert before == after
    assert backend.read(lambda tx: tx.one("store_row")) != before


def test_more_readers_than_connections_wait_for_their_turn(backend: SqliteBackend) -> None:
    inside = threading.Barrier(READERS)
    done: list[Any] = []

    def read(tx: Any) -> None:
        inside.wait(timeout=30)
        done.append(tx.one("store_row"))

    threads = [threading.Thread(target=backend.read, args=(read,)) for _ in range(2 * READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(done) == 2 * READERS


def test_what_raises_inside_a_write_is_rolled_back(backend: SqliteBackend) -> None:
    def half(tx: Any) -> None:
        tx.one("reserve", {"count": 5})
        raise KeyError("no")

    before = backend.write(lambda tx: tx.one("reserve", {"count": 0}))
    with pytest.raises(KeyError):
        backend.write(half)
    assert backend.write(lambda tx: tx.one("reserve", {"count": 0})) == before


@pytest.mark.parametrize(
    ("value", "message"), [("\ud800", "surrogate"), (2**63, "64 bits")], ids=["text", "number"]
)
def test_what_cannot_be_bound_is_the_callers_mistake(
    backend: SqliteBackend, value: Any, message: str
) -> None:
    user = {"tenant": "t", "user_id": "u", "timezone": value, "locale": None}
    with pytest.raises(InvalidInput, match=message):
        backend.write(lambda tx: tx.run("user_set", user))
    with pytest.raises(InvalidInput, match=message):
        backend.write(lambda tx: tx.many("user_set", [user]))


def test_a_failing_statement_is_our_error(backend: SqliteBackend) -> None:
    backend._writer.execute("DROP TABLE users")
    with pytest.raises(StoreUnavailable, match="no such table"):
        backend.read(lambda tx: tx.one("user_get", {"tenant": "t", "user_id": "u"}))


def test_nothing_works_on_a_closed_backend_and_nothing_hangs(backend: SqliteBackend) -> None:
    backend.close()
    backend.close()
    for call in (
        lambda: backend.read(lambda tx: tx.one("store_row")),
        lambda: backend.write(lambda tx: tx.one("store_row")),
        backend.clean,
        backend.check,
    ):
        for _ in range(READERS + 1):
            with pytest.raises(StoreUnavailable):
                call()


def test_the_journal_is_folded_in_when_the_last_one_closes(path: Path) -> None:
    one, other = (memstrata.open(path, embedder="none") for _ in range(2))
    one.add("one", **IVO)
    one.close()
    assert Path(f"{path}-wal").exists()
    other.close()
    assert [p.name for p in path.parent.iterdir()] == ["memory.db"]


def test_bytes_on_disk_count_the_journal(path: Path) -> None:
    with memstrata.open(path, embedder="none") as memory:
        memory.add("one", **IVO)
        files = [path, Path(f"{path}-wal")]
        assert memory.stats(**IVO)["bytes_on_disk"] == sum(file.stat().st_size for file in files)


# ── several on one file ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def two(path: Path) -> Iterator[tuple[Memory, Memory]]:
    """Two handles on one file, as two processes would have them."""
    with (
        memstrata.open(path, embedder="fake") as one,
        memstrata.open(path, embedder="fake") as other,
    ):
        yield one, other


def found(memory: Memory, query: str = "tea", **how: Any) -> list[str]:
    return sorted(hit.text for hit in memory.search(query, **how, **IVO))


def test_each_sees_what_the_other_writes(two: tuple[Memory, Memory]) -> None:
    """The index of one is brought up to date with the writes of the other."""
    one, other = two
    one.add("red tea", **IVO)
    for method in ("bm25", "embedding"):
        assert found(other, method=method) == ["red tea"]
    other.add("green tea", **IVO)
    made = other.create({"kind": "semantic", "name": "tea is warm"}, **IVO)
    assert found(one) == ["green tea", "red tea", "tea is warm"]
    other.update(made.record_ids[0], name="tea is hot", **IVO)
    assert found(one) == ["green tea", "red tea", "tea is hot"]
    other.retire(made.record_ids[0], **IVO)
    assert found(one) == ["green tea", "red tea"]


def test_each_sees_what_the_other_takes_away(two: tuple[Memory, Memory]) -> None:
    one, other = two
    red, green = one.add("red tea", **IVO), one.add("green tea", **IVO)
    one.add("black tea", **IVO)
    assert found(other) == ["black tea", "green tea", "red tea"]
    undone = one.undo(red.batch_id, **IVO)
    assert found(other) == ["black tea", "green tea"]
    one.forget(ids=green.message_ids, **IVO)
    assert found(other) == ["black tea"]
    other.undo(undone.batch_id, **IVO)
    assert found(one) == found(other) == ["black tea", "red tea"]
    one.forget(everything=True, **IVO)
    assert found(other) == []


def test_a_vector_that_comes_later_is_seen_too(path: Path) -> None:
    with (
        memstrata.open(path, embedder=FakeEmbedder()) as one,
        memstrata.open(path, embedder=(failing := FakeEmbedder())) as other,
    ):
        failing.fail_next()
        late = other.add("red tea", **IVO)
        assert found(one, method="bm25") == ["red tea"]
        assert found(one, method="embedding") == []
        other.retry(late.batch_id, **IVO)
        assert found(one, method="embedding") == ["red tea"]


def test_another_model_is_named_and_keywords_go_on(path: Path) -> None:
    with memstrata.open(path, embedder=FakeEmbedder()) as memory:
        memory.add("red tea", **IVO)
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        results = memory.search("tea", **IVO)
        assert [hit.text for hit in results] == ["red tea"]
        assert "fake-256" in results.notes[0] and "fake-64" in results.notes[0]
        memory.add("green tea", **IVO)
        assert found(memory) == ["green tea", "red tea"]
        with pytest.raises(InvalidInput, match="fake-256"):
            memory.search("tea", method="embedding", **IVO)
    with memstrata.open(path, embedder=FakeEmbedder()) as memory:
        memory.add("black tea", **IVO)
        assert found(memory, method="embedding") == ["black tea", "green tea", "red tea"]
        assert memory.verify() == []


def test_a_store_opened_without_a_model_gets_its_vectors_later(path: Path) -> None:
    with memstrata.open(path, embedder="none") as memory:
        memory.add(["red tea", "green tea"], **IVO)
    with memstrata.open(path, embedder="fake") as memory:
        memory.add("black tea", **IVO)
        assert found(memory, method="embedding") == ["black tea", "green tea", "red tea"]


def test_a_write_lock_that_another_program_holds_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memstrata.store.sqlite.store.BUSY_SECONDS", 0.05)
    with memstrata.open(path, embedder="none") as memory:
        holder = apsw.Connection(str(path))
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="write lock"):
            memory.add("one", **IVO)
        assert texts(memory) == []
        holder.execute("COMMIT")
        holder.close()
        memory.add("one", **IVO)
        assert texts(memory) == ["one"]


def test_memory_is_safe_from_many_threads(path: Path) -> None:
    with memstrata.open(path, embedder="fake") as memory:
        failures: list[MemstrataError] = []

        def work(n: int) -> None:
            try:
                for k in range(5):
                    memory.add(f"tea {n} {k}", user_id=f"user-{n % 2}")
                    memory.search("tea", user_id=f"user-{n % 2}")
            except MemstrataError as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert failures == []
        assert sum(row["messages"] for row in memory.scopes()) == 30
        assert memory.verify() == []


# ── has anything been committed? ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["file", "memory"])
def test_the_version_tells_of_every_commit_and_of_nothing_else(place: str, path: Path) -> None:
    backend = open_backend(str(path) if place == "file" else ":memory:")
    try:
        seen = [backend.version()]
        assert backend.version() == seen[0]
        backend.read(lambda tx: tx.one("batch_counts"))
        assert backend.version() == seen[0]
        for _ in range(2):
            backend.write(lambda tx: tx.one("reserve", {"count": 1}))
            assert backend.version() != seen[-1]
            seen.append(backend.version())
    finally:
        backend.close()


def test_the_version_tells_what_other_processes_commit(backend: SqliteBackend, path: Path) -> None:
    before = backend.version()
    script = f"import memstrata\nmemstrata.open({str(path)!r}, embedder='none').keys.create('desk')"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert backend.version() != before


@pytest.mark.parametrize("place", ["file", "memory"])
def test_of_a_closed_store_no_two_versions_are_the_same(place: str, path: Path) -> None:
    backend = open_backend(str(path) if place == "file" else ":memory:")
    backend.close()
    assert backend.version() != backend.version()
