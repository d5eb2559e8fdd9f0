"""Whether a sentence of a model says only what its sources say. Pure.

A word, number or name that none of the sources has is not borne out, and neither is a denial of
what they affirm, or the other way round. What a sentence may have of its own are words that only
tell: the user, also, said, 提到.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memstrata.text.analyse import terms
from memstrata.text.lexicon import HAN_STOP_WORDS, STOP_WORDS

__all__ = ["denies", "lacking", "telling"]

_NOT = re.compile(
    r"\b(?:not|no|never|without|none|nobody|nothing|neither|nor|cannot|avoid\w*|dislik\w*|hat(?:e|es"
    r"|ed|ing)|refus\w*|except|unable|stopp?ed|quit|former\w*|used to|allerg\w*)\b|n['’]t\b"
    r"|不|没|勿|未|无|非|别(?!的|人|处)|讨厌|过敏|曾经|以前",
    re.IGNORECASE,
)
"""Words that say that something is not so, no more so, or not to be."""
_TELLING_ONLY = (
    "user person people say said says tell told tells mention mentioned talk talked discuss "
    "discussed report reported note noted ask asked know known currently currently called named "
    "name about while during both also well including include includes day week there then "
    "assistant someone according"
)
_HAN_TELLING_ONLY = (
    "的了着过地得是在有和与跟同或及而但就都也还又再才只很太更最把被让给对向从到为以于这那个些会能可"
    "要想我你您他她它们用户说提谈到表示告诉认为称叫做名字位其并且因此所之中里上下时候间当天日周人"
)
_JOINED = re.compile(r"[-./:@&'\\~+#_]")
"""In a term that is a compound as a whole; its parts are terms of their own."""
_HAN = re.compile(r"[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff]+")


def denies(text: str) -> bool:
    """Whether it says that something is not so, or no more."""
    return bool(_NOT.search(text))


def telling(text: str) -> frozenset[str]:
    """The terms of a text that say something: of Chinese the characters, for words part otherwise
    in another sentence."""
    found = (
        term
        for term in terms(text)
        if (len(term) == 1 or not _HAN.fullmatch(term)) and not _JOINED.search(term)
    )
    return frozenset(found) - _spare()


@lru_cache(maxsize=1)
def _spare() -> frozenset[str]:
    english = terms(" ".join(sorted(STOP_WORDS)) + " " + _TELLING_ONLY)
    single = frozenset(word for word in HAN_STOP_WORDS if len(word) == 1)
    return frozenset(english) | single | frozenset(_HAN_TELLING_ONLY) - frozenset("不没")


def lacking(sentence: str, sources: Sequence[str], more: Iterable[str] = ()) -> str | None:
    """What of a sentence its sources do not say, in words; None if they bear it out.

    `more` are texts whose words it may use besides: who spoke, and when.
    """
    denied = denies(sentence)
    alike = [source for source in sources if denies(source) == denied]
    if not alike:
        return "what they deny" if not denied else "what they do not deny"
    known = telling("\n".join([*alike, *more]))
    own = telling(sentence)
    if not own:
        return "nothing that they say"
    unknown = sorted(own - known)
    return ", ".join(unknown[:5]) or None
