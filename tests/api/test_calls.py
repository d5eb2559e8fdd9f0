"""Pages, batches and calls that are sent again, over HTTP."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from api.running import Server, served

import memstrata
from memstrata import AsyncMemory
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

ANA: dict[str, Any] = {"user_id": "ana"}


class Slow(FakeEmbedder):
    """An embedder that waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.gate.wait(20)
        return super().embed_passages(texts)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
async def memory(tmp_path: Path, embedder: FakeEmbedder) -> AsyncIterator[AsyncMemory]:
    async with await memstrata.open_async(tmp_path / "memory.db", embedder=embedder) as memory:
        yield memory


@pytest.fixture
async def server(memory: AsyncMemory) -> AsyncIterator[Server]:
    async with served(memory) as server:
        yield server


async def ask(server: Server, verb: str, **given: Any) -> Any:
    response = await server.http.post(f"/api/v1/{verb}", json=given)
    assert response.status_code == 200, response.text
    return response.json()


async def every_page(server: Server, verb: str, **given: Any) -> list[Any]:
    items: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = await ask(server, verb, **given, **cursor)
        items += page["items"]
        if page["next"] is None:
            return items
        assert len(page["items"]) == given["limit"]
        cursor = {"cursor": page["next"]}


async def test_pages_hang_together(memory: AsyncMemory, server: Server) -> None:
    for n in range(7):
        await memory.add(f"note {n}", occurred_at=f"2026-05-0{n + 1}T08:00:00Z", **ANA)
        await memory.create({"kind": "semantic", "name": f"fact {n}"}, **ANA)
    for limit in (1, 3, 7, 50):
        notes = await every_page(server, "messages", limit=limit, **ANA)
        assert [each["content"] for each in notes] == [f"note {n}" for n in range(7)]
        facts = await every_page(
            server, "list", limit=limit, filters={"title": {"starts_with": "fact"}}, **ANA
        )
        assert [each["title"] for each in facts] == [f"fact {n}" for n in range(7)]
        log = await every_page(server, "changes", limit=limit, **ANA)
        assert len({each["id"] for each in log}) == len(log) >= 7
    batches = await every_page(server, "batches", limit=4, **ANA)
    assert len({each["id"] for each in batches}) == len(batches) >= 14
    wrong = await server.http.post("/api/v1/list", json={**ANA, "cursor": "soon"})
    assert wrong.status_code == 422


async def test_a_long_poll_says_how_far_it_is_and_then_how_it_ended(tmp_path: Path) -> None:
    embedder = Slow()
    path = tmp_path / "slow.db"
    async with (
        await memstrata.open_async(path, embedder=embedder) as memory,
        served(memory) as server,
    ):
        added = await ask(server, "add", messages="The plums are ripe.", wait=False, **ANA)
        assert added["state"] == "pending"
        with anyio.fail_after(20):  # until the server itself works on it
            while (await memory.batches(**ANA)).items[0].state == "pending":  # noqa: ASYNC110
                await anyio.sleep(0.01)
        waiting = await ask(server, "wait_for", batch_id=added["batch_id"], timeout=0.05, **ANA)
        assert waiting["state"] == "running"
        found = await ask(server, "search", query="plums", method="bm25", **ANA)
        assert found["hits"]
        ended: dict[str, Any] = {}

        async def poll() -> None:
            ended.update(
                await ask(server, "wait_for", batch_id=added["batch_id"], timeout=20, **ANA)
            )

        async with anyio.create_task_group() as group:
            group.start_soon(poll)
            assert (await ask(server, "stats", **ANA)) and not ended
            embedder.gate.set()
        assert ended["state"] == "done" and ended["finished_at"]


async def test_what_failed_is_listed_and_done_again(server: Server, embedder: FakeEmbedder) -> None:
    embedder.fail_next()
    added = await ask(server, "add", messages="The plums are ripe.", **ANA)
    assert added["state"] == "failed" and "told to fail" in added["reason"]
    (failed,) = (await ask(server, "batches", state="failed", **ANA))["items"]
    assert failed["id"] == added["batch_id"]
    again = await ask(server, "retry", batch_id=failed["id"], **ANA)
    assert again["state"] == "done"
    assert (await ask(server, "batches", state="failed", **ANA))["items"] == []
    response = await server.http.post("/api/v1/retry", json={"batch_id": failed["id"], **ANA})
    assert response.status_code == 409
    missing = await server.http.post("/api/v1/wait_for", json={"batch_id": "batch_0", **ANA})
    assert missing.status_code == 404


async def keyed(server: Server, verb: str, key: str, **given: Any) -> httpx2.Response:
    return await server.http.post(
        f"/api/v1/{verb}", json={**given, **ANA}, headers={"Idempotency-Key": key}
    )


async def test_a_request_with_a_key_is_done_once(memory: AsyncMemory, server: Server) -> None:
    record = {"kind": "semantic", "name": "Ana takes line 28"}
    made = (await keyed(server, "create", "k1", record=record)).json()["record_ids"][0]
    entry = (await keyed(server, "vault/put", "k2", secret="quince", caption="Gate")).json()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("create", {"record": record}),
        ("vault/put", {"secret": "quince", "caption": "Gate"}),
        ("add", {"messages": "The plums are ripe."}),
        ("update", {"record_id": made, "changes": {"summary": "By the school"}}),
        ("retire", {"record_id": made}),
        ("vault/rotate", {"id": entry["record_ids"][0], "secret": "plum"}),
    ]
    for number, (verb, given) in enumerate(calls, 1):
        first = await keyed(server, verb, f"k{number}", **given)
        assert first.status_code == 200, first.text
        stood = await memory.batches(**ANA)
        again = await keyed(server, verb, f"k{number}", **given)
        assert again.json()["batch_id"] == first.json()["batch_id"]
        assert "before" in again.json()["skipped"][0]["reason"]
        assert await memory.batches(**ANA) == stood
    other = await keyed(server, "create", "k1", record={**record, "name": "Something else"})
    assert other.status_code == 409 and "idempotency_key" in other.json()["detail"]


async def test_the_argument_goes_before_the_header_and_a_blank_header_is_none(
    server: Server,
) -> None:
    one = await keyed(server, "add", "header", messages="plums", idempotency_key="argument")
    batch = (await ask(server, "batches", **ANA))["items"][0]
    assert batch["id"] == one.json()["batch_id"] and batch["idempotency_key"] == "argument"
    assert (await keyed(server, "add", "", messages="pears")).status_code == 200
    assert (await keyed(server, "search", "k", query="plums")).status_code == 200
    long = await keyed(server, "add", "x" * 600, messages="figs")
    assert long.status_code == 422
