"""The command that serves a store over HTTP: `serve`."""

from __future__ import annotations

import enum
import importlib
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memstrata.cli.call import Call, Failed, is_served
from memstrata.cli.output import as_json, say, write
from memstrata.errors import InvalidInput

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory

__all__ = ["LogFormat", "LogLevel", "serve"]

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"(\d{1,15})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


class LogLevel(enum.StrEnum):
    """How much is logged."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


class LogFormat(enum.StrEnum):
    """How a line of the log is written."""

    text = "text"
    json = "json"


def serve(
    call: Call,
    *,
    host: Annotated[
        str, typer.Option(help="Where to listen; other machines need keys first.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: one that is free.")] = 8283,
    max_body: Annotated[
        str, typer.Option(metavar="SIZE", help="The largest body of a request.")
    ] = "10M",
    max_load: Annotated[
        str, typer.Option(metavar="SIZE", help="The largest file that `load` takes.")
    ] = "2G",
    max_requests: Annotated[int, typer.Option(min=1, help="Requests answered at once.")] = 1000,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests a second for one key; 0: no limit.")
    ] = 1000,
    reveal: Annotated[
        bool,
        typer.Option("--reveal", help="Let agents (MCP) read secrets out of the vault, on record."),
    ] = False,
    grace: Annotated[
        int, typer.Option(min=0, help="Seconds for requests under way when it is asked to end.")
    ] = 30,
    log_level: Annotated[LogLevel, typer.Option(help="What is logged.")] = LogLevel.info,
    log_format: Annotated[LogFormat, typer.Option(help="How.")] = LogFormat.text,
) -> None:
    """Serve the store over HTTP."""
    if is_served(call.settings.url):
        raise InvalidInput(
            "serve needs a store of its own, not a server: give --url a path, or leave it out"
        )
    serving, limits = _part("serve"), _part("limits")
    place = serving.Place(
        host=host,
        port=port,
        options=limits.Options(
            max_body=_size("--max-body", max_body),
            max_load=_size("--max-load", max_load),
            max_requests=max_requests,
            rate=rate,
            reveal=reveal,
        ),
        grace=grace,
        log_level=log_level.value,
        log_json=log_format is LogFormat.json,
    )

    def ready(url: str, keyed: bool) -> None:
        if call.options.json:
            write(as_json({"url": url}))
        say(_where(url, keyed=keyed))

    with serving.bound(host, port) as sockets, serving.last_resort() as within:

        async def work(memory: AsyncMemory) -> None:
            await serving.serve(memory, sockets, place, ready, within)

        call.store(work)


def _where(url: str, *, keyed: bool) -> str:
    who = (
        "a request needs a key (`memstrata keys create` makes one)"
        if keyed
        else "for programs of this machine alone, until `memstrata keys create` makes a key"
    )
    return f"memstrata is at {url}: {who}; its API is at {url}/openapi.json; Ctrl-C ends it"


def _size(option: str, text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * _UNITS[found[2].lower()] if found else 0
    if not size:
        raise InvalidInput(f"{option} is a number of bytes such as 500K, 10M or 2G, not {text!r}")
    return size


def _part(name: str) -> Any:
    """A module of the service, which needs an extra."""
    try:
        return importlib.import_module(f"memstrata.api.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "memstrata":
            raise
        raise Failed(
            f"serving needs the package {error.name}: pip install 'memstrata[server]'"
        ) from error
