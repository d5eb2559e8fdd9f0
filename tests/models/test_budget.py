"""Limits of spending: what comes after one is reached is not asked, and nothing is lost."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import memstrata
from memstrata.errors import BudgetExceeded, InvalidInput, ModelFailed
from memstrata.models.budget import Budget, Limited, budget_of
from memstrata.models.chat import Models, Prompt, Reply, Said
from memstrata.models.fake import FakeChat
from memstrata.models.language import Access, open_models
from memstrata.records import ModelUse

pytestmark = pytest.mark.anyio

QUESTION = Prompt("ask", "Answer in one word.", (Said("user", "Are the plums ripe?"),))


def priced(cost: float | None, tokens: int = 10) -> Reply:
    return Reply("ripe", ModelUse(model="plum", calls=1, input_tokens=tokens, cost=cost))


async def test_calls() -> None:
    chat = FakeChat(otherwise="ripe")
    model = Limited(chat, Budget(calls=2))
    assert (await model.complete(QUESTION)).text == "ripe"
    await model.complete(QUESTION)
    with pytest.raises(BudgetExceeded, match=r"budget of 2 calls is used up.*2 calls, \d+ tokens"):
        await model.complete(QUESTION)
    assert len(chat.prompts) == 2, "it was not asked"
    assert model.id == "fake-chat"


async def test_tokens() -> None:
    chat = FakeChat(otherwise=priced(0.0, tokens=60))
    model = Limited(chat, Budget(tokens=100))
    await model.complete(QUESTION)
    await model.complete(QUESTION)
    with pytest.raises(BudgetExceeded, match="budget of 100 tokens"):
        await model.complete(QUESTION)
    assert len(chat.prompts) == 2


async def test_cost() -> None:
    model = Limited(FakeChat(otherwise=priced(0.4)), Budget(cost=1.0))
    for _ in range(3):
        await model.complete(QUESTION)
    with pytest.raises(BudgetExceeded, match=r"budget of \$1 is used up.*\$1\.2000"):
        await model.complete(QUESTION)


async def test_a_cost_that_nobody_knows_ends_a_budget_of_cost() -> None:
    model = Limited(FakeChat(otherwise=priced(None)), Budget(cost=1.0))
    await model.complete(QUESTION)
    with pytest.raises(BudgetExceeded, match="what plum costs is not known"):
        await model.complete(QUESTION)


async def test_the_limits_say_how_to_go_on() -> None:
    with pytest.raises(BudgetExceeded, match=r"can be retried.*MEMSTRATA_LLM_BUDGET"):
        await Limited(FakeChat(), Budget(calls=0)).complete(QUESTION)


async def test_several_models_share_one() -> None:
    budget = Budget(calls=3)
    one, other = Limited(FakeChat(otherwise="a"), budget), Limited(FakeChat(otherwise="b"), budget)
    await one.complete(QUESTION)
    await other.complete(QUESTION)
    await other.complete(QUESTION)
    with pytest.raises(BudgetExceeded):
        await one.complete(QUESTION)


async def test_calls_side_by_side_never_pass_the_limit_of_calls() -> None:
    chat = FakeChat(otherwise="ripe")
    model = Limited(chat, Budget(calls=5))
    refused = 0

    async def ask() -> None:
        nonlocal refused
        try:
            await model.complete(QUESTION)
        except BudgetExceeded:
            refused += 1

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask)
    assert (len(chat.prompts), refused) == (5, 3)


async def test_a_failed_call_counts_as_one() -> None:
    model = Limited(FakeChat(ModelFailed("down"), "ripe"), Budget(calls=1))
    with pytest.raises(ModelFailed):
        await model.complete(QUESTION)
    with pytest.raises(BudgetExceeded):
        await model.complete(QUESTION)


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({"calls": 500, "cost": 2.5}, (500, None, 2.5)),
        ("calls=500,tokens=200000, cost=2.5", (500, 200000, 2.5)),
        ("tokens=0", (None, 0, None)),
        ({"cost": 3}, (None, None, 3.0)),
    ],
)
def test_as_mapping_and_as_text(given: Any, limits: tuple[Any, ...]) -> None:
    budget = budget_of(given)
    assert budget is not None
    assert (budget.calls, budget.tokens, budget.cost) == limits


def test_none() -> None:
    assert [budget_of(given) for given in (None, "", {})] == [None] * 3


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("pears=3", "no limit 'pears'"),
        ({"calls": -1}, "calls is a whole number"),
        ({"calls": 1.5}, "calls is a whole number"),
        ({"calls": True}, "calls is a whole number"),
        ({"calls": None}, "calls is a whole number"),
        ("cost=free", "cost is dollars"),
        ({"cost": float("inf")}, "cost is dollars"),
        ({"cost": float("nan")}, "cost is dollars"),
        ("calls", "calls is a whole number"),
        (7, "budget is a mapping"),
        ([("calls", 3)], "budget is a mapping"),
    ],
)
def test_budgets_that_are_none(given: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        budget_of(given)


class Foreign:
    """A model somebody else wrote."""

    id = "foreign"

    async def complete(self, prompt: Prompt) -> Reply:
        raise ConnectionError(f"no route for {prompt.purpose}")


def opened(*models: Any, budget: Budget | None = None, **access: Any) -> Models:
    llm, chat, judge = [*models, None, None][:3]
    given = open_models(llm, chat, judge, Access(**access), budget)
    assert given is not None
    return given


async def test_what_a_foreign_model_raises() -> None:
    models = opened(Foreign())
    assert models.extract is models.chat is models.judge
    with pytest.raises(ModelFailed, match=r"foreign failed: ConnectionError: no route") as caught:
        await models.chat.complete(QUESTION)
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_one_model_beside_others() -> None:
    models = opened("plum@http://127.0.0.1:9/v1", None, FakeChat(id="judge"))
    assert models.extract is models.chat
    assert (models.extract.id, models.judge.id) == ("plum@127.0.0.1:9", "judge")
    assert open_models(None, "none", None, Access(), None) is None


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ((None, FakeChat()), "beside llm"),
        (("none", None, "openai:gpt-5-mini"), "beside llm"),
        ((7,), "name or a ChatModel"),
        (("plum",), "provider:model"),
    ],
)
def test_models_that_are_none(models: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        opened(*models)


def test_a_budget_of_cost_needs_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert opened("openai:gpt-5-mini", budget=Budget(cost=1.0))
    for model in ("plum@http://127.0.0.1:9/v1", FakeChat()):
        with pytest.raises(InvalidInput, match="costs is not known"):
            opened(model, budget=Budget(cost=1.0))
        assert opened(model, budget=Budget(calls=1))


async def test_a_store_keeps_to_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = FakeChat(otherwise="ripe")
    with pytest.raises(InvalidInput, match="no limit"):
        await memstrata.open_async(":memory:", embedder="none", llm=chat, budget={"pears": 1})
    monkeypatch.setenv("MEMSTRATA_LLM_BUDGET", "calls=1")
    async with await memstrata.open_async(":memory:", embedder="none", llm=chat) as memory:
        first, second = await memory.doctor(), await memory.doctor()
    told = {check["check"]: check["detail"] for check in second}
    assert "budget of 1 calls is used up" in told["llm"]
    assert "budget" not in str(first)
    assert len(chat.prompts) == 1
