"""What a question asks for, read from its words alone.

The plan is the part of a search that needs no store and no model: terms to look for, the one
participant it names, the time it refers to, and what kind of answer it wants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Literal

from memstrata.records import JsonObject, instant, micros
from memstrata.text.analyse import QueryTerm, fold, instances, query_terms, term_hash, terms
from memstrata.text.lexicon import STOP_WORDS
from memstrata.text.names import normal_form
from memstrata.text.time import has_cue, resolve

__all__ = ["Mode", "Plan", "make_plan"]

Mode = Literal["lookup", "timeline", "count", "how_to", "overview"]

_PARTICIPANT_WEIGHT = 0.3
"""Weight of a participant's name among the terms: who speaks is a signal of its own, and what
others say of them still counts. Dropping names altogether measures the same, full weight costs
1.5 points of R@10 on two-person chats."""
_WINDOW_WEIGHT = 0.5
"""Weight of the words that give the window, as a date is seldom repeated in what was said then."""
_INSTANCE = 0.4
"""How much an instance counts in place of the word of its kind. R@10 on LoCoMo +0.4, multi-hop
+2.1; between 0.3 and 0.5 single figures differ by a point at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A question, understood; instants are microseconds since the epoch, UTC."""

    query: str
    words: tuple[QueryTerm, ...] = ()
    speaker: int = 0
    """Hash of the one participant the question names, 0 for none or several."""
    speaker_name: str | None = None
    window: tuple[int, int] | None = None
    """The time the question refers to, `[start, end)`."""
    window_text: str | None = None
    asks_when: bool = False
    mode: Mode = "lookup"
    wants_list: bool = False
    of_asker: bool = False
    """Whether it asks for what the asker told of themselves, and not for what others said."""
    newest: bool = False
    """Whether it asks how the asker's things stand, so that the newest of several answers holds."""
    past: bool = False
    """Whether it asks for what was so before."""
    asked_at: int = 0

    @property
    def terms(self) -> tuple[tuple[int, float], ...]:
        """The distinct terms as (hash, weight), for the index."""
        return tuple((term_hash(word.term), word.weight) for word in self.words)

    @property
    def alternatives(self) -> tuple[tuple[int, int, float], ...]:
        """What counts in place of a term, as (place among the terms, hash, share)."""
        return tuple(
            (place, term_hash(other), _INSTANCE)
            for place, word in enumerate(self.words)
            for other in instances(word.term)
        )

    def to_dict(self) -> JsonObject:
        """The plan in plain JSON types, for `explain`."""
        window = self.window and [instant(at).isoformat() for at in self.window]
        return {
            "query": self.query,
            "terms": {word.term: round(word.weight, 3) for word in self.words},
            "instances": {
                word.term: list(of_kind) for word in self.words if (of_kind := instances(word.term))
            },
            "speaker": self.speaker_name,
            "window": None if not window else {"start": window[0], "end": window[1]},
            "window_text": self.window_text,
            "asks_when": self.asks_when,
            "mode": self.mode,
            "wants_list": self.wants_list,
            "of_asker": self.of_asker,
            "newest": self.newest,
            "past": self.past,
        }


def make_plan(query: str, *, now: datetime, zone: tzinfo, speakers: Mapping[str, int]) -> Plan:
    """Read a question asked at `now` (aware) by a user in `zone`.

    `speakers` maps the names of those who spoke in the scope to their hashes; of messages without
    a name, the role. A blank question gives a plan without terms.
    """
    query = query.strip()
    folded = fold(query)
    window, window_text = _window(query, now, zone)
    named = _named(query, window_text or "", speakers) or _nicknamed(query, speakers)
    people = {speakers[name] for name in named}
    weights = {term: _PARTICIPANT_WEIGHT for name in named for term in terms(name)}
    if window_text:
        weights |= dict.fromkeys(terms(window_text), _WINDOW_WEIGHT)
    one = named[0] if len(people) == 1 else None if named else _role(folded, speakers)
    of_asker = one is None and bool(_ASKER.search(folded))
    return Plan(
        query=query,
        words=tuple(
            QueryTerm(word.term, word.weight * weights.get(word.term, 1.0))
            for word in query_terms(query)
        ),
        speaker=speakers[one] if one else 0,
        speaker_name=one,
        window=window,
        window_text=window_text,
        asks_when=bool(_WHEN.search(folded)),
        mode=_mode(folded),
        wants_list=bool(_LIST.search(folded)),
        of_asker=of_asker,
        asked_at=micros(now),
        past=window is not None or bool(_PAST.search(folded)),
        newest=of_asker and window is None and _asks_newest(folded),
    )


# ── time ─────────────────────────────────────────────────────────────────────────────────────


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def _window(query: str, now: datetime, zone: tzinfo) -> tuple[tuple[int, int] | None, str | None]:
    """The interval the question refers to and the words that say so.

    Of several, what they have in common; if nothing, from the first start to the last end.
    """
    if not has_cue(query):
        return None, None
    spans = resolve(_asking(query), said_at=now, zone=zone)
    if not spans:
        return None, None
    start, end = max(span.start for span in spans), min(span.end for span in spans)
    if start >= end:
        start, end = min(span.start for span in spans), max(span.end for span in spans)
    return (micros(start), micros(end)), " ".join(span.text for span in spans)


def _asking(query: str) -> str:
    """The last sentence that asks, else the last: what is told beside it is of other times."""
    sentences = [part for part in _SENTENCE_END.split(query) if part.strip()]
    asking = [part for part in sentences if part.rstrip()[-1] in "?？"]
    return (asking or sentences or [""])[-1]


# ── people ───────────────────────────────────────────────────────────────────────────────────

_ROLES = frozenset({"user", "assistant", "system", "tool"})
_ASSISTANT_SAID = re.compile(
    r"\byou (?:\w+ )?(?:said|told|suggested|recommended|mentioned|gave|explained|listed|provided"
    r"|described|advised|wrote|proposed|shared)\b"
    r"|\b(?:did|have|had|that|what) you (?:\w+ )?(?:say|tell|suggest|recommend|mention|give|advise)"
    r"|你(?:\w{0,4})(?:说过|推荐|建议|提到|告诉|给我)"
)


_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+)")


def _named(query: str, window_text: str, speakers: Mapping[str, int]) -> list[str]:
    """The participants the question names, by full name if any is named so, else by first name.

    A name that is also a common word (Will) must stand with a capital inside the question.
    """
    text = f" {_spaced(query)} "
    capitals = {word.lower() for word in re.findall(r"\w+", query)[1:] if word[0].isupper()}
    dated = set(_spaced(window_text).split())
    whole: list[str] = []
    first: list[str] = []
    for name in speakers:
        full, given = _forms(name)
        if (
            not full
            or full in _ROLES
            or given in dated
            or (given in STOP_WORDS and given not in capitals)
        ):
            continue
        if _occurs(full, text):
            whole.append(name)
        elif _occurs(given, text):
            first.append(name)
    covered = {_forms(name)[1] for name in whole}
    return whole + [name for name in first if _forms(name)[1] not in covered]


@lru_cache(maxsize=4096)
def _forms(name: str) -> tuple[str, str]:
    """A participant's full and first name, as `_spaced` writes them."""
    full = _spaced(normal_form(name))
    if _UNSPACED.fullmatch(full) and len(full) == 3:
        return full, full[1:]  # a Chinese family name is one character, and comes first
    return full, full.partition(" ")[0]


def _spaced(text: str) -> str:
    """Folded words with single spaces, so that names match whole words."""
    apart = _UNSPACED.sub(r" \1 ", re.sub(r"'s?\b", " ", fold(text)))
    return " ".join(re.findall(r"[^\W_]+", apart))


def _occurs(name: str, text: str) -> bool:
    """Names match whole words; in scripts without spaces anywhere, if not a single character."""
    if _UNSPACED.fullmatch(name):
        return len(name) > 1 and name in text
    return f" {name} " in text


def _nicknamed(query: str, speakers: Mapping[str, int]) -> list[str]:
    """The one participant whose first name begins with a name in the question (Nat, Nathalie)."""
    written = {w.lower() for w in re.findall(r"\w+", query)[1:] if w[0].isupper()}
    short = {word for word in written if len(word) > 2 and word.isascii()} - STOP_WORDS
    named = [name for name in speakers if any(_forms(name)[1].startswith(w) for w in short)]
    named = [name for name in named if _forms(name)[0] not in _ROLES]
    return named if len({speakers[name] for name in named}) == 1 else []


def _role(folded: str, speakers: Mapping[str, int]) -> str | None:
    """The assistant, where the question is about what it said."""
    return "assistant" if "assistant" in speakers and _ASSISTANT_SAID.search(folded) else None


# ── what is wanted ───────────────────────────────────────────────────────────────────────────

_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:exact )?(?:date|day|month|year|time|week)\b|\bhow long ago\b"
    r"|什么时候|何时|哪(?:一)?[天年月日周]|几[月号点]|多久(?:以)?前|いつ|언제"
)
_MODES: tuple[tuple[Mode, re.Pattern[str]], ...] = (
    (
        "count",
        re.compile(r"\bhow (?:many|often)\b|\bnumber of\b|\bhow much time|多少[次个]|几[次个]"),
    ),
    (
        "how_to",
        re.compile(
            r"\bhow (?:do|can|should|would) (?:i|we|you|one)\b|\bhow to\b|\bsteps (?:to|for)\b"
            r"|怎么(?:做|办|用|弄)|如何|步骤"
        ),
    ),
    (
        "timeline",
        re.compile(
            r"\btimeline\b|\bhistory of\b|\bover time\b|\bchronolog|\bin (?:what|which) order\b"
            r"|\bsequence of\b|时间线|先后|经过|历程"
        ),
    ),
    (
        "overview",
        re.compile(
            r"\bsummar|\boverview\b|\brecap\b|\btell me (?:all )?about\b"
            r"|\bwhat do (?:you|we) know about\b|\beverything about\b"
            r"|总结|概述|概括|介绍一下|所有关于"
        ),
    ),
)
_VERB = r"(?:do|does|did|is|are|was|were|has|have|had|can|will|would)\b"
_LIST = re.compile(
    r"\b(?:list|enumerate)\b|\ball (?:of )?(?:the|my|his|her|their|our)\b|\bwho all\b"
    # what instruments, which famous boats
    rf"|\b(?:what|which) (?:(?!{_VERB})\w+ )?(?!{_VERB})\w{{2,}}[^su\W]s\b"
    r"|哪些|有什么|列出|都有"
)


_ASKER = re.compile(r"\b(?:i|i'm|i've|my|mine|me|myself)\b|我")
_PAST = re.compile(
    r"\b(?:did|was|were|had|when|ago|last|before|previous|previously|first|initially|originally"
    r"|used to)\b|以前|之前|曾经|原来|当时|第一次|上次|什么时候|何时"
)


_EARLIER = re.compile(
    r"\b(?:initial(?:ly)?|original(?:ly)?|previous(?:ly)?|before|first|earlier|old|used to|ago|last"
    r"|when)\b|以前|之前|曾经|原来|当时|第一次|上次|什么时候|何时"
)


def _asks_newest(folded: str) -> bool:
    """Of one sentence only: what is told beside a question would be taken for it."""
    if len([part for part in _SENTENCE_END.split(folded) if part.strip()]) > 1:
        return False
    return not _EARLIER.search(folded)


def _mode(folded: str) -> Mode:
    for mode, cue in _MODES:
        if cue.search(folded):
            return mode
    return "lookup"
