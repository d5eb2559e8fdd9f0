"""`stats`, `verify`, `doctor`, `kinds`: what a store says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from memstrata import AsyncMemory
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}


async def test_stats_count_what_is_there(memory: AsyncMemory, embedder: FakeEmbedder) -> None:
    await memory.add(["one", "two"], infer=False, **IVO)
    hidden = await memory.add("three", **IVO)
    await memory.undo(hidden.batch_id, **IVO)
    made = await memory.create({"kind": "semantic", "name": "a fact"}, **IVO)
    await memory.update(made.record_ids[0], summary="and more", **IVO)
    gone = await memory.create({"kind": "procedural", "summary": "a way"}, **IVO)
    await memory.retire(gone.record_ids[0], **IVO)
    stats = await memory.stats(**IVO)
    assert (stats["messages"], stats["hidden_messages"]) == (2, 1)
    assert stats["records"] == {"semantic": {"current": 1}, "procedural": {"retired": 1}}
    assert (stats["record_versions"], stats["items"]) == (4, 9)
    assert (stats["items_without_vector"], stats["pending_batches"]) == (0, 0)
    assert stats["embedder"] == embedder.id
    assert stats["bytes_on_disk"] > 0


async def test_stats_of_a_view_sum_shared_and_own(memory: AsyncMemory) -> None:
    await memory.add("shared", **IVO)
    await memory.add("own", agent_id="cook", **IVO)
    assert (await memory.stats(**IVO))["messages"] == 1
    assert (await memory.stats(agent_id="cook", **IVO))["messages"] == 2
    assert (await memory.stats(user_id="nobody"))["messages"] == 0


async def test_a_sound_store(memory: AsyncMemory) -> None:
    assert await memory.verify() == []
    await memory.add("one", **IVO)
    await memory.add("two", user_id="mira")
    assert await memory.verify() == []
    assert await memory.verify(**IVO) == []
    assert await memory.scoped(user_id="ivo").verify() == []


BREAKS = {
    "index entry is missing": "DELETE FROM items",
    "items of nothing that is there": "DELETE FROM messages",
    "without an item": "DELETE FROM items WHERE model > 0",
    "have none": "DELETE FROM vectors",
    "batch that is not noted": "DELETE FROM batches",
    "newer than their scope says": "UPDATE scopes SET stamp = 0",
    "evidence of records that are gone": "DELETE FROM records",
    "gap between their versions": "DELETE FROM records WHERE version = 1",
}


@pytest.mark.parametrize("problem", sorted(BREAKS))
async def test_what_is_broken_is_named(memory: AsyncMemory, problem: str) -> None:
    """Each by the user it concerns, and `doctor` says so too."""
    said = await memory.add("one", **IVO)
    fact = {"kind": "semantic", "name": "a fact", "evidence": said.message_ids}
    made = await memory.create(fact, **IVO)
    await memory.update(made.record_ids[0], name="another fact", **IVO)
    await memory.add("two", user_id="mira")

    backend: Any = memory._runtime.store._backend
    backend._writer.execute(BREAKS[problem])
    found = await memory.verify()
    assert any(problem in line and line.startswith("ivo: ") for line in found), found
    (store,) = [check for check in await memory.doctor() if check["check"] == "store"]
    assert not store["ok"]
    assert problem in store["detail"]


async def checks(memory: AsyncMemory) -> dict[str, tuple[bool, str]]:
    return {check["check"]: (check["ok"], check["detail"]) for check in await memory.doctor()}


async def test_a_doctor_who_finds_nothing(memory: AsyncMemory, embedder: FakeEmbedder) -> None:
    found = await checks(memory)
    assert all(ok for ok, _ in found.values())
    assert embedder.id in found["embedder"][1]


async def test_a_doctor_who_finds_something(memory: AsyncMemory, embedder: FakeEmbedder) -> None:
    embedder.fail_next()
    await memory.add("one", **IVO)
    embedder.fail_next()
    found = await checks(memory)
    assert found["embedder"] == (False, "the fake embedder was told to fail")
    assert not found["batches"][0]
    assert "retry" in found["batches"][1]
    assert found["store"][0]


async def test_without_an_embedder(open_store: Any) -> None:
    memory: AsyncMemory = await open_store(model="none")
    found = await checks(memory)
    assert not found["embedder"][0]
    assert "keyword" in found["embedder"][1]
    assert found["store"][0]


async def test_the_six_kinds_describe_themselves(memory: AsyncMemory) -> None:
    described = {kind["kind"]: kind for kind in await memory.kinds()}
    assert list(described) == ["core", "episodic", "semantic", "procedural", "resource", "vault"]
    for kind in described.values():
        assert kind["about"]
        assert kind["block"].replace("_", "").isalpha()
    assert described["core"]["always_shown"] is True
    assert "steps" in described["procedural"]["fields"]
    assert "tags" not in described["procedural"]["fields"]
