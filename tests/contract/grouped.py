"""Themes as the tests see them, and an embedder whose vectors stand where a text says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata import AsyncMemory
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Theme

__all__ = ["IVO", "Placed", "fact", "grouping", "homes", "leaves", "rand_index", "roots"]

IVO: dict[str, Any] = {"user_id": "ivo"}
_PLACE = re.compile(r"\bc(\d+)n(\d+)\b")


class Placed(FakeEmbedder):
    """Texts that say `c3n17` lie near the middle of cluster 3, each a little apart; the spread is
    the length of what is added to the middle."""

    def __init__(self, *, dimensions: int = 64, spread: float = 1.0) -> None:
        super().__init__(dimensions=dimensions, id=f"placed-{dimensions}-{spread}")
        self.spread = spread

    def _vector(self, text: str) -> NDArray[np.float64]:
        place = _PLACE.search(text)
        if place is None:
            return super()._vector(text)
        seeds = (int(place[1]), 10**6 + 10**4 * int(place[1]) + int(place[2]))
        middle, own = (np.random.default_rng(s).normal(size=self.dimensions) for s in seeds)
        row = middle / np.linalg.norm(middle) + self.spread * own / np.linalg.norm(own)
        return row / np.linalg.norm(row)


async def fact(memory: AsyncMemory, name: str, **more: Any) -> str:
    """Write a fact by hand; its id."""
    scope = {key: more.pop(key) for key in ("user_id", "agent_id") if key in more} or IVO
    record = {"kind": "semantic", "name": name, **more}
    return (await memory.create(record, **scope)).record_ids[0]


async def roots(memory: AsyncMemory, parent: str | None = None, **scope: Any) -> list[Theme]:
    """The themes at the top, or under one."""
    return (await memory.themes(parent, limit=1000, **(scope or IVO))).items


async def leaves(memory: AsyncMemory, **scope: Any) -> list[Theme]:
    """All themes of records, found by going down the tree."""
    found: list[Theme] = []
    for top in await roots(memory, **scope):
        below = await roots(memory, top.id, **scope)
        assert len(below) == top.children
        assert {one.parent_id for one in below} <= {top.id}
        found += below or [top]
    return found


async def homes(memory: AsyncMemory, **scope: Any) -> dict[str, Theme]:
    """The theme of each record; no record is in two."""
    themes = await leaves(memory, **scope)
    found = {record_id: theme for theme in themes for record_id in theme.record_ids}
    assert len(found) == sum(len(theme.record_ids) for theme in themes)
    return found


def grouping(found: Mapping[str, Theme]) -> set[frozenset[str]]:
    """Which records are together."""
    sets: dict[str, set[str]] = {}
    for record_id, theme in found.items():
        sets.setdefault(theme.id, set()).add(record_id)
    return {frozenset(one) for one in sets.values()}


def rand_index(one: Mapping[str, object], other: Mapping[str, object]) -> float:
    """The adjusted Rand index of two groupings of the same things (Hubert and Arabie, 1985)."""
    assert one.keys() == other.keys()

    def pairs(counts: Collection[int]) -> int:
        return sum(comb(count, 2) for count in counts)

    both = pairs(Counter((one[key], other[key]) for key in one).values())
    first, second = (_sizes(groups.values()) for groups in (one, other))
    expected = pairs(first) * pairs(second) / comb(len(one), 2)
    most = (pairs(first) + pairs(second)) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _sizes(groups: Collection[object]) -> Sequence[int]:
    return list(Counter(groups).values())
