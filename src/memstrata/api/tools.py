"""MCP at `/mcp`: the same tools as `memstrata mcp` has, with the key of each request."""

from __future__ import annotations

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memstrata.api.caller import grant_of
from memstrata.mcp_server import HttpApp
from memstrata.memory import AsyncMemory

__all__ = ["mcp_route"]


class _Guarded:
    """Lets requests in as every route does, and says what they may do."""

    def __init__(self, memory: AsyncMemory, mcp: HttpApp) -> None:
        self._memory = memory
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        request.state.grant = await grant_of(request, self._memory)
        await self._mcp(scope, receive, send)


def mcp_route(memory: AsyncMemory, mcp: HttpApp) -> Route:
    """Where it answers; `mcp` runs as long as the application does."""
    return Route("/mcp", endpoint=_Guarded(memory, mcp), methods=["POST"])
