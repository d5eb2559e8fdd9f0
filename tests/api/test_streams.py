"""What is streamed: the change log as it is written, and answers as they are made."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from api.running import Event, Server, events, served

import memstrata
from memstrata import AsyncMemory
from memstrata.api import events as wire
from memstrata.models.fake import FakeChat

pytestmark = pytest.mark.anyio

ANA: dict[str, Any] = {"user_id": "ana"}
PATH = "/api/v1/changes/stream?user_id=ana"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    async with await memstrata.open_async(tmp_path / "memory.db", embedder="fake") as memory:
        yield memory


@pytest.fixture
async def server(memory: AsyncMemory) -> AsyncIterator[Server]:
    async with served(memory) as server:
        yield server


async def note(memory: AsyncMemory, name: str, **scope: Any) -> str:
    receipt = await memory.create({"kind": "semantic", "name": name}, **(scope or ANA))
    return receipt.record_ids[0]


async def take(stream: AsyncIterator[Event], count: int) -> list[Event]:
    """The next events of a stream."""
    found: list[Event] = []
    with anyio.fail_after(20):
        while len(found) < count:
            found.append(await anext(stream))
    return found


async def rest(stream: AsyncIterator[Event]) -> list[Event]:
    """All events until the stream ends."""
    with anyio.fail_after(20):
        return [event async for event in stream]


def targets(found: list[Event]) -> list[str]:
    return [json.loads(event.data)["target_id"] for event in found]


async def test_a_stream_begins_now_and_tells_what_is_written_by_whoever(
    memory: AsyncMemory, server: Server, tmp_path: Path
) -> None:
    await note(memory, "before")
    async with (
        events(server.http, PATH) as stream,
        await memstrata.open_async(tmp_path / "memory.db", embedder="fake") as another,
    ):
        (ready,) = await take(stream, 1)
        assert ready.name == "ready" and ready.id
        one = await note(memory, "here")
        assert targets(await take(stream, 1)) == [one]
        two = await note(another, "elsewhere")
        (told,) = await take(stream, 1)
        assert targets([told]) == [two] and told.name == "change"
        assert json.loads(told.data)["cursor"] == told.id
        await note(memory, "of another", user_id="bo")
        three = await note(memory, "once more")
        assert targets(await take(stream, 1)) == [three]


async def test_who_comes_again_misses_nothing_and_gets_nothing_twice(
    memory: AsyncMemory, server: Server
) -> None:
    async with events(server.http, PATH) as stream:
        (ready,) = await take(stream, 1)
    made = [await note(memory, f"plum {n}") for n in range(7)]
    seen: list[str] = []
    place = ready.id
    while len(seen) < 7:
        async with events(server.http, PATH, headers={"Last-Event-ID": str(place)}) as stream:
            first, *told = await take(stream, min(3, 8 - len(seen)))
        assert first.id == place
        seen += targets(told)
        place = told[-1].id
    assert seen == made
    async with events(server.http, f"{PATH}&cursor=0") as stream:
        assert targets((await take(stream, 8))[1:]) == made


async def test_many_streams_ask_the_store_no_more_often_than_one(
    memory: AsyncMemory, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, looks = memory._runtime.store, 0
    asked = store.last_seq

    async def counted() -> int:
        nonlocal looks
        looks += 1
        return await asked()

    async with (
        events(server.http, PATH) as one,
        events(server.http, PATH) as two,
        events(server.http, PATH) as three,
    ):
        for stream in (one, two, three):
            await take(stream, 1)
        monkeypatch.setattr(store, "last_seq", counted)
        started = anyio.current_time()
        made = await note(memory, "plum")
        for stream in (one, two, three):
            assert targets(await take(stream, 1)) == [made]
        assert looks <= (anyio.current_time() - started) / 0.25 + 2


async def test_a_stream_ends_when_the_server_does(memory: AsyncMemory) -> None:
    async with served(memory) as server, events(server.http, PATH) as stream:
        await take(stream, 1)
        server.app.state.stopping.set()
        assert await rest(stream) == []


async def test_a_stream_ends_when_its_client_goes(memory: AsyncMemory, server: Server) -> None:
    async with events(server.http, PATH) as stream, aclosing(stream):
        await take(stream, 1)
    asked: list[None] = []
    look = memory._runtime.store.last_seq

    async def watched() -> int:
        asked.append(None)
        return await look()

    with anyio.fail_after(20):
        while True:  # once nobody waits, nobody looks
            asked.clear()
            memory._runtime.store.last_seq = watched
            await anyio.sleep(0.6)
            if not asked:
                break
    await note(memory, "plum")


async def test_a_revoked_key_ends_its_stream(memory: AsyncMemory) -> None:
    key = await memory.keys.create("desk", user_id="ana")
    async with (
        served(memory, Authorization=f"Bearer {key.secret}") as server,
        events(server.http, PATH) as stream,
    ):
        await take(stream, 1)
        await memory.keys.revoke(key.id)
        (last,) = await rest(stream)
        assert last.name == "error" and json.loads(last.data)["status"] == 401
        assert (await server.http.get(PATH)).status_code == 401


async def test_a_key_sees_the_log_of_its_own_user_alone(memory: AsyncMemory) -> None:
    key = await memory.keys.create("desk", user_id="ana")
    async with served(memory, Authorization=f"Bearer {key.secret}") as server:
        other = await server.http.get("/api/v1/changes/stream?user_id=bo")
        assert other.status_code == 403
        async with events(server.http, "/api/v1/changes/stream?cursor=0") as stream:
            await take(stream, 1)
            await note(memory, "of bo", user_id="bo")
            made = await note(memory, "of ana")
            assert targets(await take(stream, 1)) == [made]


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("", {}, 400),
        ("?user_id=ana&cursor=soon", {}, 422),
        ("?user_id=ana", {"Last-Event-ID": "soon"}, 422),
        ("?user_id=ana&limit=5", {}, 422),
        ("?user_id=%20", {}, 422),
    ],
)
async def test_a_wrong_call_is_answered_by_a_problem(
    server: Server, query: str, headers: dict[str, str], status: int
) -> None:
    response = await server.http.get(f"/api/v1/changes/stream{query}", headers=headers)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_quiet_stream_shows_that_it_lives(
    memory: AsyncMemory, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_BEAT", 0.01)
    async with server.http.stream("GET", PATH) as response:
        with anyio.fail_after(20):
            async for line in response.aiter_lines():
                if line.startswith(":"):
                    break


async def test_an_answer_is_told_before_what_is_learned_from_it(
    memory: AsyncMemory, server: Server
) -> None:
    await memory.add("I live in Lisbon.", **ANA)
    asked = {"messages": [{"role": "user", "content": "Where do I live?"}], **ANA}
    async with events(server.http, "/api/v1/chat", asked) as stream:
        told = await rest(stream)
    assert [event.name for event in told] == ["search", "answer", "receipt", "end"]
    assert json.loads(told[0].data)["query"] == "Where do I live?"
    answer = json.loads(told[1].data)
    assert "Lisbon" in answer["text"] and answer["receipt"] is None
    assert json.loads(told[2].data)["message_ids"]
    async with events(server.http, "/api/v1/chat", {**asked, "learn": False}) as stream:
        assert [event.name for event in await rest(stream)] == ["search", "answer", "end"]
    asked = {"question": "Where do I live?", **ANA}
    async with events(server.http, "/api/v1/ask", asked) as stream:
        streamed = json.loads((await rest(stream))[1].data)
    plain = (await server.http.post("/api/v1/ask", json=asked)).json()
    assert streamed | {"ledger": None} == plain | {"ledger": None}


async def test_a_search_of_a_model_is_told_when_it_is_made(tmp_path: Path) -> None:
    search = '{"searches": [{"query": "boat name"}]}'
    reply = '{"answer": "I have no idea.", "known": false, "cites": []}'
    seen: list[str] = []
    chat = FakeChat(search, reply)
    path = tmp_path / "model.db"
    async with (
        await memstrata.open_async(path, embedder="fake", llm=chat) as memory,
        served(memory) as server,
    ):
        asked = {"messages": "What is it called?", "learn": False, **ANA}
        async with events(server.http, "/api/v1/chat", asked) as stream:
            async for event in stream:
                seen.append(event.name)
                if event.name == "search" and "boat name" in event.data:
                    seen.append("own")
    assert "own" in seen and seen.index("own") < seen.index("answer")
    assert seen[-1] == "end"


async def test_an_error_of_a_model_is_a_problem(tmp_path: Path) -> None:
    """Before anything was told a response of its own, and then an event."""
    path = tmp_path / "model.db"
    async with (
        await memstrata.open_async(path, embedder="fake", llm=FakeChat()) as memory,
        served(memory) as server,
    ):
        headers = {"Accept": "text/event-stream"}
        response = await server.http.post("/api/v1/chat", json={**ANA}, headers=headers)
        assert response.status_code == 422
        assert response.headers["content-type"] == "application/problem+json"
        asked = {"messages": "What is my boat called?", "learn": False, **ANA}
        async with events(server.http, "/api/v1/chat", asked) as stream:
            told = await rest(stream)
    assert told[-1].name == "error"
    problem = json.loads(told[-1].data)
    assert problem["title"] == "ModelFailed" and problem["status"] == 502
