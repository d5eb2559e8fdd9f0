"""Paths and files that are not a store, or not any more: said so, and left as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

import memstrata
from memstrata.errors import MemstrataError, SchemaTooNew, StoreUnavailable
from memstrata.store.sqlite.schema import latest_version

ANN: dict[str, Any] = {"user_id": "ann"}


def refused(path: Path) -> StoreUnavailable:
    """The error with which opening `path` is refused."""
    with pytest.raises(StoreUnavailable) as caught:
        memstrata.open(path, embedder="none").close()
    assert str(path) in str(caught.value)
    return caught.value


def test_a_folder_as_path(tmp_path: Path) -> None:
    assert "is a folder: give the path of a file" in str(refused(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"nowhere does not exist: create the folder"):
        memstrata.open(tmp_path / "nowhere" / "memory.db", embedder="none")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match="does not exist"):
        memstrata.open(tmp_path / "file" / "memory.db", embedder="none")


def other_program(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Reveille')")
    connection.close()


def other_program_in_wal_mode(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = wal; CREATE TABLE songs (title TEXT)").fetchall()
    connection.close()


def other_program_without_tables(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 7")
    connection.close()


def other_program_with_an_id(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA application_id = 77")
    connection.close()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "another program's database": other_program,
    "one in wal mode": other_program_in_wal_mode,
    "one that has no tables yet": other_program_without_tables,
    "one that only says whose it is": other_program_with_an_id,
    "a text": lambda path: path.write_text("Dear diary,\n" * 500, encoding="utf-8"),
    "a short text": lambda path: path.write_text("milk\n", encoding="utf-8"),
    "a picture": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20),
    "a header and nothing": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(4_080)),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=list(FOREIGN))
def test_a_file_of_another_program_is_left_alone(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    """Not a byte of it changes, and nothing is put beside it."""
    path = tmp_path / "memory.db"
    make(path)
    before = path.read_bytes()
    error = refused(path)
    assert any(advice in str(error) for advice in ("choose another path", "restore a backup"))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ahead", [1, 1_000])
def test_a_newer_schema_is_refused_untouched(tmp_path: Path, ahead: int) -> None:
    """An older program must not write into what it does not understand."""
    path = tmp_path / "memory.db"
    with memstrata.open(path, embedder="none") as memory:
        memory.add("The kettle is blue.", **ANN)
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", latest_version() + ahead)
    connection.close()
    before = path.read_bytes()

    error = refused(path)
    assert isinstance(error, SchemaTooNew)
    assert "newer memstrata" in str(error) and "upgrade" in str(error)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def filled(path: Path) -> bytes:
    """The bytes of a store with 500 messages."""
    with memstrata.open(path, embedder="none") as memory:
        memory.add([f"crate {n} {'word ' * 40}" for n in range(500)], infer=False, **ANN)
    return path.read_bytes()


def problems(path: Path) -> list[str]:
    """What opening and `verify` say is wrong with a file."""
    try:
        with memstrata.open(path, embedder="none") as memory:
            return memory.verify()
    except StoreUnavailable as error:
        return [str(error)]


@pytest.mark.parametrize("share", [0.0005, 0.05, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_file_is_noticed(tmp_path: Path, share: float) -> None:
    """A copy that broke off is never taken for the whole."""
    path = tmp_path / "memory.db"
    whole = filled(path)
    path.write_bytes(whole[: int(len(whole) * share)])
    assert problems(path) != []


def test_a_damaged_page_is_noticed(tmp_path: Path) -> None:
    """Pages full of other bytes, anywhere: `verify` names them, or the file is refused."""
    path = tmp_path / "memory.db"
    whole = filled(path)
    pages = len(whole) // 4_096
    for page in range(1, pages, max(1, pages // 12)):
        start = page * 4_096
        path.write_bytes(whole[:start] + b"\xa5" * 4_096 + whole[start + 4_096 :])
        assert problems(path) != [], page


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As made by `mktemp`, or left by a start that was killed."""
    path = tmp_path / "memory.db"
    path.touch()
    with memstrata.open(path, embedder="none") as memory:
        memory.add("The kettle is blue.", **ANN)
        assert memory.verify() == []


DAMAGE = {
    "a short term blob": "UPDATE items SET terms = substr(terms, 1, 7)",
    "a short header": "UPDATE items SET header = substr(header, 1, 79)",
    "an empty header": "UPDATE items SET header = x''",
    "a long header": "UPDATE items SET header = CAST(header || x'00' AS BLOB)",
    "a short vector": "UPDATE vectors SET vector = substr(vector, 1, 9)",
    "an empty vector": "UPDATE vectors SET vector = x''",
    "a vector of another model": "UPDATE vectors SET vector = CAST(vector || vector AS BLOB)",
    "lost vectors": "DELETE FROM vectors",
    "lost items": "DELETE FROM items",
    "lost messages": "DELETE FROM messages",
    "lost batches": "DELETE FROM batches",
    "lost versions": "DELETE FROM records WHERE version = 1",
    "a stamp that lags": "UPDATE scopes SET stamp = 0",
    "a counter that lags": "UPDATE store SET last_seq = 0",
    "items of nobody": "UPDATE items SET owner = owner + 100000",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_r40_a_damaged_index_is_noticed(tmp_path: Path, damage: str) -> None:
    """After a crash every search failed, or found nothing, and nothing said why
    (MemPalace/mempalace #357)."""
    path = tmp_path / "memory.db"
    with memstrata.open(path, embedder="fake") as memory:
        memory.add(["The kettle is blue.", "The door is red."], **ANN)
        [record] = memory.create({"kind": "semantic", "name": "Blue kettle"}, **ANN).record_ids
        memory.update(record, details="enamelled", **ANN)
        assert memory.verify() == []
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    connection.close()

    with memstrata.open(path, embedder="fake") as memory:
        named = memory.verify()
        assert named and all(problem.startswith(("ann: ", "the store")) for problem in named)
        assert not next(each for each in memory.doctor() if each["check"] == "store")["ok"]
        try:
            memory.search("kettle", **ANN)
        except MemstrataError as error:
            assert "damaged" in str(error) or "one model" in str(error)


def test_r40_lost_vectors_are_made_again_from_the_text(tmp_path: Path) -> None:
    """What was derived can be derived again: a dump of a store with a broken index is whole."""
    path = tmp_path / "memory.db"
    with memstrata.open(path, embedder="fake") as memory:
        memory.add(["The kettle is blue.", "The door is red."], **ANN)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE items SET terms = x'00', header = x''; DELETE FROM vectors")
    connection.close()

    with memstrata.open(path, embedder="fake") as broken:
        broken.dump(tmp_path / "out.jsonl")
    with memstrata.open(tmp_path / "again.db", embedder="fake") as memory:
        memory.load(tmp_path / "out.jsonl")
        for method in ("hybrid", "embedding", "bm25", "string_match"):
            hits = memory.search("kettle", method=method, **ANN)
            assert hits[0].text == "The kettle is blue.", method
        assert memory.verify() == []
