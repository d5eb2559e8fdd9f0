"""The verbs that move files: `dump` is downloaded, `load` is sent, as JSON lines."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
from fastapi import APIRouter
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from memstrata.api.body import arguments_of, check_type
from memstrata.api.caller import actor_of, grant_of
from memstrata.api.routes import path_of
from memstrata.errors import InvalidInput, MemstrataError
from memstrata.memory import AsyncMemory
from memstrata.verbs import call, expect_allowed

__all__ = ["LINES", "file_routes"]

LINES = "application/x-ndjson"


def file_routes(memory: AsyncMemory) -> APIRouter:
    """`dump` and `load`; a path is never the caller's to choose."""
    router = APIRouter(tags=["run"])

    @router.post(path_of("dump"), operation_id="dump", response_class=Response)
    async def dump(request: Request) -> Response:
        """Download a scope, or all of the tenant's, as JSON lines."""
        grant = await grant_of(request, memory)
        arguments = await arguments_of(request)
        if "path" in arguments:
            raise InvalidInput("dump has no path here: it is downloaded")
        folder = await _folder()
        path = Path(folder.name, "dump.jsonl")
        try:
            given = {**arguments, "path": str(path)}
            rows = await call(memory, grant, "dump", given, actor=actor_of(request))
        except BaseException:
            await anyio.to_thread.run_sync(folder.cleanup)
            raise
        return FileResponse(
            path,
            media_type=LINES,
            filename="memstrata.jsonl",
            headers={"Memstrata-Rows": str(rows)},
            background=BackgroundTask(folder.cleanup),
        )

    @router.post(path_of("load"), operation_id="load", response_model=int)
    async def load(request: Request) -> Response:
        """Send what `dump` wrote; answers how many rows were new."""
        grant = await grant_of(request, memory)
        check_type(request, LINES)
        expect_allowed(grant, "load", {"path": "load.jsonl"})  # before anything fills the disk
        async with _received(request) as path:
            try:
                rows = await call(memory, grant, "load", {"path": str(path)})
            except MemstrataError as error:  # the caller knows the file by no name of ours
                said = str(error).replace(str(path), "the file that was sent")
                raise type(error)(said) from error
        return JSONResponse(rows)

    return router


async def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process alone (mode 0700)."""
    return await anyio.to_thread.run_sync(lambda: tempfile.TemporaryDirectory(prefix="memstrata-"))


@asynccontextmanager
async def _received(request: Request) -> AsyncGenerator[Path]:
    """The body as a file, gone afterwards."""
    folder = await _folder()
    try:
        path = Path(folder.name, "load.jsonl")
        async with await anyio.open_file(path, "wb") as file:
            async for chunk in request.stream():
                await file.write(chunk)
        yield path
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(folder.cleanup)
