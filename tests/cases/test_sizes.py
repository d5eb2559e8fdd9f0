"""Nothing, too much in one text, and too many at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
import pytest
from cases.support import FOREVER, found, texts
from numpy.typing import NDArray

import memstrata
from memstrata import Memory
from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Message, Method

BLANKS = ("", " ", "\n\t", "\u3000", "\u200b", "\u00ad\ufeff", "\u0301", "\ufe0f")


@pytest.fixture
def embedder() -> FakeEmbedder:
    """Few collisions, and a limit that a paragraph exceeds."""
    return FakeEmbedder(dimensions=2048, max_tokens=512)


@pytest.fixture
def vectors(path: Path, embedder: FakeEmbedder) -> Iterator[Memory]:
    """A store that searches by meaning too."""
    with memstrata.open(path, embedder=embedder) as memory:
        yield memory


@pytest.mark.parametrize("blank", [*BLANKS, None])
def test_r20_a_blank_question_is_an_error(
    vectors: Memory, embedder: FakeEmbedder, blank: Any
) -> None:
    """A blank query went to the embedder, crashed, or returned the user's whole store
    (mem0ai/mem0 #5220)."""
    vectors.add(["My tea is oolong.", "My cat is grey."], user_id="ottilie")
    calls = embedder.calls
    for method in ("hybrid", "embedding", "bm25", "string_match"):
        with pytest.raises(InvalidInput, match="query"):
            vectors.search(blank, user_id="ottilie", method=method)
    assert embedder.calls == calls


@pytest.mark.parametrize("blank", BLANKS)
def test_r20_a_blank_turn_recalls_nothing_of_itself(
    vectors: Memory, embedder: FakeEmbedder, blank: str
) -> None:
    """Before a blank turn there is still core memory, and no search."""
    vectors.add("My tea is oolong.", user_id="ottilie")
    vectors.create({"kind": "core", "label": "human", "value": "Ottilie."}, user_id="ottilie")
    calls = embedder.calls
    for turns in (blank, [{"role": "user", "content": blank}], []):
        context = vectors.context(turns, user_id="ottilie")
        assert [item.kind for item in context.items] == ["core"]
    assert embedder.calls == calls


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_r20_blank_messages_store_nothing(memory: Memory, blank: str) -> None:
    """Nothing said is nothing stored, and what stands beside it is."""
    for nothing in (blank, [], [blank, blank], {"role": "user", "content": blank}):
        receipt = memory.add(nothing, user_id="ottilie")
        assert (receipt.state, receipt.message_ids) == ("done", [])
    assert memory.scopes() == [] or memory.stats(user_id="ottilie")["items"] == 0

    receipt = memory.add([blank, "My tea is oolong.", blank], user_id="ottilie", infer=False)
    assert [item.index for item in receipt.skipped] == [0, 2]
    assert texts(memory.messages(user_id="ottilie")) == ["My tea is oolong."]


def test_r20_padding_changes_no_result(vectors: Memory) -> None:
    """A question with space around it is the same question."""
    vectors.add(["My tea is oolong.", "The tea tin is empty."], user_id="ottilie")
    for method in ("hybrid", "embedding", "bm25", "string_match"):
        plain = vectors.search("tea", user_id="ottilie", method=method)
        padded = vectors.search(" \n tea\t ", user_id="ottilie", method=method)
        assert padded.hits == plain.hits and len(plain) == 2


MARKER = "the cellar hatch answers to quincunx"


def long_text(length: int, filler: str) -> str:
    """A text of about `length` characters with the marker in its exact middle."""
    half = (filler * (length // len(filler) + 1))[: (length - len(MARKER)) // 2]
    return f"{half} {MARKER} {half}"


FILLERS = {
    "sentences": "We walked along the river until rain came, and nobody minded much. ",
    "one word": "w",
    "lines": "row;17;blue\n",
    "chinese": "我们沿着河边一直走到下雨为止。",
}


@pytest.mark.parametrize("filler", FILLERS.values(), ids=list(FILLERS))
def test_r21_the_middle_of_a_long_message_is_found(
    vectors: Memory, embedder: FakeEmbedder, filler: str
) -> None:
    """A text over the embedder's limit was dropped, or cut, in silence (mem0ai/mem0 #5148,
    NousResearch/hermes-agent #37421)."""
    text = long_text(40_000, filler)
    receipt = vectors.add(text, user_id="ottilie", infer=False)
    assert (receipt.state, receipt.skipped) == ("done", [])
    vectors.add(["Quite another matter.", "We walked home."], user_id="ottilie")

    message = vectors.get(receipt.message_ids[0], user_id="ottilie")
    assert isinstance(message, Message) and message.content == text
    asked: dict[Method, str] = {
        "hybrid": "quincunx",
        "bm25": "quincunx",
        "embedding": "hatch answers to quincunx",
        "string_match": "hatch answers to quincunx",
    }
    for method, query in asked.items():
        hits = vectors.search(query, user_id="ottilie", method=method)
        assert hits[0].id == receipt.message_ids[0], method
        assert [hit.id for hit in hits].count(hits[0].id) == 1
        if method != "string_match":
            assert MARKER in hits[0].text and len(hits[0].text) < 5_000, method
    assert vectors.stats(user_id="ottilie")["items_without_vector"] == 0


@pytest.mark.parametrize("limit", [64, 512, 100_000])
def test_r21_limits_come_from_the_embedder(path: Path, limit: int) -> None:
    """A constant that suits one model loses text with the next; here no part is left out."""
    text = long_text(40_000, FILLERS["sentences"])
    with memstrata.open(path, embedder=FakeEmbedder(max_tokens=limit)) as memory:
        memory.add(text, user_id="ottilie")
        stats = memory.stats(user_id="ottilie")
    rows = apsw.Connection(str(path)).execute(
        "SELECT start, stop FROM items WHERE owner = (SELECT seq FROM messages) ORDER BY start"
    )
    passages = cast("list[tuple[int, int]]", rows.fetchall())
    assert passages[0][0] == 0 and passages[-1][1] == len(text)
    assert all(one[1] == two[0] for one, two in itertools.pairwise(passages))
    tokens = FakeEmbedder().count_tokens(text)
    assert tokens / limit <= len(passages) <= tokens / limit * 2 + 1
    assert stats["items_without_vector"] == 0


def test_r21_a_long_question_is_answered(vectors: Memory) -> None:
    """What is pasted into a chat is a question too, whatever the embedder's limit."""
    vectors.add(["Water boils in the blue kettle.", f"Remember: {MARKER}."], user_id="ottilie")
    pasted = long_text(40_000, FILLERS["sentences"])

    assert f"Remember: {MARKER}." in found(vectors.search(pasted, user_id="ottilie"))
    turns = [{"role": "user", "content": pasted}]
    assert MARKER in str(vectors.context(turns, gain=0, user_id="ottilie"))
    by_meaning = vectors.search(pasted, user_id="ottilie", method="embedding")
    assert len(by_meaning) == 2


@pytest.fixture
def few_variables() -> Iterator[None]:
    """SQLite built with few variables, as some systems have it."""
    lowered: list[int] = []

    def lower(connection: apsw.Connection) -> None:
        connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 40)
        lowered.append(connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER))

    apsw.connection_hooks.append(lower)
    yield
    apsw.connection_hooks.remove(lower)
    assert set(lowered) == {40}


def crates(count: int, bad: int) -> list[Any]:
    """So many short messages, one of them none."""
    items: list[Any] = [f"crate {number}" for number in range(count)]
    items[bad] = {"role": "user", "content": {"not": "a text"}}
    return items


def test_r24_six_thousand_in_one_call(few_variables: None, path: Path) -> None:
    """Past a limit of the engine's build the whole call failed, and what the embedder had done
    was lost (mem0ai/mem0 #788, chroma-core/chroma #1101)."""
    embedder = FakeEmbedder(dimensions=16)
    items = crates(6_000, bad=2_999)
    with memstrata.open(path, embedder=embedder) as memory:
        receipt = memory.add(items, user_id="ottilie", infer=False)
        assert receipt.state == "done" and len(receipt.message_ids) == 5_999
        assert [(item.index, item.stored) for item in receipt.skipped] == [(2_999, False)]
        assert "content" in receipt.skipped[0].reason
        assert embedder.texts == 5_999
        assert memory.search("crate 4711", user_id="ottilie", method="bm25")[0].text == "crate 4711"

        embedded = embedder.texts
        again = memory.add(items, user_id="ottilie", infer=False)
        assert again.message_ids == receipt.message_ids
        assert embedder.texts == embedded
        assert memory.stats(user_id="ottilie")["messages"] == 5_999

        ids = receipt.message_ids
        chosen = memory.search(
            "crate", user_id="ottilie", filters={"id": {"in": ids[:5_000]}}, limit=FOREVER
        )
        assert len(chosen) == 5_000
        assert memory.forget(ids=ids, user_id="ottilie").messages == 5_999
        assert memory.verify() == []


class FailsOnce(FakeEmbedder):
    """Gives up in the middle of a long job, once."""

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.calls == 4:
            self.fail_next()
        return super().embed_passages(texts)


def test_r24_what_was_embedded_is_kept_when_the_rest_fails(path: Path) -> None:
    """A failure half-way through costs the rest of the work, not the work done."""
    embedder = FailsOnce(dimensions=16)
    with memstrata.open(path, embedder=embedder) as memory:
        crated = [f"crate {n}" for n in range(2_000)]
        receipt = memory.add(crated, user_id="ottilie", infer=False)
        assert receipt.state == "failed" and "told to fail" in (receipt.reason or "")
        assert len(receipt.message_ids) == 2_000
        assert memory.search("crate 7", user_id="ottilie", method="bm25")[0].text == "crate 7"
        done = embedder.texts
        assert 0 < done < 2_000

        assert memory.retry(receipt.batch_id, user_id="ottilie").state == "done"
        assert embedder.texts == 2_000
        assert memory.verify() == []


def test_r24_seventy_thousand_in_one_call(few_variables: None, memory: Memory) -> None:
    """The same past every limit seen in the field, and all of it deleted by id in one call."""
    receipt = memory.add(crates(70_000, bad=35_000), user_id="ottilie", infer=False)
    assert receipt.state == "done" and len(receipt.message_ids) == 69_999
    assert [item.index for item in receipt.skipped] == [35_000]
    assert memory.search("crate 34999", user_id="ottilie")[0].text == "crate 34999"
    assert memory.search("crate 69999", user_id="ottilie")[0].text == "crate 69999"

    receipt = memory.forget(ids=receipt.message_ids, user_id="ottilie")
    assert (receipt.state, receipt.messages, len(receipt.ids)) == ("done", 69_999, 69_999)
    assert memory.stats(user_id="ottilie")["messages"] == 0
    assert found(memory.search("crate", user_id="ottilie")) == []


def test_r24_the_embedder_may_fail_for_good(path: Path) -> None:
    """Text that no vector can be had for stays stored and is found by its words."""
    embedder = FakeEmbedder()
    with memstrata.open(path, embedder=embedder) as memory:
        embedder.fail_next(10**6)
        receipt = memory.add("The spare fuse is in the tea tin.", user_id="ottilie")
        assert receipt.state == "failed"
        with pytest.raises(ModelFailed):
            memory.search("fuse", user_id="ottilie", method="embedding")
        assert len(memory.search("fuse", user_id="ottilie", method="bm25")) == 1
