"""What surrounds every request: its id, its limits, its line in the log, its end."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

import anyio
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstrata.api.limits import Guard, Options
from memstrata.api.log import log_request, log_unexpected
from memstrata.api.metrics import Metrics, method_of
from memstrata.api.problems import Refused, problem

__all__ = ["UNLIMITED", "CutShort", "Edge", "route_of"]

UNLIMITED = ("/healthz", "/readyz", "/metrics")
"""Paths that are answered however much there is to do: somebody asks whether we live."""
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_FIXED = ("/mcp", "/openapi.json")
"""What is answered without a route of the framework's."""
_GONE = 499
"""Written down for a client that left; nobody is told it."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class CutShort(Exception):
    """An answer that had begun and cannot be ended; the log has why."""


class Edge:
    """The outermost layer of the application.

    `limits` are the largest bodies of routes that have one of their own, which do not keep them in
    memory.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        options: Options,
        guard: Guard,
        metrics: Metrics,
        limits: Mapping[str, int],
    ) -> None:
        self._app = app
        self._options = options
        self._guard = guard
        self._metrics = metrics
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        own = self._limits.get(scope["path"])
        exchange = _Exchange(
            scope, receive, send, self._guard, self._options.patience,
            self._options.max_body if own is None else own, kept=own is None,
        )  # fmt: skip
        self._metrics.began()
        try:
            with self._guard.running() as running:
                await self._answer(exchange)
            if running.cancelled_caught:
                detail = "the server ends before this was done: ask again, of the next one"
                await exchange.refuse(Refused(503, "Ending", detail, {"Retry-After": "1"}))
        finally:
            self._note(exchange)

    async def _answer(self, exchange: _Exchange) -> None:
        if exchange.scope["path"] in UNLIMITED:
            await self._run(exchange)
            return
        try:
            self._guard.enter()
        except Refused as refused:
            await exchange.refuse(refused)
            return
        try:
            await self._run(exchange)
        finally:
            self._guard.leave(exchange.state)

    async def _run(self, exchange: _Exchange) -> None:
        try:
            exchange.check_length()
            await self._app(exchange.scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            return
        except Refused as refused:
            exchange.refused = refused
        except Exception as error:  # noqa: BLE001 - the outermost frame of this surface
            if exchange.refused is None:
                log_unexpected(exchange.id, route_of(exchange.scope), error)
                exchange.refused = Refused(
                    500,
                    "InternalError",
                    "this failed for a reason that is not yours; the server's log says where, by "
                    "the request's id",
                )
        if exchange.refused is not None:
            await exchange.refuse(exchange.refused)

    def _note(self, exchange: _Exchange) -> None:
        seconds = time.perf_counter() - exchange.began
        route, method = route_of(exchange.scope), method_of(exchange.scope["method"])
        status = exchange.status or _GONE
        streamed = None if exchange.streams else seconds
        self._metrics.ended(method, route, status, streamed, exchange.received, exchange.sent)
        log_request(
            {
                "request_id": exchange.id,
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 1),
                "in": exchange.received,
                "out": exchange.sent,
                "key": exchange.state.get("key"),
            }
        )


class _Exchange:
    """One request and its answer, as they pass."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        guard: Guard,
        patience: float,
        limit: int,
        *,
        kept: bool,
    ) -> None:
        self.began = time.perf_counter()
        self.id = _id_of(scope)
        self.state: dict[str, Any] = {**scope.get("state", {}), "request_id": self.id}
        self.state["guard"] = guard
        self.scope = scope
        scope["state"] = self.state
        self.status = 0
        self.streams = False
        self.received = 0
        self.sent = 0
        self.refused: Refused | None = None
        self._receive = receive
        self._send = send
        self._guard = guard
        self._patience = patience
        self._limit = limit
        self._kept = kept
        self._complete = False

    def check_length(self) -> None:
        """`Refused` with 413 for a body that is said to be too large, before any of it is read."""
        said = dict(self.scope["headers"]).get(b"content-length", b"")
        if said.isdigit() and int(said) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        """The next part of the body, counted; `Refused` where it is too much, or too slow."""
        if self._complete:
            return await self._receive()
        try:
            with anyio.fail_after(self._patience):
                message = await self._receive()
        except TimeoutError:
            self._guard.refused("slow")
            late = f"{self._patience:g} s went by without more of the body: send it again"
            raise self._refuse(Refused(408, "RequestTimeout", late)) from None
        self._complete = not message.get("more_body", False)
        size = len(message.get("body", b""))
        self.received += size
        if self.received > self._limit:
            raise self._too_large()
        if self._kept and size:
            try:
                self._guard.hold(self.state, size)
            except Refused as refused:
                raise self._refuse(refused) from None
        return message

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on; nothing once the request is refused."""
        if self.refused is not None and not self.status:
            return  # whatever the application made of it, the refusal is what is said
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=list(message.get("headers", [])))
            self.streams = headers.get("content-type", "").startswith("text/event-stream")
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-ID"] = self.id
            message = {**message, "headers": headers.raw}
        self.sent += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, refused: Refused) -> None:
        """End with a problem; `CutShort` where the answer has begun."""
        if self.status:
            raise CutShort(f"request {self.id} is cut short") from None
        self.refused = None
        answer = problem(
            Request(self.scope), refused.status, refused.name, str(refused), refused.headers
        )
        await answer(self.scope, self._receive, self.send)

    def _too_large(self) -> Refused:
        self._guard.refused("body")
        limit = f"the body is larger than {self._limit} bytes, which is the most that is read here"
        return self._refuse(Refused(413, "BodyTooLarge", f"{limit}: send less at a time"))

    def _refuse(self, refused: Refused) -> Refused:
        self.refused = refused
        return refused


def _id_of(scope: Scope) -> str:
    """The request's id: the caller's own where it is safe to repeat, else a new one."""
    given = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
    return given if _ID.fullmatch(given) else secrets.token_hex(8)


def route_of(scope: Scope) -> str:
    """The route that a request was for, as it is declared; never the path itself."""
    route = scope.get("route")
    template = getattr(route, "path_format", None) or getattr(route, "path", None)
    if isinstance(template, str) and template:
        return template
    return scope["path"] if scope["path"] in _FIXED else "none"
