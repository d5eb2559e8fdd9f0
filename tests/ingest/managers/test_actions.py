"""What a manager writes: sound actions hold, each of the others is refused by itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.managers.desk import count, known, record_of, unit, user
from ingest.managers.replies import HOME, ITEMS
from ingest.said import NOON
from pydantic import JsonValue

from memstrata.ingest.managers.actions import (
    Drafted,
    actions_schema,
    drafted,
    routing_schema,
)
from memstrata.ingest.managers.shown import aliased
from memstrata.ingest.managers.units import Unit
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import KINDS, Core, Episodic, Procedural, Resource, Semantic, Vault
from memstrata.records import TimeSpan
from memstrata.text import time as expressions
from memstrata.text.analyse import repair

SAID = unit(
    "I live in Ostholm. I love herons. Wren's number is 555-0101 and the tides are at "
    "https://tides.example/today.",
    "我住在望潮岛。",
)
LIKES = Semantic(
    name="user likes herons", subject="user", attribute="likes", value="herons", polarity=True
)
PLAN = Episodic(event_type="plan", summary="Ottilie will visit Wren", done=False)
SHOWN = aliased([record_of(LIKES, "sem_1"), record_of(PLAN, "epi_1")], count)


def read(*given: Any, of: Unit = SAID, kinds: Any = tuple(KINDS), zone: Any = UTC) -> Drafted:
    return drafted(given, of, known(SHOWN, zone=zone), kinds, "en")


def one(**more: Any) -> Proposal:
    made = read({**HOME, **more})
    [proposal] = made.proposals
    return proposal


def refused(*given: Any, **more: Any) -> str:
    made = read(*given, **more)
    assert made.proposals == ()
    [why] = made.refused
    return why


def test_a_sound_action_is_a_proposal_with_its_quote() -> None:
    made = read(HOME)
    assert made.refused == ()
    [proposal] = made.proposals
    assert isinstance(proposal.record, Semantic)
    assert (proposal.op, proposal.target, proposal.replaces) == ("create", None, None)
    assert (proposal.record.attribute, proposal.record.value) == ("lives_in", "Ostholm")
    [evidence] = proposal.evidence
    assert (evidence.source_id, evidence.quote) == ("msg_1", "I live in Ostholm.")
    assert proposal.said_at == SAID.lines[0].message.occurred_at
    assert "semantic manager" in proposal.reason


@pytest.mark.parametrize(
    "numbers", [1, "1", "[1]", [1], ["1"], "#1", 1.0, [1, 1], "message 1", [1, 99], [[1]]]
)
def test_numbers_are_taken_however_they_are_written(numbers: Any) -> None:
    assert [e.source_id for e in one(**{"from": numbers}).evidence] == ["msg_1"]


@pytest.mark.parametrize(
    "numbers",
    [
        None, [], 0, 3, [3], -1, "-1", 1.5, "1.5", True, "the first", "2026-05-01", "9" * 5000,
        float("inf"), float("nan"), 10**400, [[], {}], {"message": 1}, "1.0e3",
    ],
)  # fmt: skip
def test_what_names_no_message_that_was_shown_is_refused(numbers: Any) -> None:
    """A date is no list of numbers, and a number that was not shown is nobody's."""
    assert "from" in refused({**HOME, "from": numbers})


def test_of_one_message_it_need_not_say_the_number() -> None:
    made = read({**HOME, "from": None}, of=unit("I live in Ostholm."))
    assert [e.source_id for e in made.proposals[0].evidence] == ["msg_1"]


def test_every_message_it_rests_on_is_quoted_and_the_newest_dates_it() -> None:
    proposal = one(**{"from": [2, 1]})
    quotes = {e.source_id: e.quote for e in proposal.evidence}
    assert set(quotes) == {"msg_1", "msg_2"}
    assert proposal.said_at == SAID.lines[1].message.occurred_at


@pytest.mark.parametrize("text", ["👨‍👩‍👧" * 200, "e\u0301" * 400, "词" * 500])
def test_a_quote_stands_in_its_message_and_cuts_no_character(text: str) -> None:
    made = read({**HOME, "from": 1}, of=unit(text))
    [evidence] = made.proposals[0].evidence
    if evidence.quote is not None:
        assert evidence.quote in text
        assert len(evidence.quote) <= 280
        assert not evidence.quote.endswith("\u200d")
        assert text[len(evidence.quote) :][:1] not in ("\u0301", "\u200d")


# ── what is wrong by itself ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("item", [None, 1, "The user lives in Ostholm.", [], True, [HOME]])
def test_what_is_no_object_is_refused(item: Any) -> None:
    assert "no object" in refused(item)


@pytest.mark.parametrize("op", ["explode", "创建记忆", 7, ["create", "retire"], {"a": 1}])
def test_an_unknown_op_is_refused_and_not_repeated(op: Any) -> None:
    """Reasons are kept with the batch: they must not say what may be forgotten."""
    why = refused({**HOME, "op": op})
    assert "op is none of" in why
    assert str(op) not in why


@pytest.mark.parametrize(
    ("op", "means"),
    [
        ("ADD", "create"), ("Create ", "create"), ("insert", "create"), ("", "create"),
        (None, "create"), ("update", "revise"), ("replace", "supersede"), ("DELETE", "retire"),
        ("NOOP", "support"),
    ],
)  # fmt: skip
def test_what_models_call_an_op_is_understood(op: Any, means: str) -> None:
    assert one(op=op, target="r1").op == means


@pytest.mark.parametrize("op", ["retire", "skip", "revise"])
@pytest.mark.parametrize("target", [None, "r9", "sem_1", "r1 r2", "", "new", 1, ["r1", "r2"]])
def test_only_what_was_shown_can_be_meant(op: str, target: Any) -> None:
    made = read({**HOME, "op": op, "target": target})
    assert made.proposals == ()
    assert any("shown" in why for why in made.refused)


@pytest.mark.parametrize("target", ["r1", "[r1]", "R1", "(r1)", " r1 "])
def test_an_alias_is_taken_however_it_is_written(target: str) -> None:
    assert one(op="supersede", target=target).target == "sem_1"


def test_an_unknown_alias_does_not_take_what_is_said_with_it() -> None:
    made = read({**HOME, "op": "supersede", "target": "r7"})
    assert [(p.op, p.target) for p in made.proposals] == [("supersede", None)]
    assert made.refused


@pytest.mark.parametrize("kind", ["diary", "事实", "message", 5])
def test_an_unknown_kind_is_refused(kind: Any) -> None:
    assert "kind is none of" in refused({**HOME, "kind": kind})


def test_a_kind_that_was_not_asked_for_is_refused() -> None:
    assert "kind is none of core" in refused(HOME, kinds=("core", "vault"))


@pytest.mark.parametrize("kind", ["Semantic", "semantic_memory", "SEMANTIC MEMORY"])
def test_a_kind_is_taken_however_it_is_written(kind: str) -> None:
    assert one(kind=kind).record.name_of_kind == "semantic"


def test_without_a_kind_it_is_that_of_its_target() -> None:
    item = {**HOME, "kind": None, "op": "revise", "target": "r2", "summary": "Wren was visited."}
    [proposal] = read(item, kinds=("semantic", "episodic")).proposals
    assert (proposal.record.name_of_kind, proposal.target) == ("episodic", "epi_1")


def test_of_another_kind_than_its_target_it_stands_beside_it() -> None:
    assert one(op="supersede", target="r2").op == "create"


def test_good_ones_among_bad_ones_hold() -> None:
    made = read(None, HOME, {"kind": "semantic", "from": 1}, {**HOME, "op": "nonsense"}, HOME)
    assert len(made.proposals) == 2
    assert [why.split(":")[0] for why in made.refused] == ["memory 1", "memory 3", "memory 4"]


@pytest.mark.parametrize(
    ("attribute", "op"), [("lives_in", "correct"), ("likes", "create"), ("plays_at", "create")]
)
def test_a_correction_without_target_is_one_where_there_is_one_value(
    attribute: str, op: str
) -> None:
    """Which of several tastes it takes the place of, nothing says."""
    assert one(op="correct", attribute=attribute).op == op
    assert one(op="correct", attribute=attribute, target="r1").op == "correct"


# ── its fields ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (0.7, 0.7), (1, 1.0), (0, 0.1), (-3, 0.1), (85, 0.85), (100, 1.0), (250, 1.0),
        ("0.6", 0.6), ("90%", 0.9), ("90％", 0.9), ("75", 0.75), ("high", 0.8), (None, 0.8),
        (True, 0.8), ([], 0.8), (float("nan"), 0.8), (float("inf"), 1.0), (10**400, 1.0),
    ],
)  # fmt: skip
def test_a_confidence_is_a_share_whatever_it_was_given_in(given: Any, taken: float) -> None:
    assert one(confidence=given).record.confidence == pytest.approx(taken)


@pytest.mark.parametrize(
    ("kind", "fields", "lacks"),
    [
        ("semantic", {}, "sentence"),
        ("semantic", {"sentence": {"text": "x"}}, "sentence"),
        ("episodic", {"summary": "  "}, "summary"),
        ("episodic", {"summary": True}, "summary"),
        ("procedural", {"summary": "tea"}, "steps"),
        ("procedural", {"summary": "tea", "steps": "boil"}, "steps"),
        ("procedural", {"summary": "tea", "steps": [{}, [], None, ""]}, "steps"),
        ("core", {"label": "human"}, "line"),
        ("resource", {"title": "Tides", "summary": "low"}, "document"),
        ("vault", {"entry_type": "password", "caption": "x", "secret": "555-0101"}, "contact"),
        ("vault", {"entry_type": "contact", "caption": "Wren", "secret": "555-9999"}, "word"),
        ("core", {"line": "x" * 3000}, "2000"),
        ("semantic", {"name": "很" * 2001}, "2000"),
    ],
)
def test_what_lacks_its_substance_is_refused_in_words(
    kind: str, fields: dict[str, Any], lacks: str
) -> None:
    assert lacks in refused({"kind": kind, "from": 1, **fields})


def test_steps_come_as_texts_as_objects_and_nested() -> None:
    steps = [
        "1. Boil the water",
        {"instruction": "Pour it", "condition": "it boils", "expected": ["steam", "noise"]},
        {"step": "等三分钟"},
        ["Stir", ["well"]],
        {"note": "nothing to do"},
        None,
        4,
    ]
    item = {"kind": "procedural", "from": "1", "summary": "Tea", "steps": steps}
    [proposal] = read(item).proposals
    assert isinstance(proposal.record, Procedural)
    assert [step.instruction for step in proposal.record.steps] == [
        "Boil the water", "Pour it", "等三分钟", "Stir, well", "4",
    ]  # fmt: skip
    assert proposal.record.steps[1].expected == "steam, noise"


def test_wrong_types_are_taken_where_the_meaning_is_plain() -> None:
    proposal = one(value=["Ostholm", "the harbour"], details=7, polarity="false", sentence=None)
    assert isinstance(proposal.record, Semantic)
    assert proposal.record.value == "Ostholm, the harbour"
    assert proposal.record.name.startswith("user lives in Ostholm")
    assert proposal.record.details == "7"


@pytest.mark.parametrize(
    ("attribute", "negated", "sentence", "affirmed"),
    [
        ("likes", False, "The user likes olives.", True),
        ("likes", None, "The user likes olives.", True),
        ("likes", True, "The user does not like olives.", False),
        ("likes", True, "用户不喜欢橄榄。", False),
        ("likes", True, "The user likes olives.", True),
        ("dislikes", False, "The user dislikes olives.", False),
        ("dislikes", None, "The user can't stand olives.", False),
        ("cannot stand", None, "用户讨厌橄榄。", False),
        ("Hates", None, "The user hates olives.", False),
    ],
)
def test_a_denial_is_one_however_it_is_put(
    attribute: str, negated: bool | None, sentence: str, affirmed: bool
) -> None:
    more = {"attribute": attribute, "value": "olives", "negated": negated, "sentence": sentence}
    record = one(**more).record
    assert isinstance(record, Semantic)
    assert (record.attribute, record.polarity) == ("likes", affirmed)


def test_a_contact_is_copied_and_its_text_is_not_touched() -> None:
    """Words that look like a time in what is copied get no date."""
    link = {"kind": "vault", "from": 1, "entry_type": "bookmark", "caption": "tide table",
            "secret": "https://tides.example/today"}  # fmt: skip
    [proposal] = read(link).proposals
    assert isinstance(proposal.record, Vault)
    assert proposal.record.secret == "https://tides.example/today"


def test_half_a_pair_and_nul_are_replaced() -> None:
    made = read(
        {**HOME, "sentence": "The user lives\x00 in Ostholm \ud83d.", "value": "Osth\ud83dolm"}
    )
    [proposal] = made.proposals
    proposal.record.fingerprint()
    assert repair(proposal.record.body())[1] == 0


def test_it_is_trusted_as_the_least_trusted_it_rests_on() -> None:
    talk = unit(user("I live in Ostholm.", 1), user("She does.", 2, trust="web", role="tool"))
    [proposal] = read({**HOME, "from": [1, 2]}, of=talk).proposals
    assert proposal.record.trust == "web"


# ── when ─────────────────────────────────────────────────────────────────────────────────────


def dated(text: str, zone: Any = UTC) -> Unit:
    """A message with its times resolved, as it is stored."""
    spans = expressions.resolve(text, said_at=NOON, zone=zone)
    listed = [TimeSpan(start=one.start, end=one.end, text=one.text) for one in spans]
    return unit(user(text, 0, spans=listed))


def day(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "item", "when"),
    [
        ("I saw a heron yesterday.", {"summary": "The user saw a heron.", "when": "2026-05-01"},
         day(2026, 5, 7)),
        ("我昨天看见了苍鹭。", {"summary": "用户看见了苍鹭。"}, day(2026, 5, 7)),
        ("I saw a heron.", {"summary": "The user saw a heron.", "when": "2026-04"},
         day(2026, 4, 1)),
        ("I saw a heron.", {"summary": "The user saw a heron.", "when": "unknown"}, None),
    ],
)  # fmt: skip
def test_the_words_date_an_event(text: str, item: dict[str, Any], when: datetime | None) -> None:
    [proposal] = read({"kind": "episodic", "from": 1, **item}, of=dated(text)).proposals
    assert proposal.record.occurred_at == when


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("I lived in Ostholm until last month.", "2026-04"),
        ("上个月以前我住在望潮岛。", "2026-04"),
        ("I lived in Ostholm until last month.", "last month"),
    ],
)
def test_the_day_that_something_ended_is_not_when_it_began(text: str, until: str) -> None:
    [proposal] = read({**HOME, "until": until}, of=dated(text)).proposals
    assert proposal.record.valid_from is None
    assert proposal.record.valid_to == day(2026, 4, 1)


def test_a_plan_is_due_and_has_not_happened() -> None:
    item = {"kind": "episodic", "from": 1, "summary": "Visit Wren", "plan": True}
    [proposal] = read(item, of=dated("I will visit Wren tomorrow.")).proposals
    assert isinstance(proposal.record, Episodic)
    assert (proposal.record.due, proposal.record.occurred_at) == (day(2026, 5, 9), None)
    assert proposal.record.done is False


def test_relative_words_become_dates_in_the_users_zone() -> None:
    zone = ZoneInfo("Asia/Shanghai")
    item = {"kind": "episodic", "from": 1, "summary": "用户今天吃了药。"}
    [proposal] = read(item, of=dated("我今天吃了药。", zone), zone=zone).proposals
    assert proposal.record.heading() == "用户今天 (2026-05-08)吃了药。"


# ── whatever comes ───────────────────────────────────────────────────────────────────────────


@settings(max_examples=400)
@given(
    ITEMS,
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, unique=True),
    st.sampled_from([UTC, ZoneInfo("Pacific/Kiritimati"), ZoneInfo("Asia/Shanghai")]),
    st.sampled_from(["en", "zh"]),
)
def test_any_json_is_proposals_and_refusals(
    items: list[JsonValue], kinds: list[str], zone: Any, language: Any
) -> None:
    made = drafted(items, SAID, known(SHOWN, zone=zone), kinds, language)
    numbers = {line.message.id: line.message.content for line in SAID.lines}
    ids = {"sem_1", "epi_1"}
    assert len(made.proposals) + len(made.refused) >= len(items)
    for proposal in made.proposals:
        assert proposal.evidence
        assert len({e.source_id for e in proposal.evidence}) == len(proposal.evidence)
        for evidence in proposal.evidence:
            assert evidence.source_id in numbers
            assert evidence.quote is None or evidence.quote in numbers[evidence.source_id]
        assert proposal.target is None or proposal.target in ids
        assert proposal.op not in ("retire", "support", "revise") or proposal.target
        if proposal.op not in ("retire", "support"):
            assert proposal.record.name_of_kind in kinds
        assert 0.1 <= proposal.record.confidence <= 1.0
        text = proposal.record.body()
        assert text.strip()
        assert repair(text)[1] == 0
        proposal.record.fingerprint()
        json.dumps(proposal.record.fields(), ensure_ascii=False).encode()


# ── what is asked for ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kinds", [["core"], ["semantic", "episodic"], list(KINDS)])
def test_the_schema_names_the_kinds_their_fields_and_the_numbers(kinds: list[str]) -> None:
    schema: Any = actions_schema(kinds, 3, ["r1", "r2"], told=True)
    assert {"title", "summary", "memories"} == set(schema["properties"])
    items = schema["properties"]["memories"]["items"]
    forms = items.get("anyOf", [items])
    assert [form["properties"]["kind"]["const"] for form in forms] == kinds
    for form in forms:
        kind = KINDS[form["properties"]["kind"]["const"]]
        assert set(kind.draft) <= set(form["properties"])
        assert set(kind.needs) | {"kind", "op", "from"} == set(form["required"])
        assert form["properties"]["from"]["items"]["maximum"] == 3
        assert form["properties"]["target"]["enum"] == ["r1", "r2"]
    json.dumps(schema)


def test_where_nothing_is_known_the_schema_offers_no_more_than_new_memories() -> None:
    schema: Any = actions_schema(["semantic"], 1, [], told=False)
    form = schema["properties"]["memories"]["items"]["properties"]
    assert form["op"]["enum"] == ["create"]
    assert "target" not in form


def test_the_schema_of_a_routing_names_the_kinds() -> None:
    schema: Any = routing_schema(["core", "vault"], 5)
    one = schema["properties"]["kinds"]["items"]
    assert one["properties"]["kind"]["enum"] == ["core", "vault"]


def test_core_and_resource_are_made_as_their_kinds_say() -> None:
    line = {"kind": "core", "from": 1, "label": "admin", "line": " Name:\n Ottilie ", "old": "Name"}
    [proposal] = read(line).proposals
    assert isinstance(proposal.record, Core)
    assert (proposal.record.label, proposal.record.value) == ("human", "Name: Ottilie")
    assert proposal.replaces == "Name"
    long = "Low tide at six. " * 40
    item = {"kind": "resource", "from": 1, "title": "Tides", "summary": "When they are low."}
    [proposal] = read(item, of=unit(long)).proposals
    assert isinstance(proposal.record, Resource)
    assert proposal.record.content == long.strip(), "whole, and not what the model wrote"
