"""The few calls of apsw that are used, with types (its own are partly unknown to checkers)."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import apsw

from memstrata.errors import InvalidInput
from memstrata.store.ports import Params, Row

__all__ = ["add_function", "each_row", "execute", "execute_many", "pragma", "pragma_number"]


def _unbindable(error: Exception) -> InvalidInput:
    """What is wrong with a value that SQLite cannot hold."""
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("a text of this call has half a surrogate pair in it: repair it")
    return InvalidInput("a number of this call needs more than 64 bits: give it as a text")


def execute(connection: apsw.Connection, sql: str, params: Params | None = None) -> list[Row]:
    """Run one or more statements; the rows they give."""
    bindings = None if params is None else cast("dict[str, Any]", params)
    try:
        return cast("list[Row]", connection.execute(sql, bindings).fetchall())
    except (UnicodeEncodeError, OverflowError) as error:
        raise _unbindable(error) from error


def each_row(connection: apsw.Connection, sql: str) -> Iterator[Row]:
    """The rows of a statement, one by one."""
    yield from cast("Iterator[Row]", connection.execute(sql))


def execute_many(connection: apsw.Connection, sql: str, rows: Iterable[Params]) -> None:
    """Run a statement once per mapping."""
    try:
        connection.executemany(sql, cast("Iterable[dict[str, Any]]", rows))
    except (UnicodeEncodeError, OverflowError) as error:
        raise _unbindable(error) from error


def pragma(connection: apsw.Connection, name: str, value: str | int | None = None) -> object:
    """Read a pragma, or set it and read what it became."""
    return connection.pragma(name) if value is None else connection.pragma(name, value)


def pragma_number(connection: apsw.Connection, name: str) -> int:
    """A pragma that is a number."""
    return int(cast("int", pragma(connection, name)))


def add_function(
    connection: apsw.Connection, name: str, function: Callable[..., Any], arguments: int
) -> None:
    """Make a pure Python function callable from SQL."""
    connection.create_scalar_function(name, cast("Any", function), arguments, deterministic=True)
