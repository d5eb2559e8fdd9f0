"""`resolve`: what becomes of proposals, given what is known already. Pure.

Whatever a rule or a model proposes, only this decides: a fact ends only for the same subject and
the same exclusive attribute, or where its very opposite is stated; what cannot be decided is kept
beside what stands, for review.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from memstrata.ingest.proposals import Proposal
from memstrata.kinds import Core, KindModel, Semantic, kind_of
from memstrata.kinds.attributes import ENDS, FAVOURITE, SUCCESSIVE
from memstrata.kinds.attributes import find as find_attribute
from memstrata.records import TRUST_RANK, Evidence, Lifecycle, Record
from memstrata.text.analyse import fold, terms

__all__ = [
    "USER_NAMES",
    "Standing",
    "accept",
    "core_lines",
    "is_wish",
    "opposed",
    "resolve",
    "restore",
    "same_value",
]


@dataclass(slots=True, eq=False)
class Standing:
    """A record as it will stand: one that is stored, or one that is new."""

    model: KindModel
    record: Record | None = None
    """What is stored of it; None for a new one."""
    lifecycle: Lifecycle = "current"
    evidence: list[Evidence] = field(default_factory=list[Evidence])
    """What is to be added."""
    said_at: datetime | None = None
    successor: Standing | None = None
    predecessor: Standing | None = None
    op: str = ""
    """What happens to it, empty for nothing: create, update, end, supersede, correct, retire."""
    reason: str = ""

    @property
    def begin(self) -> datetime | None:
        """Since when it is true."""
        return self.model.valid_from

    def set(self, **values: object) -> None:
        """Change fields of the model."""
        self.model = self.model.model_copy(update=values)


def restore(record: Record) -> Standing:
    """A stored record as it stands."""
    common = {
        name: getattr(record, name)
        for name in KindModel.model_fields
        if name not in ("title", "evidence")
    }
    values = {key: value for key, value in {**record.fields, **common}.items() if value is not None}
    model = kind_of(record.kind).model_validate(values)
    if record.title != model.heading():
        model = model.model_copy(update={"title": record.title})
    return Standing(model=model, record=record, lifecycle=record.lifecycle)


def resolve(proposals: Sequence[Proposal], related: Sequence[Record]) -> list[Standing]:
    """What the proposals, in the order they were said, leave: every record that is new or changes.

    `related` are the open records about the same subjects and attributes, with the same
    fingerprints, and the blocks of core memory.
    """
    known = [restore(record) for record in related]
    for proposal in proposals:
        if isinstance(proposal.record, Core):
            _core(proposal, known)
        elif isinstance(proposal.record, Semantic) and proposal.record.subject:
            if fold(proposal.record.subject) == fold(proposal.record.value or ""):
                continue  # who is called by her name is no news
            if _is_put_in_mouth(proposal.record):
                continue
            _fact(proposal, _dated(proposal.record, proposal.said_at), known)
        else:
            _other(proposal, known)
    return [standing for standing in known if standing.op or standing.evidence]


_WISHES = frozenset(
    {"likes", "loves", "enjoys", "dislikes", "hates", "wants", "wishes", "hopes", "needs"}
    | {"prefers", "preference"}
)
USER_NAMES = frozenset({"user", "the user", "用户"})
"""What a subject that is the user is called, folded."""


def is_wish(attribute: str | None) -> bool:
    """Whether an attribute says what somebody wishes, likes or prefers."""
    name = fold(attribute or "")
    return name in _WISHES or name.startswith(FAVOURITE)


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


def same_value(one: str | None, other: str | None) -> bool:
    """Whether two values are the same but for case, accents, plural and filler words."""
    if one is None or other is None:
        return one is other
    return fold(one) == fold(other) or _bare(one) == _bare(other)


_FILLERS = frozenset(terms("a an the my our your his her their some eating drinking"))
_EATEN = re.compile(r"^[吃喝](?=.)")


def _bare(value: str) -> frozenset[str]:
    own = frozenset(terms(_EATEN.sub("", value.strip())))
    return own - _FILLERS or own


def _same_subject(one: KindModel, other: KindModel) -> bool:
    return (
        isinstance(one, Semantic)
        and isinstance(other, Semantic)
        and fold(one.subject or "") == fold(other.subject or "")
        and one.attribute == other.attribute
    )


def opposed(one: KindModel, other: KindModel, *, changed: bool = False) -> bool:
    """Whether two facts cannot both be true at one time; with `changed`, as the words say."""
    if not (isinstance(one, Semantic) and isinstance(other, Semantic)):
        return False
    if _ends(other, one):
        return True
    if not _same_subject(one, other):
        return False
    agree = (one.polarity is not False) == (other.polarity is not False)
    if same_value(one.value, other.value):
        return not agree
    attribute = find_attribute(one.attribute or "")
    exclusive = bool(attribute and attribute.exclusive) or (changed and one.attribute in SUCCESSIVE)
    return agree and one.polarity is not False and exclusive


def _ends(one: Semantic, other: Semantic) -> bool:
    """Whether a fact of another attribute ends the other: who is divorced is not married."""
    attribute, values = ENDS.get(one.attribute or "", ("", frozenset[str]()))
    if attribute != other.attribute or other.polarity is False or one.polarity is False:
        return False
    same = fold(one.subject or "") == fold(other.subject or "")
    return same and fold(one.value or "") in values


def _same(one: KindModel, other: KindModel) -> bool:
    if not (isinstance(one, Semantic) and isinstance(other, Semantic)):
        return one.name_of_kind == other.name_of_kind and one.fingerprint() == other.fingerprint()
    agree = (one.polarity is not False) == (other.polarity is not False)
    return _same_subject(one, other) and agree and same_value(one.value, other.value)


def _add(proposal: Proposal, model: KindModel, known: list[Standing]) -> Standing:
    new = Standing(
        model=model,
        evidence=list(proposal.evidence),
        said_at=proposal.said_at,
        op="create",
        reason=proposal.reason,
    )
    known.append(new)
    return new


def _support(standing: Standing, proposal: Proposal) -> None:
    """Add evidence; of independent sources the most trusted counts."""
    sources = {item.source_id for item in standing.evidence}
    if standing.record is not None:
        sources |= {item.source_id for item in standing.record.evidence}
    standing.evidence += [item for item in proposal.evidence if item.source_id not in sources]
    if TRUST_RANK[proposal.record.trust] > TRUST_RANK[standing.model.trust]:
        standing.set(trust=proposal.record.trust)
        standing.op = standing.op or "update"
        standing.reason = standing.reason or proposal.reason


def _other(proposal: Proposal, known: list[Standing]) -> None:
    """A record that nothing can contradict: an exact duplicate only adds its evidence."""
    for standing in known:
        if standing.lifecycle in ("current", "review") and _same(standing.model, proposal.record):
            _support(standing, proposal)
            return
    _add(proposal, proposal.record, known)


# ── facts ────────────────────────────────────────────────────────────────────────────────────


def _fact(proposal: Proposal, model: Semantic, known: list[Standing]) -> None:
    about = [s for s in known if s.lifecycle != "retired" and _bears_on(model, s.model)]
    if proposal.op == "correct" and (wrong := _mistaken(proposal, model, about)):
        if _less_trusted(model, wrong):
            _wait(proposal, model, known)
        else:
            _correct(proposal, model, wrong, known)
        return
    if model.valid_to is not None and model.valid_from is None:
        _ended(proposal, model, about, known)
        return
    changed = proposal.op == "supersede"
    told = [s for s in about if s.lifecycle in ("current", "past")]
    rivals = [s for s in told if opposed(s.model, model, changed=changed)]
    for standing in about:
        if _same(standing.model, model) and _told_by(standing, model, rivals):
            _support(standing, proposal)
            return
    if any(_undecided(proposal, model, rival) for rival in rivals if _holds(rival)):
        _wait(proposal, model, known)
        return
    _place_in_time(_add(proposal, model, known), rivals)


def _bears_on(model: Semantic, other: KindModel) -> bool:
    return _same_subject(model, other) or (isinstance(other, Semantic) and _ends(model, other))


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
    if not _less_trusted(model, standing):
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


def _less_trusted(model: Semantic, standing: Standing) -> bool:
    return TRUST_RANK[model.trust] < TRUST_RANK[standing.model.trust]


def _wait(proposal: Proposal, model: Semantic, known: list[Standing]) -> None:
    """Keep it beside what stands, for review."""
    kept = _add(proposal, model, known)
    kept.lifecycle = "review"
    kept.reason = "; ".join(filter(None, (proposal.reason, "contradicts what stands")))


def _holds(standing: Standing) -> bool:
    return standing.lifecycle == "current" and standing.successor is None


def _undecided(proposal: Proposal, model: Semantic, rival: Standing) -> bool:
    """Whether neither can be preferred: said at the same moment, or by someone less trusted."""
    if _less_trusted(model, rival):
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
        if _same(standing.model, model) and standing.lifecycle in ("current", "past"):
            if standing.lifecycle == "current" and _less_trusted(model, standing):
                break
            _support(standing, proposal)
            begun = standing.begin
            if standing.lifecycle == "current" and (begun is None or begun <= at):
                _end(standing, at, None)
            return
    else:
        _add(proposal, model, known).lifecycle = "past"
        return
    _wait(proposal, model, known)


def _mistaken(proposal: Proposal, model: Semantic, about: Sequence[Standing]) -> Standing | None:
    """What a correction is about: the value it names, else the newest that differs."""
    wrong = [s for s in about if not _same(s.model, model) and s.lifecycle in ("current", "review")]
    if proposal.replaces is not None:
        named = [s for s in wrong if same_value(_value(s.model), proposal.replaces)]
        wrong = named or [s for s in wrong if opposed(s.model, model)]
    return wrong[-1] if wrong else None


def _value(model: KindModel) -> str | None:
    return model.value if isinstance(model, Semantic) else None


def _correct(proposal: Proposal, model: Semantic, wrong: Standing, known: list[Standing]) -> None:
    """The wrong one never was true: the right one takes its place in time."""
    right = _add(proposal, model, known)
    if model.valid_from == proposal.said_at and wrong.begin is not None:
        right.set(valid_from=wrong.begin)
    right.op = "correct"
    right.lifecycle = wrong.lifecycle
    right.predecessor, wrong.successor = wrong, right
    wrong.lifecycle = "retired"
    wrong.op = "retire" if wrong.record is not None else "create"
    wrong.reason = f"corrected: {proposal.reason}" if proposal.reason else "corrected"


# ── core ─────────────────────────────────────────────────────────────────────────────────────


def core_lines(value: str, line: str) -> str:
    """A block with one line more; a line `key: …` takes the place of the one with its key."""
    lines = [kept for kept in value.splitlines() if kept.strip()]
    key, colon, _ = line.partition(":") if ":" in line else line.partition("：")
    if any(fold(kept) == fold(line) for kept in lines):
        return "\n".join(lines)
    if colon and len(key) < 40:
        for place, kept in enumerate(lines):
            if fold(kept).startswith(fold(f"{key}{colon}")):
                lines[place] = line
                return "\n".join(lines)
    return "\n".join([*lines, line])


def _core(proposal: Proposal, known: list[Standing]) -> None:
    """One line more in a block, if the block has room and the words are the user's own."""
    model = cast("Core", proposal.record)
    if model.trust != "user":
        return
    for standing in known:
        if isinstance(standing.model, Core) and fold(standing.model.label) == fold(model.label):
            value = core_lines(standing.model.value, model.value)
            if value != standing.model.value and len(value) > standing.model.limit:
                return
            if value != standing.model.value:
                standing.set(value=value)
                standing.op = standing.op or "update"
                standing.reason = standing.reason or proposal.reason
            _support(standing, proposal)
            return
    _add(proposal, model, known)
