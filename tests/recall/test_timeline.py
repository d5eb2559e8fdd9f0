"""Timelines: dated events in order, each once, and no day that nobody named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from ingest.said import NOON, said

from memstrata.recall.timeline import Event, order_events
from memstrata.records import Episode, Evidence, Hit, Message, Record, TimeSpan, micros

DAY = timedelta(days=1)
MAY = datetime(2026, 5, 1, tzinfo=UTC)


def of_message(message: Message) -> Hit:
    return Hit(id=message.id, stratum="messages", text=message.content, score=0.5, message=message)


def of_record(
    text: str, kind: str = "episodic", *, id: str = "epi_1", source: str = "msg_1", **more: Any
) -> Hit:
    evidence = [Evidence(source_id=source, quote=text)]
    record = Record(
        id=id,
        kind=kind,
        title=text,
        text=text,
        fields=more.pop("fields", {}),
        recorded_at=NOON,
        created_at=NOON,
        fingerprint=id,
        evidence=evidence,
        batch_id="batch_1",
        **more,
    )
    return Hit(id=id, stratum="records", kind=kind, text=text, score=0.5, record=record)


def of_episode(*ids: str, at: datetime = NOON, last: datetime | None = None) -> Hit:
    episode = Episode(
        id="ep_1",
        title="8 May 2026: Ottilie on ferries",
        summary="Ottilie: I missed the ferry.",
        started_at=at,
        ended_at=last or at,
        message_ids=list(ids),
        recorded_at=NOON,
        batch_id="batch_1",
    )
    return Hit(id="ep_1", stratum="episodes", text=episode.text, score=0.5, episode=episode)


def order(
    *hits: Hit, window: tuple[datetime, datetime] | None = None, zone: Any = UTC
) -> list[Event]:
    spanned = window and (micros(window[0]), micros(window[1]))
    return order_events(hits, spanned, zone)


def days(events: list[Event]) -> list[tuple[int, int]]:
    return [(event.when.month, event.when.day) for event in events]


def span(start: datetime, words: str, length: timedelta = DAY) -> TimeSpan:
    return TimeSpan(start=start, end=start + length, text=words)


def test_nothing_found_is_no_event() -> None:
    assert order() == []


def test_events_come_in_the_order_of_time_whatever_the_order_found() -> None:
    ferry = of_record("Ottilie missed the ferry.", occurred_at=MAY + DAY)
    kiln = of_record("Bruno fired the kiln.", id="epi_2", source="msg_2", occurred_at=MAY)
    heron = of_message(said("A heron came today.", "Mabel", at=-9000, id="msg_3"))
    for hits in ([ferry, kiln, heron], [heron, kiln, ferry], [kiln, ferry, heron]):
        assert [event.when for event in order(*hits)] == sorted(
            [MAY, MAY + DAY, NOON - timedelta(minutes=9000)]
        )


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        ("Hello. I fired the kiln yesterday. Bye.", "yesterday", "I fired the kiln yesterday."),
        ("你好。我昨天烧了窑。再见。", "昨天", "我昨天烧了窑。"),
    ],
)
def test_a_message_tells_what_happened_when_it_says(
    content: str, words: str, sentence: str
) -> None:
    message = said(content, "Bruno", spans=[span(MAY, words)])
    [event] = order(of_message(message))
    assert (event.when, event.until, event.kind) == (MAY, MAY + DAY, "messages")
    assert event.text == f"Bruno: {sentence}"
    assert event.evidence == [Evidence(source_id="msg_1", quote=sentence)]
    assert sentence in content


@pytest.mark.parametrize(
    "content", ["Did you fire the kiln yesterday?", "你昨天烧窑了吗？", "Really? Was it hot?"]
)
def test_a_question_tells_of_no_event(content: str) -> None:
    assert order(of_message(said(content, spans=[span(MAY, "yesterday")]))) == []


def test_a_question_within_a_message_tells_of_no_event() -> None:
    content = "I fired the kiln on Monday. Was yours fired on Tuesday?"
    spans = [span(MAY, "on Monday"), span(MAY + DAY, "on Tuesday")]
    assert days(order(of_message(said(content, spans=spans)))) == [(5, 1)]


def test_a_record_stands_for_its_message_on_its_day_only() -> None:
    content = "I fired the kiln on Monday. The bowls were sold on Friday."
    spans = [span(MAY, "on Monday"), span(MAY + 4 * DAY, "on Friday")]
    record = of_record("Bruno fired the kiln.", occurred_at=MAY)
    events = order(of_message(said(content, spans=spans)), record)
    assert [(event.kind, event.when) for event in events] == [
        ("episodic", MAY),
        ("messages", MAY + 4 * DAY),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bruno fired the big kiln at the pottery.", "Bruno fired the kiln at the pottery."),
        ("柳青禾在码头错过了渡轮。", "柳青禾在码头错过了早班渡轮。"),
    ],
)
def test_told_twice_on_one_day_it_is_one_event_with_both_sources(one: str, other: str) -> None:
    first = of_record(one, occurred_at=MAY)
    again = of_record(other, id="epi_2", source="msg_2", occurred_at=MAY + timedelta(hours=3))
    [event] = order(first, again)
    assert event.text == one
    assert [source.source_id for source in event.evidence] == ["msg_1", "msg_2"]
    later = of_record(other, id="epi_2", source="msg_2", occurred_at=MAY + DAY)
    assert len(order(first, later)) == 2


def test_one_name_does_not_make_two_events_one() -> None:
    kiln = of_record("Bruno fired the kiln.", occurred_at=MAY)
    tooth = of_record("Bruno lost a tooth.", id="epi_2", source="msg_2", occurred_at=MAY)
    assert len(order(kiln, tooth)) == 2


def test_one_day_is_a_day_of_the_user() -> None:
    late = MAY + timedelta(hours=23)
    hits = [
        of_record("Bruno fired the kiln again.", occurred_at=late),
        of_record(
            "Bruno fired the kiln.", id="epi_2", source="msg_2", occurred_at=late + 2 * DAY / 24
        ),
    ]
    assert len(order(*hits)) == 2
    assert len(order(*hits, zone=ZoneInfo("Pacific/Kiritimati"))) == 1


def test_a_window_keeps_what_touches_it() -> None:
    trip = of_record("Mabel sailed.", occurred_at=MAY, ended_at=MAY + 3 * DAY)
    point = of_record("Bruno fell.", id="epi_2", source="msg_2", occurred_at=MAY + 3 * DAY)
    assert days(order(trip, point, window=(MAY + 2 * DAY, MAY + 3 * DAY))) == [(5, 1)]
    assert days(order(trip, point, window=(MAY + 3 * DAY, MAY + 4 * DAY))) == [(5, 4)]
    assert order(trip, point, window=(MAY + 9 * DAY, MAY + 10 * DAY)) == []


def test_an_episode_tells_only_what_nothing_else_does() -> None:
    assert [event.kind for event in order(of_episode("msg_7"))] == ["episodes"]
    ferry = of_record("Ottilie missed the ferry.", source="msg_7", occurred_at=MAY)
    assert [event.kind for event in order(of_episode("msg_7"), ferry)] == ["episodic"]
    message = of_message(said("I missed the ferry.", id="msg_7"))
    assert [event.kind for event in order(of_episode("msg_7"), message)] == ["messages"]
    [lasting] = order(of_episode("msg_7", last=NOON + DAY))
    assert lasting.until == NOON + DAY


FACT: dict[str, Any] = {"kind": "semantic", "id": "sem_1"}


@pytest.mark.parametrize(("said_at", "dated"), [(None, True), (NOON, True), (MAY, False)])
def test_a_fact_is_an_event_if_it_began_at_another_time_than_it_was_said(
    said_at: datetime | None, dated: bool
) -> None:
    fact = of_record("Mabel lives in Ostholm.", **FACT, valid_from=MAY, occurred_at=said_at)
    assert [event.when for event in order(fact)] == [MAY] * dated


def test_midnight_is_the_users() -> None:
    fact = of_record("比克拉姆住在望潮岛。", **FACT, valid_from=MAY.replace(hour=18, minute=15))
    [event] = order(fact, zone=ZoneInfo("Asia/Kathmandu"))
    assert event.when == MAY.replace(hour=18, minute=15)


def test_a_fact_lasts_until_it_ends() -> None:
    fact = of_record("Mabel lives in Ostholm.", **FACT, valid_from=MAY, valid_to=MAY + 9 * DAY)
    [event] = order(fact)
    assert event.until == MAY + 9 * DAY


def test_what_is_due_is_an_event_of_that_day() -> None:
    due = {"due": "2026-06-01T00:00:00+00:00"}
    plan = of_record("Mabel plans to sail.", fields=due)
    assert days(order(plan)) == [(6, 1)]
    for broken in ("soon", "2026-06-01", 7, None):
        assert order(of_record("Mabel plans to sail.", fields={"due": broken})) == []


def test_what_was_taken_back_never_happened() -> None:
    assert order(of_record("Mabel sailed.", occurred_at=MAY, lifecycle="retired")) == []


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue"])
def test_the_first_and_the_last_day_there_is(zone: str) -> None:
    first = of_record("The world began.", occurred_at=datetime(1, 1, 1, tzinfo=UTC))
    end = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    last = of_record("The world ended.", id="epi_2", source="m2", occurred_at=end)
    fact = of_record("It lasts.", **FACT, source="m3", valid_from=end, occurred_at=end)
    events = order(last, first, fact, zone=ZoneInfo(zone))
    assert [event.when.year for event in events] == [1, 9999]
