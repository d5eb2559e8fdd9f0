"""Standard input and output as a transport: one JSON-RPC message a line, and nothing else.

The SDK's own cannot be interrupted while it waits for a line, answers no malformed request, and
drops what is under way when the input ends; this one does.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import anyio.to_thread
from anyio.from_thread import BlockingPortal
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

__all__ = ["connected"]

_Item = SessionMessage | Exception
_GRACE = 10.0
"""Seconds for what is under way when the input has ended."""
_CHUNK = 1 << 16
_CANCELLED = "notifications/cancelled"


@dataclass(slots=True)
class _Open:
    """The requests that have no answer yet."""

    ids: set[str | int] = field(default_factory=set[str | int])
    none: anyio.Event = field(default_factory=anyio.Event)

    def add(self, key: str | int) -> None:
        if self.none.is_set():
            self.none = anyio.Event()
        self.ids.add(key)

    def answered(self, key: object) -> None:
        if isinstance(key, str | int):
            self.ids.discard(key)
        if not self.ids:
            self.none.set()


@contextlib.asynccontextmanager
async def connected(
    source: int, sink: int
) -> AsyncGenerator[
    tuple[MemoryObjectReceiveStream[_Item], MemoryObjectSendStream[SessionMessage]]
]:
    """The streams a server runs on, over two file descriptors. They end when the input does, or
    nobody reads any more.
    """
    lines_in, lines_out = anyio.create_memory_object_stream[bytes](0)
    read_in, read_out = anyio.create_memory_object_stream[_Item](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    refused = write_in.clone()
    under_way = _Open()
    with contextlib.ExitStack() as ends:
        for end in (lines_in, lines_out, read_in, read_out, write_in, write_out, refused):
            ends.enter_context(end)
        async with BlockingPortal() as portal, anyio.create_task_group() as group:
            pump = threading.Thread(target=_pump, args=(source, portal, lines_in), daemon=True)
            pump.start()
            group.start_soon(_read, lines_out, read_in, refused, under_way)
            group.start_soon(_write, sink, write_out, under_way, group)
            try:
                yield read_out, write_in
            finally:
                group.cancel_scope.cancel()
                await portal.stop(cancel_remaining=True)


def _pump(source: int, portal: BlockingPortal, lines: MemoryObjectSendStream[bytes]) -> None:
    """Hand every line over as it comes; on a thread, for a read cannot be cancelled."""
    rest = bytearray()
    try:
        while chunk := os.read(source, _CHUNK):
            searched = len(rest)
            rest += chunk
            while (end := rest.find(b"\n", searched)) >= 0:
                portal.call(lines.send, bytes(rest[:end]))
                del rest[: end + 1]
                searched = 0
        if rest:
            portal.call(lines.send, bytes(rest))
        portal.call(lines.aclose)
    except (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # the server has ended first


async def _read(
    lines: MemoryObjectReceiveStream[bytes],
    to_server: MemoryObjectSendStream[_Item],
    to_client: MemoryObjectSendStream[SessionMessage],
    under_way: _Open,
) -> None:
    async with to_server, to_client:
        async for line in lines:
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except (ValidationError, RecursionError):
                await to_client.send(SessionMessage(_refusal(line)))
                continue
            if isinstance(message, JSONRPCRequest):
                under_way.add(message.id)
            elif isinstance(message, JSONRPCNotification) and message.method == _CANCELLED:
                under_way.answered((message.params or {}).get("requestId"))  # it gets no answer
            await to_server.send(SessionMessage(message))
        if under_way.ids:
            with anyio.move_on_after(_GRACE):
                await under_way.none.wait()


def _refusal(line: bytes) -> JSONRPCError:
    """The answer to a line that is no message, by the id it can be told from."""
    code, what = PARSE_ERROR, "the line is no JSON in UTF-8"
    given: Any = None
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        pass
    else:
        code = INVALID_REQUEST
        what = "the line is no JSON-RPC 2.0 message, or has half a surrogate pair in it"
    key: Any = cast("dict[str, Any]", given).get("id") if isinstance(given, dict) else None
    known = isinstance(key, str | int) and not isinstance(key, bool)
    if isinstance(key, str) and any(0xD800 <= ord(each) < 0xE000 for each in key):
        known = False
    return JSONRPCError(
        jsonrpc="2.0", id=key if known else None, error=ErrorData(code=code, message=what)
    )


async def _write(
    sink: int,
    messages: MemoryObjectReceiveStream[SessionMessage],
    under_way: _Open,
    group: anyio.abc.TaskGroup,
) -> None:
    async for each in messages:
        line = each.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        try:
            await anyio.to_thread.run_sync(_put, sink, line.encode("utf-8"))
        except BrokenPipeError:  # nobody listens any more
            group.cancel_scope.cancel()
            return
        under_way.answered(getattr(each.message, "id", None))


def _put(sink: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(sink, left) :]
