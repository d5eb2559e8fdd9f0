"""Where and when the tests of time expressions speak, and how they write what comes out."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from memstrata.records import TimeSpan
from memstrata.text.time import resolve

__all__ = ["PARIS", "SHANGHAI", "WEDNESDAY", "said"]

PARIS = ZoneInfo("Europe/Paris")
SHANGHAI = ZoneInfo("Asia/Shanghai")
# A Wednesday afternoon in June.
WEDNESDAY = datetime(2023, 6, 14, 15, 30, tzinfo=PARIS)


def wall(span: TimeSpan, zone: tzinfo) -> str:
    """ "start/end" on the clocks of a zone; a whole day as its date, midnights as dates."""
    start, end = (moment.astimezone(zone).replace(tzinfo=None) for moment in (span.start, span.end))
    dates = [moment.isoformat(timespec="minutes").removesuffix("T00:00") for moment in (start, end)]
    whole_day = "T" not in dates[0] and end - start == timedelta(days=1)
    return dates[0] if whole_day else "/".join(dates)


def said(text: str, said_at: datetime = WEDNESDAY, zone: tzinfo = PARIS) -> list[str]:
    return [wall(span, zone) for span in resolve(text, said_at=said_at, zone=zone)]
