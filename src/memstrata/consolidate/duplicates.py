"""Records that say the same in other words, and plans whose time is over. Pure.

What counts as the same is for each kind to say (`gist`), and it errs on the side of keeping both:
two facts from one sentence are closer as vectors than one fact told twice, so that no cosine
decides anything here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from pydantic import JsonValue

from memstrata.consolidate.derived import is_derived
from memstrata.kinds import kind_of
from memstrata.records import Evidence, Record, Trust, micros

__all__ = ["Duplicate", "duplicates", "has_expired", "is_linked", "lapsed", "rank"]

_TRUST = {name: place for place, name in enumerate(get_args(Trust))}


@dataclass(frozen=True, slots=True)
class Duplicate:
    """One record too many, and the one that stays."""

    kept: Record
    extra: Record

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the one that stays takes over."""
        known = {item.source_id for item in self.kept.evidence}
        return tuple(item for item in self.extra.evidence if item.source_id not in known)


def duplicates(records: Iterable[Record]) -> Iterator[Duplicate]:
    """The current records of one scope that say what another one of their kind says.

    The one that is trusted most stays; of equals the one with more evidence, then the older.
    """
    same: dict[tuple[JsonValue, ...], list[Record]] = {}
    for record in records:
        if record.lifecycle != "current" or is_derived(record) or is_linked(record):
            continue
        gist = kind_of(record.kind).gist(record)
        if gist is not None:
            ends = record.expires_at
            apart = (record.kind, record.sensitivity, None if ends is None else micros(ends))
            same.setdefault((*apart, *gist), []).append(record)
    for group in same.values():
        kept, *rest = sorted(group, key=rank)
        yield from (Duplicate(kept, extra) for extra in rest)


def is_linked(record: Record) -> bool:
    """Whether it is part of a chain, which would end in nothing without it."""
    return record.supersedes is not None or record.superseded_by is not None


def rank(record: Record) -> tuple[int, int, datetime, str]:
    return _TRUST[record.trust], -len(record.evidence), record.created_at, record.id


def lapsed(records: Sequence[Record], now: datetime) -> list[Record]:
    """The current records that have expired, or were to be done by a day that is over."""
    return [
        record
        for record in records
        if record.lifecycle == "current"
        and not is_derived(record)
        and (has_expired(record, now) or kind_of(record.kind).has_lapsed(record, now))
    ]


def has_expired(record: Record, now: datetime) -> bool:
    """Whether the moment is over until which it was to be kept in mind."""
    return record.expires_at is not None and record.expires_at <= now
