"""What texts are about: the names and noun-like words in them, as they are written."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memstrata.text.analyse import fold, terms
from memstrata.text.chinese import tagged
from memstrata.text.lexicon import ASKING_WORDS, HAN_STOP_WORDS, STOP_WORDS
from memstrata.text.names import Name, normal_form

__all__ = ["DULL", "Topic", "called", "distinct", "is_chinese", "weigh"]

_HAN = re.compile(r"[\u3400-\u9fff]")


def is_chinese(text: str) -> bool:
    """Whether most of a text is Chinese."""
    return len(_HAN.findall(text)) > len(re.findall(r"[A-Za-z]", text)) / 3


_BEFORE_NOUN = (
    r"(?:a|an|the|my|our|his|her|their|your|this|that|some|any|of|about|new|own|first|last|for|in"
    r"|at|to the)"
)
_NOUN = re.compile(
    rf"\b{_BEFORE_NOUN} ((?:[a-z][a-z'-]+ )?)([a-z][a-z-]{{2,}})(?=[\s,.!?;:)]|$)(?! of\b)"
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


DULL = STOP_WORDS.union(
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
"""Words that say nothing of what a text is about."""
_PERIODS = re.compile(r"\d|(?<!fami)ly$|n't$")


class Topic(NamedTuple):
    """A name or noun-like word, and how much of the texts is about it."""

    key: str
    """By which its spellings are one."""
    word: str
    weight: float


def weigh(
    texts: Sequence[str], named: Sequence[Sequence[Name]], people: Sequence[str]
) -> list[Topic]:
    """The names and noun-like words of texts, the heaviest first; `people` are left out."""
    speakers = called(people)
    chinese = is_chinese(" ".join(texts))
    weight: defaultdict[str, float] = defaultdict(float)
    surface: dict[str, str] = {}
    for text, mentioned in zip(texts, named, strict=True):
        found = _han_nouns(text) if chinese else _english_nouns(text)
        for key, word, gain in [*_named(mentioned), *found]:
            if fold(word) in speakers:
                continue
            weight[key] += gain
            surface.setdefault(key, word)
    best = sorted(weight, key=lambda key: -weight[key])  # stable: of equals the first said
    return [Topic(key, surface[key], weight[key]) for key in best]


def distinct(ranked: Iterable[Topic], most: int) -> tuple[str, ...]:
    """The first `most` words none of which is a part of another."""
    chosen: list[Topic] = []
    for topic in ranked:
        if len(chosen) == most:
            break
        if not any(topic.key in other.key or other.key in topic.key for other in chosen):
            chosen.append(topic)
    return tuple(topic.word for topic in chosen)


def called(people: Sequence[str]) -> frozenset[str]:
    """What the speakers are called: their names, the parts of them, and short forms."""
    parts = [part for one in people for part in (normal_form(one), *normal_form(one).split())]
    short = [part[:size] for part in parts if part.isascii() for size in range(3, len(part))]
    return frozenset(parts + short)


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
        if word in DULL or _PERIODS.search(word):
            continue
        yield _stem_key(word), word, 1.0 if word in stood else 0.45


_HAN_DULL = _set(
    "时候 今天 明天 昨天 问题 事情 东西 感觉 时间 大家 朋友 情况 方面 地方 一下 "
    "有点 最近 现在 建议 需要 可能 个人 方式 方法 原因 结果 内容 部分 过程 周末 早上 "
    "晚上 我会 你会 我要 我们"
)


def _han_nouns(text: str) -> Iterator[tuple[str, str, float]]:
    seen: set[str] = set()
    for word, tag in tagged(text):
        if tag[:1] != "n" and tag not in ("vn", "an", "l", "eng", "j"):
            continue
        if len(word) < 2 or word in seen or word in _HAN_DULL or word in HAN_STOP_WORDS:
            continue
        if fold(word) in DULL:
            continue
        seen.add(word)
        yield fold(word), word, 1.0
