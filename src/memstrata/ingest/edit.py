"""Typed records by hand: create, update, retire, and taking any of it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, cast

from pydantic import ValidationError

from memstrata.arguments import Signature, moment
from memstrata.errors import Conflict, InvalidInput, NotFound
from memstrata.ingest.distil import narrator
from memstrata.ingest.versions import (
    COMMON,
    LONGEST_TITLE,
    evidence_from,
    new_record,
    put_version,
)
from memstrata.kinds import KINDS, KindModel, explain, kind_of, parse
from memstrata.records import Change, Evidence, Receipt, Record, Scope, Skipped
from memstrata.runtime import Runtime, new_id, view_of
from memstrata.store.ports import (
    CloseRecord,
    LinkEvidence,
    NewBatch,
    PutVersion,
    ShowMessages,
    UnlinkEvidence,
    Write,
)
from memstrata.text.clean import clean_json, shorten

__all__ = [
    "changed",
    "commit",
    "create",
    "current",
    "new_batch",
    "retire",
    "retired",
    "undo",
    "update",
]

_CARRIED = ("supersedes", "superseded_by", "lifecycle", "retired_at")
"""What an edit of the fields leaves as it is."""


def new_batch(runtime: Runtime, verb: str, actor: str) -> NewBatch:
    """A batch that waits for its vectors."""
    return NewBatch(new_id("batch"), verb, actor, runtime.now(), "pending")


async def commit(
    runtime: Runtime, scope: Scope, batch: NewBatch, writes: Sequence[Write]
) -> Receipt:
    """Write, and say what was written."""
    narrate = narrator(await runtime.zone_of(scope))
    changes = await runtime.store.apply(scope, batch, writes, narrate)
    ids = dict.fromkeys(write.record.id for write in writes if isinstance(write, PutVersion))
    return Receipt(batch_id=batch.id, state=batch.state, record_ids=list(ids), changes=changes)


def _in_zone(model: KindModel, zone: tzinfo) -> KindModel:
    """The same record with its naive date-times read in the user's zone."""
    times = {
        name: moment(name, value, zone)
        for name in type(model).model_fields
        if isinstance(value := getattr(model, name), datetime)
    }
    return model.model_copy(update=times) if times else model


def _clean(model: KindModel) -> KindModel:
    """The same record with secrets masked in every text; an edit of it is validated again."""
    given = model.model_dump(exclude_unset=True)
    # One by one: a kind's own field names say nothing about what is in them.
    cleaned = {
        name: value if isinstance(value, datetime) else clean_json(value)
        for name, value in given.items()
    }
    return type(model).model_validate(cleaned)


async def _once_more(attempt: Callable[[], Awaitable[Receipt]]) -> Receipt:
    """Repeat a change that found its record moved: it is worked out on what stands now."""
    try:
        return await attempt()
    except Conflict:
        return await attempt()


async def create(
    runtime: Runtime,
    scope: Scope,
    record: KindModel | Mapping[str, Any],
    *,
    by: Signature,
) -> Receipt:
    """Store a record; an exact duplicate adds its evidence to the one that stands."""
    model = _clean(_in_zone(parse(record), await runtime.zone_of(scope)))
    return await _once_more(lambda: _create(runtime, scope, model, by))


async def _create(runtime: Runtime, scope: Scope, model: KindModel, by: Signature) -> Receipt:
    same = await runtime.store.same_record(scope, model.fingerprint(), runtime.now())
    batch = new_batch(runtime, "create", by.actor)
    if same is None:
        new = new_record(runtime, scope, model, batch.id, None)
        return await commit(
            runtime, scope, batch, [put_version(runtime, new, "create", reason=by.reason)]
        )
    record_id, text = same
    if text != model.body():
        raise Conflict(
            f"{model.name_of_kind} {model.heading()!r} is there already as {record_id}: update it"
        )
    link = LinkEvidence(record_id, tuple(evidence_from(model.evidence)), by.reason)
    receipt = await commit(runtime, scope, batch, [link] if link.evidence else [])
    skipped = Skipped(index=0, reason="exactly this record is stored already", id=record_id)
    return receipt.model_copy(update={"record_ids": [record_id], "skipped": [skipped]})


async def current(runtime: Runtime, scope: Scope, record_id: str) -> tuple[Scope, Record]:
    """The open version of a record and the scope that owns it."""
    found = (await runtime.store.get(view_of(scope), [record_id])).get(record_id)
    if not isinstance(found, Record):
        raise NotFound(f"no record {record_id} in this scope")
    owner = Scope(tenant=scope.tenant, user_id=found.user_id, agent_id=found.agent_id)
    return owner, found


def changed(record: Record, changes: Mapping[str, Any], zone: tzinfo) -> KindModel:
    """A record's model with changes, as `update` takes them: cleaned, and admitted."""
    model = _clean(_in_zone(_as_model(record, changes), zone))
    model.admit()
    return model


def _as_model(record: Record, changes: Mapping[str, Any]) -> KindModel:
    """The record's kind model with changes: metadata is merged, null takes a field away."""
    kind = kind_of(record.kind)
    known = (set(kind.model_fields) - {"kind", "evidence"}) | {"evidence"}
    if unknown := set(changes) - known:
        raise InvalidInput(
            f"a {record.kind} record has no field {', '.join(sorted(unknown))}: use one of "
            f"{', '.join(sorted(known))}"
        )
    values: dict[str, Any] = {**record.fields}
    values.update({name: getattr(record, name) for name in COMMON if name != "title"})
    if record.title != shorten(_untitled(record).heading(), LONGEST_TITLE):
        values["title"] = record.title
    metadata = changes.get("metadata")
    merged = {**changes}
    if isinstance(metadata, Mapping):
        both = {**record.metadata, **cast("Mapping[str, Any]", metadata)}
        merged["metadata"] = {key: value for key, value in both.items() if value is not None}
    values.update(merged)
    try:
        return kind.model_validate({k: v for k, v in values.items() if v is not None})
    except ValidationError as error:
        raise InvalidInput(explain(error)) from error


def _untitled(record: Record) -> KindModel:
    return kind_of(record.kind).model_validate(record.fields)


async def update(
    runtime: Runtime,
    scope: Scope,
    record_id: str,
    changes: Mapping[str, Any],
    *,
    if_version: int | None,
    by: Signature,
) -> Receipt:
    """Change fields of a record by its kind's rule; `Conflict` if it moved from `if_version`."""
    if not changes:
        raise InvalidInput("update needs at least one field to change")
    return await _once_more(lambda: _update(runtime, scope, record_id, changes, if_version, by))


async def _update(
    runtime: Runtime,
    scope: Scope,
    record_id: str,
    changes: Mapping[str, Any],
    if_version: int | None,
    by: Signature,
) -> Receipt:
    owner, old = await current(runtime, scope, record_id)
    _expect(old, if_version)
    model = changed(old, changes, await runtime.zone_of(scope))
    batch = new_batch(runtime, "update", by.actor)
    if KINDS[old.kind].revise(old, model, frozenset(changes)) == "supersede":
        writes = _supersede(runtime, owner, old, model, batch, by.reason)
        return await commit(runtime, owner, batch, writes)
    new = new_record(runtime, owner, model, batch.id, old)
    new = new.model_copy(update={name: getattr(old, name) for name in _CARRIED})
    if _says_the_same(old, new):
        skipped = Skipped(index=0, reason="the record says this already", id=old.id)
        empty = await commit(runtime, owner, batch, [])
        return empty.model_copy(update={"record_ids": [old.id], "skipped": [skipped]})
    return await commit(
        runtime, owner, batch, [put_version(runtime, new, "update", old=old, reason=by.reason)]
    )


def _says_the_same(old: Record, new: Record) -> bool:
    """Whether a new version would repeat the old one, evidence included."""
    apart = {"version", "recorded_at", "closed_at", "batch_id", "evidence"}
    same = old.model_dump(exclude=apart) == new.model_dump(exclude=apart)
    return same and all(item in old.evidence for item in new.evidence)


def _expect(record: Record, if_version: int | None) -> None:
    if if_version is not None and record.version != if_version:
        raise Conflict(
            f"record {record.id} is version {record.version}, not {if_version}: read it again and "
            "repeat the change"
        )


def _supersede(
    runtime: Runtime, scope: Scope, old: Record, model: KindModel, batch: NewBatch, reason: str
) -> list[Write]:
    """The old fact ends when the new one begins, and each is linked to the other."""
    if old.superseded_by is not None:
        raise Conflict(f"record {old.id} has a successor already: update {old.superseded_by}")
    new = new_record(runtime, scope, model, batch.id, None)
    begun = new.valid_from is None or new.valid_from <= new.recorded_at
    ended = old.model_copy(
        update={
            "lifecycle": "past" if begun else old.lifecycle,
            "valid_to": new.valid_from,
            "superseded_by": new.id,
            "recorded_at": new.recorded_at,
            "batch_id": batch.id,
        }
    )
    new = new.model_copy(update={"supersedes": old.id})
    return [
        put_version(runtime, ended, "end", old=old, reason=reason),
        put_version(runtime, new, "supersede", reason=reason),
    ]


async def retire(runtime: Runtime, scope: Scope, record_id: str, *, by: Signature) -> Receipt:
    """Stop believing a record; it stays in history."""
    return await _once_more(lambda: _retire(runtime, scope, record_id, by))


async def _retire(runtime: Runtime, scope: Scope, record_id: str, by: Signature) -> Receipt:
    owner, old = await current(runtime, scope, record_id)
    if old.lifecycle == "retired":
        raise Conflict(f"record {record_id} is retired already")
    batch = new_batch(runtime, "retire", by.actor)
    gone = retired(runtime, old, batch, by.reason)
    return await commit(runtime, owner, batch, [gone])


def retired(runtime: Runtime, old: Record, batch: NewBatch, reason: str) -> PutVersion:
    """The write that retires a record."""
    at = max(runtime.clock(), old.recorded_at)
    gone = old.model_copy(
        update={
            "lifecycle": "retired",
            "retired_at": at,
            "recorded_at": at,
            "batch_id": batch.id,
            "evidence": [],
        }
    )
    return put_version(runtime, gone, "retire", old=old, reason=reason)


async def undo(
    runtime: Runtime, scope: Scope, batch_or_change: str, *, cascade: bool, by: Signature
) -> Receipt:
    """Take back a batch or one change; `Conflict` names later changes unless `cascade`."""
    view = view_of(scope)
    batch = await runtime.store.get_batch(view, batch_or_change)
    found = await runtime.store.changes(view, batch_or_change)
    if batch is None and not found:
        raise NotFound(f"no batch or change {batch_or_change} in this scope")
    if batch is not None:
        owner = Scope(tenant=scope.tenant, user_id=batch.user_id, agent_id=batch.agent_id)
        if batch.state == "undone":
            raise Conflict(f"batch {batch.id} is undone already")
    else:
        owner = found[0][0]
    taking = new_batch(runtime, "undo", by.actor)
    changes = [change for _, change in found]
    steps = _net(await _with_later(runtime, scope, changes) if cascade else changes)
    writes: list[Write] = []
    for change in steps:
        writes.extend(await _inverse(runtime, owner, change, taking, cascade=cascade))
    if batch is not None and batch.messages:
        writes.append(ShowMessages(batch.id, visible=False, op="hide"))
    if not writes:
        raise Conflict(f"{batch_or_change} changed nothing that could be taken back")
    return await commit(runtime, owner, taking, writes)


def _versioned(change: Change) -> bool:
    return change.version_before is not None or change.version_after is not None


async def _with_later(runtime: Runtime, scope: Scope, changes: Sequence[Change]) -> list[Change]:
    """These changes and all that build on them, oldest first.

    A later change brings the rest of its batch with it: one fact's end is another's beginning.
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
                fresh = [c for _, c in batch if _versioned(c) and c.id not in taken]
                taken.update({c.id: c for c in fresh})
                waiting += fresh
    return sorted(taken.values(), key=_place)


def _place(change: Change) -> tuple[datetime, str, int]:
    """Where a change stands in the log: ids end with their place in the batch."""
    return change.at, change.batch_id, int(change.id.rpartition("_")[2])


def _net(changes: Sequence[Change]) -> list[Change]:
    """Newest first, the versions a target went through taken as one step."""
    net: dict[tuple[str, bool], Change] = {}
    for change in changes:
        versioned = _versioned(change)
        key = (change.target_id if versioned else change.id, versioned)
        first = net.pop(key, change)
        net[key] = change.model_copy(update={"version_before": first.version_before})
    return list(reversed(net.values()))


async def _inverse(
    runtime: Runtime, scope: Scope, change: Change, batch: NewBatch, *, cascade: bool
) -> list[Write]:
    """What takes one change back: the version before it stands again, as a new version."""
    target, reason = change.target_id, f"undo {change.id}"
    if change.op == "evidence":
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
    if not cascade:
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
    if restored and made and standing and _says_the_same(made, standing):
        return
    names = ", ".join(f"{entry.id} ({entry.op})" for entry in later) or "none is logged"
    raise Conflict(
        f"record {change.target_id} was changed after {change.id}: {names}; undo those first, or "
        "pass cascade=True to take them back too"
    )
