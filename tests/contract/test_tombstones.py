"""What an erasure leaves behind, by which a replay is known and a new statement is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memstrata import AsyncMemory, Conflict, Receipt

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
CHAT: dict[str, Any] = {"user_id": "ivo", "session_id": "s1"}
ALL = ["current", "past", "review", "retired"]


def turns(*texts: str) -> list[dict[str, Any]]:
    """A conversation in which user and assistant take turns."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


async def contents(memory: AsyncMemory, **where: Any) -> list[str]:
    return [m.content for m in (await memory.messages(**(where or IVO))).items]


async def titles(memory: AsyncMemory, **where: Any) -> list[str]:
    return [r.title for r in (await memory.list(lifecycles=ALL, **(where or IVO))).items]


def forgotten(receipt: Receipt) -> list[int | None]:
    return [item.index for item in receipt.skipped if "forgotten" in item.reason]


# ── a replay teaches nothing again ───────────────────────────────────────────────────────────


async def test_a_history_that_was_forgotten_whole(memory: AsyncMemory) -> None:
    await memory.add(turns("hello", "hi"), **CHAT)
    await memory.forget(session_id="s1", **IVO)
    again = await memory.add(turns("hello", "hi", "again"), **CHAT)
    assert forgotten(again) == [0, 1]
    assert await contents(memory) == ["again"]
    once_more = await memory.add(turns("hello", "hi", "again", "more"), **CHAT)
    assert forgotten(once_more) == [0, 1]
    assert once_more.skipped[2].id == again.message_ids[0]
    assert await contents(memory) == ["again", "more"]


@pytest.mark.parametrize("place", range(4))
async def test_a_history_of_which_one_turn_was_forgotten(memory: AsyncMemory, place: int) -> None:
    texts = ("where is the pump?", "in the shed", "and the ladder?", "in the barn")
    said = await memory.add(turns(*texts), **CHAT)
    await memory.forget(ids=[said.message_ids[place]], **IVO)
    again = await memory.add(turns(*texts, "thank you"), **CHAT)
    assert forgotten(again) == [place]
    rest = [text for number, text in enumerate(texts) if number != place]
    assert await contents(memory) == [*rest, "thank you"]
    assert [item.index for item in again.skipped] == [0, 1, 2, 3]


async def test_a_history_without_what_was_forgotten(memory: AsyncMemory) -> None:
    """Who sends it may have dropped the forgotten turn too."""
    said = await memory.add(turns("hello", "hi", "where is the pump?", "in the shed"), **CHAT)
    await memory.forget(ids=[said.message_ids[1]], **IVO)
    rest = [*turns("hello"), *turns("where is the pump?", "in the shed", "thank you")]
    again = await memory.add(rest, **CHAT)
    assert forgotten(again) == []
    assert await contents(memory) == ["hello", "where is the pump?", "in the shed", "thank you"]


async def test_a_window_that_begins_in_what_was_forgotten(memory: AsyncMemory) -> None:
    texts = [f"turn number {n}" for n in range(12)]
    said = await memory.add(turns(*texts[:10]), **CHAT)
    await memory.forget(ids=said.message_ids[6:9], **IVO)
    again = await memory.add(turns(*texts)[7:], **CHAT)
    assert forgotten(again) == [0, 1]
    assert await contents(memory) == [*texts[:6], *texts[9:]]


async def test_one_turn_alone_is_a_new_statement(memory: AsyncMemory) -> None:
    said = await memory.add(turns("hello", "hi"), **CHAT)
    await memory.forget(ids=said.message_ids[1:], **IVO)
    again = await memory.add([turns("hello", "hi")[1]], **CHAT)
    assert forgotten(again) == []
    assert await contents(memory) == ["hello", "hi"]
    assert again.message_ids != said.message_ids[1:]


@pytest.mark.parametrize(
    "other",
    [
        {"session_id": "s2"},
        {"session_id": "s1", "occurred_at": "2026-05-02T08:00:00Z"},
        {"occurred_at": "2026-05-02T08:00:00Z"},
        {"user_id": "mira"},
        {"agent_id": "cook"},
    ],
    ids=str,
)
async def test_a_new_statement_of_it_is_stored(memory: AsyncMemory, other: dict[str, Any]) -> None:
    said = await memory.add("The key is under the mat.", **IVO)
    await memory.forget(ids=said.message_ids, **IVO)
    again = await memory.add("The key is under the mat.", **{**IVO, **other})
    assert forgotten(again) == []
    assert len(again.message_ids) == 1


async def test_a_forgotten_system_prompt(memory: AsyncMemory) -> None:
    prompt = {"role": "system", "content": "You look after Ivo's orchard."}
    said = await memory.add([prompt, *turns("hello", "hi")], **CHAT)
    await memory.forget(ids=said.message_ids[:1], **IVO)
    again = await memory.add([prompt, *turns("hello", "hi", "bye")], **CHAT)
    assert forgotten(again) == [0]
    assert await contents(memory) == ["hello", "hi", "bye"]
    assert forgotten(await memory.add([prompt], session_id="s2", **IVO)) == []


async def test_a_message_that_names_itself(memory: AsyncMemory) -> None:
    """By an id of its own, or by session, time, speaker and text."""
    told = [
        {"id": "m-1", "content": "The pump is broken."},
        {"content": "The ladder is new.", "occurred_at": "2026-05-01T08:00:00Z"},
    ]
    said = await memory.add(told, **CHAT)
    await memory.forget(ids=said.message_ids, **IVO)
    again = await memory.add([told[1], told[0], {"id": "m-2", "content": "Hm."}], **CHAT)
    assert forgotten(again) == [0, 1]
    assert await contents(memory) == ["Hm."]
    assert forgotten(await memory.add({**told[0], "id": "m-3"}, **CHAT)) == []
    later = {**told[1], "occurred_at": "2026-05-01T09:00:00Z"}
    assert forgotten(await memory.add(later, **CHAT)) == []


async def test_a_batch_with_its_key(memory: AsyncMemory) -> None:
    said = await memory.add(["one", "two"], idempotency_key="k-1", **CHAT)
    await memory.forget(ids=said.message_ids, **IVO)
    assert (await memory.batches(**IVO)).items[-1].idempotency_key is None
    again = await memory.add(["one", "two"], idempotency_key="k-1", **CHAT)
    assert (again.message_ids, again.batch_id) == ([], said.batch_id)
    assert forgotten(again) == [0, 1]
    with pytest.raises(Conflict, match="k-1"):
        await memory.add(["one", "three"], idempotency_key="k-1", **CHAT)
    assert len((await memory.add(["one", "two"], idempotency_key="k-2", **IVO)).message_ids) == 2


async def test_the_same_call_without_a_session(memory: AsyncMemory) -> None:
    await memory.add(["one", "two"], **IVO)
    await memory.forget(everything=True, **IVO)
    again = await memory.add(["one", "two"], **IVO)
    assert (again.message_ids, again.state) == ([], "done")
    assert forgotten(again) == [0, 1]
    assert len((await memory.add(["one", "two", "three"], **IVO)).message_ids) == 3


async def test_what_was_undone_first(memory: AsyncMemory) -> None:
    """Undone it may be sent again; erased it may not, but what was sent meanwhile stays."""
    said = await memory.add(turns("hello", "hi"), **CHAT)
    await memory.undo(said.batch_id, **IVO)
    again = await memory.add(turns("hello", "hi"), **CHAT)
    await memory.forget(ids=said.message_ids, **IVO)
    third = await memory.add(turns("hello", "hi", "bye"), **CHAT)
    assert third.message_ids[:2] == again.message_ids
    assert await contents(memory) == ["hello", "hi", "bye"]


# ── dumps ────────────────────────────────────────────────────────────────────────────────────

TALK = (
    "My sister Olga Lindqvist lives in Ghent and works as a welder.",
    "She sounds busy.",
    "My brother Emil lives in Porto.",
    "I planted a quince tree yesterday.",
)


@pytest.fixture
async def dumped(memory: AsyncMemory, tmp_path: Path) -> tuple[Path, Receipt]:
    """A dump of a conversation, and the receipt of what was said."""
    said = await memory.add(turns(*TALK), **CHAT)
    await memory.add(["The ladder is in the barn."], idempotency_key="k-1", **IVO)
    await memory.dump(tmp_path / "old.jsonl")
    return tmp_path / "old.jsonl", said


async def test_an_old_dump_brings_nothing_back(
    memory: AsyncMemory, dumped: tuple[Path, Receipt]
) -> None:
    old, said = dumped
    before = await titles(memory)
    assert any("Ghent" in title for title in before)
    await memory.forget(ids=said.message_ids[:1], **IVO)
    stands = await titles(memory)
    assert not any("Ghent" in title for title in stands)
    assert await memory.load(old) == 0
    assert await contents(memory) == [*TALK[1:], "The ladder is in the barn."]
    assert await titles(memory) == stands
    everything = [
        await memory.episodes(**IVO), await memory.entities(**IVO), await memory.batches(**IVO)
    ]  # fmt: skip
    assert "Ghent" not in str(everything)
    assert "Lindqvist" not in str(everything)
    assert await memory.verify() == []


async def test_an_old_dump_after_everything_was_forgotten(
    memory: AsyncMemory, dumped: tuple[Path, Receipt]
) -> None:
    old, _ = dumped
    await memory.forget(everything=True, **IVO)
    await memory.load(old)
    stats = await memory.stats(**IVO)
    assert (stats["messages"], stats["items"], stats["record_versions"]) == (0, 0, 0)
    assert (await memory.entities(**IVO)).items == []
    assert (await memory.episodes(**IVO)).items == []
    assert (await memory.batches(**IVO)).items[-1].idempotency_key is None
    assert await memory.verify() == []


async def test_a_moved_store_still_knows(
    memory: AsyncMemory, dumped: tuple[Path, Receipt], open_store: Any, tmp_path: Path
) -> None:
    old, said = dumped
    await memory.forget(ids=said.message_ids[1:3], **IVO)
    kept = await memory.add("The ladder is in the barn.", idempotency_key="k-1", **IVO)
    await memory.forget(ids=kept.message_ids, **IVO)
    await memory.dump(tmp_path / "new.jsonl")
    text = (tmp_path / "new.jsonl").read_text("utf-8")
    assert not any(gone in text for gone in ("Emil", "Porto", "ladder", said.message_ids[1]))

    moved: AsyncMemory = await open_store("moved")
    for _ in range(2):  # a load that is run again finds it all there
        await moved.load(tmp_path / "new.jsonl")
        await moved.load(old)
    assert await contents(moved) == await contents(memory) == [TALK[0], TALK[3]]
    assert sorted(await titles(moved)) == sorted(await titles(memory))
    again = await moved.add(turns(*TALK, "Did it rain?"), **CHAT)
    assert forgotten(again) == [1, 2]
    assert await contents(moved) == [TALK[0], TALK[3], "Did it rain?"]
    replayed = await moved.add("The ladder is in the barn.", idempotency_key="k-1", **IVO)
    assert replayed.message_ids == []
    assert await moved.verify() == []
