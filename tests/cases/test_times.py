"""Dates: when it happened is not when it was imported, and `yesterday` is the user's."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from cases.support import found, python, set_clock, texts

from memstrata import Memory
from memstrata.records import Message

MINUTE = timedelta(minutes=1)


def test_r10_an_imported_message_keeps_its_own_date(memory: Memory) -> None:
    """Old conversations were dated by their import, and what they call `yesterday` was resolved
    against today (mem0ai/mem0 #4963, vectorize-io/hindsight #4610)."""
    said = [
        {
            "role": "user",
            "content": "The lock on the boathouse was changed yesterday.",
            "occurred_at": "2022-11-05T09:30:00Z",
        },
        {"role": "user", "content": "I signed up for rowing.", "occurred_at": "2022-08-01"},
        {"role": "assistant", "content": "Rowing, how nice!", "occurred_at": "2022-08-01"},
        {"role": "user", "content": "Lessons are on Mondays.", "occurred_at": "2022-08-01"},
    ]
    before = datetime.now(UTC)
    receipt = memory.add(said, user_id="ottilie")

    stored = memory.messages(user_id="ottilie").items
    assert texts(stored) == [said[n]["content"] for n in (1, 2, 3, 0)]
    assert all(before <= m.recorded_at <= datetime.now(UTC) for m in stored)
    lock = memory.get(receipt.message_ids[0], user_id="ottilie")
    assert isinstance(lock, Message)
    assert lock.occurred_at == datetime(2022, 11, 5, 9, 30, tzinfo=UTC)
    [span] = lock.spans
    assert (span.text, span.start, span.end) == (
        "yesterday",
        datetime(2022, 11, 4, tzinfo=UTC),
        datetime(2022, 11, 5, tzinfo=UTC),
    )


def test_r10_a_question_is_about_the_day_things_happened(memory: Memory) -> None:
    """A day is searched by when things were said, in the question's own time."""
    for day, text in (("2022-08-01", "Rowing lesson with Ben."), ("2022-09-01", "Rowing alone.")):
        memory.add(text, user_id="ottilie", occurred_at=f"{day}T12:00:00Z")

    hits = memory.search("rowing yesterday", user_id="ottilie", now="2022-08-02T10:00:00Z")
    assert hits[0].text == "Rowing lesson with Ben."
    assert hits[0].occurred_at == datetime(2022, 8, 1, 12, tzinfo=UTC)
    window = memory.search("rowing", user_id="ottilie", since="2022-09-01", until="2022-09-02")
    assert found(window) == ["Rowing alone."]


def test_r11_every_time_shown_has_its_offset(memory: Memory) -> None:
    """UTC was handed to the model without saying so, and texts were hours off
    (MemTensor/MemOS #2369)."""
    memory.set_user(user_id="bikram", timezone="Asia/Kathmandu")
    memory.add("I am at the pharmacy.", user_id="bikram", occurred_at="2026-03-10T12:45:00")

    [message] = memory.messages(user_id="bikram")
    assert message.occurred_at == datetime(2026, 3, 10, 7, 0, tzinfo=UTC)
    assert message.model_dump(mode="json")["occurred_at"] == "2026-03-10T07:00:00Z"
    shown = memory.context("pharmacy", user_id="bikram")
    assert "2026-03-10 12:45+05:45" in str(shown)
    day: dict[str, Any] = {"since": "2026-03-10T12:45", "until": "2026-03-10T12:46"}
    assert len(memory.messages(user_id="bikram", **day)) == 1
    same = {"occurred_at": {"gte": "2026-03-10T12:45", "lt": "2026-03-10T12:46"}}
    assert len(memory.messages(user_id="bikram", filters=same)) == 1


@pytest.mark.parametrize("local", ["2026-03-10T00:30:00", "2026-03-10T23:30:00"])
def test_r11_today_is_the_users_date(memory: Memory, local: str) -> None:
    """Half an hour after local midnight it is still the day before in UTC."""
    memory.set_user(user_id="bikram", timezone="Asia/Kathmandu")
    memory.add("I repaired the kite today.", user_id="bikram", occurred_at=local)

    [message] = memory.messages(user_id="bikram")
    midnight = datetime(2026, 3, 9, 18, 15, tzinfo=UTC)
    assert [(s.start, s.end) for s in message.spans] == [(midnight, midnight + timedelta(days=1))]
    plan = memory.search("what did I repair today?", user_id="bikram", now=local, explain=True).plan
    assert plan is not None
    assert plan["window"] == {
        "start": midnight.isoformat(),
        "end": (midnight + timedelta(days=1)).isoformat(),
    }


ASK_YESTERDAY = """
import datetime, json, sys, memstrata
with memstrata.open(":memory:", embedder="none") as memory:
    memory.set_user(user_id="sione", timezone="Pacific/Auckland")
    instant = datetime.datetime(2026, 3, 10, 23, 30, tzinfo=datetime.timezone.utc)
    memory.aio._runtime.clock = lambda: instant
    windows = {}
    for user in ("nobody in particular", "sione"):
        memory.add("The gutters were cleaned.", user_id=user)
        plan = memory.search("what was cleaned yesterday?", user_id=user, explain=True).plan
        shown = str(memory.context("gutters", user_id=user))
        windows[user] = [plan["window"]["start"], plan["window"]["end"], shown.count("+")]
    print(json.dumps(windows))
"""


def test_r12_yesterday_does_not_depend_on_the_servers_zone() -> None:
    """Without a time of its own a question used the server's wall clock, and the window moved by
    a day from server to server (vectorize-io/hindsight #4356)."""
    zones = ("UTC", "Pacific/Niue", "Pacific/Kiritimati")
    answers = [json.loads(python(ASK_YESTERDAY, env={"TZ": zone})) for zone in zones]

    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["nobody in particular"][:2] == [
        "2026-03-09T00:00:00+00:00",
        "2026-03-10T00:00:00+00:00",
    ]
    assert answers[0]["sione"][:2] == ["2026-03-09T11:00:00+00:00", "2026-03-10T11:00:00+00:00"]


def test_r12_the_answer_moves_only_with_the_users_zone(memory: Memory) -> None:
    """One instant, three users: each has the `yesterday` of where they are."""
    set_clock(memory, datetime(2026, 3, 10, 23, 30, tzinfo=UTC))
    starts = {}
    for zone in ("Pacific/Niue", "Europe/Lisbon", "Pacific/Kiritimati"):
        memory.set_user(user_id=zone, timezone=zone)
        plan = memory.search("yesterday", user_id=zone, explain=True).plan
        assert plan is not None
        starts[zone] = datetime.fromisoformat(cast("dict[str, str]", plan["window"])["start"])
    assert starts == {
        "Pacific/Niue": datetime(2026, 3, 9, 11, tzinfo=UTC),
        "Europe/Lisbon": datetime(2026, 3, 9, tzinfo=UTC),
        "Pacific/Kiritimati": datetime(2026, 3, 9, 10, tzinfo=UTC),
    }


@pytest.mark.parametrize(
    ("said", "word"),
    [("I moved into the new boathouse yesterday.", "boathouse"), ("我昨天搬进了新船屋。", "船屋")],
)
def test_r10_an_event_is_dated_by_when_it_was_told(memory: Memory, said: str, word: str) -> None:
    """What an imported message calls yesterday is the day before the message, not before the
    import; when it was learned is kept apart."""
    before = datetime.now(UTC)
    memory.add(said, user_id="ottilie", occurred_at="2022-11-05T09:30:00Z")

    day = datetime(2022, 11, 4, tzinfo=UTC)
    records = memory.list(user_id="ottilie", kinds=["episodic"]).items
    assert [record.occurred_at for record in records] == [day]
    assert before <= records[0].recorded_at <= datetime.now(UTC)
    assert [(event.when, word in event.text) for event in memory.timeline(word, user_id="ottilie")]
    assert {event.when for event in memory.timeline(word, user_id="ottilie")} == {day}
    [episode] = memory.episodes(user_id="ottilie")
    assert episode.started_at == datetime(2022, 11, 5, 9, 30, tzinfo=UTC)
    assert episode.title.startswith(("5 November 2022", "2022年11月5日"))


@pytest.mark.parametrize(
    ("said", "words"),
    [("I repaired the kite today.", "10 March 2026"), ("我今天修好了风筝。", "2026年3月10日")],
)
@pytest.mark.parametrize("local", ["2026-03-10T00:30:00", "2026-03-10T23:30:00"])
def test_r11_what_is_made_of_a_message_has_the_users_date(
    memory: Memory, said: str, words: str, local: str
) -> None:
    """Titles, events and timelines count days where the user is, not where the server is."""
    memory.set_user(user_id="bikram", timezone="Asia/Kathmandu")
    memory.add(said, user_id="bikram", occurred_at=local)

    midnight = datetime(2026, 3, 9, 18, 15, tzinfo=UTC)
    [episode] = memory.episodes(user_id="bikram")
    assert episode.title.startswith(words)
    [record] = memory.list(user_id="bikram", kinds=["episodic"])
    assert record.occurred_at == midnight
    question = "what did I repair?" if said.isascii() else "我修好了什么风筝？"
    [event] = memory.timeline(question, user_id="bikram")
    assert event.when == midnight


YESTERDAYS_EVENTS = """
import datetime, json, memstrata
with memstrata.open(":memory:", embedder="none") as memory:
    memory.set_user(user_id="sione", timezone="Pacific/Auckland")
    instant = datetime.datetime(2026, 3, 10, 23, 30, tzinfo=datetime.timezone.utc)
    memory.aio._runtime.clock = lambda: instant
    told = {}
    for user in ("nobody in particular", "sione"):
        memory.add("I cleaned the gutters yesterday. 我昨天洗了窗户。", user_id=user)
        events = memory.timeline("what was cleaned? 洗了什么窗户？", user_id=user)
        [episode] = memory.episodes(user_id=user)
        told[user] = [sorted({str(event.when) for event in events}), episode.title.split("：")[0]]
    print(json.dumps(told, ensure_ascii=False))
"""


def test_r12_no_event_depends_on_the_servers_zone() -> None:
    """The same instant gives the same events and titles on every server."""
    zones = ("UTC", "Pacific/Niue", "Pacific/Kiritimati")
    told = [json.loads(python(YESTERDAYS_EVENTS, env={"TZ": zone})) for zone in zones]

    assert told[0] == told[1] == told[2]
    assert told[0]["nobody in particular"][0] == ["2026-03-09 00:00:00+00:00"]
    assert told[0]["sione"][0] == ["2026-03-09 11:00:00+00:00"]
    assert told[0]["nobody in particular"][1] != told[0]["sione"][1]
