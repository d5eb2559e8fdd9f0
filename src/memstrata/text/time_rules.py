"""What a rule for time expressions is, in any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import datetime
from typing import Literal, NamedTuple

from memstrata.text.time_calendar import Clue

__all__ = ["DIGIT", "Build", "Rule", "Strength", "rule"]

Build = Callable[[re.Match[str], datetime], Clue | None]
Strength = Literal["firm", "weak", "ahead", "void"]
"""Of words that may say when: `firm` do so alone, `weak` only complete their neighbours, `ahead`
are a duration unless the sentence looks ahead, `void` name what recurs, which is no point in time.
"""
DIGIT = "0"
"""Stands for any digit among the words a rule needs."""


class Rule(NamedTuple):
    """A pattern and the clue it gives, if any; a group `w` narrows the words it takes."""

    pattern: re.Pattern[str]
    build: Build
    strength: Strength
    needs: frozenset[str] = frozenset()
    """Words one of which must occur; a cheap test that spares most searches."""
    proper: bool = False
    """Whether words that in small letters mean something else need a capital."""


def rule(
    strength: Strength,
    pattern: str,
    build: Build,
    needs: str | Collection[str] = "",
    proper: bool = False,
) -> Rule:
    """A rule; `needs` are words, in one string or a collection."""
    words = frozenset(needs.split() if isinstance(needs, str) else needs)
    return Rule(re.compile(pattern), build, strength, words, proper)
