"""What is streamed: the change log as it is written, and answers as they are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from memstrata.access import Grant
from memstrata.answers import Answer, Searched
from memstrata.api.caller import actor_of, grant_of
from memstrata.api.events import Events, Stream
from memstrata.chat.progress import Step, listening
from memstrata.errors import InvalidInput
from memstrata.memory import AsyncMemory
from memstrata.memory.pulse import Pulse
from memstrata.records import Receipt
from memstrata.verbs import call

__all__ = ["STREAMED", "answering", "stream_routes"]

STREAMED = ("ask", "chat")
"""The verbs whose answer can be followed while it is made."""

_PAUSE = 0.25
"""Seconds between looks for what other processes wrote, for all streams together."""
_RECHECK = 2.0
"""Seconds after which the key of a stream is looked at again, whether or not there is news."""
_PAGE = 500
_ASKED = ("user_id", "agent_id", "cursor")


class Tide:
    """Whether anything was written to the store, asked for all streams together.

    Whoever waits and is first looks for all others; nobody looks while nobody waits.
    """

    def __init__(self, memory: AsyncMemory) -> None:
        self.height = -1
        """How far the store had come when it was last looked at."""
        self._pulse = Pulse(memory)
        self._lock = anyio.Lock()

    async def look(self) -> int:
        """How far the store has come."""
        self.height = max(self.height, await self._pulse.newest())
        return self.height

    async def past(self, height: int) -> None:
        """Wait until the store has come further."""
        while self.height <= height:
            async with self._lock:
                if self.height <= height:
                    await anyio.sleep(_PAUSE)
                    await self.look()


def stream_routes(memory: AsyncMemory) -> APIRouter:
    """The change log of a scope, as it is written."""
    router = APIRouter(tags=["read"])
    tide = Tide(memory)

    @router.get("/api/v1/changes/stream", operation_id="changes_stream", response_class=Response)
    async def changes_stream(request: Request) -> Response:
        """Follow the change log: what `changes` tells, as it is written by whichever process."""
        grant = await grant_of(request, memory)
        asked = dict(request.query_params)
        if unknown := sorted(asked.keys() - set(_ASKED)):
            raise InvalidInput(
                f"the stream of changes has no argument {unknown[0][:80]!r}: use "
                f"{', '.join(_ASKED)}"
            )
        place = request.headers.get("last-event-id") or asked.pop("cursor", None)
        given = {name: value for name, value in asked.items() if name != "cursor"}

        async def tell(stream: Stream) -> None:
            await _follow(request, memory, grant, tide, stream, given, place)

        return Events(request, tell, until=request.app.state.stopping)

    return router


async def _follow(
    request: Request,
    memory: AsyncMemory,
    grant: Grant,
    tide: Tide,
    stream: Stream,
    given: Mapping[str, Any],
    place: str | None,
) -> None:
    """Tell of every change after a place, or from now on, each once and in order."""
    height = await tide.look()
    place = str(height) if place is None else place
    while True:
        asked = {**given, "cursor": place, "limit": _PAGE}
        page = await call(memory, grant, "changes", asked, actor=actor_of(request))
        if not stream.begun:  # what was wrong with the call has been said by now
            await stream.event("ready", "{}", place)
        for change in page:
            place = change.cursor
            await stream.event("change", change.model_dump_json(), place)
        if page.next is None:
            with anyio.move_on_after(_RECHECK):
                await tide.past(height)
            grant = await grant_of(request, memory)
            height = tide.height


def answering(
    request: Request, memory: AsyncMemory, grant: Grant, name: str, arguments: Mapping[str, Any]
) -> Response:
    """An answer as it is made: `search`, `answer`, `receipt`, `end`."""

    async def tell(stream: Stream) -> None:
        async def heard(step: Step, what: Searched | Answer | Receipt) -> None:
            await stream.event(step, what.model_dump_json())

        with listening(heard):
            await call(memory, grant, name, arguments, actor=actor_of(request))
        await stream.event("end", "{}")

    return Events(request, tell)
