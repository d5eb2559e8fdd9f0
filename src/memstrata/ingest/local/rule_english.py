"""The form of the English rules, and the patterns they share."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstrata.ingest.local.words_english import LANGUAGES, OCCUPATIONS

__all__ = ["AFTER_A_THING", "CAPITAL", "JOB", "LANGUAGE", "OF_A_JOB", "PLACE", "Rule", "rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a verb with such words after it states."""

    attribute: str
    pattern: re.Pattern[str]
    tenses: tuple[str, ...] = ("present", "used")
    polarity: bool = True
    confidence: float = 0.9
    change: bool = False
    listed: bool = False
    """Whether the value may be an enumeration of several."""
    ended: bool = False
    """Whether the plain past says that it is no more."""
    limit: int = 8
    keep_head: bool = False
    plain: str = ""
    """The value, where it is not what the words say."""


def rule(attribute: str, pattern: str, tenses: str = "", **more: object) -> Rule:
    known = tuple(tenses.split()) if tenses else ("present", "used")
    return Rule(attribute, re.compile(r"\s*+" + pattern), known, **more)  # type: ignore[arg-type]


AFTER_A_THING = (
    r"(?=\s*[,.!]|\s+(?:and|from|for|in|at|on|to|with|of|as|that|which|but|now|so|because|"
    r"since|when|"
    r"last|this|yesterday|today|recently|too|again|called|named|there|here|already|back|"
    r"\w+ ago)\b|\s*$)"
)
"""Where a thing is named to its end, and is not part of another's name (`bike lights`)."""
CAPITAL = r"(?:the\s+)?[A-Z0-9À-Þ][^,.;:!?()\n]*"
PLACE = (
    rf"(?:here |over |out |up |down |back )*(?:in|near|outside(?: "
    rf"of)?)\s+(?:the (?:city|town|village) of )?(?P<v>(?!\d){CAPITAL})"
)
JOB = (
    rf"(?:currently )?(?:an?|the)\s+(?!shooting|point)"
    rf"(?P<v>(?:[\w'/-]+\s+){{0,4}}?(?:{OCCUPATIONS}))\b"
    rf"(?!\s+(?:of|in (?:making|the))\b)"
)
OF_A_JOB = r"(?:\s+(?:at|for|with)\s+(?P<at>(?:the\s+)?[A-Z][^,.;:!?()\n]*))?"
LANGUAGE = (
    rf"(?:fluent |some |a little |a bit of |basic |both |good "
    rf"|native |conversational )*(?P<v>(?:{LANGUAGES})(?:(?:,\s*|"
    rf"\s+and\s+|,\s*and\s+)(?:some |a little )?(?:{LANGUAGES}))*)\b"
)
