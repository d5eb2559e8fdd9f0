"""Themes as rows: what the core needs to put records into them, and what it made of that."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.records import Page, Record, Scope, Theme, instant
from memstrata.store.append import find_scope, item_rows, reserve
from memstrata.store.items import GONE, own_header, theme_passage
from memstrata.store.ports import Row, Tx, View
from memstrata.store.rows import dumps, record_from
from memstrata.store.views import Listing, numbered, place

__all__ = [
    "Standing",
    "ThemeRows",
    "by_ids",
    "by_seq",
    "dissolve",
    "list_themes",
    "membership",
    "rescan",
    "waits",
]

_Vector = NDArray[np.float32]
_PLACE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Standing:
    """A theme as it is kept."""

    seq: int
    id: str
    level: int
    parent: int | None
    name: str
    topics: tuple[str, ...]
    """What the name was chosen from, by the keys of text.topics, the heaviest first."""
    size: int
    total: _Vector
    """The sum of the members' unit vectors."""
    started_at: int
    ended_at: int
    named: bytes | None = None
    """The `membership` by which a model named it; None where rules did."""


def membership(members: Mapping[str, int]) -> bytes:
    """The members of a theme and the versions that count, packed: no id can be read from it."""
    parts = [_mark(one) + members[one].to_bytes(8, "little") for one in sorted(members)]
    return b"".join(parts)


def _mark(record_id: str) -> bytes:
    return hashlib.blake2b(record_id.encode(), digest_size=8).digest()


class ThemeRows:
    """The themes of one scope, in the running transaction."""

    def __init__(self, tx: Tx, scope: Scope, at: int) -> None:
        number = find_scope(tx, scope) or 0
        self._tx = tx
        self._scope = scope
        self._at = at
        self._own = {"scope": number}
        self._number = number
        row = tx.one("theme_state", self._own) or (0, 0, 0, 0)
        self.themed, self.stamp, self.model, self.dimensions = map(int, row)
        """Before which version records are in their themes, 0 for never; the last change; whose
        vectors."""

    def arrivals(
        self, start: int, kinds: Collection[str], limit: int
    ) -> list[tuple[int, Record, int]]:
        """Open versions from a place on that are not in a theme as they are now: number, record
        without its evidence, and the theme it was in (0: none), in order."""
        asked = {**self._own, "start": start, "kinds": dumps(sorted(kinds)), "limit": limit}
        rows = {int(row[0]): int(row[2] or 0) for row in self._tx.rows("theme_arrivals", asked)}
        return [(seq, record, rows[seq]) for seq, record in self.records(rows)]

    def records(self, seqs: Collection[int]) -> list[tuple[int, Record]]:
        """Record versions by number, in order, without their evidence."""
        listed = {**self._own, "seqs": dumps(sorted(seqs))}
        rows = sorted(self._tx.rows("record_by_seq", listed))
        return [(int(row[0]), record_from(self._scope, row)) for row in rows]

    def said(self, records: Collection[str]) -> dict[str, int]:
        """When the first of what each of these records rests on was said."""
        asked = {**self._own, "ids": dumps(sorted(records))}
        return {str(row[0]): int(row[1]) for row in self._tx.rows("theme_said", asked)}

    def departed(self) -> list[tuple[str, int]]:
        """Members without an open version, and the theme they are in."""
        return [(str(r[0]), int(r[1])) for r in self._tx.rows("theme_departed", self._own)]

    def vectors(self, seqs: Collection[int]) -> dict[int, _Vector]:
        """The unit vector of each version that has one: the mean of its passages'."""
        asked = {**self._own, "model": self.model, "owners": dumps(sorted(seqs))}
        found: dict[int, list[_Vector]] = {}
        for owner, blob in self._tx.rows("theme_vectors", asked):
            found.setdefault(int(owner), []).append(np.frombuffer(blob, "<f2").astype(np.float32))
        return {owner: _unit(np.sum(parts, axis=0)) for owner, parts in found.items()}

    def all(self) -> list[Standing]:
        """Every theme."""
        return [_standing(row) for row in self._tx.rows("theme_all", self._own)]

    def summary(self, theme: int) -> str:
        """What the summary of a theme says."""
        row = self._tx.one("theme_summary", {**self._own, "seq": theme})
        return str(row[0]) if row else ""

    def versions_of(self, records: Collection[str]) -> dict[str, int]:
        """The version of each of these members."""
        asked = {**self._own, "ids": dumps(sorted(records))}
        return {str(row[0]): int(row[1]) for row in self._tx.rows("theme_versions", asked)}

    def members(self, theme: int) -> dict[str, _Vector]:
        """The members of a theme of records, with their vectors."""
        rows = self._tx.rows("theme_members_of", {**self._own, "theme": theme})
        versions = {str(row[0]): int(row[1]) for row in rows}
        vectors = self.vectors(versions.values())
        return {name: vectors[seq] for name, seq in versions.items() if seq in vectors}

    def children(self, parent: int) -> dict[str, _Vector]:
        """The themes under a theme, by number, with their centroids."""
        rows = self._tx.rows("theme_sums", {**self._own, "parent": parent})
        return {str(row[0]): _unit(np.frombuffer(row[1], "<f4")) for row in rows}

    def keep(self, theme: Standing, summary: str) -> int:
        """Write a theme, a new one if its number is 0; its number."""
        seq = theme.seq or reserve(self._tx, 1)
        self._tx.run(
            "theme_put",
            {
                **self._own,
                "seq": seq,
                "id": theme.id,
                "level": theme.level,
                "name": theme.name,
                "summary": summary,
                "topics": dumps(list(theme.topics)),
                "size": theme.size,
                "sum": theme.total.astype("<f4").tobytes(),
                "started_at": theme.started_at,
                "ended_at": theme.ended_at,
                "named": theme.named,
                "at": self._at,
            },
        )
        if theme.level == 0:
            text = f"{theme.name}\n{summary}"
            self._index(seq, text, theme.ended_at, theme.total, fresh=not theme.seq)
        return seq

    def _index(self, seq: int, text: str, when: int, total: _Vector, *, fresh: bool) -> None:
        passage = theme_passage(text, occurred_at=when, recorded_at=self._at)
        stamp = reserve(self._tx, 1)
        if fresh:
            self._tx.many("item_add", item_rows(self._number, seq, stamp, [passage]))
        else:
            header = own_header(passage.header, seq)
            span = {"stop": passage.stop, "stamp": stamp}
            item = {"seq": seq, "header": header, "terms": passage.terms}
            self._tx.run("item_rewrite", {**self._own, **item, **span})
        item = {**self._own, "model": self.model, "seq": seq, "stamp": stamp}
        self._tx.run("vector_add", {**item, "vector": _unit(total).astype("<f2").tobytes()})
        self._tx.run("item_embedded", item)
        self._tx.run("scope_touch", {**self._own, "stamp": stamp})

    def place(self, record_id: str, seq: int, theme: int) -> None:
        """Put a version of a record into a theme."""
        where = {"record_id": record_id, "seq": seq, "theme": theme}
        self._tx.run("theme_member_put", {**self._own, **where})

    def leave(self, record_id: str) -> None:
        """Take a record out of its theme."""
        self._tx.run("theme_member_drop", {**self._own, "record_id": record_id})

    def adopt(self, theme: int, parent: int | None) -> None:
        """Put a theme under another, or under none."""
        self._tx.run("theme_adopt", {**self._own, "seq": theme, "parent": parent})

    def placed(self) -> dict[str, tuple[int, int]]:
        """Every record that is in a theme: its version and the theme, in the order they came."""
        rows = self._tx.rows("theme_placed", self._own)
        return {str(row[0]): (int(row[1]), int(row[2])) for row in rows}

    def clear(self) -> None:
        """Drop every theme, so that all records find their place from nothing."""
        self.drop([one.seq for one in self.all()])
        rescan(self._tx, self._number)
        self._tx.run("theme_touch", {**self._own, "stamp": reserve(self._tx, 1)})

    def drop(self, themes: Iterable[int]) -> None:
        """Drop themes that have no members any more."""
        _drop(self._tx, self._number, themes)

    def advance(self, themed: int, *, changed: bool) -> int:
        """Note how far records are in their themes; the stamp of the themes' last change."""
        if changed:
            self.stamp = reserve(self._tx, 1)
        self._tx.run("theme_advance", {**self._own, "themed": themed, "stamp": self.stamp})
        return self.stamp


def _unit(total: _Vector) -> _Vector:
    return total / np.float32(np.sqrt(total @ total) or 1.0)


def _standing(row: Row) -> Standing:
    seq, theme_id, level, parent, name, topics, size, total, started_at, ended_at, named = row
    return Standing(
        seq=int(seq),
        id=str(theme_id),
        level=int(level),
        parent=None if parent is None else int(parent),
        name=str(name),
        topics=tuple(json.loads(topics)),
        size=int(size),
        total=np.frombuffer(total, "<f4"),
        started_at=int(started_at),
        ended_at=int(ended_at),
        named=None if named is None else bytes(named),
    )


# ── leaving ──────────────────────────────────────────────────────────────────────────────────


def waits(tx: Tx, scope: Scope, kinds: Collection[str]) -> bool:
    """Whether a record is to be put into a theme, or out of one."""
    number = find_scope(tx, scope)
    themed, _, model, _ = tx.one("theme_state", {"scope": number}) or (0, 0, 0, 0)
    asked = {"scope": number, "start": themed, "kinds": dumps(sorted(kinds)), "limit": 1}
    return bool(model) and (not themed or bool(tx.rows("theme_arrivals", asked)))


def rescan(tx: Tx, number: int, start: int = 0) -> None:
    """See to it that records are looked through again, from a place on; from 0 also for those
    that went."""
    tx.run("theme_rescan", {"scope": number, "start": start})


def dissolve(tx: Tx, number: int, record_ids: Sequence[str]) -> bool:
    """Drop the themes these records are in, whose names, summaries and vectors tell of them, and
    those that a model named when they were.

    What stays of their members finds its place anew when the next batch is worked off; whether
    there is anything of that kind.
    """
    asked = {"scope": number, "ids": dumps(list(record_ids))}
    rows = tx.rows("theme_of_records", asked)
    gone = {_mark(record_id) for record_id in record_ids}
    for seq, parent, named, first in tx.rows("theme_named", {"scope": number}):
        if gone & {named[at : at + 8] for at in range(0, len(named), 16)}:
            rows.append((seq, parent, first))
    if not rows:
        return False
    themes = {int(row[0]) for row in rows}
    # A parent is named after its children; those that stay are put under another.
    parents = {int(row[1]) for row in rows if row[1] is not None}
    rescan(tx, number, min((int(row[2]) for row in rows if row[2] is not None), default=0))
    _drop(tx, number, themes | parents)
    tx.run("theme_touch", {"scope": number, "stamp": reserve(tx, 1)})
    return True


def _drop(tx: Tx, number: int, themes: Iterable[int]) -> None:
    stamp = reserve(tx, 1)
    for seq in themes:
        own = {"scope": number, "seq": seq}
        tx.run("theme_members_drop", {"scope": number, "theme": seq})
        tx.run("theme_orphan", own)
        tx.run("theme_drop", own)
        tx.run("erase_item", {**own, "stamp": stamp, "header": GONE})
        tx.run("erase_vector", own)
    tx.run("scope_touch", {"scope": number, "stamp": stamp})


# ── browsing ─────────────────────────────────────────────────────────────────────────────────


def by_seq(tx: Tx, scope: Scope, number: int, seqs: str) -> dict[int, Theme]:
    """Themes by number, of a JSON list of those, each with its members."""
    rows = tx.rows("theme_by_seq", {"scope": number, "seqs": seqs})
    return {int(row[0]): _theme(tx, scope, number, row) for row in rows}


def by_ids(tx: Tx, scope: Scope, number: int, ids: Sequence[str]) -> list[Theme]:
    """Themes by id, those there are."""
    rows = tx.rows("theme_by_id", {"scope": number, "ids": dumps(list(ids))})
    return [_theme(tx, scope, number, row) for row in rows]


def list_themes(tx: Tx, view: View, listing: Listing, parent: str | None) -> Page[Theme]:
    """The themes at the top, or those under `parent`: the largest first."""
    size, after = 2**60, 0
    if listing.cursor is not None:
        size, after = map(int, place(listing.cursor, _PLACE))
    found: list[tuple[int, int, Scope, int, Row]] = []
    for scope, number in numbered(tx, view):
        asked = {"scope": number, "parent": parent, "size": size, "after": after}
        name = "theme_top" if parent is None else "theme_under"
        rows = tx.rows(name, {**asked, "limit": listing.limit + 1})
        found += [(-int(row[-1]), int(row[0]), scope, number, row) for row in rows]
    found.sort(key=lambda one: one[:2])
    page = found[: listing.limit]
    more = f"{-page[-1][0]}:{page[-1][1]}" if len(found) > listing.limit else None
    themes = [_theme(tx, scope, number, row) for *_, scope, number, row in page]
    return Page[Theme](items=themes, next=more)


def _theme(tx: Tx, scope: Scope, number: int, row: Row) -> Theme:
    seq, theme_id, level, parent, name, summary, started_at, ended_at, size, *rest = row
    created_at, changed_at = rest[:2]
    asked = {"scope": number, "name": name, "id": theme_id}
    members = tx.rows("theme_record_ids", {"scope": number, "theme": seq})
    return Theme(
        id=theme_id,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        name=name,
        summary=summary,
        parent_id=parent,
        children=size if level else 0,
        record_ids=[str(row[0]) for row in members],
        namesakes=[str(row[0]) for row in tx.rows("theme_namesakes", asked)],
        started_at=instant(started_at),
        ended_at=instant(ended_at),
        created_at=instant(created_at),
        changed_at=instant(changed_at),
    )
