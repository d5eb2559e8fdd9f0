"""Which items a question may see, and which count in the statistics of terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memstrata.store.item_columns import UNREADABLE, Columns
from memstrata.store.items import MAX, MIN, STRATA

__all__ = ["Mask", "Query", "Sight", "Visibility"]


_COUNTED = frozenset((STRATA["messages"], STRATA["records"]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """What is looked for, by whom and when; instants are microseconds since 1970 UTC."""

    terms: Sequence[tuple[int, float]] = ()
    """(hash, weight) of each distinct term."""
    alternatives: Sequence[tuple[int, int, float]] = ()
    """(place among the terms, hash, share) of what counts in place of a term where it is not."""
    vector: NDArray[np.float32] | None = None
    """Of length 1, from the model of the items' vectors."""
    speaker: int = 0
    """Hash of the one participant the question names, 0: none."""
    window: tuple[int, int] | None = None
    """The time `[start, end)` the question refers to."""
    per_channel: int = 60
    now: int
    as_of: int | None = None
    """See the world as it was then: past facts count if they held, messages if they were said."""
    known_at: int | None = None
    """See what was recorded by then and not yet replaced."""
    since: int | None = None
    until: int | None = None
    strata: frozenset[int]
    kinds: frozenset[int] | None = None
    session: int = 0
    sensitivity: int = 1
    """The highest shown."""
    allowed: NDArray[np.int64] | None = None
    """The `seq`s that passed the filters; None: all."""
    mentions: Mapping[int, float] = field(default_factory=dict[int, float])
    """How much it says that a message or record (its `group`) mentions what is asked about."""


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """A choice of items, the same for every instant in `[start, end)`."""

    bits: NDArray[np.bool_]
    count: int
    start: int = MIN
    end: int = MAX
    mean_length: float = 1.0
    """Of the items chosen, in terms; known of the counted ones."""

    def narrowed(self, bits: NDArray[np.bool_]) -> Mask:
        """The choice `bits` made from this one."""
        return Mask(bits, int(np.count_nonzero(bits)), self.start, self.end)


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """What one question sees."""

    counted: Mask
    """Visible by default, whatever the question: what statistics are made of."""
    readable: Mask
    """May be read at the question's times and sensitivity: what neighbours may speak for it."""
    visible: Mask
    """Readable, and what is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Visibility:
    """The masks over one state of the index; those of plain questions are kept."""

    items: Columns
    count: int
    order: NDArray[np.intp] | None
    """Slots by `seq`, None where they arrived in its order."""
    _kept: dict[object, Mask] = field(default_factory=dict[object, Mask])

    def sight(self, query: Query) -> Sight:
        """The masks for `query`."""
        plain = self._keep("plain", query.now, lambda: self._readable(query.now))
        counted = self._keep("counted", query.now, lambda: self._counted(plain))
        if query.as_of is None and query.known_at is None:
            readable = self._keep(
                query.sensitivity, query.now, lambda: self._up_to(plain, query.sensitivity)
            )
        else:
            instant = query.as_of if query.as_of is not None else query.known_at
            base = self._readable(query.now if instant is None else instant, query)
            readable = self._up_to(base, query.sensitivity)
        return Sight(counted, readable, self._visible(query, readable))

    def _keep(self, key: object, now: int, make: Callable[[], Mask]) -> Mask:
        mask = self._kept.get(key)
        if mask is None or not mask.start <= now < mask.end:
            mask = self._kept[key] = make()
        return mask

    def _counted(self, mask: Mask) -> Mask:
        # What only repeats what stands elsewhere (episodes, entities) would count words twice.
        told = _among(self.items.stratum[: self.count], _COUNTED)
        if not told.all():
            mask = mask.narrowed(mask.bits & told)
        lengths = self.items.length[: self.count][mask.bits]
        mean = float(lengths.mean(dtype=np.float64)) if len(lengths) else 0.0
        return replace(mask, mean_length=mean or 1.0)

    def _readable(self, instant: int, query: Query | None = None) -> Mask:
        """Readable at `instant`; without a query, by default."""
        items, n = self.items, self.count
        as_of = query.as_of if query else None
        known_at = query.known_at if query else None
        bits = (items.flags[:n] & UNREADABLE) == 0
        bits &= items.lifecycle[:n] <= (0 if as_of is None else 1)
        if known_at is None:
            bits &= items.closed[:n] == MAX
        else:
            bits &= (items.opened[:n] <= known_at) & (items.closed[:n] > known_at)
        if as_of is not None:
            # Messages and episodes, that is: a record has its validity.
            bits &= (items.occurred[:n] <= as_of) | (items.stratum[:n] > 1)
        start, end = self._hold(bits, instant)
        return Mask(bits, int(np.count_nonzero(bits)), start, end)

    def _hold(self, bits: NDArray[np.bool_], instant: int) -> tuple[int, int]:
        """Clear what is not valid at `instant`; returns since and until when that is so."""
        timed = np.flatnonzero(self.items.bounded[: self.count])
        if not len(timed):
            return MIN, MAX
        start = self.items.valid_from[timed]
        end = np.minimum(self.items.valid_to[timed], self.items.expires[timed])
        bits[timed] &= (start <= instant) & (instant < end)
        edges = np.concatenate((start, end))
        past = edges <= instant
        return int(edges[past].max(initial=MIN)), int(edges[~past].min(initial=MAX))

    def _up_to(self, mask: Mask, sensitivity: int) -> Mask:
        bits = self.items.sensitivity[: self.count] <= sensitivity
        return mask if bits.all() else mask.narrowed(bits & mask.bits)

    def _visible(self, query: Query, readable: Mask) -> Mask:
        times = (query.as_of, query.known_at, query.since, query.until)
        if query.session or query.allowed is not None or any(t is not None for t in times):
            return self._picked(query, self._of_type(query, readable))
        key = query.strata, query.kinds, query.sensitivity
        return self._keep(key, query.now, lambda: self._of_type(query, readable))

    def _of_type(self, query: Query, mask: Mask) -> Mask:
        bits = _among(self.items.stratum[: self.count], query.strata)
        if query.kinds is not None:
            bits &= _among(self.items.kind[: self.count], query.kinds)
        return mask if bits.all() else mask.narrowed(bits & mask.bits)

    def _picked(self, query: Query, mask: Mask) -> Mask:
        items, n = self.items, self.count
        bits = mask.bits.copy()
        if query.session:
            bits &= items.session[:n] == query.session
        if query.since is not None:
            bits &= items.occurred[:n] >= query.since
        if query.until is not None:
            bits &= items.occurred[:n] < query.until
        if query.allowed is not None:
            chosen = np.zeros(n, np.bool_)
            slots = self.slots(query.allowed)
            chosen[slots[slots >= 0]] = True
            bits &= chosen
        return mask.narrowed(bits)

    def slots(self, seqs: NDArray[np.int64]) -> NDArray[np.intp]:
        """The slot of each item, -1 for one that is not in the index."""
        known = self.items.seq[: self.count]
        if not self.count:
            return np.full(len(seqs), -1, np.intp)
        at = np.searchsorted(known, seqs, sorter=self.order)
        at = np.minimum(at, self.count - 1)
        slots = at if self.order is None else self.order[at]
        return np.where(known[slots] == seqs, slots, -1)


def _among(codes: NDArray[np.uint8], wanted: frozenset[int]) -> NDArray[np.bool_]:
    chosen = np.zeros(256, np.bool_)
    chosen[sorted(wanted)] = True
    return chosen[codes]
