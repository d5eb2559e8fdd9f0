"""How time expressions are read: whose clock, which tense, what order, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text.times import PARIS, SHANGHAI, WEDNESDAY, said

from memstrata.errors import InvalidInput
from memstrata.text.time import has_cue, resolve


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "I went to Porto in May and to Faro in June.",
            ["2023-05-01/2023-06-01", "2023-06-01/2023-07-01"],
        ),
        ("in February and March I slept badly", ["2023-02-01/2023-03-01", "2023-03-01/2023-04-01"]),
        ("yesterday and the day before yesterday", ["2023-06-12", "2023-06-13"]),
        ("Yesterday was fine. It was yesterday, yes, yesterday.", ["2023-06-13"]),
        ("上周二和昨天都下雨了", ["2023-06-06", "2023-06-13"]),
        ("Tomorrow I fly; last week I packed.", ["2023-06-05/2023-06-12", "2023-06-15"]),
    ],
)
def test_several_are_sorted_and_come_once(text: str, expected: list[str]) -> None:
    assert said(text) == expected


def test_words_stand_as_in_the_source() -> None:
    text = "So, LAST  Tuesday\nI met Ana"
    spans = resolve(text, said_at=WEDNESDAY, zone=PARIS)
    assert [span.text for span in spans] == ["LAST  Tuesday"]
    assert [span.start.tzinfo for span in spans] == [UTC]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we met in December", "2022-12-01/2023-01-01"),
        ("we will meet in December", "2023-12-01/2024-01-01"),
        ("my exam is in October", "2023-10-01/2023-11-01"),
        ("my birthday is in May", "2023-05-01/2023-06-01"),
        ("did you call on Thursday?", "2023-06-08"),
        ("I'm calling on Thursday", "2023-06-15"),
        ("notes from Thursday", "2023-06-08"),
        ("周四开会了", "2023-06-08"),
        ("周四要开会", "2023-06-15"),
        ("周四的会", "2023-06-15"),
    ],
)
def test_an_open_date_follows_the_tense(text: str, expected: str) -> None:
    assert said(text) == [expected]


def test_a_query_is_read_against_the_moment_it_is_asked() -> None:
    asked = datetime(2024, 1, 1, 9, 0, tzinfo=PARIS)
    assert said("what did I do last week?", asked) == ["2023-12-25/2024-01-01"]
    assert said("where was I in December?", asked) == ["2023-12-01/2024-01-01"]
    assert said("去年我去了哪里？", asked) == ["2023-01-01/2024-01-01"]


def test_an_imported_message_is_read_against_its_own_date() -> None:
    written = datetime(2019, 3, 2, 8, 0, tzinfo=UTC)
    assert said("we adopted the cat yesterday", written, UTC) == ["2019-03-01"]


def test_today_is_the_date_of_the_speaker() -> None:
    just_past_midnight = datetime(2026, 3, 10, 16, 30, tzinfo=UTC)  # 00:30 of the 11th in Shanghai
    assert said("today", just_past_midnight, SHANGHAI) == ["2026-03-11"]
    assert said("今天", just_past_midnight, SHANGHAI) == ["2026-03-11"]
    assert said("today", just_past_midnight, UTC) == ["2026-03-10"]
    span = resolve("at 12:45", said_at=just_past_midnight, zone=SHANGHAI)[0]
    assert span.start == datetime(2026, 3, 11, 4, 45, tzinfo=UTC)


_REPORT = """
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
from memstrata.text.time import resolve
said_at = datetime(2026, 3, 10, 23, 30, tzinfo=timezone.utc)
for text in ("yesterday", "last week", "an hour ago", "上周三", "at 3pm", "in May"):
    for zone in ("UTC", "Europe/Paris", "Pacific/Kiritimati"):
        print([(s.start.isoformat(), s.end.isoformat()) for s in
               resolve(text, said_at=said_at, zone=ZoneInfo(zone))])
"""


def test_the_zone_of_the_machine_does_not_matter() -> None:
    reports = {
        subprocess.run(
            [sys.executable, "-c", _REPORT],
            env={**os.environ, "TZ": name},
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for name in ("UTC", "Pacific/Midway", "Pacific/Kiritimati")
    }
    assert len(reports) == 1
    assert "2026-03-09T00:00:00+00:00" in reports.pop()


@pytest.mark.parametrize(
    ("said_at", "text", "hours"),
    [
        (datetime(2023, 3, 27, 9, 0, tzinfo=PARIS), "yesterday", 23),  # summer time began
        (datetime(2023, 10, 30, 9, 0, tzinfo=PARIS), "yesterday", 25),  # and ended
        (datetime(2023, 3, 27, 9, 0, tzinfo=PARIS), "last week", 7 * 24 - 1),
        (datetime(2023, 3, 26, 9, 0, tzinfo=PARIS), "at 2am", 1),  # an hour the clocks skip
    ],
)
def test_days_are_as_long_as_the_zone_makes_them(said_at: datetime, text: str, hours: int) -> None:
    span = resolve(text, said_at=said_at, zone=PARIS)[0]
    assert span.end - span.start == timedelta(hours=hours)


def test_hours_ago_pass_through_a_change_of_the_clocks() -> None:
    said_at = datetime(2023, 3, 26, 3, 30, tzinfo=PARIS)  # half an hour after 2:00 became 3:00
    span = resolve("two hours ago", said_at=said_at, zone=PARIS)[0]
    assert span.start == said_at.astimezone(UTC) - timedelta(hours=2)


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="said_at"):
        resolve("yesterday", said_at=WEDNESDAY.replace(tzinfo=None), zone=PARIS)


@pytest.mark.parametrize("year", [1, 9999])
def test_the_ends_of_the_calendar(year: int) -> None:
    month, day = (1, 1) if year == 1 else (12, 31)
    said_at = datetime(year, month, day, tzinfo=UTC)
    for zone in (UTC, PARIS, timezone(timedelta(hours=-12)), timezone(timedelta(hours=14))):
        for text in ("yesterday", "tomorrow", "last year", "next year", "in 999 years", "上周三"):
            assert all(span.start < span.end for span in resolve(text, said_at=said_at, zone=zone))


def test_no_such_day() -> None:
    assert said("on 31 June 2023") == []
    assert said("2023-13-45") == []
    assert said("on 29 February 2023") == []
    assert said("29 February 2024") == ["2024-02-29"]
    assert said("29 February was cold") == ["2020-02-29"]


def test_has_cue() -> None:
    assert has_cue("See you tomorrow")
    assert has_cue("明天见")
    assert has_cue("at 3pm")
    assert not has_cue("I like pancakes and 12 other dishes")
    assert not has_cue("我喜欢吃饺子")
    assert not has_cue("")


_PIECES = [
    *("last", "next", "this", "Tuesday", "May", "5", "the", "of", "week", "before", "after", "ago"),
    *(
        "two",
        "years",
        "in",
        "2023",
        "since",
        "at",
        "3pm",
        "to",
        "and",
        "between",
        "end",
        "Christmas",
    ),
    *(
        "every",
        "night",
        "yesterday",
        "first",
        "weekend",
        "31",
        "february",
        "12:30",
        "-",
        ",",
        ".",
        "\n",
    ),
    *(
        "上周三",
        "昨天",
        "下午",
        "三点",
        "前",
        "后",
        "5月",
        "8日",
        "2023年",
        "底",
        "每",
        "到",
        "个",
        "月",
        "周",
    ),
]


@given(
    words=st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=12),
    separator=st.sampled_from([" ", ""]),
    said_at=st.datetimes(timezones=st.sampled_from([UTC, PARIS, SHANGHAI])),
    zone=st.sampled_from([UTC, PARIS, SHANGHAI, ZoneInfo("America/St_Johns")]),
)
def test_any_text_gives_ordered_intervals_in_its_own_words(
    words: list[str], separator: str, said_at: datetime, zone: tzinfo
) -> None:
    text = separator.join(words)
    spans = resolve(text, said_at=said_at, zone=zone)
    assert spans == resolve(text, said_at=said_at, zone=zone)
    assert all(span.start < span.end and span.text and span.text in text for span in spans)
    intervals = [(span.start, span.end) for span in spans]
    assert intervals == sorted(set(intervals))
    assert has_cue(text) or not spans


def test_a_long_text_takes_time_in_proportion() -> None:
    hostile = ["in a " * 40_000, "the day before " * 13_000, "5 " * 100_000, "三" * 200_000]
    hostile += [
        "last week " * 2_000,
        "May 5-" * 10_000,
        "1:" * 100_000,
        "from to between and " * 10_000,
    ]
    for text in hostile:
        spans = resolve(text, said_at=WEDNESDAY, zone=PARIS)
        assert len(spans) <= 40
