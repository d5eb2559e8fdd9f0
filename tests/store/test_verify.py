"""`verify`: each invariant, broken by hand in an otherwise sound store, is named with its ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memstrata
from memstrata import Memory
from memstrata.models.fake import FakeEmbedder
from memstrata.store.items import GONE
from memstrata.store.tombstones import mark

ANN: dict[str, Any] = {"user_id": "ann"}
KEY = "41" * 32
SECRET = "tulip-Harbour-93"
TOKEN = f"ghp_{'Zq81' * 9}"


def filled(path: Path | str, embedder: Any) -> Memory:
    """A store in which everything has happened that the verbs can do."""
    memory = memstrata.open(path, embedder=embedder, vault_key=KEY)
    said = [
        "My name is Ann Weber. I live in Lisbon and I work for Northwind.",
        {"role": "assistant", "content": "Noted, Ann."},
        {"role": "user", "content": "一月我搬到了上海。" + "我喜欢喝茶。" * 300},
    ]
    memory.add(said, session_id="s1", **ANN)
    memory.add("I moved from Lisbon to Porto in May 2025.", session_id="s1", **ANN)
    undone = memory.add("I own a red boat.", session_id="s2", **ANN)
    memory.undo(undone.batch_id, **ANN)
    memory.add("stored and not read", infer=False, idempotency_key="k", **ANN)
    forgotten = memory.add("I am allergic to walnuts. Bea Lind knows.", session_id="s3", **ANN)
    [fact] = memory.create(
        {"kind": "semantic", "name": "The shed is green", "valid_from": "2024-01-01"}, **ANN
    ).record_ids
    memory.update(fact, name="The shed is blue", valid_from="2025-01-01", **ANN)
    [kept] = memory.create({"kind": "procedural", "summary": "Raise the sail"}, **ANN).record_ids
    memory.update(kept, summary="Raise the main sail", **ANN)
    memory.undo(memory.update(kept, summary="Sink", **ANN).batch_id, **ANN)
    memory.retire(kept, **ANN)
    [entry] = memory.vault.put(SECRET, caption="Harbour gate", **ANN).record_ids
    memory.vault.rotate(entry, f"{SECRET}!", **ANN)
    memory.add(f"The token for the weather service is {TOKEN}", session_id="s4", **ANN)
    memory.forget(ids=forgotten.message_ids, **ANN)
    memory.add("A word of the cook's.", agent_id="cook", **ANN)
    return memory


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of such a store."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with filled(path, FakeEmbedder(dimensions=32, max_tokens=64)) as memory:
        assert memory.verify() == []
    return path


@pytest.fixture
def memory(sound: Path, tmp_path: Path) -> Iterator[Memory]:
    """One of its own for each test."""
    path = tmp_path / "memory.db"
    path.write_bytes(sound.read_bytes())
    embedder = FakeEmbedder(dimensions=32, max_tokens=64)
    with memstrata.open(path, embedder=embedder, vault_key=KEY) as memory:
        yield memory


def sql(memory: Memory, statement: str, *values: object) -> list[Any]:
    """Do to the file what no verb does."""
    backend: Any = memory.aio._runtime.store._backend
    return backend._writer.execute(statement, values).fetchall()


def test_everything_that_the_verbs_do_is_sound(memory: Memory, tmp_path: Path) -> None:
    """Distilled, undone, forgotten, superseded, sealed, rotated; and the same once loaded."""
    assert memory.verify() == []
    assert sql(memory, "SELECT count(*) FROM secrets") >= [(2,)]
    assert sql(memory, "SELECT count(*) FROM tombstones")[0][0] > 0
    assert sql(memory, "SELECT count(*) FROM records WHERE superseded_by IS NOT NULL")[0][0] > 0
    assert sql(memory, "SELECT count(*) FROM messages WHERE hidden_at IS NOT NULL") == [(1,)]
    memory.dump(tmp_path / "dump.jsonl")
    with memstrata.open(tmp_path / "other.db", embedder="none", vault_key=KEY) as other:
        other.load(tmp_path / "dump.jsonl")
        assert other.verify() == []
        assert other.load(tmp_path / "dump.jsonl") == 0
        assert other.verify() == []


ONE = "(SELECT min(id) FROM records WHERE kind = 'procedural')"
SHED = "(SELECT supersedes FROM records WHERE supersedes IS NOT NULL AND closed_at IS NULL)"
BREAKS: dict[str, str] = {
    "items of nothing that is there": "DELETE FROM messages WHERE seq = 1",
    "batches of whose messages some are missing": "DELETE FROM items WHERE owner = 1;"
    "DELETE FROM vectors WHERE seq = 1; DELETE FROM mentions WHERE owner = 1;"
    "DELETE FROM messages WHERE seq = 1",
    "evidence from messages that are gone": "DELETE FROM messages",
    "evidence of records that are gone": "DELETE FROM records WHERE kind = 'semantic'",
    "costs of batches that are gone": "DELETE FROM batches",
    "messages of an episode that is gone": "DELETE FROM episodes",
    "episodes without messages": "UPDATE messages SET episode = NULL",
    "mentions of what is gone": "DELETE FROM entities",
    "spellings of an entity that is gone": "DELETE FROM entities",
    "messages that cannot be found because": "DELETE FROM items WHERE owner = 1",
    "record versions without an index entry": "DELETE FROM items WHERE owner IN "
    "(SELECT seq FROM records)",
    "episodes without an index entry": "DELETE FROM items WHERE seq IN (SELECT seq FROM episodes)",
    "entities without an index entry": "DELETE FROM items WHERE seq IN (SELECT seq FROM entities)",
    "themes without an index entry": "DELETE FROM items WHERE seq IN (SELECT seq FROM themes)",
    "members of a theme that is gone": "DELETE FROM themes WHERE level = 0",
    "members of themes that are gone themselves": "UPDATE theme_members SET record_id = 'sem_0' "
    "WHERE record_id = (SELECT min(record_id) FROM theme_members)",
    "themes that count other members": "UPDATE themes SET size = size + 1",
    "themes under one that is gone": "DELETE FROM themes WHERE level = 1",
    "vectors without an item": "DELETE FROM items WHERE owner = 1",
    "items said to have a vector that have none": "DELETE FROM vectors",
    "damaged index entries": "UPDATE items SET header = x'00' WHERE owner = 1",
    "damaged vectors": "UPDATE vectors SET vector = x'00'",
    "messages of a batch that is not noted": "DELETE FROM batches",
    "changes of a batch that is not noted": "DELETE FROM batches",
    "records with a gap between": f"DELETE FROM records WHERE id = {ONE} AND version = 2",
    "records with more than one open": "DROP INDEX records_open; DROP INDEX records_created;"
    f"UPDATE records SET closed_at = NULL WHERE id = {ONE}",
    "record versions that stand though": "UPDATE records SET closed_at = 0 WHERE closed_at IS NULL;"
    f"UPDATE records SET closed_at = NULL WHERE id = {ONE} AND version = 1",
    "closed after the next began": f"UPDATE records SET closed_at = closed_at + 1 WHERE id = {ONE}",
    "records whose successor is gone": "DELETE FROM records WHERE supersedes IS NOT NULL",
    "records that took the place of one that is gone": f"DELETE FROM records WHERE id = {SHED}",
    "records whose successor names nothing that it": "UPDATE records SET supersedes = NULL",
    "records that took the place of one that names another": "UPDATE records "
    f"SET superseded_by = {ONE} WHERE superseded_by IS NOT NULL",
    "cover them": "UPDATE items SET stop = stop - 1 WHERE owner = 1",
    "other words than their text": "UPDATE items SET terms = x'00112233445566770100' "
    "WHERE owner = 1",
    "say other than their row": "UPDATE records SET lifecycle = 'retired'",
    "items newer than their scope says": "UPDATE scopes SET stamp = 0",
    "items that the store has not counted": "UPDATE store SET last_seq = 1",
    "that somebody still works on": "UPDATE batches SET lease_owner = 'x'",
    "though they are running": "UPDATE batches SET state = 'running'",
    "that wait though they are finished": "UPDATE batches SET state = 'pending'",
    "done and were never distilled": "UPDATE batches SET distilled = 0;"
    "UPDATE messages SET episode = NULL",
    "distilled and are in no episode": "UPDATE messages SET episode = NULL WHERE seq = 1",
    "episodes of a batch that is not distilled": "UPDATE batches SET distilled = 0",
    "vectors of erased items": "INSERT INTO vectors SELECT scope, 1, seq, zeroblob(64) FROM items "
    "WHERE model = -1",
    "erased items of which something is left": "UPDATE items SET terms = zeroblob(10) "
    "WHERE model = -1",
    "erased items of something that is there": "UPDATE items SET model = -1 WHERE owner = 1",
    "secrets without an entry": "DELETE FROM records WHERE kind = 'vault'",
    "entries of the vault without their secret": "DELETE FROM secrets",
    "messages that name an entry of the vault": "DELETE FROM records WHERE kind = 'vault'",
}


@pytest.mark.parametrize("problem", sorted(BREAKS))
def test_what_is_broken_is_named(memory: Memory, problem: str) -> None:
    """By the user whose memory it is, with at most three ids, and in no word of the text."""
    for statement in BREAKS[problem].split(";"):
        sql(memory, statement)
    found = memory.verify(**ANN)
    lines = [line for line in found if problem in line]
    assert lines, found
    for line in found:
        head, _, ids = line.partition(" (")
        assert head.startswith("ann: ") and head.split()[1].isdecimal(), line
        assert 1 <= len(ids.rstrip(")").removesuffix(", …").split(", ")) <= 3, line
        assert not any(word in line for word in ("Lisbon", "The shed", "tulip", "Weber")), line


def test_headers_of_the_erased_are_blank(memory: Memory) -> None:
    [(header,)] = sql(memory, "SELECT header FROM items WHERE owner = 1 LIMIT 1")
    sql(memory, "UPDATE items SET header = ? WHERE model = -1", header)
    assert any("erased items of which something is left" in line for line in memory.verify())
    sql(memory, "UPDATE items SET header = ? WHERE model = -1", GONE)
    assert memory.verify() == []


@pytest.mark.parametrize(
    ("where", "query"),
    [
        ("messages", "SELECT id FROM messages WHERE seq = 1"),
        ("records", f"SELECT {ONE}"),
        ("changes", "SELECT target_id FROM changes LIMIT 1"),
        ("evidence", "SELECT source_id FROM evidence LIMIT 1"),
        ("secrets", "SELECT record_id FROM secrets LIMIT 1"),
        ("themes", "SELECT record_id FROM theme_members LIMIT 1"),
    ],
)
def test_what_was_erased_and_is_there_is_named(memory: Memory, where: str, query: str) -> None:
    [(gone,)] = sql(memory, query)
    [(scope, salt)] = sql(memory, "SELECT scope, salt FROM tombstones LIMIT 1")
    sql(
        memory,
        "INSERT INTO tombstones (scope, salt, what, mark, at) VALUES (?, ?, 'id', ?, 0)",
        *(scope, salt, mark(bytes(salt), "id", gone)),
    )
    [line] = [line for line in memory.verify() if f" {where} of something that was erased" in line]
    assert gone in line


def test_a_pointer_to_something_erased_is_sound(memory: Memory) -> None:
    """A message keeps the place of a secret of which nothing else is left."""
    [(content, entry)] = sql(
        memory,
        "SELECT m.content, r.id FROM messages m, records r WHERE r.kind = 'vault' "
        "AND instr(m.content, '[vault:' || r.id) > 0 LIMIT 1",
    )
    assert TOKEN not in content
    memory.forget(ids=[entry], **ANN)
    assert memory.verify() == []
