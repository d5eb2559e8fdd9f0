"""What a theme is called: the words its members share, and others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from memstrata.text.analyse import terms
from memstrata.text.clean import shorten
from memstrata.text.name_words import CALENDAR
from memstrata.text.names import names
from memstrata.text.topics import Topic, distinct, weigh

__all__ = ["Told", "name_of", "name_of_parent", "summary_of"]

_WORDS = 3
_TOPICS = 12
_KEPT = 6
"""A name stays while all its words are among so many of the heaviest."""
_COMMON, _FEW = 0.4, 4
"""A topic of this share of all themes, if they are not few, is in no name."""
_DULL = frozenset(
    {"like", "dislik", "love", "hate", "prefer", "enjoy", "habit", "work", "live", "own", "hobbi"}
    | {"job", "name", "user", "assist", "用户", "助手", "喜欢"}
    | {key for word in CALENDAR for key in terms(word)}
)
"""Keys of the words that records are put in, and of days and months."""
_TELLING = 0.9
_ROLES = ("user", "assistant")
_READ = 300
"""Characters of a member that are read for the name."""
_SUMMARY = 3
_TITLE = 80


@dataclass(frozen=True, slots=True)
class Told:
    """A name, and what it was chosen from."""

    name: str
    topics: tuple[str, ...]


def _always(_: str) -> bool:
    return True


def name_of(
    texts: Sequence[str],
    about: Sequence[str | None],
    others: Counter[str],
    count: int,
    old: str = "",
    free: Callable[[str], bool] = _always,
) -> Told:
    """Names a theme by the texts of its members, the most typical first, and whom each is about.

    `others` says in how many of the `count` themes a topic is one of the heaviest: words that
    most themes share tell nothing. A theme about one person begins with that name. A name that
    still fits is kept. One that is not `free` takes further topics until it is, if there are any.
    """
    people = sorted({one for one in about if one})
    read = [text[:_READ] for text in texts]
    found = weigh(read, [names(text) for text in read], people)
    common = max(_COMMON * count, _FEW)
    telling = [one for one in found if _tells(one, others[one.key], common)]
    weighed = [(one, one.weight * _rarity(others[one.key], count)) for one in telling or found]
    weighed.sort(key=lambda pair: -pair[1])
    ranked = [topic for topic, _ in weighed]
    whose = people[0] if len(people) == 1 and all(about) and people[0] not in _ROLES else ""
    start, colon, rest = old.partition(": ")
    kept = set((rest if colon else old).split(", ")) <= {one.word for one in ranked[:_KEPT]}
    if not (old and kept and (start if colon else "") == whose and free(old)):
        first = texts[0].split("\n")[0].removeprefix(f"{whose}: ")
        begin = f"{whose}: " if whose else ""
        words = distinct(ranked, _TOPICS)
        tried = [begin + ", ".join(words[:most]) for most in range(_WORDS, len(words) + 1)]
        usual = begin + (", ".join(words[:_WORDS]) or shorten(first, _TITLE))
        old = next((name for name in tried if free(name)), usual)
    return Told(old, tuple(topic.key for topic in ranked[:_TOPICS]))


def _tells(topic: Topic, others: int, common: float) -> bool:
    """Whether a topic is more than a word that stands once where no noun does."""
    return topic.weight >= _TELLING and others < common and topic.key not in _DULL


def _rarity(others: int, count: int) -> float:
    return log(1.0 + (count + 1.0) / (others + 1.0))


def name_of_parent(children: Sequence[tuple[str, int]], old: str = "") -> str:
    """Names a theme of themes by the words of its children's names, given with their sizes."""
    weight: Counter[str] = Counter()
    for name, size in children:
        words = name.partition(": ")[2] or name
        for place, word in enumerate(words.split(", ")):
            weight[word] += size * (_WORDS - place)
    ranked = sorted(weight, key=lambda word: -weight[word])
    best = ranked[:_WORDS]
    return old if set(old.split(", ")) == set(best) else ", ".join(best)


def summary_of(titles: Sequence[str]) -> str:
    """The titles of the most typical members, a line each."""
    return "\n".join(shorten(title, _TITLE) for title in dict.fromkeys(titles[:_SUMMARY]))
