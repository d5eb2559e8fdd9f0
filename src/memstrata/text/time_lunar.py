"""The days of Chinese festivals, which follow the moon, from 1990 to 2050."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

__all__ = ["LUNAR"]

_FIRST_YEAR = 1990
# Days after 21 January, 25 May and 7 September, by year.
_SPRING = (
    "6 25 14 2 20 10 29 17 7 26 15 3 22 11 1 19 8 28 17 5 24 13 2 20 10 29 18 7 26 15 4 22 11 1 20 "
    "8 27 16 5 23 13 2 21 10 29 18 7 25 14 3 22 11 1 20 9 27 16 5 24 12 2"
)
_DRAGON_BOAT = (
    "3 22 11 30 19 8 26 15 5 24 12 31 21 10 28 17 6 25 14 3 22 12 29 18 8 26 15 5 24 13 31 20 9 28 "
    "16 6 25 15 3 22 11 30 18 7 26 16 5 24 13 2 20 9 28 17 6 25 14 4 21 10 29"
)
_MID_AUTUMN = (
    "26 15 4 23 13 2 20 9 28 17 5 24 14 4 21 11 29 18 7 26 15 5 23 12 1 20 8 27 17 6 24 14 3 22 10 "
    "29 18 8 26 15 5 24 12 1 20 9 27 17 6 25 13 3 21 10 28 18 8 27 15 4 23"
)


def _moving(month: int, day: int, table: str, shift: int = 0) -> Callable[[int], date | None]:
    days = [int(number) for number in table.split()]

    def day_of(year: int) -> date | None:
        index = year - _FIRST_YEAR
        if not 0 <= index < len(days):
            return None
        return date(year, month, day) + timedelta(days=days[index] + shift)

    return day_of


LUNAR: dict[str, Callable[[int], date | None]] = {
    "lunar new year's eve": _moving(1, 21, _SPRING, -1),
    "lunar new year": _moving(1, 21, _SPRING),
    "lantern festival": _moving(1, 21, _SPRING, 14),
    "dragon boat festival": _moving(5, 25, _DRAGON_BOAT),
    "mid-autumn festival": _moving(9, 7, _MID_AUTUMN),
}
"""The day of a festival in a year, `None` outside the table."""
