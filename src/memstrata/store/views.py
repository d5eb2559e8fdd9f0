"""What a call may see, and pages of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memstrata.errors import InvalidInput
from memstrata.records import Evidence, Scope
from memstrata.store.append import find_scope
from memstrata.store.filters import Filter
from memstrata.store.ports import Tx, View
from memstrata.store.rows import dumps

__all__ = ["EVER", "Listing", "evidence_of", "numbered", "place"]

EVER = (-(2**63), 2**63 - 1)
"""All of time, in microseconds."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list, and from where on."""

    limit: int
    cursor: str | None = None
    where: Filter | None = None
    kinds: tuple[str, ...] = ()
    lifecycles: tuple[str, ...] = ()
    session_id: str | None = None
    since: int = EVER[0]
    until: int = EVER[1]
    hidden: bool = False


def numbered(tx: Tx, view: View) -> list[tuple[Scope, int]]:
    """The view's scopes that exist, with their numbers."""
    found = [(scope, find_scope(tx, scope)) for scope in view.scopes]
    return [(scope, number) for scope, number in found if number is not None]


def evidence_of(tx: Tx, number: int, ids: Sequence[str]) -> dict[str, list[Evidence]]:
    """The sources of records, by record id."""
    found: dict[str, list[Evidence]] = {}
    if ids:
        for record_id, source, quote in tx.rows(
            "evidence_of", {"scope": number, "ids": dumps(list(ids))}
        ):
            found.setdefault(record_id, []).append(Evidence(source_id=source, quote=quote))
    return found


def place(cursor: Any, shape: re.Pattern[str]) -> tuple[str, ...]:
    """The parts of a page's `next`."""
    found = shape.fullmatch(cursor) if isinstance(cursor, str) else None
    if found is None:
        raise InvalidInput(
            f"cursor {cursor!r} is none of ours: pass a page's `next` as it was given"
        )
    return found.groups()
