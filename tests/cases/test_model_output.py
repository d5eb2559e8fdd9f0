"""What a model replies: the right facts through any wrapping, or a failure that says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases.support import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.managers.replies import ITEMS

import memstrata
from memstrata import Memory
from memstrata.kinds import KINDS
from memstrata.models.chat import Prompt, Reply
from memstrata.models.fake import FakeChat
from memstrata.records import ModelUse, Receipt

USER: dict[str, Any] = {"user_id": "ottilie"}
ANY = ["current", "past", "review", "retired"]


def fact(value: str, attribute: str = "keeps", **more: Any) -> dict[str, Any]:
    return {
        "kind": "semantic",
        "op": "create",
        "from": [1],
        "sentence": f"The user {attribute} {value}.",
        "subject": "user",
        "attribute": attribute,
        "value": value,
        **more,
    }


def reply(*memories: Any) -> str:
    return json.dumps(
        {"title": "Bees", "summary": "About bees.", "memories": memories}, ensure_ascii=False
    )


SAID = "I keep bees on the roof. 我在屋顶养蜜蜂。"
GOOD = reply(fact("bees on the roof"))
GOOD_ZH = reply(fact("蜜蜂", "养", sentence="用户在屋顶养蜜蜂。"))
DECOY = reply(fact("wolves on the roof"))


def written(memory: Memory) -> list[Any]:
    return [r.fields.get("value") for r in memory.list(**USER, lifecycles=ANY)]


Wrap = Callable[[str], str]
READABLE: dict[str, Wrap] = {
    "bare": lambda good: good,
    "fenced": lambda good: f"```json\n{good}\n```",
    "fenced without language": lambda good: f"```\n{good}\n```",
    "think block with a decoy": lambda good: (
        f'<think>{{"facts": ["wrong"]}}\n{DECOY}</think>\n{good}'
    ),
    "thinking, fenced": lambda good: f"<thinking>{DECOY}</thinking>\n```json\n{good}\n```",
    "only the end of a think block": lambda good: f"{DECOY}\n</think>\n{good}",
    "text before": lambda good: f"Sure! Here is what I would keep:\n{good}",
    "text after": lambda good: f"{good}\nLet me know if you need more.",
    "text around, Chinese": lambda good: f"好的，以下是需要记住的内容：\n{good}\n希望有帮助。",
    "an earlier draft": lambda good: f"Draft: {DECOY}\n\nFinal answer:\n{good}",
    "trailing comma": lambda good: good[:-1].removesuffix("]") + ",]}",
    "single quotes": lambda good: repr(json.loads(good)),
    "list for object": lambda good: json.dumps(json.loads(good)["memories"], ensure_ascii=False),
    "a tool call": lambda good: json.dumps({"name": "write", "arguments": json.loads(good)}),
    "a tool call in markup": lambda good: (
        f'<tool_call>\n{{"name": "write", "arguments": {good}}}\n</tool_call>'
    ),
    "JSON in JSON": json.dumps,
    "a byte order mark": lambda good: f"\ufeff{good}",
}
"""Replies that hold the right object, whatever is around it."""
HOPELESS: dict[str, str] = {
    "an unclosed think block": f"<think>I should keep {DECOY}",
    "null": "null",
    "nothing": "",
    "blanks": " \n\t ",
    "prose": "I have stored that you keep bees.",
    "prose, Chinese": "我已经记住了：你养蜜蜂。",
    "a list of texts": '["keeps bees", "on the roof"]',
    "another object": '{"facts": ["keeps bees"]}',
    "a number": "42",
    "tool markup without arguments": "<tool_call>core_memory_append(bees)</tool_call>",
    "half of it": GOOD[: len(GOOD) // 2],
    "an error": '{"error": "context length exceeded"}',
    "memories of the wrong type": '{"title": "t", "summary": "s", "memories": "keeps bees"}',
    "only unsound ones": reply({"kind": "diary", "from": [1]}, fact("x", **{"from": [9]}), None),
}
"""Replies of which nothing can be made."""


@pytest.mark.parametrize("good", [GOOD, GOOD_ZH], ids=["en", "zh"])
@pytest.mark.parametrize("name", READABLE)
def test_r26_the_right_facts_come_through_whatever_is_around_them(
    path: Path, name: str, good: str
) -> None:
    """JSON in fences or after reasoning was not parsed, and the memory was lost
    (mem0ai/mem0 #1854, PR #3548)."""
    chat = FakeChat(READABLE[name](good), good)
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add(SAID, **USER)
        assert (receipt.state, receipt.reason) == ("done", None)
        assert written(memory) == [json.loads(good)["memories"][0]["value"]]
        assert len(receipt.record_ids) == 1
        assert len(chat.prompts) <= 2, "one bounded retry"
        assert memory.verify() == []


@pytest.mark.parametrize("name", HOPELESS)
def test_r26_what_cannot_be_read_is_asked_for_once_more(path: Path, name: str) -> None:
    chat = FakeChat(HOPELESS[name], GOOD)
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add(SAID, **USER)
        assert receipt.state == "done"
        assert receipt.ledger.model_calls == 2
        assert written(memory) == ["bees on the roof"]
    again = chat.prompts[1]
    assert again.turns[0] == chat.prompts[0].turns[0]
    assert "cannot be used" in again.turns[-1].text


def stand_in(memory: Memory) -> None:
    """All that is there is what the rules found, marked, and no decoy."""
    assert texts(memory.messages(**USER)) == [SAID]
    assert memory.search("bees", **USER).hits
    for record in memory.list(**USER, lifecycles=ANY):
        assert record.metadata.get("provisional") is True
        assert "wolves" not in record.text
        assert record.fields.get("value") != "x"


@pytest.mark.parametrize("name", HOPELESS)
def test_r26_otherwise_the_call_reports_failure_and_keeps_the_turn(path: Path, name: str) -> None:
    """A tool call came back as plain text, the step was shown as completed, and nothing was
    written (Mirix-AI/MIRIX #103)."""
    chat = FakeChat(HOPELESS[name], HOPELESS[name])
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add(SAID, **USER)
        assert receipt.state == "failed"
        assert receipt.reason
        assert "no usable reply" in receipt.reason
        assert "wolves" not in receipt.reason, "a reason quotes no reply: it outlives forgetting"
        assert len(chat.prompts) == 2
        stand_in(memory)

        chat.script = [GOOD]
        assert memory.retry(receipt.batch_id, **USER).state == "done"
        assert written(memory) == ["bees on the roof"]
        assert texts(memory.messages(**USER)) == [SAID]
        assert memory.verify() == []


def test_r26_sound_actions_hold_among_unsound_ones(path: Path) -> None:
    mixed = reply(
        None, "text", {"kind": "diary"}, fact("wolves", **{"from": [7]}), fact("bees on the roof"),
        {"op": "retire", "target": "r9", "from": [1]}, {"op": "burn", "from": [1]},
    )  # fmt: skip
    chat = FakeChat(mixed)
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add(SAID, **USER)
        assert receipt.state == "done"
        assert written(memory) == ["bees on the roof"]
        told = {one.reason.split(":")[1].strip() for one in receipt.skipped}
        assert told == {f"memory {n}" for n in (1, 2, 3, 4, 6, 7)}


def test_r26_a_reply_with_nothing_to_remember_is_no_failure(path: Path) -> None:
    chat = FakeChat(reply())
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add("What could the harbour look like in winter?", **USER)
        assert (receipt.state, receipt.record_ids, len(chat.prompts)) == ("done", [], 1)


@settings(max_examples=60)
@given(
    st.lists(ITEMS, min_size=1, max_size=3),
    st.sampled_from([None, 7, "Bees", ["x"], "\ud83d"]),
    st.sampled_from(["single", "managers"]),
)
def test_r26_whatever_comes_the_store_is_sound_and_the_turns_are_there(
    given: list[Any], title: Any, strategy: Any
) -> None:
    """Every batch says how it ended, every record quotes a message that is there."""
    replies = [
        {"title": title, "summary": title, "memories": items, "kinds": [*KINDS]} for items in given
    ]
    said = [SAID, "I live in Ostholm, and Wren's number is 555-0101.", "I left Ostholm. 我搬走了。"]
    chat = FakeChat(otherwise=lambda prompt: replies[len(chat.prompts) % len(replies)])
    with memstrata.open(":memory:", embedder="none", llm=chat) as memory:
        memory.configure(strategy=strategy)
        for text in said:
            receipt = memory.add(text, **USER, session_id="s")
            assert receipt.state in ("done", "failed")
            assert (receipt.reason is None) is (receipt.state == "done")
        assert memory.verify() == []
        there = {message.id: message.content for message in memory.messages(**USER)}
        assert list(there.values()) == said
        for record in memory.list(**USER, lifecycles=ANY, limit=500):
            assert record.evidence, record.text
            for evidence in record.evidence:
                assert evidence.source_id in there
                assert evidence.quote is None or evidence.quote in there[evidence.source_id]
        for batch in memory.batches(**USER, state="failed"):
            assert batch.reason


# ── cut by the limit of tokens ───────────────────────────────────────────────────────────────


def cut(text: str) -> Reply:
    return Reply(text, ModelUse(model="fake-chat", calls=1, output_tokens=50), cut=True)


HALVES = [GOOD[: len(GOOD) // 2], GOOD[:-2], GOOD, "{", '{"title": "Bees", "memories": [' + "{"]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("known", [True, False], ids=["said to be cut", "not said"])
def test_r28_what_is_cut_fails_with_a_reason_and_is_retried_without_duplicates(
    path: Path, half: str, known: bool
) -> None:
    """The write was acknowledged as queued, then the cut output failed to parse and the item
    disappeared; the caller could never learn of it (getzep/graphiti #1707)."""
    if half == GOOD and not known:
        pytest.skip("a whole reply that is not said to be cut is whole")
    always = cut(half) if known else half
    with memstrata.open(path, embedder="none", llm=FakeChat(otherwise=always)) as memory:
        queued = memory.add(SAID, **USER, wait=False)
        assert queued.batch_id
        batch = memory.wait_for(queued.batch_id, **USER)
        assert batch.state == "failed"
        assert batch.reason
        stand_in(memory)
        assert [b.id for b in memory.batches(**USER, state="failed")] == [queued.batch_id]

    good = FakeChat(GOOD)
    with memstrata.open(path, embedder="none", llm=good) as memory:
        [batch] = memory.batches(**USER, state="failed")
        assert batch.id == queued.batch_id
        assert memory.retry(batch.id, **USER).state == "done"
        assert written(memory) == ["bees on the roof"]
        assert texts(memory.messages(**USER)) == [SAID]
        assert len(memory.episodes(**USER).items) == 1
        assert len(good.prompts) == 1
        assert memory.verify() == []


def test_r28_a_cut_reply_is_asked_for_with_more_room(path: Path) -> None:
    chat = FakeChat(cut(GOOD[:40]), GOOD)
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        assert memory.add(SAID, **USER).state == "done"
        assert written(memory) == ["bees on the roof"]
    assert chat.prompts[1].max_tokens == 2 * chat.prompts[0].max_tokens


def test_r28_each_item_says_how_it_ended(path: Path) -> None:
    """Of ten, those whose reply is cut fail by themselves; retrying them makes them whole."""

    def answer(prompt: Prompt) -> Any:
        new = prompt.turns[0].text.partition("NEW messages:")[2]
        number = new.partition("hive ")[2].partition(" ")[0]
        if int(number) % 3 == 0 and not healed:
            return cut(GOOD[:50])
        return reply(fact(f"hive {number}"))

    healed: list[bool] = []
    with memstrata.open(path, embedder="none", llm=FakeChat(otherwise=answer)) as memory:
        receipts: list[Receipt] = [
            memory.add(f"I keep hive {n} on the roof.", **USER, session_id=f"s{n}")
            for n in range(10)
        ]
        failed = [n for n, one in enumerate(receipts) if one.state == "failed"]
        assert failed == [0, 3, 6, 9]
        assert all(receipts[n].reason for n in failed)
        healed.append(True)
        for n in failed:
            assert memory.retry(receipts[n].batch_id, **USER).state == "done"
        assert sorted(map(str, written(memory))) == [f"hive {n}" for n in range(10)]
        assert memory.verify() == []
