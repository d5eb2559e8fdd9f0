"""What an endpoint said, fit to be shown and kept: short, without keys, and without what it was
told, for the reason of a failed batch outlives the messages that are forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from memstrata.text import secrets

__all__ = ["may_pass", "message_of", "said", "status_in_words", "tells_key"]

_LONGEST = 400
_QUOTED = 12
"""Characters in a row that it has from what it was told."""
_LEAST = 4
"""Shorter keys are placeholders, such as the `x` that local servers are given."""


def said(text: str, keys: Iterable[str] = (), told: Sequence[str] = ()) -> str:
    """The text on one line, with keys and what was told masked; what looks like a secret, too."""
    for key in keys:
        if len(key) >= _LEAST:
            text = text.replace(key, "[key]")
    line = _unquoted(" ".join(text[: 2 * _LONGEST].split()), told)
    line, _ = secrets.replace(line, lambda secret, caption: f"[{caption}]")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _unquoted(line: str, told: Sequence[str]) -> str:
    """The line with `[…]` for every run of characters that was told."""
    texts = [" ".join(text.split()) for text in told]
    kept: list[str] = []
    at = 0
    while at < len(line):
        end = at + _QUOTED
        if end > len(line) or not any(line[at:end] in text for text in texts):
            kept.append(line[at])
            at += 1
            continue
        while end < len(line) and any(line[at : end + 1] in text for text in texts):
            end += 1
        kept.append("[…]")
        at = end
    return "".join(kept)


def tells_key(error: BaseException | None, keys: Iterable[str]) -> bool:
    """Whether an error or what led to it would print a key."""
    sought = [key for key in keys if len(key) >= _LEAST]
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        text = f"{one} {one!r} {vars(one)}"
        if any(key in text for key in sought):
            return True
        waiting += [one.__cause__, one.__context__]
    return False


def may_pass(status: int) -> bool:
    """Whether what an HTTP status says may be over when asked again."""
    return status in (408, 409, 425, 429) or status >= 500


def status_in_words(status: int) -> str:
    """An HTTP status, with what it means for a caller."""
    meaning = {
        401: " (the key is missing or wrong)",
        403: " (the key may not do this)",
        404: " (no such model or address)",
        429: " (too many requests)",
    }
    return f"{status}{meaning.get(status, '')}"


def message_of(body: object) -> str:
    """The words in an error's body, wherever the server put them."""
    if isinstance(body, Mapping):
        held = cast("Mapping[str, Any]", body)
        inner = held.get("error", held.get("message", held.get("detail")))
        return str(held) if inner is None else message_of(inner)
    return str(body) if body else "without a word"
