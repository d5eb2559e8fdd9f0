"""What MIRIX's calls do, by our own verbs."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from memstrata.api.compat import Caller
from memstrata.api.memories import Memory, every, hits, lost, tell
from memstrata.api.mirix_shapes import (
    AGENT,
    FIELDS,
    item_of,
    kinds_of,
    name_of,
    turn_of,
)
from memstrata.arguments import check_choice
from memstrata.errors import InvalidInput
from memstrata.records import Context, Method, Results, Scope
from memstrata.text.clean import shorten

__all__ = ["add", "clear", "components", "conversation", "search", "search_all", "topic", "user"]

_TOLD = "episodic"
"""Where messages stand of which nothing was distilled: they happened."""
_ADD = ("user_id", "meta_agent_id", "messages", "chaining", "verbose", "filter_tags", "use_cache",
        "occurred_at", "async_add")  # fmt: skip
_RETRIEVE = ("user_id", "messages", "limit", "local_model_for_retrieval", "filter_tags",
             "use_cache", "start_date", "end_date")  # fmt: skip
_TOPIC = ("user_id", "topic", "limit", "filter_tags", "use_cache")
_SEARCH = ("user_id", "query", "memory_type", "search_field", "search_method", "limit",
           "filter_tags", "similarity_threshold", "start_date", "end_date",
           "include_core_memory")  # fmt: skip
_MOST = 1000
_SHARE = 6
"""How many times the limit of one kind a search for all of them looks at."""


def _options(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInput(f"unknown option {unknown[0][:80]!r}: use one of {', '.join(known)}")
    return {name: value for name, value in given.items() if value is not None}


def _user(caller: Caller, asked: Mapping[str, Any]) -> Scope:
    user_id = asked.get("user_id")
    if user_id is not None and not isinstance(user_id, str):
        raise InvalidInput("user_id is a text")
    return caller.scope(user_id or None, None)


def _limit(asked: Mapping[str, Any], default: int) -> int:
    value = asked.get("limit", default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput("limit is a whole number")
    return _MOST if value < 1 else min(value, _MOST)


def _tags(asked: Mapping[str, Any]) -> dict[str, Any]:
    tags = asked.get("filter_tags", {})
    if not isinstance(tags, dict):
        raise InvalidInput('filter_tags is a JSON object like {"project": "alpha"}')
    return cast("dict[str, Any]", tags)


async def user(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """A user by the id given, or by a new one; nothing is written."""
    asked = _options(given, ("user_id", "name"))
    known = _user(caller, asked).user_id
    scope = caller.scope(known or f"user-{uuid.uuid4()}", None)
    await caller.do("batches", scope, limit=1)  # whether the key reaches this user
    return {"id": scope.user_id, "name": asked.get("name") or scope.user_id, "status": "active"}


async def add(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Store turns; they are durable when this returns, and distilled then or soon after."""
    asked = _options(given, _ADD)
    later = asked.get("async_add", True)
    receipt = await tell(
        caller,
        _user(caller, asked),
        messages=asked.get("messages", []),
        occurred_at=asked.get("occurred_at"),
        metadata=_tags(asked),
        wait=later is False,
    )
    failed = receipt.state == "failed"
    status = "failed" if failed else "queued" if later is not False else "processed"
    told = f"stored; not distilled: {receipt.reason}" if failed else f"stored and {status}"
    return {
        "success": not failed,
        "message": told,
        "status": status,
        "agent_id": AGENT,
        "message_count": len(receipt.message_ids),
        "batch_id": receipt.batch_id,
        "skipped": lost(receipt),
    }


async def clear(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """Erase all that is remembered of a user, with what agents remember of them."""
    scope = _user(caller, _options(given, ("user_id",)))
    scopes = [scope]
    if scope.user_id is not None and scope.agent_id is None:
        agents = await caller.owners.agents(scope.user_id)
        scopes += [caller.scope(scope.user_id, agent) for agent in agents]
    erased = [await caller.do("forget", each, everything=True) for each in scopes]
    gone = sum(each.messages + each.records for each in erased)
    return {"success": True, "message": f"messages and records erased: {gone}", "deleted": gone}


async def components(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """All that is remembered of a user, by kind, newest first."""
    asked = _options(given, ("user_id", "memory_type", "limit"))
    memory_type = asked.get("memory_type", "all")
    kinds = kinds_of(memory_type, core=True)
    scope, limit = _user(caller, asked), _limit(asked, 50)
    memories = await every(caller, scope, high=len(kinds) == 1)
    found = {
        name_of(kind): _section(kind, of := _of_kind(memories, kind), _newest(of, limit))
        for kind in kinds
    }
    return {
        "success": True,
        "user_id": scope.user_id,
        "memory_type": memory_type,
        "limit": limit,
        "memories": found,
    }


def _kind(memory: Memory) -> str:
    return _TOLD if memory.record is None else memory.record.kind


def _of_kind(memories: list[Memory], kind: str) -> list[Memory]:
    return [each for each in memories if _kind(each) == kind and not each.expired]


def _newest(memories: list[Memory], limit: int) -> list[Memory]:
    return sorted(memories, key=lambda each: each.created_at, reverse=True)[:limit]


def _item(memory: Memory) -> dict[str, Any]:
    return turn_of(memory.messages[0]) if memory.record is None else item_of(memory.record)


def _section(kind: str, of: list[Memory], chosen: list[Memory]) -> dict[str, Any]:
    items = [_item(each) for each in chosen]
    by_scope = {"scopes": {"default": {"items": items}}} if kind == "core" else {}
    return {"total_count": len(of), "items": items, **by_scope}


async def conversation(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """What has to do with a conversation: with its last turn, in the light of those before."""
    asked = _options(given, _RETRIEVE)
    scope = _user(caller, asked)
    messages = asked.get("messages", [])
    query = _last_words(messages)
    topics: str | None = None
    expression: str | None = None
    if query:
        context: Context = await caller.do("context", scope, query=messages)
        topics = "; ".join(context.topics) or shorten(query, 200)
        expression = context.window.text if context.window else None
    window = _window(asked)
    memories = await _retrieved(caller, scope, asked, query, window)
    return {
        "success": True,
        "topics": topics,
        "temporal_expression": expression,
        "date_range": _range(asked),
        "memories": memories,
    }


async def topic(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """What has to do with a topic."""
    asked = _options(given, _TOPIC)
    words = asked.get("topic", "")
    memories = await _retrieved(caller, _user(caller, asked), asked, words, {})
    return {"success": True, "topic": words, "memories": memories}


def _last_words(messages: object) -> str:
    """The text of the last turn that has any."""
    if not isinstance(messages, list):
        raise InvalidInput("messages is a list of turns, each with role and content")
    for turn in reversed(cast("list[Any]", messages)):
        content: Any = cast("dict[str, Any]", turn).get("content") if isinstance(turn, dict) else ""
        parts = cast("list[Any]", content) if isinstance(content, list) else [{"text": content}]
        texts = [
            cast("dict[str, Any]", part).get("text") for part in parts if isinstance(part, dict)
        ]
        words = " ".join(text for text in texts if isinstance(text, str)).strip()
        if words:
            return words
    return ""


async def _retrieved(
    caller: Caller, scope: Scope, asked: Mapping[str, Any], query: str, window: Mapping[str, Any]
) -> dict[str, Any]:
    tags, limit = _tags(asked), _limit(asked, 10)
    all_of_it = await every(caller, scope)
    within = [each for each in all_of_it if _tagged(each, tags)]
    look = _Look(caller, scope, within if tags else None, limit)
    found: dict[str, Any] = {}
    for kind in kinds_of("all", core=True):
        there = _of_kind(all_of_it, kind)
        newest = _newest(_of_kind(within, kind), limit)
        dates: Mapping[str, Any] = window if kind == _TOLD else {}
        whole = not query.strip() or kind == "core"
        chosen = newest if whole else await look.best(kind, query, **dates)
        found[name_of(kind)] = _section(kind, there, chosen)
        if kind == _TOLD:
            recent = [_item(each) for each in newest if _inside(each, window)]
            section = found[name_of(kind)]
            section.update(recent=recent, relevant=section["items"] if query.strip() else [])
    return found


def _tagged(memory: Memory, tags: Mapping[str, Any]) -> bool:
    metadata = memory.metadata
    return all(key in metadata and metadata[key] == value for key, value in tags.items())


def _inside(memory: Memory, window: Mapping[str, Any]) -> bool:
    """Whether something happened in a window of aware times."""
    own = None if memory.record is None else memory.record.occurred_at
    when = own or memory.created_at
    start, end = (_aware(window.get(name), when) for name in ("since", "until"))
    return (start is None or start <= when) and (end is None or when < end)


def _aware(text: str | None, like: datetime) -> datetime | None:
    if text is None:
        return None
    when = datetime.fromisoformat(text)
    return when if when.tzinfo else when.replace(tzinfo=like.tzinfo)


class _Look:
    """Searching kind by kind in a scope, in all of it or in some memories."""

    def __init__(
        self, caller: Caller, scope: Scope, within: list[Memory] | None, limit: int
    ) -> None:
        self._caller = caller
        self._scope = scope
        self._within = within
        self._limit = limit

    async def best(self, kind: str, query: str, **options: Any) -> list[Memory]:
        """The best of a kind; among events also messages of which nothing was distilled."""
        found = await self._search(query, kinds=[kind], **options)
        if kind == _TOLD and not options.get("search_fields"):
            found += await self._search(query, strata=["messages"], **options)
        return sorted(found, key=lambda each: -(each.score or 0.0))[: self._limit]

    async def any(self, query: str, **options: Any) -> list[Memory]:
        """The best of all kinds in one search: of each kind what is among them."""
        return await self._search(query, limit=_SHARE * self._limit, **options)

    async def _search(self, query: str, **options: Any) -> list[Memory]:
        distance = options.pop("distance", None)
        wanted = 2 * self._limit if "strata" in options else self._limit
        filters: dict[str, Any] = options.pop("filters", {})
        if self._within is not None:
            filters = {**filters, "id": {"in": [each.key for each in self._within]}}
        results: Results = await self._caller.do(
            "search",
            self._scope,
            query=query,
            limit=options.pop("limit", wanted),
            filters=filters or None,
            **options,
        )
        if distance is not None:
            near = [hit for hit in results if 1.0 - hit.signals.get("semantic", 0.0) < distance]
            results = results.model_copy(update={"hits": near})
        return await hits(self._caller, self._scope, results)


async def search(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """A flat list of what is found of a user, at most `limit` of each kind, the best first."""
    asked = _options(given, _SEARCH)
    return await _searched(caller, asked, [_user(caller, asked)], named=False)


async def search_all(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same over all users, each result with its `user_id`."""
    asked = _options(given, [name for name in _SEARCH if name != "user_id"])
    there = [each for each in await caller.scopes() if each.user_id is not None]
    shared = [each for each in there if each.agent_id == caller.grant.agent_id]
    found = await _searched(caller, asked, shared, named=True)
    return {**found, "client_id": None, "organization_id": caller.grant.tenant,
            "client_scope": None, "filter_tags": _tags(asked)}  # fmt: skip


async def _searched(
    caller: Caller, asked: Mapping[str, Any], scopes: list[Scope], *, named: bool
) -> dict[str, Any]:
    memory_type, query = asked.get("memory_type", "all"), asked.get("query", "")
    core = str(asked.get("include_core_memory", "")).lower() == "true"
    kinds = kinds_of(memory_type, core=core)
    limit, window, how = _limit(asked, 10), _window(asked), _method(asked, kinds)
    best: dict[str, list[Memory]] = {kind: [] for kind in kinds}
    tags, blank = _tags(asked), not query.strip()
    for scope in scopes:
        within = await every(caller, scope, high=len(kinds) == 1) if tags or blank else []
        chosen = [each for each in within if _tagged(each, tags)]
        look = _Look(caller, scope, chosen if tags else None, limit)
        # Over all users each is searched once, which finds the best whatever their kind.
        once = named and len(kinds) > 1 and not blank
        there = await look.any(query, **how) if once else chosen
        for kind in kinds:
            dates = window if kind == _TOLD else {}
            if blank or once:
                best[kind] += [each for each in _of_kind(there, kind) if _inside(each, dates)]
            else:
                best[kind] += await look.best(kind, query, **how, **dates)
    ranked = _ranked(best, limit, blank=blank)
    results = [_result(kind, each, named=named) for kind, each in ranked]
    return {
        "success": True,
        "query": query,
        "memory_type": memory_type,
        "search_field": asked.get("search_field", "null"),
        "search_method": asked.get("search_method") or "hybrid",
        "date_range": _range(asked),
        "results": results,
        "count": len(results),
    }


def _ranked(
    best: Mapping[str, list[Memory]], limit: int, *, blank: bool
) -> list[tuple[str, Memory]]:
    """At most `limit` of each kind: the best first, or without a query the newest."""

    def place(memory: Memory) -> float:
        return -memory.created_at.timestamp() if blank else -(memory.score or 0.0)

    kept = [(kind, each) for kind, of in best.items() for each in sorted(of, key=place)[:limit]]
    return sorted(kept, key=lambda each: place(each[1]))


def _result(kind: str, memory: Memory, *, named: bool) -> dict[str, Any]:
    of = memory.record or memory.messages[0]
    whose = {"user_id": of.user_id} if named else {}
    return {"memory_type": name_of(kind), **whose, **_item(memory)}


def _method(asked: Mapping[str, Any], kinds: list[str]) -> dict[str, Any]:
    """How to search, as our verb takes it."""
    found: dict[str, Any] = {}
    if method := asked.get("search_method"):
        found["method"] = check_choice("search_method", method, Method)
    field = asked.get("search_field", "null")
    if len(kinds) == 1 and field not in ("null", ""):
        if field not in FIELDS[kinds[0]]:
            known = ", ".join(FIELDS[kinds[0]])
            raise InvalidInput(f"search_field of {name_of(kinds[0])} is one of {known}, null")
        found["search_fields"] = [field]
    if len(kinds) > 1:
        found["filters"] = {"sensitivity": {"ne": "high"}}
    distance = asked.get("similarity_threshold")
    if distance is not None:
        if isinstance(distance, bool) or not isinstance(distance, int | float):
            raise InvalidInput("similarity_threshold is a number from 0 to 2: a cosine distance")
        if method == "embedding":
            found["distance"] = distance
    return found


def _window(asked: Mapping[str, Any]) -> dict[str, str]:
    """The dates that events must lie in, both ends within."""
    found: dict[str, str] = {}
    for name, ours, more in (("start_date", "since", 0), ("end_date", "until", 1)):
        if name in asked:
            try:
                when = datetime.fromisoformat(asked[name]) + timedelta(microseconds=more)
            except (ValueError, TypeError, OverflowError):
                raise InvalidInput(
                    f"{name} is a date-time in ISO 8601 such as 2026-05-08T00:00:00"
                ) from None
            found[ours] = when.isoformat()
    return found


def _range(asked: Mapping[str, Any]) -> dict[str, Any] | None:
    start, end = asked.get("start_date"), asked.get("end_date")
    return None if start is None and end is None else {"start": start, "end": end}
