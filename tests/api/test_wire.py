"""What is wrong with a request before it comes to a verb, and bytes as they are on the wire."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from api.running import Server, served

import memstrata
from memstrata import AsyncMemory

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}
GOOD = b'{"query": "plums", "user_id": "ana"}'


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncMemory]:
    path = tmp_path_factory.mktemp("wire") / "memory.db"
    async with await memstrata.open_async(path, embedder="fake") as memory:
        yield memory


@pytest.fixture(scope="module")
async def server(memory: AsyncMemory) -> AsyncIterator[Server]:
    async with served(memory) as server:
        yield server


def problem(response: httpx2.Response, status: int, name: str) -> str:
    """The detail of a problem response, which is one in all its parts."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = json.loads(response.content.decode("utf-8"))
    assert body["status"] == status and body["title"] == name
    assert body["type"] == f"urn:memstrata:error:{name}"
    assert body["request_id"] == response.headers["x-request-id"]
    assert len(body["detail"]) > 10
    return str(body["detail"])


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "json", ""]
)
async def test_a_body_that_is_not_said_to_be_json_is_not_read(server: Server, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    response = await server.http.post("/api/v1/search", content=GOOD, headers=headers)
    assert "application/json" in problem(response, 415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "Application/JSON", "application/json;"]
)
async def test_json_may_be_said_in_other_ways(server: Server, kind: str) -> None:
    response = await server.http.post(
        "/api/v1/search", content=GOOD, headers={"Content-Type": kind}
    )
    assert response.status_code == 200


BROKEN: dict[str, bytes] = {
    "no json": b"plums",
    "cut short": GOOD[:-1],
    "two documents": GOOD + GOOD,
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "latin-1": '{"query": "ärger", "user_id": "ana"}'.encode("latin-1"),
    "utf-16": GOOD.decode().encode("utf-16"),
    "a byte that is none": b'{"query": "\xff", "user_id": "ana"}',
    "half a pair as bytes": b'{"query": "\xed\xa0\x80", "user_id": "ana"}',
    "NaN": b'{"query": "plums", "user_id": "ana", "threshold": NaN}',
    "Infinity": b'{"query": "plums", "user_id": "ana", "threshold": -Infinity}',
    "a number without end": b'{"query": "plums", "user_id": "ana", "limit": 1e999}',
    "a number too long to read": b'{"limit": ' + b"9" * 5_000 + b"}",
    "single quotes": b"{'query': 'plums'}",
    "a trailing comma": b'{"query": "plums",}',
    "a control character": b'{"query": "plu\nms", "user_id": "ana"}',
    "one key twice": b'{"query": "plums", "user_id": "bo", "user_id": "ana"}',
    "one key twice inside": b'{"query": "plums", "user_id": "ana", "filters": {"id": 1, "id": 2}}',
    "a list": b"[]",
    "a text": b'"plums"',
    "null": b"null",
    "nested without end": b'{"filters": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "only spaces": b"   ",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_body_that_is_no_json_object_is_refused(server: Server, name: str) -> None:
    response = await server.http.post("/api/v1/search", content=BROKEN[name], headers=JSON)
    problem(response, 400, "BadRequest")


WRONG: dict[str, Any] = {
    "NUL": '{"query": "a", "user_id": "a\\u0000b"}',
    "half a pair": '{"query": "a", "user_id": "\\ud800"}',
    "an unknown argument": '{"query": "a", "user_id": "ana", "\\ud800": 1}',
    "a long name": json.dumps({"query": "a", "user_id": "ana", "x" * 100_000: 1}),
    "nested filters": '{"query": "a", "user_id": "ana", "filters": '
    + '{"not": ' * 60
    + '{"kind": "core"}'
    + "}" * 61,
    "nothing": "{}",
}


@pytest.mark.parametrize("name", WRONG)
async def test_an_argument_that_is_wrong_is_named(server: Server, name: str) -> None:
    response = await server.http.post("/api/v1/search", content=WRONG[name].encode(), headers=JSON)
    assert len(problem(response, 422, "InvalidInput")) < 2_000


async def test_nested_content_is_stored_or_refused_but_never_breaks(server: Server) -> None:
    deep = '{"content": "plums", "metadata": {"a": ' + "[" * 400 + "]" * 400 + "}}"
    for depth in (deep, deep.replace("[" * 400, "[" * 40).replace("]" * 400, "]" * 40)):
        body = f'{{"user_id": "deep", "messages": [{depth}]}}'.encode()
        response = await server.http.post("/api/v1/add", content=body, headers=JSON)
        assert response.status_code in (200, 400, 422), response.text
    assert (await server.http.post("/api/v1/verify", json={"user_id": "deep"})).json() == []


async def test_half_a_pair_and_nul_in_content_are_replaced_and_reported(server: Server) -> None:
    body = b'{"user_id": "odd", "messages": "plums \\ud800 and \\u0000 pears", "infer": false}'
    receipt = await server.http.post("/api/v1/add", content=body, headers=JSON)
    assert receipt.status_code == 200 and receipt.json()["skipped"][0]["stored"]
    (message,) = (await server.http.post("/api/v1/messages", json={"user_id": "odd"})).json()[
        "items"
    ]
    assert message["content"].startswith("plums ") and "\x00" not in message["content"]


async def test_ten_megabytes_are_too_much_and_nine_are_not(server: Server) -> None:
    text = "plum " * (9 * 2**20 // 5)
    asked = {"user_id": "large", "messages": text, "infer": False, "wait": False}
    with anyio.fail_after(60):
        stored = await server.http.post("/api/v1/add", json=asked, timeout=60)
    assert stored.status_code == 200, stored.text[:300]
    asked["messages"] = text + text
    refused = await server.http.post("/api/v1/add", json=asked, timeout=60)
    problem(refused, 413, "BodyTooLarge")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/search", 405),
        ("HEAD", "/api/v1/search", 405),
        ("OPTIONS", "/api/v1/search", 405),
        ("PUT", "/api/v1/search", 405),
        ("DELETE", "/api/v1/changes/stream", 405),
        ("POST", "/openapi.json", 405),
        ("PROPFIND", "/api/v1/search", 405),
        ("GET", "/", 404),
        ("POST", "/api/v1/", 404),
        ("POST", "/api/v1/nonsense", 404),
        ("POST", "/api/v1/search/", 404),
        ("POST", "/api/v1//search", 404),
        ("POST", "/api/v1/vault.put", 404),
        ("GET", "/api/v1/../../etc/passwd", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/docs", 404),
        ("GET", "/redoc", 404),
    ],
)
async def test_what_has_no_route_is_a_problem(
    server: Server, method: str, path: str, status: int
) -> None:
    response = await server.http.request(method, path)
    if method == "HEAD":
        assert response.status_code == status and not response.content
        return
    problem(response, status, {404: "NoSuchRoute", 405: "MethodNotAllowed"}[status])
    assert status != 405 or response.headers["allow"]


TOLD = {
    "chinese": "莉莉住在里斯本，她喜欢李子。" * 20,
    "emoji": "🍑🍐👩‍🌾" * 40,
    "mixed": 'naïve “plums” — Ærøskøbing\tand\nლინა \\u4e00 "quoted"',
    "markup": "<script>alert('plums')</script> & &amp;",
}


@pytest.mark.parametrize("name", TOLD)
async def test_characters_go_out_as_themselves(server: Server, name: str) -> None:
    """No `\\u` escapes, and so no more bytes than the text has in UTF-8."""
    asked = {"user_id": f"told {name}", "messages": TOLD[name], "infer": False}
    assert (await server.http.post("/api/v1/add", json=asked)).status_code == 200
    response = await server.http.post("/api/v1/messages", json={"user_id": f"told {name}"})
    quoted = json.dumps(TOLD[name], ensure_ascii=False).encode()
    assert quoted in response.content
    assert len(response.content) < len(quoted) + 700
    assert response.json()["items"][0]["content"] == TOLD[name]
    missing = await server.http.post("/api/v1/get", json={"id": "馆", "user_id": "ana"})
    assert "馆".encode() in missing.content


PATHS = (
    "file:///etc/passwd", "../../../../etc/passwd", "/etc/passwd", "~/.ssh/id_rsa",
    "http://127.0.0.1:1/secret", "https://[::1]/", "data:text/plain,plums", "\\\\host\\share",
    "$(id)", "`id`", "${HOME}", "{{7*7}}", "%00", "con", "; DROP TABLE records; --",
)  # fmt: skip


@pytest.mark.parametrize("text", PATHS)
async def test_what_looks_like_a_path_or_an_address_is_text(
    server: Server, memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """As content, as an id, in a filter: it is kept as it is, and nothing is opened for it."""
    opened: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.listdir", "socket.connect", "subprocess.Popen"):
            opened.append(f"{event} {arguments[0]!r}")

    watching = True
    _hooks.append(watch)
    scope = {"user_id": text, "session_id": text}
    said = {"role": "user", "content": text, "name": text, "metadata": {"at": text}, "tags": [text]}
    added = await server.http.post("/api/v1/add", json={**scope, "messages": [said]})
    assert added.status_code == 200, added.text
    asked: dict[str, Any] = {**scope, "filters": {"metadata.at": text}}
    (message,) = (await server.http.post("/api/v1/messages", json=asked)).json()["items"]
    found = await server.http.post(
        "/api/v1/search", json={**asked, "query": text, "method": "string_match"}
    )
    record = {"kind": "resource", "content": text, "summary": text, "path": text}
    made = await server.http.post("/api/v1/create", json={"user_id": text, "record": record})
    watching = False
    _hooks.clear()
    assert message["content"] == message["name"] == message["session_id"] == text
    assert found.status_code == 200 and found.json()["hits"][0]["text"] == text
    (stored,) = made.json()["record_ids"]
    got = (await server.http.post("/api/v1/get", json={"id": stored, "user_id": text})).json()
    assert got["fields"]["content"] == text
    assert [each for each in opened if "passwd" in each or "secret" in each or "rsa" in each] == []
    assert [each for each in opened if each.startswith(("socket", "subprocess"))] == []


_hooks: list[Any] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for hook in _hooks:
        hook(event, arguments)


@pytest.fixture(scope="module", autouse=True)
def _watched() -> None:
    """A hook cannot be taken away again: one, which does nothing but when asked."""
    sys.addaudithook(_audit)
