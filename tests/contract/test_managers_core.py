"""Core memory and documents, written by a language model."""

from __future__ import annotations

from typing import Any

import pytest
from contract.conftest import Open
from contract.managed import fact, listed, said, sound, tell, values

from memstrata import AsyncMemory
from memstrata.errors import ModelFailed
from memstrata.models.fake import FakeChat
from memstrata.records import Record

pytestmark = pytest.mark.anyio


# ── core memory ──────────────────────────────────────────────────────────────────────────────


def line(value: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": "core", "from": [number], "label": "human", "line": value, **more}


async def block(memory: AsyncMemory) -> Record:
    [found] = await listed(memory, kinds=["core"])
    return found


async def test_lines_of_core_memory_are_added_and_replaced(open_store: Open) -> None:
    chat = FakeChat(
        said(line("Name: Ottilie"), line("Answer in short.")),
        said(line("Answer at length.", old="Answer in short.")),
    )
    memory = await open_store(llm=chat)
    await tell(memory, "My name is Ottilie. Answer in short.")
    assert (await block(memory)).text == "Name: Ottilie\nAnswer in short."
    await tell(memory, "Please answer at length from now on.", session_id="bay")
    assert (await block(memory)).text == "Name: Ottilie\nAnswer at length."
    assert "Answer in short." in chat.prompts[1].turns[0].text
    await sound(memory)


async def core_of(memory: AsyncMemory, value: str, limit: int) -> None:
    await memory.create(
        {"kind": "core", "label": "human", "value": value, "limit": limit}, user_id="ottilie"
    )


FULL = "Name: Ottilie\nThe user likes herons.\nThe user does not eat olives.\nThe user has 3 cats."
SHORT = "Name: Ottilie; likes herons, 3 cats\nDoes not eat olives."


async def test_a_block_that_is_nearly_full_is_written_anew(open_store: Open) -> None:
    chat = FakeChat(said(line("Has a boat.")), {"value": SHORT})
    memory = await open_store(llm=chat)
    await core_of(memory, FULL, 100)
    receipt = await tell(memory, "I have a boat.")
    assert [p.purpose for p in chat.prompts] == ["extract", "shorten"]
    assert receipt.ledger.model_calls == 2
    made = await block(memory)
    assert made.text == f"{SHORT}\nHas a boat."
    assert made.fields["limit"] == 100
    await memory.undo(receipt.batch_id, user_id="ottilie")
    assert (await block(memory)).text == FULL


@pytest.mark.parametrize("bad", [SHORT.replace("not ", ""), SHORT.replace("3", "4"), "Ottilie"])
async def test_a_rewrite_that_loses_a_fact_leaves_the_block(open_store: Open, bad: str) -> None:
    chat = FakeChat(said(line("Has a very big and old boat in the bay.")), {"value": bad})
    memory = await open_store(llm=chat)
    await core_of(memory, FULL, 100)
    receipt = await tell(memory, "I have a very big and old boat in the bay.")
    assert receipt.state == "done"
    assert any("stays as it is" in one.reason for one in receipt.skipped)
    assert (await block(memory)).text == FULL
    [beside] = await listed(memory, kinds=["semantic"])
    assert beside.fields["name"] == "Has a very big and old boat in the bay."


async def test_where_the_rewrite_fails_the_batch_does_not(open_store: Open) -> None:
    chat = FakeChat(said(line("Has a boat."), fact("likes", "boats")), ModelFailed("down"))
    memory = await open_store(llm=chat)
    await core_of(memory, FULL, 100)
    receipt = await tell(memory, "I have a boat. I like boats.")
    assert receipt.state == "done"
    assert "boats" in await values(memory)
    assert FULL in (await block(memory)).text


# ── documents ────────────────────────────────────────────────────────────────────────────────

DOCUMENT = "# Tide table of Ostholm\n\n" + "\n".join(
    f"- Day {n}: low water at {n % 12:02}:30, high water at {(n + 6) % 12:02}:45" for n in range(60)
)


@pytest.mark.parametrize("proposed", [True, False])
async def test_a_document_is_kept_whole_whatever_the_model_says(
    open_store: Open, proposed: bool
) -> None:
    named = {"kind": "resource", "from": [1], "title": "Ostholm tides",
             "summary": "When the water is low.", "resource_type": "list"}  # fmt: skip
    replies = [said(*([named] if proposed else []))] * 8
    memory = await open_store(llm=FakeChat(*replies))
    receipt = await tell(memory, f"Keep this for me:\n\n```\n{DOCUMENT}\n```")
    assert receipt.state == "done"
    [kept] = await listed(memory, kinds=["resource"])
    assert kept.fields["content"] == DOCUMENT
    assert (kept.title == "Ostholm tides") is proposed
    await sound(memory)
