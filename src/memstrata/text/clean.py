"""What every text goes through before it is stored: repair, then something in place of secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import regex

from memstrata.text.analyse import repair
from memstrata.text.secrets import StandIn, replace
from memstrata.text.standin import removed

__all__ = ["Cleaned", "clean_json", "clean_text", "shorten"]

_CLUSTER = regex.compile(r"\X")
_LONGEST_CLUSTER = 64  # characters


class Cleaned(NamedTuple):
    """A text as it is stored, what was done to it in words, and what stands for its secrets."""

    text: str
    notes: list[str]
    replaced: list[str]


def clean_text(text: str, stand_in: StandIn = removed) -> Cleaned:
    """Replace what no store can hold, and each secret; everything else stays as it is."""
    repaired, broken = repair(text)
    cleaned, given = replace(repaired, stand_in)
    notes = [f"characters that no text can hold (NUL, half pairs) were replaced: {broken}"]
    return Cleaned(cleaned, notes if broken else [], given)


def _member(key: str, value: Any, stand_in: StandIn) -> Any:
    """The value of a key, whose name may say that it is a secret."""
    if isinstance(value, str):
        head = f"{clean_text(key, stand_in).text}: "
        cleaned = clean_text(head + value, stand_in).text
        if cleaned.startswith(head):
            return cleaned[len(head) :]
    return clean_json(value, stand_in)


def clean_json(value: Any, stand_in: StandIn = removed) -> Any:
    """The same for every text in a JSON value, keys included; what is not JSON becomes text."""
    if isinstance(value, str):
        return clean_text(value, stand_in).text
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {
            clean_text(str(key), stand_in).text: _member(str(key), item, stand_in)
            for key, item in items
        }
    if isinstance(value, list | tuple):
        return [clean_json(item, stand_in) for item in cast("list[Any]", value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean_text(str(value), stand_in).text


def shorten(text: str, limit: int) -> str:
    """The beginning of a text, of at most `limit` characters; a cut one ends in `…`.

    It is cut where a character as a reader sees it ends.
    """
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _CLUSTER.finditer(text, 0, limit + _LONGEST_CLUSTER)]
    return f"{text[: max((end for end in ends if end < limit), default=0)]}…"
