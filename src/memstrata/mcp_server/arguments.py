"""What the tools take: a subset of their verbs' arguments, by the same names, as JSON Schema.

What a value must be is for the verb to say, so that an error is the same on every surface; here
stand the names, the types a model is told of, and when to use what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from pydantic import JsonValue

from memstrata.errors import InvalidInput
from memstrata.kinds import KINDS, KindModel
from memstrata.records import JsonObject, Method, Stratum, Trust
from memstrata.verbs import VERBS

__all__ = ["SCHEMAS", "as_meant"]


def _text(description: str, **more: Any) -> JsonObject:
    return {"type": "string", "description": description, **more}


def _choice(description: str, choices: Any) -> JsonObject:
    return _text(description, enum=list(get_args(choices)))


def _texts(description: str, choices: Any = None) -> JsonObject:
    items: JsonObject = {"type": "string"}
    if choices is not None:
        items["enum"] = list(choices)
    return {"type": "array", "items": items, "description": description}


def _number(description: str, **more: Any) -> JsonObject:
    return {"type": "integer", "minimum": 1, "description": description, **more}


def _flag(description: str) -> JsonObject:
    return {"type": "boolean", "description": description}


def _mapping(description: str) -> JsonObject:
    return {"type": "object", "description": description}


_OWNER: dict[str, JsonObject] = {
    "user_id": _text("Whose memory. Leave it out: the server or the key knows the user."),
    "agent_id": _text("An agent's own memory beside what the user shares. Usually left out."),
}


def _schema(verb: str, **properties: JsonObject) -> JsonObject:
    """The schema of a tool's arguments; defaults and what is required are the verb's."""
    parameters = VERBS[verb].parameters
    described: dict[str, Any] = {}
    required: list[JsonValue] = []
    for name, about in (*properties.items(), *_OWNER.items()):
        parameter = parameters[name]
        described[name] = dict(about)
        if parameter.default is parameter.empty:
            required.append(name)
        elif "default" not in about and parameter.default not in (None, ()):
            default: Any = parameter.default
            described[name]["default"] = [*default] if isinstance(default, tuple) else default
    return {
        "type": "object",
        "properties": described,
        "required": required,
        "additionalProperties": False,
    }


_WHEN = "ISO 8601, such as 2026-05-08T09:00:00+01:00; without an offset in the user's time zone."
_ROLE = 'Who said it: "user", "assistant", "tool", "system".'
_TURN: JsonObject = {
    "type": "object",
    "properties": {
        "role": _text(_ROLE),
        "content": _text("What was said, word for word."),
        "name": _text("The speaker's name, where the role alone does not say it."),
        "occurred_at": _text(f"When it was said. {_WHEN}"),
    },
    "required": ["role", "content"],
}


def _turns(description: str) -> JsonObject:
    return {
        "anyOf": [{"type": "string"}, {"type": "array", "items": _TURN}],
        "description": description,
    }


_QUERY = "What you want to know: a question or key words, in any language, never blank."
_KINDS = (
    "Only these kinds: core (who the user is), episodic (events), semantic (facts), procedural "
    "(how to), resource (documents), vault (captions of secrets)."
)
_FILTERS = (
    'Conditions on fields, such as {"tags": {"contains": "work"}} or {"metadata.row": "two"}, '
    "combined by and, or, not."
)
_CURSOR = "The `next` of the page before, to go on."
_REASON = "Why, for the log: what the user asked for, in a few words."
_SESSION = "Only of this conversation."
_BEFORE = f"Only what happened before. {_WHEN}"
_AFTER = f"Only what happened from then on. {_WHEN}"
_SHARED = sorted({"title", "tags", "metadata", "path", "expires_at", "sensitivity"})


def _fields() -> str:
    """The fields a record can be given, by kind."""
    unknown = set(_SHARED) - set(KindModel.model_fields)
    assert not unknown, unknown
    own = (
        f"{name}: {', '.join(field for field in kind.model_fields if field in kind.own_fields())}"
        for name, kind in KINDS.items()
    )
    return f"{'; '.join(own)}; every kind: {', '.join(_SHARED)}"


SCHEMAS: Mapping[str, JsonObject] = MappingProxyType(
    {
        "add": _schema(
            "add",
            messages=_turns(
                "A text the user said, or a list of chat messages in order. Word for word: dates, "
                "names and numbers are found in it."
            ),
            session_id=_text(
                "The conversation it belongs to; the same id each time, if you have one."
            ),
            occurred_at=_text(f"When it was said, if not now. {_WHEN}"),
            tags=_texts("Labels to find it by."),
            metadata=_mapping("Facts about the text, for filters: plain JSON, no secrets."),
            trust=_choice(
                "Where it comes from, if not from the user: web for a page, tool for the result of "
                "a tool, agent for your own conclusions. None of it counts as the user's wish.",
                Trust,
            ),
            infer=_flag("False stores the messages only, and draws no facts from them."),
            idempotency_key=_text(
                "Any text of your own: sent again with it, nothing is stored twice."
            ),
        ),
        "search": _schema(
            "search",
            query=_text(_QUERY),
            kinds=_texts(_KINDS, KINDS),
            strata=_texts(
                "Only these strata: messages are the original words, records what was drawn from "
                "them. By default each piece of information comes once.",
                get_args(Stratum),
            ),
            method=_choice(
                "string_match finds the exact characters; hybrid is best for all else.", Method
            ),
            filters=_mapping(_FILTERS),
            since=_text(_AFTER),
            until=_text(_BEFORE),
            as_of=_text(f"What was true at that time in the world. {_WHEN}"),
            known_at=_text(f"What was remembered at that time. {_WHEN}"),
            session_id=_text(_SESSION),
            limit=_number("At most so many hits.", maximum=10_000),
            threshold={
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "description": "Only hits with at least this score.",
            },
        ),
        "context": _schema(
            "context",
            query=_turns("The user's question, or the last turns of the conversation."),
            max_tokens=_number("The budget of the text.", default=3000, maximum=1_000_000),
            kinds=_texts(_KINDS, KINDS),
        ),
        "ask": _schema("ask", question=_text("One question, as the user put it.")),
        "list": _schema(
            "list",
            kinds=_texts(_KINDS, KINDS),
            filters=_mapping(_FILTERS),
            lifecycles=_texts(
                "By default all but retired; review is what waits for a decision.",
                ("current", "past", "review", "retired"),
            ),
            limit=_number("Records in a page.", default=20, maximum=10_000),
            cursor=_text(_CURSOR),
        ),
        "update": _schema(
            "update",
            record_id=_text(
                "The id of the record, as `search` or `list` gave it; not of a message."
            ),
            changes=_mapping(
                f"The fields to change, with their new values; null clears one. {_fields()}"
            ),
            if_version=_number("The version you saw: fails if somebody changed it since."),
            reason=_text(_REASON),
        ),
        "forget": _schema(
            "forget",
            ids=_texts("The messages and records to erase, by the ids `search` or `list` gave."),
            filters=_mapping(f"All that meets these conditions; never empty. {_FILTERS}"),
            session_id=_text("All of this conversation."),
            everything=_flag(
                "True erases all of the user's memory. Only if the user asked for exactly that and "
                "confirmed it after a dry run."
            ),
            dry_run=_flag("True erases nothing and says what would go. Do this first."),
            reason=_text(_REASON),
        ),
        "timeline": _schema(
            "timeline",
            query=_text(
                "What the events have to do with; it may name a time, such as `last week`."
            ),
            since=_text(_AFTER),
            until=_text(_BEFORE),
            limit=_number("At most so many events, the strongest.", maximum=10_000),
        ),
        "reveal": _schema(
            "vault.reveal",
            id=_text("The id of the vault entry: vault_…"),
            reason=_text("Why the secret is needed now; it goes into the audit log."),
        ),
    }
)
"""The arguments of each tool."""


def as_meant(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool's verb takes them.

    An argument that is null is one that was left out. A list or mapping that a host has sent as
    JSON in a text is read; where the tool takes a text, it is a text, whatever it looks like.
    """
    properties: Any = SCHEMAS[tool]["properties"]
    if unknown := [name for name in given if name not in properties]:
        raise InvalidInput(
            f"{tool} has no argument {unknown[0][:80]!r}: use {', '.join(properties)}"
        )
    meant = {name: about["default"] for name, about in properties.items() if "default" in about}
    meant.update(
        (name, _read(properties[name].get("type"), value))
        for name, value in given.items()
        if value is not None
    )
    return meant


_READ: Mapping[str, type] = MappingProxyType({"array": list, "object": dict})


def _read(kind: str | None, value: Any) -> Any:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    wanted = _READ.get(kind or "")
    if wanted is None or not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, wanted) else value
