"""Whose memory: nothing leaks by any read or is global by omission, handles keep to theirs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstrata import (
    AsyncMemory,
    InvalidInput,
    NotFound,
    ScopeRequired,
    StoreUnavailable,
)
from memstrata.records import Method

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}


async def everything_read(memory: AsyncMemory, query: str, folder: Path, **scope: Any) -> str:
    """All that every way to read shows of a scope, in one text."""
    methods: tuple[Method, ...] = ("hybrid", "bm25", "string_match", "embedding")
    shown: list[Any] = [
        await memory.search(query, method=method, limit=100, **scope) for method in methods
    ]
    shown.append(await memory.context(query, **scope))
    shown.append(await memory.messages(hidden=True, **scope))
    records = await memory.list(**scope)
    shown.append(records)
    shown += [await memory.history(record.id, **scope) for record in records]
    shown.append(await memory.batches(**scope))
    shown.append(await memory.stats(**scope))
    await memory.dump(folder / "dump.jsonl", **scope)
    shown.append((folder / "dump.jsonl").read_text("utf-8"))
    return " ".join(str(item) for item in shown)


async def test_every_read_shows_its_own_scope_and_no_other(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    """R32: users, agents and sessions, each with a marker of its own: the matrix is diagonal."""
    scopes: dict[str, dict[str, Any]] = {
        f"MARKER-{user}-{agent}": {"user_id": user} | ({"agent_id": agent} if agent else {})
        for user in ("ana", "bob", "cid")
        for agent in ("", "cook", "vet")
    }
    for marker, scope in scopes.items():
        block = {"kind": "core", "label": "human", "value": f"is {marker}"}
        for session in ("s1", "s2"):
            said = f"the {marker} of {session}"
            await memory.add(said, session_id=session, metadata={"m": marker}, **scope)
        await memory.create(block, reason=f"because {marker}", **scope)
        fact = {"kind": "semantic", "name": f"about {marker}", "tags": [marker]}
        await memory.create(fact, **scope)
    for own, scope in scopes.items():
        shown = await everything_read(memory, "MARKER about the", tmp_path, **scope)
        shared = f"MARKER-{scope['user_id']}-"
        for marker in scopes:
            seen = f"{marker} " in shown or f"{marker}'" in shown or f'{marker}"' in shown
            assert seen == (marker in (own, shared)), (own, marker)
    for unknown in ({"user_id": "dan"}, {"agent_id": "cook"}):
        assert "MARKER-" not in (
            await everything_read(memory, "about", tmp_path, **unknown)
        ).replace("'query': 'about'", "")


@pytest.mark.parametrize("session", ["s1", "s2", "s3"])
async def test_sessions_do_not_mix(memory: AsyncMemory, session: str) -> None:
    for name in ("s1", "s2"):
        await memory.add(f"tea of {name}", session_id=name, **IVO)
    expected = [f"tea of {session}"] if session != "s3" else []
    assert [h.text for h in await memory.search("tea", session_id=session, **IVO)] == expected
    assert [m.content for m in await memory.messages(session_id=session, **IVO)] == expected


LOOK_ALIKES = [
    "ann", "ann_lee", "ann-lee", "annXlee", "Ann", "ANN", "ann ", "a%", "%", "_", "*", "a'b",
    'x" or "1"=="1', "ann\u0301", "ann;--", "安", "../ann", "default", "None", "null", "''",
]  # fmt: skip


async def test_names_that_look_alike_are_different_people(memory: AsyncMemory) -> None:
    """R31."""
    for n, name in enumerate(LOOK_ALIKES):
        await memory.add(f"note number {n}", user_id=name)
        await memory.add(f"agent note {n}", agent_id=name)
    for n, name in enumerate(LOOK_ALIKES):
        assert [m.content for m in await memory.messages(user_id=name)] == [f"note number {n}"]
        assert [h.text for h in await memory.search("note", agent_id=name)] == [f"agent note {n}"]
    assert len(await memory.scopes()) == 2 * len(LOOK_ALIKES)
    await memory.forget(everything=True, user_id="%")
    assert sum(row["messages"] for row in await memory.scopes()) == 2 * len(LOOK_ALIKES) - 1


CALLS: dict[str, Callable[[AsyncMemory], Awaitable[Any]]] = {
    "add": lambda m: m.add("x"),
    "create": lambda m: m.create({"kind": "semantic", "name": "x"}),
    "update": lambda m: m.update("sem_1", name="x"),
    "retire": lambda m: m.retire("sem_1"),
    "undo": lambda m: m.undo("batch_1"),
    "forget": lambda m: m.forget(everything=True),
    "search": lambda m: m.search("x"),
    "context": lambda m: m.context("x"),
    "get": lambda m: m.get("sem_1"),
    "list": lambda m: m.list(),
    "messages": lambda m: m.messages(),
    "history": lambda m: m.history("sem_1"),
    "batches": lambda m: m.batches(),
    "wait_for": lambda m: m.wait_for("batch_1"),
    "retry": lambda m: m.retry("batch_1"),
    "set_user": lambda m: m.set_user(timezone="UTC"),
    "stats": lambda m: m.stats(),
}


@pytest.mark.parametrize("verb", sorted(CALLS))
async def test_nothing_is_global_by_omission(memory: AsyncMemory, verb: str) -> None:
    await memory.add("of ivo", **IVO)
    with pytest.raises(ScopeRequired, match="user_id"):
        await CALLS[verb](memory)
    assert len(await memory.messages(**IVO)) == 1


@pytest.mark.parametrize("verb", sorted(CALLS))
async def test_an_owner_that_is_no_name_is_refused(memory: AsyncMemory, verb: str) -> None:
    for wrong in ("", "  ", 5, ["ivo"], {"$ne": None}, "x" * 600, "a\nb", "\ud800", True):
        with pytest.raises(InvalidInput, match=r"user_id|agent_id"):
            await CALLS[verb](memory.scoped(user_id=wrong))  # type: ignore[arg-type]


# ── handles ──────────────────────────────────────────────────────────────────────────────────


async def test_a_scoped_handle_is_one_users(memory: AsyncMemory) -> None:
    ivo = memory.scoped(user_id="ivo")
    await ivo.add("tea for one")
    assert [m.content for m in await ivo.messages()] == ["tea for one"]
    assert [m.content for m in await memory.messages(**IVO)] == ["tea for one"]
    assert [h.text for h in await ivo.search("tea", user_id="ivo")] == ["tea for one"]
    assert len(await memory.scoped(user_id="mira").messages()) == 0
    with pytest.raises(InvalidInput, match="bound to user_id 'ivo'"):
        await ivo.messages(user_id="mira")
    with pytest.raises(InvalidInput, match="bound"):
        await ivo.scopes()
    with pytest.raises(InvalidInput, match="bound"):
        await ivo.load("dump.jsonl")
    with pytest.raises(ScopeRequired):
        memory.scoped()


async def test_a_scoped_handle_can_be_narrowed_not_widened(memory: AsyncMemory) -> None:
    ivo = memory.scoped(user_id="ivo")
    cook = ivo.scoped(agent_id="cook")
    await cook.add("tea of the cook")
    assert len(await ivo.messages()) == 0
    assert len(await ivo.messages(agent_id="cook")) == 1
    assert len(await memory.messages(user_id="ivo", agent_id="cook")) == 1
    for wrong in ({"agent_id": "vet"}, {"user_id": "mira"}):
        with pytest.raises(InvalidInput, match="bound"):
            cook.scoped(**wrong)
        with pytest.raises(InvalidInput, match="bound"):
            await cook.messages(**wrong)


async def test_an_agents_handle_has_no_users_settings(memory: AsyncMemory) -> None:
    with pytest.raises(ScopeRequired, match="user_id"):
        await memory.scoped(agent_id="cook").set_user(timezone="Asia/Tokyo")


async def test_closing_a_scoped_handle_closes_nothing(memory: AsyncMemory) -> None:
    async with memory.scoped(user_id="ivo") as ivo:
        await ivo.add("tea for one")
    assert len(await memory.messages(**IVO)) == 1
    assert len(await ivo.messages()) == 1


async def test_a_closed_handle_says_so(open_store: Any) -> None:
    async with await open_store() as memory:
        await memory.add("tea for one", **IVO)
        await memory.search("tea", **IVO)
        ivo = memory.scoped(user_id="ivo")
    calls = {**CALLS, "verify": lambda m: m.verify(user_id="ivo"), "dump": lambda m: m.dump("x")}
    for verb, call in sorted(calls.items()):
        with pytest.raises(StoreUnavailable, match="closed"):
            await call(ivo)
            pytest.fail(f"{verb} works on a closed store")
    await memory.close()
    assert len(await memory.kinds()) == 6


async def test_tenants_do_not_meet(tmp_path: Path, open_store: Any) -> None:
    first: AsyncMemory = await open_store(tenant="first")
    second: AsyncMemory = await open_store(tenant="second")
    await first.add("tea of the first", **IVO)
    assert len(await second.messages(**IVO)) == 0
    assert await second.scopes() == []
    assert len(await second.search("tea", **IVO)) == 0


# ── users ────────────────────────────────────────────────────────────────────────────────────


async def test_who_is_in_the_store(memory: AsyncMemory) -> None:
    await memory.add(["one", "two"], infer=False, user_id="mira")
    await memory.create({"kind": "semantic", "name": "three"}, user_id="ivo", agent_id="cook")
    await memory.add("four", agent_id="cook")
    rows = [
        (row["user_id"], row["agent_id"], row["messages"], row["records"])
        for row in await memory.scopes()
    ]
    assert rows == [(None, "cook", 1, 0), ("ivo", "cook", 0, 1), ("mira", None, 2, 0)]
    assert all(isinstance(row["created_at"], datetime) for row in await memory.scopes())


async def test_a_users_zone_is_kept_and_used(memory: AsyncMemory) -> None:
    assert await memory.set_user(**IVO) == {"timezone": "UTC", "locale": None}
    await memory.set_user(timezone="Asia/Tokyo", **IVO)
    settings = await memory.set_user(locale="ja", **IVO)
    assert settings == {"timezone": "Asia/Tokyo", "locale": "ja"}
    await memory.add("tea is ready", occurred_at="2026-05-08T00:30", **IVO)
    (message,) = await memory.messages(**IVO)
    assert message.occurred_at == datetime(2026, 5, 7, 15, 30, tzinfo=UTC)
    assert "2026-05-08 00:30+09:00" in str(await memory.context("tea", **IVO))
    await memory.add("tea is ready", occurred_at="2026-05-08T00:30", user_id="mira")
    (message,) = await memory.messages(user_id="mira")
    assert message.occurred_at == datetime(2026, 5, 8, 0, 30, tzinfo=UTC)


async def test_today_is_the_users_date(memory: AsyncMemory) -> None:
    """R11, R12: half past midnight in Shanghai is the day before in UTC."""
    await memory.set_user(timezone="Asia/Shanghai", **IVO)
    now = "2026-05-07T16:30:00Z"
    for user, day in (("ivo", "2026-05-07T16:00:00+00:00"), ("mira", "2026-05-07T00:00:00+00:00")):
        context = await memory.context("what happened today?", now=now, user_id=user)
        assert context.window is not None
        assert context.window.start.isoformat() == day


async def test_a_zone_is_the_users_for_all_agents(memory: AsyncMemory) -> None:
    await memory.set_user(timezone="Asia/Tokyo", **IVO)
    await memory.add("tea is ready", occurred_at="2026-05-08T00:30", agent_id="cook", **IVO)
    assert "+09:00" in str(await memory.context("tea", agent_id="cook", **IVO))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", 5, "UTC\0"])
async def test_a_zone_that_is_none_is_refused(memory: AsyncMemory, zone: Any) -> None:
    with pytest.raises(InvalidInput, match="zone"):
        await memory.set_user(timezone=zone, **IVO)
    await memory.add("tea", **IVO)


async def test_a_locale_that_is_none_is_refused(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInput, match="locale"):
        await memory.set_user(locale=5, **IVO)  # type: ignore[arg-type]


# ── hostile values ───────────────────────────────────────────────────────────────────────────

HOSTILE = ["\ud800", "a\0b", "x' OR '1'='1", '"', "\\", "%", "{}", "x" * 5000]


@pytest.mark.parametrize("value", HOSTILE, ids=ascii)
async def test_no_text_breaks_a_verb(memory: AsyncMemory, value: str, tmp_path: Path) -> None:
    """R17, R31: it works, or it is our error; what is stored stays sound and whole."""
    await memory.add("tea for one", **IVO)
    await memory.create({"kind": "semantic", "name": "tea"}, **IVO)
    m = memory
    attempts: list[Callable[[], Awaitable[Any]]] = [
        lambda: m.search(value, **IVO),
        lambda: m.search(value, method="string_match", **IVO),
        lambda: m.search(value, method="bm25", **IVO),
        lambda: m.search("tea", session_id=value, **IVO),
        lambda: m.search("tea", filters={"role": value}, **IVO),
        lambda: m.search("tea", filters={"tags": {"contains": value}}, **IVO),
        lambda: m.search("tea", filters={"metadata.k": {"in": [value]}}, **IVO),
        lambda: m.search("tea", filters={"name": {"starts_with": value}}, **IVO),
        lambda: m.context(value, **IVO),
        lambda: m.get(value, **IVO),
        lambda: m.history(value, **IVO),
        lambda: m.undo(value, **IVO),
        lambda: m.retry(value, **IVO),
        lambda: m.wait_for(value, **IVO),
        lambda: m.retire(value, **IVO),
        lambda: m.update(value, name="x", **IVO),
        lambda: m.forget(ids=[value], **IVO),
        lambda: m.forget(session_id=value, **IVO),
        lambda: m.messages(session_id=value, **IVO),
        lambda: m.messages(cursor=value, **IVO),
        lambda: m.list(filters={"title": value}, **IVO),
        lambda: m.add("plain", session_id=value, **IVO),
        lambda: m.add("plain", idempotency_key=value, **IVO),
        lambda: m.add("plain", tags=[value], metadata={value: value}, **IVO),
        lambda: m.add({"content": value, "name": value, "id": value}, **IVO),
        lambda: m.add({"role": value, "content": "plain"}, **IVO),
        lambda: m.create({"kind": "semantic", "name": value or "x", "path": value}, **IVO),
        lambda: m.create({"kind": "semantic", "name": "x", "evidence": [value]}, **IVO),
        lambda: m.create({"kind": "semantic", "name": "y"}, reason=value, actor=value, **IVO),
        lambda: m.set_user(locale=value, **IVO),
    ]
    for number, attempt in enumerate(attempts):
        try:
            await attempt()
        except (InvalidInput, NotFound):
            continue
        except Exception as error:
            raise AssertionError(f"attempt {number} with {value!r:.40}") from error
    assert await memory.verify() == []
    assert "tea for one" in [m.content for m in await memory.messages(**IVO)]
    assert await memory.dump(tmp_path / "dump.jsonl") > 0
