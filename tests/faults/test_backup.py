"""Backups: whole, sound and of one moment, whoever writes and whatever fails meanwhile."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import apsw
import pytest
from faults.keeping import killed
from faults.test_processes import child, ended_well, lines
from faults.vfs import WRITES, FaultyDisk
from store.test_scrub import fill, standing

import memstrata
from memstrata import Memory
from memstrata.errors import InvalidInput, MemstrataError, PermissionDenied, StoreUnavailable
from memstrata.store.keeping import held
from memstrata.store.sqlite import copying, store
from memstrata.store.sqlite.store import open_backend

ANN: dict[str, Any] = {"user_id": "ann"}
SENTINEL = "quillwort-4471-marzipan"


def told(path: Path) -> list[str]:
    """What a store says that ann said; it must be sound."""
    with memstrata.open(path, embedder="none") as memory:
        assert memory.verify() == []
        return [message.content for message in memory.messages(limit=1_000, **ANN)]


def filled(path: Path | str, count: int = 30, **options: Any) -> Memory:
    """A store with some in it."""
    memory = memstrata.open(path, embedder="none", **options)
    memory.add([f"crate {n} {'is full ' * 40}" for n in range(count)], infer=False, **ANN)
    return memory


def only(folder: Path, *names: str) -> bool:
    """Whether beside a store and what SQLite keeps with it, the folder has these files alone."""
    return {each.name for each in folder.iterdir() if not each.name.startswith("memory.db")} == {
        *names
    }


def test_a_backup_is_the_store(path: Path) -> None:
    """All tenants, in one file for its owner alone, and what was said later is not in it."""
    target = path.with_name("backup.db")
    with filled(path) as memory:
        memory.vault.put("Plum-7719", caption="Wi-Fi", **ANN)
        memory.for_tenant("north").add("A northern crate.", user_id="olu")
        made = memory.backup(target)
        memory.add("Too late.", **ANN)
        [noted] = memory.audit(limit=1)
        assert (noted.action, noted.actor) == ("backup", "user")
    assert (made.messages, made.records, made.path) == (31, 1, str(target))
    assert made.bytes == target.stat().st_size > 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert only(path.parent, "backup.db")
    assert target.read_bytes()[18:20] == b"\1\1"  # it needs no journal beside it to be read
    assert b"Plum-7719" not in target.read_bytes()
    assert len(told(target)) == 30
    with memstrata.open(target, embedder="none") as copy:
        assert [m.content for m in copy.for_tenant("north").messages(user_id="olu")] == [
            "A northern crate."
        ]
        assert made.vault_key is not None and made.vault_key in str(copy.doctor())


def test_a_store_in_memory_can_be_backed_up(tmp_path: Path) -> None:
    with filled(":memory:") as memory:
        assert memory.backup(tmp_path / "backup.db").messages == 30
        memory.add("It goes on.", **ANN)
    assert len(told(tmp_path / "backup.db")) == 30


def test_nobody_waits_for_a_backup(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between any two steps another process writes; the copy is of the moment when it began."""
    monkeypatch.setattr(copying, "_PAGES", 8)
    backend = open_backend(str(path))
    filled(path, 200).close()
    slowest, steps = 0.0, 0
    with child("add", path, "ann", "meanwhile", 400) as writer:
        before = lines(writer, 1)

        def pause() -> None:
            nonlocal slowest, steps
            if steps < 12:
                began = time.monotonic()
                before.extend(lines(writer, 2))
                slowest, steps = max(slowest, time.monotonic() - began), steps + 1

        began = time.monotonic()
        target = path.with_name("backup.db")
        counted, _ = backend.backup(target, held, force=False, pause=pause)
        took = time.monotonic() - began
        assert writer.poll() is None, "it was to be writing still"
        before += ended_well(writer)
    backend.close()
    assert steps == 12 and len(before) == 400
    assert slowest < 5 and took < 60
    assert 201 <= counted.messages < 201 + 24  # it began before the writes that it waited for
    assert len(told(target)) == counted.messages
    assert len(told(path)) == 600


def test_backups_one_after_the_other_while_another_writes(path: Path) -> None:
    """Every one is sound, and has all that was acknowledged when it began."""
    filled(path, 5).close()
    acknowledged = 0
    with child("add", path, "ann", "meanwhile", 150) as writer:
        for number in range(6):
            acknowledged += len(lines(writer, 10))
            target = path.with_name(f"backup-{number}.db")
            with memstrata.open(path, embedder="none") as memory:
                memory.backup(target)
            assert len(told(target)) >= 5 + acknowledged
        ended_well(writer)
    assert len(told(path)) == 155


@pytest.mark.parametrize("reader", [False, True], ids=["clean", "pending"])
def test_what_was_erased_is_in_no_later_backup(
    path: Path, reader: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a byte, even where the store itself cannot be clean yet, as somebody reads it."""
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    target = path.with_name("backup.db")
    with filled(path) as memory:
        ids: list[str] = []
        for number in range(150):  # in an index too, in no order, so that SQLite moves it about
            said = f"{SENTINEL} {number} {'and so on ' * (number * 37 % 40)}"
            session = f"{number * 37 % 150}-{SENTINEL}"
            ids += memory.add(said, session_id=session, infer=False, **ANN).message_ids
        memory.backup(path.with_name("older.db"))
        holder = apsw.Connection(str(path))
        if reader:
            holder.execute("BEGIN; SELECT count(*) FROM messages").fetchall()
        receipt = memory.forget(ids=ids, **ANN)
        assert receipt.state == ("pending" if reader else "done")
        memory.backup(target)
        holder.close()
    assert SENTINEL.encode() in path.with_name("older.db").read_bytes()
    assert SENTINEL.encode() not in target.read_bytes()
    assert len(told(target)) == 30


def test_nor_what_stands_between_the_cells(path: Path) -> None:
    """Where SQLite leaves copies, which the store cannot zero while somebody reads it."""
    filled(path).close()
    connection = apsw.Connection(str(path))
    gone = fill(connection, 1_000)
    assert standing(path, gone)
    target = path.with_name("backup.db")
    with memstrata.open(path, embedder="none") as memory:
        memory.backup(target)
    connection.close()
    assert not standing(target, gone)
    assert len(told(target)) == 30


def test_it_replaces_nothing_unless_asked(path: Path) -> None:
    target = path.with_name("backup.db")
    target.write_text("dear to me")
    with filled(path) as memory:
        with pytest.raises(InvalidInput, match="there already"):
            memory.backup(target)
        with pytest.raises(InvalidInput, match="is no backup"):
            memory.backup(target, force=True)
        assert target.read_text() == "dear to me"
        target.unlink()
        memory.backup(target)
        memory.backup(target, force=True)
        with pytest.raises(InvalidInput, match="own"):
            memory.scoped(**ANN).backup(path.with_name("mine.db"))
        for name in ("", "-wal", "-shm"):
            with pytest.raises(InvalidInput, match="the store itself"):
                memory.backup(f"{path}{name}", force=True)
    assert len(told(path)) == len(told(target)) == 30
    assert only(path.parent, "backup.db")


def test_it_replaces_no_store_that_is_open(path: Path) -> None:
    other = path.with_name("other.db")
    with (
        filled(path) as memory,
        filled(other, 3),
        pytest.raises(InvalidInput, match=r"other\.db-wal is there.*in use"),
    ):
        memory.backup(other, force=True)
    assert len(told(other)) == 3


PLACES: dict[str, tuple[Callable[[Path], Path], type[MemstrataError], str]] = {
    "a folder": (lambda folder: folder, InvalidInput, "is no file"),
    "no folder": (lambda folder: folder / "no" / "b.db", StoreUnavailable, "create it first"),
    "a device": (lambda folder: Path(os.devnull), InvalidInput, "is no file"),
    "a link": (lambda folder: folder / "link", InvalidInput, "is no file"),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_place_where_it_cannot_be(path: Path, case: str) -> None:
    place, error, words = PLACES[case]
    path.with_name("link").symlink_to(path.with_name("elsewhere"))
    with filled(path) as memory, pytest.raises(error, match=words):
        memory.backup(place(path.parent), force=True)
    assert only(path.parent, "link")
    assert len(told(path)) == 30


def test_a_read_only_folder(path: Path, disk: FaultyDisk) -> None:
    with filled(path, vfs=disk.name) as memory:
        disk.read_only_folder = True
        with pytest.raises(PermissionDenied, match="writable"):
            memory.backup(path.with_name("backup.db"))
        disk.heal()
    assert only(path.parent)


@pytest.mark.parametrize("room", [0, 4_096, 30_000, 90_000])
def test_a_full_disk(path: Path, disk: FaultyDisk, room: int) -> None:
    """The older backup stays, the store goes on, and nothing is left of the attempt."""
    target = path.with_name("backup.db")
    with filled(path, vfs=disk.name) as memory:
        memory.backup(target)
        before = target.read_bytes()
        disk.room = room
        with pytest.raises(StoreUnavailable, match=r"disk is full.*free space"):
            memory.backup(target, force=True)
        assert disk.failures and target.read_bytes() == before
        assert only(path.parent, "backup.db")
        disk.heal()
        memory.add("It goes on.", **ANN)
        memory.backup(target, force=True)
    assert len(told(target)) == len(told(path)) == 31


def test_any_write_or_read_may_fail(path: Path, disk: FaultyDisk) -> None:
    target = path.with_name("backup.db")
    with filled(path, vfs=disk.name) as memory:
        disk.fail(*WRITES, "read", after=10**9)
        memory.backup(target)
        total, target = disk.operations, path.with_name("second.db")
        assert total > 40
        for after in range(4, total, 9):
            disk.fail(*WRITES, "read", after=after)
            with pytest.raises(StoreUnavailable, match="disk failed"):
                memory.backup(target)
            disk.heal()
            assert only(path.parent, "backup.db")
        memory.backup(target)
    assert len(told(target)) == 30


def test_a_damaged_store_gives_no_backup(path: Path) -> None:
    """Rather none than one that cannot be restored; the older one stays."""
    target = path.with_name("backup.db")
    with filled(path, 200) as memory:
        memory.backup(target)
    before = target.read_bytes()
    with path.open("r+b") as file:
        for page in range(30, 40):
            file.seek(page * 4096 + 8)
            file.write(b"\xff" * 64)
    with (
        memstrata.open(path, embedder="none") as memory,
        pytest.raises(StoreUnavailable, match=r"damaged.*older"),
    ):
        memory.backup(target, force=True)
    assert target.read_bytes() == before
    assert only(path.parent, "backup.db")


@pytest.mark.parametrize(
    ("failpoint", "passing"),
    [
        ("disk write", 0),
        ("disk write", 40),
        ("disk sync", 1),
        ("before replace", 0),
        ("after replace", 0),
        ("before fsync", 0),
    ],
)
def test_killed_it_leaves_the_older_backup_or_the_new(
    path: Path, failpoint: str, passing: int
) -> None:
    """And the store as it was; the next backup goes as if nothing had been."""
    target = path.with_name("backup.db")
    with filled(path, 3) as memory:
        memory.backup(target)
        memory.add("Since then.", **ANN)
    assert killed("backup", failpoint, passing, path, target)
    assert len(told(target)) == (4 if failpoint in ("after replace", "before fsync") else 3)
    assert len(told(path)) == 4
    with memstrata.open(path, embedder="none") as memory:
        memory.backup(target, force=True)
    assert len(told(target)) == 4


def test_what_a_killed_one_left_is_removed_a_day_later(path: Path) -> None:
    names = [".backup.db.0123.part", ".backup.db.4567.part", ".other.db.89ab.part"]
    left, fresh, others = (path.with_name(name) for name in names)
    for each in (left, fresh, others):
        each.write_bytes(b"")
    for each in (left, others):
        os.utime(each, (time.time() - 90_000,) * 2)
    with filled(path) as memory:
        memory.backup(path.with_name("backup.db"))
    assert only(path.parent, "backup.db", fresh.name, others.name)


@pytest.mark.skipif(sys.platform == "win32", reason="a file system without links")
def test_without_links_it_replaces_nothing_either(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", link)
    target = path.with_name("backup.db")
    with filled(path) as memory:
        memory.backup(target)
        with pytest.raises(InvalidInput, match="there already"):
            memory.backup(target)
    assert len(told(target)) == 30


class HeldDisk(FaultyDisk):
    """A disk on which nothing is read for as long as it is held."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.arrived, self.free = threading.Event(), threading.Event()
        self.free.set()

    def step(self, kind: str, half: Callable[[], object] | None = None) -> None:
        if kind == "read" and not self.free.is_set():
            self.arrived.set()
            assert self.free.wait(20)
        super().step(kind, half)


@pytest.mark.anyio
async def test_it_can_be_cancelled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon, and with nothing left of it; the store goes on."""
    monkeypatch.setattr(copying, "_PAGES", 1)
    disk, target, ended = HeldDisk("held"), path.with_name("backup.db"), list[bool]()
    async with await memstrata.open_async(path, embedder="none", vfs=disk.name) as memory:
        await memory.add([f"crate {n} {'is full ' * 40}" for n in range(30)], infer=False, **ANN)

        async def backup() -> None:
            await memory._runtime.store.backup(target, force=False)
            ended.append(True)

        disk.free.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(backup)
            assert await anyio.to_thread.run_sync(disk.arrived.wait, 20)
            group.cancel_scope.cancel()
            disk.free.set()
        assert ended == [] and only(path.parent)
        assert (await memory.backup(target)).messages == 30
    disk.unregister()
