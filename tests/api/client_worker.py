"""Runs the real, unmodified clients of mem0 and MIRIX; lines of JSON in, lines of JSON out.

It is a program of another environment, which has them and has not memstrata. An order is
`{"make": name, "client": class, "with": {…}}` or `{"of": name, "call": method, "args": […],
"with": {…}}`; an answer is `{"value": …}` or `{"error": [class, message]}`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import socket
import sys
from typing import Any

ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what the clients print, from their import on, is no answer
os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported

import mem0  # noqa: E402  # pyright: ignore[reportMissingImports]
from mirix import MirixClient  # noqa: E402  # pyright: ignore[reportMissingImports]

_CLIENTS = {
    "MemoryClient": mem0.MemoryClient,
    "AsyncMemoryClient": mem0.AsyncMemoryClient,
    "MirixClient": MirixClient,
}


_connect = socket.socket.connect


def connect(self: socket.socket, address: Any) -> None:
    """Nothing leaves the machine."""
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        raise OSError(f"{address} is elsewhere")
    _connect(self, address)


socket.socket.connect = connect  # type: ignore[method-assign]


def plain(value: Any) -> Any:
    """What a client returned, as JSON."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return [plain(each) for each in value] if isinstance(value, list) else value


async def done(clients: dict[str, Any], order: dict[str, Any]) -> Any:
    given = order.get("with", {})
    if "make" in order:
        clients[order["make"]] = _CLIENTS[order["client"]](**given)
        return mem0.__version__
    value = getattr(clients[order["of"]], order["call"])(*order.get("args", ()), **given)
    return plain(await value if inspect.isawaitable(value) else value)


async def main() -> None:
    clients: dict[str, Any] = {}
    logging.disable()
    for line in sys.stdin:
        try:
            answer = {"value": await done(clients, json.loads(line))}
        except Exception as error:  # noqa: BLE001 - whatever a client raises is its answer
            answer = {"error": [type(error).__name__, str(error)]}
        ANSWERS.write(json.dumps(answer) + "\n")
        ANSWERS.flush()


if __name__ == "__main__":
    asyncio.run(main())
