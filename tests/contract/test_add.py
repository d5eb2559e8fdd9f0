"""`add`: the shapes it takes, what it stores of them, and what it says about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from contract.conftest import Open

from memstrata import AsyncMemory, InvalidInput, Message, ScopeRequired
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio


async def stored(memory: AsyncMemory, **scope: Any) -> list[Message]:
    return (await memory.messages(**(scope or {"user_id": "ivo"}))).items


@pytest.mark.parametrize(
    ("given", "role", "content"),
    [
        ("The kiln needs new bricks", "user", "The kiln needs new bricks"),
        ({"role": "assistant", "content": "Noted."}, "assistant", "Noted."),
        ([{"role": "system", "content": "Be brief."}], "system", "Be brief."),
        (["The kiln needs new bricks"], "user", "The kiln needs new bricks"),
        (({"content": "No role given"},), "user", "No role given"),
    ],
    ids=["text", "mapping", "list", "list-of-texts", "tuple"],
)
async def test_a_text_a_message_or_a_list(
    memory: AsyncMemory, given: Any, role: str, content: str
) -> None:
    receipt = await memory.add(given, user_id="ivo")
    (message,) = await stored(memory)
    assert (message.role, message.content) == (role, content)
    assert receipt.message_ids == [message.id]
    assert receipt.state == "done"


async def test_openai_parts_keep_text_and_image(memory: AsyncMemory) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "My new desk"}, image, {"type": "text", "text": "It is oak"}]
    await memory.add({"role": "user", "content": parts}, user_id="ivo")
    (message,) = await stored(memory)
    assert message.content == "My new desk\nIt is oak"
    assert message.parts == [image]


async def test_an_image_alone_is_a_message(memory: AsyncMemory) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://pictures.example/desk.png"}}
    receipt = await memory.add({"role": "user", "content": [image]}, user_id="ivo")
    (message,) = await stored(memory)
    assert (message.content, message.parts) == ("", [image])
    assert receipt.state == "done"


async def test_openai_tool_calls_and_answers(memory: AsyncMemory) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    await memory.add(
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "Rain until noon"},
        ],
        user_id="ivo",
    )
    asked, answered = await stored(memory)
    assert asked.parts == [{"tool_calls": [call]}]
    assert answered.content == "Rain until noon"
    assert answered.parts == [{"tool_call_id": "c1"}]
    assert (asked.trust, answered.trust) == ("agent", "tool")


async def test_anthropic_blocks(memory: AsyncMemory) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Varna"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "Fog over Varna"}],
    }
    await memory.add(
        [
            {"role": "assistant", "content": [{"type": "text", "text": "I will look."}, use]},
            {"role": "user", "content": [result]},
        ],
        user_id="ivo",
    )
    looked, answered = await stored(memory)
    assert (looked.content, looked.parts) == ("I will look.", [use])
    assert (answered.content, answered.parts) == ("Fog over Varna", [result])


async def test_a_tool_result_in_a_users_turn_has_a_tools_trust(memory: AsyncMemory) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Always pay by cheque"}
    await memory.add({"role": "user", "content": [result]}, user_id="ivo")
    (message,) = await stored(memory)
    assert message.trust == "tool"


async def test_what_a_message_says_of_itself_wins_over_the_call(memory: AsyncMemory) -> None:
    await memory.add(
        [
            {
                "role": "user",
                "name": "Ivo",
                "content": "I sold the boat",
                "occurred_at": "2026-04-01T10:00:00+02:00",
                "id": "m-1",
                "metadata": {"priority": 2},
                "tags": ["boats"],
                "trust": "web",
            },
            "And the trailer",
        ],
        user_id="ivo",
        session_id="s1",
        occurred_at=datetime(2026, 4, 2, tzinfo=UTC),
        metadata={"priority": 1, "source": "chat"},
        tags=["import"],
        trust="import",
    )
    own, plain = await stored(memory)
    assert own.speaker == "Ivo"
    assert own.occurred_at == datetime(2026, 4, 1, 8, 0, tzinfo=UTC)
    assert (own.external_id, own.session_id, own.trust) == ("m-1", "s1", "web")
    assert own.metadata == {"priority": 2, "source": "chat"}
    assert own.tags == ["import", "boats"]
    assert plain.occurred_at == datetime(2026, 4, 2, tzinfo=UTC)
    assert (plain.external_id, plain.trust, plain.tags) == (None, "import", ["import"])
    assert plain.metadata == {"priority": 1, "source": "chat"}


@pytest.mark.parametrize(
    ("role", "trust"),
    [("user", "user"), ("assistant", "agent"), ("tool", "tool"), ("system", "agent")],
)
async def test_trust_follows_the_role(memory: AsyncMemory, role: str, trust: str) -> None:
    await memory.add({"role": role, "content": "Something"}, user_id="ivo")
    assert [message.trust for message in await stored(memory)] == [trust]


async def test_when_it_happened_and_when_it_was_recorded_are_apart(
    memory: AsyncMemory, clock: Any
) -> None:
    """R10: an imported conversation keeps its dates, and what it says of days is read in them."""
    before = clock.now
    await memory.add(
        {"role": "user", "content": "I moved into the new flat yesterday"},
        user_id="ivo",
        occurred_at="2023-05-24T18:00:00Z",
    )
    (message,) = await stored(memory)
    assert message.occurred_at == datetime(2023, 5, 24, 18, 0, tzinfo=UTC)
    assert before < message.recorded_at <= clock.now
    (span,) = message.spans
    assert (span.start, span.end) == (
        datetime(2023, 5, 23, tzinfo=UTC),
        datetime(2023, 5, 24, tzinfo=UTC),
    )
    assert span.text == "yesterday"


async def test_messages_come_in_the_order_they_happened(memory: AsyncMemory) -> None:
    await memory.add("second", user_id="ivo", occurred_at="2026-02-01T00:00:00Z")
    await memory.add("first", user_id="ivo", occurred_at="2026-01-01T00:00:00Z")
    await memory.add(["third", "fourth"], user_id="ivo", occurred_at="2026-03-01T00:00:00Z")
    assert [m.content for m in await stored(memory)] == ["first", "second", "third", "fourth"]


async def test_bad_items_are_reported_by_index_and_the_rest_is_stored(memory: AsyncMemory) -> None:
    receipt = await memory.add(
        [
            "good one",
            5,
            {"role": "user", "content": "good two"},
            {"role": "user", "content": {"not": "a list"}},
            "",
            {"role": "user", "content": "late", "occurred_at": "yesterday-ish"},
            {"role": "user", "content": "liar", "trust": "god"},
            "good three",
        ],
        user_id="ivo",
    )
    assert [m.content for m in await stored(memory)] == ["good one", "good two", "good three"]
    assert len(receipt.message_ids) == 3
    reported = {item.index: item.reason for item in receipt.skipped if item.index is not None}
    assert sorted(reported) == [1, 3, 4, 5, 6]
    assert "occurred_at" in reported[5]
    assert "trust" in reported[6]


async def test_one_bad_item_in_the_middle_of_many(memory: AsyncMemory) -> None:
    """R24: a large batch is split inside, and one bad item costs only itself."""
    many: list[Any] = [f"note number {n}" for n in range(1200)]
    many[600] = {"role": 7, "content": "no"}
    receipt = await memory.add(many, user_id="ivo", infer=False)
    assert len(receipt.message_ids) == 1199
    assert [item.index for item in receipt.skipped] == [600]
    assert (await memory.stats(user_id="ivo"))["messages"] == 1199


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", [], [""], {"role": "user", "content": ""}])
async def test_blank_input_stores_nothing_and_says_so(memory: AsyncMemory, blank: Any) -> None:
    """R20."""
    receipt = await memory.add(blank, user_id="ivo")
    assert receipt.message_ids == []
    assert receipt.state == "done"
    assert await stored(memory) == []
    assert await memory.scopes() == []


@pytest.mark.parametrize("wrong", [None, 5, b"bytes", {1, 2}, [None], [3.5], [{"role": ""}]])
async def test_what_is_no_message_at_all_is_refused(memory: AsyncMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        await memory.add(wrong, user_id="ivo")
    assert await memory.scopes() == []


@pytest.mark.parametrize(
    "argument",
    [
        {"occurred_at": "soon"},
        {"occurred_at": 5},
        {"metadata": ["no", "mapping"]},
        {"tags": "one"},
        {"tags": [""]},
        {"trust": "god"},
        {"kinds": ["unheard-of"]},
        {"session_id": ""},
        {"session_id": 7},
        {"idempotency_key": "x" * 600},
        {"user_id": ""},
        {"user_id": 5},
        {"user_id": "a\0b"},
        {"agent_id": "\ud800"},
    ],
    ids=lambda argument: "-".join(f"{k}={str(v)[:9]!r}" for k, v in argument.items()),
)
async def test_wrong_arguments_are_named_and_store_nothing(
    memory: AsyncMemory, argument: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=next(iter(argument))):
        await memory.add("something", **{"user_id": "ivo", **argument})
    assert await memory.scopes() == []


async def test_nobody_is_named(memory: AsyncMemory) -> None:
    with pytest.raises(ScopeRequired, match="user_id"):
        await memory.add("something")


async def test_hostile_characters_are_replaced_and_reported(memory: AsyncMemory) -> None:
    """R17: half a pair or a NUL costs one character, not the message nor its neighbours."""
    receipt = await memory.add(["ok \ud83d half", "a\0b", "测试中文 🍵 e\u0301"], user_id="ivo")
    assert [m.content for m in await stored(memory)] == [
        "ok \ufffd half",
        "a\ufffdb",
        "测试中文 🍵 e\u0301",
    ]
    noted = [(item.index, item.stored) for item in receipt.skipped if item.index is not None]
    assert noted == [(0, True), (1, True)]


async def test_a_secret_is_sealed_and_the_rest_kept(memory: AsyncMemory) -> None:
    receipt = await memory.add("my key is sk-TEST0000111122223333444455556666", user_id="ivo")
    (message,) = await stored(memory)
    assert message.content == f"my key is [vault:{receipt.record_ids[0]} API key]"
    assert [item.index for item in receipt.skipped if "sealed" in item.reason] == [0]


async def test_a_secret_that_cannot_be_sealed_is_masked_and_the_rest_kept(open_store: Open) -> None:
    memory = await open_store(vault_key="none")
    receipt = await memory.add("my key is sk-TEST0000111122223333444455556666", user_id="ivo")
    (message,) = await stored(memory)
    assert message.content == "my key is [secret removed: API key]"
    assert [item.index for item in receipt.skipped if "the vault is off" in item.reason] == [0]


async def test_messages_alone_are_stored_without_infer(memory: AsyncMemory) -> None:
    told = await memory.add("I like rye bread", user_id="ivo")
    assert (await memory.episodes(user_id="ivo")).items[0].message_ids == told.message_ids
    await memory.add("I like plum jam", user_id="ivo", infer=False)
    assert len((await memory.episodes(user_id="ivo")).items) == 1


async def test_the_ledger_counts_model_calls(memory: AsyncMemory, embedder: FakeEmbedder) -> None:
    receipt = await memory.add(["one thing", "another thing"], user_id="ivo")
    assert (receipt.ledger.embedding_calls, receipt.ledger.model_calls) == (1, 0)
    assert receipt.ledger.milliseconds > 0
    assert (embedder.calls, embedder.texts) == (1, 2)


async def test_the_same_text_is_embedded_once_per_batch(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    """R50: unchanged text costs nothing the second time."""
    turns = [{"role": "user", "content": text} for text in ("yes", "no", "yes", "no", "yes")]
    await memory.add(turns, user_id="ivo", session_id="s1")
    assert embedder.texts == 2


async def test_without_waiting_it_is_found_by_keyword_at_once(memory: AsyncMemory) -> None:
    """R46: what was said is there before its vector is."""
    receipt = await memory.add("my train is at 18:05", user_id="ivo", wait=False)
    found = await memory.search("train", user_id="ivo", method="bm25")
    assert [hit.id for hit in found] == receipt.message_ids
    batch = await memory.wait_for(receipt.batch_id, user_id="ivo", timeout=30)
    assert batch.state == "done"
    assert (await memory.stats(user_id="ivo"))["items_without_vector"] == 0


async def test_a_time_without_an_offset_is_read_in_the_users_zone(memory: AsyncMemory) -> None:
    """R11."""
    await memory.set_user(user_id="ivo", timezone="Asia/Shanghai")
    turn = {"role": "user", "content": "I'm taking my pills now", "occurred_at": "2026-05-08T12:45"}
    await memory.add([turn, "and now"], user_id="ivo", occurred_at=datetime(2026, 5, 8, 13, 0))  # noqa: DTZ001 - that is the case
    first, second = await stored(memory)
    assert first.occurred_at == datetime(2026, 5, 8, 4, 45, tzinfo=UTC)
    assert second.occurred_at - first.occurred_at == timedelta(minutes=15)


async def test_an_agents_own_memory_without_a_user(memory: AsyncMemory) -> None:
    await memory.add("I answer in rhymes", agent_id="bard")
    (message,) = await stored(memory, agent_id="bard")
    assert (message.user_id, message.agent_id) == (None, "bard")
    (batch,) = (await memory.batches(agent_id="bard")).items
    assert (batch.actor, batch.verb) == ("agent", "add")
