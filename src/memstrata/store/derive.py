"""What consolidation needs to see of a batch, and writing what it made, each in one transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

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

__all__ = ["Due", "Made", "by_fingerprint", "commit", "drop_orphans", "due", "named_users"]


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
class Made:
    """What came of consolidating."""

    writes: tuple[Write, ...] = ()
    messages: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    """Ids of what it was made from; if any of it is gone meanwhile, it is void."""


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
    return carry_out(tx, lease.number, batch, made.writes)


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
