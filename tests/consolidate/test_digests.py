"""Digests without a store: which periods there are, and what stands in them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memstrata.consolidate.derived import Derived, Key, hashed
from memstrata.consolidate.digests import LONGEST, Period, digests, periods_of
from memstrata.records import Evidence, Message, Record

NOW = datetime(2026, 5, 8, 9, tzinfo=UTC)
MONDAY = datetime(2026, 4, 27, 9, tzinfo=UTC)


def said(text: str, when: datetime = MONDAY, **more: Any) -> Message:
    """A message of that text."""
    told = {"id": f"msg_{hashed([text, str(when)])}", "role": "user", **more}
    return Message(content=text, occurred_at=when, recorded_at=when, batch_id="b", **told)


def event(text: str, when: datetime | None, **more: Any) -> Record:
    """An episodic record of that text."""
    fields = {"event_type": "event", "summary": text}
    own: dict[str, Any] = {"id": f"epi_{hashed([text])}", "kind": "episodic", "title": text}
    written = {"recorded_at": NOW, "created_at": NOW, "fingerprint": "f", "batch_id": "b"}
    return Record(**{**own, "text": text, "fields": fields, "occurred_at": when, **written, **more})


def made(
    messages: list[Message],
    events: list[Record] | None = None,
    known: dict[Key, str] | None = None,
    zone: Any = UTC,
) -> dict[Key, Derived | None]:
    """What `digests` gives, by key."""
    return dict(digests(messages, events or [], zone, NOW, known=known or {}))


def text_of(found: Derived | None) -> str:
    """What a digest says."""
    assert found is not None
    return found.model.body()


# ── periods ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("period", "key", "english", "chinese"),
    [
        (Period(date(2026, 5, 5), "day"), ("day", "2026-05-05"), "Tuesday 5 May 2026",
         "2026年5月5日，星期二"),
        (Period(date(2026, 5, 4), "week"), ("week", "2026-W19"), "Week of 4 May 2026",
         "2026年5月4日这一周"),
        (Period(date(2024, 12, 30), "week"), ("week", "2025-W01"), "Week of 30 December 2024",
         "2024年12月30日这一周"),
    ],
)  # fmt: skip
def test_what_a_period_is_called(period: Period, key: Key, english: str, chinese: str) -> None:
    assert (period.key, period.title(False), period.title(True)) == (key, english, chinese)


def test_only_what_is_over_is_a_period() -> None:
    def named(when: datetime, now: datetime = NOW) -> list[str]:
        return [period.key[1] for period in periods_of(when, UTC, now)]

    assert named(NOW) == []
    assert named(NOW - timedelta(days=1)) == ["2026-05-07"]
    assert named(NOW - timedelta(days=5)) == ["2026-05-03", "2026-W18"]
    assert named(NOW, NOW + timedelta(days=3)) == ["2026-05-08", "2026-W19"]
    assert named(datetime(1, 1, 1, tzinfo=UTC)) == named(datetime(9999, 12, 31, tzinfo=UTC)) == []


def test_a_day_lasts_as_long_as_it_does() -> None:
    lisbon = ZoneInfo("Europe/Lisbon")
    start, end = Period(date(2026, 3, 29), "day").bounds(lisbon)
    assert end.astimezone(UTC) - start.astimezone(UTC) == timedelta(hours=23)
    assert [
        p.key[1] for p in periods_of(datetime(2026, 5, 5, 23, 30, tzinfo=UTC), lisbon, NOW)
    ] == ["2026-05-06"]


# ── what they say ────────────────────────────────────────────────────────────────────────────


def test_a_week_needs_two_days() -> None:
    one = [said("The roof is mended.")]
    assert list(made(one)) == [("day", "2026-04-27")]
    two = [*one, said("The gate is mended.", MONDAY + timedelta(days=2))]
    assert ("week", "2026-W18") in made(two)


def test_what_nobody_said_is_not_told() -> None:
    day = [
        said("You are a helpful assistant.", role="system"),
        said("42 rows", role="tool"),
        said("[image: a photo of a lamp]"),
        said("The lamp is blue."),
    ]
    (found,) = made(day).values()
    assert text_of(found) == "user: The lamp is blue."
    assert found is not None and found.messages == (day[-1].id,)
    assert made(day[:2]) == {}


def test_events_stand_first_with_the_day_they_were_told_on() -> None:
    told = said("We mended the roof the day before yesterday.", MONDAY + timedelta(days=2))
    there = said("I bought a ladder of 12 steps.")
    roof = event("Ivo mended the roof", MONDAY, evidence=[Evidence(source_id=told.id)])
    found = made([there, told], [roof])
    day = found["day", "2026-04-27"]
    assert text_of(day).splitlines() == [
        "Ivo mended the roof (said on 29 April)",
        "user: I bought a ladder of 12 steps.",
    ]
    assert day is not None
    assert {e.source_id for e in day.sources} == {roof.id, told.id, there.id}
    week = text_of(found["week", "2026-W18"]).splitlines()
    assert week[0] == "27 April, Ivo mended the roof (said on 29 April)"
    assert "27 April, user: I bought a ladder of 12 steps." in week


def test_an_event_that_may_have_been_on_another_day_is_not_of_this_one() -> None:
    long = event("Ivo mended the roof", MONDAY, ended_at=MONDAY + timedelta(days=7))
    retired = event("Ivo fell", MONDAY, lifecycle="retired")
    sealed = event("Ivo saw a doctor", MONDAY, sensitivity="high")
    brief = event("Ivo is away", MONDAY, expires_at=NOW + timedelta(days=9))
    digest = event("An older digest", MONDAY, metadata={"derived": {"of": "day"}})
    digest.fields["event_type"] = "digest"
    events = [long, retired, sealed, brief, digest]
    (found,) = made([said("The ladder is too short.")], events).values()
    assert text_of(found) == "user: The ladder is too short."


def test_the_least_trusted_source_counts() -> None:
    (found,) = made([said("A page says so.", trust="web"), said("The lamp is blue.")]).values()
    assert found is not None and found.model.trust == "web"


def test_a_long_week_is_held_within_a_length_and_in_order() -> None:
    week = [
        said(
            f"In room {day * 100 + n} I counted {n * 7 + 3} chairs, {n} tables and a brass lamp of "
            f"the year {1800 + n}, which nobody had looked at since the {n}th of last May.",
            MONDAY + timedelta(days=day, minutes=n),
        )
        for day in range(6)
        for n in range(40)
    ]
    found = text_of(made(week)["week", "2026-W18"])
    assert LONGEST / 2 < len(found) <= LONGEST
    days = [int(line.split()[0]) if line[0].isdigit() else 0 for line in found.splitlines()]
    assert [day for day in days if day > 5] == sorted(day for day in days if day > 5)


def test_what_stands_already_is_not_made_again() -> None:
    day = [said("The lamp is blue.")]
    (found,) = made(day).values()
    assert found is not None
    mark: Any = found.model.metadata["derived"]
    known: dict[Key, str] = {("day", "2026-04-27"): mark["sources"]}
    assert made(day, known=known) == {("day", "2026-04-27"): None}
    assert made([*day, said("And so is the door.")], known=known) != {("day", "2026-04-27"): None}
    assert made(day, known=known, zone=ZoneInfo("Europe/Lisbon")) != {("day", "2026-04-27"): None}
