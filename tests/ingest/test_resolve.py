"""What becomes of proposals: what ends what, in whatever order it is learned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.said import NOON

from memstrata.ingest.core_block import core_lines
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.resolve import accept, resolve
from memstrata.ingest.standing import Standing, restore
from memstrata.ingest.statements import opposed
from memstrata.kinds import Core, Episodic, KindModel, Semantic
from memstrata.records import Evidence, Record

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def fact(attribute: str, value: str, *, polarity: bool = True, **more: Any) -> Semantic:
    subject = more.pop("subject", "Ottilie")
    return Semantic(
        name=f"{subject} {attribute} {value}",
        subject=subject,
        attribute=attribute,
        value=value,
        polarity=polarity,
        **more,
    )


def propose(record: KindModel, at: float = 0, op: Any = "create", **more: Any) -> Proposal:
    source = more.pop("source", f"msg_{at}_{record.heading()}")
    evidence = (Evidence(source_id=source, quote=record.heading()),)
    return Proposal(op=op, record=record, evidence=evidence, said_at=day(at), **more)


def stored(standing: Standing, number: int) -> Record:
    """What a store would keep of it."""
    model = standing.model
    old = standing.record
    common = {
        name: getattr(model, name)
        for name in KindModel.model_fields
        if name not in ("title", "evidence")
    }
    return Record(
        id=old.id if old else f"rec_{number}",
        kind=model.name_of_kind,
        title=model.heading(),
        text=model.body(),
        fields=model.fields(),
        recorded_at=NOON,
        created_at=NOON,
        lifecycle=standing.lifecycle,
        fingerprint=model.fingerprint(),
        evidence=[*(old.evidence if old else []), *standing.evidence],
        batch_id="batch_1",
        superseded_by="rec_x" if standing.successor or (old and old.superseded_by) else None,
        **common,
    )


def learn(*batches: Sequence[Proposal]) -> list[Record]:
    """What is stored after each batch was resolved against what was there."""
    records: dict[str, Record] = {}
    for batch in batches:
        for standing in resolve(batch, list(records.values())):
            record = stored(standing, len(records))
            records[record.id] = record
    return list(records.values())


def chain(records: Sequence[Record]) -> list[tuple[object, ...]]:
    return sorted(
        (str(r.fields.get("value")), str(r.fields.get("polarity")), str(r.valid_from),
         str(r.valid_to), r.lifecycle)
        for r in records
    )  # fmt: skip


def only(found: Sequence[Standing]) -> Standing:
    [one] = found
    return one


# ── the same again ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "again"),
    [
        (fact("lives_in", "Ostholm"), fact("lives_in", "ostholm")),
        (fact("likes", "herons"), fact("likes", "the heron")),
        (
            fact("lives_in", "望潮岛", subject="柳青禾"),
            fact("lives_in", "望潮岛", subject="柳青禾"),
        ),
        (Episodic(event_type="event", summary="It hailed."),) * 2,
    ],
)
def test_the_same_again_is_evidence(one: KindModel, again: KindModel) -> None:
    both = only(resolve([propose(one), propose(again, 3)], []))
    assert both.op == "create"
    assert len(both.evidence) == 2
    [record] = learn([propose(one)])
    later = only(resolve([propose(again, 3)], [record]))
    assert (later.op, later.record, len(later.evidence)) == ("", record, 1)
    assert [r.valid_from for r in learn([propose(one)], [propose(again, 3)])] == [record.valid_from]


def test_the_same_source_again_is_nothing() -> None:
    said = propose(fact("likes", "herons"))
    assert resolve([said], learn([said])) == []


# ── change ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("subject", "attribute", "old", "new"),
    [
        ("Ottilie", "lives_in", "Ostholm", "Turku"),
        ("Ottilie", "works_at", "Fernhill", "the harbour office"),
        ("柳青禾", "lives_in", "望潮岛", "绍兴"),
    ],
)
def test_a_new_value_of_an_exclusive_attribute_ends_the_old(
    subject: str, attribute: str, old: str, new: str
) -> None:
    said = [
        propose(fact(attribute, old, subject=subject)),
        propose(fact(attribute, new, subject=subject), 40),
    ]
    for records in (learn(said), learn(said[:1], said[1:])):
        assert chain(records) == sorted(
            [
                (new, "True", str(day(40)), "None", "current"),
                (old, "True", str(day(0)), str(day(40)), "past"),
            ]
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (fact("likes", "herons"), fact("likes", "otters")),
        (fact("works_at", "Fernhill"), fact("runs", "the chess club at Fernhill")),
        (fact("lives_in", "Ostholm"), fact("lives_in", "Turku", subject="Wren")),
        (fact("likes", "herons"), fact("likes", "otters", polarity=False)),
        (fact("lives_in", "Ostholm"), fact("lives_in", "Turku", polarity=False)),
        (fact("unheard_of", "one"), fact("unheard_of", "two")),
        (fact("works_at", "风岭"), fact("runs", "风岭的棋社")),
    ],
)
def test_nothing_else_ends_a_fact(one: Semantic, other: Semantic) -> None:
    assert not opposed(one, other)
    records = learn([propose(one)], [propose(other, 40)])
    assert [(r.lifecycle, r.valid_to) for r in records] == [("current", None)] * 2


@pytest.mark.parametrize(
    ("attribute", "value"), [("likes", "olives"), ("eats", "肉"), ("lives_in", "Ostholm")]
)
@pytest.mark.parametrize("first", [True, False])
def test_the_opposite_ends_a_fact(attribute: str, value: str, first: bool) -> None:
    said = [
        propose(fact(attribute, value, polarity=first)),
        propose(fact(attribute, value, polarity=not first), 40),
        propose(fact(attribute, value, polarity=first), 50),
    ]
    records = learn(*[[each] for each in said])
    assert chain(records) == chain(learn(said))
    assert [(r.fields["polarity"], r.lifecycle) for r in records] == [
        (first, "past"),
        (not first, "past"),
        (first, "current"),
    ]
    assert [r.valid_to for r in records] == [day(40), day(50), None]


STATEMENTS = [
    propose(fact("lives_in", "Ostholm"), 0),
    propose(fact("lives_in", "Turku"), 10),
    propose(fact("lives_in", "Bergen"), 20),
    propose(fact("lives_in", "Ostholm"), 30),
]
FLIPS = [
    propose(fact("likes", "橄榄"), 0),
    propose(fact("likes", "橄榄", polarity=False), 10),
    propose(fact("likes", "橄榄"), 20),
]


@pytest.mark.parametrize("statements", [STATEMENTS[:3], STATEMENTS, FLIPS])
def test_in_whatever_order_it_is_learned_it_was_the_same(statements: list[Proposal]) -> None:
    """But for what is said again before anybody says that it was otherwise in between."""
    expected = chain(learn(*[[each] for each in statements]))
    assert len(expected) == len(statements)
    orders = [order for order in permutations(statements) if not _said_again(order)]
    assert len(orders) > len(statements)
    for order in orders:
        assert chain(learn(*[[each] for each in order])) == expected, [p.said_at for p in order]


def _said_again(order: Sequence[Proposal]) -> bool:
    """Whether two statements of one thing come before any that parts them."""
    for place, one in enumerate(order):
        for other in order[:place]:
            low, high = sorted((one.said_at, other.said_at))
            between = [p for p in order[:place] if low < p.said_at < high]
            if one.record == other.record and not between:
                return True
    return False


@settings(max_examples=60)
@given(st.data())
def test_late_statements_find_their_place(data: st.DataObject) -> None:
    """Dated statements, in any order and in any batches, leave one chain."""
    places = ["Ostholm", "Turku", "Bergen", "绍兴", "望潮岛"]
    values = data.draw(st.permutations(places))[: data.draw(st.integers(1, len(places)))]
    said = [propose(fact("lives_in", value), 10 * n) for n, value in enumerate(values)]
    again = [propose(fact("lives_in", value), 10 * n + 5) for n, value in enumerate(values)]
    ends = [*map(day, range(10, 10 * len(values), 10)), None]
    left = data.draw(st.permutations(said + again))
    batches: list[list[Proposal]] = []
    while left:
        size = data.draw(st.integers(1, len(left)))
        batches.append(sorted(left[:size], key=lambda p: p.said_at))
        left = left[size:]

    records = sorted(learn(*batches), key=lambda r: str(r.valid_from))
    assert [(r.fields["value"], r.valid_from, r.valid_to) for r in records] == [
        (value, day(10 * n), end) for n, (value, end) in enumerate(zip(values, ends, strict=True))
    ]
    assert [r.lifecycle for r in records] == ["past"] * (len(values) - 1) + ["current"]
    assert {len(r.evidence) for r in records} == {2}


def test_a_fact_may_say_itself_since_when() -> None:
    moved = propose(fact("lives_in", "Turku", valid_from=day(5)), 40)
    records = learn([propose(fact("lives_in", "Ostholm"))], [moved])
    assert [(r.valid_from, r.valid_to) for r in records] == [(day(0), day(5)), (day(5), None)]


@pytest.mark.parametrize("value", ["Ostholm", "望潮岛"])
def test_what_used_to_be_so_is_past(value: str) -> None:
    used_to = propose(fact("lives_in", value, valid_to=day(40)), 40)
    [alone] = learn([used_to])
    assert (alone.lifecycle, alone.valid_from, alone.valid_to) == ("past", None, day(40))
    [ended] = learn([propose(fact("lives_in", value))], [used_to])
    assert (ended.lifecycle, ended.valid_from, ended.valid_to) == ("past", day(0), day(40))
    assert len(ended.evidence) == 2


def test_what_used_to_be_so_ends_nothing_else() -> None:
    used_to = propose(fact("lives_in", "Bergen", valid_to=day(40)), 40)
    records = learn([propose(fact("lives_in", "Ostholm"))], [used_to])
    assert [(r.fields["value"], r.lifecycle) for r in records] == [
        ("Ostholm", "current"),
        ("Bergen", "past"),
    ]


# ── correction ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("replaces", [None, "Ostholm"])
@pytest.mark.parametrize("apart", [True, False])
def test_a_correction_retires_what_never_was_so(replaces: str | None, apart: bool) -> None:
    said = [
        propose(fact("lives_in", "Ostholm")),
        propose(fact("lives_in", "Osthelm"), 2, "correct", replaces=replaces),
    ]
    records = learn(said[:1], said[1:]) if apart else learn(said)
    assert [(r.fields["value"], r.lifecycle, r.valid_from) for r in records] == [
        ("Ostholm", "retired", day(0)),
        ("Osthelm", "current", day(0)),
    ]
    assert records[0].valid_to is None


def test_a_correction_of_one_of_several_leaves_the_others() -> None:
    said = [propose(fact("likes", value), n) for n, value in enumerate(["苍鹭", "水獭"])]
    right = propose(fact("likes", "海獭"), 5, "correct", replaces="水獭")
    records = learn(said, [right])
    assert {r.fields["value"]: r.lifecycle for r in records} == {
        "苍鹭": "current",
        "水獭": "retired",
        "海獭": "current",
    }


def test_a_correction_of_nothing_is_a_statement() -> None:
    [record] = learn([propose(fact("lives_in", "Turku"), 3, "correct", replaces="Bergen")])
    assert (record.lifecycle, record.valid_from) == ("current", day(3))


def test_what_is_retired_is_no_rival() -> None:
    said = propose(fact("lives_in", "Ostholm"))
    right = propose(fact("lives_in", "Turku"), 2, "correct")
    records = learn([said], [right], [propose(fact("lives_in", "Ostholm"), 9)])
    assert [(r.fields["value"], r.lifecycle) for r in records] == [
        ("Ostholm", "retired"),
        ("Turku", "past"),
        ("Ostholm", "current"),
    ]


# ── what cannot be decided ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("one", "other"), [("Ostholm", "Turku"), ("望潮岛", "绍兴")])
def test_two_claims_of_one_moment_wait_for_a_decision(one: str, other: str) -> None:
    said = [propose(fact("lives_in", one)), propose(fact("lives_in", other))]
    for records in (learn(said), learn(said[:1], said[1:])):
        assert [(r.fields["value"], r.lifecycle) for r in records] == [
            (one, "current"),
            (other, "review"),
        ]


def test_two_claims_of_one_message_wait_unless_it_tells_of_a_change() -> None:
    first = propose(fact("lives_in", "Ostholm", valid_from=day(0)), source="m")
    claim = fact("lives_in", "Turku", valid_from=day(9))
    assert [r.lifecycle for r in learn([first, propose(claim, source="m")])] == [
        "current",
        "review",
    ]
    change = propose(claim, 9, "supersede", source="m")
    assert [r.lifecycle for r in learn([first, change])] == ["past", "current"]


TRUST = ["user", "agent", "tool", "web"]


@pytest.mark.parametrize(
    ("weak", "strong"), [(w, s) for n, s in enumerate(TRUST) for w in TRUST[n + 1 :]]
)
@pytest.mark.parametrize("op", ["create", "supersede"])
def test_the_less_trusted_never_ends_the_more_trusted(weak: Any, strong: Any, op: str) -> None:
    stands = propose(fact("lives_in", "Ostholm", trust=strong))
    claim = propose(fact("lives_in", "Turku", trust=weak), 40, op)
    records = learn([stands], [claim])
    assert [(r.lifecycle, r.valid_to) for r in records] == [("current", None), ("review", None)]
    theirs = propose(fact("lives_in", "Turku", trust=strong), 40, op)
    weaker = propose(fact("lives_in", "Ostholm", trust=weak))
    assert [r.lifecycle for r in learn([weaker], [theirs])] == ["past", "current"]


def test_the_less_trusted_corrects_nothing_of_the_more_trusted() -> None:
    stands = propose(fact("lives_in", "Ostholm"))
    claim = propose(fact("lives_in", "Turku", trust="web"), 40, "correct", replaces="Ostholm")
    records = learn([stands], [claim])
    assert [(r.lifecycle, r.valid_to) for r in records] == [("current", None), ("review", None)]


def test_the_less_trusted_says_not_that_it_is_over() -> None:
    stands = propose(fact("lives_in", "Ostholm"))
    claim = propose(fact("lives_in", "Ostholm", valid_to=day(40), trust="web"), 40)
    records = learn([stands], [claim])
    assert [(r.lifecycle, r.valid_to) for r in records] == [
        ("current", None),
        ("review", day(40)),
    ]


def test_the_most_trusted_source_counts() -> None:
    weak = propose(fact("likes", "herons", trust="web"))
    [record] = learn([weak], [propose(fact("likes", "herons"), 3)])
    assert record.trust == "user"
    [record] = learn([propose(fact("likes", "herons"))], [weak])
    assert record.trust == "user"


def test_what_is_accepted_ends_what_it_contradicts() -> None:
    stands = propose(fact("lives_in", "Ostholm"))
    claim = propose(fact("lives_in", "Turku", trust="web"), 40)
    old, waiting = map(restore, learn([stands], [claim]))
    new, ended = accept(waiting, [old], "asked")
    assert (new.lifecycle, new.op, new.reason) == ("current", "accept", "asked")
    assert (ended.lifecycle, ended.model.valid_to) == ("past", day(40))


# ── core ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "line", "after"),
    [
        ("", "Name: Ottilie", "Name: Ottilie"),
        ("Name: Ottilie", "Home: Ostholm", "Name: Ottilie\nHome: Ostholm"),
        ("Name: Ottilie\nHome: Ostholm", "home: Turku", "Name: Ottilie\nhome: Turku"),
        ("Name: Ottilie", "NAME: ottilie", "Name: Ottilie"),
        ("Answers in verse.", "Answers in verse.", "Answers in verse."),
        ("名字：柳青禾", "住址：绍兴", "名字：柳青禾\n住址：绍兴"),
        ("住址：望潮岛", "住址：绍兴", "住址：绍兴"),
    ],
)
def test_a_line_of_core_memory(value: str, line: str, after: str) -> None:
    assert core_lines(value, line) == after


def test_a_line_joins_its_block_while_there_is_room() -> None:
    first = propose(Core(label="human", value="Name: Ottilie", limit=30))
    second = propose(Core(label="Human", value="Home: Turku"), 1)
    third = propose(Core(label="human", value="Boat: a very long name of a boat"), 2)
    record, beside = learn([first], [second], [third])
    assert record.fields["value"] == "Name: Ottilie\nHome: Turku"
    assert len(record.evidence) == 2
    assert (beside.kind, beside.text) == ("semantic", "Boat: a very long name of a boat")
    assert len(learn([first], [second], [third], [third])) == 2


@pytest.mark.parametrize("trust", ["agent", "tool", "web", "import"])
def test_core_memory_is_the_users_own_words(trust: Any) -> None:
    assert resolve([propose(Core(label="human", value="Name: Mallory", trust=trust))], []) == []
