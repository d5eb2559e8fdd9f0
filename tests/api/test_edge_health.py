"""Health, readiness, and who may see the figures."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import anyio
import apsw
import pytest
from api.edge_client import asking, problem, service

import memstrata
from memstrata.api import make_app
from memstrata.store.running import _limiter

pytestmark = pytest.mark.anyio

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


async def test_anybody_may_ask_whether_it_lives() -> None:
    async with service() as one, asking(one.app, "192.0.2.1", "http://memory.test") as far:
        for path in ("/healthz", "/readyz"):
            answer = await far.get(path)
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
            assert (await far.head(path)).status_code == 200


async def test_a_store_that_is_gone_is_not_ready() -> None:
    async with service() as one:
        await one.memory.close()
        found = problem(await one.client.get("/readyz"), 503, "NotReady")
        assert found["detail"] == "the store does not answer (StoreUnavailable)"
        assert (await one.client.get("/healthz")).status_code == 200


async def test_a_store_that_is_slow_is_not_ready() -> None:
    async with service() as one:
        limiter = _limiter("read", 4)
        holders = [object() for _ in range(4)]
        for each in holders:
            await limiter.acquire_on_behalf_of(each)
        answer = await one.client.get("/readyz")
        assert "not answered for 2 s" in problem(answer, 503, "NotReady")["detail"]
        assert (await one.client.get("/healthz")).status_code == 200
        for each in holders:
            limiter.release_on_behalf_of(each)
        with anyio.fail_after(5):
            assert (await one.client.get("/readyz")).status_code == 200


async def test_what_is_about_to_end_is_not_ready() -> None:
    async with service() as one:
        one.app.state.stopping.set()
        found = problem(await one.client.get("/readyz"), 503, "NotReady")
        assert found["detail"] == "the server is about to end"


async def test_figures_are_for_operators() -> None:
    async with service() as one:
        make = one.memory.keys.create
        good = await make("prometheus", permissions=["admin"])
        bad = [
            await make("reader", permissions=["read", "write", "vault:reveal"]),
            await make("bound", user_id="ana", permissions=["admin"]),
            await make("agent", agent_id="desk", permissions=["admin"]),
            await one.memory.for_tenant("acme").keys.create("other", permissions=["admin"]),
        ]
        for key in bad:
            headers = {"Authorization": f"Bearer {key.secret}"}
            answer = await one.client.get("/metrics", headers=headers)
            problem(answer, 403, "PermissionDenied")
        problem(await one.client.get("/metrics"), 401, "Unauthorized")
        answer = await one.client.get(
            "/metrics", headers={"Authorization": f"Bearer {good.secret}"}
        )
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")


async def test_batches_of_all_tenants_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with await memstrata.open_async(path, embedder="none") as memory:
        for tenant, user in (("default", "ana"), ("default", "ben"), ("acme", "ana")):
            await memory.for_tenant(tenant).add("The plums are ripe.", user_id=user)
        with closing(apsw.Connection(str(path))) as file:
            states = [row[0] for row in file.execute("SELECT state FROM batches")]
            assert states == ["done"] * 3
            file.execute("UPDATE batches SET state = 'failed' WHERE scope < 3")
            file.execute(
                "UPDATE batches SET state = 'pending', lease_until = ?, lease_owner = 'another' "
                "WHERE scope = 3",
                (2**60,),
            )
        async with asking(make_app(memory)) as client:
            text = (await client.get("/metrics")).text
    assert 'memstrata_batches{state="waiting"} 1.0' in text
    assert 'memstrata_batches{state="failed"} 2.0' in text


async def test_answers_are_for_nobodys_cache_and_no_page() -> None:
    async with service() as one:
        answers = [
            await one.client.get("/healthz"),
            await one.client.get("/nowhere"),
            await one.client.get("/openapi.json"),
            await one.post("search", query="plums", user_id="ana"),
            await one.post("search"),
            await one.client.post("/api/v1/add", content=b"x" * 11_000_000),
        ]
        for answer in answers:
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, answer.url
            assert not [name for name in answer.headers if name.startswith("access-control")]
            assert "server" not in answer.headers


async def test_two_applications_in_one_process_count_apart() -> None:
    async with service() as one, service() as other:
        await one.post("search", query="plums", user_id="ana")
        name = 'memstrata_http_requests_total{method="POST",route="/api/v1/search",status="2xx"}'
        assert (await one.figures())[name] == 1
        assert name not in await other.figures()
