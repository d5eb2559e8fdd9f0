"""Isolation through the one seam of the service: whatever the key and the verb, no one meets
another's memory. Three tenants, each with three users and two agents; the matrix is diagonal.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cases.crowd import (
    AGENTS,
    PLACES,
    QUESTION,
    TENANTS,
    USERS,
    Crowd,
    Place,
    everything_of,
    fill,
    known,
)

import memstrata
from memstrata import AsyncMemory, NotFound, PermissionDenied, ScopeRequired
from memstrata.access import Grant, Permission
from memstrata.models.fake import FakeEmbedder
from memstrata.verbs import VERBS, call

pytestmark = pytest.mark.anyio

ALL: tuple[Permission, ...] = ("read", "write", "vault:reveal", "admin")
Do = Callable[..., Awaitable[Any]]
Read = Callable[[Do], Awaitable[Any]]


class Sight(NamedTuple):
    """One way to read, and what of its scope it must show."""

    read: Read
    of: Callable[[Place], set[Place]] = lambda place: place.view
    part: bool = False
    """It shows what has to do with a question: something of its own, nothing of others."""


def _user(place: Place) -> set[Place]:
    return {place.shared}


def _own(place: Place) -> set[Place]:
    """What a dump or the log is about: a scope by itself, without what the user shares."""
    return {place}


def asked(verb: str, **arguments: Any) -> Read:
    return lambda do: do(verb, **arguments)


async def _each(do: Do, verb: str, argument: str, ids: Any) -> list[Any]:
    return [await do(verb, **{argument: each}) for each in ids]


async def _get(do: Do) -> list[Any]:
    pages = [await do(name) for name in ("messages", "list", "episodes", "themes")]
    return await _each(do, "get", "id", [item.id for page in pages for item in page])


async def _history(do: Do) -> list[Any]:
    return await _each(do, "history", "id", [record.id for record in await do("list")])


async def _wait_for(do: Do) -> list[Any]:
    return await _each(do, "wait_for", "batch_id", [batch.id for batch in await do("batches")])


async def _reveal(do: Do) -> list[str]:
    entries = [entry.id for entry in await do("vault.list")]
    return [await do("vault.reveal", id=each, reason="a test") for each in entries]


async def _dump(do: Do) -> str:
    folder: Path = do.folder  # type: ignore[attr-defined]
    await do("dump", path=str(folder / "dump.jsonl"))
    lines = (folder / "dump.jsonl").read_text("utf-8").splitlines()
    # The line that names a scope has the user's settings with it, which hold for all agents.
    return "\n".join(line for line in lines if not line.startswith('{"type":"scope"'))


STATES = ["current", "past", "retired", "review"]
READS: dict[str, Sight] = {
    "ask": Sight(asked("ask", question="Where do I live?"), part=True),
    "audit": Sight(asked("audit"), _own),
    "batches": Sight(asked("batches")),
    "changes": Sight(asked("changes", limit=999)),
    "chat": Sight(asked("chat", messages="Where do I live?", learn=False), part=True),
    "context": Sight(asked("context", query=QUESTION, gain=0, max_tokens=100_000)),
    "count": Sight(asked("count", query="How many goats do I have?")),
    "dump": Sight(_dump, _own),
    "entities": Sight(asked("entities")),
    "episodes": Sight(asked("episodes")),
    "get": Sight(_get),
    "history": Sight(_history),
    "list": Sight(asked("list")),
    "list in every state": Sight(asked("list", lifecycles=STATES)),
    "list of a tag": Sight(asked("list", filters={"tags": {"exists": True}})),
    "messages": Sight(asked("messages", hidden=True)),
    "messages of a session": Sight(asked("messages", session_id="mon")),
    "review": Sight(asked("review")),
    "search": Sight(asked("search", query=QUESTION, limit=999)),
    "search the past": Sight(asked("search", query=QUESTION, known_at="2999-01-01", limit=999)),
    **{
        f"search by {method}": Sight(
            asked("search", query=QUESTION, method=method, limit=999, explain=True)
        )
        for method in ("embedding", "bm25")
    },
    "search by string_match": Sight(
        asked("search", query="lvenhoek", method="string_match", limit=999)
    ),
    **{
        f"search for {stratum}": Sight(asked("search", query=QUESTION, strata=[stratum], limit=999))
        for stratum in ("messages", "episodes", "records", "themes")
    },
    "set_user": Sight(asked("set_user"), _user),
    "themes": Sight(asked("themes")),
    "timeline": Sight(asked("timeline", query=QUESTION, limit=999)),
    "vault.list": Sight(asked("vault.list")),
    "vault.reveal": Sight(_reveal),
    "wait_for": Sight(_wait_for),
}
"""Each begins with the name of its verb."""

WRITES = {
    "add", "consolidate", "create", "decide", "forget", "retire", "retry", "undo", "update",
    "vault.put", "vault.release", "vault.rotate", "chat", "set_user",
}  # fmt: skip
"""What they do to others is in test_isolation_writes.py."""
OF_A_TENANT = {"configure", "keys.create", "keys.list", "keys.revoke", "load", "scopes"}
"""About all users: a test of their own below, and in test_isolation_writes.py."""
ELSEWHERE = {
    "backup": "for the store's operator alone: no key may",
    "audit_secrets": "finds only what an older program has left: test_isolation_writes.py",
    "doctor": "for the store's operator alone: no key may",
    "kinds": "says the same to everybody, and nothing that was remembered",
    "stats": "numbers without names: a test of its own below",
    "vault.rotate_key": "for the store's operator alone: no key may",
    "verify": "says what is broken: nothing of a sound store, which the tests end with",
}


def test_every_verb_has_its_place() -> None:
    """A new verb is not done until it is in the matrix, or here with its reason."""
    read = {name.split()[0] for name in READS}
    assert read | WRITES | OF_A_TENANT | set(ELSEWHERE) == set(VERBS)
    assert not set(ELSEWHERE) & (read | WRITES | OF_A_TENANT)


class Held(NamedTuple):
    """A key, and what it is bound to."""

    tenant: str
    user: str | None
    agent: str | None
    grant: Grant

    def calls(self) -> list[tuple[Place, dict[str, Any]]]:
        """Every scope that this key can name, and how: what it is bound to is not said."""
        users = (self.user,) if self.user else (*USERS, None)
        agents = (self.agent,) if self.agent else (*AGENTS, None)
        found: list[tuple[Place, dict[str, Any]]] = []
        for user, agent in itertools.product(users, agents):
            if user or agent:
                place = Place(self.tenant, user, agent)
                bound = {"user_id": self.user, "agent_id": self.agent}
                said = {name: one for name, one in place.scope.items() if bound[name] != one}
                found.append((place, said))
        return found


HOLDERS = list(itertools.product(TENANTS, (None, *USERS), (None, *AGENTS)))


class Store(NamedTuple):
    """A filled store that is open, its keys, and what stands where."""

    memory: AsyncMemory
    held: dict[tuple[str, str | None, str | None], Held]
    crowd: Crowd
    folder: Path

    def doing(self, holder: Held, said: dict[str, Any]) -> Do:
        """Calls with a key, in a scope that is named so."""

        async def do(verb: str, **arguments: Any) -> Any:
            return await call(self.memory, holder.grant, verb, {**arguments, **said})

        do.folder = self.folder  # type: ignore[attr-defined]
        return do


@pytest.fixture(scope="module")
async def store(
    anyio_backend: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Store]:
    """Filled through the seam, then with a key of each sort."""
    folder = tmp_path_factory.mktemp("crowd")
    path = folder / "memory.db"
    async with await memstrata.open_async(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        await fill(memory)
        held: dict[tuple[str, str | None, str | None], Held] = {}
        for tenant, user, agent in HOLDERS:
            name = f"{user or 'any'} {agent or 'any'}"
            made = await memory.for_tenant(tenant).keys.create(
                name, user_id=user, agent_id=agent, permissions=ALL
            )
            grant = await memory.keys.grant(made.secret)
            assert grant is not None
            held[tenant, user, agent] = Held(tenant, user, agent, grant)
        yield Store(memory, held, known(path), folder)
        for tenant in TENANTS:
            assert await call(memory, everything_of(tenant), "verify", {}) == []


def test_the_crowd_is_what_it_should_be(store: Store) -> None:
    """Everybody has something of everything, or the matrix would be diagonal for want of rows."""
    assert len(PLACES) == len({place.word for place in PLACES}) == 33
    assert set(store.crowd.of) == set(PLACES)
    for place, found in store.crowd.of.items():
        assert all(found.values()), (place, found)
        assert len(found["messages"]) == 4
    assert len(store.held) == 36


@pytest.mark.parametrize("name", READS)
async def test_a_key_reads_its_own_and_nothing_else(store: Store, name: str) -> None:
    """R29, R32: one read path forgot the scope that all others obeyed."""
    sight = READS[name]
    for holder in store.held.values():
        for place, said in holder.calls():
            if name == "set_user" and (place.user is None or "agent_id" in said):
                continue  # it is a user's, and takes no agent
            seen = store.crowd.seen_in(await sight.read(store.doing(holder, said)))
            expected = sight.of(place)
            assert seen <= expected, (holder, place)
            assert seen if sight.part else seen == expected, (holder, place)


async def test_stats_count_their_own(store: Store) -> None:
    for holder in store.held.values():
        for place, said in holder.calls():
            counted = await store.doing(holder, said)("stats")
            assert counted["messages"] == 4 * len(place.view), (holder, place)


@pytest.mark.parametrize("tenant", TENANTS)
async def test_what_is_about_all_users_is_about_a_tenants(store: Store, tenant: str) -> None:
    """With a key that is not bound: who is there, what is on record, a dump of all."""
    own = {place for place in PLACES if place.tenant == tenant}
    do = store.doing(store.held[tenant, None, None], {})
    rows = {(row["user_id"], row["agent_id"]) for row in await do("scopes")}
    assert rows == {(place.user, place.agent) for place in own}
    assert store.crowd.seen_in(await _dump(do)) == own
    assert store.crowd.seen_in(await do("audit", limit=10_000)) == own
    keys = await do("keys.list")
    assert {key.tenant for key in keys} == {tenant} and len(keys.items) == 12
    assert await do("audit_secrets") == []


@pytest.mark.parametrize("name", READS)
async def test_no_scope_is_refused_and_an_unknown_one_is_empty(store: Store, name: str) -> None:
    """R32: never global by omission."""
    sight, holder = READS[name], store.held["north", None, None]
    if name not in ("audit", "dump"):  # which are of the whole tenant then, as tested above
        with pytest.raises(ScopeRequired, match="user_id"):
            await sight.read(store.doing(holder, {}))
    unknown = [{"user_id": "nobody"}, {"user_id": "nobody", "agent_id": "desk"}]
    for said in unknown[:1] if name == "set_user" else unknown:
        seen = store.crowd.seen_in(await sight.read(store.doing(holder, said)))
        assert seen == set(), said


@pytest.mark.parametrize("verb", sorted(VERBS))
async def test_a_bound_key_names_nobody_else(store: Store, verb: str) -> None:
    """Refused before anything is looked up, whatever the verb is and needs besides."""
    takes = VERBS[verb].parameters
    needed = {
        name: "x"
        for name, each in takes.items()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    holder = store.held["north", "ann", "desk"]
    for said in ({"user_id": "bea"}, {"agent_id": "road"}, {"user_id": "bea", "agent_id": "desk"}):
        if set(said) <= set(takes):
            with pytest.raises(PermissionDenied, match="bound"):
                await call(store.memory, holder.grant, verb, {**needed, **said})
    if verb in OF_A_TENANT:
        with pytest.raises(PermissionDenied, match="all users"):
            await call(store.memory, holder.grant, verb, needed)


BY_ID: dict[str, tuple[str, str, dict[str, Any]]] = {
    "get": ("id", "messages records episodes themes", {}),
    "history": ("id", "messages records", {}),
    "update": ("record_id", "records", {"changes": {"title": "mine"}}),
    "retire": ("record_id", "records", {}),
    "decide": ("record_id", "records", {"decision": "accept"}),
    "undo": ("batch_or_change", "batches changes", {}),
    "retry": ("batch_id", "batches", {}),
    "wait_for": ("batch_id", "batches", {}),
    "forget": ("ids", "messages records episodes", {}),
    "vault.reveal": ("id", "records", {"reason": "x"}),
    "vault.release": ("id", "records", {}),
    "vault.rotate": ("id", "records", {"secret": "x"}),
}


@pytest.mark.parametrize("verb", BY_ID)
async def test_an_id_of_somebody_else_is_no_id(store: Store, verb: str) -> None:
    """Whoever learns one can do nothing with it, and is not told that it exists."""
    argument, tables, more = BY_ID[verb]
    theirs = Place("north", "ann", "desk")
    ids = [each for table in tables.split() for each in store.crowd.of[theirs][table]]
    assert ids
    strangers = [
        ("south", None, None, theirs.scope),
        ("default", "ann", "desk", {}),
        ("north", None, None, {"user_id": "ann"}),
        ("north", "bea", "desk", {}),
        ("north", "ann", "road", {}),
        ("north", None, "desk", {}),
    ]
    for tenant, user, agent, said in strangers:
        do = store.doing(store.held[tenant, user, agent], said)
        for each in ids:
            with pytest.raises(NotFound):
                await do(verb, **{argument: [each] if argument == "ids" else each}, **more)


async def test_r29_what_one_user_likes_is_not_told_to_another(tmp_path: Path) -> None:
    """A core memory block that all users shared told one of the other's hobbies (Mirix #66)."""
    hobbies = {"u1": "I play the cello.", "u2": "I keep bees."}
    path = tmp_path / "memory.db"
    async with await memstrata.open_async(path, embedder=FakeEmbedder()) as memory:
        for user, said in hobbies.items():
            grant = Grant(user_id=user, permissions=frozenset(ALL), key=user)
            await call(memory, grant, "add", {"messages": said})
            block = {"kind": "core", "label": "human", "value": said}
            await call(memory, grant, "create", {"record": block})
            await call(memory, grant, "consolidate", {})
        grant = Grant(user_id="u2", permissions=frozenset(ALL), key="u2")
        target = tmp_path / "dump.jsonl"
        asks: dict[str, dict[str, Any]] = {
            "ask": {"question": "What is my hobby?"},
            "search": {"query": "What is my hobby? cello bees"},
            "context": {"query": "What is my hobby?"},
            "list": {"lifecycles": STATES},
            "messages": {},
            "dump": {"path": str(target)},
        }
        for verb, arguments in asks.items():
            told = str(await call(memory, grant, verb, arguments))
            text = told if verb != "dump" else target.read_text("utf-8")
            assert "cello" not in text.replace("cello bees", ""), verb
            assert "bees" in text or verb == "ask", verb  # it may not know
