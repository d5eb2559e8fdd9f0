"""Dates as models write them become intervals; relative times in their words become dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest.said import NOON

from memstrata.ingest.managers.dates import absolute, interval_of, settled
from memstrata.records import TimeSpan
from memstrata.text import time as expressions

SHANGHAI = ZoneInfo("Asia/Shanghai")
MIDWAY = ZoneInfo("Pacific/Midway")


def at(*parts: int, zone: tzinfo = UTC) -> datetime:
    return datetime(*parts, tzinfo=zone)  # type: ignore[arg-type]


@pytest.mark.parametrize("zone", [UTC, SHANGHAI, MIDWAY])
@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        ("2026-05-08", (2026, 5, 8), (2026, 5, 9)),
        ("2026-5-8", (2026, 5, 8), (2026, 5, 9)),
        ("20260508", (2026, 5, 8), (2026, 5, 8, 0, 1)),
        (" 2026-05 ", (2026, 5, 1), (2026, 6, 1)),
        ("2024-02", (2024, 2, 1), (2024, 3, 1)),
        ("2026-12", (2026, 12, 1), (2027, 1, 1)),
        ("2026", (2026, 1, 1), (2027, 1, 1)),
        (2026, (2026, 1, 1), (2027, 1, 1)),
        ("2026-05-08T07:30", (2026, 5, 8, 7, 30), (2026, 5, 8, 7, 31)),
        ("2026-05-00", (2026, 5, 1), (2026, 6, 1)),
        ("2026-00-00", (2026, 1, 1), (2027, 1, 1)),
        ("2026-00-10", (2026, 1, 1), (2027, 1, 1)),
        ("8 May 2026", (2026, 5, 8), (2026, 5, 9)),
        ("2026年5月8日", (2026, 5, 8), (2026, 5, 9)),
    ],
)
def test_a_date_is_an_interval_in_the_users_zone(
    given: Any, start: tuple[int, ...], end: tuple[int, ...], zone: tzinfo
) -> None:
    assert interval_of(given, NOON, zone) == (at(*start, zone=zone), at(*end, zone=zone))


def test_an_offset_counts() -> None:
    found = interval_of("2026-05-08T07:30:00+08:00", NOON, MIDWAY)
    assert found is not None
    assert found[0] == at(2026, 5, 7, 23, 30)


@pytest.mark.parametrize(
    ("words", "day"),
    [("yesterday", 7), ("昨天", 7), ("tomorrow", 9), ("明天", 9), ("three days ago", 5)],
)
def test_words_are_counted_from_when_it_was_said(words: str, day: int) -> None:
    found = interval_of(words, NOON, UTC)
    assert found is not None
    assert found[0].date() == at(2026, 5, day).date()


def test_yesterday_is_that_of_the_users_zone() -> None:
    """At 00:30 local time it is another day than in UTC."""
    said_at = at(2026, 5, 8, 0, 30, zone=SHANGHAI)
    assert interval_of("昨天", said_at, SHANGHAI) == (
        at(2026, 5, 7, zone=SHANGHAI),
        at(2026, 5, 8, zone=SHANGHAI),
    )


@pytest.mark.parametrize(
    "given",
    [
        None, "", "  ", "unknown", "N/A", "soon", "未知", "2026-13", "2026-02-30", "0000",
        True, False, [], ["2026"], {"year": 2026}, "x" * 200, -5, "9" * 130,
        1.5,
    ],
)  # fmt: skip
def test_what_names_no_time_is_none(given: Any) -> None:
    assert interval_of(given, NOON, UTC) is None


@given(
    st.one_of(
        st.text(max_size=130),
        st.from_regex(r"[0-9]{1,4}(-[0-9]{1,2}){0,2}(T[0-9:]{0,8}([+-][0-9:]{0,5})?)?"),
        st.integers(),
        st.sampled_from(["9999-12-31", "0001-01-01", "9999", "0001", "9999-12", "1",
                         "9999-12-31T23:59:59", "10000 years ago", "in 99999 years", "九千年前"]),
    ),
    st.sampled_from([UTC, SHANGHAI, MIDWAY]),
    st.datetimes(timezones=st.just(UTC)),
)  # fmt: skip
def test_nothing_that_stands_for_a_date_fails(given: Any, zone: tzinfo, said_at: datetime) -> None:
    found = interval_of(given, said_at, zone)
    if found is not None:
        assert all(one.tzinfo is not None for one in found)
        assert found[0] <= found[1]
    absolute(str(given), said_at, zone)


# ── what the words name, and what the model says ─────────────────────────────────────────────


def span(start: datetime, days: float = 1, text: str = "then") -> TimeSpan:
    return TimeSpan(start=start, end=start + timedelta(days=days), text=text)


DAY = at(2026, 5, 7)


def test_one_time_in_the_words_corrects_what_the_model_counts() -> None:
    wrong = (at(2026, 5, 1), at(2026, 5, 2))
    assert settled(wrong, [span(DAY)]) == (DAY, DAY + timedelta(days=1))
    assert settled(None, [span(DAY)]) == (DAY, DAY + timedelta(days=1))


def test_a_time_within_it_is_told_more_exactly() -> None:
    exact = (at(2026, 5, 7, 18), at(2026, 5, 7, 18, 1))
    assert settled(exact, [span(DAY)]) == exact


@pytest.mark.parametrize("spans", [[], [span(DAY), span(at(2026, 5, 1))]])
def test_of_several_times_in_the_words_the_model_chooses(spans: list[TimeSpan]) -> None:
    told = (at(2026, 4, 1), at(2026, 4, 2))
    assert settled(told, spans) == told
    assert settled(None, spans) is None


# ── the words themselves ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Ottilie saw a heron yesterday.", "Ottilie saw a heron yesterday (2026-05-07)."),
        ("Ottilie昨天看见了苍鹭。", "Ottilie昨天 (2026-05-07)看见了苍鹭。"),
        ("Mabel moved last month.", "Mabel moved last month (2026-04)."),
        ("Mabel was born last year.", "Mabel was born last year (2025)."),
        ("去年她在绍兴。", "去年 (2025)她在绍兴。"),
    ],
)
def test_relative_times_get_their_date(text: str, made: str) -> None:
    assert absolute(text, NOON, UTC) == made
    assert absolute(made, NOON, UTC) == made, "once is enough"


@pytest.mark.parametrize(
    "text",
    [
        "Ottilie saw a heron on 7 May 2026.",
        "The ferry leaves at 06:15 every Monday.",
        "Ottilie likes herons.",
        "Yesterday (2026-05-07) it hailed.",
        "2026年5月7日下了冰雹。",
        "",
    ],
)
def test_what_is_absolute_stays(text: str) -> None:
    assert absolute(text, NOON, UTC) == text


def test_the_date_is_that_of_the_users_day() -> None:
    said_at = at(2026, 5, 8, 0, 30, zone=SHANGHAI)
    assert absolute("今天下雨了", said_at, SHANGHAI) == "今天 (2026-05-08)下雨了"
    assert expressions.resolve("今天", said_at=said_at, zone=SHANGHAI)
