"""A real model behind a real server: what it says is its own affair, how it says it is ours."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest

import memstrata
from memstrata.errors import ModelFailed
from memstrata.models.chat import Prompt, Said
from memstrata.models.endpoint import Endpoint
from memstrata.models.pace import Retries

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
    "required": ["fruit"],
    "additionalProperties": False,
}


@pytest.fixture
async def model(local_endpoint: str) -> AsyncGenerator[Endpoint]:
    made = Endpoint("local", base_url=local_endpoint, timeout=300, retries=Retries(tries=2))
    yield made
    await made.aclose()


def asked(text: str, **more: object) -> Prompt:
    return Prompt("ask", "You answer briefly.", (Said("user", text),), **more)


async def test_a_schema_holds_it_to_its_form(model: Endpoint) -> None:
    reply = await model.complete(
        asked("Name the fruit in: plums, pears and a kiln.", schema=SCHEMA, max_tokens=60)
    )
    assert isinstance(json.loads(reply.text)["fruit"], list)
    assert model.schema_enforced
    assert reply.use.input_tokens > 10
    assert reply.use.output_tokens > 3


async def test_log_probabilities_come_and_a_limit_cuts(model: Endpoint) -> None:
    reply = await model.complete(asked("Tell me about plums.", max_tokens=4, logprobs=2))
    assert reply.cut
    assert 1 <= len(reply.tokens) <= 4
    assert all(token.logprob <= 0 and len(token.alternatives) == 2 for token in reply.tokens)


async def test_a_prompt_that_is_too_long_is_a_failure_in_words(model: Endpoint) -> None:
    with pytest.raises(ModelFailed, match=r"answered 400"):
        await model.complete(asked("plums and pears " * 20_000, max_tokens=4))


def test_doctor_says_what_it_can_do(local_endpoint: str) -> None:
    name = f"local@{local_endpoint}"
    with memstrata.open(":memory:", embedder="none", llm=name) as memory:
        found = {check["check"]: check for check in memory.doctor()}["llm"]
    assert found["ok"], found
    assert "JSON as its schema asks; log-probabilities" in found["detail"]
