"""Distilling a batch: its messages become episodes, records and entities, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from functools import partial

import anyio.to_thread

from memstrata.errors import Conflict, MemstrataError
from memstrata.ingest import entities, local
from memstrata.ingest.by_model import Written, by_model
from memstrata.ingest.held import held
from memstrata.ingest.narrate import narrate
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.provisional import MARK, PREFIX, TakenBack, take_back
from memstrata.ingest.related import subjects_of
from memstrata.ingest.resolve import resolve
from memstrata.ingest.segment import GAP, Run, segment
from memstrata.ingest.standing import Standing
from memstrata.ingest.versions import new_record, put_version
from memstrata.kinds import Core
from memstrata.models.spending import Meter
from memstrata.records import Message, Record, Scope, micros
from memstrata.runtime import Runtime, new_id, zone_named
from memstrata.store.batches import Lease
from memstrata.store.distil import Distilled, Material, Talk
from memstrata.store.ports import LinkEvidence, Narrate, PutEpisode, Told, Write
from memstrata.text.names import names

__all__ = ["distil", "writes_for"]

_TRIES = 3
_MOST_REFUSED = 50
"""How many refused proposals are noted with a batch."""


async def distil(runtime: Runtime, lease: Lease, meter: Meter) -> MemstrataError | None:
    """Do it, unless the batch asks for messages only; done twice it changes nothing.

    Where a language model fails, the local rules stand in until the batch is tried again; why it
    failed is returned, when what they found is written.
    """
    written: Written | None = None
    for attempt in range(_TRIES):
        material = await runtime.store.material(lease)
        if material.done or not material.request.get("infer", True):
            return None
        try:
            # A model is asked once, whatever changes meanwhile: only what to make of it is.
            written = written or await _proposed(runtime, lease, material, meter)
            await _attempt(runtime, lease, material, written)
        except Conflict:
            if attempt == _TRIES - 1:
                raise
        else:
            return written.failure
    return None


async def _proposed(runtime: Runtime, lease: Lease, material: Material, meter: Meter) -> Written:
    zone = _zone(runtime, material)
    known = await runtime.store.seen_names(lease)
    local = await anyio.to_thread.run_sync(_propose, material, zone, known)
    if runtime.llm is None:
        return Written(local)
    reading = partial(by_model, runtime, lease, material, zone, local, meter)
    return await held(runtime, lease, reading)


def _zone(runtime: Runtime, material: Material) -> tzinfo:
    return zone_named(material.timezone) if material.timezone else runtime.zone


async def _attempt(runtime: Runtime, lease: Lease, material: Material, written: Written) -> None:
    zone = _zone(runtime, material)
    known = await runtime.store.seen_names(lease)
    proposals = _of_what_is_there(written.proposals, material)
    if "rebuild" in material.request:
        prints = {proposal.record.fingerprint() for proposal in proposals}
        taken_back = await runtime.store.rejected(lease, prints)
        proposals = [p for p in proposals if p.record.fingerprint() not in taken_back]
    back = TakenBack()
    if material.provisional:
        back = await take_back(runtime, lease.scope, lease.batch_id)
    standing = await _resolved(runtime, lease, proposals, back)
    writes, records = writes_for(runtime, lease.scope, lease.batch_id, standing)
    records += await runtime.store.open_records(lease)
    owners = await anyio.to_thread.run_sync(_owners, material, records, known)
    stored = await runtime.store.known_entities(lease, entities.lookups(owners))
    tell = _teller(written, zone)
    begun, closed = await anyio.to_thread.run_sync(_episodes, material, tell)
    made = Distilled(
        episodes=tuple(begun),
        closed=tuple(closed),
        writes=(*back.writes, *writes),
        entities=tuple(entities.link(owners, stored, lambda: new_id("ent"))),
        read=tuple(_read(material)),
        unread=tuple(one for one in written.unread if one in _fresh(material)),
        refused=tuple(written.refused[:_MOST_REFUSED]),
        retold=_retold(written, zone) if material.provisional and written.told else None,
    )
    await runtime.store.distilled(lease, made, runtime.now(), written.actor)


def _fresh(material: Material) -> set[str]:
    return {message.id for talk in material.talks for message in talk.fresh}


def _of_what_is_there(proposals: Sequence[Proposal], material: Material) -> list[Proposal]:
    """Without what rests on messages that were erased or taken back while a model read them."""
    fresh = _fresh(material)
    return [p for p in proposals if all(item.source_id in fresh for item in p.evidence)]


def _teller(written: Written, zone: tzinfo) -> Callable[[Talk, Run, bool], Told]:
    """Tells an episode: as a model did, else by the rules.

    What a model has told stays when only small talk follows.
    """

    def tell(talk: Talk, run: Run, goes_on: bool) -> Told:
        before = talk.open[2] if goes_on and talk.open else ()
        first = run.messages[len(before)].id
        title, summary = written.told.get(first, (None, None))
        plain = narrate(run.messages, zone, title=title, summary=summary)
        kept = goes_on and written.by_model and first not in written.told
        if kept and talk.open and first not in written.unread:
            return replace(plain, title=talk.open[1].title, summary=talk.open[1].summary)
        return plain

    return tell


def _retold(written: Written, zone: tzinfo) -> tuple[tuple[str, ...], Narrate]:
    """Episodes that the rules told, told by the model that has read them since."""

    def tell(messages: Sequence[Message]) -> Told:
        named = next((one.id for one in messages if one.id in written.told), "")
        title, summary = written.told.get(named, (None, None))
        return narrate(messages, zone, title=title, summary=summary)

    return tuple(written.told), tell


def _read(material: Material) -> set[str]:
    """Ids of all messages that what is made may repeat."""
    seen: set[str] = set()
    for talk in material.talks:
        messages = (*talk.before, *talk.fresh, *(talk.open[2] if talk.open else ()))
        seen |= {message.id for message in messages}
    return seen


# ── episodes ─────────────────────────────────────────────────────────────────────────────────


def _episodes(
    material: Material, tell: Callable[[Talk, Run, bool], Told]
) -> tuple[list[PutEpisode], list[int]]:
    """The episodes that begin or grow, and the open ones that are over.

    What is distilled again is in its episode already.
    """
    begun: list[PutEpisode] = []
    closed: list[int] = []
    if "rebuild" in material.request or material.provisional:
        return begun, closed
    for talk in material.talks:
        before = talk.open[2] if talk.open else ()
        for place, run in enumerate(segment(before, talk.fresh)):
            goes_on = place == 0 and talk.open is not None
            if goes_on and len(run.messages) == len(before):
                closed += [talk.open[0]] if talk.open and run.closed else []
            else:
                begun.append(_episode(talk, run, tell(talk, run, goes_on), goes_on=goes_on))
    said = [message.occurred_at for talk in material.talks for message in talk.fresh]
    if said:
        over = micros(min(said)) - GAP // timedelta(microseconds=1)
        closed += [number for number, last in material.idle if last < over]
    return begun, closed


def _episode(talk: Talk, run: Run, told: Told, *, goes_on: bool) -> PutEpisode:
    number, episode, before = talk.open if goes_on and talk.open else (None, None, ())
    joined = run.messages[len(before) :]
    return PutEpisode(
        id=new_id("ep") if episode is None else episode.id,
        seq=number,
        session_id=talk.session_id,
        told=told,
        started_at=micros(min(message.occurred_at for message in run.messages)),
        ended_at=micros(max(message.occurred_at for message in run.messages)),
        is_open=not run.closed,
        message_ids=tuple(message.id for message in joined),
    )


# ── records ──────────────────────────────────────────────────────────────────────────────────


def _propose(material: Material, zone: tzinfo, known: set[str]) -> list[Proposal]:
    """What the local rules find in the batch, in the order it was said."""
    found: list[Proposal] = []
    managers = material.tenant.managers
    for talk in material.talks:
        setting = local.Setting(zone=zone, before=talk.before, known=known)
        found += [
            proposal
            for proposal in local.extract(talk.fresh, setting)
            if (talk.kinds is None or proposal.record.name_of_kind in talk.kinds)
            and (managers is None or proposal.record.name_of_kind in managers)
        ]
    return sorted(found, key=_said)


def _said(proposal: Proposal) -> datetime:
    return proposal.said_at


async def _resolved(
    runtime: Runtime, lease: Lease, proposals: Sequence[Proposal], back: TakenBack
) -> list[Standing]:
    if not proposals:
        return []
    prints = {proposal.record.fingerprint() for proposal in proposals}
    named = {proposal.target for proposal in proposals if proposal.target is not None}
    subjects = subjects_of(proposals)
    related = await runtime.store.related(lease, subjects, prints, Core.prefix, named)
    return resolve(proposals, back.seen(related))


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
        reason = f"{PREFIX}{one.reason}" if one.provisional else one.reason
        linked = records[id(one)].model_copy(
            update={
                "superseded_by": _linked(one.successor, ids, one.record, "superseded_by"),
                "supersedes": _linked(one.predecessor, ids, one.record, "supersedes"),
            }
        )
        opened.append(linked)
        writes.append(put_version(runtime, linked, one.op, old=one.record, reason=reason))
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
    marked = {**record.metadata, MARK: True} if one.provisional and one.record is None else None
    return record.model_copy(
        update={
            "metadata": record.metadata if marked is None else marked,
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
