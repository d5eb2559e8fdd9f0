"""What memory with a model costs, and that nothing is lost while it is slow, away, or killed."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from cases.support import python, texts

import memstrata
from memstrata.errors import BudgetExceeded, ModelFailed
from memstrata.models.chat import Prompt, Reply
from memstrata.models.fake import FakeChat, FakeEmbedder

USER: dict[str, Any] = {"user_id": "ottilie"}


class Slow(FakeChat):
    """A model that thinks until it is told to answer."""

    def __init__(self, *script: Any) -> None:
        super().__init__(*script)
        self.answers = threading.Event()

    async def complete(self, prompt: Prompt) -> Reply:
        while not self.answers.is_set():
            await anyio.lowlevel.checkpoint()
        return await super().complete(prompt)


def fact(attribute: str, value: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": "semantic", "op": "create", "from": [number], "subject": "user",
            "sentence": f"{attribute}: {value}", "attribute": attribute, "value": value,
            **more}  # fmt: skip


def reply(*memories: Any) -> dict[str, Any]:
    return {"title": "A talk", "summary": "What was said.", "memories": [*memories]}


# ── R46: nothing waits to be seen, nothing dies with a process ───────────────────────────────

KILLED = """
import os, sys
import memstrata
from memstrata.models.fake import FakeChat

def die(prompt):
    os.kill(os.getpid(), 9)

memory = memstrata.open(sys.argv[1], embedder="none", llm=FakeChat(otherwise=die))
print(memory.add(sys.argv[2], user_id="ottilie", wait=False).state, flush=True)
memory.wait_for(memory.batches(user_id="ottilie").items[0].id, user_id="ottilie")
"""
TRAINS = [
    ("My train is at 18:05.", "train", ("train_at", "18:05")),
    ("我的火车是18:05的。", "火车", ("火车", "18:05")),
]


@pytest.mark.parametrize(("said", "asked", "stated"), TRAINS)
def test_r46_what_was_said_is_there_at_once(
    path: Path, said: str, asked: str, stated: tuple[str, str]
) -> None:
    """Messages not yet flushed were missing from context (memodb-io/memobase #48, #157)."""
    chat = Slow(reply(fact(*stated)))
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        queued = memory.add(said, **USER, wait=False)
        assert said in str(memory.context(asked, **USER))
        assert said in [hit.text for hit in memory.search(asked, **USER)]
        assert memory.list(**USER).items == []
        chat.answers.set()
        assert memory.wait_for(queued.batch_id, **USER).state == "done"
        assert [r.fields["value"] for r in memory.list(**USER)] == ["18:05"]
        assert "18:05" in str(memory.context(asked, **USER))


@pytest.mark.parametrize(("said", "asked", "stated"), TRAINS)
def test_r46_a_kill_while_the_model_reads_loses_nothing(
    path: Path, said: str, asked: str, stated: tuple[str, str]
) -> None:
    with pytest.raises(AssertionError):
        python(KILLED, str(path), said)  # it is killed, and has no exit code of its own

    chat = FakeChat(reply(fact(*stated)))
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        assert texts(memory.messages(**USER)) == [said]
        assert said in str(memory.context(asked, **USER)) or chat.prompts
        [batch] = memory.batches(**USER)
        assert memory.wait_for(batch.id, **USER).state == "done"
        assert [r.fields["value"] for r in memory.list(**USER)] == ["18:05"]
        assert len(chat.prompts) == 1
        assert memory.verify() == []


@pytest.mark.parametrize("error", [ModelFailed("down"), BudgetExceeded("spent")])
def test_r46_without_the_model_the_fact_is_there_too(path: Path, error: Exception) -> None:
    chat = FakeChat(otherwise=error)
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        receipt = memory.add("My train is at 18:05.", **USER)
        assert receipt.state != "done"
        assert str(error) in str(receipt.reason)
        assert "18:05" in str(memory.context("train", **USER))


# ── R50: what it costs ───────────────────────────────────────────────────────────────────────


def test_r50_fifty_items_cost_fifty_calls_and_again_none(path: Path) -> None:
    """About 10,000 characters caused over 1,000 model calls; after the limit the user could not
    tell what was saved (getzep/graphiti #290, #1262)."""

    def answer(prompt: Prompt) -> Any:
        new = prompt.turns[0].text.partition("NEW messages:")[2]
        [number] = set(re.findall(r"harbour (\d+)", new))
        return reply(fact("visited", f"harbour {number}"))

    chat, embedder = FakeChat(otherwise=answer), FakeEmbedder()
    said = [f"On Monday I sailed to harbour {n}, and it rained all day." for n in range(50)]
    with memstrata.open(path, embedder=embedder, llm=chat) as memory:
        for n, text in enumerate(said):
            receipt = memory.add(text, **USER, session_id=f"s{n}")
            assert receipt.state == "done"
            assert (receipt.ledger.model_calls, receipt.ledger.embedding_calls) == (1, 1)
            assert receipt.ledger.input_tokens < 3500
        assert len(chat.prompts) == 50
        assert len(memory.list(**USER, limit=100).items) == 50
        calls, embedded = len(chat.prompts), embedder.texts
        for n, text in enumerate(said):
            again = memory.add(text, **USER, session_id=f"s{n}")
            assert again.ledger.model_calls == 0
        assert (len(chat.prompts), embedder.texts) == (calls, embedded)
        spent = memory.batches(**USER, limit=200)
        assert sum(batch.ledger.model_calls for batch in spent) == 50


@pytest.mark.parametrize("turns", [2, 10, 25])
def test_r50_the_turns_of_one_call_are_read_together(path: Path, turns: int) -> None:
    chat = FakeChat(otherwise=reply())
    talk = [
        {"role": ["user", "assistant"][n % 2], "content": f"The tide was low at pier {n}."}
        for n in range(turns)
    ]
    with memstrata.open(path, embedder="none", llm=chat) as memory:
        assert memory.add(talk, **USER, session_id="s").state == "done"
        assert len(chat.prompts) <= 2


def test_r50_a_limit_that_is_reached_says_which_items_wait_and_they_resume(path: Path) -> None:
    left = [3]

    def answer(prompt: Prompt) -> Any:
        if left[0] == 0:
            raise BudgetExceeded("the limit of 3 calls is reached")
        left[0] -= 1
        new = prompt.turns[0].text.partition("NEW messages:")[2]
        [number] = set(re.findall(r"harbour (\d+)", new))
        return reply(fact("visited", f"harbour {number}"))

    with memstrata.open(path, embedder="none", llm=FakeChat(otherwise=answer)) as memory:
        receipts = [memory.add(f"I sailed to harbour {n}.", **USER, session_id=f"s{n}")
                    for n in range(6)]  # fmt: skip
        assert [one.state == "done" for one in receipts] == [True] * 3 + [False] * 3
        assert all("limit of 3 calls" in (one.reason or "") for one in receipts[3:])
        assert len(texts(memory.messages(**USER))) == 6
        left[0] = 100
        for one in receipts[3:]:
            assert memory.retry(one.batch_id, **USER).state == "done"
        visited = [r.fields.get("value") for r in memory.list(**USER)]
        assert sorted(map(str, visited)) == [f"harbour {n}" for n in range(6)]


# ── R21: a long message ──────────────────────────────────────────────────────────────────────

TIDE = "The tide at Ostholm was low and the gulls were loud. "
TIDE_ZH = "望潮岛的潮水很低，海鸥很吵。"


@pytest.mark.parametrize(
    ("filler", "sentence", "word"),
    [
        (TIDE, "The alarm code word is marigold. ", "marigold"),
        (TIDE_ZH, "灯塔的那只猫叫金盏花。", "金盏花"),
    ],
)
@pytest.mark.parametrize("strategy", ["single", "managers"])
def test_r21_the_middle_of_a_long_message_is_read_and_found(
    path: Path, filler: str, sentence: str, word: str, strategy: Any
) -> None:
    """A conversation over the embedder's limit was dropped silently, or cut before it was read
    (NousResearch/hermes-agent #37421, mem0 #5148)."""

    def answer(prompt: Prompt) -> Any:
        new = re.split("NEW messages:|新消息:", prompt.turns[0].text)[-1]
        there = word in new
        if prompt.purpose == "route":
            return {"title": "t", "summary": "s", "kinds": ["semantic"] if there else []}
        made = fact("alarm_code_word", word, subject="Ostholm", sentence=sentence.strip())
        return reply(*([made] if there else []))

    half = (filler * (20_000 // len(filler) + 1))[: 20_000 - len(sentence) // 2]
    long = f"{half}{sentence}{half}"[:40_000]
    chat, embedder = FakeChat(otherwise=answer), FakeEmbedder(max_tokens=512)
    with memstrata.open(path, embedder=embedder, llm=chat) as memory:
        memory.configure(strategy=strategy)
        receipt = memory.add(long, **USER)
        assert receipt.state == "done"
        assert not [one for one in receipt.skipped if not one.stored]
        made = [r for r in memory.list(**USER, kinds=["semantic"]) if r.fields["value"] == word]
        assert len(made) == 1
        hits = memory.search(word, **USER, strata=["records"], kinds=["semantic"])
        assert hits[0].id == made[0].id
        assert word in memory.search(word, **USER, strata=["messages"])[0].text
        tokens = embedder.count_tokens(long)
        bound = 2 + 1.5 * tokens / 1200
        assert len(chat.prompts) <= (bound if strategy == "single" else 2 * bound)
        asked = [p for p in chat.prompts if word in p.turns[0].text and p.purpose != "route"]
        assert len(asked) >= 1
        assert all(embedder.count_tokens(p.turns[0].text) < 3500 for p in chat.prompts)
        assert memory.verify() == []
