"""What the local rules made in place of a model that failed: it stands, marked, until the model
has read what was said; then it is taken back as if it had not been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memstrata.errors import Conflict
from memstrata.ingest.undo import inverse, net
from memstrata.ingest.versions import put_version
from memstrata.records import Record, Scope
from memstrata.runtime import Runtime
from memstrata.store.ports import CloseRecord, NewBatch, PutVersion, View, Write

__all__ = ["MARK", "PREFIX", "TakenBack", "take_back"]

MARK = "provisional"
"""The member of a record's `metadata` that says so."""
PREFIX = "provisional: "
"""What the reasons of such changes begin with."""


@dataclass(slots=True)
class TakenBack:
    """The writes that take it back, and what stands then."""

    writes: list[Write] = field(default_factory=list[Write])
    instead: dict[str, Record | None] = field(default_factory=dict[str, Record | None])
    """By the id of a record, what it is after that; None where it is gone."""

    def add(self, write: Write) -> None:
        """One write more."""
        self.writes.append(write)
        if isinstance(write, CloseRecord):
            self.instead[write.record_id] = None
        elif isinstance(write, PutVersion):
            self.instead[write.record.id] = write.record

    def seen(self, related: Sequence[Record]) -> list[Record]:
        """Records as they are when this is done."""
        gone = {key for key, one in self.instead.items() if one is None}
        restored = {key: one for key, one in self.instead.items() if one is not None}
        there = {record.id: record for record in related if record.id not in gone}
        return [*{**there, **restored}.values()]


async def take_back(runtime: Runtime, scope: Scope, batch_id: str) -> TakenBack:
    """What was provisional in a batch, but for what has been changed since: that is somebody's.

    What such a record took the place of stays ended by it, and its mark is taken off.
    """
    found = await runtime.store.changes(View((scope,)), batch_id)
    marked = [change for _, change in found if change.reason.startswith(PREFIX)]
    batch = NewBatch(batch_id, "add", "", runtime.now())
    inverses: dict[str, list[Write]] = {}
    kept: list[str] = []
    for change in net(marked):
        if change.op == "evidence":
            continue  # what it rests on is so, whoever has found it
        try:
            inverses[change.target_id] = await inverse(runtime, scope, change, batch, cascade=False)
        except Conflict:
            kept.append(change.target_id)
    there = await runtime.store.get(View((scope,)), [*inverses, *kept])
    records = {key: one for key, one in there.items() if isinstance(one, Record)}
    taken = TakenBack()
    for record_id, writes in inverses.items():
        record = records.get(record_id)
        if record is None or record.superseded_by not in kept:
            for write in writes:
                taken.add(write)
    for record_id in kept:
        record = records.get(record_id)
        if record is not None and MARK in record.metadata:
            taken.add(_unmarked(runtime, record, batch_id))
    return taken


def _unmarked(runtime: Runtime, record: Record, batch_id: str) -> PutVersion:
    again = record.model_copy(
        update={
            "version": record.version + 1,
            "recorded_at": max(runtime.clock(), record.recorded_at),
            "batch_id": batch_id,
            "metadata": {key: one for key, one in record.metadata.items() if key != MARK},
            "evidence": [],
        }
    )
    return put_version(runtime, again, "update", old=record, reason="a model has read it")
