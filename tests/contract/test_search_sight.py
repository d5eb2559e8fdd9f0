"""`search`: who sees what, when; each thing once; long texts by their passage."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memstrata import AsyncMemory, Record, Results
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
FACT = {"kind": "semantic", "name": "The boat is green"}


def texts(results: Results) -> list[str]:
    return [hit.text for hit in results]


async def made(memory: AsyncMemory, given: dict[str, Any], **scope: Any) -> str:
    (record_id,) = (await memory.create(given, **(scope or IVO))).record_ids
    return record_id


# ── times ────────────────────────────────────────────────────────────────────────────────────


async def test_known_at_reads_each_version(memory: AsyncMemory, clock: Any) -> None:
    record_id = await made(memory, FACT)
    instants = [clock.now]
    for colour in ("blue", "red"):
        clock.advance(days=1)
        await memory.update(record_id, name=f"The boat is {colour}", **IVO)
        instants.append(clock.now)
    await memory.retire(record_id, **IVO)

    async def known(at: datetime) -> list[str]:
        return texts(await memory.search("boat", known_at=at, **IVO))

    assert [await known(at) for at in instants] == [
        ["The boat is green"],
        ["The boat is blue"],
        ["The boat is red"],
    ]
    assert await known(clock.now) == []
    assert await known(datetime(2026, 5, 1, tzinfo=UTC)) == []
    hit = (await memory.search("boat", known_at=instants[0], **IVO))[0]
    assert hit.record is not None
    assert (hit.id, hit.record.version) == (record_id, 1)


async def test_known_at_a_moment_between_two_versions_finds_one(
    memory: AsyncMemory, clock: Any
) -> None:
    """One version ends in the instant in which the next one begins."""
    record_id = await made(memory, FACT)
    await memory.update(record_id, name="The boat is blue", **IVO)
    old, new = [c.after for c in await memory.history(record_id, **IVO)]
    assert old is not None and new is not None and old.closed_at is not None
    assert texts(await memory.search("boat", known_at=old.closed_at, **IVO)) == ["The boat is blue"]


async def test_past_versions_never_come_by_default(memory: AsyncMemory) -> None:
    record_id = await made(memory, FACT)
    await memory.update(record_id, name="The boat is blue", **IVO)
    for method in ("hybrid", "bm25", "string_match", "embedding"):
        assert texts(await memory.search("boat", method=method, **IVO)) == ["The boat is blue"]  # type: ignore[arg-type]
    assert len(await memory.search("green", method="string_match", **IVO)) == 0


async def test_as_of_for_messages_means_said_until_then(memory: AsyncMemory) -> None:
    await memory.add("The ferry left early", occurred_at="2026-01-01T00:00:00Z", **IVO)
    await memory.add("The ferry left late", occurred_at="2026-02-01T00:00:00Z", **IVO)
    found = await memory.search("ferry", as_of="2026-01-15T00:00:00Z", **IVO)
    assert texts(found) == ["The ferry left early"]
    assert len(await memory.search("ferry", as_of="2026-02-01T00:00:00Z", **IVO)) == 2


async def test_known_at_for_messages_means_recorded_until_then(
    memory: AsyncMemory, clock: Any
) -> None:
    await memory.add("The ferry left early", occurred_at="2026-02-01T00:00:00Z", **IVO)
    learned = clock.now
    clock.advance(days=1)
    await memory.add("The ferry left late", occurred_at="2026-01-01T00:00:00Z", **IVO)
    found = await memory.search("ferry", known_at=learned, **IVO)
    assert texts(found) == ["The ferry left early"]


async def test_what_is_not_true_yet_or_any_more(memory: AsyncMemory, clock: Any) -> None:
    await made(memory, {**FACT, "valid_from": "2026-06-01T00:00:00Z"})
    await made(
        memory, {"kind": "semantic", "name": "The boat is red", "valid_to": "2026-06-01T00:00:00Z"}
    )
    assert texts(await memory.search("boat", **IVO)) == ["The boat is red"]
    clock.now = datetime(2026, 6, 1, tzinfo=UTC)
    assert texts(await memory.search("boat", **IVO)) == ["The boat is green"]


async def test_now_is_when_the_question_is_asked(memory: AsyncMemory) -> None:
    await made(memory, {**FACT, "valid_from": "2026-06-01T00:00:00Z"})
    assert len(await memory.search("boat", **IVO)) == 0
    assert len(await memory.search("boat", now="2026-06-02T00:00:00Z", **IVO)) == 1


async def test_what_has_expired_is_not_found(memory: AsyncMemory, clock: Any) -> None:
    record_id = await made(memory, {**FACT, "expires_at": "2026-06-01T00:00:00Z"})
    assert len(await memory.search("boat", **IVO)) == 1
    clock.now = datetime(2026, 6, 1, tzinfo=UTC)
    for method in ("hybrid", "bm25", "string_match", "embedding"):
        assert len(await memory.search("boat", method=method, **IVO)) == 0  # type: ignore[arg-type]
    assert "green" not in str(await memory.context("boat", **IVO))
    assert isinstance(await memory.get(record_id, **IVO), Record)


async def test_times_without_an_offset_are_the_users(memory: AsyncMemory) -> None:
    await memory.set_user(timezone="Asia/Tokyo", **IVO)
    await memory.add("The ferry left", occurred_at="2026-01-01T00:00:00+09:00", **IVO)
    assert len(await memory.search("ferry", since="2026-01-01T00:00", **IVO)) == 1
    assert len(await memory.search("ferry", since="2026-01-01T00:01", **IVO)) == 0


# ── who ──────────────────────────────────────────────────────────────────────────────────────


async def test_an_agent_reads_what_is_shared_and_its_own(memory: AsyncMemory) -> None:
    await memory.add("tea is shared", **IVO)
    await memory.add("tea of the cook", agent_id="cook", **IVO)
    await memory.add("tea of the vet", agent_id="vet", **IVO)
    await memory.add("tea of a cook without user", agent_id="cook")
    await memory.add("tea of mira", user_id="mira")

    async def seen(**scope: Any) -> set[str]:
        return set(texts(await memory.search("tea", **scope)))

    assert await seen(**IVO) == {"tea is shared"}
    assert await seen(agent_id="cook", **IVO) == {"tea is shared", "tea of the cook"}
    assert await seen(agent_id="vet", **IVO) == {"tea is shared", "tea of the vet"}
    assert await seen(agent_id="new", **IVO) == {"tea is shared"}
    assert await seen(agent_id="cook") == {"tea of a cook without user"}
    assert await seen(user_id="mira", agent_id="cook") == {"tea of mira"}


async def test_others_do_not_move_your_scores(memory: AsyncMemory) -> None:
    """Neither in number nor in rank nor in score."""
    await memory.add(["red tea", "green tea", "black coffee"], infer=False, **IVO)
    before = await memory.search("green tea", **IVO)
    for n in range(5):
        await memory.add([f"green tea number {k}" for k in range(40)], user_id=f"user-{n}")
    await memory.add("green tea of an agent", agent_id="cook", **IVO)
    after = await memory.search("green tea", **IVO)
    assert [(h.id, h.score, h.signals) for h in before] == [
        (h.id, h.score, h.signals) for h in after
    ]


@pytest.mark.parametrize("sensitivity", ["low", "medium", "high"])
async def test_highly_sensitive_records_come_only_when_the_vault_is_asked_for(
    memory: AsyncMemory, sensitivity: str
) -> None:
    contact = {"kind": "vault", "entry_type": "contact", "caption": "The doctor", "secret": "12"}
    await made(memory, {**contact, "sensitivity": sensitivity})
    shown = len(await memory.search("doctor", **IVO))
    assert shown == (0 if sensitivity == "high" else 1)
    assert ("doctor" in str(await memory.context("doctor", **IVO))) == bool(shown)
    assert len(await memory.search("doctor", kinds=["vault"], **IVO)) == 1


# ── each thing once ──────────────────────────────────────────────────────────────────────────


async def test_a_record_comes_instead_of_its_message(memory: AsyncMemory) -> None:
    said = await memory.add("My boat is green, I painted it", **IVO)
    record_id = await made(memory, {**FACT, "evidence": said.message_ids})
    assert [hit.id for hit in await memory.search("green boat", **IVO)] == [record_id]
    both = await memory.search("green boat", strata=["messages"], **IVO)
    assert [hit.id for hit in both] == said.message_ids
    (hit,) = await memory.search("green boat", **IVO)
    assert [e.source_id for e in hit.evidence] == said.message_ids


async def test_a_record_comes_instead_of_its_message_at_any_limit(memory: AsyncMemory) -> None:
    said = await memory.add("green boat green boat", **IVO)
    details = "It was painted in spring with what was left in the shed from the year before"
    record_id = await made(memory, {**FACT, "details": details, "evidence": said.message_ids})
    await memory.add([f"unrelated remark {n}" for n in range(5)], infer=False, **IVO)
    assert [hit.id for hit in await memory.search("green boat", limit=1, **IVO)] == [record_id]


async def test_the_message_comes_when_its_record_is_retired(memory: AsyncMemory) -> None:
    said = await memory.add("My boat is green, I painted it", **IVO)
    record_id = await made(memory, {**FACT, "evidence": said.message_ids})
    await memory.retire(record_id, **IVO)
    assert [hit.id for hit in await memory.search("green boat", **IVO)] == said.message_ids


# ── long texts ───────────────────────────────────────────────────────────────────────────────

NEEDLE = "the alarm code word is marigold"


def haystack(characters: int) -> str:
    filler = " ".join(f"Paragraph {n} tells of nothing in particular.\n" for n in range(2000))
    half = characters // 2
    return f"{filler[:half]} {NEEDLE}. {filler[half:characters]}"


async def test_a_long_message_is_one_hit_with_the_passage(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    """R21: a fact in the middle of 40,000 characters is found, whatever the model's limit."""
    text = haystack(40_000)
    assert embedder.count_tokens(text) > embedder.max_tokens
    receipt = await memory.add([text, "short one"], infer=False, **IVO)
    assert receipt.state == "done"
    for method in ("hybrid", "bm25", "string_match", "embedding"):
        results = await memory.search(NEEDLE, method=method, limit=5, **IVO)  # type: ignore[arg-type]
        hits = [hit for hit in results if hit.id == receipt.message_ids[0]]
        assert len(hits) == 1
        assert NEEDLE in hits[0].text, method
        assert len(hits[0].text) < 5000
        assert hits[0].message is not None
        assert hits[0].message.content == text
    stats = await memory.stats(**IVO)
    assert stats["items"] > 10
    assert stats["items_without_vector"] == 0


async def test_a_long_document_is_one_hit_with_the_passage(memory: AsyncMemory) -> None:
    content = haystack(20_000)
    record_id = await made(memory, {"kind": "resource", "title": "House book", "content": content})
    for method in ("hybrid", "bm25", "embedding", "string_match"):
        (hit,) = await memory.search(NEEDLE, method=method, limit=5, **IVO)  # type: ignore[arg-type]
        assert (hit.id, hit.stratum, hit.kind) == (record_id, "records", "resource")
        assert NEEDLE in hit.text
        assert len(hit.text) < 5000
    (hit,) = await memory.search("House book", method="bm25", **IVO)
    assert hit.text.startswith("House book")


class Recorder(FakeEmbedder):
    """Keeps the passages it was given."""

    def __init__(self) -> None:
        super().__init__(max_tokens=60)
        self.passages: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.passages += texts
        return super().embed_passages(texts)


async def test_each_passage_is_embedded_with_speaker_and_date(open_store: Any) -> None:
    """R07: the end of a long turn is still its speaker's."""
    model = Recorder()
    memory: AsyncMemory = await open_store(model=model)
    text = " ".join(f"sentence number {n} is here." for n in range(100)) + " my locker is number 41"
    turn = {"role": "user", "name": "Zdravko", "content": text}
    await memory.add(turn, occurred_at="2026-04-03T00:00:00Z", infer=False, **IVO)
    assert len(model.passages) > 5
    head = "[3 April 2026] Zdravko: "
    assert [passage[: len(head)] for passage in model.passages] == [head] * len(model.passages)
    assert "".join(passage[len(head) :] for passage in model.passages) == text
    assert model.passages[-1].endswith("my locker is number 41")


async def test_an_update_of_tags_keeps_every_vector(
    memory: AsyncMemory, embedder: FakeEmbedder
) -> None:
    record_id = await made(
        memory, {"kind": "resource", "title": "House book", "content": haystack(9000)}
    )
    before = embedder.texts
    await memory.update(record_id, tags=["read"], **IVO)
    assert embedder.texts == before
    (hit,) = await memory.search(NEEDLE, method="embedding", limit=3, **IVO)
    assert NEEDLE in hit.text
    assert (await memory.stats(**IVO))["items_without_vector"] == 0
