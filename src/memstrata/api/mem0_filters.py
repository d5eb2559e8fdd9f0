"""mem0's filter grammar: whose memory it asks for, and which of it.

    {"AND": [{"user_id": "ana"}, {"run_id": "s1"}, {"created_at": {"gte": "2026-01-01"}},
             {"OR": [{"categories": {"in": ["food"]}}, {"NOT": {"metadata": {"draft": true}}}]}]}

Keys of one mapping are joined by *and*. The owners named anywhere decide where is looked; the rest
is asked of each memory. A field or operator that has no meaning here is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any, cast

from memstrata.errors import InvalidInput

__all__ = ["ANY", "EACH", "Facts", "Owners", "Wanted", "as_mapping", "read_filters", "time_of"]

ANY = "*"
"""What stands for any value but none."""
EACH = frozenset({ANY})
"""Every owner there is."""
_DEEP = 20
_MANY = 200
"""The most owners that one call may ask for by name."""
_ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
_TIMES = ("created_at", "updated_at", "timestamp")
_JOINS = {"AND": "and", "OR": "or", "NOT": "not"}
_FIELDS = (*_ENTITIES, *_TIMES, "categories", "keywords", "metadata", "memory_ids")

Facts = Mapping[str, Any]
"""What is known of one memory, by the fields of the grammar."""
_Test = Callable[[Facts], bool]


@dataclass(frozen=True, slots=True)
class Owners:
    """One way in which a filter names owners: values, `ANY`, or None where it names none."""

    users: frozenset[str] | None = None
    agents: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a filter asks for."""

    owners: tuple[Owners, ...]
    test: _Test
    by_owner: bool
    """Whether it asks for nothing but owners, and at most one `session`."""
    session: str | None = None


def as_mapping(name: str, value: object) -> dict[str, Any]:
    """A JSON object, None for an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is an object like {{'user_id': 'ana'}}")
    return {str(key): each for key, each in cast("Mapping[Any, Any]", value).items()}


def read_filters(filters: object) -> Wanted:
    """Read a filter; `InvalidInput` names what has no meaning here."""
    node = _all(as_mapping("filters", filters), 0)
    plain = node.leaves is not None and all(
        field in ("user_id", "agent_id") or (field == "run_id" and value is not None)
        for field, value in node.leaves
    )
    sessions = {value for field, value in node.leaves or () if field == "run_id"}
    return Wanted(
        owners=node.owners,
        test=node.test,
        by_owner=plain and len(sessions) <= 1,
        session=next(iter(sessions)) if plain and len(sessions) == 1 else None,
    )


@dataclass(frozen=True, slots=True)
class _Node:
    owners: tuple[Owners, ...]
    test: _Test
    leaves: tuple[tuple[str, str | None], ...] | None = None
    """The fields it asks of, all of which must hold, with the value of an equality; None where
    that is not all it says."""


_EVERYTHING = _Node((Owners(),), lambda _: True, ())


def _all(given: Mapping[str, Any], depth: int) -> _Node:
    if depth > _DEEP:
        raise InvalidInput(f"filters are nested more than {_DEEP} deep: flatten them")
    return _and(_entry(key, value, depth) for key, value in given.items())


def _entry(key: str, value: Any, depth: int) -> _Node:
    join = _JOINS.get(key.upper())
    if join is None:
        return _condition(key, value)
    parts = _parts(key, value, single=join == "not")
    nodes = [_all(_condition_in(key, one), depth + 1) for one in parts]
    if join == "and":
        return _and(nodes)
    return _or(nodes) if join == "or" else _not(nodes)


def _parts(key: str, value: object, *, single: bool) -> list[object]:
    if single and not isinstance(value, list):
        return [value]
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"filter {key} takes a list of conditions, with at least one in it")
    return cast("list[object]", value)


def _condition_in(key: str, part: object) -> Mapping[str, Any]:
    if not isinstance(part, Mapping) or not part:
        raise InvalidInput(f"filter {key}: a condition is an object with a field in it")
    return as_mapping(key, cast("object", part))


def _and(nodes: Iterable[_Node]) -> _Node:
    parts = list(nodes)
    if not parts:
        return _EVERYTHING
    owners: tuple[Owners, ...] = (Owners(),)
    for part in parts:
        met = [_meet(one, other) for one, other in product(owners, part.owners)]
        owners = tuple(dict.fromkeys(met))
        _check_many(owners)
    leaves = [part.leaves for part in parts]
    known = [each for each in leaves if each is not None]
    joined = tuple(leaf for each in known for leaf in each) if len(known) == len(leaves) else None
    return _Node(owners, lambda facts: all(part.test(facts) for part in parts), joined)


def _or(nodes: list[_Node]) -> _Node:
    owners = tuple(dict.fromkeys(each for node in nodes for each in node.owners))
    _check_many(owners)
    test: _Test = lambda facts: any(node.test(facts) for node in nodes)  # noqa: E731
    only_owners = all(
        node.leaves is not None
        and all(field in ("user_id", "agent_id") for field, _ in node.leaves)
        for node in nodes
    )
    return _Node(owners, test, (("user_id", None),) if only_owners else None)


def _not(nodes: list[_Node]) -> _Node:
    if any(named != Owners() for node in nodes for named in node.owners):
        raise InvalidInput("filter NOT: name the users and agents whose memory you want instead")
    return _Node((Owners(),), lambda facts: not any(node.test(facts) for node in nodes))


def _check_many(owners: tuple[Owners, ...]) -> None:
    if len(owners) > _MANY:
        raise InvalidInput(f"filters name more than {_MANY} sets of users and agents: ask in parts")


def _meet(one: Owners, other: Owners) -> Owners:
    return Owners(_both(one.users, other.users), _both(one.agents, other.agents))


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    if EACH in (one, other):
        return other if one == EACH else one
    return one & other


def _condition(field: str, value: Any) -> _Node:
    if field == "metadata":
        return _Node((Owners(),), _metadata(value))
    if field not in _FIELDS:
        raise InvalidInput(
            f"unknown filter field {field[:80]!r}: use one of {', '.join(_FIELDS)}, AND, OR, NOT"
        )
    if field in ("user_id", "agent_id"):
        return _owner(field, value)
    tests = [_test(field, operator, operand) for operator, operand in _operators(field, value)]
    equal = value if field == "run_id" and isinstance(value, str) and value != ANY else None
    leaves = ((field, equal),) if field == "run_id" else None
    return _Node((Owners(),), lambda facts: all(test(facts) for test in tests), leaves)


def _operators(field: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        given = list(as_mapping(field, cast("object", value)).items())
        if not given:
            raise InvalidInput(
                f"filter {field} has no operator: use one of {', '.join(_OPERATORS)}"
            )
        return given
    return [("in", value)] if isinstance(value, list) else [("eq", value)]


def _owner(field: str, value: Any) -> _Node:
    """Whose memory: looked for where it is, and not asked of what is found there."""
    named: frozenset[str] | None = None
    for operator, operand in _operators(field, value):
        names = _listed(field, operand) if operator == "in" else [operand]
        sound = all(isinstance(one, str) and one for one in names)
        if operator not in ("eq", "in") or not sound or not 0 < len(names) <= _MANY:
            raise InvalidInput(
                f"filter {field}: give a text, {{'in': [...]}} with up to {_MANY} texts, or '*'"
            )
        named = _both(named, EACH if ANY in names else frozenset(names))
    users, agents = (named, None) if field == "user_id" else (None, named)
    test: _Test = (lambda facts: facts[field] is not None) if named == EACH else lambda _: True
    # Which owner a memory was looked for under matters where owners are alternatives.
    chosen = named if named is not None and named != EACH else None
    if chosen is not None:
        test = lambda facts: facts[f"asked_{field}"] in chosen  # noqa: E731
    # Of every agent its own is meant, and not what is shared, which each of them sees too.
    plain = not (field == "agent_id" and named == EACH)
    return _Node((Owners(users, agents),), test, ((field, None),) if plain else None)


def _test(field: str, operator: str, operand: Any) -> _Test:
    make = _OPERATORS.get(operator)
    if make is None:
        raise InvalidInput(
            f"unknown filter operator {operator[:80]!r} on {field}: use one of "
            f"{', '.join(_OPERATORS)}"
        )
    if field in _TIMES:
        return make(field, _times(field, operator, operand))
    if operator in _ORDERS and (
        isinstance(operand, bool) or not isinstance(operand, str | int | float)
    ):
        raise InvalidInput(f"filter {field}: {operator} takes a text or a number")
    return make(field, operand)


def _times(field: str, operator: str, operand: Any) -> Any:
    if operand == ANY:
        return operand
    if operator in ("contains", "icontains"):
        raise InvalidInput(
            f"filter {field}: a time has no part: use gte, gt, lte, lt, eq, ne or in"
        )
    if operator == "in":
        return [time_of(field, one) for one in _listed(field, operand)]
    return time_of(field, operand)


def time_of(name: str, value: object) -> datetime:
    """An instant: ISO 8601, UTC where it has no offset, or seconds since the Unix epoch."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(
        f"{name} is a date or date-time in ISO 8601, or seconds since 1970, in the years 1 to 9999"
    )


def _listed(field: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"filter {field}: in takes a list")
    return cast("list[Any]", value)


def _metadata(value: Any) -> _Test:
    """Top-level keys and the values they must have; or, per key, an operator."""
    wanted = as_mapping("filter metadata", value)
    if not wanted:
        raise InvalidInput("filter metadata names no key: give an object like {'topic': 'food'}")
    tests = [(key, _of_key(key, one)) for key, one in wanted.items()]
    return lambda facts: all(test({key: facts["metadata"].get(key)}) for key, test in tests)


def _of_key(key: str, value: Any) -> _Test:
    if isinstance(value, Mapping) and value:
        given = as_mapping(key, cast("object", value))
        if given.keys() <= _OPERATORS.keys():
            tests = [_test_of_key(key, operator, operand) for operator, operand in given.items()]
            return lambda facts: all(test(facts) for test in tests)
    return _equal(key, value)


def _test_of_key(key: str, operator: str, operand: Any) -> _Test:
    orderly = isinstance(operand, str | int | float) and not isinstance(operand, bool)
    if operator in _ORDERS and not orderly:
        raise InvalidInput(f"filter metadata {key[:80]}: {operator} takes a text or a number")
    return _OPERATORS[operator](key, operand)


# One function per operator: field and operand in, test out.


def _same(one: Any, other: Any) -> bool:
    """Equal, and true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _values(facts: Facts, field: str) -> list[Any]:
    value = facts.get(field)
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _equal(field: str, operand: Any) -> _Test:
    if operand == ANY:
        return lambda facts: facts.get(field) not in (None, [], "")
    return lambda facts: (
        _same(facts.get(field), operand)
        or any(_same(value, operand) for value in _values(facts, field))
    )


def _unequal(field: str, operand: Any) -> _Test:
    equal = _equal(field, operand)
    return lambda facts: not equal(facts)


def _among(field: str, operand: Any) -> _Test:
    tests = [_equal(field, one) for one in _listed(field, operand)]
    return lambda facts: any(test(facts) for test in tests)


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[str, Any], _Test]:
    def make(field: str, operand: Any) -> _Test:
        def test(facts: Facts) -> bool:
            try:
                return bool(facts.get(field) is not None and holds(facts[field], operand))
            except TypeError:  # a text and a number have no order
                return False

        return test

    return make


def _part(fold: Callable[[str], str]) -> Callable[[str, Any], _Test]:
    def make(field: str, operand: Any) -> _Test:
        if not isinstance(operand, str):
            raise InvalidInput(f"filter {field[:80]}: contains and icontains take a text")
        part = fold(operand)
        return lambda facts: any(
            isinstance(value, str) and part in fold(value) for value in _values(facts, field)
        )

    return make


_ORDERS = ("gt", "gte", "lt", "lte")
_OPERATORS: Mapping[str, Callable[[str, Any], _Test]] = {
    "eq": _equal,
    "ne": _unequal,
    "in": _among,
    "gt": _ordered(lambda one, other: one > other),
    "gte": _ordered(lambda one, other: one >= other),
    "lt": _ordered(lambda one, other: one < other),
    "lte": _ordered(lambda one, other: one <= other),
    "contains": _part(str),
    "icontains": _part(str.casefold),
}
