"""Groups that members join one by one, and that split and merge when that makes them better.

The same rule makes themes of records and parents of themes. It sees unit vectors only: a group is
a number of members and the sum of their vectors, which give its centroid, its cohesion and the
mean cosine of its pairs. The members' own vectors are asked for only where a group may split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memstrata.themes.objective import objective, tightness
from memstrata.themes.rules import Rules
from memstrata.themes.split import ways_to_split

__all__ = ["Groups", "Members"]

_NEIGHBOURS = 10
"""How many of the nearest groups a change is judged together with."""
_BLOCK = 2048
"""Members compared with all centroids at a time."""

_Vector = NDArray[np.float32]
Members = Mapping[str, _Vector]


def _none(_: int) -> Members:
    return {}


def _sum(members: Members) -> _Vector:
    return np.asarray(np.sum(list(members.values()), axis=0), np.float32)


class Groups:
    """Groups by key, a positive number given from outside or a negative one made here.

    `fetch` gives the members of a group that was there before, with their unit vectors.
    """

    def __init__(
        self, dimensions: int, rules: Rules, fetch: Callable[[int], Members] = _none
    ) -> None:
        self.rules = rules
        self.fetch = fetch
        self.keys: list[int] = []
        self.homes: dict[str, int] = {}
        """Where members were put since the last `settled`."""
        self.gone: set[int] = set()
        """Groups that were there before and are no more."""
        self.touched: set[int] = set()
        """Groups whose members changed."""
        self._rows: dict[int, int] = {}
        self._sizes = np.zeros(16)
        self._sums = np.zeros((16, dimensions), np.float32)
        self._units = np.zeros((16, dimensions), np.float32)
        self._members: dict[int, dict[str, _Vector]] = {}
        self._joined: dict[int, dict[str, _Vector]] = {}
        self._next = -1

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: int) -> bool:
        return key in self._rows

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self._sums.nbytes + self._units.nbytes + self._sizes.nbytes

    def size(self, key: int) -> int:
        """How many members a group has."""
        return int(self._sizes[self._rows[key]])

    def total(self, key: int) -> _Vector:
        """The sum of the members' vectors."""
        return self._sums[self._rows[key]]

    def centroid(self, key: int) -> _Vector:
        """The direction of the sum."""
        return self._units[self._rows[key]]

    def members(self, key: int) -> Members:
        """All members with their vectors."""
        if key not in self._members:
            known = dict(self.fetch(key)) if key > 0 else {}
            self._members[key] = known | self._joined.pop(key, {})
        return self._members[key]

    def restore(self, key: int, size: int, total: _Vector) -> None:
        """Take in a group as it was left."""
        self._place(key, size, total)

    def settled(self, renamed: Mapping[int, int]) -> None:
        """Forget what was changed, once it is kept; groups made here take their lasting keys."""
        for old, new in renamed.items():
            row = self._rows.pop(old)
            self._rows[new] = row
            self.keys[row] = new
        self._members, self._joined = {}, {}
        self.homes, self.gone, self.touched = {}, set(), set()

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def add(self, member: str, vector: _Vector) -> None:
        """Put a member into the nearest group, or one of its own, and set its surroundings right.

        `vector` is of unit length; a member that has a place is changed instead.
        """
        key = self._nearest(vector)
        if key is None:
            key = self._make({member: vector})
        else:
            self._join(key, {member: vector})
        self._settle([key])

    def change(self, member: str, key: int, vector: _Vector) -> None:
        """Give a member of a group another vector, and the place that belongs to.

        One that is alone, and near no other group, stays where it is.
        """
        key = self.homes.get(member, key)
        if self.size(key) == 1 and self._nearest(vector, but=key) is None:
            self._joined.pop(key, None)
            self._divide(key, [{member: vector}])
            self.homes[member] = key
        else:
            self.remove(member, key)
            self.add(member, vector)

    def refresh(self, key: int) -> None:
        """Sum the members of a group anew, whose vectors have changed."""
        members = self.members(key)
        self._divide(key, [members])

    def remove(self, member: str, key: int) -> None:
        """Take a member out of its group, which goes when it is empty.

        `key` is where it was at the last `settled`; splits and merges since are followed.
        """
        key = self.homes.pop(member, key)
        left = {name: vector for name, vector in self.members(key).items() if name != member}
        if left:
            # Summed anew: what was subtracted would stay behind as rounding.
            self._members[key] = left
            self._place(key, len(left), _sum(left))
            self.touched.add(key)
        else:
            self._drop(key)

    def tidy(self, least: int = 2) -> None:
        """Let the members of groups smaller than `least` try the groups there are now, and let
        every group split or merge that gains by it."""
        for key in [key for key in self.keys if self.size(key) < least]:
            if key not in self._rows or len(self) == 1:
                continue
            members = dict(self.members(key))
            if all(self._would_join(vector, key) for vector in members.values()):
                self._drop(key)
                for member, vector in members.items():
                    self.add(member, vector)
        self._settle(list(self.keys))

    def regroup(self, members: Members, homes: Mapping[str, int]) -> None:
        """Put all members anew to the centroids as they are, and set everything right.

        `members` are all there are, in the order in which they came, `homes` where they are now. A
        group that keeps its members is not touched; what is near no centroid joins as if new.
        """
        keys, names = list(self.keys), list(members)
        parts: dict[int, dict[str, _Vector]] = {key: {} for key in keys}
        alone = names if not keys else []
        for at in range(0, len(names) if keys else 0, _BLOCK):
            some = names[at : at + _BLOCK]
            cosines = np.stack([members[one] for one in some]) @ self._units[: len(keys)].T
            best = cosines.argmax(axis=1)
            near = cosines[np.arange(len(some)), best] >= self.rules.room
            for one, row, joins in zip(some, best.tolist(), near.tolist(), strict=True):
                if joins:
                    parts[keys[row]][one] = members[one]
                else:
                    alone.append(one)
        for key, part in parts.items():
            self._become(key, part, homes)
        self._settle([key for key in keys if key in self._rows])
        for one in alone:
            self.add(one, members[one])

    def _become(self, key: int, part: Members, homes: Mapping[str, int]) -> None:
        """Make these the members of a group."""
        known = len(part) == self.size(key) and all(homes.get(one) == key for one in part)
        self._members[key] = dict(part)
        if not part:
            self._drop(key)
        elif not known:
            self._place(key, len(part), _sum(part))
            self.homes.update({one: key for one in part if homes.get(one) != key})
            self.touched.add(key)

    # ── joining ──────────────────────────────────────────────────────────────────────────────

    def _nearest(self, vector: _Vector, but: int | None = None) -> int | None:
        """The group a vector belongs to; None if it is near none."""
        count = len(self.keys)
        if not count:
            return None
        cosines = self._units[:count] @ vector
        if but is not None:
            cosines[self._rows[but]] = -2.0
        best = int(cosines.argmax())
        has_room = self._sizes[best] < self.rules.largest
        least = self.rules.room if has_room else self.rules.attach
        return self.keys[best] if cosines[best] >= least else None

    def _would_join(self, vector: _Vector, but: int) -> bool:
        return self._nearest(vector, but) is not None

    def _join(self, key: int, members: Members) -> None:
        held = self._members if key in self._members else self._joined
        held.setdefault(key, {}).update(members)
        row = self._rows[key]
        total = self._sums[row] + sum(members.values())
        self._place(key, int(self._sizes[row]) + len(members), total)
        self.homes.update(dict.fromkeys(members, key))
        self.touched.add(key)

    def _make(self, members: Members) -> int:
        key, self._next = self._next, self._next - 1
        self._members[key] = dict(members)
        total = _sum(members)
        self._place(key, len(members), total)
        self.homes.update(dict.fromkeys(members, key))
        self.touched.add(key)
        return key

    # ── splitting and merging ────────────────────────────────────────────────────────────────

    def _settle(self, keys: Sequence[int]) -> None:
        """Split and merge what gains by it, beginning with these groups.

        What was split is not merged in the same course, nor the other way round: the surroundings
        by which a change is judged differ, and the two could go on for ever.
        """
        waiting = [(key, True, True) for key in keys]
        while waiting:
            key, splits, merges = waiting.pop()
            if key not in self._rows:
                continue
            if splits and (pieces := self._split(key)):
                waiting += [(piece, True, False) for piece in pieces]
            elif merges and (joint := self._merge(key)) is not None:
                waiting.append((joint, False, True))

    def _split(self, key: int) -> list[int]:
        """The pieces a group falls into, none if it stays whole."""
        size, rules = self.size(key), self.rules
        must = size > rules.largest
        may = size >= rules.split_from and tightness(size, self.total(key)) < rules.tight
        if not rules.splits or not (must or may):
            return []
        members = self.members(key)
        names, vectors = list(members), np.stack(list(members.values()))
        near = self._neighbours(key)
        best, way = (-np.inf if must else self._worth([key, *near])), None
        for candidate in ways_to_split(vectors, rules.link):
            sums = [vectors[part].sum(axis=0) for part in candidate]
            value = self._worth(near, [len(part) for part in candidate], sums)
            if value > best + 1e-9:
                best, way = value, candidate
        if way is None:
            return []
        parts: list[Members] = [{names[at]: vectors[at] for at in part.tolist()} for part in way]
        return self._divide(key, sorted(parts, key=len, reverse=True))

    def _divide(self, key: int, parts: Sequence[Members]) -> list[int]:
        """The largest part keeps the key, the others are groups of their own."""
        kept = parts[0]
        self._members[key] = dict(kept)
        self._place(key, len(kept), _sum(kept))
        self.touched.add(key)
        return [key, *(self._make(part) for part in parts[1:])]

    def _merge(self, key: int) -> int | None:
        """The key of what a group has become one with, None if it stays apart."""
        rules, count, row = self.rules, len(self.keys), self._rows[key]
        if not rules.merges or count < 2:
            return None
        cosines = self._units[:count] @ self._units[row]
        fits = self._sizes[:count] + self._sizes[row] <= rules.largest
        fits[row] = False
        cosines[~fits] = -2.0
        other = int(cosines.argmax())
        if cosines[other] < rules.merge:
            return None
        near = [k for k in self._neighbours(key) if k != self.keys[other]]
        both = [key, self.keys[other]]
        sizes, sums = [self._sizes[row] + self._sizes[other]], self._sums[row] + self._sums[other]
        if self._worth(near, sizes, [sums]) <= self._worth([*both, *near]) + 1e-9:
            return None
        # The larger keeps its key; of equals the one that was there first.
        kept, lost = sorted(both, key=lambda k: (-self.size(k), k < 0, abs(k)))
        members = dict(self.members(lost))
        self._drop(lost)
        self._join(kept, members)
        return kept

    def _neighbours(self, key: int) -> list[int]:
        count, row = len(self.keys), self._rows[key]
        cosines = self._units[:count] @ self._units[row]
        cosines[row] = -2.0
        most = min(_NEIGHBOURS, count - 1)
        if most < 1:
            return []
        best = np.argpartition(-cosines, most - 1)[:most]
        return [self.keys[at] for at in best.tolist()]

    def _worth(
        self,
        keys: Iterable[int],
        sizes: Sequence[float] = (),
        sums: Sequence[_Vector] = (),
    ) -> float:
        """The objective over these groups, and others that are only thought of."""
        rows = [self._rows[key] for key in keys]
        extra = np.array(sums, np.float32).reshape(len(sums), self._sums.shape[1])
        return objective(
            np.concatenate((self._sizes[rows], np.asarray(sizes, np.float64))),
            np.concatenate((self._sums[rows], extra)),
        )

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def _place(self, key: int, size: int, total: _Vector) -> None:
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.keys)
            self.keys.append(key)
            if row == len(self._sizes):
                self._sizes = np.concatenate((self._sizes, np.zeros_like(self._sizes)))
                self._sums = np.concatenate((self._sums, np.zeros_like(self._sums)))
                self._units = np.concatenate((self._units, np.zeros_like(self._units)))
        self._sizes[row] = size
        self._sums[row] = total
        self._units[row] = total / (float(np.sqrt(total @ total)) or 1.0)

    def _drop(self, key: int) -> None:
        row, last = self._rows.pop(key), len(self.keys) - 1
        moved = self.keys.pop()
        if row != last:
            self.keys[row] = moved
            self._rows[moved] = row
            self._sizes[row] = self._sizes[last]
            self._sums[row] = self._sums[last]
            self._units[row] = self._units[last]
        self._members.pop(key, None)
        self._joined.pop(key, None)
        self.touched.discard(key)
        if key > 0:
            self.gone.add(key)
