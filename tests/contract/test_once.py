"""`idempotency_key` of the verbs that write: sent again, a call does nothing more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from contract.conftest import Open

from memstrata import AsyncMemory, Conflict, Receipt

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
MILL = {"kind": "semantic", "name": "The mill has two wheels"}
Call = Callable[[AsyncMemory, str], Awaitable[Receipt]]


def once(key: str = "k1") -> dict[str, Any]:
    return {"idempotency_key": key, **IVO}


async def made(memory: AsyncMemory, **fields: Any) -> str:
    return (await memory.create({**MILL, **fields}, **IVO)).record_ids[0]


async def _update(memory: AsyncMemory, key: str) -> Receipt:
    (record,) = await memory.list(**IVO)
    return await memory.update(record.id, name="Three wheels", tags=["mill"], **once(key))


async def _retire(memory: AsyncMemory, key: str) -> Receipt:
    (record,) = await memory.list(lifecycles=["current", "retired"], **IVO)
    return await memory.retire(record.id, **once(key))


async def _undo(memory: AsyncMemory, key: str) -> Receipt:
    batch = (await memory.batches(**IVO)).items[-1]
    return await memory.undo(batch.id, **once(key))


async def _rotate(memory: AsyncMemory, key: str) -> Receipt:
    (entry,) = await memory.vault.list(**IVO)
    return await memory.vault.rotate(entry.id, "quince-41", **once(key))


async def _put(memory: AsyncMemory, key: str) -> Receipt:
    return await memory.vault.put("quince-40", caption="Gate", **once(key))


async def _create(memory: AsyncMemory, key: str) -> Receipt:
    return await memory.create({**MILL, "tags": ["mill"]}, **once(key))


async def _nothing(memory: AsyncMemory) -> None:
    pass


async def _record(memory: AsyncMemory) -> None:
    await made(memory)


async def _entry(memory: AsyncMemory) -> None:
    await memory.vault.put("quince-40", caption="Gate", **IVO)


CALLS: dict[str, tuple[Callable[[AsyncMemory], Awaitable[None]], Call]] = {
    "create": (_nothing, _create),
    "update": (_record, _update),
    "retire": (_record, _retire),
    "undo": (_record, _undo),
    "vault.put": (_nothing, _put),
    "vault.rotate": (_entry, _rotate),
}


@pytest.mark.parametrize("verb", CALLS)
async def test_sent_again_it_does_nothing_and_says_the_same(memory: AsyncMemory, verb: str) -> None:
    before, call = CALLS[verb]
    await before(memory)
    first = await call(memory, "k1")
    stood = (await memory.batches(**IVO), await memory.changes(**IVO))
    again = await call(memory, "k1")
    assert (await memory.batches(**IVO), await memory.changes(**IVO)) == stood
    assert again.batch_id == first.batch_id and again.state == first.state == "done"
    assert set(again.record_ids) == set(first.record_ids) or verb == "undo"
    assert again.changes == first.changes
    assert first.batch_id in again.skipped[0].reason
    assert await memory.verify(**IVO) == []


@pytest.mark.parametrize("verb", CALLS)
async def test_sent_many_times_at_once_it_is_done_once(memory: AsyncMemory, verb: str) -> None:
    before, call = CALLS[verb]
    await before(memory)
    stood = len(await memory.batches(**IVO))
    receipts: list[Receipt] = []

    async def send() -> None:
        receipts.append(await call(memory, "k1"))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(send)
    assert len(receipts) == 5 and len({receipt.batch_id for receipt in receipts}) == 1
    assert len(await memory.batches(**IVO)) == stood + 1


async def test_a_key_used_for_something_else_is_a_conflict(memory: AsyncMemory) -> None:
    record = (await memory.create(MILL, **once())).record_ids[0]
    for call in (
        lambda: memory.create({**MILL, "name": "It has four"}, **once()),
        lambda: memory.update(record, name="It has four", **once()),
        lambda: memory.retire(record, **once()),
        lambda: memory.add("The mill has two wheels", **once()),
        lambda: memory.vault.put("quince", caption="Gate", **once()),
    ):
        with pytest.raises(Conflict, match="idempotency_key 'k1' was used for other content"):
            await call()
    assert [record.title for record in await memory.list(**IVO)] == [MILL["name"]]


async def test_a_repeat_is_not_refused_for_what_others_did_since(memory: AsyncMemory) -> None:
    """The version moved on, the record is retired: what was asked was done, and it says so."""
    record = await made(memory)
    first = await memory.update(record, name="Three wheels", if_version=1, **once())
    await memory.update(record, name="Four wheels", **IVO)
    await memory.retire(record, **IVO)
    again = await memory.update(record, name="Three wheels", if_version=1, **once())
    assert again.batch_id == first.batch_id
    assert [c.op for c in await memory.changes(**IVO)] == ["create", "update", "update", "retire"]


async def test_a_call_that_failed_may_be_sent_again(memory: AsyncMemory) -> None:
    record = await made(memory)
    with pytest.raises(Conflict):
        await memory.update(record, name="Three wheels", if_version=2, **once())
    await memory.update(record, tags=["mill"], **IVO)
    receipt = await memory.update(record, name="Three wheels", if_version=2, **once())
    assert receipt.changes[0].version_after == 3


async def test_keys_of_others_are_others(memory: AsyncMemory) -> None:
    for scope in ({"user_id": "ivo"}, {"user_id": "mira"}, {"agent_id": "cook"}):
        assert (await memory.create(MILL, idempotency_key="k1", **scope)).record_ids
        assert len(await memory.list(**scope)) == 1


def stored_bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("store.db*"))


async def test_two_secrets_are_two_calls_and_neither_is_in_the_file(
    open_store: Open, tmp_path: Path
) -> None:
    """What a call is known by is made with the vault's key: nobody can find it by trying."""
    memory = await open_store()
    first = await memory.vault.put("quince-40", caption="Gate", **once())
    with pytest.raises(Conflict):
        await memory.vault.put("quince-41", caption="Gate", **once())
    said = "The orchard's login is ivo, password is Quince-4711-Plum"
    note = await memory.create({**MILL, "summary": said}, **once("k2"))
    again = await memory.create({**MILL, "summary": said}, **once("k2"))
    assert again.batch_id == note.batch_id != first.batch_id
    with pytest.raises(Conflict):
        other = said.replace("4711", "4712")
        await memory.create({**MILL, "summary": other}, **once("k2"))
    stored = stored_bytes(tmp_path)
    assert b"4711" not in stored and b"quince" not in stored


async def test_what_was_forgotten_does_not_come_back_by_a_repeat(memory: AsyncMemory) -> None:
    record = (await memory.create(MILL, **once())).record_ids[0]
    changed = await memory.update(record, name="Three wheels", **once("k2"))
    await memory.forget(ids=[record], **IVO)
    again = await memory.create(MILL, **once())
    assert "forgotten" in again.skipped[0].reason and not again.record_ids
    late = await memory.update(record, name="Three wheels", **once("k2"))
    assert late.batch_id == changed.batch_id and "forgotten" in late.skipped[0].reason
    assert len(await memory.list(**IVO)) == 0
    with pytest.raises(Conflict, match="forgotten"):
        await memory.create({**MILL, "name": "Something else"}, **once())
    assert all(batch.idempotency_key is None for batch in await memory.batches(**IVO))


async def test_an_erasure_takes_the_digest_of_what_wrote_a_part_of_it(memory: AsyncMemory) -> None:
    """The record that it ended stays, and with it the batch; not what the call is known by."""
    fact = {"kind": "semantic", "name": "Ivo lives here", "subject": "Ivo", "attribute": "lives in"}
    old = await memory.create({**fact, "value": "Oldmill", "valid_from": "2020-01-01"}, **IVO)
    new = await memory.update(
        old.record_ids[0],
        name="Ivo lives there",
        value="Riverside",
        valid_from="2026-01-01",
        **once(),
    )
    (successor,) = set(new.record_ids) - set(old.record_ids)
    await memory.forget(ids=[successor], **IVO)
    assert all(batch.idempotency_key is None for batch in await memory.batches(**IVO))


async def test_a_call_that_changed_nothing_leaves_its_key_free(memory: AsyncMemory) -> None:
    await made(memory)
    first = await memory.create(MILL, **once())
    assert "stored already" in first.skipped[0].reason
    again = await memory.create(MILL, **once())
    assert again.record_ids == first.record_ids
    assert len(await memory.list(**IVO)) == 1
