"""Typed records by hand: create, update, retire, and taking any of it back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, cast

from pydantic import ValidationError

from memstrata.arguments import Signature, moment
from memstrata.errors import Conflict, InvalidInput, NotFound
from memstrata.ingest.narrate import narrator
from memstrata.ingest.versions import (
    COMMON,
    LONGEST_TITLE,
    evidence_from,
    new_record,
    put_version,
)
from memstrata.kinds import KINDS, KindModel, explain, kind_of, parse
from memstrata.records import Evidence, Receipt, Record, Scope, Skipped, Trust
from memstrata.runtime import Runtime, new_id, view_of
from memstrata.safety.redact import Redactor, redacted, seal, sealings
from memstrata.store.ports import (
    LinkEvidence,
    NewBatch,
    PutVersion,
    Write,
)
from memstrata.text.clean import clean_json, shorten
from memstrata.text.secrets import StandIn

__all__ = [
    "changed",
    "commit",
    "create",
    "current",
    "new_batch",
    "retire",
    "retired",
    "says_the_same",
    "update",
]

_CARRIED = ("supersedes", "superseded_by", "lifecycle", "retired_at")
"""What an edit of the fields leaves as it is."""


def new_batch(runtime: Runtime, verb: str, by: Signature) -> NewBatch:
    """A batch that waits for its vectors."""
    key, digest = (None, None) if by.once is None else by.once
    batch = NewBatch(new_id("batch"), verb, by.actor, runtime.now(), "pending")
    return replace(batch, digest=digest, idempotency_key=key)


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


def _clean(model: KindModel, stand_in: StandIn) -> KindModel:
    """The same record without secrets in any text; an edit of it is validated again."""
    given = model.model_dump(exclude_unset=True)
    # One by one: a kind's own field names say nothing about what is in them.
    cleaned = {
        name: value if isinstance(value, datetime) else clean_json(value, stand_in)
        for name, value in given.items()
    }
    return type(model).model_validate(cleaned)


_ITSELF = "the record that is being written"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A record's model without secrets, and what was done with those."""

    model: KindModel
    redactor: Redactor

    def sealed(self, runtime: Runtime, batch_id: str, record_id: str) -> list[Write]:
        """The writes that keep what was sealed, resting on the record that names it."""
        trust: dict[str, Trust] = {record_id: self.model.trust}
        for found in self.redactor.found.values():
            found.sources[:] = [record_id]
        made = sealings(runtime, self.redactor, batch_id, trust)
        own = (Evidence(source_id=record_id),)
        known = dict.fromkeys(entry for entry, _ in self.redactor.again)
        return [
            *(write for one in made for write in (one.secret, one.write)),
            *(LinkEvidence(entry, own, "it is named again") for entry in known),
        ]

    def skipped(self) -> list[Skipped]:
        """What was done, in words."""
        notes = self.redactor.notes(_ITSELF)
        return [Skipped(index=0, reason=note, stored=True) for note in notes]


async def cleaned(runtime: Runtime, scope: Scope, model: KindModel) -> Cleaned:
    """Take the secrets out of a record that is to be written."""

    def clean(stand_in: Redactor) -> KindModel:
        stand_in.source = _ITSELF
        return _clean(model, stand_in)

    return Cleaned(*await redacted(runtime, scope, clean))


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
    model, secret = _in_zone(parse(record), await runtime.zone_of(scope)).take_secret()
    model.admit()
    return await _once_more(lambda: _create(runtime, scope, model, secret, by))


async def _create(
    runtime: Runtime, scope: Scope, given: KindModel, secret: str | None, by: Signature
) -> Receipt:
    clean = await cleaned(runtime, scope, given)
    model = clean.model
    batch = new_batch(runtime, "create", by)
    new = new_record(runtime, scope, model, batch.id, None)
    sealed: list[Write] = []
    if secret is not None:
        own = await seal(runtime, scope, new.id, model, secret)
        new = new.model_copy(update={"fingerprint": own.fingerprint})
        sealed = [own]
        twin = (await runtime.store.known_secrets(scope, [own.mark])).get(own.mark)
        same = await runtime.store.same_record(scope, own.fingerprint, runtime.now())
        if twin is not None and same is None:  # one secret for two things: each has its entry
            sealed = [replace(own, known=True)]
    else:
        same = await runtime.store.same_record(scope, model.fingerprint(), runtime.now())
    if same is None:
        sealed += clean.sealed(runtime, batch.id, new.id)
        made = put_version(runtime, new, "create", reason=by.reason)
        receipt = await commit(runtime, scope, batch, [made, *sealed])
        return receipt.model_copy(update={"record_ids": [new.id], "skipped": clean.skipped()})
    record_id, text = same
    if text != model.body():
        raise Conflict(
            f"{model.name_of_kind} {model.heading()!r} is there already as {record_id}: update it"
        )
    link = LinkEvidence(record_id, tuple(evidence_from(model.evidence)), by.reason)
    receipt = await commit(runtime, scope, batch, [link] if link.evidence else [])
    what = "exactly this record" if secret is None else "this secret"
    skipped = Skipped(index=0, reason=f"{what} is stored already", id=record_id)
    return receipt.model_copy(update={"record_ids": [record_id], "skipped": [skipped]})


async def current(runtime: Runtime, scope: Scope, record_id: str) -> tuple[Scope, Record]:
    """The open version of a record and the scope that owns it."""
    found = (await runtime.store.get(view_of(scope), [record_id])).get(record_id)
    if not isinstance(found, Record):
        raise NotFound(f"no record {record_id} in this scope")
    owner = Scope(tenant=scope.tenant, user_id=found.user_id, agent_id=found.agent_id)
    return owner, found


async def changed(
    runtime: Runtime, scope: Scope, record: Record, changes: Mapping[str, Any]
) -> Cleaned:
    """A record's model with changes, as `update` takes them: cleaned, and admitted."""
    model = _in_zone(_as_model(record, changes), await runtime.zone_of(scope))
    model.admit()
    owner = Scope(tenant=scope.tenant, user_id=record.user_id, agent_id=record.agent_id)
    return await cleaned(runtime, owner, model)


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
    clean = await changed(runtime, scope, old, changes)
    model = clean.model
    batch = new_batch(runtime, "update", by)
    sealed = clean.sealed(runtime, batch.id, old.id)
    if KINDS[old.kind].revise(old, model, frozenset(changes)) == "supersede":
        writes = _supersede(runtime, owner, old, model, batch, by.reason)
        receipt = await commit(runtime, owner, batch, [*writes, *sealed])
        ids = [write.record.id for write in writes if isinstance(write, PutVersion)]
        return receipt.model_copy(update={"record_ids": ids, "skipped": clean.skipped()})
    new = new_record(runtime, owner, model, batch.id, old)
    carried = (*_CARRIED, "fingerprint") if KINDS[old.kind].is_sealed(old) else _CARRIED
    new = new.model_copy(update={name: getattr(old, name) for name in carried})
    if says_the_same(old, new):
        skipped = Skipped(index=0, reason="the record says this already", id=old.id)
        empty = await commit(runtime, owner, batch, [])
        return empty.model_copy(update={"record_ids": [old.id], "skipped": [skipped]})
    made = put_version(runtime, new, "update", old=old, reason=by.reason)
    receipt = await commit(runtime, owner, batch, [made, *sealed])
    return receipt.model_copy(update={"record_ids": [old.id], "skipped": clean.skipped()})


def says_the_same(old: Record, new: Record) -> bool:
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
    batch = new_batch(runtime, "retire", by)
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
