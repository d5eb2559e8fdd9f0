"""Digests of days and weeks: what was said that tells most, in the words it was said in. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Literal

from memstrata.consolidate.derived import (
    Derived,
    Key,
    Line,
    is_derived,
    least_trusted,
    made_of,
    marked,
    most_sensitive,
)
from memstrata.ingest.narrate import MONTHS, Sentence, choose, line_of, tell
from memstrata.kinds import Episodic
from memstrata.records import Message, Record
from memstrata.text.analyse import fold, terms
from memstrata.text.clean import shorten
from memstrata.text.recalled import own_words
from memstrata.text.topics import is_chinese

__all__ = ["LONGEST", "Period", "digests", "periods_of"]

LONGEST = 1200
"""Characters."""
_BASIS = (40, 6000)
"""Sentences, and characters of them, that a language model makes one of."""
_SENTENCES = (4, 10)
_EVENTS = 5
_EVENTS_LENGTH = 500
_EVENT = 240
_UNTOLD = ("system", "tool")
"""Roles whose messages are nobody's words."""
_CAPTION = re.compile(r"\[[^\]]*\]")
"""What stands for an image or a secret, and is nobody's words either."""
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_WEEKDAYS_HAN = "一二三四五六日"
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A day, or a week from Monday on, in a user's zone."""

    first: date
    of: Literal["day", "week"]

    @property
    def key(self) -> Key:
        """By which it is known."""
        if self.of == "day":
            return self.of, self.first.isoformat()
        year, week, _ = self.first.isocalendar()
        return self.of, f"{year:04}-W{week:02}"

    @property
    def next(self) -> date:
        """The first day that is not in it."""
        return self.first + (_DAY if self.of == "day" else 7 * _DAY)

    def title(self, chinese: bool) -> str:
        """What a person calls it."""
        day = self.first
        if chinese:
            named = f"{day.year}年{day.month}月{day.day}日"
            return f"{named}这一周" if self.of == "week" else f"{named}，星期{_han(day)}"
        named = f"{day.day} {MONTHS.split()[day.month - 1]} {day.year}"
        weekday = _WEEKDAYS.split()[day.weekday()]
        return f"Week of {named}" if self.of == "week" else f"{weekday} {named}"

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """Its first moment, and the first one after it."""
        start, end = (datetime.combine(day, time(), zone) for day in (self.first, self.next))
        return start, end


def _han(day: date) -> str:
    return _WEEKDAYS_HAN[day.weekday()]


def periods_of(when: datetime, zone: tzinfo, now: datetime) -> list[Period]:
    """The day and the week a moment falls in, as far as they are over."""
    if not 2 <= when.year <= 9998:
        return []  # no zone leads out of the calendar from there
    day = when.astimezone(zone).date()
    week = Period(day - day.weekday() * _DAY, "week")
    today = now.astimezone(zone).date()
    return [period for period in (Period(day, "day"), week) if period.next <= today]


def digests(
    messages: Iterable[Message],
    events: Iterable[Record],
    zone: tzinfo,
    now: datetime,
    *,
    known: Mapping[Key, str],
    only: Collection[Key] | None = None,
    wide: bool = False,
) -> Iterator[tuple[Key, Derived | None]]:
    """The digests of all days that are over, and of all weeks with two days or more.

    `events` are the episodic records of the scope.

    Of one whose sources are those `known` by their hash there is nothing to say: None. `only`
    restricts to some; with `wide` each has what a language model may make it of.
    """
    by_id = {message.id: message for message in messages}
    said = _by_period(by_id.values(), zone, now)
    happened = _events_by_period(events, zone, now)
    for period in sorted(said):
        if only is not None and period.key not in only:
            continue
        days = [Period(period.first + n * _DAY, "day") for n in range(7)]
        days = [day for day in days if day in said]
        if period.of == "week" and len(days) < 2:
            continue
        on_it = happened.get(period, [])
        sources = made_of(
            [str(zone)],
            [message.id for message in said[period]],
            [f"{record.id} {record.version}" for record in on_it],
        )
        if known.get(period.key) == sources:
            yield period.key, None
            continue
        parts = [said[day] for day in days] if period.of == "week" else [said[period]]
        dress = _Dress(period, zone, _is_chinese(said[period]))
        made = _digest(dress, parts, on_it, by_id, sources)
        if wide:
            basis = (*_happened(_shown(on_it), dress, by_id), *_said(said[period], dress))
            made = replace(made, basis=basis)
        yield period.key, made


def _is_chinese(messages: Iterable[Message]) -> bool:
    return is_chinese(" ".join(own_words(message.content)[:500] for message in messages))


def _by_period(
    messages: Iterable[Message], zone: tzinfo, now: datetime
) -> dict[Period, list[Message]]:
    found: defaultdict[Period, list[Message]] = defaultdict(list)
    for message in messages:
        if message.role not in _UNTOLD and own_words(message.content).strip():
            for period in periods_of(message.occurred_at, zone, now):
                found[period].append(message)
    return found


def _events_by_period(
    records: Iterable[Record], zone: tzinfo, now: datetime
) -> dict[Period, list[Record]]:
    """What happened in a period and not only perhaps in it."""
    found: defaultdict[Period, list[Record]] = defaultdict(list)
    for record in records:
        begun = record.occurred_at
        if begun is None or record.lifecycle != "current" or record.sensitivity == "high":
            continue
        if is_derived(record) or record.expires_at is not None:
            continue
        for period in periods_of(begun, zone, now):
            if record.ended_at is None or record.ended_at <= period.bounds(zone)[1]:
                found[period].append(record)
    return found


# ── what one says ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Dress:
    """How lines are put: of a week each with its day, for "yesterday" means nothing without."""

    period: Period
    zone: tzinfo
    chinese: bool

    def quote(self, message: Message, text: str) -> str:
        """What was said, and by whom."""
        line = line_of(message, text, self.chinese)
        return self._dated(line, self._day(message.occurred_at))

    def before(self, when: datetime) -> str:
        """The day of a line, where it must be said."""
        return "" if self.period.of == "day" else self._named(self._day(when))

    def event(self, event: Record, said: Mapping[str, Message]) -> str:
        """What happened; where it was told on another day, with that."""
        line = shorten(event.text.partition("\n")[0], _EVENT)
        begun = event.occurred_at or event.created_at
        day = self._day(begun)
        told = {
            self._day(said[e.source_id].occurred_at) for e in event.evidence if e.source_id in said
        }
        if told and day not in told:
            when = self._named(min(told))
            line += f"（{when}说）" if self.chinese else f" (said on {when})"
        within_a_day = event.ended_at is None or event.ended_at - begun <= _DAY
        return self._dated(line, day) if within_a_day else line

    def _dated(self, line: str, day: date) -> str:
        if self.period.of == "day":
            return line
        return f"{self._named(day)}{'，' if self.chinese else ', '}{line}"

    def _day(self, when: datetime) -> date:
        return when.astimezone(self.zone).date()

    def _named(self, day: date) -> str:
        if self.chinese:
            return f"{day.month}月{day.day}日"
        return f"{day.day} {MONTHS.split()[day.month - 1]}"


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    value: float
    message: Message


def _digest(
    dress: _Dress,
    days: Sequence[Sequence[Message]],
    events: Sequence[Record],
    said: Mapping[str, Message],
    sources: str,
) -> Derived:
    """`said` are all messages of the scope by id: an event may be told on another day."""
    period = dress.period
    shown = _shown(events)
    told = [dress.event(event, said) for event in shown]
    room = LONGEST - sum(len(line) + 1 for line in told)
    lines = _quotes(days, [event.text for event in shown], dress, room)
    quoted = list({line.message.id: line.message for line in lines}.values())
    start, end = period.bounds(dress.zone)
    model = Episodic(
        event_type="digest",
        title=period.title(dress.chinese),
        summary="\n".join([*told, *(line.text for line in lines)]),
        occurred_at=start,
        ended_at=end,
        trust=least_trusted([*(m.trust for m in quoted), *(event.trust for event in shown)]),
        sensitivity=most_sensitive(event.sensitivity for event in shown),
    )
    resting = [item.source_id for event in shown for item in event.evidence]
    return Derived(
        model=marked(model, period.key, sources),
        messages=(*(m.id for m in quoted), *(one for one in resting if one in said)),
        records=tuple(event.id for event in shown),
    )


def _happened(
    events: Sequence[Record], dress: _Dress, said: Mapping[str, Message]
) -> Iterator[Line]:
    """Events, as a language model sees them."""
    for event in events:
        when = event.occurred_at or event.created_at
        yield Line(
            text=shorten(event.text.partition("\n")[0], _EVENT),
            messages=tuple(e.source_id for e in event.evidence if e.source_id in said),
            records=(event.id,),
            trust=event.trust,
            sensitivity=event.sensitivity,
            head=when.astimezone(dress.zone).date().isoformat(),
            day=dress.before(when),
        )


def _said(messages: Sequence[Message], dress: _Dress) -> Iterator[Line]:
    """The sentences, as a language model sees them, in order; of many those that tell most."""
    telling = [one for one in tell(messages) if not _CAPTION.fullmatch(one.text)]
    most, room = _BASIS
    shown: list[Sentence] = []
    for one in sorted(telling, key=lambda one: -one.value)[:most]:
        room -= len(one.text)
        if room >= 0:
            shown.append(one)
    for one in sorted(shown, key=lambda one: (one.message, one.place)):
        message = messages[one.message]
        day = message.occurred_at.astimezone(dress.zone).date().isoformat()
        yield Line(
            text=one.text,
            messages=(message.id,),
            trust=message.trust,
            head=f"{day} {message.speaker}",
            who=line_of(message, "", dress.chinese).strip(),
            day=dress.before(message.occurred_at),
        )


def _shown(events: Sequence[Record]) -> list[Record]:
    """The best supported of what happened, in order of time, within a length."""
    best = sorted(events, key=lambda one: (-len(one.evidence), one.created_at))[:_EVENTS]
    shown: list[Record] = []
    left = _EVENTS_LENGTH
    for event in best:
        left -= min(len(event.text), _EVENT) + 1
        if left >= 0:
            shown.append(event)
    return sorted(shown, key=lambda one: (one.occurred_at or one.created_at, one.id))


def _quotes(
    days: Sequence[Sequence[Message]], told: Sequence[str], dress: _Dress, length: int
) -> list[_Line]:
    """The most telling sentences in order of time, each day's chosen first.

    `told` are the texts of the events that stand before them.
    """
    said = {term for line in told for term in terms(line)}
    folded = fold("\n".join(told))
    messages = [message for day in days for message in day]
    candidates: list[Sentence] = []
    begun = 0
    for day in days:
        own = [
            one
            for one in tell(day)
            if fold(one.text).rstrip(".。!！") not in folded and not _CAPTION.fullmatch(one.text)
        ]
        some = choose(own, _most(day), length, said) if len(days) > 1 else own
        candidates += [replace(one, message=one.message + begun) for one in some]
        begun += len(day)
    chosen = choose(candidates, _most(messages), length, said)
    chosen.sort(key=lambda one: (one.message, one.place))
    lines = [
        _Line(dress.quote(message, one.text), one.value, message)
        for one in chosen
        for message in (messages[one.message],)
    ]
    while sum(len(line.text) + 1 for line in lines) > length + 1 and len(lines) > 1:
        lines.remove(min(lines, key=lambda line: line.value))
    return lines


def _most(messages: Sequence[Message]) -> int:
    return min(_SENTENCES[1], max(_SENTENCES[0], len(messages) // 2 + 1))
