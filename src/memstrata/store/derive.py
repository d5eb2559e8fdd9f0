"""What consolidation needs to see of a batch, and writing what it made, each in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from memstrata.errors import Conflict
from memstrata.records import Change, JsonObject, Record, Scope
from memstrata.store import entities
from memstrata.store.append import add_batch, find_scope
from memstrata.store.apply import carry_out
from memstrata.store.batches import Lease
from memstrata.store.ports import NewBatch, Tx, Write
from memstrata.store.read import user_settings
from memstrata.store.rows import dumps, record_from
from memstrata.store.views import evidence_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Comparable",
    "Due",
    "Judged",
    "Made",
    "by_fingerprint",
    "commit",
    "comparable",
    "drop_orphans",
    "due",
    "named_users",
]


@dataclass(frozen=True, slots=True)
class Due:
    """A batch that is worked on, and what was made of what it touched."""

    request: JsonObject
    done: bool
    """Whether what the batch asked for is written already."""
    touched: tuple[str, ...]
    """Ids of the digests and profiles that rest on what it changed, hid or showed."""
    moments: tuple[int, ...]
    """When the messages were said that it brought, hid or showed."""
    timezone: str | None


@dataclass(frozen=True, slots=True)
class Judged:
    """How a model judged two records in these versions; their ids are in order."""

    one: str
    other: str
    one_version: int
    other_version: int
    verdict: str


@dataclass(frozen=True, slots=True)
class Comparable:
    """What is needed to find the pairs of records that a model should judge."""

    vectors: dict[str, NDArray[np.float32]]
    """The unit vector of each record that has one: the mean of its passages'."""
    judged: dict[tuple[str, str], tuple[str, str]]
    """By two ids in order, as what a pair was judged, and by which batch."""


@dataclass(frozen=True, slots=True)
class Made:
    """What came of consolidating."""

    writes: tuple[Write, ...] = ()
    messages: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    """Ids of what it was made from; if any of it is gone meanwhile, it is void."""
    judged: tuple[Judged, ...] = ()


def due(tx: Tx, lease: Lease) -> Due:
    """What a leased batch asks of consolidation; where nobody ever did, next to nothing is read."""
    batch = {"scope": lease.number, "batch_id": lease.batch_id}
    task = tx.one("batch_task", {"scope": lease.number, "id": lease.batch_id})
    _, request, done, _ = task or ("", None, 1, "")
    user = Scope(tenant=lease.scope.tenant, user_id=lease.scope.user_id)
    return Due(
        request=cast("JsonObject", json.loads(request or "{}")),
        done=bool(done),
        touched=tuple(str(row[0]) for row in tx.rows("derived_touched", batch)),
        moments=tuple(int(row[0]) for row in tx.rows("batch_moments", batch)),
        timezone=user_settings(tx, user)[0],
    )


def by_fingerprint(tx: Tx, lease: Lease, fingerprints: tuple[str, ...]) -> list[Record]:
    """The open records with these fingerprints, but the retired ones."""
    listed = {"scope": lease.number, "fingerprints": dumps(sorted(fingerprints))}
    rows = tx.rows("record_of_fingerprints", listed)
    evidence = evidence_of(tx, lease.number, [row[1] for row in rows])
    return [record_from(lease.scope, row, evidence.get(row[1], ())) for row in rows]


def named_users(tx: Tx, scope: Scope) -> list[str | None]:
    """The names under which somebody spoke as the user; None for without one."""
    number = find_scope(tx, scope)
    return [row[0] for row in tx.rows("message_users", {"scope": number})]


def commit(tx: Tx, lease: Lease, made: Made, at: int, batch: NewBatch | None) -> list[Change]:
    """Write what was made, as the leased batch itself or as `batch`, on behalf of it.

    Of a batch that another process has taken over nothing is written. `Conflict` if anything it
    was made from was erased or taken back meanwhile.
    """
    held = {"scope": lease.number, "id": lease.batch_id, "owner": lease.owner}
    if batch is None:
        if not tx.run("batch_distilled", {**held, "unread": None, "refused": None}):
            return []
        batch = NewBatch(lease.batch_id, "consolidate", "consolidate", at)
    else:
        add_batch(tx, lease.number, batch)
    _check_there(tx, lease.number, made)
    rows = (asdict(one) for one in made.judged)
    noted = {"scope": lease.number, "batch_id": batch.id}
    tx.many("judged_put", ({**row, **noted} for row in rows))
    return carry_out(tx, lease.number, batch, made.writes)


def comparable(tx: Tx, scope: Scope, model: int, ids: Collection[str]) -> Comparable:
    """The vectors of these records, and all pairs of the scope that need not be judged again."""
    number = find_scope(tx, scope)
    asked = {"scope": number, "model": model, "ids": dumps(sorted(ids))}
    found: dict[str, list[NDArray[np.float32]]] = {}
    for record_id, blob in tx.rows("record_vectors", asked):
        found.setdefault(record_id, []).append(np.frombuffer(blob, "<f2").astype(np.float32))
    totals = {key: np.sum(parts, axis=0) for key, parts in found.items()}
    units = {key: one / np.float32(np.sqrt(one @ one) or 1.0) for key, one in totals.items()}
    rows = tx.rows("judged_known", {"scope": number})
    return Comparable(units, {(str(one), str(other)): (v, b) for one, other, v, b in rows})


def _check_there(tx: Tx, number: int, made: Made) -> None:
    messages = {"scope": number, "ids": dumps(sorted(set(made.messages)))}
    there = {str(row[1]) for row in tx.rows("message_by_id", messages) if row[10] is None}
    records = {"scope": number, "ids": dumps(sorted(set(made.records)))}
    there |= {str(row[0]) for row in tx.rows("record_open_seqs", records)}
    if not {*made.messages, *made.records} <= there:
        raise Conflict("what this was made from was erased or undone meanwhile: it is made anew")


def drop_orphans(tx: Tx, scope: Scope) -> int:
    """Forget the entities that nothing mentions any more; how many."""
    number = find_scope(tx, scope)
    if number is None:
        return 0
    seqs = [int(row[0]) for row in tx.rows("entity_orphans", {"scope": number})]
    entities.drop(tx, number, seqs)
    return len(seqs)
