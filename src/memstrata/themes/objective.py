"""How good a grouping is: themes of even sizes, each held together and apart from the next."""

from __future__ import annotations

from math import exp
from statistics import median

import numpy as np
from numpy.typing import NDArray

__all__ = ["cohesion", "objective", "tightness"]

_LEAST_SPREAD = 0.05
"""The least σ: with two or three themes the median absolute deviation is next to nothing, and the
smallest difference would decide."""


def objective(sizes: NDArray[np.float64], sums: NDArray[np.float32]) -> float:
    """`N² / (K Σ nₖ²) + meanₖ[cohesionₖ · exp(−(sₖ − m)² / 2σ²)]`, larger is better.

    `sizes` (K,) are the numbers of members nₖ, `sums` (K, d) the sums of their unit vectors; sₖ is
    the cosine of a centroid to the nearest other one, m the median of these, σ their median
    absolute deviation. The first term is 1 where all sizes are equal, the second at most 1. A
    single theme counts as well apart. 0 for no theme.
    """
    count = len(sizes)
    if not count:
        return 0.0
    total = float(sizes.sum())
    even = total * total / (count * float(sizes @ sizes))
    gram = sums @ sums.T
    lengths = np.sqrt(gram.diagonal())
    held = (lengths / sizes).tolist()
    if count == 1:
        return even + held[0]
    cosines = gram / np.outer(lengths, lengths).clip(1e-12)
    np.fill_diagonal(cosines, -2.0)
    # A dozen numbers: plain arithmetic is several times faster here than arrays.
    nearest: list[float] = cosines.max(axis=1).tolist()
    middle = median(nearest)
    away = [one - middle for one in nearest]
    spread = max(median([abs(one) for one in away]), _LEAST_SPREAD)
    scale = -0.5 / (spread * spread)
    apart = sum(h * exp(scale * a * a) for h, a in zip(held, away, strict=True))
    return even + apart / count


def cohesion(size: int, total: NDArray[np.float32]) -> float:
    """The mean cosine of unit vectors to their centroid, from their number and sum."""
    return float(np.sqrt(total @ total)) / size


def tightness(size: int, total: NDArray[np.float32]) -> float:
    """The mean cosine of all pairs of unit vectors, from their number and sum; 1 for a single."""
    return 1.0 if size < 2 else (float(total @ total) - size) / (size * (size - 1))
