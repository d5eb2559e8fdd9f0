"""`consolidate`: the batch that does it, and what other batches make necessary."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from typing import cast, get_args

import anyio
import anyio.to_thread

from memstrata.consolidate.asking import Asking
from memstrata.consolidate.by_model import candidates, compared, rewritten
from memstrata.consolidate.derived import (
    Derived,
    Key,
    is_as_written,
    is_by_model,
    is_derived,
    is_ours,
    key_of,
    made_from,
    stamped,
)
from memstrata.consolidate.digests import Period, digests, periods_of
from memstrata.consolidate.duplicates import Duplicate, duplicates, has_expired, lapsed
from memstrata.consolidate.profile import PROFILE, called, profile
from memstrata.errors import Conflict
from memstrata.ingest.distil import writes_for
from memstrata.ingest.edit import retired
from memstrata.ingest.held import held
from memstrata.ingest.standing import Standing
from memstrata.ingest.versions import new_record, put_version
from memstrata.kinds import DERIVED, KINDS, Core, Episodic, KindModel, Semantic, kind_of
from memstrata.models.spending import Meter
from memstrata.records import (
    Evidence,
    JsonObject,
    Lifecycle,
    Message,
    Record,
    Scope,
    instant,
    micros,
)
from memstrata.runtime import Runtime, new_id, zone_named
from memstrata.store.batches import Lease
from memstrata.store.derive import Due, Judged, Made
from memstrata.store.ports import (
    CloseRecord,
    LinkEvidence,
    NewBatch,
    PutVersion,
    UnlinkEvidence,
    View,
    Write,
)
from memstrata.store.views import EVER, Listing
from memstrata.themes.keep import has_unnamed, name_themes

__all__ = ["REQUEST", "consolidate_batch", "is_untidy"]

REQUEST = "consolidate"
"""The member of a batch's request that asks for it: `all`, or True for what is derived alone."""
_TRIES = 5
_PAGE = 2000
_LEASE_MICROS = 60 * 1_000_000
_FEWEST = 4
"""Facts or sentences that a model is asked to put into words: fewer are whole by the rules."""


async def consolidate_batch(runtime: Runtime, lease: Lease, meter: Meter) -> str | None:
    """Do what a leased batch asks for, or what it has made necessary; what a model left undone, and
    why, in words.

    A batch of `consolidate` does all of it, with a language model if there is one. One that erased
    what digests or the profile rested on has those made anew, but for what a person took back. One
    that changed a source, hid or showed it, or brought messages of a day that is told already, has
    what rests on it made anew. These ask no model: they are part of what others wait for.
    """
    due = await runtime.store.due(lease)
    if runtime.llm is None or due.request.get(REQUEST) != "all":
        await _attempts(runtime, lease, due, None)
        return None
    asking = Asking(runtime.llm.extract, meter)
    await held(runtime, lease, partial(_with_model, runtime, lease, due, asking))
    return asking.note()


async def _with_model(runtime: Runtime, lease: Lease, due: Due, asking: Asking) -> None:
    await _attempts(runtime, lease, due, asking)
    await name_themes(runtime, lease.scope, asking)


async def _attempts(runtime: Runtime, lease: Lease, due: Due, asking: Asking | None) -> None:
    for attempt in range(_TRIES):
        if attempt:
            due = await runtime.store.due(lease)
        zone = zone_named(due.timezone) if due.timezone else runtime.zone
        work = _Work(runtime, lease.scope, zone, lease, asking)
        try:
            if due.request.get(REQUEST) == "all":
                if not due.done:
                    await work.everything()
            elif due.request.get(REQUEST):
                await work.what_is_missing(lease)
            elif due.touched or due.moments:
                await work.what_is_touched(lease, due)
        except Conflict:
            if attempt == _TRIES - 1:
                raise
        else:
            return


async def is_untidy(runtime: Runtime, scope: Scope) -> bool:
    """Whether there is anything to consolidate, or to ask a model."""
    if await _Work(runtime, scope, await runtime.zone_of(scope)).everything():
        return True
    return runtime.llm is not None and await has_unnamed(runtime, scope)


@dataclass(slots=True)
class _Known:
    """What is there of a scope."""

    messages: list[Message]
    records: list[Record]
    gone: set[str] = field(default_factory=set[str])
    """Ids of records that have just been found to be too many, or over."""
    edited: set[str] = field(default_factory=set[str])
    """Ids of what is derived and says something else by now."""

    def of_kind(self, kind: str) -> list[Record]:
        """The records of one kind that go on standing."""
        return [one for one in self.records if one.kind == kind and one.id not in self.gone]

    def derived(self) -> dict[Key, Record]:
        """What was made before; retired ones too, for nothing takes their place."""
        made = [one for one in self.records if is_derived(one)]
        made.sort(key=_stands)
        return {key_of(one): one for one in made}

    def put(self, record: Record) -> None:
        """Take in what becomes of a record."""
        self.records = [record if one.id == record.id else one for one in self.records]

    def may_change(self, record: Record) -> bool:
        """What somebody has changed or retired is left as it is."""
        return record.id not in self.edited and record.lifecycle == "current"

    def taken(self) -> set[str]:
        """The fingerprints of what somebody wrote: nothing like it is made beside it."""
        return {one.fingerprint for one in self.records if _stands(one) and not is_derived(one)}


class _Work:
    """One attempt, on behalf of one leased batch; without one it only sees what is to be done."""

    def __init__(
        self,
        runtime: Runtime,
        scope: Scope,
        zone: tzinfo,
        lease: Lease | None = None,
        asking: Asking | None = None,
    ) -> None:
        self.runtime = runtime
        self.scope = scope
        self.lease = lease
        self.asking = asking
        self.by_model = asking is not None or (lease is None and runtime.llm is not None)
        """Whether a model does what it can; where none is asked, that is to be seen."""
        self.zone = zone
        self.now = runtime.clock()
        self.batch = NewBatch(new_id("batch"), "consolidate", "consolidate", runtime.now())
        self.writes: list[Write] = []
        self.messages: list[str] = []
        self.records: list[str] = []
        self.judged: list[Judged] = []

    async def everything(self) -> bool:
        """All that `consolidate` does; whether that is anything."""
        if self.lease is not None:
            self.batch = replace(self.batch, id=self.lease.batch_id)
        if self.asking is not None:
            self.asking.begin()
        known = await self._read()
        self._tidy(known)
        to_ask = await self._compare(known) if self.by_model else False
        made = await self._make(known, None)
        to_ask |= await self._tell(known, made) if self.by_model else False
        self._put(known, known.derived(), made)
        await self._commit(None)
        return bool(self.writes) or to_ask

    async def what_is_missing(self, lease: Lease) -> None:
        """What is derived, after an erasure: nothing that a person took back."""
        known = await self._read()
        made = await self._make(known, None)
        new = {key: one for key, one in made.items() if isinstance(one, Derived)}
        standing = known.derived()
        prints = {one.model.fingerprint() for key, one in new.items() if key not in standing}
        rejected = await self.runtime.store.rejected(lease, prints)
        kept = {key: one for key, one in made.items() if _fingerprint(one) not in rejected}
        self._put(known, standing, kept)
        await self._commit(self.batch)

    async def what_is_touched(self, lease: Lease, due: Due) -> None:
        """What is derived and rests on what the batch changed, or tells of a time it adds to."""
        standing = await self._touched(lease, due)
        if not standing:
            return
        known = await self._read(standing)
        made = await self._make(known, set(standing))
        self._put(known, standing, made)
        await self._commit(self.batch)

    async def _touched(self, lease: Lease, due: Due) -> dict[Key, Record]:
        view = View((self.scope,))
        found = await self.runtime.store.get(view, due.touched) if due.touched else {}
        records = [one for one in found.values() if isinstance(one, Record)]
        moments = map(instant, due.moments)
        told = {p for when in moments for p in periods_of(when, self.zone, self.now)}
        if told:
            prints = tuple(sorted(map(_print_of, told)))
            records += await self.runtime.store.by_fingerprint(lease, prints)
        return {key_of(one): one for one in records if is_derived(one)}

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    async def _read(self, only: Mapping[Key, Record] | None = None) -> _Known:
        """All of the scope, or what `only` some of what is derived may be made of."""
        told = None if only is None else [one for key, one in only.items() if key != PROFILE]
        kinds: list[type[KindModel]] = [Core] if only is not None else [*KINDS.values()]
        if told:
            kinds.append(Episodic)
        if only is not None and PROFILE in only:
            kinds.append(Semantic)
        records = await self._records(tuple(kind.name_of_kind for kind in kinds))
        known = _Known(await self._messages(told), records)
        known.edited = await self._edited(records)
        if told:
            known.messages += await self._told_elsewhere(known)
        await self._hold()
        return known

    async def _records(self, kinds: tuple[str, ...]) -> list[Record]:
        records: list[Record] = []
        cursor: str | None = None
        while True:
            listing = Listing(_PAGE, cursor, kinds=kinds, lifecycles=get_args(Lifecycle))
            page = await self.runtime.store.list_records(View((self.scope,)), listing)
            records += page.items
            if (cursor := page.next) is None:
                return records

    async def _messages(self, told: Sequence[Record] | None) -> list[Message]:
        """All messages, or those of the time that these digests are of."""
        since, until = EVER
        if told is not None:
            if not told:
                return []
            since = min((micros(one.occurred_at) for one in told if one.occurred_at), default=since)
            until = max((micros(one.ended_at) for one in told if one.ended_at), default=until)
        messages: list[Message] = []
        cursor: str | None = None
        while True:
            listing = Listing(_PAGE, cursor, since=since, until=until)
            page = await self.runtime.store.list_messages(View((self.scope,)), listing)
            messages += page.items
            if (cursor := page.next) is None:
                return messages

    async def _edited(self, records: Iterable[Record]) -> set[str]:
        """What is derived and somebody has changed since."""
        view = View((self.scope,))
        edited: set[str] = set()
        for record in records:
            if is_derived(record) and not is_as_written(record):
                versions = await self.runtime.store.versions(view, record.id)
                edited |= set() if is_ours(record, versions) else {record.id}
        return edited

    async def _told_elsewhere(self, known: _Known) -> list[Message]:
        """The messages that tell of events, where they are not among those that were read."""
        there = {message.id for message in known.messages}
        events = known.of_kind(Episodic.name_of_kind)
        named = {item.source_id for event in events for item in event.evidence} - there
        found = await self.runtime.store.get(View((self.scope,)), sorted(named))
        return [one for one in found.values() if isinstance(one, Message) and one.hidden_at is None]

    async def _hold(self) -> None:
        """Keep the lease while it takes long."""
        if self.lease is not None:
            await self.runtime.store.renew(self.lease, self.runtime.now() + _LEASE_MICROS)

    # ── what becomes of records ──────────────────────────────────────────────────────────────

    def _tidy(self, known: _Known) -> None:
        for one in duplicates(known.records):
            self._retire(known, one, f"says the same as {one.kept.id}")
            self._judge(one.kept, one.extra, "same")
        for plan in lapsed(known.records, self.now):
            if plan.id not in known.gone:
                self.writes.append(self._past(plan))
                known.gone.add(plan.id)

    def _retire(self, known: _Known, one: Duplicate, reason: str) -> None:
        if one.evidence:
            self.writes.append(LinkEvidence(one.kept.id, one.evidence, reason))
        self.writes.append(retired(self.runtime, one.extra, self.batch, reason))
        known.gone.add(one.extra.id)
        self.records += (one.kept.id, one.extra.id)

    async def _compare(self, known: _Known) -> bool:
        """Have the model judge pairs of records; whether there are any."""
        standing = [one for one in known.records if one.id not in known.gone]
        pairs = await candidates(self.runtime, self.scope, standing)
        if self.asking is None or not pairs:
            return bool(pairs)
        decided = await compared(self.asking, pairs, self.zone)
        for one in decided.duplicates:
            why = f"says the same as {one.kept.id}, by {self.asking.model.id}"
            self._retire(known, one, why)
            evidence = [*one.kept.evidence, *one.evidence]
            known.put(one.kept.model_copy(update={"evidence": evidence}))
        self._change(known, decided.standing)
        for pair, answer in decided.judged:
            self._judge(pair.older, pair.newer, answer)
            self.records += pair.ids
        return True

    def _judge(self, one: Record, other: Record, answer: str) -> None:
        first, second = sorted((one, other), key=lambda record: record.id)
        self.judged.append(Judged(first.id, second.id, first.version, second.version, answer))

    def _change(self, known: _Known, standing: Sequence[Standing]) -> None:
        """Facts that end, are linked, or wait for review."""
        writes, records = writes_for(self.runtime, self.scope, self.batch.id, standing)
        self.writes += writes
        for one, record in zip(standing, records, strict=True):
            assert one.record is not None
            known.put(record.model_copy(update={"evidence": one.record.evidence}))

    def _past(self, plan: Record) -> PutVersion:
        """The write that ends what has expired, or a plan whose time is over."""
        expired = has_expired(plan, self.now)
        at = max(self.runtime.clock(), plan.recorded_at)
        over = plan.model_copy(
            update={
                "lifecycle": "past",
                "valid_to": (expired and plan.expires_at) or kind_of(plan.kind).due_at(plan) or at,
                "recorded_at": at,
                "batch_id": self.batch.id,
                "evidence": list[Evidence](),
            }
        )
        reason = "it has expired" if expired else "its time is over, and nothing says it was done"
        return put_version(self.runtime, over, "end", old=plan, reason=reason)

    async def _make(
        self, known: _Known, only: Collection[Key] | None
    ) -> dict[Key, Derived | bool | None]:
        """What should be derived: itself, True where it stands already, None where nothing is."""
        standing = known.derived()
        stands = {
            key: made_from(one)
            for key, one in standing.items()
            if known.may_change(one) and (is_by_model(one) or not self.by_model)
        }
        events, facts = known.of_kind(Episodic.name_of_kind), known.of_kind(Semantic.name_of_kind)
        made: dict[Key, Derived | bool | None] = {}
        telling = digests(
            known.messages,
            events,
            self.zone,
            self.now,
            known=stands,
            only=only,
            wide=self.by_model,
        )
        nothing = object()
        while (one := await anyio.to_thread.run_sync(next, telling, nothing)) is not nothing:
            key, digest = cast("tuple[Key, Derived | None]", one)
            made[key] = digest or True
            if len(made) % 50 == 0:
                await self._hold()
        if self.scope.user_id is not None and (only is None or PROFILE in only):
            names = called(await self.runtime.store.named_users(self.scope), facts)
            block = partial(profile, facts, names, self.now, known=stands.get(PROFILE))
            made[PROFILE] = await anyio.to_thread.run_sync(block)
        return made

    async def _tell(self, known: _Known, made: dict[Key, Derived | bool | None]) -> bool:
        """Have the model write what is to be made: the profile, then the newest digests; whether
        there is anything for it to write."""
        standing, taken = known.derived(), known.taken()
        wanted: dict[Key, Derived] = {}
        for key, one in made.items():
            old = standing.get(key)
            free = known.may_change(old) if old else _fingerprint(one) not in taken
            if isinstance(one, Derived) and len(one.basis) >= _FEWEST and free:
                wanted[key] = one
        if self.asking is not None:
            made.update(await rewritten(self.asking, wanted))
        return bool(wanted)

    # ── what becomes of what is derived ──────────────────────────────────────────────────────

    def _put(
        self,
        known: _Known,
        standing: Mapping[Key, Record],
        made: Mapping[Key, Derived | bool | None],
    ) -> None:
        taken = known.taken()
        for key in sorted({*standing, *made}):
            old, new = standing.get(key), made.get(key)
            if new is True or (old is not None and not known.may_change(old)):
                continue
            if isinstance(new, Derived):
                if old is not None or new.model.fingerprint() not in taken:
                    self._write(old, new)
            elif old is not None:
                reason = "nothing is left that it was made of"
                self.writes.append(CloseRecord(old.id, old.version, "withdraw", reason))

    def _write(self, old: Record | None, new: Derived) -> None:
        record = new_record(self.runtime, self.scope, new.model, self.batch.id, old)
        if old is not None and _shown(old) == _shown(record) and not _marks_more(record, old):
            return
        record = stamped(record).model_copy(update={"evidence": new.sources})
        if old is not None:
            record = _with_labels(record, old)
        op = "create" if old is None else "update"
        reason = "made of what was said" if old is None else "what it was made of has changed"
        self.writes.append(put_version(self.runtime, record, op, old=old, reason=reason))
        if old is not None and (lost := _lost(old.evidence, new.sources)):
            self.writes.append(UnlinkEvidence(old.id, lost, reason))
        self.messages += new.messages
        self.records += new.records

    async def _commit(self, batch: NewBatch | None) -> None:
        if self.lease is None or not (self.writes or self.judged):
            return
        made = Made(
            tuple(self.writes), tuple(self.messages), tuple(self.records), tuple(self.judged)
        )
        await self.runtime.store.consolidated(self.lease, made, self.runtime.now(), batch)


def _shown(record: Record) -> tuple[object, ...]:
    return record.title, record.text, record.occurred_at, record.ended_at


def _marks_more(record: Record, old: Record) -> bool:
    """Whether it must be written though it says no more: that a model was asked for it, and on
    what, or it would be asked again every time."""
    known = is_by_model(old) and made_from(old) == made_from(record)
    return is_by_model(record) and not known


def _stands(record: Record) -> bool:
    return record.lifecycle in ("current", "review")


def _with_labels(record: Record, old: Record) -> Record:
    """A new version with what somebody may have put on the old one beside what it says."""
    kept = {"tags": old.tags, "path": old.path, "expires_at": old.expires_at}
    return record.model_copy(update={**kept, "metadata": {**old.metadata, **record.metadata}})


def _lost(old: Iterable[Evidence], new: Sequence[Evidence]) -> tuple[str, ...]:
    kept = {item.source_id for item in new}
    return tuple(item.source_id for item in old if item.source_id not in kept)


def _fingerprint(made: Derived | bool | None) -> str | None:
    return made.model.fingerprint() if isinstance(made, Derived) else None


def _print_of(period: Period) -> str:
    """The fingerprint of a period's digest."""
    mark: JsonObject = {"of": period.key[0], "period": period.key[1]}
    model = Episodic(event_type="digest", summary="-", metadata={DERIVED: mark})
    return model.fingerprint()
