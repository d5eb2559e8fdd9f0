"""The shapes of arguments as JSON schemas: what the verbs themselves check, said beforehand.

Types come from the signatures of the verbs; what a signature does not say is here, by the name of
the argument. The verbs check everything, so that an error is the same on every surface.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

from pydantic import TypeAdapter

from memstrata.access import Permission
from memstrata.kinds import KINDS
from memstrata.records import BatchState, EntityType, Lifecycle, Trust
from memstrata.store.filters import FIELDS, OPERATORS, TIMES
from memstrata.verbs import Verb

__all__ = ["REF", "Schema", "argument_schema", "components"]

Schema = dict[str, Any]

REF = "#/components/schemas/{model}"
_SEEN = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"
"""A text with something in it that can be seen, and no NUL."""

_PLAIN = r"^[^\u0000-\u001f]*[^\u0000-\u001f\s][^\u0000-\u001f]*$"
"""The same without any control character."""


def _ref(name: str) -> Schema:
    return {"$ref": REF.format(model=name)}


def _text(**more: Any) -> Schema:
    return {"type": "string", **more}


def _seen(**more: Any) -> Schema:
    return _text(minLength=1, pattern=_SEEN, **more)


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _choices(values: Any) -> Schema:
    return _text(enum=list(get_args(values) or values))


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_WORD = _text(pattern=r"\S")
_TIME = _text(format="date-time")
_MESSAGES: Schema = {"anyOf": [_text(), _ref("MessageInput"), _list(_ref("MessageOrText"))]}
_ID = _seen(maxLength=512)
_OWNER = _text(minLength=1, maxLength=512, pattern=_PLAIN)
_GIVEN_ID = _seen()
_WORDS = _seen(maxLength=4096)

_SEARCHED = sorted({"title", "text"}.union(*(kind.own_fields() for kind in KINDS.values())))

_BY_NAME: Mapping[str, Schema] = {
    "actor": _WORDS,
    "agent_id": _OWNER,
    "as_of": _TIME,
    "batch_id": _GIVEN_ID,
    "batch_or_change": _GIVEN_ID,
    "caption": _WORD,
    "changes": {"type": "object"},
    "cursor": _text(minLength=1),
    "entry_type": _WORD,
    "erased": _list(_WORD),
    "expires_at": _TIME,
    "filters": _ref("Filter"),
    "gain": {"type": "number", "minimum": 0, "maximum": 1},
    "id": _GIVEN_ID,
    "idempotency_key": _ID,
    "ids": _list(_WORD),
    "if_version": {"type": "integer", "minimum": 1, "maximum": 2**31},
    "instructions": _text(maxLength=2000),
    "into": _GIVEN_ID,
    "kinds": _list(_choices(KINDS)),
    "known_at": _TIME,
    "lifecycles": _list(_choices(Lifecycle)),
    "limit": {"type": "integer", "minimum": 1, "maximum": 10_000},
    "locale": _ID,
    "managers": _list(_choices(KINDS)),
    "max_tokens": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "messages": _MESSAGES,
    "metadata": {"type": "object"},
    "name": _WORD,
    "now": _TIME,
    "occurred_at": _TIME,
    "parent": _GIVEN_ID,
    "permissions": _list(_choices(Permission), minItems=1),
    "query": _WORD,
    "question": _WORD,
    "reason": _text(maxLength=4096, pattern=f"^$|{_SEEN}"),
    "record": _ref("RecordInput"),
    "record_id": _GIVEN_ID,
    "search_fields": _list(_choices(_SEARCHED)),
    "secret": _text(minLength=1),
    "session_id": _ID,
    "since": _TIME,
    "source": _ID,
    "state": _choices(BatchState),
    "tags": _list(_WORD),
    "text": _WORD,
    "threshold": {"type": "number", "minimum": 0, "maximum": 1},
    "timeout": {"type": "number", "minimum": 0},
    "timezone": _WORD,
    "type": _choices(EntityType),
    "until": _TIME,
    "user_id": _OWNER,
}
_BY_VERB: Mapping[tuple[str, str], Schema] = {
    ("context", "query"): _MESSAGES,
    ("keys.create", "name"): _ID,
    ("vault.reveal", "reason"): _WORDS,
    ("verify", "erased"): _list(_WORD),
}


def argument_schema(verb: Verb, name: str) -> Schema:
    """What an argument of a verb may be."""
    parameter, hint = verb.parameters[name], verb.hints[name]
    special = _BY_VERB.get((verb.name, name)) or _BY_NAME.get(name)
    if special is None:
        schema: Schema = TypeAdapter(hint).json_schema(ref_template=REF)
    elif parameter.default is None:
        schema = _or_null(special)
    else:
        schema = copy.deepcopy(special)
    default: Any = parameter.default
    if default not in (parameter.empty, None, ()):
        plain = list(cast("tuple[str, ...]", default)) if isinstance(default, tuple) else default
        schema = {**schema, "default": plain}
    return schema


def components() -> Schema:
    """The schemas that those of arguments refer to."""
    found: Schema = {
        "Filter": _filter(),
        "FilterNotEmpty": {"allOf": [_ref("Filter"), {"minProperties": 1}]},
        "FilterTest": {"anyOf": [_scalar(), _operators(_scalar(), OPERATORS)]},
        "FilterTimeTest": {
            "anyOf": [
                _or_null(_TIME),
                _operators(_or_null(_TIME), set(OPERATORS) - {"contains", "starts_with"}),
            ]
        },
        "FilterTagsTest": _operators(_scalar(), ("contains", "exists")),
        "MessageInput": _message(),
        "MessageOrText": {"anyOf": [_text(), _ref("MessageInput")]},
        "RecordInput": {
            "oneOf": [_ref(f"{kind.__name__}Input") for kind in KINDS.values()],
            "discriminator": {
                "propertyName": "kind",
                "mapping": {
                    name: REF.format(model=f"{kind.__name__}Input") for name, kind in KINDS.items()
                },
            },
        },
    }
    for kind in KINDS.values():
        schema = TypeAdapter(kind).json_schema(ref_template=REF)
        found.update({name: _seen_fields(part) for name, part in schema.pop("$defs", {}).items()})
        own = _seen_fields(schema)
        own["required"] = [*cast("list[str]", own.get("required", [])), "kind"]
        own["properties"].pop("sealed", None)
        own["title"] = f"{kind.__name__}Input"
        found[f"{kind.__name__}Input"] = own
    return found


def _seen_fields(schema: Schema) -> Schema:
    """Padding is taken off before a text is measured: one that may not be empty is not blank."""
    for part in cast("dict[str, Schema]", schema.get("properties", {})).values():
        if part.get("minLength"):
            part["pattern"] = r"\S"
    return schema


def _scalar() -> Schema:
    return {"anyOf": [_text(), {"type": "number"}, {"type": "boolean"}, {"type": "null"}]}


def _operators(value: Schema, operators: Iterable[str]) -> Schema:
    ordered = {
        "anyOf": [each for each in value["anyOf"] if each.get("type") in ("string", "number")]
    }
    shapes: dict[str, Schema] = {
        "exists": {"type": "boolean"},
        "in": _list(value),
        "starts_with": _text(),
        **dict.fromkeys(("gt", "gte", "lt", "lte"), ordered),
    }
    return {
        "type": "object",
        "minProperties": 1,
        "properties": {each: shapes.get(each, value) for each in OPERATORS if each in operators},
        "additionalProperties": False,
    }


def _filter() -> Schema:
    tests: Schema = {
        name: _ref("FilterTimeTest" if name in TIMES else "FilterTest")
        for name in FIELDS
        if "<" not in name
    }
    return {
        "type": "object",
        "description": "Fields and what they must be, joined by and; see the page on filters.",
        "properties": {
            **tests,
            "tags": _ref("FilterTagsTest"),
            "and": _list(_ref("FilterNotEmpty"), minItems=1),
            "or": _list(_ref("FilterNotEmpty"), minItems=1),
            "not": _ref("FilterNotEmpty"),
        },
        "patternProperties": {
            r"^(metadata|fields)(\.[A-Za-z0-9_-]{1,64})+$": _ref("FilterTest"),
        },
        "additionalProperties": False,
    }


def _message() -> Schema:
    part = {"anyOf": [_text(), {"type": "object"}]}
    return {
        "type": "object",
        "description": "A chat message, in the shape of OpenAI or of Anthropic.",
        "properties": {
            "role": _text(minLength=1, maxLength=64, default="user"),
            "content": {"anyOf": [_text(), _list(part), {"type": "null"}]},
            "name": _or_null(_text(maxLength=256)),
            "occurred_at": _or_null(_TIME),
            "id": _or_null(_text(minLength=1, maxLength=512)),
            "metadata": {"type": "object"},
            "tags": _list(_text()),
            "trust": _or_null(_choices(Trust)),
        },
        "additionalProperties": True,
    }
