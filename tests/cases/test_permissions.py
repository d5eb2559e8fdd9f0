"""What a key lets one do: each verb against each permission, and what a key may never do."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import memstrata
from memstrata import AsyncMemory, InvalidInput, MemstrataError, NotFound, PermissionDenied
from memstrata.access import EVERYTHING, Grant, Permission
from memstrata.verbs import VERBS, call

pytestmark = pytest.mark.anyio

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
KEYS_PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
READS_WITH: dict[str, dict[str, Any]] = {"chat": {"learn": False}, "forget": {"dry_run": True}}
LOCAL: Mapping[str, tuple[dict[str, Any], ...]] = {
    "backup": ({},),
    "doctor": ({},),
    "vault.rotate_key": ({},),
    "verify": ({"erased": ["msg_1"]}, {"text": "x"}),
}
"""What reaches past a tenant, and with which arguments."""


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    path = tmp_path / "memory.db"
    async with await memstrata.open_async(path, embedder="none") as opened:
        yield opened


def needed(verb: str) -> dict[str, Any]:
    """Something for each argument that has no default; wrong, so that nothing is done."""
    return {
        name: 5
        for name, each in VERBS[verb].parameters.items()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }


def held(*permissions: Permission, **bound: Any) -> Grant:
    return Grant(permissions=frozenset(permissions), key="desk", **bound)


async def refused(memory: AsyncMemory, grant: Grant, verb: str, arguments: Any) -> bool:
    """Whether it was refused for want of a right, and not for what it asks."""
    try:
        await call(memory, grant, verb, arguments)
    except PermissionDenied:
        return True
    except MemstrataError:
        return False
    return False


@pytest.mark.parametrize("permission", PERMISSIONS)
@pytest.mark.parametrize("verb", sorted(set(VERBS) - set(LOCAL)))
async def test_a_verb_needs_one_permission(
    memory: AsyncMemory, verb: str, permission: Permission
) -> None:
    """With it alone the verb is tried, and with all others it is not."""
    needs = VERBS[verb].needs
    arguments = needed(verb)
    others = EVERYTHING - {permission}
    if VERBS[verb].gives:  # which the key must have to give
        arguments["permissions"] = ["admin"]
    assert await refused(memory, held(permission), verb, arguments) == (needs != permission)
    assert await refused(memory, held(*others), verb, arguments) == (needs == permission)
    assert await refused(memory, held(), verb, arguments)


@pytest.mark.parametrize("verb", READS_WITH)
async def test_some_verbs_only_read_when_told_so(memory: AsyncMemory, verb: str) -> None:
    arguments = {**needed(verb), **READS_WITH[verb]}
    assert not await refused(memory, held("read"), verb, arguments)
    [(name, _)] = READS_WITH[verb].items()
    for value in (0, 1, None, "false", "true", [], not READS_WITH[verb][name]):
        assert await refused(memory, held("read"), verb, {**arguments, name: value}), value


@pytest.mark.parametrize("verb", LOCAL)
async def test_no_key_reaches_past_its_tenant(memory: AsyncMemory, verb: str) -> None:
    """Whatever it may; who has the store itself may."""
    for arguments in LOCAL[verb]:
        given = {**needed(verb), **arguments}
        with pytest.raises(PermissionDenied, match="command line"):
            await call(memory, held(*EVERYTHING), verb, given)
        assert not await refused(memory, Grant(), verb, given)


def test_what_is_local_is_in_the_table() -> None:
    assert {verb.name for verb in VERBS.values() if verb.local} == set(LOCAL)


async def test_a_key_gives_only_what_it_has(memory: AsyncMemory) -> None:
    """However the permission is written that the verb would take."""
    admin = held("admin", "read")
    for wanted in (
        {},
        {"permissions": ["write"]},
        {"permissions": ["read", "vault:reveal"]},
        {"permissions": [" write "]},
        {"permissions": ("\tvault:reveal\n",)},
    ):
        with pytest.raises(PermissionDenied, match="cannot give"):
            await call(memory, admin, "keys.create", {"name": "x", **wanted})
    for wrong in ("write", {"write": 1}, None, 5, [["write"]], ["boss"], []):
        with pytest.raises(InvalidInput, match="permissions"):
            await call(memory, admin, "keys.create", {"name": "x", "permissions": wrong})
    assert (await memory.keys.list()).items == []
    made = await call(memory, admin, "keys.create", {"name": "x", "permissions": ["read"]})
    assert made.permissions == ("read",)
    grant = await memory.keys.grant(made.secret)
    assert grant is not None and grant.permissions == {"read"}
    with pytest.raises(PermissionDenied):
        await call(memory, grant, "keys.create", {"name": "y", "permissions": ["read"]})
    operators = await call(memory, Grant(), "keys.create", {"name": "all"})
    assert operators.permissions == ("read", "write")


@pytest.mark.parametrize("bound", [{"user_id": "ana"}, {"agent_id": "cook"}])
async def test_a_bound_key_makes_and_sees_no_keys(
    memory: AsyncMemory, bound: dict[str, Any]
) -> None:
    """Else it would make one that is not bound."""
    made = await memory.keys.create("ops")
    admin = held(*EVERYTHING, **bound)
    for verb, arguments in (
        ("keys.create", {"name": "x", **bound}),
        ("keys.list", {}),
        ("keys.revoke", {"id": made.id}),
    ):
        with pytest.raises(PermissionDenied):
            await call(memory, admin, verb, arguments)
    assert await memory.keys.grant(made.secret) is not None


async def test_a_key_of_one_tenant_is_none_of_anothers(memory: AsyncMemory) -> None:
    """An administrator of the north neither sees nor revokes what is the south's."""
    theirs = await memory.for_tenant("south").keys.create("desk")
    north = held(*EVERYTHING, tenant="north")
    with pytest.raises(NotFound):
        await call(memory, north, "keys.revoke", {"id": theirs.id})
    assert (await call(memory, north, "keys.list", {"revoked": True})).items == []
    made = await call(memory, north, "keys.create", {"name": "desk"})
    grant = await memory.keys.grant(made.secret)
    assert grant is not None and grant.tenant == "north"
    with pytest.raises(InvalidInput, match="no argument 'tenant'"):
        await call(memory, north, "keys.create", {"name": "x", "tenant": "south"})


async def test_the_log_names_the_key(memory: AsyncMemory) -> None:
    """What is known is that it was this key; who holds it is what they say."""
    ana = {"user_id": "ana"}
    desk = held(*EVERYTHING)
    put = {"secret": "plum", "caption": "gate", **ana}
    entry = (await call(memory, desk, "vault.put", put)).record_ids[0]
    shown = {"id": entry, "reason": "a guest", **ana}
    await call(memory, desk, "vault.reveal", {**shown, "actor": "Ana"})
    await call(memory, desk, "vault.reveal", shown)
    await call(memory, desk, "keys.create", {"name": "x", "actor": "Ana", "reason": "new"})
    log = [(row.action, row.actor) for row in await memory.audit()]
    assert log == [
        ("create key", "Ana with key desk"),
        ("reveal", "key desk"),
        ("reveal", "Ana with key desk"),
        ("seal", "key desk"),
    ]


def test_the_page_on_keys_says_what_each_permission_is_for() -> None:
    rows = dict(re.findall(r"^\| `([\w:]+)` \| (.*) \|$", KEYS_PAGE.read_text("utf-8"), re.M))
    for permission in PERMISSIONS:
        named = set(re.findall(r"`([\w.]+)`", rows[permission]))
        verbs = {verb.name for verb in VERBS.values() if verb.needs == permission}
        with_arguments = {"chat", "learn", "forget", "dry_run"} if permission == "read" else set()
        assert named == verbs | with_arguments, permission


# R31, at the seam


CRAFTED = (
    'x" or "1"=="1',
    "ann' OR 1=1 --",
    "'; DROP TABLE messages; --",
    '{"$ne": null}',
    "%",
    "ann}) DETACH DELETE n //",
    ":scope",
    "安' 或 1=1 --",
)


@pytest.mark.parametrize("crafted", CRAFTED)
async def test_r31_crafted_owners_and_filters_reach_no_one(
    memory: AsyncMemory, crafted: str
) -> None:
    """As an argument, and as what a key, its tenant and its name are made of (mem0 #5744)."""
    everyone = held(*EVERYTHING)
    said = {"messages": "Ann keeps the ledger.", "metadata": {"k": "v"}, "user_id": "ann"}
    await call(memory, everyone, "add", said)
    made = await memory.for_tenant(crafted).keys.create(
        crafted, user_id=crafted, agent_id=crafted, permissions=PERMISSIONS
    )
    theirs = await memory.keys.grant(made.secret)
    assert theirs is not None and theirs.tenant == theirs.user_id == theirs.key == crafted
    for grant, scope in (
        (theirs, {}),
        (held(*EVERYTHING, user_id=crafted), {}),
        (held(*EVERYTHING, tenant=crafted), {"user_id": "ann"}),
        (everyone, {"user_id": crafted}),
        (everyone, {"agent_id": crafted}),
    ):
        for verb, arguments in (
            ("messages", {}),
            ("list", {}),
            ("search", {"query": "ledger"}),
            ("entities", {"name": crafted}),
        ):
            assert list(await call(memory, grant, verb, {**arguments, **scope})) == [], verb
        gone = await call(memory, grant, "forget", {"everything": True, **scope})
        assert gone.ids == []
    ann = {"user_id": "ann"}
    for filters in (
        {crafted: "v"},
        {f"metadata.{crafted}": "v"},
        {"metadata.k": {crafted: "v"}},
        {"metadata.k": {"$ne": None}},
    ):
        for verb in ("messages", "forget"):
            with pytest.raises(InvalidInput, match="filter"):
                await call(memory, everyone, verb, {"filters": filters, **ann})
    for argument in ({crafted: "v"}, {"user_id": {"$ne": None}}, {"user_id": ["ann"]}):
        with pytest.raises(InvalidInput):
            await call(memory, everyone, "messages", argument)
    assert len(await call(memory, everyone, "messages", ann)) == 1
    assert [key.name for key in await memory.for_tenant(crafted).keys.list()] == [crafted]
    assert await memory.verify() == []
