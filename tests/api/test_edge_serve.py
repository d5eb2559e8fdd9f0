"""`memstrata serve` as a process: how it starts, what it speaks, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from api.edge_client import Started, started
from cli_shell import RUN, Shell
from models.endpoint_server import Answer, Request, embeddings, serving

import memstrata

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell.fresh(tmp_path, monkeypatch, capsys)


def until(true: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


# Starting


def test_it_says_where_it_is_and_ends_when_asked(tmp_path: Path) -> None:
    with started(tmp_path, "--log-format", "json") as server:
        assert httpx2.get(f"{server.url}/healthz").json() == {"status": "ok"}
        assert httpx2.get(f"{server.url}/readyz").json() == {"status": "ok"}
        server.ask("add", messages="I moved to Lisbon.", user_id="ana", wait=True)
        with memstrata.open(server.url) as memory:
            assert "Lisbon" in memory.search("Where?", user_id="ana")[0].text
        assert server.end() == 0
    first, *rest = server.log.read_text().splitlines()
    assert first.startswith(f"memstrata is at {server.url}: for programs of this machine alone")
    assert "`memstrata keys create`" in first and "/openapi.json" in first
    rows = [json.loads(line) for line in rest]
    assert {row["route"] for row in rows} >= {"/api/v1/add", "/api/v1/search"}
    assert "Lisbon" not in server.log.read_text()


@pytest.mark.parametrize("host", ["localhost", "[::1]"])
def test_addresses_of_the_machine(tmp_path: Path, host: str) -> None:
    if ":" in host and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    with started(tmp_path, "--host", host) as server:
        assert httpx2.get(f"{server.url}/api/v1/whoami").status_code == 200
        assert server.end(signal.SIGINT) == 0


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as made:
            made.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_need_keys(shell: Shell, host: str) -> None:
    done = shell("serve", "--host", host, "--port", "0", "--json")
    assert done.code == 1
    assert done.json["error"]["type"] == "PermissionDenied"
    assert "`memstrata keys create NAME`" in done.err and done.err.count("\n") == 1


def test_with_keys_it_listens_everywhere(tmp_path: Path, shell: Shell) -> None:
    secret = shell.ok("keys", "create", "desk", "--json").json["secret"]
    with started(tmp_path, "--host", "0.0.0.0") as server:
        port = urlsplit(server.url).port
        url = f"http://127.0.0.1:{port}/api/v1/whoami"
        assert httpx2.get(url).status_code == 401
        answer = httpx2.get(url, headers={"Authorization": f"Bearer {secret}"})
        assert answer.json()["key"] == "desk"
        shell.ok("keys", "revoke", shell.ok("keys", "list", "--json").json["items"][0]["id"])
        answer = httpx2.get(url, headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == 401, "what another process revoked holds at once"
        assert server.end() == 0
    assert secret not in server.log.read_text()
    assert "key=desk" in server.log.read_text()


def test_what_is_wrong_is_said_before_anything_starts(shell: Shell, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = shell("serve", "--port", port)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert f"port {port} at 127.0.0.1 is taken" in done.err and "--port" in done.err
    done = shell("serve", "--url", "http://127.0.0.1:8283")
    assert done.code == 1 and "a store of its own" in done.err
    done = shell("serve", "--host", "192.0.2.77", "--port", "0")
    assert done.code == 1 and "nothing can listen at 192.0.2.77" in done.err
    for option, value in (("--max-body", "many"), ("--max-body", "0"), ("--max-load", "-1")):
        done = shell("serve", f"{option}={value}")
        assert done.code == 1 and f"{option} is a number of bytes" in done.err
    assert shell("serve", "--port", "70000").code == 2
    assert shell("serve", "--log-level", "loud").code == 2
    assert not (tmp_path / "memory.db").exists()


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    hidden = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'uvicorn':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from memstrata.cli import main; sys.exit(main())"
    )
    command = [RUN[0], "-c", hidden, "serve", "--url", str(tmp_path / "memory.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: serving needs the package uvicorn: pip install 'memstrata[server]'\n"
    )


# Speaking


def test_limits_of_the_command_line_hold(tmp_path: Path) -> None:
    with started(tmp_path, "--max-body", "1K", "--rate", "1") as server:
        url = f"{server.url}/api/v1/add"
        answer = httpx2.post(url, json={"messages": "x" * 1024, "user_id": "ana"})
        assert answer.status_code == 413
        seen = [httpx2.get(f"{server.url}/api/v1/whoami").status_code for _ in range(4)]
        assert seen.count(429) >= 1 and seen[0] == 200
        assert httpx2.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.parametrize("option", [(), ("--reveal",)])
def test_agents_find_the_tools(tmp_path: Path, option: tuple[str, ...]) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with started(tmp_path, *option) as server:
        headers = {"Accept": "application/json, text/event-stream"}
        answer = httpx2.post(f"{server.url}/mcp", json=asked, headers=headers)
        names = {tool["name"] for tool in answer.json()["result"]["tools"]}
        assert "search" in names
        assert ("reveal" in names) is bool(option)


def _spoken(server: Started, request: bytes) -> bytes:
    """All that comes back for these bytes."""
    at = urlsplit(server.url)
    with socket.create_connection((at.hostname, at.port), 30) as wire:
        wire.sendall(request)
        parts: list[bytes] = []
        while part := wire.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def test_requests_that_no_client_sends(tmp_path: Path) -> None:
    with started(tmp_path) as server:

        def get(target: str, *headers: str, version: str = "1.1") -> tuple[int, bytes]:
            lines = (f"GET {target} HTTP/{version}", *headers, "Connection: close", "", "")
            answer = _spoken(server, "\r\n".join(lines).encode("latin-1"))
            return int(answer.split(b" ", 2)[1]), answer

        host = "Host: 127.0.0.1"
        assert get("/api/v1/whoami", host)[0] == 200
        # The target of a proxy is no route of ours, whoever it names.
        assert get("http://127.0.0.1/api/v1/whoami", host)[0] == 404
        assert get("http://evil.test/api/v1/whoami", host)[0] == 404
        assert get("//evil.test/api/v1/whoami", host)[0] == 404
        assert get("/api/v1/whoami", host, "Host: evil.test")[0] == 400
        assert get("/api/v1/whoami", "Host: evil.test")[0] == 403
        assert get("/api/v1/whoami")[0] == 400
        # What a proxy sends that says nothing of itself.
        assert get("/api/v1/whoami", host, version="1.0")[0] == 403
        assert get("/api/v1/whoami", version="1.0")[0] == 403
        # First lines that do not end.
        assert _spoken(server, b"GET /" + b"x" * 66_000).startswith(b"HTTP/1.1 400 ")
        status, answer = get("/nowhere/zebra?q=zebra", host, "X-Request-ID: one-1")
        assert status == 404 and b"x-request-id: one-1" in answer and b"\r\ndate: " in answer
        assert b"server:" not in answer.partition(b"\r\n\r\n")[0].lower()
        assert get("/api/v1/whoami", host, "Upgrade: websocket", "Connection: Upgrade")[0] == 200
        # The body need not have been sent for the refusal to come.
        answer = _spoken(
            server,
            b"POST /api/v1/add HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            b"Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n",
        )
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert server.end() == 0
    assert "zebra" not in server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def test_answers_do_not_wait_for_the_wire(tmp_path: Path) -> None:
    """Nagle's algorithm is off: small answers else come 40 ms late now and then."""
    with started(tmp_path) as server, httpx2.Client() as client:
        client.get(f"{server.url}/healthz")
        took: list[float] = []
        for _ in range(40):
            begun = time.perf_counter()
            client.post(f"{server.url}/api/v1/search", json={"query": "x", "user_id": "ana"})
            took.append(time.perf_counter() - begun)
        assert sorted(took)[10] < 0.035


# Ending


class Gate:
    """An embedder's endpoint that answers when it may."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.waiting = threading.Event()

    def __call__(self, request: Request) -> Answer:
        if not self.open.is_set():
            self.waiting.set()
            self.open.wait(60)
        return embeddings(request)


def _refuses(url: str) -> bool:
    try:
        httpx2.get(f"{url}/healthz", timeout=5)
    except httpx2.ConnectError:
        return True
    except httpx2.TransportError:
        return False  # it was let in, and put out as the door was closed
    return False


def test_what_is_under_way_is_answered(tmp_path: Path) -> None:
    gate = Gate()
    with (
        serving(*[gate] * 50) as model,
        started(tmp_path, "--embedder", f"scripted@{model.url}") as server,
        ThreadPoolExecutor() as pool,
    ):
        gate.open.clear()
        asked = pool.submit(
            server.ask, "add", messages="I moved to Lisbon.", user_id="ana", wait=True
        )
        assert gate.waiting.wait(30)
        later = server.ask("add", messages="I moved to Porto.", user_id="ben", wait=False)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: _refuses(server.url))
        assert server.process.poll() is None and not asked.done()
        gate.open.set()
        assert asked.result(30)["state"] == "done"
        assert server.process.wait(30) == 0
    with memstrata.open(tmp_path / "memory.db", embedder="none") as memory:
        ids = [asked.result()["message_ids"][0], later["message_ids"][0]]
        for user, message in zip(("ana", "ben"), ids, strict=True):
            assert [each.id for each in memory.messages(user_id=user)] == [message]
        assert memory.verify() == []


def test_asked_twice_it_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    gate = Gate()
    with (
        serving(*[gate] * 50) as model,
        started(tmp_path, "--embedder", f"scripted@{model.url}") as server,
        ThreadPoolExecutor() as pool,
    ):
        gate.open.clear()
        asked = pool.submit(
            server.ask, "add", messages="I moved to Lisbon.", user_id="ana", wait=True
        )
        assert gate.waiting.wait(30)
        kept = server.ask("add", messages="I moved to Porto.", user_id="ben", wait=False)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: _refuses(server.url))
        begun = time.monotonic()
        # The model's answer cannot be called off, and nobody waits for it.
        assert server.end() == 1
        assert time.monotonic() - begun < 15
        assert asked.exception(30) is not None
        gate.open.set()
    assert "Traceback" not in server.log.read_text()
    assert "what was acknowledged is stored" in server.log.read_text()
    # The next process does what was left.
    with started(tmp_path, "--embedder", "none") as server:
        for user in ("ana", "ben"):
            until(lambda user=user: _settled(server, user))
        found = server.ask("get", id=kept["message_ids"][0], user_id="ben")
        assert found["content"] == "I moved to Porto."
        assert server.ask("verify") == []
        assert server.end() == 0


def _settled(server: Started, user: str) -> bool:
    page = server.ask("batches", user_id=user)
    return {batch["state"] for batch in page["items"]} == {"done"}


def test_patience_has_an_end(tmp_path: Path) -> None:
    gate = Gate()
    with (
        serving(*[gate] * 50) as model,
        started(tmp_path, "--embedder", f"scripted@{model.url}", "--grace", "0") as server,
        ThreadPoolExecutor() as pool,
    ):
        gate.open.clear()
        asked = pool.submit(server.ask, "add", messages="Plums.", user_id="ana", wait=True)
        assert gate.waiting.wait(30)
        server.end()
        assert asked.exception(30) is not None
        gate.open.set()
    with memstrata.open(tmp_path / "memory.db", embedder="none") as memory:
        assert [each.content for each in memory.messages(user_id="ana")] == ["Plums."]


def test_streams_end_at_once(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        url = f"{server.url}/api/v1/changes/stream?user_id=ana"
        with httpx2.stream("GET", url, timeout=30) as answer:
            assert answer.status_code == 200
            events = answer.iter_lines()
            assert next(events) == "event: ready"
            begun = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            rest = list(events)
        assert not any("error" in line for line in rest)
        assert server.process.wait(30) == 0
        assert time.monotonic() - begun < 10


def test_idle_connections_do_not_hold_it_up(tmp_path: Path) -> None:
    with started(tmp_path) as server, httpx2.Client() as client:
        assert client.get(f"{server.url}/healthz").status_code == 200
        at = urlsplit(server.url)
        with socket.create_connection((at.hostname, at.port)) as silent:
            silent.sendall(b"GET /api/v1/who")
            begun = time.monotonic()
            assert server.end() == 0
            assert time.monotonic() - begun < 10


def test_it_ends_well_however_early(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        assert server.end() in (0, -signal.SIGTERM)


def test_work_that_others_left_is_done(tmp_path: Path) -> None:
    with memstrata.open(tmp_path / "memory.db", embedder="none") as memory:
        receipt = memory.add("I moved to Lisbon.", user_id="ana")
    with started(tmp_path, "--embedder", "none") as server:
        until(lambda: _settled(server, "ana"))
        (batch,) = server.ask("batches", user_id="ana")["items"]
        assert batch["id"] == receipt.batch_id
        assert server.ask("list", user_id="ana")["items"]


def test_the_line_of_a_request(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        httpx2.get(f"{server.url}/api/v1/whoami?q=zebra", headers={"X-Request-ID": "one-1"})
        server.end()
    line = server.log.read_text().splitlines()[1]
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info request request_id=one-1 method=GET "
        r"route=/api/v1/whoami status=200 ms=[\d.]+ in=0 out=\d+",
        line,
    )
