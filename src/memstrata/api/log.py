"""What the service logs: one line for each request, and nothing of what is remembered.

A line of ours is made of figures and of names from closed sets, but for the name of a key, which
is the operator's. Others' lines may quote anything, so that only who wrote them is shown.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from types import TracebackType
from typing import Any, cast

__all__ = ["Line", "log_request", "log_unexpected", "set_up"]

_log = logging.getLogger("memstrata.api")
_OURS = ("memstrata", "uvicorn")
_QUIET = ("/healthz", "/readyz", "/metrics")
_FRAMES = 30


class Line(logging.Formatter):
    """A record on one line: as text that a person can read, or as JSON."""

    def __init__(self, *, in_json: bool = False) -> None:
        super().__init__()
        self._in_json = in_json

    def format(self, record: logging.LogRecord) -> str:
        """The line. Of an exception: what kind and where, not its words."""
        when = datetime.fromtimestamp(record.created, UTC)
        stamp = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        level = record.levelname.lower()
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        message = "request" if self._in_json and fields else _message(record)
        if record.exc_info and record.exc_info[1] is not None:
            fields = {**fields, **_what(record.exc_info[1])}
        if self._in_json:
            line = {"time": stamp, "level": level, "message": message, **fields}
            return json.dumps(line, ensure_ascii=False)
        # The message has the fields of a request in it; an error's stand beside it.
        beside = {name: fields[name] for name in ("error", "at") if name in fields}
        return " ".join((stamp, level, message, *_pairs(beside)))


def set_up(level: str, *, in_json: bool) -> None:
    """Log to standard error, from this level on; of others' records warnings and worse."""
    handler = logging.StreamHandler()
    handler.setFormatter(Line(in_json=in_json))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())
    # It speaks of starting and stopping, as we do.
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, _log.getEffectiveLevel()))


def log_request(fields: Mapping[str, Any]) -> None:
    """Log a request that was answered; what asks whether we live only at level `debug`."""
    level = logging.DEBUG if fields["route"] in _QUIET else logging.INFO
    if _log.isEnabledFor(level):
        given = {name: value for name, value in fields.items() if value is not None}
        _log.log(level, "request %s", " ".join(_pairs(given)), extra={"fields": given})


def log_unexpected(request_id: str, route: str, error: BaseException) -> None:
    """Log an error that nobody foresaw: its class and where it arose.

    Its words may be somebody's memory, so they are left out.
    """
    fields = {"request_id": request_id, "route": route, **_what(error)}
    _log.error("unexpected %s", " ".join(_pairs(fields)), extra={"fields": fields})


def _message(record: logging.LogRecord) -> str:
    if record.name.partition(".")[0] in _OURS:
        line = " ".join(record.getMessage().split())
        return line if line.isprintable() else ascii(line)[1:-1]
    return f"a record of {record.name} ({record.filename}:{record.lineno})"


def _what(error: BaseException) -> dict[str, Any]:
    return {
        "error": " < ".join(type(each).__name__ for each in _causes(error)),
        "at": " < ".join(_places(error.__traceback__)),
    }


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came of, those of a group included."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _causes(each)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _causes(cause)


def _places(trace: TracebackType | None) -> list[str]:
    """Where it was, the innermost first; no values."""
    frames = traceback.extract_tb(trace)[::-1][:_FRAMES]
    return [f"{_file(each.filename)}:{each.lineno} {each.name}" for each in frames]


def _file(path: str) -> str:
    return "/".join(PurePath(path).parts[-2:])


def _pairs(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        text = str(value)
        plain = text and text.isprintable() and not set(text) & set(' "=')
        yield f"{name}={text if plain else json.dumps(text, ensure_ascii=False)}"
