"""How texts are cut and dressed for the embedder: each passage carries speaker, date and title."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from memstrata.models.base import Embedder
from memstrata.records import Chunk, Message, Record, instant
from memstrata.store.items import message_passages, record_passages
from memstrata.store.ports import Passage, Pending
from memstrata.text.chunks import split
from memstrata.text.standin import STANDIN

__all__ = ["Limits", "chunk", "embedded_text", "limits_of", "passages_of"]

_WITHOUT_MODEL = 512
_MARGIN = 8
_LONG_DATE = datetime(2000, 9, 30, tzinfo=UTC)


def _estimate(text: str) -> int:
    """Tokens of a text when no model says: three bytes of UTF-8 each, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many tokens one passage may have, and how they are counted."""

    tokens: int
    count: Callable[[str], int]


def limits_of(embedder: Embedder | None) -> Limits:
    """The limits of a model; without one, an estimate that suits the usual models."""
    if embedder is None:
        return Limits(_WITHOUT_MODEL, _estimate)
    return Limits(embedder.max_tokens, embedder.count_tokens)


def chunk(text: str, limits: Limits, *, speaker: str | None = None, title: str = "") -> list[Chunk]:
    """The passages of a text: one if it fits with its head, else cut at the best boundaries."""
    head = _head(speaker, _LONG_DATE, title)
    whole = head + text
    # No tokeniser gives more tokens than bytes: most texts need no counting at all.
    if len(whole.encode("utf-8", "replace")) + _MARGIN <= limits.tokens:
        return [Chunk(start=0, end=len(text))]
    room = limits.tokens - limits.count(head) - _MARGIN
    if limits.count(text) <= room:
        return [Chunk(start=0, end=len(text))]
    return split(text, limit=max(room, 1), count=limits.count)


def _head(speaker: str | None, when: datetime | None, title: str | None) -> str:
    date = f"[{when.day} {when:%B %Y}] " if when else ""
    return f"{date}{f'{speaker}: ' if speaker else ''}{f'{title}: ' if title else ''}"


def embedded_text(item: Pending) -> str:
    """What is given to the embedder for an item: a name is worth its tokens, a role alone not."""
    when = instant(item.occurred) if item.occurred is not None else None
    title = None if item.title and item.text.startswith(item.title) else item.title
    # The id of a sealed secret means nothing to a model, and takes twenty tokens.
    return _head(item.speaker, when, title) + STANDIN.sub(_caption, item.text)


def _caption(match: re.Match[str]) -> str:
    return f"[{match['caption']}]" if match["entry"] else match[0]


def passages_of(value: Message | Record, limits: Limits) -> tuple[Passage, ...]:
    """The index form of a stored message or record."""
    if isinstance(value, Message):
        return message_passages(value, chunk(value.content, limits, speaker=value.name))
    return record_passages(value, chunk(value.text, limits, title=value.title))
