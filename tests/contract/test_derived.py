"""Digests and the profile are taken back, made anew, and gone with what they rest on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from contract.tidied import IVO, MONDAY, TUESDAY, digests, profile, told

from memstrata import AsyncMemory, Conflict

pytestmark = pytest.mark.anyio


# ── taken back, and made anew ────────────────────────────────────────────────────────────────


async def test_undo_takes_all_of_it_back_until_it_is_asked_for_again(memory: AsyncMemory) -> None:
    await told(memory)
    done = await memory.consolidate(**IVO)
    await memory.undo(done.batch_id, **IVO)
    assert await digests(memory) == {}
    assert await profile(memory) is None
    late = await memory.add(["I own a boat.", "I live in Porto."], occurred_at=MONDAY, **IVO)
    await memory.forget(ids=late.message_ids[:1], **IVO)
    assert await digests(memory) == {}
    assert await profile(memory) is None
    assert await memory.verify() == []
    again = await memory.consolidate(**IVO)
    assert (again.digests, again.profile) == (4, True)


async def test_labels_that_somebody_put_on_it_stay(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    await memory.update(day.id, tags=["home"], metadata={"colour": "blue"}, **IVO)
    await memory.add("The boat is called Minerva.", occurred_at=MONDAY, **IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    assert "Minerva" in day.text
    assert (day.tags, day.metadata["colour"]) == (["home"], "blue")
    assert (await memory.consolidate(**IVO)).batch_id == ""


async def test_a_secret_that_was_none_stands_in_it_again(memory: AsyncMemory) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
    await memory.add(f"The boat's token is {token}.", occurred_at=MONDAY, **IVO)
    await memory.consolidate(**IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    assert token not in day.text and "[vault:" in day.text
    (entry,) = await memory.vault.list(**IVO)
    await memory.vault.release(entry.id, **IVO)
    assert token in (await digests(memory))["Monday 27 April 2026"].text
    await memory.add("The boat is called Minerva.", occurred_at=MONDAY, **IVO)
    assert "Minerva" in (await digests(memory))["Monday 27 April 2026"].text
    assert await memory.verify() == []


async def test_undo_reaches_what_was_made_anew_since(memory: AsyncMemory) -> None:
    await told(memory)
    done = await memory.consolidate(**IVO)
    await memory.add("The boat is called Minerva.", occurred_at=MONDAY, **IVO)
    assert "Minerva" in (await digests(memory))["Monday 27 April 2026"].text
    await memory.undo(done.batch_id, **IVO)
    assert await digests(memory) == {}
    assert await memory.verify() == []


async def test_undo_does_not_take_back_somebodys_edit(memory: AsyncMemory) -> None:
    await told(memory)
    done = await memory.consolidate(**IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    await memory.update(day.id, summary="A quiet day.", **IVO)
    with pytest.raises(Conflict, match="changed after"):
        await memory.undo(done.batch_id, **IVO)


async def test_a_message_that_comes_late_is_told_and_one_undone_is_not(memory: AsyncMemory) -> None:
    batches = await told(memory)
    await memory.consolidate(**IVO)
    late = await memory.add("The boat is called Minerva.", occurred_at=MONDAY, **IVO)
    found = await digests(memory)
    assert "Minerva" in found["Monday 27 April 2026"].text
    assert "Minerva" in found["Week of 27 April 2026"].text
    await memory.undo(late.batch_id, **IVO)
    assert "Minerva" not in "".join(r.text for r in (await digests(memory)).values())
    await memory.undo(batches["ferry"], **IVO)
    assert "Monday 4 May 2026" not in await digests(memory)
    assert await memory.verify() == []


async def test_a_fact_that_ends_leaves_the_profile(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    await memory.add("I moved to Porto.", occurred_at="2026-05-08T08:00:00Z", **IVO)
    made = await profile(memory)
    assert made is not None
    assert "user lives in Porto" in made.text
    assert "Lisbon" not in made.text
    facts = await memory.list(kinds=["semantic"], **IVO)
    jazz = next(r for r in facts if r.fields.get("value") == "jazz")
    await memory.retire(jazz.id, **IVO)
    made = await profile(memory)
    assert made is not None
    assert "jazz" not in made.text


async def test_what_was_retired_by_hand_is_not_made_again(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    await memory.retire(day.id, **IVO)
    assert (await memory.consolidate(**IVO)).batch_id == ""
    assert "Monday 27 April 2026" not in await digests(memory)


async def test_scopes_that_never_consolidated_get_no_digest(memory: AsyncMemory) -> None:
    batches = await told(memory)
    await memory.undo(batches["rex"], **IVO)
    said = (await memory.messages(**IVO)).items
    await memory.forget(ids=[said[0].id], **IVO)
    assert {b.verb for b in await memory.batches(**IVO)} == {"add", "undo", "forget"}


# ── forgotten ────────────────────────────────────────────────────────────────────────────────


async def test_what_is_forgotten_is_in_no_digest_and_no_profile(memory: AsyncMemory) -> None:
    await told(memory)
    gone = await memory.add(
        ["I live with Ottoline Quist.", "Ottoline plays the viola."], occurred_at=MONDAY, **IVO
    )
    await memory.consolidate(**IVO)
    before = await digests(memory)
    assert "Ottoline" in before["Monday 27 April 2026"].text
    facts = len(await memory.list(kinds=["semantic"], **IVO))
    receipt = await memory.forget(ids=gone.message_ids, **IVO)
    assert receipt.state == "done"
    after = await digests(memory)
    assert set(after) == set(before)
    assert "user: I live in Lisbon." in after["Monday 27 April 2026"].text
    texts = [r.text for r in await memory.list(**IVO)]
    assert "Ottoline" not in "".join(texts)
    made = await profile(memory)
    assert made is not None
    assert "user lives in Lisbon" in made.text
    assert receipt.rebuilding == 0, "nothing is distilled again because of a digest"
    assert facts - len(await memory.list(kinds=["semantic"], **IVO)) > 0
    assert await memory.verify(erased=receipt.ids, text="Ottoline") == []
    assert await memory.verify() == []
    assert (await memory.consolidate(**IVO)).batch_id == ""


async def test_what_is_forgotten_meanwhile_is_in_none(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await told(memory)
    gone = await memory.add("Ottoline plays the viola.", occurred_at=MONDAY, **IVO)
    store = memory._runtime.store
    commit: Callable[..., Awaitable[Any]] = store.consolidated
    forgotten: list[str] = []

    async def late(*given: Any) -> Any:
        if not forgotten:
            forgotten.extend(gone.message_ids)
            with anyio.move_on_after(0.05):  # it waits for this batch, and is done all the same
                await memory.forget(ids=gone.message_ids, **IVO)
        return await commit(*given)

    monkeypatch.setattr(store, "consolidated", late)
    assert (await memory.consolidate(**IVO)).state == "done"
    assert forgotten
    assert "Ottoline" not in "".join(r.text for r in await memory.list(**IVO))
    assert await memory.verify(erased=gone.message_ids, text="Ottoline") == []


async def test_nothing_of_what_was_forgotten_is_left_where_pages_were_given_back(
    memory: AsyncMemory,
) -> None:
    said = [f"Line {n}: {'quillwort ' * 200}" for n in range(900)]
    await memory.add(said, infer=False, session_id="long", **IVO)
    await told(memory)
    await memory.forget(session_id="long", **IVO)
    await memory.consolidate(**IVO)
    assert await memory.verify(text="quillwort") == []
    assert await memory.verify() == []


async def test_a_forgotten_digest_is_not_made_again_by_itself(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    receipt = await memory.forget(ids=[day.id], **IVO)
    assert receipt.rebuilding == 0
    assert "Monday 27 April 2026" not in await digests(memory)
    said = (await memory.messages(since=TUESDAY, limit=1, **IVO)).items[0]
    await memory.forget(ids=[said.id], **IVO)
    found = await digests(memory)
    assert "Monday 27 April 2026" not in found
    assert "Tuesday 28 April 2026" in found


async def test_dump_and_load_keep_it(open_store: Any, tmp_path: Path) -> None:
    memory: AsyncMemory = await open_store("one")
    await told(memory)
    await memory.consolidate(**IVO)
    await memory.dump(tmp_path / "all.jsonl")
    other: AsyncMemory = await open_store("two")
    await other.load(tmp_path / "all.jsonl")
    assert {t: r.text for t, r in (await digests(other)).items()} == {
        t: r.text for t, r in (await digests(memory)).items()
    }
    assert (await other.consolidate(**IVO)).batch_id == ""
    assert await other.verify() == []
