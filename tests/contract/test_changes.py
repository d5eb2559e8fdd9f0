"""`changes`: the log of a scope in order, followed by a cursor that stays good."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from contract.conftest import Open

from memstrata import AsyncMemory
from memstrata.records import Change

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}


async def followed(
    memory: AsyncMemory, cursor: str | None = None, **asked: Any
) -> AsyncIterator[Change]:
    """What comes after a place in the log, page by page."""
    while True:
        page = await memory.changes(cursor=cursor, **asked)
        assert len(page) <= asked.get("limit", 100)
        for change in page:
            cursor = change.cursor
            yield change
        if page.next is None:
            return
        assert page.next == cursor


async def fact(memory: AsyncMemory, name: str, **scope: Any) -> str:
    receipt = await memory.create({"kind": "semantic", "name": name}, **(scope or IVO))
    return receipt.record_ids[0]


async def test_everything_is_told_once_and_in_order(memory: AsyncMemory) -> None:
    kept = await fact(memory, "The mill has two wheels")
    gone = await fact(memory, "The mill is for sale")
    await memory.update(kept, name="The mill has three wheels", reason="counted", **IVO)
    retired = await memory.retire(gone, **IVO)
    await memory.undo(retired.batch_id, **IVO)
    told = [(each.op, each.target_id) async for each in followed(memory, **IVO)]
    assert told[:4] == [("create", kept), ("create", gone), ("update", kept), ("retire", gone)]
    assert [target for _, target in told[4:]] == [gone]
    for limit in range(1, 7):
        assert [(c.op, c.target_id) async for c in followed(memory, limit=limit, **IVO)] == told


async def test_the_last_cursor_brings_only_what_came_since(memory: AsyncMemory) -> None:
    await fact(memory, "The mill has two wheels")
    (seen,) = [each.cursor async for each in followed(memory, **IVO)]
    assert (await memory.changes(cursor=seen, **IVO)).items == []
    later = await fact(memory, "The mill is for sale")
    assert [c.target_id async for c in followed(memory, seen, **IVO)] == [later]


async def test_a_cursor_stays_good_when_what_it_stood_at_is_erased(memory: AsyncMemory) -> None:
    await fact(memory, "The mill has two wheels")
    doomed = await fact(memory, "The miller owes the baker")
    seen = (await memory.changes(**IVO)).items[-1].cursor
    await memory.forget(ids=[doomed], **IVO)
    later = await fact(memory, "The mill is for sale")
    assert [c.target_id async for c in followed(memory, seen, **IVO)] == [later]
    assert doomed not in str(await memory.changes(**IVO))


async def test_it_says_what_was_changed_and_not_what_it_says(memory: AsyncMemory) -> None:
    record = await fact(memory, "The miller owes the baker")
    (change,) = await memory.changes(**IVO)
    assert change.before is None and change.after is None
    assert (change.version_before, change.version_after) == (None, 1)
    assert "baker" not in change.model_dump_json()
    assert (await memory.history(record, **IVO))[0].id == change.id


async def test_an_agent_sees_its_own_and_what_is_shared_and_nobody_else_does(
    memory: AsyncMemory,
) -> None:
    shared = await fact(memory, "The mill has two wheels")
    own = await fact(memory, "Ivo likes rye", user_id="ivo", agent_id="cook")
    again = await fact(memory, "The mill is for sale")
    cook = [c.target_id async for c in followed(memory, user_id="ivo", agent_id="cook", limit=1)]
    assert cook == [shared, own, again]
    assert [c.target_id async for c in followed(memory, **IVO)] == [shared, again]
    assert (await memory.changes(user_id="mira")).items == []
    assert (await memory.for_tenant("north").changes(**IVO)).items == []


async def test_what_is_loaded_is_in_the_log(open_store: Open, tmp_path: Any) -> None:
    one, other = await open_store("one"), await open_store("other")
    record = await fact(one, "The mill has two wheels")
    await one.dump(tmp_path / "dump.jsonl")
    await other.load(tmp_path / "dump.jsonl")
    assert [c.target_id async for c in followed(other, **IVO)] == [record]
