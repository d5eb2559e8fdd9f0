"""Distilling a batch: its messages become episodes, records and entities, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo

import anyio
import anyio.to_thread

from memstrata.errors import Conflict
from memstrata.ingest import entities, local
from memstrata.ingest.narrate import narrate
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.resolve import resolve
from memstrata.ingest.segment import GAP, Run, segment
from memstrata.ingest.standing import Standing
from memstrata.ingest.versions import new_record, put_version
from memstrata.kinds import Core, Semantic
from memstrata.kinds.attributes import ENDS
from memstrata.records import Record, Scope, micros
from memstrata.runtime import Runtime, new_id, zone_named
from memstrata.store.batches import Lease
from memstrata.store.distil import Distilled, Material, Talk
from memstrata.store.ports import LinkEvidence, Narrate, PutEpisode, Write
from memstrata.text.names import names

__all__ = ["distil", "narrator", "writes_for"]

_TRIES = 3


def narrator(zone: tzinfo) -> Narrate:
    """Tells what messages are about, dated in a zone."""
    return lambda messages: narrate(messages, zone)


async def distil(runtime: Runtime, lease: Lease) -> None:
    """Do it, unless the batch asks for messages only; done twice it changes nothing."""
    for attempt in range(_TRIES):
        material = await runtime.store.material(lease)
        if material.done or not material.request.get("infer", True):
            return
        try:
            await _attempt(runtime, lease, material)
        except Conflict:
            if attempt == _TRIES - 1:
                raise
        else:
            return


async def _attempt(runtime: Runtime, lease: Lease, material: Material) -> None:
    zone = zone_named(material.timezone) if material.timezone else runtime.zone
    known = await runtime.store.seen_names(lease)
    proposals = await anyio.to_thread.run_sync(_propose, material, zone, known)
    if "rebuild" in material.request:
        prints = {proposal.record.fingerprint() for proposal in proposals}
        taken_back = await runtime.store.rejected(lease, prints)
        proposals = [p for p in proposals if p.record.fingerprint() not in taken_back]
    standing = await _resolved(runtime, lease, proposals)
    writes, records = writes_for(runtime, lease.scope, lease.batch_id, standing)
    records += await runtime.store.open_records(lease)
    owners = await anyio.to_thread.run_sync(_owners, material, records, known)
    stored = await runtime.store.known_entities(lease, entities.lookups(owners))
    begun, closed = await anyio.to_thread.run_sync(_episodes, material, narrator(zone))
    made = Distilled(
        episodes=tuple(begun),
        closed=tuple(closed),
        writes=tuple(writes),
        entities=tuple(entities.link(owners, stored, lambda: new_id("ent"))),
        read=tuple(_read(material)),
    )
    await runtime.store.distilled(lease, made, runtime.now(), "local rules")


def _read(material: Material) -> set[str]:
    """Ids of all messages that what is made may repeat."""
    seen: set[str] = set()
    for talk in material.talks:
        messages = (*talk.before, *talk.fresh, *(talk.open[2] if talk.open else ()))
        seen |= {message.id for message in messages}
    return seen


# ── episodes ─────────────────────────────────────────────────────────────────────────────────


def _episodes(material: Material, tell: Narrate) -> tuple[list[PutEpisode], list[int]]:
    """The episodes that begin or grow, and the open ones that are over.

    What is distilled again is in its episode already.
    """
    begun: list[PutEpisode] = []
    closed: list[int] = []
    if "rebuild" in material.request:
        return begun, closed
    for talk in material.talks:
        before = talk.open[2] if talk.open else ()
        for place, run in enumerate(segment(before, talk.fresh)):
            goes_on = place == 0 and talk.open is not None
            if goes_on and len(run.messages) == len(before):
                closed += [talk.open[0]] if talk.open and run.closed else []
            else:
                begun.append(_episode(talk, run, tell, goes_on=goes_on))
    said = [message.occurred_at for talk in material.talks for message in talk.fresh]
    if said:
        over = micros(min(said)) - GAP // timedelta(microseconds=1)
        closed += [number for number, last in material.idle if last < over]
    return begun, closed


def _episode(talk: Talk, run: Run, tell: Narrate, *, goes_on: bool) -> PutEpisode:
    number, episode, before = talk.open if goes_on and talk.open else (None, None, ())
    joined = run.messages[len(before) :]
    return PutEpisode(
        id=new_id("ep") if episode is None else episode.id,
        seq=number,
        session_id=talk.session_id,
        told=tell(run.messages),
        started_at=micros(min(message.occurred_at for message in run.messages)),
        ended_at=micros(max(message.occurred_at for message in run.messages)),
        is_open=not run.closed,
        message_ids=tuple(message.id for message in joined),
    )


# ── records ──────────────────────────────────────────────────────────────────────────────────


def _propose(material: Material, zone: tzinfo, known: set[str]) -> list[Proposal]:
    """What the local rules find in the batch, in the order it was said."""
    found: list[Proposal] = []
    for talk in material.talks:
        setting = local.Setting(zone=zone, before=talk.before, known=known)
        found += [
            proposal
            for proposal in local.extract(talk.fresh, setting)
            if talk.kinds is None or proposal.record.name_of_kind in talk.kinds
        ]
    return sorted(found, key=_said)


def _said(proposal: Proposal) -> datetime:
    return proposal.said_at


async def _resolved(
    runtime: Runtime, lease: Lease, proposals: Sequence[Proposal]
) -> list[Standing]:
    if not proposals:
        return []
    facts = [p.record for p in proposals if isinstance(p.record, Semantic)]
    subjects = [(f.subject, f.attribute) for f in facts if f.subject and f.attribute]
    for subject, attribute in tuple(subjects):
        if attribute in ENDS:
            subjects.append((subject, ENDS[attribute][0]))
    prints = {proposal.record.fingerprint() for proposal in proposals}
    related = await runtime.store.related(lease, subjects, prints, Core.prefix)
    return resolve(proposals, related)


def writes_for(
    runtime: Runtime, scope: Scope, batch_id: str, standing: Sequence[Standing]
) -> tuple[list[Write], list[Record]]:
    """The writes that bring about what was resolved, and the records they open."""
    records = {id(one): _version(runtime, scope, batch_id, one) for one in standing if one.op}
    ids = {key: record.id for key, record in records.items()}
    writes: list[Write] = []
    opened: list[Record] = []
    for one in standing:
        if not one.op:
            assert one.record is not None
            writes.append(LinkEvidence(one.record.id, tuple(one.evidence), one.reason))
            continue
        linked = records[id(one)].model_copy(
            update={
                "superseded_by": _linked(one.successor, ids, one.record, "superseded_by"),
                "supersedes": _linked(one.predecessor, ids, one.record, "supersedes"),
            }
        )
        opened.append(linked)
        writes.append(put_version(runtime, linked, one.op, old=one.record, reason=one.reason))
    return writes, opened


def _linked(
    other: Standing | None, ids: dict[int, str], record: Record | None, field: str
) -> str | None:
    if other is None:
        return getattr(record, field) if record is not None else None
    return ids.get(id(other)) or (other.record.id if other.record else None)


def _version(runtime: Runtime, scope: Scope, batch_id: str, one: Standing) -> Record:
    record = new_record(runtime, scope, one.model, batch_id, one.record)
    retired = one.lifecycle == "retired"
    return record.model_copy(
        update={
            "lifecycle": _lifecycle(one, record.recorded_at),
            "retired_at": record.recorded_at if retired else None,
            "evidence": one.evidence,
        }
    )


def _lifecycle(one: Standing, at: datetime) -> str:
    """A fact that ends in the time to come is current until then."""
    ends = one.model.valid_to
    coming = one.lifecycle == "past" and ends is not None and ends > at
    return "current" if coming else one.lifecycle


# ── entities ─────────────────────────────────────────────────────────────────────────────────


def _owners(material: Material, records: Iterable[Record], known: set[str]) -> list[entities.Owner]:
    """The messages and records of the batch with the names in them."""
    owners: list[entities.Owner] = []
    for talk in material.talks:
        present = {m.name for m in (*talk.before, *talk.fresh) if m.name}
        owners += [entities.owner_of(message, known, present) for message in talk.fresh]
    seen = known | {name.normal for owner in owners for name in owner.names}
    once = {record.id: record for record in records}
    owners += [
        entities.Owner(record.id, tuple(names(record.text[:2000], seen)))
        for record in once.values()
    ]
    return owners
