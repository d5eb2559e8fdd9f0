"""Follow-ups made whole: `and Bob?` after `Where does Ana work?` asks where Bob works.

A follow-up takes the frame of an earlier question and puts what is new in the place of what was
there; a pronoun becomes the person it stands for; what only lacks content borrows it. What stands
by itself is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import NamedTuple

from memstrata.recall.follow_up_frames import Focus, put, read_focus, with_question_word
from memstrata.recall.mentions import HAN, Mention, content_words, mentions
from memstrata.recall.small_talk import without_small_talk
from memstrata.recall.stands_alone import (
    HAN_PRONOUN,
    PRONOUN,
    asks,
    lacks_content,
    seeks_advice,
    sentences,
)
from memstrata.text.time import has_cue

__all__ = ["Read", "Talk", "asking", "note", "read"]

_LONGEST = 240
"""Characters of a turn that may be a follow-up, and of a sentence that may be a frame."""
_NEAR = 4
"""How many turns back a question is preferred as a frame to a statement after it."""
_REACH = 10
"""How many turns back a pronoun looks."""
_SHORT_ANSWER = 12
"""Words of content an answer may have that a follow-up to it borrows."""
_FULL = 2
"""Words of content of a turn that says enough to leave it alone where there is a doubt."""
_UNSURE = 2.5
"""How many turns nearer somebody must be of whom it is not known whether the pronoun fits."""


@dataclass(frozen=True, slots=True)
class Read:
    """A turn as it is to be understood."""

    question: str
    leans_on: str | None = None
    """The turn that gave what this one lacks."""
    frame: str | None = None
    """The question, made whole itself, that this one is a variation of."""
    bare: str | None = None
    """The question without what it borrows from an answer, where it does."""


class Asked(NamedTuple):
    """A turn of the asker, made whole."""

    question: str
    said: str
    """The turn itself."""
    turn: int


@dataclass(slots=True)
class Talk:
    """What has been said so far, as far as a follow-up needs it."""

    known: Collection[str]
    now: datetime
    zone: tzinfo
    turn: int = 0
    asked: Asked | None = None
    """What the asker said last that has content."""
    question: Asked | None = None
    """What the asker asked last."""
    answer: str = ""
    """What others said since, without small talk."""
    heard: str = ""
    """The turn `answer` is of."""
    people: list[tuple[int, Mention]] = field(default_factory=list[tuple[int, Mention]])
    genders: dict[str, str] = field(default_factory=dict[str, str])


def note(talk: Talk, text: str, *, own: bool) -> None:
    """Take note of a turn before the last: `own` if of the one whose turn is to be answered."""
    core = without_small_talk(text)
    talk.turn += 1
    if own:
        made = read(talk, core)
        sentence = (made.bare or made.question) if made.leans_on else asking(core)
        if sentence and (content_words(sentence) or has_cue(sentence)):
            talk.asked = Asked(sentence, text, talk.turn)
            talk.answer = ""
            if asks(sentence):
                talk.question = talk.asked
        core = sentence if made.leans_on else core
    else:
        talk.answer, talk.heard = core, text
    _remember(talk, core[-4 * _LONGEST :])


def asking(text: str) -> str:
    """The last sentence that asks, else the whole if it is short, else its last sentence."""
    parts = sentences(text[-8 * _LONGEST :])
    asked = [part for part in parts if part[-1] in "?？"]
    if not asked and len(text) <= _LONGEST:
        return text.strip()
    chosen = (asked or parts or [""])[-1]
    return chosen if len(chosen) <= _LONGEST else ""


def _remember(talk: Talk, text: str) -> None:
    """Who is spoken of, and what the pronouns after them say of one not known better."""
    found = mentions(text, talk.known)
    for one in found:
        if one.kind != "place":
            talk.people.append((talk.turn, one))
            if one.gender:
                talk.genders[one.normal] = one.gender
    pattern = HAN_PRONOUN if HAN.search(text) else PRONOUN
    persons = [one for one in found if one.kind == "person"] or [m for _, m in talk.people[-1:]]
    if len({one.normal for one in persons}) == 1 and (match := pattern.search(text)):
        talk.genders.setdefault(persons[0].normal, match.lastgroup or "")
    del talk.people[: -6 * _REACH]


def _whom(talk: Talk, gender: str, but: Collection[str] = ()) -> Mention | None:
    """The person last spoken of whom a pronoun may mean, other than some if there is another."""
    best: tuple[float, Mention] | None = None
    for turn, one in talk.people:
        if talk.turn - turn > _REACH:
            continue
        is_of = talk.genders.get(one.normal, one.gender)
        if is_of and is_of != gender:
            continue
        behind = float(talk.turn - turn)
        behind += 0 if is_of else _UNSURE * (1 if one.kind == "person" else 2)
        behind += 100 * (one.normal in but)
        if best is None or behind <= best[0]:
            best = behind, one
    return best[1] if best else None


# ── reading a turn ───────────────────────────────────────────────────────────────────────────


def read(talk: Talk, text: str) -> Read:
    """A turn with what it lacks put in, `question` the text itself if it lacks nothing."""
    core = without_small_talk(text).strip()
    if (not talk.asked and not talk.people and not talk.answer) or len(core) > _LONGEST:
        return Read(text)
    if sum(1 for part in sentences(core) if content_words(part)) > 2:
        return Read(text)
    if talk.asked and not _LETTER.search(core):
        return _leaning(talk.asked, talk.asked.question)
    focus = read_focus(core)
    if focus and (made := _refocused(talk, focus)):
        return made
    if not asks(core):
        return Read(text)
    whole, person = _with_names(talk, core)
    if lacks_content(whole, talk.known):
        if seeks_advice(whole):
            return Read(text)
        return _with_content(talk, whole) or Read(text)
    if person:
        return Read(whole, _source(talk, person), talk.asked.question if talk.asked else None)
    return Read(text)


_LETTER = re.compile(r"[^\W_]")


def _leaning(on: Asked, question: str, bare: str | None = None) -> Read:
    return Read(question, on.said, on.question, bare)


def _source(talk: Talk, person: Mention) -> str:
    if talk.asked and (person.text in talk.asked.question or not talk.answer):
        return talk.asked.said
    return talk.heard


def _refocused(talk: Talk, focus: Focus) -> Read | None:
    """The earlier question, asked of what the turn names instead."""
    on = talk.question if talk.question and talk.turn - talk.question.turn <= _NEAR else talk.asked
    if on is None:
        return None
    frame, text = on.question, focus.text
    persons = [one for one in mentions(frame, talk.known) if one.kind == "person"]
    if focus.gender:
        but = () if focus.rest else {one.normal for one in persons}
        person = _whom(talk, focus.gender, but=but)
        if person is None:
            return _leaning(on, _joined(text, frame, talk.known, but=persons))
        text = _inside(person.text)
        if person.normal in but:
            others = [one for one in persons if one.normal != person.normal]
            return _leaning(on, _joined(text, frame, talk.known, but=others))
        if focus.rest:
            text += ("的" if HAN.search(focus.rest) else "'s ") + focus.rest
    made = put(frame, focus, text, known=talk.known, now=talk.now, zone=talk.zone)
    if made is None:
        if len(content_words(text)) > 2:
            return None
        made = _joined(text, frame, talk.known)
    return _leaning(on, made)


def _with_names(talk: Talk, text: str) -> tuple[str, Mention | None]:
    """The turn with the persons its pronouns stand for, unless it names them itself."""
    own = [one for one in mentions(text, talk.known) if one.kind != "place"]
    many = len(content_words(text, own)) > _FULL
    pattern = HAN_PRONOUN if HAN.search(text) else PRONOUN
    pieces: list[str] = []
    at, named = 0, None
    meant: set[str] = set()
    for match in pattern.finditer(text):
        gender, word = match.lastgroup or "", match[0].lower()
        owned = word in ("his", "hers") or (word == "her" and _owns(text, match.end()))
        if gender in meant or _named_here(talk, own, match, gender, forward=owned, many=many):
            continue
        person = _whom(talk, gender, but={one.normal for one in own})
        if person is None:
            continue
        named = named or person
        meant.add(gender)  # what follows stands for the name put in here
        pieces += [text[at : match.start()], _inside(person.text) + ("'s" if owned else "")]
        at = match.end()
    return "".join([*pieces, text[at:]]), named


def _inside(person: str) -> str:
    """What somebody is called inside a sentence: `My sister` is `my sister`."""
    first, space, rest = person.partition(" ")
    return f"{first.lower()} {rest}" if space and first in ("My", "Our", "Your") else person


def _named_here(
    talk: Talk,
    own: Collection[Mention],
    pronoun: re.Match[str],
    gender: str,
    *,
    forward: bool,
    many: bool,
) -> bool:
    """Whether the turn itself may name whom a pronoun means: before it, or what is theirs after.

    In a turn that says much, whoever stands before it: names do not always tell.
    """
    for one in own:
        if one.start < pronoun.start():
            if many or talk.genders.get(one.normal, one.gender) in ("", gender):
                return True
        elif forward and talk.genders.get(one.normal, one.gender) in ("", gender):
            return True
    return False


_NOT_OWNED = re.compile(
    r"\s*(?:[?.!,;]|\Z|(?:in|at|on|to|for|from|with|about|when|where|why|how|and|or|last|yesterday|today"
    r"|tomorrow|this|that|next|again|before|after|during|then|there|here|is|was|a|an|the|so|too|any)\b)",
    re.IGNORECASE,
)


def _owns(text: str, at: int) -> bool:
    """Whether `her` at the end of which one is stands before what is hers."""
    return not _NOT_OWNED.match(text, at)


# ── content from before ──────────────────────────────────────────────────────────────────────


def _with_content(talk: Talk, text: str) -> Read | None:
    """A turn with the content of the question it follows, or of what was last said."""
    answer = talk.answer if len(talk.answer) <= 4 * _LONGEST else ""
    if answer:
        words = content_words(answer, mentions(answer, talk.known))
        answer = ". ".join(word.text for word in words) if len(words) <= _SHORT_ANSWER else ""
    if talk.asked is None:
        return Read(_joined(text, answer, talk.known), talk.heard) if answer else None
    frame = talk.asked.question
    bare = with_question_word(text, frame) or _joined(text, frame, talk.known)
    whole = _joined(bare, answer, talk.known)
    return None if whole == text else _leaning(talk.asked, whole, bare)


_END = re.compile(r"[\s?.!,;。？！，；]+\Z")


def _joined(text: str, other: str, known: Collection[str], but: Collection[Mention] = ()) -> str:
    """One question of a turn and the content words of another it does not have yet."""
    have = {word.key for word in content_words(text, mentions(text, known))}
    have.update(one.normal for one in but)
    words = content_words(other, mentions(other, known))
    more = [word.text for word in words if word.key not in have]
    if not more:
        return text
    end = _END.search(text)
    stem = text[: end.start()] if end else text
    listed = ", ".join(more)
    return f"{stem[:-1]}, {listed})?" if stem.endswith(")") else f"{stem} ({listed})?"
