"""From messages to proposals: who speaks, what is theirs to say, what it states."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo

from memstrata.ingest.local import chinese, english
from memstrata.ingest.local.clauses import Sentence, readable, sentences
from memstrata.ingest.local.corrections import correction, marks
from memstrata.ingest.local.documents import documents
from memstrata.ingest.local.events import Event
from memstrata.ingest.local.findings import Finding
from memstrata.ingest.local.people import Talk
from memstrata.ingest.local.steps import procedures
from memstrata.ingest.local.wishes import contact, wish
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.statements import USER_NAMES, is_wish
from memstrata.kinds import Core, Episodic, KindModel, Semantic, Vault
from memstrata.kinds.attributes import statement
from memstrata.records import Evidence, Message
from memstrata.text.analyse import fold

__all__ = ["Setting", "extract"]

_OTHERS = frozenset({"assistant", "system", "tool", "developer", "function"})
_WRITERS = frozenset({"user", "assistant"})
_USER_ROLES = frozenset({"user", "human"})
_DIGIT = re.compile(r"\d")
_LONG = 20_000
_OWN_WORDS = 1000
"""Characters from which a message is likely to tell of others what is not life but a text."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known around the messages."""

    zone: tzinfo
    """Of the user."""
    before: Sequence[Message] = field(default=())
    """Up to ten messages before the new ones in the session, oldest first."""
    known: Collection[str] = field(default=())
    """Names known from before."""


def extract(messages: Sequence[Message], setting: Setting) -> list[Proposal]:
    """What the messages state, each with the words that say so.

    Facts, events and wishes only from what people say themselves, never from assistants, tools or
    recalled text; procedures and documents also from assistants.
    """
    everyone = {
        message.name.split()[0].casefold()
        for message in (*setting.before, *messages)
        if message.name and message.name.strip()
    }
    talk = Talk(participants=frozenset(everyone), known=setting.known)
    said = dict[str, list[Finding]]()
    for message in setting.before:
        for _ in _findings(message, talk, said):
            pass
    proposals: list[Proposal] = []
    for message in messages:
        seen = set[tuple[object, ...]]()
        for proposal in _proposals(message, talk, said):
            key = _key(proposal.record)
            if key not in seen:
                seen.add(key)
                proposals.append(proposal)
        if message.role in _WRITERS:
            proposals += procedures(message)
            proposals += documents(message)
    return proposals


def _key(record: KindModel) -> tuple[object, ...]:
    if isinstance(record, Core):  # Lines of one block are different things.
        return (record.name_of_kind, record.value)
    return (record.name_of_kind, *record.identity())


def _proposals(message: Message, talk: Talk, said: dict[str, list[Finding]]) -> Iterator[Proposal]:
    for found in _findings(message, talk, said):
        if isinstance(found, Finding):
            yield _fact(found, message)
            if found.attribute == "name" and _is_private(message) and found.subject == "user":
                label = "姓名" if found.language == "zh" else "Name"
                yield _core(message, found.start, found.end, f"{label}: {found.value}")
        elif isinstance(found, Event):
            yield _event(found, message)
        else:
            yield found


def _is_private(message: Message) -> bool:
    """Whether it is the user alone who speaks, and for themselves."""
    return message.role == "user" and not message.name and message.trust == "user"


def _speaks(message: Message) -> bool:
    return fold(message.role) not in _OTHERS and message.trust not in ("tool", "web")


def _speaker(message: Message) -> str:
    """Who says `I`: no other role is the user, whatever it calls itself."""
    name = (message.name or "").strip()
    role = message.role.strip()
    if fold(role) in _USER_ROLES:
        return name or "user"
    return role if not name or fold(name) in USER_NAMES else name


def _put_in_mouth(found: Finding | Event | Proposal, message: Message, speaker: str) -> bool:
    """Whether it says in somebody else's words what the user is or wishes."""
    if not isinstance(found, Finding) or _is_trusted(message, speaker):
        return False
    if fold(found.subject) in USER_NAMES and speaker != "user":
        return True
    return found.subject in (speaker, "user") and is_wish(found.attribute)


def _is_trusted(message: Message, speaker: str) -> bool:
    return message.trust == "user" and (speaker == "user" or fold(speaker) not in USER_NAMES)


def _findings(
    message: Message, talk: Talk, said: dict[str, list[Finding]]
) -> Iterator[Finding | Event | Proposal]:
    if not _speaks(message):
        return
    talk.speaker = _speaker(message)
    earlier = said.setdefault(talk.speaker, [])
    wrong = False
    pasted = len(message.content) > _OWN_WORDS
    for sentence in sentences(readable(message.content[:_LONG])):
        if not sentence.asks and (put_right := correction(sentence, earlier)):
            earlier.append(put_right)
            yield put_right
            continue
        wrong = wrong or marks(sentence)
        language = chinese if sentence.chinese else english
        for found in language.read(sentence, talk, message.spans, message.occurred_at):
            if pasted and _of_another(found, talk.speaker):
                continue
            if _put_in_mouth(found, message, talk.speaker):
                continue
            if isinstance(found, Finding):
                _put_right(found, earlier, wrong)
                earlier.append(found)
            yield found
        yield from _extras(sentence, message, talk)
    del earlier[:-20]


def _of_another(found: Finding | Event, speaker: str) -> bool:
    subject = found.subject if isinstance(found, Finding) else found.actor
    return subject != speaker and not subject.startswith((f"{speaker}'s ", f"{speaker}的"))


def _put_right(found: Finding, earlier: Sequence[Finding], wrong: bool) -> None:
    """After words that something was wrong, a statement of the same attribute corrects it."""
    if not wrong:
        return
    for one in reversed(earlier):
        same = (one.subject, one.attribute) == (found.subject, found.attribute)
        if same and one.value != found.value:
            found.correct, found.replaces = True, one.value
            return


def _extras(sentence: Sentence, message: Message, talk: Talk) -> Iterator[Proposal]:
    """Wishes to the agent, and contacts."""
    if _is_private(message) and (line := wish(sentence)):
        yield _core(message, sentence.start, sentence.end, line)
    if ("@" in sentence.text or _DIGIT.search(sentence.text)) and (
        entry := contact(sentence, talk.speaker)
    ):
        record = Vault(
            entry_type="contact",
            caption=entry[0],
            secret=entry[1],
            confidence=0.9,
            trust=message.trust,
        )
        yield _proposal(record, message, sentence.start, sentence.end, "rule: contact")


def _core(message: Message, start: int, end: int, line: str) -> Proposal:
    record = Core(label="human", value=line, confidence=0.9, trust=message.trust)
    return _proposal(record, message, start, end, "rule: what the user wishes")


def _proposal(record: KindModel, message: Message, start: int, end: int, why: str) -> Proposal:
    return Proposal("create", record, _quote(message, start, end), message.occurred_at, reason=why)


def _quote(message: Message, start: int, end: int) -> tuple[Evidence, ...]:
    words = message.content[start:end].strip(" \n\t,;")
    return (Evidence(source_id=message.id, quote=words),)


def _fact(found: Finding, message: Message) -> Proposal:
    evidence = _quote(message, found.start, found.end)
    line = statement(
        found.subject, found.attribute, found.value, found.polarity, found.language, past=found.past
    )
    quote = evidence[0].quote or ""
    record = Semantic(
        name=line,
        details=quote if len(quote) > len(found.value) + 4 else None,
        subject=found.subject,
        attribute=found.attribute,
        value=found.value,
        polarity=found.polarity,
        valid_from=found.valid_from,
        valid_to=message.occurred_at if found.past else None,
        confidence=found.confidence,
        trust=message.trust,
    )
    op = "correct" if found.correct else "supersede" if found.change else "create"
    return Proposal(
        op, record, evidence, message.occurred_at, found.replaces, f"rule: {found.attribute}"
    )


def _event(found: Event, message: Message) -> Proposal:
    evidence = _quote(message, found.start, found.end)
    span = found.span
    long = span is not None and span.end - span.start > timedelta(days=1)
    happened = span.start if span else found.just
    record = Episodic(
        event_type="plan" if found.plan else "event",
        summary=evidence[0].quote or "",
        actor=found.actor,
        occurred_at=None if found.plan or happened is None else happened.astimezone(UTC),
        ended_at=span.end if span and long else None,
        due=span.start if span and found.plan else None,
        done=False if found.plan else None,
        confidence=found.confidence,
        trust=message.trust,
    )
    return Proposal(
        "create",
        record,
        evidence,
        message.occurred_at,
        reason="rule: plan" if found.plan else "rule: event",
    )
