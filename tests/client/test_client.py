"""A memory at a server: what goes over the wire, and every way an answer can fail to come."""

from __future__ import annotations

import html
import inspect
import json
import operator
import socket
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from models.endpoint_server import Answer, Request, half, raw, serving, stuck
from surfaces.serving import serving as served

import memstrata
from memstrata import AsyncMemory, errors
from memstrata.api.problems import STATUS
from memstrata.client.memory import AsyncClient, AsyncClientKeys, AsyncClientVault
from memstrata.errors import InvalidInput, PermissionDenied, StoreUnavailable
from memstrata.kinds import Semantic
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.vault import AsyncVault
from memstrata.verbs import VERBS

pytestmark = pytest.mark.anyio

KEY = "mst_" + "0" * 16 + "_" + "5" * 64
WHO = raw('{"tenant": "north", "permissions": ["read"]}')
NOTHING = '{"hits": [], "answerable": false, "confidence": 0.0}'
RECEIPT = '{"batch_id": "b", "state": "done"}'


def problem(code: int, name: str, detail: str, **headers: str) -> Answer:
    body = {"type": f"urn:memstrata:error:{name}", "detail": detail, "status": code}
    return raw(json.dumps(body), code, **headers)


async def opened(url: str, **given: Any) -> AsyncMemory:
    return await memstrata.open_async(url, api_key=KEY, **given)


def test_no_verb_is_left_to_the_engine() -> None:
    """A verb that the client does not send would find no store here."""
    owners = {"": (AsyncClient, AsyncMemory), "vault": (AsyncClientVault, AsyncVault)}
    owners["keys"] = (AsyncClientKeys, AsyncKeys)
    for name in VERBS:
        owner, _, verb = name.rpartition(".")
        client, engine = owners[owner]
        assert getattr(client, verb) is not getattr(engine, verb), name
    for client, engine in owners.values():
        for name, member in inspect.getmembers(engine, inspect.isfunction):
            if not name.startswith("_"):
                assert getattr(client, name) is not member, name


async def test_what_is_sent() -> None:
    """Only what was given, as JSON, with the key; results are the engine's own types."""
    lisbon = timezone(timedelta(hours=1))
    with serving(WHO, raw(NOTHING), raw(RECEIPT), raw(RECEIPT), raw(RECEIPT)) as server:
        async with await opened(server.url) as memory:
            assert memory.tenant == "north"
            ana = memory.scoped(user_id="ana", actor="Ánna")
            found = await ana.search("喝茶", as_of=datetime(2026, 5, 8, 9, tzinfo=lisbon))
            assert isinstance(found, memstrata.Results) and not found.answerable
            await ana.create(Semantic(name="Tea"), reason="said so")
            await ana.update("sem_1", name="Green tea", if_version=None)
            await ana.add("half \ud800 of one", tags=("a",), metadata={"n": 1})
    asked, search, create, update, add = server.requests
    assert asked.path == "/v1/api/v1/whoami"
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert search.path == "/v1/api/v1/search"
    assert search.headers["memstrata-actor"] == "&#193;nna"
    assert search.body == {"query": "喝茶", "as_of": "2026-05-08T09:00:00+01:00", "user_id": "ana"}
    assert create.body["record"] == {"kind": "semantic", "name": "Tea"}
    assert update.body == {
        "record_id": "sem_1", "if_version": None, "changes": {"name": "Green tea"},
        "user_id": "ana",
    }  # fmt: skip
    assert add.body["messages"] == "half \ud800 of one"
    assert (add.body["tags"], add.body["metadata"]) == (["a"], {"n": 1})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"query": b"x"}, "query"),
        ({"query": "x", "threshold": float("nan")}, "threshold"),
        ({"query": "x", "filters": {"kind": {1, 2}}}, "filters"),
        ({"query": object()}, "query"),
    ],
    ids=["bytes", "nan", "set", "object"],
)
async def test_what_has_no_form_in_json_is_not_sent(given: dict[str, Any], named: str) -> None:
    with serving(WHO) as server:
        async with await opened(server.url) as memory:
            with pytest.raises(InvalidInput, match=f"{named} cannot be sent"):
                await memory.search(user_id="ana", **given)
        assert server.calls == 1


@pytest.mark.parametrize("error", list(STATUS))
async def test_errors_come_back_as_they_were_raised(error: type[Exception]) -> None:
    said = problem(STATUS[error], error.__name__, "in these words", retry_after="0")
    with serving(WHO, said, said, said) as server:
        async with await opened(server.url) as memory:
            with pytest.raises(errors.MemstrataError, match=r"^in these words$") as caught:
                await memory.add("x", user_id="ana")
    assert type(caught.value) is error
    assert server.calls == 2, "what may have been done is not asked for again"


async def test_a_busy_server_is_asked_again_when_it_says() -> None:
    busy = problem(429, "TooManyRequests", "too many", retry_after="0")
    away = problem(503, "StoreUnavailable", "the disk is full", retry_after="0")
    script = [WHO, busy, raw(RECEIPT), away, raw(NOTHING), busy, busy, busy]
    with serving(*script) as server:
        async with await opened(server.url) as memory:
            assert (await memory.add("x", user_id="ana")).state == "done"
            assert len(await memory.search("x", user_id="ana")) == 0
            with pytest.raises(StoreUnavailable, match="too many"):
                await memory.search("x", user_id="ana")
        assert server.calls == len(script)


@pytest.mark.parametrize(
    ("given", "sent"),
    [({}, 1), ({"idempotency_key": "k"}, 3)],
    ids=["without a key", "with a key"],
)
async def test_an_add_is_sent_again_only_with_an_idempotency_key(
    given: dict[str, Any], sent: int
) -> None:
    """The answer is lost on the way: what was asked may have been done."""
    lost = [half(raw(RECEIPT)) for _ in range(3)]
    with serving(WHO, *lost) as server:
        async with await opened(server.url) as memory:
            with pytest.raises(StoreUnavailable, match="gave no answer") as caught:
                await memory.add("x", user_id="ana", **given)
        assert server.calls == 1 + sent
    assert ("idempotency_key" in str(caught.value)) is (not given)


async def test_a_read_is_sent_again_when_its_answer_is_lost() -> None:
    with serving(WHO, half(raw(NOTHING)), raw(NOTHING)) as server:
        async with await opened(server.url) as memory:
            assert len(await memory.search("x", user_id="ana")) == 0
        assert server.calls == 3


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    with serving(WHO, stuck(), stuck(), stuck()) as server:
        async with await opened(server.url, timeout=0.2) as memory:
            with pytest.raises(StoreUnavailable, match="gave no answer"):
                await memory.search("x", user_id="ana")


async def test_nobody_there() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(StoreUnavailable, match=f"no server answers at {url}"):
            await opened(url)


@pytest.mark.parametrize(
    "answer", [raw("<html>hello</html>"), raw("[]"), raw("{}", 404), raw('"x"', 500)], ids=repr
)
async def test_something_else_answers(answer: Answer) -> None:
    with serving(answer) as server, pytest.raises(StoreUnavailable, match="memstrata"):
        await opened(server.url)


async def test_an_answer_of_another_shape_is_an_error_and_not_nothing() -> None:
    with serving(WHO, raw('{"hits": null}')) as server:
        async with await opened(server.url) as memory:
            with pytest.raises(StoreUnavailable, match="as no memstrata of this version does"):
                await memory.search("x", user_id="ana")


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    away = raw("", 307, location="http://127.0.0.1:9/elsewhere")
    with serving(away) as server, pytest.raises(StoreUnavailable):
        await opened(server.url)


@pytest.mark.parametrize("key", ["two words", "mst_ü", "a\nb", "a\r\nX-Other: b"])
async def test_what_is_no_key_is_not_sent(key: str) -> None:
    with pytest.raises(InvalidInput, match="api_key is no key") as caught:
        await memstrata.open_async("http://127.0.0.1:9", api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["http://", "http://:8283", "http://[::1", "http://a b/"])
async def test_what_is_no_address(url: str) -> None:
    with pytest.raises((InvalidInput, StoreUnavailable)) as caught:
        await memstrata.open_async(url, api_key=KEY)
    assert KEY not in str(caught.value) and len(str(caught.value)) > 15


async def test_the_name_of_who_reads_is_sent_whatever_it_is() -> None:
    with serving(WHO, raw(NOTHING)) as server:
        async with await opened(server.url) as memory:
            await memory.scoped(user_id="ana", actor="a & b\nX-Other: 阿娜").search("x")
    said = server.requests[1].headers["memstrata-actor"]
    assert html.unescape(said) == "a & b\nX-Other: 阿娜"
    assert "x-other" not in server.requests[1].headers


async def test_the_key_is_in_no_error_and_no_repr() -> None:
    def echo(request: Request) -> Answer:
        return problem(403, "PermissionDenied", "not with this key")

    with serving(WHO, echo) as server:
        async with await opened(server.url) as memory:
            assert KEY not in repr(memory) and server.url in repr(memory)
            with pytest.raises(PermissionDenied) as caught:
                await memory.scopes()
            assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [{"embedder": "fake"}, {"tenant": "north"}, {"weights": {}}, {"vault_key": "none"}],
    ids=str,
)
async def test_what_is_set_at_the_server_is_not_set_here(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="is set at the server"):
        await opened("http://127.0.0.1:9", **given)


def test_a_handle_is_bound_as_in_process(tmp_path: Path) -> None:
    """The same words, without asking the server."""
    said: list[list[str]] = []
    with (
        memstrata.open(tmp_path / "own.db", embedder="fake") as own,
        served(str(tmp_path / "served.db"), embedder="fake") as url,
        memstrata.open(url) as client,
    ):
        for memory in (own, client):
            ana = memory.scoped(user_id="ana")
            said.append([])
            for call in (
                lambda: ana.search("x", user_id="ben"),  # noqa: B023 - called at once
                lambda: ana.scoped(user_id="ben"),  # noqa: B023
                lambda: memory.scoped(),  # noqa: B023
                lambda: memory.scoped(user_id=""),  # noqa: B023
            ):
                with pytest.raises(InvalidInput) as caught:
                    call()
                said[-1].append(f"{type(caught.value).__name__}: {caught.value}")
            for name in ("scopes", "configure", "keys.list"):
                with pytest.raises(InvalidInput, match="bound to one scope"):
                    operator.attrgetter(name)(ana)()
            ana.close()  # nothing: it is not its own
            assert memory.kinds()
    assert said[0] == said[1]
    with pytest.raises(InvalidInput, match="tenant"):
        client.for_tenant("south")
    with pytest.raises(PermissionDenied, match="where the store is"):
        client.backup(tmp_path / "x")


def test_a_dump_goes_from_server_to_server(tmp_path: Path) -> None:
    said = ["I moved to Lisbon.", "我喜欢喝茶 🍵"]
    with (
        served(str(tmp_path / "one.db"), embedder="fake") as one,
        served(str(tmp_path / "two.db"), embedder="fake") as two,
        memstrata.open(one) as first,
        memstrata.open(two) as second,
    ):
        first.add(said, user_id="ana", session_id="s")
        rows = first.dump(tmp_path / "ana.jsonl", user_id="ana")
        assert rows == len((tmp_path / "ana.jsonl").read_text("utf-8").splitlines()) - 2
        assert [item.name for item in tmp_path.glob("*.part")] == []
        assert second.load(tmp_path / "ana.jsonl") == rows
        assert second.load(tmp_path / "ana.jsonl") == 0
        assert [m.content for m in second.messages(user_id="ana")] == said
        (tmp_path / "bad.jsonl").write_text("nonsense\n", "utf-8")
        with pytest.raises(InvalidInput) as caught:
            second.load(tmp_path / "bad.jsonl")
        assert "/tmp" not in str(caught.value).replace(str(tmp_path), "")
        with pytest.raises(InvalidInput, match="cannot be read"):
            second.load(tmp_path / "missing.jsonl")
        with pytest.raises(StoreUnavailable, match="could not be written"):
            first.dump(tmp_path / "no such folder" / "x.jsonl", user_id="ana")
        with pytest.raises(errors.ScopeRequired):
            first.search("x")
