"""`consolidate` with a real language model, a small one: what it says is not looked at, what comes
of it is."""

from __future__ import annotations

import pytest
from contract.tidied import IVO, profile

import memstrata
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

FACTS = {"lives_in": "Lisbon", "works_as": "a bookbinder", "likes": "old maps", "has_pet": "Rex"}


async def test_whatever_it_says_nothing_is_made_up_or_lost(local_endpoint: str) -> None:
    memory = await memstrata.open_async(
        ":memory:", embedder=FakeEmbedder(), llm=f"local@{local_endpoint}"
    )
    try:
        for name in ("The flat has 2 rooms", "The flat has 3 rooms"):
            await memory.create({"kind": "semantic", "name": name}, **IVO)
        for key, value in FACTS.items():
            fact = {"subject": "user", "attribute": key, "value": value}
            await memory.create(
                {"kind": "semantic", "name": f"The user {key} {value}", **fact}, **IVO
            )
        done = await memory.consolidate(**IVO)
        assert done.state == "done" and done.reason is None
        assert 3 <= done.ledger.model_calls <= 6 and done.ledger.output_tokens > 0
        facts = await memory.list(kinds=["semantic"], **IVO)
        assert {one.lifecycle for one in facts} == {"current"}, "two numbers are two facts"
        block = await profile(memory)
        assert block is not None and all(value in block.text for value in FACTS.values())
        assert {e.source_id for e in block.evidence} <= {one.id for one in facts}
        assert await memory.verify() == []
        again = await memory.consolidate(**IVO)
        assert again.changes == [] and (done.notes or again.batch_id == "")
    finally:
        await memory.close()
