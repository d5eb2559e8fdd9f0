"""`batches`, `wait_for`, `retry`: work that is left, that failed, that is taken up again."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from memstrata import AsyncMemory, Conflict, InvalidInput, NotFound, Scope
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
SCOPE = Scope(user_id="ivo")


async def test_a_failed_batch_keeps_what_was_said(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    """R28: the failure is told with its reason, and nothing is lost."""
    embedder.fail_next()
    receipt = await memory.add(["the key is under the mat", "and mind the dog"], **IVO)
    assert receipt.state == "failed"
    assert "told to fail" in (receipt.reason or "")
    assert len(receipt.message_ids) == 2
    (batch,) = await memory.batches(**IVO)
    assert (batch.state, batch.reason, batch.attempts) == ("failed", receipt.reason, 1)
    assert batch.finished_at is not None
    found = await memory.search("key", method="bm25", **IVO)
    assert [hit.id for hit in found] == receipt.message_ids[:1]
    assert (await memory.stats(**IVO))["failed_batches"] == 1


async def test_a_retry_does_the_rest_and_nothing_twice(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    embedder.fail_next(2)
    receipt = await memory.add("the key is under the mat", **IVO)
    again = await memory.retry(receipt.batch_id, **IVO)
    assert (again.state, again.attempts) == ("failed", 2)
    done = await memory.retry(receipt.batch_id, **IVO)
    assert (done.state, done.attempts, done.reason) == ("done", 3, None)
    assert len(await memory.messages(**IVO)) == 1
    assert len(await memory.batches(**IVO)) == 1
    assert (await memory.stats(**IVO))["items_without_vector"] == 0
    (hit,) = await memory.search("key mat", method="embedding", **IVO)
    assert hit.id == receipt.message_ids[0]


async def test_a_failed_record_is_there_and_can_be_retried(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    embedder.fail_next()
    receipt = await memory.create({"kind": "semantic", "name": "The barn is red"}, **IVO)
    assert receipt.state == "failed"
    assert [r.id for r in await memory.list(**IVO)] == receipt.record_ids
    await memory.retry(receipt.batch_id, **IVO)
    assert len(await memory.search("barn", method="embedding", **IVO)) == 1


async def test_the_next_batch_embeds_what_a_failed_one_left(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    embedder.fail_next()
    await memory.add("the key is under the mat", **IVO)
    await memory.add("the dog is in the yard", **IVO)
    assert (await memory.stats(**IVO))["items_without_vector"] == 0


async def test_a_model_that_answers_nonsense_fails_the_batch(open_store: Any) -> None:
    class Nonsense(FakeEmbedder):
        def embed_passages(self, texts: Any) -> Any:
            return super().embed_passages(texts)[:, :3]

    memory: AsyncMemory = await open_store(model=Nonsense())
    receipt = await memory.add("the key is under the mat", **IVO)
    assert receipt.state == "failed"
    assert "shape" in (receipt.reason or "")
    assert len(await memory.search("key", **IVO)) == 1


async def test_there_is_nothing_to_retry(memory: AsyncMemory) -> None:
    receipt = await memory.add("the key is under the mat", **IVO)
    with pytest.raises(Conflict, match="done"):
        await memory.retry(receipt.batch_id, **IVO)
    await memory.undo(receipt.batch_id, **IVO)
    with pytest.raises(Conflict, match="undone"):
        await memory.retry(receipt.batch_id, **IVO)


@pytest.mark.parametrize("verb", ["retry", "wait_for"])
async def test_a_batch_of_nobody_or_somebody_else(memory: AsyncMemory, verb: str) -> None:
    receipt = await memory.add("the key is under the mat", **IVO)
    for batch, user in ((receipt.batch_id, "mira"), ("batch_unknown", "ivo")):
        with pytest.raises(NotFound, match=batch):
            await getattr(memory, verb)(batch, user_id=user)
    with pytest.raises(InvalidInput, match="batch_id"):
        await getattr(memory, verb)("", **IVO)


async def test_waiting_for_what_is_done_returns_at_once(memory: AsyncMemory) -> None:
    receipt = await memory.add("the key is under the mat", **IVO)
    batch = await memory.wait_for(receipt.batch_id, timeout=0.001, **IVO)
    assert batch.state == "done"


async def test_waiting_ends_when_the_time_is_up(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    """Somebody else works on it: the batch is told as it is."""
    embedder.fail_next()
    receipt = await memory.add("the key is under the mat", **IVO)
    store = memory._runtime.store
    await store.requeue(SCOPE, receipt.batch_id)
    now = memory._runtime.now()
    lease = await store.lease_next("another process", now, now + 3_600_000_000, SCOPE)
    assert lease is not None
    batch = await memory.wait_for(receipt.batch_id, timeout=0.02, **IVO)
    assert (batch.state, batch.finished_at) == ("running", None)
    await store.finish(lease, "done", None, now)
    assert (await memory.wait_for(receipt.batch_id, timeout=0.02, **IVO)).state == "done"


async def test_who_has_little_time_is_not_kept_by_the_work_itself(open_store: Any) -> None:
    """What a model is at cannot be broken off: it is left to the background."""
    asked, go_on = threading.Event(), threading.Event()

    class Slow(FakeEmbedder):
        def embed_passages(self, texts: Any) -> Any:
            asked.set()
            assert go_on.wait(30)
            return super().embed_passages(texts)

    memory: AsyncMemory = await open_store(model=Slow())
    receipt = await memory.add("the key is under the mat", wait=False, **IVO)
    with anyio.fail_after(20):
        batch = await memory.wait_for(receipt.batch_id, timeout=0.02, **IVO)
        assert batch.state in ("pending", "running")
        await anyio.to_thread.run_sync(asked.wait)
        go_on.set()
        assert (await memory.wait_for(receipt.batch_id, timeout=20, **IVO)).state == "done"


async def test_many_that_do_not_wait_are_all_worked_off(memory: AsyncMemory) -> None:
    receipts = [
        await memory.add([f"note {n}", f"remark {n}"], wait=False, user_id=f"user-{n % 3}")
        for n in range(12)
    ]
    for n, receipt in enumerate(receipts):
        batch = await memory.wait_for(receipt.batch_id, timeout=30, user_id=f"user-{n % 3}")
        assert (batch.state, batch.messages) == ("done", 2)
    for n in range(3):
        stats = await memory.stats(user_id=f"user-{n}")
        assert (stats["messages"], stats["items_without_vector"]) == (8, 0)


async def test_waiting_for_many_at_once(memory: AsyncMemory) -> None:
    receipts = [await memory.add(f"note {n}", wait=False, **IVO) for n in range(8)]
    states: list[str] = []

    async def wait(batch_id: str) -> None:
        states.append((await memory.wait_for(batch_id, timeout=30, **IVO)).state)

    async with anyio.create_task_group() as tasks:
        for receipt in receipts:
            tasks.start_soon(wait, receipt.batch_id)
    assert states == ["done"] * 8


async def test_a_call_that_is_cancelled_leaves_whole_messages_and_a_pending_batch(
    open_store: Any,
) -> None:
    """What was acknowledged stays; what was not yet done is done later."""
    started, go_on = anyio.Event(), anyio.Event()

    class Slow(FakeEmbedder):
        def embed_passages(self, texts: Any) -> Any:
            anyio.from_thread.run_sync(started.set)
            anyio.from_thread.run(go_on.wait)
            return super().embed_passages(texts)

    memory: AsyncMemory = await open_store(model=Slow())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: memory.add(["one thing", "another thing"], **IVO))
        await started.wait()
        tasks.cancel_scope.cancel()
        go_on.set()
    (batch,) = await memory.batches(**IVO)
    assert batch.state == "pending"
    assert len(await memory.messages(**IVO)) == 2
    assert (await memory.wait_for(batch.id, timeout=30, **IVO)).state == "done"
    assert (await memory.stats(**IVO))["items_without_vector"] == 0


async def test_a_lease_that_ran_out_is_taken_over(
    memory: AsyncMemory, embedder: FakeEmbedder, clock: Any
) -> None:
    """What a process that died was working on goes on in another."""
    store = memory._runtime.store
    embedder.fail_next()
    receipt = await memory.add("the key is under the mat", **IVO)
    (batch,) = await memory.batches(**IVO)
    await store.requeue(SCOPE, batch.id)
    now = memory._runtime.now()
    lease = await store.lease_next("a process that dies", now, now + 60_000_000, SCOPE)
    assert lease is not None
    assert await store.lease_next("another one", now, now + 60_000_000, SCOPE) is None
    clock.advance(minutes=2)
    assert (await memory.wait_for(receipt.batch_id, timeout=30, **IVO)).state == "done"
    await store.finish(lease, "failed", "too late", memory._runtime.now())
    assert (await memory.batches(**IVO)).items[0].state == "done"
