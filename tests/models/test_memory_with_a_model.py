"""Memory written and read with a real model at a real endpoint.

The model is very small: what it writes is never asserted, only that whatever it writes ends in
sound records or in an error that loses nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from models import local_model

import memstrata
from memstrata import AsyncMemory
from memstrata.models.endpoint import Endpoint

pytestmark = pytest.mark.anyio

IVA = {"user_id": "iva"}
SAID = [
    ("user", "I moved to Ostrava last month for a job at Borealis. I can't eat peanuts."),
    ("assistant", "How do you like it there? Shall I look for a kayak club?"),
]
HAN = [("user", "我下周三要去杭州出差，住在西湖边的酒店。我不喜欢吃香菜。")]


@pytest.fixture
async def memory(local_endpoint: str) -> AsyncIterator[AsyncMemory]:
    # Other tests ask it too, and it answers one at a time.
    model = Endpoint(f"{local_model.MODEL}@{local_endpoint}", timeout=600.0, concurrency=1)
    async with await memstrata.open_async(":memory:", embedder="fake", llm=model) as opened:
        yield opened


async def _told(memory: AsyncMemory, said: list[tuple[str, str]], session: str) -> list[str]:
    """Add a conversation; the ids of its messages. Whatever the model wrote is sound."""
    messages = [{"role": role, "content": text} for role, text in said]
    when = "2026-05-08T09:00:00+02:00"
    receipt = await memory.add(messages, session_id=session, occurred_at=when, **IVA)
    assert receipt.state in ("done", "failed")
    assert (receipt.state == "failed") == bool(receipt.reason)
    assert 1 <= receipt.ledger.model_calls <= 2
    assert receipt.ledger.embedding_calls == 1
    assert 0 < receipt.ledger.input_tokens <= 2 * 3500
    for record in await memory.list(**IVA):
        assert record.evidence
        assert {item.source_id for item in record.evidence} <= {
            message.id for message in await memory.messages(**IVA)
        }
        # What a model could not be brought to say well is the rules' until it can.
        if receipt.state == "failed" and record.batch_id == receipt.batch_id:
            assert record.metadata.get("provisional") or record.version > 1
    assert await memory.verify() == []
    return receipt.message_ids


async def test_what_it_writes_is_sound(memory: AsyncMemory) -> None:
    await _told(memory, SAID, "s1")
    await _told(memory, HAN, "s2")
    titles = [episode.title for episode in await memory.episodes(**IVA)]
    assert titles[0].startswith("8 May 2026") and titles[1].startswith("2026年5月8日")
    models = (await memory.stats(**IVA))["models"]["writing"]
    assert local_model.MODEL in models[0]["model"]


async def test_by_one_manager_for_each_kind(memory: AsyncMemory) -> None:
    await memory.configure(strategy="managers", managers=["semantic", "episodic"])
    messages = [{"role": role, "content": text} for role, text in SAID]
    receipt = await memory.add(messages, session_id="s1", **IVA)
    assert receipt.state in ("done", "failed")
    assert 1 <= receipt.ledger.model_calls <= 2 * 3
    assert {record.kind for record in await memory.list(**IVA)} <= {"semantic", "episodic"}


async def test_small_talk_is_not_sent(memory: AsyncMemory) -> None:
    receipt = await memory.add(["Hi there!", "Thanks, bye."], session_id="s1", **IVA)
    assert (receipt.state, receipt.ledger.model_calls) == ("done", 0)


async def test_it_answers_from_memory(memory: AsyncMemory) -> None:
    ids = await _told(memory, SAID, "s1")
    answer = await memory.ask("Where did I move to?", **IVA)
    assert answer.text and answer.ledger.model_calls >= 1
    known = {record.id for record in await memory.list(**IVA)} | set(ids)
    known |= {episode.id for episode in await memory.episodes(**IVA)}
    assert {one.id for one in answer.citations} <= known
    assert answer.known == bool(answer.citations)
