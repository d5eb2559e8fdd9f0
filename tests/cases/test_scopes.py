"""Whose memory it is: no spelling, no crafted value and no read path crosses over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases.support import found, texts

import memstrata
from memstrata import Memory
from memstrata.errors import InvalidInput, NotFound, ScopeRequired
from memstrata.models.fake import FakeEmbedder

Scope = dict[str, Any]

ALIKE = (
    "ann_lee", "ann-lee", "annxlee", "ann", "ann ", " ann", "ann%", "%", "_", "%%", "___", "*", "?",
    "ANN", "Ann", "аnn", "ａｎｎ", "ann\u200b", "ánn", "a\u0301nn", "anñ", "ann'", 'ann"', "ann\\",
    "default", "None", "null", "0", "ann/lee", "ann:lee", "ann|lee",
)  # fmt: skip


@pytest.mark.parametrize("key", ["user_id", "agent_id"])
def test_scopes_that_look_alike_are_apart(memory: Memory, key: str) -> None:
    """Patterns, folded case and trimmed space made one owner of two: of `ann_lee` and `ann-lee`
    where `_` is a wildcard, of `Ann` and `ann` where a collation folds case."""
    for number, name in enumerate(ALIKE):
        owner: Scope = {key: name}
        memory.add(f"The parcel of number {number} is here", **owner)

    assert len(memory.scopes()) == len(ALIKE)
    for number, name in enumerate(ALIKE):
        own = [f"The parcel of number {number} is here"]
        scope: Scope = {key: name}
        assert texts(memory.messages(**scope)) == own, name
        assert found(memory.search("parcel", **scope)) == own, name
        assert found(memory.search("parcel", method="string_match", **scope)) == own, name
    for name in ("_", "ann"):
        owner = {key: name}
        assert memory.forget(everything=True, **owner).messages == 1
    assert sum(row["messages"] for row in memory.scopes()) == len(ALIKE) - 2


def test_scopes_a_user_and_an_agent_of_one_name_are_two(memory: Memory) -> None:
    """Neither does the order of the two names matter, nor where one ends and the next begins."""
    scopes: list[Scope] = [
        {"user_id": "mo"},
        {"agent_id": "mo"},
        {"user_id": "mo", "agent_id": "mo"},
        {"user_id": "mo", "agent_id": "li"},
        {"user_id": "li", "agent_id": "mo"},
        {"user_id": "mom", "agent_id": "o"},
        {"user_id": "m", "agent_id": "omo"},
    ]
    for number, scope in enumerate(scopes):
        memory.add(f"Parcel {number} came", **scope)
    for number, scope in enumerate(scopes):
        shared = ["Parcel 0 came"] if scope.get("user_id") == "mo" and number else []
        assert texts(memory.messages(**scope)) == [*shared, f"Parcel {number} came"]


def test_scopes_tenants_of_one_file_are_apart(path: Path) -> None:
    """The same user of two tenants is two."""
    names = ("north", "North", "n%", "default")
    for name in names:
        with memstrata.open(path, embedder="none", tenant=name) as memory:
            memory.add(f"A parcel for {name}", user_id="ann")
    for name in names:
        with memstrata.open(path, embedder="none", tenant=name) as memory:
            assert texts(memory.messages(user_id="ann")) == [f"A parcel for {name}"]
            assert found(memory.search("parcel", user_id="ann")) == [f"A parcel for {name}"]
            assert len(memory.scopes()) == 1


@pytest.mark.parametrize("name", ["", "  ", "\n", "\u3000", "a\x00b", "a\nb", "a\ud800", "x" * 513])
def test_scopes_a_name_that_is_none_is_refused(memory: Memory, name: str) -> None:
    """A blank owner is nobody's, never everybody's."""
    for call in (memory.messages, memory.stats, memory.list):
        scopes: list[Scope] = [
            {"user_id": name},
            {"agent_id": name},
            {"user_id": "a", "agent_id": name},
        ]
        for scope in scopes:
            with pytest.raises(InvalidInput, match=r"user_id|agent_id"):
                call(**scope)


def counts(memory: Memory, scope: Scope) -> dict[str, Any]:
    """What a scope holds, without the size of the file."""
    return {name: n for name, n in memory.stats(**scope).items() if name != "bytes_on_disk"}


# R31


CRAFTED = (
    'ann" or "1"="1',
    "ann' OR 1=1 --",
    "'; DROP TABLE messages; --",
    "ann') UNION SELECT content FROM messages --",
    '{"$ne": null}',
    "%' OR user_id LIKE '%",
    "ann}) DETACH DELETE n //",
    "/*where*/",
    ":scope",
    "$[*]",
)


@pytest.fixture
def guarded(memory: Memory) -> Iterator[Memory]:
    """A store with something to steal; afterwards it must be unharmed."""
    memory.add("Ann keeps the ledger.", user_id="ann", session_id="s1", metadata={"k": "v"})
    memory.create({"kind": "semantic", "name": "Ann's ledger is green"}, user_id="ann")
    before = counts(memory, {"user_id": "ann"})
    yield memory
    assert counts(memory, {"user_id": "ann"}) == before
    assert memory.verify() == []


@pytest.mark.parametrize("crafted", CRAFTED)
def test_r31_crafted_names_and_ids_find_nothing(guarded: Memory, crafted: str) -> None:
    """A crafted owner id made the condition always true, a crafted name ran as a command
    (mem0ai/mem0 #5744, #4875)."""
    scopes: list[Scope] = [{"user_id": crafted}, {"agent_id": crafted}]
    for scope in scopes:
        assert texts(guarded.messages(**scope)) == []
        assert texts(guarded.list(**scope)) == []
        assert found(guarded.search("ledger", **scope)) == []
        assert guarded.forget(everything=True, **scope).ids == []
    ann: Scope = {"user_id": "ann"}
    assert texts(guarded.messages(session_id=crafted, **ann)) == []
    assert found(guarded.search("ledger", session_id=crafted, **ann)) == []
    assert guarded.forget(session_id=crafted, **ann).ids == []
    for look_up in (
        lambda: guarded.get(crafted, **ann),
        lambda: guarded.history(crafted, **ann),
        lambda: guarded.update(crafted, name="x", **ann),
        lambda: guarded.retire(crafted, **ann),
        lambda: guarded.undo(crafted, **ann),
        lambda: guarded.wait_for(crafted, **ann),
        lambda: guarded.retry(crafted, **ann),
        lambda: guarded.forget(ids=[crafted], **ann),
    ):
        with pytest.raises(NotFound):
            look_up()


@pytest.mark.parametrize("crafted", CRAFTED)
def test_r31_crafted_filters_are_refused_or_bound(guarded: Memory, crafted: str) -> None:
    """Filter keys are allow-listed, values are bound: no text is ever part of a statement."""
    ann: Scope = {"user_id": "ann"}
    for key in (
        crafted,
        f"metadata.{crafted}",
        f"metadata.k{crafted}",
        f"fields.{crafted}",
        "metadata.k\n",
    ):
        for read in (guarded.messages, guarded.list):
            with pytest.raises(InvalidInput, match="filter"):
                read(filters={key: "v"}, **ann)
        with pytest.raises(InvalidInput, match="filter"):
            guarded.forget(filters={key: {"ne": "v"}}, **ann)
    for field in ("session_id", "name", "metadata.k", "title", "fields.name"):
        for operator in ("eq", "contains", "starts_with", "gt"):
            hits = guarded.messages(filters={field: {operator: crafted}}, **ann)
            assert texts(hits) == [] or operator == "gt"
        with pytest.raises(InvalidInput, match="operator"):
            guarded.messages(filters={field: {crafted: "v"}}, **ann)
    with pytest.raises(InvalidInput, match=r"\$ne"):
        guarded.messages(filters={"metadata.k": {"$ne": None}}, **ann)
    with pytest.raises(InvalidInput):
        guarded.search("ledger", search_fields=[crafted], **ann)
    for cursor in (crafted, f"1:{crafted}", f"{crafted}:1"):
        for page in (guarded.messages, guarded.list, guarded.batches):
            with pytest.raises(InvalidInput, match="cursor"):
                page(cursor=cursor, **ann)


@pytest.mark.parametrize("crafted", CRAFTED)
def test_r31_crafted_values_are_stored_as_they_are(memory: Memory, crafted: str) -> None:
    """What looks like a command is text like any other, wherever a caller may put text."""
    scope: Scope = {"user_id": crafted, "agent_id": crafted}
    said = {"role": "user", "content": crafted, "name": crafted, "id": crafted}
    memory.add(
        said, session_id=crafted, metadata={crafted: crafted}, tags=[crafted],
        idempotency_key=crafted, **scope,
    )  # fmt: skip
    [message] = memory.messages(session_id=crafted, **scope)
    assert (message.content, message.name, message.external_id) == (crafted,) * 3
    assert message.metadata == {crafted: crafted} and message.tags == [crafted]
    assert found(memory.search(crafted, method="string_match", **scope)) == [crafted]
    assert len(memory.messages(filters={"tags": {"contains": crafted}}, **scope)) == 1
    [record_id] = memory.create(
        {"kind": "semantic", "name": crafted, "subject": crafted, "path": crafted}, **scope
    ).record_ids
    assert len(memory.list(filters={"subject": crafted, "path": crafted}, **scope)) == 1
    memory.retire(record_id, reason=crafted, actor=crafted, **scope)
    assert memory.history(record_id, **scope)[-1].reason == crafted
    assert memory.verify() == []


# R32


USERS = ("ann", "bea", "cem")
AGENTS = (None, "desk", "road")
SESSIONS = ("mon", "tue")


def place(user: str, agent: str | None) -> Scope:
    """The scope of a user, and of an agent of theirs."""
    return {"user_id": user, **({} if agent is None else {"agent_id": agent})}


def marker(user: str, agent: str | None, session: str) -> str:
    """A word that stands in one message of one session of one scope."""
    return f"mark{user}{agent or 'shared'}{session}"


ALL = {marker(*each) for each in itertools.product(USERS, AGENTS, SESSIONS)} | {
    marker(*each) for each in itertools.product(USERS, AGENTS, ["fact"])
}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Three users, what each shares and two agents each; two sessions and a record in each."""
    path = tmp_path_factory.mktemp("matrix") / "memory.db"
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        for user, agent in itertools.product(USERS, AGENTS):
            for session in SESSIONS:
                text = f"common words {marker(user, agent, session)}"
                memory.add(text, session_id=session, idempotency_key=session, **place(user, agent))
            fact = {"kind": "semantic", "name": f"common fact {marker(user, agent, 'fact')}"}
            core = {"kind": "core", "label": "human", "value": marker(user, agent, "fact")}
            for record in (fact, core):
                memory.create(record, **place(user, agent))
        yield memory


def markers_in(value: Any) -> set[str]:
    """The markers that stand anywhere in what a verb returned."""
    text = str(value)
    return {each for each in ALL if each in text}


def visible(
    user: str, agent: str | None, sessions: tuple[str, ...] = (*SESSIONS, "fact")
) -> set[str]:
    """What a call in this scope may see: what the user shares, and the agent's own."""
    agents = (None,) if agent is None else (None, agent)
    return {marker(user, each, session) for each in agents for session in sessions}


READS: dict[str, Callable[[Memory, Scope], Any]] = {
    "search": lambda m, s: m.search("common words fact", limit=1000, **s),
    "search by meaning": lambda m, s: m.search("common", method="embedding", limit=1000, **s),
    "search by keyword": lambda m, s: m.search("common", method="bm25", limit=1000, **s),
    "search literally": lambda m, s: m.search("mark", method="string_match", limit=1000, **s),
    "search the past": lambda m, s: m.search("common", known_at="2999-01-01", limit=1000, **s),
    "context": lambda m, s: m.context("common words fact", gain=0, **s),
    "messages, list": lambda m, s: [m.messages(**s), m.list(**s)],
    "get": lambda m, s: [m.get(item.id, **s) for item in [*m.messages(**s), *m.list(**s)]],
    "history": lambda m, s: [
        m.messages(**s),
        *(m.history(record.id, **s) for record in m.list(**s)),
    ],
}


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
@pytest.mark.parametrize(("user", "agent"), list(itertools.product(USERS, AGENTS)))
def test_r32_every_read_path_shows_its_own_scope_only(
    matrix: Memory, read: Callable[[Memory, Scope], Any], user: str, agent: str | None
) -> None:
    """One path forgot the scope that all the others obeyed (topoteretes/cognee #3520,
    openclaw/openclaw #85240)."""
    scope = place(user, agent)
    assert markers_in(read(matrix, scope)) == visible(user, agent)
    assert markers_in(read(matrix.scoped(**scope), {})) == visible(user, agent)
    if agent is not None:
        assert markers_in(read(matrix, {"agent_id": agent})) == set()


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize(("user", "agent"), list(itertools.product(USERS, AGENTS)))
def test_r32_a_session_is_a_filter_in_its_scope(
    matrix: Memory, user: str, agent: str | None, session: str
) -> None:
    """Sessions of one name belong to everybody; each sees the one in their own scope."""
    scope = place(user, agent)
    own = visible(user, agent, (session,))
    assert markers_in(matrix.messages(session_id=session, **scope)) == own
    for method in ("hybrid", "embedding", "bm25", "string_match"):
        query = "mark" if method == "string_match" else "common words"
        hits = matrix.search(query, session_id=session, method=method, limit=1000, **scope)
        assert markers_in(hits) == own, method


@pytest.mark.parametrize(("user", "agent"), list(itertools.product(USERS, AGENTS)))
def test_r32_dump_stats_and_batches_count_their_own(
    matrix: Memory, tmp_path: Path, user: str, agent: str | None
) -> None:
    """So do the paths that run the store rather than ask it."""
    scope = place(user, agent)
    matrix.dump(tmp_path / "out.jsonl", **scope)
    own = {marker(user, agent, session) for session in (*SESSIONS, "fact")}
    assert markers_in((tmp_path / "out.jsonl").read_text(encoding="utf-8")) == own
    shared = 1 if agent is None else 2
    assert matrix.stats(**scope)["messages"] == 2 * shared
    batches = matrix.batches(**scope).items
    assert len(batches) == 4 * shared
    assert {batch.user_id for batch in batches} == {user}
    assert {batch.agent_id for batch in batches} == ({None} if agent is None else {None, agent})


def test_r32_no_scope_is_an_error_and_an_unknown_one_is_empty(matrix: Memory) -> None:
    """A missing scope was read as `everyone`."""
    for name, read in READS.items():
        with pytest.raises(ScopeRequired, match="user_id"):
            read(matrix, {})
        assert markers_in(read(matrix, {"user_id": "nobody"})) == set(), name
        assert markers_in(read(matrix, {"user_id": "nobody", "agent_id": "desk"})) == set(), name
    for call in (matrix.batches, matrix.stats, matrix.set_user):
        with pytest.raises(ScopeRequired):
            call()
    assert matrix.stats(user_id="nobody")["messages"] == 0
    assert len(matrix.batches(user_id="nobody")) == 0
    with pytest.raises(ScopeRequired):
        matrix.add("x")
    with pytest.raises(ScopeRequired):
        matrix.create({"kind": "semantic", "name": "x"})


def test_r32_no_id_reaches_into_another_scope(matrix: Memory) -> None:
    """Whoever learns an id of somebody else's can do nothing with it."""
    before = [counts(matrix, place(*each)) for each in itertools.product(USERS, AGENTS)]
    theirs: Scope = {"user_id": "ann", "agent_id": "desk"}
    message = next(item for item in matrix.messages(**theirs) if item.agent_id == "desk")
    record = next(item for item in matrix.list(**theirs) if item.agent_id == "desk")
    strangers: list[Scope] = [
        {"user_id": "bea"},
        {"user_id": "bea", "agent_id": "desk"},
        {"user_id": "ann", "agent_id": "road"},
        {"user_id": "ann"},
        {"agent_id": "desk"},
    ]
    for scope in strangers:
        for attempt in (
            lambda scope: matrix.get(message.id, **scope),
            lambda scope: matrix.get(record.id, **scope),
            lambda scope: matrix.history(message.id, **scope),
            lambda scope: matrix.history(record.id, **scope),
            lambda scope: matrix.update(record.id, name="mine now", **scope),
            lambda scope: matrix.retire(record.id, **scope),
            lambda scope: matrix.undo(message.batch_id, **scope),
            lambda scope: matrix.undo(record.batch_id, **scope),
            lambda scope: matrix.retry(message.batch_id, **scope),
            lambda scope: matrix.wait_for(message.batch_id, **scope),
            lambda scope: matrix.forget(ids=[message.id, record.id], **scope),
        ):
            with pytest.raises(NotFound):
                attempt(scope)
    after = [counts(matrix, place(*each)) for each in itertools.product(USERS, AGENTS)]
    assert after == before


def test_r32_a_bound_handle_cannot_be_widened(matrix: Memory) -> None:
    """A handle given to one user's code serves that user alone."""
    own = matrix.scoped(user_id="ann")
    with pytest.raises(InvalidInput, match="bound"):
        own.search("common", user_id="bea")
    with pytest.raises(InvalidInput, match="bound"):
        own.scoped(user_id="bea")
    with pytest.raises(InvalidInput, match="bound"):
        own.scopes()
    with pytest.raises(InvalidInput, match="bound"):
        own.load("anything.jsonl")
    assert own.verify() == []


def test_r32_what_one_user_says_is_new_to_another(memory: Memory) -> None:
    """The same id, key, text or record of two users is two, and each keeps their own."""
    said = {"role": "user", "content": "The gate code is on the fridge.", "id": "m1"}
    fact = {"kind": "semantic", "name": "The gate code is on the fridge"}
    for user in USERS:
        receipt = memory.add(said, user_id=user, session_id="s", idempotency_key="k", infer=False)
        assert receipt.skipped == [] and len(receipt.message_ids) == 1
        assert memory.create(fact, user_id=user).skipped == []
    memory.forget(everything=True, user_id="bea")
    memory.set_user(user_id="ann", timezone="Asia/Tokyo")
    assert [memory.stats(user_id=user)["messages"] for user in USERS] == [1, 0, 1]
    assert "+09:00" in str(memory.context("gate code", user_id="ann"))
    assert "+00:00" in str(memory.context("gate code", user_id="cem"))
