"""A route for every verb: `POST /api/v1/search` is `search`, its arguments one JSON object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from memstrata.access import Grant
from memstrata.api.body import arguments_of
from memstrata.api.caller import actor_of, grant_of
from memstrata.api.events import wants_events
from memstrata.api.problems import MEDIA_TYPE
from memstrata.api.streams import STREAMED, answering
from memstrata.memory import AsyncMemory
from memstrata.verbs import VERBS, Verb, call

__all__ = ["PREFIX", "path_of", "verb_routes"]

PREFIX = "/api/v1"
_WITH_FILES = ("backup", "dump", "load")
"""Name a file. Two have routes in `files.py`; a backup is made where the store is."""
_OFTEN = ("search", "context", "add")
"""Routes are tried one after another: what is asked most comes first."""
_TAGS = {"read": "read", "write": "write", "vault:reveal": "vault", "admin": "run"}


def path_of(name: str) -> str:
    """Where a verb is called."""
    return f"{PREFIX}/{name.replace('.', '/')}"


class _Plain(APIRoute):
    """A route that reads its request and writes its answer itself: it has nothing to solve."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


def verb_routes(memory: AsyncMemory) -> APIRouter:
    """The routes of all verbs but those that move files."""
    router = APIRouter(route_class=_Plain)
    for name in dict.fromkeys((*_OFTEN, *VERBS)):
        if name not in _WITH_FILES:
            _add(router, VERBS[name], _endpoint(memory, VERBS[name]))

    @router.get(f"{PREFIX}/whoami", operation_id="whoami", tags=["run"], response_model=Grant)
    async def whoami(request: Request) -> Response:
        """What the key of this request allows."""
        grant = await grant_of(request, memory)
        return Response(grant.model_dump_json(), media_type="application/json")

    return router


def _add(router: APIRouter, verb: Verb, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
    summary, _, rest = (verb.function.__doc__ or "").strip().partition("\n")
    router.add_api_route(
        path_of(verb.name),
        endpoint,
        methods=["POST"],
        operation_id=verb.name.replace(".", "_"),
        summary=summary,
        description=" ".join(rest.split()),
        tags=["vault" if verb.name.startswith("vault.") else _TAGS[verb.needs]],
        response_model=verb.hints["return"],
        responses={"default": {"description": "A problem", "content": {MEDIA_TYPE: {}}}},
    )


def _endpoint(memory: AsyncMemory, verb: Verb) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        grant = await grant_of(request, memory)
        arguments = await arguments_of(request)
        _take_key(request, verb, arguments)
        if verb.name in STREAMED and wants_events(request):
            return answering(request, memory, grant, verb.name, arguments)
        value = await call(memory, grant, verb.name, arguments, actor=actor_of(request))
        return Response(verb.result.dump_json(value), media_type="application/json")

    return endpoint


def _take_key(request: Request, verb: Verb, arguments: dict[str, Any]) -> None:
    """The header that clients know, where the verb has an argument for it."""
    given = request.headers.get("idempotency-key")
    if given and "idempotency_key" in verb.parameters:
        arguments.setdefault("idempotency_key", given)
