"""What every text goes through before it is stored: repair, then masking of secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import regex

from memstrata.text.analyse import repair
from memstrata.text.secrets import mask

__all__ = ["Cleaned", "clean_json", "clean_text", "shorten"]

_CLUSTER = regex.compile(r"\X")
_LONGEST_CLUSTER = 64  # characters


class Cleaned(NamedTuple):
    """A text as it is stored, and what was done to it, in words."""

    text: str
    notes: list[str]


def clean_text(text: str) -> Cleaned:
    """Replace what no store can hold and mask secrets; everything else stays as it is."""
    repaired, broken = repair(text)
    masked, secrets = mask(repaired)
    notes: list[str] = []
    if broken:
        notes.append(f"characters that no text can hold (NUL, half pairs) were replaced: {broken}")
    if secrets:
        captions = ", ".join(dict.fromkeys(secret.caption for secret in secrets))
        notes.append(f"secrets were masked and not kept: {captions}")
    return Cleaned(masked, notes)


def _member(key: str, value: Any) -> Any:
    """The value of a key, whose name may say that it is a secret."""
    if isinstance(value, str):
        head = f"{clean_text(key).text}: "
        masked = clean_text(head + value).text
        if masked.startswith(head):
            return masked[len(head) :]
    return clean_json(value)


def clean_json(value: Any) -> Any:
    """The same for every text in a JSON value, keys included; what is not JSON becomes text."""
    if isinstance(value, str):
        return clean_text(value).text
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {clean_text(str(key)).text: _member(str(key), item) for key, item in items}
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in cast("list[Any]", value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean_text(str(value)).text


def shorten(text: str, limit: int) -> str:
    """The beginning of a text, of at most `limit` characters; a cut one ends in `…`.

    It is cut where a character as a reader sees it ends.
    """
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _CLUSTER.finditer(text, 0, limit + _LONGEST_CLUSTER)]
    return f"{text[: max((end for end in ends if end < limit), default=0)]}…"
