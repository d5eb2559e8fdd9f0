"""Each kind: what it takes, how it reads, what makes two of it the same, how it changes."""

from __future__ import annotations

import importlib
import pkgutil
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

import memstrata.kinds as package
from memstrata.errors import InvalidInput
from memstrata.kinds import (
    KINDS,
    Core,
    Episodic,
    KindModel,
    Procedural,
    Resource,
    Semantic,
    Step,
    Vault,
    describe,
    kind_of,
    parse,
)
from memstrata.records import Evidence, Record

LEAST: dict[str, dict[str, Any]] = {
    "core": {"label": "human"},
    "episodic": {"summary": "The roof leaked"},
    "semantic": {"name": "The boat is green"},
    "procedural": {"summary": "Start the pump"},
    "resource": {"content": "Never run it dry."},
    "vault": {"entry_type": "contact", "caption": "Mira, plumber"},
}
NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
EACH = pytest.mark.parametrize("name", list(KINDS))


def make(kind: str, /, **fields: Any) -> KindModel:
    return parse({"kind": kind, **LEAST[kind], **fields})


def record(model: KindModel, **common: Any) -> Record:
    return Record(
        id=f"{model.prefix}_1",
        kind=model.name_of_kind,
        title=model.heading(),
        text=model.body(),
        fields=model.fields(),
        fingerprint=model.fingerprint(),
        recorded_at=NOON,
        created_at=NOON,
        batch_id="batch_1",
        **common,
    )


# ── the registry ─────────────────────────────────────────────────────────────────────────────


def test_there_are_six_and_each_is_told_apart() -> None:
    assert list(KINDS) == ["core", "episodic", "semantic", "procedural", "resource", "vault"]
    for mark in ("code", "prefix", "block", "name_of_kind"):
        assert len({getattr(kind, mark) for kind in KINDS.values()}) == 6, mark
    assert all(0 <= kind.code < 255 for kind in KINDS.values())


def test_codes_and_prefixes_are_in_stored_data_and_never_move() -> None:
    assert {name: (kind.code, kind.prefix) for name, kind in KINDS.items()} == {
        "core": (0, "core"),
        "episodic": (1, "epi"),
        "semantic": (2, "sem"),
        "procedural": (3, "proc"),
        "resource": (4, "res"),
        "vault": (5, "vault"),
    }


def test_every_kind_has_one_file_and_is_registered() -> None:
    found = {module.name for module in pkgutil.iter_modules(package.__path__)}
    files = found - {"base", "attributes"}
    assert files == set(KINDS)
    for name in files:
        module = importlib.import_module(f"memstrata.kinds.{name}")
        assert KINDS[name].__module__ == module.__name__


def test_only_core_is_always_shown() -> None:
    assert [name for name, kind in KINDS.items() if kind.always] == ["core"]


@EACH
def test_what_a_kind_says_of_itself(name: str) -> None:
    (told,) = [entry for entry in describe() if entry["kind"] == name]
    kind = KINDS[name]
    assert told["about"].startswith((kind.__doc__ or "").split("\n")[0])
    assert told["fields"] == sorted(kind.own_fields())
    assert told["block"] == kind.block
    assert told["always_shown"] == kind.always
    assert told["rule"]


@EACH
def test_common_fields_are_not_a_kinds_own(name: str) -> None:
    assert not KINDS[name].own_fields() & set(KindModel.model_fields)
    assert "kind" not in KINDS[name].own_fields()


@pytest.mark.parametrize("wrong", ["dream", "", None, 5, ["core"], "Core"])
def test_an_unknown_kind_lists_the_known_ones(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="core, episodic, semantic"):
        kind_of(wrong)


# ── what every kind takes ────────────────────────────────────────────────────────────────────


@EACH
def test_least_and_common_fields(name: str) -> None:
    model = make(
        name,
        title=" Padded ",
        tags=["a"],
        metadata={"k": [1, {"x": None}]},
        path="a/b",
        confidence=0.5,
        trust="web",
        sensitivity="medium",
        valid_from="2026-01-01T00:00:00+02:00",
        evidence=["msg_1", {"source_id": "msg_2", "quote": "as said"}],
    )
    assert (model.title, model.heading()) == ("Padded", "Padded")
    assert model.valid_from == datetime(2025, 12, 31, 22, tzinfo=UTC)
    assert model.evidence == ["msg_1", Evidence(source_id="msg_2", quote="as said")]
    assert set(model.fields()) <= KINDS[name].own_fields()


@EACH
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("confidence", 1.1),
        ("confidence", -0.1),
        ("trust", "god"),
        ("sensitivity", "secret"),
        ("tags", "one"),
        ("tags", [5]),
        ("metadata", ["no"]),
        ("metadata", {"k": object()}),
        ("title", "x" * 501),
        ("occurred_at", "soon"),
        ("expires_at", "tomorrow"),
        ("evidence", [5]),
        ("evidence", [{"quote": "no source"}]),
        ("colour", "green"),
        ("id", "sem_1"),
        ("lifecycle", "past"),
    ],
)
def test_wrong_common_fields_are_named(name: str, field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=field):
        make(name, **{field: value})


@EACH
def test_an_error_does_not_repeat_what_was_given(name: str) -> None:
    """What is refused may be a secret, and errors end up in logs."""
    with pytest.raises(InvalidInput) as caught:
        make(name, trust="hunter2-test", tags="hunter2-test", metadata="hunter2-test", path=5)
    assert "hunter2-test" not in str(caught.value)
    assert "1 more" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("core", "label"),
        ("episodic", "summary"),
        ("semantic", "name"),
        ("procedural", "summary"),
        ("resource", "content"),
        ("vault", "entry_type"),
        ("vault", "caption"),
    ],
)
@pytest.mark.parametrize("value", ["", "   ", None, 5])
def test_a_needed_field_is_needed(name: str, field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=field):
        make(name, **{field: value})


@EACH
def test_a_record_made_again_of_its_fields_is_the_same(name: str) -> None:
    model = make(name)
    again = KINDS[name].model_validate(model.fields())
    assert (again.body(), again.fingerprint()) == (model.body(), model.fingerprint())


@EACH
def test_what_is_common_does_not_make_another_record(name: str) -> None:
    """Two sources of one thing are one record, whatever was noted beside it."""
    marked = make(name, tags=["a"], metadata={"k": 1}, confidence=0.1, trust="web", evidence=["m"])
    assert marked.fingerprint() == make(name).fingerprint()
    assert len(marked.fingerprint()) == 32


def test_kinds_with_the_same_words_are_different_records() -> None:
    prints = {make(name).fingerprint() for name in KINDS}
    assert len(prints) == 6
    assert (
        Episodic(summary="Start the pump").fingerprint()
        != Procedural(summary="Start the pump").fingerprint()
    )


# ── core ─────────────────────────────────────────────────────────────────────────────────────


def test_core_is_one_block_per_label() -> None:
    one, other = Core(label="Human", value="Keeps bees"), Core(label="human", value="Keeps hens")
    assert one.fingerprint() == other.fingerprint()
    assert one.fingerprint() != Core(label="persona").fingerprint()
    assert (one.heading(), one.body()) == ("Human", "Keeps bees")
    assert Core.render(record(one)) == "Human:\nKeeps bees"


def test_core_holds_its_limit() -> None:
    assert Core(label="human", value="x" * 2000).limit == 2000
    assert Core(label="human", value="x" * 5, limit=5).value == "xxxxx"
    for wrong in ({"value": "x" * 2001}, {"value": "x" * 6, "limit": 5}, {"limit": 0}):
        with pytest.raises(InvalidInput, match="limit"):
            make("core", **wrong)


# ── episodic ─────────────────────────────────────────────────────────────────────────────────


def test_an_event_reads_with_its_actor() -> None:
    event = Episodic(summary="fed the goats", details="twice", actor="Mira")
    assert event.body() == "Mira: fed the goats\ntwice"
    assert event.heading() == "fed the goats"
    assert Episodic(summary="fed the goats").body() == "fed the goats"


def test_the_same_event_on_another_day_is_another() -> None:
    days = [None, NOON, NOON + timedelta(days=1)]
    prints = {Episodic(summary="Ran", occurred_at=day).fingerprint() for day in days}
    assert len(prints) == 3


def test_the_same_instant_in_another_offset_is_the_same_event() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=9)))
    assert (
        Episodic(summary="Ran", occurred_at=there).fingerprint()
        == Episodic(summary="Ran", occurred_at=NOON).fingerprint()
    )


def test_a_plan_has_a_date_and_an_end() -> None:
    plan = Episodic(event_type="plan", summary="See the dentist", due=NOON, done=False)
    assert plan.fields() == {
        "event_type": "plan",
        "summary": "See the dentist",
        "due": "2026-05-08T12:00:00Z",
        "done": False,
    }


# ── semantic ─────────────────────────────────────────────────────────────────────────────────

STATED: dict[str, Any] = {"subject": "Ivo", "attribute": "lives in", "value": "Varna"}


def test_a_fact_says_everything_once() -> None:
    fact = Semantic(name="Home", summary="Varna by the sea", details="Since 2020", **STATED)
    assert fact.body() == "Home\nVarna by the sea\nSince 2020\nIvo lives in Varna"
    assert Semantic(name="Ivo lives in Varna", **STATED).body() == "Ivo lives in Varna"
    assert Semantic(name="Ivo lives in Varna", summary="Ivo lives in Varna").body() == (
        "Ivo lives in Varna"
    )


def fact(**fields: Any) -> KindModel:
    return Semantic(**fields)


def test_a_statement_is_the_same_whatever_it_is_called() -> None:
    one = fact(name="Home", **STATED)
    assert one.fingerprint() == fact(name="Where he lives", **STATED).fingerprint()
    shouted = {key: value.upper() for key, value in STATED.items()}
    assert one.fingerprint() == fact(name="Home", **shouted).fingerprint()
    assert one.fingerprint() == fact(name="Home", polarity=True, **STATED).fingerprint()
    assert one.fingerprint() != fact(name="Home", polarity=False, **STATED).fingerprint()
    for key in STATED:
        assert one.fingerprint() != fact(name="Home", **{**STATED, key: "x"}).fingerprint()


def test_what_is_not_wholly_stated_is_the_same_by_its_words() -> None:
    partly = fact(name="Home", subject="Ivo")
    assert partly.fingerprint() == fact(name="Home", subject="Ivo").fingerprint()
    assert partly.fingerprint() != fact(name="Home", subject="ivo").fingerprint()
    assert partly.fingerprint() != fact(name="House", subject="Ivo").fingerprint()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"value": "Ruse", "valid_from": NOON}, "supersede"),
        ({"summary": "by the sea", "valid_from": NOON}, "supersede"),
        ({"value": "Ruse"}, "version"),
        ({"value": "Ruse", "valid_from": None}, "version"),
        ({"value": "Varna", "valid_from": NOON}, "version"),
        ({"valid_from": NOON}, "version"),
        ({"tags": ["home"]}, "version"),
        ({"tags": ["home"], "valid_from": NOON}, "version"),
    ],
    ids=str,
)
def test_a_dated_change_of_what_is_said_is_a_change_of_the_world(
    changes: dict[str, Any], rule: str
) -> None:
    old = {"name": "Home", **STATED}
    new = Semantic.model_validate({**old, **changes})
    was = record(Semantic.model_validate(old))
    assert Semantic.revise(was, new, frozenset(changes)) == rule


@pytest.mark.parametrize("name", [name for name in KINDS if name != "semantic"])
def test_every_other_kind_has_versions(name: str) -> None:
    new = make(name, valid_from=NOON)
    assert KINDS[name].revise(record(make(name)), new, frozenset({"valid_from"})) == "version"


# ── procedural ───────────────────────────────────────────────────────────────────────────────


def test_steps_are_numbered_with_their_condition_and_result() -> None:
    guide = Procedural(
        summary="Start the pump",
        steps=[
            Step(instruction="Open the valve", expected="a hiss"),
            Step(instruction="Press the button", condition="the hiss stops"),
        ],
    )
    assert guide.body().splitlines() == [
        "Start the pump",
        "1. Open the valve → a hiss",
        "2. if the hiss stops: Press the button",
    ]


def test_steps_in_another_order_are_another_procedure() -> None:
    steps = [{"instruction": "Open"}, {"instruction": "Press"}]
    assert (
        make("procedural", steps=steps).fingerprint()
        != make("procedural", steps=steps[::-1]).fingerprint()
    )


@pytest.mark.parametrize(
    "wrong", [{"steps": ["Open"]}, {"steps": [{"do": "x"}]}, {"entry_type": "song"}]
)
def test_a_procedure_that_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        make("procedural", **wrong)


# ── resource ─────────────────────────────────────────────────────────────────────────────────


def test_a_document_reads_with_its_title_and_summary() -> None:
    paper = Resource(title="Pump manual", summary="How to", content="Never run it dry.")
    assert paper.body() == "Pump manual\nHow to\n\nNever run it dry."
    assert Resource(content="\n\nFirst line\nSecond").body() == "First line\nSecond"


@pytest.mark.parametrize(
    ("given", "heading"),
    [
        ({"title": "T", "summary": "S", "content": "C"}, "T"),
        ({"summary": "S", "content": "C"}, "S"),
        ({"content": "\nFirst line\nSecond"}, "First line"),
    ],
)
def test_a_documents_heading(given: dict[str, Any], heading: str) -> None:
    assert Resource(**given).heading() == heading


def test_a_document_is_the_same_by_title_and_content() -> None:
    paper = Resource(title="T", content="C")
    assert paper.fingerprint() == Resource(title="T", content="C", summary="S").fingerprint()
    assert paper.fingerprint() != Resource(title="T", content="c").fingerprint()
    assert paper.fingerprint() != Resource(title="U", content="C").fingerprint()


def test_a_long_document_is_shown_in_part_and_says_so() -> None:
    text = "word " * 1000
    shown = Resource.render(record(Resource(content=text)))
    assert len(shown) < 2100
    assert "2999 more characters" in shown
    assert Resource.render(record(Resource(content="short"))) == "short"


@pytest.mark.parametrize("trust", ["tool", "web"])
def test_no_page_and_no_tool_writes_core_memory(trust: str) -> None:
    with pytest.raises(InvalidInput, match="let the user say"):
        make("core", trust=trust).admit()
    make("core", trust="import").admit()


# ── vault ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("entry_type", ["contact", "bookmark"])
def test_what_is_no_secret_can_be_read(entry_type: str) -> None:
    entry = make("vault", entry_type=entry_type, secret="+359 2 555 0100")
    assert entry.body() == "Mira, plumber\n+359 2 555 0100"


@pytest.mark.parametrize("entry_type", ["password", "api_key", "note", "Contact", "contacts"])
def test_what_may_be_a_secret_is_taken_out(entry_type: str) -> None:
    entry = Vault(entry_type=entry_type, caption="Mail", secret=" hunter2-test ")
    with pytest.raises(InvalidInput) as caught:
        entry.admit()
    assert "hunter2" not in str(caught.value)
    kept, secret = entry.take_secret()
    kept.admit()
    assert secret == " hunter2-test "
    assert "hunter2" not in kept.model_dump_json()
    assert (kept.sealed, kept.sensitivity) == (True, "medium")


@pytest.mark.parametrize(
    "given", [{"entry_type": "password"}, {"entry_type": "password", "sealed": True}]
)
def test_an_entry_without_its_secret_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Vault(caption="Mail", **given).take_secret()


def test_what_is_sealed_does_not_become_readable() -> None:
    with pytest.raises(InvalidInput, match="release it first"):
        Vault(entry_type="contact", caption="Mail", sealed=True).admit()


def test_a_model_made_by_hand_is_checked_by_pydantic() -> None:
    with pytest.raises(ValidationError):
        Semantic(name="")


FULL = [
    make("core", value="likes tea"),
    make("episodic", details="in the night", actor="Mira"),
    make("semantic", title="The boat", summary="It is", details="Dark", subject="boat",
         attribute="colour", value="green", polarity=True),
    make("procedural", title="Pump", steps=[{"instruction": "fill it", "condition": "if dry"}]),
    make("resource", title="Manual", summary="of the pump"),
    make("vault", secret="555 0199"),
]  # fmt: skip


@pytest.mark.parametrize("text", ["Something else", "换了说法", "Pump\n1. open\n2. start"])
@pytest.mark.parametrize("model", FULL, ids=lambda model: model.name_of_kind)
def test_what_is_retold_says_just_that(model: KindModel, text: str) -> None:
    old = record(model)
    changes = kind_of(old.kind).retold(old, text)
    fields = {**old.fields, **changes}
    new = parse(
        {"kind": old.kind, **{key: each for key, each in fields.items() if each is not None}}
    )
    assert new.body() == text
    assert new.heading()
