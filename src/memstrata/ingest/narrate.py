"""The title and the summary of an episode, taken from its own words.

The title names date, people and topic; the summary is its most telling sentences, verbatim. What
a memory has put into a message is told already and never a source.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import lru_cache
from typing import cast

from memstrata.records import Message
from memstrata.store.ports import Told
from memstrata.text.analyse import fold, terms
from memstrata.text.clean import shorten
from memstrata.text.lexicon import ASKING_WORDS, HAN_STOP_WORDS, STOP_WORDS
from memstrata.text.names import Name, names, normal_form
from memstrata.text.recalled import own_words
from memstrata.text.time import has_cue

__all__ = ["narrate", "sentences"]

_SENTENCES = (2, 5)
_SUMMARY = 600
_SENTENCE = 280
_TOPICS = 3
_READ = 4000
"""Characters of a message that are read: the rest of a long paste adds nothing to a title."""


def narrate(messages: Sequence[Message], zone: tzinfo) -> Told:
    """Title and summary of an episode's messages (at least one, in order), dated in `zone`."""
    texts = [own_words(message.content)[:_READ] for message in messages]
    chinese = _is_chinese(" ".join(texts))
    people = _people(messages)
    named = [names(text) for text in texts]
    topics = _topics(texts, named, people, chinese)
    return Told(
        title=_title(messages[0], zone, _speakers(messages, chinese), topics, chinese),
        summary=_summary(messages, texts, named, chinese),
        people=people,
        topics=topics,
    )


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


_HAN = re.compile(r"[\u3400-\u9fff]")


def _is_chinese(text: str) -> bool:
    return len(_HAN.findall(text)) > len(re.findall(r"[A-Za-z]", text)) / 3


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


_MONTHS = "January February March April May June July August September October November December"


def _title(first: Message, zone: tzinfo, who: str, topics: Sequence[str], chinese: bool) -> str:
    day = first.occurred_at
    with suppress(OverflowError):  # on the first or the last day there is
        day = day.astimezone(zone)
    if chinese:
        about = f"谈{'、'.join(topics)}" if topics else ""
        return f"{day.year}年{day.month}月{day.day}日：{who}{about}"
    about = f" on {', '.join(topics)}" if topics else ""
    return f"{day.day} {_MONTHS.split()[day.month - 1]} {day.year}: {who}{about}"


# ── topics ───────────────────────────────────────────────────────────────────────────────────

_BEFORE_NOUN = (
    r"(?:a|an|the|my|our|his|her|their|your|this|that|some|any|of|about|new|own|first|last|for|in"
    r"|at|to the)"
)
_NOUN = re.compile(
    rf"\b{_BEFORE_NOUN} ((?:[a-z][a-z'-]+ )?)([a-z][a-z-]{{2,}})(?=[\s,.!?;:)]|$)(?! of\b)"
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DULL = STOP_WORDS.union(
    ASKING_WORDS,
    _set("""
    hi hello hey thanks thank yes yeah okay wow great good nice really sure sorry please bit few
    time times day days today tomorrow yesterday tonight week weeks weekend month months year
    years morning evening night hour hours minute minutes moment lately soon later now monday
    tuesday wednesday thursday friday saturday sunday best better big little long old new next
    last first second whole right same much able ready people person man woman guy guys everyone
    world life place part point idea sense matter fact question questions answer answers problem
    reason chance change step lot bunch couple rest end like love want need think feel feels
    feeling see look looks looking keep start started try trying take took come came put let
    help helps helped enjoy hope sounds sound totally definitely hear heard going doing working
    getting making having being one two three four five six ten important different interesting
    amazing awesome wonderful fun cool happy glad excited support experience journey
    """),
)
_PERIODS = re.compile(r"\d|(?<!fami)ly$|n't$")


def _topics(
    texts: Sequence[str], named: Sequence[Sequence[Name]], people: Sequence[str], chinese: bool
) -> tuple[str, ...]:
    """Up to three names and noun-like words the episode is about, as they are written."""
    speakers = _called(people)
    weight: defaultdict[str, float] = defaultdict(float)
    surface: dict[str, str] = {}
    place: dict[str, int] = {}
    found: Iterator[tuple[str, str, float]]
    for text, mentioned in zip(texts, named, strict=True):
        found = _han_nouns(text) if chinese else _english_nouns(text)
        for key, word, gain in [*_named(mentioned), *found]:
            if fold(word) in speakers:
                continue
            weight[key] += gain
            surface.setdefault(key, word)
            place.setdefault(key, len(place))
    best = sorted(weight, key=lambda key: (-weight[key], place[key]))
    return tuple(surface[key] for key in _distinct(best))


def _called(people: Sequence[str]) -> frozenset[str]:
    """What the speakers are called: their names, the parts of them, and short forms."""
    parts = [part for one in people for part in (normal_form(one), *normal_form(one).split())]
    short = [part[:size] for part in parts if part.isascii() for size in range(3, len(part))]
    return frozenset(parts + short)


def _distinct(keys: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    for key in keys:
        if len(chosen) == _TOPICS:
            break
        if not any(key in other or other in key for other in chosen):
            chosen.append(key)
    return chosen


def _named(mentioned: Sequence[Name]) -> Iterator[tuple[str, str, float]]:
    for name in mentioned:
        if name.type != "handle" and len(name.text) <= 40:
            yield _stem_key(name.normal), name.text, 1.6


@lru_cache(maxsize=4096)
def _stem_key(word: str) -> str:
    return " ".join(terms(word)) if word.isascii() else word


def _english_nouns(text: str) -> Iterator[tuple[str, str, float]]:
    """Words that stand where nouns do, each once a message, more for those named again."""
    folded = fold(text)
    stood = {match[2] for match in _NOUN.finditer(folded)}
    for word in dict.fromkeys(re.findall(r"[a-z][a-z-]{2,}", folded)):
        if word in _DULL or _PERIODS.search(word):
            continue
        yield _stem_key(word), word, 1.0 if word in stood else 0.45


@lru_cache(maxsize=1)
def _tagger() -> Callable[[str], list[tuple[str, str]]]:
    # Reached lazily: it loads a dictionary, and only Chinese needs it.
    return cast("Callable[[str], list[tuple[str, str]]]", importlib.import_module("rjieba").tag)


_HAN_DULL = _set(
    "时候 今天 明天 昨天 问题 事情 东西 感觉 时间 大家 朋友 情况 方面 地方 一下 "
    "有点 最近 现在 建议 需要 可能 个人 方式 方法 原因 结果 内容 部分 过程 周末 早上 "
    "晚上 我会 你会 我要 我们"
)


def _han_nouns(text: str) -> Iterator[tuple[str, str, float]]:
    seen: set[str] = set()
    for word, tag in _tagger()(text):
        if tag[:1] != "n" and tag not in ("vn", "an", "l", "eng", "j"):
            continue
        if len(word) < 2 or word in seen or word in _HAN_DULL or word in HAN_STOP_WORDS:
            continue
        if fold(word) in _DULL:
            continue
        seen.add(word)
        yield fold(word), word, 1.0


# ── summary ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Sentence:
    message: int
    place: int
    text: str
    keys: frozenset[str]
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
    chosen = _choose(candidates, min(_SENTENCES[1], max(_SENTENCES[0], len(messages) // 2 + 1)))
    told = sorted(chosen, key=lambda one: (one.message, one.place))
    return "\n".join(f"{_speaker(messages[one.message], chinese)}: {one.text}" for one in told)


def _candidates(
    messages: Sequence[Message], texts: Sequence[str], named: Sequence[Sequence[Name]]
) -> list[_Sentence]:
    split = [sentences(text) for text in texts]
    spoken = Counter(key for text in texts for key in set(_keys(text)))
    speakers = _called(_people(messages))
    called = frozenset(one.text for found in named for one in found if one.normal not in speakers)
    found: list[_Sentence] = []
    for at, message in enumerate(messages):
        share = 0.5 if message.role != "user" and not message.name else 1.0
        for place, text in enumerate(split[at]):
            clean = shorten(
                _MARKUP.sub("", text).strip() if text[:1] in "#>*-•·" else text, _SENTENCE
            )
            if not clean:
                continue
            keys = frozenset(_keys(clean))
            value = share * _value(clean, keys, spoken, called)
            found.append(_Sentence(at, place, clean, keys, value))
    return found


def _keys(text: str) -> list[str]:
    return [term for term in terms(text) if len(term) > 1 and term not in _dull_terms()]


@lru_cache(maxsize=1)
def _dull_terms() -> frozenset[str]:
    return frozenset(terms(" ".join(sorted(_DULL)))) | HAN_STOP_WORDS


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


def _choose(candidates: Sequence[_Sentence], most: int) -> list[_Sentence]:
    """Greedily the best, each counted without what is said already, within the length."""
    chosen: list[_Sentence] = []
    told: set[str] = set()
    left = _SUMMARY
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


def _news(one: _Sentence, told: set[str]) -> float:
    if not one.keys:
        return one.value
    return one.value * (1 - 0.7 * len(one.keys & told) / len(one.keys))
