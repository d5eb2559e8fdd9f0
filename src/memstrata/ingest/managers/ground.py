"""Proposals of a model held against what was said, and against what the local rules read. Pure.

A model may take another's words for the user's, end what was not denied, or drop what is new. The
rules see less than a model, but what they see is there: where both read the same words, they check
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstrata.ingest.managers.units import Unit
from memstrata.ingest.narrate import sentences
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.statements import USER_NAMES, opposed, same_value
from memstrata.kinds import KindModel, Semantic
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
_ENDED = re.compile(
    r"\b(?:no longer|not|never|any ?more|used to|stopp?ed|quit|gave up|given up|ended|over|cancel"
    r"\w*|left|leave|sold|lost|broke|finished|done with|without|wrong|forget|delete|remove|"
    r"called off|died|closed|hate|dislike|can(?:no|')t|won't|don't|doesn't|didn't|isn't)\b"
    r"|n['’]t\b|不|没|别|停|取消|离开|卖|丢|结束|忘|错|删|辞|分手|去世|讨厌",
    re.IGNORECASE,
)
"""Words by which something may be said to be over, or not so."""
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
    refused: list[str] = []
    messages = {message.id: message for message in unit.messages}
    by_id = {record.id: record for record in known}
    for proposal in proposals:
        said = _named(proposal, messages, user)
        rule = next((one for one in local if _same_but_whose(said, one)), None)
        said = replace(said, record=rule.record) if rule is not None else said
        if why := _unsound(said, messages, by_id):
            refused.append(f"{_what(said)}: {why}")
        else:
            held.append(_weighed(said))
    return _completed(held, refused, local, unit)


def _what(proposal: Proposal) -> str:
    return f"{proposal.op} {proposal.record.name_of_kind}"


# ── whose it is ──────────────────────────────────────────────────────────────────────────────

_SELF = frozenset({"i", "me", "my", "myself", "self", "speaker", "我", "本人", "自己"}) | USER_NAMES
_ASSISTANTS = frozenset({"assistant", "agent", "ai", "助手", "助理"})


def _named(proposal: Proposal, messages: dict[str, Message], user: frozenset[str]) -> Proposal:
    """The proposal about whom it is about, by the name that memory uses."""
    record = proposal.record
    if not isinstance(record, Semantic) or record.subject is None:
        return proposal
    subject = fold(record.subject).strip()
    if subject in _SELF or subject in user:
        speakers = [messages[e.source_id] for e in proposal.evidence if e.source_id in messages]
        names = {message.name for message in speakers}
        whose = names.pop() if len(names) == 1 else None
        alone = whose is None or fold(whose) in user
        named = "user" if alone or subject in user else whose
        record = record.model_copy(update={"subject": named or "user"})
        return replace(proposal, record=record)
    return proposal


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
    proposal: Proposal, messages: dict[str, Message], known: dict[str, Record]
) -> str | None:
    """Why a proposal does not hold."""
    speakers = [messages[e.source_id] for e in proposal.evidence if e.source_id in messages]
    if not speakers:
        return "it rests on no message"
    if proposal.op == "support":
        return None
    if _about_user(proposal.record) and not any(_is_a_person(one) for one in speakers):
        return "an assistant, a tool or a page says so, and not the user"
    if proposal.op == "retire":
        target = known.get(proposal.target or "")
        if target is None or not _denies(proposal, speakers, target):
            return "nothing that was said ends it"
    return None


def _about_user(record: KindModel) -> bool:
    return fold(record.whose() or "") in USER_NAMES


def _is_a_person(message: Message) -> bool:
    return fold(message.role) not in ("assistant", "tool", "system", "developer", "function") and (
        message.trust in ("user", "import")
    )


def _denies(proposal: Proposal, speakers: Sequence[Message], target: Record) -> bool:
    """Whether one sentence names what the target says, and that it is over."""
    keys = _telling(Semantic.claim(target).value) or _telling(target.text)
    for message in speakers:
        for sentence in sentences(message.content):
            if _ENDED.search(sentence) and keys & frozenset(terms(sentence)):
                return True
    return False


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
    held: Sequence[Proposal], refused: Sequence[str], local: Sequence[Proposal], unit: Unit
) -> Grounded:
    """Where a memory is only retired, with what was said in its place.

    That comes from the rules; where they find nothing, the sentence itself is kept.
    """
    ends = [one for one in held if one.op == "retire"]
    states = [one for one in held if one.op in ("create", "supersede", "correct")]
    kept: list[Proposal] = []
    for one in ends:
        sources = {item.source_id for item in one.evidence}
        if any(sources & {e.source_id for e in new.evidence} for new in states):
            continue
        found = [r for r in local if r.evidence[0].source_id in sources and r not in kept]
        kept += found or [_as_said(one, unit)]
    instead = [*states, *kept]
    rest = [
        one
        for one in held
        if one.op != "retire" or not any(opposed(one.record, new.record) for new in instead)
    ]
    return Grounded((*rest, *kept), tuple(refused))


def _as_said(proposal: Proposal, unit: Unit) -> Proposal:
    """The words by which something ended, as a fact of their own."""
    first = proposal.evidence[0]
    message = next(one for one in unit.messages if one.id == first.source_id)
    words = first.quote or message.content[:280]
    record = Semantic(name=words, confidence=0.6, trust=message.trust)
    evidence = (Evidence(source_id=message.id, quote=words),)
    return Proposal("create", record, evidence, message.occurred_at, reason="what was said")
