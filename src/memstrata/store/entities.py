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

__all__ = ["KnownEntity", "by_id", "drop_unmentioned", "find", "list_entities", "put"]

_PLACE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})")
_SOURCES = 20


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


def drop_unmentioned(tx: Tx, number: int) -> None:
    """Erase entities that nothing mentions any more, with their spellings and index entries."""
    seqs = [int(row[0]) for row in tx.rows("erase_entities", {"scope": number})]
    if not seqs:
        return
    stamp = reserve(tx, 1)
    scope = {"scope": number}
    tx.many("erase_entity", ({**scope, "seq": seq} for seq in seqs))
    tx.many("erase_item", ({**scope, "seq": s, "stamp": stamp, "header": GONE} for s in seqs))
    tx.many("erase_vector", ({**scope, "seq": seq} for seq in seqs))
    tx.run("entity_drop_names", scope)
    tx.run("scope_touch", {**scope, "stamp": stamp})


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
