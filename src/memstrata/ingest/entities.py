"""Which names mean one entity: by normal form and by context, never by likeness alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from memstrata.records import Message
from memstrata.store.entities import KnownEntity
from memstrata.store.ports import PutEntity
from memstrata.text.names import Name, names, normal_form

__all__ = ["Owner", "link", "lookups", "owner_of"]

_HAN_NAME = re.compile(r"[一-龥]{3}")
_SAID_TO = re.compile(
    r"(?:\b(?:hi|hey|hello|thanks|thank you|dear|bye|wow|yes|yeah|sorry|well|congrats)[ ,]{1,2}"
    r"|[,，]\s?|^)$",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?i:call(?:s|ed)? me|i go by|i['’]m called|my nickname is)\s+"
    r"(?P<me>[A-Z][\w'’-]{1,30})"
    r"|(?P<one>[A-Z][\w'’-]{1,30}(?: [A-Z][\w'’-]{1,30}){0,2})\s?"
    r"\((?:aka |a\.k\.a\. |or )?(?P<other>[A-Z][\w'’-]{1,30})\)"
    r"|(?:大家都?|朋友们?都?|你)?(?:可以)?叫我(?P<wo>[一-龥]{2,3})(?=[，。！、吧就]|$)"
)
_NOT_PEOPLE = ("place", "organisation")
_ALIKE = 3
"""Letters a short form must share with the name it stands for."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A message or record, the names in it, and who is there."""

    id: str
    names: tuple[Name, ...]
    text: str = ""
    speaker: str | None = None
    """The name of who says it, if one was given."""
    present: frozenset[str] = frozenset()
    """Names of those who take part in the conversation."""


@dataclass(slots=True, eq=False)
class _Entity:
    known: KnownEntity | None
    id: str
    name: str
    type: str
    forms: set[str]
    given: set[str]
    new: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    owners: dict[str, None] = field(default_factory=dict[str, None])

    def learn(self, normal: str, written: str, *, given: bool = False) -> None:
        """Take in a spelling."""
        if normal in self.forms or (given and normal in self.given):
            return
        (self.given if given else self.forms).add(normal)
        self.new.append((normal, written, given))


def owner_of(message: Message, known: Collection[str], present: Collection[str] = ()) -> Owner:
    """A message with the names in it; `known` are normal forms met before."""
    found = tuple(names(message.content, known))
    return Owner(message.id, found, message.content, message.name, frozenset(present))


def lookups(owners: Sequence[Owner]) -> set[str]:
    """The normal forms under which the entities of these owners may be stored."""
    wanted: set[str] = set()
    for owner in owners:
        for normal in _mentioned(owner):
            wanted |= {normal, _given(normal) or normal}
    return wanted


def _mentioned(owner: Owner) -> Iterator[str]:
    yield from (name.normal for name in owner.names)
    yield from (normal_form(person) for person in (owner.speaker, *owner.present) if person)
    for match in _CALLED.finditer(owner.text):
        yield from (normal_form(name) for name in match.groups() if name)


def _given(normal: str) -> str | None:
    """The given name of a full name."""
    if _HAN_NAME.fullmatch(normal):
        return normal[1:]
    first, _, rest = normal.partition(" ")
    return first if rest and len(first) > 1 else None


def link(
    owners: Sequence[Owner], known: Sequence[KnownEntity], new_id: Callable[[], str]
) -> list[PutEntity]:
    """The entities that these owners mention or add to, each with what is new of it.

    Spellings of one normal form are one entity. A given name alone
    is the one person known by it, if there is exactly one; a short form is a person's only where
    that person is spoken to, or where the text says so.
    """
    pool = [_Entity(e, e.id, e.name, e.type, set(e.forms), set(e.given)) for e in known]
    for owner in owners:
        for person in sorted(owner.present | {owner.speaker or ""} - {""}):
            if person and (normal := normal_form(person)):
                _find(pool, Name(person, normal, "person"), owner, new_id)
        _aliases(pool, owner)
        for name in owner.names:
            entity = _find(pool, name, owner, new_id)
            entity.owners[owner.id] = None
    return [_put(entity) for entity in pool if entity.new or entity.owners]


def _put(entity: _Entity) -> PutEntity:
    seq = None if entity.known is None else entity.known.seq
    spellings, owners = tuple(entity.new), tuple(entity.owners)
    return PutEntity(entity.id, seq, entity.name, entity.type, spellings, owners)


def _find(pool: list[_Entity], name: Name, owner: Owner, new_id: Callable[[], str]) -> _Entity:
    entity = (
        _by_form(pool, name, owner)
        or _by_given(pool, name)
        or _fuller(pool, name, owner)
        or _spoken_to(pool, name, owner)
    )
    if entity is None:
        entity = _Entity(None, new_id(), name.text, name.type, set(), set())
        pool.append(entity)
    if entity.type == "thing" and name.type != "thing":
        entity.type = name.type
        if entity.known is not None and not entity.new:
            entity.new.append((name.normal, name.text, False))
    entity.learn(name.normal, name.text, given=name.normal in entity.given)
    given = _given(name.normal)
    if given is not None and entity.type == "person":
        entity.learn(given, name.text.split()[0] if " " in name.text else given, given=True)
    return entity


def _by_form(pool: Sequence[_Entity], name: Name, owner: Owner) -> _Entity | None:
    """What is written so; someone who takes part is no place of that name."""
    same = [e for e in pool if name.normal in e.forms]
    present = {normal_form(person) for person in owner.present}
    if name.normal in present and len(same) > 1:
        same = [e for e in same if (e.type == "person") == (name.type not in _NOT_PEOPLE)]
    elif name.normal in present and name.type in _NOT_PEOPLE:
        same = [e for e in same if e.type != "person"]
    return same[0] if same else None


def _by_given(pool: Sequence[_Entity], name: Name) -> _Entity | None:
    if name.type not in ("person", "thing"):
        return None
    people = [e for e in pool if name.normal in e.given]
    return people[0] if len(people) == 1 else None


def _fuller(pool: Sequence[_Entity], name: Name, owner: Owner) -> _Entity | None:
    """The person known so far by the given name alone, unless it is who speaks."""
    given = _given(name.normal)
    if name.type != "person" or given is None:
        return None
    if any(given in e.given for e in pool):
        return None
    people = [e for e in pool if given in e.forms and e.type == "person"]
    speaks = owner.speaker is not None and normal_form(owner.speaker) == given
    if len(people) != 1 or speaks:
        return None
    people[0].name = name.text
    return people[0]


def _spoken_to(pool: Sequence[_Entity], name: Name, owner: Owner) -> _Entity | None:
    """The one listener whose name begins so, where the short form is how one is spoken to."""
    if " " in name.normal or len(name.normal) < _ALIKE or not name.normal.isascii():
        return None
    at = owner.text.find(name.text)
    end = at + len(name.text)
    before, after = owner.text[max(0, at - 14) : at], owner.text[end : end + 1]
    if at < 0 or not _SAID_TO.search(before) or after not in ("", *",!?."):
        return None
    listeners = {
        normal_form(person)
        for person in owner.present
        if person != owner.speaker and normal_form(person).startswith(name.normal)
    }
    if len(listeners) != 1:
        return None
    return next((e for e in pool if listeners & e.forms and e.type == "person"), None)


def _aliases(pool: Sequence[_Entity], owner: Owner) -> None:
    """Spellings that the text itself says mean one person."""
    for match in _CALLED.finditer(owner.text):
        called = match["me"] or match["other"] or match["wo"]
        person = match["one"] or owner.speaker
        if person is None:
            continue
        normal = normal_form(person)
        entity = next((e for e in pool if normal in e.forms or normal in e.given), None)
        taken = normal_form(called)
        if entity is not None and not any(taken in e.forms for e in pool if e is not entity):
            entity.learn(taken, called)
