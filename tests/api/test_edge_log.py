"""What is logged and counted, and that nothing of anybody's memory is in it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from api.edge_client import asking, problem, service
from starlette.responses import StreamingResponse

from memstrata.api.log import Line, log_unexpected, set_up
from memstrata.errors import MemstrataError

pytestmark = pytest.mark.anyio

PRIVATE = ("Lisbon", "里斯本", "quince", "Ana-4711", "plum-7719-GATE", "notes-of-ana", "zebra")
"""What is said, asked, stored, and who it is about, in the requests below."""


class Log:
    """All that is logged by anybody, as `memstrata serve` writes it."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def requests(self) -> list[dict[str, Any]]:
        return [row for row in self.rows() if row["message"] == "request"]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    made = Log()
    root = logging.getLogger()
    before = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("memstrata", "uvicorn")}
    monkeypatch.setattr("sys.stderr", made.stream)
    set_up("debug", in_json=True)
    root.setLevel(logging.DEBUG)  # of others, too, more than in earnest
    yield made
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


async def test_each_request_has_a_line(log: Log) -> None:
    async with service() as one:
        answer = await one.post("search", query="Where does Ana live?", user_id="ana")
        found, *rest = [row for row in log.requests() if row["route"] != "/healthz"]
        assert not rest
        assert found["request_id"] == answer.headers["x-request-id"]
        assert (found["method"], found["route"]) == ("POST", "/api/v1/search")
        assert (found["status"], found["level"]) == (200, "info")
        assert found["in"] == len(answer.request.content)
        assert found["out"] == len(answer.content)
        assert found["ms"] > 0 and "key" not in found
        assert found["time"].endswith("Z")
        made = await one.memory.keys.create("the desk")
        headers = {"Authorization": f"Bearer {made.secret}"}
        await one.client.get("/api/v1/whoami?who=zebra", headers=headers)
        assert log.requests()[-1]["key"] == "the desk"
        assert log.requests()[-1]["route"] == "/api/v1/whoami"
        await one.client.get("/healthz")
        assert log.requests()[-1]["level"] == "debug"
        assert made.secret not in log.stream.getvalue()


async def test_nothing_private_is_logged_or_counted(log: Log) -> None:
    said = "I moved to Lisbon, 里斯本. The gate code is plum-7719-GATE, my password: quince-Gate-44"
    async with service() as one:
        made = await one.memory.keys.create("desk", permissions=["read", "write", "admin"])
        key = {"X-API-Key": made.secret}
        wrong = {"X-API-Key": made.secret[:-2] + "zz"}
        whose = {"user_id": "Ana-4711", "session_id": "notes-of-ana"}
        sent: list[tuple[str, dict[str, Any], dict[str, str]]] = [
            ("add", {"messages": said, "metadata": {"zebra": "quince"}, **whose}, key),
            ("add", {"messages": said, **whose}, wrong),
            ("add", {"messages": 5, "zebra": "quince"}, key),
            ("search", {"query": "Lisbon 里斯本", **whose}, key),
            ("search", {"query": "quince", "filters": {"zebra": 1}, "user_id": "Ana-4711"}, key),
            ("get", {"ids": "quince", "user_id": "Ana-4711"}, key),
            ("forget", {"ids": ["zebra"], "user_id": "Ana-4711"}, key),
            ("vault/put", {"secret": "plum-7719-GATE", "caption": "zebra", **whose}, key),
            ("plum-7719-GATE/Lisbon", {}, key),
            ("batches", {"user_id": "Ana-4711", "state": "quince"}, key),
        ]
        for verb, arguments, headers in sent:
            await one.client.post(
                f"/api/v1/{verb}?q=zebra", json=arguments, headers={**headers, "Cookie": "a=zebra"}
            )
        await one.client.post("/api/v1/add", content=b"zebra", headers=key)
        await one.client.get("/memories/Ana-4711/?api_key=quince", headers=key)
        await one.client.request("QUINCE", "/api/v1/add", headers=key)
        figures = (await one.client.get("/metrics", headers=key)).text
        stats = await one.memory.stats(user_id="Ana-4711")
        assert stats["messages"] == 1, "it was remembered"
    assert len(log.requests()) == len(sent) + 4
    for private in (*PRIVATE, made.secret, made.secret.split("_")[2]):
        assert private.lower() not in log.stream.getvalue().lower()
        assert private.lower() not in figures.lower()


async def test_request_ids() -> None:
    async with service() as one:

        async def named(given: str | None) -> str:
            headers = [] if given is None else [(b"X-Request-ID", given.encode())]
            return (await one.client.get("/healthz", headers=headers)).headers["x-request-id"]

        for good in ("abc", "4711", "a.b_c-D", "x" * 64):
            assert await named(good) == good
        for bad in ("", "a b", "x" * 65, "a/b", "a=b", "a\tb", "ä"):
            made = await named(bad)
            assert made != bad and len(made) == 16
        assert await named(None) != await named(None)
        answer = await one.client.get("/nowhere", headers={"X-Request-ID": "mine-1"})
        assert problem(answer, 404, "NoSuchRoute")["request_id"] == "mine-1"


async def test_what_nobody_foresaw_is_named_and_not_quoted(log: Log) -> None:
    async def fails(zebra: str) -> None:
        """With values in the frames, a cause, and a group around it."""
        try:
            raise ValueError(f"no {zebra} in Lisbon")
        except ValueError as error:
            group = ExceptionGroup("quince", [KeyError("plum-7719-GATE")])
            raise group from error

    async with service() as one:
        one.app.add_api_route("/fails/{zebra}", fails)
        answer = await one.client.get("/fails/Lisbon", headers={"X-Request-ID": "mine-2"})
        found = problem(answer, 500, "InternalError")
        assert found["request_id"] == "mine-2"
        assert found["detail"].isascii() and "ValueError" not in answer.text
        row = next(row for row in log.rows() if row["level"] == "error")
        assert row["error"] == "ExceptionGroup < KeyError < ValueError"
        assert row["at"].startswith("api/test_edge_log.py:") and " fails < " in row["at"]
        assert (row["request_id"], row["route"]) == ("mine-2", "/fails/{zebra}")
        figures = await one.figures()
        name = 'memstrata_http_requests_total{method="GET",route="/fails/{zebra}",status="5xx"}'
        assert figures[name] == 1
    for private in (*PRIVATE[:2], "quince", "plum-7719-GATE"):
        assert private not in log.stream.getvalue()


async def test_an_answer_that_breaks_off_is_no_whole_one(log: Log) -> None:
    async def parts() -> Any:
        yield b"one "
        raise RuntimeError("Lisbon")

    async def broken() -> StreamingResponse:
        return StreamingResponse(parts())

    async with service() as one:
        one.app.add_api_route("/broken", broken)
        with pytest.raises(Exception, match="is cut short") as error:
            await one.client.get("/broken")
        assert "Lisbon" not in str(error.value)
        assert [row["error"] for row in log.rows() if row["level"] == "error"] == ["RuntimeError"]
        assert "Lisbon" not in log.stream.getvalue()


async def test_errors_of_ours_are_no_accidents(log: Log) -> None:
    async def fails() -> None:
        raise MemstrataError("the plums are not ripe")

    async with service() as one:
        one.app.add_api_route("/fails", fails)
        found = problem(await one.client.get("/fails"), 500, "MemstrataError")
        assert found["detail"] == "the plums are not ripe"
        assert [row for row in log.rows() if row["level"] == "error"] == []


async def test_others_records_say_only_whose_they_are(log: Log) -> None:
    logging.getLogger("mcp.server").error("cannot read %s", "Lisbon", exc_info=ValueError("zebra"))
    (row,) = [row for row in log.rows() if row["level"] == "error"]
    assert row["message"].startswith("a record of mcp.server (test_edge_log.py:")
    assert row["error"] == "ValueError"
    assert "Lisbon" not in log.stream.getvalue() and "zebra" not in log.stream.getvalue()


def test_a_line_is_one_line_of_text() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Line())
    logger = logging.getLogger("memstrata.api")
    logger.addHandler(handler)
    try:
        logger.warning("two\nlines %s", "\x1b[31m red")
        log_unexpected("id-1", "/x", ValueError("Lisbon"))
    finally:
        logger.removeHandler(handler)
    first, second = stream.getvalue().splitlines()
    assert first.split(" ", 1)[1] == "warning two lines \\x1b[31m red"
    assert ' error unexpected request_id=id-1 route=/x error=ValueError at=""' in second


async def test_figures(log: Log) -> None:
    async with service() as one, asking(one.app, "192.0.2.1") as far:
        await one.post("add", messages="The plums are ripe.", user_id="ana")
        await one.post("add", messages=5, user_id="ana")
        await one.client.request("BREW", "/api/v1/add")
        await far.get("/api/v1/whoami")
        figures = await one.figures()
    requests = "memstrata_http_requests_total"
    assert figures[f'{requests}{{method="POST",route="/api/v1/add",status="2xx"}}'] == 1
    assert figures[f'{requests}{{method="POST",route="/api/v1/add",status="4xx"}}'] == 1
    assert figures[f'{requests}{{method="GET",route="/api/v1/whoami",status="4xx"}}'] == 1
    assert sum(v for k, v in figures.items() if k.startswith(requests) and "other" in k) == 1
    assert figures['memstrata_http_request_seconds_count{route="/api/v1/add"}'] >= 2
    assert figures["memstrata_http_received_bytes_total"] > 50
    assert figures["memstrata_http_sent_bytes_total"] > 300
    assert figures['memstrata_http_refused_total{reason="auth"}'] == 1
    assert figures['memstrata_batches{state="waiting"}'] == 0
    assert figures['memstrata_batches{state="failed"}'] == 0
    assert any(name.startswith("memstrata_build_info{version=") for name in figures)
    assert figures["process_resident_memory_bytes"] > 1e6


async def test_agents_are_counted_and_asked_for_a_key_like_all(log: Log) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"zebra": "Lisbon"}}
    async with service() as one, asking(one.app, "192.0.2.1") as far:
        async with one.app.router.lifespan_context(one.app):
            both = {"Accept": "application/json, text/event-stream"}
            answer = await one.client.post("/mcp", json=asked, headers=both)
            assert answer.status_code == 200, answer.text
            problem(await far.post("/mcp", json=asked, headers=both), 403, "Forbidden")
            large = await one.client.post("/mcp", content=b"x" * 11_000_000, headers=both)
            problem(large, 413, "BodyTooLarge")
        figures = await one.figures()
    name = "memstrata_http_requests_total"
    assert figures[f'{name}{{method="POST",route="/mcp",status="2xx"}}'] == 1
    assert figures[f'{name}{{method="POST",route="/mcp",status="4xx"}}'] == 2
    assert [row["route"] for row in log.requests()][:2] == ["/mcp", "/mcp"]
    assert "zebra" not in log.stream.getvalue() and "Lisbon" not in log.stream.getvalue()


async def test_the_framework_traces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    async with service() as one:
        switches = [value for value in one.app._telemetry.values() if isinstance(value, bool)]
        assert len(switches) == 5 and not any(switches)
        assert not one.app._native_telemetry.enabled()
