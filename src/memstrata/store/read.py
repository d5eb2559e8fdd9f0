"""Reading by id and browsing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.records import Batch, Change, Episode, Ledger, Message, Page, Record, Scope, Theme
from memstrata.store import spending, themes
from memstrata.store.append import find_scope
from memstrata.store.episodes import episodes_with
from memstrata.store.filters import compile_filter
from memstrata.store.ports import Tx, View
from memstrata.store.rows import (
    batch_from,
    change_from,
    dumps,
    message_from,
    record_from,
    scope_params,
)
from memstrata.store.views import EVER, Listing, evidence_of, numbered, place

__all__ = [
    "TenantSettings",
    "changes_of_batch",
    "get",
    "get_batch",
    "history",
    "last_seq",
    "leaning",
    "list_batches",
    "list_changes",
    "list_messages",
    "list_records",
    "same_record",
    "tenant_settings",
    "user_settings",
    "versions",
]


_MESSAGE_PLACE = re.compile(r"(-?[0-9]{1,18}):([0-9]{1,18})")
_RECORD_PLACE = re.compile(r"(-?[0-9]{1,18}):([a-z]+_[0-9a-zA-Z_-]{1,80})")
_NEWEST = "~"
"""After every batch's id."""
_CHANGE_PLACE = re.compile(r"([0-9]{1,18})")
_BATCH_PLACE = re.compile(r"(batch_[0-9a-zA-Z_-]{1,80})")


def get(tx: Tx, view: View, ids: Sequence[str]) -> dict[str, Message | Record | Episode | Theme]:
    """Messages, open record versions, episodes and themes by id; without those not in the view."""
    found: dict[str, Message | Record | Episode | Theme] = {}
    for scope, number in numbered(tx, view):
        params = {"scope": number, "ids": dumps(list(ids))}
        messages = [message_from(scope, row) for row in tx.rows("message_by_id", params)]
        found.update({message.id: message for message in messages})
        rows = tx.rows("record_by_id", params)
        evidence = evidence_of(tx, number, [row[1] for row in rows])
        records = [record_from(scope, row, evidence.get(row[1], ())) for row in rows]
        found.update({record.id: record for record in records})
        told = episodes_with(tx, scope, number, tx.rows("episode_by_id", params))
        found.update({episode.id: episode for episode in told if episode.title})
        found.update({theme.id: theme for theme in themes.by_ids(tx, scope, number, ids)})
    return found


def versions(tx: Tx, view: View, record_id: str) -> list[Record]:
    """All versions of a record, oldest first; empty if there is none."""
    for scope, number in numbered(tx, view):
        rows = tx.rows("record_versions", {"scope": number, "id": record_id})
        if rows:
            evidence = evidence_of(tx, number, [record_id]).get(record_id, ())
            return [record_from(scope, row, evidence) for row in rows]
    return []


def history(tx: Tx, view: View, target_id: str) -> list[Change]:
    """The change log of a record, with what it was before and after each change."""
    known = {record.version: record for record in versions(tx, view, target_id)}
    return [
        change_from(row, known)
        for _, number in numbered(tx, view)
        for row in tx.rows("change_of_target", {"scope": number, "target_id": target_id})
    ]


def changes_of_batch(tx: Tx, view: View, batch_or_change: str) -> list[tuple[Scope, Change]]:
    """The changes of a batch, or the one change of that id, each with its scope."""
    found: list[tuple[Scope, Change]] = []
    for scope, number in numbered(tx, view):
        rows = tx.rows("change_of_batch", {"scope": number, "batch_id": batch_or_change})
        rows += tx.rows("change_by_id", {"scope": number, "id": batch_or_change})
        found += [(scope, change_from(row)) for row in rows]
    return found


def list_changes(tx: Tx, view: View, listing: Listing) -> Page[Change]:
    """The log in the order it was written; a place in it stays one, whatever is erased."""
    after = 0 if listing.cursor is None else int(place(listing.cursor, _CHANGE_PLACE)[0])
    found: list[tuple[int, Change]] = []
    for _, number in numbered(tx, view):
        params = {"scope": number, "after": after, "limit": listing.limit + 1}
        found += [(row[10], change_from(row)) for row in tx.rows("change_after", params)]
    found.sort(key=lambda entry: entry[0])
    page = found[: listing.limit]
    more = str(page[-1][0]) if len(found) > listing.limit else None
    return Page[Change](items=[change for _, change in page], next=more)


def last_seq(tx: Tx) -> int:
    """The newest sequence number of the store."""
    row = tx.one("last_seq")
    assert row is not None
    return int(row[0])


def same_record(tx: Tx, scope: Scope, fingerprint: str, now: int) -> tuple[str, str] | None:
    """Id and text of the record with this fingerprint that stands now."""
    number = find_scope(tx, scope)
    if number is None:
        return None
    params = {"scope": number, "fingerprint": fingerprint, "id": "", "now": now}
    row = tx.one("record_same", params)
    return None if row is None else (str(row[0]), str(row[1]))


def list_messages(tx: Tx, view: View, listing: Listing) -> Page[Message]:
    """Messages in the order they happened."""
    when, after = EVER[0], 0
    if listing.cursor is not None:
        when, after = map(int, place(listing.cursor, _MESSAGE_PLACE))
    found: list[tuple[int, int, Message]] = []
    for scope, number in numbered(tx, view):
        sql, bound = compile_filter(listing.where, "messages", tx.dialect)
        params = {
            "scope": number,
            "after_time": when,
            "after_seq": after,
            "session_id": listing.session_id,
            "since": listing.since,
            "until": listing.until,
            "hidden": listing.hidden,
            "limit": listing.limit + 1,
            **bound,
        }
        name = "message_list" if listing.session_id is None else "message_list_of_session"
        rows = tx.select(name, sql, params)
        found += [(row[8], row[0], message_from(scope, row)) for row in rows]
    found.sort(key=lambda entry: entry[:2])
    page = found[: listing.limit]
    more = f"{page[-1][0]}:{page[-1][1]}" if len(found) > listing.limit else None
    return Page[Message](items=[message for _, _, message in page], next=more)


def list_records(tx: Tx, view: View, listing: Listing) -> Page[Record]:
    """Open record versions in the order they were first written."""
    when, after = str(EVER[0]), ""
    if listing.cursor is not None:
        when, after = place(listing.cursor, _RECORD_PLACE)
    found: list[tuple[int, str, Record]] = []
    for scope, number in numbered(tx, view):
        sql, bound = compile_filter(listing.where, "records", tx.dialect)
        params = {
            "scope": number,
            "after_time": int(when),
            "after_id": after,
            "kinds": dumps(list(listing.kinds)),
            "lifecycles": dumps(list(listing.lifecycles)),
            "limit": listing.limit + 1,
            **bound,
        }
        rows = tx.select("record_list", sql, params)
        evidence = evidence_of(tx, number, [row[1] for row in rows])
        found += [
            (row[13], row[1], record_from(scope, row, evidence.get(row[1], ()))) for row in rows
        ]
    found.sort(key=lambda entry: entry[:2])
    page = found[: listing.limit]
    more = f"{page[-1][0]}:{page[-1][1]}" if len(found) > listing.limit else None
    return Page[Record](items=[record for _, _, record in page], next=more)


def leaning(tx: Tx, scope: Scope, batch_id: str) -> list[tuple[str, str, str, bool]]:
    """What other batches built on a batch: record, source, their batch, and whether the record is
    the batch's own; else it is theirs, and rests on the batch's messages.
    """
    number = find_scope(tx, scope)
    params = {"scope": number, "batch_id": batch_id}
    found: list[tuple[str, str, str, bool]] = []
    for statement, own in (("evidence_in_batch", False), ("evidence_on_batch", True)):
        rows = tx.rows(statement, params)
        found += [(str(record), str(source), str(batch), own) for record, source, batch in rows]
    return found


def get_batch(tx: Tx, view: View, batch_id: str) -> Batch | None:
    """One batch, None if it is not in the view."""
    for scope, number in numbered(tx, view):
        row = tx.one("batch_get", {"scope": number, "id": batch_id})
        if row is not None:
            spent = spending.by_batch(tx, number, [batch_id])
            return batch_from(scope, row, spent.get(batch_id, Ledger()))
    return None


def list_batches(tx: Tx, view: View, listing: Listing, state: str | None) -> Page[Batch]:
    """Batches, newest first."""
    if listing.cursor is not None:
        place(listing.cursor, _BATCH_PLACE)
    found: list[Batch] = []
    for scope, number in numbered(tx, view):
        params = {"scope": number, "before": listing.cursor or _NEWEST, "state": state}
        rows = tx.rows("batch_list", {**params, "limit": listing.limit + 1})
        spent = spending.by_batch(tx, number, [str(row[0]) for row in rows])
        found += [batch_from(scope, row, spent.get(row[0], Ledger())) for row in rows]
    found.sort(key=lambda batch: batch.id, reverse=True)
    page = found[: listing.limit]
    return Page[Batch](items=page, next=page[-1].id if len(found) > listing.limit else None)


def user_settings(tx: Tx, scope: Scope) -> tuple[str | None, str | None]:
    """A user's time zone and locale, None where not set."""
    row = tx.one("user_get", scope_params(scope))
    return (None, None) if row is None else (row[0], row[1])


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """What holds for all of a tenant's memory; None is the default."""

    managers: tuple[str, ...] | None = None
    """The kinds that are written; None: all."""
    strategy: str | None = None
    instructions: str | None = None
    """What the managers are told besides."""


def tenant_settings(tx: Tx, tenant: str) -> TenantSettings:
    """What holds for all of a tenant's memory."""
    row = tx.one("tenant_get", {"tenant": tenant})
    if row is None:
        return TenantSettings()
    managers = tuple(json.loads(row[0])) if row[0] is not None else None
    return TenantSettings(managers, row[1], row[2])
