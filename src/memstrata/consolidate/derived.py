"""What is made of other memories: what it says, what it rests on, and by what it is known again.

A record that was made so carries a mark in its metadata: of what it was made, a hash of the ids of
its sources, and which version of it was written so. The hash tells whether it must be made anew,
the version whether somebody has changed it since: then it is theirs, and is left alone. There is no
hash of a text, for that would tell a secret that is sealed later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from memstrata.kinds import DERIVED, KindModel, kind_of
from memstrata.records import Evidence, JsonObject, Record, Sensitivity, Trust

__all__ = [
    "Derived",
    "Key",
    "Line",
    "by_model",
    "hashed",
    "is_as_written",
    "is_by_model",
    "is_derived",
    "is_ours",
    "key_of",
    "least_trusted",
    "made_from",
    "made_of",
    "marked",
    "most_sensitive",
    "sources_of",
    "stamped",
]

_TRUST: tuple[Trust, ...] = get_args(Trust)
_SENSITIVITY: tuple[Sensitivity, ...] = get_args(Sensitivity)
_FORM = 1
"""Of how they are made: another one, and all of them are made anew."""

Key = tuple[str, str]
"""Of what it is (`day`, `week`, `profile`), and of which (`2026-05-05`, `2026-W19`)."""


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of what something is made of, or one line of what was made."""

    text: str
    messages: tuple[str, ...] = ()
    """Ids of the messages it is from."""
    records: tuple[str, ...] = ()
    trust: Trust = "user"
    sensitivity: Sensitivity = "low"
    head: str = ""
    """When, and by whom."""
    who: str = ""
    """By whom, in words as they stand before what was said."""
    day: str = ""
    """What stands before what is said of it, for it means nothing without."""
    core: str = ""
    """Of a fact, what must be said for it to be told."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A record as it should stand."""

    model: KindModel
    messages: tuple[str, ...]
    """Ids of the messages it quotes or rests on."""
    records: tuple[str, ...] = ()
    """Ids of the records it repeats."""
    basis: tuple[Line, ...] = ()
    """What a language model may make it of."""
    lines: tuple[Line, ...] = ()
    """Those of a profile, each with the facts in it."""

    @property
    def sources(self) -> list[Evidence]:
        """Its evidence."""
        return [Evidence(source_id=one) for one in dict.fromkeys((*self.records, *self.messages))]


def hashed(parts: Iterable[str]) -> str:
    """A short hash of some texts in order."""
    whole = hashlib.blake2b(digest_size=8)
    for part in parts:
        whole.update(len(part.encode()).to_bytes(8, "little") + part.encode())
    return whole.hexdigest()


def made_of(*sources: Sequence[str]) -> str:
    """The hash of what something is made of."""
    return hashed([str(_FORM), *(one for group in sources for one in (str(len(group)), *group))])


def marked(model: KindModel, key: Key, sources: str) -> KindModel:
    """A model with the mark of how it was made."""
    mark: JsonObject = {"of": key[0], "period": key[1], "sources": sources, "version": 1}
    return model.model_copy(update={"metadata": {**model.metadata, DERIVED: mark}})


def by_model(model: KindModel, name: str) -> KindModel:
    """A marked model that a language model was asked to write."""
    mark = model.metadata.get(DERIVED)
    told: JsonObject = {**(mark if isinstance(mark, dict) else {}), "by": name}
    return model.model_copy(update={"metadata": {**model.metadata, DERIVED: told}})


def stamped(record: Record) -> Record:
    """A version that is about to be written, with its number in the mark."""
    mark = {**_mark(record), "version": record.version}
    return record.model_copy(update={"metadata": {**record.metadata, DERIVED: mark}})


def is_derived(record: Record) -> bool:
    """Whether it was made so, whoever has changed it since."""
    return kind_of(record.kind).is_derived(record)


def key_of(record: Record) -> Key:
    """Of what a derived record was made."""
    mark = _mark(record)
    return str(mark.get("of")), str(mark.get("period"))


def is_as_written(record: Record) -> bool:
    """Whether it is the very version that was made so, as far as it can tell by itself."""
    return is_derived(record) and _mark(record).get("version") == record.version


def is_ours(record: Record, versions: Iterable[Record]) -> bool:
    """Whether it still says what it was made to say, given all its versions."""
    written = _mark(record).get("version")
    return is_as_written(record) or any(
        one.version == written and (one.title, one.text) == (record.title, record.text)
        for one in versions
        if is_derived(record)
    )


def made_from(record: Record) -> str:
    """The hash of what it was made of."""
    return str(_mark(record).get("sources"))


def sources_of(model: KindModel) -> str:
    """The same of a marked model that is not a record yet."""
    mark = model.metadata.get(DERIVED)
    return str(mark.get("sources")) if isinstance(mark, dict) else ""


def is_by_model(record: Record) -> bool:
    """Whether a language model was asked to write it, whatever came of that."""
    return bool(_mark(record).get("by"))


def _mark(record: Record) -> JsonObject:
    mark = record.metadata.get(DERIVED)
    return cast("JsonObject", mark) if isinstance(mark, dict) else {}


def least_trusted(all_of: Iterable[Trust]) -> Trust:
    """Within one derivation the lowest trust counts."""
    return _TRUST[max(map(_TRUST.index, all_of), default=0)]


def most_sensitive(all_of: Iterable[Sensitivity]) -> Sensitivity:
    """What repeats something is as sensitive as that."""
    return _SENSITIVITY[max(map(_SENSITIVITY.index, all_of), default=0)]
