"""When the model fails: the rules stand in, marked, until it has read what was said."""

from __future__ import annotations

from typing import Any

import pytest
from contract.conftest import Open
from contract.managed import event, fact, listed, said, sound, tell, values

from memstrata.errors import BudgetExceeded, Conflict, ModelFailed
from memstrata.models.chat import Prompt
from memstrata.models.fake import FakeChat

pytestmark = pytest.mark.anyio


# ── when the model fails ─────────────────────────────────────────────────────────────────────


async def test_the_rules_stand_in_marked_and_are_replaced(open_store: Open) -> None:
    chat = FakeChat(ModelFailed("the endpoint is down"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku and I am allergic to walnuts.")
    assert receipt.state == "failed"
    assert "the endpoint is down" in (receipt.reason or "")
    stand_in = await listed(memory)
    assert {"Turku", "walnuts"} <= {str(r.fields.get("value")) for r in stand_in}
    for record in stand_in:
        assert record.metadata["provisional"] is True
        made = (await memory.history(record.id, user_id="ottilie"))[0]
        assert made.reason.startswith("provisional: ")
    assert [m.content for m in await memory.messages(user_id="ottilie")] == [
        "I live in Turku and I am allergic to walnuts."
    ]
    assert (await memory.search("walnuts", user_id="ottilie")).hits
    [episode] = await memory.episodes(user_id="ottilie")
    await sound(memory)

    chat.script = [said(fact("lives_in", "Turku"), fact("allergic_to", "walnuts"))]
    batch = await memory.retry(receipt.batch_id, user_id="ottilie")
    assert (batch.state, batch.reason) == ("done", None)
    assert batch.ledger.model_calls == 1
    written = await listed(memory)
    assert await values(memory) == {"Turku": "current", "walnuts": "current"}
    assert len(written) == 2
    assert all("provisional" not in r.metadata for r in written)
    assert [e.id for e in await memory.episodes(user_id="ottilie")] == [episode.id]
    hits = await memory.search("walnuts", user_id="ottilie", strata=["records"])
    assert hits[0].id in {r.id for r in written if r.fields["value"] == "walnuts"}
    assert {hit.id for hit in hits} <= {r.id for r in written}
    await sound(memory)
    with pytest.raises(Conflict):
        await memory.retry(receipt.batch_id, user_id="ottilie")


async def test_a_retry_tells_the_episode_too(open_store: Open) -> None:
    chat = FakeChat(ModelFailed("down"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    [plain] = await memory.episodes(user_id="ottilie")
    chat.script = [said(fact("lives_in", "Turku"), title="The home", summary="Home is in Turku.")]
    await memory.retry(receipt.batch_id, user_id="ottilie")
    [told] = await memory.episodes(user_id="ottilie")
    assert (told.id, told.message_ids) == (plain.id, plain.message_ids)
    assert told.title.endswith("The home")
    assert told.summary == "Home is in Turku."
    await sound(memory)


async def test_failing_again_changes_nothing(open_store: Open) -> None:
    chat = FakeChat(otherwise=ModelFailed("down"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.", "I love herons.")
    before = {(r.text, r.lifecycle) for r in await listed(memory)}
    for _ in range(3):
        assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "failed"
        assert {(r.text, r.lifecycle) for r in await listed(memory)} == before
        assert len(await listed(memory)) == len(before)
    assert len(await memory.episodes(user_id="ottilie")) == 1
    await sound(memory)


async def test_what_the_stand_in_ended_comes_back(open_store: Open) -> None:
    chat = FakeChat(said(fact("lives_in", "Turku")), ModelFailed("down"))
    memory = await open_store(llm=chat)
    await tell(memory, "I live in Turku.")
    receipt = await tell(memory, "I moved to Oslo.", at="2026-04-01T10:00:00Z")
    found = await values(memory)
    assert (found["Turku"], found["Oslo"]) == ("past", "current")
    chat.script = [said(event("The user moved boxes to Oslo."))]
    await memory.retry(receipt.batch_id, user_id="ottilie")
    assert await values(memory) == {"Turku": "current"}
    [home] = await listed(memory, kinds=["semantic"])
    assert (home.valid_to, home.superseded_by) == (None, None)
    await sound(memory)


async def test_what_a_person_changed_meanwhile_stays(open_store: Open) -> None:
    chat = FakeChat(ModelFailed("down"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    [home] = await listed(memory, kinds=["semantic"])
    await memory.update(home.id, details="by the river", user_id="ottilie")
    chat.script = [said(fact("lives_in", "Turku"))]
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    [kept] = await listed(memory, kinds=["semantic"])
    assert (kept.id, kept.fields["details"], kept.lifecycle) == (home.id, "by the river", "current")
    await sound(memory)


async def test_what_a_person_retired_meanwhile_is_not_written_anew_beside_it(
    open_store: Open,
) -> None:
    chat = FakeChat(ModelFailed("down"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    [home] = await listed(memory, kinds=["semantic"])
    await memory.retire(home.id, user_id="ottilie")
    chat.script = [said(fact("lives_in", "Turku"))]
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    assert [r.lifecycle for r in await listed(memory, kinds=["semantic"])] in (
        ["retired"],
        ["retired", "current"],
    )
    await sound(memory)


@pytest.mark.parametrize("when", ["failed", "retried"])
async def test_such_a_batch_can_be_taken_back(open_store: Open, when: str) -> None:
    chat = FakeChat(said(fact("lives_in", "Turku")), ModelFailed("down"))
    memory = await open_store(llm=chat)
    await tell(memory, "I live in Turku.")
    before = {(r.text, r.lifecycle, r.valid_to) for r in await listed(memory)}
    receipt = await tell(memory, "I moved to Oslo.", at="2026-04-01T10:00:00Z")
    if when == "retried":
        reply = said(fact("lives_in", "Oslo", op="supersede"))
        chat.script = [reply]
        await memory.retry(receipt.batch_id, user_id="ottilie")
    await memory.undo(receipt.batch_id, user_id="ottilie")
    assert {(r.text, r.lifecycle, r.valid_to) for r in await listed(memory)} == before
    assert [m.content for m in await memory.messages(user_id="ottilie")] == ["I live in Turku."]
    with pytest.raises(Conflict):
        await memory.retry(receipt.batch_id, user_id="ottilie")
    await sound(memory)


async def test_a_restart_between_failure_and_retry_loses_nothing(
    open_store: Open, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["open_store"] == "memory":
        pytest.skip("a store in memory does not outlive its handle")
    memory = await open_store(llm=FakeChat(ModelFailed("down")))
    receipt = await tell(memory, "I live in Turku.", "I love herons.")
    await memory.close()

    memory = await open_store(
        llm=FakeChat(said(fact("lives_in", "Turku"), fact("likes", "herons", 2)))
    )
    [batch] = await memory.batches(user_id="ottilie", state="failed")
    assert (batch.id, batch.reason) == (receipt.batch_id, "down")
    assert (await memory.retry(batch.id, user_id="ottilie")).state == "done"
    assert await values(memory) == {"Turku": "current", "herons": "current"}
    await sound(memory)


async def test_without_a_model_again_the_rules_result_holds(
    open_store: Open, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["open_store"] == "memory":
        pytest.skip("a store in memory does not outlive its handle")
    memory = await open_store(llm=FakeChat(ModelFailed("down")))
    receipt = await tell(memory, "I live in Turku.")
    await memory.close()
    memory = await open_store()
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    [home] = await listed(memory, kinds=["semantic"])
    assert "provisional" not in home.metadata
    await sound(memory)


async def test_what_was_forgotten_meanwhile_is_not_read(open_store: Open) -> None:
    chat = FakeChat(ModelFailed("down"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.", "I love herons.")
    await memory.forget(ids=receipt.message_ids[:1], user_id="ottilie")
    chat.script = [said(fact("likes", "herons"))]
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    assert "Turku" not in chat.prompts[-1].turns[0].text
    assert await values(memory) == {"herons": "current"}
    await sound(memory)


async def test_what_later_batches_built_on_stays(open_store: Open) -> None:
    chat = FakeChat(
        said(fact("lives_in", "Turku")),
        ModelFailed("down"),
        said(fact("lives_in", "Bergen", op="supersede")),
    )
    memory = await open_store(llm=chat)
    await tell(memory, "I live in Turku.")
    failed = await tell(memory, "I moved to Oslo.", at="2026-04-01T10:00:00Z")
    await tell(memory, "I moved to Bergen.", at="2026-05-01T10:00:00Z")
    chain = {"Turku": "past", "Oslo": "past", "Bergen": "current"}
    before = await values(memory)
    assert {key: before.get(key) for key in chain} == chain
    chat.script = [said(fact("lives_in", "Oslo", op="supersede"))]
    assert (await memory.retry(failed.batch_id, user_id="ottilie")).state == "done"
    assert await values(memory) == chain
    ends = {r.fields["value"]: str(r.valid_to)[:10] for r in await listed(memory)}
    assert ends == {"Turku": "2026-04-01", "Oslo": "2026-05-01", "Bergen": "None"}
    await sound(memory)


@pytest.mark.parametrize("change", ["update", "later batch"])
async def test_what_stays_is_no_longer_marked(open_store: Open, change: str) -> None:
    chat = FakeChat(ModelFailed("down"), said(fact("lives_in", "Bergen", op="supersede")))
    memory = await open_store(llm=chat)
    failed = await tell(memory, "I live in Oslo.")
    [home] = await listed(memory, kinds=["semantic"])
    if change == "update":
        await memory.update(home.id, details="by the river", user_id="ottilie")
    else:
        await tell(memory, "I moved to Bergen.", at="2026-05-01T10:00:00Z")
    chat.script = [said(fact("lives_in", "Oslo"))]
    await memory.retry(failed.batch_id, user_id="ottilie")
    [kept] = [r for r in await listed(memory) if r.id == home.id]
    assert "provisional" not in kept.metadata


async def test_a_spent_budget_is_a_reason_and_resumes(open_store: Open) -> None:
    chat = FakeChat(BudgetExceeded("10,000 tokens a day are spent"))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    assert receipt.state in ("failed", "pending")
    assert "tokens a day are spent" in (receipt.reason or "")
    assert "Turku" in await values(memory)
    chat.script = [said(fact("lives_in", "Turku"))]
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    [home] = await listed(memory, kinds=["semantic"])
    assert "provisional" not in home.metadata
    await sound(memory)


async def test_batches_after_a_failed_one_go_on(open_store: Open) -> None:
    chat = FakeChat(ModelFailed("down"), said(fact("likes", "herons")))
    memory = await open_store(llm=chat)
    first = await tell(memory, "I live in Turku.")
    second = await tell(memory, "I love herons.", session_id="bay")
    assert (first.state, second.state) == ("failed", "done")


LONG = "The tide at Ostholm was low and the gulls were loud. "


async def test_of_several_units_one_may_fail(open_store: Open) -> None:
    def reply(prompt: Prompt) -> Any:
        text = prompt.turns[0].text.partition("NEW messages:")[2]
        if "allergic" in text:
            return ModelFailed("one call failed")
        return said(fact("lives_in", "Turku")) if "Turku" in text else said()

    chat = FakeChat(otherwise=reply)
    memory = await open_store(llm=chat)
    filler = f"{LONG * 110} Ada saw it."
    receipt = await tell(
        memory, "I live in Turku. " + filler, "I am allergic to walnuts. " + filler
    )
    calls = len(chat.prompts)
    assert calls >= 2
    assert receipt.state == "failed"
    by_value = {r.fields.get("value"): r for r in await listed(memory, kinds=["semantic"])}
    assert "provisional" not in by_value["Turku"].metadata
    assert by_value["walnuts"].metadata["provisional"] is True

    def again(prompt: Prompt) -> Any:
        text = prompt.turns[0].text.partition("NEW messages:")[2]
        assert "I live in Turku" not in text, "what was read is not read again"
        return said(fact("allergic_to", "walnuts")) if "allergic" in text else said()

    chat.otherwise = again
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    by_value = {r.fields.get("value"): r for r in await listed(memory, kinds=["semantic"])}
    assert {"Turku", "walnuts"} <= set(by_value)
    assert not [r for r in by_value.values() if "provisional" in r.metadata]
    await sound(memory)
