"""Sealed secrets: kept beside their vault entries, as ciphertext; no key ever comes here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from memstrata.errors import Conflict
from memstrata.records import Evidence, Record, Scope
from memstrata.store import append as appending
from memstrata.store.apply import carry_out
from memstrata.store.audit import Entry, note
from memstrata.store.ports import (
    Appended,
    Draft,
    LinkEvidence,
    NewBatch,
    PutSecret,
    Sealing,
    Tx,
    View,
    Write,
)
from memstrata.store.read import get
from memstrata.store.rows import dumps
from memstrata.store.views import numbered

__all__ = [
    "Found",
    "Held",
    "Known",
    "append",
    "count_not_under",
    "dump",
    "known",
    "load",
    "not_under",
    "put",
    "reseal",
    "reseal_marks",
    "reveal",
    "sealed_by",
    "set_vault_key",
    "vault_key",
    "was_replaced",
]


@dataclass(frozen=True, slots=True)
class Found:
    """Secrets found in what is being stored."""

    sealings: tuple[Sealing, ...] = ()
    again: tuple[tuple[str, str], ...] = ()
    """Entries that were there before, each with a source that names its secret once more."""


@dataclass(frozen=True, slots=True)
class Held:
    """A sealed secret, whose it is, its entry, and where it stands in the table."""

    scope: Scope
    record_id: str
    key_id: str
    sealed: bytes
    place: tuple[int, str]


def vault_key(tx: Tx) -> tuple[str, bytes] | None:
    """The sealed key of the marks, and the key that opens it; None while nothing was sealed."""
    row = tx.one("vault_get")
    return None if row is None else (str(row[0]), bytes(row[1]))


def set_vault_key(tx: Tx, key_id: str, sealed: bytes, lost: str | None) -> tuple[str, bytes]:
    """Keep a first sealed key of the marks; the one in force, which may be another process's.

    One that needs the `lost` key is replaced, if nothing else needs that key either.
    """
    tx.run("vault_add", {"key_id": key_id, "sealed": sealed})
    if lost is not None:
        tx.run("vault_replace", {"key_id": key_id, "sealed": sealed, "lost": lost})
    held = vault_key(tx)
    assert held is not None
    return held


@dataclass(frozen=True, slots=True)
class Known:
    """The entry of a secret that came before, and what has become of it since."""

    record_id: str
    state: Literal["sealed", "replaced", "released"]


def known(tx: Tx, scope: Scope, marks: Collection[bytes]) -> dict[bytes, Known]:
    """Which of these marks the scope knows."""
    number = appending.find_scope(tx, scope)
    if number is None:
        return {}
    params = {"scope": number, "marks": dumps([mark.hex() for mark in marks])}
    return {
        bytes(mark): Known(record_id, state)
        for mark, record_id, state in tx.rows("secret_known", params)
    }


def append(
    tx: Tx,
    scope: Scope,
    batch: NewBatch,
    drafts: Sequence[Draft],
    sealings: Sequence[Sealing],
    again: Sequence[tuple[str, str]],
) -> Appended:
    """Append messages, and seal what was found in those that are new.

    `again` are entries and the messages that name the same secret once more.
    """
    done = appending.append(tx, scope, batch, drafts)
    if done.repeated:
        return done
    fresh = {draft.message.id for draft in drafts if done.ids.get(draft.index) == draft.message.id}
    put(tx, scope, batch, Found(tuple(sealings), tuple(again)), fresh)
    return done


def put(tx: Tx, scope: Scope, batch: NewBatch, found: Found, fresh: Collection[str]) -> int:
    """Seal what was found in the sources that are stored now, within a noted batch; how many."""
    writes: list[Write] = []
    for sealing in found.sealings:
        record = sealing.write.record
        evidence = [source for source in record.evidence if source.source_id in fresh]
        if evidence:
            own = record.model_copy(update={"evidence": evidence})
            sources = tuple(source.source_id for source in evidence)
            # The secret first: where another call has sealed it meanwhile, that says so.
            writes += [sealing.secret, replace(sealing.write, record=own, evidence=sources)]
    writes += [
        LinkEvidence(record_id, (Evidence(source_id=source),), "it is named again")
        for record_id, source in found.again
        if source in fresh
    ]
    if writes:
        carry_out(tx, appending.ensure_scope(tx, scope, batch.at), batch, writes)
    count = sum(isinstance(write, PutSecret) for write in writes)
    if count:
        note(tx, scope, Entry(batch.at, "redaction", "seal", detail={"secrets": count}))
    return count


def sealed_by(tx: Tx, view: View, record_id: str) -> tuple[Record, Held] | None:
    """A vault entry and its sealed secret, None if the view has no such sealed entry."""
    record = get(tx, view, [record_id]).get(record_id)
    if not isinstance(record, Record):
        return None
    for scope, number in numbered(tx, view):
        row = tx.one("secret_get", {"scope": number, "record_id": record_id})
        if row is not None:
            place = (number, record_id)
            return record, Held(scope, record_id, str(row[0]), bytes(row[1]), place)
    return None


def was_replaced(tx: Tx, held: Held) -> bool:
    """Whether an entry ever had another secret."""
    row = tx.one("secret_replaced", {"scope": held.place[0], "record_id": held.record_id})
    return bool(row and row[0])


def reveal(tx: Tx, held: Held, entry: Entry) -> None:
    """Note a reveal; `Conflict` if the secret is another one by now, or gone."""
    number = appending.find_scope(tx, held.scope)
    row = tx.one("secret_get", {"scope": number, "record_id": held.record_id})
    if row is None or bytes(row[1]) != held.sealed:
        raise Conflict(f"the secret of {held.record_id} was changed meanwhile: ask again")
    note(tx, held.scope, entry)


def count_not_under(tx: Tx, key_id: str) -> int:
    """How many secrets of the whole file need another key than this one."""
    row = tx.one("secret_count_other", {"key_id": key_id})
    return int(row[0]) if row else 0


def not_under(tx: Tx, key_id: str, after: tuple[int, str], limit: int) -> list[Held]:
    """A page of the secrets of the whole file that need another key than this one."""
    place = {"after_scope": after[0], "after_id": after[1]}
    return [
        Held(
            Scope(tenant=tenant, user_id=user or None, agent_id=agent or None),
            str(record_id),
            str(sealed_with),
            bytes(sealed),
            (int(number), str(record_id)),
        )
        for tenant, user, agent, number, record_id, sealed_with, sealed in tx.rows(
            "secret_other", {"key_id": key_id, "limit": limit, **place}
        )
    ]


def reseal(tx: Tx, changes: Sequence[tuple[Held, str, bytes]]) -> int:
    """Put the ciphertext under a new key in place of the old; what changed meanwhile is left."""
    done = 0
    for held, key_id, sealed in changes:
        place = {"scope": held.place[0], "record_id": held.record_id, "old": held.sealed}
        done += tx.run("secret_reseal", {**place, "key_id": key_id, "sealed": sealed})
    return done


def reseal_marks(tx: Tx, was: str, key_id: str, sealed: bytes) -> None:
    """The same for the key of the marks; another process may have done it already."""
    tx.run("vault_reseal", {"key_id": key_id, "sealed": sealed, "was": was})


def dump(tx: Tx, number: int) -> list[dict[str, Any]]:
    """The secrets of a scope as they are sealed, with the marks they are known by."""
    held = vault_key(tx)
    marks: dict[str, list[tuple[str, str]]] = {}
    for mark, record_id, state in tx.rows("secret_marks_all", {"scope": number}):
        marks.setdefault(str(record_id), []).append((bytes(mark).hex(), str(state)))
    sealed_key = None if held is None else (held[0], held[1].hex())
    rows = {
        str(record_id): {"key_id": key_id, "sealed": bytes(sealed).hex(), "sealed_at": at}
        for record_id, key_id, sealed, at in tx.rows("secret_all", {"scope": number})
    }
    return [
        {
            "record_id": record_id,
            **rows.get(record_id, {}),
            "marks": marks.get(record_id, []),
            "marks_key": sealed_key,
        }
        for record_id in dict.fromkeys([*rows, *marks])
    ]


def load(tx: Tx, number: int, row: Mapping[str, Any]) -> int:
    """Store a dumped secret, unless its entry has one here; whether it was stored."""
    entry = {"scope": number, "record_id": row["record_id"]}
    if tx.one("secret_get", entry):
        return 0
    if row["sealed"] is not None:
        sealed = {"sealed": bytes.fromhex(row["sealed"]), "at": row["sealed_at"]}
        tx.run("secret_put", {**entry, "key_id": row["key_id"], **sealed})
    for mark, state in row["marks"]:
        tx.run("secret_mark_load", {**entry, "mark": bytes.fromhex(mark), "state": state})
    return int(row["sealed"] is not None)
