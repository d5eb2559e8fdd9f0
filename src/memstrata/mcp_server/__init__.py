"""MCP: memory as tools, resources and prompts for the hosts of agents.

How the HTTP service mounts it::

    mcp = http_app(memory, Options(user=None), hosts=None)      # any host: every request has a key

    @asynccontextmanager
    async def life(app):
        async with mcp.running():                               # around all requests
            yield

    app.router.routes.append(Route("/mcp", endpoint=mcp))       # any path will do; POST only

What lets requests in must put the caller's `Grant` into the state of the request before MCP sees
it: `scope["state"]["grant"]`, which is `request.state.grant`. Without one every request is refused.
A `Route` answers at `/mcp` itself; a `Mount` would redirect from there to `/mcp/`.

`memstrata mcp` runs it alone: `serve` over standard input and output, `listen` over HTTP.
"""

from __future__ import annotations

from memstrata.mcp_server.http import LOOPBACK, HttpApp, http_app
from memstrata.mcp_server.server import GrantOf, Options, make_server

__all__ = ["LOOPBACK", "GrantOf", "HttpApp", "Options", "http_app", "make_server"]
