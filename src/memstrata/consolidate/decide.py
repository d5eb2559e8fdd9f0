"""What becomes of pairs of records that a model has judged. Pure.

The model says what two memories have to do with each other; what is done about it is decided as for
any other proposal (`ingest.resolve`): a fact ends only for the same subject and the same exclusive
attribute, or where its opposite is stated, and what cannot be decided waits for review.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_args

from memstrata.consolidate.duplicates import Duplicate, rank
from memstrata.consolidate.judge import Answer, Verdict
from memstrata.consolidate.pairs import Pair, are_apart
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.resolve import resolve
from memstrata.ingest.standing import Standing, restore
from memstrata.ingest.statements import opposed
from memstrata.kinds import Semantic
from memstrata.records import Record, Trust

__all__ = ["WAITS", "Decided", "decide"]

WAITS = "contradicts what stands"
"""What the reason of a fact ends with that the rules for change do not let stand."""
_TRUST: tuple[Trust, ...] = get_args(Trust)


@dataclass(slots=True)
class Decided:
    """What is to be done, and how each pair was judged in the end."""

    duplicates: list[Duplicate] = field(default_factory=list[Duplicate])
    standing: list[Standing] = field(default_factory=list[Standing])
    """Facts that end, that are linked, or that wait for review."""
    judged: list[tuple[Pair, Answer]] = field(default_factory=list[tuple[Pair, Answer]])


def decide(verdicts: Iterable[Verdict], reason: str) -> Decided:
    """What becomes of the pairs; of a record that goes or changes, no other pair is decided.

    Those are judged again another time, as they are then.
    """
    decided = Decided()
    moved: set[str] = set()
    for verdict in verdicts:
        pair = verdict.pair
        if moved & {*pair.ids}:
            continue
        answer = verdict.answer
        if answer == "same" and are_apart(pair.older, pair.newer) is not None:
            answer = "different"
        decided.judged.append((pair, answer))
        if answer == "same":
            one = _one_too_many(verdict)
            decided.duplicates.append(one)
            moved |= {*pair.ids}
        elif answer in ("contradict", "changed"):
            changes = _resolved(pair, reason)
            decided.standing += changes
            moved |= {*pair.ids} if changes else set()
    return decided


def _one_too_many(verdict: Verdict) -> Duplicate:
    """The one that is trusted more stays; of equals the one that the model prefers."""
    best, other = sorted((verdict.pair.older, verdict.pair.newer), key=rank)
    if _TRUST.index(best.trust) == _TRUST.index(other.trust) and verdict.stands is other:
        best, other = other, best
    return Duplicate(best, other)


def _resolved(pair: Pair, reason: str) -> list[Standing]:
    """What the rules for change make of the newer fact beside the older; none if they see nothing
    that one of them ends."""
    older, newer = _in_order(pair)
    model = restore(newer).model
    if not isinstance(model, Semantic) or not opposed(restore(older).model, model):
        return []
    said_at = newer.occurred_at or newer.valid_from or newer.created_at
    proposal = Proposal("create", model, tuple(newer.evidence), said_at, reason=reason)
    standing = resolve([proposal], [older])
    for one in standing:
        if one.record is None:  # it is stored already
            one.record, one.evidence, one.op = newer, [], "update"
            one.reason = f"{reason} with {older.id}"
            one.reason += f"; {WAITS}" if one.lifecycle == "review" else ""
        else:
            one.reason = f"{reason} with {newer.id}: {one.reason or 'it changed'}"
    return [one for one in standing if one.record is not None and _differs(one, one.record)]


def _in_order(pair: Pair) -> tuple[Record, Record]:
    """The one that is older by what it says; what is trusted less comes as news."""
    older, newer = pair.older, pair.newer
    if _begin(newer) < _begin(older):
        older, newer = newer, older
    if _TRUST.index(older.trust) > _TRUST.index(newer.trust) and _begin(older) == _begin(newer):
        older, newer = newer, older
    return older, newer


def _begin(record: Record) -> tuple[float, float]:
    begun = record.valid_from or record.occurred_at or record.created_at
    return begun.timestamp(), record.created_at.timestamp()


def _differs(one: Standing, record: Record) -> bool:
    links = one.successor is not None or one.predecessor is not None
    ended = (one.model.valid_from, one.model.valid_to) != (record.valid_from, record.valid_to)
    return links or ended or one.lifecycle != record.lifecycle
