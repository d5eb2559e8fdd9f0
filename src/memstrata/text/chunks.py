"""Cutting a long text into passages that fit a model, at the best places there are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

import regex

from memstrata.errors import InvalidInput
from memstrata.records import Chunk

__all__ = ["split"]

Count = Callable[[str], int]

# Where to cut, best first; each match ends where a new chunk may begin.
_BOUNDARIES = (
    re.compile(r"\n\s*\n\s*"),  # paragraph
    re.compile(r"\n\s*|(?:[.!?…]+[\"'”’)\]]*\s+)|[。！？；]+[”’」』）]*\s*"),  # line, sentence
    re.compile(r"[,;:–—]\s+|[，、：]\s*"),  # clause
    re.compile(r"\s+"),  # word
)
_CLUSTER = regex.compile(r"\X")
_LONGEST_CLUSTER = 64  # characters; what is longer is still kept whole
_FULL = 0.9  # a chunk this full is not worth another count


def split(text: str, *, limit: int, count: Callable[[str], int]) -> list[Chunk]:
    """Passages that cover the text in order, each of at most `limit` by `count`.

    Cuts fall between paragraphs, else sentences, clauses, words, characters as a reader sees them
    (grapheme clusters); passages come out about equally long. White space belongs to the passage
    before it. Only a single cluster that is over the limit by itself makes a longer passage. An
    empty text has none. `count` is called about three times for each passage, on no more than one
    passage of text, and once on the whole. A limit below 1 is `InvalidInput`.
    """
    if limit < 1:
        message = f"limit must be at least 1, not {limit}"
        raise InvalidInput(message)
    if not text:
        return []
    total = count(text)
    if total <= limit:
        return [Chunk(start=0, end=len(text))]
    return list(_passages(text, limit, count, total))


def _passages(text: str, limit: int, count: Count, total: int) -> Iterator[Chunk]:
    start, left = 0, total
    while start < len(text):
        width = (len(text) - start) / max(left, 1)  # characters of one unit of the count
        cap, used = _reach(text, start, limit, count, max(1, int(limit * width)))
        if cap < len(text):
            share = max(left, limit + 1) / math.ceil(max(left, limit + 1) / limit) / limit
            aim = start + int((cap - start) * min(1.0, share))
            cap, used = _cut(text, start, aim, cap, limit, count)
        yield Chunk(start=start, end=cap)
        start, left = cap, max(left - used, 1)


def _reach(text: str, start: int, limit: int, count: Count, size: int) -> tuple[int, int]:
    """About the farthest end whose text from `start` on is within the limit, and its count.

    The end may fall anywhere; it is `start` if not even one character fits.
    """
    fits, used = start, 0
    fails = len(text) + 1
    while fails - fits > 1:
        end = min(max(start + size, fits + 1), fails - 1)
        number = count(text[start:end])
        if number > limit:
            fails = end
        else:
            fits, used = end, number
            if number >= _FULL * limit:
                break
        grown = int((end - start) * limit / max(number, 1) * (0.97 if number > limit else 1.0))
        # The estimate, unless the bounds have already shown it wrong.
        size = grown if fits < start + grown < fails else (fits + fails) // 2 - start
    return fits, used


def _cut(text: str, start: int, aim: int, cap: int, limit: int, count: Count) -> tuple[int, int]:
    """Where to end the passage that may reach as far as `cap` and best ends near `aim`."""
    ends = _cluster_ends(text, start, cap)
    while len(ends) > 1:
        end = _best_end(text, start, aim, cap, ends)
        number = count(text[start:end])
        if number <= limit:
            return end, number
        # Counts need not grow with the text; give up a little more each time.
        cap = min(end - 1, start + int(0.9 * (end - start)))
        aim, ends = min(aim, cap), _cluster_ends(text, start, cap)
    end = _CLUSTER.match(text, start).end()  # type: ignore[union-attr]
    return end, count(text[start:end])


def _cluster_ends(text: str, start: int, cap: int) -> range | list[int]:
    """Where clusters end, from `start` up to `cap`."""
    piece = text[start : cap + _LONGEST_CLUSTER]
    if piece.isascii() and "\r" not in piece:
        return range(start + 1, cap + 1)
    ends = [match.end() + start for match in _CLUSTER.finditer(piece)]
    return [end for end in ends if end <= cap]


def _best_end(text: str, start: int, aim: int, cap: int, ends: range | list[int]) -> int:
    low = start + (aim - start) // 2
    allowed = ends if isinstance(ends, range) else frozenset(ends)
    for boundary in _BOUNDARIES:
        found = (match.end() for match in boundary.finditer(text, max(start, low - 8), cap))
        near = min(
            (end for end in found if end in allowed), key=lambda end: abs(end - aim), default=0
        )
        if near > low:
            return near
    return ends[-1]
