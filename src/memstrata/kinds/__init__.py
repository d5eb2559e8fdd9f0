"""The six kinds of memory, and the one place where they are listed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from memstrata.errors import InvalidInput
from memstrata.kinds.base import DERIVED, KindModel, Revision, Stated, text_of
from memstrata.kinds.core import Core
from memstrata.kinds.episodic import Episodic
from memstrata.kinds.procedural import Procedural, Step
from memstrata.kinds.resource import Resource
from memstrata.kinds.semantic import Semantic
from memstrata.kinds.vault import Vault

__all__ = [
    "DERIVED",
    "KINDS",
    "Core",
    "Episodic",
    "KindModel",
    "Procedural",
    "Resource",
    "Revision",
    "Semantic",
    "Stated",
    "Step",
    "Vault",
    "describe",
    "explain",
    "kind_of",
    "parse",
    "text_of",
]

KINDS: Mapping[str, type[KindModel]] = MappingProxyType(
    {kind.name_of_kind: kind for kind in (Core, Episodic, Semantic, Procedural, Resource, Vault)}
)


def kind_of(name: str) -> type[KindModel]:
    """The kind called `name`; `InvalidInput` lists the known ones."""
    try:
        return KINDS[name]
    except (KeyError, TypeError):
        raise InvalidInput(f"unknown kind {name!r}: use one of {', '.join(KINDS)}") from None


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def parse(record: KindModel | Mapping[str, Any]) -> KindModel:
    """Validate a record given as a kind's model or as a mapping with a `kind` key."""
    if isinstance(record, KindModel):
        return record
    if not _is_mapping(record):
        raise InvalidInput(
            f"a record is a mapping with a 'kind', or its model, not {type(record).__name__}"
        )
    if "kind" not in record:
        raise InvalidInput(f"the record has no 'kind': give one of {', '.join(KINDS)}")
    try:
        return kind_of(record["kind"]).model_validate(dict(record))
    except ValidationError as error:
        raise InvalidInput(explain(error)) from error


def describe() -> list[dict[str, Any]]:
    """Every kind: what it is for, its own fields, how it changes, and its block in a prompt."""
    return [
        {
            "kind": name,
            "about": inspect.cleandoc(kind.__doc__ or ""),
            "rule": kind.rule,
            "fields": sorted(kind.own_fields()),
            "block": kind.block,
            "always_shown": kind.always,
        }
        for name, kind in KINDS.items()
    ]


def explain(error: ValidationError) -> str:
    """The first few problems of a validation error in one line, without the values given."""
    problems = [
        f"{'.'.join(str(part) for part in item['loc']) or 'the input'}: {item['msg']}"
        for item in error.errors(include_input=False, include_url=False, include_context=False)
    ]
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return "; ".join(problems[:3]) + more
