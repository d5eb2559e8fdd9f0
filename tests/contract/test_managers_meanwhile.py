"""What happens while the model reads: changes, erasure, cancellation."""

from __future__ import annotations

import re
from functools import partial

import anyio
import anyio.lowlevel
import pytest
from contract.conftest import Open
from contract.managed import (
    Meanwhile,
    fact,
    listed,
    meant,
    said,
    sound,
    tell,
    values,
    while_reading,
)

from memstrata.errors import ModelFailed
from memstrata.models.chat import Prompt, Reply
from memstrata.models.fake import FakeChat

pytestmark = pytest.mark.anyio


# ── what happens while the model reads ───────────────────────────────────────────────────────


async def test_what_is_forgotten_while_the_model_reads_is_not_written(open_store: Open) -> None:
    chat = Meanwhile(said(fact("lives_in", "Turku"), fact("likes", "herons", 2)))
    memory = await open_store(llm=chat)

    async def forget() -> None:
        [first, _] = await memory.messages(user_id="ottilie")
        await memory.forget(ids=[first.id], user_id="ottilie")

    chat.happens = forget
    receipt = await tell(memory, "I live in Turku.", "I love herons.")
    assert receipt.state == "done"
    assert await values(memory) == {"herons": "current"}
    assert len(chat.prompts) == 1
    assert "Turku" not in str(await memory.episodes(user_id="ottilie"))
    await sound(memory)


async def test_what_changes_while_the_model_reads_is_resolved_without_asking_again(
    open_store: Open,
) -> None:
    chat = Meanwhile(said(fact("lives_in", "Turku")))
    memory = await open_store(llm=chat)
    await tell(memory, "I live in Turku.")
    [home] = await listed(memory, kinds=["semantic"])

    chat.script = [
        meant("Turku", lambda r: said(fact("lives_in", "Oslo", op="supersede", target=r)))
    ]

    async def updated() -> bool:
        return (await listed(memory, kinds=["semantic"]))[0].version == 2

    change = partial(memory.update, home.id, details="by the river", user_id="ottilie")
    async with while_reading(chat, change, updated):
        receipt = await tell(memory, "I moved to Oslo.", at="2026-04-01T10:00:00Z")
    assert receipt.state == "done"
    assert len(chat.prompts) == 2
    assert await values(memory) == {"Turku": "past", "Oslo": "current"}
    [old] = [r for r in await listed(memory) if r.id == home.id]
    assert old.fields["details"] == "by the river"
    await sound(memory)


async def test_a_conflict_in_the_middle_does_not_ask_the_model_again(open_store: Open) -> None:
    """A message that was read as what stands before is erased: what was made is made anew."""
    chat = Meanwhile(said(fact("likes", "herons")), said(fact("lives_in", "Turku")))
    memory = await open_store(llm=chat)
    first = await tell(memory, "I love herons.")

    async def gone() -> bool:
        return len((await memory.messages(user_id="ottilie")).items) == 1

    forget = partial(memory.forget, ids=first.message_ids, user_id="ottilie")
    async with while_reading(chat, forget, gone):
        receipt = await tell(memory, "I live in Turku.", at="2026-03-01T10:01:00Z")
    assert receipt.state == "done"
    assert len(chat.prompts) == 2
    assert await values(memory) == {"Turku": "current"}
    await sound(memory)


async def test_undone_while_the_model_reads_it_stays_undone(open_store: Open) -> None:
    chat = Meanwhile(said(fact("lives_in", "Turku")))
    memory = await open_store(llm=chat)

    async def undo() -> None:
        [batch] = await memory.batches(user_id="ottilie")
        await memory.undo(batch.id, user_id="ottilie")

    chat.happens = undo
    await tell(memory, "I live in Turku.")
    assert await values(memory) == {}
    assert [*(await memory.messages(user_id="ottilie"))] == []
    await sound(memory)


async def test_users_and_agents_are_shown_their_own_memory_alone(open_store: Open) -> None:
    chat = FakeChat(said(fact("likes", "cello")), otherwise=said())
    memory = await open_store(llm=chat)
    await tell(memory, "I like the cello.")
    await tell(memory, "Do I like the cello?", user_id="bertil")
    await tell(memory, "Do I like the cello?", agent_id="porter")
    for prompt in chat.prompts[1:]:
        assert "I like the cello." not in prompt.turns[0].text
        assert not re.search(r"^r\d+ \(", prompt.turns[0].text, re.MULTILINE)


class Stuck(FakeChat):
    """A model that never answers while it is stuck."""

    stuck = True

    async def complete(self, prompt: Prompt) -> Reply:
        while self.stuck:
            await anyio.lowlevel.checkpoint()
        return await super().complete(prompt)


async def test_a_call_that_is_cancelled_while_the_model_reads_goes_on_later(
    open_store: Open,
) -> None:
    chat = Stuck(said(fact("lives_in", "Turku")))
    memory = await open_store(llm=chat)
    with anyio.move_on_after(0.2) as waiting:
        await tell(memory, "I live in Turku.")
    assert waiting.cancelled_caught
    [batch] = await memory.batches(user_id="ottilie")
    assert batch.state == "pending"
    assert (await memory.search("Turku", user_id="ottilie")).hits
    chat.stuck = False
    assert (await memory.wait_for(batch.id, user_id="ottilie")).state == "done"
    assert await values(memory) == {"Turku": "current"}
    await sound(memory)


async def test_closing_while_the_model_reads_leaves_the_batch(
    open_store: Open, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["open_store"] == "memory":
        pytest.skip("a store in memory does not outlive its handle")
    memory = await open_store(llm=Stuck())
    queued = await tell(memory, "I live in Turku.", wait=False)
    with anyio.fail_after(20):
        await memory.close()
    memory = await open_store(llm=FakeChat(said(fact("lives_in", "Turku"))))
    assert (await memory.wait_for(queued.batch_id, user_id="ottilie")).state == "done"
    assert await values(memory) == {"Turku": "current"}
    await sound(memory)


async def test_a_model_that_breaks_its_contract_is_a_failed_batch(open_store: Open) -> None:
    chat = FakeChat(RuntimeError("a bug in the model's client"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    assert receipt.state == "failed"
    assert "RuntimeError" in (receipt.reason or "")
    chat.script = [said(fact("lives_in", "Turku"))]
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"


async def test_what_is_made_anew_after_forgetting_is_made_by_the_model(open_store: Open) -> None:
    chat = FakeChat(said(fact("lives_in", "Turku", 1), fact("likes", "herons", 2)))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.", "Turku is my home, and I love herons.")
    chat.script = [ModelFailed("down")]
    erased = await memory.forget(ids=receipt.message_ids[:1], user_id="ottilie")
    if erased.state == "pending":
        assert "down" in (erased.reason or "")
        chat.script = [said(fact("lives_in", "Turku"), fact("likes", "herons"))]
        assert (await memory.retry(erased.batch_id, user_id="ottilie")).state == "done"
    assert (await values(memory))["herons"] == "current"
    for record in await listed(memory):
        assert receipt.message_ids[0] not in {e.source_id for e in record.evidence}
    await sound(memory)
