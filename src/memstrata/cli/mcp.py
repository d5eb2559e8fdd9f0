"""The command that serves memory to the hosts of agents: `mcp`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli.call import Call, Failed
from memstrata.cli.output import say
from memstrata.errors import InvalidInput

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory

__all__ = ["mcp"]

_PACKAGE = "memstrata.mcp_server"


def mcp(
    call: Call,
    *,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve streamable HTTP there, at /mcp, in place of standard input and output.",
            show_default=False,
        ),
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Let agents read secrets out of the vault, on record.")
    ] = False,
) -> None:
    """Serve memory to agents over MCP."""
    if http is not None:
        _over_http(call, http, reveal=reveal)
        return
    with _wire() as (source, sink):
        serve = _part("serve").serve_stdio
        call.store(lambda memory: serve(memory, _options(call, reveal=reveal), source, sink))


@contextmanager
def _wire() -> Generator[tuple[int, int]]:
    """Standard input and output as file descriptors, taken away from everybody else.

    Only messages may stand there: until this ends, what anything prints goes to standard error,
    and who reads finds the end.
    """
    sys.stdout.flush()
    try:
        source, sink = os.dup(0), os.dup(1)
    except OSError as error:
        raise Failed(f"MCP needs standard input and output: {error}") from error
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no standard error
            os.dup2(nothing, 1)
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(nothing)
        os.close(sink)
        # The source stays open: a thread may still wait for it.


def _over_http(call: Call, address: str, *, reveal: bool) -> None:
    if call.settings.url.startswith(("http://", "https://")):
        raise InvalidInput(
            "--http serves a store of this machine; a server serves MCP itself, at its URL with "
            "/mcp: point the agent there"
        )
    serve = _part("listen").serve_http

    async def work(memory: AsyncMemory) -> None:
        await serve(memory, _options(call, reveal=reveal), address, _tell)

    call.store(work)


def _options(call: Call, *, reveal: bool) -> Any:
    user = call.settings.user
    return importlib.import_module(_PACKAGE).Options(user=user, reveal=reveal)


def _tell(url: str) -> None:
    say(f"MCP is at {url}; Ctrl-C ends it")


def _part(name: str) -> Any:
    """A module of the server, which needs an extra."""
    try:
        return importlib.import_module(f"{_PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "memstrata":
            raise
        raise Failed(
            f"MCP needs the package {error.name}: pip install 'memstrata[server]'"
        ) from error
