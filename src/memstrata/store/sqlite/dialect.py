"""How SQLite spells what filters need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from memstrata.store.ports import Bind

__all__ = ["SqliteDialect"]


def _path(keys: Sequence[str]) -> str:
    return "$" + "".join(f".{json.dumps(key, ensure_ascii=False)}" for key in keys)


class SqliteDialect:
    """SQLite's JSON functions."""

    def json_value(self, column: str, path: Sequence[str], bind: Bind) -> str:
        place = bind(_path(path))
        return (
            f"CASE json_type({column}, {place}) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' "
            f"WHEN 'array' THEN NULL WHEN 'object' THEN NULL "
            f"ELSE json_extract({column}, {place}) END"
        )

    def json_contains(self, column: str, path: Sequence[str], value: str, bind: Bind) -> str:
        each = f"json_each({column}, {bind(_path(path))})" if path else f"json_each({column})"
        return (
            f"EXISTS (SELECT 1 FROM {each} e WHERE e.value = {value} "
            f"AND typeof(e.value) = typeof({value}))"
        )

    def is_number(self, expression: str) -> str:
        return f"typeof({expression}) IN ('integer', 'real')"

    def is_text(self, expression: str) -> str:
        return f"typeof({expression}) = 'text'"

    def in_list(self, expression: str, values: Sequence[Any], bind: Bind) -> str:
        listed = bind(json.dumps(list(values), ensure_ascii=False))
        return f"({expression}) IN (SELECT value FROM json_each({listed}))"

    def starts_with(self, expression: str, prefix: str) -> str:
        return f"substr({expression}, 1, length({prefix})) = {prefix}"
