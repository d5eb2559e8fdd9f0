"""Duplicates and edits: what is said again is not stored again, what is not edited stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cases.support import found, set_clock, texts

from memstrata import Memory
from memstrata.records import Record

FERRY = "The ferry to Ostholm leaves at 06:15."
DAY = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)


def test_r03_the_same_text_again_is_one_message(memory: Memory) -> None:
    """Adding a text that was there already removed the stored copy (mem0ai/mem0 #1674)."""
    first = memory.add(FERRY, user_id="ottilie")
    before = memory.stats(user_id="ottilie")
    again = [memory.add(FERRY, user_id="ottilie") for _ in range(2)]
    twice = memory.add([FERRY, FERRY], user_id="ottilie")

    assert [receipt.message_ids for receipt in [*again, twice]] == [first.message_ids] * 3
    assert all(receipt.skipped[0].id == first.message_ids[0] for receipt in again)
    assert texts(memory.messages(user_id="ottilie")) == [FERRY]
    assert found(memory.search("when does the ferry leave?", user_id="ottilie")) == [FERRY]
    after = memory.stats(user_id="ottilie")
    assert (after["items"], after["records"]) == (before["items"], before["records"])


def test_r03_one_call_and_many_calls_leave_the_same(memory: Memory) -> None:
    """Two equal items in one call made two facts, a call each made one (getzep/graphiti #1872)."""
    timed = {"role": "user", "content": FERRY, "occurred_at": DAY.isoformat(), "name": "Ottilie"}
    for session in (None, "pier"):
        at_once, one_by_one = f"once-{session}", f"each-{session}"
        memory.add([timed, timed], user_id=at_once, session_id=session)
        memory.add(timed, user_id=one_by_one, session_id=session)
        memory.add(timed, user_id=one_by_one, session_id=session)
        assert texts(memory.messages(user_id=at_once)) == [FERRY], session
        assert texts(memory.messages(user_id=one_by_one)) == [FERRY], session


def test_r03_what_was_taken_back_can_be_said_again(memory: Memory) -> None:
    """The other half of the case: a copy that is hidden must not swallow the new one."""
    first = memory.add(FERRY, user_id="ottilie")
    memory.undo(first.batch_id, user_id="ottilie")
    assert texts(memory.messages(user_id="ottilie")) == []

    second = memory.add(FERRY, user_id="ottilie")
    assert second.message_ids != first.message_ids
    assert texts(memory.messages(user_id="ottilie")) == [FERRY]
    assert found(memory.search("ferry", user_id="ottilie")) == [FERRY]


def test_r03_the_same_record_again_keeps_both_sources(memory: Memory) -> None:
    """A duplicate adds its source to the record that stands, whose id it gets back."""
    said = memory.add([FERRY, "Ostholm ferry: quarter past six, still."], user_id="ottilie")
    fact = {"kind": "semantic", "name": "The Ostholm ferry leaves at 06:15"}
    receipts = [
        memory.create({**fact, "evidence": [source]}, user_id="ottilie")
        for source in (*said.message_ids, said.message_ids[0])
    ]

    assert {tuple(receipt.record_ids) for receipt in receipts} == {tuple(receipts[0].record_ids)}
    [record] = memory.list(user_id="ottilie")
    assert [item.source_id for item in record.evidence] == said.message_ids
    assert record.version == 1


def record_of(memory: Memory, record_id: str, scope: dict[str, Any]) -> Record:
    """The record as it is now."""
    found = memory.get(record_id, **scope)
    assert isinstance(found, Record)
    return found


def test_r36_an_edit_leaves_what_it_does_not_name(memory: Memory) -> None:
    """Editing a memory's text wiped the metadata its owner had put there (mem0ai/mem0 #5160)."""
    set_clock(memory, DAY)
    said = memory.add("The boiler man comes on the ninth.", user_id="ottilie", agent_id="porter")
    [record_id] = memory.create(
        {
            "kind": "semantic",
            "name": "The boiler is serviced on the ninth",
            "details": "Ring twice, the bell is faint.",
            "metadata": {"room": "cellar", "urgency": 4, "seen_by": ["mo", "li"]},
            "tags": ["house", "heating"],
            "path": "home/heating",
            "occurred_at": "2026-04-09T10:00:00+02:00",
            "confidence": 0.8,
            "trust": "agent",
            "evidence": said.message_ids,
        },
        user_id="ottilie",
        agent_id="porter",
    ).record_ids
    scope: dict[str, Any] = {"user_id": "ottilie", "agent_id": "porter"}
    old = record_of(memory, record_id, scope)

    set_clock(memory, DAY + timedelta(hours=1))
    memory.update(record_id, name="The boiler is serviced on the tenth", **scope)
    renamed = record_of(memory, record_id, scope)
    changed = {"version", "title", "text", "fields", "recorded_at", "fingerprint", "batch_id"}
    assert renamed.model_dump(exclude=changed) == old.model_dump(exclude=changed)
    assert renamed.fields == {**old.fields, "name": "The boiler is serviced on the tenth"}
    assert renamed.recorded_at == DAY + timedelta(hours=1) and renamed.created_at == DAY

    set_clock(memory, DAY + timedelta(hours=2))
    memory.update(record_id, metadata={"urgency": 1}, **scope)
    calmer = record_of(memory, record_id, scope)
    changed = {"version", "metadata", "recorded_at", "batch_id"}
    assert calmer.model_dump(exclude=changed) == renamed.model_dump(exclude=changed)
    assert calmer.metadata == {"room": "cellar", "urgency": 1, "seen_by": ["mo", "li"]}
    assert calmer.recorded_at == DAY + timedelta(hours=2)


def facts(memory: Memory, **options: Any) -> list[tuple[Any, ...]]:
    """Value, polarity and lifecycle of each fact there ever was, in the order of its beginning."""
    listed = memory.list(
        user_id="ottilie", lifecycles=["current", "past", "review", "retired"], kinds=["semantic"],
        **options,
    )  # fmt: skip
    by_begin = sorted(listed, key=lambda r: str(r.valid_from))
    return [(r.fields["value"], r.fields.get("polarity"), r.lifecycle) for r in by_begin]


def tell(memory: Memory, day: datetime, text: str, **options: Any) -> list[str]:
    """Say it on a day; the ids of the records it wrote."""
    set_clock(memory, day)
    return memory.add(text, user_id="ottilie", occurred_at=day, **options).record_ids


@pytest.mark.parametrize(
    ("liked", "disliked", "thing"),
    [
        ("I really enjoy radishes.", "I can't stand radishes.", "radishes"),
        ("我很喜欢萝卜。", "我讨厌萝卜。", "萝卜"),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_r01_the_opposite_takes_the_place_of_what_was_said(
    memory: Memory, liked: str, disliked: str, thing: str, swap: bool
) -> None:
    """The opposite of a stored statement deleted it and was not stored itself, so that nothing
    was left (mem0ai/mem0 #4536)."""
    first, second = (disliked, liked) if swap else (liked, disliked)
    [old] = tell(memory, DAY, first)
    tell(memory, DAY + timedelta(days=9), second)

    assert facts(memory) == [(thing, not swap, "past"), (thing, swap, "current")]
    hits = memory.search(thing, user_id="ottilie", strata=["records"])
    assert [hit.record.fields["polarity"] for hit in hits if hit.record] == [swap]
    assert [change.op for change in memory.history(old, user_id="ottilie")] == ["create", "end"]
    then = memory.search(
        thing, user_id="ottilie", strata=["records"], as_of=DAY + timedelta(days=2)
    )
    assert [hit.record.fields["polarity"] for hit in then if hit.record] == [not swap]
    assert memory.verify() == []


@pytest.mark.parametrize(
    ("no_more", "again", "question", "value"),
    [
        ("I don't eat fish any more.", "I'm eating fish again since last week.",
         "does the user eat fish?", "fish"),
        ("我不吃鱼了。", "我上周又开始吃鱼了。", "用户吃鱼吗？", "鱼"),
    ],
)  # fmt: skip
def test_r02_what_is_so_again_ends_what_was_so_in_between(
    memory: Memory, no_more: str, again: str, question: str, value: str
) -> None:
    """`vegetarian` and `ate steak` stood side by side, and a search gave both
    (mem0ai/mem0 #5576)."""
    later = DAY + timedelta(days=40)
    tell(memory, DAY, no_more)
    tell(memory, later, again)

    old, new = sorted(
        (r for r in memory.list(user_id="ottilie") if r.kind == "semantic"),
        key=lambda r: str(r.valid_from),
    )
    assert (old.fields["value"], old.fields["polarity"], old.lifecycle) == (value, False, "past")
    assert (new.fields["value"], new.fields["polarity"], new.lifecycle) == (value, True, "current")
    assert old.valid_from == DAY
    assert old.valid_to == new.valid_from
    assert new.valid_from is not None
    assert timedelta(days=1) < later - new.valid_from < timedelta(days=15)
    assert (old.superseded_by, new.supersedes) == (new.id, old.id)

    def answer(**options: Any) -> list[bool]:
        hits = memory.search(question, user_id="ottilie", strata=["records"], **options)
        facts = [hit.record for hit in hits if hit.record and hit.record.kind == "semantic"]
        return [fact.fields["polarity"] is True for fact in facts]

    assert answer() == [True]
    assert answer(as_of=DAY + timedelta(days=10)) == [False]
    assert answer(known_at=DAY + timedelta(days=10)) == [False]


@pytest.mark.parametrize(
    ("works", "also", "values"),
    [
        ("Orla works at Fernhill as an accountant.", "Orla also runs the chess club at Fernhill.",
         {"Fernhill", "accountant"}),
        ("陶然在风岭公司当会计。", "陶然还在风岭公司经营一个棋社。", {"风岭公司", "会计"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("late", [False, True])
def test_r04_a_mention_of_somebody_ends_nothing_about_them(
    memory: Memory, works: str, also: str, values: set[str], late: bool
) -> None:
    """A statement that merely named a person closed unrelated facts that were still true
    (getzep/graphiti #1728)."""
    first, second = (also, works) if late else (works, also)
    tell(memory, DAY, first)
    tell(memory, DAY + timedelta(days=3), second)
    assert {value for value, _, _ in facts(memory)} >= values
    assert {lifecycle for _, _, lifecycle in facts(memory)} == {"current"}
    assert all(r.valid_to is None for r in memory.list(user_id="ottilie"))
    assert memory.review(user_id="ottilie").items == []


def test_a_fact_that_has_ended_is_not_ended_later(memory: Memory) -> None:
    """What is dated before everything else moved the end of a fact that others had ended."""
    for said, when in (
        ("I live in Shanghai.", "2026-03-01"),
        ("I live in Gdansk.", "2026-03-02"),
        ("I moved to Faro in May 2025.", "2026-03-03"),
    ):
        memory.add(said, user_id="ann", occurred_at=when)
    places = {r.fields["value"]: r for r in memory.list(user_id="ann") if "value" in r.fields}
    assert places["Shanghai"].superseded_by == places["Gdansk"].id
    assert places["Shanghai"].valid_to == places["Gdansk"].valid_from
    assert places["Gdansk"].superseded_by == places["Faro"].id
    assert places["Faro"].lifecycle == "current"
    assert memory.verify() == []


def test_what_is_said_again_with_an_earlier_date_is_one_fact(memory: Memory) -> None:
    """It became a second fact that says the same, which no store takes, and the batch failed."""
    said = [
        {"role": "user", "content": "I live in Faro.", "occurred_at": "2026-05-02"},
        {"role": "user", "content": "I live in Lisbon.", "occurred_at": "2026-04-02"},
        {"role": "user", "content": "I moved to Faro in May 2025.", "occurred_at": "2026-05-02"},
    ]
    assert memory.add(said, user_id="ann", session_id="s").state == "done"
    faro = [r for r in memory.list(user_id="ann") if r.fields.get("value") == "Faro"]
    assert len(faro) == 1
    assert len(faro[0].evidence) == 2
    assert memory.verify() == []
