"""What models have cost, kept by scope: for each batch that wrote, and for reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memstrata.records import Ledger, ModelUse, Scope
from memstrata.store.append import find_scope
from memstrata.store.ports import Row, Tx, View
from memstrata.store.rows import dumps
from memstrata.store.views import numbered

__all__ = ["by_batch", "note", "spend", "totals"]

_NANO = 10**9
"""Costs are kept in thousand millionths of a dollar, so that sums are exact."""
_READING = ""
"""Stands for the batch where nothing was written."""
_WORK = ""
"""Stands for the model: calls are those of a local embedder, milliseconds those of all the work."""


def spend(tx: Tx, scope: Scope, spent: Ledger) -> None:
    """Add to what reading a scope has cost; of a scope that does not exist nothing is kept."""
    number = find_scope(tx, scope)
    if number is not None:
        note(tx, number, _READING, spent.model_copy(update={"embedding_calls": 0}))


def note(tx: Tx, number: int, batch_id: str, spent: Ledger) -> None:
    """Add to what a batch has cost."""
    uses = list(spent.models)
    if batch_id != _READING:
        uses.append(
            ModelUse(model=_WORK, calls=spent.embedding_calls, milliseconds=spent.milliseconds)
        )
    rows = [
        {**use.model_dump(), "cost": None if use.cost is None else round(use.cost * _NANO)}
        for use in uses
    ]
    tx.many("spending_add", ({"scope": number, "batch_id": batch_id, **row} for row in rows))


def by_batch(tx: Tx, number: int, batch_ids: Sequence[str]) -> dict[str, Ledger]:
    """What each of these batches has cost so far; those that cost nothing are left out."""
    uses: dict[str, list[ModelUse]] = {}
    for batch_id, *row in tx.rows("spending_of", {"scope": number, "ids": dumps([*batch_ids])}):
        uses.setdefault(str(batch_id), []).append(_use(row))
    return {batch_id: _ledger(found) for batch_id, found in uses.items()}


def totals(tx: Tx, view: View) -> dict[str, list[dict[str, Any]]]:
    """What each model has cost in a view's scopes, for writing and for reading apart."""
    ledgers = {"writing": Ledger(), "reading": Ledger()}
    for _, number in numbered(tx, view):
        for wrote, *row in tx.rows("stats_models", {"scope": number}):
            name = "writing" if wrote else "reading"
            ledgers[name] = Ledger.of([*ledgers[name].models, _use(row)])
    return {name: [use.model_dump() for use in one.models] for name, one in ledgers.items()}


def _use(row: Sequence[Any] | Row) -> ModelUse:
    model, calls, read, written, cached, milliseconds, cost = row
    return ModelUse(
        model=model,
        calls=calls,
        input_tokens=read,
        output_tokens=written,
        cached_tokens=cached,
        milliseconds=milliseconds,
        cost=None if cost is None else cost / _NANO,
    )


def _ledger(uses: Sequence[ModelUse]) -> Ledger:
    work = [use for use in uses if use.model == _WORK]
    return Ledger.of(
        [use for use in uses if use.model != _WORK],
        embedding_calls=sum(use.calls for use in work),
        milliseconds=sum(use.milliseconds for use in work),
    )
