"""What one caller may take: bodies, rates, attempts, requests at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import httpx2
import pytest
from api.edge_client import Service, asking, problem, service
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import HTTPConnection

from memstrata.access import Grant
from memstrata.api import Options
from memstrata.api.limits import Guard, Pace
from memstrata.api.problems import Refused

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


# Bodies


async def test_a_large_body_is_refused_before_it_is_read() -> None:
    read = 0

    async def body() -> AsyncGenerator[bytes]:
        nonlocal read
        while True:  # a body without end
            read += 1
            yield b"x" * 500

    async with service(Options(max_body=2000)) as one:
        answer = await one.client.post("/api/v1/add", content=body(), headers=JSON)
        found = problem(answer, 413, "BodyTooLarge")
        assert "2000 bytes" in found["detail"]
        assert read <= 6
        said = {**JSON, "Content-Length": "2001"}
        problem(
            await one.client.post("/api/v1/add", content=body(), headers=said), 413, "BodyTooLarge"
        )
        assert read <= 6  # nothing of this one
        assert (await one.figures())['memstrata_http_refused_total{reason="body"}'] == 2


async def test_a_body_of_just_that_size_is_read() -> None:
    async with service(Options(max_body=2000)) as one:
        head, tail = b'{"user_id":"ana","messages":"', b'"}'
        body = head + b"plum " * 400
        body = body[: 2000 - len(tail)] + tail
        assert len(body) == 2000
        answer = await one.client.post("/api/v1/add", content=body, headers=JSON)
        assert answer.status_code == 200, answer.text


async def test_load_has_a_limit_of_its_own() -> None:
    lines = {"Content-Type": "application/x-ndjson"}
    async with service(Options(max_body=500, max_load=100_000)) as one:
        assert (await one.post("add", messages="The plums are ripe.", user_id="ana")).is_success
        dump = (await one.post("dump")).content
        assert 500 < len(dump) < 100_000
        answer = await one.client.post("/api/v1/load", content=dump, headers=lines)
        assert (answer.status_code, answer.text) == (200, "0"), "all of it is there already"
        answer = await one.client.post("/api/v1/load", content=b"x" * 100_001, headers=lines)
        problem(answer, 413, "BodyTooLarge")


async def test_who_may_not_load_fills_no_disk() -> None:
    read = 0

    async def body() -> AsyncGenerator[bytes]:
        nonlocal read
        read += 1
        yield b"{}"

    async with service() as one:
        bad = [
            await one.memory.keys.create("reader", permissions=["read", "write"]),
            await one.memory.keys.create("bound", user_id="ana", permissions=["admin"]),
        ]
        for key in bad:
            headers = {"Content-Type": "application/x-ndjson", "X-API-Key": key.secret}
            answer = await one.client.post("/api/v1/load", content=body(), headers=headers)
            problem(answer, 403, "PermissionDenied")
        assert read == 0


async def test_a_client_that_stops_in_the_middle_is_sent_away() -> None:
    async def body() -> AsyncGenerator[bytes]:
        yield b'{"user_id":'
        await anyio.sleep_forever()

    async with service(Options(patience=0.05)) as one:
        answer = await one.client.post("/api/v1/add", content=body(), headers=JSON)
        problem(answer, 408, "RequestTimeout")
        assert (await one.figures())['memstrata_http_refused_total{reason="slow"}'] == 1


@pytest.mark.parametrize("depth", [101, 400, 3000, 100_000])
async def test_a_deep_body_is_refused(depth: int) -> None:
    async with service() as one:
        for opened, closed in (("[", "]"), ('{"a":', "}")):
            deep = opened * depth + "1" + closed * depth
            body = f'{{"user_id":"ana","messages":"hello","metadata":{{"m":{deep}}}}}'
            answer = await one.client.post("/api/v1/add", content=body, headers=JSON)
            assert "flatten" in problem(answer, 400, "BadRequest")["detail"]
        many = '{"user_id":"ana","messages":"hello","metadata":{"m":[' + "[]," * depth + "1]}}"
        answer = await one.client.post("/api/v1/add", content=many, headers=JSON)
        assert answer.status_code == 200, answer.text


def test_bodies_of_all_requests_together_are_bounded() -> None:
    refused: list[str] = []
    guard = Guard(Options(max_body=100), refused.append)
    states = [{} for _ in range(16)]
    for state in states:
        guard.enter()
        guard.hold(state, 100)
    late: dict[str, object] = {}
    guard.enter()
    with pytest.raises(Refused) as error:
        guard.hold(late, 1)
    assert (error.value.status, error.value.headers) == (503, {"Retry-After": "1"})
    guard.leave(late)
    guard.leave(states[0])
    guard.enter()
    guard.hold({}, 100)
    assert refused == ["busy"]


# Requests at once


class Hanging:
    """Requests that are under way until it is left."""

    def __init__(self, one: Service, group: anyio.abc.TaskGroup) -> None:
        self.one, self.group = one, group
        self.end = anyio.Event()
        self.done: list[int] = []

    async def add(self, key: str) -> None:
        """One more, with this key."""
        begun = anyio.Event()

        async def body() -> AsyncGenerator[bytes]:
            begun.set()
            await self.end.wait()
            yield b"{}"

        async def ask() -> None:
            headers = {**JSON, "X-API-Key": key}
            answer = await self.one.client.post("/api/v1/scopes", content=body(), headers=headers)
            self.done.append(answer.status_code)

        self.group.start_soon(ask)
        await begun.wait()


@asynccontextmanager
async def hanging(one: Service) -> AsyncGenerator[Hanging]:
    async with anyio.create_task_group() as group:
        requests = Hanging(one, group)
        yield requests
        requests.end.set()


async def test_requests_at_once_are_bounded_but_not_the_questions_whether_we_live() -> None:
    async with service(Options(max_requests=2)) as one, hanging(one) as requests:
        keys = [await one.memory.keys.create(n, permissions=["admin"]) for n in ("a", "b", "c")]
        for key in keys[:2]:
            await requests.add(key.secret)
        headers = {"X-API-Key": keys[2].secret}
        answer = await one.client.get("/api/v1/whoami", headers=headers)
        problem(answer, 503, "Busy")
        assert answer.headers["retry-after"] == "1"
        assert (await one.client.get("/healthz")).status_code == 200
        assert (await one.client.get("/readyz")).status_code == 200
        figures = await one.figures(keys[2].secret)
        assert figures["memstrata_http_requests_in_flight"] == 3
        assert figures['memstrata_http_refused_total{reason="busy"}'] == 1
    assert requests.done == [200, 200]


async def test_one_key_does_not_take_all_of_them() -> None:
    async with service(Options(max_requests=8)) as one, hanging(one) as requests:
        greedy = await one.memory.keys.create("greedy", permissions=["admin"])
        other = await one.memory.keys.create("other")
        for _ in range(2):
            await requests.add(greedy.secret)
        problem(await _whoami(one, greedy.secret), 503, "Busy")
        assert (await _whoami(one, other.secret)).status_code == 200
    assert requests.done == [200, 200]


async def _whoami(one: Service, key: str) -> httpx2.Response:
    return await one.client.get("/api/v1/whoami", headers={"X-API-Key": key})


# Rates


@given(st.lists(st.floats(0, 3), max_size=60), st.sampled_from((0.5, 1, 10)), st.integers(1, 20))
def test_pace(pauses: list[float], rate: float, burst: int) -> None:
    """Never more than the burst and what the time allows; and never less, if asked patiently."""
    clock = Clock()
    pace = Pace(rate, burst, clock)
    taken: list[float] = []
    for pause in pauses:
        clock.now += pause
        wait = pace.take("ana")
        if not wait:
            taken.append(clock.now)
            continue
        clock.now += wait
        assert not pace.take("ana"), "the time it said was enough"
        taken.append(clock.now)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            allowed = burst + rate * (taken[last] - taken[first])
            assert last - first + 1 <= allowed + 1e-6
    assert not pace.take("ben"), "another one is not concerned"


def test_pace_remembers_only_so_many() -> None:
    pace = Pace(1, 1, Clock())
    for number in range(20_000):
        pace.take(str(number))
    assert len(pace._until) == 10_000
    assert pace.take("19999")


async def test_too_many_requests_of_one_key() -> None:
    async with service(Options(rate=1)) as one:
        first, other = [await one.memory.keys.create(name) for name in ("first", "other")]
        answers = [await _whoami(one, first.secret) for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 429, 429]
        problem(answers[-1], 429, "TooManyRequests")
        assert answers[-1].headers["retry-after"] == "1"
        assert (await _whoami(one, other.secret)).status_code == 200
        assert (await one.client.get("/healthz")).status_code == 200


async def test_without_keys_it_is_the_address_that_is_limited() -> None:
    async with service(Options(rate=1)) as one, asking(one.app, "127.0.0.2") as other:
        for expected in (200, 200, 429):
            assert (await one.client.get("/api/v1/whoami")).status_code == expected
        assert (await other.get("/api/v1/whoami")).status_code == 200


# Keys that are guessed


async def test_guessing_is_slowed_down_and_locks_nobody_out() -> None:
    async with service() as one:
        made = await one.memory.keys.create("desk", permissions=["admin"])
        assert (await _whoami(one, made.secret)).status_code == 200
        guess = made.secret[:-4] + "0000"
        seen = [(await _whoami(one, guess)).status_code for _ in range(130)]
        assert seen[:100] == [401] * 100
        assert 429 in seen[100:]
        # From the same address, as if behind the same proxy: a key that was used before.
        for _ in range(20):
            assert (await _whoami(one, made.secret)).status_code == 200
        async with asking(one.app, "192.0.2.1") as far:
            answer = await far.get("/api/v1/whoami", headers={"X-API-Key": guess})
            problem(answer, 401, "Unauthorized")
        figures = await one.figures(made.secret)
        assert figures['memstrata_http_refused_total{reason="attempts"}'] >= 1
        assert figures['memstrata_http_refused_total{reason="auth"}'] >= 101


def test_a_new_key_behind_a_busy_proxy_waits_its_turn() -> None:
    clock = Clock()
    guard = Guard(Options(), lambda _: None, clock)

    def attempt(key: str, address: str = "192.0.2.1") -> bool:
        scope = {"type": "http", "client": (address, 1), "headers": []}
        connection = HTTPConnection(scope)
        try:
            guard.attempt(connection, key)
        except Refused as refused:
            assert int(refused.headers["Retry-After"]) == 1
            return False
        if key.startswith("good"):
            guard.passed(connection, key)
        return True

    assert sum(attempt(f"bad{n}") for n in range(500)) == 100
    assert not attempt("good1")
    clock.now += 0.11
    assert attempt("good1"), "it is the next one's turn soon"
    assert attempt("good1"), "and from then on nobody stands in its way"
    # A thousand keys that hold are looked up at once after a restart: none counts as a guess.
    assert all(attempt(f"good{n}", "192.0.2.2") for n in range(1000))
    # One network of IPv6 is one address.
    assert sum(attempt(f"bad{n}", f"2001:db8::{n:x}") for n in range(300)) == 100


def test_a_revoked_key_is_known_no_more_to_be_admitted() -> None:
    """What is remembered of a key only spares it the queue: the store is asked each time."""
    guard = Guard(Options(), lambda _: None)
    connection = HTTPConnection({"type": "http", "client": ("192.0.2.1", 1), "headers": []})
    guard.passed(connection, "good")
    guard.attempt(connection, "good")
    assert "key" not in connection.scope.get("state", {})
    guard.admit(connection, Grant(key="good"))
    assert connection.scope["state"]["key"] == "good"
