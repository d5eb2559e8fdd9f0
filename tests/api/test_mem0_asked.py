"""What mem0's client asks for: filters and options, whose memory, with which key, how long ago."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from api.beside import Beside, beside
from api.clients import OLDER, Client, ClientError

import memstrata
from memstrata.errors import ModelFailed
from memstrata.models.fake import FakeChat

DAY = 86_400
START = 1_767_225_600  # 2026-01-01, UTC


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with beside(tmp_path_factory.mktemp("mem0-asked")) as made:
        yield made


@pytest.fixture(scope="module")
def mem0(here: Beside) -> Client:
    """A client, and four memories to ask for."""
    client = here.mem0()
    for number, (text, run, metadata) in enumerate(
        [
            ("pizza on Friday", "r1", {"meal": "dinner", "stars": 4}),
            ("Soup at noon", "r1", {"meal": "lunch", "stars": 2}),
            ("a walk by the river", "r2", {"stars": 5, "draft": True}),
            ("星期五吃火锅", None, {}),
        ]
    ):
        client.add(
            text,
            user_id="ana",
            infer=False,
            timestamp=START + number * DAY,
            metadata=metadata,
            **({} if run is None else {"run_id": run}),
        )
    here.memory.add("tagged tea", user_id="ana", tags=["drinks"], infer=False,
                    occurred_at="2026-02-01T00:00:00Z")  # fmt: skip
    client.add("pizza of another", user_id="bo", infer=False, timestamp=START)
    return client


PIZZA, SOUP, WALK, HOTPOT, TEA = (
    "pizza on Friday",
    "Soup at noon",
    "a walk by the river",
    "星期五吃火锅",
    "tagged tea",
)
ASKED: list[tuple[Any, set[str]]] = [
    ({"run_id": "r1"}, {PIZZA, SOUP}),
    ({"run_id": "*"}, {PIZZA, SOUP, WALK}),
    ({"run_id": {"in": ["r2", "r9"]}}, {WALK}),
    ({"run_id": {"ne": "r1"}}, {WALK, HOTPOT, TEA}),
    ({"metadata": {"meal": "dinner"}}, {PIZZA}),
    ({"metadata": {"stars": {"gte": 4}}}, {PIZZA, WALK}),
    ({"metadata": {"stars": {"gt": 2, "lt": 5}}}, {PIZZA}),
    ({"metadata": {"draft": True}}, {WALK}),
    ({"metadata": {"draft": 1}}, set()),
    ({"metadata": {"meal": "*"}}, {PIZZA, SOUP}),
    ({"metadata": {"meal": {"ne": "lunch"}}}, {PIZZA, WALK, HOTPOT, TEA}),
    ({"created_at": {"gte": "2026-01-02", "lt": "2026-01-04"}}, {SOUP, WALK}),
    ({"created_at": {"lte": "2026-01-01T00:00:00Z"}}, {PIZZA}),
    ({"timestamp": {"gt": START + 2 * DAY}}, {HOTPOT, TEA}),
    ({"keywords": {"icontains": "PIZZA"}}, {PIZZA}),
    ({"keywords": {"contains": "PIZZA"}}, set()),
    ({"keywords": {"contains": "火锅"}}, {HOTPOT}),
    ({"categories": {"in": ["drinks"]}}, {TEA}),
    ({"categories": {"contains": "drink"}}, {TEA}),
    ({"NOT": {"metadata": {"meal": "lunch"}}}, {PIZZA, WALK, HOTPOT, TEA}),
    ({"NOT": [{"run_id": "r1"}, {"run_id": "r2"}]}, {HOTPOT, TEA}),
    ({"OR": [{"run_id": "r2"}, {"keywords": {"contains": "Soup"}}]}, {SOUP, WALK}),
    ({"AND": [{"run_id": "r1"}, {"OR": [{"metadata": {"stars": 2}}]}]}, {SOUP}),
]


@pytest.mark.parametrize(("asked", "wanted"), ASKED, ids=[str(one) for one, _ in ASKED])
def test_a_filter_finds_what_it_says(mem0: Client, asked: Any, wanted: set[str]) -> None:
    filters = {"AND": [{"user_id": "ana"}, asked]}
    assert {each["memory"] for each in mem0.get_all(filters=filters)["results"]} == wanted
    # The same in a search, whatever the order.
    found = mem0.search("Friday pizza walk soup 火锅 tea", filters=filters, top_k=50)["results"]
    assert {each["memory"] for each in found} <= wanted
    if wanted:
        assert found
    flat = {"user_id": "ana", **asked}
    assert {each["memory"] for each in mem0.get_all(filters=flat)["results"]} == wanted


def test_memories_by_their_ids(mem0: Client) -> None:
    ids = [each["id"] for each in mem0.get_all(filters={"user_id": "ana"})["results"]][:2]
    asked = {"AND": [{"user_id": "ana"}, {"memory_ids": ids}]}
    assert {each["id"] for each in mem0.get_all(filters=asked)["results"]} == set(ids)


def test_several_users_and_all_of_them(mem0: Client) -> None:
    two = {"user_id": {"in": ["ana", "bo"]}}
    both = {"OR": [{"user_id": "ana"}, {"user_id": "bo"}]}
    for asked in (two, both, {"user_id": "*"}):
        found = mem0.search("pizza", filters=asked)["results"]
        assert {(each["user_id"], each["memory"]) for each in found[:2]} == {
            ("ana", PIZZA),
            ("bo", "pizza of another"),
        }
        assert {each["user_id"] for each in mem0.get_all(filters=asked)["results"]} == {"ana", "bo"}
    half = {"OR": [{"AND": [{"user_id": "ana"}, {"run_id": "r1"}]}, {"user_id": "bo"}]}
    assert {each["memory"] for each in mem0.get_all(filters=half)["results"]} == {
        PIZZA,
        SOUP,
        "pizza of another",
    }


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"user_id": "ana", "colour": "red"}, "unknown filter field 'colour'"),
        ({"user_id": "ana", "created_at": {"near": "2026"}}, "unknown filter operator 'near'"),
        ({"user_id": "ana", "created_at": {"gte": "soon"}}, "date"),
        ({"user_id": {"ne": "ana"}}, "user_id"),
        ({"user_id": {"$ne": None}}, "user_id"),
        ({"NOT": [{"user_id": "ana"}]}, "NOT"),
        ({"AND": []}, "AND"),
        ({"OR": [{"user_id": "ana"}, {"run_id": "r1"}]}, "name whose memory"),
        ({"run_id": "r1"}, "name whose memory"),
        ({}, "name whose memory"),
        ({"user_id": "ana", "metadata": {}}, "metadata"),
        ({"user_id": "ana", "keywords": {"icontains": 7}}, "icontains"),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(mem0: Client, asked: Any, why: str) -> None:
    for call in (lambda: mem0.get_all(filters=asked), lambda: mem0.search("x", filters=asked)):
        with pytest.raises(ClientError, match=why) as caught:
            call()
        assert caught.value.name == "ValidationError"


def test_options_of_a_search(mem0: Client) -> None:
    ana = {"filters": {"user_id": "ana"}}
    assert len(mem0.search("pizza", top_k=2, **ana)["results"]) == 2
    scores = [each["score"] for each in mem0.search("pizza", **ana)["results"]]
    high = mem0.search("pizza", threshold=scores[1], **ana)["results"]
    assert [each["score"] for each in high] == [one for one in scores if one >= scores[1]] != scores
    (one,) = mem0.search("pizza", top_k=1, fields=["memory"], **ana)["results"]
    assert one.keys() == {"id", "memory"}
    assert mem0.search("pizza", rerank=True, keyword_search=True, **ana)["results"]
    assert {
        each["memory"] for each in mem0.search("tea", categories=["drinks"], **ana)["results"]
    } == {TEA}
    dated = mem0.search("pizza yesterday", reference_date="2026-01-02", **ana)["results"]
    assert dated[0]["memory"] == PIZZA
    listed = mem0.get_all(start_date="2026-01-04", end_date="2026-01-31", **ana)["results"]
    assert {each["memory"] for each in listed} == {HOTPOT}


@pytest.mark.parametrize(
    "option",
    [
        {"custom_instructions": "keep no names"},
        {"custom_categories": [{"food": "what is eaten"}]},
        {"structured_data_schema": {"type": "object"}},
        {"excludes": "names"},
        {"immutable": True},
        {"org_id": "another"},
        {"colour": "red"},
        {"expiration_date": "soon"},
        {"timestamp": "whenever"},
        {"metadata": ["no object"]},
        {"infer": "yes"},
        {"app_id": 7},
    ],
    ids=str,
)
def test_options_of_an_add_that_would_mislead(
    here: Beside, mem0: Client, option: dict[str, Any]
) -> None:
    with pytest.raises(ClientError) as caught:
        mem0.add("x", user_id="cai", **option)
    assert caught.value.name == "ValidationError"
    assert next(iter(option)) in caught.value.message
    assert len(here.memory.messages(user_id="cai")) == 0


def test_whose_memory_may_stand_in_filters_too(here: Beside, mem0: Client) -> None:
    for number, filters in enumerate(({"user_id": "dan"}, {"AND": [{"user_id": "dan"}]})):
        mem0.add(f"Dan's {number}", infer=False, filters=filters)
    assert len(here.memory.messages(user_id="dan")) == 2
    with pytest.raises(ClientError, match="filters"):
        mem0.add("x", user_id="dan", filters={"user_id": "eve"})
    with pytest.raises(ClientError, match="messages"):
        mem0.add([], user_id="dan")
    with pytest.raises(ClientError, match="nothing was stored"):
        mem0.add([{"role": "user"}], user_id="dan")
    assert len(here.memory.messages(user_id="dan")) == 2


def test_what_has_no_counterpart_says_so(mem0: Client) -> None:
    for call in (
        lambda: mem0.feedback("msg_1", "POSITIVE"),
        lambda: mem0.create_memory_export("{}"),
        lambda: mem0.get_summary({}),
        lambda: mem0.generate_profile("ana"),
    ):
        with pytest.raises(ClientError, match="memstrata has no"):
            call()


def test_how_far_an_add_has_got(here: Beside, mem0: Client) -> None:
    added = mem0.add("I moved to Faro.", user_id="uma")
    headers = {"Authorization": f"Token {here.key()}"}
    answer = httpx2.get(f"{here.url}/v1/event/{added['event_id']}/", headers=headers)
    assert answer.json()["status"] == "SUCCEEDED"
    assert {each["id"] for each in answer.json()["results"]} == {
        each["id"] for each in added["results"]
    }
    none = httpx2.get(f"{here.url}/v1/event/batch_none/", headers=headers)
    assert (none.status_code, list(none.json())) == (404, ["detail"])


# Keys


def test_a_wrong_key_is_told_so(here: Beside, mem0: Client) -> None:
    with pytest.raises(ClientError, match="the key is unknown") as caught:
        here.mem0("no-key-of-ours")
    assert caught.value.name == "ValueError"


def test_a_bound_key_reaches_its_user_alone(here: Beside, mem0: Client) -> None:
    hers = mem0.add("Ria's own", user_id="ria", infer=False)["results"][0]["id"]
    agents = mem0.add("of Ria, by a1", user_id="ria", agent_id="a1", infer=False)["results"][0][
        "id"
    ]
    other = mem0.get_all(filters={"user_id": "bo"})["results"][0]["id"]
    ria = here.mem0(here.key(user_id="ria", permissions=("read", "write")))
    assert ria.get(hers)["memory"] == "Ria's own"
    assert ria.get(agents)["agent_id"] == "a1"
    assert [each["id"] for each in ria.get_all(filters={"run_id": {"ne": "x"}})["results"]] == [
        hers
    ]
    for call in (ria.get, ria.history, ria.delete, lambda id: ria.update(id, text="mine now")):
        with pytest.raises(ClientError) as caught:
            call(other)
        assert caught.value.name == "MemoryNotFoundError"
    for call in (
        lambda: ria.get_all(filters={"user_id": "bo"}),
        lambda: ria.search("pizza", filters={"user_id": {"in": ["ria", "bo"]}}),
        lambda: ria.add("x", user_id="bo"),
        lambda: ria.delete_all(user_id="bo"),
        lambda: ria.delete_users(user_id="bo"),
        lambda: ria.users(),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert caught.value.name == "AuthenticationError"
    assert mem0.get(other)["memory"] == "pizza of another"
    everybody = ria.get_all(filters={"user_id": "*"})["results"]
    assert {each["user_id"] for each in everybody} == {"ria"}
    with pytest.raises(ClientError, match="say whose"):
        ria.delete_all()
    assert ria.delete_all(user_id="ria")["deleted"] == 2
    assert ria.get_all(filters={"user_id": "ria"})["count"] == 0


def test_a_key_does_what_it_may(here: Beside, mem0: Client) -> None:
    reader = here.mem0(here.key(permissions=("read",)))
    id = mem0.get_all(filters={"user_id": "bo"})["results"][0]["id"]
    assert reader.get(id)["user_id"] == "bo"
    for call in (
        lambda: reader.add("x", user_id="bo"),
        lambda: reader.update(id, text="x"),
        lambda: reader.delete(id),
        lambda: reader.delete_all(user_id="bo"),
        lambda: reader.users(),
        lambda: reader.get_all(filters={"user_id": "*"}),
    ):
        with pytest.raises(ClientError, match="permission") as caught:
            call()
        assert caught.value.name == "AuthenticationError"
    assert mem0.get(id)["memory"] == "pizza of another"


def test_another_tenant_s_id_is_no_id(here: Beside, mem0: Client) -> None:
    id = mem0.get_all(filters={"user_id": "bo"})["results"][0]["id"]
    with memstrata.open(str(here.file), tenant="acme", embedder="fake") as acme:
        key = acme.keys.create("acme's", permissions=["read", "write", "admin"]).secret
    theirs = here.mem0(key)
    for call in (theirs.get, theirs.history, theirs.delete):
        with pytest.raises(ClientError) as caught:
            call(id)
        assert caught.value.name == "MemoryNotFoundError"
    assert theirs.users()["results"] == []
    assert theirs.get_all(filters={"user_id": "bo"})["results"] == []
    theirs.add("theirs", user_id="bo", infer=False)
    assert [each["memory"] for each in theirs.get_all(filters={"user_id": "*"})["results"]] == [
        "theirs"
    ]
    assert mem0.get(id)["memory"] == "pizza of another"


# Models that fail


def test_a_model_that_fails_is_not_silent(tmp_path_factory: pytest.TempPathFactory) -> None:
    down = FakeChat(otherwise=ModelFailed("the endpoint is down"))
    with beside(tmp_path_factory.mktemp("down"), llm=down) as here:
        mem0, mirix = here.mem0(), here.mirix()
        added = mem0.add("I live in Porto.", user_id="ana")
        assert added["status"] == "FAILED" and "the endpoint is down" in added["message"]
        (id,) = [each["id"] for each in added["results"]]
        assert "Porto" in mem0.get(id)["memory"]  # rules stand in until a model answers
        said = [{"role": "user", "content": [{"type": "text", "text": "I live in Faro."}]}]
        told = mirix.add(said, user_id="bo", async_add=False)
        assert (told["success"], told["status"], told["message_count"]) == (False, "failed", 1)
        assert "the endpoint is down" in told["message"]
        assert mirix.search(user_id="bo", query="Faro")["count"] == 1


# Clients of earlier years


@pytest.mark.parametrize("version", OLDER)
def test_older_clients(tmp_path_factory: pytest.TempPathFactory, version: str) -> None:
    with beside(tmp_path_factory.mktemp("older"), version) as here:
        client = here.mem0()
        assert client.version == version
        said = [{"role": "user", "content": "Sam keeps two cats"}]
        added = client.add(said, user_id="sam", infer=False, output_format="v1.1")
        (id,) = [each["id"] for each in added["results"]]
        assert client.get(id)["memory"] == "Sam keeps two cats"
        asked = {"filters": {"AND": [{"user_id": "sam"}]}}
        if version.startswith("0."):
            listed, v2 = client.get_all(user_id="sam"), client.get_all(version="v2", **asked)
            found = client.search("cats", user_id="sam")
            assert client.search("cats", version="v2", **asked) == found
            assert [each["id"] for each in v2] == [id]
            paged = client.get_all(version="v2", page=1, page_size=10, **asked)
            assert paged["count"] == 1
        else:
            listed = client.get_all(**asked)["results"]
            found = client.search("cats", **asked)["results"]
        assert [each["id"] for each in listed] == [each["id"] for each in found] == [id]
        client.update(id, text="Sam keeps three cats")
        assert here.memory.list(user_id="sam").items[0].text == "Sam keeps three cats"
        assert [each["event"] for each in client.history(id)] == ["ADD", "UPDATE"]
        assert [each["name"] for each in client.users()["results"]] == ["sam"]
        client.batch_update([{"memory_id": id, "text": "Sam keeps four cats"}])
        assert client.get(id)["memory"] == "Sam keeps four cats"
        client.delete(id)
        client.add(said, user_id="sam", infer=False)
        client.delete_all(user_id="sam")
        client.add(said, user_id="tim", infer=False)
        client.delete_users(user_id="tim")
        assert here.memory.list(user_id="sam").items == []
        assert here.memory.messages(user_id="sam").items == []
        assert here.memory.messages(user_id="tim").items == []
