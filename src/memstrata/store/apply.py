"""`apply`: the only way records change, one transaction, every change in the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from memstrata.errors import Conflict, NotFound
from memstrata.records import BatchState, Change, Evidence, Record, Scope, micros
from memstrata.store.append import add_batch, ensure_scope, item_rows, reserve
from memstrata.store.audit import Entry, note
from memstrata.store.episodes import retell
from memstrata.store.items import HIDDEN, close_header, flag_header
from memstrata.store.once import check_unused
from memstrata.store.ports import (
    CloseRecord,
    LinkEvidence,
    Narrate,
    NewBatch,
    PutSecret,
    PutVersion,
    ShowMessages,
    Tx,
    UnlinkEvidence,
    Write,
)
from memstrata.store.rows import change_from, dumps, record_params
from memstrata.store.themes import rescan

__all__ = ["SecretKnown", "apply", "carry_out"]

STANDING = ("current", "review")


class SecretKnown(Conflict):
    """Another entry, written meanwhile, holds the same secret."""


class _Apply:
    """One transaction's worth of changes."""

    def __init__(self, tx: Tx, number: int, batch: NewBatch) -> None:
        self.tx = tx
        self.number = number
        self.batch = batch
        self.log: list[dict[str, Any]] = []

    def params(self, **more: Any) -> dict[str, Any]:
        return {"scope": self.number, **more}

    def open_version(self, record_id: str, expected: int | None) -> tuple[int, int | None]:
        """The newest version number and the open version's seq, if it is the expected one."""
        row = self.tx.one("record_open", self.params(id=record_id))
        current, newest, seq = row or (None, None, None)
        if expected is not None and newest is None:
            raise NotFound(f"no record {record_id} in this scope")
        if current != expected:
            now_at = f"version {current}" if current is not None else "taken back"
            raise Conflict(
                f"record {record_id} is {now_at}, not version {expected} any more: read it again "
                "and repeat the change"
            )
        return int(newest or 0), seq

    def close(self, record_id: str, seq: int | None, at: int) -> None:
        self.tx.run("record_close", self.params(id=record_id, at=at))
        if seq is not None:
            self.rewrite([seq], lambda header: close_header(header, at))

    def check_single(self, record: Record) -> None:
        """Of records that say the same, one stands; checked here, where nobody writes between."""
        if record.lifecycle not in STANDING:
            return
        same = {"fingerprint": record.fingerprint, "id": record.id, "now": self.batch.at}
        row = self.tx.one("record_same", self.params(**same))
        if row is not None:
            raise Conflict(
                f"{record.kind} {record.title!r} is there already as {row[0]}: update that one, or "
                "retire it first"
            )

    def rewrite(self, owners: Sequence[int], change: Callable[[bytes], bytes]) -> None:
        """Change the headers of everything that belongs to these owners."""
        found = self.tx.rows("item_headers", self.params(owners=dumps(list(owners))))
        stamp = reserve(self.tx, 1)
        rows = [self.params(seq=s, header=change(bytes(h)), stamp=stamp) for s, h in found]
        self.tx.many("item_header_set", rows)
        self.touch(stamp)

    def touch(self, stamp: int) -> None:
        self.tx.run("scope_touch", self.params(stamp=stamp))

    def note(self, op: str, target: str, reason: str, **more: Any) -> None:
        self.log.append(
            {
                "op": op,
                "target_id": target,
                "reason": reason,
                "version_before": None,
                "version_after": None,
                "evidence": None,
                **more,
            }
        )

    def put_version(self, write: PutVersion) -> None:
        record = write.record
        newest, old_seq = self.open_version(record.id, write.expected)
        self.check_single(record)
        if write.expected is not None:
            self.close(record.id, old_seq, micros(record.recorded_at))
        record = record.model_copy(update={"version": newest + 1})
        seq = reserve(self.tx, len(write.passages))
        stamp = seq + len(write.passages) - 1
        self.tx.run("record_add", self.params(seq=seq, **record_params(record)))
        self.tx.many("item_add", item_rows(self.number, seq, stamp, write.passages))
        if write.same_text and old_seq is not None:
            self.carry_vectors(old_seq, write, seq, stamp)
            self.tx.run("mention_carry", self.params(seq=seq, old=old_seq))
        self.touch(stamp)
        self.note(
            write.op,
            record.id,
            write.reason,
            version_before=write.expected,
            version_after=record.version,
            evidence=dumps(list(write.evidence)) if write.evidence else None,
        )
        added = self.add_evidence(record.id, record.evidence)
        if added and write.expected is not None:
            self.note("evidence", record.id, write.reason, evidence=dumps(added))

    def carry_vectors(self, old: int, write: PutVersion, seq: int, stamp: int) -> None:
        row = self.tx.one("store_row")
        model = row[1] if row else 0
        known = dict(self.tx.rows("item_vector_known", self.params(owner=old)))
        for place, passage in enumerate(write.passages):
            if passage.start in known:
                item = self.params(model=model, seq=seq + place, stamp=stamp)
                self.tx.run("vector_add", {**item, "vector": known[passage.start]})
                self.tx.run("item_embedded", item)

    def add_evidence(self, record_id: str, evidence: Sequence[Evidence]) -> list[str]:
        """Link sources; those that were not linked before."""
        linked = self.tx.rows("evidence_of", self.params(ids=dumps([record_id])))
        known = {source for _, source, _ in linked}
        fresh = {item.source_id: item for item in evidence if item.source_id not in known}
        link = self.params(record_id=record_id, at=self.batch.at, batch_id=self.batch.id)
        rows = [{**link, "source_id": e.source_id, "quote": e.quote} for e in fresh.values()]
        self.tx.many("evidence_add", rows)
        return list(fresh)

    def close_record(self, write: CloseRecord) -> None:
        _, seq = self.open_version(write.record_id, write.expected)
        self.close(write.record_id, seq, self.batch.at)
        rescan(self.tx, self.number)
        self.note(write.op, write.record_id, write.reason, version_before=write.expected)

    def link_evidence(self, write: LinkEvidence) -> None:
        added = self.add_evidence(write.record_id, write.evidence)
        if added:
            self.note("evidence", write.record_id, write.reason, evidence=dumps(added))

    def unlink_evidence(self, write: UnlinkEvidence) -> None:
        sources = dumps(list(write.sources))
        params = self.params(record_id=write.record_id, sources=sources, at=self.batch.at)
        if not self.tx.run("evidence_drop", params):
            raise Conflict(f"record {write.record_id} has none of this evidence any more")
        self.note("unlink", write.record_id, write.reason, evidence=sources)

    def put_secret(self, write: PutSecret) -> None:
        """Seal what belongs to an entry; `SecretKnown` if another one that stands has it."""
        known = self.tx.rows("secret_known", self.params(marks=dumps([write.mark.hex()])))
        others = bool(known) and known[0][2] == "sealed" and known[0][1] != write.record_id
        if others and not write.known:
            raise SecretKnown(f"this secret is in the vault already, as {known[0][1]}")
        entry = self.params(record_id=write.record_id)
        if write.op:
            self.tx.run("secret_refit", {**entry, "fingerprint": write.fingerprint})
            self.tx.run("secret_marks_replace", entry)
            self.note(write.op, write.record_id, write.reason)
        sealed = {"key_id": write.key_id, "sealed": write.sealed, "at": self.batch.at}
        self.tx.run("secret_put", {**entry, **sealed})
        if not others:
            self.tx.run("secret_mark_put", {**entry, "mark": write.mark})

    def show_messages(self, write: ShowMessages) -> None:
        batch = self.params(batch_id=write.batch_id)
        if write.visible and (again := self.tx.one("message_again", batch)) is not None:
            raise Conflict(
                f"message {again[0]} was undone with batch {write.batch_id} and has been stored "
                f"again since, as {again[1]}: undo that first"
            )
        seqs = [int(row[0]) for row in self.tx.rows("message_of_batch", batch)]
        hidden_at = None if write.visible else self.batch.at
        if not self.tx.run("message_show", {**batch, "hidden_at": hidden_at}):
            state = "shown" if write.visible else "hidden"
            raise Conflict(f"the messages of batch {write.batch_id} are {state} already, or gone")
        self.rewrite(seqs, lambda h: flag_header(h, HIDDEN, on=not write.visible))
        state = self.shown_state(write.batch_id) if write.visible else "undone"
        ended = {"id": write.batch_id, "state": state, "reason": None, "at": self.batch.at}
        self.tx.run("batch_state", self.params(**ended))
        self.note(write.op, write.batch_id, write.reason)

    def shown_state(self, batch_id: str) -> BatchState:
        """What is brought back before it was ever distilled waits for that again."""
        task = self.tx.one("batch_task", self.params(id=batch_id))
        _, request, distilled, _ = task or ("", None, 1, "")
        wanted = json.loads(request or "{}").get("infer", True)
        return "done" if distilled or not wanted else "pending"

    def write_log(self) -> list[Change]:
        first = reserve(self.tx, len(self.log)) if self.log else 0
        # A batch that was distilled in two goes has changes already.
        had = self.tx.rows("change_of_batch", self.params(batch_id=self.batch.id))
        before = max((int(str(row[0]).rpartition("_")[2]) + 1 for row in had), default=0)
        rows: list[dict[str, Any]] = []
        for place, entry in enumerate(self.log):
            change_id = f"chg_{self.batch.id.partition('_')[2]}_{before + place}"
            common = {"batch_id": self.batch.id, "actor": self.batch.actor, "at": self.batch.at}
            rows.append(self.params(seq=first + place, id=change_id, **common, **entry))
        self.tx.many("change_add", rows)
        found = self.tx.rows("change_of_batch", self.params(batch_id=self.batch.id))
        return [change_from(row) for row in found]


def apply(
    tx: Tx,
    scope: Scope,
    batch: NewBatch,
    writes: Sequence[Write],
    narrate: Narrate | None = None,
) -> list[Change]:
    """Carry out the writes in order; raise `Conflict` if a version moved, and write nothing.

    Where messages are hidden or shown, `narrate` tells their episodes anew.
    """
    number = ensure_scope(tx, scope, batch.at)
    check_unused(tx, number, batch)
    if not writes:  # it can be sent again, and nothing would lead an erasure to its digest
        batch = replace(batch, digest=None, idempotency_key=None)
    add_batch(tx, number, batch)
    changes = carry_out(tx, number, batch, writes)
    _note_secrets(tx, scope, batch, writes)
    if narrate is not None:
        for write in writes:
            if isinstance(write, ShowMessages):
                params = {"scope": number, "batch_id": write.batch_id}
                rows = tx.rows("episode_of_batch", params)
                retell(tx, scope, number, [int(row[0]) for row in rows], narrate)
    return changes


def _note_secrets(tx: Tx, scope: Scope, batch: NewBatch, writes: Sequence[Write]) -> None:
    secrets = [write for write in writes if isinstance(write, PutSecret)]
    for write in secrets:
        if write.op:
            note(tx, scope, Entry(batch.at, batch.actor, write.op, write.record_id, write.reason))
    if sealed := sum(not write.op for write in secrets):
        note(tx, scope, Entry(batch.at, batch.actor, "seal", detail={"secrets": sealed}))


def carry_out(tx: Tx, number: int, batch: NewBatch, writes: Sequence[Write]) -> list[Change]:
    """Carry out the writes of a batch that is noted already."""
    work = _Apply(tx, number, batch)
    for write in writes:
        match write:
            case PutVersion():
                work.put_version(write)
            case CloseRecord():
                work.close_record(write)
            case LinkEvidence():
                work.link_evidence(write)
            case UnlinkEvidence():
                work.unlink_evidence(write)
            case PutSecret():
                work.put_secret(write)
            case ShowMessages():
                work.show_messages(write)
    return work.write_log()
