"""The application: its routes, and every way a request can end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memstrata._version import __version__
from memstrata.api.edge import Edge
from memstrata.api.files import file_routes
from memstrata.api.health import health_routes
from memstrata.api.limits import Guard, Options
from memstrata.api.mem0 import mem0_routes
from memstrata.api.metrics import Metrics
from memstrata.api.mirix import mirix_routes
from memstrata.api.openapi import describe
from memstrata.api.problems import Refused, problem, problem_of
from memstrata.api.routes import path_of, verb_routes
from memstrata.api.streams import stream_routes
from memstrata.api.tools import mcp_route
from memstrata.errors import MemstrataError
from memstrata.mcp_server import Options as Tools
from memstrata.mcp_server import http_app
from memstrata.memory import AsyncMemory

__all__ = ["Options", "make_app"]

_ABOUT = """\
Long-term memory for LLM agents. Every verb is a `POST` with its arguments as one JSON object.
"""


# Spans and logs have paths, queries and words of errors in them, and go where a variable says.
_SILENT: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def make_app(memory: AsyncMemory, options: Options | None = None) -> FastAPI:
    """The service over an open store, which stays the caller's to close.

    What ends it sets `app.state.stopping`, an event: what would go on for ever then ends.
    `app.state.guard` calls off what is under way.
    """
    options = options or Options()
    metrics = Metrics()
    # Every request has a key, or comes from this machine to a name of this machine.
    mcp = http_app(memory, Tools(reveal=options.reveal), hosts=None, max_body=options.max_body)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncGenerator[None]:
        async with mcp.running():
            yield

    app = FastAPI(
        title="memstrata",
        version=__version__,
        description=_ABOUT,
        openapi_url="/openapi.json",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_SILENT,
        lifespan=life,
    )
    app.state.stopping = anyio.Event()
    app.state.guard = guard = Guard(options, metrics.refused)
    app.add_middleware(
        Edge,
        options=options,
        guard=guard,
        metrics=metrics,
        limits={path_of("load"): options.max_load},
    )
    app.include_router(verb_routes(memory))
    app.include_router(health_routes(memory, metrics))
    app.include_router(file_routes(memory))
    app.include_router(stream_routes(memory))
    app.router.routes.append(mcp_route(memory, mcp))
    app.include_router(mem0_routes(memory))
    app.include_router(mirix_routes(memory))
    app.add_exception_handler(MemstrataError, _of_ours)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(HTTPException, _of_the_wire)
    describe(app)
    return app


_NAMED = {
    404: ("NoSuchRoute", "nothing is here: verbs are called as POST /api/v1/VERB"),
    405: ("MethodNotAllowed", "it is called in another way: the header Allow says how"),
}


async def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemstrataError)
    return problem_of(request, error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return problem(request, error.status, error.name, str(error), error.headers)


async def _of_the_wire(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    name, detail = _NAMED.get(error.status_code, ("BadRequest", str(error.detail)))
    return problem(request, error.status_code, name, detail, error.headers)
