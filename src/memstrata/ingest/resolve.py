"""`resolve`: what becomes of proposals, given what is known already. Pure.

Whatever a rule or a model proposes, only this decides: a fact ends only for the same subject and
the same exclusive attribute, or where its very opposite is stated; what cannot be decided is kept
beside what stands, for review.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from memstrata.ingest.core_block import edit_core
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.standing import Standing, add, is_less_trusted, restore, support
from memstrata.ingest.statements import (
    USER_NAMES,
    ends,
    is_same,
    is_wish,
    opposed,
    same_subject,
    same_value,
)
from memstrata.kinds import Core, KindModel, Semantic
from memstrata.kinds.attributes import find
from memstrata.records import Record
from memstrata.text.analyse import fold

__all__ = ["accept", "resolve"]


def resolve(proposals: Sequence[Proposal], related: Sequence[Record]) -> list[Standing]:
    """What the proposals, in the order they were said, leave: every record that is new or changes.

    `related` are the open records about the same subjects and attributes, with the same
    fingerprints, those the proposals name, and the blocks of core memory.
    """
    known = [restore(record) for record in related]
    for proposal in proposals:
        before = {id(one): one.op for one in known} if proposal.provisional else {}
        _one(proposal, known)
        if proposal.provisional:
            for one in known:
                one.provisional = one.provisional or before.get(id(one), "") != one.op
    return [standing for standing in known if standing.op or standing.evidence]


def _one(proposal: Proposal, known: list[Standing]) -> None:
    """What becomes of one proposal."""
    if proposal.op in ("revise", "retire", "support"):
        _targeted(proposal, known)
    elif isinstance(proposal.record, Core):
        edit_core(proposal, known)
    elif isinstance(proposal.record, Semantic) and _is_claim(proposal.record):
        is_no_news = fold(proposal.record.subject or "") == fold(proposal.record.value or "")
        if not is_no_news and not _is_put_in_mouth(proposal.record):
            _fact(proposal, _dated(proposal.record, proposal.said_at), known)
    else:
        _other(proposal, known)


def _is_claim(model: Semantic) -> bool:
    """Whether it says what of whom: only then can it be the same as another, or its opposite."""
    return bool(model.subject and model.attribute and model.value)


def _is_put_in_mouth(model: Semantic) -> bool:
    """Whether it says what the user wishes, in words that are not the user's: such text, from a
    page or a tool, steers the agent in the user's name."""
    subject = fold(model.subject or "").strip()
    return model.trust != "user" and subject in USER_NAMES and is_wish(model.attribute)


def _dated(model: Semantic, said_at: datetime) -> Semantic:
    """When it was said is kept; what is stated plainly is known to be true from then."""
    model = model.model_copy(update={"occurred_at": said_at})
    if model.valid_from is not None or model.valid_to is not None:
        return model
    return model.model_copy(update={"valid_from": said_at})


def _other(proposal: Proposal, known: list[Standing]) -> None:
    """A record that nothing can contradict: an exact duplicate only adds its evidence."""
    for standing in known:
        if standing.lifecycle in ("current", "review") and is_same(standing.model, proposal.record):
            support(standing, proposal)
            return
    add(proposal, proposal.record, known)


# ── what a manager says of a record it was shown ─────────────────────────────────────────────


def _targeted(proposal: Proposal, known: list[Standing]) -> None:
    """A record that stays with other fields, ends, or was said again.

    One that is not there any more is left alone; what would be said of it is stated by itself.
    """
    found = (s for s in known if s.record is not None and s.record.id == proposal.target)
    standing = next(found, None)
    if standing is None or standing.lifecycle not in ("current", "review"):
        if proposal.op == "revise":
            _other(replace(proposal, op="create"), known)
        return
    if proposal.op == "support":
        support(standing, proposal)
    elif is_less_trusted(proposal.record, standing):
        return
    elif proposal.op == "revise":
        _revise(proposal, standing, known)
    elif isinstance(standing.model, Semantic) and standing.model.subject:
        ended = standing.model.model_copy(
            update={
                "valid_from": None,
                "valid_to": proposal.said_at,
                "trust": proposal.record.trust,
            }
        )
        _ended(proposal, ended, [standing], known)
    else:
        support(standing, proposal)
        standing.lifecycle, standing.op, standing.reason = "retired", "retire", proposal.reason


def _revise(proposal: Proposal, standing: Standing, known: list[Standing]) -> None:
    """Fields given anew; a fact that says something else is another fact."""
    new, old = proposal.record, standing.model
    if isinstance(new, Semantic) and isinstance(old, Semantic):
        if not is_same(old, new):
            _fact(replace(proposal, op="create"), _dated(new, proposal.said_at), known)
            return
        new = new.model_copy(update={"name": old.name, "value": old.value})
    given = {
        name: getattr(new, name)
        for name in (*new.own_fields(), "occurred_at", "ended_at")
        if getattr(new, name) not in (None, [], "")
    }
    changed = {name: value for name, value in given.items() if getattr(old, name) != value}
    support(standing, proposal)
    if changed:
        standing.set(**changed)
        standing.op = standing.op or "update"
        standing.reason = standing.reason or proposal.reason


# ── facts ────────────────────────────────────────────────────────────────────────────────────


def _fact(proposal: Proposal, model: Semantic, known: list[Standing]) -> None:
    about = [s for s in known if s.lifecycle != "retired" and _bears_on(model, s.model)]
    if proposal.op == "correct" and (wrong := _mistaken(proposal, model, about)):
        if is_less_trusted(model, wrong):
            _wait(proposal, model, known)
        else:
            _correct(proposal, model, wrong, known)
        return
    if model.valid_to is not None and model.valid_from is None:
        _ended(proposal, model, about, known)
        return
    changed = proposal.op == "supersede"
    told = [s for s in about if s.lifecycle in ("current", "past")]
    rivals = [s for s in told if _rivals(proposal, s, model, changed=changed)]
    for standing in about:
        if is_same(standing.model, model) and _told_by(standing, model, rivals):
            support(standing, proposal)
            return
    if any(_undecided(proposal, model, rival) for rival in rivals if _holds(rival)):
        _wait(proposal, model, known)
        return
    _place_in_time(add(proposal, model, known), rivals)


def _rivals(proposal: Proposal, standing: Standing, model: Semantic, *, changed: bool) -> bool:
    """Whether what stands and what is stated cannot both be so.

    Of an attribute that is not known here it is not known either whether it has one value at a
    time: it has if the words say that it changed, and a manager names what changed. What is said to
    be so besides ends no other.
    """
    other = standing.model
    if proposal.beside:
        return same_value(_value(other), model.value) and opposed(other, model)
    meant = standing.record is not None and standing.record.id == proposal.target
    if changed and meant and find(model.attribute or "") is None and same_subject(other, model):
        affirmed = isinstance(other, Semantic) and other.polarity is not False
        if affirmed and model.polarity is not False:
            return not same_value(_value(other), model.value)
    return opposed(other, model, changed=changed)


def _bears_on(model: Semantic, other: KindModel) -> bool:
    return same_subject(model, other) or (isinstance(other, Semantic) and ends(model, other))


def _told_by(standing: Standing, model: Semantic, rivals: Sequence[Standing]) -> bool:
    """Whether what stands is so at the time of the statement already, or was then.

    What is learned late of a time before is the same if nothing else was so in between; then it
    was so since.
    """
    begun, said = standing.begin, cast("datetime", model.valid_from)
    if standing.lifecycle not in ("current", "past") or begun is None:
        return _holds(standing)
    if begun <= said:
        ends = standing.model.valid_to
        return said < ends if ends is not None else _holds(standing)
    if any(_between(said, rival, begun, model) for rival in rivals):
        return False
    if not is_less_trusted(model, standing):
        before = [r for r in rivals if r.model.valid_to is not None and r.model.valid_to > said]
        for moved in (standing, *(r for r in before if r.begin is None or r.begin < said)):
            moved.set(**({"valid_from": said} if moved is standing else {"valid_to": said}))
            moved.op = moved.op or "update"
            moved.reason = moved.reason or "it changed before that"
    return True


def _between(said: datetime, rival: Standing, begun: datetime, model: Semantic) -> bool:
    """Whether something else was so between the time a statement is of and a later one.

    As in `_later`: what is said after an undated rival, with a date of before, takes its place.
    """
    if rival.begin is None or not said < rival.begin < begun:
        return False
    undated = model.valid_from != model.occurred_at and not _dates_itself(rival)
    return not (undated and model.occurred_at is not None and _said(rival) < model.occurred_at)


def _wait(proposal: Proposal, model: Semantic, known: list[Standing]) -> None:
    """Keep it beside what stands, for review."""
    kept = add(proposal, model, known)
    kept.lifecycle = "review"
    kept.reason = "; ".join(filter(None, (proposal.reason, "contradicts what stands")))


def _holds(standing: Standing) -> bool:
    return standing.lifecycle == "current" and standing.successor is None


def _undecided(proposal: Proposal, model: Semantic, rival: Standing) -> bool:
    """Whether neither can be preferred: said at the same moment, or by someone less trusted."""
    if is_less_trusted(model, rival):
        return True
    said = {item.source_id for item in proposal.evidence}
    stands_on = {item.source_id for item in rival.evidence}
    stored = rival.record.evidence if rival.record else []
    stands_on |= {item.source_id for item in stored}
    if proposal.op == "create" and rival.begin == model.valid_from:
        return True
    return proposal.op == "create" and bool(said & stands_on)


def _place_in_time(new: Standing, rivals: Sequence[Standing]) -> None:
    """Put a fact between the one it ends and the one that ended it."""
    begin = new.begin
    assert begin is not None
    later = [r for r in rivals if r.begin is not None and _later(r, new)]
    earlier = [r for r in rivals if r not in later]
    following = min(later, key=_begin, default=None)
    if following is not None:
        new.set(valid_to=_sooner(new.model.valid_to, following.begin))
        new.lifecycle, new.successor = "past", following
        if following.predecessor is None and following.record is not None:
            following.predecessor = new
            following.op = following.op or "update"
            following.reason = following.reason or "an older fact was learned later"
    for rival in earlier:
        ends = rival.model.valid_to
        at = begin if rival.begin is None or rival.begin < begin else _said(new)
        if ends is None or ends > at:
            _end(rival, at, new if _is_next(rival, following) else None)


def _is_next(rival: Standing, following: Standing | None) -> bool:
    """Whether a new fact comes right after a rival: nothing does yet, or what it comes before."""
    if rival.successor is not None:
        return rival.successor is following
    named = rival.record.superseded_by if rival.record is not None else None
    known = following.record.id if following is not None and following.record is not None else None
    return named is None or named == known


def _later(rival: Standing, new: Standing) -> bool:
    """Whether it began after the new one.

    Of what was stated without a date it is only known when it was said: what is said after that,
    with a date of before, still takes its place.
    """
    if _dates_itself(new) and not _dates_itself(rival):
        return _said(rival) > _said(new)
    return _begin(rival) > _begin(new)


def _dates_itself(standing: Standing) -> bool:
    return standing.begin != standing.model.occurred_at


def _said(standing: Standing) -> datetime:
    return standing.model.occurred_at or _begin(standing)


def accept(waiting: Standing, rivals: Sequence[Standing], reason: str) -> list[Standing]:
    """A fact that waited for review holds: what it contradicts ends, or it ended before that."""
    waiting.lifecycle, waiting.op, waiting.reason = "current", "accept", reason
    if waiting.begin is not None:
        _place_in_time(waiting, rivals)
    return [waiting, *(rival for rival in rivals if rival.op)]


def _begin(standing: Standing) -> datetime:
    assert standing.begin is not None
    return standing.begin


def _sooner(one: datetime | None, other: datetime | None) -> datetime | None:
    given = [when for when in (one, other) if when is not None]
    return min(given, default=None)


def _end(old: Standing, at: datetime, successor: Standing | None) -> None:
    old.set(valid_to=at)
    old.lifecycle = "past"
    old.op = "end" if old.record is not None else old.op
    old.reason = old.reason or "it ended"
    if successor is not None:
        old.successor, successor.predecessor = successor, old
        if successor.op == "create":
            successor.op = "supersede"


def _ended(
    proposal: Proposal, model: Semantic, about: Sequence[Standing], known: list[Standing]
) -> None:
    """Something that used to be so: it ends what says that it is."""
    at = cast("datetime", model.valid_to)
    for standing in about:
        if is_same(standing.model, model) and standing.lifecycle in ("current", "past"):
            if standing.lifecycle == "current" and is_less_trusted(model, standing):
                break
            support(standing, proposal)
            begun = standing.begin
            if standing.lifecycle == "current" and (begun is None or begun <= at):
                _end(standing, at, None)
            return
    else:
        add(proposal, model, known).lifecycle = "past"
        return
    _wait(proposal, model, known)


def _mistaken(proposal: Proposal, model: Semantic, about: Sequence[Standing]) -> Standing | None:
    """What a correction is about: what it means, the value it names, else the newest that differs.

    A manager that means another fact than one about the same matter is not followed.
    """
    standing = [s for s in about if s.lifecycle in ("current", "review")]
    wrong = [s for s in standing if not is_same(s.model, model)]
    if meant := [s for s in wrong if s.record is not None and s.record.id == proposal.target]:
        return meant[0]
    if proposal.replaces is not None:
        named = [s for s in wrong if same_value(_value(s.model), proposal.replaces)]
        wrong = named or [s for s in wrong if opposed(s.model, model)]
    return wrong[-1] if wrong else None


def _value(model: KindModel) -> str | None:
    return model.value if isinstance(model, Semantic) else None


def _correct(proposal: Proposal, model: Semantic, wrong: Standing, known: list[Standing]) -> None:
    """The wrong one never was true: the right one takes its place in time."""
    right = add(proposal, model, known)
    if model.valid_from == proposal.said_at and wrong.begin is not None:
        right.set(valid_from=wrong.begin)
    right.op = "correct"
    right.lifecycle = wrong.lifecycle
    right.predecessor, wrong.successor = wrong, right
    wrong.lifecycle = "retired"
    wrong.op = "retire" if wrong.record is not None else "create"
    wrong.reason = f"corrected: {proposal.reason}" if proposal.reason else "corrected"
