"""Memories as clients know them that know of one sort: a record, or a message none rests on.

Without a record a message is the memory: stored without distilling, or nothing was distilled from
it. What `consolidate` made of others is left out. A message that a client has changed is a record
from then on, and keeps its id for the client: `ALIAS` in the record's metadata names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memstrata.api.compat import Caller
from memstrata.errors import InvalidInput, NotFound
from memstrata.kinds import kind_of
from memstrata.records import Hit, JsonObject, Message, Page, Receipt, Record, Results, Scope

__all__ = [
    "ALIAS",
    "Memory",
    "every",
    "find",
    "hits",
    "lost",
    "sole_sources",
    "tell",
    "without_alias",
]

ALIAS = "in_place_of_message"
"""The member of a record's metadata that names the message in whose place it stands."""
_PAGE = 10_000
_STANDING = ("current", "review")


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory, whichever it is, and the messages it rests on."""

    scope: Scope
    record: Record | None
    messages: tuple[Message, ...]
    score: float | None = None

    @property
    def key(self) -> str:
        """The id by which our own verbs know it."""
        return self.record.id if self.record is not None else self.messages[0].id

    @property
    def id(self) -> str:
        """The id by which the client knows it."""
        return _alias(self.record) or self.key if self.record is not None else self.key

    @property
    def text(self) -> str:
        return self.record.text if self.record is not None else self.messages[0].content

    @property
    def session_id(self) -> str | None:
        """Of the messages it rests on, where they are of one."""
        sessions = {message.session_id for message in self.messages}
        return sessions.pop() if len(sessions) == 1 else None

    @property
    def metadata(self) -> JsonObject:
        """Its own, and that of its messages, which records do not repeat."""
        found: JsonObject = {}
        for message in self.messages:
            found.update(message.metadata)
        if self.record is not None:
            found.update(without_alias(self.record.metadata))
        return found

    @property
    def tags(self) -> list[str]:
        own = [] if self.record is None else self.record.tags
        return list(dict.fromkeys([*own, *(tag for each in self.messages for tag in each.tags)]))

    @property
    def created_at(self) -> datetime:
        """When it was said, else when it was written."""
        if self.messages:
            return min(message.occurred_at for message in self.messages)
        assert self.record is not None
        return self.record.created_at

    @property
    def updated_at(self) -> datetime:
        """When it last changed; of what never did, when it was made."""
        changed = self.record is not None and (self.record.version > 1 or _alias(self.record))
        return self.record.recorded_at if self.record and changed else self.created_at

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        over = None if self.record is None else self.record.expires_at
        return over is not None and over <= datetime.now(UTC)


def without_alias(metadata: JsonObject) -> JsonObject:
    """A record's metadata as a client knows it."""
    return {key: value for key, value in metadata.items() if key != ALIAS}


def _alias(record: Record) -> str | None:
    named = record.metadata.get(ALIAS)
    rests = any(item.source_id == named for item in record.evidence)
    return named if rests and isinstance(named, str) else None


def _is_derived(record: Record) -> bool:
    return kind_of(record.kind).is_derived(record)


async def _pages(caller: Caller, verb: str, scope: Scope, **arguments: Any) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page: Page[Any] = await caller.do(verb, scope, limit=_PAGE, cursor=cursor, **arguments)
        found += page.items
        if (cursor := page.next) is None:
            return found


async def tell(caller: Caller, scope: Scope, **arguments: Any) -> Receipt:
    """`add`, as somebody says something now: also what was forgotten, and what is said again.

    `InvalidInput` where nothing of it could be stored.
    """
    receipt: Receipt = await caller.do("add", scope, **arguments)
    if receipt.message_ids or not lost(receipt):
        return receipt
    if arguments.get("occurred_at") is None:  # a time of its own tells it from a replay
        again = {**arguments, "occurred_at": datetime.now(UTC).isoformat()}
        receipt = await caller.do("add", scope, **again)
    if not receipt.message_ids and (why := lost(receipt)):
        raise InvalidInput(f"nothing was stored: {why[0]}")
    return receipt


def lost(receipt: Receipt) -> list[str]:
    """Why parts of what was said are not stored, under no id."""
    return [item.reason for item in receipt.skipped if not item.stored and item.id is None]


async def every(
    caller: Caller, scope: Scope, *, past: bool = False, high: bool = False
) -> list[Memory]:
    """All memories that a scope sees, oldest first; those that ended with `past`, and only with
    `high` what is highly sensitive.
    """
    records: list[Record] = await _pages(
        caller,
        "list",
        scope,
        lifecycles=[*_STANDING, "past", "retired"],
        filters=None if high else {"sensitivity": {"ne": "high"}},
    )
    messages: list[Message] = await _pages(caller, "messages", scope)
    known = {message.id: message for message in messages}
    told = [record for record in records if not _is_derived(record)]
    covered = {item.source_id for record in told for item in record.evidence}
    shown = (*_STANDING, "past") if past else _STANDING
    found = [_of_record(scope, each, known) for each in told if each.lifecycle in shown]
    found += [Memory(scope, None, (each,)) for each in messages if each.id not in covered]
    return sorted(found, key=lambda memory: (memory.created_at, memory.key))


def _of_record(scope: Scope, record: Record, known: dict[str, Message]) -> Memory:
    rests = [known[item.source_id] for item in record.evidence if item.source_id in known]
    return Memory(scope, record, tuple(rests))


async def _of_records(caller: Caller, scope: Scope, records: Sequence[Record]) -> list[Memory]:
    """Records as memories, with the messages they rest on."""
    ids = list(dict.fromkeys(item.source_id for each in records for item in each.evidence))
    if not ids:
        return [Memory(scope, record, ()) for record in records]
    found: list[Message] = await _pages(
        caller, "messages", scope, filters={"id": {"in": ids}}, hidden=True
    )
    known = {message.id: message for message in found}
    return [_of_record(scope, record, known) for record in records]


async def find(caller: Caller, id: str) -> Memory:
    """The memory of an id, wherever it is that the caller's key reaches; `NotFound`.

    The id of a message that one record has taken the place of leads to that record.
    """
    scope = await caller.owners.of(id)
    found = await caller.do("get", scope, id=id)
    if isinstance(found, Record):
        return (await _of_records(caller, scope, [found]))[0]
    if not isinstance(found, Message):
        raise NotFound(f"no memory {id} is here")
    records = await _resting(caller, scope, [id])
    own = [record for record in records.get(id, ()) if _alias(record) == id]
    taken = own or records.get(id, [])
    if len(taken) == 1:
        return (await _of_records(caller, scope, taken))[0]
    return Memory(scope, None, (found,))


async def _resting(caller: Caller, scope: Scope, ids: Sequence[str]) -> dict[str, list[Record]]:
    """The records that rest on each of these messages, but for what was made of others."""
    found = await caller.owners.resting(ids, scope.user_id, scope.agent_id)
    kept = {
        key: [each for each in records if not _is_derived(each)] for key, records in found.items()
    }
    return {key: records for key, records in kept.items() if records}


async def hits(caller: Caller, scope: Scope, results: Results) -> list[Memory]:
    """What a search found, as memories, best first."""
    messages = [hit.message.id for hit in results if hit.message is not None]
    covered = await _resting(caller, scope, messages) if messages else {}
    records = [hit.record for hit in results if hit.record is not None]
    told = {each.key: each for each in await _of_records(caller, scope, records)}
    made = [_of_hit(scope, hit, told) for hit in results]
    return [each for each in made if each is not None and each.key not in covered]


def _of_hit(scope: Scope, hit: Hit, told: dict[str, Memory]) -> Memory | None:
    if hit.message is not None:
        return Memory(scope, None, (hit.message,), hit.score)
    if hit.record is None or _is_derived(hit.record):
        return None
    of = told[hit.record.id]
    return Memory(of.scope, of.record, of.messages, hit.score)


async def sole_sources(caller: Caller, memories: Iterable[Memory]) -> list[str]:
    """The messages on which these memories rest, and no other."""
    gone = list(memories)
    keys = {each.key for each in gone}
    sources = {message.id: each.scope for each in gone for message in each.messages}
    found: list[str] = []
    for scope in dict.fromkeys(sources.values()):
        ids = [key for key, owner in sources.items() if owner == scope]
        resting = await _resting(caller, scope, ids)
        found += [key for key in ids if {each.id for each in resting.get(key, ())} <= keys]
    return found
