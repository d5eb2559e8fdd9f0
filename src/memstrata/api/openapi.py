"""The OpenAPI of the service: for every verb what it takes, gives, and how it can fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from memstrata.api.events import MEDIA_TYPE as EVENTS
from memstrata.api.problems import MEDIA_TYPE as PROBLEM
from memstrata.api.routes import PREFIX, path_of
from memstrata.api.shapes import REF, Schema, argument_schema, components
from memstrata.api.streams import STREAMED
from memstrata.api.words import STATUSES, TAGS, told_of
from memstrata.verbs import VERBS, Verb

__all__ = ["describe", "examples"]

_PROBLEM: Schema = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance", "request_id"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:memstrata:error:NotFound"]},
        "title": {"type": "string", "description": "The error's name.", "examples": ["NotFound"]},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do."},
        "instance": {"type": "string", "description": "The path that was called."},
        "request_id": {"type": "string", "description": "By which the server's log has it."},
    },
}
_WITHOUT = frozenset(
    name
    for name, verb in VERBS.items()
    if "user_id" not in verb.parameters or name in ("audit", "audit_secrets", "dump", "verify")
)
"""Verbs that can be called without a word, for they are about the tenant as a whole."""
_LINES = "application/x-ndjson"
_PATH = "path"
"""The argument of verbs that move files; here they are sent."""


def describe(app: FastAPI) -> None:
    """Let the application tell of itself what the framework cannot know."""

    @cache
    def openapi() -> Schema:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            tags=[{"name": name, "description": about} for name, about in TAGS.items()],
        )
        return _completed(schema)

    app.openapi = openapi


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """A `request` and its `response` for every verb, as one store gave them."""
    file = resources.files("memstrata.api") / "examples.json"
    return json.loads(file.read_text("utf-8"))


def _completed(schema: Schema) -> Schema:
    parts: Schema = schema.setdefault("components", {})
    parts.setdefault("schemas", {}).update({**components(), "Problem": _PROBLEM})
    parts["responses"] = {f"Problem{status}": _problem(status) for status in STATUSES}
    parts["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    # A store without keys is open to its own machine.
    schema["security"] = [{"bearer": []}, {"header": []}, {}]
    for verb in VERBS.values():
        if (operations := schema["paths"].get(path_of(verb.name))) is not None:
            _describe_verb(operations["post"], verb)
    stream = schema["paths"][f"{PREFIX}/changes/stream"]["get"]
    _describe_stream(stream)
    for path, operations in schema["paths"].items():
        if path.startswith(f"{PREFIX}/"):
            for operation in operations.values():
                _describe_failures(operation)
    return schema


def _problem(status: int) -> Schema:
    ref = {"$ref": REF.format(model="Problem")}
    return {"description": STATUSES[status], "content": {PROBLEM: {"schema": ref}}}


def _describe_failures(operation: Schema) -> None:
    responses = operation["responses"]
    responses.pop("default", None)
    for status in STATUSES:
        responses[str(status)] = {"$ref": f"#/components/responses/Problem{status}"}


def _describe_verb(operation: Schema, verb: Verb) -> None:
    operation["parameters"] = _headers(verb)
    example = examples().get(verb.name)
    if verb.name == "load":
        lines = {"type": "string", "format": "binary", "description": "What `dump` wrote."}
        operation["requestBody"] = {"required": True, "content": {_LINES: {"schema": lines}}}
        return
    body = _body(verb)
    media: Schema = {"schema": body}
    if example is not None:
        media["examples"] = {verb.name: {"value": example["request"]}}
    content = {"application/json": media}
    needed = bool(body.get("required")) or verb.name not in _WITHOUT
    operation["requestBody"] = {"required": needed, "content": content}
    done = operation["responses"]["200"]
    if verb.name == "dump":
        done["content"] = {_LINES: {"schema": {"type": "string", "format": "binary"}}}
    elif example is not None:
        answers = {verb.name: {"value": example["response"]}}
        done["content"]["application/json"]["examples"] = answers
    if verb.name in STREAMED:
        told = "The events search, answer, receipt (of chat that learns), and end; or error."
        done["content"][EVENTS] = {"schema": {"type": "string", "description": told}}


def _body(verb: Verb) -> Schema:
    """The arguments of a verb as one object."""
    properties: Schema = {}
    required: list[str] = []
    for name, parameter in verb.parameters.items():
        if name == _PATH:
            continue
        told = told_of(verb.name, name)
        words = {"description": told.about, "examples": [told.example]}
        properties[name] = {**argument_schema(verb, name), **words}
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            required.append(name)
    body: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**body, "required": required} if required else body


def _headers(verb: Verb) -> list[Schema]:
    text = {"type": "string"}
    headers: list[Schema] = [
        {
            "name": "Memstrata-Actor",
            "in": "header",
            "schema": text,
            "description": "Who calls, for the audit log.",
            "example": "cook",
        }
    ]
    if "idempotency_key" in verb.parameters:
        told = told_of(verb.name, "idempotency_key")
        headers.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "schema": text,
                "description": "The argument `idempotency_key`, where the body has none.",
                "example": told.example,
            }
        )
    return headers


def _describe_stream(operation: Schema) -> None:
    changes = VERBS["changes"]
    operation["parameters"] = [
        {
            "name": name,
            "in": "query",
            "schema": _no_null(argument_schema(changes, name)),
            "description": told_of("changes", name).about,
            "example": told_of("changes", name).example,
        }
        for name in ("user_id", "agent_id", "cursor")
    ]
    operation["parameters"].append(
        {
            "name": "Last-Event-ID",
            "in": "header",
            "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
            "description": "The id of the last event that was seen: what came since is told first.",
            "example": "42",
        }
    )
    told = "The events ready, and change for each change; or error, which ends it."
    done = operation["responses"]["200"]
    done["content"] = {EVENTS: {"schema": {"type": "string", "description": told}}}


def _no_null(schema: Schema) -> Schema:
    """The schema of an argument that a query cannot set to null."""
    return next(each for each in schema["anyOf"] if each.get("type") != "null")
