"""`forget`: erase for good what one selection names."""

from __future__ import annotations

import os
from dataclasses import dataclass

from memstrata.arguments import Signature
from memstrata.errors import InvalidInput, NotFound
from memstrata.ingest import add as adding
from memstrata.ingest.narrate import narrator
from memstrata.passages import limits_of
from memstrata.receipts import ErasureReceipt
from memstrata.records import Receipt, Scope
from memstrata.runtime import Runtime, new_id
from memstrata.safety.rewriting import Unnaming, indexed_in, rewritten
from memstrata.store.erase import Erased, Order, Selection
from memstrata.store.filters import All, Filter
from memstrata.store.ports import NewBatch
from memstrata.store.tombstones import SALT_BYTES

__all__ = ["Request", "forget"]

_STANDS = (
    "the rows are gone; their bytes still stand in the journal, because a reader holds an older "
    "view or the disk refused: forget again, or close every handle, to empty it"
)


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `forget`, checked."""

    ids: tuple[str, ...] | None
    where: Filter | None
    session_id: str | None
    everything: bool
    dry_run: bool
    by: Signature


async def forget(runtime: Runtime, scope: Scope, request: Request) -> ErasureReceipt:
    """Erase in the call's own scope only: an agent's call leaves what the user shares."""
    ways = (request.ids, request.where, request.session_id, request.everything or None)
    if sum(way is not None for way in ways) != 1:
        raise InvalidInput(
            "say what to forget in exactly one way: ids, filters, session_id or everything=True"
        )
    if request.where == All(()):
        raise InvalidInput("an empty filter would forget everything: pass everything=True for that")
    selection = Selection(request.ids, request.where, request.session_id, request.everything)
    zone = await runtime.zone_of(scope)
    order = Order(
        batch=NewBatch(new_id("batch"), "forget", request.by.actor, runtime.now()),
        salt=os.urandom(SALT_BYTES),
        narrate=narrator(zone),
        unnamed=(
            lambda page, ids: rewritten(page, Unnaming(ids), zone),
            indexed_in(limits_of(runtime.embedder)),
        ),
        reason=request.by.reason,
        embeds=runtime.model is not None,
    )
    erased, clean = await runtime.store.erase(scope, selection, order, dry_run=request.dry_run)
    if request.ids and not erased.ids:
        named = ", ".join(key[:40] for key in request.ids[:5])
        raise NotFound(f"none of these ids is in this scope: {named}")
    left = None if clean else _STANDS
    if erased.state is not None:
        undone = await _rebuild(runtime, scope, order.batch.id, erased)
        left = "; ".join(filter(None, (left, undone))) or None
    return ErasureReceipt(
        batch_id="" if erased.state is None else order.batch.id,
        state="dry_run" if request.dry_run else "pending" if left else "done",
        reason=left,
        messages=erased.messages,
        records=erased.records,
        versions=erased.versions,
        chunks=erased.chunks,
        ids=list(erased.ids),
        rebuilding=erased.rebuilding,
        notes=_notes(erased, scope) + _rolled(erased),
    )


async def _rebuild(runtime: Runtime, scope: Scope, batch_id: str, erased: Erased) -> str | None:
    """Distil again what stays and was evidence of something erased; why not, if it cannot be."""
    if erased.state is None:
        return None
    receipt = Receipt(batch_id=batch_id, state=erased.state)
    receipt = await adding.settle(runtime, scope, receipt)
    if receipt.state == "done":
        return None
    return (
        f"everything named is erased; what stays is not made anew from it yet ({receipt.reason}): "
        f"retry batch {batch_id}"
    )


def _rolled(erased: Erased) -> list[str]:
    return [
        f"record {record_id} says again what it said before: edits since are gone too"
        for record_id in erased.rolled
    ]


def _notes(erased: Erased, scope: Scope) -> list[str]:
    return [
        f"agent {agent!r} has memory of its own of user {scope.user_id!r}, which this call does "
        "not reach: forget everything with that agent_id too"
        for agent in erased.agents
    ]
