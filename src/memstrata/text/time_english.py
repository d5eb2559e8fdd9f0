"""The English words of time: numbers, units, names, tenses.

Patterns are for text whose ASCII letters are small.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memstrata.text.time_calendar import PARTS, Tense, Unit

__all__ = [
    "COUNTS",
    "HOLIDAY",
    "HOLIDAYS",
    "MONTH",
    "MONTHS",
    "NUMBER",
    "ORDINALS",
    "PART",
    "SEASON",
    "SEASONS",
    "SHORT_DAY",
    "SHORT_DAYS",
    "TAKEN",
    "UNIT",
    "UNITS",
    "WEEKDAY",
    "WEEKDAYS",
    "WHICH",
    "alternation",
    "quantity",
    "tense",
    "unit",
]


def alternation(words: Iterable[str]) -> str:
    """A pattern for any of these words, the longest first."""
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


_FULL_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
MONTHS = {
    **{name: n for n, name in enumerate(_FULL_MONTHS, 1)},
    **{name[:3]: n for n, name in enumerate(_FULL_MONTHS, 1)},
    "sept": 9,
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: n for n, name in enumerate(_DAYS)}
SHORT_DAYS = {name[:3]: n for name, n in WEEKDAYS.items()} | {"tues": 1, "thur": 3, "thurs": 3}
SEASONS = {"spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}
WHICH = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}
TAKEN = frozenset({"may", "mar", "march", "sat", "sun", "wed", "mon", "dec", "fall"})
"""Names of months and days that in small letters are, or may be, other words."""
HOLIDAYS = frozenset(
    {"christmas", "xmas", "year", "years", "halloween", "thanksgiving", "easter", "independence"}
    | {"valentine", "valentines", "festival"}
)
HOLIDAY = (
    r"(?:christmas\s+eve|christmas(?:\s+day)?|xmas|new\s+year['’]?s\s+eve"
    r"|new\s+year['’]?s(?:\s+day)?|halloween|thanksgiving(?:\s+day)?|valentine['’]?s(?:\s+day)?"
    r"|easter|independence\s+day|(?:chinese|lunar)\s+new\s+year(?:['’]s(?:\s+eve)?)?"
    r"|lantern\s+festival|dragon\s+boat\s+festival|mid-autumn\s+festival)"
)
ORDINALS = {
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7},
    **{"eighth": 8, "ninth": 9, "tenth": 10},
}
COUNTS = {
    **{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14},
    **{"fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19},
    **{"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90},
}
UNITS: dict[str, tuple[Unit, int]] = {
    **{"second": ("second", 1), "sec": ("second", 1), "minute": ("minute", 1)},
    **{"min": ("minute", 1), "hour": ("hour", 1), "hr": ("hour", 1), "day": ("day", 1)},
    **{"night": ("day", 1), "week": ("week", 1), "weekend": ("weekend", 1)},
    **{"fortnight": ("week", 2), "month": ("month", 1), "year": ("year", 1), "yr": ("year", 1)},
    "decade": ("year", 10),
}
"""Each unit word as a calendar unit, and how many of it that is."""

MONTH, WEEKDAY, SHORT_DAY = alternation(MONTHS), alternation(WEEKDAYS), alternation(SHORT_DAYS)
SEASON, PART = alternation(SEASONS), alternation(PARTS)
UNIT = f"{alternation(UNITS)}s?"
NUMBER = (
    r"(?:\d{1,3}|half\s+an?|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several|an?"
    rf"|{alternation(COUNTS)})"
)

_FUTURE = re.compile(
    r"\b(?:will|shall|going\s+to|gonna|tomorrow|upcoming|coming|next|plan(?:s|ning)?"
    r"|looking\s+forward|can'?t\s+wait|hop(?:e|es|ing)\s+to|about\s+to|wants?\s+to|would\s+like"
    r"|needs?\s+to|(?:have|has)\s+(?:to|got|an?)|must|let['’]?s|remind|due(?!\s+to)|deadline"
    r"|(?:am|is|are)\s+\w+ing)\b|['’]ll\b|\bwon['’]t\b|['’](?:m|re|s)\s+\w+ing\b|['’](?:ve|s)\s+(?:\w+\s+)?got\b",
)
_PAST = re.compile(
    r"\b(?:was|were|wasn['’]t|weren['’]t|did|didn['’]t|had|been|ago|last|yesterday|went|got|made|saw"
    r"|took|came|bought|met|ran|told|said|gave|found|felt|left|began|won|lost|ate|drove|flew|wrote"
    r"|read|spent|heard|thought|became|broke|built|caught|chose|fell|grew|held|kept|knew|led|paid"
    r"|sang|sat|sent|slept|sold|spoke|taught|threw|woke|wore|liked|used|agreed"
    r"|rode|drank|drew|hid|hung|lent|meant|rang|rose|shook|shot|stood|stole|struck|swam|learnt"
    r"|burnt|dreamt|forgot|fought|fed|dug|dealt|blew|bit|bent|understood"
    r"|(?!(?:hundr|excit|tir|interest|worri|scar|marri|suppos)ed)[a-z]{2,}[^e\W]ed)\b",
)
_PRESENT = re.compile(
    r"\b(?:am|is|are|have|has|do|does|can|starts?|begins?|opens?|leaves?|arrives?|ends?)\b"
    r"|['’](?:m|re|s|ve)\b",
)


def tense(sentence: str) -> Tense | None:
    """Whether an English sentence speaks of the future, past or present; `None` without a verb."""
    if _FUTURE.search(sentence):
        return "future"
    if _PAST.search(sentence):
        return "past"
    return "present" if _PRESENT.search(sentence) else None


def quantity(words: str) -> tuple[int, int]:
    """The least and the most a number word may mean: "a few" is two to five."""
    if words.isdigit():
        return int(words), int(words)
    for vague, between in (("couple", (2, 3)), ("few", (2, 5)), ("several", (3, 7))):
        if vague in words:
            return between
    n = COUNTS.get(words, 1)
    return n, n


def unit(word: str) -> tuple[Unit, int]:
    """The calendar unit of a word in singular or plural, and how many of it that is."""
    return UNITS[word.removesuffix("s")]
