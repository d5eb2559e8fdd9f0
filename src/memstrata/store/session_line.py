"""Sessions laid out on one line, so that a message's neighbours are its neighbours in an array.

A position is a message (all items of a long one share it). Sessions lie one behind the other, in
order of time inside, with at least `REACH` empty positions between them, so that what spreads to
neighbours never needs to ask where a session ends. Position 0 stands for "on no session".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.store.item_columns import UNREADABLE, Columns, resized
from memstrata.store.items import ASKS

__all__ = ["REACH", "LineView", "SessionLine"]

_DECAY = (0.5, 0.35, 0.25, 0.15)
_EARLIER, _LATER = 1.2, 0.8
REACH = len(_DECAY)
"""Messages away to which a match is felt."""
_OFFSETS = np.arange(-REACH, REACH + 1, dtype=np.int32)
_WEIGHTS = np.array(
    [w * _LATER for w in reversed(_DECAY)] + [1.0] + [w * _EARLIER for w in _DECAY], np.float32
)
"""Weight of a match for the message that many positions further on."""
_PER_MATCH, _PER_TERM = 60, 7000
"""What a term costs spread match by match, in positions spread by shifting; measured."""
_CACHED = 1 << 16
"""Positions shifted at a time, few enough to stay in the processor's cache."""

_Match = tuple[NDArray[np.int32], NDArray[np.float32], float]
"""Positions of the messages with a term, how much it counts in each, and its share."""


@dataclass(frozen=True, slots=True, eq=False)
class LineView:
    """The line at one moment; only messages behind the last of a session may join it later."""

    cells: NDArray[np.int32]
    """Slot of the first item of the message at a position, -1: none."""
    asks: NDArray[np.bool_]
    """Whether the message at a position contains a question mark."""
    place: NDArray[np.int32]
    """Position of the item in a slot, 0: on no session."""
    used: int
    shared: bool
    """Whether some position has several items."""

    def spread(
        self,
        slots: NDArray[np.intp],
        strength: NDArray[np.float32],
        sizes: Sequence[int],
        shares: Sequence[float],
    ) -> NDArray[np.float32]:
        """How much of a question reaches each position: Σ share · max over near strengths.

        `slots` are those of the items with the first term, with the second and so on, `sizes` of
        each; `strength` is how much the match counts, in [0, 1].
        """
        at = self.place[slots]
        total = np.zeros(self.used, np.float32)
        reached = np.zeros(self.used, np.float32)
        many: list[_Match] = []
        first = 0
        for size, share in zip(sizes, shares, strict=True):
            match = at[first : first + size], strength[first : first + size], share
            first += size
            if size * _PER_MATCH + _PER_TERM < self.used:
                _spread_sparse(total, reached, *match)
            elif size:
                many.append(match)
        step = max(1, _CACHED // self.used)
        for i in range(0, len(many), step):
            _spread_dense(total, many[i : i + step])
        return total

    def several(self, count: int) -> NDArray[np.intp]:
        """Of the first `count` slots, those that share their position."""
        if not self.shared:
            return np.zeros(0, np.intp)
        place = self.place[:count]
        crowded = np.bincount(place, minlength=self.used) > 1
        crowded[0] = False
        return np.flatnonzero(crowded[place])


def _spread_sparse(
    total: NDArray[np.float32],
    reached: NDArray[np.float32],
    at: NDArray[np.int32],
    strength: NDArray[np.float32],
    share: float,
) -> None:
    """Match by match; `reached` is zero before and after."""
    placed = at > 0
    near = (at[placed, None] + _OFFSETS).ravel()
    np.maximum.at(reached, near, (strength[placed, None] * _WEIGHTS).ravel())
    # A position met twice is written twice, each time with the same sum.
    total[near] += np.float32(share) * reached[near]
    reached[near] = 0.0


def _spread_dense(total: NDArray[np.float32], matches: Sequence[_Match]) -> None:
    """All positions at once, by shifting; a row for each term."""
    reached = np.zeros((len(matches), len(total)), np.float32)
    for row, (at, strength, _) in zip(reached, matches, strict=True):
        np.maximum.at(row, at, strength)
    reached[:, 0] = 0.0
    best, scaled = reached.copy(), np.empty_like(reached)
    for distance, weight in enumerate(_DECAY, 1):
        after, before = best[:, distance:], best[:, :-distance]
        np.multiply(reached, np.float32(weight * _EARLIER), out=scaled)
        np.maximum(after, scaled[:, :-distance], out=after)
        np.multiply(reached, np.float32(weight * _LATER), out=scaled)
        np.maximum(before, scaled[:, distance:], out=before)
    total += np.array([share for _, _, share in matches], np.float32) @ best


class SessionLine:
    """The line as it grows: what is appended to one session costs nothing of the others."""

    def __init__(self) -> None:
        self._place = np.zeros(0, np.int32)
        self._shared = False
        self._clear(0)

    def _clear(self, size: int) -> None:
        # New arrays, for views may still be reading the old ones.
        self._used = self._tidy = 1 + REACH
        self._cells = np.full(self._used + size, -1, np.int32)
        self._asks = np.zeros(self._used + size, np.bool_)
        self._place = np.zeros_like(self._place)

    def view(self) -> LineView:
        """The line as it is now."""
        return LineView(self._cells, self._asks, self._place, self._used, self._shared)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._cells.nbytes + self._asks.nbytes + self._place.nbytes

    def reserve(self, slots: int) -> None:
        """Make room for the places of `slots` items."""
        self._place = resized(self._place, slots)

    def update(
        self, items: Columns, count: int, changed: NDArray[np.intp], before: NDArray[np.uint64]
    ) -> None:
        """Put the items in `changed` where they belong now, and take away what cannot be read.

        `count` is the number of slots in use; `before` the session each changed item had, 0 for
        a new one.
        """
        left = before[self._place[changed] > 0]
        sessions = np.unique(np.concatenate((items.session[changed], left)))
        sessions = sessions[sessions != 0]
        if len(sessions) > 4 + count // 500:  # measured: then starting over is cheaper
            self._rebuild(items, count)
            return
        if len(left):
            self._detach()
            self._take_away(changed)
        anew: list[NDArray[np.intp]] = []
        for session in sessions:
            slots = _messages(items, np.flatnonzero(items.session[:count] == session))
            if session in left or not self._append(items, slots):
                anew.append(slots)
        if anew and not len(left):
            self._detach()
        for slots in anew:
            self._lay_out(items, slots)
        if self._used > 2 * self._tidy + 1024:  # at least half of it is gaps, or it is time
            self._rebuild(items, count)

    def _detach(self) -> None:
        """Leave the arrays to the views that have them: what they know is about to move."""
        self._cells, self._asks = self._cells.copy(), self._asks.copy()
        self._place = self._place.copy()

    def _take_away(self, slots: NDArray[np.intp]) -> None:
        at = self._place[slots]
        heads = at[(at > 0) & (self._cells[at] == slots)]
        self._cells[heads], self._asks[heads] = -1, False
        self._place[slots] = 0

    def _append(self, items: Columns, slots: NDArray[np.intp]) -> bool:
        """Put the items of a session that have no place behind those that have, if they fit."""
        at = self._place[slots]
        last = int(at.max(initial=0))
        if last == 0:
            return False
        head = self._cells[last]
        new, steps = _in_order(items, np.append(slots[at == 0], head))
        if new[0] != head or not steps[1:].all():
            return False
        end = last + int(steps[-1]) + 1
        if np.any(self._cells[last + 1 : end + REACH] >= 0):
            return False
        self._use(end + REACH)
        self._write(items, new[1:], last + steps[1:])
        return True

    def _lay_out(self, items: Columns, slots: NDArray[np.intp]) -> None:
        """Lay a session out anew, where it was if it fits there, else at the end with room."""
        at = self._place[slots]
        at = at[at > 0]
        start = self._used
        if len(at):
            start = int(at.min())
            span = slice(start, int(at.max()) + 1)
            self._cells[span], self._asks[span] = -1, False
        if not len(slots):
            return
        slots, steps = _in_order(items, slots)
        size = int(steps[-1]) + 1
        if np.any(self._cells[start : start + size + REACH] >= 0):
            start = self._used
            self._use(start + 2 * size + REACH)
        self._use(start + size + REACH)
        self._write(items, slots, start + steps)

    def _rebuild(self, items: Columns, count: int) -> None:
        slots = _messages(items, np.flatnonzero(items.session[:count]))
        self._clear(0)
        if len(slots):
            slots, steps = _in_order(items, slots)
            self._use(int(steps[-1]) + self._used + 1 + REACH)
            self._write(items, slots, 1 + REACH + steps)
        self._tidy = self._used

    def _use(self, end: int) -> None:
        """Take positions up to `end` into use."""
        self._used = max(self._used, end)
        if end > len(self._cells):
            cells = np.full(end + end // 4 + 64, -1, np.int32)
            cells[: len(self._cells)] = self._cells
            self._cells, self._asks = cells, resized(self._asks, len(cells))

    def _write(self, items: Columns, slots: NDArray[np.intp], at: NDArray[np.intp]) -> None:
        self._place[slots] = at
        self._cells[at[::-1]] = slots[::-1]  # the first of several comes last, and stays
        self._asks[at] = False
        self._asks[at[(items.flags[slots] & ASKS) != 0]] = True
        self._shared = self._shared or bool(np.any(at[1:] == at[:-1]))


def _messages(items: Columns, slots: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of `slots` that stand in a line of neighbours."""
    readable = (items.flags[slots] & UNREADABLE) == 0
    return slots[(items.stratum[slots] == 0) & readable]


def _in_order(items: Columns, slots: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The slots by session and time, and how many positions each is from the first."""
    session, occurred, group = items.session[slots], items.occurred[slots], items.group[slots]
    order = np.lexsort((items.seq[slots], group, occurred, session))
    slots, session, occurred, group = slots[order], session[order], occurred[order], group[order]
    other = session[1:] != session[:-1]
    step = other | (occurred[1:] != occurred[:-1]) | (group[1:] != group[:-1])
    steps = np.where(other, 1 + REACH, step)
    return slots, np.concatenate(([0], np.cumsum(steps)))
