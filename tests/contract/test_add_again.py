"""`add` of what was sent before: only what is new is stored, whatever makes it the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from memstrata import AsyncMemory, Conflict, Receipt

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
CHAT: dict[str, Any] = {"user_id": "ivo", "session_id": "s1"}


def turns(*texts: str) -> list[dict[str, Any]]:
    """A conversation in which user and assistant take turns."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


async def contents(memory: AsyncMemory, **where: Any) -> list[str]:
    return [m.content for m in (await memory.messages(**(where or IVO))).items]


def known(receipt: Receipt) -> list[int | None]:
    return [item.index for item in receipt.skipped if item.id is not None]


async def test_a_history_sent_again_appends_only_what_is_new(memory: AsyncMemory) -> None:
    history = turns("hello", "hi, how can I help?", "where is the pump?", "in the shed")
    first = await memory.add(history[:2], **CHAT)
    second = await memory.add(history, **CHAT)
    assert await contents(memory) == [
        "hello",
        "hi, how can I help?",
        "where is the pump?",
        "in the shed",
    ]
    assert second.message_ids[:2] == first.message_ids
    assert known(second) == [0, 1]


async def test_a_history_of_equal_turns_is_aligned_by_its_longest_overlap(
    memory: AsyncMemory,
) -> None:
    await memory.add(["ok", "ok", "ok"], **CHAT)
    receipt = await memory.add(["ok", "ok", "ok", "ok"], **CHAT)
    assert known(receipt) == [0, 1, 2]
    assert await contents(memory) == ["ok"] * 4


async def test_the_last_turns_only_sent_again(memory: AsyncMemory) -> None:
    history = turns(*(f"turn number {n}" for n in range(12)))
    await memory.add(history[:10], **CHAT)
    receipt = await memory.add(history[7:12], **CHAT)
    assert known(receipt) == [0, 1, 2]
    assert await contents(memory) == [f"turn number {n}" for n in range(12)]


async def test_a_window_behind_the_same_system_prompt(memory: AsyncMemory) -> None:
    """Agents send their system prompt before the last turns, each time."""
    prompt = {"role": "system", "content": "You are a gardener."}
    history = turns(*(f"turn number {n}" for n in range(8)))
    await memory.add([prompt, *history[:6]], **CHAT)
    receipt = await memory.add([prompt, *history[3:8]], **CHAT)
    assert known(receipt) == [0, 1, 2, 3]
    assert await contents(memory) == [
        "You are a gardener.",
        *(f"turn number {n}" for n in range(8)),
    ]


async def test_a_changed_system_prompt_is_new(memory: AsyncMemory) -> None:
    history = turns("hello", "hi", "where is the pump?")
    await memory.add([{"role": "system", "content": "Be brief."}, *history[:2]], **CHAT)
    receipt = await memory.add([{"role": "system", "content": "Be kind."}, *history], **CHAT)
    assert known(receipt) == [1, 2]
    assert await contents(memory) == ["Be brief.", "hello", "hi", "Be kind.", "where is the pump?"]


async def test_the_same_words_by_another_speaker_are_new(memory: AsyncMemory) -> None:
    await memory.add({"role": "user", "name": "Ana", "content": "yes"}, **CHAT)
    receipt = await memory.add({"role": "user", "name": "Ivo", "content": "yes"}, **CHAT)
    assert known(receipt) == []
    assert await contents(memory) == ["yes", "yes"]


async def test_the_same_words_later_in_the_session_are_new(memory: AsyncMemory) -> None:
    await memory.add(turns("yes", "good"), **CHAT)
    receipt = await memory.add("yes", **CHAT)
    assert known(receipt) == []
    assert await contents(memory) == ["yes", "good", "yes"]


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ({"id": "m-1"}, {"id": "m-2"}),
        ({"occurred_at": "2026-05-01T08:00:00Z"}, {"occurred_at": "2026-05-02T08:00:00Z"}),
        ({"id": "m-1"}, {"occurred_at": "2026-05-02T08:00:00Z"}),
    ],
    ids=["ids", "times", "id-and-time"],
)
async def test_the_same_words_with_an_id_or_a_time_of_their_own_are_new(
    memory: AsyncMemory, stored: dict[str, str], sent: dict[str, str]
) -> None:
    """Beside a message that has neither, which is found by its place."""
    await memory.add(["first", {"content": "yes", **stored}], **CHAT)
    receipt = await memory.add([{"content": "yes", **sent}, "second"], **CHAT)
    assert known(receipt) == []
    assert len(await contents(memory)) == 4
    again = await memory.add([{"content": "yes", **sent}, "second"], **CHAT)
    assert known(again) == [0, 1]


async def test_a_history_that_lost_its_times_is_still_recognised(memory: AsyncMemory) -> None:
    at = "2026-05-01T08:00:00Z"
    await memory.add([{"content": "yes", "occurred_at": at}, "good"], **CHAT)
    assert known(await memory.add(["yes", "good", "more"], **CHAT)) == [0, 1]


async def test_the_same_words_in_another_session_or_scope_are_new(memory: AsyncMemory) -> None:
    await memory.add("good morning", **CHAT)
    for scope in (
        {"user_id": "ivo", "session_id": "s2"},
        {"user_id": "mira", "session_id": "s1"},
        {"user_id": "ivo", "agent_id": "cook", "session_id": "s1"},
        {"user_id": "ivo"},
    ):
        assert known(await memory.add("good morning", **scope)) == []


async def test_a_masked_history_is_still_recognised(memory: AsyncMemory) -> None:
    """Histories are compared by the raw text, so that what was masked does not hide them."""
    history = turns("my key is AKIAQ7TESTBOATS23KXE, keep it", "I will not", "good")
    await memory.add(history[:2], **CHAT)
    receipt = await memory.add(history, **CHAT)
    assert known(receipt) == [0, 1]
    assert len(await contents(memory)) == 3


async def test_an_undone_history_is_stored_again(memory: AsyncMemory) -> None:
    first = await memory.add(turns("hello", "hi"), **CHAT)
    await memory.undo(first.batch_id, **IVO)
    second = await memory.add(turns("hello", "hi"), **CHAT)
    assert known(second) == []
    assert await contents(memory) == ["hello", "hi"]
    assert not set(first.message_ids) & set(second.message_ids)


async def test_the_same_session_speaker_time_and_text_is_one_message(memory: AsyncMemory) -> None:
    said = {"role": "user", "content": "The pump is broken", "occurred_at": "2026-05-01T08:00:00Z"}
    first = await memory.add([said, {**said, "occurred_at": "2026-05-02T08:00:00Z"}], **CHAT)
    again = await memory.add([{"role": "user", "content": "unrelated"}, said], **CHAT)
    assert known(again) == [1]
    assert again.message_ids[1] == first.message_ids[0]
    assert len(await contents(memory)) == 3


async def test_the_same_time_in_another_offset_is_the_same(memory: AsyncMemory) -> None:
    said = {"role": "user", "content": "The pump is broken", "occurred_at": "2026-05-01T08:00:00Z"}
    await memory.add([said, {"role": "user", "content": "really"}], **CHAT)
    assert known(
        await memory.add({**said, "occurred_at": "2026-05-01T10:00:00+02:00"}, **CHAT)
    ) == [0]


async def test_a_messages_own_id_is_one_message(memory: AsyncMemory) -> None:
    first = await memory.add({"id": "m-1", "content": "The pump is broken"}, **IVO)
    again = await memory.add([{"id": "m-1", "content": "The pump is broken"}, "and old"], **IVO)
    assert known(again) == [0]
    assert again.message_ids[0] == first.message_ids[0]
    assert await contents(memory) == ["The pump is broken", "and old"]


async def test_an_id_twice_in_one_call_is_one_message(memory: AsyncMemory) -> None:
    turn = {"id": "m-1", "content": "The pump is broken"}
    receipt = await memory.add([turn, "between", turn], **IVO)
    assert known(receipt) == [2]
    assert receipt.message_ids[0] == receipt.message_ids[2]
    assert await contents(memory) == ["The pump is broken", "between"]


async def test_an_id_with_other_words_keeps_the_first_and_says_so(memory: AsyncMemory) -> None:
    await memory.add({"id": "m-1", "content": "The pump is broken"}, **IVO)
    receipt = await memory.add({"id": "m-1", "content": "The pump works"}, **IVO)
    assert await contents(memory) == ["The pump is broken"]
    assert "m-1" in receipt.skipped[0].reason
    assert "other text" in receipt.skipped[0].reason


async def test_an_idempotency_key_gives_the_first_receipt_again(memory: AsyncMemory) -> None:
    first = await memory.add(["one", "two"], idempotency_key="k1", **CHAT)
    again = await memory.add(["one", "two"], idempotency_key="k1", **CHAT)
    assert again.batch_id == first.batch_id
    assert again.message_ids == first.message_ids
    assert again.state == "done"
    assert len((await memory.batches(**IVO)).items) == 1
    assert (await memory.batches(**IVO)).items[0].idempotency_key == "k1"


async def test_an_idempotency_key_repeats_ids_of_what_was_known_before(memory: AsyncMemory) -> None:
    await memory.add(["one"], **CHAT)
    first = await memory.add(["one", "two"], idempotency_key="k1", **CHAT)
    again = await memory.add(["one", "two"], idempotency_key="k1", **CHAT)
    assert again.message_ids == first.message_ids


@pytest.mark.parametrize(
    "other", [["one", "three"], ["one"], ["one", "two", "three"], ["two", "one"]]
)
async def test_an_idempotency_key_with_other_content_is_a_conflict(
    memory: AsyncMemory, other: Sequence[str]
) -> None:
    await memory.add(["one", "two"], idempotency_key="k1", **CHAT)
    with pytest.raises(Conflict, match="k1"):
        await memory.add(other, idempotency_key="k1", **CHAT)
    assert await contents(memory) == ["one", "two"]


async def test_keys_of_two_users_do_not_meet(memory: AsyncMemory) -> None:
    await memory.add("one", user_id="ivo", idempotency_key="k1")
    receipt = await memory.add("two", user_id="mira", idempotency_key="k1")
    assert known(receipt) == []


async def test_the_same_call_again_without_a_session_is_one_batch(memory: AsyncMemory) -> None:
    """R03: three times the same is one memory with one id."""
    receipts = [await memory.add("The depot opens at 07:30", **IVO) for _ in range(3)]
    assert len({receipt.batch_id for receipt in receipts}) == 1
    assert len({tuple(receipt.message_ids) for receipt in receipts}) == 1
    assert await contents(memory) == ["The depot opens at 07:30"]


async def test_twice_in_one_call_without_a_session_is_one_message(memory: AsyncMemory) -> None:
    """R03: in one call or one by one, the same is stored."""
    receipt = await memory.add(["The depot opens at 07:30", "The depot opens at 07:30"], **IVO)
    assert await contents(memory) == ["The depot opens at 07:30"]
    assert [item.index for item in receipt.skipped if item.index is not None] == [1]


async def test_a_call_that_differs_in_anything_is_new_without_a_session(
    memory: AsyncMemory,
) -> None:
    await memory.add(["one", "two"], **IVO)
    for other in (["one"], ["two", "one"], ["one", "two", "three"]):
        assert known(await memory.add(other, **IVO)) == []
    at = "2026-01-01T00:00:00Z"
    assert known(await memory.add(["one", "two"], occurred_at=at, **IVO)) == []


async def test_an_undone_call_is_stored_again(memory: AsyncMemory) -> None:
    first = await memory.add("The depot opens at 07:30", **IVO)
    await memory.undo(first.batch_id, **IVO)
    again = await memory.add("The depot opens at 07:30", **IVO)
    assert again.batch_id != first.batch_id
    assert await contents(memory) == ["The depot opens at 07:30"]


async def test_a_replay_does_not_bring_back_what_was_forgotten(memory: AsyncMemory) -> None:
    """And says so: it is in no list of what is stored."""
    first = await memory.add(["one", "two", "three"], idempotency_key="k1", **CHAT)
    await memory.forget(ids=[first.message_ids[1]], **IVO)
    again = await memory.add(["one", "two", "three"], idempotency_key="k1", **CHAT)
    assert again.message_ids == [first.message_ids[0], first.message_ids[2]]
    assert ["forgotten" in item.reason for item in again.skipped] == [False, True, False]
    assert await contents(memory) == ["one", "three"]


async def test_many_at_once_lose_nothing(memory: AsyncMemory) -> None:
    """R39: twenty calls at the same time are twenty messages."""
    async with anyio.create_task_group() as tasks:
        for n in range(20):
            tasks.start_soon(lambda n=n: memory.add(f"note number {n}", **IVO))
    assert sorted(await contents(memory)) == sorted(f"note number {n}" for n in range(20))
    assert await memory.verify() == []


async def test_the_same_call_at_the_same_time_is_one_message(memory: AsyncMemory) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(lambda: memory.add("The depot opens at 07:30", **IVO))
    assert await contents(memory) == ["The depot opens at 07:30"]
