"""What MIRIX's client is answered: the six kinds under its names, and the agent it wants to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from memstrata.errors import InvalidInput
from memstrata.kinds import KINDS
from memstrata.records import Message, Record

__all__ = ["AGENT", "FIELDS", "KIND_OF", "agent_of", "item_of", "kinds_of", "name_of", "turn_of"]

AGENT = "agent-00000000-0000-4000-8000-000000000000"
"""The id of the meta agent: there is one for every tenant, and it is the same."""
KIND_OF: Mapping[str, str] = {
    "episodic": "episodic",
    "semantic": "semantic",
    "procedural": "procedural",
    "resource": "resource",
    "knowledge": "vault",
    "knowledge_vault": "vault",
    "core": "core",
}
"""MIRIX's memory types, and our kinds."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "episodic": ("summary", "details"),
    "semantic": ("name", "summary", "details"),
    "procedural": ("summary", "steps"),
    "resource": ("summary", "content"),
    "vault": ("caption",),
    "core": ("label", "value"),
}
"""The fields that a search may be limited to."""
_NAMES = {"vault": "knowledge"}


def name_of(kind: str) -> str:
    """The kind under MIRIX's name."""
    return _NAMES.get(kind, kind)


def kinds_of(memory_type: object, *, core: bool) -> list[str]:
    """The kinds that a memory type means."""
    if memory_type in (None, "", "all"):
        return [kind for kind in KINDS if core or kind != "core"]
    kind = KIND_OF.get(memory_type.lower()) if isinstance(memory_type, str) else None
    if kind is None:
        raise InvalidInput(f"memory_type is one of {', '.join(KIND_OF)}, all")
    return [kind]


def agent_of(tenant: str) -> dict[str, Any]:
    """The meta agent as the client checks it; the model in it is the server's business."""
    return {
        "id": AGENT,
        "name": "meta_memory_agent",
        "agent_type": "meta_memory_agent",
        "description": "memstrata",
        "system": "",
        "organization_id": None if tenant == "default" else tenant,
        "llm_config": {
            "model": "memstrata",
            "model_endpoint_type": "openai",
            "context_window": 128_000,
        },
        "embedding_config": None,
        "memory": {"blocks": []},
        "tools": [],
        "children": [],
    }


def _iso(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def _own(record: Record, *names: str) -> dict[str, Any]:
    return {name: record.fields.get(name) for name in names}


def _episodic(record: Record) -> dict[str, Any]:
    when = _iso(record.occurred_at)
    own = _own(record, "event_type", "actor", "summary", "details")
    return {"occurred_at": when, "timestamp": when, **own}


def _procedural(record: Record) -> dict[str, Any]:
    return _own(record, "entry_type", "summary", "steps")


def _resource(record: Record) -> dict[str, Any]:
    return {"title": record.title, **_own(record, "resource_type", "summary", "content")}


def _vault(record: Record) -> dict[str, Any]:
    # A sealed secret is in no field; of a contact or bookmark it is no secret.
    own = _own(record, "entry_type", "source", "caption")
    shown = record.fields.get("secret")
    return {**own, "sensitivity": record.sensitivity, "secret_value": shown}


_ITEMS: Mapping[str, Callable[[Record], dict[str, Any]]] = {
    "core": lambda record: _own(record, "label", "value"),
    "episodic": _episodic,
    "semantic": lambda record: _own(record, "name", "summary", "details", "source"),
    "procedural": _procedural,
    "resource": _resource,
    "vault": _vault,
}


def item_of(record: Record) -> dict[str, Any]:
    """A record as MIRIX writes one of its type."""
    return {
        "id": record.id,
        **_ITEMS[record.kind](record),
        "created_at": _iso(record.created_at),
        "updated_at": _iso(record.recorded_at),
    }


def turn_of(message: Message) -> dict[str, Any]:
    """A message of which nothing was distilled, as an event: that it was said."""
    when = _iso(message.occurred_at)
    return {
        "id": message.id,
        "occurred_at": when,
        "timestamp": when,
        "event_type": "message",
        "actor": message.speaker,
        "summary": message.content,
        "details": None,
        "created_at": _iso(message.recorded_at),
        "updated_at": _iso(message.recorded_at),
    }
