"""Which items contain a term, and how often: an inverted array of term hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memstrata.store.item_columns import resized

__all__ = ["TERM", "Postings", "TermIndex", "TermView"]

TERM = np.dtype([("hash", "<u8"), ("tf", "<u2")])
"""A term of an item, 10 bytes without padding: its 64-bit hash and how often it occurs."""

_TAIL = 4096
"""Postings the unsorted tail may hold at least before it is merged into the sorted base."""


class Postings(NamedTuple):
    """The items with one term, in the order they arrived, and its frequency in each."""

    slots: NDArray[np.int32]
    tfs: NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class TermView:
    """The inverted array at one moment; later writes leave it as it is.

    The base is sorted by hash: the postings of `hashes[i]` are `slots[starts[i]:starts[i + 1]]`.
    Of the tail, in order of arrival, the first `tail` entries count.
    """

    hashes: NDArray[np.uint64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    tfs: NDArray[np.uint16]
    tail_hashes: NDArray[np.uint64]
    tail_slots: NDArray[np.int32]
    tail_tfs: NDArray[np.uint16]
    tail: int

    def postings(self, hashes: Sequence[int]) -> list[Postings]:
        """The postings of each of `hashes`, none for a term nothing contains."""
        wanted = np.array(hashes, np.uint64)
        at = np.searchsorted(self.hashes, wanted)
        recent = self.tail_hashes[: self.tail]
        found: list[Postings] = []
        for i, term in zip(at.tolist(), wanted, strict=True):
            known = i < len(self.hashes) and self.hashes[i] == term
            span = slice(self.starts[i], self.starts[i + 1]) if known else slice(0)
            slots, tfs = self.slots[span], self.tfs[span]
            late = np.flatnonzero(recent == term) if self.tail else recent
            if len(late):
                slots = np.concatenate((slots, self.tail_slots[late]))
                tfs = np.concatenate((tfs, self.tail_tfs[late]))
            found.append(Postings(slots, tfs))
        return found


class TermIndex:
    """A sorted base and a small tail, merged as it grows: adding a row costs its terms only."""

    def __init__(self) -> None:
        self._hashes = np.zeros(0, np.uint64)
        self._starts = np.zeros(1, np.int64)
        self._slots = np.zeros(0, np.int32)
        self._tfs = np.zeros(0, np.uint16)
        self._new_tail()

    def _new_tail(self) -> None:
        # Views may still be reading the old arrays.
        self._tail = 0
        self._tail_hashes = np.zeros(0, np.uint64)
        self._tail_slots = np.zeros(0, np.int32)
        self._tail_tfs = np.zeros(0, np.uint16)

    def _append(
        self, hashes: NDArray[np.uint64], slots: NDArray[np.int32], tfs: NDArray[np.uint16]
    ) -> None:
        start, end = self._tail, self._tail + len(hashes)
        if end > len(self._tail_hashes):
            self._tail_hashes = resized(self._tail_hashes, 2 * end)
            self._tail_slots = resized(self._tail_slots, 2 * end)
            self._tail_tfs = resized(self._tail_tfs, 2 * end)
        self._tail_hashes[start:end] = hashes
        self._tail_slots[start:end] = slots
        self._tail_tfs[start:end] = tfs
        self._tail = end

    def view(self) -> TermView:
        """The index as it is now."""
        return TermView(
            self._hashes,
            self._starts,
            self._slots,
            self._tfs,
            self._tail_hashes,
            self._tail_slots,
            self._tail_tfs,
            self._tail,
        )

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        base = self._hashes.nbytes + self._starts.nbytes + self._slots.nbytes + self._tfs.nbytes
        tail = self._tail_hashes.nbytes + self._tail_slots.nbytes + self._tail_tfs.nbytes
        return base + tail

    def add(self, slots: NDArray[np.intp], blobs: Sequence[bytes]) -> NDArray[np.float32]:
        """Add the terms of new items; returns the length of each, the sum of its frequencies.

        `blobs` are packed `TERM`s, each hash once; an item that is already in must be dropped
        first.
        """
        pairs = np.frombuffer(b"".join(blobs), TERM)
        counts = np.fromiter(map(len, blobs), np.int64, len(blobs)) // TERM.itemsize
        hashes, tfs = pairs["hash"].astype(np.uint64), pairs["tf"].astype(np.uint16)
        owners = np.repeat(slots.astype(np.int32), counts)
        if self._tail + len(hashes) > max(_TAIL, len(self._slots) // 32):
            held = slice(self._tail)
            self._merge(
                np.concatenate((self._tail_hashes[held], hashes)),
                np.concatenate((self._tail_slots[held], owners)),
                np.concatenate((self._tail_tfs[held], tfs)),
            )
        else:
            self._append(hashes, owners, tfs)
        sums = np.concatenate(([0], np.cumsum(tfs, dtype=np.int64)))
        ends = np.cumsum(counts)
        return (sums[ends] - sums[ends - counts]).astype(np.float32)

    def drop(self, slots: NDArray[np.intp], capacity: int) -> None:
        """Take items out; a pass over all postings, for the rare rows whose terms change."""
        gone = np.zeros(capacity, np.bool_)
        gone[slots] = True
        kept = ~gone[self._slots]
        self._starts = np.concatenate(([0], np.cumsum(kept)))[self._starts]
        self._slots, self._tfs = self._slots[kept], self._tfs[kept]
        held = np.flatnonzero(~gone[self._tail_slots[: self._tail]])
        tail = self._tail_hashes[held], self._tail_slots[held], self._tail_tfs[held]
        self._new_tail()
        self._append(*tail)

    def _merge(
        self, hashes: NDArray[np.uint64], slots: NDArray[np.int32], tfs: NDArray[np.uint16]
    ) -> None:
        order = _order(hashes)
        hashes, slots, tfs = hashes[order], slots[order], tfs[order]
        first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
        terms, counts = hashes[first], np.diff(np.append(first, len(hashes)))
        if not len(self._slots):
            self._hashes, self._slots, self._tfs = terms, slots, tfs
            self._starts = np.append(first, len(hashes))
            self._new_tail()
            return
        at = np.searchsorted(self._hashes, terms)
        known = at < len(self._hashes)
        known[known] = self._hashes[at[known]] == terms[known]
        # New postings of a term go behind those it has, a new term in front of the next one's.
        into = np.repeat(self._starts[at + known], counts)
        self._slots = np.insert(self._slots, into, slots)
        self._tfs = np.insert(self._tfs, into, tfs)
        sizes = np.diff(self._starts)
        sizes[at[known]] += counts[known]
        sizes = np.insert(sizes, at[~known], counts[~known])
        self._hashes = np.insert(self._hashes, at[~known], terms[~known])
        self._starts = np.concatenate(([0], np.cumsum(sizes)))
        self._new_tail()


def _order(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """The stable order of `hashes`: first by 16 bits, which leaves runs the second sort likes."""
    order = np.argsort((hashes >> np.uint64(48)).astype(np.uint16), kind="stable")
    return order[np.argsort(hashes[order], kind="stable")]
