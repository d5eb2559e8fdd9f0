"""Each kind's own rule for change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memstrata import AsyncMemory, Conflict, InvalidInput, Record

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
HOME = {
    "kind": "semantic",
    "name": "Ivo lives in Varna",
    "subject": "Ivo",
    "attribute": "lives in",
    "value": "Varna",
    "valid_from": "2020-01-01T00:00:00Z",
}
MOVED = {"name": "Ivo lives in Plovdiv", "value": "Plovdiv"}
JUNE = datetime(2026, 6, 1, tzinfo=UTC)


async def made(memory: AsyncMemory, given: dict[str, Any]) -> str:
    (record_id,) = (await memory.create(given, **IVO)).record_ids
    return record_id


async def record(memory: AsyncMemory, record_id: str) -> Record:
    found = await memory.get(record_id, **IVO)
    assert isinstance(found, Record)
    return found


async def values(memory: AsyncMemory, query: str = "where does Ivo live", **when: Any) -> list[str]:
    hits = await memory.search(query, kinds=["semantic"], **when, **IVO)
    return [str(hit.record.fields["value"]) for hit in hits if hit.record]


async def test_a_change_of_the_world_ends_the_old_fact(memory: AsyncMemory, clock: Any) -> None:
    old_id = await made(memory, HOME)
    clock.now = datetime(2026, 7, 1, tzinfo=UTC)
    receipt = await memory.update(old_id, **MOVED, valid_from=JUNE, **IVO)
    assert [change.op for change in receipt.changes] == ["end", "supersede"]
    old = await record(memory, old_id)
    (new_id,) = set(receipt.record_ids) - {old_id}
    new = await record(memory, new_id)
    assert (old.lifecycle, old.valid_to, old.superseded_by) == ("past", JUNE, new_id)
    assert (new.lifecycle, new.valid_from, new.supersedes) == ("current", JUNE, old_id)
    assert old.fields["value"] == "Varna"
    assert new.version == 1


async def test_now_and_then_after_a_change(memory: AsyncMemory, clock: Any) -> None:
    """R02: the present has the new fact, a date before it the old one."""
    old_id = await made(memory, HOME)
    learned_old = clock.now
    clock.now = datetime(2026, 7, 1, tzinfo=UTC)
    await memory.update(old_id, **MOVED, valid_from=JUNE, **IVO)
    assert await values(memory) == ["Plovdiv"]
    assert await values(memory, as_of=datetime(2026, 5, 31, tzinfo=UTC)) == ["Varna"]
    assert await values(memory, as_of=JUNE) == ["Plovdiv"]
    assert await values(memory, as_of=datetime(2019, 1, 1, tzinfo=UTC)) == []
    assert await values(memory, known_at=learned_old) == ["Varna"]
    assert await values(memory, known_at=clock.now) == ["Plovdiv"]


async def test_a_change_announced_for_later_holds_later(memory: AsyncMemory, clock: Any) -> None:
    """Until the day comes, the old fact is what is true."""
    old_id = await made(memory, HOME)
    assert clock.now < JUNE
    await memory.update(old_id, **MOVED, valid_from=JUNE, **IVO)
    assert await values(memory) == ["Varna"]
    assert await values(memory, as_of=clock.now) == ["Varna"]
    assert await values(memory, as_of=datetime(2026, 6, 2, tzinfo=UTC)) == ["Plovdiv"]
    clock.now = JUNE
    assert await values(memory) == ["Plovdiv"]


async def test_a_correction_never_was_true(memory: AsyncMemory, clock: Any) -> None:
    record_id = await made(memory, HOME)
    believed = clock.now
    clock.advance(days=1)
    receipt = await memory.update(record_id, **MOVED, **IVO)
    assert [change.op for change in receipt.changes] == ["update"]
    new = await record(memory, record_id)
    assert (new.version, new.lifecycle, new.supersedes) == (2, "current", None)
    assert await values(memory) == ["Plovdiv"]
    assert await values(memory, as_of=datetime(2021, 1, 1, tzinfo=UTC)) == ["Plovdiv"]
    assert await values(memory, known_at=believed) == ["Varna"]


async def test_a_date_alone_is_a_correction_of_the_date(memory: AsyncMemory) -> None:
    record_id = await made(memory, HOME)
    receipt = await memory.update(record_id, valid_from="2019-01-01T00:00:00Z", **IVO)
    assert [change.op for change in receipt.changes] == ["update"]
    assert (await record(memory, record_id)).valid_from == datetime(2019, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "changes",
    [
        {**MOVED, "valid_from": None},
        {"name": HOME["name"], "value": HOME["value"], "valid_from": JUNE},
    ],
    ids=["no-date", "nothing-new-said"],
)
async def test_what_is_no_change_of_the_world(memory: AsyncMemory, changes: dict[str, Any]) -> None:
    record_id = await made(memory, HOME)
    receipt = await memory.update(record_id, **changes, **IVO)
    assert [change.op for change in receipt.changes] == ["update"]
    assert len(await memory.list(**IVO)) == 1


async def test_a_chain_of_changes(memory: AsyncMemory, clock: Any) -> None:
    first = await made(memory, HOME)
    clock.now = datetime(2026, 9, 1, tzinfo=UTC)
    moved = await memory.update(first, **MOVED, valid_from=JUNE, **IVO)
    (second,) = set(moved.record_ids) - {first}
    again = {"name": "Ivo lives in Ruse", "value": "Ruse", "valid_from": "2026-08-01T00:00:00Z"}
    await memory.update(second, **again, **IVO)
    assert await values(memory) == ["Ruse"]
    assert await values(memory, as_of=datetime(2026, 7, 1, tzinfo=UTC)) == ["Plovdiv"]
    assert await values(memory, as_of=datetime(2026, 5, 1, tzinfo=UTC)) == ["Varna"]
    assert [r.lifecycle for r in await memory.list(**IVO)] == ["past", "past", "current"]


async def test_a_fact_that_has_a_successor_cannot_get_another(
    memory: AsyncMemory, clock: Any
) -> None:
    first = await made(memory, HOME)
    clock.now = datetime(2026, 9, 1, tzinfo=UTC)
    moved = await memory.update(first, **MOVED, valid_from=JUNE, **IVO)
    (second,) = set(moved.record_ids) - {first}
    again = {"name": "Ivo lives in Ruse", "value": "Ruse", "valid_from": "2026-08-01T00:00:00Z"}
    with pytest.raises(Conflict, match=second):
        await memory.update(first, **again, **IVO)
    assert await values(memory) == ["Plovdiv"]


@pytest.mark.parametrize("bound", ["valid_to", "expires_at"])
async def test_what_is_over_can_be_stated_again(
    memory: AsyncMemory, clock: Any, bound: str
) -> None:
    over = await made(memory, {**HOME, bound: "2026-06-01T00:00:00Z"})
    clock.now = datetime(2026, 7, 1, tzinfo=UTC)
    assert await values(memory) == []
    assert await made(memory, HOME) != over
    assert await values(memory) == ["Varna"]


async def test_the_opposite_statement_is_another_fact(memory: AsyncMemory) -> None:
    first = await made(memory, HOME)
    denied = {**HOME, "name": "Ivo does not live in Varna", "polarity": False}
    assert await made(memory, denied) != first


async def test_a_statement_that_stands_in_other_words_is_a_conflict(memory: AsyncMemory) -> None:
    """Neither wording is dropped in silence."""
    first = await made(memory, HOME)
    with pytest.raises(Conflict, match=first):
        await memory.create({**HOME, "name": "Varna is Ivo's home town"}, **IVO)
    assert len(await memory.list(**IVO)) == 1


async def test_the_same_statement_in_other_letters_is_the_same_fact(memory: AsyncMemory) -> None:
    first = await made(memory, HOME)
    assert await made(memory, {**HOME, "subject": "IVO", "value": "VARNA"}) == first


async def test_one_core_block_per_label(memory: AsyncMemory) -> None:
    first = await made(memory, {"kind": "core", "label": "human", "value": "Ivo keeps bees."})
    other = await made(memory, {"kind": "core", "label": "persona", "value": "I am kind."})
    with pytest.raises(Conflict, match=first):
        await memory.create({"kind": "core", "label": "Human", "value": "Ivo keeps hens."}, **IVO)
    with pytest.raises(Conflict, match=first):
        await memory.update(other, label="human", **IVO)
    labels = sorted(str(record.fields["label"]) for record in await memory.list(**IVO))
    assert labels == ["human", "persona"]


async def test_each_scope_has_its_own_core_blocks(memory: AsyncMemory) -> None:
    block = {"kind": "core", "label": "human", "value": "Keeps bees."}
    await memory.create(block, user_id="ivo")
    await memory.create({**block, "value": "Keeps hens."}, user_id="mira")
    await memory.create({**block, "value": "Keeps goats."}, user_id="ivo", agent_id="vet")
    assert [r.text for r in await memory.list(user_id="ivo", agent_id="vet")] == [
        "Keeps bees.",
        "Keeps goats.",
    ]


async def test_a_core_block_holds_its_limit(memory: AsyncMemory) -> None:
    record_id = await made(memory, {"kind": "core", "label": "human", "value": "x", "limit": 10})
    await memory.update(record_id, value="x" * 10, **IVO)
    with pytest.raises(InvalidInput, match="at most 10 characters and got 11"):
        await memory.update(record_id, value="x" * 11, **IVO)
    with pytest.raises(InvalidInput, match="at most 5"):
        await memory.update(record_id, limit=5, **IVO)
    await memory.update(record_id, value="x" * 11, limit=11, **IVO)
    assert (await record(memory, record_id)).text == "x" * 11


async def test_events_do_not_replace_each_other(memory: AsyncMemory) -> None:
    event = {"kind": "episodic", "summary": "Ran around the lake"}
    days = ["2026-04-01T08:00:00Z", "2026-04-02T08:00:00Z"]
    ids = [await made(memory, {**event, "occurred_at": day}) for day in days]
    assert [r.id for r in await memory.list(**IVO)] == ids
    assert [r.lifecycle for r in await memory.list(**IVO)] == ["current", "current"]


async def test_a_plan_is_done_by_an_update(memory: AsyncMemory) -> None:
    plan = {"kind": "episodic", "event_type": "plan", "summary": "See the dentist"}
    record_id = await made(memory, {**plan, "due": "2026-06-01T09:00:00Z"})
    await memory.update(record_id, done=True, **IVO)
    done = await record(memory, record_id)
    assert (done.version, done.fields["done"], done.lifecycle) == (2, True, "current")


async def test_a_document_is_the_same_by_its_content(memory: AsyncMemory) -> None:
    manual = {"kind": "resource", "title": "Pump manual", "content": "Never run it dry."}
    record_id = await made(memory, manual)
    assert await made(memory, {**manual, "content": "Never run it dry. Ever."}) != record_id
    assert await made(memory, {**manual, "title": "Other title"}) != record_id
    assert len(await memory.list(**IVO)) == 3


async def test_a_document_is_replaced_by_its_new_content(memory: AsyncMemory) -> None:
    manual = {"kind": "resource", "title": "Pump manual", "content": "Never run it dry."}
    record_id = await made(memory, manual)
    await memory.update(record_id, content="Oil it weekly.", **IVO)
    assert len(await memory.search("dry", kinds=["resource"], method="bm25", **IVO)) == 0
    (hit,) = await memory.search("oil", kinds=["resource"], method="bm25", **IVO)
    assert hit.id == record_id


async def test_a_procedure_has_versions(memory: AsyncMemory) -> None:
    guide = {"kind": "procedural", "summary": "Start the pump"}
    record_id = await made(memory, {**guide, "steps": [{"instruction": "Open the valve"}]})
    steps = [
        {"instruction": "Open the valve", "expected": "a hiss"},
        {"instruction": "Press the button", "condition": "the hiss stops"},
    ]
    await memory.update(record_id, steps=steps, **IVO)
    new = await record(memory, record_id)
    assert new.text.splitlines() == [
        "Start the pump",
        "1. Open the valve → a hiss",
        "2. if the hiss stops: Press the button",
    ]
    before = (await memory.history(record_id, **IVO))[1].before
    assert before is not None
    assert before.text.splitlines() == ["Start the pump", "1. Open the valve"]


async def test_a_fact_that_ended_keeps_its_successor_when_it_ends_sooner(
    memory: AsyncMemory,
) -> None:
    """What arrives late shortens a fact that another followed; that chain stays a chain."""
    for text, when in (
        ("I live in Porto.", "2026-04-02T09:00:00Z"),
        ("I moved to Faro in May 2025.", "2026-05-02T09:00:00Z"),
        ("I live in Shanghai.", "2026-04-02T09:00:00Z"),
    ):
        await memory.add(text, session_id=when, occurred_at=when, user_id="ann")
    facts = {r.fields.get("value"): r for r in await memory.list(kinds=["semantic"], user_id="ann")}
    porto, faro, now = facts["Porto"], facts["Faro"], facts["Shanghai"]
    assert (porto.superseded_by, faro.supersedes) == (faro.id, porto.id)
    assert (faro.superseded_by, now.supersedes) == (now.id, faro.id)
    assert now.lifecycle == "current"
    assert await memory.verify() == []
