"""Endpoints that fail: what is tried again, what is waited, and what is said in the end."""

from __future__ import annotations

import logging
import socket
import threading
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import anyio.to_thread
import pytest
from models.endpoint_server import Answer, Server, chat, half, raw, serving, status, stuck

from memstrata.errors import ModelFailed
from memstrata.jobs import loop_thread
from memstrata.models.chat import Prompt, Said
from memstrata.models.endpoint import Endpoint
from memstrata.models.pace import Attempts, Pace, Retries, Trouble, pace_of, retry_after

pytestmark = pytest.mark.anyio

QUICK = Retries(first=0.001)
KEY = "pear-7719-plum-4402-quince"
QUESTION = Prompt("ask", "Answer in one word.", (Said("user", "Are the plums ripe?"),))


@asynccontextmanager
async def endpoint(server: Server, **more: Any) -> AsyncGenerator[Endpoint]:
    model = Endpoint("scripted", base_url=server.url, **{"retries": QUICK, **more})
    try:
        yield model
    finally:
        await model.aclose()


@pytest.mark.parametrize(
    "bad",
    [
        status(429, retry_after="0"),
        status(429),
        status(408),
        status(409),
        status(500),
        status(502),
        status(503, retry_after="0.01"),
        status(529),
        raw("<html>one moment</html>", 503),
        raw("this is no JSON"),
        raw('{"object": "chat.completion", "cho'),
        raw("[]"),
        raw("{}"),
        raw('{"choices": []}'),
        half(chat("The plums are ripe, and so are the pears.")),
        half(status(500)),
    ],
    ids=lambda answer: f"{answer.status}-{answer.sent}-{answer.body[:12].decode()}",
)
async def test_what_may_pass_is_tried_again(bad: Answer) -> None:
    with serving(bad, bad, chat("ripe")) as server:
        async with endpoint(server) as model:
            assert (await model.complete(QUESTION)).text == "ripe"
    assert server.calls == 3


async def test_not_for_ever() -> None:
    with serving(*[status(500, "the cellar is flooded")] * 9) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match=r"500.*cellar.*tried 5 times"):
                await model.complete(QUESTION)
    assert server.calls == 5


@pytest.mark.parametrize(
    ("code", "message", "says"),
    [
        (401, "no such key", "key is missing or wrong"),
        (403, "not for you", "may not"),
        (404, "no route", "no such model or address"),
        (400, "the messages are too long", "too long"),
        (422, "the messages are no list", "no list"),
    ],
)
async def test_what_will_not_pass_fails_at_once(code: int, message: str, says: str) -> None:
    with serving(*[status(code, message)] * 3) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match=says) as caught:
                await model.complete(QUESTION)
    assert message in str(caught.value)
    assert server.url in str(caught.value)
    assert server.calls == 1


@pytest.mark.parametrize("code", [400, 404])
async def test_an_unknown_model_is_told_the_known_ones(code: int) -> None:
    bad = status(code, "the model `scripted` does not exist")
    with serving(bad, models=["quince-1", "medlar-2"]) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match="it offers medlar-2, quince-1"):
                await model.complete(QUESTION)
    assert server.calls == 1


async def test_a_used_up_account_is_not_asked_again() -> None:
    body = '{"error": {"message": "pay first", "code": "insufficient_quota"}}'
    with serving(raw(body, 429)) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match="pay first"):
                await model.complete(QUESTION)
    assert server.calls == 1


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        model = Endpoint("scripted", base_url=url, retries=QUICK)
        with pytest.raises(ModelFailed, match=f"no connection to {url}.*tried 5 times"):
            await model.complete(QUESTION)
        await model.aclose()


async def test_a_server_that_hangs_is_waited_for_twice() -> None:
    with serving(*[stuck()] * 5) as server:
        async with endpoint(server, timeout=0.05) as model:
            with pytest.raises(ModelFailed, match=r"within 0.05 seconds \(tried 2 times\)"):
                await model.complete(QUESTION)


async def test_all_workers_wait_when_one_is_told_to() -> None:
    """On two event loops, through one endpoint's pace."""
    asked: list[float] = []
    pace = threading.Event()

    def told(_: Any) -> Answer:
        pace.set()
        return status(429, retry_after="0.2")

    def noted(_: Any) -> Answer:
        asked.append(held.left())
        return chat("ripe")

    with serving(told, *[noted] * 4) as server:
        held = pace_of(server.url, 4)
        async with endpoint(server) as model:

            async def elsewhere() -> None:
                await model.complete(QUESTION)

            async with anyio.create_task_group() as group:
                group.start_soon(model.complete, QUESTION)
                await anyio.to_thread.run_sync(pace.wait)
                while held.left() < -5.0:  # until the answer is read; nobody was ever held before
                    await anyio.lowlevel.checkpoint()
                group.start_soon(model.complete, QUESTION)
                group.start_soon(model.complete, QUESTION)
                await anyio.to_thread.run_sync(loop_thread("work").call, elsewhere)
    assert len(asked) == 4
    assert max(asked) <= 0


@pytest.mark.parametrize("date", [False, True], ids=["seconds", "date"])
async def test_an_endpoint_that_asks_for_too_much_is_not_waited_for(date: bool) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    after = format_datetime(moment, usegmt=True) if date else "3600"
    with serving(status(429, retry_after=after)) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match=r"try again in 3\d\d\d seconds, at \d\d:\d\d"):
                await model.complete(QUESTION)
    assert server.calls == 1


def test_retry_after_in_all_its_forms() -> None:
    now = datetime(2026, 5, 8, 9, 0, tzinfo=UTC)

    def read(text: str, name: str = "Retry-After") -> float | None:
        return retry_after({name: text}, lambda: now)

    assert read("7") == 7
    assert read("0.5") == 0.5
    assert read("250", "retry-after-ms") == 0.25
    assert read("Fri, 08 May 2026 09:00:30 GMT") == 30
    assert read("Fri, 08 May 2026 08:00:00 GMT") == 0
    assert read("Fri May  8 09:01:00 2026") == 60
    assert [read(text) for text in ("soon", "-1", "inf", "nan", "")] == [None] * 5
    assert retry_after({}) is None


def test_pauses_grow_and_end() -> None:
    now = 0.0
    pace = Pace(1, clock=lambda: now)
    attempts = Attempts("plum", Retries(tries=9, first=1.0, longest=4.0, patience=100.0), pace)
    pauses: list[float] = []
    for _ in range(6):
        attempts.after(Trouble("broken", again=True))
        pauses.append(attempts.until - now)
        now = attempts.until
    limits = [1.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    assert all(top / 2 <= pause <= top for pause, top in zip(pauses, limits, strict=True))
    assert pace.left() <= 0, "what went wrong with one says nothing to the others"
    attempts.after(Trouble("busy", again=True, status=429, wait=10.0))
    assert pace.left() == pytest.approx(10.0)
    with pytest.raises(ModelFailed, match=r"busy; try again in 90 seconds"):
        attempts.after(Trouble("busy", again=True, status=429, wait=90.0))
    assert pace.left() == pytest.approx(10.0)


def test_a_call_does_not_begin_when_others_were_told_to_wait_longer_than_it_can() -> None:
    pace = Pace(1, clock=lambda: 0.0)
    pace.hold(50.0)
    with pytest.raises(ModelFailed, match="try again in 50 seconds"):
        Attempts("plum", Retries(patience=10.0), pace).begin()
    Attempts("plum", Retries(patience=60.0), pace).begin()


async def test_no_more_at_once_than_there_is_room_for() -> None:
    with serving() as server:
        async with endpoint(server, concurrency=2) as model:

            async def elsewhere() -> None:
                async with anyio.create_task_group() as inner:
                    for _ in range(4):
                        inner.start_soon(model.complete, QUESTION)

            async with anyio.create_task_group() as group:
                group.start_soon(elsewhere)
                await anyio.to_thread.run_sync(loop_thread("work").call, elsewhere)
    assert server.calls == 8
    assert server.most <= 2


async def test_places_are_given_back_by_those_that_are_cancelled() -> None:
    pace = Pace(1)
    held = anyio.Event()

    async def hold() -> None:
        async with pace.turn():
            held.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await held.wait()
        with anyio.move_on_after(0.01):
            async with pace.turn():
                pytest.fail("there is one place only")
        group.cancel_scope.cancel()
    with anyio.fail_after(5):
        async with pace.turn():
            pass
        await anyio.to_thread.run_sync(_use, pace)


def _use(pace: Pace) -> None:
    with pace.turn_blocking():
        pass


async def test_threads_and_loops_stand_in_one_line() -> None:
    pace = Pace(1)
    done: list[str] = []

    def blocking() -> None:
        with pace.turn_blocking():
            done.append("thread")

    async def waiting() -> None:
        async with pace.turn():
            done.append("loop")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group, pace.turn():
            for _ in range(3):
                group.start_soon(anyio.to_thread.run_sync, blocking)
                group.start_soon(waiting)
            await anyio.sleep(0.01)
            assert done == []
    assert sorted(done) == ["loop"] * 3 + ["thread"] * 3


def test_fewer_and_more_places() -> None:
    pace = Pace(3)
    with pace.turn_blocking(), pace.turn_blocking(), pace.turn_blocking():
        pace.resize(1)
    entered = threading.Event()
    with pace.turn_blocking():
        other = threading.Thread(target=lambda: _entered(pace, entered))
        other.start()
        assert not entered.wait(0.01)
        pace.resize(2)
        assert entered.wait(5)
    other.join()


def _entered(pace: Pace, event: threading.Event) -> None:
    with pace.turn_blocking():
        event.set()


@pytest.mark.parametrize(
    "answer",
    [
        status(401, f"Incorrect API key provided: {KEY}"),
        status(400, f"header Authorization: Bearer {KEY} is not understood"),
        raw(f'{{"choices": "{KEY}"}}'),
        raw(f"no JSON: {KEY}"),
        raw(f"no JSON: {KEY}", 500),
        half(status(500, f"key {KEY} key {KEY}")),
    ],
    ids=range(6),
)
async def test_no_key_is_ever_told(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(*[answer] * 5) as server:
        async with endpoint(server, api_key=KEY) as model:
            with pytest.raises(ModelFailed) as caught:
                await model.complete(QUESTION)
            told = [repr(model), str(vars(model)), caplog.text]
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    told.append("".join(traceback.format_exception(caught.value)))
    waiting: list[BaseException | None] = [caught.value]
    while waiting:
        error = waiting.pop()
        if error is not None:
            told += [str(error), repr(error), str(vars(error))]
            waiting += [error.__cause__, error.__context__]
    assert KEY not in "".join(told)
    assert len(str(caught.value)) < 900


async def test_the_key_of_the_environment_is_not_told_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(status(401, f"Incorrect API key provided: {KEY}")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        model = Endpoint("openai:scripted", retries=QUICK)
        with pytest.raises(ModelFailed) as caught:
            await model.complete(QUESTION)
        await model.aclose()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_the_cause_is_kept_where_it_tells_nothing() -> None:
    with serving(status(404, "no route")) as server:
        async with endpoint(server, api_key=KEY) as model:
            with pytest.raises(ModelFailed) as caught:
                await model.complete(QUESTION)
    assert "ModelNotFoundError" in repr(type(caught.value.__cause__).__mro__)


async def test_a_cancelled_call_is_over() -> None:
    came = threading.Event()

    def hang(_: Any) -> Answer:
        came.set()
        return stuck()

    with serving(hang, chat("ripe")) as server:
        async with endpoint(server, concurrency=1) as model:
            async with anyio.create_task_group() as group:
                group.start_soon(model.complete, QUESTION)
                await anyio.to_thread.run_sync(came.wait)
                group.cancel_scope.cancel()
            assert (await model.complete(QUESTION)).text == "ripe"


async def test_a_reply_one_can_do_without_is_not_waited_for() -> None:
    with serving(status(429, retry_after="20"), stuck()) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match="try again in 20 seconds"):
                await model.complete(replace(QUESTION, patience=5.0))
    with serving(stuck()) as server:
        async with endpoint(server) as model:
            with pytest.raises(ModelFailed, match=r"did not answer within 0.05 seconds"):
                await model.complete(replace(QUESTION, patience=0.05).then("a", "b"))
