"""Dates as managers write them, and the relative ones in their words."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any

from memstrata.records import TimeSpan
from memstrata.text import time as expressions

__all__ = ["absolute", "interval_of", "settled"]

_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?\Z")
_RELATIVE = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|ago|last|next|this|coming|past|previous|later|now)\b"
    r"|今|昨|明|前天|后天|上个?(?:周|月|星期|礼拜)|下个?(?:周|月|星期|礼拜)|这个?(?:周|月)|本(?:周|月)"
    r"|去年|前年|后年|刚才|刚刚",
    re.IGNORECASE,
)
_LONGEST = 120


def interval_of(value: Any, said_at: datetime, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """What a date names, `[start, end)`: 2026, 2026-05, 2026-05-08, an instant, or words.

    None for what names no time, such as "unknown".
    """
    text = str(value).strip() if isinstance(value, str | int) and value is not True else ""
    if not text or len(text) > _LONGEST:
        return None
    try:
        if found := _DAY.match(text):
            return _calendar(found, zone)
        when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=zone)
        return when, when + timedelta(minutes=1)
    except (ValueError, OverflowError):
        pass  # words, or no date at all
    spans = expressions.resolve(text, said_at=said_at, zone=zone)
    return (spans[0].start, spans[0].end) if spans else None


def _calendar(found: re.Match[str], zone: tzinfo) -> tuple[datetime, datetime]:
    # 2026-05-00 is how some write that they do not know the day.
    year, month, day = (int(part or 0) for part in found.groups())
    start = datetime(year, month or 1, (month and day) or 1, tzinfo=zone)
    if month and day:
        return start, start + timedelta(days=1)
    if month:
        return start, start + timedelta(days=monthrange(year, month)[1])
    return start, datetime(year + 1, 1, 1, tzinfo=zone)


def settled(
    stated: tuple[datetime, datetime] | None, spans: Sequence[TimeSpan]
) -> tuple[datetime, datetime] | None:
    """When it was, from what the manager says and the times its words name.

    Where the words name one time, that is it: rules count days, models guess them. A time that
    lies within it is kept, for it is the same told more exactly.
    """
    if len(spans) != 1:
        return stated
    named = (spans[0].start, spans[0].end)
    if stated is None or not named[0] <= stated[0] < named[1]:
        return named
    return stated


def absolute(text: str, said_at: datetime, zone: tzinfo) -> str:
    """The text with the date after each time that is counted from when it was said."""
    spans = [one for one in expressions.resolve(text, said_at=said_at, zone=zone) if one.text]
    for span in spans:
        if not _RELATIVE.search(span.text) or text.count(span.text) != 1:
            continue
        date = _named(span, zone)
        if date not in text:
            text = text.replace(span.text, f"{span.text} ({date})")
    return text


def _named(span: TimeSpan, zone: tzinfo) -> str:
    start, length = span.start.astimezone(zone), span.end - span.start
    if length > timedelta(days=300):
        return f"{start:%Y}"
    if length > timedelta(days=27):
        return f"{start:%Y-%m}"
    return f"{start:%Y-%m-%d}"
