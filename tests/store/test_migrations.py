"""Schema and migrations: fresh equals migrated, a killed step leaves nothing, old stores open."""

from __future__ import annotations

import gzip
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import apsw
import pytest
from fixtures.make_fixture import LOGBOOK, MESSAGES, RECORDS, model, path_of

import memstrata
from memstrata import Memory, SchemaTooNew, StoreUnavailable
from memstrata.store.sqlite import schema
from memstrata.store.sqlite.store import open_backend

IVO: dict[str, Any] = {"user_id": "ivo"}
REAL = dict(schema.migrations())


def structure(connection: apsw.Connection) -> dict[tuple[str, str], str]:
    """Every table and index, as it is defined."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {
        (str(kind), str(name)): re.sub(r"\s+", " ", str(sql)).strip() for kind, name, sql in rows
    }


def structure_of(path: Path) -> dict[tuple[str, str], str]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return structure(connection)
    finally:
        connection.close()


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return int(str(connection.pragma("user_version")))
    finally:
        connection.close()


@pytest.fixture
def fresh() -> dict[tuple[str, str], str]:
    """The structure that `schema.sql` describes."""
    connection = apsw.Connection(":memory:")
    sql = resources.files("memstrata.store.sqlite").joinpath("schema.sql").read_text("utf-8")
    connection.execute(sql)
    return structure(connection)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A file of the present version with one message in it."""
    path = tmp_path / "memory.db"
    with memstrata.open(path, embedder="none") as memory:
        memory.add("The kettle is blue.", **IVO)
    return path


def pretend(monkeypatch: pytest.MonkeyPatch, more: Mapping[int, str]) -> None:
    """Let the program know further steps."""
    monkeypatch.setattr(schema, "migrations", lambda: dict(sorted({**REAL, **more}.items())))


def contents(path: Path) -> list[str]:
    with memstrata.open(path, embedder="none") as memory:
        assert memory.verify() == []
        return [message.content for message in memory.messages(**IVO)]


# ── the schema ───────────────────────────────────────────────────────────────────────────────


def test_steps_are_numbered_without_a_gap() -> None:
    assert list(REAL) == list(range(1, len(REAL) + 1))
    assert schema.latest_version() == len(REAL)


@pytest.mark.parametrize("start", range(len(REAL)))
def test_fresh_and_migrated_are_the_same(
    tmp_path: Path, fresh: dict[tuple[str, str], str], start: int
) -> None:
    """Whatever version the file is of when it is opened."""
    path = tmp_path / "memory.db"
    connection = apsw.Connection(str(path))
    for number in range(1, start + 1):
        connection.execute(REAL[number])
        connection.pragma("user_version", number)
    if start:
        connection.pragma("application_id", schema.APPLICATION_ID)
    connection.close()
    open_backend(str(path)).close()
    assert structure_of(path) == fresh


def test_every_table_is_strict_and_keyed_by_scope(fresh: dict[tuple[str, str], str]) -> None:
    """Another scope's row can then neither be met nor overwritten by an equal id."""
    tables = {name: sql for (kind, name), sql in fresh.items() if kind == "table"}
    own_keys = {"store", "models", "tenants", "users", "scopes", "vault", "audit", "api_keys"}
    assert own_keys < set(tables)
    for name, sql in tables.items():
        assert "STRICT" in sql.rsplit(")", 1)[1], name
        if name not in own_keys:
            assert re.search(r"PRIMARY KEY \(scope,", sql), name
    for (kind, name), sql in fresh.items():
        if kind == "index" and "CREATE" in sql:
            # The audit log and keys outlive scopes, and are a tenant's.
            assert re.search(r" ON (?:\w+ \(scope,|(?:audit|api_keys) \(tenant,)", sql), name


def test_the_header_says_whose_file_it_is(store: Path) -> None:
    head = store.read_bytes()[:100]
    assert head[68:72] == b"mems"
    assert int.from_bytes(head[60:64], "big") == schema.latest_version()
    connection = apsw.Connection(str(store))
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


# ── steps to come ────────────────────────────────────────────────────────────────────────────

NEXT = len(REAL) + 1
STEP = "ALTER TABLE users ADD COLUMN colour TEXT; UPDATE users SET colour = 'blue';"


def columns(path: Path) -> str:
    return structure_of(path)["table", "users"]


def test_a_file_is_brought_up_to_date_when_it_is_opened(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(
        monkeypatch,
        {NEXT: STEP, NEXT + 1: "CREATE TABLE extra (x) STRICT".replace("x)", "x TEXT)")},
    )
    assert contents(store) == ["The kettle is blue."]
    assert version_of(store) == NEXT + 1
    assert "colour" in columns(store)
    assert ("table", "extra") in structure_of(store)


@pytest.mark.parametrize(
    "bad",
    [
        STEP + "INSERT INTO nowhere VALUES (1);",
        STEP + "this is no SQL",
        "DELETE FROM messages;" + STEP + "SELECT contains_fold('x', 'no json');",
    ],
)
def test_a_step_that_fails_leaves_the_file_as_it_was(
    store: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    with monkeypatch.context() as patch:
        pretend(patch, {NEXT: bad})
        with pytest.raises(StoreUnavailable, match=re.escape(str(store))):
            memstrata.open(store, embedder="none")
    assert version_of(store) == NEXT - 1
    assert "colour" not in columns(store)
    assert contents(store) == ["The kettle is blue."]


def test_steps_before_a_failing_one_stay_and_it_goes_on_from_there(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        pretend(patch, {NEXT: STEP, NEXT + 1: "no SQL"})
        with pytest.raises(StoreUnavailable):
            memstrata.open(store, embedder="none")
    assert version_of(store) == NEXT
    pretend(monkeypatch, {NEXT: "no SQL either", NEXT + 1: "CREATE TABLE extra (x TEXT) STRICT"})
    assert contents(store) == ["The kettle is blue."]
    assert version_of(store) == NEXT + 1


KILLED = textwrap.dedent("""
    import os, signal, sys
    from memstrata.store.sqlite import schema, store

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    store._contains_fold = die
    known = dict(schema.migrations())
    schema.migrations = lambda: {**known, int(sys.argv[2]): sys.argv[3]}
    store.open_backend(sys.argv[1])
""")


@pytest.mark.parametrize("existing", [True, False], ids=["old file", "new file"])
def test_a_killed_step_is_taken_again_from_its_start(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    """R42: what the step had done is gone, what was there before is not."""
    path = store if existing else tmp_path / "new.db"
    step = f"{STEP} DELETE FROM messages; SELECT contains_fold('x', '[]');"
    child = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(NEXT), step], check=False, timeout=60
    )
    assert child.returncode == -signal.SIGKILL
    pretend(monkeypatch, {NEXT: STEP})
    assert contents(path) == (["The kettle is blue."] if existing else [])
    assert version_of(path) == NEXT
    assert columns(path).count("colour") == 1


def test_what_a_newer_program_wrote_is_refused_untouched(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        pretend(patch, {NEXT: STEP})
        contents(store)
    before = store.read_bytes()
    with pytest.raises(SchemaTooNew, match=f"schema {NEXT}, this one knows {NEXT - 1}"):
        memstrata.open(store, embedder="none")
    assert store.read_bytes() == before
    assert [path.name for path in store.parent.iterdir()] == [store.name]


def test_two_programs_upgrade_one_file_at_once(store: Path) -> None:
    """Each step is taken once, whoever comes first."""
    code = KILLED.replace("def die(*_):", "def die(*_): return 0\n\ndef unused():")
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(store), str(NEXT), STEP])
        for _ in range(3)
    ]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    assert version_of(store) == NEXT
    assert columns(store).count("colour") == 1


# ── stores of every version ──────────────────────────────────────────────────────────────────


def unpacked(version: int, folder: Path) -> Path:
    path = folder / f"version_{version}.db"
    path.write_bytes(gzip.decompress(path_of(version).read_bytes()))
    return path


@pytest.fixture(params=sorted(REAL))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A store as each version wrote it."""
    return unpacked(request.param, tmp_path)


def test_every_version_has_its_store_and_it_is_small() -> None:
    for version in REAL:
        assert path_of(version).stat().st_size < 50_000


def test_an_old_store_is_brought_up_to_date(old: Path, fresh: dict[tuple[str, str], str]) -> None:
    """If this fails for the newest version: its first step was changed after it had written."""
    open_backend(str(old)).close()
    assert structure_of(old) == fresh
    assert version_of(old) == schema.latest_version()


def test_an_old_store_has_what_was_written(old: Path) -> None:
    """R42: the same number and content of memories afterwards."""
    with memstrata.open(old, embedder=model()) as memory:
        assert memory.verify() == []
        assert {m.content for m in memory.messages(**IVO)} == set(MESSAGES)
        everything = ["current", "past", "review", "retired"]
        records = memory.list(lifecycles=everything, **IVO)
        assert {(r.kind, r.title, r.lifecycle) for r in records} >= RECORDS
        assert len(memory.messages(hidden=True, **IVO)) == len(MESSAGES) + 1
        assert len(memory.messages(user_id="ivo", agent_id="cook")) == len(MESSAGES) + 1
        (logbook,) = memory.list(kinds=["resource"], **IVO)
        assert logbook.fields["content"] == LOGBOOK
        assert "+03:00" in str(memory.context("when do I sail?", **IVO))


@pytest.mark.parametrize("method", ["bm25", "string_match", "embedding", "hybrid"])
def test_an_old_store_is_searched(old: Path, method: Any) -> None:
    with memstrata.open(old, embedder=model()) as memory:
        hits = memory.search("lighthouse", method=method, **IVO)
        assert "lighthouse" in hits[0].text
        assert memory.search("测试", method=method, **IVO)[0].text == MESSAGES[1]
        past = memory.search("boat", kinds=["semantic"], as_of="2026-05-04T00:00:00Z", **IVO)
        assert [hit.text for hit in past if "boat" in hit.text] == ["The boat is green"]


def test_an_old_store_goes_on(old: Path) -> None:
    """What was sent is known, what was changed can be taken back, and more can be added."""
    with memstrata.open(old, embedder=model()) as memory:
        again = memory.add({"content": MESSAGES[0], "id": "m-1"}, session_id="s1", **IVO)
        assert again.skipped
        boat = _boat(memory)
        log = memory.history(boat, **IVO)
        assert [change.op for change in log] == ["supersede"]
        memory.undo(log[0].batch_id, **IVO)
        titles = [record.title for record in memory.list(kinds=["semantic"], **IVO)]
        assert [title for title in titles if "boat" in title] == ["The boat is green"]
        memory.add("The boat is sold", **IVO)
        assert memory.search("sold", **IVO)[0].text == "The boat is sold"
        assert memory.verify() == []


def _boat(memory: Memory) -> str:
    (current,) = memory.list(filters={"title": "The boat is blue"}, **IVO)
    return current.id
