"""`context`: what a model should know before it answers, found without being asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

import anyio

from memstrata.kinds import KINDS
from memstrata.passages import limits_of
from memstrata.recall.assemble import assemble
from memstrata.recall.find import Asked as Search
from memstrata.recall.find import find, strata_for
from memstrata.recall.plan import make_plan
from memstrata.records import Context, Hit, Ledger, Record, Scope, TimeSpan, instant
from memstrata.runtime import Runtime, view_of
from memstrata.store.views import Listing
from memstrata.text.analyse import fold, query_terms
from memstrata.turns import texts_of

__all__ = ["Asked", "build"]

_HITS = 40
_TURNS = 3
_FEW_TERMS = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of `context`, checked."""

    query: object
    zone: tzinfo
    max_tokens: int
    kinds: tuple[str, ...] | None
    now: datetime


def _question(query: object) -> str:
    """The last turn; when it says little by itself, the turns before it too."""
    turns = [text for text in texts_of(query) if fold(text).strip()]
    question = turns[-1] if turns else ""
    for earlier in reversed(turns[-_TURNS:-1]):
        if len(query_terms(question)) >= _FEW_TERMS:
            break
        question = f"{earlier}\n{question}"
    return question.strip()


async def build(runtime: Runtime, scope: Scope, asked: Asked) -> tuple[Context, list[Record]]:
    """Core memory whole, then what the last turns call for, within the budget.

    Beside the prompt the records that stand in it.
    """
    started = anyio.current_time()
    question = _question(asked.query)
    hits = await _always(runtime, scope, asked)
    calls = 0
    if question:
        search = Search(
            query=question,
            zone=asked.zone,
            now=asked.now,
            kinds=asked.kinds,
            strata=strata_for(None, asked.kinds),
            limit=_HITS,
        )
        results = await find(runtime, scope, search)
        shown = {hit.id for hit in hits}
        said: set[str] = set() if isinstance(asked.query, str) else set(texts_of(asked.query))
        hits += [hit for hit in results if hit.id not in shown and hit.text not in said]
        calls = results.ledger.embedding_calls
    count = limits_of(runtime.embedder).count
    made = assemble(hits, max_tokens=asked.max_tokens, count=count, zone=asked.zone)
    plan = make_plan(question, now=asked.now, zone=asked.zone, speakers={})
    spent = (anyio.current_time() - started) * 1000
    inside = {item.id for item in made.items}
    shown = [hit.record for hit in hits if hit.record is not None and hit.id in inside]
    context = made.model_copy(
        update={
            "topics": [word.term for word in plan.words],
            "window": _window(plan.window, plan.window_text),
            "ledger": Ledger(embedding_calls=calls, milliseconds=spent),
        }
    )
    return context, shown


def _window(window: tuple[int, int] | None, text: str | None) -> TimeSpan | None:
    if window is None:
        return None
    return TimeSpan(start=instant(window[0]), end=instant(window[1]), text=text or "")


async def _always(runtime: Runtime, scope: Scope, asked: Asked) -> list[Hit]:
    """Every record, true now, of the kinds that are always shown."""
    kinds = asked.kinds
    wanted = tuple(k for k in KINDS if KINDS[k].always and (kinds is None or k in kinds))
    if not wanted:
        return []
    listing = Listing(limit=1000, kinds=wanted, lifecycles=("current",))
    page = await runtime.store.list_records(view_of(scope), listing)
    return [_as_hit(record) for record in page.items if _holds(record, asked.now)]


def _holds(record: Record, now: datetime) -> bool:
    begun = record.valid_from is None or record.valid_from <= now
    ends = [end for end in (record.valid_to, record.expires_at) if end is not None]
    return begun and all(now < end for end in ends)


def _as_hit(record: Record) -> Hit:
    return Hit(
        id=record.id,
        stratum="records",
        kind=record.kind,
        text=record.text,
        occurred_at=record.occurred_at,
        score=1.0,
        evidence=record.evidence,
        record=record,
    )
