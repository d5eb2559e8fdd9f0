"""Finding: bring the scope's index up to date, rank its candidates, read the rows behind them.

All in one snapshot, so that what is returned is what is there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memstrata.records import Episode, Message, Record, Scope, Theme
from memstrata.store import episodes, themes
from memstrata.store.filters import Filter, Table, compile_filter
from memstrata.store.lending import Similar, linked, mentioned
from memstrata.store.ports import Found, Row, Tx, View
from memstrata.store.rows import dumps, message_from, record_from, scope_params, unsigned
from memstrata.store.scope_index import Candidates, ItemRow, Query, ScopeIndex
from memstrata.store.views import evidence_of

__all__ = ["IndexCache", "SearchRequest", "search"]

_TABLES: Mapping[Table, str] = {
    "messages": "message_seqs_where",
    "records": "record_seqs_where",
}


_CONTAINING = ("message_seqs_containing", "record_seqs_containing", "told_seqs_containing")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to find, and how the core ranks it."""

    view: View
    query: Callable[[Mapping[str, int]], Query]
    """Given who speaks in the view (name → hash), the query for the index."""
    rank: Callable[[Candidates], Sequence[int]]
    """The `seq`s to read, best first."""
    where: Filter | None = None
    literals: tuple[str, ...] | None = None
    """Folded texts, one of which must stand in the row."""
    fields: tuple[str, ...] = ()
    """For `literals`: the record fields to look in; none means all the text."""
    names: tuple[str, ...] = ()
    """Normal forms of the names in the question."""
    vectors: bool = False
    """Whether the vectors of what was chosen are wanted too."""
    similar: Similar | None = None
    """How alike the question and an entity's name are, from their cosines; None: not at all."""


@dataclass(slots=True)
class _Slot:
    """One view's index, and what of the store it holds."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: ScopeIndex = field(default_factory=ScopeIndex)
    origin: tuple[tuple[int, ...], ...] = ()
    stamps: dict[int, int] = field(default_factory=dict[int, int])


class IndexCache:
    """Scope indexes by view, the least recently used dropped beyond `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._slots: OrderedDict[View, _Slot] = OrderedDict()

    def fresh(self, tx: Tx, view: View) -> tuple[ScopeIndex, dict[Scope, int]]:
        """The view's index as of the transaction's snapshot, and the numbers of its scopes.

        The snapshot begins with the first statement, which is read under the slot's lock: so it
        is never older than what the index already holds.
        """
        with self._lock:
            slot = self._slots.get(view) or self._slots.setdefault(view, _Slot())
            self._slots.move_to_end(view)
        with slot.lock:
            found = [(scope, tx.one("scope_find", scope_params(scope))) for scope in view.scopes]
            rows = [(scope, row) for scope, row in found if row is not None]
            try:
                self._bring_up_to_date(tx, slot, [row for _, row in rows])
            except BaseException:
                slot.origin = ()  # half brought up to date: the next search builds it anew
                raise
            index = slot.index
        self._evict(view)
        return index, {scope: int(row[0]) for scope, row in rows}

    def _bring_up_to_date(self, tx: Tx, slot: _Slot, scopes: Sequence[Row]) -> None:
        store = tx.one("store_row")
        model = int(store[1]) if store else 0
        origin = ((model,), *((int(s), int(generation)) for s, generation, _ in scopes))
        if slot.origin != origin:
            slot.index, slot.stamps, slot.origin = ScopeIndex(), {}, origin
        for number, _, stamp in scopes:
            known = slot.stamps.get(number)
            if known == stamp:
                continue
            params = {"scope": number, "model": model}
            rows = (
                tx.rows("item_all", params)
                if known is None
                else tx.rows("item_tail", {**params, "stamp": known})
            )
            slot.index.apply([ItemRow(*row) for row in rows])
            slot.stamps[number] = int(stamp)

    def _evict(self, current: View) -> None:
        with self._lock:
            held = sum(slot.index.nbytes for slot in self._slots.values())
            for view in list(self._slots):
                if held <= self._limit or view == current:
                    return
                held -= self._slots.pop(view).index.nbytes

    def clear(self) -> None:
        """Drop every index."""
        with self._lock:
            self._slots.clear()


def search(tx: Tx, cache: IndexCache, request: SearchRequest) -> list[Found]:
    """The rows the core chose, in its order."""
    index, numbers = cache.fresh(tx, request.view)
    speakers = {
        str(name): unsigned(int(code))
        for number in numbers.values()
        for name, code in tx.rows("speaker_list", {"scope": number})
    }
    query = request.query(speakers)
    if request.where is not None or request.literals is not None:
        query = replace(query, allowed=_allowed(tx, list(numbers.values()), request))
    if request.similar is not None:
        vector, names = query.vector, request.names
        said = mentioned(tx, numbers, index, names, vector, request.similar)
        query = replace(query, mentions=said)
    links = partial(linked, tx, list(numbers.values()), query.now)
    chosen = [int(seq) for seq in request.rank(index.search(query, links))]
    found = _read(tx, numbers, chosen)
    if not request.vectors:
        return found
    vectors = index.vectors([one.seq for one in found])
    return [replace(one, vector=vector) for one, vector in zip(found, vectors, strict=True)]


def _allowed(tx: Tx, scopes: Sequence[int], request: SearchRequest) -> NDArray[np.int64]:
    sets: list[set[int]] = []
    if request.where is not None:
        sets.append({seq for number in scopes for seq in _passing(tx, number, request.where)})
    if request.literals is not None:
        sets.append({seq for number in scopes for seq in _containing(tx, number, request)})
    return np.array(sorted(sets[0].intersection(*sets[1:])), dtype=np.int64)


def _passing(tx: Tx, number: int, where: Filter) -> list[int]:
    seqs: list[int] = []
    for table, statement in _TABLES.items():
        sql, bound = compile_filter(where, table, tx.dialect)
        seqs += [int(row[0]) for row in tx.select(statement, sql, {"scope": number, **bound})]
    return seqs


def _containing(tx: Tx, number: int, request: SearchRequest) -> list[int]:
    params = {"scope": number, "needles": dumps(list(request.literals or ()))}
    if request.fields:
        given = {**params, "fields": dumps(list(request.fields))}
        return [int(row[0]) for row in tx.rows("record_seqs_field_containing", given)]
    return [int(row[0]) for name in _CONTAINING for row in tx.rows(name, params)]


def _read(tx: Tx, numbers: Mapping[Scope, int], seqs: Sequence[int]) -> list[Found]:
    found: dict[int, Found] = {}
    for scope, number in numbers.items():
        owners = tx.rows("item_owners", {"scope": number, "seqs": dumps(list(seqs))})
        listed = dumps(sorted({row[1] for row in owners}))
        messages = tx.rows("message_by_seq", {"scope": number, "seqs": listed})
        records = tx.rows("record_by_seq", {"scope": number, "seqs": listed})
        evidence = evidence_of(tx, number, [row[1] for row in records])
        told = episodes.by_seq(tx, scope, number, listed)
        grouped = themes.by_seq(tx, scope, number, listed)
        by_seq = {row[0]: message_from(scope, row) for row in messages}
        by_seq_record = {
            row[0]: record_from(scope, row, evidence.get(row[1], ())) for row in records
        }
        for seq, owner, start, stop in owners:
            message, record = by_seq.get(owner), by_seq_record.get(owner)
            episode, theme = told.get(owner), grouped.get(owner)
            text = _text(message or record or episode or theme)
            if text is not None:
                whole = start == 0 and stop >= len(text)
                found[seq] = Found(seq, start, stop, whole, message, record, episode, theme)
    return [found[seq] for seq in seqs if seq in found]


def _text(found: Message | Record | Episode | Theme | None) -> str | None:
    return found.content if isinstance(found, Message) else None if found is None else found.text
