"""What happened and what is planned, in English clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memstrata.ingest.local.findings import when_of
from memstrata.ingest.local.predicates import Predicate
from memstrata.ingest.local.words_english import word_set
from memstrata.records import TimeSpan

__all__ = ["Event", "engagement", "event"]


@dataclass(slots=True)
class Event:
    """An event, or a plan, with the place of the words that tell it."""

    actor: str
    start: int
    end: int
    span: TimeSpan | None
    plan: bool
    confidence: float
    just: datetime | None = None
    """When it was said, if the words say that it has only just happened."""


_CLEAR = word_set(
    """
    go visit meet buy start finish move adopt win get attend graduate marry break lose join
    quit leave launch open publish perform volunteer travel celebrate host complete sell
    donate hike camp climb run participate sign enter pass fail receive land fly injure
    sprain hurt organize organise present register enroll enrol retire paint build catch
    climbed make take see find give apply record release watch read try switch cook bake
    book
    """
)
_NEEDS_REST = re.compile(r"\s*\S+\s+\S+")
# Without a date these tell of an event only with words like these after them.
_SURE: dict[str, re.Pattern[str]] = {
    "go": re.compile(
        r"\s*(?:on|to|hiking|camping|skiing|surfing|fishing|swimming|"
        r"shopping|kayaking|backpacking|diving)\s+\w"
    ),
    "get": re.compile(
        r"\s*(?:(?:a|an|my|the|our)\s+(?:new\s+|first\s+|second\s+)?(?:job|"
        r"dog|puppy|cat|kitten|promotion|degree|license|licence|tattoo|"
        r"award|offer|scholarship|apartment|house|car|certificate|"
        r"visa|raise|internship)|married|engaged|divorced|promoted|"
        r"accepted|hired|fired|laid off)\b"
    ),
    "start": re.compile(
        r"\s*(?:a|an|my|the|working|learning|taking|studying|volunteering|at|our|playing)\b"
    ),
    "finish": re.compile(r"\s*(?:my|the|a|reading|writing|first|second|third)\b"),
    "leave": re.compile(r"\s*(?:my job|the company|for [A-Z]|home)\b"),
    "lose": re.compile(r"\s*(?:my|our|his|her)\s+\w+"),
    "break": re.compile(r"\s*(?:my|his|her|up)\b"),
    "run": re.compile(r"\s*(?:a|my|the)\s+(?:[\w-]+\s+)?(?:marathon|half|race|\d+k|5k|10k)\b"),
    "take": re.compile(
        r"\s*(?:a|my|the|our)\s+(?:[\w-]+\s+)?(?:trip|class|course|"
        r"exam|test|vacation|holiday|workshop|road trip|job)\b"
    ),
    "see": re.compile(r"\s*(?:a|the)\s+(?:doctor|dentist|concert|show|play|musical|movie)\b"),
    "make": re.compile(
        r"\s*(?!me\b|it\b|sure|sense|up|us)(?:a|an|my|some)\s+(?!(?:[a-z]+ )?(?:progress|"
        r"changes?|decision|point|mistake|list|difference|plan|sense|effort)\b)\w+"
    ),
    "sign": re.compile(r"\s*up\s+for\b"),
    "pass": re.compile(r"\s*(?:my|the|away)\b"),
    "fall": re.compile(r"\s*(?:off|down)\b"),
    "open": re.compile(r"\s*(?:a|my|our)\b"),
    "give": re.compile(r"\s*birth\b|\s*a\s+(?:talk|speech|presentation)\b"),
    "visit": re.compile(r"\s*\w"),
    "meet": re.compile(r"\s*(?:my|a|an|[A-Z]|some|up with)\w*"),
    "buy": re.compile(r"\s*(?:a|an|my|some|new|two|three|our)\b"),
    "move": re.compile(r"\s*(?:in|into|to|out|back|here|from)\b"),
    "win": re.compile(r"\s*(?:a|an|the|my|our|first|second|third|\$?\d)"),
    "be": re.compile(
        r"\s*(?:born|promoted|hired|fired|laid off|accepted|invited|"
        r"diagnosed|awarded|selected|elected)\b"
    ),
}
_SURE_BARE = word_set(
    """
    adopt attend graduate marry join quit launch publish perform volunteer travel celebrate
    host complete sell donate hike camp climb participate enter receive injure sprain
    organize organise retire
    """
)
_VAGUE = word_set(
    """
    know think feel say tell hope love like want need believe guess wonder understand
    remember forget mean seem sound realize realise have keep enjoy hate prefer notice agree
    """
)
# What goes on now, whatever time its words name, is no plan.
_UNDER_WAY = _VAGUE | word_set(
    "be work look consider search read write struggle wait research explor try"
)
_JUST = re.compile(r"\b(?:just|today|this (?:morning|afternoon|evening)|tonight)\b", re.IGNORECASE)
_PLANS = re.compile(r"\s*(?:to|on|planning|hoping)?\s*", re.IGNORECASE)
_PLANNED = frozenset({"plan", "book", "schedule"})


def event(
    said: Predicate,
    actor: str,
    place: tuple[int, int],
    text: str,
    spans: Sequence[TimeSpan],
    said_at: datetime,
) -> Event | None:
    """The event or plan a predicate tells of; None for a state, a habit, or what is not sure."""
    if said.negated or "never" in said.adverbs or _HABIT.search(text):
        return None
    if _POINTS.match(said.rest):
        return None
    span = _moment(text, spans)
    if said.tense in ("past", "perfect"):
        return _happened(said, actor, place, text, span, said_at)
    if span is None or span.end <= said_at or span.start < said_at - timedelta(days=1):
        return None
    if said.verb in ("try", "keep", "let"):
        return None
    if said.tense == "future" or (said.tense == "progressive" and said.verb not in _UNDER_WAY):
        return Event(actor, *place, span, True, 0.85)
    if said.tense == "present" and said.verb == "have" and _ENGAGED.match(said.rest):
        return Event(actor, *place, span, True, 0.85)
    return None


# Of what only points to something said before nobody can tell later what it was.
_POINTS = re.compile(r"\s*(?:it|them|that|this|those)(?:\s|$)", re.IGNORECASE)


_THAT_OF = r"\b(?:from that (?:\w+ ){1,5}|(?:from|of) (?:the )?)"


def _moment(text: str, spans: Sequence[TimeSpan]) -> TimeSpan | None:
    """The time of what is told: not that of a thing it names (`a book from the 1900s`)."""
    return when_of(
        text,
        [
            span
            for span in spans
            if span.end - span.start < timedelta(days=400)
            and not re.search(_THAT_OF + re.escape(span.text), text)
        ],
    )


_ENGAGEMENT = (
    r"(?:appointment|meeting|interview|exam|test|flight|concert|recital|wedding|party|deadline|"
    r"check-?up|surgery|game|match|trip|date|class|session|presentation|performance|reunion|"
    r"conference)\b"
)
_ENGAGED = re.compile(rf"\s+(?:an?|my|our|the)\s+(?:[\w-]+\s+){{0,3}}{_ENGAGEMENT}")
_IS_ON = re.compile(
    rf"(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?{_ENGAGEMENT}(?:\s+(?:to|with|at|for|in)\s+[\w .']+?)?"
    r"(?:'s|\s+is)\s+(?:on|at|in|next|this|tomorrow|tonight|scheduled|booked)\b",
    re.IGNORECASE,
)


def engagement(
    text: str,
    at: int,
    actor: str,
    place: tuple[int, int],
    spans: Sequence[TimeSpan],
    said_at: datetime,
) -> Event | None:
    """The plan in `my flight to … is on …`."""
    span = _moment(text, spans) if _IS_ON.match(text, at) else None
    if span is None or span.end <= said_at:
        return None
    return Event(actor, *place, span, True, 0.85)


_HABIT = re.compile(r"\b(?:every|each|usually|always|often|used to|sometimes)\b", re.IGNORECASE)


def _happened(
    said: Predicate,
    actor: str,
    place: tuple[int, int],
    text: str,
    span: TimeSpan | None,
    said_at: datetime,
) -> Event | None:
    sure = _SURE.get(said.verb)
    clear = bool(sure.match(said.rest)) if sure else said.verb in _SURE_BARE
    clear = clear and bool(said.rest.strip(" .!,"))
    if span is not None:
        if span.start > said_at:
            return None
        if (
            clear
            or (said.verb not in _VAGUE and said.verb != "be")
            or (
                said.verb == "have"
                and said.tense == "past"
                and re.match(r"\s+(?:a|an|my|the|our)\b", said.rest)
            )
        ):
            return Event(actor, *place, span, False, 0.9 if clear else 0.75)
        return None
    if not clear:
        return None
    just = said_at if _JUST.search(text) or "just" in said.adverbs else None
    return Event(actor, *place, None, False, 0.75 if just else 0.65, just)
