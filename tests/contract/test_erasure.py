"""What an erasure leaves behind: tombstones, what stays made anew, a receipt, and nothing else."""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from memstrata import AsyncMemory, Conflict, InvalidInput, NotFound, Receipt, Record
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Scope
from memstrata.runtime import new_id
from memstrata.store.erase import Order, Selection
from memstrata.store.ports import NewBatch, Told

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


async def record_of(memory: AsyncMemory, record_id: str) -> Record:
    """The open version of a record."""
    found = await memory.get(record_id, **IVO)
    assert isinstance(found, Record)
    return found


def forgotten(receipt: Receipt) -> list[int | None]:
    return [item.index for item in receipt.skipped if "forgotten" in item.reason]


# ── what stays is made anew ──────────────────────────────────────────────────────────────────


async def test_what_else_a_record_rested_on_is_distilled_again(memory: AsyncMemory) -> None:
    first = await memory.add("I live in Lisbon.", session_id="s1", **IVO)
    second = await memory.add("I live in Lisbon, near the river.", session_id="s2", **IVO)
    (before,) = await memory.list(kinds=["semantic"], **IVO)
    assert {e.source_id for e in before.evidence} == {*first.message_ids, *second.message_ids}
    receipt = await memory.forget(ids=second.message_ids, actor="ivo", reason="asked", **IVO)
    assert (receipt.rebuilding, receipt.state) == (1, "done")
    assert before.id in receipt.ids
    (after,) = await memory.list(kinds=["semantic"], **IVO)
    assert after.id != before.id
    assert [e.source_id for e in after.evidence] == first.message_ids
    assert "river" not in str(after)
    (change,) = await memory.history(after.id, **IVO)
    assert (change.batch_id, change.evidence) == (receipt.batch_id, first.message_ids)
    batch = (await memory.batches(**IVO)).items[0]
    assert (batch.id, batch.verb, batch.actor, batch.state) == (
        receipt.batch_id, "forget", "ivo", "done"
    )  # fmt: skip
    assert await memory.verify() == []


async def test_no_call_stores_what_is_made_anew_twice(memory: AsyncMemory) -> None:
    await memory.add(turns("I live in Lisbon.", "Nice."), session_id="s1", **IVO)
    again = await memory.add("I live in Lisbon, near the river.", session_id="s2", **IVO)
    await memory.forget(ids=again.message_ids, **IVO)
    before = await titles(memory)
    other = await memory.add("It rains.", session_id="s3", **IVO)
    await memory.forget(ids=other.message_ids, **IVO)
    assert await titles(memory) == before


@pytest.mark.parametrize("how", ["retire", "correct", "undo", "forget"])
async def test_what_a_person_took_back_is_not_made_anew(memory: AsyncMemory, how: str) -> None:
    """The message says two things; one was taken back, the other is made anew."""
    said = await memory.add("I live in Lisbon. I work as a welder.", session_id="s1", **IVO)
    records = {r.title: r.id for r in (await memory.list(kinds=["semantic"], **IVO)).items}
    [wrong] = [key for title, key in records.items() if "welder" in title]
    [home] = [key for title, key in records.items() if "Lisbon" in title]
    if how == "retire":
        await memory.retire(wrong, **IVO)
    elif how == "correct":
        await memory.update(wrong, name="Ivo is a baker", value="baker", **IVO)
    elif how == "undo":
        (change, *_) = await memory.history(wrong, **IVO)
        await memory.undo(change.id, **IVO)
    else:
        await memory.forget(ids=[wrong], **IVO)
    more = await memory.add("I live in Lisbon, by the river.", session_id="s2", **IVO)
    receipt = await memory.forget(ids=more.message_ids, **IVO)
    assert home in receipt.ids
    assert receipt.rebuilding == 1
    standing = [r.title for r in (await memory.list(kinds=["semantic"], **IVO)).items]
    assert any("Lisbon" in title for title in standing)
    assert not any("welder" in title for title in standing)
    assert said.message_ids[0] not in receipt.ids


async def test_what_was_not_to_be_distilled_is_not(memory: AsyncMemory) -> None:
    """Not because the message was cited by hand in a record that goes, either."""
    quiet = await memory.add("I live in Lisbon.", infer=False, session_id="s1", **IVO)
    loud = await memory.add("I have a boat.", session_id="s2", **IVO)
    events = await memory.add(
        "I work as a welder. I moved to Porto yesterday.",
        kinds=["episodic"], session_id="s3", **IVO,
    )  # fmt: skip
    cited = [*quiet.message_ids, *loud.message_ids, *events.message_ids]
    fact = {"kind": "semantic", "name": "Ivo is at sea", "evidence": cited}
    await memory.create(fact, **IVO)
    receipt = await memory.forget(ids=loud.message_ids, **IVO)
    assert receipt.rebuilding == 1
    assert {r.kind for r in (await memory.list(**IVO)).items} <= {"episodic"}


async def test_a_model_that_fails_leaves_it_to_retry(memory: AsyncMemory, embedder: Any) -> None:
    await memory.add("I live in Lisbon.", session_id="s1", **IVO)
    more = await memory.add("I live in Lisbon, by the river.", session_id="s2", **IVO)
    embedder.fail_next()
    receipt = await memory.forget(ids=more.message_ids, **IVO)
    assert receipt.state == "pending"
    assert receipt.batch_id in (receipt.reason or "")
    assert "river" not in str([await memory.list(**IVO), await memory.messages(**IVO)])
    await memory.retry(receipt.batch_id, **IVO)
    assert any("Lisbon" in title for title in await titles(memory))


async def test_a_name_from_an_erased_message_goes_with_it(memory: AsyncMemory) -> None:
    """Who "she" is was said only there."""
    said = await memory.add(
        ["My sister Olga came to stay.", "She lives in Ghent.", "My brother Emil lives in Porto."],
        **CHAT,
    )
    assert any("Olga" in title and "Ghent" in title for title in await titles(memory))
    await memory.forget(ids=said.message_ids[:1], **IVO)
    everything = [
        await memory.list(lifecycles=ALL, **IVO), await memory.entities(**IVO),
        await memory.episodes(**IVO),
    ]  # fmt: skip
    assert "Olga" not in str(everything)
    assert any("Porto" in title for title in await titles(memory))


async def test_a_spelling_only_an_erased_message_had_goes(memory: AsyncMemory) -> None:
    said = await memory.add(
        ["My friend Nina Sorensen keeps bees.", "Nina sold the honey.", "I saw Nina today."], **CHAT
    )
    (nina,) = [e for e in (await memory.entities(**IVO)).items if "Nina" in e.name]
    assert nina.name == "Nina Sorensen"
    await memory.forget(ids=said.message_ids[:1], **IVO)
    found = (await memory.entities(**IVO)).items
    assert "Sorensen" not in str(found)
    assert [e.id for e in found if e.name == "Nina"] == [nina.id]
    assert len(await memory.search("Sorensen", method="bm25", **IVO)) == 0


# ── chains of what ended what ────────────────────────────────────────────────────────────────


async def chain(memory: AsyncMemory, *places: str) -> tuple[list[Receipt], list[str]]:
    """Facts each of which ended the one before; receipts, and the ids of the records."""
    receipts = [
        await memory.add(
            f"I live in {place} now.", session_id=f"s{n}",
            occurred_at=f"2026-0{n + 1}-01T08:00:00Z", **IVO,
        )
        for n, place in enumerate(places)
    ]  # fmt: skip
    records = (await memory.list(kinds=["semantic"], lifecycles=ALL, **IVO)).items
    by_place = {place: r.id for r in records for place in places if place in r.title}
    return receipts, [by_place[place] for place in places]


async def test_what_an_erased_fact_had_ended_holds_again(memory: AsyncMemory) -> None:
    said, (lisbon, porto) = await chain(memory, "Lisbon", "Porto")
    assert (await record_of(memory, lisbon)).superseded_by == porto
    await memory.forget(ids=said[1].message_ids, **IVO)
    record = await record_of(memory, lisbon)
    assert (record.lifecycle, record.valid_to, record.superseded_by) == ("current", None, None)
    hits = await memory.search("where does Ivo live", kinds=["semantic"], **IVO)
    assert [hit.id for hit in hits] == [lisbon]
    log = await memory.history(lisbon, **IVO)
    assert porto not in str(log)
    assert said[1].message_ids[0] not in str(log)
    assert "end" not in [change.op for change in log]
    assert await memory.verify() == []


async def test_the_ends_of_a_chain_are_joined(memory: AsyncMemory) -> None:
    said, (lisbon, porto, faro) = await chain(memory, "Lisbon", "Porto", "Faro")
    await memory.forget(ids=said[1].message_ids, **IVO)
    old, new = await record_of(memory, lisbon), await record_of(memory, faro)
    assert (old.lifecycle, old.valid_to, old.superseded_by) == ("past", new.valid_from, faro)
    assert new.supersedes == lisbon
    april = await memory.search("where does Ivo live", as_of="2026-02-15T00:00:00Z", **IVO)
    assert lisbon in [hit.id for hit in april]
    assert porto not in json.dumps([r.model_dump(mode="json") for r in (old, new)])
    assert await memory.verify() == []


async def test_the_first_of_a_chain_goes(memory: AsyncMemory) -> None:
    said, (lisbon, porto) = await chain(memory, "Lisbon", "Porto")
    await memory.forget(ids=said[0].message_ids, **IVO)
    with pytest.raises(NotFound):
        await memory.get(lisbon, **IVO)
    record = await record_of(memory, porto)
    assert (record.lifecycle, record.supersedes) == ("current", None)
    assert await memory.verify() == []


async def test_two_in_a_row_go(memory: AsyncMemory) -> None:
    said, (lisbon, _, _, braga) = await chain(memory, "Lisbon", "Porto", "Faro", "Braga")
    await memory.forget(ids=[*said[1].message_ids, *said[2].message_ids], **IVO)
    old, new = await record_of(memory, lisbon), await record_of(memory, braga)
    assert (old.superseded_by, new.supersedes, old.valid_to) == (braga, lisbon, new.valid_from)


async def test_what_a_person_did_to_an_ended_fact_stays(memory: AsyncMemory) -> None:
    said, (lisbon, _) = await chain(memory, "Lisbon", "Porto")
    await memory.update(lisbon, tags=["home"], **IVO)
    await memory.forget(ids=said[1].message_ids, **IVO)
    record = await record_of(memory, lisbon)
    assert (record.lifecycle, record.tags, record.version) == ("current", ["home"], 3)


async def test_a_fact_ended_by_hand_with_a_reason_that_quotes_it(memory: AsyncMemory) -> None:
    fact = {"kind": "semantic", "name": "Ivo lives in Lisbon", "subject": "Ivo",
            "attribute": "residence", "value": "Lisbon"}  # fmt: skip
    (old,) = (await memory.create(fact, **IVO)).record_ids
    moved = await memory.update(
        old, value="Porto", name="Ivo lives in Porto", valid_from="2026-03-01",
        reason="he said Porto", **IVO,
    )  # fmt: skip
    (new,) = [key for key in moved.record_ids if key != old]
    await memory.forget(ids=[new], **IVO)
    record = await record_of(memory, old)
    assert (record.lifecycle, record.valid_to, record.superseded_by) == ("current", None, None)
    assert "Porto" not in str(await memory.history(old, **IVO))
    assert await memory.verify() == []


async def test_a_corrected_fact_stands_again_without_the_correction(memory: AsyncMemory) -> None:
    await memory.add("I live in Lisbon.", **CHAT)
    fix = await memory.add("I meant Porto, not Lisbon.", **CHAT)
    (wrong,) = await memory.list(kinds=["semantic"], lifecycles=["retired"], **IVO)
    assert "Lisbon" in wrong.title
    await memory.forget(ids=fix.message_ids, **IVO)
    record = await record_of(memory, wrong.id)
    assert (record.lifecycle, record.retired_at, record.superseded_by) == ("current", None, None)
    assert await memory.verify() == []


async def test_what_ended_when_it_was_learned(memory: AsyncMemory) -> None:
    """An older fact learned late was past from its first version on."""
    later = await memory.add(
        "I live in Porto now.", session_id="s1", occurred_at="2026-03-01T08:00:00Z", **IVO
    )
    await memory.add(
        "I live in Lisbon now.", session_id="s2", occurred_at="2026-01-01T08:00:00Z", **IVO
    )
    (old,) = await memory.list(kinds=["semantic"], lifecycles=["past"], **IVO)
    assert "Lisbon" in old.title
    await memory.forget(ids=later.message_ids, **IVO)
    record = await record_of(memory, old.id)
    assert (record.lifecycle, record.valid_to, record.superseded_by) == ("current", None, None)
    assert await memory.verify() == []


async def test_two_that_one_had_ended(memory: AsyncMemory) -> None:
    """The one that began links back to one of them only."""
    for place in ("Lisbon", "Braga"):
        fact = {"kind": "semantic", "subject": "user", "attribute": "lives_in", "value": place,
                "name": f"user lives in {place}", "valid_from": "2026-01-01"}  # fmt: skip
        await memory.create(fact, **IVO)
    said = await memory.add("I live in Porto now.", **CHAT)
    assert len((await memory.list(lifecycles=["past"], **IVO)).items) == 2
    receipt = await memory.forget(ids=said.message_ids, **IVO)
    left = (await memory.list(lifecycles=ALL, **IVO)).items
    assert [record.lifecycle for record in left] == ["current", "current"]
    assert not any(gone in str(left) for gone in receipt.ids)
    assert await memory.verify(erased=receipt.ids) == []
    assert await memory.verify() == []


# ── the receipt ──────────────────────────────────────────────────────────────────────────────


async def test_an_erasure_is_noted_and_cannot_be_undone(memory: AsyncMemory) -> None:
    said = await memory.add("The key is under the mat.", **IVO)
    receipt = await memory.forget(ids=said.message_ids, reason="Ivo asked", actor="nurse", **IVO)
    (batch, _) = (await memory.batches(**IVO)).items
    assert (batch.id, batch.verb, batch.actor) == (receipt.batch_id, "forget", "nurse")
    with pytest.raises(Conflict, match="cannot be undone"):
        await memory.undo(receipt.batch_id, **IVO)
    (entry,) = [e for e in (await memory.audit()).items if e.action == "erase"]
    assert (entry.actor, entry.reason, entry.target_id) == ("nurse", "Ivo asked", None)
    assert entry.detail == {"way": "ids", "messages": 1, "records": 0, "versions": 0}
    assert said.message_ids[0] not in str(entry)


async def test_a_dry_run_notes_nothing(memory: AsyncMemory) -> None:
    said = await memory.add("The key is under the mat.", **CHAT)
    receipt = await memory.forget(ids=said.message_ids, dry_run=True, **IVO)
    assert (receipt.state, receipt.batch_id) == ("dry_run", "")
    assert len((await memory.batches(**IVO)).items) == 1
    assert (await memory.audit()).items == []
    assert forgotten(await memory.add(turns("The key is under the mat."), **CHAT)) == []


async def test_nothing_to_erase_is_noted_nowhere(memory: AsyncMemory) -> None:
    receipt = await memory.forget(session_id="s9", **IVO)
    assert (receipt.batch_id, receipt.state) == ("", "done")
    assert await memory.scopes() == []


async def test_everything_of_a_user_leaves_what_agents_have_of_their_own(
    memory: AsyncMemory,
) -> None:
    await memory.add("The key is under the mat.", **IVO)
    await memory.add("He takes sugar.", agent_id="cook", **IVO)
    receipt = await memory.forget(everything=True, **IVO)
    (note,) = receipt.notes
    assert "'cook'" in note
    assert (await memory.forget(everything=True, agent_id="cook", **IVO)).notes == []
    assert (await memory.forget(everything=True, **IVO)).notes == []


# ── verify ───────────────────────────────────────────────────────────────────────────────────


async def test_nothing_of_what_was_erased_is_found(memory: AsyncMemory) -> None:
    said = await memory.add("My sister Olga lives in Ghent.", **CHAT)
    text = "My sister Olga lives in Ghent."
    records = [r.id for r in (await memory.list(**IVO)).items]
    ids = [*said.message_ids, *records]
    stored = await memory.verify(erased=ids, text=text)
    assert [line for line in stored if "is still stored" in line]
    assert any(line.startswith("the text still stands in a row") for line in stored)
    assert "Olga" not in str(stored)
    receipt = await memory.forget(ids=said.message_ids, **IVO)
    assert await memory.verify(erased=receipt.ids, text=text) == []


async def test_a_name_for_what_was_erased_that_someone_wrote_down(memory: AsyncMemory) -> None:
    said = await memory.add("The key is under the mat.", **IVO)
    (gone,) = said.message_ids
    note = {"kind": "semantic", "name": "A note", "metadata": {"about": gone}}
    await memory.create(note, **IVO)
    await memory.forget(ids=[gone], **IVO)
    (line,) = await memory.verify(erased=[gone])
    assert "records.metadata" in line


async def test_a_handle_of_one_scope_does_not_look_through_the_file(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInput, match="bound"):
        await memory.scoped(user_id="ivo").verify(text="what mira said")


# ── secrets and the audit log ────────────────────────────────────────────────────────────────

PASSWORD = "the router password: kX9!vT2#qLm4"


async def test_a_sealed_secret_goes_with_the_last_message_that_named_it(
    memory: AsyncMemory,
) -> None:
    one = await memory.add(f"Note {PASSWORD}", session_id="s1", **IVO)
    two = await memory.add(f"Again, {PASSWORD}", session_id="s2", **IVO)
    (entry,) = await memory.vault.list(**IVO)
    await memory.vault.reveal(entry.id, reason="to log in", **IVO)
    await memory.forget(ids=one.message_ids, **IVO)
    assert [e.id for e in await memory.vault.list(**IVO)] == [entry.id]
    assert [e.source_id for e in (await record_of(memory, entry.id)).evidence] == two.message_ids
    receipt = await memory.forget(ids=two.message_ids, **IVO)
    assert receipt.ids == [*two.message_ids, entry.id]
    assert (await memory.vault.list(**IVO)).items == []
    log = [(e.action, e.target_id, e.reason) for e in (await memory.audit()).items]
    (revealed,) = [row for row in log if row[0] == "reveal"]
    assert (revealed[1] or "").startswith("erased:")
    assert revealed[2] == ""
    assert entry.id not in str(log)
    assert await memory.verify(erased=receipt.ids) == []
    again = await memory.add(f"Once more, {PASSWORD}", session_id="s3", **IVO)
    (sealed,) = await memory.vault.list(**IVO)
    assert sealed.id != entry.id
    assert [e.source_id for e in sealed.evidence] == again.message_ids
    assert await memory.verify() == []


async def test_a_sealed_secret_can_be_erased_itself(memory: AsyncMemory) -> None:
    (entry,) = (await memory.vault.put("kX9!vT2#qLm4", caption="router", **IVO)).record_ids
    receipt = await memory.forget(ids=[entry], **IVO)
    assert receipt.ids == [entry]
    with pytest.raises(NotFound):
        await memory.vault.reveal(entry, reason="to log in", **IVO)
    assert await memory.verify(erased=[entry]) == []
    again = await memory.vault.put("kX9!vT2#qLm4", caption="router", **IVO)
    assert again.record_ids != [entry]


# ── what others are doing meanwhile ──────────────────────────────────────────────────────────


def meanwhile(
    memory: AsyncMemory,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    happens: Callable[[], Awaitable[None]],
    *,
    call: int = 0,
) -> None:
    """Let something happen right before one call of the store's operation."""
    store = memory._runtime.store
    plain = getattr(store, operation)
    calls = itertools.count()

    async def late(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == call:
            await happens()
        return await plain(*args, **kwargs)

    monkeypatch.setattr(store, operation, late)


async def direct_erase(memory: AsyncMemory, ids: list[str]) -> None:
    """What another process's `forget` does to the rows."""
    runtime = memory._runtime
    order = Order(
        NewBatch(new_id("batch"), "forget", "user", runtime.now()),
        bytes(range(16)),
        lambda messages: Told("told anew", messages[0].content),
    )
    whose = Scope(user_id="ivo")
    await runtime.store.erase(whose, Selection(ids=tuple(ids)), order, dry_run=False)


async def test_what_is_being_distilled_when_it_is_erased(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = await memory.add(
        ["My sister Olga lives in Ghent.", "My brother Emil lives in Porto."],
        wait=False, infer=True, **CHAT,
    )  # fmt: skip
    meanwhile(memory, monkeypatch, "distilled", lambda: direct_erase(memory, said.message_ids[:1]))
    batch = await memory.wait_for(said.batch_id, **IVO)
    assert batch.state == "done"
    everything = [
        await memory.list(lifecycles=ALL, **IVO), await memory.entities(**IVO),
        await memory.episodes(**IVO),
    ]  # fmt: skip
    assert "Porto" in str(everything)
    assert not any(word in str(everything) for word in ("Olga", "Ghent"))
    assert await memory.verify() == []


async def test_a_fact_that_is_being_added_to_when_it_is_erased(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await memory.add("I live in Lisbon.", session_id="s1", **IVO)
    meanwhile(memory, monkeypatch, "distilled", lambda: direct_erase(memory, first.message_ids))
    second = await memory.add("I live in Lisbon.", session_id="s2", **IVO)
    assert second.state == "done"
    (record,) = await memory.list(kinds=["semantic"], **IVO)
    assert [e.source_id for e in record.evidence] == second.message_ids
    assert await memory.verify() == []


async def test_a_vector_of_what_was_told_anew_meanwhile(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder
) -> None:
    """An episode's old vector does not come to stand for what is left of it."""
    said = await memory.add(["The key is under the mat.", "The barn is red."], **CHAT)
    embedded: list[str] = []
    plain = embedder.embed_passages

    def noted(texts: Sequence[str]) -> Any:
        embedded.extend(texts)
        return plain(texts)

    monkeypatch.setattr(embedder, "embed_passages", noted)
    gone = said.message_ids[:1]
    meanwhile(memory, monkeypatch, "store_vectors", lambda: direct_erase(memory, gone), call=0)
    late = {"session_id": "s2", "occurred_at": "2030-01-01T00:00:00Z"}
    await memory.add("The ladder is new.", **late, **IVO)
    told = [text for text in embedded if "barn" in text]
    assert "the mat" in told[0]  # the episode's, when it closed
    assert "the mat" not in told[-1]
    assert (await memory.stats(**IVO))["items_without_vector"] == 0
    assert await memory.verify() == []
