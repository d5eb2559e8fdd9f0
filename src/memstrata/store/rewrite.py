"""Changing what stored text says, in place and in every version: secrets in it, and out of it.

Apart from the log of changes: a text that held a secret must not stand in history either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memstrata.errors import Conflict
from memstrata.records import Change, Message, Record, Scope
from memstrata.store.append import add_batch, ensure_scope, find_scope, reserve
from memstrata.store.apply import carry_out
from memstrata.store.audit import Entry, note
from memstrata.store.entities import drop
from memstrata.store.episodes import retell
from memstrata.store.items import GONE, own_header
from memstrata.store.ports import Narrate, NewBatch, Passage, Tx, Write
from memstrata.store.rows import dumps, message_from, message_params, record_from, record_params
from memstrata.store.themes import dissolve

__all__ = [
    "Index",
    "Page",
    "Rewrites",
    "Stored",
    "change_texts",
    "page_on",
    "read_page",
    "rewrite",
]

Index = Callable[[Message | Record, int], tuple[Passage, ...]]
"""Makes the index form of a text in at most so many passages."""

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Stored:
    """A message, and the hashes by which it is known when it is sent again."""

    message: Message
    digest: bytes
    identity: bytes | None


@dataclass(frozen=True, slots=True)
class Page:
    """Stored texts of a scope: messages, record versions, quotes, reasons, names."""

    messages: tuple[Stored, ...]
    records: tuple[Record, ...]
    quotes: tuple[tuple[str, str, str], ...]
    """Record, source, quote."""
    reasons: tuple[tuple[str, str], ...]
    """Change, reason."""
    names: tuple[tuple[int, str, str], ...]
    """Entity, its id, spelling."""
    after: int | None
    """Where the next page begins."""


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What stored texts are to say."""

    messages: tuple[tuple[Stored, Stored], ...] = ()
    """As it was and as it is to be; id, times and batch stay."""
    records: tuple[Record, ...] = ()
    quotes: tuple[tuple[str, str, str], ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    entities: tuple[int, ...] = ()
    """Those whose name is to be forgotten."""
    released: tuple[str, bytes] | None = None
    """The vault entry whose secret is none, and the mark of that: what was sealed goes."""

    def and_(self, other: Rewrites) -> Rewrites:
        """Both; what was released is what was released here."""
        return Rewrites(
            self.messages + other.messages,
            self.records + other.records,
            self.quotes + other.quotes,
            self.reasons + other.reasons,
            self.entities + other.entities,
            self.released,
        )


def read_page(tx: Tx, scope: Scope, after: int) -> Page:
    """A page of all stored text; what is no message or record comes with the first page."""
    number = find_scope(tx, scope)
    if number is None:
        return Page((), (), (), (), (), None)
    params = {"scope": number, "after": after, "limit": _PAGE}
    messages = tx.rows("message_all", params)
    records = tx.rows("record_all", params)
    whole = {"scope": number}
    first = after == 0
    pages = [rows for rows in (messages, records) if len(rows) == _PAGE]
    ends = [int(rows[-1][0]) for rows in pages]
    end = min(ends) if ends else None
    upto = [row for row in messages if end is None or row[0] <= end]
    versions = [row for row in records if end is None or row[0] <= end]
    quotes = tx.rows("evidence_all", whole) if first else []
    changes = tx.rows("change_all", whole) if first else []
    return Page(
        messages=tuple(Stored(message_from(scope, row), bytes(row[16]), row[17]) for row in upto),
        records=tuple(record_from(scope, row) for row in versions),
        quotes=tuple((str(row[0]), str(row[1]), str(row[2])) for row in quotes if row[2]),
        reasons=tuple((str(row[1]), str(row[8])) for row in changes if row[8]),
        names=tuple(
            (int(row[0]), str(row[1]), str(row[2]))
            for row in (tx.rows("name_all", whole) if first else [])
        ),
        after=end,
    )


def page_on(tx: Tx, scope: Scope, number: int, sources: Sequence[str]) -> Page:
    """These messages and records, and all that rests on them."""
    asked = {"scope": number, "ids": dumps(list(sources))}
    resting = [str(row[0]) for row in tx.rows("record_ids_of_sources", asked)]
    versions = [
        row
        for record_id in dict.fromkeys([*resting, *sources])
        for row in tx.rows("record_versions", {"scope": number, "id": record_id})
    ]
    quotes = tx.rows("evidence_quotes", {"scope": number, "ids": dumps(resting)})
    return Page(
        messages=tuple(
            Stored(message_from(scope, row), bytes(row[16]), row[17])
            for row in tx.rows("rewrite_messages", asked)
        ),
        records=tuple(record_from(scope, row) for row in versions),
        quotes=tuple((str(row[0]), str(row[1]), str(row[2])) for row in quotes),
        reasons=(),
        names=(),
        after=None,
    )


def rewrite(
    tx: Tx,
    scope: Scope,
    batch: NewBatch,
    changes: Rewrites,
    writes: Sequence[Write],
    index: Index,
    narrate: Narrate,
    entry: Entry,
) -> list[Change]:
    """Make stored texts say what `changes` has, and carry out `writes`; all of it or nothing.

    Their vectors are computed anew with the batch. `Conflict` if a text is another by now.
    """
    number = ensure_scope(tx, scope, batch.at)
    add_batch(tx, number, batch)
    change_texts(tx, scope, number, changes, index, narrate)
    if changes.released is not None:
        record_id, mark = changes.released
        released = {"scope": number, "record_id": record_id, "mark": mark}
        tx.run("secret_release", released)
        tx.run("secret_marks_drop", released)
        tx.run("secret_drop", released)
    log = carry_out(tx, number, batch, writes)
    note(tx, scope, entry)
    return log


def change_texts(
    tx: Tx, scope: Scope, number: int, changes: Rewrites, index: Index, narrate: Narrate
) -> None:
    """Make stored texts say what `changes` has, in the running transaction."""
    for was, new in changes.messages:
        _message(tx, number, was, new, index)
    dissolve(tx, number, [record.id for record in changes.records])
    for record in changes.records:
        _record(tx, number, record, index)
    for record_id, source_id, quote in changes.quotes:
        row = {"scope": number, "record_id": record_id, "source_id": source_id, "quote": quote}
        tx.run("rewrite_quote", row)
    for change_id, reason in changes.reasons:
        tx.run("rewrite_reason", {"scope": number, "id": change_id, "reason": reason})
    drop(tx, number, changes.entities)
    batches = {new.message.batch_id for _, new in changes.messages}
    tx.run("rewrite_batches", {"scope": number, "ids": dumps(sorted(batches))})
    ids = dumps([new.message.id for _, new in changes.messages])
    episodes = tx.rows("episode_of_messages", {"scope": number, "ids": ids})
    told = [int(row[0]) for row in episodes]
    retell(tx, scope, number, told, narrate)
    tx.many("erase_vector", ({"scope": number, "seq": seq} for seq in told))


def _message(tx: Tx, number: int, was: Stored, new: Stored, index: Index) -> None:
    message = new.message
    known = {"scope": number, "id": message.id, "digest": was.digest}
    row = tx.one("message_seq", known)
    if row is None:
        raise Conflict(f"message {message.id} was changed or forgotten meanwhile: repeat")
    seq = int(row[0])
    own = {"scope": number, "seq": seq, "digest": new.digest, "identity": new.identity}
    tx.run("rewrite_message", {**own, **message_params(message)})
    _items(tx, number, seq, message, index)


def _record(tx: Tx, number: int, record: Record, index: Index) -> None:
    place = {"scope": number, "id": record.id, "version": record.version}
    row = tx.one("record_seq", place)
    if row is None:
        raise Conflict(f"record {record.id} was changed or forgotten meanwhile: repeat")
    tx.run("rewrite_record", {**record_params(record), **place})
    _items(tx, number, int(row[0]), record, index)


def _items(tx: Tx, number: int, owner: int, value: Message | Record, index: Index) -> None:
    """Index a text anew in the places it has."""
    scope = {"scope": number}
    places = [int(row[0]) for row in tx.rows("item_headers", {**scope, "owners": dumps([owner])})]
    places.sort()
    passages = index(value, len(places))
    stamp = reserve(tx, 1)
    for place, passage in zip(places, passages, strict=False):
        item = {**scope, "seq": place, "stamp": stamp, "start": passage.start, "stop": passage.stop}
        header = own_header(passage.header, owner)
        tx.run("rewrite_item", {**item, "header": header, "terms": passage.terms})
        tx.run("erase_vector", {**scope, "seq": place})
    for place in places[len(passages) :]:
        tx.run("erase_item", {**scope, "seq": place, "stamp": stamp, "header": GONE})
        tx.run("erase_vector", {**scope, "seq": place})
    tx.run("scope_touch", {**scope, "stamp": stamp})
