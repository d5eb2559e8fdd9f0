"""What a language model at an endpoint is asked, and what becomes of its answers."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from models.endpoint_server import Server, chat, serving, status
from pydantic_ai.providers import infer_provider_class

from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models.address import CHAT_PROVIDERS
from memstrata.models.chat import Prompt, Said
from memstrata.models.endpoint import Endpoint
from memstrata.models.pace import Retries

pytestmark = pytest.mark.anyio

QUICK = Retries(first=0.001)
SCHEMA: dict[str, Any] = {
    "title": "findings",
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


def asked(text: str = "Are the plums ripe?", **more: Any) -> Prompt:
    return Prompt("ask", "Answer in one word.", (Said("user", text),), **more)


@asynccontextmanager
async def endpoint(server: Server, name: str = "scripted", **more: Any) -> AsyncGenerator[Endpoint]:
    model = Endpoint(name, base_url=server.url, **{"retries": QUICK, **more})
    try:
        yield model
    finally:
        await model.aclose()


async def test_a_question_and_its_answer() -> None:
    with serving(chat("ripe")) as server:
        async with endpoint(server, api_key="pear-7719-key") as model:
            reply = await model.complete(asked(max_tokens=77, temperature=0.25))
    assert reply.text == "ripe"
    assert not reply.cut
    assert reply.tokens == ()
    used = reply.use
    assert used.model == model.id == f"scripted@{server.url.split('/')[2]}"
    assert (used.calls, used.input_tokens, used.output_tokens, used.cached_tokens) == (1, 11, 7, 3)
    assert used.milliseconds > 0
    assert used.cost is None
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer pear-7719-key"
    assert request.body["model"] == "scripted"
    assert request.body["max_tokens"] == 77
    assert request.body["temperature"] == 0.25
    assert [(m["role"], m["content"]) for m in request.body["messages"]] == [
        ("system", "Answer in one word."),
        ("user", "Are the plums ripe?"),
    ]
    assert not {"response_format", "logprobs", "tools"} & set(request.body)
    assert not request.body["stream"]


async def test_a_conversation_keeps_its_turns() -> None:
    with serving() as server:
        async with endpoint(server) as model:
            await model.complete(asked().then("yes", "Which of them?"))
    turns = server.requests[0].body["messages"]
    assert [(m["role"], m["content"]) for m in turns][1:] == [
        ("user", "Are the plums ripe?"),
        ("assistant", "yes"),
        ("user", "Which of them?"),
    ]


async def test_chinese_goes_out_and_comes_back_as_it_is() -> None:
    with serving(chat("熟了")) as server:
        async with endpoint(server) as model:
            assert (await model.complete(asked("李子熟了吗？"))).text == "熟了"
    assert server.requests[0].body["messages"][1]["content"] == "李子熟了吗？"


async def test_a_schema_goes_to_the_endpoint() -> None:
    with serving(chat('{"ready": true}')) as server:
        async with endpoint(server) as model:
            await model.complete(asked(schema={**SCHEMA, "title": "what is 熟 ripe?"}))
            assert model.schema_enforced
    wanted = server.requests[0].body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["name"] == "what_is___ripe_"
    assert wanted["json_schema"]["schema"]["properties"] == SCHEMA["properties"]
    assert server.requests[0].body["messages"][0]["content"] == "Answer in one word."


@pytest.mark.parametrize(
    "refusal",
    [
        "response_format is not supported",
        "json_schema output needs a newer server",
        "failed to parse grammar",
    ],
)
async def test_a_refused_schema_is_stated_in_words_from_then_on(refusal: str) -> None:
    with serving(status(400, refusal)) as server:
        async with endpoint(server) as model:
            assert (await model.complete(asked(schema=SCHEMA))).text == "well"
            assert not model.schema_enforced
            await model.complete(asked(schema=SCHEMA))
    first, *others = server.requests
    assert "response_format" in first.body
    assert len(others) == 2
    for request in others:
        assert "response_format" not in request.body
        assert '"ready"' in request.body["messages"][0]["content"]


async def test_a_schema_that_is_ignored_is_stated_in_words_from_then_on() -> None:
    """Reply by reply: an endpoint that held the model to it would never send this."""
    with serving(chat("```json\n{}\n```")) as server:
        async with endpoint(server) as model:
            assert (await model.complete(asked(schema=SCHEMA))).text == "```json\n{}\n```"
            await model.complete(asked(schema=SCHEMA))
    assert ["response_format" in request.body for request in server.requests] == [True, False]


@pytest.mark.parametrize(
    "answer",
    [chat('{"re', finish="length"), chat("<think>plums…</think>\n{}"), chat("")],
    ids=["cut", "thought", "empty"],
)
async def test_what_is_no_sign_of_an_ignored_schema(answer: Any) -> None:
    with serving(answer) as server:
        async with endpoint(server) as model:
            await model.complete(asked(schema=SCHEMA))
            assert model.schema_enforced


async def test_log_probabilities() -> None:
    tokens = [("ripe", -0.1, {"ripe": -0.1, "green": -2.5}), ("!", -1.5, {})]
    with serving(chat("ripe!", logprobs=tokens)) as server:
        async with endpoint(server) as model:
            reply = await model.complete(asked(logprobs=2))
    assert server.requests[0].body["logprobs"] is True
    assert server.requests[0].body["top_logprobs"] == 2
    assert [token[:2] for token in reply.tokens] == [("ripe", -0.1), ("!", -1.5)]
    assert reply.tokens[0].alternatives == (("ripe", -0.1), ("green", -2.5))


async def test_refused_log_probabilities_are_done_without_from_then_on() -> None:
    with serving(status(400, "this model does not support 'logprobs'")) as server:
        async with endpoint(server) as model:
            for _ in range(2):
                assert (await model.complete(asked(logprobs=2))).tokens == ()
    assert ["logprobs" in request.body for request in server.requests] == [True, False, False]


async def test_several_refusals_one_after_the_other() -> None:
    script = (
        status(400, "logprobs are not offered"),
        status(422, "temperature must be left out"),
        status(400, "unknown field response_format"),
    )
    with serving(*script) as server:
        async with endpoint(server) as model:
            reply = await model.complete(asked(logprobs=1, schema=SCHEMA))
    assert reply.text == "well"
    assert not {"temperature", "logprobs", "response_format"} & set(server.requests[-1].body)
    assert server.calls == 4


async def test_a_refusal_of_what_was_not_asked_is_a_failure() -> None:
    with serving(*[status(400, "response_format is not supported")] * 2) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match="400"):
                await model.complete(asked())
    assert server.calls == 1


async def test_a_reply_cut_by_its_limit_says_so() -> None:
    with serving(chat("The plums are", finish="length")) as server:
        async with endpoint(server) as model:
            assert (await model.complete(asked())).cut


async def test_thoughts_are_no_part_of_the_reply() -> None:
    with serving(chat("ripe", reasoning_content="It is August.")) as server:
        async with endpoint(server) as model:
            assert (await model.complete(asked())).text == "ripe"


async def test_a_reply_without_text_is_an_empty_one() -> None:
    with serving(chat(None), chat("")) as server:
        async with endpoint(server) as model:
            assert (await model.complete(asked())).text == ""
            assert (await model.complete(asked())).text == ""
    assert server.calls == 2


async def test_a_reply_by_a_tool_nobody_offered_is_what_it_was_given() -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    with serving(chat(None, finish="tool_calls", tool_calls=[call])) as server:
        async with endpoint(server) as model:
            assert json.loads((await model.complete(asked())).text) == {"a": 1}


async def test_tokens_are_estimated_where_nobody_counts_them() -> None:
    with serving(chat("ripe" * 30, tokens=None)) as server:
        async with endpoint(server) as model:
            used = (await model.complete(asked("plums " * 60))).use
    assert 120 <= used.input_tokens <= 140
    assert used.output_tokens == 40


async def test_what_a_call_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known for who is known; the same model at a server of one's own may cost anything."""
    monkeypatch.setenv("OPENAI_API_KEY", "pear-7719-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert Endpoint("openai:gpt-5-mini").priced
    assert Endpoint("openai:gpt-5-mini").id == "openai:gpt-5-mini"
    assert not Endpoint("openai:gpt-5-mini@http://127.0.0.1:9/v1").priced
    assert not Endpoint("ollama:gpt-5-mini").priced


async def test_openais_own_variables_may_name_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "pear-7719-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        model = Endpoint("openai:scripted", retries=QUICK)
        await model.complete(asked())
        await model.aclose()
    assert server.requests[0].headers["authorization"] == "Bearer pear-7719-key"
    assert server.requests[0].body["max_tokens"] == 1024
    assert not model.priced


async def test_the_key_in_the_environment_goes_to_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "pear-7719-key")
    with serving() as server:
        async with endpoint(server, "openai:scripted") as model:
            await model.complete(asked())
    assert "pear-7719" not in str(server.requests[0].headers)


async def test_other_providers_by_their_name_and_a_url() -> None:
    with serving() as server:
        model = Endpoint(f"ollama:plum:7b@{server.url}", api_key="pear-7719-key", retries=QUICK)
        assert (await model.complete(asked(schema=SCHEMA))).text == "well"
        await model.aclose()
    assert server.requests[0].body["model"] == "plum:7b"
    assert server.requests[0].headers["authorization"] == "Bearer pear-7719-key"


async def test_a_model_that_cannot_but_think_is_given_room_for_it() -> None:
    with serving() as server:
        async with endpoint(server, "gpt-5-mini") as model:
            await model.complete(asked(max_tokens=100, logprobs=1))
    assert server.requests[0].body["max_tokens"] > 4000
    assert not {"temperature", "logprobs"} & set(server.requests[0].body)


@pytest.mark.parametrize("name", ["o3-mini", "gpt-5.1", "gpt-5.5", "gpt-6-astra", "gpt-4o", "plum"])
async def test_whatever_a_model_is_known_to_refuse_is_not_asked(name: str) -> None:
    """pydantic-ai would warn, and warnings are errors here; then its endpoint refuses, too."""
    with serving(status(400, "reasoning_effort is unknown")) as server:
        async with endpoint(server, name) as model:
            for _ in range(2):
                try:
                    await model.complete(asked(logprobs=1))
                except ModelFailed:
                    assert server.calls == 1, "there was nothing to leave out"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt-5-mini", "provider:model"),
        ("plum:7b", "provider:model"),
        ("openai:", "no model"),
        ("", "no model"),
        ("plum@http://", "URL"),
        ("plum@https://ana:secret@host/v1", "llm_api_key"),
        ("plum@https://host/v1?key=secret", "llm_api_key"),
        ("plum@http://host:99999999/v1", "URL"),
    ],
)
async def test_names_that_say_nothing(name: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        Endpoint(name)
    assert "secret" not in str(caught.value)


async def test_one_model_on_two_event_loops() -> None:
    """Blocking calls and background work run on loops of their own."""
    with serving() as server:
        async with endpoint(server) as model:
            await model.complete(asked())
            await _elsewhere(model)
            await model.complete(asked())
    assert server.calls == 3


async def _elsewhere(model: Endpoint) -> None:
    async def there() -> None:
        await model.complete(asked())
        await model.aclose()

    await anyio.to_thread.run_sync(anyio.run, there)


_ALONE = """
import anyio, socket, sys, threading
asked = []
connect = socket.socket.connect
def noted(self, address):
    asked.append(address)
    return connect(self, address)
socket.socket.connect = noted
look_up = socket.getaddrinfo
def looked_up(host, *rest, **more):
    asked.append((host, 0))
    return look_up(host, *rest, **more)
socket.getaddrinfo = looked_up
from memstrata.models.chat import Prompt, Said
from memstrata.models.endpoint import Endpoint
from memstrata.models.prices import price_of
from memstrata.models.address import address_of
import memstrata

async def main():
    model = Endpoint("scripted", base_url=sys.argv[1])
    await model.complete(Prompt("ask", "Answer.", (Said("user", "Ripe?"),)))
    await model.aclose()

anyio.run(main)
assert price_of(address_of("openai:gpt-5-mini"), 1000, 1000) > 0
print(sorted({host for host, *_ in asked}))
print(sorted(thread.name for thread in threading.enumerate()))
"""


async def test_nobody_else_is_asked(tmp_path: Path) -> None:
    """No telemetry, no newer prices: what is connected to is the endpoint, and nothing runs on."""
    with serving() as server:
        command = [sys.executable, "-W", "error", "-c", _ALONE, server.url]
        done = await anyio.run_process(command, cwd=tmp_path)
    assert done.stdout.decode().splitlines() == ["['127.0.0.1']", "['MainThread']"]


async def test_the_providers_are_those_of_pydantic_ai() -> None:
    for name in CHAT_PROVIDERS:
        try:
            infer_provider_class(name)
        except ImportError:
            continue  # it has a package of its own, which is not here


async def test_a_provider_whose_package_is_missing_or_whose_key_is_not_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelFailed, match=r"openai:plum: .*OPENAI_API_KEY"):
        await Endpoint("openai:plum").complete(asked())
    if importlib.util.find_spec("anthropic") is None:
        with pytest.raises(ModelFailed, match=r"anthropic:plum: .*pip install"):
            await Endpoint("anthropic:plum").complete(asked())


_FORKED = """
import anyio, os, sys
import memstrata
from memstrata.jobs import loop_thread
from memstrata.models.chat import Prompt, Said
from memstrata.models.endpoint import Endpoint
from memstrata.models.remote import RemoteEmbedder

model = Endpoint("scripted", base_url=sys.argv[1])
embedder = RemoteEmbedder("plum", base_url=sys.argv[1])

async def ask():
    await model.complete(Prompt("ask", "Answer.", (Said("user", "Ripe?"),)))

async def alone():
    await ask()
    await model.aclose()

loop_thread("work").call(ask)
embedder.embed_passages(["before"])
child = os.fork()
if child == 0:
    anyio.run(alone)
    embedder.embed_passages(["after"])
    os._exit(0)
ended = os.waitpid(child, 0)[1]
anyio.run(alone)
embedder.close()
sys.exit(ended)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
async def test_a_forked_child_has_connections_of_its_own(tmp_path: Path) -> None:
    with serving() as server:
        command = [sys.executable, "-c", _FORKED, server.url]
        with anyio.fail_after(60):
            done = await anyio.run_process(command, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert [request.path for request in server.requests].count("/v1/chat/completions") == 3
