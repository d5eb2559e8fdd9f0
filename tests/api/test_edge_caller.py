"""Who may ask without a key: programs of the machine itself, and nobody else."""

from __future__ import annotations

import pytest
from api.edge_client import asking, problem, service

from memstrata.api.caller import is_loopback

pytestmark = pytest.mark.anyio

LOCAL = ("127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1")
FOREIGN = ("10.0.0.7", "192.0.2.1", "::ffff:10.0.0.7", "2001:db8::1", "testclient", "", None)
NAMES = ("127.0.0.1", "127.0.0.1:8283", "localhost", "LOCALHOST:80", "[::1]:8283")
FOREIGN_NAMES = (
    "evil.test", "localhost.evil.test", "127.0.0.1.evil.test:8283", "0.0.0.0", "0.0.0.0:8283",
    "[::]", "10.0.0.7", "evil.test@127.0.0.1", "127.0.0.1@evil.test", "127.0.0.1/evil.test",
    "127.0.0.1#evil.test", "127.0.0.1, evil.test", "127.0.0.1:x", "2130706433", "0x7f.1", "127.1",
    "", "localhost.",
)  # fmt: skip
FORWARDED = (
    "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "Forwarded",
    "X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP",
)  # fmt: skip


def test_what_the_machine_itself_is_called() -> None:
    assert all(is_loopback(name) for name in (*LOCAL, "localhost", "Localhost", "[::1]"))
    assert not any(is_loopback(name or "") for name in FOREIGN)


async def test_programs_of_this_machine_may_ask() -> None:
    async with service() as one:
        for address in LOCAL:
            async with asking(one.app, address) as client:
                for name in NAMES:
                    answer = await client.get("/api/v1/whoami", headers={"Host": name})
                    assert answer.status_code == 200, (address, name, answer.text)
                    assert answer.json()["key"] is None


@pytest.mark.parametrize("address", FOREIGN)
async def test_others_may_not(address: str | None) -> None:
    async with service() as one, asking(one.app, address) as client:
        found = problem(await client.get("/api/v1/whoami"), 403, "Forbidden")
        assert "memstrata keys create" in found["detail"]
        # Nor if they say they are somebody else.
        answer = await client.get("/api/v1/whoami", headers={"X-Forwarded-For": "127.0.0.1"})
        assert answer.status_code == 403


@pytest.mark.parametrize("name", FOREIGN_NAMES)
async def test_nor_who_calls_us_by_another_name(name: str) -> None:
    """A page of that name, whose address was changed to ours under the browser's hands."""
    async with service() as one:
        answer = await one.client.get("/api/v1/whoami", headers={"Host": name})
        problem(answer, 403, "Forbidden")


async def test_nor_by_two_names() -> None:
    async with service() as one:
        twice = [("Host", "127.0.0.1"), ("Host", "evil.test")]
        problem(await one.client.get("/api/v1/whoami", headers=twice), 403, "Forbidden")


@pytest.mark.parametrize("header", FORWARDED)
async def test_nor_what_a_proxy_passes_on(header: str) -> None:
    async with service() as one:
        for value in ("127.0.0.1", "192.0.2.1", ""):
            answer = await one.client.get("/api/v1/whoami", headers={header: value})
            problem(answer, 403, "Forbidden")


async def test_nor_a_page_in_a_browser() -> None:
    foreign = [
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ]
    own = [
        {"Origin": "http://127.0.0.1"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
    ]
    async with service() as one:
        for headers in foreign:
            answer = await one.client.post("/api/v1/add", json={}, headers=headers)
            problem(answer, 403, "Forbidden")
            assert not [name for name in answer.headers if name.startswith("access-control")]
        for headers in own:
            answer = await one.client.get("/api/v1/whoami", headers=headers)
            assert answer.status_code == 200, headers


async def test_with_keys_it_is_the_key_that_counts() -> None:
    async with service() as one, asking(one.app, "192.0.2.1", "http://memory.test") as far:
        made = await one.memory.keys.create("desk")
        forms = (
            {"Authorization": f"Bearer {made.secret}"},
            {"Authorization": f"bearer  {made.secret}"},
            {"Authorization": f"Token {made.secret}"},
            {"X-API-Key": made.secret},
            {"X-API-Key": made.secret, "X-Forwarded-For": "192.0.2.9", "Origin": "http://a.test"},
        )
        for headers in forms:
            assert (await far.get("/api/v1/whoami", headers=headers)).json()["key"] == "desk"
        for headers in ({}, {"Authorization": "Basic YTpi"}, {"X-API-Key": "mst_1_2"}):
            for client in (far, one.client):
                answer = await client.get("/api/v1/whoami", headers=headers)
                problem(answer, 401, "Unauthorized")
                assert answer.headers["www-authenticate"] == "Bearer"
        await one.memory.keys.revoke(made.id)
        problem(await far.get("/api/v1/whoami", headers=forms[0]), 401, "Unauthorized")
        # The last key is gone; that opens nothing.
        problem(await one.client.get("/api/v1/whoami"), 401, "Unauthorized")
