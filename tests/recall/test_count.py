"""Counts: how many there are, as far as memory can tell, and a clear no where it cannot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from ingest.said import NOON, said

from memstrata.recall.count import Count, count_things
from memstrata.recall.plan import make_plan
from memstrata.records import Evidence, Hit, Record

DAY = 24 * 60


def record(kind: str, text: str, fields: dict[str, Any], **more: Any) -> Hit:
    source, quote = more.pop("source", "msg_9"), more.pop("quote", text)
    made = Record(
        id=f"{kind}_{text}",
        kind=kind,
        title=text,
        text=text,
        fields=fields,
        recorded_at=NOON,
        created_at=NOON,
        fingerprint=text,
        evidence=[Evidence(source_id=source, quote=quote)],
        batch_id="batch_1",
        **more,
    )
    return Hit(id=made.id, stratum="records", kind=kind, text=text, score=0.5, record=made)


def fact(subject: str, attribute: str, value: str, **more: Any) -> Hit:
    polarity = more.pop("polarity", True)
    fields = {"subject": subject, "attribute": attribute, "value": value, "polarity": polarity}
    verb = attribute.replace("_", " ")
    return record("semantic", more.pop("text", f"{subject} {verb} {value}"), fields, **more)


def event(summary: str, day: datetime | None, actor: str = "user", **more: Any) -> Hit:
    fields = {"summary": summary, "actor": actor, **more.pop("fields", {})}
    return record("episodic", summary, fields, occurred_at=day, source=str(day), **more)


def message(content: str, name: str | None = None, *, day: int = 0, **more: Any) -> Hit:
    one = said(content, name, at=day * DAY, id=f"msg_{content}_{day}", **more)
    return Hit(id=one.id, stratum="messages", text=content, score=0.5, message=one)


def count(query: str, *hits: Hit, speakers: tuple[str, ...] = (), zone: tzinfo = UTC) -> Count:
    plan = make_plan(query, now=NOON, zone=zone, speakers={name: 1 for name in speakers})
    return count_things(query, hits, plan, zone)


# ── facts one by one ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "attribute", "values"),
    [
        ("How many pets do I have?", "pet", ["Biscuit", "Pretzel"]),
        ("How many siblings do I have?", "sister", ["Wren", "Linnet", "Dove"]),
        ("how many languages do I speak?", "speaks", ["Faroese", "Basque"]),
        ("我养了几只宠物？", "pet", ["年糕", "汤圆"]),
        ("我有几个孩子？", "son", ["柳小舟"]),
        ("我会几门语言？", "speaks", ["法语", "德语"]),
    ],
)
def test_distinct_values_are_a_lower_bound(query: str, attribute: str, values: list[str]) -> None:
    found = count(query, *(fact("user", attribute, value) for value in values))
    assert found.value == len(values)
    assert sorted(item.text for item in found.items) == sorted(values)
    assert all(item.evidence and item.ids for item in found.items)
    assert "at least" in found.note
    assert "never mentioned is not counted" in found.note


def test_less_said_of_the_same_thing_is_the_same_thing() -> None:
    bikes = [fact("user", "owns", value) for value in ("a bike", "a red bike", "a blue bike")]
    found = count("How many bikes do I own?", *bikes)
    assert found.value == 2
    assert sum(len(item.ids) for item in found.items) == 3


@pytest.mark.parametrize(
    ("sort", "name", "quote"),
    [
        ("a cat", "Biscuit", "I have a cat called Biscuit."),
        ("一只猫", "年糕", "我养了一只猫叫年糕。"),
    ],
)
def test_a_pet_and_its_name_are_one(sort: str, name: str, quote: str) -> None:
    both = [fact("user", "has_pet", sort, quote=quote), fact("user", "pet", name, quote=quote)]
    query = "how many pets do I have?" if sort.isascii() else "我有几只宠物？"
    assert count(query, *both).value == 1
    another = fact("user", "has_pet", "a tortoise", source="msg_8")
    assert count(query, *both, another).value == 2


@pytest.mark.parametrize(
    "more",
    [
        {"lifecycle": "past"},
        {"lifecycle": "retired"},
        {"lifecycle": "review"},
        {"confidence": 0.3},
        {"polarity": False},
    ],
)
def test_what_is_not_so_is_not_counted(more: dict[str, Any]) -> None:
    found = count(
        "How many pets do I have?", fact("user", "pet", "Biscuit"), fact("user", "pet", "X", **more)
    )
    assert [item.text for item in found.items] == ["Biscuit"]


def test_what_was_done_with_it_must_be_what_is_asked() -> None:
    sold, bought = fact("user", "sold", "a kayak"), fact("user", "bought", "a canoe")
    assert count("How many kayaks have I repaired?", sold, bought).value is None
    assert count("How many kayaks have I sold?", sold, bought).value == 1


def test_a_number_is_no_thing() -> None:
    found = count("How many pets do I have?", fact("user", "has_pet", "two cats"))
    assert found.value is None
    found = count("How many cats do I have?", fact("user", "has_pet", "two cats"))
    assert (found.value, found.note) == (2, "stated outright")


# ── whose ────────────────────────────────────────────────────────────────────────────────────

PETS = [fact("user", "pet", "Biscuit"), fact("Wren", "pet", "Pretzel"), fact("Wren", "pet", "Olm")]


def test_i_am_the_user() -> None:
    assert count("How many pets do I have?", *PETS).value == 1
    assert count("我有几只宠物？", *PETS).value == 1


@pytest.mark.parametrize("speakers", [(), ("Wren", "Bruno")])
def test_a_name_is_whose_it_is(speakers: tuple[str, ...]) -> None:
    assert count("How many pets does Wren have?", *PETS, speakers=speakers).value == 2


def test_a_name_within_the_question_is_enough_in_chinese() -> None:
    pets = [fact("柳青禾", "pet", "年糕"), fact("陶然", "pet", "汤圆"), fact("陶然", "pet", "芝麻")]
    assert count("陶然养了几只宠物？", *pets).value == 2


def test_with_nobody_named_and_several_there_it_cannot_tell() -> None:
    found = count("How many pets are there?", *PETS)
    assert found.value is None
    assert "user" in found.note
    assert "wren" in found.note
    assert len(found.items) == 3
    assert count("How many pets are there?", *PETS[1:]).value == 2


@pytest.mark.parametrize(
    "query",
    ["How many pets does my sister have?", "How many pets has my uncle?", "我姐姐有几只宠物？"],
)
def test_somebody_of_mine_is_not_me(query: str) -> None:
    assert count(query, *PETS).value is None
    hers = [fact("user's sister", "pet", "Olm"), fact("user的姐姐", "pet", "芝麻")]
    assert count(query, *PETS, *hers).value == (None if "uncle" in query else 1)


def test_who_i_am_is_known_from_what_i_said() -> None:
    named = [fact("Ottilie", "pet", "Biscuit"), fact("Bruno", "pet", "Olm")]
    mine = message("I walked to the pier.", "Ottilie")
    assert count("How many pets do I have?", *named, mine).value == 1
    assert count("How many pets do I have?", *named).value is None
    own = fact("Ottilie", "pet", "Biscuit", quote="I have a dog, Biscuit.")
    assert count("How many pets do I have?", own, named[1]).value == 1
    both = fact("Bruno", "pet", "Olm", quote="I have an olm.")
    assert count("How many pets do I have?", own, both).value is None


# ── times ────────────────────────────────────────────────────────────────────────────────────


def test_times_are_distinct_days() -> None:
    swims = [
        event("Ottilie swam across the fjord.", NOON),
        event("Ottilie swam the whole fjord again.", NOON + timedelta(hours=1)),
        event("Ottilie swam in the fjord.", NOON + timedelta(days=3)),
        event("Ottilie mended a net.", NOON + timedelta(days=4)),
    ]
    found = count("How many times did I swim in the fjord?", *swims)
    assert found.value == 2
    assert "at least" in found.note


def test_a_day_is_a_day_of_the_user() -> None:
    late = NOON.replace(hour=23)
    swims = [
        event("I swam in the fjord.", late),
        event("I swam in it, the fjord.", late + timedelta(hours=2)),
    ]
    query = "How many times did I swim in the fjord?"
    assert count(query, *swims).value == 2
    assert count(query, *swims, zone=ZoneInfo("Pacific/Kiritimati")).value == 1


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue"])
def test_the_first_and_the_last_day_there_is(zone: str) -> None:
    ends = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)]
    swims = [event("I swam in the fjord.", when) for when in ends]
    query = "How many times did I swim in the fjord?"
    assert count(query, *swims, zone=ZoneInfo(zone)).value == 2


def test_a_plan_is_not_done_and_others_deeds_are_not_mine() -> None:
    plan = event("I will swim in the fjord.", NOON, fields={"event_type": "plan"})
    other = event("Bruno swam in the fjord.", NOON, actor="Bruno")
    assert count("How many times did I swim in the fjord?", plan, other).value is None


def test_only_the_time_asked_for_counts() -> None:
    swims = [event("I swam in the fjord.", NOON.replace(month=m)) for m in (2, 3, 4)]
    found = count("How many times did I swim in the fjord in March 2026?", *swims)
    assert found.value == 1


# ── numbers stated ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "text", "value"),
    [
        ("How many goats do I have?", "I have 7 goats and a dog.", 7),
        ("How many goats do I have?", "I have seven brown goats.", 7),
        ("How many hours did I work?", "I worked 9 hours.", 9),
        ("How many times did I visit Ostholm?", "I visited Ostholm twice.", 2),
        ("我有几只山羊？", "我有七只山羊。", 7),
        ("我有多少本乐谱？", "我有十二本乐谱。", 12),
    ],
)
def test_a_number_stated_outright_counts(query: str, text: str, value: int) -> None:
    found = count(query, message(text))
    assert found.value == value
    assert "stated" in found.note
    [item] = found.items
    assert item.evidence[0].quote is not None
    assert item.evidence[0].quote in text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("How many goats do I have?", "I have about 7 goats."),
        ("How many goats do I have?", "I would like 7 goats."),
        ("How many goats do I have?", "I used to have 7 goats."),
        ("How many goats do I have?", "Do I have 7 goats?"),
        ("How many goats do I have?", "Bruno has 7 goats."),
        ("How many hours did I work?", "I worked hard."),
        ("我有几只山羊？", "我大概有七只山羊。"),
        ("我有几只山羊？", "我以前有七只山羊。"),
        ("我有几只山羊？", "我有七只山羊吗？"),
        ("How did I get here?", "I have 7 goats."),
        ("How many are there?", "I have 7 goats."),
    ],
)
def test_what_is_not_stated_of_the_user_is_no_number(query: str, text: str) -> None:
    found = count(query, message(text))
    assert found.value is None
    assert found.note.startswith("cannot tell")


def test_an_assistant_does_not_know_how_many_i_have() -> None:
    assert (
        count("How many goats do I have?", message("I have 7 goats.", role="assistant")).value
        is None
    )


@pytest.mark.parametrize(
    ("query", "old", "new"),
    [
        ("How many goats do I have?", "I have 7 goats.", "I have 9 goats."),
        ("我有几只山羊？", "我有七只山羊。", "我有九只山羊。"),
    ],
)
def test_a_number_of_a_later_day_takes_the_place_of_the_older(
    query: str, old: str, new: str
) -> None:
    for hits in ([message(old), message(new, day=30)], [message(new, day=30), message(old)]):
        found = count(query, *hits)
        assert found.value == 9
        assert "7" in found.note
        assert len(found.items) == 2
    assert count(query, message(old), message(new)).value is None


def test_different_numbers_of_different_people_are_no_update() -> None:
    goats = [message("I have 7 goats.", "Wren"), message("I have 9 goats.", "Bruno", day=30)]
    assert count("How many goats are there?", *goats).value is None
    speakers = ("Wren", "Bruno")
    assert count("How many goats does Wren have?", *goats, speakers=speakers).value == 7


def test_facts_may_be_fewer_than_stated_but_not_more() -> None:
    goats = [fact("user", "owns", f"a {colour} goat") for colour in ("red", "white", "grey")]
    query = "How many goats do I own?"
    more = count(query, *goats, message("I own 4 goats."))
    assert more.value == 4
    assert "3 found one by one" in more.note
    fewer = count(query, *goats, message("I own 2 goats."))
    assert fewer.value is None
    assert "2 stated, but 3 found" in fewer.note
    assert len(fewer.items) == 4


def test_nothing_found_is_not_none_at_all() -> None:
    found = count("How many goats do I have?")
    assert found == Count(value=None, note=found.note)
    assert "nothing on record" in found.note


@pytest.mark.parametrize(
    ("query", "quote"),
    [
        ("How many goats do I have?", "I have 7 goats from Ostholm."),
        ("我有几只山羊？", "我有七只山羊。"),
    ],
)
def test_a_record_that_stands_for_a_message_states_what_it_quotes(query: str, quote: str) -> None:
    mine = fact("user", "has", "7 goats", quote=quote, valid_from=NOON)
    found = count(query, mine)
    assert (found.value, found.items[0].text) == (7, quote)
    assert found.items[0].evidence == [Evidence(source_id="msg_9", quote=quote)]
    theirs = fact("Wren", "has", "7 goats", quote=quote)
    assert count(query, theirs, message("The tide is out.", "Ottilie")).value is None
    guessed = fact("user", "has", "7 goats", quote=f"Maybe {quote} 大概")
    assert count(query, guessed).value is None
    later = fact("user", "has", "9", quote=quote.replace("7", "9").replace("七", "九"),
                 valid_from=NOON + timedelta(days=2), source="msg_8")  # fmt: skip
    assert count(query, later, mine).value == 9
