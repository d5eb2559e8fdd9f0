"""When records belong together: cosines, from levels that mean the same for every model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.arguments import check_numbers
from memstrata.errors import InvalidInput

__all__ = ["ARTICLE", "LEVELS", "Levels", "Rules", "check_grouping", "rules_for"]

_COUNTS = ("largest", "split_from")
_GRID = np.linspace(-1.0, 1.0, 4001)


@dataclass(frozen=True, slots=True)
class Levels:
    """The thresholds on the scale of `Embedder.relate`: -log10 of a share of pairs, over 5."""

    attach: float
    """To the theme whose centroid is nearest."""
    room: float
    """The same, while the theme has room."""
    link: float
    """Members this near are connected when a theme is split."""
    tight: float
    """A theme whose members are this near one another in the mean is never split for its own."""
    merge: float
    """Centroids this near may become one theme."""


LEVELS = Levels(attach=0.26, room=0.2, link=0.36, tight=0.36, merge=0.48)


@dataclass(frozen=True, slots=True)
class Rules:
    """The thresholds as cosines of one model, and the sizes of themes."""

    attach: float
    room: float
    link: float
    tight: float
    merge: float
    largest: int = 12
    split_from: int = 8
    """Themes of at least this size are split if they are loose."""
    splits: bool = True
    merges: bool = True


ARTICLE: Mapping[str, float] = MappingProxyType(
    {"attach": 0.65, "room": 0.65, "link": 0.3, "tight": 0.3, "merge": 0.65}
)
"""The constants of the article the strata come from, which names no model: join above 0.65, split
below 0.3. For comparison."""


def _levels() -> dict[str, float]:
    return asdict(LEVELS)


def rules_for(
    relate: Callable[[NDArray[Any]], NDArray[np.float64]],
    changes: Mapping[str, float] = MappingProxyType({}),
) -> Rules:
    """The least cosines that reach the levels by a model's own `relate`, but for `changes`."""
    reached: NDArray[np.float64] = relate(_GRID)
    cosines = {
        name: float(_GRID[min(int(np.searchsorted(reached, level)), len(_GRID) - 1)])
        for name, level in _levels().items()
    }
    return Rules(**{**cosines, **changes})  # type: ignore[arg-type]


def check_grouping(changes: Mapping[str, float]) -> dict[str, float]:
    """Changes of the rules that a caller gives, checked: a known name each, and a number."""
    plain = check_numbers("grouping", changes, [one.name for one in fields(Rules)])
    for name in _COUNTS:
        if plain.get(name, 2) < 2:
            raise InvalidInput(f"grouping: {name} is at least 2, or every record stays alone")
    return {name: int(value) if name in _COUNTS else value for name, value in plain.items()}
