"""Whose a thing is, for surfaces that are given an id alone."""

from __future__ import annotations

import pytest

from memstrata import AsyncMemory, NotFound
from memstrata.records import Scope

pytestmark = pytest.mark.anyio


async def test_an_id_leads_to_its_scope(memory: AsyncMemory) -> None:
    said = await memory.add("I live in Porto.", user_id="ana")
    note = await memory.add("asks twice", user_id="ana", agent_id="cook", infer=False)
    own = await memory.create({"kind": "semantic", "name": "salt is in the jar"}, agent_id="cook")
    shared, hers, its = (
        Scope(user_id="ana"),
        Scope(user_id="ana", agent_id="cook"),
        Scope(agent_id="cook"),
    )
    for ids, scope in (
        ([*said.record_ids, *said.message_ids, said.batch_id], shared),
        ([*note.message_ids, note.batch_id], hers),
        ([*own.record_ids, own.batch_id], its),
    ):
        assert [await memory.owners.of(id) for id in ids] == [scope] * len(ids)


async def test_no_id_of_another_tenant_or_of_nothing(memory: AsyncMemory) -> None:
    said = await memory.add("I live in Porto.", user_id="ana")
    north = memory.for_tenant("north")
    for id in (*said.message_ids, *said.record_ids, said.batch_id):
        with pytest.raises(NotFound, match="is here"):
            await north.owners.of(id)
    for id in ("msg_none", "x" * 600, "a') OR 1=1 --"):
        with pytest.raises(NotFound):
            await memory.owners.of(id)
    await memory.forget(ids=said.message_ids, user_id="ana")
    with pytest.raises(NotFound):
        await memory.owners.of(said.message_ids[0])


async def test_only_what_a_binding_reaches(memory: AsyncMemory) -> None:
    (ana,) = (await memory.add("of Ana", user_id="ana", infer=False)).message_ids
    (bo,) = (await memory.add("of Bo", user_id="bo", infer=False)).message_ids
    (cook,) = (await memory.add("by cook", user_id="ana", agent_id="cook", infer=False)).message_ids
    (maid,) = (await memory.add("by maid", user_id="ana", agent_id="maid", infer=False)).message_ids
    for bound, reached in (
        ({"user_id": "ana"}, {ana, cook, maid}),
        ({"agent_id": "cook"}, {ana, bo, cook}),
        ({"user_id": "ana", "agent_id": "cook"}, {ana, cook}),
    ):
        handle = memory.scoped(**bound)
        found = {id for id in (ana, bo, cook, maid) if await _reaches(handle, id)}
        assert found == reached
    assert await memory.owners.agents("ana") == ["cook", "maid"]
    assert await memory.scoped(agent_id="cook").owners.agents("ana") == ["cook"]
    assert await memory.scoped(user_id="bo").owners.agents("ana") == []


async def _reaches(memory: AsyncMemory, id: str) -> bool:
    try:
        await memory.owners.of(id)
    except NotFound:
        return False
    return True


async def test_what_rests_on_a_message(memory: AsyncMemory) -> None:
    said = await memory.add("I live in Porto.", user_id="ana")
    bare = await memory.add("Nice!", user_id="ana", infer=False)
    ids = [*said.message_ids, *bare.message_ids]
    resting = await memory.owners.resting(ids, "ana", None)
    assert {key: {each.id for each in records} for key, records in resting.items()} == {
        said.message_ids[0]: set(said.record_ids)
    }
    assert await memory.owners.resting(ids, "bo", None) == {}
    await memory.forget(ids=said.record_ids, user_id="ana")
    assert await memory.owners.resting(ids, "ana", None) == {}
