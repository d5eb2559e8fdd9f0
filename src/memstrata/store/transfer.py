"""Everything a scope holds as plain mappings, and back: ids and times as they were.

Terms, headers and vectors are not carried: they are computed again where it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from memstrata.errors import InvalidInput
from memstrata.records import Message, Record, Scope
from memstrata.store.append import ensure_scope, find_scope, item_rows, reserve
from memstrata.store.items import speaker_hash
from memstrata.store.ports import Passage, Tx
from memstrata.store.rows import (
    dumps,
    message_from,
    message_params,
    record_from,
    record_params,
    signed,
)

__all__ = ["PARTS", "Carried", "Index", "check_row", "dump_page", "load_rows"]

Carried = dict[str, Any]
"""One dumped row: `type`, its columns, and for messages `digest` and `identity` in hex."""

Index = Callable[[Message | Record], tuple[Passage, ...]]
"""Makes the index form of a message or record that is being loaded."""

PARTS = ("batch", "message", "record", "evidence", "change")
"""The parts of a dump, in the order in which they are written and read."""

_PAGE = 1000
_BATCH = (
    "id", "verb", "actor", "state", "reason", "attempts", "request", "digest", "idempotency_key",
    "created_at", "finished_at",
)  # fmt: skip
_EVIDENCE = ("record_id", "source_id", "quote", "added_at", "batch_id")
_CHANGE = (
    "seq", "id", "batch_id", "op", "target_id", "version_before", "version_after", "actor",
    "reason", "evidence", "at",
)  # fmt: skip


def dump_page(tx: Tx, scope: Scope, part: str, after: int) -> tuple[list[Carried], int | None]:
    """A page of one part of a scope, and where the next one begins (None: the part is done)."""
    number = find_scope(tx, scope)
    if number is None:
        return [], None
    if part in ("message", "record"):
        return _dump_rows(tx, scope, number, part, after)
    statement, columns = {
        "batch": ("batch_all", _BATCH),
        "evidence": ("evidence_all", _EVIDENCE),
        "change": ("change_all", _CHANGE),
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


def _carry(part: str, value: Carried) -> Carried:
    for name in ("digest", "identity"):
        if isinstance(value.get(name), bytes):
            value[name] = value[name].hex()
    value.pop("seq", None)
    return {"type": part, **{key: item for key, item in value.items() if item is not None}}


def load_rows(tx: Tx, scope: Scope, rows: Sequence[Carried], index: Index, at: int) -> int:
    """Store dumped rows that are not there yet; how many were stored."""
    number = ensure_scope(tx, scope, at)
    return sum(_LOADERS[row["type"]](tx, number, scope, row, index) for row in rows)


def _load_message(tx: Tx, number: int, scope: Scope, row: Carried, index: Index) -> int:
    digest, identity = row["digest"], row.get("identity")
    plain = {k: v for k, v in row.items() if k not in ("type", "digest", "identity")}
    message = Message.model_validate(
        {**plain, "user_id": scope.user_id, "agent_id": scope.agent_id}
    )
    if tx.rows("message_by_id", {"scope": number, "ids": dumps([message.id])}):
        return 0
    seq = _add_items(tx, number, index(message))
    params = {
        "scope": number,
        "seq": seq,
        "digest": bytes.fromhex(digest),
        "identity": bytes.fromhex(identity) if identity else None,
        **message_params(message),
    }
    tx.run("message_add", params)
    speaker = {"scope": number, "hash": signed(speaker_hash(message.speaker))}
    tx.run("speaker_add", {**speaker, "name": message.speaker})
    return 1


def _load_record(tx: Tx, number: int, scope: Scope, row: Carried, index: Index) -> int:
    plain = {k: v for k, v in row.items() if k != "type"}
    record = Record.model_validate({**plain, "user_id": scope.user_id, "agent_id": scope.agent_id})
    there = tx.rows("record_versions", {"scope": number, "id": record.id})
    if any(version[2] == record.version for version in there):
        return 0
    seq = _add_items(tx, number, index(record))
    tx.run("record_add", {"scope": number, "seq": seq, **record_params(record)})
    return 1


def _add_items(tx: Tx, number: int, passages: tuple[Passage, ...]) -> int:
    seq = reserve(tx, len(passages))
    stamp = seq + len(passages) - 1
    tx.many("item_add", item_rows(number, seq, stamp, passages))
    tx.run("scope_touch", {"scope": number, "stamp": stamp})
    return seq


def _load_batch(tx: Tx, number: int, scope: Scope, row: Carried, index: Index) -> int:
    if tx.one("batch_get", {"scope": number, "id": row["id"]}):
        return 0
    digest = row.get("digest")
    values = {name: row.get(name) for name in _BATCH}
    values["digest"] = bytes.fromhex(digest) if digest else None
    tx.run("batch_load", {"scope": number, **values})
    return 1


def _load_evidence(tx: Tx, number: int, scope: Scope, row: Carried, index: Index) -> int:
    values = {name: row.get(name) for name in _EVIDENCE}
    return tx.run("evidence_add", {"scope": number, "at": values.pop("added_at"), **values})


def _load_change(tx: Tx, number: int, scope: Scope, row: Carried, index: Index) -> int:
    if tx.one("change_by_id", {"scope": number, "id": row["id"]}):
        return 0
    values = {name: row.get(name) for name in _CHANGE}
    values["seq"] = reserve(tx, 1)
    tx.run("change_add", {"scope": number, **values})
    return 1


_LOADERS = {
    "message": _load_message,
    "record": _load_record,
    "batch": _load_batch,
    "evidence": _load_evidence,
    "change": _load_change,
}


def check_row(row: Any, line: int) -> Carried:
    """A line of a dump as a mapping of a known type; `InvalidInput` names the line."""
    carried = cast("Carried", row) if isinstance(row, dict) else {}
    if carried.get("type") not in _LOADERS:
        known = ", ".join(sorted(_LOADERS))
        raise InvalidInput(f"line {line} is no row of a memstrata dump (type one of {known})")
    return carried
