"""Time expressions in English and Chinese, as intervals against when the text was said.

What an expression stands for:

- a day, week (from Monday), month, year, weekend or season named or counted from now is that whole
  calendar unit: "two weeks ago" is a week, "in May" a month, "last summer" a season;
- "last Tuesday" is the latest one before today, "next Tuesday" next week's; 上周二 and 下周二 are
  those of the week before and after this;
- a date that leaves its year or week open lies in the past, unless the sentence looks ahead ("I
  will", 打算) or is in the present tense and the coming one is not twice as far as the past one;
- "3 pm" lasts an hour, "3:30" a minute; without a day they are today's;
- "a few" is two to five; "the other day" one of the last seven;
- "since May" ends now and "by Friday" begins now; what is open towards neither (before 2019) has no
  interval, nor has what recurs (every Monday), a duration (for two hours), or "now";
- 06/09/2023 is read month first, as in America, unless it cannot be; 06.09.2023 day first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from memstrata.errors import InvalidInput
from memstrata.records import TimeSpan
from memstrata.text import time_chinese, time_english, time_english_rules
from memstrata.text.time_calendar import Clue, Span, Tense, interval, merge
from memstrata.text.time_relations import AFTER, BEFORE, Relation
from memstrata.text.time_rules import DIGIT, Rule, Strength

__all__ = ["has_cue", "resolve"]

_HAN = re.compile(r"[一-龥]")
_WORD = re.compile(r"[a-z]+")
_DIGIT = re.compile(r"\d")
_NUMBERS = re.compile(
    r"(?<!\d)(?:19|20)\d\d|\d\s?[ap]\.?m\b|\d:\d\d|\d(?:st|nd|rd|th)\b|\d[./]\d|\dt\d"
    r"|\bq[1-4]\b|\bat\s\d|\d\s+o['’]clock|\d0['’]?s\b"
)
# Words that say when together with others only, and are everywhere.
_COMMON = frozenset({"every", "each", "most", "any", "from", "this", "now", "other", "back"})
_CUES = frozenset[str]().union(*(rule.needs for rule in time_english_rules.RULES)) - _COMMON
_GAP = re.compile(
    r"[^\S\n]*[,，、的(（]?[^\S\n]*(?:(?:on|at|of|in|the|around|about|from|by|for)\b[^\S\n]*){0,3}"
    r"|['’]s[^\S\n]+",
)
_TO = re.compile(r"\s*(?:to|through|thru|until|till|[-–—~]|到|至)\s*(?:the\s+)?")
_AND = re.compile(r"\s*(?:and|和|与)\s*(?:the\s+)?")
_BETWEEN = re.compile(r"(?:\bbetween\s+(?:the\s+)?|在)\Z")
_HABIT = re.compile(
    r"\b(?:usually|always|often|daily|every|typically|normally|sometimes)\b|每|通常|一般|总是|经常",
)
_STOP = re.compile(r"[!?。！？；\n]|[.;](?=\s|$)")
_ASCII = {ord("A") + n: ord("a") + n for n in range(26)}
_REACH = 300  # how far a sentence is looked at on either side
_NEAR = 60  # how far the words that qualify a time reach before it


@dataclass(slots=True)
class _Expression:
    start: int
    end: int
    clue: Clue
    strength: Strength
    span: Span | None = None
    bound: bool = False


def has_cue(text: str) -> bool:
    """Whether the text has words that may say when, a cheap test."""
    small = _small(text)
    return not _CUES.isdisjoint(_words(small)) or _chinese(small)


def resolve(text: str, *, said_at: datetime, zone: tzinfo) -> list[TimeSpan]:
    """The times a text speaks of, said at that moment by someone in that zone.

    Half-open intervals in UTC with the words that name them, sorted, each once. They depend on
    nothing but the arguments. A `said_at` without a zone is `InvalidInput`.
    """
    if said_at.utcoffset() is None:
        message = "said_at has no time zone; give an aware datetime"
        raise InvalidInput(message)
    small = _small(text)
    words, chinese = _words(small), _chinese(small)
    if _CUES.isdisjoint(words) and not chinese:
        return []
    rules = [rule for rule in time_english_rules.RULES if not rule.needs.isdisjoint(words)]
    if chinese:
        rules += time_chinese.RULES
    try:
        now = said_at.astimezone(zone)
    except OverflowError:  # within a day of the first or last moment there is
        return []
    found = _interpret(small, _group(small, _scan(text, small, rules, now)), now)
    spans: dict[Span, TimeSpan] = {}
    for one in found:
        span = _utc(one.span) if one.span else None
        if span and span not in spans:
            said = text[one.start : one.end].strip()
            spans[span] = TimeSpan(start=span[0], end=span[1], text=said)
    return [spans[span] for span in sorted(spans)]


def _small(text: str) -> str:
    """The text in small letters, character for character."""
    small = text.lower()
    return small if len(small) == len(text) else text.translate(_ASCII)


def _words(small: str) -> set[str]:
    words = set(_WORD.findall(small))
    if _DIGIT.search(small) and _NUMBERS.search(small):
        words.add(DIGIT)
    return words


def _chinese(small: str) -> bool:
    return bool(_HAN.search(small) and time_chinese.CUE.search(small))


def _utc(span: Span) -> Span | None:
    try:
        start, end = (moment.astimezone(UTC) for moment in span)
    except OverflowError:
        return None
    if end <= start < start + (span[1] - span[0]):
        end = start + (span[1] - span[0])  # an hour that the change to summer time skips
    return (start, end) if start < end else None


def _scan(text: str, small: str, rules: Iterable[Rule], now: datetime) -> list[_Expression]:
    """Every word or phrase that may say when, left to right, none overlapping."""
    taken = bytearray(len(text))
    found: list[_Expression] = []
    for rule in rules:
        named = "w" if "w" in rule.pattern.groupindex else 0
        for match in rule.pattern.finditer(small):
            start, end = match.span(named)
            if taken.find(1, start, end) >= 0:
                continue
            if rule.proper and small[start:end] in time_english.TAKEN and not text[start].isupper():
                continue
            clue = _clue(rule, match, now)
            if clue is not None:
                taken[start:end] = b"\1" * (end - start)
                found.append(_Expression(start, end, clue, rule.strength))
    return sorted(found, key=lambda one: one.start)


def _clue(rule: Rule, match: re.Match[str], now: datetime) -> Clue | None:
    try:
        return rule.build(match, now)
    except (OverflowError, ValueError):  # before the first or after the last day there is
        return None


def _group(text: str, found: list[_Expression]) -> list[_Expression]:
    """Neighbours that complete each other as one: "Tuesday" + "last week", "5 May" + "2023"."""
    groups: list[_Expression] = []
    for one in found:
        last = groups[-1] if groups else None
        near = last and one.start - last.end <= 24 and _GAP.fullmatch(text, last.end, one.start)
        if not last or not near:
            if last and _lists_months(text, last, one):
                one.strength = "firm"
            groups.append(one)
        elif "void" in (last.strength, one.strength):
            last.end, last.strength = one.end, "void"
        elif (both := merge(last.clue, one.clue)) is None:
            groups.append(one)
        else:
            ahead = "ahead" in (last.strength, one.strength)
            last.end, last.clue = one.end, both
            last.strength = "ahead" if ahead else "firm"
    return groups


def _lists_months(text: str, first: _Expression, second: _Expression) -> bool:
    """Whether the second is a month because the first is one: "in April and May"."""
    both = first.clue.month is not None and second.clue.month is not None
    return both and first.strength == "firm" and bool(_AND.fullmatch(text, first.end, second.start))


def _interpret(text: str, groups: list[_Expression], now: datetime) -> list[_Expression]:
    done: list[_Expression] = []
    for one in groups:
        if one.strength == "void":
            continue
        if done and _joins(text, done[-1], one):
            _extend(done[-1], one)
            continue
        _place(text, one, now)
        if one.span is None:
            continue
        while done and done[-1].start >= one.start:  # taken up: "the Sunday before 5 May"
            done.pop()
        done.append(one)
    return done


def _place(text: str, one: _Expression, now: datetime) -> None:
    """Resolve one expression with the words around it."""
    sentence = _sentence(text, one)
    tense = _tense(sentence)
    if one.strength == "ahead" and tense == "past":
        return
    if _only_hours(one.clue) and _HABIT.search(sentence):
        return
    around = _around(text, one)
    if one.strength == "weak" and (not around or _only_hours(one.clue)):
        return
    for relation, _ in around:
        if tense != "past":
            tense = relation.tense or tense
    span = interval(one.clue, now, tense or "past")
    for relation, match in around:
        try:
            span = span and relation.make(match, span, now)
        except (OverflowError, ValueError):
            span = None
        one.bound = one.bound or relation.bound
    one.span = span


def _only_hours(clue: Clue) -> bool:
    return clue == Clue(part=clue.part, clock=clue.clock, twelve=clue.twelve)


def _around(text: str, one: _Expression) -> list[tuple[Relation, re.Match[str]]]:
    """The words right before and after that qualify a time, from the inside out."""
    around: list[tuple[Relation, re.Match[str]]] = []
    for _ in range(2):
        for relation in AFTER:
            match = relation.pattern.match(text, one.end)
            if match:
                around.append((relation, match))
                one.end = match.end()
                break
    for _ in range(3):
        for relation in BEFORE:
            match = relation.pattern.search(text, max(0, one.start - _NEAR), one.start)
            if match:
                around.append((relation, match))
                one.start = match.start()
                break
    return around


def _joins(text: str, first: _Expression, second: _Expression) -> bool:
    """Whether two neighbours are the ends of one range: "from Monday to Wednesday"."""
    if first.span is None or first.bound or second.start < first.end:
        return False
    if _TO.fullmatch(text, first.end, second.start):
        return True
    between = _BETWEEN.search(text, max(0, first.start - 12), first.start)
    return bool(between and _AND.fullmatch(text, first.end, second.start))


def _extend(first: _Expression, second: _Expression) -> None:
    """Let a range end with its second time, read as the next such time after the first."""
    if first.span is None:
        return
    span = interval(second.clue, first.span[0], "future")
    if span is not None:
        end = span[0] if second.clue.clock else span[1]
        if end > first.span[0]:
            first.span, first.end = (first.span[0], end), second.end


def _sentence(text: str, one: _Expression) -> str:
    low, high = max(0, one.start - _REACH), min(len(text), one.end + _REACH)
    start = max((stop.end() for stop in _STOP.finditer(text, low, one.start)), default=low)
    stop = _STOP.search(text, one.end, high)
    return text[start : stop.end() if stop else high]


def _tense(sentence: str) -> Tense | None:
    if _HAN.search(sentence):
        return time_chinese.tense(sentence)
    return time_english.tense(sentence)
