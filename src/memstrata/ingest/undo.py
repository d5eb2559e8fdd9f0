"""Taking back a batch or a change exactly, and what builds on it if that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memstrata.arguments import Signature
from memstrata.consolidate.derived import is_derived, is_ours
from memstrata.errors import Conflict, NotFound
from memstrata.ingest.edit import commit, new_batch, says_the_same
from memstrata.ingest.versions import put_version
from memstrata.records import Batch, Change, Evidence, Receipt, Record, Scope
from memstrata.runtime import Runtime, view_of
from memstrata.store.ports import (
    CloseRecord,
    LinkEvidence,
    NewBatch,
    ShowMessages,
    UnlinkEvidence,
    View,
    Write,
)

__all__ = ["inverse", "net", "undo"]


async def undo(
    runtime: Runtime, scope: Scope, batch_or_change: str, *, cascade: bool, by: Signature
) -> Receipt:
    """Take back a batch or one change; `Conflict` names later changes unless `cascade`."""
    view = view_of(scope)
    batch = await runtime.store.get_batch(view, batch_or_change)
    found = await runtime.store.changes(view, batch_or_change)
    if batch is None and not found:
        raise NotFound(f"no batch or change {batch_or_change} in this scope")
    await _check_undoable(runtime, view, batch_or_change, batch or found[0][1].batch_id)
    if batch is not None:
        owner = Scope(tenant=scope.tenant, user_id=batch.user_id, agent_id=batch.agent_id)
        if batch.state == "undone":
            raise Conflict(f"batch {batch.id} is undone already")
    else:
        owner = found[0][0]
    taking = new_batch(runtime, "undo", by)
    changes = [change for _, change in found]
    steps = net(await _with_later(runtime, scope, changes) if cascade else changes)
    writes: list[Write] = []
    for change in steps:
        writes.extend(await inverse(runtime, owner, change, taking, cascade=cascade))
    shown = [change.target_id for change in steps if change.op == "show"]
    own = [batch.id] if batch is not None else []
    for hidden in dict.fromkeys(own + shown):
        writes += await _without_support(runtime, owner, hidden, writes, cascade=cascade)
    if batch is not None and batch.messages:
        writes.append(ShowMessages(batch.id, visible=False, op="hide"))
    if not writes:
        raise Conflict(f"{batch_or_change} changed nothing that could be taken back")
    return await commit(runtime, owner, taking, writes)


_FOR_GOOD = {
    "forget": "an erasure cannot be undone: nothing is left of what it erased",
    "rotate": "a rotation cannot be undone: the old secret was destroyed",
    "release": "a release cannot be undone: `vault.put` seals the text again",
    "seal": "sealing what was found cannot be undone: `vault.release` what is no secret",
}
"""Verbs whose batches cannot be undone, and why."""


async def _check_undoable(runtime: Runtime, view: View, target: str, batch: Batch | str) -> None:
    found = await runtime.store.get_batch(view, batch) if isinstance(batch, str) else batch
    if found is not None and found.verb in _FOR_GOOD:
        raise Conflict(f"{target}: {_FOR_GOOD[found.verb]}")


async def _without_support(
    runtime: Runtime, owner: Scope, batch_id: str, writes: Sequence[Write], *, cascade: bool
) -> list[Write]:
    """What other batches' records lose when this batch is taken back.

    A record of this batch that others have since given evidence, and another's record that rests
    on this batch's messages: `Conflict` names them, unless they are taken back too.
    """
    leaning = await runtime.store.leaning(owner, batch_id)
    closed = {write.record_id for write in writes if isinstance(write, CloseRecord)}
    more: list[Write] = []
    named: list[str] = []
    lost: dict[str, list[str]] = {}
    for record_id, source, by_batch, is_own in leaning:
        if is_own and record_id in closed:
            named.append(f"record {record_id}, which batch {by_batch} gave evidence")
        elif not is_own:
            named.append(f"record {record_id} of batch {by_batch}, which rests on {source}")
            lost.setdefault(record_id, []).append(source)
    if named and not cascade:
        raise Conflict(
            f"later changes build on batch {batch_id}: {'; '.join(dict.fromkeys(named))}; undo "
            "those first, or pass cascade=True to take them back too"
        )
    reason = f"undo {batch_id}"
    for record_id, sources in lost.items():
        if record_id in closed:
            continue
        found = (await runtime.store.get(view_of(owner), [record_id])).get(record_id)
        if not isinstance(found, Record):
            continue
        if all(evidence.source_id in sources for evidence in found.evidence):
            more.append(CloseRecord(record_id, found.version, "undo", reason))
        else:
            more.append(UnlinkEvidence(record_id, tuple(sources), reason))
    return more


def _versioned(change: Change) -> bool:
    return change.version_before is not None or change.version_after is not None


_TIDYING = "consolidate"
"""The actor whose changes in one batch have nothing to do with each other."""


async def _with_later(runtime: Runtime, scope: Scope, changes: Sequence[Change]) -> list[Change]:
    """These changes and all that build on them, oldest first.

    A later change brings the rest of its batch with it: one fact's end is another's beginning. What
    a consolidation did to other records stays, but for one that is named in its reason.
    """
    view = view_of(scope)
    logs: dict[str, list[Change]] = {}
    taken = {change.id: change for change in changes}
    waiting = [change for change in changes if _versioned(change)]
    while waiting:
        change = waiting.pop()
        target = change.target_id
        if target not in logs:
            logs[target] = [c for c in await runtime.store.history(view, target) if _versioned(c)]
        ids = [entry.id for entry in logs[target]]
        for later in logs[target][ids.index(change.id) :]:
            if later.id not in taken:
                batch = await runtime.store.changes(view, later.batch_id)
                whole = [c for _, c in batch if _versioned(c) and c.id not in taken]
                if later.actor == _TIDYING:
                    # But for the one that it was compared with: its end is the other's beginning.
                    whole = [c for c in whole if c.id == later.id or c.target_id in later.reason]
                taken.update({c.id: c for c in whole})
                waiting += whole
    return sorted(taken.values(), key=_place)


def _place(change: Change) -> tuple[datetime, str, int]:
    """Where a change stands in the log: ids end with their place in the batch."""
    return change.at, change.batch_id, int(change.id.rpartition("_")[2])


def net(changes: Sequence[Change]) -> list[Change]:
    """Newest first, the versions a target went through taken as one step."""
    net: dict[tuple[str, bool], Change] = {}
    for change in changes:
        versioned = _versioned(change)
        key = (change.target_id if versioned else change.id, versioned)
        first = net.pop(key, change)
        net[key] = change.model_copy(update={"version_before": first.version_before})
    return list(reversed(net.values()))


async def inverse(
    runtime: Runtime, scope: Scope, change: Change, batch: NewBatch, *, cascade: bool
) -> list[Write]:
    """What takes one change back: the version before it stands again, as a new version."""
    target, reason = change.target_id, f"undo {change.id}"
    if change.op == "evidence":
        # What is derived keeps its sources: it has perhaps been made anew since, on fewer of them.
        if change.actor == _TIDYING and await _is_remade(runtime, scope, target):
            return []
        return [UnlinkEvidence(target, tuple(change.evidence), reason)]
    if change.op == "unlink":
        sources = tuple(Evidence(source_id=source) for source in change.evidence)
        return [LinkEvidence(target, sources, reason)]
    if change.op == "hide":
        return [ShowMessages(target, visible=True, op="show", reason=reason)]
    if change.op == "show":
        return [ShowMessages(target, visible=False, op="hide", reason=reason)]
    versions = await runtime.store.versions(view_of(scope), target)
    if not versions:
        raise Conflict(f"record {target} was forgotten: this change cannot be undone")
    standing = versions[-1] if versions[-1].closed_at is None else None
    remade = is_derived(versions[-1]) and (standing is None or is_ours(standing, versions))
    if not cascade and not remade:
        await _check_newest(runtime, scope, change, versions, standing)
    if change.version_before is None:
        if standing is None:
            return []
        return [CloseRecord(target, standing.version, "undo", reason)]
    before = next(record for record in versions if record.version == change.version_before)
    at = max(runtime.clock(), versions[-1].recorded_at)
    again = before.model_copy(
        update={
            "version": versions[-1].version + 1,
            "recorded_at": at,
            "closed_at": None,
            "batch_id": batch.id,
            "evidence": [],
        }
    )
    return [put_version(runtime, again, "undo", old=standing, reason=reason)]


async def _is_remade(runtime: Runtime, scope: Scope, record_id: str) -> bool:
    versions = await runtime.store.versions(view_of(scope), record_id)
    return bool(versions) and is_derived(versions[-1])


async def _check_newest(
    runtime: Runtime,
    scope: Scope,
    change: Change,
    versions: Sequence[Record],
    standing: Record | None,
) -> None:
    """`Conflict` unless what stands is what the change made, perhaps brought back by an undo."""
    if (standing.version if standing else None) == change.version_after:
        return
    log = await runtime.store.history(view_of(scope), change.target_id)
    ids = [entry.id for entry in log]
    later = log[ids.index(change.id) + 1 :] if change.id in ids else log
    made = next((record for record in versions if record.version == change.version_after), None)
    newest = next((entry for entry in reversed(later) if _versioned(entry)), None)
    restored = newest is not None and newest.op == "undo"
    if restored and made and standing and says_the_same(made, standing):
        return
    names = ", ".join(f"{entry.id} ({entry.op})" for entry in later) or "none is logged"
    raise Conflict(
        f"record {change.target_id} was changed after {change.id}: {names}; undo those first, or "
        "pass cascade=True to take them back too"
    )
