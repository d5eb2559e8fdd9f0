"""Proposals of a model held against what was said, and against what the local rules read. Pure.

A model may take another's words for the user's, end what was not denied, or drop what is new. The
rules see less than a model, but what they see is there: where both read the same words, they check
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstrata.ingest.managers.denial import denies
from memstrata.ingest.managers.units import Unit
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.statements import (
    USER_NAMES,
    is_same,
    opposed,
    same_subject,
    same_value,
)
from memstrata.kinds import Core, KindModel, Semantic
from memstrata.records import Evidence, Message, Record
from memstrata.text.analyse import fold, terms
from memstrata.text.lexicon import HAN_STOP_WORDS, STOP_WORDS

__all__ = ["Grounded", "grounded"]

_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|mov(?:ed|ing)|switch(?:ed|ing)?|chang(?:ed|ing)|instead|left|"
    r"quit|stopp?ed|start(?:ed|ing)|new|became|become|turned|replac\w+|again|back|from now on|"
    r"upgraded|transferred|these days|since)\b"
    r"|现在|如今|不再|已经不|改|换|搬|以后|开始|停|辞|新|转|重新|又",
    re.IGNORECASE,
)
"""Words that say that something is other than before."""
_READ = 2000
_ENOUGH = 3
"""Telling words of a statement none of which was said, from which on it is invented."""
_BESIDE = re.compile(
    r"\b(?:also|as well|too|in addition|besides|another|second|part[- ]time|on the side)\b"
    r"|也|还|另外|同时|兼|此外",
    re.IGNORECASE,
)
"""Words that say that something is so beside what is known."""


@dataclass(frozen=True, slots=True)
class Grounded:
    """What of the proposals holds, and why the others do not."""

    proposals: tuple[Proposal, ...]
    refused: tuple[str, ...]


def grounded(
    proposals: Sequence[Proposal],
    local: Sequence[Proposal],
    unit: Unit,
    known: Sequence[Record],
    user: frozenset[str],
) -> Grounded:
    """The proposals that what was said bears out.

    `local` is what the rules find in the same messages, `known` the records the model was shown,
    `user` what the user is called, folded.
    """
    held: list[Proposal] = []
    dropped: list[Proposal] = []
    refused: list[str] = []
    messages = {message.id: message for message in unit.messages}
    by_id = {record.id: record for record in known}
    around = (*(one.content for one in unit.before), *(record.text for record in known))
    context = frozenset(term for text in around for term in terms(text[:_READ]))
    for proposal in proposals:
        said = _named(proposal, messages, user)
        rule = next((one for one in local if _same_but_whose(said, one)), None)
        rule = rule or _denied(said, local)
        said = replace(said, record=rule.record) if rule is not None else said
        if why := _unsound(said, messages, by_id, context, user):
            refused.append(f"{_what(said)}: {why}")
            dropped += [said] if said.op == "retire" else []
        else:
            held.append(_weighed(said))
    return Grounded(tuple(_completed(held, dropped, local, unit)), tuple(refused))


def _what(proposal: Proposal) -> str:
    return f"{proposal.op} {proposal.record.name_of_kind}"


# ── whose it is ──────────────────────────────────────────────────────────────────────────────

_SELF = frozenset({"i", "me", "my", "myself", "self", "speaker", "我", "本人", "自己"}) | USER_NAMES
_USER = re.compile(r"\W*(?:(?:the )?user\b|I\b|用户|我)", re.IGNORECASE)


def _named(proposal: Proposal, messages: dict[str, Message], user: frozenset[str]) -> Proposal:
    """The proposal about whom it is about, by the name that memory uses."""
    record = proposal.record
    about = record.whose()
    if about is None:
        return proposal
    subject = fold(about).strip()
    if subject in _SELF or subject in user:
        speakers = [messages[e.source_id] for e in proposal.evidence if e.source_id in messages]
        names = {message.name for message in speakers}
        whose = names.pop() if len(names) == 1 else None
        alone = whose is None or fold(whose) in user
        named = "user" if alone or subject in user else whose
        return replace(proposal, record=record.of(named or "user"))
    return proposal


def _denied(proposal: Proposal, local: Sequence[Proposal]) -> Proposal | None:
    """The rule that reads the opposite in the same message, unless one reads the same there."""
    if proposal.op not in ("create", "supersede", "correct"):
        return None
    sources = {item.source_id for item in proposal.evidence}
    there = [one for one in local if any(item.source_id in sources for item in one.evidence)]
    if any(is_same(one.record, proposal.record) for one in there):
        return None
    claim = proposal.record
    contrary = (
        one
        for one in there
        if same_subject(one.record, claim)
        and isinstance(claim, Semantic)
        and isinstance(one.record, Semantic)
        and same_value(one.record.value, claim.value)
        and claim.attribute is not None
    )
    return next(contrary, None)


def _same_but_whose(proposal: Proposal, rule: Proposal) -> bool:
    """Whether a rule reads the same statement in the same message, about somebody else."""
    one, other = proposal.record, rule.record
    if not (isinstance(one, Semantic) and isinstance(other, Semantic)):
        return False
    sources = {item.source_id for item in proposal.evidence}
    return (
        proposal.op in ("create", "supersede", "correct")
        and one.attribute == other.attribute
        and fold(one.subject or "") != fold(other.subject or "")
        and (one.polarity is not False) == (other.polarity is not False)
        and same_value(one.value, other.value)
        and any(item.source_id in sources for item in rule.evidence)
        and fold(one.subject or "") == "user"
    )


# ── what may not be ──────────────────────────────────────────────────────────────────────────


def _unsound(
    proposal: Proposal,
    messages: dict[str, Message],
    known: dict[str, Record],
    context: frozenset[str],
    user: frozenset[str],
) -> str | None:
    """Why a proposal does not hold."""
    speakers = [messages[e.source_id] for e in proposal.evidence if e.source_id in messages]
    if not speakers:
        return "it rests on no message"
    if proposal.op == "support":
        return None
    people = [one for one in speakers if _is_a_person(one)]
    if _about_user(proposal.record) and not _owned(proposal.record, speakers, people):
        return "an assistant, a tool or a page says so, and not the user"
    if isinstance(proposal.record, Core) and not any(_is_alone(one, user) for one in people):
        return "who says so is not known to be the user"
    if proposal.op != "retire" and _invented(proposal.record, speakers, context):
        return "nothing that was said tells of it"
    if proposal.op == "retire":
        target = known.get(proposal.target or "")
        said = people if _about_user(proposal.record) else speakers
        if target is None or not denies([one.content for one in said], target):
            return "nothing that was said ends it"
    return None


def _owned(record: KindModel, speakers: Sequence[Message], people: Sequence[Message]) -> bool:
    """Whether the user's words bear it out, if only by taking up what another said before."""
    last = max((one.occurred_at for one in people), default=None)
    if last is None:
        return False
    value = record.value if isinstance(record, Semantic) else None
    told = _telling(value or record.body())
    keys = {key for key in told if len(key) > 1} or told  # one Chinese sign alone is no word
    others = [one for one in speakers if one not in people and keys & frozenset(terms(one.content))]
    own = frozenset[str]().union(*(terms(one.content) for one in people))
    return bool(keys & own) or all(one.occurred_at < last for one in others)


def _is_alone(message: Message, user: frozenset[str]) -> bool:
    """Whether it is the user who speaks, and none of several people."""
    return message.name is None or fold(message.name).strip() in user | USER_NAMES


def _invented(record: KindModel, speakers: Sequence[Message], context: frozenset[str]) -> bool:
    """Whether a statement has not one of its words from what was said, or from around it.

    A short one may be put in other words altogether.
    """
    said = context.union(*(terms(message.content) for message in speakers))
    own = [_telling(part) for part in record.parts()]
    return any(len(words) >= _ENOUGH and not words & said for words in own)


def _about_user(record: KindModel) -> bool:
    whose = fold(record.whose() or "").strip()
    return (
        isinstance(record, Core)
        or whose in _SELF
        or (not whose and _USER.match(record.heading()) is not None)
    )


def _is_a_person(message: Message) -> bool:
    return fold(message.role) not in ("assistant", "tool", "system", "developer", "function") and (
        message.trust in ("user", "import")
    )


def _telling(text: str) -> frozenset[str]:
    return frozenset(terms(text)) - STOP_WORDS - HAN_STOP_WORDS


# ── what it is weighed by ────────────────────────────────────────────────────────────────────


def _weighed(proposal: Proposal) -> Proposal:
    """Without the change that the words do not tell of."""
    words = " ".join(item.quote or "" for item in proposal.evidence)
    beside = bool(_BESIDE.search(words)) and proposal.op in ("create", "supersede")
    if proposal.op == "supersede" and (beside or not _CHANGE.search(words)):
        return replace(proposal, op="create", beside=beside)
    return replace(proposal, beside=beside)


# ── what would be lost ───────────────────────────────────────────────────────────────────────


def _completed(
    held: Sequence[Proposal], dropped: Sequence[Proposal], local: Sequence[Proposal], unit: Unit
) -> list[Proposal]:
    """Where a memory is only retired, with what was said in its place; `dropped` do not hold.

    That comes from the rules; where they find nothing, the sentence itself is kept.
    """
    states = [one for one in held if one.op in ("create", "supersede", "correct")]
    kept: list[Proposal] = []
    for one in [*(one for one in held if one.op == "retire"), *dropped]:
        sources = {item.source_id for item in one.evidence}
        if any(sources & {e.source_id for e in new.evidence} for new in states):
            continue
        found = [r for r in local if r.evidence[0].source_id in sources and r not in kept]
        kept += found or ([_as_said(one, unit)] if one not in dropped else [])
    instead = [*states, *kept]
    rest = [
        one
        for one in held
        if one.op != "retire" or not any(opposed(one.record, new.record) for new in instead)
    ]
    return [*rest, *kept]


def _as_said(proposal: Proposal, unit: Unit) -> Proposal:
    """The words by which something ended, as a fact of their own."""
    there = {one.id: one for one in unit.messages}
    first = next(item for item in proposal.evidence if item.source_id in there)
    message = there[first.source_id]
    words = first.quote or message.content[:280]
    record = Semantic(name=words, confidence=0.6, trust=message.trust)
    evidence = (Evidence(source_id=message.id, quote=words),)
    return Proposal("create", record, evidence, message.occurred_at, reason="what was said")
