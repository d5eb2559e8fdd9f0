"""The one filter grammar, read into a tree and compiled to bound SQL.

    {"tags": {"contains": "work"}, "or": [{"metadata.priority": {"gte": 2}},
                                          {"not": {"kind": "resource"}}]}

Keys of one mapping are joined by *and*. A field maps to a scalar (equality) or to operators.
Fields and operators are allow-listed; values are bound, never put into the statement. A field
that a message or record does not have is null: it equals nothing but null, and `ne` holds for it.
Text, numbers and true or false never equal each other. `contains` asks a list for an element and
a text for a part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal, cast

from memstrata.errors import InvalidInput
from memstrata.records import micros
from memstrata.store.ports import Dialect
from memstrata.text.analyse import repair

__all__ = [
    "FIELDS",
    "OPERATORS",
    "TIMES",
    "All",
    "AnyOf",
    "Filter",
    "Not",
    "Table",
    "Test",
    "compile_filter",
    "parse_filter",
]

Table = Literal["messages", "records"]
Scalar = str | int | float | bool | None

TIMES = frozenset(
    {
        "occurred_at",
        "ended_at",
        "recorded_at",
        "created_at",
        "valid_from",
        "valid_to",
        "retired_at",
        "expires_at",
    }
)
_MESSAGES = frozenset(
    {"id", "external_id", "session_id", "role", "name", "occurred_at", "recorded_at", "trust",
     "batch_id"}
)  # fmt: skip
_RECORDS = TIMES | {
    "id", "kind", "title", "path", "subject", "attribute", "confidence", "trust", "sensitivity",
    "lifecycle", "version", "batch_id",
}  # fmt: skip
_NESTED = re.compile(r"^(metadata|fields)((?:\.[\w-]{1,64})+)\Z")

FIELDS = (*sorted(_MESSAGES | _RECORDS | {"tags"}), "metadata.<key>", "fields.<key>")
_ORDERS = frozenset({"gt", "gte", "lt", "lte"})
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "starts_with", "exists")


@dataclass(frozen=True, slots=True)
class Test:
    """One field compared with one value."""

    field: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; no part, nothing is left out."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


Filter = Test | All | AnyOf | Not


def parse_filter(given: Mapping[str, Any] | None, zone: tzinfo, *, depth: int = 0) -> Filter | None:
    """Read a filter, naive times in `zone`; `InvalidInput` names an unknown field or operator."""
    if given is None:
        return None
    if not _is_mapping(given):
        raise InvalidInput(f"filters is a mapping like {{'kind': 'semantic'}}, not {given!r}")
    if depth > 20:
        raise InvalidInput("filters are nested more than 20 deep: flatten them")
    parts: list[Filter] = []
    for key, value in given.items():
        parts.extend(_entry(key, value, zone, depth))
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _entry(key: str, value: Any, zone: tzinfo, depth: int) -> list[Filter]:
    if key in ("and", "or"):
        parts = tuple(_nested(key, part, zone, depth) for part in _listed(key, value))
        return [All(parts) if key == "and" else AnyOf(parts)]
    if key == "not":
        return [Not(_nested(key, value, zone, depth))]
    _check_field(key)
    if isinstance(value, Mapping):
        operators = cast("Mapping[str, Any]", value)
        if not operators:
            raise InvalidInput(f"filter {key!r} has no operator: use one of {', '.join(OPERATORS)}")
        return [Test(key, op, _value(key, op, operand, zone)) for op, operand in operators.items()]
    return [Test(key, "eq", _value(key, "eq", value, zone))]


def _nested(key: str, value: Any, zone: tzinfo, depth: int) -> Filter:
    inner = parse_filter(value, zone, depth=depth + 1)
    if inner is None or inner == All(()):
        raise InvalidInput(f"filter {key!r} needs a mapping with at least one field, not {value!r}")
    return inner


def _listed(key: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"filter {key!r} needs a list of filters with at least one in it")
    return cast("list[Any]", value)


def _check_field(field: Any) -> None:
    known = isinstance(field, str) and (
        field in _MESSAGES or field in _RECORDS or field == "tags" or _NESTED.match(field)
    )
    if not known:
        raise InvalidInput(f"unknown filter field {field!r}: use one of {', '.join(FIELDS)}")


def _value(field: str, operator: Any, value: Any, zone: tzinfo) -> Any:
    if operator not in OPERATORS:
        raise InvalidInput(
            f"unknown filter operator {operator!r} on {field!r}: use one of {', '.join(OPERATORS)}"
        )
    if field == "tags" and operator not in ("contains", "exists"):
        raise InvalidInput("filter 'tags' is on a list: use {'tags': {'contains': …}} or exists")
    if operator in _ORDERS and (value is None or isinstance(value, bool)):
        raise InvalidInput(f"filter {field!r}: {value!r} has no order: give a text, number or time")
    if field in TIMES and operator in ("contains", "starts_with"):
        raise InvalidInput(
            f"filter {field!r} is on a time: use one of eq, ne, gt, gte, lt, lte, in"
        )
    if operator == "exists":
        if not isinstance(value, bool):
            raise InvalidInput(f"filter {field!r}: exists takes true or false, not {value!r}")
        return value
    if operator == "in":
        if not isinstance(value, list):
            raise InvalidInput(f"filter {field!r}: in takes a list, not {value!r}")
        return [_scalar(field, item, zone) for item in cast("list[Any]", value)]
    if operator == "starts_with" and not isinstance(value, str):
        raise InvalidInput(f"filter {field!r}: starts_with takes a text, not {value!r}")
    return _scalar(field, value, zone)


def _scalar(field: str, value: Any, zone: tzinfo) -> Scalar:
    if field in TIMES and value is not None:
        return _time(field, value, zone)
    if isinstance(value, str):
        return repair(value)[0]
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidInput(
        f"filter {field!r}: {value!r} is no text, number of 64 bits, true, false or null; for "
        "several values use {'in': [...]}"
    )


def _time(field: str, value: Any, zone: tzinfo) -> int:
    try:
        when = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"filter {field!r}: {value!r} is no ISO 8601 date-time such as 2026-05-08T09:00:00Z"
        ) from None
    return micros(when if when.tzinfo else when.replace(tzinfo=zone))


def compile_filter(
    tree: Filter | None, table: Table, dialect: Dialect
) -> tuple[str, dict[str, Any]]:
    """A SQL condition over one table and the values it binds."""
    compiler = _Compiler(table, dialect)
    return ("1 = 1" if tree is None else compiler.condition(tree)), compiler.bound


class _Compiler:
    def __init__(self, table: Table, dialect: Dialect) -> None:
        self.columns = _MESSAGES if table == "messages" else _RECORDS
        self.has_fields = table == "records"
        self.dialect = dialect
        self.bound: dict[str, Any] = {}

    def bind(self, value: Any) -> str:
        name = f"f{len(self.bound)}"
        self.bound[name] = value
        return f":{name}"

    def condition(self, tree: Filter) -> str:
        match tree:
            case Test():
                return self.test(tree)
            case Not(part):
                return f"NOT coalesce({self.condition(part)}, 0)"
            case All(parts):
                return self.join(" AND ", parts, "1 = 1")
            case AnyOf(parts):
                return self.join(" OR ", parts, "1 = 0")

    def join(self, word: str, parts: Sequence[Filter], empty: str) -> str:
        return "(" + (word.join(self.condition(part) for part in parts) or empty) + ")"

    def place(self, field: str) -> tuple[str, list[str]] | None:
        """The column of a field, and its path where that is JSON; None: the table has none."""
        if match := _NESTED.match(field):
            missing = match[1] == "fields" and not self.has_fields
            return None if missing else (match[1], match[2][1:].split("."))
        return (field, []) if field in self.columns or field == "tags" else None

    def scalar(self, field: str) -> str:
        """The SQL for a field's text or number; NULL where it has neither."""
        place = self.place(field)
        if place is None:
            return "NULL"
        column, path = place
        return self.dialect.json_value(column, path, self.bind) if path else column

    def test(self, test: Test) -> str:
        return _OPERATORS[test.operator](self, test.field, test.value)

    def exists(self, field: str, value: bool) -> str:
        place = self.place(field)
        if place is None:
            return "1 = 0" if value else "1 = 1"
        column, path = place
        there = self.dialect.json_exists(column, path, self.bind) if path else f"{column} NOTNULL"
        return there if value else f"NOT ({there})"

    def equal(self, field: str, value: Scalar) -> str:
        if value is None:
            return self.exists(field, False)
        if isinstance(value, bool):
            place = self.place(field)
            if place is None or not place[1]:
                return "1 = 0"
            return self.dialect.json_boolean(*place, value, self.bind)
        return self.order(field, value, "=")

    def unequal(self, field: str, value: Scalar) -> str:
        return f"NOT coalesce({self.equal(field, value)}, 0)"

    def order(self, field: str, value: str | float, sign: str) -> str:
        return self.typed(field, value, lambda e: f"{e} {sign} {self.bind(value)}")

    def typed(self, field: str, like: str | float, condition: Callable[[str], str]) -> str:
        """A condition on the field's scalar, if that is of the type of a value."""
        guard = self.dialect.is_text if isinstance(like, str) else self.dialect.is_number
        return f"({guard(self.scalar(field))} AND {condition(f'({self.scalar(field)})')})"

    def among(self, field: str, values: Sequence[Scalar]) -> str:
        texts = [value for value in values if isinstance(value, str)]
        others = [value for value in values if value is None or isinstance(value, bool)]
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        parts = [
            self.typed(
                field, same[0], lambda e, same=same: self.dialect.in_list(e, same, self.bind)
            )
            for same in (texts, numbers)
            if same
        ]
        parts += [self.equal(field, value) for value in dict.fromkeys(others)]
        return f"({' OR '.join(parts) or '1 = 0'})"

    def begins(self, field: str, value: str) -> str:
        return self.typed(field, value, lambda e: self.dialect.starts_with(e, self.bind(value)))

    def contains(self, field: str, value: Scalar) -> str:
        """A list has the element, or a text the part."""
        parts: list[str] = []
        place = self.place(field)
        if place is not None and (place[1] or field == "tags"):
            parts.append(self.dialect.json_contains(*place, value, self.bind))
        if isinstance(value, str) and field != "tags":
            part = self.bind(value)
            parts.append(self.typed(field, value, lambda e: self.dialect.has_part(e, part)))
        return f"({' OR '.join(parts) or '1 = 0'})"


_OPERATORS: Mapping[str, Callable[[_Compiler, str, Any], str]] = {
    "eq": _Compiler.equal,
    "ne": _Compiler.unequal,
    "gt": lambda c, f, v: c.order(f, v, ">"),
    "gte": lambda c, f, v: c.order(f, v, ">="),
    "lt": lambda c, f, v: c.order(f, v, "<"),
    "lte": lambda c, f, v: c.order(f, v, "<="),
    "in": _Compiler.among,
    "contains": _Compiler.contains,
    "starts_with": _Compiler.begins,
    "exists": _Compiler.exists,
}
