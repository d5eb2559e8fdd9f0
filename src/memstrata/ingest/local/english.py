"""What an English sentence states: facts, relations, events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memstrata.ingest.local.clauses import Clause, Sentence, clauses
from memstrata.ingest.local.events import Event, engagement, event
from memstrata.ingest.local.facts_english import facts
from memstrata.ingest.local.findings import Finding, trim
from memstrata.ingest.local.people import Subject, Talk, is_name, opening, relations, subject
from memstrata.ingest.local.predicates import Predicate, predicate
from memstrata.ingest.local.words_english import word_set
from memstrata.records import TimeSpan
from memstrata.text.analyse import fold

__all__ = ["read"]


def read(
    sentence: Sentence, talk: Talk, spans: list[TimeSpan], said_at: datetime
) -> Iterator[Finding | Event]:
    """What one sentence states; the talk takes note of whom it speaks."""
    talk.lines.append([])
    if sentence.asks:
        for _ in relations(sentence, talk):
            pass
        return
    yield from relations(sentence, talk)
    carried: Subject | None = None
    for clause in clauses(sentence):
        at = _begin(clause, spans)
        told = _REPORTED.match(clause.text, at)
        if told:
            yield from _reported(told, clause, talk, spans, said_at)
            carried = None
            continue
        who = carried if clause.continues else subject(clause.text, at, talk)
        if who is None:
            carried = None
            place = (clause.start, clause.end)
            if dated := engagement(clause.text, at, talk.speaker, place, spans, said_at):
                yield dated
            continue
        carried = who
        yield from _stated(clause, who, at if clause.continues else who.end, talk, spans, said_at)


def _begin(clause: Clause, spans: list[TimeSpan]) -> int:
    """Where the subject of a clause stands, past openers and times."""
    at = opening(clause.text)
    for span in spans:
        if span.text and clause.text.startswith(span.text, at):
            at += len(span.text)
            while at < len(clause.text) and clause.text[at] in ", ":
                at += 1
            at = opening(clause.text, at)
            break
    else:
        if often := _OFTEN.match(clause.text, at):
            return often.end()
        match = _LEAD.match(clause.text, at)
        if match and spans and any(span.text in match[0] for span in spans):
            at = match.end()
    return at


_OFTEN = re.compile(
    r"(?:every (?:other )?\w+|each \w+|(?:once|twice|\w+ times) (?:a|per) \w+|on \w+days|"
    r"on weekends)"
    r"(?: (?:morning|afternoon|evening|night))?,?\s+(?=(?:I|we|he|she|my|[A-Z]\w+)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:in|on|at|back in|over|during|since|early|around)\s[^,]{2,30},?\s+(?=(?:I|we|he|she|my)\b)",
    re.IGNORECASE,
)
_SAYS = r"(?:said|says|told (?:me|us)|tells (?:me|us)|mentioned|mentions)(?: that)?\s+"
_REPORTED = re.compile(
    rf"(?P<who>[A-Z][\w]+|(?:[Mm]y|[Oo]ur)\s[\w' -]+?|[Ss]?[Hh]e)\s+{_SAYS}(?P<pronoun>he|"
    rf"she|they)\b",
    re.ASCII,
)


def _reported(
    told: re.Match[str], clause: Clause, talk: Talk, spans: list[TimeSpan], said_at: datetime
) -> Iterator[Finding | Event]:
    """What somebody is said to have said of themselves."""
    gender = {"he": "m", "she": "f"}.get(told["pronoun"], "")
    who = subject(clause.text, told.start(), talk)
    if who is None or who.first:
        return
    talk.mention(who.label, gender)
    for found in _stated(clause, Subject(who.label, told.end()), told.end(), talk, spans, said_at):
        found.confidence = min(found.confidence, 0.8)
        yield found


def _stated(
    clause: Clause, who: Subject, at: int, talk: Talk, spans: list[TimeSpan], said_at: datetime
) -> Iterator[Finding | Event]:
    place = (clause.start, clause.end)
    text = clause.text
    here = [span for span in spans if span.text in text]
    if who.aspect:
        yield from _aspect(who, text, place, here)
        return
    wish = _WISH.match(text, at)
    if wish:
        value = trim(wish["v"], here)
        if value and clause.joined_by != "if":
            yield Finding(who.label, "wants", value, *place, confidence=0.7)
        return
    if "not" in text and (dislike := _NOT_FAN.match(text, at)):
        value = trim(dislike["v"], here)
        if value:
            yield Finding(who.label, "likes", value, *place, polarity=False)
        return
    said = predicate(text, at)
    if said is None:
        return
    habit = _habit(said, who, text, place)
    if habit:
        yield habit
    yield from facts(said, who.label, place, text, here)
    if introduced := _introduced(said, who, text, at):
        yield Finding(who.label, "name", introduced, *place, confidence=0.85)
    if told := event(said, who.label, place, text, here, said_at):
        yield told


_WISH = re.compile(
    r"(?:'d| would)\s+(?:really\s+|absolutely\s+)?(?:love|like)\s+(?P<v>to\s+(?:learn|"
    r"visit|travel|go to|become|own|live|move|get a|open|start|"
    r"write|play|run|climb|see the)\b.*)",
    re.IGNORECASE,
)
_NOT_FAN = re.compile(
    r"(?:'m|\s+am|'s|\s+is|'re)\s+not\s+(?:really\s+|exactly\s+)?(?:(?:an?|"
    r"the|much of a)\s+(?:big\s+|huge\s+|biggest\s+)?(?:fan|lover)\s+of|"
    r"(?:big |really |that |super |much )?(?:into|keen on|fond "
    r"of))\s+(?P<v>.+)",
    re.IGNORECASE,
)
_REPEATS = re.compile(
    r"\b(?:every (?:other )?(?:day|morning|afternoon|evening|"
    r"night|week|weekend|month|summer|winter|spring|fall|autumn|"
    r"year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|each (?:day|morning|evening|night|week|year)|(?:once|twice|"
    r"(?:three|four|five|six|\d) times) (?:a|per) (?:day|week|"
    r"month|year)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|daily(?!\s+\w)|before bed)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\b(?:it|them|that|this|these|those)\b", re.IGNORECASE)
_USUAL = frozenset({"usually", "typically", "normally", "regularly"})
_NO_HABIT = word_set(
    """ need try plan look seem mean remember forget start keep
    be have love like hate enjoy feel think know want hope say see learn get
    """
)


def _habit(said: Predicate, who: Subject, text: str, place: tuple[int, int]) -> Finding | None:
    """What somebody does again and again, in the words it was said with."""
    if said.tense not in ("present", "progressive") or said.negated or said.verb in _NO_HABIT:
        return None
    repeats = _REPEATS.search(text, said.start)
    lead = None if repeats else _REPEATS.search(text)
    usual = sorted(_USUAL & said.adverbs)
    if repeats is None and lead is None and not usual:
        return None
    value = text[said.start : repeats.end() if repeats else len(text)].strip(" .,!")
    if lead:
        value = f"{value} {lead[0].lower()}"
    elif usual:
        value = f"{usual[0]} {value}"
    if not 2 <= len(value.split()) <= 12 or _POINTS.search(value):
        return None
    return Finding(who.label, "habit", value, *place, confidence=0.8)


_HELLO = re.compile(
    r"\s*([A-Z][a-zÀ-ÿ]+(?: [A-Z][a-zÀ-ÿ]+)?)\s*(?:[.!,]|\Z|from\b|and I\b|by the way)"
)
_DEMONYM = re.compile(
    r"(?:ese|ish|can|ean|nch|tch|reek|wiss|sian|lian|dian|tian|glad|fine|good|ok|okay|here|back)\Z",
    re.IGNORECASE,
)


def _introduced(said: Predicate, who: Subject, text: str, at: int) -> str | None:
    """The name in `Hi, I'm Ana`."""
    if (
        said.verb != "be"
        or said.tense != "present"
        or said.negated
        or not who.first
        or said.adverbs
    ):
        return None
    match = _HELLO.match(said.rest)
    if not match or text[at : at + 2] != "'m" or not is_name(match[1]) or _DEMONYM.search(match[1]):
        return None
    return match[1]


_IS = re.compile(
    r"\s*(?:is|are|'s|was|has (?:always been|been)|would be)\s+(?P<not>not\s+)?(?:definitely "
    r"|probably |actually |now |still |also |currently |on |called "
    r"|spelled |spelt |the |to )*(?P<v>.+)",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(
    r"\d|january|february|march|april|may|june|july|august|september|october|november|december",
    re.IGNORECASE,
)


def _aspect(
    who: Subject, text: str, place: tuple[int, int], spans: list[TimeSpan]
) -> Iterator[Finding]:
    """What `my birthday is …` and the like say."""
    match = _IS.match(text, who.end)
    if match is None:
        return
    value = match["v"]
    attribute = _aspect_attribute(who.aspect)
    if attribute is None or ("was" in match[0][:6] and attribute != "birthday"):
        return
    if attribute == "name":
        named = re.match(r"([A-Z][\w'-]*(?:\s[A-Z][\w'-]*){0,2})", value)
        if not named or fold(named[1]) in ("i", "the"):
            return
        value = named[1]
    elif attribute == "birthday":
        value = re.split(r"[.!;(]|,(?!\s*\d)", value)[0].strip()
        if not _DATE_LIKE.search(value) or len(value.split()) > 6:
            return
    else:
        value = trim(value, () if attribute == "birthday" else spans, limit=6)
    if value and not re.match(
        r"(?:when|how|what|that|because|going|getting|been|so|very|really|great|good)\b", value
    ):
        yield Finding(
            who.label, attribute, value, *place, polarity=not match["not"], confidence=0.9
        )


def _aspect_attribute(aspect: str) -> str | None:
    if aspect.endswith("name"):
        return "alias" if aspect.startswith("nick") else "name" if "wife" not in aspect else None
    if aspect in ("birthday", "bday", "date of birth"):
        return "birthday"
    plain = {
        "age": "age",
        "hometown": "from",
        "nationality": "nationality",
        "native language": "speaks",
        "mother tongue": "speaks",
        "dream job": "wants",
    }
    if aspect in plain:
        return plain[aspect]
    favourite = re.match(r"(?:all-time |absolute )?favou?rites?\s(?P<sort>[a-z ]+)\Z", aspect)
    if not favourite or re.search(
        r"\b(?:part|thing|way|one|time|memory|moment|of)\b", favourite["sort"]
    ):
        return None
    return "favourite_" + favourite["sort"].strip().replace(" ", "_")
