"""`forget`: gone by every way to read, and nothing else gone with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memstrata import (
    AsyncMemory,
    InvalidInput,
    MemstrataError,
    NotFound,
    Receipt,
    Record,
    ScopeRequired,
)

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
MARKER = "SENTINEL7731"


async def traces(memory: AsyncMemory, tmp_path: Path, **scope: Any) -> list[str]:
    """The ways to read that still show the marker."""
    where: dict[str, Any] = scope or IVO
    shown: dict[str, Any] = {}
    for method in ("hybrid", "bm25", "string_match", "embedding"):
        for time in ({}, {"known_at": "2026-05-09T00:00:00Z"}, {"as_of": "2026-05-09T00:00:00Z"}):
            results = await memory.search(MARKER, method=method, **time, **where)  # type: ignore[arg-type]
            shown[f"search {method} {time}"] = results.to_dict()["hits"]
    shown["context"] = str(await memory.context(MARKER, **where))
    shown["messages"] = (await memory.messages(hidden=True, **where)).items
    everything = ["current", "past", "review", "retired"]
    shown["list"] = (await memory.list(lifecycles=everything, **where)).items
    shown["batches"] = (await memory.batches(**where)).items
    shown["stats"] = await memory.stats(**where)
    await memory.dump(tmp_path / "dump.jsonl", **where)
    shown["dump"] = (tmp_path / "dump.jsonl").read_text("utf-8")
    return [way for way, what in shown.items() if MARKER in str(what)]


@pytest.fixture
async def told(memory: AsyncMemory) -> dict[str, Receipt]:
    """Receipts of what is in the store, the marker in all that Ivo's session s1 led to."""
    said = await memory.add(
        [f"the key is under {MARKER}", "and the lamp is on the shelf"], session_id="s1", **IVO
    )
    other = await memory.add("the ladder is in the barn", session_id="s2", tags=["barn"], **IVO)
    fact = {
        "kind": "semantic",
        "name": f"The key is under {MARKER}",
        "tags": ["keys"],
        "metadata": {"place": MARKER},
        "evidence": [said.message_ids[0]],
    }
    made = await memory.create(fact, reason=f"said {MARKER}", **IVO)
    kept = await memory.create({"kind": "semantic", "name": "The barn is red"}, **IVO)
    await memory.add(f"mira says {MARKER}", user_id="mira")
    await memory.add(f"the cook says {MARKER}", user_id="ivo", agent_id="cook")
    return {"said": said, "other": other, "made": made, "kept": kept}


async def test_the_marker_is_everywhere_before(
    memory: AsyncMemory, told: dict[str, Receipt], tmp_path: Path
) -> None:
    """So that not finding it afterwards means something."""
    shown = await traces(memory, tmp_path)
    assert {"context", "messages", "list", "dump"} <= set(shown)
    assert sum(way.startswith("search") for way in shown) >= 8


async def test_by_ids_with_what_rests_on_them(
    memory: AsyncMemory, told: dict[str, Receipt], tmp_path: Path
) -> None:
    """R35: what was derived from an erased message may repeat it, so it goes too."""
    receipt = await memory.forget(ids=[told["said"].message_ids[0]], **IVO)
    assert receipt.state == "done"
    assert (receipt.messages, receipt.records, receipt.versions) == (1, 1, 1)
    assert set(receipt.ids) == {told["said"].message_ids[0], *told["made"].record_ids}
    assert await traces(memory, tmp_path) == []
    for gone in receipt.ids:
        for verb in (memory.get, memory.history, memory.retire):
            with pytest.raises(NotFound):
                await verb(gone, **IVO)
    assert len(await memory.messages(**IVO)) == 2
    assert [r.title for r in await memory.list(**IVO)] == ["The barn is red"]
    assert await memory.verify() == []


async def test_by_session(memory: AsyncMemory, told: dict[str, Receipt], tmp_path: Path) -> None:
    receipt = await memory.forget(session_id="s1", **IVO)
    assert (receipt.messages, receipt.records) == (2, 1)
    assert await traces(memory, tmp_path) == []
    assert [m.content for m in await memory.messages(**IVO)] == ["the ladder is in the barn"]
    assert await memory.verify() == []


async def test_by_filters(memory: AsyncMemory, told: dict[str, Receipt]) -> None:
    receipt = await memory.forget(filters={"tags": {"contains": "barn"}}, **IVO)
    assert receipt.ids == told["other"].message_ids
    receipt = await memory.forget(filters={"metadata.place": MARKER}, **IVO)
    assert receipt.ids == told["made"].record_ids
    assert len(await memory.messages(**IVO)) == 2


async def test_everything_of_one_and_nothing_of_others(
    memory: AsyncMemory, told: dict[str, Receipt], tmp_path: Path
) -> None:
    receipt = await memory.forget(everything=True, **IVO)
    assert (receipt.messages, receipt.records, receipt.versions) == (3, 2, 2)
    assert await traces(memory, tmp_path) == []
    stats = await memory.stats(**IVO)
    assert (stats["messages"], stats["items"], stats["record_versions"]) == (0, 0, 0)
    cook = {"user_id": "ivo", "agent_id": "cook"}
    assert [m.content for m in await memory.messages(**cook)] == [f"the cook says {MARKER}"]
    assert [m.content for m in await memory.messages(user_id="mira")] == [f"mira says {MARKER}"]
    assert len(await memory.search(MARKER, method="bm25", user_id="mira")) == 1
    assert await memory.verify() == []


async def test_more_than_a_page_of_everything(memory: AsyncMemory) -> None:
    """R34: 250 of one user go, 7 of another stay, and the number is told."""
    await memory.add([f"note number {n}" for n in range(250)], user_id="ana", infer=False)
    await memory.add([f"note number {n}" for n in range(7)], user_id="bob", infer=False)
    receipt = await memory.forget(everything=True, user_id="ana")
    assert receipt.messages == 250
    assert (await memory.stats(user_id="ana"))["messages"] == 0
    assert (await memory.stats(user_id="bob"))["messages"] == 7
    assert len(await memory.search("note", limit=20, user_id="bob")) == 7
    with pytest.raises(ScopeRequired):
        await memory.forget(everything=True)


async def test_many_ids_at_once(memory: AsyncMemory) -> None:
    """R24."""
    texts = [f"note number {n}" for n in range(1200)]
    receipt = await memory.add(texts, infer=False, session_id="s1", **IVO)
    erased = await memory.forget(ids=receipt.message_ids[:1100], **IVO)
    assert erased.messages == 1100
    assert (await memory.stats(**IVO))["messages"] == 100


async def test_an_agent_forgets_its_own_only(memory: AsyncMemory, told: dict[str, Receipt]) -> None:
    receipt = await memory.forget(everything=True, agent_id="cook", **IVO)
    assert (receipt.messages, receipt.records) == (1, 0)
    assert len(await memory.messages(**IVO)) == 3
    with pytest.raises(NotFound):
        await memory.forget(ids=told["said"].message_ids, agent_id="cook", **IVO)


async def test_every_version_goes(memory: AsyncMemory, tmp_path: Path) -> None:
    made = await memory.create({"kind": "semantic", "name": f"Under {MARKER}"}, **IVO)
    (record_id,) = made.record_ids
    await memory.update(record_id, name="Under the mat", **IVO)
    await memory.retire(record_id, **IVO)
    assert await traces(memory, tmp_path) != []
    receipt = await memory.forget(ids=[record_id], **IVO)
    assert (receipt.records, receipt.versions, receipt.chunks) == (1, 3, 0)
    assert await traces(memory, tmp_path) == []
    assert await memory.verify() == []


async def test_chunks_are_counted_and_go(memory: AsyncMemory, tmp_path: Path) -> None:
    text = " ".join(f"line {n} of many." for n in range(2000)) + f" {MARKER}"
    said = await memory.add(text, infer=False, **IVO)
    items = (await memory.stats(**IVO))["items"]
    assert items > 3
    receipt = await memory.forget(ids=said.message_ids, **IVO)
    assert (receipt.messages, receipt.chunks) == (1, items - 1)
    assert await traces(memory, tmp_path) == []


async def test_what_an_undo_has_hidden_can_be_forgotten(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    said = await memory.add(f"the key is under {MARKER}", **IVO)
    made = await memory.create({"kind": "semantic", "name": f"Under {MARKER}"}, **IVO)
    await memory.undo(said.batch_id, **IVO)
    await memory.undo(made.batch_id, **IVO)
    receipt = await memory.forget(everything=True, **IVO)
    assert (receipt.messages, receipt.records) == (1, 1)
    assert await traces(memory, tmp_path) == []


async def test_a_dry_run_says_what_would_go(
    memory: AsyncMemory, told: dict[str, Receipt], tmp_path: Path
) -> None:
    before = await traces(memory, tmp_path)
    for way in ({"session_id": "s1"}, {"ids": told["said"].message_ids}, {"everything": True}):
        tried = await memory.forget(dry_run=True, **way, **IVO)  # type: ignore[arg-type]
        assert tried.state == "dry_run"
        assert tried.messages > 0
    assert await traces(memory, tmp_path) == before
    real = await memory.forget(everything=True, **IVO)
    assert tried.batch_id == ""
    assert tried.model_copy(update={"state": "done", "batch_id": real.batch_id}) == real


async def test_a_message_that_waits_for_its_vector(memory: AsyncMemory, embedder: Any) -> None:
    embedder.fail_next()
    failed = await memory.add(f"the key is under {MARKER}", **IVO)
    await memory.forget(ids=failed.message_ids, **IVO)
    await memory.add("something else", **IVO)
    assert (await memory.stats(**IVO))["items_without_vector"] == 0
    assert await memory.verify() == []


async def test_speakers_who_say_nothing_any_more_are_forgotten(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    said = await memory.add({"role": "user", "name": MARKER, "content": "hello"}, **IVO)
    await memory.add({"role": "user", "name": "Ivo", "content": "hello"}, **IVO)
    await memory.forget(ids=said.message_ids, **IVO)
    plan = (await memory.search(f"what did {MARKER} say", explain=True, **IVO)).plan
    assert plan is not None
    assert not plan.get("speaker")
    assert await traces(memory, tmp_path) == []


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"everything": False},
        {"ids": [], "everything": True},
        {"ids": ["a"], "session_id": "s1"},
        {"filters": {}},
        {"filters": {"and": [{}]}},
        {"filters": {"or": [{}, {"kind": "semantic"}]}},
        {"filters": {"not": {"not": {}}}},
        {"filters": {"colour": "green"}},
        {"filters": {"tags": {}}},
        {"ids": "msg_1"},
        {"ids": [5]},
        {"session_id": ""},
    ],
    ids=str,
)
async def test_an_unclear_selection_is_refused(
    memory: AsyncMemory, told: dict[str, Receipt], tmp_path: Path, way: dict[str, Any]
) -> None:
    before = await traces(memory, tmp_path)
    with pytest.raises(InvalidInput):
        await memory.forget(**way, **IVO)
    assert await traces(memory, tmp_path) == before


async def test_unknown_ids(memory: AsyncMemory, told: dict[str, Receipt]) -> None:
    with pytest.raises(NotFound, match="msg_unknown"):
        await memory.forget(ids=["msg_unknown"], **IVO)
    with pytest.raises(NotFound):
        await memory.forget(ids=told["said"].message_ids, user_id="mira")
    receipt = await memory.forget(ids=["msg_unknown", *told["other"].message_ids], **IVO)
    assert receipt.ids == told["other"].message_ids


async def test_an_unknown_session_or_user_has_nothing_to_forget(memory: AsyncMemory) -> None:
    assert (await memory.forget(session_id="s9", **IVO)).ids == []
    assert (await memory.forget(everything=True, user_id="nobody")).messages == 0
    assert await memory.scopes() == []


@pytest.mark.parametrize("hostile", ['x" or "1"=="1', "a') OR 1=1 --", "%", "*", "_"])
async def test_no_value_is_syntax(
    memory: AsyncMemory, told: dict[str, Receipt], hostile: str
) -> None:
    """R31."""
    assert (await memory.forget(session_id=hostile, **IVO)).messages == 0
    assert (await memory.forget(everything=True, user_id=hostile)).messages == 0
    assert (await memory.forget(filters={"role": hostile}, **IVO)).messages == 0
    with pytest.raises(MemstrataError):
        await memory.forget(ids=[hostile], **IVO)
    with pytest.raises(InvalidInput):
        await memory.forget(filters={f"metadata.{hostile}'": 1}, **IVO)
    assert len(await memory.messages(**IVO)) == 3


async def test_what_was_written_by_hand_stays_when_what_was_added_to_it_goes(
    memory: AsyncMemory,
) -> None:
    own = {"kind": "core", "label": "human", "value": "Ivo sails."}
    [block] = (await memory.create(own, **IVO)).record_ids
    first = await memory.add("Call me Ivo. My name is Ivo Lund.", session_id="a", **IVO)
    second = await memory.add("Always answer in Bulgarian.", session_id="b", **IVO)
    told = await memory.get(block, **IVO)
    assert isinstance(told, Record) and told.text.endswith("Always answer in Bulgarian")
    erased = await memory.forget(ids=second.message_ids, **IVO)
    assert [note.split()[1] for note in erased.notes] == [block]
    left = await memory.get(block, **IVO)
    assert isinstance(left, Record)
    assert (left.text.splitlines()[0], "Bulgarian" in left.text) == ("Ivo sails.", False)
    assert await memory.verify(erased=second.message_ids) == []
    await memory.forget(ids=first.message_ids, **IVO)
    last = await memory.get(block, **IVO)
    assert isinstance(last, Record)
    assert (last.text, last.version, last.evidence) == ("Ivo sails.", 1, [])
    assert await memory.verify() == []


async def test_what_was_written_by_hand_stays_when_who_confirmed_it_is_forgotten(
    memory: AsyncMemory,
) -> None:
    fact = {"kind": "semantic", "name": "The boat is green"}
    [kept] = (await memory.create(fact, **IVO)).record_ids
    said = await memory.add("it is green", infer=False, **IVO)
    await memory.create({**fact, "evidence": said.message_ids}, **IVO)
    assert (await memory.forget(ids=said.message_ids, **IVO)).records == 0
    left = await memory.get(kept, **IVO)
    assert isinstance(left, Record)
    assert left.evidence == []
    assert await memory.verify(erased=said.message_ids) == []
    assert await memory.verify() == []
