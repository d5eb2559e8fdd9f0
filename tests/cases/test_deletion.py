"""Forgetting: all of it, nothing else, and no byte of it left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from cases.support import FOREVER, found, texts

import memstrata
from memstrata import Memory
from memstrata.errors import InvalidInput, ScopeRequired
from memstrata.models.fake import FakeEmbedder
from memstrata.store.sqlite import store


def test_r34_all_of_one_user_and_none_of_another(memory: Memory) -> None:
    """Deleting everything of a user took the first page of a hundred and reported success; in an
    earlier version it dropped everybody's (mem0ai/mem0 #6627, #4869, #3785)."""
    memory.add([f"crate {n}" for n in range(250)], user_id="ann")
    memory.add([f"basket {n}" for n in range(7)], user_id="bea")

    planned = memory.forget(everything=True, user_id="ann", dry_run=True)
    assert (planned.state, planned.messages) == ("dry_run", 250)
    assert memory.stats(user_id="ann")["messages"] == 250
    receipt = memory.forget(everything=True, user_id="ann")
    assert (receipt.state, receipt.messages, len(set(receipt.ids))) == ("done", 250, 250)
    assert memory.stats(user_id="ann")["messages"] == 0
    assert texts(memory.messages(user_id="ann")) == []
    assert found(memory.search("crate", user_id="ann", limit=FOREVER)) == []
    assert memory.stats(user_id="bea")["messages"] == 7
    assert len(memory.search("basket", user_id="bea")) == 7
    assert memory.verify() == []


@pytest.mark.parametrize(
    "selection",
    [
        {},
        {"ids": ["msg_x"], "everything": True},
        {"filters": {}},
        {"filters": {"or": []}},
        {"filters": {"and": [{}]}},
        {"filters": {"not": {}}},
        {"session_id": ""},
        {"session_id": "  "},
        {"everything": "no"},
        {"everything": 1},
        {"everything": True, "dry_run": "no"},
        {"ids": "msg_x"},
        {"ids": [""]},
        {"ids": [None]},
    ],
    ids=str,
)
def test_r34_what_to_delete_is_said_outright(memory: Memory, selection: dict[str, Any]) -> None:
    """A call that names nobody, nothing, or two things at once deletes nothing."""
    memory.add("crate 1", user_id="ann", session_id="s")
    with pytest.raises(ScopeRequired):
        memory.forget(everything=True)
    with pytest.raises(InvalidInput):
        memory.forget(user_id="ann", **selection)
    assert memory.stats(user_id="ann")["messages"] == 1


def test_r34_more_than_one_page_by_filter_and_by_session(memory: Memory) -> None:
    """The other ways of saying what goes have no page size either."""
    memory.add([f"crate {n}" for n in range(250)], user_id="ann", session_id="a", tags=["old"])
    memory.add([f"basket {n}" for n in range(250)], user_id="ann", session_id="b", tags=["new"])
    memory.add("jar 1", user_id="ann", session_id="c", tags=["new"])

    assert memory.forget(session_id="a", user_id="ann").messages == 250
    gone = memory.forget(filters={"tags": {"contains": "new"}}, user_id="ann")
    assert gone.messages == 251
    assert memory.stats(user_id="ann")["items"] == 0


SENTINEL = "zebrafinch7731"


def remember(memory: Memory, user: str) -> str:
    """Say the sentinel in every place that takes text, and everything that makes copies of it."""
    said = {
        "role": "user",
        "content": [
            {"type": "text", "text": f"The spare key is under {SENTINEL}. Is it? {SENTINEL}!"},
            {"type": "image_url", "image_url": {"url": f"https://x.example/{SENTINEL}"}},
        ],
        "name": f"Mo {SENTINEL}",
        "id": f"id-{SENTINEL}",
        "metadata": {SENTINEL: SENTINEL},
        "occurred_at": "2026-01-05T10:00:00Z",
    }
    long = {"role": "user", "content": f"{'filler words ' * 4_000} {SENTINEL}"}
    receipt = memory.add(
        [said, long],
        user_id=user,
        session_id=f"s-{SENTINEL}",
        tags=[SENTINEL],
    )
    record = {
        "kind": "semantic",
        "name": f"The key is under {SENTINEL}",
        "subject": SENTINEL,
        "tags": [SENTINEL],
        "metadata": {SENTINEL: 1},
        "path": SENTINEL,
        "evidence": [{"source_id": receipt.message_ids[0], "quote": f"under {SENTINEL}"}],
    }
    [record_id] = memory.create(record, user_id=user, reason=f"said {SENTINEL}").record_ids
    memory.update(record_id, details=f"once under {SENTINEL}", reason=SENTINEL, user_id=user)
    memory.update(record_id, details="moved", reason=SENTINEL, user_id=user)
    document = {"kind": "resource", "title": SENTINEL, "content": f"{'page ' * 9_000} {SENTINEL}"}
    memory.create(document, user_id=user)
    undone = memory.add(f"Undone: {SENTINEL}", user_id=user)
    memory.undo(undone.batch_id, user_id=user)
    return record_id


def left_in(path: Path) -> list[str]:
    """The store's files that hold the sentinel."""
    files = sorted(path.parent.glob(f"{path.name}*"))
    return [each.name for each in files if SENTINEL.encode() in each.read_bytes()]


SELECTIONS: dict[str, Callable[[Memory, str], dict[str, Any]]] = {
    "everything": lambda memory, record_id: {"everything": True},
    "filter": lambda memory, record_id: {"filters": {"id": {"exists": True}}},
    "ids": lambda memory, record_id: {
        "ids": [m.id for m in memory.messages(user_id="ann", hidden=True)]
        + [r.id for r in memory.list(user_id="ann")]
    },
}


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=list(SELECTIONS))
def test_r35_no_byte_of_what_is_forgotten_is_left(
    path: Path, selection: Callable[[Memory, str], dict[str, Any]]
) -> None:
    """Success was reported while the text was still recalled, and still in the file: in free
    pages, in the index and in the journal (MemTensor/MemOS #2331, mem0ai/mem0 #3245)."""
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        record_id = remember(memory, "ann")
        memory.add(["The kettle is blue.", "So is the door."], user_id="ann")
        kept = memory.messages(user_id="ann", filters={"name": None}).items[-2:]
        memory.add("The kettle is red.", user_id="bea")
        assert left_in(path) != []

        chosen = selection(memory, record_id)
        if "ids" in chosen:
            chosen["ids"] = [each for each in chosen["ids"] if each not in {m.id for m in kept}]
        receipt = memory.forget(user_id="ann", **chosen)
        assert receipt.state == "done" and receipt.records >= 2
        assert receipt.versions == receipt.records + 2
        assert left_in(path) == []

        assert SENTINEL not in str(memory.search(f"key under {SENTINEL}", user_id="ann", limit=100))
        assert SENTINEL not in str(memory.context(f"key under {SENTINEL}", user_id="ann"))
        assert SENTINEL not in str([memory.batches(user_id="ann"), memory.list(user_id="ann")])
        memory.dump(path.parent / "out.jsonl", user_id="ann")
        assert SENTINEL not in (path.parent / "out.jsonl").read_text(encoding="utf-8")
        assert texts(memory.messages(user_id="bea")) == ["The kettle is red."]
        assert memory.verify() == []
    assert left_in(path) == []


def test_r35_another_process_forgets_too(path: Path) -> None:
    """An index held elsewhere must not go on recalling what was forgotten here."""
    with (
        memstrata.open(path, embedder="none") as one,
        memstrata.open(path, embedder="none") as two,
    ):
        receipt = one.add([f"{SENTINEL} in the attic", "The kettle is blue."], user_id="ann")
        assert len(two.search(SENTINEL, user_id="ann")) == 1
        one.forget(ids=receipt.message_ids[:1], user_id="ann")
        assert found(two.search(SENTINEL, user_id="ann", method="bm25")) == []
        assert found(two.search("kettle", user_id="ann")) == ["The kettle is blue."]


def test_r35_a_reader_in_the_way_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another process still reads the past, the journal keeps it: the receipt says so, and
    the next call finishes the work."""
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    with memstrata.open(path, embedder="none") as memory:
        receipt = memory.add([f"{SENTINEL} in the attic", "The kettle is blue."], user_id="ann")
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN; SELECT count(*) FROM messages").fetchall()

        first = memory.forget(ids=receipt.message_ids[:1], user_id="ann")
        assert first.state == "pending" and first.messages == 1
        assert "reader" in (first.reason or "")
        assert found(memory.search(SENTINEL, user_id="ann", method="bm25")) == []

        reader.execute("COMMIT")
        reader.close()
        second = memory.forget(ids=receipt.message_ids[1:], user_id="ann")
        assert second.state == "done"
        assert left_in(path) == []
