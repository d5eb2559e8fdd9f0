"""Messages to episodes: contiguous runs of one session about one thing.

An episode ends with its session, at a gap of over 30 minutes, at 25 messages, or where the topic
shifts. The rule reads from left to right and knows nothing but the open run and the next message,
so messages added one by one and all at once give the same episodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from memstrata.records import Message
from memstrata.text.analyse import fold, terms
from memstrata.text.lexicon import ASKING_WORDS, HAN_STOP_WORDS, STOP_WORDS

__all__ = ["GAP", "Run", "segment"]

GAP = timedelta(minutes=30)
_LONGEST = 25
_BEFORE_SHIFT = 4
"""A run this short is still finding its topic."""
_COMPARED = 6
"""How many of the last messages the next one is compared with; the topic of more than these has
so many words that anything has one in common with it."""
_ENOUGH = 8
"""Terms a message must have before having none in common with the run says anything."""
_ENOUGH_CUED = 3
_HAN_FACTOR = 2
"""Pairs of characters to a word: Chinese needs so many times more of them."""
_COHESIVE = 0.34
"""The share of its terms in the run from which a message belongs to it, whatever its cue says."""
_STRANGE = 0.07
"""The share up to which a message without a cue belongs elsewhere."""
_READ = 1500
"""Characters of a message that are compared: its topic is plain by then."""


@dataclass(frozen=True, slots=True)
class Run:
    """Contiguous messages of one session; a closed one never grows."""

    messages: tuple[Message, ...]
    closed: bool


def segment(open_run: Sequence[Message], fresh: Sequence[Message]) -> list[Run]:
    """Go on with the session's open run (or none) through the fresh messages, in order.

    The first run begins with the open run's messages; it is closed and unchanged if the first
    fresh message starts a new one. Only the last run may be open. A message older than the last
    of the run before it is late: it starts a run of its own.
    """
    runs: list[Run] = []
    run = list(open_run)
    for message in fresh:
        if run and _ends(run, message):
            runs.append(Run(tuple(run), closed=True))
            run = []
        run.append(message)
    if run:
        runs.append(Run(tuple(run), closed=len(run) >= _LONGEST))
    return runs


def _ends(run: Sequence[Message], message: Message) -> bool:
    """Whether the run is over when this message comes."""
    last = run[-1]
    if len(run) >= _LONGEST or message.session_id != last.session_id:
        return True
    if not timedelta(0) <= message.occurred_at - last.occurred_at <= GAP:
        return True
    return len(run) >= _BEFORE_SHIFT and _shifts(run, message)


# ── topic ────────────────────────────────────────────────────────────────────────────────────

_OPENING = r"\W*(?:(?:oh|hey|ok|okay|well|so|and|but|right|haha|哦|噢|啊|嗯|哎|诶|哈哈)\W+)*"
_CUE = re.compile(
    r"(?:^|(?<=[.!?。！？~…\n]))" + _OPENING + r"(?:by the way|btw|anyways?,"
    r"|on (?:another|a different|a side|an unrelated) note"
    r"|(?:changing|to change|switching|let's change) (?:the )?(?:subject|topic)|different topic"
    r"|(?:new|another|unrelated|different|separate) (?:question|topic|thing)\b"
    r"|(?:one|another) more thing|speaking of|in other news|before i forget|off.topic|moving on"
    r"|now,? (?:about|let's|for)\b|next (?:up|topic|question)"
    r"|对了|话说|换个话题|换(?:一)?个(?:问题|事)|顺便|另外|还有(?:一|件|个)|说起来|说到"
    r"|题外话|回到正题|接下来(?:我|咱|聊|说)|言归正传|扯远了)"
)
_ANSWERS = re.compile(
    _OPENING + r"(?:yes|yeah|yep|yup|no|nope|sure|exactly|agreed|thanks|thank you|that|this|it"
    r"|same|true|great|good|nice|cool|wow|awesome|sounds|glad|i (?:agree|see|know|bet|totally)"
    r"|是的|对[啊呀的，,]|没错|好[的呀啊，,]|不是|谢|那[就也个真太]|这[个真就也]|真的|确实|同意|行[，,啊]"
    r"|可以|没问题|收到|明白|原来)"
)
_ASKS = ("?", "？")


def _shifts(run: Sequence[Message], message: Message) -> bool:
    """Whether the message leaves what the run is about, as far as words can say.

    A reply stays with what it replies to: an assistant's turn, an answer to the question just
    asked, and what opens by taking up what was said.
    """
    if message.role != "user" and not message.name:
        return False
    text = fold(message.content[:_READ])
    cue = _CUE.search(text)
    if cue is None and (_ANSWERS.match(text) or _answers_question(run[-1], message)):
        return False
    own = _content_terms(text[cue.start() :] if cue else text)
    if _size(own) < (_ENOUGH_CUED if cue else _ENOUGH):
        return False
    known = frozenset[str]().union(
        *(_content_terms(fold(one.content[:_READ])) for one in run[-_COMPARED:])
    )
    return len(own & known) <= (_COHESIVE if cue else _STRANGE) * len(own)


def _size(own: frozenset[str]) -> float:
    """How much there is to compare, in words."""
    pairs = sum(1 for term in own if _HAN.fullmatch(term))
    return len(own) - pairs + pairs / _HAN_FACTOR


def _answers_question(last: Message, message: Message) -> bool:
    return last.speaker != message.speaker and any(mark in last.content[-120:] for mark in _ASKS)


@lru_cache(maxsize=1)
def _spared() -> frozenset[str]:
    """The terms of words that tell no topic."""
    return frozenset(terms(f"{_CHAT} {' '.join(sorted(STOP_WORDS | ASKING_WORDS))}"))


_CHAT = (
    "hi hello hey thanks thank yes yeah ok okay oh wow great good nice really like love feel well "
    "sure sorry please time day today new lot back help need want think bit people life"
)
_HAN_GRAMMAR = frozenset(
    "的了是我你他她它们这那不在有就也都和很吗呢吧啊呀哦嗯么什怎个一上下到说要会能可以"
)
_HAN = re.compile(r"[\u3400-\u9fff]+")


@lru_cache(maxsize=512)
def _content_terms(text: str) -> frozenset[str]:
    """The terms that can tell what a text is about; of Chinese, pairs of characters."""
    return frozenset(term for term in terms(text) if _tells(term)) - _spared()


def _tells(term: str) -> bool:
    if not _HAN.fullmatch(term):
        return len(term) > 2
    return len(term) == 2 and not _HAN_GRAMMAR.intersection(term) and term not in HAN_STOP_WORDS
