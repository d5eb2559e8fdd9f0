"""What mem0's clients are answered, and which of their options mean something here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memstrata.api.memories import Memory, without_alias
from memstrata.errors import InvalidInput
from memstrata.records import Change, JsonObject, Message, Scope

__all__ = [
    "IDS",
    "day_after",
    "day_of",
    "entry",
    "facts_of",
    "history_of",
    "options_of",
    "projected",
    "shown",
    "with_app",
]

IDS = ("user_id", "agent_id", "app_id", "run_id")
_IGNORED = frozenset(
    {"async_mode", "output_format", "version", "enable_graph", "rerank", "keyword_search",
     "filter_memories"}
)  # fmt: skip
"""Options without which the answer is as right: they tune how mem0 works inside."""
_REFUSED: Mapping[str, str] = {
    "custom_categories": "memstrata does not sort memories into categories: give them as tags",
    "custom_instructions": "instructions hold for a tenant: `memstrata configure --instructions`",
    "agent_custom_instructions": "instructions hold for a tenant: `memstrata configure`",
    "structured_data_schema": "memstrata has its own kinds of memory, each with its fields",
    "includes": "what is remembered is not chosen per call: see `memstrata configure`",
    "excludes": "what is remembered is not chosen per call: see `memstrata configure`",
    "immutable": "no memory is closed to changes here; each change stands in its history",
    "only_metadata_based_search": "list with filters instead of a search",
    "org_id": "the key alone decides whose data is used: leave org_id out",
    "project_id": "the key alone decides whose data is used: leave project_id out",
}


def options_of(given: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The options that mean something; one that cannot be honoured is an error, not ignored."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in known:
            if value is not None or name == "expiration_date":
                found[name] = value
        elif name in _REFUSED:
            if value not in (None, False, "", [], {}):
                raise InvalidInput(f"{name} is not supported: {_REFUSED[name]}")
        elif name not in _IGNORED:
            raise InvalidInput(
                f"unknown option {name[:80]!r}: use one of {', '.join(sorted(known))}"
            )
    return found


def with_app(metadata: Mapping[str, Any], app_id: object) -> dict[str, Any]:
    """Metadata with the application in it, which is a label here and no owner."""
    if app_id is None:
        return dict(metadata)
    if not isinstance(app_id, str):
        raise InvalidInput("app_id is a text")
    return {**metadata, "app_id": app_id}


def day_after(value: object) -> str | None:
    """The moment when the day `YYYY-MM-DD` is over, in UTC; None for none."""
    if value is None:
        return None
    try:
        day = date.fromisoformat(value if isinstance(value, str) else "")
        return datetime.combine(day + timedelta(days=1), time(), UTC).isoformat()
    except (ValueError, OverflowError):
        raise InvalidInput("expiration_date is a day such as 2027-05-31, or null") from None


def day_of(expires_at: datetime | None) -> str | None:
    """The last day on which something holds."""
    if expires_at is None:
        return None
    return (expires_at.astimezone(UTC) - timedelta(microseconds=1)).date().isoformat()


def shown(memory: Memory) -> dict[str, Any]:
    """A memory as mem0 writes one."""
    of = memory.record or memory.messages[0]
    metadata = memory.metadata
    app_id = metadata.pop("app_id", None)
    found = {
        "id": memory.id,
        "memory": memory.text,
        "user_id": of.user_id,
        "agent_id": of.agent_id,
        "app_id": app_id,
        "run_id": memory.session_id,
        "hash": None if memory.record is None else memory.record.fingerprint,
        "metadata": metadata,
        "categories": memory.tags,
        "created_at": _iso(memory.created_at),
        "updated_at": _iso(memory.updated_at),
        "expiration_date": None if memory.record is None else day_of(memory.record.expires_at),
    }
    return found if memory.score is None else {**found, "score": memory.score}


def projected(shown: dict[str, Any], fields: Collection[str] | None) -> dict[str, Any]:
    """Of a memory only some fields, and always its id."""
    if fields is None:
        return shown
    return {key: value for key, value in shown.items() if key in fields or key == "id"}


def facts_of(memory: Memory, asked: Scope) -> dict[str, Any]:
    """What filters ask of a memory that was looked for in a scope."""
    found = shown(memory)
    own = None if memory.record is None else memory.record.occurred_at
    return {
        **found,
        "asked_user_id": asked.user_id,
        "asked_agent_id": asked.agent_id,
        "metadata": memory.metadata,
        "keywords": memory.text,
        "memory_ids": [memory.id, memory.key],
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "timestamp": own or memory.created_at,
    }


def entry(
    memory: Memory,
    event: str,
    *,
    id: str,
    at: datetime,
    old: str | None = None,
    new: str | None = None,
    metadata: JsonObject | None = None,
) -> dict[str, Any]:
    """One entry of a memory's history."""
    of = memory.record or memory.messages[0]
    return {
        "id": id,
        "memory_id": memory.id,
        "input": [_turn(message) for message in memory.messages],
        "old_memory": old,
        "new_memory": new,
        "user_id": of.user_id,
        "event": event,
        "metadata": metadata or {},
        "created_at": _iso(memory.created_at),
        "updated_at": _iso(at),
    }


def history_of(memory: Memory, changes: Iterable[Change]) -> list[dict[str, Any]]:
    """The changes of a memory, oldest first."""
    made: list[dict[str, Any]] = []
    record = memory.record
    first = None if record is not None and memory.id == record.id else memory.messages[0]
    said = next((each for each in memory.messages if each.id == memory.id), first)
    if said is not None:
        made.append(
            entry(memory, "ADD", id=f"chg_{said.id}", at=said.recorded_at, new=said.content)
        )
    for change in changes if record is not None else ():
        old = change.before.text if change.before else said.content if said else None
        new = change.after.text if change.after else None
        event = "ADD" if old is None else "DELETE" if change.op == "retire" else "UPDATE"
        metadata = {} if change.after is None else without_alias(change.after.metadata)
        made.append(
            entry(memory, event, id=change.id, at=change.at, old=old, new=new, metadata=metadata)
        )
    return made


def _turn(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.content}


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).isoformat()
