"""Erasing for good: rows, versions, evidence, index entries, vectors, log, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.records import Scope
from memstrata.store.append import find_scope, reserve
from memstrata.store.entities import drop_unmentioned
from memstrata.store.episodes import retell
from memstrata.store.filters import Filter, compile_filter
from memstrata.store.items import GONE
from memstrata.store.ports import Narrate, Tx
from memstrata.store.rows import dumps

__all__ = ["Erased", "Selection", "erase"]


@dataclass(frozen=True, slots=True)
class Selection:
    """What to erase in one scope: one of the four ways to say it."""

    ids: tuple[str, ...] | None = None
    where: Filter | None = None
    session_id: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """How much went, and its ids."""

    messages: int
    records: int
    versions: int
    chunks: int
    ids: tuple[str, ...]


def erase(tx: Tx, scope: Scope, selection: Selection, narrate: Narrate, *, dry_run: bool) -> Erased:
    """Erase the selection, and what was derived from it alone or in part.

    Episodes are told anew by `narrate` from the messages they keep.
    """
    number = find_scope(tx, scope)
    if number is None:
        return Erased(0, 0, 0, 0, ())
    messages, records = _select(tx, number, selection)
    records = sorted({*records, *_derived(tx, number, messages)})
    message_ids, record_ids = dumps(messages), dumps(records)
    items = [
        int(row[0])
        for name, ids in (
            ("erase_message_items", message_ids),
            ("erase_record_items", record_ids),
        )
        for row in tx.rows(name, {"scope": number, "ids": ids})
    ]
    counted = tx.one("erase_versions_count", {"scope": number, "ids": record_ids})
    versions = int(counted[0]) if counted else 0
    if not dry_run and (messages or records):
        touched = tx.rows("episode_of_messages", {"scope": number, "ids": message_ids})
        _remove(tx, number, message_ids, record_ids, items)
        retell(tx, scope, number, [int(row[0]) for row in touched], narrate)
    chunks = len(items) - len(messages) - versions
    return Erased(len(messages), len(records), versions, chunks, (*messages, *records))


def _select(tx: Tx, number: int, selection: Selection) -> tuple[list[str], list[str]]:
    scope = {"scope": number}
    if selection.ids is not None:
        ids = {**scope, "ids": dumps(list(selection.ids))}
        return (
            [str(row[1]) for row in tx.rows("message_by_id", ids)],
            [str(row[0]) for row in tx.rows("record_ids_of_ids", ids)],
        )
    if selection.session_id is not None:
        session = {**scope, "session_id": selection.session_id}
        return [str(row[0]) for row in tx.rows("message_ids_of_session", session)], []
    tree = None if selection.everything else selection.where
    found: list[list[str]] = []
    sql, bound = compile_filter(tree, "messages", tx.dialect)
    found.append([str(r[0]) for r in tx.select("message_ids_where", sql, {**scope, **bound})])
    sql, bound = compile_filter(tree, "records", tx.dialect)
    found.append([str(r[0]) for r in tx.select("record_ids_where", sql, {**scope, **bound})])
    return found[0], found[1]


def _derived(tx: Tx, number: int, messages: Sequence[str]) -> list[str]:
    """Records that rest on what is erased: their text may repeat it, so it goes too."""
    params = {"scope": number, "ids": dumps(list(messages))}
    return [str(row[0]) for row in tx.rows("record_ids_of_sources", params)]


def _remove(tx: Tx, number: int, messages: str, records: str, items: Sequence[int]) -> None:
    scope = {"scope": number}
    stamp = reserve(tx, 1)
    tx.many("erase_item", ({**scope, "seq": s, "stamp": stamp, "header": GONE} for s in items))
    tx.many("erase_vector", ({**scope, "seq": seq} for seq in items))
    tx.run("erase_mentions", {**scope, "owners": dumps(list(items))})
    tx.run("erase_messages", {**scope, "ids": messages})
    tx.run("erase_records", {**scope, "ids": records})
    tx.run("erase_evidence_of", {**scope, "ids": records})
    for ids in (messages, records):
        tx.run("erase_evidence_from", {**scope, "ids": ids})
        tx.run("erase_changes", {**scope, "ids": ids})
    tx.run("erase_speakers", scope)
    drop_unmentioned(tx, number)
    tx.run("erase_batches", scope)
    tx.run("scope_touch", {**scope, "stamp": stamp})
