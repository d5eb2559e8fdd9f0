"""Keys to the service: what one opens, for how long, and what of it is kept."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

import pytest
from contract.conftest import Clock, Open
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memstrata
from memstrata import AsyncMemory, Conflict, InvalidInput, NotFound
from memstrata.access import EVERYTHING, Grant, NewKey
from memstrata.text.secrets import find

pytestmark = pytest.mark.anyio


async def names(memory: AsyncMemory, **which: Any) -> list[str]:
    return [key.name for key in await memory.keys.list(**which)]


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


async def test_a_key_opens_what_it_was_made_for(memory: AsyncMemory) -> None:
    wide = await memory.keys.create("ops", permissions=["admin", "read", "read"])
    narrow = await memory.keys.create("desk", user_id="ana", agent_id="cook")
    assert await memory.keys.grant(wide.secret) == Grant(
        permissions=frozenset({"read", "admin"}), key="ops"
    )
    assert await memory.keys.grant(narrow.secret) == Grant(
        user_id="ana", agent_id="cook", permissions=frozenset({"read", "write"}), key="desk"
    )
    assert wide.permissions == ("read", "admin")
    alls = await memory.keys.create("all", permissions=sorted(EVERYTHING))
    grant = await memory.keys.grant(alls.secret)
    assert grant is not None and grant.permissions == EVERYTHING


async def test_a_key_is_of_its_tenant(memory: AsyncMemory) -> None:
    """It says its tenant itself, so one handle knows the keys of all; each lists its own."""
    north = memory.for_tenant("north")
    theirs = await north.keys.create("desk")
    ours = await memory.keys.create("desk")
    for handle in (memory, north):
        found = [await handle.keys.grant(key.secret) for key in (ours, theirs)]
        assert [grant and grant.tenant for grant in found] == ["default", "north"]
    assert [key.id for key in await memory.keys.list()] == [ours.id]
    assert [key.id for key in await north.keys.list()] == [theirs.id]
    with pytest.raises(NotFound, match="no key"):
        await memory.keys.revoke(theirs.id)
    assert await memory.keys.grant(theirs.secret) is not None
    assert [entry.target_id for entry in await memory.audit()] == [ours.id]


async def test_a_part_of_a_key_or_a_mix_of_two_opens_nothing(memory: AsyncMemory) -> None:
    one, other = [await memory.keys.create(name) for name in ("one", "other")]
    first, last = one.secret.rsplit("_", 1)
    wrong = [
        one.id, last, first, f"{first}_", f"{first}_{last[:-1]}", f"{first}_{last}0",
        f"{first}_{last[:-1]}{'0' if last[-1] != '0' else '1'}", one.secret.upper(),
        f" {one.secret}", f"{one.secret}\n", f"{first}_{other.secret.rsplit('_', 1)[1]}",
        one.secret.replace("mst_", ""), one.secret.encode(), None, 5, [one.secret],
    ]  # fmt: skip
    for text in wrong:
        assert await memory.keys.grant(text) is None, text
    assert await memory.keys.grant(one.secret) is not None


@given(st.text() | st.from_regex(r"mst_[0-9a-f]{16}_[0-9a-f]{64}", fullmatch=True) | st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
async def test_no_other_text_is_a_key(memory: AsyncMemory, text: object) -> None:
    if not await memory.keys.required():
        await memory.keys.create("desk")
    assert await memory.keys.grant(text) is None


async def test_a_key_runs_out(memory: AsyncMemory, clock: Clock) -> None:
    made = await memory.keys.create("guest", expires_at="2026-05-08T10:00:00Z")
    assert made.expires_at is not None and made.expires_at.hour == 10
    assert await memory.keys.grant(made.secret) is not None
    clock.advance(hours=1)
    assert await memory.keys.grant(made.secret) is None
    assert await names(memory) == ["guest"]
    with pytest.raises(InvalidInput, match="expires_at is over"):
        await memory.keys.create("late", expires_at=clock.now)


async def test_a_revoked_key_opens_nothing_and_frees_its_name(memory: AsyncMemory) -> None:
    old = await memory.keys.create("desk")
    with pytest.raises(Conflict, match="'desk'"):
        await memory.keys.create("desk")
    gone = await memory.keys.revoke(old.id, reason="a laptop was lost", actor="ops")
    assert gone.revoked_at is not None
    assert await memory.keys.grant(old.secret) is None
    new = await memory.keys.create("desk")
    assert await memory.keys.grant(new.secret) is not None
    assert await memory.keys.revoke(old.id) == gone  # once more does no more
    assert [key.id for key in await memory.keys.list()] == [new.id]
    assert [key.id for key in await memory.keys.list(revoked=True)] == [old.id, new.id]
    log = [(row.action, row.target_id, row.actor, row.reason) for row in await memory.audit()]
    assert log == [
        ("create key", new.id, "user", ""),
        ("revoke key", old.id, "ops", "a laptop was lost"),
        ("create key", old.id, "user", ""),
    ]


async def test_revoking_the_last_key_opens_nothing(memory: AsyncMemory) -> None:
    """Fail closed: a store that ever had a key is not open to those who have none."""
    assert not await memory.keys.required()
    key = await memory.for_tenant("north").keys.create("desk")
    assert await memory.keys.required()
    await memory.for_tenant("north").keys.revoke(key.id)
    assert await memory.keys.required()
    assert await memory.for_tenant("elsewhere").keys.required()


async def test_other_processes_are_heard_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with (
        await memstrata.open_async(path, embedder="none") as server,
        await memstrata.open_async(path, embedder="none") as operator,
    ):
        assert not await server.keys.required()
        key = await operator.keys.create("desk")
        assert await server.keys.required()
        assert await server.keys.grant(key.secret) is not None
        await operator.keys.revoke(key.id)
        assert await server.keys.grant(key.secret) is None


async def test_the_secret_is_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    """Not in the files, not in a dump, not in the log, not in what prints the key."""
    path = tmp_path / "memory.db"
    async with await memstrata.open_async(path, embedder="none") as memory:
        key = await memory.keys.create("desk", user_id="ana", reason="for the tablet")
        await memory.keys.grant(key.secret)
        await memory.add("The plums are ripe.", user_id="ana")
        await memory.dump(tmp_path / "dump.jsonl")
        log = await memory.audit()
        files = bytes_in(tmp_path)
    files |= {f"closed {name}": data for name, data in bytes_in(tmp_path).items()}
    half = key.secret.rsplit("_", 1)[1]
    assert len(files) >= 4
    for name, data in files.items():
        assert half.encode() not in data and bytes.fromhex(half) not in data, name
    assert key.id.encode() in files["closed memory.db"]
    assert b"desk" not in files["dump.jsonl"] and key.id.encode() not in files["dump.jsonl"]
    for said in (repr(key), str(key), caplog.text, str(log)):
        assert half not in said
    assert log.items[-1].detail == {"name": "desk", "permissions": "read, write"}
    assert log.items[-1].user_id == "ana"


async def test_keys_are_long_and_apart(memory: AsyncMemory) -> None:
    made = [await memory.keys.create(f"key {number}") for number in range(50)]
    assert len({key.id for key in made}) == len({key.secret[-64:] for key in made}) == 50
    for key in made:
        assert key.secret == f"mst_{key.id}_{key.secret[-64:]}" and len(key.secret) == 85
        said = f"use {key.secret}, or {key.secret}。"
        assert [said[start:end] for start, end, _ in find(said)] == [key.secret] * 2


async def test_a_key_that_is_told_is_sealed(memory: AsyncMemory) -> None:
    """Like any other token: what remembers everything must not remember its own keys."""
    key = await memory.keys.create("desk")
    for said in (f"The memory key is {key.secret}, keep it.", f"记忆钥匙{key.secret}收好"):
        receipt = await memory.add(said, user_id="ana")
        (message,) = [await memory.get(each, user_id="ana") for each in receipt.message_ids]
        assert key.secret[-64:] not in str(message) and "memstrata API key" in str(message)
    with pytest.raises(InvalidInput, match="name looks like a key"):
        await memory.keys.create(key.secret)
    again = await memory.keys.create("again", reason=f"instead of {key.secret}")
    assert key.secret[-64:] not in str(await memory.audit()) and again.id


async def test_keys_come_in_pages(memory: AsyncMemory) -> None:
    made = [f"key {number}" for number in range(7)]
    for name in made:
        await memory.keys.create(name)
    found: list[str] = []
    cursor = None
    for _ in range(4):
        page = await memory.keys.list(limit=2, cursor=cursor)
        found += [key.name for key in page]
        cursor = page.next
    assert found == made and cursor is None


async def test_a_bound_handle_has_no_keys(open_store: Open) -> None:
    memory = await open_store()
    ana = memory.scoped(user_id="ana")
    key = await memory.keys.create("desk", user_id="ana")
    for attempt in (ana.keys.create("x"), ana.keys.list(), ana.keys.revoke(key.id)):
        with pytest.raises(InvalidInput, match="bound"):
            await attempt
    assert await names(memory) == ["desk"]


async def test_every_key_is_compared_in_the_same_way(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once and in constant time, known or not, in force or not: time tells nothing of either."""
    key = await memory.keys.create("desk")
    lost = await memory.keys.create("lost")
    await memory.keys.revoke(lost.id)
    compare = hmac.compare_digest
    seen: list[tuple[int, int]] = []

    def spy(one: bytes, other: bytes) -> bool:
        seen.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    wrong = key.secret[:-64] + "0" * 64
    unknown = f"mst_{'0' * 16}_{'0' * 64}"
    found = [await memory.keys.grant(each) for each in (key.secret, lost.secret, wrong, unknown)]
    assert [grant is not None for grant in found] == [True, False, False, False]
    assert seen == [(32, 32)] * 4


async def test_a_new_key_shows_its_secret_only_as_data() -> None:
    key = NewKey(id="0", name="x", permissions=("read",), created_at="2026-01-01", secret="mst_s")  # type: ignore[arg-type]
    assert "mst_s" not in repr(key) and key.model_dump()["secret"] == "mst_s"
