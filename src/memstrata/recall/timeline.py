"""What was found as dated events, each once, in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo

from pydantic import BaseModel, ConfigDict, Field

from memstrata.kinds import KINDS
from memstrata.records import Evidence, Hit, Message, Record, micros
from memstrata.text.analyse import fold, query_terms
from memstrata.text.clean import shorten

__all__ = ["Event", "order_events"]

_SAME = 0.7
"""The share of the shorter telling's terms in the longer one from which they tell one event."""
_FEWEST = 2
"""Terms two tellings must share to be one: a name alone says nothing of what happened."""
_TEXT = 400
_ENDS = ".!?。！？\n"


class Event(BaseModel):
    """Something that happened, or is to happen, at a known time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: datetime
    until: datetime | None = None
    """Where it lasts, or is known only to have been somewhere between: the end, not included."""
    text: str
    id: str
    """Of the record, message or episode that tells it."""
    kind: str
    """The record's kind, `messages` or `episodes`."""
    evidence: list[Evidence] = Field(default_factory=list[Evidence])


def order_events(
    hits: Sequence[Hit],
    window: tuple[int, int] | None,
    zone: tzinfo,
    *,
    most: int | None = None,
) -> list[Event]:
    """The dated events among hits, in order of time; with a window (micros) those that touch it.

    A record stands for the messages it rests on, an episode only for what is not found in it. Told
    twice on one day (of `zone`) an event is kept once, as the better hit tells it, records first,
    with the evidence of both. Of more than `most` those of the best hits are kept.
    """
    told = [event for hit in hits if hit.record for event in _of_record(hit, hit.record)]
    resting = {
        (source.source_id, _day(event.when, zone)) for event in told for source in event.evidence
    }
    for hit in hits:
        if hit.message is not None:
            dated = _of_message(hit.message)
            told += [one for one in dated if (one.id, _day(one.when, zone)) not in resting]
    known = {event.id for event in told} | {place.source_id for e in told for place in e.evidence}
    told += [event for hit in hits for event in _of_episode(hit, known)]
    inside = [event for event in told if window is None or _touches(event, window)]
    once = _merged(inside, zone)
    rank = {hit.id: place for place, hit in enumerate(hits)}
    kept = sorted(once, key=lambda event: rank.get(event.id, len(rank)))[:most]
    return sorted(kept, key=lambda event: (event.when, event.until or event.when))


def _day(when: datetime, zone: tzinfo) -> str:
    return _local(when, zone).date().isoformat()


def _local(when: datetime, zone: tzinfo) -> datetime:
    with suppress(OverflowError):  # on the first or the last day there is
        return when.astimezone(zone)
    return when


def _touches(event: Event, window: tuple[int, int]) -> bool:
    start = micros(event.when)
    end = micros(event.until) if event.until else start
    return start < window[1] and (end > window[0] or start == end == window[0])


# ── from what was found ──────────────────────────────────────────────────────────────────────


def _of_record(hit: Hit, record: Record) -> Iterator[Event]:
    when = _when(record)
    derived = KINDS[record.kind].is_derived(record)
    if when is None or derived or record.lifecycle == "retired":
        return
    until = record.ended_at if record.valid_from is None else record.valid_to
    yield Event(
        when=when,
        until=until if until and until > when else None,
        text=shorten(record.text, _TEXT),
        id=record.id,
        kind=record.kind,
        evidence=list(hit.evidence or record.evidence),
    )


def _when(record: Record) -> datetime | None:
    """When it happened, is due or began; of a fact known merely from when it was said, None."""
    if record.valid_from is None:
        return record.occurred_at or KINDS[record.kind].due_at(record)
    return None if record.valid_from == record.occurred_at else record.valid_from


def _of_message(message: Message) -> Iterator[Event]:
    """An event for each time the message speaks of, else one for when it was said.

    A message that only asks tells nothing.
    """
    if _asks(message.content):
        return
    seen: set[tuple[datetime, datetime]] = set()
    for span in message.spans:
        sentence = _around(message.content, span.text)
        if (span.start, span.end) not in seen and not _asks(sentence):
            seen.add((span.start, span.end))
            yield _said(message, sentence, span.start, span.end)
    if not message.spans:
        yield _said(message, message.content.strip(), message.occurred_at, None)


def _said(message: Message, words: str, when: datetime, until: datetime | None) -> Event:
    return Event(
        when=when,
        until=until,
        text=shorten(f"{message.speaker}: {words}", _TEXT),
        id=message.id,
        kind="messages",
        evidence=[Evidence(source_id=message.id, quote=shorten(words, _TEXT).removesuffix("…"))],
    )


def _asks(text: str) -> bool:
    """Whether every sentence is a question."""
    rest = text.replace("？", "?").replace("。", ".").replace("！", "!").strip(" \n\"'”’")
    return rest.endswith("?") and not any(mark in rest for mark in (". ", "! ", ".\n", "。"))


def _around(content: str, words: str) -> str:
    """The sentence in which the words stand."""
    at = content.find(words)
    if at < 0:
        return content.strip()
    start = max(content.rfind(mark, 0, at) for mark in _ENDS) + 1
    ends = [found for mark in _ENDS if (found := content.find(mark, at + len(words))) >= 0]
    return content[start : min(ends, default=len(content)) + 1].strip()


def _of_episode(hit: Hit, known: set[str]) -> Iterator[Event]:
    episode = hit.episode
    if episode is not None and not known.intersection(episode.message_ids):
        yield Event(
            when=episode.started_at,
            until=episode.ended_at if episode.ended_at > episode.started_at else None,
            text=shorten(episode.text, _TEXT),
            id=episode.id,
            kind="episodes",
            evidence=[Evidence(source_id=source) for source in episode.message_ids],
        )


# ── told twice ───────────────────────────────────────────────────────────────────────────────


def _merged(events: Sequence[Event], zone: tzinfo) -> list[Event]:
    kept: list[tuple[str, frozenset[str], Event]] = []
    for event in events:
        day, own = _day(event.when, zone), _telling(event.text)
        for place, (other_day, other, first) in enumerate(kept):
            if day == other_day and _same(own, other):
                kept[place] = (day, other, _with_evidence(first, event))
                break
        else:
            kept.append((day, own, event))
    return [event for _, _, event in kept]


def _telling(text: str) -> frozenset[str]:
    return frozenset(term for term, weight in query_terms(fold(text)) if weight >= 0.5)


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return one == other or shared >= max(_FEWEST, _SAME * min(len(one), len(other)))


def _with_evidence(first: Event, other: Event) -> Event:
    held = {source.source_id for source in first.evidence}
    more = [source for source in other.evidence if source.source_id not in held]
    return first.model_copy(update={"evidence": [*first.evidence, *more]}) if more else first
