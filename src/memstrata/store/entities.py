"""Entities: people, places and named things, their spellings, and what mentions them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memstrata.records import Entity, Page, Scope
from memstrata.store.append import item_rows, reserve
from memstrata.store.items import GONE, entity_passage, own_header
from memstrata.store.ports import PutEntity, Tx, View
from memstrata.store.rows import dumps
from memstrata.store.views import Listing, numbered, place
from memstrata.text.analyse import fold

__all__ = [
    "KnownEntity",
    "by_id",
    "drop",
    "drop_unmentioned",
    "drop_unwritten",
    "find",
    "list_entities",
    "put",
]

_PLACE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")
_SOURCES = 20
_PAGE = 200


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """An entity that is stored, with the normal forms that were asked for and lead to it."""

    seq: int
    id: str
    name: str
    type: str
    forms: set[str] = field(default_factory=set[str])
    given: set[str] = field(default_factory=set[str])
    """Of the forms, those that are only the person's given name."""


def find(tx: Tx, number: int, normals: Iterable[str]) -> list[KnownEntity]:
    """The entities that are written in one of these normal forms, the oldest first."""
    rows = tx.rows("entity_find", {"scope": number, "normals": dumps(sorted(set(normals)))})
    found: dict[int, KnownEntity] = {}
    for normal, given, seq, entity_id, name, kind in rows:
        entity = found.setdefault(seq, KnownEntity(seq, entity_id, name, kind))
        (entity.given if given else entity.forms).add(normal)
    return list(found.values())


def by_id(tx: Tx, number: int, entity_id: str) -> int | None:
    """The number of an entity, None if there is none of that id."""
    row = tx.one("entity_by_id", {"scope": number, "id": entity_id})
    return None if row is None else int(row[0])


def put(tx: Tx, number: int, at: int, writes: Sequence[PutEntity]) -> None:
    """Add entities, or what was learned of them, and their mentions."""
    ids = {owner for write in writes for owner in write.owners}
    owners = _owners(tx, number, sorted(ids))
    for write in writes:
        seq = write.seq
        named = {"scope": number, "name": write.name, "type": write.type}
        if seq is None:
            seq = reserve(tx, 1)
            tx.run("entity_add", {**named, "seq": seq, "id": write.id})
        elif write.spellings:
            tx.run("entity_rename", {**named, "seq": seq})
        spellings = (
            {"scope": number, "entity": seq, "normal": normal, "written": written, "given": given}
            for normal, written, given in write.spellings
        )
        tx.many("entity_name_add", spellings)
        mentions = (
            {"scope": number, "entity": seq, "owner": owners[owner]}
            for owner in write.owners
            if owner in owners
        )
        tx.many("mention_add", mentions)
        if write.seq is None or write.spellings:
            _index(tx, number, seq, at, write.name, fresh=write.seq is None)


def _owners(tx: Tx, number: int, ids: Sequence[str]) -> dict[str, int]:
    listed = {"scope": number, "ids": dumps(list(ids))}
    rows = [*tx.rows("message_seqs", listed), *tx.rows("record_open_seqs", listed)]
    return {str(row[0]): int(row[1]) for row in rows}


def _index(tx: Tx, number: int, seq: int, at: int, name: str, *, fresh: bool) -> None:
    rows = tx.rows("entity_names_of", {"scope": number, "seqs": dumps([seq])})
    names = dict.fromkeys([name, *(str(row[2]) for row in rows if not row[3])])
    passage = entity_passage(list(names), recorded_at=at)
    if fresh:
        tx.many("item_add", item_rows(number, seq, seq, [passage]))
        tx.run("scope_touch", {"scope": number, "stamp": seq})
        return
    stamp = reserve(tx, 1)
    item = {"header": own_header(passage.header, seq), "terms": passage.terms}
    span = {"stop": passage.stop, "stamp": stamp}
    tx.run("item_rewrite", {"scope": number, "seq": seq, **item, **span})
    tx.run("scope_touch", {"scope": number, "stamp": stamp})


def drop_unmentioned(tx: Tx, number: int, seqs: Sequence[int]) -> None:
    """Erase those of these entities that nothing mentions any more, with their spellings."""
    asked = {"scope": number, "seqs": dumps(list(seqs))}
    drop(tx, number, [int(row[0]) for row in tx.rows("erase_entities", asked)])


def drop(tx: Tx, number: int, seqs: Sequence[int]) -> None:
    """Forget entities, how they are written and what mentions them."""
    if not seqs:
        return
    stamp = reserve(tx, 1)
    scope = {"scope": number}
    tx.many("erase_entity", ({**scope, "seq": seq} for seq in seqs))
    tx.many("mention_erase", ({**scope, "entity": seq} for seq in seqs))
    tx.many("erase_item", ({**scope, "seq": s, "stamp": stamp, "header": GONE} for s in seqs))
    tx.many("erase_vector", ({**scope, "seq": seq} for seq in seqs))
    tx.run("entity_drop_names", {**scope, "seqs": dumps(list(seqs))})
    tx.run("scope_touch", {**scope, "stamp": stamp})


def drop_unwritten(tx: Tx, number: int, seqs: Sequence[int], at: int) -> None:
    """Forget the spellings of these entities that nothing writes any more: they were erased.

    An entity of which no spelling is left is gone, with what is linked to it.
    """
    scope = {"scope": number}
    speakers = {fold(str(row[0])) for row in tx.rows("speaker_list", scope)}
    for seq, _, name, kind in tx.rows("entity_by_seq", {**scope, "seqs": dumps(list(seqs))}):
        rows = tx.rows("entity_names_of", {**scope, "seqs": dumps([seq])})
        spellings = {str(row[1]): (str(row[2]), bool(row[3])) for row in rows}
        sought = {fold(written) for written, _ in spellings.values()} | {fold(str(name))}
        lost = sought - speakers - _written(tx, number, seq, sought - speakers)
        if not lost:
            continue
        kept = {n: s for n, s in spellings.items() if fold(s[0]) not in lost}
        if not kept:
            drop(tx, number, [seq])
            continue
        for normal in spellings.keys() - kept.keys():
            tx.run("entity_name_drop", {**scope, "normal": normal, "entity": seq})
        full = [written for written, given in kept.values() if not given]
        if not full:
            tx.run("entity_name_full", {**scope, "entity": seq})
        called = str(name)
        if fold(called) in lost:
            called = max(full or [written for written, _ in kept.values()], key=len)
        tx.run("entity_rename", {**scope, "seq": seq, "name": called, "type": kind})
        _index(tx, number, seq, at, called, fresh=False)
        tx.run("erase_vector", {**scope, "seq": seq})


def _written(tx: Tx, number: int, seq: int, sought: set[str]) -> set[str]:
    """Which of these folded spellings stand in what mentions an entity."""
    found: set[str] = set()
    after = 0
    while sought - found:
        page = {"scope": number, "entity": seq, "after": after, "limit": _PAGE}
        rows = tx.rows("mention_texts", page)
        for row in rows:
            text = fold("\n".join(str(part) for part in row[1:] if part))
            found |= {spelling for spelling in sought - found if spelling in text}
        if len(rows) < _PAGE:
            break
        after = int(rows[-1][0])
    return found


def list_entities(
    tx: Tx, view: View, listing: Listing, *, type: str | None, normals: Sequence[str] | None
) -> Page[Entity]:
    """Entities, the most mentioned first; of several scopes each in turn."""
    after = None if listing.cursor is None else tuple(map(int, place(listing.cursor, _PLACE)))
    found: list[tuple[int, int, Entity]] = []
    for scope, number in numbered(tx, view):
        params = {
            "scope": number,
            "type": type,
            "normals": None if normals is None else dumps(list(normals)),
            "after_count": after and after[0],
            "after_seq": after and after[1],
            "limit": listing.limit + 1,
        }
        rows = tx.rows("entity_list", params)
        found += [(row[4], row[0], _entity(tx, scope, number, row)) for row in rows]
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    page = found[: listing.limit]
    more = f"{page[-1][0]}:{page[-1][1]}" if len(found) > listing.limit else None
    return Page[Entity](items=[entity for _, _, entity in page], next=more)


def _entity(tx: Tx, scope: Scope, number: int, row: tuple[object, ...]) -> Entity:
    seq, entity_id, name, kind, mentioned = row
    spellings = tx.rows("entity_names_of", {"scope": number, "seqs": dumps([seq])})
    aliases = dict.fromkeys(str(s[2]) for s in spellings if not s[3] and s[2] != name)
    sources = {"scope": number, "entity": seq, "limit": _SOURCES}
    return Entity(
        id=str(entity_id),
        name=str(name),
        type=str(kind),
        aliases=list(aliases),
        mentions=int(str(mentioned)),
        sources=[str(source[0]) for source in tx.rows("mention_sources", sources)],
    )
