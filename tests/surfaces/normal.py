"""Results of different stores made comparable: ids by when they first appear, no clocks."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["Normal", "shared"]

_ID = re.compile(r"\b([a-z]+_)([0-9a-f]{32})(?![0-9a-f])")
_CLOCKED = {
    "recorded_at", "created_at", "finished_at", "milliseconds", "at", "closed_at", "changed_at",
    "hidden_at", "retired_at", "bytes", "bytes_on_disk", "freed_bytes", "started_at", "ended_at",
}  # fmt: skip
"""Depend on when, on which pages of a file, or since when a store is open; not on what is asked."""
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?")
_CURSOR = re.compile(r"-?\d{15,}(?=:)")


class Normal:
    """Of one surface: the same thing has the same name in all its results."""

    def __init__(self, *, numbered: bool = True) -> None:
        self._names: dict[str, str] = {}
        self._numbered = numbered
        """Whether two things of one sort are told apart; what shows less counts otherwise."""

    def of(self, value: Any, key: str = "") -> Any:
        """A result without what differs from run to run."""
        if (key in _CLOCKED and value is not None) or key == "recall":
            return "<when>"
        if isinstance(value, dict):
            return {name: self.of(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.of(item, key) for item in value]
        if isinstance(value, str):
            if key == "actor" and value.startswith("mcp "):  # the log says which host it was
                return "user"
            if key == "fingerprint":  # of a secret it is keyed, and the key is the store's own
                return self._name_of(value, "fingerprint_")
            named = _ID.sub(self._name, value)
            return _CURSOR.sub("<place>", _STAMP.sub(_said, named))
        return round(value, 4) if isinstance(value, float) else value

    def _name(self, found: re.Match[str]) -> str:
        return self._name_of(found[0], found[1])

    def _name_of(self, value: str, sort: str) -> str:
        if not self._numbered:
            return sort
        return self._names.setdefault(value, f"{sort}{len(self._names)}")


def _said(found: re.Match[str]) -> str:
    """An instant of the conversation stays; the clock's goes."""
    return found[0] if found[0].startswith(("2026-04", "2026-05", "2026-06-01")) else "<when>"


def shared(part: Any, whole: Any, where: str = "") -> list[str]:
    """Where a smaller result says something else than the whole one; the places.

    An id may stand for what has it, and a number for a list of so many.
    """
    if isinstance(part, int) and isinstance(whole, list):
        whole = len(whole)
    if isinstance(part, str) and isinstance(whole, dict):
        whole = whole.get("id")
    if isinstance(part, dict) and isinstance(whole, dict):
        return [
            place
            for name in part.keys() & whole.keys()
            for place in shared(part[name], whole[name], f"{where}.{name}")
        ]
    if isinstance(part, list) and isinstance(whole, list):
        if len(part) != len(whole):
            return [f"{where}: {len(part)} and {len(whole)}"]
        return [
            place
            for number, (one, other) in enumerate(zip(part, whole, strict=True))
            for place in shared(one, other, f"{where}[{number}]")
        ]
    return [] if part == whole else [f"{where}: {part!r} and {whole!r}"]
