"""The OpenAPI: true of what is answered, of what is refused, and complete."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from api.story import STORY, play
from cases.test_bad_input import BAD, VALID

import memstrata
from memstrata import errors
from memstrata.api import make_app
from memstrata.api.openapi import examples
from memstrata.api.problems import STATUS
from memstrata.api.routes import PREFIX, path_of
from memstrata.models.fake import FakeEmbedder
from memstrata.verbs import VERBS

pytestmark = pytest.mark.anyio

NO_ROUTE = {"backup"}
MOVES_A_FILE = {"dump", "load"}
CALLED = sorted(set(VERBS) - NO_ROUTE - MOVES_A_FILE)


@pytest.fixture(scope="module")
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture(scope="module")
async def http(embedder: FakeEmbedder) -> AsyncIterator[httpx2.AsyncClient]:
    async with await memstrata.open_async(":memory:", embedder=embedder) as memory:
        transport = httpx2.ASGITransport(make_app(memory))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield http


@pytest.fixture(scope="module")
async def openapi(http: httpx2.AsyncClient) -> dict[str, Any]:
    return (await http.get("/openapi.json")).json()


def wrong(openapi: Mapping[str, Any], schema: Mapping[str, Any], value: Any) -> list[str]:
    """What a schema has against a value."""
    whole = {**schema, "components": openapi["components"]}
    return [error.message for error in jsonschema.Draft202012Validator(whole).iter_errors(value)]


def asked(openapi: Mapping[str, Any], verb: str) -> dict[str, Any]:
    """The media type of a verb's body."""
    return openapi["paths"][path_of(verb)]["post"]["requestBody"]["content"]["application/json"]


def answered(openapi: Mapping[str, Any], verb: str) -> dict[str, Any]:
    responses = openapi["paths"][path_of(verb)]["post"]["responses"]
    return responses["200"]["content"]["application/json"]


async def test_it_is_a_sound_schema_in_all_its_parts(openapi: dict[str, Any]) -> None:
    assert openapi["openapi"].startswith("3.1")
    for name, schema in openapi["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert not name.startswith("Body_")
    text = json.dumps(openapi)
    for ref in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        found: Any = openapi
        for step in ref.removeprefix("#/").split("/"):
            found = found[step]


async def test_every_example_is_answered_as_the_schema_says(
    http: httpx2.AsyncClient, openapi: dict[str, Any], embedder: FakeEmbedder
) -> None:
    """Each request that is shown is sent, in the order of the story."""
    told = await play(http, embedder)
    for verb, pair in told.items():
        assert wrong(openapi, asked(openapi, verb)["schema"], pair["request"]) == [], verb
        assert wrong(openapi, answered(openapi, verb)["schema"], pair["response"]) == [], verb
        shown = examples()[verb]
        assert set(shown["request"]) == set(pair["request"]), f"{verb}: play the story again"
        assert type(shown["response"]) is type(pair["response"])


@pytest.mark.parametrize("verb", CALLED)
async def test_every_verb_has_an_example_that_its_schemas_allow(
    openapi: dict[str, Any], verb: str
) -> None:
    sent, got = asked(openapi, verb), answered(openapi, verb)
    assert wrong(openapi, sent["schema"], sent["examples"][verb]["value"]) == []
    assert wrong(openapi, got["schema"], got["examples"][verb]["value"]) == []
    assert verb in {each.verb for each in STORY}


async def test_every_argument_is_described_with_an_example_that_it_may_be(
    openapi: dict[str, Any],
) -> None:
    for name in CALLED:
        body = asked(openapi, name)["schema"]
        assert set(body["properties"]) == set(VERBS[name].parameters)
        for argument, schema in body["properties"].items():
            assert len(schema["description"]) > 10, (name, argument)
            (example,) = schema["examples"]
            assert wrong(openapi, schema, example) == [], (name, argument, example)
            parameter = VERBS[name].parameters[argument]
            given = parameter.default is parameter.empty and argument != "changes"
            assert (argument in body.get("required", [])) == given


async def test_every_way_to_fail_is_described(openapi: dict[str, Any]) -> None:
    """One status for each error, and each of them at every operation of ours."""
    assert len(set(STATUS.values())) == len(STATUS)
    assert set(STATUS) == {getattr(errors, name) for name in errors.__all__}
    for path, operations in openapi["paths"].items():
        for operation in operations.values() if path.startswith(f"{PREFIX}/") else ():
            assert {str(status) for status in STATUS.values()} <= set(operation["responses"])
            assert operation["summary"] and operation["tags"] and operation["operationId"]


async def test_keys_and_headers_are_described(openapi: dict[str, Any]) -> None:
    schemes = openapi["components"]["securitySchemes"]
    assert {scheme["type"] for scheme in schemes.values()} == {"http", "apiKey"}
    for name in CALLED:
        headers = {
            parameter["name"] for parameter in openapi["paths"][path_of(name)]["post"]["parameters"]
        }
        once = "idempotency_key" in VERBS[name].parameters
        assert headers == {"Memstrata-Actor", *(["Idempotency-Key"] if once else [])}


def is_deep(value: Any) -> bool:
    """Whether it is too deep to be asked about; how deep a value may be no schema says."""
    level = [value]
    for _ in range(20):
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [item for each in inner if not isinstance(each, str) for item in _items(each)]
    return bool(level)


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) else []


def is_json(value: Any) -> bool:
    """Whether a value can be sent."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(is_json(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    if isinstance(value, str):
        return not any(0xD800 <= ord(each) < 0xE000 for each in value)
    return value is None or isinstance(value, bool | int)


NOT_OF_A_SCHEMA = {
    "cursor", "timezone", "as_of", "expires_at", "known_at", "now", "occurred_at", "since", "until",
}  # fmt: skip
"""Whose texts a schema says less of than the verbs do: they are looked up, or read as times."""
UNSEEN = [
    {"kind": "semantic", "name": "x", "valid_from": "0001-01-01T00:00:00+14:00"},
    {"kind": "semantic", "name": "x", "occurred_at": "soon"},
    {"kind": "core", "label": "human", "value": "x" * 3_000},
    {"content": "x", "occurred_at": "soon"},
    {"content": "x", "occurred_at": "0001-01-01T00:00:00+14:00"},
    {"occurred_at": "soon"},
    {"metadata.k": 2**70},
    {"metadata.k": {"lt": -(2**70)}},
    {"metadata.k": {"in": [2**70]}},
    "\u200b",
]
"""Values that only the verbs know to be wrong: in a time, and between fields."""


@pytest.mark.parametrize("verb", [name for name in CALLED if name in VALID])
async def test_what_the_verbs_refuse_the_schema_refuses(openapi: dict[str, Any], verb: str) -> None:
    """And what they take it allows."""
    body = asked(openapi, verb)["schema"]
    spread = {name: value for name, value in VALID[verb].items() if name in body["properties"]}
    assert wrong(openapi, body, spread) == []
    for argument, schema in body["properties"].items():
        for value in BAD.get(argument, ()):
            if (
                is_deep(value)
                or not is_json(value)
                or value in UNSEEN
                or (value is None and _may_be_null(schema))
            ):
                continue
            if isinstance(value, str) and argument in NOT_OF_A_SCHEMA:
                continue
            assert wrong(openapi, schema, value), f"{argument} may be {value!r}"


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return {"type": "null"} in schema.get("anyOf", [])


async def test_the_file_of_examples_has_nothing_of_a_machine_in_it() -> None:
    text = json.dumps(examples())
    assert not [word for word in (str(Path.home()), "/tmp", "/work/") if word in text]
