"""The routes that mem0's own `MemoryClient` calls, in all generations of it.

Paths end in a slash, as the client sends them. What each option and field becomes is in
docs/compatible.md.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memstrata.api import mem0_calls as calls
from memstrata.api.body import arguments_of
from memstrata.api.compat import ANSWERS, Caller, DetailRoute, body, query, unsupported
from memstrata.api.mem0_shapes import shown
from memstrata.api.memories import find
from memstrata.errors import InvalidInput
from memstrata.memory import AsyncMemory

__all__ = ["mem0_routes"]

_TO_ADD = body(
    {"messages": [{"role": "user", "content": "I moved to Lisbon."}], "user_id": "ana"},
    messages="any",
    user_id="text",
    agent_id="text",
    app_id="text",
    run_id="text",
    filters="object",
    metadata="object",
    infer="flag",
    timestamp="moment",
    expiration_date="text",
)
_TO_SEARCH = body(
    {"query": "where does she live?", "filters": {"user_id": "ana"}, "top_k": 5},
    query="text",
    filters="object",
    metadata="object",
    categories="texts",
    top_k="whole",
    threshold="share",
    fields="texts",
    reference_date="moment",
)
_TO_LIST = body(
    {"filters": {"AND": [{"user_id": "ana"}, {"created_at": {"gte": "2026-01-01"}}]}},
    filters="object",
    metadata="object",
    categories="texts",
    fields="texts",
    start_date="moment",
    end_date="moment",
)
_TO_CHANGE = body(
    {"text": "Ana lives in Porto"},
    text="text",
    metadata="object",
    timestamp="moment",
    expiration_date="any",
)
_IN_ADDRESS = query(user_id="text", agent_id="text", app_id="text", run_id="text", filters="text")
_PAGES = query(user_id="text", agent_id="text", run_id="text", page="page", page_size="many")
_MANY = body({"memories": [{"memory_id": "msg_0", "text": "new"}]}, memories="objects")
_PROJECT = ("org_id", "project_id")
_MOST = 1000
"""Memories in one batch."""
_NONE: Mapping[str, tuple[tuple[str, ...], str]] = {
    "/v1/exports/": (("POST",), "export with `memstrata dump`"),
    "/v1/exports/get/": (("POST",), "export with `memstrata dump`"),
    "/v1/summary/": (("POST",), "ask for a context: POST /api/v1/context"),
    "/v1/feedback/": (("POST",), "correct or delete the memory instead"),
    "/v2/profiles/jobs/": (("POST",), "the profile is made by `consolidate`"),
    "/v2/profiles/settings/": (("GET", "POST"), "the profile is made by `consolidate`"),
}
"""Calls without a counterpart, and what to do instead."""


def mem0_routes(memory: AsyncMemory) -> APIRouter:
    """All of them."""
    router = APIRouter(tags=["mem0"], route_class=DetailRoute, responses=ANSWERS)
    _add_ping(router, memory)
    _add_lists(router, memory)
    _add_older(router, memory)
    _add_one(router, memory)
    _add_many(router, memory)
    _add_owners(router, memory)
    for path, (methods, instead) in _NONE.items():
        _add_refusal(router, path, methods, instead)
    return router


async def _body(caller: Caller, request: Request) -> dict[str, Any]:
    """The options of a call: its body, and what its address says besides."""
    return _own({**_query(request), **await arguments_of(request)}, caller)


def _own(given: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """Without the project that `ping` named, which older clients repeat with every call."""
    tenant = caller.grant.tenant
    return {key: each for key, each in given.items() if key not in _PROJECT or each != tenant}


def _query(request: Request) -> dict[str, Any]:
    given: dict[str, Any] = dict(request.query_params)
    for name in ("filters", "metadata"):
        if name in given:
            given[name] = _literal(name, given[name])
    for name in ("categories", "fields"):
        if name in given:
            given[name] = request.query_params.getlist(name)
    for name in ("show_expired", "latest_only", "delete_linked"):
        if name in given:
            given[name] = given[name].lower() in ("true", "1")
    return given


def _literal(name: str, text: str) -> Any:
    """A mapping in an address: the client writes it as Python does, others as JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise InvalidInput(f"{name} is no object") from None


def _deleted(gone: int) -> Response:
    return JSONResponse({"message": f"Memories deleted: {gone}", "deleted": gone})


def _add_ping(router: APIRouter, memory: AsyncMemory) -> None:
    @router.get("/v1/ping/", operation_id="mem0_ping")
    async def ping(request: Request) -> Response:
        """Whether the key holds."""
        tenant = (await Caller.of(request, memory)).grant.tenant
        return JSONResponse({"status": "ok", **dict.fromkeys(_PROJECT, tenant), "user_email": None})

    @router.get("/v1/event/{event_id}/", operation_id="mem0_event")
    async def event(request: Request, event_id: str) -> Response:
        """How far an `add` has got."""
        return JSONResponse(await calls.event(await Caller.of(request, memory), event_id))


def _add_lists(router: APIRouter, memory: AsyncMemory) -> None:
    @router.post("/v3/memories/add/", operation_id="mem0_add", openapi_extra=_TO_ADD)
    async def add(request: Request) -> Response:
        """Store messages; waits until memories are made of them, so that their ids hold."""
        caller = await Caller.of(request, memory)
        return JSONResponse(await calls.add(caller, await _body(caller, request)))

    @router.post("/v3/memories/search/", operation_id="mem0_search", openapi_extra=_TO_SEARCH)
    async def search(request: Request) -> Response:
        """The memories that fit a query, best first."""
        caller = await Caller.of(request, memory)
        return JSONResponse({"results": await calls.found(caller, await _body(caller, request))})

    @router.post("/v3/memories/", operation_id="mem0_list", openapi_extra=_TO_LIST)
    async def listing(request: Request) -> Response:
        """The memories that filters ask for, newest first, page by page."""
        caller = await Caller.of(request, memory)
        given = await _body(caller, request)
        return JSONResponse(_page(request, await calls.listed(caller, given)))


def _add_older(router: APIRouter, memory: AsyncMemory) -> None:
    """What clients before 2.0 call in place of these."""

    @router.post("/v1/memories/", operation_id="mem0_add_v1", openapi_extra=_TO_ADD)
    async def add_v1(request: Request) -> Response:
        """The same, as clients before 2.0 call it."""
        caller = await Caller.of(request, memory)
        given = await _body(caller, request)
        made = await calls.add(caller, given)
        return JSONResponse(made if given.get("output_format") == "v1.1" else made["results"])

    async def search_before(request: Request) -> Response:
        """The same, as clients before 2.0 call it."""
        caller = await Caller.of(request, memory)
        given = await _body(caller, request)
        results = await calls.found(caller, given)
        wrapped = given.get("output_format") == "v1.1"
        return JSONResponse({"results": results} if wrapped else results)

    async def listing_before(request: Request) -> Response:
        """The same, as clients before 2.0 call it."""
        caller = await Caller.of(request, memory)
        given = await _body(caller, request)
        found = await calls.listed(caller, given)
        paged = "page" in given or given.get("output_format") == "v1.1"
        return JSONResponse(_page(request, found) if paged else found.results)

    for version in ("v1", "v2"):
        router.add_api_route(
            f"/{version}/memories/search/",
            search_before,
            methods=["POST"],
            operation_id=f"mem0_search_{version}",
            openapi_extra=_TO_SEARCH,
        )
    router.add_api_route(
        "/v1/memories/",
        listing_before,
        methods=["GET"],
        operation_id="mem0_list_v1",
        openapi_extra=_PAGES,
    )
    router.add_api_route(
        "/v2/memories/",
        listing_before,
        methods=["POST"],
        operation_id="mem0_list_v2",
        openapi_extra=_TO_LIST,
    )


def _page(request: Request, found: calls.Listed) -> dict[str, Any]:
    page, size = found.page, found.size
    address = request.url.include_query_params(page_size=size)
    after = str(address.include_query_params(page=page + 1)) if page * size < found.count else None
    before = str(address.include_query_params(page=page - 1)) if page > 1 else None
    return {"count": found.count, "next": after, "previous": before, "results": found.results}


def _add_one(router: APIRouter, memory: AsyncMemory) -> None:
    path = "/v1/memories/{memory_id}/"

    @router.get(path, operation_id="mem0_get")
    async def get(request: Request, memory_id: str) -> Response:
        """One memory."""
        return JSONResponse(shown(await find(await Caller.of(request, memory), memory_id)))

    @router.put(path, operation_id="mem0_update", openapi_extra=_TO_CHANGE)
    async def update(request: Request, memory_id: str) -> Response:
        """Change a memory's text, metadata, time or last day."""
        caller = await Caller.of(request, memory)
        return JSONResponse(
            shown(await calls.change(caller, memory_id, await _body(caller, request)))
        )

    @router.delete(path, operation_id="mem0_delete")
    async def delete(request: Request, memory_id: str) -> Response:
        """Erase a memory for good; with `delete_linked` also those that it took the place of."""
        caller = await Caller.of(request, memory)
        linked = _query(request).get("delete_linked") is True
        gone = await calls.delete(caller, [memory_id], linked=linked)
        return JSONResponse({"message": "Memory deleted successfully!", "deleted": gone})

    @router.get(f"{path}history/", operation_id="mem0_history")
    async def history(request: Request, memory_id: str) -> Response:
        """What became of a memory, oldest first."""
        return JSONResponse(await calls.history(await Caller.of(request, memory), memory_id))


def _add_many(router: APIRouter, memory: AsyncMemory) -> None:
    @router.delete("/v1/memories/", operation_id="mem0_delete_all", openapi_extra=_IN_ADDRESS)
    async def delete_all(request: Request) -> Response:
        """Erase all memories of an owner, for good; without one it is refused."""
        caller = await Caller.of(request, memory)
        return _deleted(await calls.delete_all(caller, _own(_query(request), caller)))

    @router.put("/v1/batch/", operation_id="mem0_batch_update", openapi_extra=_MANY)
    async def batch_update(request: Request) -> Response:
        """Change several memories; if one is not there, none."""
        caller = await Caller.of(request, memory)
        items = await _items(request)
        for item in items:
            await find(caller, item["memory_id"])
        for item in items:
            rest = {key: value for key, value in item.items() if key != "memory_id"}
            await calls.change(caller, item["memory_id"], rest)
        return JSONResponse({"message": f"Memories updated: {len(items)}"})

    @router.delete("/v1/batch/", operation_id="mem0_batch_delete", openapi_extra=_MANY)
    async def batch_delete(request: Request) -> Response:
        """Erase several memories for good; if one is not there, none."""
        caller = await Caller.of(request, memory)
        ids = [item["memory_id"] for item in await _items(request)]
        return _deleted(await calls.delete(caller, ids))


async def _items(request: Request) -> list[dict[str, Any]]:
    given = (await arguments_of(request)).get("memories")
    items = cast("list[Any]", given) if isinstance(given, list) else []
    if not 0 < len(items) <= _MOST or not all(_is_named(each) for each in items):
        raise InvalidInput(f"memories is a list of 1 to {_MOST} objects, each with a memory_id")
    return items


def _is_named(item: Any) -> bool:
    named = cast("dict[str, Any]", item).get("memory_id") if isinstance(item, dict) else None
    return isinstance(named, str)


def _add_owners(router: APIRouter, memory: AsyncMemory) -> None:
    @router.get("/v1/entities/", operation_id="mem0_users")
    async def users(request: Request) -> Response:
        """The users and agents that have memories; for keys with the permission admin."""
        found = await calls.users(await Caller.of(request, memory))
        return JSONResponse({"count": len(found), "next": None, "previous": None, "results": found})

    async def delete(request: Request, kind: str, name: str) -> Response:
        """Erase all that is remembered of a user or an agent, for good."""
        gone = await calls.delete_entity(await Caller.of(request, memory), kind, name)
        return _deleted(gone)

    for version in ("v1", "v2"):
        router.add_api_route(
            # A name may have slashes in it.
            f"/{version}/entities/{{kind}}/{{name:path}}/",
            delete,
            methods=["DELETE"],
            operation_id=f"mem0_delete_users_{version}",
        )


def _add_refusal(router: APIRouter, path: str, methods: tuple[str, ...], instead: str) -> None:
    async def refuse(_: Request) -> Response:
        raise unsupported(f"{path} of mem0", instead)

    router.add_api_route(path, refuse, methods=[*methods], include_in_schema=False)
