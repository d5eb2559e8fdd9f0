"""What a question asks the number of, and whose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.recall.plan import Plan
from memstrata.records import Evidence, Hit, Record
from memstrata.text.analyse import QueryTerm, fold, query_terms, terms
from memstrata.text.lexicon import STOP_WORDS
from memstrata.text.names import normal_form

__all__ = ["MEASURES_HAN", "MINE", "USER", "Asked", "content_terms", "understand"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The thing, and whose; `thing` holds the terms of its noun, `act` those of what was done."""

    thing: frozenset[str]
    words: str
    act: tuple[QueryTerm, ...]
    owner: str | None
    """A normal form; empty for whoever asks, if it is not known what they are called; `None` for
    nobody named."""
    query: str
    mine: bool
    times: bool
    amount: bool


_TIMES = re.compile(
    r"\bhow (?:many (?:different |separate )?times|often)\b|\bnumber of times\b"
    r"|(?:几|多少)(?:次|回|趟|遍)"
)
_AUXILIARY = (
    r"(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|am|i|you|we|they|he"
    r"|she|that|in|on|at|for|from|with|of|there)"
)
_THING = re.compile(
    r"\b(?:how many|(?:total )?number of)"
    r" (?:(?:different|distinct|separate|other|more|of|my|the|his|her|their|our|total) )*"
    rf"((?:(?!{_AUXILIARY}\b)[\w'-]+ ?){{1,4}})"
)
MEASURES_HAN = "个只条本位部张件家辆台支份座间双幅把棵种匹名门首款盆头只块"
_THING_HAN = re.compile(
    rf"(?:几|多少)(?:[{MEASURES_HAN}])?(?:不同的)?"
    r"([\u3400-\u9fff]{1,6}?)(?=[了吗呢的？?，,。]|$)"
)
_AMOUNT = re.compile(
    r"^(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|miles?|kilomet\w+|km|met(?:er|re)s?"
    r"|feet|pounds?|kilos?|kg|dollars?|euros?|calories|steps|percent|liters?|litres?|pages?)\b"
    r"|^(?:钱|元|块钱|小时|分钟|天|周|年|个月|月|公里|米|斤|公斤|岁|页)"
)
USER = frozenset({"user", "用户", "我", "i", "me"})
MINE = re.compile(r"\b(?:i|my|me|i've|i'm|we|our)\b|[我咱俺]")


def _user_name(hits: Sequence[Hit]) -> str:
    """What the user is called, if all the user's messages found are by one name.

    Where there are none: the one that facts are about which the user stated as "I".
    """
    said = [hit.message for hit in hits if hit.message is not None and hit.message.role == "user"]
    called = {normal_form(message.name) for message in said if message.name}
    if not said:
        own = [hit.record for hit in hits if hit.record and hit.record.trust == "user"]
        called = {subject_of(record) for record in own if any(map(_as_i, record.evidence))} - {""}
    return called.pop() if len(called) == 1 else ""


_I = re.compile(r"\bi(?:'m|'ve)?\b|[我咱俺](?!的)")


def _as_i(evidence: Evidence) -> bool:
    return evidence.quote is not None and _I.match(fold(evidence.quote)) is not None


def subject_of(record: Record) -> str:
    about = record.fields.get("subject")
    return normal_form(about) if isinstance(about, str) and about.strip() else ""


def understand(query: str, hits: Sequence[Hit], plan: Plan) -> Asked | None:
    """The question, understood; None if it names nothing to count. The hits tell who "I" is."""
    folded = fold(query)
    times = _TIMES.search(folded) is not None
    match = _THING.search(folded) or _THING_HAN.search(folded)
    words = match[1].strip() if match and not times else ""
    thing = content_terms(words)
    left_out = (
        thing
        | set(plan.speaker_name or "")
        | set(terms(plan.window_text or ""))
        | set(terms(plan.speaker_name or ""))
    )
    act = tuple(
        word
        for word in query_terms(_without_asking(folded))
        if word.term not in left_out and word.weight >= 1.0
    )
    if not (act if times else thing):
        return None
    amount = bool(_AMOUNT.match(words))
    owner = _owner(query, folded, plan)
    mine = owner == "" or owner in USER
    owner = _user_name(hits) if mine else owner
    return Asked(thing, words, act, owner, folded, mine, times, amount)


_SPARED = re.compile(r"\bhow many\b|多少|几|[我你他她咱俺们了过去有]|吗|呢")


def _without_asking(folded: str) -> str:
    return _SPARED.sub(" ", _TIMES.sub(" ", folded))


def content_terms(words: str) -> frozenset[str]:
    """The terms of a noun; of Chinese, its characters' pairs, or the character if it is one."""
    found = [word for word in query_terms(words) if word.weight >= 0.5]
    return frozenset(word.term for word in found if word.term not in STOP_WORDS)


def _owner(query: str, folded: str, plan: Plan) -> str | None:
    """Who is asked about; somebody of mine is not me."""
    if plan.speaker_name:
        return normal_form(plan.speaker_name)
    capitals = re.findall(r"(?<!^)\b[A-Z][^\W\d_]+\b", query)
    theirs = _OF_MINE.search(folded)
    if theirs is not None:
        return normal_form(capitals[0] if capitals else _of_user(theirs))
    if MINE.search(folded):
        return ""
    return normal_form(capitals[0]) if capitals else None


_OF_MINE = re.compile(
    r"\b(?:do|does|did|has|have|had|is|are|was|were|can) (?:my|our) (?P<en>[a-z]+(?:-[a-z]+)*)\b"
    r"|[我咱俺]们?的?(?P<zh>(?:表|堂)?[哥姐弟妹]{1,2}|爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|外公|外婆|儿子|女儿"
    r"|丈夫|妻子|老公|老婆|老板|同事|朋友|室友|邻居)"
)


def _of_user(match: re.Match[str]) -> str:
    """The subject of facts about somebody of the user's."""
    return f"user's {match['en']}" if match["en"] else f"user的{match['zh']}"
