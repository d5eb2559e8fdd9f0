"""`undo`: exactly what it was before, however it was written; honest about what builds on it."""

from __future__ import annotations

from typing import Any

import pytest

from memstrata import AsyncMemory, Conflict, InvalidInput, NotFound, Record

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
FACT = {"kind": "semantic", "name": "The boat is green"}
JUNE = "2026-06-01T00:00:00Z"


async def made(memory: AsyncMemory, given: dict[str, Any] | None = None) -> tuple[str, str]:
    """The id of a new record, and of the batch that made it."""
    receipt = await memory.create(given or FACT, **IVO)
    return receipt.record_ids[0], receipt.batch_id


async def record(memory: AsyncMemory, record_id: str) -> Record:
    found = await memory.get(record_id, **IVO)
    assert isinstance(found, Record)
    return found


def told(record: Record) -> dict[str, Any]:
    """What a record says, without which version says it."""
    return record.model_dump(exclude={"version", "recorded_at", "closed_at", "batch_id"})


async def visible(memory: AsyncMemory) -> tuple[list[str], list[str], set[str]]:
    """What listings and a search show."""
    return (
        [m.content for m in await memory.messages(**IVO)],
        [r.title for r in await memory.list(**IVO)],
        {hit.text for hit in await memory.search("boat", method="string_match", **IVO)},
    )


async def test_of_a_create(memory: AsyncMemory) -> None:
    record_id, batch = await made(memory)
    receipt = await memory.undo(batch, actor="mira", **IVO)
    assert receipt.state == "done"
    assert [(c.op, c.target_id, c.actor) for c in receipt.changes] == [("undo", record_id, "mira")]
    assert await visible(memory) == ([], [], set())
    with pytest.raises(NotFound):
        await memory.get(record_id, **IVO)
    assert [c.op for c in await memory.history(record_id, **IVO)] == ["create", "undo"]
    assert await memory.verify() == []


async def test_of_an_update(memory: AsyncMemory) -> None:
    record_id, _ = await made(memory, {**FACT, "tags": ["a"], "metadata": {"k": 1}})
    before = await record(memory, record_id)
    update = await memory.update(record_id, name="The boat is blue", tags=["b"], **IVO)
    await memory.undo(update.batch_id, **IVO)
    after = await record(memory, record_id)
    assert told(after) == told(before)
    assert after.version == 3
    assert await visible(memory) == ([], ["The boat is green"], {"The boat is green"})


async def test_of_a_retirement(memory: AsyncMemory) -> None:
    record_id, _ = await made(memory)
    before = await record(memory, record_id)
    retired = await memory.retire(record_id, **IVO)
    await memory.undo(retired.batch_id, **IVO)
    assert told(await record(memory, record_id)) == told(before)
    assert (await visible(memory))[1] == ["The boat is green"]


async def test_of_a_change_of_the_world(memory: AsyncMemory, clock: Any) -> None:
    clock.advance(days=60)
    record_id, _ = await made(memory)
    before = await record(memory, record_id)
    change = await memory.update(record_id, name="The boat is blue", valid_from=JUNE, **IVO)
    assert (await visible(memory))[2] == {"The boat is blue"}
    await memory.undo(change.batch_id, **IVO)
    assert told(await record(memory, record_id)) == told(before)
    assert await visible(memory) == ([], ["The boat is green"], {"The boat is green"})


async def test_of_an_add_hides_its_messages(memory: AsyncMemory) -> None:
    kept = await memory.add("my boat is here", **IVO)
    gone = await memory.add("my boat is away", **IVO)
    await memory.undo(gone.batch_id, **IVO)
    assert await visible(memory) == (["my boat is here"], [], {"my boat is here"})
    assert "away" not in str(await memory.context("boat", **IVO))
    everything = await memory.messages(hidden=True, **IVO)
    assert [bool(m.hidden_at) for m in everything] == [False, True]
    states = {b.id: b.state for b in await memory.batches(**IVO)}
    assert (states[kept.batch_id], states[gone.batch_id]) == ("done", "undone")
    stats = await memory.stats(**IVO)
    assert (stats["messages"], stats["hidden_messages"]) == (1, 1)


async def test_hidden_messages_speak_for_no_neighbour(memory: AsyncMemory) -> None:
    """Nor do they count in anybody's statistics."""
    alone = await memory.add("the garden is dry", session_id="s1", **IVO)
    before = await memory.search("garden boat", **IVO)
    added = await memory.add("a boat boat boat", session_id="s1", **IVO)
    await memory.undo(added.batch_id, **IVO)
    after = await memory.search("garden boat", **IVO)
    assert [(h.id, h.signals) for h in before] == [(h.id, h.signals) for h in after]
    assert [h.id for h in after] == alone.message_ids


async def test_of_added_evidence(memory: AsyncMemory) -> None:
    record_id, _ = await made(memory, {**FACT, "evidence": ["msg_1"]})
    again = await memory.create({**FACT, "evidence": ["msg_2", "msg_3"]}, **IVO)
    await memory.undo(again.batch_id, **IVO)
    assert [e.source_id for e in (await record(memory, record_id)).evidence] == ["msg_1"]


async def test_of_added_evidence_keeps_what_was_there_before(memory: AsyncMemory) -> None:
    quoted = {"source_id": "msg_1", "quote": "as I said"}
    record_id, _ = await made(memory, {**FACT, "evidence": [quoted]})
    again = await memory.create({**FACT, "evidence": ["msg_1", "msg_2"]}, **IVO)
    await memory.undo(again.batch_id, **IVO)
    (evidence,) = (await record(memory, record_id)).evidence
    assert (evidence.source_id, evidence.quote) == ("msg_1", "as I said")


async def test_of_an_updates_evidence(memory: AsyncMemory) -> None:
    record_id, _ = await made(memory, {**FACT, "evidence": ["msg_1"]})
    update = await memory.update(
        record_id, name="The boat is blue", evidence=["msg_1", "msg_2"], **IVO
    )
    assert len((await record(memory, record_id)).evidence) == 2
    await memory.undo(update.batch_id, **IVO)
    assert [e.source_id for e in (await record(memory, record_id)).evidence] == ["msg_1"]


@pytest.mark.parametrize("verb", ["create", "update", "retire", "supersede", "add", "evidence"])
async def test_of_an_undo_is_what_it_was(memory: AsyncMemory, clock: Any, verb: str) -> None:
    clock.advance(days=60)
    record_id, batch = await made(memory, {**FACT, "evidence": ["msg_1"]})
    if verb == "update":
        batch = (await memory.update(record_id, name="The boat is blue", **IVO)).batch_id
    elif verb == "retire":
        batch = (await memory.retire(record_id, **IVO)).batch_id
    elif verb == "supersede":
        new = {"name": "The boat is blue", "valid_from": JUNE}
        batch = (await memory.update(record_id, **new, **IVO)).batch_id
    elif verb == "add":
        batch = (await memory.add("my boat is here", **IVO)).batch_id
    elif verb == "evidence":
        batch = (await memory.create({**FACT, "evidence": ["msg_2"]}, **IVO)).batch_id
    before = await visible(memory)
    records = [told(r) for r in await memory.list(**IVO)]
    first = await memory.undo(batch, **IVO)
    second = await memory.undo(first.batch_id, **IVO)
    assert await visible(memory) == before
    assert [told(r) for r in await memory.list(**IVO)] == records
    third = await memory.undo(second.batch_id, **IVO)
    assert third.state == "done"
    assert await memory.verify() == []


async def test_of_one_change_of_a_batch(memory: AsyncMemory, clock: Any) -> None:
    clock.advance(days=60)
    record_id, _ = await made(memory)
    change = await memory.update(record_id, name="The boat is blue", valid_from=JUNE, **IVO)
    (ended,) = [c for c in change.changes if c.op == "end"]
    await memory.undo(ended.id, **IVO)
    assert {r.lifecycle for r in await memory.list(**IVO)} == {"current"}
    assert len(await memory.list(**IVO)) == 2


async def test_twice_is_a_conflict(memory: AsyncMemory) -> None:
    _, batch = await made(memory)
    await memory.undo(batch, **IVO)
    with pytest.raises(Conflict):
        await memory.undo(batch, **IVO)
    said = await memory.add("my boat is here", **IVO)
    await memory.undo(said.batch_id, **IVO)
    with pytest.raises(Conflict, match="undone already"):
        await memory.undo(said.batch_id, **IVO)


async def test_a_conflict_names_what_was_changed_since(memory: AsyncMemory) -> None:
    record_id, batch = await made(memory)
    later = await memory.update(record_id, name="The boat is blue", **IVO)
    with pytest.raises(Conflict, match=later.changes[0].id) as caught:
        await memory.undo(batch, **IVO)
    assert "cascade=True" in str(caught.value)
    assert (await visible(memory))[1] == ["The boat is blue"]
    assert len(await memory.history(record_id, **IVO)) == 2


async def test_an_update_in_between_is_a_conflict(memory: AsyncMemory) -> None:
    record_id, _ = await made(memory)
    blue = await memory.update(record_id, name="The boat is blue", **IVO)
    red = await memory.update(record_id, name="The boat is red", **IVO)
    with pytest.raises(Conflict, match=red.changes[0].id):
        await memory.undo(blue.batch_id, **IVO)
    await memory.undo(red.batch_id, **IVO)
    await memory.undo(blue.batch_id, **IVO)
    assert (await visible(memory))[1] == ["The boat is green"]


async def test_a_change_of_the_world_that_was_changed_again_is_a_conflict(
    memory: AsyncMemory, clock: Any
) -> None:
    clock.advance(days=120)
    record_id, _ = await made(memory)
    first = await memory.update(record_id, name="The boat is blue", valid_from=JUNE, **IVO)
    (blue,) = set(first.record_ids) - {record_id}
    await memory.update(blue, name="The boat is red", valid_from="2026-07-01T00:00:00Z", **IVO)
    with pytest.raises(Conflict, match=blue):
        await memory.undo(first.batch_id, **IVO)
    assert (await visible(memory))[2] == {"The boat is red"}


async def test_cascade_takes_later_changes_back_too(memory: AsyncMemory) -> None:
    record_id, batch = await made(memory)
    blue = await memory.update(record_id, name="The boat is blue", **IVO)
    await memory.update(record_id, name="The boat is red", **IVO)
    await memory.undo(blue.batch_id, cascade=True, **IVO)
    assert (await visible(memory))[1] == ["The boat is green"]
    await memory.undo(batch, cascade=True, **IVO)
    assert await visible(memory) == ([], [], set())
    assert await memory.verify() == []


async def test_cascade_takes_back_successors_of_successors(memory: AsyncMemory, clock: Any) -> None:
    clock.advance(days=120)
    record_id, _ = await made(memory)
    before = await record(memory, record_id)
    first = await memory.update(record_id, name="The boat is blue", valid_from=JUNE, **IVO)
    (blue,) = set(first.record_ids) - {record_id}
    await memory.update(blue, name="The boat is red", valid_from="2026-07-01T00:00:00Z", **IVO)
    await memory.undo(first.batch_id, cascade=True, **IVO)
    assert await visible(memory) == ([], ["The boat is green"], {"The boat is green"})
    assert told(await record(memory, record_id)) == told(before)
    assert await memory.verify() == []


async def test_what_a_later_record_stands_in_for_is_a_conflict(memory: AsyncMemory) -> None:
    """Undoing an undo may not make two of what there is one of."""
    block = {"kind": "core", "label": "human", "value": "Ivo keeps bees."}
    _, batch = await made(memory, block)
    undone = await memory.undo(batch, **IVO)
    other, _ = await made(memory, {**block, "value": "Ivo keeps hens."})
    with pytest.raises(Conflict, match=other):
        await memory.undo(undone.batch_id, **IVO)
    assert [r.id for r in await memory.list(**IVO)] == [other]


async def test_messages_that_were_said_again_since_are_a_conflict(memory: AsyncMemory) -> None:
    said = {"id": "m-1", "content": "my boat is here"}
    first = await memory.add(said, **IVO)
    undone = await memory.undo(first.batch_id, **IVO)
    again = await memory.add(said, **IVO)
    with pytest.raises(Conflict, match=again.message_ids[0]):
        await memory.undo(undone.batch_id, **IVO)
    assert [m.id for m in await memory.messages(**IVO)] == again.message_ids
    assert await memory.verify() == []


@pytest.mark.parametrize("wrong", ["batch_unknown", "chg_unknown"])
async def test_an_unknown_batch_does_not_exist(memory: AsyncMemory, wrong: str) -> None:
    with pytest.raises(NotFound, match=wrong):
        await memory.undo(wrong, **IVO)
    with pytest.raises(InvalidInput):
        await memory.undo("", **IVO)


async def test_somebody_elses_batch_does_not_exist(memory: AsyncMemory) -> None:
    record_id, batch = await made(memory)
    change = (await memory.history(record_id, **IVO))[0].id
    own = await memory.create(FACT, user_id="ivo", agent_id="cook")
    for target in (batch, change):
        with pytest.raises(NotFound, match=target):
            await memory.undo(target, user_id="mira")
    with pytest.raises(NotFound):
        await memory.undo(own.batch_id, **IVO)
    await memory.undo(own.batch_id, user_id="ivo", agent_id="cook")
    assert len(await memory.list(user_id="ivo", agent_id="cook")) == 1


async def test_an_agent_may_undo_what_is_shared(memory: AsyncMemory) -> None:
    _, batch = await made(memory)
    await memory.undo(batch, agent_id="cook", **IVO)
    assert len(await memory.list(**IVO)) == 0


async def test_nothing_to_take_back_is_a_conflict(memory: AsyncMemory) -> None:
    record_id, _ = await made(memory)
    nothing = await memory.update(record_id, name="The boat is green", **IVO)
    with pytest.raises(Conflict, match="nothing"):
        await memory.undo(nothing.batch_id, **IVO)


async def test_erasure_cannot_be_undone(memory: AsyncMemory) -> None:
    record_id, batch = await made(memory)
    update = await memory.update(record_id, name="The boat is blue", **IVO)
    await memory.forget(ids=[record_id], **IVO)
    for target in (batch, update.batch_id):
        with pytest.raises(Conflict):
            await memory.undo(target, **IVO)
    assert await visible(memory) == ([], [], set())


async def test_of_a_failed_add(memory: AsyncMemory, embedder: Any) -> None:
    embedder.fail_next()
    failed = await memory.add("my boat is here", **IVO)
    assert failed.state == "failed"
    undone = await memory.undo(failed.batch_id, **IVO)
    assert (await visible(memory))[0] == []
    await memory.undo(undone.batch_id, **IVO)
    assert (await visible(memory))[0] == ["my boat is here"]
    assert (await memory.stats(**IVO))["items_without_vector"] == 0


async def test_of_an_add_that_failed_and_of_that_waits_to_be_distilled(
    memory: AsyncMemory, embedder: Any
) -> None:
    embedder.fail_next()
    failed = await memory.add("I live in Porto.", **IVO)
    assert failed.state == "failed"
    undone = await memory.undo(failed.batch_id, **IVO)
    await memory.undo(undone.batch_id, **IVO)
    assert (await memory.wait_for(failed.batch_id, **IVO)).state == "done"
    assert [r.fields.get("value") for r in (await memory.list(**IVO)).items] == ["Porto"]
    assert await memory.verify() == []


async def test_of_evidence_and_of_that_gives_the_quote_back(memory: AsyncMemory) -> None:
    receipt = await memory.add("I live in Porto.", **IVO)
    [fact] = [r for r in (await memory.list(**IVO)).items if r.fields.get("value") == "Porto"]
    assert fact.evidence[0].quote == "I live in Porto."
    again = await memory.add("I live in Porto!", session_id="later", **IVO)
    before = (await record(memory, fact.id)).evidence
    assert [source.quote for source in before] == ["I live in Porto.", "I live in Porto!"]
    undone = await memory.undo(again.batch_id, **IVO)
    assert len((await record(memory, fact.id)).evidence) == 1
    await memory.undo(undone.batch_id, **IVO)
    assert (await record(memory, fact.id)).evidence == before
    assert receipt.state == "done"


async def test_of_an_add_whose_fact_others_have_said_since_is_a_conflict(
    memory: AsyncMemory,
) -> None:
    first = await memory.add("I live in Porto.", **IVO)
    [fact] = [r for r in (await memory.list(**IVO)).items if r.fields.get("value") == "Porto"]
    second = await memory.add("I live in Porto!", session_id="later", **IVO)
    with pytest.raises(Conflict, match=second.batch_id):
        await memory.undo(first.batch_id, **IVO)
    assert [source.source_id for source in (await record(memory, fact.id)).evidence] == [
        *first.message_ids,
        *second.message_ids,
    ]
    await memory.undo(first.batch_id, cascade=True, **IVO)
    assert (await memory.list(**IVO)).items == []
    assert [m.id for m in (await memory.messages(**IVO)).items] == second.message_ids


async def test_of_an_add_on_which_a_record_by_hand_rests_is_a_conflict(
    memory: AsyncMemory,
) -> None:
    said = await memory.add("the tent is grey", infer=False, **IVO)
    other = await memory.add("so is the boat", infer=False, **IVO)
    alone = {"kind": "semantic", "name": "tent", "evidence": said.message_ids}
    both = {"kind": "semantic", "name": "boat", "evidence": said.message_ids + other.message_ids}
    [tent] = (await memory.create(alone, **IVO)).record_ids
    [boat] = (await memory.create(both, **IVO)).record_ids
    with pytest.raises(Conflict, match=tent):
        await memory.undo(said.batch_id, **IVO)
    assert len((await memory.messages(**IVO)).items) == 2
    undone = await memory.undo(said.batch_id, cascade=True, **IVO)
    with pytest.raises(NotFound):
        await memory.get(tent, **IVO)
    assert [s.source_id for s in (await record(memory, boat)).evidence] == other.message_ids
    await memory.undo(undone.batch_id, **IVO)
    assert [s.source_id for s in (await record(memory, tent)).evidence] == said.message_ids
    assert len((await record(memory, boat)).evidence) == 2
    assert len((await memory.messages(**IVO)).items) == 2
