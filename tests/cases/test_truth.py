"""Duplicates and edits: what is said again is not stored again, what is not edited stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cases.support import found, set_clock, texts

from memstrata import Memory
from memstrata.records import Record

FERRY = "The ferry to Ostholm leaves at 06:15."
DAY = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)


def test_r03_the_same_text_again_is_one_message(memory: Memory) -> None:
    """Adding a text that was there already removed the stored copy (mem0ai/mem0 #1674)."""
    first = memory.add(FERRY, user_id="ottilie")
    before = memory.stats(user_id="ottilie")
    again = [memory.add(FERRY, user_id="ottilie") for _ in range(2)]
    twice = memory.add([FERRY, FERRY], user_id="ottilie")

    assert [receipt.message_ids for receipt in [*again, twice]] == [first.message_ids] * 3
    assert all(receipt.skipped[0].id == first.message_ids[0] for receipt in again)
    assert texts(memory.messages(user_id="ottilie")) == [FERRY]
    assert found(memory.search("when does the ferry leave?", user_id="ottilie")) == [FERRY]
    after = memory.stats(user_id="ottilie")
    assert (after["items"], after["records"]) == (before["items"], before["records"])


def test_r03_one_call_and_many_calls_leave_the_same(memory: Memory) -> None:
    """Two equal items in one call made two facts, a call each made one (getzep/graphiti #1872)."""
    timed = {"role": "user", "content": FERRY, "occurred_at": DAY.isoformat(), "name": "Ottilie"}
    for session in (None, "pier"):
        at_once, one_by_one = f"once-{session}", f"each-{session}"
        memory.add([timed, timed], user_id=at_once, session_id=session)
        memory.add(timed, user_id=one_by_one, session_id=session)
        memory.add(timed, user_id=one_by_one, session_id=session)
        assert texts(memory.messages(user_id=at_once)) == [FERRY], session
        assert texts(memory.messages(user_id=one_by_one)) == [FERRY], session


def test_r03_what_was_taken_back_can_be_said_again(memory: Memory) -> None:
    """The other half of the case: a copy that is hidden must not swallow the new one."""
    first = memory.add(FERRY, user_id="ottilie")
    memory.undo(first.batch_id, user_id="ottilie")
    assert texts(memory.messages(user_id="ottilie")) == []

    second = memory.add(FERRY, user_id="ottilie")
    assert second.message_ids != first.message_ids
    assert texts(memory.messages(user_id="ottilie")) == [FERRY]
    assert found(memory.search("ferry", user_id="ottilie")) == [FERRY]


def test_r03_the_same_record_again_keeps_both_sources(memory: Memory) -> None:
    """A duplicate adds its source to the record that stands, whose id it gets back."""
    said = memory.add([FERRY, "Ostholm ferry: quarter past six, still."], user_id="ottilie")
    fact = {"kind": "semantic", "name": "The Ostholm ferry leaves at 06:15"}
    receipts = [
        memory.create({**fact, "evidence": [source]}, user_id="ottilie")
        for source in (*said.message_ids, said.message_ids[0])
    ]

    assert {tuple(receipt.record_ids) for receipt in receipts} == {tuple(receipts[0].record_ids)}
    [record] = memory.list(user_id="ottilie")
    assert [item.source_id for item in record.evidence] == said.message_ids
    assert record.version == 1


def record_of(memory: Memory, record_id: str, scope: dict[str, Any]) -> Record:
    """The record as it is now."""
    found = memory.get(record_id, **scope)
    assert isinstance(found, Record)
    return found


def test_r36_an_edit_leaves_what_it_does_not_name(memory: Memory) -> None:
    """Editing a memory's text wiped the metadata its owner had put there (mem0ai/mem0 #5160)."""
    set_clock(memory, DAY)
    said = memory.add("The boiler man comes on the ninth.", user_id="ottilie", agent_id="porter")
    [record_id] = memory.create(
        {
            "kind": "semantic",
            "name": "The boiler is serviced on the ninth",
            "details": "Ring twice, the bell is faint.",
            "metadata": {"room": "cellar", "urgency": 4, "seen_by": ["mo", "li"]},
            "tags": ["house", "heating"],
            "path": "home/heating",
            "occurred_at": "2026-04-09T10:00:00+02:00",
            "confidence": 0.8,
            "trust": "agent",
            "evidence": said.message_ids,
        },
        user_id="ottilie",
        agent_id="porter",
    ).record_ids
    scope: dict[str, Any] = {"user_id": "ottilie", "agent_id": "porter"}
    old = record_of(memory, record_id, scope)

    set_clock(memory, DAY + timedelta(hours=1))
    memory.update(record_id, name="The boiler is serviced on the tenth", **scope)
    renamed = record_of(memory, record_id, scope)
    changed = {"version", "title", "text", "fields", "recorded_at", "fingerprint", "batch_id"}
    assert renamed.model_dump(exclude=changed) == old.model_dump(exclude=changed)
    assert renamed.fields == {**old.fields, "name": "The boiler is serviced on the tenth"}
    assert renamed.recorded_at == DAY + timedelta(hours=1) and renamed.created_at == DAY

    set_clock(memory, DAY + timedelta(hours=2))
    memory.update(record_id, metadata={"urgency": 1}, **scope)
    calmer = record_of(memory, record_id, scope)
    changed = {"version", "metadata", "recorded_at", "batch_id"}
    assert calmer.model_dump(exclude=changed) == renamed.model_dump(exclude=changed)
    assert calmer.metadata == {"room": "cellar", "urgency": 1, "seen_by": ["mo", "li"]}
    assert calmer.recorded_at == DAY + timedelta(hours=2)
