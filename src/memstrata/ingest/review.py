"""What could not be decided, shown with what stands against it, and a person's decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from memstrata.arguments import Signature
from memstrata.errors import Conflict, InvalidInput
from memstrata.ingest import edit
from memstrata.ingest.distil import writes_for
from memstrata.ingest.resolve import accept
from memstrata.ingest.standing import restore
from memstrata.ingest.statements import opposed
from memstrata.kinds import KindModel, Semantic
from memstrata.records import Page, Receipt, Record, Review, Scope
from memstrata.runtime import Runtime, view_of
from memstrata.store.ports import LinkEvidence, Write
from memstrata.store.views import Listing

__all__ = ["Decision", "decide", "waiting"]

Decision = Literal["accept", "correct", "reject", "merge"]


async def waiting(runtime: Runtime, scope: Scope, listing: Listing) -> Page[Review]:
    """Records that wait for a decision, oldest first, each with what contradicts it."""
    page = await runtime.store.list_records(view_of(scope), listing)
    reviews = [await _review(runtime, scope, record) for record in page.items]
    return Page[Review](items=reviews, next=page.next)


async def _review(runtime: Runtime, scope: Scope, record: Record) -> Review:
    owner = Scope(tenant=scope.tenant, user_id=record.user_id, agent_id=record.agent_id)
    log = await runtime.store.history(view_of(owner), record.id)
    reason = log[-1].reason if log else ""
    rivals = await _rivals(runtime, owner, record.id, restore(record).model)
    return Review(record=record, rivals=rivals, reason=reason)


async def _rivals(runtime: Runtime, owner: Scope, record_id: str, model: KindModel) -> list[Record]:
    if not (isinstance(model, Semantic) and model.subject and model.attribute):
        return []
    about = await runtime.store.about(owner, [(model.subject, model.attribute)])
    return [
        other
        for other in about
        if other.id != record_id
        and other.lifecycle == "current"
        and opposed(restore(other).model, model)
    ]


async def decide(
    runtime: Runtime,
    scope: Scope,
    record_id: str,
    decision: Decision,
    *,
    into: str | None,
    changes: Mapping[str, Any],
    by: Signature,
) -> Receipt:
    """Carry out a decision; `Conflict` if the record does not wait for one."""
    if (decision == "merge") != (into is not None):
        raise InvalidInput("`into` names the record to merge into, and goes with merge alone")
    if (decision == "correct") != bool(changes):
        raise InvalidInput("correct needs the fields to change, and no other decision takes any")
    owner, record = await edit.current(runtime, scope, record_id)
    if record.lifecycle != "review":
        raise Conflict(f"record {record_id} is {record.lifecycle}: it waits for no decision")
    if decision == "reject":
        return await edit.retire(runtime, scope, record_id, by=by)
    if into is not None:
        return await _merge(runtime, scope, owner, record, into, by)
    held = restore(record)
    batch = edit.new_batch(runtime, "decide", by)
    sealed: list[Write] = []
    if changes:
        clean = await edit.changed(runtime, scope, record, changes)
        held.model = clean.model
        sealed = clean.sealed(runtime, batch.id, record.id)
    rivals = [restore(rival) for rival in await _rivals(runtime, owner, record.id, held.model)]
    standing = accept(held, rivals, by.reason or "accepted")
    writes, _ = writes_for(runtime, owner, batch.id, standing)
    return await edit.commit(runtime, owner, batch, [*writes, *sealed])


async def _merge(
    runtime: Runtime, scope: Scope, owner: Scope, record: Record, into: str, by: Signature
) -> Receipt:
    """The other record takes over the evidence, and this one is retired."""
    target_owner, target = await edit.current(runtime, scope, into)
    if target_owner != owner or target.id == record.id or target.kind != record.kind:
        raise InvalidInput(
            f"{into} cannot take {record.id} in: it must be another {record.kind} record of the "
            "same scope"
        )
    batch = edit.new_batch(runtime, "decide", by)
    reason = by.reason or f"merged into {into}"
    link = LinkEvidence(into, tuple(record.evidence), reason)
    gone = edit.retired(runtime, record, batch, reason)
    return await edit.commit(runtime, owner, batch, [link, gone])
