"""The headers of searchable items, by column: what filters and ranking read of an item."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memstrata.store.items import HIDDEN, MAX, MIN, REMOVED

__all__ = [
    "ITEM",
    "UNREADABLE",
    "Columns",
    "ItemRow",
    "resized",
]

UNREADABLE = REMOVED | HIDDEN
"""The flags of what nothing finds."""

ITEM = np.dtype(
    [
        ("occurred", "<i8"),
        ("opened", "<i8"),
        ("closed", "<i8"),
        ("valid_from", "<i8"),
        ("valid_to", "<i8"),
        ("expires", "<i8"),
        ("session", "<u8"),
        ("speaker", "<u8"),
        ("group", "<i8"),
        ("stratum", "u1"),
        ("kind", "u1"),
        ("role", "u1"),
        ("flags", "u1"),
        ("lifecycle", "u1"),
        ("sensitivity", "u1"),
        ("scope", "<u2"),
    ]
)
"""An item's header as `items` packs it, 80 bytes without padding.

Instants are microseconds since 1970 UTC: when it happened, was recorded, was closed (`MAX`: open),
is true from and until, expires (`MIN`, `MAX`: without bound). `session` and `speaker` are hashes,
0 for none; items of one message or record version share a `group`, the `seq` of its first.
`stratum`: 0 message, 1 episode, 2 record, 3 theme. `kind`: code of the registry, 255 none. `role`:
0 user, 1 assistant, 2 system, 3 tool, 255 other. `flags`: 1 removed, 2 hidden, 4 contains a
question mark, 8 only asks, 16 has a time expression, 32 states its time. `lifecycle`: 0 current,
1 past, 2 retired, 3 review. `sensitivity`: 0 low, 1 medium, 2 high.
"""


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A searchable item as stored; a row says everything about its item, also what went away."""

    seq: int
    header: bytes
    """One `ITEM`."""
    terms: bytes
    """`TERM`s, each hash once."""
    vector: bytes | None
    """Little-endian float16 of length 1; None as long as there is none."""


@dataclass(slots=True)
class Columns:
    """Arrays of one length, the capacity; index is the slot an item got when it arrived."""

    seq: NDArray[np.int64]
    occurred: NDArray[np.int64]
    opened: NDArray[np.int64]
    closed: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    valid_to: NDArray[np.int64]
    expires: NDArray[np.int64]
    session: NDArray[np.uint64]
    speaker: NDArray[np.uint64]
    group: NDArray[np.int64]
    stratum: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    role: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    lifecycle: NDArray[np.uint8]
    sensitivity: NDArray[np.uint8]
    bounded: NDArray[np.bool_]
    """Whether validity or expiry has a bound at all."""
    has_vector: NDArray[np.bool_]
    length: NDArray[np.float32]
    """Number of terms, with repeats."""
    digest: NDArray[np.int64]
    """Hash of the term blob, to see whether an update changes it."""

    @classmethod
    def empty(cls) -> Columns:
        """Columns of no capacity."""
        types = {"seq": "i8", "bounded": "?", "has_vector": "?", "length": "f4", "digest": "i8"}
        return cls(
            **{f.name: np.zeros(0, types.get(f.name) or ITEM[f.name].str) for f in fields(cls)}
        )

    def grown(self, capacity: int) -> Columns:
        """A copy with room for `capacity` items; readers of this one are not disturbed."""
        return Columns(
            **{f.name: resized(self._array(f.name), capacity) for f in fields(self)},
        )

    def write(
        self, slots: NDArray[np.intp], seqs: NDArray[np.int64], headers: NDArray[Any]
    ) -> None:
        """Set what a header says of the items in `slots`."""
        self.seq[slots] = seqs
        for name in cast("tuple[str, ...]", ITEM.names):
            if name != "scope":
                self._array(name)[slots] = headers[name]
        self.bounded[slots] = (
            (headers["valid_from"] != MIN)
            | (headers["valid_to"] != MAX)
            | (headers["expires"] != MAX)
        )

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(self._array(f.name).nbytes for f in fields(self))

    def _array(self, name: str) -> NDArray[Any]:
        return cast("NDArray[Any]", getattr(self, name))


def resized(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    """A copy of `array` with `capacity` entries, the new ones zero."""
    copy = np.zeros((capacity, *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy
