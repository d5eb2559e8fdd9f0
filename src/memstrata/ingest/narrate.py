"""The title and the summary of an episode, taken from its own words.

The title names date, people and topic; the summary is its most telling sentences, verbatim. What
a memory has put into a message is told already and never a source.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache

from memstrata.records import Message
from memstrata.store.ports import Narrate, Told
from memstrata.text.analyse import fold, terms
from memstrata.text.clean import shorten
from memstrata.text.lexicon import HAN_STOP_WORDS
from memstrata.text.names import Name, names, normal_form
from memstrata.text.recalled import own_words
from memstrata.text.time import has_cue
from memstrata.text.topics import DULL, called, distinct, is_chinese, weigh

__all__ = ["MONTHS", "Sentence", "choose", "line_of", "narrate", "narrator", "sentences", "tell"]

_SENTENCES = (2, 5)
_SUMMARY = 600
_SENTENCE = 280
_TOPICS = 3
_READ = 4000
"""Characters of a message that are read: the rest of a long paste adds nothing to a title."""


def narrate(
    messages: Sequence[Message],
    zone: tzinfo,
    *,
    title: str | None = None,
    summary: str | None = None,
) -> Told:
    """Title and summary of an episode's messages (at least one, in order), dated in `zone`.

    What a model calls it stands in the title in place of the topics, after date and people; its
    summary in place of the sentences.
    """
    texts = [own_words(message.content)[:_READ] for message in messages]
    chinese = is_chinese(" ".join(texts))
    people = _people(messages)
    named = [names(text) for text in texts]
    topics = distinct(weigh(texts, named, people), _TOPICS)
    about = [shorten(title, _SENTENCE)] if title else topics
    return Told(
        title=_title(messages[0], zone, _speakers(messages, chinese), about, chinese),
        summary=shorten(summary, 2 * _SUMMARY)
        if summary
        else _summary(messages, texts, named, chinese),
        people=people,
        topics=topics,
    )


def narrator(zone: tzinfo) -> Narrate:
    """Tells what messages are about, dated in a zone."""
    return lambda messages: narrate(messages, zone)


_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^a-z\s])|(?<=[。！？；…])[”’」』）]*(?![”’」』）。！？…])"
    r"|(?<!\s)\s*\n\s*"
)
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Prof|Sr|Jr|vs|etc|e\.g|i\.e|No|approx)\.$")
_LONGEST_ABBREVIATION = 8


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, verbatim but for the white space around them."""
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        before = max(start, match.start() - _LONGEST_ABBREVIATION)
        if match.end() == start or _ABBREVIATION.search(text, before, match.start()):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    return [one for one in [*found, text[start:].strip()] if one]


# ── people ───────────────────────────────────────────────────────────────────────────────────

_ROLES = {"user": "用户", "assistant": "助手", "system": "系统", "tool": "工具"}
_MOST_PEOPLE = 4


def _people(messages: Sequence[Message]) -> tuple[str, ...]:
    """The named speakers, each once, in order."""
    speakers: dict[str, str] = {}
    for one in messages:
        if one.name:
            speakers.setdefault(normal_form(one.name), one.name)
    return tuple(speakers.values())


def _speaker(message: Message, chinese: bool) -> str:
    # On one line: a name that goes on in the next would pose as another's words.
    named = " ".join((message.name or "").split())
    return named or (_ROLES.get(message.role, message.role) if chinese else message.role)


def _speakers(messages: Sequence[Message], chinese: bool) -> str:
    talking = [one for one in messages if one.role not in ("system", "tool") or one.name]
    listed = list(dict.fromkeys(_speaker(one, chinese) for one in talking or messages))
    rest = len(listed) - _MOST_PEOPLE
    if chinese:
        shown = "、".join(listed[:_MOST_PEOPLE]) if len(listed) != 2 else "和".join(listed)
        return f"{shown}等{len(listed)}人" if rest > 0 else shown
    if rest > 0:
        return f"{', '.join(listed[:_MOST_PEOPLE])} and {rest} more"
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


MONTHS = "January February March April May June July August September October November December"


def _title(first: Message, zone: tzinfo, who: str, topics: Sequence[str], chinese: bool) -> str:
    day = first.occurred_at
    with suppress(OverflowError):  # on the first or the last day there is
        day = day.astimezone(zone)
    if chinese:
        about = f"谈{'、'.join(topics)}" if topics else ""
        return f"{day.year}年{day.month}月{day.day}日：{who}{about}"
    about = f" on {', '.join(topics)}" if topics else ""
    return f"{day.day} {MONTHS.split()[day.month - 1]} {day.year}: {who}{about}"


# ── summary ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of one of some messages, and how much it tells."""

    message: int
    """The place of the message among them."""
    place: int
    text: str
    keys: frozenset[str]
    """What it is about."""
    value: float


_GREETING = re.compile(
    r"\W*(?:hi|hey|hello|good (?:morning|evening|night|afternoon)|thanks?(?: you)?|bye|goodbye"
    r"|see you|take care|wow|yeah|ok(?:ay)?|great|cool|congrat\w*|nice to|how are you"
    r"|how's it going|sounds (?:good|great)|talk (?:to you )?soon|no problem|you're welcome"
    r"|of course"
    r"|你好|您好|嗨|早上好|晚上好|早安|晚安|早[，,。!！]|谢谢|多谢|再见|拜拜|好的|嗯|哈哈|不客气|辛苦|收到)"
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|we|our|we're|we've)\b|我|咱|俺")
_MARKUP = re.compile(r"^(?:[>*#•·-]+\s+)+")
"""What marks a line as a heading or a list item, and is none of its words."""


def _summary(
    messages: Sequence[Message],
    texts: Sequence[str],
    named: Sequence[Sequence[Name]],
    chinese: bool,
) -> str:
    """The most telling sentences with their speakers, in order."""
    candidates = _candidates(messages, texts, named)
    most = min(_SENTENCES[1], max(_SENTENCES[0], len(messages) // 2 + 1))
    chosen = choose(candidates, most, _SUMMARY)
    told = sorted(chosen, key=lambda one: (one.message, one.place))
    return "\n".join(line_of(messages[one.message], one.text, chinese) for one in told)


def line_of(message: Message, text: str, chinese: bool) -> str:
    """What was said in a message, after who said it."""
    return f"{_speaker(message, chinese)}: {text}"


def tell(messages: Sequence[Message]) -> list[Sentence]:
    """All sentences of some messages, each with how much it tells among them."""
    texts = [own_words(message.content)[:_READ] for message in messages]
    return _candidates(messages, texts, [names(text) for text in texts])


def _candidates(
    messages: Sequence[Message], texts: Sequence[str], named: Sequence[Sequence[Name]]
) -> list[Sentence]:
    split = [sentences(text) for text in texts]
    spoken = Counter(key for text in texts for key in set(_keys(text)))
    speakers = called(_people(messages))
    mentioned = frozenset(
        one.text for found in named for one in found if one.normal not in speakers
    )
    found: list[Sentence] = []
    for at, message in enumerate(messages):
        share = 0.5 if message.role != "user" and not message.name else 1.0
        for place, text in enumerate(split[at]):
            clean = shorten(
                _MARKUP.sub("", text).strip() if text[:1] in "#>*-•·" else text, _SENTENCE
            )
            if not clean:
                continue
            keys = frozenset(_keys(clean))
            value = share * _value(clean, keys, spoken, mentioned)
            found.append(Sentence(at, place, clean, keys, value))
    return found


def _keys(text: str) -> list[str]:
    return [term for term in terms(text) if len(term) > 1 and term not in _dull_terms()]


@lru_cache(maxsize=1)
def _dull_terms() -> frozenset[str]:
    return frozenset(terms(" ".join(sorted(DULL)))) | HAN_STOP_WORDS


def _value(text: str, keys: frozenset[str], spoken: Counter[str], called: frozenset[str]) -> float:
    """How much a sentence tells: its words by how many messages have them, and what marks facts."""
    folded = fold(text)
    if not keys:
        return 0.01
    weight = sum(math.log1p(spoken[key]) for key in keys) / math.sqrt(8 + len(keys))
    weight += 0.5 * min(2, sum(1 for name in called if name in text))
    weight += 0.5 * (has_cue(text) or any(char.isdigit() for char in text))
    weight += 0.6 * bool(_FIRST_PERSON.search(folded))
    if folded.rstrip("\"'”’ )").endswith(("?", "？")):
        weight *= 0.15
    if _GREETING.match(folded) and len(keys) < 6:
        weight *= 0.2
    return weight


def choose(
    candidates: Sequence[Sentence], most: int, length: int, said: Collection[str] = ()
) -> list[Sentence]:
    """Greedily the best, each counted without what is said already, within a length in characters.

    `said` are the keys of what is told before them.
    """
    chosen: list[Sentence] = []
    told = set(said)
    left = length
    rest = list(candidates)
    best_value = max((one.value for one in candidates), default=0.0)
    while rest and len(chosen) < most:
        best = max(rest, key=lambda one: (_news(one, told), -one.message, -one.place))
        rest.remove(best)
        weak = _news(best, told) < 0.3 * best_value
        if chosen and (weak or len(best.text) > left):
            if weak:
                break
            continue
        chosen.append(best)
        told |= best.keys
        left -= len(best.text) + 12
    return chosen


def _news(one: Sentence, told: set[str]) -> float:
    if not one.keys:
        return one.value
    return one.value * (1 - 0.7 * len(one.keys & told) / len(one.keys))
