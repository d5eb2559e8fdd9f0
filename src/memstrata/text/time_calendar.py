"""Calendar arithmetic for time expressions: partial dates, and the intervals they stand for.

Instants here are aware `datetime`s in the speaker's zone, so that adding days or hours is
wall-clock arithmetic; whoever calls turns them into UTC. Weeks start on Monday; seasons are those
of the northern hemisphere, March to May being spring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from memstrata.text.time_lunar import LUNAR

__all__ = [
    "HOLIDAYS",
    "PARTS",
    "Clue",
    "Days",
    "Span",
    "Tense",
    "Unit",
    "ago",
    "calendar_unit",
    "day_start",
    "interval",
    "merge",
    "monday",
    "shift",
    "unit_days",
]

Span = tuple[datetime, datetime]
Days = tuple[date, date]
"""A half-open run of days."""
Tense = Literal["past", "present", "future"]
Unit = Literal["second", "minute", "hour", "day", "week", "weekend", "month", "year"]

PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Parts of the day in hours since midnight; the night runs into the next morning."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Clue:
    """What some words fix about a time; `None` where they are silent."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    last_day: int | None = None
    """The last day of "5-7 May"."""
    weekday: int | None = None
    """Monday is 0."""
    week: date | None = None
    """The Monday of a week."""
    weekend: bool | None = None
    season: int | None = None
    """0 spring, 1 summer, 2 autumn, 3 winter (named for the year it starts in)."""
    stretch: tuple[int, int] | None = None
    """A quarter or half of a year: its first month, and how many."""
    holiday: str | None = None
    which: int | None = None
    """-1 last, 0 this, 1 next."""
    part: tuple[int, int] | None = None
    """A part of the day in hours since midnight; past 24 it runs into the next day."""
    clock: tuple[int, int] | None = None
    """Minutes since midnight, and the minutes it lasts."""
    twelve: bool | None = None
    """True when the clock may mean the afternoon as well."""
    fixed: Span | None = None


_CALENDAR = (
    *("year", "month", "day", "weekday", "week", "weekend", "season", "stretch", "holiday"),
    *("which", "fixed"),
)
# What may stand together; anything else is two expressions side by side.
_SHAPES = frozenset(
    frozenset(shape.split())
    for shape in (
        *("", "year", "month", "day", "weekday", "week", "weekend", "season", "stretch"),
        *("holiday", "fixed", "year month", "month day", "year month day", "day weekday"),
        *("month day weekday", "year month day weekday", "week weekday", "week weekend"),
        *("season year", "stretch year", "holiday year", "which weekday", "which month"),
        *("which season", "which holiday", "which weekend"),
    )
)
_DAYLIKE = frozenset({"day", "weekday", "holiday", "fixed"})


def merge(first: Clue, second: Clue) -> Clue | None:
    """Both clues in one, or `None` if they contradict or do not belong together."""
    values: dict[str, object] = {}
    for field in fields(Clue):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if one is not None and other is not None and one != other:
            return None
        values[field.name] = other if one is None else one
    merged = Clue(**values)  # type: ignore[arg-type]
    return merged if _coherent(merged) else None


def _coherent(clue: Clue) -> bool:
    shape = frozenset(name for name in _CALENDAR if getattr(clue, name) is not None)
    if shape not in _SHAPES:
        return False
    if (clue.part or clue.clock) and shape and not shape & _DAYLIKE:
        return False
    if clue.weekday is None or clue.year is None or clue.month is None or clue.day is None:
        return True
    try:
        return date(clue.year, clue.month, clue.day).weekday() == clue.weekday
    except ValueError:
        return False


def interval(clue: Clue, now: datetime, tense: Tense) -> Span | None:
    """The time a clue stands for when it is said at `now`; `None` for no such day (31 June).

    Where the year, month or week is left open, the past tense takes the last one that has begun,
    the future the first that has not ended, the present the coming one unless it is twice as far
    as the past one.
    """
    try:
        if clue.fixed is not None:
            start, end = clue.fixed
        else:
            days = _days(clue, now.date(), tense)
            if days is None:
                return None
            start, end = (day_start(day, now) for day in days)
        if clue.part is None and clue.clock is None:
            return start, end
        # Hours belong to a day: of "all of last week" there is no 3 pm.
        return _hours(clue, start) if end - start <= _DAY else None
    except (ValueError, OverflowError):
        return None


def _hours(clue: Clue, day: datetime) -> Span:
    if clue.clock is None:
        first, last = clue.part or (0, 24)
        return day + timedelta(hours=first), day + timedelta(hours=last)
    minutes, length = clue.clock
    start = day + timedelta(minutes=_afternoon(minutes, clue))
    return start, start + timedelta(minutes=length)


def _afternoon(minutes: int, clue: Clue) -> int:
    """Minutes since midnight; the part of the day settles what a clock face leaves open."""
    hour = minutes // 60
    if clue.part is None:
        return minutes + 720 if clue.twelve and 1 <= hour <= 6 else minutes
    if clue.part[1] > 24:  # the night, which runs into the next morning
        if hour < 6:
            return minutes + 1440
        return minutes + 720 if hour <= 12 else minutes
    return minutes + 720 if clue.part[0] >= 12 and hour < 12 else minutes


def _days(clue: Clue, today: date, tense: Tense) -> Days | None:
    if clue.week is not None:
        return _in_week(clue, clue.week)
    if clue.weekend:
        return _choose(_weekends(today), today, clue.which, tense)
    if clue.weekday is not None and clue.day is None:
        return _weekday(clue.weekday, today, clue.which, tense)
    if clue.day is not None and clue.month is None:
        months = (shift(today.replace(day=1), n, "month") for n in (-1, 0, 1))
        spans = (_spans(clue, month.year, month.month) for month in months)
    elif clue.year is not None:
        spans = (_spans(clue, clue.year, clue.month),)
    elif (clue.month, clue.season, clue.stretch, clue.holiday) == (None, None, None, None):
        return today, today + _DAY
    else:
        # Until the date falls on that weekday, or the year has a 29 February.
        reach = 8 if clue.weekday is not None or clue.day == 29 else 1
        years = range(today.year - reach, today.year + reach + 1)
        spans = (_spans(clue, year, clue.month) for year in years)
    return _choose((span for span in spans if span), today, clue.which, tense)


def _in_week(clue: Clue, week: date) -> Days:
    if clue.weekend:
        return week + 5 * _DAY, week + 7 * _DAY
    if clue.weekday is not None:
        day = week + clue.weekday * _DAY
        return day, day + _DAY
    return week, week + 7 * _DAY


def _weekends(today: date) -> list[Days]:
    saturday = monday(today) + 5 * _DAY
    return [(saturday + n * _DAY, saturday + (n + 2) * _DAY) for n in (-7, 0, 7)]


def _weekday(weekday: int, today: date, which: int | None, tense: Tense) -> Days:
    """A named day of the week; nobody calls today by it."""
    if which is not None and which >= 0:
        day = monday(today) + (7 * which + weekday) * _DAY
    elif which == -1 or tense == "past":
        day = today - ((today.weekday() - weekday - 1) % 7 + 1) * _DAY
    else:
        day = today + ((weekday - today.weekday() - 1) % 7 + 1) * _DAY
    return day, day + _DAY


def _spans(clue: Clue, year: int, month: int | None) -> Days | None:
    """The days of a clue in that year and month, `None` where it has none (29 February)."""
    if clue.season is not None:
        return _months(year, 3 + 3 * clue.season, 3)
    if clue.stretch is not None:
        return _months(year, *clue.stretch)
    if clue.holiday is not None:
        day = HOLIDAYS[clue.holiday](year)
        return (day, day + _DAY) if day else None
    if month is None:
        return _months(year, 1, 12)
    if clue.day is None:
        return _months(year, month, 1)
    try:
        day = date(year, month, clue.day)
        last = date(year, month, clue.last_day or clue.day)
    except ValueError:
        return None
    if clue.weekday is not None and day.weekday() != clue.weekday:
        return None
    return day, max(day, last) + _DAY


def _months(year: int, month: int, count: int) -> Days:
    start = shift(date(year, 1, 1), month - 1, "month")
    return start, shift(start, count, "month")


def _choose(spans: Iterable[Days], today: date, which: int | None, tense: Tense) -> Days | None:
    options = list(spans)
    if not options or (len(options) == 1 and which is None):
        return options[0] if options else None
    begun = [span for span in options if span[0] <= today]
    ended = [span for span in options if span[1] <= today]
    ahead = [span for span in options if span[1] > today]
    later = [span for span in options if span[0] > today]
    if which == -1:
        picks = ended[-1:]
    elif which == 1:
        picks = later[:1]
    elif which == 0:
        around = [span for span in options if span[0] <= today < span[1]]
        picks = around or [span for span in options if span[0].year == today.year]
    elif tense == "past":
        picks = begun[-1:]
    elif tense == "future" or not begun:
        picks = ahead[:1]
    else:
        near = ahead and ahead[0][0] - today <= 2 * (today - begun[-1][1])
        picks = ahead[:1] if near else begun[-1:]
    return picks[0] if picks else None


def day_start(day: date, now: datetime) -> datetime:
    """Midnight of a day in the zone of `now`."""
    return datetime.combine(day, time.min, tzinfo=now.tzinfo)


def monday(day: date) -> date:
    """The Monday of the week of a day."""
    return day - day.weekday() * _DAY


def shift(day: date, n: int, unit: Unit) -> date:
    """A day moved by n units; at the end of a shorter month it stays in that month."""
    if unit == "day":
        return day + n * _DAY
    if unit in ("week", "weekend"):
        return day + 7 * n * _DAY
    months = day.year * 12 + day.month - 1 + n * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    for last in (day.day, 30, 29, 28):
        if last <= day.day:
            try:
                return date(year, month + 1, last)
            except ValueError:
                continue
    raise OverflowError


def unit_days(day: date, unit: Unit) -> Days:
    """The calendar day, week, weekend, month or year that a day is in."""
    if unit == "week":
        return monday(day), monday(day) + 7 * _DAY
    if unit == "weekend":
        return monday(day) + 5 * _DAY, monday(day) + 7 * _DAY
    if unit == "month":
        return _months(day.year, day.month, 1)
    if unit == "year":
        return _months(day.year, 1, 12)
    return day, day + _DAY


_LENGTHS = {"second": 1, "minute": 60, "hour": 3600}


def ago(now: datetime, least: int, most: int, unit: Unit) -> Span:
    """The calendar units from `most` to `least` before now; of hours and less, that long from then.

    Negative numbers look ahead, `ago(now, 0, 0, "week")` is this week.
    """
    if unit in _LENGTHS:
        # Hours pass the same in every zone, so they are counted on the instant, not on the wall.
        length = timedelta(seconds=_LENGTHS[unit])
        start = now.astimezone(UTC) - max(least, most) * length
        end = now.astimezone(UTC) - (min(least, most) - 1) * length
        return start.astimezone(now.tzinfo), end.astimezone(now.tzinfo)
    today = now.date()
    first = unit_days(shift(today, -max(least, most), unit), unit)
    last = unit_days(shift(today, -min(least, most), unit), unit)
    return day_start(first[0], now), day_start(last[1], now)


def calendar_unit(n: int, unit: Unit, now: datetime) -> Clue:
    """The calendar unit n units from now, open for "Tuesday" or "the 5th" to complete."""
    day = shift(now.date(), n, unit)
    if unit == "week":
        return Clue(week=monday(day))
    if unit == "weekend":
        return Clue(week=monday(day), weekend=True)
    if unit == "month":
        return Clue(year=day.year, month=day.month)
    if unit == "year":
        return Clue(year=day.year)
    return Clue(year=day.year, month=day.month, day=day.day)


def _nth_weekday(year: int, month: int, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + ((weekday - first.weekday()) % 7 + 7 * (nth - 1)) * _DAY


def _easter(year: int) -> date:
    """Easter Sunday (the anonymous Gregorian computus, Meeus 1991)."""
    golden = year % 19
    century, rest = divmod(year, 100)
    leaps, odd = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - leaps - correction + 15) % 30
    quads, left = divmod(rest, 4)
    offset = (32 + 2 * odd + 2 * quads - epact - left) % 7
    lag = (golden + 11 * epact + 22 * offset) // 451
    month, day = divmod(epact + offset - 7 * lag + 114, 31)
    return date(year, month, day + 1)


def _on(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


HOLIDAYS: dict[str, Callable[[int], date | None]] = {
    "new year": _on(1, 1),
    "valentine": _on(2, 14),
    "easter": _easter,
    "labour day": _on(5, 1),
    "children's day": _on(6, 1),
    "independence day": _on(7, 4),
    "national day": _on(10, 1),
    "halloween": _on(10, 31),
    "thanksgiving": lambda year: _nth_weekday(year, 11, 3, 4),
    "christmas eve": _on(12, 24),
    "christmas": _on(12, 25),
    "new year's eve": _on(12, 31),
    **LUNAR,
}
"""The day of a holiday in a year, `None` where it is not known."""
