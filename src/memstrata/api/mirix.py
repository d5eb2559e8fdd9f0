"""The routes that MIRIX's own `MirixClient` calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memstrata.api import mirix_calls as calls
from memstrata.api.body import arguments_of
from memstrata.api.compat import ANSWERS, Caller, DetailRoute, body, query, unsupported
from memstrata.api.mirix_shapes import AGENT, agent_of
from memstrata.errors import NotFound
from memstrata.memory import AsyncMemory

__all__ = ["mirix_routes"]

_TURNS = [{"role": "user", "content": [{"type": "text", "text": "I moved to Lisbon."}]}]
_USER = body({"user_id": "ana"}, user_id="text", name="any")
_START = body({"config": {"llm_config": {"model": "any"}}}, config="any")
_TO_ADD = body(
    {"user_id": "ana", "messages": _TURNS, "filter_tags": {"project": "home"}},
    user_id="text",
    messages="objects",
    filter_tags="object",
    occurred_at="text",
    async_add="flag",
)
_TO_CLEAR = body({"user_id": "ana"}, user_id="text")
_TO_RETRIEVE = body(
    {"user_id": "ana", "messages": _TURNS, "limit": 5},
    user_id="text",
    messages="any",
    limit="whole",
    filter_tags="object",
    start_date="text",
    end_date="text",
)
_OF_A_TOPIC = query(user_id="text", topic="text", limit="whole", filter_tags="text")
_SEARCHED = {
    "query": "text",
    "memory_type": "type",
    "search_field": "text",
    "search_method": "method",
    "limit": "whole",
    "filter_tags": "text",
    "similarity_threshold": "share",
    "start_date": "text",
    "end_date": "text",
}
_TO_SEARCH = query(user_id="text", **_SEARCHED)
_OVER_ALL = query(**_SEARCHED)
_OF_A_TYPE = query(user_id="text", memory_type="type", limit="whole")
_NONE: Mapping[str, str] = {
    "/agents": "the meta agent is there by itself, and is all there is",
    "/agents/{rest:path}": "agents are not made or changed here",
    "/blocks": "core memory is a kind of record: POST /api/v1/list with kinds ['core']",
    "/blocks/{rest:path}": "core memory is a kind of record: POST /api/v1/get",
    "/tools": "agents have no tools here",
    "/tools/{rest:path}": "agents have no tools here",
    "/config/{rest:path}": "models are the server's own: see its settings",
    "/organizations": "the key alone decides whose data is used",
}
"""What else the client can call, and what to do instead."""


def mirix_routes(memory: AsyncMemory) -> APIRouter:
    """All of them."""
    router = APIRouter(tags=["mirix"], route_class=DetailRoute, responses=ANSWERS)
    _add_agents(router, memory)
    _add_writing(router, memory)
    _add_reading(router, memory)
    for path, instead in _NONE.items():
        _add_refusal(router, path, instead)
    return router


def _add_agents(router: APIRouter, memory: AsyncMemory) -> None:
    @router.post("/users/create_or_get", operation_id="mirix_user", openapi_extra=_USER)
    async def user(request: Request) -> Response:
        """A user's id: the one given, or a new one; a user is there once something is stored."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.user(caller, await arguments_of(request)))

    @router.post("/agents/meta/initialize", operation_id="mirix_initialize", openapi_extra=_START)
    async def initialize(request: Request) -> Response:
        """The meta agent; which models it works with is the server's to say."""
        caller = await Caller.of(request, memory)
        await arguments_of(request)  # not kept: keys to models are in it
        return JSONResponse(agent_of(caller.grant.tenant))

    @router.get("/agents", operation_id="mirix_agents")
    async def agents(request: Request) -> Response:
        """The meta agent, which is all there is."""
        caller = await Caller.of(request, memory)
        return JSONResponse([agent_of(caller.grant.tenant)])

    @router.get("/agents/{agent_id}", operation_id="mirix_agent")
    async def agent(request: Request, agent_id: str) -> Response:
        """The meta agent by its id."""
        caller = await Caller.of(request, memory)
        if agent_id != AGENT:
            raise NotFound("no agent of this id is here: there is only the meta agent")
        return JSONResponse(agent_of(caller.grant.tenant))


def _add_writing(router: APIRouter, memory: AsyncMemory) -> None:
    @router.post("/memory/add", operation_id="mirix_add", openapi_extra=_TO_ADD)
    async def add(request: Request) -> Response:
        """Store conversation turns; with `async_add` they are distilled after the answer."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.add(caller, await arguments_of(request)))

    @router.post("/memory/add_sync", operation_id="mirix_add_sync", openapi_extra=_TO_ADD)
    async def add_sync(request: Request) -> Response:
        """Store conversation turns, and distil them before the answer."""
        caller = await Caller.of(request, memory)
        given = {**await arguments_of(request), "async_add": False}
        return JSONResponse(await calls.add(caller, given))

    @router.post("/memory/clear", operation_id="mirix_clear", openapi_extra=_TO_CLEAR)
    async def clear(request: Request) -> Response:
        """Erase all that is remembered of a user, for good."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.clear(caller, await arguments_of(request)))


def _add_reading(router: APIRouter, memory: AsyncMemory) -> None:
    @router.post(
        "/memory/retrieve/conversation",
        operation_id="mirix_retrieve_conversation",
        openapi_extra=_TO_RETRIEVE,
    )
    async def conversation(request: Request) -> Response:
        """What is remembered that has to do with a conversation, by kind."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.conversation(caller, await arguments_of(request)))

    @router.get(
        "/memory/retrieve/topic", operation_id="mirix_retrieve_topic", openapi_extra=_OF_A_TOPIC
    )
    async def topic(request: Request) -> Response:
        """What is remembered of a topic, by kind."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.topic(caller, _query(request)))

    @router.get("/memory/search", operation_id="mirix_search", openapi_extra=_TO_SEARCH)
    async def search(request: Request) -> Response:
        """A flat list of what is found, the best first."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.search(caller, _query(request)))

    @router.get(
        "/memory/search_all_users", operation_id="mirix_search_all_users", openapi_extra=_OVER_ALL
    )
    async def search_all(request: Request) -> Response:
        """The same over all users; for keys with the permission admin."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.search_all(caller, _query(request)))

    @router.get("/memory/components", operation_id="mirix_components", openapi_extra=_OF_A_TYPE)
    async def components(request: Request) -> Response:
        """All that is remembered of a user, by kind."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.components(caller, _query(request)))


def _query(request: Request) -> dict[str, Any]:
    """The options in an address, as the JSON they stand for."""
    given: dict[str, Any] = dict(request.query_params)
    for name in ("filter_tags", "limit", "similarity_threshold"):
        if name in given:
            with suppress(ValueError, RecursionError):  # the call says what is wrong with it
                given[name] = json.loads(given[name])
    return given


def _add_refusal(router: APIRouter, path: str, instead: str) -> None:
    async def refuse(_: Request) -> Response:
        raise unsupported(f"{path.partition('{')[0]} of MIRIX beyond these routes", instead)

    methods = (
        ["DELETE", "PATCH", "POST"] if path == "/agents" else ["GET", "POST", "PATCH", "DELETE"]
    )
    router.add_api_route(path, refuse, methods=methods, include_in_schema=False)
