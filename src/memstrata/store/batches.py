"""Batches that wait for vectors and distilling: leased, worked off in order, never lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memstrata.records import BatchState, Ledger, Scope
from memstrata.store import spending
from memstrata.store.append import find_scope, reserve
from memstrata.store.ports import Pending, Tx

__all__ = [
    "Lease",
    "finish",
    "lease_next",
    "model_in_use",
    "pending_items",
    "renew",
    "requeue",
    "store_vectors",
    "use_model",
]


_PENDING = (
    "item_pending_messages",
    "item_pending_records",
    "item_pending_episodes",
    "item_pending_entities",
)


@dataclass(frozen=True, slots=True)
class Lease:
    """A batch that this process works on until `until`."""

    scope: Scope
    number: int
    batch_id: str
    owner: str


def lease_next(
    tx: Tx,
    owner: str,
    now: int,
    until: int,
    scope: Scope | None,
    gone: Callable[[str], bool],
) -> Lease | None:
    """Take the oldest batch that waits (in `scope`, if given), one in flight per user.

    Batches whose owner is `gone` (its process has ended) are not waited for.
    """
    for held, batch_id, holder in tx.rows("batch_running", {"now": now}):
        if gone(str(holder)):
            params = {"scope": held, "id": batch_id, "reason": None, "at": None}
            tx.run("batch_state", {**params, "state": "pending"})
    number = None if scope is None else find_scope(tx, scope)
    if scope is not None and number is None:
        return None
    row = tx.one("batch_next", {"scope": number, "now": now})
    if row is None:
        return None
    found = Scope(tenant=row[2], user_id=row[3] or None, agent_id=row[4] or None)
    tx.run("batch_lease", {"scope": row[0], "id": row[1], "owner": owner, "until": until})
    return Lease(found, int(row[0]), str(row[1]), owner)


def renew(tx: Tx, lease: Lease, until: int) -> bool:
    """Keep a lease for longer; False when another process has taken the batch over."""
    params = {"scope": lease.number, "id": lease.batch_id, "owner": lease.owner, "until": until}
    return tx.run("batch_renew", params) == 1


def finish(
    tx: Tx, lease: Lease, state: BatchState, reason: str | None, now: int, spent: Ledger
) -> None:
    """Say how it ended, and what it cost besides what is known.

    A batch that another process took over meanwhile is left to it; the cost counts all the same.
    """
    params = {"scope": lease.number, "id": lease.batch_id, "owner": lease.owner}
    tx.run("batch_finish", {**params, "state": state, "reason": reason, "at": now})
    spending.note(tx, lease.number, lease.batch_id, spent)


def requeue(tx: Tx, scope: Scope, batch_id: str) -> None:
    """Put a failed batch back in the queue."""
    number = find_scope(tx, scope)
    params = {"scope": number, "id": batch_id, "reason": None, "at": None}
    tx.run("batch_state", {**params, "state": "pending"})


def pending_items(tx: Tx, number: int, limit: int) -> list[Pending]:
    """The oldest items of a scope that have no vector yet."""
    params = {"scope": number, "limit": limit}
    rows = [row for name in _PENDING for row in tx.rows(name, params)]
    return [Pending(*row) for row in sorted(rows)[:limit]]


def store_vectors(
    tx: Tx, number: int, model: int, vectors: Sequence[tuple[Pending, bytes]]
) -> None:
    """Store float16 vectors by item; those of items erased or told anew meanwhile are dropped."""
    stamp = reserve(tx, 1)
    item = {"scope": number, "model": model}
    seen = [{**item, "seq": p.seq, "seen": p.stamp, "vector": v} for p, v in vectors]
    tx.many("vector_put", seen)
    marks = ({**item, "seq": p.seq, "seen": p.stamp, "stamp": stamp} for p, _ in vectors)
    tx.many("item_vector_put", marks)
    tx.run("scope_touch", {"scope": number, "stamp": stamp})


def model_in_use(tx: Tx) -> tuple[int, str] | None:
    """The number and name of the model whose vectors the store holds, if it has one yet."""
    row = tx.one("store_row")
    return (int(row[1]), str(row[2])) if row is not None and row[1] else None


def use_model(tx: Tx, name: str, dimensions: int) -> tuple[int, str]:
    """The model in use; the first one a store is opened with becomes it."""
    if (known := model_in_use(tx)) is not None:
        return known
    added = tx.one("model_add", {"name": name, "dimensions": dimensions})
    assert added is not None
    tx.run("model_use", {"model": added[0]})
    return int(added[0]), name
