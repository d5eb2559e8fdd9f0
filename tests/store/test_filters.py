"""The filter grammar: every operator against a small evaluator, and nothing let through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from operator import ge, gt, le, lt
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memstrata
from memstrata import InvalidInput, Memory, Message, Record
from memstrata.records import micros
from memstrata.store import filters
from memstrata.store.filters import FIELDS, OPERATORS, All, AnyOf, Not, parse_filter

TIMES = {"occurred_at", "recorded_at", "created_at", "valid_from", "expires_at"}
LIMA = timezone(timedelta(hours=-5))

# ── what is read ─────────────────────────────────────────────────────────────────────────────


def test_keys_of_one_mapping_are_joined_by_and() -> None:
    assert parse_filter({"kind": "semantic", "trust": {"ne": "web"}}, UTC) == All(
        (filters.Test("kind", "eq", "semantic"), filters.Test("trust", "ne", "web"))
    )


def test_operators_of_one_field_are_joined_by_and() -> None:
    assert parse_filter({"confidence": {"gte": 0.2, "lt": 1}}, UTC) == All(
        (filters.Test("confidence", "gte", 0.2), filters.Test("confidence", "lt", 1))
    )


def test_and_or_not_nest() -> None:
    given = {"or": [{"kind": "core"}, {"not": {"and": [{"trust": "web"}, {"version": 1}]}}]}
    inner = Not(All((filters.Test("trust", "eq", "web"), filters.Test("version", "eq", 1))))
    assert parse_filter(given, UTC) == AnyOf((filters.Test("kind", "eq", "core"), inner))


def test_no_filter_and_an_empty_one() -> None:
    assert parse_filter(None, UTC) is None
    assert parse_filter({}, UTC) == All(())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-08T09:00:00Z", datetime(2026, 5, 8, 9, tzinfo=UTC)),
        ("2026-05-08T09:00:00+02:00", datetime(2026, 5, 8, 7, tzinfo=UTC)),
        ("2026-05-08T09:00", datetime(2026, 5, 8, 14, tzinfo=UTC)),
        ("2026-05-08", datetime(2026, 5, 8, 5, tzinfo=UTC)),
        (datetime(2026, 5, 8, 9, tzinfo=UTC), datetime(2026, 5, 8, 9, tzinfo=UTC)),
        (datetime(2026, 5, 8, 9), datetime(2026, 5, 8, 14, tzinfo=UTC)),  # noqa: DTZ001 - that is the case
    ],
)
def test_times_are_instants(value: Any, expected: datetime) -> None:
    assert parse_filter({"occurred_at": {"gte": value}}, LIMA) == filters.Test(
        "occurred_at", "gte", micros(expected)
    )


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("kind", "mapping"),
        ([{"kind": "core"}], "mapping"),
        ({"colour": 1}, "colour"),
        ({5: 1}, "5"),
        ({None: 1}, "None"),
        ({"": 1}, "''"),
        ({"content": "x"}, "content"),
        ({"scope": 1}, "scope"),
        ({"seq": 1}, "seq"),
        ({"user_id": "x"}, "user_id"),
        ({"metadata": 1}, "metadata"),
        ({"metadata.": 1}, "metadata."),
        ({"metadata.a b": 1}, "a b"),
        ({"metadata.a'": 1}, "a'"),
        ({'metadata.a"': 1}, "a"),
        ({"metadata.a\n": 1}, "a"),
        ({"metadata." + "x" * 65: 1}, "metadata"),
        ({"kind": {}}, "kind"),
        ({"kind": {"like": "s%"}}, "like"),
        ({"kind": {"$ne": None}}, "ne"),
        ({"kind": {5: 1}}, "5"),
        ({"kind": ["a", "b"]}, "kind"),
        ({"kind": {"in": "ab"}}, "in"),
        ({"kind": {"in": [["a"]]}}, "kind"),
        ({"kind": {"eq": {"a": 1}}}, "kind"),
        ({"kind": {"exists": 1}}, "exists"),
        ({"kind": {"starts_with": 5}}, "starts_with"),
        ({"confidence": {"gt": None}}, "confidence"),
        ({"confidence": {"gt": True}}, "confidence"),
        ({"metadata.n": float("nan")}, "metadata.n"),
        ({"metadata.n": 2**70}, "metadata.n"),
        ({"tags": "work"}, "tags"),
        ({"tags": {"in": ["work"]}}, "tags"),
        ({"occurred_at": "yesterday"}, "occurred_at"),
        ({"occurred_at": 5}, "occurred_at"),
        ({"occurred_at": {"starts_with": "2026"}}, "occurred_at"),
        ({"occurred_at": {"contains": "2026"}}, "occurred_at"),
        ({"or": {"kind": "core"}}, "or"),
        ({"or": []}, "or"),
        ({"and": []}, "and"),
        ({"or": [None]}, "or"),
        ({"or": [5]}, "mapping"),
        ({"or": [{}]}, "or"),
        ({"not": {}}, "not"),
        ({"not": None}, "not"),
        ({"not": [{"kind": "core"}]}, "mapping"),
        ({"or": [{"colour": 1}]}, "colour"),
    ],
    ids=lambda value: str(value)[:50] if not isinstance(value, str) else "",
)
def test_what_is_no_filter_is_refused_by_name(wrong: Any, named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_filter(wrong, UTC)
    assert named in str(caught.value)


def test_an_error_lists_what_would_be_right() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_filter({"colour": 1}, UTC)
    assert all(field in str(caught.value) for field in FIELDS)
    with pytest.raises(InvalidInput) as caught:
        parse_filter({"kind": {"like": 1}}, UTC)
    assert all(operator in str(caught.value) for operator in OPERATORS)


def test_filters_nest_so_deep_and_no_deeper() -> None:
    def nested(depth: int) -> dict[str, Any]:
        return {"not": nested(depth - 1)} if depth else {"kind": "core"}

    parse_filter(nested(20), UTC)
    with pytest.raises(InvalidInput, match="deep"):
        parse_filter(nested(21), UTC)


# ── what is meant ────────────────────────────────────────────────────────────────────────────

VALUES: list[Any] = [None, True, False, 0, 1, 2, 1.0, 1.5, -1, "", "a", "ab", "b", "A", "1",
                     "true", "null", "%", "a_b", "测试"]  # fmt: skip
DAYS = [f"2026-05-0{day}T00:00:00Z" for day in range(1, 5)]
RECORD_FIELDS = ("kind", "title", "path", "subject", "attribute", "confidence", "trust",
                 "sensitivity", "lifecycle", "version", "occurred_at", "valid_from",
                 "expires_at")  # fmt: skip
MESSAGE_FIELDS = ("external_id", "session_id", "role", "name", "occurred_at", "trust")
NESTED = ("metadata.a", "metadata.b.c", "metadata.list", "metadata.deep.list", "metadata.缺",
          "fields.name", "fields.subject", "fields.polarity", "fields.steps")  # fmt: skip


def metadata(n: int) -> dict[str, Any]:
    """By turns every value in every place, lists among them, and nothing at all."""
    pick = VALUES[n % len(VALUES)]
    made: dict[str, Any] = {"a": pick} if n % 3 else {}
    if n % 4:
        made["b"] = {"c": VALUES[(n * 7) % len(VALUES)]} if n % 5 else pick
    made["list"] = [pick, VALUES[(n * 3) % len(VALUES)]] if n % 2 else [[pick], {"x": pick}]
    if n % 6 == 0:
        made["deep"] = {"list": [n % 3, "a" if n % 4 else True]}
    return made


def _rows(memory: Memory) -> None:
    for n in range(40):
        turn = {
            "role": ("user", "assistant", "tool", "true")[n % 4],
            "content": f"note number {n}",
            "metadata": metadata(n),
            "tags": [("a", "b", "1", "true")[n % 4]] if n % 3 else [],
            "occurred_at": DAYS[n % 4],
        }
        turn |= {"name": ("Ana", "a", "1")[n % 3]} if n % 2 else {}
        turn |= {"id": f"m-{n}"} if n % 5 == 0 else {}
        session = ("a", "b", "true", None)[n % 4]
        memory.add(turn, user_id="ivo", session_id=session, infer=False)
        subject: dict[str, Any] = {"subject": VALUES[10 + n % 9] or None} if n % 2 else {}
        memory.create(
            {
                "kind": "semantic",
                "name": f"{VALUES[10 + n % 9] or 'x'}{n}",
                **subject,
                "polarity": (None, True, False)[n % 3],
                "metadata": metadata(n + 1),
                "tags": ["a", "1"] if n % 4 == 0 else [],
                "path": ("a", "a/b", "1", None)[n % 4],
                "confidence": (0.0, 0.5, 1.0)[n % 3],
                "sensitivity": ("low", "medium")[n % 2],
                "trust": ("user", "web")[n % 2],
                **({"occurred_at": DAYS[n % 4]} if n % 3 else {}),
                **({"expires_at": DAYS[n % 4]} if n % 5 == 0 else {}),
            },
            user_id="ivo",
        )


class Rows:
    """A store, and what its messages and records are as plain mappings."""

    def __init__(
        self, memory: Memory, messages: list[dict[str, Any]], records: list[dict[str, Any]]
    ) -> None:
        self.memory, self.messages, self.records = memory, messages, records


@pytest.fixture(scope="module")
def rows() -> Iterator[Rows]:
    with memstrata.open(":memory:", embedder="none") as memory:
        _rows(memory)
        messages = memory.messages(user_id="ivo", limit=1000)
        records = memory.list(user_id="ivo", limit=1000)
        yield Rows(
            memory,
            [plain(m, {*MESSAGE_FIELDS, "id", "metadata", "tags"}) for m in messages],
            [
                plain(r, {*RECORD_FIELDS, "id", "metadata", "tags", "fields"})
                | {"subject": r.fields.get("subject"), "attribute": r.fields.get("attribute")}
                for r in records
            ],
        )


def plain(value: Message | Record, fields: set[str]) -> dict[str, Any]:
    """No tags at all are null, as every field that is not there."""
    return value.model_dump(include=fields) | {"tags": value.tags or None}


def look_up(row: Mapping[str, Any], field: str) -> Any:
    value: Any = row
    for key in field.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def alike(one: Any, other: Any) -> bool:
    """Equal, and of one type as the grammar knows types: text, number, boolean, time, null."""

    def kind(value: Any) -> type:
        return float if type(value) is int else type(value)

    return kind(one) is kind(other) and one == other


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
}


def holds(value: Any, operator: str, operand: Any) -> bool:
    if operator == "exists":
        return (value is not None) == operand
    if operator == "ne":
        return not alike(value, operand)
    if operator == "in":
        return any(alike(value, item) for item in operand)
    if operator == "contains":
        if isinstance(value, list):
            return any(alike(item, operand) for item in value)
        return isinstance(value, str) and isinstance(operand, str) and operand in value
    if operator == "starts_with":
        return isinstance(value, str) and value.startswith(operand)
    if operator == "eq":
        return alike(value, operand)
    comparable = (str,) if isinstance(operand, str) else (int, float, datetime)
    if not isinstance(value, comparable) or isinstance(value, bool):
        return False
    return _ORDERS[operator](value, operand)


def passes(row: Mapping[str, Any], tree: Mapping[str, Any]) -> bool:
    """Whether a row passes a filter, in a few lines of Python."""
    for key, value in tree.items():
        if key in ("and", "or"):
            join = all if key == "and" else any
            result = join(passes(row, part) for part in value)
        elif key == "not":
            result = not passes(row, value)
        else:
            tests = value if isinstance(value, Mapping) else {"eq": value}
            found = look_up(row, key)
            result = all(holds(found, op, as_meant(key, operand)) for op, operand in tests.items())
        if not result:
            return False
    return True


def as_meant(field: str, operand: Any) -> Any:
    if field in TIMES and isinstance(operand, str):
        return datetime.fromisoformat(operand)
    if field in TIMES and isinstance(operand, list):
        return [as_meant(field, item) for item in operand]
    return operand


def conditions_of(field: str) -> st.SearchStrategy[Any]:
    """One test of a field, of any operator it may have."""
    choices: list[Any] = [None, *DAYS] if field in TIMES else VALUES
    value = st.sampled_from(choices)
    operators: dict[str, st.SearchStrategy[Any]] = {"exists": st.booleans()}
    if field == "tags":
        operators["contains"] = value
        return st.one_of(*(st.fixed_dictionaries({op: v}) for op, v in operators.items()))
    ordered = value.filter(lambda v: v is not None and not isinstance(v, bool))
    operators |= {"eq": value, "ne": value, "in": st.lists(value, max_size=3)}
    operators |= dict.fromkeys(("gt", "gte", "lt", "lte"), ordered)
    if field not in TIMES:
        operators["contains"] = value
        operators["starts_with"] = st.sampled_from([v for v in VALUES if isinstance(v, str)])
    single = st.one_of(*(st.fixed_dictionaries({op: v}) for op, v in operators.items()))
    return st.one_of(single, value)


ONE_TEST = st.sampled_from([*MESSAGE_FIELDS, *RECORD_FIELDS, *NESTED, "tags"]).flatmap(
    lambda field: conditions_of(field).map(lambda test: {field: test})
)
TREES = st.recursive(
    ONE_TEST,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=3)}),
        st.tuples(inner, inner).map(lambda two: {**two[0], **two[1]}),
    ),
    max_leaves=5,
)


@given(tree=TREES)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_filter_means_what_it_says(rows: Rows, tree: dict[str, Any]) -> None:
    memory, messages, records = rows.memory, rows.messages, rows.records
    found = {m.id for m in memory.messages(user_id="ivo", filters=tree, limit=1000)}
    assert found == {row["id"] for row in messages if passes(row, tree)}
    found = {r.id for r in memory.list(user_id="ivo", filters=tree, limit=1000)}
    assert found == {row["id"] for row in records if passes(row, tree)}


@pytest.mark.parametrize("operator", [op for op in OPERATORS if op != "exists"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_operator_with_every_value(rows: Rows, operator: str, value: Any) -> None:
    """All pairs, so that no draw of luck is needed for them."""
    memory, messages, records = rows.memory, rows.messages, rows.records
    for field in ("metadata.a", "metadata.b.c", "metadata.list", "name", "path", "confidence"):
        tree = {field: {operator: [value, "b"] if operator == "in" else value}}
        try:
            parse_filter(tree, UTC)
        except InvalidInput:
            continue
        found = {m.id for m in memory.messages(user_id="ivo", filters=tree, limit=1000)}
        assert found == {row["id"] for row in messages if passes(row, tree)}, tree
        found = {r.id for r in memory.list(user_id="ivo", filters=tree, limit=1000)}
        assert found == {row["id"] for row in records if passes(row, tree)}, tree


def test_more_values_than_a_statement_has_places_for(
    rows: Rows,
) -> None:
    memory, messages = rows.memory, rows.messages
    wanted = [f"m-{n}" for n in range(70_000)]
    found = memory.messages(user_id="ivo", filters={"external_id": {"in": wanted}}, limit=1000)
    assert len(found) == sum(row["external_id"] is not None for row in messages)


@pytest.mark.parametrize(
    "hostile", ["' OR 1=1 --", '" OR ""="', "x'); DROP TABLE messages; --", ":scope", "%", "\\"]
)
def test_values_are_never_syntax(rows: Rows, hostile: str) -> None:
    """R31."""
    memory, messages = rows.memory, rows.messages
    for field in ("role", "metadata.a", "session_id", "id", "batch_id"):
        for operator in ("eq", "contains", "starts_with", "gt"):
            tree = {field: {operator: hostile}}
            found = {m.id for m in memory.messages(user_id="ivo", filters=tree, limit=1000)}
            assert found <= {row["id"] for row in messages}
            if operator != "gt" and hostile != "%":
                assert found == set(), tree
    assert len(memory.messages(user_id="ivo", limit=1000)) == len(messages)
