"""The ways in which a group of vectors may fall into pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["ways_to_split"]

_Parts = list[NDArray[np.intp]]


def ways_to_split(vectors: NDArray[np.float32], link: float) -> Iterator[_Parts]:
    """Divisions of the rows of `vectors` (n, d), each into two parts or more, as row numbers.

    The connected components at cosine `link`, and slices along the first principal component: at
    its middle, at its widest gap, and in thirds.
    """
    count = len(vectors)
    if count < 2:
        return
    cosines = vectors @ vectors.T
    parts = _components(cosines >= link)
    if len(parts) > 1:
        yield parts
    order = _along_first_component(cosines)
    for cuts in _cuts(order[0], order[1]):
        yield np.split(order[0], cuts)


def _components(linked: NDArray[np.bool_]) -> _Parts:
    left = np.ones(len(linked), np.bool_)
    parts: _Parts = []
    while left.any():
        part = np.zeros_like(left)
        part[int(left.argmax())] = True
        while True:
            grown = part | linked[part].any(axis=0)
            if (grown == part).all():
                break
            part = grown
        parts.append(np.flatnonzero(part))
        left &= ~part
    return parts


def _along_first_component(
    cosines: NDArray[np.float32],
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The rows in the order of their first principal component, and their places on it."""
    rows = cosines.mean(axis=0)
    centred = cosines - rows[None, :] - rows[:, None] + rows.mean()
    _, axes = np.linalg.eigh(centred.astype(np.float64))
    places = axes[:, -1].astype(np.float32)
    # The sign of an axis is arbitrary; fixed, so that every machine agrees on the order.
    places = places if places[int(np.abs(places).argmax())] > 0 else -places
    order = np.argsort(places, kind="stable")
    return order, places[order]


def _cuts(order: NDArray[np.intp], places: NDArray[np.float32]) -> list[list[int]]:
    count = len(order)
    gaps = np.diff(places)
    # A cut at an end would leave a single member, which components do better.
    inner = gaps[1:-1] if count > 3 else gaps
    widest = int(inner.argmax()) + (2 if count > 3 else 1)
    found = [[count // 2]]
    if widest != count // 2:
        found.append([widest])
    if count >= 6:
        found.append([count // 3, count - count // 3])
    return found
