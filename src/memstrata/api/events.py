"""Server-sent events: a response that is told piece by piece, and ends when it should."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memstrata.api.problems import Refused, problem, problem_of
from memstrata.errors import MemstrataError

__all__ = ["MEDIA_TYPE", "Events", "Stream", "wants_events"]

MEDIA_TYPE = "text/event-stream"
_BEAT = 15.0
"""Seconds after which a comment is sent, so that nothing between takes the stream for dead."""
_HEADERS = {
    "content-type": f"{MEDIA_TYPE}; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # a proxy is not to wait for more
}


def wants_events(request: Request) -> bool:
    """Whether a request asks to be answered by a stream of events."""
    accepted = request.headers.get("accept", "").lower().split(",")
    return any(one.partition(";")[0].strip() == MEDIA_TYPE for one in accepted)


class Stream:
    """Events on their way to one client; the response begins with the first of them."""

    def __init__(self, send: Send) -> None:
        self.begun = False
        self._send = send
        self._lock = anyio.Lock()

    async def event(self, name: str, data: str, place: str | None = None) -> None:
        """Send an event; who comes again with its `place` gets what is after it."""
        await self._write(format_sse_event(event=name, data_str=data, id=place))

    async def beat(self) -> None:
        """Send comments for as long as the stream is open."""
        while True:
            await anyio.sleep(_BEAT)
            await self._write(KEEPALIVE_COMMENT)

    async def end(self) -> None:
        """Say that nothing more comes."""
        await self._write(b"", more=False)

    async def _write(self, chunk: bytes, *, more: bool = True) -> None:
        async with self._lock:
            if not self.begun:
                self.begun = True
                headers = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                start = {"type": "http.response.start", "status": 200, "headers": headers}
                await self._send(start)
            await self._send({"type": "http.response.body", "body": chunk, "more_body": more})


class Events(Response):
    """What `tell` sends to its stream.

    An error before the first event is an ordinary problem response, and after it an event `error`
    with the same problem. With `until` the stream ends when that is set, and when the client goes;
    without, what was asked for is done to its end, as without a stream.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        request: Request,
        tell: Callable[[Stream], Awaitable[None]],
        *,
        until: anyio.Event | None = None,
    ) -> None:
        super().__init__()
        self._request = request
        self._tell = tell
        self._until = until

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        stream = Stream(send)
        refusal: Response | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(stream.beat)
            if self._until is not None:
                group.start_soon(_once_gone, receive, group.cancel_scope)
                group.start_soon(_once_set, self._until, group.cancel_scope)
            try:
                await self._tell(stream)
            except MemstrataError as error:
                refusal = problem_of(self._request, error)
            except Refused as error:
                status, name = error.status, error.name
                refusal = problem(self._request, status, name, str(error), error.headers)
            group.cancel_scope.cancel()
        if refusal is not None and not stream.begun:
            await refusal(scope, receive, send)
            return
        if refusal is not None:
            await stream.event("error", bytes(refusal.body).decode())
        await stream.end()


async def _once_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _once_set(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
