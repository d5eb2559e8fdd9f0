"""What the last turns of a conversation call for: what to search, of which time, about what."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from memstrata.recall.follow_up import Read, Talk, asking, note, read
from memstrata.recall.mentions import content_words, mentions
from memstrata.recall.small_talk import is_assent, is_small_talk, without_small_talk
from memstrata.recall.stands_alone import asks, goes_on
from memstrata.records import TimeSpan
from memstrata.text.analyse import fold, query_terms
from memstrata.text.name_words import CALENDAR
from memstrata.text.time import has_cue, resolve

__all__ = ["Intent", "read_intent", "with_question"]

_BACK = 12
"""How many turns before the last are read."""
_TURNS = 3
_FEW_TERMS = 4
"""A turn of fewer terms, of which nothing better is known, takes the turns before it along."""
_LONGEST = 400
"""Characters of an earlier turn that is taken along."""
_TOPICS = 6
_TOPIC_TEXT = 2000
_NAME = 1.6
"""How much more a name counts for topics than another word."""
_FADING = (1.0, 0.5, 0.3, 0.2)
"""How much a word counts for topics by how many turns ago it was said."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What the last of some turns calls for, read from the turns alone."""

    question: str
    """What to search for; empty where nothing is worth recalling."""
    topics: tuple[str, ...] = ()
    """What the last turns are about, the most important first, as written."""
    window: TimeSpan | None = None
    """The time the last turns refer to."""
    small_talk: bool = False
    """A greeting, thanks, assent, laughter: nothing to recall."""
    leans_on: str | None = None
    """The earlier turn that gave what the last one lacks."""


def read_intent(
    turns: Sequence[tuple[str, str]],
    *,
    now: datetime,
    zone: tzinfo,
    known: Collection[str] = (),
) -> Intent:
    """Read turns of (role, text), oldest first, of which the last is to be answered at `now`.

    `known` are normal forms of names that are known. A question that stands by itself comes out
    as it is; a follow-up comes out whole.
    """
    said = [(role, text) for role, text in turns[-4 * _BACK :] if text.strip(" \t\r\n\x00")]
    if not said:
        return Intent("")
    role, last = said[-1]
    before = said[-_BACK - 1 : -1]
    talk = Talk(known, now, zone)
    if is_small_talk(last):
        offer = _taken_up(before, role) if is_assent(last) else None
        if offer is None:
            return Intent("", small_talk=True)
        made = _with_turns(_listen(talk, before[:-1], role), before[:-1], Read(offer))
        made = Read(made.question, before[-1][1], made.frame)
    else:
        made = _with_turns(_listen(talk, before, role), before, read(talk, last))
    if not _SAYS.search(made.question):
        return Intent("")
    heard = [text for _, text in before]
    return Intent(
        made.question.strip(),
        _topics([*heard, made.question], known),
        _window(made, now, zone),
        leans_on=made.leans_on,
    )


_SAYS = re.compile(r"[^\W_]")


def with_question(intent: Intent, question: str, *, now: datetime, zone: tzinfo) -> Intent:
    """The same, to search for what somebody else made of the last turn."""
    return replace(intent, question=question, window=_span(question, now, zone) or intent.window)


def _listen(talk: Talk, before: Sequence[tuple[str, str]], role: str) -> Talk:
    """Hear the turns before, but not their small talk."""
    asker = any(one == role for one, _ in before)
    for one, text in before:
        if not is_small_talk(text):
            note(talk, text, own=one == role or not asker)
    return talk


_OFFERS_ANYTHING = re.compile(
    r"\banything else\b|\bhow (?:can|may) i help\b|\bwhat (?:can|else)\b"
    r"|还有(?:什么|别的)|需要什么|帮你什么",
    re.IGNORECASE,
)


def _taken_up(before: Sequence[tuple[str, str]], role: str) -> str | None:
    """What another asked right before, which a yes takes up."""
    if not before or before[-1][0] == role:
        return None
    text = without_small_talk(before[-1][1]).rstrip()
    if not text.endswith(("?", "？")) or is_small_talk(text):
        return None
    asked = asking(text)
    return None if not asked or _OFFERS_ANYTHING.search(asked) else asked


def _with_turns(talk: Talk, before: Sequence[tuple[str, str]], made: Read) -> Read:
    """A turn that goes on with what was spoken of, after the turns before it.

    On MADial-Bench, where most turns tell something, recall at 5 is ten points higher with them.
    """
    question = made.question
    if made.leans_on or len(question) > _LONGEST or not goes_on(question, talk.known):
        return made
    source = None
    tells = not asks(question)
    for _, text in reversed(before[-_TURNS + 1 :]):
        if not tells and len(query_terms(question)) >= _FEW_TERMS:
            break
        if len(text) <= _LONGEST and not is_small_talk(text):
            question, source = f"{text.strip()}\n{question}", source or text
    return Read(question, source, source) if source else made


# ── time ─────────────────────────────────────────────────────────────────────────────────────

_PRESENT = re.compile(
    r"\b(?:is|are|am|does|do|now|currently|these days)\b|现在|目前", re.IGNORECASE
)


def _window(made: Read, now: datetime, zone: tzinfo) -> TimeSpan | None:
    """The time a question speaks of, else that of the question it is a variation of."""
    own = _span(made.question, now, zone)
    if own or made.frame is None or _PRESENT.search(made.question):
        return own
    return _span(made.frame, now, zone)


def _span(text: str, now: datetime, zone: tzinfo) -> TimeSpan | None:
    """What the times in the sentence that asks have in common, else all from first to last."""
    if not has_cue(text):
        return None
    spans = resolve(asking(text), said_at=now, zone=zone)
    if not spans:
        return None
    start, end = max(span.start for span in spans), min(span.end for span in spans)
    if start >= end:
        start, end = min(span.start for span in spans), max(span.end for span in spans)
    return TimeSpan(start=start, end=end, text=" ".join(span.text for span in spans))


# ── topics ───────────────────────────────────────────────────────────────────────────────────


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DULL = CALENDAR.union(
    _set("""
    last next week weeks month months year years day days time times morning afternoon evening night
    people person man woman guy everyone need needs sounds feel feeling looking thought think love
    bit now see take try trying won start fun always absolutely sometimes looks look help understand
    fine worry new old big small good great first second own same different whole idea question
    ideas answer remember
    """),
    _set("""
    怎么办 不会 不能 问题 时 们 明白 有时候 地方 办法 看起来 话 太棒了 太好了 说说 没有 看看
    时间 别难过
    """),
)
"""Words of content that say little of what a turn is about."""
_STOOD = re.compile(
    r"\b(?:a|an|the|my|our|his|her|their|your|this|that|some|of|about|new)\s+(?:(\w+)\s+)?(\w+)",
    re.IGNORECASE,
)


def _topics(texts: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Names and other words that carry content, by how lately and how often they were said."""
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for ago, text in enumerate(reversed(texts[-len(_FADING) :])):
        text = without_small_talk(text)[-_TOPIC_TEXT:]
        found = mentions(text, known)
        names = {one.normal for one in found}
        stood = {fold(word) for match in _STOOD.finditer(text) for word in match.groups() if word}
        for word in content_words(text, found):
            if word.key in _DULL or (len(word.key) < 2 and not word.noun):
                continue
            if word.key.isdigit() or _is_han_date(word.key, names):
                continue
            noun = 1.0 if word.key in stood or not word.key.isascii() else 0.7
            weight = _NAME if word.key in names else noun if word.noun else 0.5
            weights[word.key] = weights.get(word.key, 0.0) + _FADING[ago] * weight
            written.setdefault(word.key, word.text)
    ranked = sorted(weights, key=lambda key: -weights[key])  # stable: of equals the first said
    return tuple(written[key] for key in ranked[:_TOPICS])


def _is_han_date(key: str, names: Collection[str]) -> bool:
    return not key.isascii() and key not in names and has_cue(key)
