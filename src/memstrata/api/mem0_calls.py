"""What mem0's calls do, by our own verbs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from memstrata.api.compat import Caller
from memstrata.api.mem0_filters import ANY, EACH, Owners, Wanted, as_mapping, read_filters, time_of
from memstrata.api.mem0_shapes import (
    IDS,
    day_after,
    facts_of,
    history_of,
    options_of,
    projected,
    shown,
    with_app,
)
from memstrata.api.memories import ALIAS, Memory, every, find, hits, lost, sole_sources, tell
from memstrata.errors import Conflict, InvalidInput, NotFound
from memstrata.kinds import kind_of
from memstrata.records import Batch, Message, Receipt, Record, Results, Scope

__all__ = [
    "Listed",
    "add",
    "change",
    "delete",
    "delete_all",
    "delete_entity",
    "event",
    "found",
    "history",
    "listed",
    "users",
]

_ADD = {"messages", *IDS, "filters", "metadata", "infer", "timestamp", "expiration_date"}
_NARROW = {*IDS, "filters", "metadata", "categories", "fields", "show_expired", "latest_only"}
_SEARCH = {*_NARROW, "query", "top_k", "limit", "threshold", "reference_date"}
_LIST = {*_NARROW, "start_date", "end_date", "page", "page_size", "top_k", "limit"}
_UPDATE = {"text", "metadata", "timestamp", "expiration_date"}
_STATES = {"pending": "PENDING", "running": "RUNNING", "failed": "FAILED"}


async def add(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Store messages, and say which memories came of them; their ids hold at once."""
    asked = options_of(given, _ADD)
    whose = _owner(asked)
    scope = caller.scope(whose.get("user_id"), whose.get("agent_id"))
    until = day_after(asked.get("expiration_date"))
    metadata = as_mapping("metadata", asked.get("metadata"))
    when = asked.get("timestamp")
    if asked.get("messages") in (None, "", []):
        raise InvalidInput("messages is a text, a message, or a list of messages: give one")
    receipt = await tell(
        caller,
        scope,
        messages=asked["messages"],
        session_id=whose.get("run_id"),
        occurred_at=None if when is None else time_of("timestamp", when).isoformat(),
        metadata=with_app(metadata, whose.get("app_id")),
        infer=asked.get("infer", True),
    )
    results = await _results(caller, receipt)
    if until is not None:
        for memory in [each["id"] for each in results if each["event"] == "ADD"]:
            await _revise(caller, await find(caller, memory), {"expires_at": until})
    failed = receipt.state == "failed"
    return {
        "results": results,
        "status": "FAILED" if failed else "SUCCEEDED",
        "event_id": receipt.batch_id,
        "message": f"stored; not distilled: {receipt.reason}" if failed else "stored",
        "skipped": lost(receipt),
    }


async def _results(caller: Caller, receipt: Receipt) -> list[dict[str, Any]]:
    """What an `add` made or changed, as mem0 names it."""
    new = {change.target_id for change in receipt.changes if change.version_before is None}
    again = {item.id for item in receipt.skipped}
    named = dict.fromkeys([*receipt.record_ids, *(each.target_id for each in receipt.changes)])
    ids = [key for key in [*named, *receipt.message_ids] if key not in again]
    found: list[dict[str, Any]] = []
    for key in ids:
        try:
            memory = await find(caller, key)
        except NotFound:
            continue  # a change of something else than a memory, or gone meanwhile
        if memory.record is None and await _covered(caller, memory):
            continue
        if memory.record is not None and memory.record.id != key:
            continue  # the message it rests on; the record is named itself
        event = _event(memory.record, key in new)
        data = {"memory": memory.text}
        found.append({"id": memory.id, "event": event, "memory": memory.text, "data": data})
    return found


def _event(record: Record | None, new: bool) -> str:
    if record is None or (new and record.lifecycle in ("current", "review")):
        return "ADD"
    return "UPDATE" if record.lifecycle in ("current", "review") else "DELETE"


async def _covered(caller: Caller, memory: Memory) -> bool:
    scope = memory.scope
    resting = await caller.owners.resting([memory.key], scope.user_id, scope.agent_id)
    return any(not kind_of(each.kind).is_derived(each) for each in resting.get(memory.key, ()))


def _owner(asked: Mapping[str, Any]) -> dict[str, str]:
    """Whose memory an `add` is about, beside the other options or in `filters`."""
    inner = as_mapping("filters", asked.get("filters"))
    given: object = inner.get("AND", [inner])
    parts = cast("list[object]", given) if isinstance(given, list) else [given]
    found = {name: asked[name] for name in IDS if name in asked}
    for part in parts:
        for name, value in as_mapping("filters", part).items():
            if name not in IDS or found.get(name, value) != value:
                raise InvalidInput(f"filters: {name[:80]!r} says nothing of whose memory it is")
            found[name] = value
    for name, value in found.items():
        if not isinstance(value, str) or value in ("", ANY):
            raise InvalidInput(f"{name} is a text that names one")
    return found


async def found(caller: Caller, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The memories that a search finds, best first."""
    asked = options_of(given, _SEARCH)
    if asked.get("show_expired"):
        raise InvalidInput("show_expired is not supported in a search: list them instead")
    wanted, fields = _wanted(asked), _fields(asked)
    query = asked.get("query")
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query is a text that is not blank")
    limit = _whole("top_k", asked.get("top_k", asked.get("limit", 10)), 1000)
    when = asked.get("reference_date")
    options = {
        "query": query,
        "limit": min(2 * limit + 10, 10_000),
        "threshold": asked.get("threshold"),
        "session_id": wanted.session,
        "now": None if when is None else time_of("reference_date", when).isoformat(),
    }
    memories: list[Memory] = []
    for scope in await _places(caller, wanted):
        within = dict(options)
        if not wanted.by_owner:
            keys = [each.key for each in await _chosen(caller, wanted, scope)]
            if not keys:
                continue
            within["filters"] = {"id": {"in": keys}}
        results: Results = await caller.do("search", scope, **within)
        memories += await hits(caller, scope, results)
    best = sorted(memories, key=lambda each: -(each.score or 0.0))[:limit]
    return [projected(shown(each), fields) for each in _once(best)]


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of memories, and of how many."""

    results: list[dict[str, Any]]
    count: int
    page: int
    size: int


async def listed(caller: Caller, given: Mapping[str, Any]) -> Listed:
    """A page of the memories that a filter asks for, newest first."""
    asked = options_of(given, _LIST)
    wanted, fields = _wanted(asked), _fields(asked)
    past = asked.get("latest_only") is False
    memories = [
        each
        for scope in await _places(caller, wanted)
        for each in await _chosen(caller, wanted, scope, past=past)
        if asked.get("show_expired") or not each.expired
    ]
    ordered = sorted(_once(memories), key=lambda each: (each.created_at, each.key), reverse=True)
    page, size = _paging(asked)
    chosen = ordered[(page - 1) * size : page * size]
    results = [projected(shown(each), fields) for each in chosen]
    return Listed(results, len(ordered), page, size)


def _paging(asked: Mapping[str, Any]) -> tuple[int, int]:
    limit = asked.get("top_k", asked.get("limit"))
    if "page" not in asked and "page_size" not in asked:
        return 1, 100 if limit is None else _whole("top_k", limit, 10_000)
    page = _whole("page", asked.get("page", 1), 1_000_000)
    return page, _whole("page_size", asked.get("page_size", 100), 10_000)


def _once(memories: Sequence[Memory]) -> list[Memory]:
    """Without those that several scopes see."""
    return list({each.key: each for each in reversed(memories)}.values())[::-1]


def _fields(asked: Mapping[str, Any]) -> list[str] | None:
    fields = asked.get("fields")
    if fields is None:
        return None
    listed = cast("list[Any]", fields)
    if not isinstance(fields, list) or not all(isinstance(each, str) for each in listed):
        raise InvalidInput("fields is a list of names of fields")
    return cast("list[str]", listed)


def _whole(name: str, value: object, most: int) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
        raise InvalidInput(f"{name} is a whole number from 1 to {most}")
    return number


def _wanted(asked: Mapping[str, Any]) -> Wanted:
    """The filter that all options of a call that narrow it come to."""
    parts: list[dict[str, Any]] = [{name: asked[name]} for name in IDS if name in asked]
    if asked.get("filters"):
        parts.append(as_mapping("filters", asked["filters"]))
    if asked.get("metadata"):
        parts.append({"metadata": asked["metadata"]})
    if asked.get("categories"):
        parts.append({"categories": {"in": asked["categories"]}})
    for name, operator in (("start_date", "gte"), ("end_date", "lte")):
        if asked.get(name) is not None:
            parts.append({"created_at": {operator: asked[name]}})
    return read_filters({"AND": parts} if parts else {})


async def _places(caller: Caller, wanted: Wanted) -> list[Scope]:
    """Where a filter looks."""
    scopes = [scope for owners in wanted.owners for scope in await _of_owners(caller, owners)]
    return list(dict.fromkeys(scopes))


async def _of_owners(caller: Caller, owners: Owners) -> list[Scope]:
    users, agents = owners.users, owners.agents
    if users == EACH or (agents == EACH and users is None):
        there = await caller.scopes()
        of = [each for each in there if users is None or each.user_id is not None]
        if agents == EACH:
            return [each for each in of if each.agent_id is not None]
        names: list[str | None] = list(dict.fromkeys(each.user_id for each in of))
    else:
        names = [None] if users is None else [*sorted(users)]
    if agents == EACH:
        asked = [
            (user, agent) for user in names if user for agent in await caller.owners.agents(user)
        ]
        return [caller.scope(user, agent) for user, agent in asked]
    within: list[str | None] = [None] if agents is None else [*sorted(agents)]
    return [caller.scope(user, agent) for user in names for agent in within]


async def _chosen(
    caller: Caller, wanted: Wanted, scope: Scope, *, past: bool = False
) -> list[Memory]:
    """The memories of a scope that pass a filter."""
    memories = await every(caller, scope, past=past)
    return [each for each in memories if wanted.test(facts_of(each, scope))]


async def change(caller: Caller, id: str, given: Mapping[str, Any]) -> Memory:
    """Change a memory's text, metadata, time or last day; a message is a record from then on."""
    asked = options_of(given, _UPDATE)
    changes: dict[str, Any] = {}
    if not asked:
        raise InvalidInput("give one of text, metadata, timestamp, expiration_date")
    if "metadata" in asked:
        changes["metadata"] = as_mapping("metadata", asked["metadata"])
    if "timestamp" in asked:
        changes["occurred_at"] = time_of("timestamp", asked["timestamp"]).isoformat()
    if "expiration_date" in asked:
        changes["expires_at"] = day_after(asked["expiration_date"])
    text = asked.get("text")
    if text is not None and (not isinstance(text, str) or not text.strip()):
        raise InvalidInput("text is a text that is not blank")
    await _revise(caller, await find(caller, id), changes, text)
    return await find(caller, id)


async def _revise(
    caller: Caller, memory: Memory, changes: dict[str, Any], text: str | None = None
) -> None:
    record = memory.record
    if record is not None:
        told = {} if text is None else kind_of(record.kind).retold(record, text)
        await caller.do("update", memory.scope, record_id=record.id, changes={**changes, **told})
        return
    message = memory.messages[0]
    metadata = as_mapping("metadata", changes.get("metadata"))
    made: Receipt = await caller.do(
        "create",
        memory.scope,
        record={
            "kind": "semantic",
            "name": message.content if text is None else text,
            "occurred_at": message.occurred_at.isoformat(),
            "tags": message.tags,
            "trust": message.trust,
            "evidence": [message.id],
            **{key: value for key, value in changes.items() if value is not None},
            "metadata": {**metadata, ALIAS: message.id},
        },
    )
    if made.skipped and made.skipped[0].id is not None:
        raise Conflict(f"a memory says exactly that already: {made.skipped[0].id}")


async def history(caller: Caller, id: str) -> list[dict[str, Any]]:
    """What became of a memory, oldest first."""
    memory = await find(caller, id)
    changes = await caller.do("history", memory.scope, id=memory.key)
    return history_of(memory, changes)


async def delete(caller: Caller, ids: Sequence[str], *, linked: bool = False) -> int:
    """Erase memories for good, with the messages that nothing else rests on; how many went."""
    memories = [await find(caller, id) for id in dict.fromkeys(ids)]
    for memory in memories if linked else ():
        before = memory.record.supersedes if memory.record is not None else None
        if before is not None and all(before != each.key for each in memories):
            memories.append(await find(caller, before))
    return await _erase(caller, memories)


async def _erase(caller: Caller, memories: Sequence[Memory]) -> int:
    sources = set(await sole_sources(caller, memories))
    for scope in dict.fromkeys(each.scope for each in memories):
        gone = [each for each in memories if each.scope == scope]
        told = [message.id for each in gone for message in each.messages if message.id in sources]
        keys = dict.fromkeys([*(each.key for each in gone), *told])
        await caller.do("forget", scope, ids=list(keys))
    return len({each.key for each in memories})


async def delete_all(caller: Caller, given: Mapping[str, Any]) -> int:
    """Erase all memories of an owner, or those of them that a filter asks for; how many went.

    Of a user, also what agents remember of that user. Nothing is erased where no owner is named.
    """
    asked = options_of(given, {*IDS, "filters", "metadata"})
    if not asked:
        raise InvalidInput("say whose memories to delete: give user_id or agent_id")
    wanted = _wanted(asked)
    places = await _places(caller, wanted)
    for user in [each.user_id for each in places if each.user_id and each.agent_id is None]:
        places += [caller.scope(user, agent) for agent in await caller.owners.agents(user)]
    return sum([await _clear(caller, wanted, each) for each in dict.fromkeys(places)])


async def _clear(caller: Caller, wanted: Wanted, scope: Scope) -> int:
    whole = wanted.by_owner
    there = await every(caller, scope) if whole else await _chosen(caller, wanted, scope, past=True)
    own = [each for each in there if _agent(each) == scope.agent_id]
    if not whole:
        return await _erase(caller, own)
    if wanted.session is None:
        await caller.do("forget", scope, everything=True)
        return len(own)
    of = [each for each in own if wanted.session in {one.session_id for one in each.messages}]
    await caller.do("forget", scope, session_id=wanted.session)
    return len(of)


def _agent(memory: Memory) -> str | None:
    of: Record | Message = memory.record or memory.messages[0]
    return of.agent_id


async def users(caller: Caller) -> list[dict[str, Any]]:
    """The users and agents that have memories."""
    rows = cast("list[dict[str, Any]]", await caller.do("scopes"))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        held = row["messages"] + row["records"]
        for kind in ("user", "agent"):
            name = row[f"{kind}_id"]
            if name is None or not held:
                continue
            since = row["created_at"].isoformat()
            known = found.setdefault((kind, name), _entity(kind, name, since))
            known["created_at"] = min(known["created_at"], since)
            known["total_memories"] += row["records"] or row["messages"]
    return list(found.values())


def _entity(kind: str, name: str, since: str) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "type": kind,
        "total_memories": 0,
        "created_at": since,
        "updated_at": since,
        "metadata": {},
    }


async def delete_entity(caller: Caller, kind: str, name: str) -> int:
    """Erase all that is remembered of a user, with what agents remember of them, or of an agent."""
    if kind == "user":
        scopes = [caller.scope(name, None)]
        scopes += [caller.scope(name, agent) for agent in await caller.owners.agents(name)]
    elif kind == "agent":
        scopes = [each for each in await caller.scopes() if each.agent_id == name]
    else:
        raise InvalidInput(f"{kind[:40]} is no owner here: delete all with a user_id and filters")
    gone = 0
    for scope in scopes:
        erased = await caller.do("forget", scope, everything=True)
        gone += erased.records + erased.messages
    return gone


async def event(caller: Caller, id: str) -> dict[str, Any]:
    """How far a call has got that wrote, and what it wrote."""
    scope = await caller.owners.of(id)
    batch: Batch = await caller.do("wait_for", scope, batch_id=id, timeout=0)
    chosen = [
        each
        for each in await every(caller, scope)
        if id == (each.record or each.messages[0]).batch_id
    ]
    done = batch.finished_at
    return {
        "id": batch.id,
        "event_type": batch.verb.upper(),
        "status": _STATES.get(batch.state, "SUCCEEDED"),
        "payload": {},
        "metadata": {} if batch.reason is None else {"reason": batch.reason},
        "results": [
            {"id": each.id, "event": "ADD", "data": {"memory": each.text}} for each in chosen
        ],
        "created_at": batch.created_at.isoformat(),
        "updated_at": (done or batch.created_at).isoformat(),
        "started_at": batch.created_at.isoformat(),
        "completed_at": None if done is None else done.isoformat(),
        "latency": None if done is None else (done - batch.created_at).total_seconds() * 1000,
    }
