"""What stands between the cells of pages is zeroed, and what is looked for in files is found."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memstrata.store.sqlite.scrub import DatabaseFile, scrub
from memstrata.store.sqlite.store import SqliteBackend, open_backend
from memstrata.store.sqlite.traces import in_files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def backend(path: Path) -> Iterator[SqliteBackend]:
    with closing(open_backend(str(path))) as opened:
        yield opened


def fill(connection: apsw.Connection, count: int) -> list[str]:
    """Rows in no order, so that trees are balanced, of which half is deleted; what was in those."""
    dice = random.Random(5)
    names = [f"marked-{dice.getrandbits(64):016x}" for _ in range(count)]
    places = dice.sample(range(10**6), count)
    connection.execute("PRAGMA secure_delete = on").fetchall()
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE shelf (place INTEGER, name TEXT, PRIMARY KEY (name, place))")
    connection.execute("CREATE INDEX shelf_place ON shelf (place, name)")
    rows = [
        (place, name + "." * dice.randrange(300)) for place, name in zip(places, names, strict=True)
    ]
    connection.executemany("INSERT INTO shelf VALUES (?, ?)", rows)
    gone = set(dice.sample(range(count), count // 2))
    for number in gone:
        connection.execute("DELETE FROM shelf WHERE place = ?", (places[number],))
    connection.execute("COMMIT")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return [names[number] for number in gone]


def standing(path: Path, names: list[str]) -> set[bytes]:
    found = set(re.findall(rb"marked-[0-9a-f]{16}", path.read_bytes()))
    return found & {name.encode() for name in names}


@pytest.mark.parametrize("size", [512, 4096, 65536])
def test_no_copy_is_left_between_the_cells(path: Path, size: int) -> None:
    """SQLite leaves them there, `secure_delete` or not: without that this would not be needed."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA page_size = {size}; PRAGMA journal_mode = wal").fetchall()
    gone = fill(connection, 4000)
    kept = connection.execute("SELECT count(*), sum(place) FROM shelf").fetchall()
    connection.close()
    assert standing(path, gone)
    with closing(DatabaseFile(str(path), None, write=True)) as file:
        assert file.page_size == size
        assert scrub(file)
    assert not standing(path, gone)
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("SELECT count(*), sum(place) FROM shelf").fetchall() == kept
    connection.close()


def test_a_file_whose_pages_cannot_be_told_is_left_alone(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA auto_vacuum = full; PRAGMA journal_mode = wal").fetchall()
    fill(connection, 400)
    connection.close()
    before = path.read_bytes()
    with closing(DatabaseFile(str(path), None, write=True)) as file:
        assert not scrub(file)
    assert path.read_bytes() == before


def test_cleaning_waits_for_no_writer_in_between(
    backend: SqliteBackend, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that writes after the journal was emptied makes it begin anew."""
    other = apsw.Connection(str(path))
    plain = backend._scrub
    writes = iter(range(2))

    def scrubbed() -> bool:
        if next(writes, None) is not None:
            other.execute("UPDATE store SET last_seq = last_seq + 1")
        return plain()

    monkeypatch.setattr(backend, "_scrub", scrubbed)
    assert backend.clean()
    writes = iter(range(9))
    assert not backend.clean()
    other.close()


def test_a_page_that_another_process_holds_is_not_written_back(
    backend: SqliteBackend, path: Path
) -> None:
    gone = fill(backend._writer, 4000)
    other = apsw.Connection(str(path))
    other.execute("SELECT count(*), sum(length(name)) FROM shelf").fetchall()
    assert standing(path, gone)
    assert backend.clean()
    for connection in (other, backend._writer):
        connection.execute("UPDATE shelf SET name = name || 'x' WHERE place % 7 = 0")
    backend._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    other.close()
    assert not standing(path, gone)


LONG = b"It stands on two pages: " + b"the beginning on one of them, the end on the next of them."


@pytest.mark.parametrize("before", range(3990, 4110, 10))
def test_what_goes_on_on_another_page_is_found(path: Path, before: int) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE shelf (name TEXT)")
    text = "." * before + LONG.decode() + "." * 4000
    connection.execute("INSERT INTO shelf VALUES (?)", (text,))
    connection.close()
    (trace,) = in_files(str(path), None, [LONG, b"never said"])
    assert trace.needle == LONG
    assert "store.db" in trace.where


def test_what_stands_on_the_seam_of_two_readings_is_found(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE shelf (name TEXT)")
    rows = ((f"{number:09}" + "." * 90,) for number in range(15_000))
    with connection:
        connection.executemany("INSERT INTO shelf VALUES (?)", rows)
    connection.close()
    data = path.read_bytes()
    seam = 1 << 20
    needle = data[seam - 3000 : seam + 3000]
    (trace,) = in_files(str(path), None, [needle, b"never said"])
    assert trace.where == f"the database file (store.db, byte {seam - 3000})"
