"""What lends strength to what: records and episodes to messages, names to what mentions them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.records import Scope
from memstrata.store import entities
from memstrata.store.ports import Tx
from memstrata.store.rows import dumps
from memstrata.store.scope_index import ScopeIndex

__all__ = ["Similar", "linked", "mentioned"]

Similar = Callable[[NDArray[Any]], NDArray[Any]]
"""From cosines to similarities in [0, 1]."""

_MOST = 500
"""A mention of what is mentioned more often than that says nothing."""
_GIVEN_NAME = 0.9
"""Similarity of a person who is only called by the given name."""
_LEAST = 0.5
"""The similarity from which a name that is not written in the question counts (mem0)."""
_NEAREST = 5


def linked(
    tx: Tx, numbers: Sequence[int], now: int, messages: Sequence[int], records: Sequence[int]
) -> list[tuple[int, int, bool]]:
    """Messages and what was made from them, by number, and whether that is no longer so.

    The records that rest on these messages, the messages these records rest on, and the episodes
    these messages are in.
    """
    found: set[tuple[int, int, bool]] = set()
    for number in numbers:
        said = {"scope": number, "now": now, "seqs": dumps(list(messages))}
        known = {"scope": number, "seqs": dumps(list(records))}
        found.update((m, r, bool(past)) for m, r, past in tx.rows("links_of_messages", said))
        found.update((m, r, False) for r, m in tx.rows("links_of_records", known))
        found.update((m, e, False) for m, e in tx.rows("links_to_episodes", said))
    return sorted(found)


def mentioned(
    tx: Tx,
    numbers: Mapping[Scope, int],
    index: ScopeIndex,
    names: Sequence[str],
    vector: NDArray[np.float32] | None,
    similar: Similar,
) -> dict[int, float]:
    """What mentions the entities a question is about, and how much that says, by number.

    mem0's rule: similarity × 0.5 / (1 + 0.001 (n − 1)²) for an entity linked to n things; of
    several entities the best counts.
    """
    likeness = _alike(index, vector, similar)
    for number in numbers.values():
        for entity in entities.find(tx, number, names) if names else ():
            likeness[entity.seq] = 1.0 if entity.forms else _GIVEN_NAME
    said: dict[int, float] = {}
    for number in numbers.values() if likeness else ():
        for seq, similarity in likeness.items():
            params = {"scope": number, "entity": seq, "limit": _MOST + 1}
            owners = [int(row[0]) for row in tx.rows("mention_of", params)]
            weight = similarity * 0.5 / (1 + 0.001 * (len(owners) - 1) ** 2)
            for owner in owners if len(owners) <= _MOST else ():
                said[owner] = max(said.get(owner, 0.0), weight)
    return said


def _alike(
    index: ScopeIndex, vector: NDArray[np.float32] | None, similar: Similar
) -> dict[int, float]:
    """Entities whose name is close to the question in meaning."""
    if vector is None:
        return {}
    seqs, cosines = index.nearest_entities(vector, _NEAREST)
    if not len(seqs):
        return {}
    near = np.asarray(similar(cosines), np.float64)
    return {int(s): float(v) for s, v in zip(seqs, near, strict=True) if v >= _LEAST}
