"""What a statement says apart from how it is dressed: case, accents, punctuation, articles."""

from __future__ import annotations

import re

from memstrata.text.analyse import fold

__all__ = ["wording"]

_ARTICLES = frozenset({"a", "an", "the"})
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_POINT = r"(?<!\d)[.,:]|[.,:](?!\d)"
"""A point, comma or colon, but for one inside a number."""
_DRESS = re.compile(rf"{_POINT}|[;!…\"“”‘’'()\[\]「」『』《》，。：；！、—–]")


def wording(text: str) -> tuple[str, ...]:
    """The words of a statement in order; equal where two differ in nothing that means anything.

    Forms of words stay apart (who lived there lives there no more), and so do numbers, signs and
    a question mark.
    """
    plain = _DRESS.sub(" ", _APOSTROPHE.sub("", fold(text)))
    return tuple(word for word in plain.split() if word not in _ARTICLES)
