"""`get`, `list`, `messages`, `history`, `batches`: reading without a question, page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from memstrata import AsyncMemory, InvalidInput, Message, NotFound, Page, Record, ScopeRequired

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}


async def every_page(verb: Callable[..., Awaitable[Page[Any]]], **arguments: Any) -> list[Any]:
    """The items of all pages, none of them longer than asked for."""
    items: list[Any] = []
    cursor = None
    while True:
        page = await verb(cursor=cursor, **arguments)
        assert len(page) <= arguments["limit"]
        items += page
        cursor = page.next
        if cursor is None:
            return items
        assert len(page) == arguments["limit"]


@pytest.fixture
async def shared(memory: AsyncMemory) -> AsyncMemory:
    """What is shared and what is an agent's own, by turns, some of it in the same instant."""
    for n in range(12):
        scope = {**IVO, "agent_id": "cook"} if n % 3 == 0 else IVO
        at = f"2026-05-0{1 + n // 4}T08:00:00Z"
        await memory.add(f"note number {n}", occurred_at=at, session_id=f"s{n % 2}", **scope)
        await memory.create({"kind": "semantic", "name": f"fact number {n}"}, **scope)
    await memory.add("of mira", user_id="mira")
    await memory.create({"kind": "semantic", "name": "of mira"}, user_id="mira")
    return memory


async def test_pages_across_shared_and_own_have_no_gaps_and_no_repeats(
    shared: AsyncMemory,
) -> None:
    view = {**IVO, "agent_id": "cook"}
    for limit in (1, 2, 3, 5, 11, 12, 13):
        messages = await every_page(shared.messages, limit=limit, **view)
        assert [m.content for m in messages] == [f"note number {n}" for n in range(12)]
        records = await every_page(shared.list, limit=limit, **view)
        assert [r.title for r in records] == [f"fact number {n}" for n in range(12)]
        batches = await every_page(shared.batches, limit=limit, **view)
        assert len({batch.id for batch in batches}) == len(batches) == 24
        assert [batch.id for batch in batches] == sorted((b.id for b in batches), reverse=True)


async def test_without_the_agent_only_what_is_shared(shared: AsyncMemory) -> None:
    rest = [n for n in range(12) if n % 3]
    assert [m.content for m in await shared.messages(**IVO)] == [f"note number {n}" for n in rest]
    assert [r.title for r in await shared.list(**IVO)] == [f"fact number {n}" for n in rest]
    assert len(await shared.batches(**IVO)) == 16


async def test_pages_stay_whole_while_others_write(shared: AsyncMemory) -> None:
    first = await shared.messages(limit=4, **IVO)
    await shared.add("late arrival", occurred_at="2026-04-01T00:00:00Z", **IVO)
    await shared.add("newest", occurred_at="2026-06-01T00:00:00Z", **IVO)
    rest = await shared.messages(limit=100, cursor=first.next, **IVO)
    seen = [m.content for m in [*first, *rest]]
    assert len(seen) == len(set(seen))
    assert "newest" in seen


CURSORS = ["nonsense", "1:2:3", "", 5, ":", "9" * 40 + ":1", "\ud800", ["1:2"]]


@pytest.mark.parametrize("verb", ["messages", "list", "batches"])
async def test_a_cursor_that_is_not_ours_is_refused(memory: AsyncMemory, verb: str) -> None:
    await memory.add("one", **IVO)
    for cursor in CURSORS:
        with pytest.raises(InvalidInput, match="cursor"):
            await getattr(memory, verb)(cursor=cursor, **IVO)


@pytest.mark.parametrize("verb", ["messages", "list", "batches"])
async def test_a_wrong_limit_is_refused(memory: AsyncMemory, verb: str) -> None:
    for limit in (0, -1, True, "5", 1.5, None, 10**6):
        with pytest.raises(InvalidInput, match="limit"):
            await getattr(memory, verb)(limit=limit, **IVO)


@pytest.mark.parametrize("verb", ["messages", "list", "batches", "stats"])
async def test_nobody_is_named(memory: AsyncMemory, verb: str) -> None:
    with pytest.raises(ScopeRequired):
        await getattr(memory, verb)()


async def test_get_a_message_and_a_record(shared: AsyncMemory) -> None:
    (message,) = await shared.messages(limit=1, **IVO)
    (record,) = await shared.list(limit=1, **IVO)
    assert await shared.get(message.id, **IVO) == message
    assert await shared.get(record.id, **IVO) == record
    assert isinstance(message, Message)
    assert isinstance(record, Record)


async def test_get_sees_no_more_than_its_scope(shared: AsyncMemory) -> None:
    (own,) = await shared.list(limit=1, **IVO, agent_id="cook")
    assert own.agent_id == "cook"
    for scope in (IVO, {"user_id": "mira"}, {"agent_id": "cook"}, {**IVO, "agent_id": "vet"}):
        with pytest.raises(NotFound, match=own.id):
            await shared.get(own.id, **scope)


@pytest.mark.parametrize("wrong", ["", "  ", None, 5, ["a"]])
async def test_what_is_no_id_is_refused(memory: AsyncMemory, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="id"):
        await memory.get(wrong, **IVO)


async def test_messages_of_a_session_and_a_time(shared: AsyncMemory) -> None:
    view = {**IVO, "agent_id": "cook"}
    odd = await shared.messages(session_id="s1", **view)
    assert [m.content for m in odd] == [f"note number {n}" for n in (1, 3, 5, 7, 9, 11)]
    day = {"since": "2026-05-02T00:00:00Z", "until": "2026-05-03T00:00:00Z"}
    assert [m.content for m in await shared.messages(**day, **view)] == [
        f"note number {n}" for n in (4, 5, 6, 7)
    ]
    both = await shared.messages(session_id="s1", limit=1, **day, **view)
    assert [m.content for m in both] == ["note number 5"]
    assert both.next is not None


async def test_since_is_in_and_until_is_out(memory: AsyncMemory) -> None:
    at = "2026-05-02T08:00:00Z"
    await memory.add("on the hour", occurred_at=at, **IVO)
    assert len(await memory.messages(since=at, **IVO)) == 1
    assert len(await memory.messages(until=at, **IVO)) == 0


async def test_listing_by_kind_filter_and_lifecycle(memory: AsyncMemory) -> None:
    kept = await memory.create({"kind": "semantic", "name": "kept", "tags": ["a"]}, **IVO)
    gone = await memory.create({"kind": "semantic", "name": "gone", "tags": ["b"]}, **IVO)
    await memory.create({"kind": "procedural", "summary": "how to"}, **IVO)
    await memory.retire(gone.record_ids[0], **IVO)
    assert [r.title for r in await memory.list(kinds=["semantic"], **IVO)] == ["kept"]
    assert [r.id for r in await memory.list(filters={"tags": {"contains": "a"}}, **IVO)] == (
        kept.record_ids
    )
    assert [r.title for r in await memory.list(lifecycles=["retired"], **IVO)] == ["gone"]
    everything = ["current", "past", "review", "retired"]
    assert [r.title for r in await memory.list(lifecycles=everything, **IVO)] == [
        "kept",
        "gone",
        "how to",
    ]
    for wrong in ({"lifecycles": ["lost"]}, {"kinds": ["lost"]}, {"filters": {"lost": 1}}):
        with pytest.raises(InvalidInput, match="lost"):
            await memory.list(**wrong, **IVO)


async def test_history_tells_the_whole_story(memory: AsyncMemory) -> None:
    said = await memory.add("My boat is green", **IVO)
    (evidence,) = said.message_ids
    fact = {"kind": "semantic", "name": "The boat is green", "evidence": [evidence]}
    made = await memory.create(fact, actor="agent", reason="heard", **IVO)
    (record_id,) = made.record_ids
    await memory.update(record_id, name="The boat is blue", actor="mira", reason="painted", **IVO)
    await memory.retire(record_id, reason="sold", **IVO)
    log = await memory.history(record_id, **IVO)
    assert [(c.op, c.actor, c.reason) for c in log] == [
        ("create", "agent", "heard"),
        ("update", "mira", "painted"),
        ("retire", "user", "sold"),
    ]
    assert [c.before and c.before.title for c in log] == [
        None,
        "The boat is green",
        "The boat is blue",
    ]
    assert [c.after and c.after.lifecycle for c in log] == ["current", "current", "retired"]
    assert log[0].evidence == [evidence]
    assert log[0].batch_id == made.batch_id
    assert [c.at for c in log] == sorted(c.at for c in log)


async def test_the_history_of_a_message_is_that_it_was_said(memory: AsyncMemory) -> None:
    said = await memory.add({"role": "user", "name": "Ivo", "content": "hello"}, **IVO)
    (change,) = await memory.history(said.message_ids[0], **IVO)
    assert (change.op, change.actor, change.batch_id) == ("append", "Ivo", said.batch_id)


async def test_batches_tell_what_each_call_did(memory: AsyncMemory) -> None:
    said = await memory.add(["one", "two"], **IVO)
    made = await memory.create({"kind": "semantic", "name": "three"}, actor="mira", **IVO)
    newest, oldest = await memory.batches(**IVO)
    assert (oldest.id, oldest.verb, oldest.messages, oldest.changes) == (said.batch_id, "add", 2, 0)
    assert (newest.id, newest.verb, newest.messages, newest.changes) == (
        made.batch_id,
        "create",
        0,
        1,
    )
    assert newest.actor == "mira"
    assert all(b.state == "done" and b.finished_at and not b.reason for b in (newest, oldest))


async def test_batches_by_state(memory: AsyncMemory, embedder: Any) -> None:
    await memory.add("fine", **IVO)
    embedder.fail_next()
    failed = await memory.add("broken", **IVO)
    assert [b.id for b in await memory.batches(state="failed", **IVO)] == [failed.batch_id]
    assert len(await memory.batches(state="done", **IVO)) == 1
    assert len(await memory.batches(state="pending", **IVO)) == 0
    with pytest.raises(InvalidInput, match="lost"):
        await memory.batches(state="lost", **IVO)
