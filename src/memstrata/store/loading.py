"""Storing the rows of a dump that are not there yet, in one transaction for each group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from memstrata.records import Episode, Message, Record, Scope, micros
from memstrata.store import entities, episodes, secrets
from memstrata.store.append import add_batch, ensure_scope, item_rows, reserve
from memstrata.store.items import close_header, speaker_hash
from memstrata.store.ports import Narrate, NewBatch, Passage, PutEntity, PutEpisode, Told, Tx
from memstrata.store.rows import dumps, message_params, record_params, signed
from memstrata.store.tombstones import Tombstones
from memstrata.store.transfer import (
    BatchRow,
    ChangeRow,
    EntityRow,
    EvidenceRow,
    Index,
    Loadable,
    SecretRow,
    TombstoneRow,
)

__all__ = ["Loading", "load_rows"]


@dataclass(frozen=True, slots=True)
class Loading:
    """What the rows of one scope are loaded with."""

    index: Index
    narrate: Narrate
    """Tells an episode anew of which messages were erased here."""
    same: dict[str, str] = field(default_factory=dict[str, str])
    """Messages of the dump that are stored here under another id, which stands for theirs."""


def load_rows(
    tx: Tx,
    scope: Scope,
    rows: Sequence[Loadable],
    using: Loading,
    at: int,
    found: tuple[NewBatch, secrets.Found] | None,
) -> int:
    """Store dumped rows that are not there yet and were not erased here; how many were stored.

    `found` are the secrets that were taken out of them, and the batch that seals those.
    """
    number = ensure_scope(tx, scope, at)
    load = _Load(tx, scope, number, using, at)
    count = 0
    fresh: set[str] = set()
    for row in rows:
        stored = load.one(row)
        count += stored
        if stored and isinstance(row.value, Message | Record):
            fresh.add(row.value.id)
    if found is not None:
        batch, taken = found
        add_batch(tx, number, batch)
        secrets.put(tx, scope, batch, taken, fresh)
    return count


class _Load:
    """One transaction's worth of rows."""

    def __init__(self, tx: Tx, scope: Scope, number: int, using: Loading, at: int) -> None:
        self.tx = tx
        self.at = at
        self.scope = scope
        self.number = number
        self.using = using
        self.buried = Tombstones(tx, number)
        self.owner = {"user_id": scope.user_id, "agent_id": scope.agent_id}

    def one(self, row: Loadable) -> int:
        match row.value:
            case Message():
                return self.message(row.value.model_copy(update=self.owner), row)
            case Record():
                return self.record(row.value.model_copy(update=self.owner))
            case Episode():
                return self.episode(row.value)
            case EntityRow():
                return self.entity(row.value)
            case BatchRow():
                return self.batch(row.value)
            case EvidenceRow():
                return self.evidence(row.value)
            case ChangeRow():
                return self.change(row.value)
            case SecretRow():
                return self.secret(row.value)
            case TombstoneRow():
                return self.tombstone(row.value)

    def params(self, **more: Any) -> dict[str, Any]:
        return {"scope": self.number, **more}

    def gone(self, *ids: str | None) -> set[str]:
        """Which of these ids were erased here."""
        given = [key for key in ids if key is not None]
        return {str(key) for key in self.buried.find("id", given)}

    def tombstone(self, stone: TombstoneRow) -> int:
        """Note what was erased where the dump was made; a turn stands behind what was loaded."""
        values = stone.model_dump()
        values.update(salt=bytes.fromhex(stone.salt), mark=bytes.fromhex(stone.mark), place=0)
        if stone.session is not None:
            if self.tx.one("tombstone_turn_known", self.params(**values)):
                return 0
            values.update(session=bytes.fromhex(stone.session), place=reserve(self.tx, 1))
        return self.tx.run("tombstone_add", self.params(**values))

    def secret(self, secret: SecretRow) -> int:
        if self.gone(secret.record_id):
            return 0
        return secrets.load(self.tx, self.number, secret.model_dump())

    def evidence(self, link: EvidenceRow) -> int:
        if self.gone(link.record_id, link.source_id):
            return 0
        source = self.using.same.get(link.source_id, link.source_id)
        stored = self.params(**{**link.model_dump(), "source_id": source})
        return self.tx.run("evidence_load", stored)

    def message(self, message: Message, row: Loadable) -> int:
        if self.gone(message.id) or (
            row.identity is not None and self.buried.find("identity", [row.identity])
        ):
            return 0
        if self.tx.rows("message_by_id", self.params(ids=dumps([message.id]))):
            return 0
        identities = self.params(identities=dumps([row.identity.hex()] if row.identity else []))
        known = self.tx.rows("identity_find", identities) if message.hidden_at is None else []
        if known:
            self.using.same[message.id] = str(known[0][1])
            return 0
        seq = self.items(self.using.index(message))
        stored = self.params(seq=seq, digest=row.digest, identity=row.identity)
        self.tx.run("message_add", {**stored, **message_params(message)})
        said = signed(speaker_hash(message.speaker))
        self.tx.run("speaker_add", self.params(hash=said, name=message.speaker))
        return 1

    def episode(self, episode: Episode) -> int:
        """Store an episode with the messages that are in none; a newer telling replaces ours."""
        row = next(iter(self.tx.rows("episode_by_id", self.params(ids=dumps([episode.id])))), None)
        gone = self.gone(*episode.message_ids)
        left = [one for one in episode.message_ids if one not in gone]
        ids = self.params(ids=dumps(left))
        free = [str(found[0]) for found in self.tx.rows("message_in_no_episode", ids)]
        if row is None and not free:
            return 0
        seq = None if row is None else int(row[0])
        ended = micros(episode.ended_at)
        if row is not None and (not row[9] or (episode.open and ended <= row[8])):
            return 0
        if gone and row is not None and not free:
            return 0  # what it tells of what was erased here must not come back
        told = Told(episode.title, episode.summary, tuple(episode.people), tuple(episode.topics))
        times = micros(episode.started_at), ended
        owner = episode.session_id
        write = PutEpisode(episode.id, seq, owner, told, *times, episode.open, tuple(free))
        if gone:
            write = replace(write, told=Told("", ""))
        episodes.put(self.tx, self.number, episode.batch_id, micros(episode.recorded_at), write)
        if gone:
            seq = self.tx.rows("episode_by_id", self.params(ids=dumps([episode.id])))[0][0]
            episodes.retell(self.tx, self.scope, self.number, [int(seq)], self.using.narrate)
        return int(row is None)

    def entity(self, entity: EntityRow) -> int:
        known = entities.by_id(self.tx, self.number, entity.id)
        gone = self.gone(*entity.owners)
        same = self.using.same
        owners = tuple(same.get(owner, owner) for owner in entity.owners if owner not in gone)
        if gone and not owners:
            return 0
        spellings = tuple(entity.spellings)
        write = PutEntity(entity.id, known, entity.name, entity.entity_type, spellings, owners)
        entities.put(self.tx, self.number, self.at, [write])
        if gone and (seq := entities.by_id(self.tx, self.number, entity.id)) is not None:
            entities.drop_unwritten(self.tx, self.number, [seq], self.at)
        return int(known is None)

    def record(self, record: Record) -> int:
        gone = self.gone(record.id, record.supersedes, record.superseded_by)
        if record.id in gone:
            return 0
        if gone:
            record = record.model_copy(
                update={
                    side: None
                    for side in ("supersedes", "superseded_by")
                    if getattr(record, side) in gone
                }
            )
        versions = self.tx.rows("record_versions", self.params(id=record.id))
        stored = {int(version[2]): version for version in versions}
        if record.version in stored:
            there = stored[record.version]
            if record.closed_at is not None and there[14] is None:
                self.close(record, int(there[0]))
            return 0
        seq = self.items(self.using.index(record))
        self.tx.run("record_add", self.params(seq=seq, **record_params(record)))
        return 1

    def close(self, record: Record, seq: int) -> None:
        """Close the version that was the newest when it was stored here: a later one follows."""
        at = micros(record.closed_at) if record.closed_at else 0
        self.tx.run("record_close", self.params(id=record.id, at=at))
        stamp = reserve(self.tx, 1)
        for item, header in self.tx.rows("item_headers", self.params(owners=dumps([seq]))):
            closed = self.params(seq=item, header=close_header(bytes(header), at), stamp=stamp)
            self.tx.run("item_header_set", closed)
        self.tx.run("scope_touch", self.params(stamp=stamp))

    def batch(self, batch: BatchRow) -> int:
        if self.tx.one("batch_get", self.params(id=batch.id)):
            return 0
        values = batch.model_dump(exclude={"spending"})
        values["digest"] = bytes.fromhex(batch.digest) if batch.digest else None
        key = batch.idempotency_key
        if key and (
            self.tx.one("batch_by_key", self.params(idempotency_key=key))
            or self.buried.find("key", [key])
        ):
            values["idempotency_key"] = None
        if values["digest"] and self.buried.find("batch", [values["digest"]]):
            values["digest"] = None
        self.tx.run("batch_load", self.params(**values))
        costs = (self.params(batch_id=batch.id, **each.model_dump()) for each in batch.spending)
        self.tx.many("spending_add", costs)
        return 1

    def change(self, change: ChangeRow) -> int:
        if self.tx.one("change_by_id", self.params(id=change.id)) or self.gone(change.target_id):
            return 0
        values = change.model_dump()
        if change.evidence:
            cited = cast("list[str]", json.loads(change.evidence))
            gone, same = self.gone(*cited), self.using.same
            left = [same.get(source, source) for source in cited if source not in gone]
            values["evidence"] = dumps(left) if left else None
        self.tx.run("change_add", self.params(seq=reserve(self.tx, 1), **values))
        return 1

    def items(self, passages: tuple[Passage, ...]) -> int:
        seq = reserve(self.tx, len(passages))
        stamp = seq + len(passages) - 1
        self.tx.many("item_add", item_rows(self.number, seq, stamp, passages))
        self.tx.run("scope_touch", self.params(stamp=stamp))
        return seq
