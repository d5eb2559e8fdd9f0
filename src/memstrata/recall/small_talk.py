"""Turns that call for nothing to be remembered: greetings, thanks, assent, laughter, good wishes.

A closed set of phrases: a turn is small talk only if phrases of the set make up all of it, so that
a single word more makes it a turn to answer. A real question taken for small talk costs an
answer; small talk taken for a question costs a few tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

from memstrata.recall.small_talk_phrases import (
    ASSENT,
    GREETING,
    HAN_ASSENT,
    HAN_SMALL_TALK,
    NICE,
    SMALL_TALK,
)
from memstrata.text.analyse import fold

__all__ = ["is_assent", "is_small_talk", "without_small_talk"]

_LONGEST = 400
"""Characters of a turn that may still be small talk; what has no words at all may be longer."""

_Phrases = frozenset[tuple[str, ...]]


@cache  # read when first needed: thousands of them
def _phrases(rows: str) -> _Phrases:
    """The phrases of rows as `small_talk_phrases` explains them."""
    rows = re.sub(r"\|\s+", "|", rows).replace("<nice>", re.sub(r"\s", "", NICE))
    found: set[tuple[str, ...]] = set()
    for row in rows.strip().splitlines():
        places = [
            [*place.rstrip("?").split("|"), *([""] if place.endswith("?") else [])]
            for place in row.split()
        ]
        for chosen in product(*places):
            found.add(tuple(" ".join(chosen).replace("_", " ").split()))
    return frozenset(found - {()})


@cache
def _words() -> _Phrases:
    return _phrases(ASSENT) | _phrases(GREETING) | _phrases(SMALL_TALK)


_HAN_ASSENT = frozenset(HAN_ASSENT.split())
_HAN = _HAN_ASSENT.union(HAN_SMALL_TALK.split())
_LAUGHTER = re.compile(
    r"a?(?:ha|he|hi|ho|ja|je|jo){2,}[hs]?|lo{1,}l(?:o?l)*s?|ha+h|he+h|m+h*m+|a+w+|k{3,}|xd+|z{2,}"
)
_STRETCHED = re.compile(r"([a-z])\1{2,}")
_HAN_LAUGHTER = re.compile(r"[哈呵嘿嘻吼哼咯]{2,}|[呜嗯啊哦喔]{2,}|噗+")
_HAN_PARTICLES = frozenset("啊呀哦啦呢吧哈嘛哟喔噢嘞呐")
_HAN_LONGEST = max(map(len, _HAN))
_WORDS_LONGEST = 9


# ── reading ──────────────────────────────────────────────────────────────────────────────────

_SEGMENT = re.compile(r"[^.,!?;:…~\n。,、！？；：～—()（）]+")
_RUN = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)*")
_NAME = re.compile(r"\s*[A-Z][a-zà-ÿ]{1,15}\s*")
_LETTER = re.compile(r"[^\W_]")


def is_small_talk(text: str) -> bool:
    """Whether a turn only greets, thanks, agrees, laughs or wishes well; blank is none.

    Emoji and punctuation alone are small talk too, unless they ask ("?").
    """
    if not _LETTER.search(text):
        says = "?" not in text and "？" not in text and fold(text[:_LONGEST])
        return bool(says and says.strip(" \t\r\n\x00"))
    if len(text) > _LONGEST:
        return False
    greeted = False
    for part in _segments(text):
        if not (_plain(part) or (greeted and _NAME.fullmatch(part) and "?" not in text)):
            return False
        greeted = _greets(part)
    return True


def is_assent(text: str) -> bool:
    """Whether a turn only says yes or please, which after a question takes it up."""
    if len(text) > _LONGEST or not _LETTER.search(text):
        return False
    assents = [_made_of(part, _phrases(ASSENT), _HAN_ASSENT) for part in _segments(text)]
    return any(assents) and all(
        assent or _plain(part) for assent, part in zip(assents, _segments(text), strict=True)
    )


def without_small_talk(text: str) -> str:
    """The turn without the small talk it begins and ends with: what `thanks! and when?` asks."""
    spans = [match.span() for match in _SEGMENT.finditer(text[: 4 * _LONGEST])]
    if len(text) > 4 * _LONGEST or not spans:
        return text
    dull = [_plain(text[start:end]) for start, end in spans]
    if all(dull):
        return text
    first = dull.index(False)
    last = len(dull) - 1 - dull[::-1].index(False)
    end = spans[last + 1][0] if last + 1 < len(spans) else len(text)
    return text[spans[first][0] : end].strip()


def _segments(text: str) -> list[str]:
    return [part for part in _SEGMENT.findall(text) if _LETTER.search(part)]


def _plain(segment: str) -> bool:
    return _made_of(segment, _words(), _HAN)


def _greets(segment: str) -> bool:
    return tuple(map(_usual, _RUN.findall(segment))) in _phrases(GREETING)


def _made_of(segment: str, words: _Phrases, han: frozenset[str]) -> bool:
    """Whether every run of a segment is made of phrases of the two sets."""
    written = _RUN.findall(segment)
    latin: list[str] = []
    for one in written:
        if "\u3400" <= one[0] <= "\u9fff":
            if not _han(one, han):
                return False
        else:
            latin.append(one)
    if not latin:
        return bool(written) or not _LETTER.search(segment)
    called = len(latin) - _vocative(latin)
    spoken = tuple(map(_usual, latin))
    return _covered(spoken, words) or (
        called < len(latin)
        and spoken[:called] in _phrases(GREETING)
        and _covered(spoken[:called], words)
    )


def _vocative(written: list[str]) -> int:
    """How many words at the end, of those after the first, may be the name of who is greeted."""
    if len(written) > 1 and written[-1][0].isupper() and not written[-1].isupper():
        return 1
    return 0


@cache
def _vocabulary() -> frozenset[str]:
    return frozenset(word for phrase in _words() for word in phrase)


def _usual(word: str) -> str:
    """A word as the phrases have it: small, not stretched (sooo), laughter as `ha`."""
    folded = fold(word)
    if folded in _vocabulary():
        return folded
    if _LAUGHTER.fullmatch(folded):
        return "ha"
    once = _STRETCHED.sub(r"\1", folded)
    return once if once in _vocabulary() else _STRETCHED.sub(r"\1\1", folded)


def _covered(spoken: tuple[str, ...], words: _Phrases) -> bool:
    """Whether phrases, one after the other, make up the words."""
    reached = [True]
    for end in range(1, len(spoken) + 1):
        begun = range(max(0, end - _WORDS_LONGEST), end)
        reached.append(any(reached[at] and spoken[at:end] in words for at in begun))
    return reached[-1]


def _han(run: str, phrases: frozenset[str]) -> bool:
    reached = [True]
    laughs: dict[int, int] = {}
    if "哈" in phrases:
        laughs = {match.end(): match.start() for match in _HAN_LAUGHTER.finditer(run)}
    for end in range(1, len(run) + 1):
        starts: Iterator[int] = (
            at
            for at in range(max(0, end - _HAN_LONGEST), end)
            if reached[at] and run[at:end] in phrases
        )
        particle = end > 1 and run[end - 1] in _HAN_PARTICLES and reached[end - 1]
        laughter = end in laughs and reached[laughs[end]]
        reached.append(particle or laughter or next(starts, None) is not None)
    return reached[-1]
