"""Restoring: checked before, then in one step or not at all; what was there is kept."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from faults.keeping import killed
from faults.test_backup import filled, only, told
from faults.test_processes import child, lines
from faults.vfs import WRITES, FaultyDisk

import memstrata
from memstrata.errors import (
    InvalidInput,
    MemstrataError,
    SchemaTooNew,
    StoreUnavailable,
    VaultUnavailable,
)
from memstrata.store.sqlite.schema import latest_version

ANN: dict[str, Any] = {"user_id": "ann"}


@pytest.fixture
def backup(path: Path) -> Path:
    """A backup with 30 messages."""
    target = path.with_name("backup.db")
    with filled(path.with_name("source.db")) as memory:
        memory.backup(target)
    for each in path.parent.glob("source.db*"):
        each.unlink()
    return target


def aside(path: Path) -> Path:
    """The one store that was moved aside."""
    names = path.parent.glob(f"{path.name}.replaced-*")
    [found] = [each for each in names if not each.name.endswith("-wal")]
    return found


def test_a_backup_restored_is_the_store(path: Path, backup: Path) -> None:
    """With its secrets, if the key is there; the backup stays as it is."""
    with memstrata.open(backup, embedder="none") as memory:
        entry = memory.vault.put("Plum-7719", caption="Wi-Fi", **ANN).record_ids[0]
        memory.backup(path.with_name("sealed.db"))
    sealed = path.with_name("sealed.db")
    before = sealed.read_bytes()
    made = memstrata.restore(sealed, path)
    assert (made.messages, made.records, made.replaced) == (30, 1, None)
    assert (made.path, made.bytes) == (str(path), path.stat().st_size)
    assert sealed.read_bytes() == before
    assert only(path.parent, "backup.db", "sealed.db")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(told(path)) == 30
    with memstrata.open(path, embedder="none") as memory:
        assert memory.vault.reveal(entry, reason="test", **ANN) == "Plum-7719"
        assert "crate 17" in memory.search("crate 17", **ANN)[0].text
        memory.add("It goes on.", **ANN)
    other = f"file:{path.with_name('other.key')}"
    with (
        memstrata.open(path, embedder="none", vault_key=other) as memory,
        pytest.raises(VaultUnavailable),
    ):
        memory.vault.reveal(entry, reason="test", **ANN)


def test_a_store_is_replaced_only_when_asked_and_kept(path: Path, backup: Path) -> None:
    """Also what a killed process left in its journal, with the owner and mode that it had."""
    with child("add", path, "ann", "before", 50) as writer:
        lines(writer, 5)
        writer.kill()
        writer.wait()
    assert path.with_name("memory.db-wal").stat().st_size > 0
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match="there already"):
        memstrata.restore(backup, path)
    made = memstrata.restore(backup, path, force=True)
    assert made.replaced == str(aside(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    names = {each.name for each in path.parent.iterdir()}
    assert names == {"memory.db", "backup.db", aside(path).name}
    assert len(told(aside(path))) >= 5
    assert len(told(path)) == 30
    assert memstrata.restore(aside(path), path, force=True).messages >= 5


def test_a_store_in_use_is_not_replaced(path: Path, backup: Path) -> None:
    """Neither by this process nor by another, and whoever has it open does not notice."""
    with filled(path, 3) as memory:
        with pytest.raises(StoreUnavailable, match="in use: stop"):
            memstrata.restore(backup, path, force=True)
        memory.add("It goes on.", **ANN)
    with child("add", path, "ann", "meanwhile", 10_000) as writer:
        lines(writer, 1)
        with pytest.raises(StoreUnavailable, match="in use: stop"):
            memstrata.restore(backup, path, force=True)
        lines(writer, 1)
    assert only(path.parent, "backup.db")
    assert len(told(path)) >= 6


def test_a_journal_of_another_store_is_not_taken_for_its_own(path: Path, backup: Path) -> None:
    """SQLite would: what is in it would be written into the restored file."""
    other = path.with_name("other.db")
    with child("add", other, "ann", "before", 50) as writer:
        lines(writer, 5)
        writer.kill()
        writer.wait()
    journal = path.with_name("memory.db-wal")
    shutil.copy(f"{other}-wal", journal)
    with pytest.raises(InvalidInput, match=r"memory\.db-wal is left"):
        memstrata.restore(backup, path)
    assert not path.exists()
    made = memstrata.restore(backup, path, force=True)
    assert Path(f"{made.replaced}-wal").exists() and not journal.exists()
    assert len(told(path)) == 30


@pytest.mark.parametrize("damage", ["all of it", "its head", "the middle"])
def test_a_damaged_store_is_replaced_and_kept(path: Path, backup: Path, damage: str) -> None:
    with filled(path, 200):
        pass
    with path.open("r+b") as file:
        if damage == "all of it":
            file.truncate(0)
            file.write(b"Dear diary " * 5_000)
        else:
            file.seek(0 if damage == "its head" else 40_000)
            file.write(b"\xff" * 9_000)
    before = path.read_bytes()
    memstrata.restore(backup, path, force=True)
    assert len(told(path)) == 30
    kept = aside(path).read_bytes()
    assert len(kept) == len(before) and kept[4_096:] == before[4_096:]


def test_a_damaged_store_does_not_leave_its_journal_to_the_new(path: Path, backup: Path) -> None:
    """Pages in it would take the place of the new file's."""
    filled(path, 3).close()
    journal = path.with_name("memory.db-wal")
    writer = apsw.Connection(str(path))
    writer.execute("UPDATE scopes SET user_id = 'bea'")
    held = journal.read_bytes()
    writer.close()
    journal.write_bytes(held)
    path.write_bytes(b"Dear diary " * 5_000)
    memstrata.restore(backup, path, force=True)
    assert not journal.exists() and Path(f"{aside(path)}-wal").read_bytes() == held
    assert len(told(path)) == 30


def test_nobody_gets_in_while_it_is_replaced(
    path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opened the old file then would go on writing to what is no longer the store."""
    filled(path, 3).close()
    link, tried = os.link, list[bool]()

    def meanwhile(source: Path, target: Path) -> None:
        intruder = apsw.Connection(str(path))
        with pytest.raises(apsw.BusyError):
            intruder.execute("SELECT count(*) FROM messages").fetchall()
        intruder.close()
        tried.append(True)
        link(source, target)

    monkeypatch.setattr(os, "link", meanwhile)
    memstrata.restore(backup, path, force=True)
    assert tried and len(told(path)) == 30


def cut(backup: Path) -> None:
    os.truncate(backup, backup.stat().st_size // 2)


def cut_at_a_page(backup: Path) -> None:
    os.truncate(backup, backup.stat().st_size - 4_096)


def newer(backup: Path) -> None:
    connection = apsw.Connection(str(backup))
    connection.execute(f"PRAGMA user_version = {latest_version() + 1}")
    connection.close()


def unsound(backup: Path) -> None:
    connection = apsw.Connection(str(backup))
    connection.execute("DELETE FROM items WHERE seq = (SELECT min(seq) FROM items)")
    connection.close()


def another_programs(backup: Path) -> None:
    backup.unlink()
    connection = apsw.Connection(str(backup))
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()


def a_folder(backup: Path) -> None:
    backup.unlink()
    backup.mkdir()


WRONG: dict[str, tuple[Callable[[Path], object], type[MemstrataError], str]] = {
    "half of it": (cut, StoreUnavailable, "damaged"),
    "a page missing": (cut_at_a_page, StoreUnavailable, "damaged"),
    "of a newer program": (newer, SchemaTooNew, "upgrade memstrata"),
    "rows missing": (unsound, StoreUnavailable, "damaged, and nothing was restored"),
    "another program's": (another_programs, StoreUnavailable, "another program"),
    "a folder": (a_folder, StoreUnavailable, "is a folder"),
    "a text": (lambda each: each.write_text("x" * 9_999), StoreUnavailable, "not a memstrata"),
    "empty": (lambda each: each.write_bytes(b""), StoreUnavailable, "is empty"),
    "missing": (lambda each: each.unlink(), StoreUnavailable, "is not there"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("there", [True, False], ids=["a store there", "none there"])
def test_what_is_no_sound_backup_replaces_nothing(
    path: Path, backup: Path, case: str, there: bool
) -> None:
    make, error, words = WRONG[case]
    make(backup)
    before = backup.read_bytes() if backup.is_file() else None
    if there:
        filled(path, 3).close()
    with pytest.raises(error, match=words) as caught:
        memstrata.restore(backup, path, force=True)
    assert backup.name in str(caught.value) and ".part" not in str(caught.value)
    assert (backup.read_bytes() if backup.is_file() else None) == before
    assert only(path.parent, *(["backup.db"] if backup.exists() else []))
    if there:
        assert len(told(path)) == 3
    else:
        assert not path.exists()


def test_a_place_where_it_cannot_be(path: Path, backup: Path) -> None:
    with pytest.raises(InvalidInput, match="the store itself"):
        memstrata.restore(backup, backup, force=True)
    with pytest.raises(StoreUnavailable, match="is a folder"):
        memstrata.restore(backup, path.parent, force=True)
    with pytest.raises(StoreUnavailable, match="create the folder first"):
        memstrata.restore(backup, path.parent / "no" / "memory.db")
    with pytest.raises(InvalidInput, match="gone when it is closed"):
        memstrata.restore(backup, ":memory:")
    for wrong in ("", 5, None, "a\0b"):
        with pytest.raises(InvalidInput, match="backup"):
            memstrata.restore(wrong, path)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="force"):
        memstrata.restore(backup, path, force=1)  # type: ignore[arg-type]
    assert only(path.parent, "backup.db") and len(told(backup)) == 30


def test_a_copy_with_its_journal_is_restored_with_it(path: Path) -> None:
    """As `cp memory.db memory.db-wal` makes it while nobody writes."""
    with filled(path, 7):
        for side in ("", "-wal"):
            shutil.copy(f"{path}{side}", path.with_name(f"copy.db{side}"))
    restored = path.with_name("restored.db")
    assert memstrata.restore(path.with_name("copy.db"), restored).messages == 7
    assert len(told(restored)) == 7


@pytest.mark.parametrize("room", [0, 20_000, 100_000])
def test_a_full_disk(path: Path, backup: Path, disk: FaultyDisk, room: int) -> None:
    filled(path, 3).close()
    disk.room = room
    with pytest.raises(StoreUnavailable, match="disk is full"):
        memstrata.restore(backup, path, force=True, vfs=disk.name)
    assert only(path.parent, "backup.db")
    assert len(told(path)) == 3
    disk.heal()
    memstrata.restore(backup, path, force=True, vfs=disk.name)
    assert len(told(path)) == 30


def test_any_write_or_read_may_fail(path: Path, backup: Path, disk: FaultyDisk) -> None:
    filled(path, 3).close()
    disk.fail(*WRITES, "read", after=10**9)
    memstrata.restore(backup, path.with_name("first.db"), vfs=disk.name)
    total = disk.operations
    assert total > 60
    for after in range(0, total, 11):
        disk.fail(*WRITES, "read", after=after)
        with pytest.raises(StoreUnavailable, match="disk failed"):
            memstrata.restore(backup, path, force=True, vfs=disk.name)
        disk.heal()
        assert only(path.parent, "backup.db", "first.db")
    assert len(told(path)) == 3


@pytest.mark.parametrize(
    ("failpoint", "passing", "after"),
    [
        ("disk write", 0, 3),
        ("disk write", 60, 3),
        ("disk sync", 0, 3),
        ("before link", 0, 3),
        ("after link", 0, 3),
        ("before fsync", 0, 3),
        ("before replace", 0, 3),
        ("after replace", 0, 30),
        ("before fsync", 1, 30),
    ],
)
def test_killed_it_leaves_the_old_store_or_the_new(
    path: Path, backup: Path, failpoint: str, passing: int, after: int
) -> None:
    """Whole in either case, and the same command run again goes as if nothing had been."""
    filled(path, 3).close()
    assert killed("restore", failpoint, passing, backup, path)
    assert len(told(path)) == after
    for each in path.parent.glob("*.replaced-*"):
        assert len(told(each)) == 3
        each.unlink()
    assert len(told(backup)) == 30
    memstrata.restore(backup, path, force=True)
    assert len(told(path)) == 30 and len(told(aside(path))) == after
