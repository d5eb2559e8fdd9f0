"""The API as its OpenAPI says it is: calls that it allows are done, others refused, as it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from surfaces.serving import serving

import memstrata
from memstrata.api.routes import PREFIX, path_of
from memstrata.verbs import VERBS

NOT_TRIED = {
    "backup",  # has no route
    "load",  # takes a file
}
EXAMPLES = 15

_IDS = {
    "record_id": ("record",),
    "into": ("record",),
    "batch_id": ("batch",),
    "batch_or_change": ("batch",),
    "id": ("record", "message", "entry"),
    "parent": ("theme",),
}
"""Arguments that mean something which is there."""


BEYOND = re.compile(
    "no last turn with a text|goes with merge alone|correct needs the fields|in exactly one way|"
    "needs at least one field to change|has no field|needs its secret|is over already|"
    "is not sealed|search_fields needs words|is blank: give at least one character that can be|"
    "unknown time zone|an agent has no time zone|cannot take|holds at most|number of 64 bits"
)
"""What no schema can say: how arguments go together, what is there already, what time it is."""


def _is_beyond(response: Any) -> bool:
    return response.status_code == 422 and BEYOND.search(response.json()["detail"]) is not None


@dataclass(frozen=True)
class Place:
    """A server with something in its store."""

    url: str
    key: str
    there: dict[str, str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("schemathesis")
    path = folder / "memory.db"
    with memstrata.open(path, embedder="fake") as memory:
        ana = memory.scoped(user_id="ana")
        said = ana.add("I moved to Lisbon last month. I can't eat peanuts.", session_id="s1")
        made = ana.create({"kind": "semantic", "name": "Ana takes line 28", "tags": ["way"]})
        for name in ("The plums are ripe", "Plums ripen in August", "莉莉住在里斯本"):
            ana.create({"kind": "semantic", "name": name})
        entry = ana.vault.put("Quince-40", caption="Orchard gate")
        themes = ana.themes().items
        permissions = ("read", "write", "vault:reveal", "admin")
        key = memory.keys.create("tester", permissions=permissions)
        there = {
            "message": said.message_ids[0],
            "batch": said.batch_id,
            "record": made.record_ids[0],
            "entry": entry.record_ids[0],
            "theme": themes[0].id if themes else "theme_0",
        }
    with serving(str(path), embedder="fake") as url:
        yield Place(url, key.secret, there)


@pytest.fixture(scope="module")
def api(place: Place) -> Any:
    config = SchemathesisConfig()
    config.projects.default.base_url = place.url
    return schemathesis.openapi.from_dict(
        httpx2.get(f"{place.url}/openapi.json").json(), config=config
    )


def _about_something(body: Any, there: dict[str, str], *, takes_user: bool) -> None:
    """Let some calls be about what is there: at random it is never met."""
    if not isinstance(body, dict):
        return
    body.pop("cursor", None)  # it is what a page gave, and nothing else
    if takes_user:
        body["user_id"] = "ana"
    for name in body.keys() & _IDS.keys():
        value = body[name]
        if isinstance(value, str):
            number = blake2b(value.encode(), digest_size=1).digest()[0]
            names = _IDS[name]
            if number % 3:
                body[name] = there[names[number % len(names)]]


_LAST = ("undo", "forget")
"""They leave less for others to find."""


def _order(verb: str) -> tuple[bool, str]:
    return verb in _LAST, verb


OPERATIONS = [
    ("GET", f"{PREFIX}/whoami"),
    *(("POST", path_of(verb)) for verb in sorted(VERBS.keys() - NOT_TRIED, key=_order)),
]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda part: part.split("/v1/")[-1])
def test_every_operation_does_as_it_says(
    api: Any, place: Place, method: str, path: str, mode: GenerationMode
) -> None:
    strategy = api[path][method].as_strategy(generation_mode=mode)
    if mode is GenerationMode.NEGATIVE and path.endswith("/whoami"):
        return  # it takes nothing, so nothing can be wrong

    body = api.raw_schema["paths"][path][method.lower()].get("requestBody", {})
    takes_user = '"user_id"' in json.dumps(body)

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=strategy)
    def check(case: Case) -> None:
        if mode is GenerationMode.POSITIVE:
            _about_something(case.body, place.there, takes_user=takes_user)
        response = case.call(headers={"Authorization": f"Bearer {place.key}"})
        beyond = mode is GenerationMode.POSITIVE and _is_beyond(response)
        case.validate_response(
            response, excluded_checks=[positive_data_acceptance] if beyond else []
        )

    check()
