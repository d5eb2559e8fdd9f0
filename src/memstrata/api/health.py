"""Whether the service lives, whether it can do its work, and its figures."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from memstrata.api.caller import grant_of
from memstrata.api.metrics import MEDIA_TYPE, Metrics
from memstrata.api.problems import MEDIA_TYPE as PROBLEM
from memstrata.api.problems import Refused
from memstrata.errors import MemstrataError, PermissionDenied
from memstrata.memory import AsyncMemory
from memstrata.memory.pulse import Pulse

__all__ = ["health_routes"]

_PROBLEM = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_NOT_FOR = {
    401: "There is no key, or it is not in force",
    403: "The key is not of an operator",
    429: "Too many requests",
    503: "The store does not answer",
}
_PATIENCE = 2.0
"""Seconds in which the store answers a read that is ready for more."""


def health_routes(memory: AsyncMemory, metrics: Metrics) -> APIRouter:
    """`/healthz`, `/readyz` and `/metrics`."""
    router = APIRouter(tags=["health"])
    pulse = _Probe(memory)

    @router.get("/healthz", operation_id="healthz", summary="Whether the process lives")
    async def healthz() -> dict[str, str]:
        """It needs no key."""
        return {"status": "ok"}

    @router.get(
        "/readyz",
        operation_id="readyz",
        summary="Whether the store answers",
        responses={503: {"description": "It does not, or the end is near", "content": _PROBLEM}},
    )
    async def readyz(request: Request) -> dict[str, str]:
        """It needs no key."""
        stopping = getattr(request.app.state, "stopping", None)
        if stopping is not None and stopping.is_set():
            raise _not_ready("the server is about to end")
        await pulse.check()
        return {"status": "ok"}

    for path, endpoint in (("/healthz", healthz), ("/readyz", readyz)):
        router.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)

    @router.get(
        "/metrics",
        operation_id="metrics",
        summary="Figures for Prometheus",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            **{
                status: {"description": why, "content": _PROBLEM}
                for status, why in _NOT_FOR.items()
            },
        },
    )
    async def figures(request: Request) -> Response:
        """They are of all tenants together.

        With keys it needs one with `admin`, of the server's own tenant and bound to nobody.
        """
        grant = await grant_of(request, memory)
        if "admin" not in grant.permissions or grant.user_id or grant.agent_id:
            raise PermissionDenied("metrics need a key with `admin` that is bound to nobody")
        if grant.tenant != memory.tenant:
            raise PermissionDenied(
                "metrics are of all tenants: they need a key of the server's own tenant"
            )
        waiting, failed = await Pulse(memory).batches()
        return Response(metrics.written(waiting, failed), media_type=MEDIA_TYPE)

    return router


class _Probe:
    """Asks the store one thing at a time, however many wait to know."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._task: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """`Refused` with 503 where the store does not answer in time."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ask())
        # A thread that waits for a disk cannot be called off, and another one would not help.
        done, _ = await asyncio.wait((self._task,), timeout=_PATIENCE)
        if not done:
            raise _not_ready(f"the store has not answered for {_PATIENCE:g} s")
        try:
            await self._task
        except MemstrataError as error:
            raise _not_ready(f"the store does not answer ({type(error).__name__})") from None

    async def _ask(self) -> None:
        await Pulse(self._memory).beat()


def _not_ready(detail: str) -> Refused:
    return Refused(503, "NotReady", detail, {"Retry-After": "1"})
