"""What was said that supports an answer: sentences, with who said them and when.

What a fact rests on that no longer holds is never quoted as if it did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from memstrata.chat.agent import Asked
from memstrata.chat.shown import ANSWERED_FROM
from memstrata.kinds import KINDS
from memstrata.models.wording import Language
from memstrata.recall import find as finding
from memstrata.recall.plan import Plan
from memstrata.recall.score import RELATED
from memstrata.recall.stands_alone import sentences
from memstrata.records import Evidence, Hit, Message, Record, Scope, TimeSpan
from memstrata.runtime import Runtime, view_of
from memstrata.store.views import Listing
from memstrata.text.analyse import fold, terms
from memstrata.text.clean import shorten
from memstrata.text.names import normal_form

__all__ = ["Quote", "as_line", "day_of", "quotes"]

_QUOTES = 3
_NEAR = 0.6
"""The share of the best quote's support from which another one stands beside it."""
_QUOTE = 300
"""Places a quote takes: a Chinese character takes two."""
_PAST = 1000
"""How many records that no longer hold are looked at, to quote none of what they rest on."""
_CHAIN = 5
"""How many facts before one that holds are looked up."""
_OTHERS = 0.7
"""What another's words count for that do not name the one who is asked about."""
_DATED = 0.3
"""What a sentence that names a time gains where a time is asked for."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that support an answer."""

    text: str
    support: float
    hit: Hit
    quoted: bool = True
    """Whether they stand so in what was said."""
    speaker: str | None = None
    when: datetime | None = None
    until: datetime | None = None
    """Of what is past: when it ended."""
    spans: tuple[TimeSpan, ...] = ()
    """The times they speak of."""


async def quotes(
    runtime: Runtime, scope: Scope, asked: Asked, found: finding.Answer
) -> list[Quote]:
    """The sentences that support an answer best, the best first."""
    best = max((hit.score for hit in found.results), default=0.0)
    hits = [hit for hit in found.results if hit.score >= max(RELATED, best / 2)]
    if _BEFORE.search(fold(found.plan.query)):
        hits = await _before(runtime, scope, hits) or hits
    stale = set[tuple[str, str]]()
    if not found.plan.past:
        stale |= await _stale(runtime, scope)
    stale -= {_place(place) for hit in hits if _holds(hit, asked.now) for place in hit.evidence}
    sources = await _sources(runtime, scope, hits)
    made = [quote for hit in hits for quote in _quotes(hit, found.plan, sources, stale, asked.now)]
    if any(quote.until is None for quote in made) and not found.plan.past:
        made = [quote for quote in made if quote.until is None]
    return _best(made)


_BEFORE = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|used to|earlier|old|original(?:ly)?"
    r"|initial(?:ly)?)\b|以前|之前|曾经|原来|原先|从前"
)


async def _before(runtime: Runtime, scope: Scope, hits: Sequence[Hit]) -> list[Hit]:
    """What was so before the facts among the hits, the last first."""
    made: list[Hit] = []
    line = {hit.record.supersedes: hit for hit in hits if hit.record and hit.record.supersedes}
    for _ in range(_CHAIN):
        found = await runtime.store.get(view_of(scope), [*line]) if line else {}
        older = [one for one in found.values() if isinstance(one, Record)]
        if not older:
            break
        earlier = [_as_found(record, line[record.id].score) for record in older]
        made += earlier
        line = {
            hit.record.supersedes: hit for hit in earlier if hit.record and hit.record.supersedes
        }
    return made


def _as_found(record: Record, score: float) -> Hit:
    return Hit(
        id=record.id,
        stratum="records",
        kind=record.kind,
        text=record.text,
        occurred_at=record.valid_from or record.occurred_at,
        score=score,
        evidence=record.evidence,
        record=record,
    )


def _holds(hit: Hit, now: datetime) -> bool:
    return hit.record is not None and _ended(hit.record, now) is None


def _ended(record: Record, now: datetime) -> datetime | None:
    """When a record stopped being true, if it did."""
    ended = record.valid_to if record.valid_to is not None and record.valid_to <= now else None
    return ended or (record.recorded_at if record.lifecycle == "past" else None)


def _place(evidence: Evidence) -> tuple[str, str]:
    return evidence.source_id, fold(evidence.quote or "").strip()


async def _stale(runtime: Runtime, scope: Scope) -> set[tuple[str, str]]:
    """The words of messages that facts rest on which no longer hold, or never did."""
    listing = Listing(limit=_PAST, kinds=tuple(KINDS), lifecycles=("past", "retired"))
    page = await runtime.store.list_records(view_of(scope), listing)
    return {_place(place) for record in page.items for place in record.evidence}


async def _sources(runtime: Runtime, scope: Scope, hits: Sequence[Hit]) -> dict[str, Message]:
    """The messages that records among the hits rest on."""
    ids = [place.source_id for hit in hits if hit.record is not None for place in hit.evidence[:2]]
    found = await runtime.store.get(view_of(scope), list(dict.fromkeys(ids)))
    return {key: one for key, one in found.items() if isinstance(one, Message)}


def _quotes(
    hit: Hit,
    plan: Plan,
    sources: dict[str, Message],
    stale: set[tuple[str, str]],
    now: datetime,
) -> list[Quote]:
    if hit.record is not None:
        return [_of_record(hit, hit.record, plan, sources, now)]
    if hit.message is not None:
        quote = _of_message(hit, hit.message, plan, stale)
        return [quote] if quote else []
    return []


def _of_record(
    hit: Hit, record: Record, plan: Plan, sources: dict[str, Message], now: datetime
) -> Quote:
    """What a record quotes, else what it says."""
    until = _ended(record, now)
    support = hit.score * (0.7 + 0.3 * _covered(plan, f"{record.title} {record.text}"))
    for place in record.evidence:
        source = sources.get(place.source_id)
        if place.quote and source is not None:
            spans = tuple(span for span in source.spans if span.text in place.quote)
            return Quote(
                _cut(place.quote),
                support,
                hit,
                speaker=source.speaker,
                when=source.occurred_at,
                until=until,
                spans=spans,
            )
    when = record.occurred_at or record.valid_from
    text = _cut(hit.text)
    return Quote(text, support, hit, quoted=False, when=when, until=until)


def _of_message(
    hit: Hit, message: Message, plan: Plan, stale: set[tuple[str, str]]
) -> Quote | None:
    """The sentence of a message that has most of what is asked for, with what follows it."""
    if ANSWERED_FROM in message.metadata and plan.speaker_name != "assistant":
        return None
    gone = [quote for source, quote in stale if source == message.id]
    parts = [one for one in sentences(hit.text) if not _is_gone(fold(one), gone)]
    told = [place for place, one in enumerate(parts) if not _ASKS.search(one)]
    if not told:
        return None
    values = {place: _value(parts[place], message, plan) for place in told}
    best = max(told, key=lambda place: values[place])
    text = _around(parts, best, set(told))
    return Quote(
        _cut(text),
        hit.score * (0.7 + 0.3 * min(values[best], 1.0)) * _by(plan, message, text),
        hit,
        speaker=message.speaker,
        when=message.occurred_at,
        spans=tuple(span for span in message.spans if span.text in text),
    )


def _around(parts: Sequence[str], at: int, told: set[int]) -> str:
    """A sentence with those after it and before it that tell something, while there is room."""
    text = parts[at]
    for place in range(at + 1, len(parts)):
        longer = _joined(text, parts[place])
        if _width(longer) > _QUOTE or place not in told:
            break
        text = longer
    for place in range(at - 1, -1, -1):
        longer = _joined(parts[place], text)
        if _width(longer) > _QUOTE or place not in told:
            break
        text = longer
    return text


_ASKS = re.compile(r"[?？]\W*$|^\W*(?:请|帮我|给我|告诉我|麻烦你?)")
"""In a sentence that tells nothing."""


def _width(text: str) -> int:
    return len(text) + sum(character >= "\u2e80" for character in text)


def _cut(text: str) -> str:
    """The beginning of a quote that is too long."""
    wide = _width(text) > 1.5 * len(text)
    return shorten(text, _QUOTE // 2 if wide else _QUOTE)


def _joined(one: str, other: str) -> str:
    return f"{one} {other}" if one[-1:].isascii() else f"{one}{other}"


def _by(plan: Plan, message: Message, text: str) -> float:
    """What words count for by who says them, where the question is about one who takes part."""
    named = normal_form(plan.speaker_name) if plan.speaker_name else ""
    if plan.of_asker and message.role == "assistant":
        return _OTHERS
    if not named or named in normal_form(message.speaker) or named.split()[0] in fold(text):
        return 1.0
    return _OTHERS


def _is_gone(sentence: str, gone: Sequence[str]) -> bool:
    """Whether a sentence says what no longer holds."""
    return any(not quote or quote in sentence or sentence in quote for quote in gone)


def _value(sentence: str, message: Message, plan: Plan) -> float:
    dated = plan.asks_when and any(span.text in sentence for span in message.spans)
    return _covered(plan, sentence) + (_DATED if dated else 0.0)


def _covered(plan: Plan, text: str) -> float:
    """The weighed share of the question's words that a text has."""
    whole = sum(word.weight for word in plan.words)
    held = set(terms(text))
    return sum(word.weight for word in plan.words if word.term in held) / whole if whole else 0.0


def _best(quotes: Sequence[Quote]) -> list[Quote]:
    """The best supported, and those near it that say something else."""
    ranked = sorted(quotes, key=lambda quote: -quote.support)
    chosen: list[Quote] = []
    for quote in ranked:
        near = quote.support >= _NEAR * ranked[0].support
        said = [fold(other.text) for other in chosen]
        own = fold(quote.text)
        if near and not any(own in other or other in own for other in said):
            chosen.append(quote)
    return chosen[:_QUOTES]


_LINE_ENDS = re.compile(r"\s*\n\s*")


def as_line(quote: Quote, zone: tzinfo, language: Language, *, when: bool) -> str:
    """A quote on one line, with who said it and when."""
    text = _LINE_ENDS.sub(" ", quote.text.strip())
    said = [quote.speaker, quote.when and day_of(quote.when, zone)]
    if quote.until is not None:
        day = day_of(quote.until, zone)
        said.append(f"直到 {day}" if language == "zh" else f"until {day}")
    if when:
        said += [_resolved(span, zone) for span in quote.spans]
    text = f"“{text}”" if quote.quoted else text
    about = [one for one in said if one]
    if language == "zh":
        return f"{text}（{'，'.join(about)}）" if about else text
    return f"{text} ({', '.join(about)})" if about else text


def _resolved(span: TimeSpan, zone: tzinfo) -> str:
    """A time in words as the days it is."""
    first = day_of(span.start, zone)
    last = day_of(max(span.end - timedelta(microseconds=1), span.start), zone)
    days = first if last <= first else f"{first} – {last}"
    return f"{span.text} = {days}"


def day_of(when: datetime, zone: tzinfo) -> str:
    """The day of an instant, in the user's zone."""
    with suppress(OverflowError):  # on the first or the last day there is
        when = when.astimezone(zone)
    return when.date().isoformat()
