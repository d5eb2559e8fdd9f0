"""What the routes of other systems' clients have in common: errors, arguments, and the caller."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, cast

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memstrata.access import Grant
from memstrata.api.caller import grant_of
from memstrata.api.problems import MEDIA_TYPE, Refused, status_of
from memstrata.errors import InvalidInput, MemstrataError
from memstrata.memory import AsyncMemory
from memstrata.memory.owners import AsyncOwners
from memstrata.records import Scope
from memstrata.verbs import call, handle_of

__all__ = ["ANSWERS", "Caller", "DetailRoute", "body", "query", "unsupported"]

_DETAIL: dict[str, Any] = {
    "type": "object",
    "required": ["detail"],
    "properties": {"detail": {"type": "string"}},
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {}}}},
    "default": {
        "description": "What is wrong, in words",
        "content": {"application/json": {"schema": _DETAIL}, MEDIA_TYPE: {}},
    },
}
"""The answers of these routes for OpenAPI: what the clients want, and errors as they read them."""
_JSON: Mapping[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "texts": {"type": "array", "items": {"type": "string"}},
    "whole": {"type": "integer", "minimum": 1, "maximum": 1000},
    "many": {"type": "integer", "minimum": 1, "maximum": 10_000},
    "page": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "type": {
        "enum": ["all", "episodic", "semantic", "procedural", "resource", "knowledge", "core"]
    },
    "method": {"enum": ["hybrid", "embedding", "bm25", "string_match"]},
    "moment": {"type": ["string", "number"]},
    "any": {},
}
"""Schemas of options, by a word for each."""


class DetailRoute(APIRoute):
    """A route whose errors are `{"detail": …}`, with the statuses that its clients know."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except MemstrataError as error:
                bad = isinstance(error, InvalidInput)
                status = 400 if bad else status_of(error)
                headers = {"Retry-After": "1"} if status == 503 else {}
                return _detail(status, str(error), headers)
            except Refused as error:
                return _detail(error.status, str(error), error.headers)

        return handler


def _detail(status: int, detail: str, headers: Mapping[str, str]) -> Response:
    # An error may quote half a surrogate pair of the caller's.
    safe = detail.encode("utf-8", "backslashreplace").decode("utf-8")
    return JSONResponse({"detail": safe}, status, dict(headers))


def unsupported(what: str, instead: str) -> Refused:
    """The refusal of what has no counterpart here."""
    return Refused(501, "NotImplemented", f"memstrata has no {what}: {instead}")


def body(example: Mapping[str, Any], **options: str) -> dict[str, Any]:
    """What OpenAPI says of a body: its options, each by a word of `_JSON`, and an example."""
    schema = {
        "type": "object",
        "properties": {name: _JSON[word] for name, word in options.items()},
        "example": dict(example),
    }
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def query(**options: str) -> dict[str, Any]:
    """What OpenAPI says of an address: its options, each by a word of `_JSON`."""
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": _JSON[word]}
        for name, word in options.items()
    ]
    return {"parameters": parameters}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: every verb is done with their rights."""

    memory: AsyncMemory
    grant: Grant

    @classmethod
    async def of(cls, request: Request, memory: AsyncMemory) -> Caller:
        """The caller of a request; `Refused` without a key that holds."""
        return cls(memory, await grant_of(request, memory))

    async def do(self, verb: str, scope: Scope | None = None, **arguments: Any) -> Any:
        """Do a verb, in a scope where it has one; arguments that are None are left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        if scope is not None:
            whose = {"user_id": scope.user_id, "agent_id": scope.agent_id}
            given.update({name: value for name, value in whose.items() if value is not None})
        return await call(self.memory, self.grant, verb, given)

    @property
    def owners(self) -> AsyncOwners:
        """Whose a thing is, as far as the caller's key reaches."""
        return handle_of(self.memory, self.grant).owners

    def scope(self, user_id: str | None, agent_id: str | None) -> Scope:
        """A scope in the caller's tenant; what a bound key leaves open is its binding."""
        return Scope(
            tenant=self.grant.tenant,
            user_id=user_id or self.grant.user_id,
            agent_id=agent_id or self.grant.agent_id,
        )

    async def scopes(self) -> list[Scope]:
        """Every scope of the tenant, for those who may know; of a bound key its own."""
        if self.grant.user_id is not None or self.grant.agent_id is not None:
            return [self.scope(None, None)]
        rows = cast("list[dict[str, Any]]", await self.do("scopes"))
        return [self.scope(row["user_id"], row["agent_id"]) for row in rows]
