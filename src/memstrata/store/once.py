"""Calls that are sent again under the same idempotency key, and done once."""

from __future__ import annotations

from typing import NoReturn

from memstrata.errors import Conflict
from memstrata.store.ports import NewBatch, Tx, View
from memstrata.store.tombstones import Tombstones
from memstrata.store.views import numbered

__all__ = ["check_unused", "done_before"]


def done_before(tx: Tx, view: View, key: str, digest: bytes) -> tuple[str, bool] | None:
    """The batch of a call with this key, and whether what it wrote was erased since, or part of it.

    `Conflict` where the key was used for another call.
    """
    for _, number in numbered(tx, view):
        row = tx.one("batch_by_key", {"scope": number, "idempotency_key": key})
        if row is not None:
            if row[2] is None or bytes(row[2]) != digest:
                _refuse(key, str(row[0]))
            return str(row[0]), False
        buried = Tombstones(tx, number)
        if buried and key in (keys := buried.find("key", [key])):
            if not buried.find("batch", [digest]):
                _refuse(key, f"{keys[key]}, whose content was forgotten")
            return str(keys[key]), True
    return None


def check_unused(tx: Tx, number: int, batch: NewBatch) -> None:
    """`Conflict` if another call has used the batch's key meanwhile."""
    key = batch.idempotency_key
    if key is None:
        return
    row = tx.one("batch_by_key", {"scope": number, "idempotency_key": key})
    if row is not None:
        _refuse(key, str(row[0]))


def _refuse(key: str, batch: str) -> NoReturn:
    raise Conflict(
        f"idempotency_key {key!r} was used for other content (batch {batch}): use a new key for "
        "new content"
    )
