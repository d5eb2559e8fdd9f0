"""What distilling a batch needs to see, and writing what came of it, each in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from memstrata.errors import Conflict
from memstrata.records import Change, Episode, JsonObject, Message, Record, Scope
from memstrata.store import entities, episodes
from memstrata.store.append import find_scope
from memstrata.store.apply import carry_out
from memstrata.store.batches import Lease
from memstrata.store.entities import KnownEntity
from memstrata.store.ports import (
    LinkEvidence,
    Narrate,
    NewBatch,
    PutEntity,
    PutEpisode,
    PutVersion,
    Row,
    Tx,
    Write,
)
from memstrata.store.read import TenantSettings, tenant_settings, user_settings
from memstrata.store.rows import dumps, message_from, record_from
from memstrata.store.tombstones import Tombstones
from memstrata.store.views import evidence_of

__all__ = [
    "Distilled",
    "Material",
    "Talk",
    "about",
    "commit",
    "known_entities",
    "material",
    "open_records",
    "rejected",
    "related",
    "seen_names",
]

_BEFORE = 10
_PROVISIONAL = 2
"""In `batches.distilled`: the local rules have stood in for a model."""


@dataclass(frozen=True, slots=True)
class Talk:
    """The new messages of one session, and what they follow."""

    session_id: str | None
    fresh: tuple[Message, ...]
    before: tuple[Message, ...]
    """Up to ten messages of the session, or of the last one, that stand before; oldest first."""
    open: tuple[int, Episode, tuple[Message, ...]] | None
    """The session's open episode: number, itself, its messages."""
    kinds: tuple[str, ...] | None = None
    """The kinds that may be made of them, as was asked when they were added; None: all."""


@dataclass(frozen=True, slots=True)
class Material:
    """A batch that is to be distilled."""

    verb: str
    actor: str
    request: JsonObject
    done: bool
    talks: tuple[Talk, ...]
    idle: tuple[tuple[int, int], ...]
    """Open episodes of other sessions: number, and when the last message was said."""
    timezone: str | None
    tenant: TenantSettings
    provisional: bool = False
    """Whether the rules have stood in for a model, and `talks` hold what it has not read yet."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """What came of a batch."""

    episodes: tuple[PutEpisode, ...] = ()
    closed: tuple[int, ...] = ()
    writes: tuple[Write, ...] = ()
    entities: tuple[PutEntity, ...] = field(default=())
    read: tuple[str, ...] = field(default=())
    """Ids of the messages it was made from; if one of them was erased meanwhile, it is void."""
    unread: tuple[str, ...] = field(default=())
    """Ids of the messages that a model was to read and has not."""
    refused: tuple[str, ...] = field(default=())
    """Why proposals of a model do not hold; nothing of what they say."""
    retold: tuple[tuple[str, ...], Narrate] | None = None
    """Messages whose episodes are there, and are told anew."""


def material(tx: Tx, lease: Lease) -> Material:
    """What a leased batch brought, by session, with what stands around it."""
    number = lease.number
    task = tx.one("batch_task", {"scope": number, "id": lease.batch_id})
    verb, request, done, actor = task or ("", None, 1, "")
    asked = cast("JsonObject", json.loads(request or "{}"))
    unread = asked.get("unread") if done == _PROVISIONAL else None
    opened: dict[str | None, Row] = {}
    if "rebuild" in asked:
        talks = _rebuilt(tx, lease.scope, number, asked["rebuild"])
    elif unread is not None:
        talks = _left(tx, lease.scope, number, unread, _kinds(asked))
    else:
        opened = {row[2]: row for row in tx.rows("episode_open", {"scope": number})}
        rows = tx.rows("message_fresh", {"scope": number, "batch_id": lease.batch_id})
        by_session: dict[str | None, list[Row]] = {}
        for row in rows:
            by_session.setdefault(row[3], []).append(row)
        talks = tuple(
            _talk(tx, lease.scope, number, group, opened.pop(session, None), _kinds(asked))
            for session, group in by_session.items()
        )
    user = Scope(tenant=lease.scope.tenant, user_id=lease.scope.user_id)
    return Material(
        verb=verb,
        actor=actor,
        request=asked,
        done=bool(done) and unread is None,
        talks=talks,
        idle=tuple((int(row[0]), int(row[8])) for row in opened.values()),
        timezone=user_settings(tx, user)[0],
        tenant=tenant_settings(tx, lease.scope.tenant),
        provisional=unread is not None,
    )


def _left(
    tx: Tx, scope: Scope, number: int, ids: object, kinds: tuple[str, ...] | None
) -> tuple[Talk, ...]:
    """The messages of a batch that a model has not read, by session; their episodes are there."""
    by_session: dict[str | None, list[Row]] = {}
    for row in sorted(tx.rows("message_by_id", {"scope": number, "ids": dumps(ids)})):
        if row[10] is None:
            by_session.setdefault(row[3], []).append(row)
    return tuple(_talk(tx, scope, number, rows, None, kinds) for rows in by_session.values())


def _kinds(request: JsonObject) -> tuple[str, ...] | None:
    kinds = request.get("kinds")
    return tuple(map(str, kinds)) if isinstance(kinds, list) else None


def _rebuilt(tx: Tx, scope: Scope, number: int, ids: object) -> tuple[Talk, ...]:
    """Messages that are distilled again, each by itself after those that stand before it."""
    rows = tx.rows("message_by_id", {"scope": number, "ids": dumps(ids)})
    talks: list[Talk] = []
    for row in sorted(rows):
        if row[10] is None:
            task = tx.one("batch_task", {"scope": number, "id": row[15]})
            asked = json.loads((task[1] if task else None) or "{}")
            talks.append(_talk(tx, scope, number, [row], None, _kinds(asked)))
    return tuple(talks)


def _talk(
    tx: Tx,
    scope: Scope,
    number: int,
    rows: Sequence[Row],
    opened: Row | None,
    kinds: tuple[str, ...] | None,
) -> Talk:
    session = rows[0][3]
    first = min(int(row[0]) for row in rows)
    params = {"scope": number, "session_id": session, "before": first, "count": _BEFORE}
    name = "message_before" if session is not None else "message_before_alone"
    rows_before = tx.rows(name, params) or tx.rows("message_before_all", params)
    before = [message_from(scope, row) for row in rows_before]
    standing = None
    if opened is not None:
        seq = int(opened[0])
        episode = episodes.by_seq(tx, scope, number, dumps([seq]))[seq]
        standing = (seq, episode, tuple(episodes.messages_of(tx, scope, number, seq)))
    fresh = tuple(message_from(scope, row) for row in rows)
    return Talk(session, fresh, tuple(reversed(before)), standing, kinds)


def related(
    tx: Tx,
    lease: Lease,
    subjects: Iterable[tuple[str, str]],
    fingerprints: Collection[str],
    prefix: str,
    ids: Collection[str] = (),
) -> list[Record]:
    """Open records about these (subject, attribute) pairs, with these fingerprints or ids, or this
    prefix.

    Retired ones are left out; each record once.
    """
    number = lease.number
    pairs = dumps(sorted(map(list, set(subjects))))
    rows = tx.rows("record_of_subjects", {"scope": number, "pairs": pairs})
    listed = dumps(sorted(fingerprints))
    rows += tx.rows("record_of_fingerprints", {"scope": number, "fingerprints": listed})
    rows += tx.rows(
        "record_of_prefix", {"scope": number, "low": f"{prefix}_", "high": f"{prefix}`"}
    )
    rows += tx.rows("record_by_id", {"scope": number, "ids": dumps(sorted(ids))})
    return [r for r in _records(tx, lease.scope, number, rows) if r.lifecycle != "retired"]


def about(tx: Tx, scope: Scope, subjects: Iterable[tuple[str, str]]) -> list[Record]:
    """Open records of a scope about these (subject, attribute) pairs, but the retired ones."""
    number = find_scope(tx, scope)
    if number is None:
        return []
    pairs = dumps(sorted(map(list, set(subjects))))
    rows = tx.rows("record_of_subjects", {"scope": number, "pairs": pairs})
    return _records(tx, scope, number, rows)


def open_records(tx: Tx, lease: Lease) -> list[Record]:
    """The open records that the batch wrote."""
    params = {"scope": lease.number, "batch_id": lease.batch_id}
    rows = tx.rows("record_of_batch", params)
    return _records(tx, lease.scope, lease.number, rows)


def _records(tx: Tx, scope: Scope, number: int, rows: Iterable[Row]) -> list[Record]:
    by_seq = {row[0]: row for row in rows}
    evidence = evidence_of(tx, number, [row[1] for row in by_seq.values()])
    return [record_from(scope, row, evidence.get(row[1], ())) for _, row in sorted(by_seq.items())]


def seen_names(tx: Tx, lease: Lease) -> set[str]:
    """The normal forms of all names known in the scope."""
    return {str(row[0]) for row in tx.rows("entity_known", {"scope": lease.number})}


def known_entities(tx: Tx, lease: Lease, normals: Collection[str]) -> list[KnownEntity]:
    """The entities written in one of these normal forms."""
    return entities.find(tx, lease.number, normals)


def rejected(tx: Tx, lease: Lease, fingerprints: Collection[str]) -> set[str]:
    """Of these fingerprints those of what a person took back, changed or had erased.

    Records that were retired, corrected or undone, or wait for review, and none that stands.
    """
    prints = sorted(set(fingerprints))
    asked = {"scope": lease.number, "fingerprints": dumps(prints)}
    found = {str(row[0]) for row in tx.rows("record_rejected", asked)}
    return found | {str(one) for one in Tombstones(tx, lease.number).find("fact", prints)}


def commit(tx: Tx, lease: Lease, made: Distilled, at: int, actor: str) -> list[Change] | None:
    """Write what came of the batch; None if another process has taken it over, or has done it.

    `Conflict` if anything it was made from, or adds to, was erased or taken back meanwhile.
    """
    unread = dumps(list(made.unread)) if made.unread else None
    held = {"scope": lease.number, "id": lease.batch_id, "owner": lease.owner, "unread": unread}
    held["refused"] = dumps(list(made.refused)) if made.refused else None
    if not tx.run("batch_distilled", held):
        return None
    _check_there(tx, lease.number, made)
    tx.run("batch_rebuilt", {"scope": lease.number, "id": lease.batch_id})
    for write in made.episodes:
        episodes.put(tx, lease.number, lease.batch_id, at, write)
    episodes.close(tx, lease.number, made.closed)
    if made.retold is not None:
        ids, narrate = made.retold
        rows = tx.rows("episode_of_messages", {"scope": lease.number, "ids": dumps(list(ids))})
        episodes.retell(tx, lease.scope, lease.number, [int(row[0]) for row in rows], narrate)
    batch = NewBatch(lease.batch_id, "add", actor, at)
    changes = carry_out(tx, lease.number, batch, made.writes)
    entities.put(tx, lease.number, at, made.entities)
    return changes


def _check_there(tx: Tx, number: int, made: Distilled) -> None:
    scope = {"scope": number}
    read = set(made.read)
    rows = tx.rows("message_by_id", {**scope, "ids": dumps(sorted(read))})
    there = {str(row[1]) for row in rows if row[10] is None}
    changed = {w.record.id for w in made.writes if isinstance(w, PutVersion) and w.expected}
    changed |= {w.record_id for w in made.writes if isinstance(w, LinkEvidence)}
    rows = tx.rows("record_open_seqs", {**scope, "ids": dumps(sorted(changed))})
    there |= {str(row[0]) for row in rows}
    named = {write.id for write in made.entities if write.seq is not None}
    there |= {one for one in named if entities.by_id(tx, number, one) is not None}
    if not (read | changed | named) <= there:
        raise Conflict("what this was made from was erased or undone meanwhile: it is made anew")
