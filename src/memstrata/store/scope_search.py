"""From a question to candidates with their signals, over one state of a scope's index.

Everything is exact: BM25 with the scope's own statistics, coverage that decays with distance in
the session, cosine over all vectors. What may not be seen is masked before anything is ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log1p

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import InvalidInput
from memstrata.store.item_columns import Columns
from memstrata.store.items import ENTITY, STRATA
from memstrata.store.session_line import LineView
from memstrata.store.term_index import Postings, TermView
from memstrata.store.visibility import Query, Sight, Visibility

__all__ = ["Candidates", "Links", "Snapshot", "find"]

_K1, _B = 1.2, 0.75
_FLAT = 0.3
"""Both constants of the saturation in coverage, where a term counts nearly the same however often
it occurs."""
_GROUPS = 64
_FEW = 10
"""Vectors are gathered, not scanned, where fewer than one in so many items may be seen."""

_Signal = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Parallel arrays, one entry per item found, by `seq`."""

    seq: NDArray[np.int64]
    cosine: _Signal
    """Not a number where the item, or the question, has no vector."""
    near_cosine: _Signal
    """Mean cosine of the messages before and after in the session; not a number where none has."""
    bm25: _Signal
    """Of the item's own terms (k1 1.2, b 0.75)."""
    coverage: _Signal
    """The idf-weighted share of the question's terms found in the message or near it, in [0, 1]."""
    own_coverage: _Signal
    """The same within the item alone."""
    asked: _Signal
    """Coverage of the message before, if it asks and is another speaker's, else 0."""
    speaker: NDArray[np.bool_]
    """Whether the participant named by the question said it."""
    occurred: NDArray[np.int64]
    flags: NDArray[np.uint8]
    role: NDArray[np.uint8]
    stratum: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    session: NDArray[np.uint64]
    group: NDArray[np.int64]
    total: int
    """Items the question can see, found or not."""
    wanted: NDArray[np.bool_]
    """Whether the item is what was asked for; others only lend strength."""
    entity: _Signal
    """How much it says that the item mentions what is asked about, 0 where it does not."""
    links: NDArray[np.int64]
    """Rows (message, record or episode, whether the record is past): positions in these arrays."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The index as it was at one moment: arrays that later writes may update but never shrink."""

    count: int
    items: Columns
    matrix: NDArray[np.float32]
    """A row per item, zero where it has no vector; no columns as long as none has."""
    vectors: int
    """Items that have one."""
    terms: TermView
    line: LineView
    visibility: Visibility

    @cached_property
    def several(self) -> NDArray[np.intp]:
        """Slots of the items that share their message with others."""
        return self.line.several(self.count)


@dataclass(frozen=True, slots=True, eq=False)
class _Lexical:
    """Signals of terms: by slot, and by position on the line of sessions."""

    bm25: _Signal
    coverage: _Signal
    own: _Signal
    spread: _Signal


Links = Callable[[Sequence[int], Sequence[int]], Sequence[tuple[int, int, bool]]]
"""Given the groups of messages and of records, what is linked: (lower, upper, past)."""


def find(snapshot: Snapshot, query: Query, links: Links | None = None) -> Candidates:
    """The best items of every channel, each with all signals.

    Channels: cosine, BM25, coverage; the items inside the question's window; those of the speaker
    it names; those that mention what it is about. With `links`, also what these were made from or
    were made into, and the best of the strata not asked for, which lend their strength. Of a
    message in several passages the coverage channel, where they all count the same, takes the
    passage that covers most by itself. `InvalidInput` if the question's vector is not of the model
    of the items'.
    """
    sight = snapshot.visibility.sight(query)
    lexical = _lexical(snapshot, query, sight)
    cosine = _cosine(snapshot, query, sight)
    if query.per_channel > 0 and sight.visible.count:
        slots = _channels(snapshot, query, sight, lexical, cosine)
    else:
        slots = np.zeros(0, np.intp)
    pairs = np.zeros((0, 3), np.int64)
    if links is not None and len(slots):
        slots, pairs = _with_lenders(snapshot, query, sight, lexical, cosine, slots, links)
    return _gathered(snapshot, query, sight, lexical, cosine, slots, pairs)


# ── terms ────────────────────────────────────────────────────────────────────────────────────


def _lexical(snapshot: Snapshot, query: Query, sight: Sight) -> _Lexical:
    n = snapshot.count
    wanted = [term for term, _ in query.terms] + [term for _, term, _ in query.alternatives]
    found = snapshot.terms.postings(wanted) if query.terms else []
    read = [_read(postings, sight) for postings in found]
    read, scales = _widened(read, query)
    if not any(len(postings.slots) for postings, _ in read):
        nothing = np.zeros(n, np.float32)
        return _Lexical(nothing, nothing, nothing, np.zeros(snapshot.line.used, np.float32))
    count = sight.counted.count
    weights = [
        weight * log1p(max(count - df + 0.5, 0.5) / (df + 0.5))
        for (_, weight), (_, df) in zip(query.terms, read, strict=True)
    ]
    whole = sum(weights) or 1.0
    shares = [weight / whole for weight in weights]

    sizes = [len(postings.slots) for postings, _ in read]
    slots = np.concatenate([postings.slots for postings, _ in read]).astype(np.intp)
    tf = np.concatenate([postings.tfs for postings, _ in read]).astype(np.float32)
    share = np.repeat(np.array(shares, np.float32), sizes)
    length = snapshot.items.length[slots] * np.float32(1.0 / sight.counted.mean_length)
    strength = _saturated(tf, length, _FLAT, _FLAT)
    part = share * _saturated(tf, length, _K1, _B) * np.float32(whole * (_K1 + 1))
    if query.alternatives:
        scale = np.concatenate(scales)
        strength *= scale
        part *= scale == 1.0
    bm25 = np.bincount(slots, part, n).astype(np.float32)
    own = np.bincount(slots, share * strength, n).astype(np.float32)
    spread = snapshot.line.spread(slots, strength, sizes, shares)
    # An item in no session has its own terms only.
    coverage = np.maximum(spread[snapshot.line.place[:n]], own)
    return _Lexical(bm25, coverage, own, spread)


def _widened(
    read: list[tuple[Postings, int]], query: Query
) -> tuple[list[tuple[Postings, int]], list[_Signal]]:
    """The postings of every term and of what may stand in its place, and how much each counts.

    An item that has the term counts for it alone, so that no item counts twice. A term is as rare
    as it is itself: what stands in its place is worth the same share of it, rare or not.
    """
    own, others = read[: len(query.terms)], read[len(query.terms) :]
    scales = [np.ones(len(postings.slots), np.float32) for postings, _ in own]
    places = [place for place, _, _ in query.alternatives]
    for at in sorted(set(places)):
        group = [(own[at][0], 1.0)] + [
            (postings, share)
            for (postings, _), (place, _, share) in zip(others, query.alternatives, strict=True)
            if place == at
        ]
        slots, first = np.unique(
            np.concatenate([postings.slots for postings, _ in group]), return_index=True
        )
        tfs = np.concatenate([postings.tfs for postings, _ in group])[first]
        shares = np.repeat(
            np.array([share for _, share in group], np.float32),
            [len(postings.slots) for postings, _ in group],
        )
        own[at] = Postings(slots, tfs), own[at][1]
        scales[at] = shares[first]
    return own, scales


def _saturated(tf: _Signal, length: _Signal, k1: float, b: float) -> _Signal:
    """`tf / (tf + k1 (1 - b + b · length))`, lengths relative to the mean."""
    return np.divide(tf, tf + (np.float32(k1 * b) * length + np.float32(k1 * (1 - b))))


def _read(postings: Postings, sight: Sight) -> tuple[Postings, int]:
    """The postings that may be read, and the number that counts for the term's rarity."""
    slots, tfs = postings
    everything = len(sight.counted.bits)
    frequency = len(slots)
    if sight.counted.count < everything:
        frequency = int(np.count_nonzero(sight.counted.bits[slots]))
    if sight.readable.count < everything:
        kept = sight.readable.bits[slots]
        slots, tfs = slots[kept], tfs[kept]
    return Postings(slots, tfs), frequency


# ── vectors ──────────────────────────────────────────────────────────────────────────────────


def _cosine(snapshot: Snapshot, query: Query, sight: Sight) -> _Signal:
    """By slot; minus infinity for what has no vector or may not be read."""
    n = snapshot.count
    if query.vector is None or not snapshot.vectors:
        return np.full(n, -np.inf, np.float32)
    if query.vector.shape != (snapshot.matrix.shape[1],):
        raise InvalidInput(
            f"the question's vector has shape {query.vector.shape}, those of the index "
            f"{snapshot.matrix.shape[1]} dimensions: embed both with one model"
        )
    vector = query.vector.astype(np.float32, copy=False)
    bits = sight.readable.bits
    if snapshot.vectors < n:
        bits = bits & snapshot.items.has_vector[:n]
    if sight.readable.count * _FEW < n:
        slots = np.flatnonzero(bits)
        cosine = np.full(n, -np.inf, np.float32)
        cosine[slots] = snapshot.matrix[slots] @ vector
        return cosine
    cosine = snapshot.matrix[:n] @ vector
    cosine[~bits] = -np.inf
    return cosine


# ── channels ─────────────────────────────────────────────────────────────────────────────────


def _channels(
    snapshot: Snapshot, query: Query, sight: Sight, lexical: _Lexical, cosine: _Signal
) -> NDArray[np.intp]:
    items, k, visible = snapshot.items, query.per_channel, sight.visible.bits
    coverage = np.where(visible, lexical.coverage, np.float32(0.0))
    _offer_once(snapshot, coverage, lexical.own)
    bm25 = lexical.bm25
    if sight.visible is not sight.readable:
        bm25 = np.where(visible, bm25, np.float32(0.0))
        cosine = np.where(visible, cosine, np.float32(-np.inf))
    picks = [
        _best(cosine, -np.inf, k, items),
        _best(bm25, 0.0, k, items),
        _best(coverage, 0.0, k, items),
    ]
    if query.speaker:
        theirs = items.speaker[: snapshot.count] == query.speaker
        picks += _halves(theirs, coverage, cosine, (k + 1) // 2, items)
    if query.window is not None:
        start, end = query.window
        occurred = items.occurred[: snapshot.count]
        inside = visible & (occurred >= start) & (occurred < end)
        chosen = _halves(inside, coverage, cosine, (k + 1) // 2, items)
        inside[np.concatenate(chosen)] = False
        rest = k - len(np.union1d(*chosen))
        picks += [*chosen, _cut(np.flatnonzero(inside), rest, items.occurred, items.seq)]
    if query.mentions:
        picks.append(_mentions(snapshot, query, sight))
    return np.unique(np.concatenate(picks))


def _mentions(snapshot: Snapshot, query: Query, sight: Sight) -> NDArray[np.intp]:
    """The visible items that mention what is asked about, the most telling first."""
    best = sorted(query.mentions, key=lambda group: (-query.mentions[group], -group))
    slots = snapshot.visibility.slots(np.array(best[: query.per_channel], np.int64))
    slots = slots[slots >= 0]
    return slots[sight.visible.bits[slots]]


def _halves(
    mask: NDArray[np.bool_], coverage: _Signal, cosine: _Signal, k: int, items: Columns
) -> list[NDArray[np.intp]]:
    """The best `k` of the masked items by coverage, and by cosine."""
    return [
        _best(np.where(mask, coverage, np.float32(0.0)), 0.0, k, items),
        _best(np.where(mask, cosine, np.float32(-np.inf)), -np.inf, k, items),
    ]


def _offer_once(snapshot: Snapshot, coverage: _Signal, own: _Signal) -> None:
    """Clear the coverage of all passages of a message but the one that covers most by itself."""
    several = snapshot.several[coverage[snapshot.several] > 0]
    if not len(several):
        return
    place = snapshot.line.place[several]
    order = np.lexsort((-snapshot.items.seq[several], own[several], place))
    several, place = several[order], place[order]
    coverage[several[:-1][place[:-1] == place[1:]]] = 0.0


def _best(key: _Signal, floor: float, k: int, items: Columns) -> NDArray[np.intp]:
    """The `k` slots with the largest `key` over `floor`; of equals the newest."""
    width = len(key) // _GROUPS
    threshold = floor
    if width >= 2 * k:
        # At least k items reach the k-th largest of the maxima of disjoint groups.
        peaks = key[: _GROUPS * width].reshape(_GROUPS, width).max(axis=0)
        threshold = float(np.partition(peaks, width - k)[width - k])
    above = key >= np.float32(threshold) if threshold > floor else key > np.float32(floor)
    return _cut(np.flatnonzero(above), k, key, items.occurred, items.seq)


def _cut(slots: NDArray[np.intp], k: int, *keys: NDArray[np.generic]) -> NDArray[np.intp]:
    """The `k` of `slots` with the largest first key, of equals the largest second, and so on."""
    chosen: list[NDArray[np.intp]] = []
    for key in keys:
        if k <= 0 or len(slots) <= k:
            break
        values = key[slots]
        limit = np.partition(values, len(values) - k)[len(values) - k]
        above = slots[values > limit]
        chosen.append(above)
        slots, k = slots[values == limit], k - len(above)
    return np.concatenate([*chosen, slots[: max(k, 0)]])


# ── what lends strength ──────────────────────────────────────────────────────────────────────

_LEND = frozenset(STRATA[name] for name in ("messages", "episodes", "records"))


def _with_lenders(
    snapshot: Snapshot,
    query: Query,
    sight: Sight,
    lexical: _Lexical,
    cosine: _Signal,
    slots: NDArray[np.intp],
    links: Links,
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The candidates, with what lends them strength, and the links as pairs of slots."""
    items, n = snapshot.items, snapshot.count
    strata = items.stratum[:n]
    if not np.any((strata == STRATA["records"]) | (strata == STRATA["episodes"])):
        return slots, np.zeros((0, 3), np.int64)
    others = sight.readable.bits & ~sight.visible.bits & (strata != ENTITY)
    if others.any():
        k = query.per_channel
        slots = np.union1d(
            slots, np.concatenate(_halves(others, lexical.coverage, cosine, k, items))
        )
    groups = [
        np.unique(items.group[slots[items.stratum[slots] == STRATA[name]]]).tolist()
        for name in ("messages", "records")
    ]
    found = np.array(links(*groups), np.int64).reshape(-1, 3)
    at = np.stack([snapshot.visibility.slots(found[:, side]) for side in (0, 1)], axis=1)
    there = (at >= 0).all(axis=1)
    at, found = at[there], found[there]
    at[:, 0] = _passages(snapshot, lexical, slots, at[:, 0])
    readable = sight.readable.bits[at]
    kept = readable[:, 0] & (readable[:, 1] | (found[:, 2] == 1))
    at, past = at[kept], found[kept, 2]
    # A message is found for what was made from it; in an episode it needs evidence of its own.
    known = at[(past == 0) & (items.stratum[at[:, 1]] != STRATA["episodes"]), 0]
    return np.union1d(slots, np.union1d(known, at[past == 0, 1])), np.column_stack((at, past))


def _passages(
    snapshot: Snapshot, lexical: _Lexical, slots: NDArray[np.intp], lower: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Of a message in several passages, the one that was found and covers most by itself."""
    several = slots[np.isin(slots, snapshot.several)]
    if not len(several):
        return lower
    group = snapshot.items.group
    order = np.lexsort((lexical.own[several], group[several]))
    best = dict(zip(group[several[order]].tolist(), several[order].tolist(), strict=True))
    chosen = (best.get(g, s) for g, s in zip(group[lower].tolist(), lower.tolist(), strict=True))
    return np.fromiter(chosen, np.intp, len(lower))


# ── signals ──────────────────────────────────────────────────────────────────────────────────


def _gathered(
    snapshot: Snapshot,
    query: Query,
    sight: Sight,
    lexical: _Lexical,
    cosine: _Signal,
    slots: NDArray[np.intp],
    pairs: NDArray[np.int64],
) -> Candidates:
    items = snapshot.items
    slots = slots[np.argsort(items.seq[slots])]
    speaker = items.speaker[slots]
    own = cosine[slots]
    own[np.isneginf(own)] = np.nan
    return Candidates(
        seq=items.seq[slots],
        cosine=own,
        near_cosine=_near(snapshot, cosine, slots),
        bm25=lexical.bm25[slots],
        coverage=lexical.coverage[slots],
        own_coverage=lexical.own[slots],
        asked=_asked(snapshot, sight, lexical.spread, slots),
        speaker=(speaker == query.speaker) & (speaker != 0),
        occurred=items.occurred[slots],
        flags=items.flags[slots],
        role=items.role[slots],
        stratum=items.stratum[slots],
        kind=items.kind[slots],
        session=items.session[slots],
        group=items.group[slots],
        total=sight.visible.count,
        wanted=sight.visible.bits[slots],
        entity=_mentioning(query, items.group[slots]),
        links=_positions(slots, pairs),
    )


def _mentioning(query: Query, groups: NDArray[np.int64]) -> _Signal:
    if not query.mentions:
        return np.zeros(len(groups), np.float32)
    weights = (query.mentions.get(group, 0.0) for group in groups.tolist())
    return np.fromiter(weights, np.float32, len(groups))


def _positions(slots: NDArray[np.intp], pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Links by positions among the candidates; a record that is past is none, and stays -1."""
    if not len(pairs):
        return np.zeros((0, 3), np.int64)
    order = np.argsort(slots)
    at = np.minimum(np.searchsorted(slots, pairs[:, :2], sorter=order), len(slots) - 1)
    place = order[at]
    place = np.where(slots[place] == pairs[:, :2], place, -1)
    return np.column_stack((place[place[:, 0] >= 0], pairs[place[:, 0] >= 0, 2]))


def _near(snapshot: Snapshot, cosine: _Signal, slots: NDArray[np.intp]) -> _Signal:
    """Mean cosine of the messages beside each, of those that can be read and have a vector."""
    line = snapshot.line
    place = line.place[slots]
    total = np.zeros(len(slots), np.float32)
    count = np.zeros(len(slots), np.float32)
    for step in (-1, 1):
        beside = line.cells[np.maximum(place + step, 0)]
        # The message behind the last may have joined after the snapshot.
        there = (place > 0) & (beside >= 0) & (beside < snapshot.count)
        value = cosine[np.where(there, beside, 0)]
        there &= np.isfinite(value)
        total += np.where(there, value, np.float32(0.0))
        count += there
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _asked(
    snapshot: Snapshot, sight: Sight, spread: _Signal, slots: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Coverage of the message before, where it is a question of another speaker, else 0."""
    line, speaker = snapshot.line, snapshot.items.speaker
    before = np.maximum(line.place[slots] - 1, 0)
    asks = line.asks[before]
    earlier = np.where(asks, line.cells[before], slots)
    asks &= (speaker[earlier] != speaker[slots]) & sight.readable.bits[earlier]
    return np.where(asks, spread[before], np.float32(0.0))
