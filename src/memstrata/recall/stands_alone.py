"""Whether a turn asks, and whether it says enough to be searched for without those before it."""

from __future__ import annotations

import re
from collections.abc import Collection

from memstrata.recall.mentions import Mention, content_words, mentions
from memstrata.text.time import has_cue

__all__ = [
    "HAN_PRONOUN",
    "PRONOUN",
    "asks",
    "goes_on",
    "lacks_content",
    "seeks_advice",
    "sentences",
]

PRONOUN = re.compile(
    r"\b(?P<f>she|her|hers|herself)(?:(?=['’])|\b)|\b(?P<m>he|him|his|himself)(?:(?=['’])|\b)",
    re.IGNORECASE,
)
HAN_PRONOUN = re.compile(r"(?P<f>她)(?!们)|(?P<m>(?<!其)他)(?!们|人)")
_SENTENCE_END = re.compile(
    r"(?<=[!?])\s+|(?<=[。！？])(?![。！？])|\n+"
    r"|(?<=\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\b[A-Z]\.)\s+"
)

_LINK = (
    r"(?:(?:and|but|so|or|ok|okay|well|then|also|hey|hi|oh|hm+|um|uh|by the way|btw|please|actually"
    r"|now|yes|yeah|no|wait)\b[\s,:.!-]*){0,4}"
)
_ASKS = re.compile(
    rf"{_LINK}(?:who|whom|whose|what|when|where|why|how|which|who's|what's|when's|where's|how's|whats"
    r"|do|does|did|is|are|was|were|am|has|have|had|can|could|will|would|should|may|isn't|aren't|don't"
    r"|doesn't|didn't|since when|until when|for how|in which|to whom|with whom|at what)\b",
    re.IGNORECASE,
)
_WONDERS = re.compile(
    r"\bwonder(?:ing)?\b|\bcurious\b|\blooking for\b"
    r"|\bi (?:forgot|forget|(?:can't|don't|do not) (?:remember|recall|know)"
    r"|(?:need|want|would like|'d like) to know)\b",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    rf"{_LINK}(?:(?:i(?:'d| would) like you to|i (?:want|need) you to|let's|lets|let me|help me"
    r"|you should)\s+)?"
    r"(?:tell|remind|show|list|give|find|look up|search|plan|book|help|write|draft|make|create"
    r"|suggest|recommend|summari[sz]e|explain|describe|compare|check|get|send|call|email|message|schedule"
    r"|set|add|remove|delete|update|open|play|cook|buy|order|prepare|translate|draw|name|recall|review|read"
    r"|fix|use|run|go over|walk me|talk me|pick|choose|design|generate|build|estimate|calculate"
    r"|count)\s",
    re.IGNORECASE,
)
_HAN_ASKS = re.compile(
    r"[?？]|[吗么]\W*$|什么|哪|谁|怎么|为何|为啥|几[点个次岁月号天年]|多[少久大长远]"
    r"|有没有|是不是|是否|能不能|会不会|要不要|呢\W*$"
)
_HAN_REQUESTS = re.compile(
    r"\W*(?:请|帮|麻烦|给我|告诉|提醒|推荐|安排|计划|规划|写|查|找|列|说说|讲讲|介绍"
    r"|总结|翻译|解释|整理|设计)"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def asks(text: str) -> bool:
    """Whether a turn asks a question or for something to be done."""
    if "?" in text or _WONDERS.search(text) or _HAN_ASKS.search(text) or _HAN_REQUESTS.match(text):
        return True
    return any(_ASKS.match(one) or _REQUESTS.match(one) for one in sentences(text))


_ADVICE = re.compile(
    r"\b(?:should|shall) (?:i|we)\b|\bwhat if\b|\b(?:do|don't|did) you (?:think|agree|have any)\b"
    r"|\bwhat (?:can|do) (?:i|we) do\b|\bany (?:ideas?|advice|suggestions?)\b|\bcan you help\b"
    r"|怎么办|你觉得|该怎么|我该|我应该|要是|万一|如果|好不好|可以吗|有什么(?:办法|建议|好)",
    re.IGNORECASE,
)
_LITTLE = 3
"""Words of content of a question that stands by itself though it asks for advice."""
_MUCH = 9
"""Words of content of a turn that stands by itself though it goes on telling."""


def seeks_advice(text: str) -> bool:
    """Whether a turn asks what to think or do of something it says little of."""
    if not _ADVICE.search(text):
        return False
    found = mentions(text)
    return not found and len(content_words(text)) < _LITTLE


_TELLS = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|we|we're|we've|he|he's|she|she's|they|they're|it|it's|that's|me|my|our|us"
    r"|him|her|them|his|their|you|your)\b|\W*(?:yes|yeah|no|but|because|right|really|maybe|so)\b"
    r"|[我他她它你您咱这那了吧呢嘛]",
    re.IGNORECASE,
)


def goes_on(text: str, known: Collection[str] = ()) -> bool:
    """Whether a turn goes on with what was spoken of: it tells more, asks advice, or says little.

    Words that only name something are a question for it.
    """
    if not asks(text) and _TELLS.search(text):
        return len(content_words(text)) <= _MUCH
    return seeks_advice(text) or lacks_content(text, known)


# ── what a turn lacks ────────────────────────────────────────────────────────────────────────

_OF_ASKER = re.compile(
    r"\b(?:am i|i am|i'm|know me|remember me|about me|with me|my name|old am i|who i)\b"
    r"|我(?:是谁|叫什么|几岁|多大|的名字|在哪)|(?:认识|记得|了解)我",
    re.IGNORECASE,
)
_ANCHOR = re.compile(r"\b(?:i|me|my|mine|we|our|us|i'm|i've|myself)\b|我|咱", re.IGNORECASE)
_ANAPHOR = re.compile(
    r"\b(?:it|its|it's|they|them|their|theirs|those|these|there|else|same|another|others?"
    r"|this)\b(?!\s+(?:a|an|any|some|morning|week|month|year|evening|is a)\b)"
    r"|\b(?:that(?:'s)?(?=\s*(?:[?.!,]|\Z|is\b|was\b|one\b|time\b|day\b|place\b|again\b|trip\b)))"
    r"|\b(?:the\s+(?:one|ones|first|second|last|other|latter|former))\b"
    r"|它|[他她]们|那[个天次里儿时件边家位]|这[个次里件家位]|[那这]样|[其]他|别的",
    re.IGNORECASE,
)


def lacks_content(text: str, known: Collection[str] = ()) -> bool:
    """Whether a turn says too little to be searched for alone."""
    found = mentions(text, known)
    words = content_words(text, found)
    size = len(words)
    if size >= 4:
        return False
    anaphor = _points_back(text, found)
    anchored = bool(_ANCHOR.search(text))
    if not asks(text):
        return size < 3 or anaphor
    if anaphor:
        return size < 3
    if size == 0:
        return not (_OF_ASKER.search(text) or (anchored and has_cue(text)))
    if found and size == len(found) and not anchored:
        return len(found) == 1 and _says_nothing(text, found[0])
    return size < 2 and not anchored


_OWN = re.compile(r"\b(?:my|the|our|a|an|his|her|their|['’]s)\s+\w+.{0,60}?\bit\b", re.IGNORECASE)


def _points_back(text: str, found: Collection[Mention]) -> bool:
    """Whether a turn has words for what was named before it."""
    if not any(one.kind == "person" for one in found) and (
        PRONOUN.search(text) or HAN_PRONOUN.search(text)
    ):
        return True
    match = _ANAPHOR.search(text)
    return bool(match) and not (match[0].lower() == "it" and _OWN.search(text))


_HELPERS = re.compile(
    r"(?:and|but|so|or|then|well|wh[oey]|whom|what|when|where|which|how|does?|did|has|have|had|can|could"
    r"|will|would|should|may|since|long|often|much|many|time|about|not|too|also|那|呢|吗)"
)
_WORDS = re.compile(r"[^\W_]+")


def _says_nothing(text: str, named: Mention) -> bool:
    """Whether there is nothing but a name: `why did Bob?`; `who is Bob?` says enough."""
    after = text[named.end :].removeprefix("'s")
    rest = _WORDS.findall(f"{text[: named.start]} {after}".lower())
    return all(_HELPERS.fullmatch(word) for word in rest)
