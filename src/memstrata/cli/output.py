"""What the commands print: one JSON document, or text a person can read.

Results go to standard output and everything said beside them to standard error. Text that was
remembered is data: control characters in it are shown as signs, so that it cannot steer the
terminal.
"""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import typer

__all__ = [
    "as_json",
    "bold",
    "columns",
    "dim",
    "in_our_words",
    "indented",
    "join",
    "one_line",
    "plural",
    "safe",
    "say",
    "shorten",
    "stamp",
    "use_utf8",
    "write",
]

# Control characters, as the signs Unicode has for them; line ends and tabs stay.
_CONTROLS = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
    0x7F: 0x2421,
}


# What the engine's messages call by its Python name, in the words of the command line.
_WORDS = {
    "everything=True": "--everything",
    "cascade=True": "--cascade",
    "infer=False": "--no-infer",
}


def write(text: str) -> None:
    """Print a result."""
    typer.echo(text, color=_color())


def say(text: str) -> None:
    """Print something beside the result, for a person."""
    typer.echo(text, err=True, color=_color())


def _color() -> bool | None:
    """None leaves it to whether a terminal reads it."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def as_json(value: object) -> str:
    """A value of the engine as JSON, every character as itself."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=2)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}  # pyright: ignore
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]  # pyright: ignore
    return value.isoformat() if isinstance(value, datetime) else value


def safe(text: str) -> str:
    """The text with control characters shown, not obeyed."""
    return text.replace("\r\n", "\n").translate(_CONTROLS)


def one_line(text: str) -> str:
    """The same on one line: what was remembered cannot pose as a line of ours."""
    return safe(text).replace("\n", " ").replace("\t", " ")


def in_our_words(text: str) -> str:
    """A message of the engine as the command line would say it."""
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return text


def bold(text: str) -> str:
    """Text that stands out."""
    return typer.style(text, bold=True)


def dim(text: str) -> str:
    """Text that stands back."""
    return typer.style(text, dim=True)


def stamp(when: datetime | None, zone: tzinfo) -> str:
    """An instant in the user's zone, always with its offset."""
    return "" if when is None else when.astimezone(zone).isoformat(sep=" ", timespec="minutes")


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 message`, `2 messages`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def join(parts: Iterable[str | None], separator: str = "  ") -> str:
    """The parts there are, in one line."""
    return separator.join(part for part in parts if part)


def shorten(text: str, limit: int) -> str:
    """A long text's beginning, saying how much is left out."""
    if len(text) <= limit + 40:
        return text
    return f"{text[:limit].rstrip()} … (+{len(text) - limit:,} characters)"


def indented(text: str, by: int = 3) -> str:
    """Every line of a text moved to the right."""
    return "\n".join(" " * by + line if line else "" for line in text.split("\n"))


def columns(rows: Sequence[Sequence[object]], *, head: Sequence[str]) -> str:
    """Rows under a heading, each column as wide as its widest cell."""
    cells = [[_cell(value) for value in row] for row in rows]
    table = [list(head), *cells]
    widths = [max(_width(row[place]) for row in table) for place in range(len(head))]
    numeric = [
        bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        for place in range(len(head))
    ]
    lines = [
        "  ".join(
            _padded(cell, width, right=right)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in table
    ]
    return "\n".join([dim(lines[0]), *lines[1:]])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value))


def _padded(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if right else cell + space


def _width(text: str) -> int:
    """Places a text takes on a terminal: wide characters two, combining ones none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def use_utf8() -> None:
    """Both outputs in UTF-8, whatever the locale; what it cannot hold becomes a question mark."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
