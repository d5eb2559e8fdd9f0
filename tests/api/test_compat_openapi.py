"""The routes of other clients as OpenAPI says they are: no server error, no wrong answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import httpx2
import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from surfaces.serving import serving

import memstrata
from memstrata.api.mem0 import mem0_routes
from memstrata.api.mirix import mirix_routes

EXAMPLES = 15


@dataclass(frozen=True)
class Place:
    """A server with something in its store."""

    url: str
    key: str
    ids: tuple[str, ...]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    path = str(tmp_path_factory.mktemp("compat-openapi") / "memory.db")
    with memstrata.open(path, embedder="fake") as memory:
        said = memory.add("I moved to Lisbon. I can't eat peanuts.", user_id="ana", session_id="s1")
        bare = memory.add("Nice!", user_id="ana", infer=False)
        ids = (*said.record_ids, *said.message_ids, *bare.message_ids, said.batch_id, "msg_none")
        key = memory.keys.create("tester", permissions=("read", "write", "admin")).secret
    with serving(path, embedder="fake") as url:
        yield Place(url, key, ids)


@pytest.fixture(scope="module")
def api(place: Place) -> Any:
    config = SchemathesisConfig()
    config.projects.default.base_url = place.url
    described = httpx2.get(f"{place.url}/openapi.json").json()
    return schemathesis.openapi.from_dict(described, config=config)


def _operations() -> Iterator[tuple[str, str]]:
    nothing: Any = None  # routes are made before there is a store
    for router in (mem0_routes(nothing), mirix_routes(nothing)):
        for route in router.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                yield from ((method, route.path_format) for method in sorted(route.methods))


OPERATIONS = sorted(_operations())


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda part: part)
def test_every_operation_does_as_it_says(
    api: Any, place: Place, method: str, path: str, mode: GenerationMode
) -> None:
    operation = api[path][method]
    if mode is GenerationMode.NEGATIVE and not operation.body and not operation.query:
        return  # what it takes is a text, and every text is one
    # What options mean together, and which filters there are, is more than a schema says.
    too_strict = [positive_data_acceptance]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            _about_something(case, place)
        case.call_and_validate(
            headers={"Authorization": f"Token {place.key}"}, excluded_checks=too_strict
        )

    check()


def _about_something(case: Case, place: Place) -> None:
    """Let most calls be about what is there: at random it is never met."""
    for name in case.path_parameters.keys() & {"memory_id", "event_id"}:
        given = str(case.path_parameters[name])
        number = blake2b(given.encode("utf-8", "replace"), digest_size=1).digest()[0]
        if number % 4:
            case.path_parameters[name] = place.ids[number % len(place.ids)]
    if "user_id" in case.query:
        case.query["user_id"] = "ana"
    body = case.body
    if isinstance(body, dict):
        for name in ("user_id", "filters"):
            right = {"user_id": "ana", "filters": {"user_id": "ana"}}[name]
            if name in body and isinstance(body[name], type(right)):
                body[name] = right


def test_all_of_them_are_described(place: Place) -> None:
    described = httpx2.get(f"{place.url}/openapi.json").json()["paths"]
    tags = {
        tag: {
            path
            for path, item in described.items()
            for each in item.values()
            if tag in each["tags"]
        }
        for tag in ("mem0", "mirix")
    }
    assert {"/v1/ping/", "/v3/memories/add/", "/v3/memories/search/", "/v1/batch/"} <= tags["mem0"]
    assert {"/memory/add", "/memory/search", "/memory/retrieve/topic"} <= tags["mirix"]
    for path in tags["mem0"] | tags["mirix"]:
        for operation in described[path].values():
            assert operation["summary"] and operation["description"]
