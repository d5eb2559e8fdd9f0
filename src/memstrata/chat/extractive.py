"""Answers without a model: the words that support one best, quoted, with who said them and when.

Nothing is put into other words. Counts and timelines are worked out from records; a fact that is
past is never given as current; where the evidence is too weak, memory does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

import anyio

from memstrata.answers import Answer, Citation, Searched
from memstrata.chat.agent import UNKNOWN, Asked
from memstrata.chat.progress import tell
from memstrata.chat.quotes import as_line, day_of, quotes
from memstrata.chat.shown import cited
from memstrata.models.spending import Meter
from memstrata.models.wording import Language, language_of
from memstrata.recall import find as finding
from memstrata.recall.count import Count, count_things
from memstrata.recall.intent import read_intent
from memstrata.recall.score import RELATED
from memstrata.recall.stands_alone import asks
from memstrata.recall.timeline import Event, order_events
from memstrata.records import ContextItem, Hit, Scope, instant, micros
from memstrata.runtime import Runtime
from memstrata.text.clean import shorten

__all__ = ["answer"]

_LOOKED_AT = 20
_OVERVIEW = 200
_QUOTE = 300
"""Characters of a quote."""
_EVENTS = 8

_TOLD: dict[Language, str] = {"en": "All right.", "zh": "好的。"}
_CANNOT_TELL: dict[Language, str] = {"en": "Memory cannot tell.", "zh": "记忆中看不出来。"}


@dataclass(frozen=True, slots=True)
class _Made:
    text: str
    hits: Sequence[Hit]
    """What it rests on."""
    known: bool = True
    note: str | None = None


async def answer(runtime: Runtime, scope: Scope, asked: Asked) -> Answer:
    """Answer the last turn in words that were said."""
    started = anyio.current_time()
    language = language_of(asked.last)
    intent = read_intent(asked.turns, now=asked.now, zone=asked.zone)
    if not intent.question or (asked.wording == "chat" and not asks(asked.last)):
        told = UNKNOWN if asked.wording == "ask" else _TOLD
        return Answer(text=told[language], known=False, confidence=0.0)
    # A record does not stand for its messages: what it leaves out may be what is asked for.
    search = finding.Asked(
        query=intent.question, zone=asked.zone, now=asked.now, limit=_LOOKED_AT, once=False
    )
    meter = Meter()
    found = await _find(runtime, scope, search, meter)
    searched = Searched(query=intent.question, hits=len(found.results))
    await tell("search", searched)
    made: _Made | None = None
    if found.plan.mode in ("count", "timeline"):
        wide = await _find(runtime, scope, replace(search, limit=_OVERVIEW), meter)
        made = _worked_out(asked, wide, language)
    if made is None:
        found = await _then(runtime, scope, asked, search, found, meter)
        made = await _quoted(runtime, scope, asked, found)
    made = made or _Made(UNKNOWN[language], [], known=False)
    looked_at = {hit.id: hit for hit in (*found.results, *made.hits)}
    await asked.note_reads([hit.record for hit in looked_at.values() if hit.record is not None])
    return Answer(
        text=made.text,
        known=made.known,
        confidence=found.results.confidence if made.known else 0.0,
        citations=_cited(made.hits),
        searches=[searched.model_copy(update={"hits": len(found.results)})],
        items=[_item(hit) for hit in looked_at.values()],
        notes=[*found.results.notes, *([made.note] if made.note else [])],
        ledger=meter.ledger((anyio.current_time() - started) * 1000),
    )


async def _find(
    runtime: Runtime, scope: Scope, search: finding.Asked, meter: Meter
) -> finding.Answer:
    found = await finding.find_planned(runtime, scope, search)
    meter.embedding_calls += found.results.ledger.embedding_calls
    return found


async def _then(
    runtime: Runtime,
    scope: Scope,
    asked: Asked,
    search: finding.Asked,
    found: finding.Answer,
    meter: Meter,
) -> finding.Answer:
    """What was found, or else what was so in the time the question names."""
    window = found.plan.window
    if found.results.answerable or window is None or window[1] > micros(asked.now):
        return found
    then = await _find(runtime, scope, replace(search, as_of=instant(window[1] - 1)), meter)
    return then if then.results.answerable else found


async def _quoted(
    runtime: Runtime, scope: Scope, asked: Asked, found: finding.Answer
) -> _Made | None:
    if not found.results.answerable:
        return None
    chosen = await quotes(runtime, scope, asked, found)
    when, language = found.plan.asks_when, language_of(asked.last)
    lines = [as_line(one, asked.zone, language, when=when) for one in chosen]
    return _Made("\n".join(lines), [one.hit for one in chosen]) if chosen else None


def _cited(hits: Iterable[Hit]) -> list[Citation]:
    once = {hit.id: hit for hit in hits}
    return [cited(hit) for hit in once.values()]


def _item(hit: Hit) -> ContextItem:
    return ContextItem(
        id=hit.id,
        kind=hit.kind or hit.stratum,
        text=hit.text,
        occurred_at=hit.occurred_at,
        score=hit.score,
        tokens=0,
    )


# ── worked out ───────────────────────────────────────────────────────────────────────────────


def _worked_out(asked: Asked, found: finding.Answer, language: Language) -> _Made | None:
    """A number, or events in order of time; None where there is nothing of it."""
    hits = found.results.hits
    by_id = {hit.id: hit for hit in hits}
    if found.plan.mode == "count":
        counted = count_things(found.plan.query, hits, found.plan, asked.zone)
        shown = [by_id[one] for item in counted.items for one in item.ids if one in by_id]
        if counted.value is None:
            return _Made(_CANNOT_TELL[language], [], known=False, note=counted.note)
        return _Made(_counted(counted), shown, note=counted.note)
    if not found.results.answerable:
        return None
    least = max(RELATED, max((hit.score for hit in hits), default=0.0) / 2)
    strong = [hit for hit in hits if hit.score >= least]
    events = order_events(strong, found.plan.window, asked.zone, most=_EVENTS)
    if not events:
        return None
    lines = [_event(event, asked.zone) for event in events]
    return _Made("\n".join(lines), [by_id[event.id] for event in events])


def _counted(counted: Count) -> str:
    things = "; ".join(dict.fromkeys(shorten(item.text, _QUOTE) for item in counted.items))
    return f"{counted.value}: {things}" if things else str(counted.value)


def _event(event: Event, zone: tzinfo) -> str:
    return f"{day_of(event.when, zone)}: {shorten(event.text, _QUOTE)}"
