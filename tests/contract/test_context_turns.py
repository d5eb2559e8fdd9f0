"""`context` of conversations: what the last turns call for, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from memstrata import AsyncMemory

pytestmark = pytest.mark.anyio

UMA: dict[str, Any] = {"user_id": "uma"}
SAID = [
    "My brother Otto lives in Bergen.",
    "My sister Lena lives in Turin.",
    "Otto keeps two grey parrots.",
    "I sold the blue canoe in May.",
    "The boiler is serviced every October.",
    "妹妹小林住在成都。",
    "弟弟小王住在西安。",
]


@pytest.fixture
async def told(memory: AsyncMemory) -> AsyncMemory:
    await memory.create({"kind": "core", "label": "human", "value": "Uma likes tea."}, **UMA)
    for number, text in enumerate(SAID):
        await memory.add(
            text, session_id=f"s{number}", occurred_at=f"2026-03-0{number + 1}T09:00:00Z", **UMA
        )
    return memory


def talk(*turns: str) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(turns)]


@pytest.mark.parametrize(
    "turn", ["hi there", "thanks, that helped!", "ok cool", "👍", "谢谢", "你好,今天怎么样?"]
)
async def test_small_talk_recalls_core_memory_alone(told: AsyncMemory, turn: str) -> None:
    context = await told.context(turn, **UMA)
    assert [item.kind for item in context.items] == ["core"]
    assert (context.dropped, context.ledger.embedding_calls) == ([], 0)


async def test_a_greeting_with_a_question_is_one(told: AsyncMemory) -> None:
    assert "Bergen" in str(await told.context("hi! where does my brother Otto live?", **UMA))


async def test_a_follow_up_finds_its_subject(told: AsyncMemory) -> None:
    turns = talk("Where does Otto live?", "In Bergen.", "And Lena?")
    context = await told.context(turns, **UMA)
    assert "Turin" in str(context)
    assert "Lena" in context.topics


async def test_a_follow_up_in_chinese_finds_its_subject(told: AsyncMemory) -> None:
    turns = talk("小王住在哪里？", "西安。", "那小林呢？")
    assert "成都" in str(await told.context(turns, **UMA))


async def test_a_follow_up_takes_its_time(told: AsyncMemory) -> None:
    turns = talk("What did I do in April?", "Nothing I know of.", "And in May?")
    context = await told.context(turns, now="2026-06-10", **UMA)
    assert context.window is not None
    assert context.window.start.month == 5
    assert "canoe" in str(context)


async def test_what_has_nothing_to_do_with_a_question_is_not_recalled(told: AsyncMemory) -> None:
    context = await told.context("Who painted the ceiling of the opera?", **UMA)
    assert [item.kind for item in context.items] == ["core"]
    assert {item.reason for item in context.dropped} <= {"has nothing to do with it"}
    everything = await told.context("Who painted the ceiling of the opera?", gain=0, **UMA)
    assert len(everything.items) > 1


async def test_a_record_and_the_message_it_rests_on_come_once(told: AsyncMemory) -> None:
    context = await told.context("Where does my brother Otto live?", **UMA)
    assert str(context).count("Bergen") <= 2  # a fact and its quote, in one item
    shown = [item for item in context.items if "Bergen" in item.text]
    assert len(shown) == 1


async def test_of_an_overview_episodes_and_records_tell(told: AsyncMemory) -> None:
    context = await told.context("Tell me about Otto", **UMA)
    kinds = {item.kind for item in context.items}
    assert kinds & {"episodes", "semantic", "episodic"}
    assert "messages" not in kinds
    assert "parrots" in str(context)


async def test_an_overview_of_a_memory_without_records_is_of_messages(memory: AsyncMemory) -> None:
    await memory.add("Otto keeps two grey parrots.", infer=False, **UMA)
    assert "parrots" in str(await memory.context("Tell me about Otto", **UMA))


async def test_facts_that_cannot_both_be_true_are_flagged(memory: AsyncMemory) -> None:
    fact = {"kind": "semantic", "subject": "Otto", "attribute": "lives_in"}
    ids: list[str] = []
    for town in ("Bergen", "Oslo"):
        one = {**fact, "name": f"Otto lives in {town}", "value": town}
        ids += (await memory.create(one, **UMA)).record_ids
    pet = {**fact, "attribute": "owns", "name": "Otto owns a cat", "value": "a cat"}
    await memory.create(pet, **UMA)
    lines = str(await memory.context("Where does Otto live, and what does he own?", **UMA))
    flagged = [line for line in lines.splitlines() if "at odds with" in line]
    assert len(flagged) == 2
    assert all(any(f"at odds with {one}" in line for line in flagged) for one in ids)
    await memory.update(ids[0], valid_to="2025-01-01", **UMA)
    await memory.update(ids[1], valid_from="2025-01-01", **UMA)
    assert "at odds" not in str(await memory.context("Where does Otto live?", **UMA))


async def test_what_is_looked_at_and_taken_is_counted(told: AsyncMemory) -> None:
    assert (await told.stats(**UMA))["recall"]["queries"] == 0
    await told.context("hi there", **UMA)
    await told.context("Where does my brother Otto live?", **UMA)
    recall = (await told.stats(**UMA))["recall"]
    assert recall["queries"] == 1
    assert recall["nodes_per_query"] > 1
    assert sum(recall["evidence_hits"].values()) == pytest.approx(1, abs=0.01)
