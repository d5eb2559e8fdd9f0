"""One thing a rule found, before it is a proposal; and how values are cut to size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memstrata.ingest.local.words_english import word_set
from memstrata.kinds.attributes import Language
from memstrata.records import TimeSpan

__all__ = ["Finding", "items", "trim", "when_of"]


@dataclass(slots=True)
class Finding:
    """A semantic fact with the place of the words it rests on."""

    subject: str
    attribute: str
    value: str
    start: int
    end: int
    polarity: bool = True
    past: bool = False
    """It was so, and is no more."""
    change: bool = False
    """The words say that something is other than before."""
    replaces: str | None = None
    valid_from: datetime | None = None
    confidence: float = 0.9
    language: Language = "en"
    correct: bool = False


_CUT = re.compile(
    r"\s*[;:!?()\"“”…\[\]<>=*|]|\.(?:\s|\Z)|,|\s[-–—~]+\s|\s(?:because|"
    r"since|but|so|when|while|which|that|who|where|if|until|till|"
    r"though|although"
    r"|thanks to|due to|and (?:I|i|we|he|she|they|it|my|then|"
    r"now|also|am|was|have|has|had|even|still|just|really|always|"
    r"never|love|hate|it's)\b"
    r"|for (?:a|the|about|almost|over|nearly|more|\d+|two|three|"
    r"four|five|six|seven|eight|nine|ten|many|several|some|now|"
    r"years|ages|as|my|me)\b"
    r"|as (?:well|much|soon|long|a (?:kid|child|teen|teenager|hobby|way|result)|an? adult|I|my)\b"
    r"|every (?:day|morning|evening|night|week|weekend|summer|winter|year|single|time)\b"
    r"|all (?:my|his|her|their|our) (?:life|lives)|more than|even|especially|whenever|"
    r"after (?:work|I|my|"
    r"the|a)\b|before (?:work|I|bed)\b|during the|lately|except|"
    r"instead|like (?:I|my|you)"
    r"|with (?:my|the|him|her|them|me|you)|together|in (?:my|"
    r"the) (?:free|spare|mornings?|evenings?|summer|winter|past|"
    r"last|future)\b"
    r"|to (?:relax|unwind|help|keep|stay|get|make|clear|learn|"
    r"relieve)\b|by (?:myself|the way)|on (?:weekends?|sundays?|"
    r"saturdays?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|"
    r"my)\b"
    r"|is|are|was|were|has|can|will|would|I|I'm|I've|he|she|they|we)(?=\s|\Z|,)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"is|are|was|were|can|will|would|has", re.IGNORECASE)
_HOLDS = re.compile(r"\s(?:with|to|in|on|for)\s")
_WEAK = re.compile(
    r"(?:time|weekends?|days?|evenings?|mornings?|nights?|moments?|escaping|hanging out|talking|"
    r"chatting|playing|being|getting|going|coming|working|sitting|looking|trying|walking|"
    r"living|sharing)$",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[\s,]+(?:now|too|as well|these days|nowadays|right now|"
    r"currently|at the moment|so much|a lot|very much|much|again|"
    r"any ?more"
    r"|lately|recently|either|at all|already|anyway|though|tbh|"
    r"lol|haha|btw|today|tonight|all the time|sometimes|often|"
    r"really|more and more|for (?:fun|sure|real|now|work|years|"
    r"ages)"
    r"|actually|honestly|the most|most|best|back then|once|last "
    r"\w+|this \w+|next \w+|ago|since|and|or|the|of|in|to|with|"
    r"for|at|on|by|from|a|just|still|please|instead|growing up|"
    r"as a kid|years|ever|myself|forever|back|here|there|over)\Z",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"(?:a (?:little|bit of)|an?|the|especially|most|lots of|plenty of|"
    r"my|our|some|any|all|both|to be|this|such|own|really|just|also|"
    r"very|quite)\s+",
    re.IGNORECASE,
)
_EMPTY = word_set(
    """
    it that this these those them you him her me us one ones everything anything something
    nothing all what how when where your yours his their its who there here doing being
    having getting going more so such both each many much lot lots things thing stuff seeing
    hearing talking too working idea fact way sound look part feeling not being's i i'm to
    """
)


def trim(
    value: str, spans: Sequence[TimeSpan] = (), *, limit: int = 8, keep_head: bool = False
) -> str:
    """A value without what follows the clause, without articles and time words; may be empty."""
    value = value.strip(" \t\n'\"“”~*_-–—")
    value = _cut(value)
    for span in spans:
        at = value.find(span.text)
        if at >= 0:
            value = value[:at].rstrip()
            value = re.sub(r"\s+(?:since|in|on|at|from|until|around|about|back in|by)\Z", "", value)
    while tail := _TAIL.search(value):
        value = value[: tail.start()]
    value = value.strip(" .,'\"~*_-–—")
    if not keep_head:
        while head := _HEAD.match(value):
            value = value[head.end() :]
    words = value.split()
    if not words or (
        words[0].lower() in _EMPTY and not (words[0].lower() == "to" and len(words) > 1)
    ):
        return ""
    if words[-1].lower() == "ones":
        return ""
    if len(words) > limit:
        value = _shorter(words, limit)
    return value if any(char.isalnum() for char in value) else ""


def _cut(value: str) -> str:
    """The value up to where something else begins; nothing if it is part of a clause."""
    cut = _CUT.search(value)
    if cut and _HOLDS.match(value, cut.start()) and _WEAK.search(value[: cut.start()]):
        cut = _CUT.search(value, cut.end())  # `spending time` is nothing without `with my kids`
    if cut is None:
        return value
    return "" if _CLAUSE.fullmatch(cut[0].strip()) else value[: cut.start()]


_PREPOSITIONS = word_set(
    """
    in on at with for from by about of into during and to through
    """
)


def _shorter(words: list[str], limit: int) -> str:
    """Cut before the last small word within the limit; nothing if there is none."""
    for at in range(limit, 1, -1):
        if words[at].lower() in _PREPOSITIONS:
            return " ".join(words[:at]).rstrip(",")
    return ""


_LIST = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+")


def items(text: str) -> list[str]:
    """The parts of a short enumeration, or the one text."""
    head = re.split(
        r"[.;:!?()\n]|\s(?:but|because|so|when|which|that|who|where)\s|"
        r",\s*(?:I|he|she|we|it|they|my|so|but|which)\b",
        text,
        maxsplit=1,
    )[0]
    parts = [part.strip() for part in _LIST.split(head) if part.strip()]
    short = len(parts) > 1 and all(len(part.split()) <= 3 for part in parts)
    return parts if short else [text]


def when_of(text: str, spans: Sequence[TimeSpan]) -> TimeSpan | None:
    """The time the words of a clause name, if they name one."""
    found = [span for span in spans if span.text and span.text in text]
    if not found:
        return None
    # `two weeks ago on a Saturday`: what counts from now says when, the rest only which day.
    return max(found, key=lambda span: (span.text.endswith("ago"), len(span.text)))
