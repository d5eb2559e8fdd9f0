"""Whether words say that something known is over, or not so. Pure.

A sentence that names what a memory is about and has a "not" in it somewhere need not deny it: who
cannot stand the coffee at her company works there still.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memstrata.ingest.narrate import sentences
from memstrata.ingest.statements import is_wish
from memstrata.kinds import Semantic
from memstrata.kinds.attributes import find
from memstrata.records import Record
from memstrata.text.analyse import fold, terms
from memstrata.text.lexicon import HAN_STOP_WORDS, STOP_WORDS

__all__ = ["denies"]

_OVER = (
    r"no longer|not|never|any ?more|used to|stopp?ed|quit|gave up|given up|end(?:ed)?|over|"
    r"cancel\w*|left|leave|leaving|sold|lost|broke(?: up)?|finished|done with|without|wrong|forget|"
    r"delete|remove|called off|died|dead|closed|resigned|retired|fired|let (?:me|him|her|them) go|"
    r"can(?:no|')t|cannot|won't|don't|doesn't|didn't|isn't|aren't|wasn't|ain't"
)
_DISLIKED = r"hates?|hated|dislikes?|disliked|detests?|can(?:'t|not) stand|sick of|fed up with"
_OVER_ZH = "不再|不|没|别|停|取消|离开|离|卖|丢|结束|忘|错|删|辞职|辞|分手|去世|戒|退|关"
_DISLIKED_ZH = "讨厌|受不了|厌|烦|恨"
_GONE = (
    r"(?:died|dead|closed|over|ended|cancel\w*|finished|called off|gone|sold|lost|broke(?:n)?|"
    r"let (?:me|him|her|them) go|fired (?:me|him|her|them))\b"
    r"|(?:卖|丢|停|取消|结束|坏|死|辞|辞职|离职|退|退休|关|没)掉?了"
)
_ENDED = re.compile(rf"\b(?:{_OVER}|{_DISLIKED})\b|n['’]t\b|{_OVER_ZH}|{_DISLIKED_ZH}", re.I)
_FILLER = "job|work|working|place|company|as|such|really|actually|just|now|finally|with|the|yet"
_FILLER_ZH = (
    "了|在|从|跟|和|与|我|你|他|她|它|这|那|个|们|的|上|里|去|再|也|就|都|已经|是|过|把|被"
    "|用户|工作|上班"
)
_LONGEST = 1000
"""Characters of a sentence that are read."""
_HAN = re.compile(r"[\u3400-\u9fff]")
_CAN_FOLLOW = re.compile(
    r"last|this|next|yesterday|today|now|recently|ago|years?|months?|weeks?|days?|anymore|more|"
    r"either|though|for|in|on|at|since|because|after|when|\d+",
    re.IGNORECASE,
)


def denies(texts: Sequence[str], target: Record) -> bool:
    """Whether one sentence of the texts names what the target says, and that it is over."""
    claim = Semantic.claim(target)
    if not claim.value:
        return any(_cancels(one, target.text) for text in texts for one in sentences(text))
    over = rf"\b(?:{_OVER})\b|n['’]t\b|{_OVER_ZH}"
    if is_wish(claim.attribute) or claim.attribute in ("eats", "drinks"):
        over = rf"{over}|\b(?:{_DISLIKED})\b|{_DISLIKED_ZH}"
    known = find(claim.attribute)
    exclusive = known is None or known.exclusive
    pattern = _about(claim.value, _words_of(claim.attribute), over, exclusive=exclusive)
    return any(_said(pattern, one, claim.attribute) for text in texts for one in sentences(text))


def _cancels(sentence: str, text: str) -> bool:
    """Whether a sentence ends what is told in a whole text: it must name a good part of it."""
    keys = frozenset(terms(text)) - STOP_WORDS - HAN_STOP_WORDS
    shared = keys & frozenset(terms(sentence))
    enough = len(shared) >= min(2, len(keys)) and 4 * len(shared) >= len(keys)
    return bool(shared) and enough and _ENDED.search(sentence) is not None


def _words_of(attribute: str) -> list[str]:
    """The words of an attribute: `works_at` is said as work, works, working."""
    known = find(attribute)
    named = f"{attribute.replace('_', ' ')} {f'{known.english} {known.base}' if known else ''}"
    stems = {word[:-1] if word.endswith(("s", "e")) else word for word in fold(named).split()}
    words = [rf"{re.escape(stem)}(?:s|e|es|d|ed|ing)?" for stem in sorted(stems) if len(stem) > 2]
    words += ["enjoy(?:s|ed|ing)?", "love[sd]?", "fond", "爱"] if is_wish(attribute) else []
    han = known.chinese.strip("的是：") if known else ""
    return [*words, *([re.escape(han)] if han else [])]


def _about(value: str, words: Sequence[str], over: str, *, exclusive: bool) -> re.Pattern[str]:
    """What ends, then the value, or the other way round, with nothing between that tells more."""
    latin = "|".join([*words, *sorted(map(re.escape, STOP_WORDS), reverse=True), _FILLER])
    han = "|".join([*(word for word in words if _HAN.search(word)), _FILLER_ZH])
    # Atomic: each word in one way only, or a text that repeats one takes for ever.
    gap = rf"(?>[\s'’]*(?:(?:{latin})(?![\w])|{han}))*"
    parts = [part for part in re.split(r"\s+", value.strip()) if fold(part) not in STOP_WORDS]
    named = r"\W+".join(re.escape(part) + r"(?:s|es)?" for part in parts) or re.escape(value)
    aux = r"(?>\s+(?:is|was|are|were|has|have|had|been|got|finally|now))*"
    before = rf"(?:{over}){gap}[\s\"'“‘]*(?P<one>{named})"
    after = rf"(?P<other>{named}){aux}\s*(?:{_GONE})"
    # 不弹古筝了: of what may be several, whatever the verb is.
    several = rf"|不[\u4e00-\u9fff](?P<third>{named})了" if not exclusive else ""
    return re.compile(rf"{before}|{after}{several}", re.IGNORECASE)


def _said(pattern: re.Pattern[str], sentence: str, attribute: str) -> bool:
    for found in pattern.finditer(sentence[:_LONGEST]):
        if found["one"] is None or not _goes_on(sentence[found.end() :], attribute):
            return True
    return False


def _goes_on(rest: str, attribute: str) -> bool:
    """Whether what follows makes the value a part of something else: Borealis's chess club."""
    if re.match(r"['’]s\b|的(?=\w)", rest):
        return True
    following = re.match(r"[ -]+([a-z][\w'-]*)", rest, re.IGNORECASE)
    if following is None:
        return False
    word = fold(following[1])
    known = word in STOP_WORDS or _CAN_FOLLOW.fullmatch(word) is not None
    return not known and not any(re.fullmatch(one, word) for one in _words_of(attribute))
