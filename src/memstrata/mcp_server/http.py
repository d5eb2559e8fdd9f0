"""Streamable HTTP: an ASGI application for any path, without sessions.

What a request may do is looked up in the state of its scope, where who lets requests in has put
it; without that, everything is refused.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from memstrata.access import Grant
from memstrata.errors import PermissionDenied
from memstrata.mcp_server.server import Options, make_server
from memstrata.memory import AsyncMemory

__all__ = ["LOOPBACK", "HttpApp", "http_app"]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names a program on this machine calls it by."""
_MAX_BODY = 10 * 2**20


class HttpApp:
    """MCP over HTTP. It answers inside `running()` only."""

    def __init__(
        self, memory: AsyncMemory, options: Options, hosts: Sequence[str] | None, max_body: int
    ) -> None:
        self._memory = memory
        self._options = options
        self._security = _security(hosts)
        self._max_body = max_body
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """What must surround all requests: call it in the lifespan of what it is mounted in."""
        self._manager = manager = StreamableHTTPSessionManager(
            make_server(self._memory, _grant_of, self._options),
            json_response=True,
            stateless=True,
            security_settings=self._security,
            max_request_body_size=self._max_body,
        )
        async with manager.run():
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        manager = self._manager
        if manager is None:
            raise RuntimeError("MCP is not running: enter running() in the lifespan")
        if scope["method"] != "POST":
            # Nothing is ever sent unasked, so there is no stream to open and no session to end.
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        await manager.handle_request(scope, receive, _as_itself(send))


def http_app(
    memory: AsyncMemory,
    options: Options | None = None,
    *,
    hosts: Sequence[str] | None = LOOPBACK,
    max_body: int = _MAX_BODY,
) -> HttpApp:
    """MCP over an open store, which stays the caller's to close.

    `hosts` are the names the server may be called by, with any port, so that a page in a browser
    cannot reach it through a name of its own; None, where every request needs a key, is any.
    `max_body` is in bytes.
    """
    return HttpApp(memory, options or Options(), hosts, max_body)


def _grant_of(request: Any) -> Grant:
    state: Any = request.scope.get("state") if isinstance(request, Request) else None
    grant = None if state is None else state.get("grant")
    if not isinstance(grant, Grant):
        raise PermissionDenied("nobody has said what this request may do")
    return grant


def _security(hosts: Sequence[str] | None) -> TransportSecuritySettings:
    if hosts is None:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    named = [form for host in hosts for form in (host, f"{host}:*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=named,
        allowed_origins=[f"{scheme}://{form}" for form in named for scheme in ("http", "https")],
    )


def _as_itself(send: Send) -> Send:
    r"""The same, with every character of a JSON body as itself.

    For the newest protocol version the SDK writes `\uXXXX` for all that is not ASCII.
    """
    start: Message | None = None
    body = bytearray()

    async def sending(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_json(message):
            start = message
            return
        if start is None or message["type"] != "http.response.body":
            await send(message)
            return
        body.extend(message.get("body", b""))
        if message.get("more_body", False):
            return
        plain = _plain(bytes(body))
        headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        length = (b"content-length", str(len(plain)).encode())
        await send({**start, "headers": [*headers, length]})
        await send({**message, "body": plain})

    return sending


def _is_json(message: Message) -> bool:
    return any(
        name == b"content-type" and value.startswith(b"application/json")
        for name, value in message["headers"]
    )


def _plain(body: bytes) -> bytes:
    if b"\\u" not in body:
        return body
    written = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))
    # Half a surrogate pair is no character, and stays as it was written.
    return written.encode("utf-8", "backslashreplace")
