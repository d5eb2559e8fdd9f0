"""The audit log: who did what with what is protected, and why; never what it says."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pydantic import JsonValue

from memstrata.receipts import AuditEntry
from memstrata.records import JsonObject, Page, Scope, instant
from memstrata.store.ports import Tx
from memstrata.store.rows import dumps, scope_params
from memstrata.store.views import EVER, Listing, place

__all__ = ["Entry", "list_entries", "note", "scrub"]

_PLACE = re.compile(r"(\d{1,19})")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is to be noted, in whichever scope it concerns."""

    at: int
    actor: str
    action: str
    target_id: str | None = None
    reason: str = ""
    detail: JsonObject = field(default_factory=dict[str, JsonValue])
    """Counts and names of settings, nothing that was remembered."""


def note(tx: Tx, scope: Scope, entry: Entry) -> None:
    """Write one row of the log in the running transaction."""
    tx.run(
        "audit_add",
        {
            **scope_params(scope),
            "at": entry.at,
            "actor": entry.actor,
            "action": entry.action,
            "target_id": entry.target_id,
            "reason": entry.reason,
            "detail": dumps(entry.detail) if entry.detail else None,
        },
    )


def scrub(tx: Tx, scope: Scope, target_id: str, mark: str) -> None:
    """Put a mark in place of an erased thing's id, and drop the reasons, which may quote it."""
    row = {**scope_params(scope), "target_id": target_id, "mark": mark}
    tx.run("audit_scrub", row)


def list_entries(tx: Tx, tenant: str, scope: Scope | None, listing: Listing) -> Page[AuditEntry]:
    """Rows of a tenant, or of one scope, newest first."""
    before = EVER[1]
    if listing.cursor is not None:
        before = int(place(listing.cursor, _PLACE)[0])
    whose = scope_params(scope) if scope else {"tenant": tenant, "user_id": None, "agent_id": None}
    params = {**whose, "before": before, "since": listing.since, "until": listing.until}
    rows = tx.rows("audit_list", {**params, "limit": listing.limit + 1})
    page = rows[: listing.limit]
    entries = [
        AuditEntry(
            user_id=row[1] or None,
            agent_id=row[2] or None,
            at=instant(row[3]),
            actor=row[4],
            action=row[5],
            target_id=row[6],
            reason=row[7],
            detail=json.loads(row[8] or "{}"),
        )
        for row in page
    ]
    more = str(page[-1][0]) if len(rows) > listing.limit else None
    return Page[AuditEntry](items=entries, next=more)
