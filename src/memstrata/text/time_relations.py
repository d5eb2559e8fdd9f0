"""What the words around a time make of it: "the week before …", "the end of …", "since …"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from memstrata.text import time_chinese, time_english
from memstrata.text.time_calendar import (
    PARTS,
    Days,
    Span,
    Tense,
    Unit,
    day_start,
    shift,
    unit_days,
)

__all__ = ["AFTER", "BEFORE", "Relation"]

_DAY = timedelta(days=1)
Make = Callable[[re.Match[str], Span, datetime], Span | None]


class Relation(NamedTuple):
    """Words beside a time, and what they make of it; `None` if it then is no interval."""

    pattern: re.Pattern[str]
    make: Make
    tense: Tense | None = None
    """The tense they imply for a date that leaves its year open, unless a verb says otherwise."""
    bound: bool = False
    """Whether they make it the beginning or end of something longer."""


def _neighbour(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    """ "The week before", "two days after", "the Sunday before", "a week from" a time."""
    word = match["u"]
    later = match["dir"] in ("after", "following", "from", "后", "第二", "次")
    if word in time_english.WEEKDAYS:
        return _beside(span, time_english.WEEKDAYS[word], later)
    if word in PARTS:
        hours = PARTS[word]
        day = day_start(span[0].date() + (1 if later else -1) * _DAY, now)
        return day + timedelta(hours=hours[0]), day + timedelta(hours=hours[1])
    if word.isascii():
        most = time_english.quantity(match["n"])[1] if match["n"] else 1
        unit, times = time_english.unit(word)
        most *= times
    else:
        most, unit = 1, time_chinese.unit(word.removeprefix("个"))
    if unit == "weekend":
        saturday = _beside(span, 5, later, most)[0]
        return saturday, saturday + 2 * _DAY
    if match["dir"] == "from":
        return _moved(span[0], most, unit), _moved(span[1], most, unit)
    if later:
        return _moved(span[1], most - 1, unit), _moved(span[1], most, unit)
    return _moved(span[0], -most, unit), _moved(span[0], 1 - most, unit)


def _beside(span: Span, weekday: int, later: bool, nth: int = 1) -> Span:
    """The nth such day of the week before a time begins, or from its end on."""
    if later:
        last = span[1] - timedelta(microseconds=1)
        step = (weekday - last.weekday() - 1) % 7 + 1
        day = last.date() + (step + 7 * (nth - 1)) * _DAY
    else:
        step = (span[0].weekday() - weekday - 1) % 7 + 1
        day = span[0].date() - (step + 7 * (nth - 1)) * _DAY
    start = day_start(day, span[0])
    return start, start + _DAY


def _moved(moment: datetime, n: int, unit: Unit) -> datetime:
    if unit in ("second", "minute", "hour"):
        return moment + n * timedelta(**{f"{unit}s": 1})
    day = shift(moment.date(), n, unit)
    return moment.replace(year=day.year, month=day.month, day=day.day)


_NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}


def _nth(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    """ "The first weekend of", "the last week of", "the second Tuesday of" a longer time."""
    nth, word = match["nth"], match["u"]
    first, last = span[0].date(), span[1].date()
    found: list[Days] = []
    if word in ("half", "quarter"):
        months = 6 if word == "half" else 3
        day = first
        while shift(day, months, "month") <= last:
            found.append((day, shift(day, months, "month")))
            day = found[-1][1]
    elif word in ("day", "week"):
        length = _DAY if word == "day" else 7 * _DAY
        if nth == "last":
            found = [(last - length, last)]
        else:
            start = first + (_NTH[nth] - 1) * length
            found = [(start, start + length)] * 4
    else:
        weekday = 5 if word == "weekend" else time_english.WEEKDAYS[word]
        length = 2 * _DAY if word == "weekend" else _DAY
        day = first + ((weekday - first.weekday()) % 7) * _DAY
        while day < last and len(found) < 5:
            found.append((day, day + length))
            day += 7 * _DAY
    index = -1 if nth == "last" else _NTH[nth] - 1
    if not found or index >= len(found) or found[index][1] > last + _DAY:
        return None
    return day_start(found[index][0], now), day_start(found[index][1], now)


def _around(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    """ "The week of 23 August", "the evening of the 5th"."""
    word = match["u"]
    if span[1] - span[0] > _DAY:
        return span
    if word in PARTS:
        first, last = PARTS[word]
        return span[0] + timedelta(hours=first), span[0] + timedelta(hours=last)
    days = unit_days(span[0].date(), time_english.unit(word)[0])
    return day_start(days[0], now), day_start(days[1], now)


_THIRDS = {
    **dict.fromkeys(("early", "beginning", "start", "初", "上旬"), 0),
    **dict.fromkeys(("mid", "middle", "中", "中旬"), 1),
    **dict.fromkeys(("late", "end", "底", "末", "下旬"), 2),
}


def _third(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    """ "Early", "mid" or "late" in a time of a week or more: a third of it, in months or days."""
    first, last = span[0].date(), span[1].date()
    if last - first < 7 * _DAY:
        return span
    months = 12 * (last.year - first.year) + last.month - first.month
    if first.day == last.day == 1 and months % 3 == 0:
        edges = [shift(first, n * months // 3, "month") for n in range(4)]
    else:
        third = (last - first).days // 3 * _DAY
        edges = [first, first + third, first + 2 * third, last]
    which = _THIRDS[match["third"]]
    return day_start(edges[which], now), day_start(edges[which + 1], now)


def _since(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    return (span[0], now) if span[0] < now else None


def _after(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    return (span[1], now) if span[1] < now else None


def _until(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    return (now, span[1]) if span[1] > now else span


def _before(match: re.Match[str], span: Span, now: datetime) -> Span | None:
    return (now, span[0]) if span[0] > now else None


def _relation(
    pattern: str, make: Make, tense: Tense | None = None, bound: bool = False
) -> Relation:
    return Relation(re.compile(pattern), make, tense, bound)


_NUMBER, _WEEKDAY, _PART = time_english.NUMBER, time_english.WEEKDAY, time_english.PART
_SIDE = r"before|after|following|preceding|prior\s+to"

BEFORE = [
    _relation(
        rf"(?:\b(?:the|last|next)\s+)?\b(?:(?P<n>{_NUMBER})\s+)?(?P<u>{time_english.UNIT}|{_WEEKDAY}|{_PART})"
        rf"\s+(?P<dir>{_SIDE})\s+(?:the\s+|that\s+)?\Z",
        _neighbour,
    ),
    _relation(rf"\b(?P<n>{_NUMBER})\s+(?P<u>{time_english.UNIT})\s+(?P<dir>from)\s+\Z", _neighbour),
    _relation(
        r"(?:\bthe\s+)?\b(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+"
        rf"(?P<u>day|weekend|week|half|quarter|{_WEEKDAY})\s+(?:of|in)\s+(?:the\s+)?\Z",
        _nth,
    ),
    _relation(rf"(?:\bthe\s+)?\b(?P<u>weekend|week|month|{_PART})\s+of\s+(?:the\s+)?\Z", _around),
    _relation(
        r"(?:\bthe\s+)?\b(?P<third>early|mid|middle|late|beginning|start|end)"
        r"(?:\s+of)?[\s-]+(?:the\s+)?\Z",
        _third,
    ),
    _relation(r"\b(?:ever\s+)?since\s+(?:the\s+)?\Z|自从?\Z", _since, "past", bound=True),
    _relation(r"\bafter\s+(?:the\s+)?\Z", _after, bound=True),
    _relation(
        r"\b(?:until|till|by|up\s+to)\s+(?:the\s+)?\Z|(?:截至|直到)\Z", _until, "future", bound=True
    ),
    _relation(r"\bbefore\s+(?:the\s+)?\Z", _before, "future", bound=True),
]
"""What may stand right before a time."""

AFTER = [
    _relation(r"的?(?P<dir>前|后|第二|次)一?(?P<u>天|周|个?月|年)", _neighbour),
    _relation(r"的?年?(?P<third>初|上旬|中旬|中(?![秋国午学文心间考奖旬])|底|末|下旬)", _third),
    _relation(r"(?:以来|至今|到现在|开始|起(?=[，,。；]|$))", _since, "past", bound=True),
    _relation(r"(?:之前|以前|前(?![后几一半]))", _before, "future", bound=True),
    _relation(r"(?:之后|以后|过后|后(?![几一半]))", _after, bound=True),
]
"""What may stand right after it, in Chinese."""
