"""What models cost: kept by batch, over all attempts and processes, and for reading."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from memstrata import AsyncMemory, InvalidInput
from memstrata.models.chat import Reply
from memstrata.models.fake import FakeChat, FakeEmbedder
from memstrata.models.spending import Meter, added
from memstrata.records import Ledger, ModelUse, Scope

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
SCOPE = Scope(tenant="default", user_id="ivo")
FACT = "I moved to Porto in May and I keep two hens."
USELESS = ModelUse(
    model="shed-7b",
    calls=1,
    input_tokens=900,
    output_tokens=30,
    cached_tokens=600,
    milliseconds=12.5,
    cost=0.000_123_456,
)


class Remote(FakeEmbedder):
    """An embedder at an endpoint, which keeps count of its own calls."""

    def __init__(self) -> None:
        super().__init__()
        self.uses: list[ModelUse] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.uses.append(ModelUse(model="far-embed", calls=1, input_tokens=7, cost=0.000_000_5))
        return super().embed_passages(texts)

    def take_uses(self) -> list[ModelUse]:
        taken, self.uses = self.uses, []
        return taken


async def with_model(open_store: Any, chat: FakeChat, name: str = "store") -> AsyncMemory:
    return await open_store(name, llm=chat)


def useless() -> FakeChat:
    """Its replies cost something and cannot be used."""
    return FakeChat(otherwise=Reply("I would rather not say.", USELESS), id="shed-7b")


# ── sums ─────────────────────────────────────────────────────────────────────────────────────


def test_uses_are_added_up_by_model_and_an_unknown_price_makes_a_sum_unknown() -> None:
    free = ModelUse(model="own", calls=2, input_tokens=5, milliseconds=1.5)
    meter = Meter()
    for use in (USELESS, free, USELESS):
        meter.note(use)
    meter.embedding_calls += 3
    ledger = meter.ledger(40.0)
    assert [use.model for use in ledger.models] == ["shed-7b", "own"]
    assert (ledger.model_calls, ledger.input_tokens, ledger.cached_tokens) == (4, 1805, 1200)
    assert (ledger.embedding_calls, ledger.milliseconds) == (3, 40.0)
    assert ledger.models[0].cost == pytest.approx(0.000_246_912)
    assert ledger.cost is None
    both = added(ledger, Ledger.of([USELESS], embedding_calls=1, milliseconds=2.0))
    assert (both.model_calls, both.embedding_calls, both.milliseconds) == (5, 4, 42.0)
    assert both.models[0].calls == 3
    assert Ledger.of([]) == Ledger()


# ── writing ──────────────────────────────────────────────────────────────────────────────────


async def test_a_batch_says_what_it_has_cost(memory: AsyncMemory, embedder: FakeEmbedder) -> None:
    receipt = await memory.add(FACT, **IVO)
    (batch,) = await memory.batches(**IVO)
    assert batch.ledger.embedding_calls == receipt.ledger.embedding_calls == embedder.calls
    assert (batch.ledger.model_calls, batch.ledger.models, batch.ledger.cost) == (0, [], None)
    assert batch.ledger.milliseconds > 0
    assert await memory.wait_for(receipt.batch_id, **IVO) == batch
    assert (await memory.stats(**IVO))["models"] == {"writing": [], "reading": []}


async def test_what_costs_nothing_says_so(memory: AsyncMemory) -> None:
    await memory.add(FACT, **IVO)
    again = await memory.add(FACT, **IVO)
    assert (again.ledger.model_calls, again.ledger.embedding_calls) == (0, 0)


async def test_attempts_that_fail_cost_too_and_add_up(open_store: Any) -> None:
    chat = useless()
    memory = await with_model(open_store, chat)
    receipt = await memory.add(FACT, **IVO)
    first = len(chat.prompts)
    assert receipt.state == "failed"
    assert first >= 2
    assert receipt.ledger.model_calls == first
    assert receipt.ledger.input_tokens == 900 * first
    batch = await memory.retry(receipt.batch_id, **IVO)
    asked = len(chat.prompts)
    assert asked > first
    assert batch.ledger.models[0].model_dump(exclude={"cost", "milliseconds"}) == {
        "model": "shed-7b",
        "calls": asked,
        "input_tokens": 900 * asked,
        "output_tokens": 30 * asked,
        "cached_tokens": 600 * asked,
    }
    assert batch.ledger.cost == pytest.approx(0.000_123_456 * asked, abs=asked * 1e-9)
    (listed,) = await memory.batches(**IVO)
    assert listed.ledger == batch.ledger
    assert await memory.wait_for(receipt.batch_id, **IVO) == listed
    (use,) = (await memory.stats(**IVO))["models"]["writing"]
    assert (use["model"], use["calls"]) == ("shed-7b", asked)


async def test_an_unknown_price_stays_unknown(open_store: Any) -> None:
    def reply(prompt: Any) -> Reply:
        known = len(chat.prompts) > 1
        return Reply("no", USELESS if known else USELESS.model_copy(update={"cost": None}))

    chat = FakeChat(otherwise=reply, id="shed-7b")
    memory = await with_model(open_store, chat)
    receipt = await memory.add(FACT, **IVO)
    assert receipt.ledger.model_calls >= 2
    assert receipt.ledger.cost is None
    batch = await memory.retry(receipt.batch_id, **IVO)
    assert batch.ledger.cost is None
    assert (await memory.stats(**IVO))["models"]["writing"][0]["cost"] is None


async def test_an_embedder_that_counts_its_calls_is_among_the_models(open_store: Any) -> None:
    embedder = Remote()
    memory: AsyncMemory = await open_store(model=embedder)
    receipt = await memory.add(FACT, **IVO)
    (use,) = receipt.ledger.models
    assert (use.model, use.calls, use.input_tokens) == (
        "far-embed", embedder.calls, 7 * embedder.calls,
    )  # fmt: skip
    assert receipt.ledger.embedding_calls == embedder.calls
    assert receipt.ledger.cost == pytest.approx(0.000_000_5 * embedder.calls, abs=1e-9)
    assert embedder.take_uses() == []


async def test_a_call_of_an_embedder_that_fails_is_counted(open_store: Any) -> None:
    embedder = Remote()
    memory: AsyncMemory = await open_store(model=embedder)
    embedder.fail_next()
    receipt = await memory.add(FACT, **IVO)
    assert receipt.state == "failed"
    assert [use.calls for use in receipt.ledger.models] == [1]
    done = await memory.retry(receipt.batch_id, **IVO)
    assert done.state == "done"
    assert done.ledger.model_calls == embedder.calls > 1


async def test_what_was_spent_before_a_cancellation_is_kept(open_store: Any) -> None:
    asked = anyio.Event()

    class Slow(FakeChat):
        async def complete(self, prompt: Any) -> Reply:
            if len(self.prompts) == 1:
                asked.set()
                await anyio.sleep_forever()
            return await super().complete(prompt)

    chat = Slow(otherwise=Reply("no", USELESS), id="shed-7b")
    memory = await with_model(open_store, chat)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: memory.add(FACT, **IVO))
        await asked.wait()
        tasks.cancel_scope.cancel()
    (batch,) = await memory.batches(**IVO)
    assert batch.state == "pending"
    assert (batch.ledger.model_calls, batch.ledger.input_tokens) == (1, 900)


async def test_who_lost_a_batch_to_another_has_spent_all_the_same(memory: AsyncMemory) -> None:
    receipt = await memory.add(FACT, **IVO)
    store = memory._runtime.store
    await store.requeue(SCOPE, receipt.batch_id)
    now = memory._runtime.now()
    lease = await store.lease_next("another process", now, now + 1, SCOPE)
    assert lease is not None
    done = await memory.wait_for(receipt.batch_id, **IVO)
    await store.finish(lease, "failed", "too late", now, Ledger.of([USELESS]))
    after = await memory.wait_for(receipt.batch_id, **IVO)
    assert after.state == done.state == "done"
    assert (done.ledger.model_calls, after.ledger.model_calls) == (0, 1)
    assert await memory.verify() == []


async def test_each_batch_has_its_own(open_store: Any) -> None:
    chat = useless()
    memory = await with_model(open_store, chat)
    receipts = [
        await memory.add(text, session_id=f"s{place}", **IVO)
        for place, text in enumerate((FACT, "My sister Olga lives in Faro and teaches chess."))
    ]
    assert sum(receipt.ledger.model_calls for receipt in receipts) == len(chat.prompts)
    listed = {batch.id: batch.ledger.model_calls for batch in await memory.batches(**IVO)}
    assert listed == {receipt.batch_id: receipt.ledger.model_calls for receipt in receipts}


# ── reading ──────────────────────────────────────────────────────────────────────────────────


async def test_reading_is_counted_apart_and_for_each_scope(memory: AsyncMemory) -> None:
    store = memory._runtime.store
    for user in ("ivo", "mira"):
        await memory.add(FACT, user_id=user)
    mira = Scope(tenant="default", user_id="mira")
    other = USELESS.model_copy(update={"model": "barn-70b", "cost": None})
    await store.spend(SCOPE, Ledger.of([USELESS, other], embedding_calls=9, milliseconds=5))
    await store.spend(SCOPE, Ledger.of([USELESS]))
    await store.spend(mira, Ledger.of([USELESS]))
    models = (await memory.stats(**IVO))["models"]
    assert models["writing"] == []
    assert [(use["model"], use["calls"]) for use in models["reading"]] == [
        ("barn-70b", 1),
        ("shed-7b", 2),
    ]
    assert models["reading"][0]["cost"] is None
    assert models["reading"][1]["cost"] == pytest.approx(0.000_246_912)
    assert [use["calls"] for use in (await memory.stats(user_id="mira"))["models"]["reading"]] == [
        1
    ]
    assert all(batch.ledger.model_calls == 0 for batch in await memory.batches(**IVO))


async def test_reading_of_somebody_unknown_makes_nobody_known(memory: AsyncMemory) -> None:
    await memory._runtime.store.spend(
        Scope(tenant="default", user_id="nobody"), Ledger.of([USELESS])
    )
    assert await memory.scopes() == []
    assert (await memory.stats(user_id="nobody"))["models"] == {"writing": [], "reading": []}


async def test_what_a_scope_shares_is_counted_with_its_agents(memory: AsyncMemory) -> None:
    """A view of an agent of a user is of both scopes."""
    await memory.add(FACT, **IVO)
    await memory.add("The oven is hot.", user_id="ivo", agent_id="cook")
    cook = Scope(tenant="default", user_id="ivo", agent_id="cook")
    for scope in (SCOPE, cook):
        await memory._runtime.store.spend(scope, Ledger.of([USELESS]))
    (use,) = (await memory.stats(user_id="ivo", agent_id="cook"))["models"]["reading"]
    assert use["calls"] == 2


# ── what becomes of it ───────────────────────────────────────────────────────────────────────


async def test_costs_outlive_what_is_forgotten_and_hold_no_text(open_store: Any) -> None:
    memory = await with_model(open_store, useless())
    receipt = await memory.add(FACT, **IVO)
    await memory._runtime.store.spend(SCOPE, Ledger.of([USELESS]))
    before = (await memory.stats(**IVO))["models"]
    await memory.forget(everything=True, **IVO)
    after = (await memory.stats(**IVO))["models"]
    assert after == before
    batches = {batch.id: batch for batch in await memory.batches(**IVO)}
    assert batches[receipt.batch_id].ledger == receipt.ledger.model_copy(
        update={"milliseconds": batches[receipt.batch_id].ledger.milliseconds}
    )
    assert await memory.verify() == []


async def test_a_dump_carries_what_batches_cost_once(open_store: Any, tmp_path: Path) -> None:
    memory = await with_model(open_store, useless())
    receipt = await memory.add(FACT, **IVO)
    (batch,) = await memory.batches(**IVO)
    path = tmp_path / "all.jsonl"
    await memory.dump(path)
    copy: AsyncMemory = await open_store("copy")
    for _ in range(2):
        await copy.load(path)
        found = [one for one in await copy.batches(**IVO) if one.id == receipt.batch_id]
        assert [one.ledger for one in found] == [batch.ledger]
    assert (await copy.stats(**IVO))["models"] == (await memory.stats(**IVO))["models"]
    assert await copy.verify() == []


@pytest.mark.parametrize("wrong", [{"calls": -1}, {"cost": 10**30}, {"milliseconds": "long"}])
async def test_a_dump_with_impossible_costs_is_refused(
    open_store: Any, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    memory = await with_model(open_store, useless())
    await memory.add(FACT, **IVO)
    path = tmp_path / "all.jsonl"
    await memory.dump(path)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    next(row for row in rows if row.get("type") == "batch")["spending"][0].update(wrong)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    copy: AsyncMemory = await open_store("copy")
    with pytest.raises(InvalidInput, match="spending"):
        await copy.load(path)
