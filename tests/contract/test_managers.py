"""Memory written by a language model: what is asked, what is written, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest
from contract.conftest import Open
from contract.managed import event, fact, listed, meant, said, sound, tell, values

from memstrata.errors import ModelFailed
from memstrata.models.chat import Prompt
from memstrata.models.fake import FakeChat, FakeEmbedder
from memstrata.records import Message

pytestmark = pytest.mark.anyio

HOME = ["I live in Turku and I love herons.", "我住在望潮岛，我喜欢苍鹭。"]


# ── what it costs ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said_", "answer", "place", "liked"),
    [
        (HOME[0], "How is it there?", "Turku", "herons"),
        (HOME[1], "那里怎么样？", "望潮岛", "苍鹭"),
    ],
)
async def test_a_turn_is_one_call_and_one_embedding_batch(
    open_store: Open, embedder: FakeEmbedder, said_: str, answer: str, place: str, liked: str
) -> None:
    chat = FakeChat(said(fact("lives_in", place), fact("likes", liked)))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, said_, {"role": "assistant", "content": answer})
    assert receipt.state == "done"
    assert (receipt.ledger.model_calls, receipt.ledger.embedding_calls) == (1, 1)
    assert [use.model for use in receipt.ledger.models] == ["fake-chat"]
    assert receipt.ledger.input_tokens > 0
    assert [prompt.purpose for prompt in chat.prompts] == ["extract"]
    assert await values(memory) == {place: "current", liked: "current"}
    for record in await listed(memory):
        [made] = await memory.history(record.id, user_id="ottilie")
        assert made.actor == "managers (fake-chat)"
        assert "prompt single." in made.reason
        for evidence in record.evidence:
            source = await memory.get(evidence.source_id, user_id="ottilie")
            assert isinstance(source, Message)
            assert evidence.quote
            assert evidence.quote in source.content
    await sound(memory)


async def test_the_same_again_costs_nothing(open_store: Open, embedder: FakeEmbedder) -> None:
    chat = FakeChat(said(fact("lives_in", "Turku")))
    memory = await open_store(llm=chat)
    await tell(memory, HOME[0])
    before, texts = await listed(memory), embedder.texts
    again = await tell(memory, HOME[0])
    assert (again.ledger.model_calls, again.ledger.embedding_calls) == (0, 0)
    assert (len(chat.prompts), embedder.texts) == (1, texts)
    assert await listed(memory) == before


@pytest.mark.parametrize(
    "turns",
    [
        ["Hi!", "Hello, how are you?"],
        ["Thanks!", "You're welcome!"],
        ["你好！", "你好呀！"],
        ["👍"],
    ],
)
async def test_small_talk_costs_no_call(open_store: Open, turns: list[str]) -> None:
    chat = FakeChat()
    memory = await open_store(llm=chat)
    receipt = await tell(memory, *turns)
    assert (receipt.state, receipt.ledger.model_calls) == ("done", 0)
    assert chat.prompts == []
    assert len(await memory.episodes(user_id="ottilie")) == 1
    assert await listed(memory) == []


async def test_without_infer_no_model_is_asked(open_store: Open) -> None:
    chat = FakeChat()
    memory = await open_store(llm=chat)
    receipt = await tell(memory, HOME[0], infer=False)
    assert (receipt.state, chat.prompts) == ("done", [])


async def test_the_managers_are_one_call_that_routes_and_one_for_each_kind(
    open_store: Open,
) -> None:
    def manage(prompt: Prompt) -> Any:
        kind = prompt.purpose.removeprefix("manage ")
        made = {"semantic": fact("lives_in", "Turku", 1), "episodic": event("Saw herons.", 2)}
        return {"memories": [made[kind]]}

    routing = {
        "title": "Turku",
        "summary": "Moving.",
        "kinds": [{"kind": "semantic", "from": [1]}, {"kind": "episodic", "from": [2]}],
    }
    chat = FakeChat(routing, otherwise=manage)
    memory = await open_store(llm=chat)
    await memory.configure(strategy="managers")
    receipt = await tell(memory, "I live in Turku.", "I saw herons yesterday.")
    assert receipt.ledger.model_calls == 3
    assert receipt.ledger.embedding_calls == 1
    assert chat.prompts[0].purpose == "route"
    assert {p.purpose for p in chat.prompts[1:]} == {"manage semantic", "manage episodic"}
    for prompt in chat.prompts[1:]:
        new = prompt.turns[0].text.partition("NEW messages:")[2]
        assert ("[1]" in new) is (prompt.purpose == "manage semantic")
        assert ("[2]" in new) is (prompt.purpose == "manage episodic")
    assert {r.kind for r in await listed(memory)} == {"semantic", "episodic"}
    [episode] = await memory.episodes(user_id="ottilie")
    assert "Turku" in episode.title
    await sound(memory)


async def test_a_manager_rests_on_its_share_alone(open_store: Open) -> None:
    routing = {"title": "t", "summary": "s", "kinds": [{"kind": "semantic", "from": [2]}]}
    strays = {"memories": [fact("lives_in", "Turku", 1), fact("likes", "herons", 2)]}
    chat = FakeChat(routing, strays)
    memory = await open_store(llm=chat)
    await memory.configure(strategy="managers")
    receipt = await tell(memory, "I live in Turku.", "I like herons.")
    assert await values(memory) == {"herons": "current"}
    assert any("from" in one.reason for one in receipt.skipped)


async def test_a_routing_to_no_kind_is_one_call(open_store: Open) -> None:
    chat = FakeChat({"title": "Weather", "summary": "It rains.", "kinds": []})
    memory = await open_store(llm=chat)
    await memory.configure(strategy="managers")
    receipt = await tell(memory, "What is the weather like where you are?")
    assert (receipt.state, receipt.ledger.model_calls) == ("done", 1)
    assert await listed(memory) == []


async def test_a_failing_manager_fails_the_batch_and_nothing_is_written_twice(
    open_store: Open,
) -> None:
    def manage(prompt: Prompt) -> Any:
        if prompt.purpose == "manage episodic":
            return ModelFailed("the episodic manager is down")
        return {"memories": [fact("likes", "herons")]}

    routing = {"title": "t", "summary": "s", "kinds": ["semantic", "episodic"]}
    chat = FakeChat(routing, otherwise=manage)
    memory = await open_store(llm=chat)
    await memory.configure(strategy="managers")
    receipt = await tell(memory, "I live in Turku. I saw herons yesterday.")
    assert receipt.state == "failed"
    assert "episodic manager is down" in (receipt.reason or "")
    assert all("provisional" in r.metadata for r in await listed(memory))
    chat.script = [routing]
    chat.otherwise = {"memories": [fact("likes", "herons")]}
    routing["kinds"] = ["semantic"]
    assert (await memory.retry(receipt.batch_id, user_id="ottilie")).state == "done"
    assert await values(memory) == {"herons": "current"}
    await sound(memory)


# ── what is asked for ────────────────────────────────────────────────────────────────────────


async def test_only_the_kinds_of_an_add_are_offered_and_written(open_store: Open) -> None:
    chat = FakeChat(said(fact("lives_in", "Turku"), event("The user moved to Turku.")))
    memory = await open_store(llm=chat)
    await tell(memory, "I moved to Turku.", kinds=["episodic"])
    assert "- episodic:" in chat.prompts[0].system
    assert "- semantic:" not in chat.prompts[0].system
    assert {r.kind for r in await listed(memory)} == {"episodic"}
    await tell(memory, "I moved to Oslo.", kinds=[])
    assert len(chat.prompts) == 1
    await sound(memory)


async def test_what_is_configured_reaches_the_prompt_and_limits_what_is_written(
    open_store: Open,
) -> None:
    chat = FakeChat(otherwise=said(fact("lives_in", "Turku"), event("The user moved to Turku.")))
    memory = await open_store(llm=chat)
    await memory.configure(managers=["semantic"], instructions="Write names in full. 名字写全。")
    await tell(memory, "I moved to Turku. My name is Ottilie.")
    [prompt] = chat.prompts
    assert "- semantic:" in prompt.system
    assert "- episodic:" not in prompt.system
    assert "Write names in full. 名字写全。" in prompt.turns[0].text
    assert {r.kind for r in await listed(memory)} == {"semantic"}

    await memory.configure(instructions="", managers=["episodic"])
    await tell(memory, "I moved to Turku again.", session_id="bay")
    assert "Write names in full" not in chat.prompts[1].turns[0].text
    assert {r.kind for r in await listed(memory)} == {"semantic", "episodic"}

    chat.otherwise = ModelFailed("down")
    await tell(memory, "I live in Oslo. My name is Ottilie.", session_id="creek")
    assert "Oslo" not in await values(memory), "rules that stand in are limited too"


async def test_refused_proposals_are_told_and_the_others_hold(open_store: Open) -> None:
    chat = FakeChat(
        said(fact("lives_in", "Turku"), {"kind": "diary", "from": [1]}, fact("likes", "x", 9))
    )
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    assert receipt.state == "done"
    assert await values(memory) == {"Turku": "current"}
    assert len(receipt.skipped) == 2
    assert all(one.stored for one in receipt.skipped)
    assert len(chat.prompts) == 1


# ── episodes ─────────────────────────────────────────────────────────────────────────────────


async def test_a_model_tells_the_episode_and_small_talk_leaves_it(open_store: Open) -> None:
    chat = FakeChat(said(title="The move to Turku", summary="Ottilie moved to Turku in spring."))
    memory = await open_store(llm=chat)
    await tell(memory, "I moved to Turku.")
    [told] = await memory.episodes(user_id="ottilie")
    assert told.title.endswith("The move to Turku")
    assert told.summary == "Ottilie moved to Turku in spring."
    await tell(memory, "Thanks!", at="2026-03-01T10:01:00Z")
    [grown] = await memory.episodes(user_id="ottilie")
    assert (grown.title, grown.summary) == (told.title, told.summary)
    assert len(grown.message_ids) == 2
    assert len(chat.prompts) == 1

    chat.script = [said(title="Turku and its herons", summary="She moved, and saw herons.")]
    await tell(memory, "I saw herons there.", at="2026-03-01T10:02:00Z")
    [retold] = await memory.episodes(user_id="ottilie")
    assert retold.summary == "She moved, and saw herons."
    assert "Ottilie moved to Turku in spring." in chat.prompts[1].turns[0].text
    hits = await memory.search("herons", user_id="ottilie", strata=["episodes"])
    assert [hit.id for hit in hits] == [told.id]
    await sound(memory)


@pytest.mark.parametrize("told", [None, 7, "", [], {"a": 1}, "\ud83d half", "a\x00b", "x" * 9000])
async def test_whatever_a_title_is_there_is_one(open_store: Open, told: Any) -> None:
    reply = {"title": told, "summary": told, "memories": [fact("lives_in", "Turku")]}
    memory = await open_store(llm=FakeChat(reply))
    assert (await tell(memory, "I live in Turku.")).state == "done"
    [episode] = await memory.episodes(user_id="ottilie")
    assert episode.title
    assert episode.summary
    assert len(episode.title) < 500
    assert len(episode.summary) < 1500
    await sound(memory)


# ── changes ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("first", "second", "old", "new"),
    [("I live in Turku.", "I moved to Oslo.", "Turku", "Oslo"),
     ("我住在绍兴。", "我搬到大连了。", "绍兴", "大连")],
)  # fmt: skip
async def test_a_change_ends_what_was_so_and_can_be_taken_back(
    open_store: Open, first: str, second: str, old: str, new: str
) -> None:
    chat = FakeChat(
        said(fact("lives_in", old)),
        meant(old, lambda r: said(fact("lives_in", new, op="supersede", target=r))),
    )
    memory = await open_store(llm=chat)
    await tell(memory, first)
    receipt = await tell(memory, second, at="2026-04-01T10:00:00Z")
    assert await values(memory) == {old: "past", new: "current"}
    await memory.undo(receipt.batch_id, user_id="ottilie")
    assert await values(memory) == {old: "current"}
    await sound(memory)


@pytest.mark.parametrize(
    ("said_", "value"), [("I live in Turku.", "Turku"), ("我住在望潮岛。", "望潮岛")]
)
async def test_what_a_model_overlooks_the_rules_write(
    open_store: Open, said_: str, value: str
) -> None:
    chat = FakeChat(said())
    memory = await open_store(llm=chat)
    assert (await tell(memory, said_)).state == "done"
    assert await values(memory) == {value: "current"}
    [record] = await listed(memory)
    assert "provisional" not in record.metadata


async def test_what_does_not_hold_leaves_what_the_rules_read(open_store: Open) -> None:
    chat = FakeChat(said(fact("adores", "a purple elephant choir in Madrid")))
    memory = await open_store(llm=chat)
    receipt = await tell(memory, "I live in Turku.")
    assert await values(memory) == {"Turku": "current"}
    assert len(receipt.skipped) == 1


async def test_skip_is_evidence_and_no_second_record(open_store: Open) -> None:
    chat = FakeChat(
        said(fact("likes", "herons")),
        meant("herons", lambda r: said({"op": "skip", "target": r, "from": 1})),
    )
    memory = await open_store(llm=chat)
    await tell(memory, "I like herons.")
    receipt = await tell(memory, "Herons, as I said, are what I like.", session_id="bay")
    [record] = await listed(memory)
    assert receipt.message_ids[0] in {e.source_id for e in record.evidence}
    assert len(record.evidence) == 2
    await sound(memory)


async def test_a_plan_that_was_done_is_the_same_plan(open_store: Open) -> None:
    chat = FakeChat(
        said(event("The user will visit Wren.", plan=True, when="2026-03-08")),
        meant("visit Wren", lambda r: said(
            {"kind": "episodic", "op": "revise", "target": r, "from": 1, "done": True,
             "plan": True, "summary": "The user visited Wren."})),
    )  # fmt: skip
    memory = await open_store(llm=chat)
    await tell(memory, "I will visit Wren on 8 March 2026.")
    await tell(memory, "I visited Wren.", at="2026-03-09T10:00:00Z", session_id="bay")
    [plan] = await listed(memory, kinds=["episodic"])
    assert plan.fields["done"] is True
    assert str(plan.fields["due"]).startswith("2026-03-08")
    assert len(plan.evidence) == 2
    await sound(memory)


async def test_what_is_highly_sensitive_is_not_sent(open_store: Open) -> None:
    """Not to write memory either: only a person who asks for its kind is shown it."""
    chat = FakeChat(otherwise=said())
    memory = await open_store(llm=chat)
    for sensitivity, text in (("low", "ferns"), ("high", "lithium")):
        record = {"kind": "semantic", "name": f"Ottilie's doctor spoke of {text}."}
        await memory.create({**record, "sensitivity": sensitivity}, user_id="ottilie")
        core = {"kind": "core", "label": text, "value": f"Ask about {text}."}
        await memory.create({**core, "sensitivity": sensitivity}, user_id="ottilie")
    await tell(memory, "Ottilie's doctor spoke of ferns and lithium to Wren.")
    shown = chat.prompts[0].turns[0].text.partition("NEW messages")[0]
    assert "doctor spoke of ferns" in shown and "Ask about ferns" in shown
    assert "lithium" not in shown
