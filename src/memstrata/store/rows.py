"""Rows to values and back, in the column order of the statements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memstrata.records import (
    Batch,
    Change,
    Evidence,
    Ledger,
    Message,
    Record,
    Scope,
    instant,
    micros,
)
from memstrata.store.ports import Row

__all__ = [
    "batch_from",
    "change_from",
    "dumps",
    "message_from",
    "message_params",
    "record_from",
    "record_params",
    "scope_params",
    "signed",
    "unsigned",
]


def dumps(value: Any) -> str:
    """JSON text in which characters stand for themselves."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _or_null(value: Any) -> str | None:
    return dumps(value) if value else None


def _loads(text: str | None, default: Any) -> Any:
    return default if text is None else json.loads(text)


def _time(when: int | None) -> datetime | None:
    return None if when is None else instant(when)


def _micros(when: datetime | None) -> int | None:
    return None if when is None else micros(when)


def signed(number: int) -> int:
    """A 64-bit hash as the signed integer databases hold."""
    return number - 2**64 if number >= 2**63 else number


def unsigned(number: int) -> int:
    """The reverse of `signed`."""
    return number + 2**64 if number < 0 else number


def scope_params(scope: Scope) -> dict[str, Any]:
    """A scope as columns; '' stands for none."""
    return {
        "tenant": scope.tenant,
        "user_id": scope.user_id or "",
        "agent_id": scope.agent_id or "",
    }


def message_from(scope: Scope, row: Row) -> Message:
    """A message from its row (seq, id, external_id, … batch_id)."""
    return Message(
        id=row[1],
        external_id=row[2],
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=row[3],
        role=row[4],
        name=row[5],
        content=row[6],
        parts=_loads(row[7], []),
        occurred_at=instant(row[8]),
        recorded_at=instant(row[9]),
        hidden_at=_time(row[10]),
        trust=row[11],
        tags=_loads(row[12], []),
        metadata=_loads(row[13], {}),
        spans=_loads(row[14], []),
        batch_id=row[15],
    )


def message_params(message: Message) -> dict[str, Any]:
    """A message as columns, without scope, seq, digest and identity."""
    spans = [span.model_dump(mode="json") for span in message.spans]
    return {
        "id": message.id,
        "external_id": message.external_id,
        "session_id": message.session_id,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "parts": _or_null(message.parts),
        "occurred_at": micros(message.occurred_at),
        "recorded_at": micros(message.recorded_at),
        "hidden_at": _micros(message.hidden_at),
        "trust": message.trust,
        "tags": _or_null(message.tags),
        "metadata": _or_null(message.metadata),
        "spans": _or_null(spans),
        "batch_id": message.batch_id,
    }


def record_from(scope: Scope, row: Row, evidence: Iterable[Evidence] = ()) -> Record:
    """A record version from its row (seq, id, version, … batch_id)."""
    return Record(
        id=row[1],
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        version=row[2],
        kind=row[3],
        title=row[4],
        text=row[5],
        fields=json.loads(row[6]),
        tags=_loads(row[7], []),
        metadata=_loads(row[8], {}),
        path=row[9],
        occurred_at=_time(row[10]),
        ended_at=_time(row[11]),
        recorded_at=instant(row[12]),
        created_at=instant(row[13]),
        closed_at=_time(row[14]),
        valid_from=_time(row[15]),
        valid_to=_time(row[16]),
        retired_at=_time(row[17]),
        expires_at=_time(row[18]),
        confidence=row[19],
        trust=row[20],
        sensitivity=row[21],
        lifecycle=row[22],
        supersedes=row[23],
        superseded_by=row[24],
        fingerprint=row[25],
        batch_id=row[26],
        evidence=list(evidence),
    )


_TIMES = (
    "occurred_at",
    "ended_at",
    "recorded_at",
    "created_at",
    "closed_at",
    "valid_from",
    "valid_to",
    "retired_at",
    "expires_at",
)
_PLAIN = (
    "id",
    "version",
    "kind",
    "title",
    "text",
    "path",
    "confidence",
    "trust",
    "sensitivity",
    "lifecycle",
    "supersedes",
    "superseded_by",
    "fingerprint",
    "batch_id",
)


def record_params(record: Record) -> dict[str, Any]:
    """A record version as columns, without scope and seq."""
    return {
        **{name: getattr(record, name) for name in _PLAIN},
        **{name: _micros(getattr(record, name)) for name in _TIMES},
        "fields": dumps(record.fields),
        "tags": _or_null(record.tags),
        "metadata": _or_null(record.metadata),
    }


def batch_from(scope: Scope, row: Row, ledger: Ledger) -> Batch:
    """A batch from its row, and what it has cost."""
    return Batch(
        id=row[0],
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        verb=row[1],
        actor=row[2],
        state=row[3],
        reason=row[4],
        attempts=row[5],
        created_at=instant(row[6]),
        finished_at=_time(row[7]),
        idempotency_key=row[8],
        messages=row[9],
        changes=row[10],
        refused=json.loads(row[11]) if row[11] else [],
        ledger=ledger,
    )


def change_from(row: Row, versions: dict[int, Record] | None = None) -> Change:
    """A log entry from its row, with the versions before and after where they are given."""
    known = versions or {}
    return Change(
        id=row[0],
        batch_id=row[1],
        op=row[2],
        target_id=row[3],
        version_before=row[4],
        version_after=row[5],
        before=known.get(row[4]),
        after=known.get(row[5]),
        actor=row[6],
        reason=row[7],
        evidence=_loads(row[8], []),
        at=instant(row[9]),
        cursor=str(row[10]) if row[10:] else None,
    )
