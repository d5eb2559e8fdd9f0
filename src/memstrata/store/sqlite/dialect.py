"""How SQLite spells what filters need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memstrata.store.ports import Bind

__all__ = ["SqliteDialect"]

_ELEMENT = {True: "e.type = 'true'", False: "e.type = 'false'", None: "e.type = 'null'"}


def _path(keys: Sequence[str]) -> str:
    return "$" + "".join(f".{json.dumps(key, ensure_ascii=False)}" for key in keys)


class SqliteDialect:
    """SQLite's JSON functions."""

    def json_value(self, column: str, path: Sequence[str], bind: Bind) -> str:
        place = bind(_path(path))
        return (
            f"CASE WHEN json_type({column}, {place}) IN ('text', 'integer', 'real') "
            f"THEN json_extract({column}, {place}) END"
        )

    def json_exists(self, column: str, path: Sequence[str], bind: Bind) -> str:
        return f"coalesce(json_type({column}, {bind(_path(path))}), 'null') <> 'null'"

    def json_boolean(self, column: str, path: Sequence[str], value: bool, bind: Bind) -> str:
        kind = "true" if value else "false"
        return f"coalesce(json_type({column}, {bind(_path(path))}), 'null') = '{kind}'"

    def json_contains(
        self, column: str, path: Sequence[str], value: str | float | None, bind: Bind
    ) -> str:
        place = bind(_path(path))
        if isinstance(value, bool) or value is None:
            same = _ELEMENT[value]
        else:
            kinds = "('text')" if isinstance(value, str) else "('integer', 'real')"
            same = f"e.type IN {kinds} AND e.value = {bind(value)}"
        return (
            f"(coalesce(json_type({column}, {place}), 'null') = 'array' AND EXISTS "
            f"(SELECT 1 FROM json_each({column}, {place}) e WHERE {same}))"
        )

    def is_number(self, expression: str) -> str:
        return f"typeof({expression}) IN ('integer', 'real')"

    def is_text(self, expression: str) -> str:
        return f"typeof({expression}) = 'text'"

    def in_list(self, expression: str, values: Sequence[Any], bind: Bind) -> str:
        listed = bind(json.dumps(list(values), ensure_ascii=False))
        return f"{expression} IN (SELECT value FROM json_each({listed}))"

    def starts_with(self, expression: str, prefix: str) -> str:
        return f"substr({expression}, 1, length({prefix})) = {prefix}"

    def has_part(self, expression: str, part: str) -> str:
        return f"instr({expression}, {part}) > 0"
