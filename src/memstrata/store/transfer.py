"""Everything a scope holds as plain mappings, and back: ids and times as they were.

Terms, headers and vectors are not carried: they are computed again where it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from memstrata.errors import InvalidInput
from memstrata.kinds import explain, kind_of
from memstrata.records import BatchState, Episode, Message, Record, Scope, micros
from memstrata.store import entities, episodes
from memstrata.store.append import ensure_scope, find_scope, item_rows, reserve
from memstrata.store.items import close_header, speaker_hash
from memstrata.store.ports import Passage, PutEntity, PutEpisode, Told, Tx
from memstrata.store.rows import (
    dumps,
    message_from,
    message_params,
    record_from,
    record_params,
    signed,
)

__all__ = ["PARTS", "Carried", "Index", "Loadable", "dump_page", "load_rows", "read_row"]

Carried = dict[str, Any]
"""One dumped row: `type`, its columns, and for messages `digest` and `identity` in hex."""

Index = Callable[[Message | Record], tuple[Passage, ...]]
"""Makes the index form of a message or record that is being loaded."""

PARTS = ("batch", "message", "record", "evidence", "change", "episode", "entity")
"""The parts of a dump, in the order in which they are written and read."""

_PAGE = 1000


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Batch(_Row):
    """The columns of a batch, in the order of the statement that reads them."""

    id: str
    verb: str
    actor: str
    state: BatchState
    reason: str | None = None
    attempts: int = 0
    request: str | None = None
    distilled: int = 0
    digest: str | None = None
    idempotency_key: str | None = None
    created_at: int
    finished_at: int | None = None


class _Evidence(_Row):
    """The columns of a link, in the order of the statement that reads them."""

    record_id: str
    source_id: str
    quote: str | None = None
    added_at: int
    batch_id: str


class _Change(_Row):
    """The columns of a log entry but its number, in the order of the statement."""

    id: str
    batch_id: str
    op: str
    target_id: str
    version_before: int | None = None
    version_after: int | None = None
    actor: str
    reason: str
    evidence: str | None = None
    at: int


class _Entity(_Row):
    """An entity: its spellings as (normal form, as written, given name only), what mentions it."""

    id: str
    name: str
    entity_type: str
    spellings: list[tuple[str, str, bool]]
    owners: list[str]


@dataclass(frozen=True, slots=True)
class Loadable:
    """A row of a dump that was read and found in order."""

    value: Message | Record | Episode | _Batch | _Evidence | _Change | _Entity
    digest: bytes = b""
    identity: bytes | None = None


_VALUES: dict[str, type[Message | Record | Episode | _Batch | _Evidence | _Change | _Entity]] = {
    "batch": _Batch,
    "episode": Episode,
    "message": Message,
    "record": Record,
    "evidence": _Evidence,
    "change": _Change,
    "entity": _Entity,
}


def dump_page(tx: Tx, scope: Scope, part: str, after: int) -> tuple[list[Carried], int | None]:
    """A page of one part of a scope, and where the next one begins (None: the part is done)."""
    number = find_scope(tx, scope)
    if number is None:
        return [], None
    if part in ("message", "record"):
        return _dump_rows(tx, scope, number, part, after)
    if part == "episode":
        return _dump_episodes(tx, scope, number), None
    if part == "entity":
        return _dump_entities(tx, number), None
    statement, columns = {
        "batch": ("batch_all", tuple(_Batch.model_fields)),
        "evidence": ("evidence_all", tuple(_Evidence.model_fields)),
        "change": ("change_all", ("seq", *_Change.model_fields)),
    }[part]
    rows = tx.rows(statement, {"scope": number})
    return [_carry(part, dict(zip(columns, row, strict=True))) for row in rows], None


def _dump_rows(
    tx: Tx, scope: Scope, number: int, part: str, after: int
) -> tuple[list[Carried], int | None]:
    rows = tx.rows(f"{part}_all", {"scope": number, "after": after, "limit": _PAGE})
    carried: list[Carried] = []
    for row in rows:
        if part == "message":
            value = message_from(scope, row).model_dump(mode="json", exclude_none=True)
            value.update(digest=row[16], identity=row[17])
        else:
            value = record_from(scope, row).model_dump(mode="json", exclude_none=True)
            value.pop("evidence", None)
        carried.append(_carry(part, value))
    return carried, int(rows[-1][0]) if len(rows) == _PAGE else None


def _dump_episodes(tx: Tx, scope: Scope, number: int) -> list[Carried]:
    rows = tx.rows("episode_all", {"scope": number})
    told = episodes.episodes_with(tx, scope, number, rows, hidden=True)
    return [_carry("episode", one.model_dump(mode="json")) for one in told]


def _dump_entities(tx: Tx, number: int) -> list[Carried]:
    carried: list[Carried] = []
    for seq, entity_id, name, kind in tx.rows("entity_all", {"scope": number}):
        one = {"scope": number, "entity": seq, "seqs": dumps([seq]), "limit": -1}
        spellings = [list(row[1:]) for row in tx.rows("entity_names_of", one)]
        owners = [str(row[0]) for row in tx.rows("mention_sources", one)]
        named = {"id": entity_id, "name": name, "entity_type": kind}
        carried.append(_carry("entity", {**named, "spellings": spellings, "owners": owners}))
    return carried


def _carry(part: str, value: Carried) -> Carried:
    for name in ("digest", "identity"):
        if isinstance(value.get(name), bytes):
            value[name] = value[name].hex()
    value.pop("seq", None)
    return {"type": part, **{key: item for key, item in value.items() if item is not None}}


def read_row(row: Carried, where: str) -> Loadable:
    """A line of a dump, checked; `InvalidInput` says where it is and what is wrong with it."""
    part = row.get("type")
    if not isinstance(part, str) or part not in _VALUES:
        known = ", ".join(sorted(_VALUES))
        raise InvalidInput(f"{where}: no row of a memstrata dump (type one of {known})")
    plain = {key: value for key, value in row.items() if key != "type"}
    try:
        if part != "message":
            value = _VALUES[part].model_validate(plain)
            if isinstance(value, Record):
                kind_of(value.kind)
            return Loadable(value)
        digest, identity = plain.pop("digest", None), plain.pop("identity", None)
        value = Message.model_validate(plain)
        return Loadable(value, _unhex(digest), _unhex(identity) if identity else None)
    except ValidationError as error:
        raise InvalidInput(f"{where}: {explain(error)}") from error
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error


def _unhex(text: object) -> bytes:
    try:
        return bytes.fromhex(cast("str", text))
    except (TypeError, ValueError):
        raise InvalidInput(f"digest and identity are hexadecimal, not {text!r}") from None


def load_rows(tx: Tx, scope: Scope, rows: Sequence[Loadable], index: Index, at: int) -> int:
    """Store dumped rows that are not there yet; how many were stored."""
    load = _Load(tx, scope, ensure_scope(tx, scope, at), index, at)
    return sum(load.one(row) for row in rows)


class _Load:
    """One transaction's worth of rows."""

    def __init__(self, tx: Tx, scope: Scope, number: int, index: Index, at: int) -> None:
        self.tx = tx
        self.at = at
        self.number = number
        self.index = index
        self.owner = {"user_id": scope.user_id, "agent_id": scope.agent_id}

    def one(self, row: Loadable) -> int:
        match row.value:
            case Message():
                return self.message(row.value.model_copy(update=self.owner), row)
            case Record():
                return self.record(row.value.model_copy(update=self.owner))
            case Episode():
                return self.episode(row.value)
            case _Entity():
                return self.entity(row.value)
            case _Batch():
                return self.batch(row.value)
            case _Evidence():
                link = row.value.model_dump(exclude={"added_at"})
                return self.tx.run("evidence_add", self.params(at=row.value.added_at, **link))
            case _Change():
                return self.change(row.value)

    def params(self, **more: Any) -> dict[str, Any]:
        return {"scope": self.number, **more}

    def message(self, message: Message, row: Loadable) -> int:
        identities = dumps([row.identity.hex()] if row.identity else [])
        if self.tx.rows("message_by_id", self.params(ids=dumps([message.id]))) or (
            message.hidden_at is None
            and self.tx.rows("identity_find", self.params(identities=identities))
        ):
            return 0
        seq = self.items(self.index(message))
        stored = self.params(seq=seq, digest=row.digest, identity=row.identity)
        self.tx.run("message_add", {**stored, **message_params(message)})
        said = signed(speaker_hash(message.speaker))
        self.tx.run("speaker_add", self.params(hash=said, name=message.speaker))
        return 1

    def episode(self, episode: Episode) -> int:
        """Store an episode with the messages that are in none; a newer telling replaces ours."""
        row = next(iter(self.tx.rows("episode_by_id", self.params(ids=dumps([episode.id])))), None)
        ids = self.params(ids=dumps(episode.message_ids))
        free = [str(found[0]) for found in self.tx.rows("message_in_no_episode", ids)]
        if row is None and not free:
            return 0
        seq = None if row is None else int(row[0])
        ended = micros(episode.ended_at)
        if row is not None and (not row[9] or (episode.open and ended <= row[8])):
            return 0
        told = Told(episode.title, episode.summary, tuple(episode.people), tuple(episode.topics))
        times = micros(episode.started_at), ended
        owner = episode.session_id
        write = PutEpisode(episode.id, seq, owner, told, *times, episode.open, tuple(free))
        episodes.put(self.tx, self.number, episode.batch_id, micros(episode.recorded_at), write)
        return int(row is None)

    def entity(self, entity: _Entity) -> int:
        known = entities.by_id(self.tx, self.number, entity.id)
        spellings, owners = tuple(entity.spellings), tuple(entity.owners)
        write = PutEntity(entity.id, known, entity.name, entity.entity_type, spellings, owners)
        entities.put(self.tx, self.number, self.at, [write])
        return int(known is None)

    def record(self, record: Record) -> int:
        versions = self.tx.rows("record_versions", self.params(id=record.id))
        stored = {int(version[2]): version for version in versions}
        if record.version in stored:
            there = stored[record.version]
            if record.closed_at is not None and there[14] is None:
                self.close(record, int(there[0]))
            return 0
        seq = self.items(self.index(record))
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

    def batch(self, batch: _Batch) -> int:
        if self.tx.one("batch_get", self.params(id=batch.id)):
            return 0
        values = batch.model_dump()
        values["digest"] = bytes.fromhex(batch.digest) if batch.digest else None
        key = batch.idempotency_key
        if key and self.tx.one("batch_by_key", self.params(idempotency_key=key)):
            values["idempotency_key"] = None
        self.tx.run("batch_load", self.params(**values))
        return 1

    def change(self, change: _Change) -> int:
        if self.tx.one("change_by_id", self.params(id=change.id)):
            return 0
        self.tx.run("change_add", self.params(seq=reserve(self.tx, 1), **change.model_dump()))
        return 1

    def items(self, passages: tuple[Passage, ...]) -> int:
        seq = reserve(self.tx, len(passages))
        stamp = seq + len(passages) - 1
        self.tx.many("item_add", item_rows(self.number, seq, stamp, passages))
        self.tx.run("scope_touch", self.params(stamp=stamp))
        return seq
