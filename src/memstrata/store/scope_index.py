"""One user's searchable items in memory: exact search, with the statistics of that scope alone.

Built from the rows of the store and kept up to date with those that change. One thread writes at
a time; searches in other threads go on meanwhile, each over the state it found when it began
(single items may already be newer: rows are read again before anything is shown).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import StoreUnavailable
from memstrata.store.item_columns import ITEM, UNREADABLE, Columns, ItemRow
from memstrata.store.items import ASKS, ENTITY
from memstrata.store.scope_search import Candidates, Links, Snapshot, find
from memstrata.store.session_line import SessionLine
from memstrata.store.term_index import TERM, TermIndex
from memstrata.store.visibility import Query, Visibility

__all__ = ["ITEM", "TERM", "Candidates", "ItemRow", "Query", "ScopeIndex"]

_BLOCK = 2048
"""Vectors decoded at a time, few enough to stay in the processor's cache."""


class ScopeIndex:
    """The items of one scope, by slot in the order they arrived."""

    def __init__(self) -> None:
        self._count = 0
        self._items = Columns.empty()
        self._order: NDArray[np.intp] | None = None
        self._matrix = np.zeros((0, 0), np.float32)
        self._terms = TermIndex()
        self._line = SessionLine()
        self._publish()

    @property
    def count(self) -> int:
        """Items held, visible or not."""
        return self._snapshot.count

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, with the room kept for growth; known without counting."""
        return self._nbytes

    def search(self, query: Query, links: Links | None = None) -> Candidates:
        """The candidates for `query`; see `scope_search.find`."""
        return find(self._snapshot, query, links)

    def nearest_entities(
        self, vector: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `k` entities whose names are nearest to a vector, and their cosines."""
        snapshot = self._snapshot
        items, n = snapshot.items, snapshot.count
        standing = (items.stratum[:n] == ENTITY) & items.has_vector[:n]
        slots = np.flatnonzero(standing & ((items.flags[:n] & UNREADABLE) == 0))
        if not len(slots) or vector.shape != (snapshot.matrix.shape[1],):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        cosines = snapshot.matrix[slots] @ vector
        best = np.argsort(-cosines, kind="stable")[:k]
        return items.seq[slots[best]], cosines[best]

    def vectors(self, seqs: Sequence[int]) -> list[NDArray[np.float32] | None]:
        """The vectors of these items, None for what has none."""
        snapshot = self._snapshot
        slots = snapshot.visibility.slots(np.array(seqs, np.int64))
        has = snapshot.items.has_vector
        return [snapshot.matrix[s].copy() if s >= 0 and has[s] else None for s in slots.tolist()]

    def apply(self, rows: Sequence[ItemRow]) -> None:
        """Take in new rows and the present state of known ones, in any order of `seq`.

        Of several rows of one item the last counts. `StoreUnavailable` if a row is not what a
        store of this version writes; then nothing has changed.
        """
        rows = _latest(rows)
        if not rows:
            return
        dimensions = self._check(rows)
        headers = np.frombuffer(b"".join(row.header for row in rows), ITEM)
        seqs = np.fromiter((row.seq for row in rows), np.int64, len(rows))
        slots = self._snapshot.visibility.slots(seqs)
        new = slots < 0
        slots[new] = self._count + np.arange(np.count_nonzero(new))
        self._grow(self._count + int(np.count_nonzero(new)), dimensions)
        self._remember_order(seqs[new], slots[new])
        self._count += int(np.count_nonzero(new))

        before = self._standing(slots)
        session = np.where(new, np.uint64(0), self._items.session[slots])
        self._items.write(slots, seqs, headers)
        self._set_vectors(slots, rows)
        self._set_terms(slots, new, rows)
        moved = np.any(before != self._standing(slots), axis=0) | new
        if moved.any():
            self._line.update(self._items, self._count, slots[moved], session[moved])
        self._publish()

    def _publish(self) -> None:
        self._snapshot = Snapshot(
            count=self._count,
            items=self._items,
            matrix=self._matrix,
            vectors=int(np.count_nonzero(self._items.has_vector[: self._count])),
            terms=self._terms.view(),
            line=self._line.view(),
            visibility=Visibility(self._items, self._count, self._order),
        )
        order = 0 if self._order is None else self._order.nbytes
        columns = self._items.nbytes + self._matrix.nbytes + order
        self._nbytes = columns + self._terms.nbytes + self._line.nbytes

    def _check(self, rows: Sequence[ItemRow]) -> int:
        """The dimensions of vectors with `rows`, 0 for none yet; raises before anything changes."""
        vectors = (row.vector for row in rows if row.vector is not None)
        width = 2 * self._matrix.shape[1] or len(next(vectors, b""))
        whole = width > 0 and width % 2 == 0
        damaged = [
            row
            for row in rows
            if len(row.header) != ITEM.itemsize
            or len(row.terms) % TERM.itemsize
            or (row.vector is not None and not (whole and len(row.vector) == width))
        ]
        if damaged:
            row = damaged[0]
            raise StoreUnavailable(
                f"item {row.seq} has {len(row.header)} bytes of header, {len(row.terms)} of terms "
                f"and {len(row.vector or b'')} of vector, not {ITEM.itemsize}, a multiple of "
                f"{TERM.itemsize} and {width}: the file is damaged or its vectors are of several "
                "models; reindex it or restore it from a backup"
            )
        return width // 2

    def _grow(self, count: int, dimensions: int) -> None:
        capacity = len(self._items.seq)
        if count > capacity:
            # What is loaded at once grows less than what has grown before.
            capacity = count + (count // 2 if self._count else count // 8) + 16
            self._items = self._items.grown(capacity)
            self._line.reserve(capacity)
        if self._matrix.shape != (capacity, dimensions):
            matrix = np.zeros((capacity, dimensions), np.float32)
            matrix[: self._count, : self._matrix.shape[1]] = self._matrix[: self._count]
            self._matrix = matrix

    def _remember_order(self, seqs: NDArray[np.int64], slots: NDArray[np.intp]) -> None:
        """Keep slots findable by `seq` before these are counted in."""
        known = self._items.seq[: self._count]
        last = known[-1:] if self._order is None else known[self._order[-1:]]
        rising = bool(np.all(np.diff(np.concatenate((last, seqs))) > 0))
        if self._order is None and rising:
            return
        order = np.arange(self._count) if self._order is None else self._order
        by_seq = np.argsort(seqs)
        at = np.searchsorted(known, seqs[by_seq], sorter=order)
        self._order = np.insert(order, at, slots[by_seq])

    def _standing(self, slots: NDArray[np.intp]) -> NDArray[np.int64]:
        """What an item's place in its session depends on, a row for each thing."""
        items = self._items
        flags = items.flags[slots] & (UNREADABLE | ASKS)
        parts = (items.session[slots].view(np.int64), items.occurred[slots], items.group[slots])
        return np.stack((*parts, flags.astype(np.int64), items.stratum[slots].astype(np.int64)))

    def _set_vectors(self, slots: NDArray[np.intp], rows: Sequence[ItemRow]) -> None:
        has = np.fromiter((row.vector is not None for row in rows), np.bool_, len(rows))
        lost = slots[~has & self._items.has_vector[slots]]
        self._matrix[lost] = 0.0
        self._items.has_vector[slots] = has
        blobs = [row.vector for row in rows if row.vector is not None]
        targets = slots[has]
        for start in range(0, len(blobs), _BLOCK):
            block = np.frombuffer(b"".join(blobs[start : start + _BLOCK]), "<f2")
            at = targets[start : start + _BLOCK]
            self._matrix[at] = block.reshape(len(at), -1)

    def _set_terms(
        self, slots: NDArray[np.intp], new: NDArray[np.bool_], rows: Sequence[ItemRow]
    ) -> None:
        digests = np.fromiter((hash(row.terms) for row in rows), np.int64, len(rows))
        changed = new | (digests != self._items.digest[slots])
        if not changed.any():
            return
        stale = slots[changed & ~new]
        if len(stale):
            self._terms.drop(stale, self._count)
        blobs = [rows[i].terms for i in np.flatnonzero(changed).tolist()]
        self._items.length[slots[changed]] = self._terms.add(slots[changed], blobs)
        self._items.digest[slots] = digests


def _latest(rows: Sequence[ItemRow]) -> Sequence[ItemRow]:
    """The last row of each item, in the order given."""
    by_seq = {row.seq: row for row in rows}
    return rows if len(by_seq) == len(rows) else list(by_seq.values())
