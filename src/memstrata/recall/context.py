"""`context`: what a model should know before it answers, found without being asked for.

The last turns say what to look for; of what is found, representatives stand for what is alike;
and of those, down to the original words, what pays is put before the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from itertools import combinations
from typing import Literal

import anyio
import numpy as np
from numpy.typing import NDArray

from memstrata.errors import BudgetExceeded, ModelFailed
from memstrata.kinds import KINDS
from memstrata.models.spending import Meter
from memstrata.passages import limits_of
from memstrata.recall.assemble import Dropped, assemble
from memstrata.recall.find import Answer, find_planned, strata_for
from memstrata.recall.find import Asked as Search
from memstrata.recall.gate import GAIN, Gate, Offer, ShareGate, admit, shares
from memstrata.recall.intent import Intent, read_intent, with_question
from memstrata.recall.likelihood import LikelihoodGate
from memstrata.recall.plan import make_plan
from memstrata.recall.rewrite import rewrite
from memstrata.recall.score import RELATED
from memstrata.recall.select import Selection, redundancy, select
from memstrata.recall.stands_alone import asks
from memstrata.records import TRUST_RANK, Context, Evidence, Hit, Record, Results, Scope
from memstrata.runtime import Recalled, Runtime, view_of
from memstrata.store.items import STRATA
from memstrata.store.views import Listing
from memstrata.text.analyse import terms
from memstrata.turns import said_by, texts_of

__all__ = ["UNRELATED", "Asked", "Gathered", "Weighing", "build", "gather"]

Weighing = Literal["share", "model"]
"""How it is decided what pays: by its share of the evidence, or by drafts of a model."""

_POOL = 60
"""How many candidates representatives are chosen from."""
_TELLING = 0.5
"""The weight from which a term of the question is one of the things it asks for."""
_OVERVIEW = frozenset(STRATA[name] for name in ("records", "episodes", "themes"))
_THEMES, _MEMBERS = 5, 20
"""For an overview: how many themes, and how many of their records, join the candidates."""
_SHORT, UNRELATED = 12, 0.1
"""Of a question of at most so many words: the score below which a hit without any of them has
nothing to do with it. The best hits of half of MADial-Bench's dialogues, which tell something
rather than ask, are below it and right."""
_FEW = 10
"""How many hits are looked at where the best one is below what a question's best hits reach."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of `context`, checked."""

    query: object
    zone: tzinfo
    max_tokens: int
    kinds: tuple[str, ...] | None
    now: datetime
    how: Selection = "discounted"
    gain: float = GAIN
    """The least gain for which something is added; 0 adds all there is."""
    rewrite: bool = False
    """Whether a model makes the last turn a question that stands alone."""
    gate: Weighing = "share"


@dataclass(slots=True)
class Gathered:
    """What is to be put before the model, the most important first, and what is not, and why."""

    intent: Intent
    alternatives: tuple[str, ...] = ()
    """What was searched for beside the question."""
    always: list[Hit] = field(default_factory=list[Hit])
    """Core memory."""
    hits: list[Hit] = field(default_factory=list[Hit])
    dropped: list[Dropped] = field(default_factory=list[Dropped])
    answerable: bool = False
    confidence: float = 0.0
    notes: list[str] = field(default_factory=list[str])


async def build(runtime: Runtime, scope: Scope, asked: Asked) -> tuple[Context, list[Record]]:
    """Core memory whole, then what the last turns call for, within the budget.

    Beside the prompt the records that stand in it.
    """
    started = anyio.current_time()
    meter = Meter()
    found = await gather(runtime, scope, asked, meter)
    hits = [*found.always, *found.hits]
    count = limits_of(runtime.embedder).count
    made = assemble(
        hits, max_tokens=asked.max_tokens, count=count, zone=asked.zone, dropped=found.dropped
    )
    inside = {item.id for item in made.items}
    shown = [hit.record for hit in hits if hit.record is not None and hit.id in inside]
    context = made.model_copy(
        update={
            "topics": list(found.intent.topics),
            "window": found.intent.window,
            "ledger": meter.ledger((anyio.current_time() - started) * 1000),
            "notes": found.notes,
        }
    )
    return context, shown


async def gather(runtime: Runtime, scope: Scope, asked: Asked, meter: Meter) -> Gathered:
    """All that the last turns call for, before any budget."""
    turns = said_by(asked.query)
    found = Gathered(read_intent(turns, now=asked.now, zone=asked.zone))
    if asked.rewrite and found.intent.question:
        await _rewritten(runtime, asked, turns, found, meter)
    found.always = await _always(runtime, scope, asked)
    if found.intent.question:
        await _choose(runtime, scope, asked, found, meter)
        seen = runtime.recalled.setdefault(scope, Recalled())
        seen.note(len(found.hits) + len(found.dropped), len(found.hits))
    return found


async def _rewritten(
    runtime: Runtime,
    asked: Asked,
    turns: Sequence[tuple[str, str]],
    found: Gathered,
    meter: Meter,
) -> None:
    """Let the model say what to search for; where it cannot, the rules have said it."""
    if runtime.llm is None:
        found.notes.append("the question was made by rules: there is no language model")
        return
    try:
        made = await rewrite(runtime.llm.chat, turns, now=asked.now, zone=asked.zone, meter=meter)
    except (ModelFailed, BudgetExceeded) as error:
        found.notes.append(f"the question was made by rules, for the model failed: {error}")
        return
    found.intent = with_question(found.intent, made.question, now=asked.now, zone=asked.zone)
    found.alternatives = made.alternatives


async def _choose(
    runtime: Runtime, scope: Scope, asked: Asked, found: Gathered, meter: Meter
) -> None:
    question = found.intent.question
    answer = await _searched(runtime, scope, asked, found, meter)
    found.answerable, found.confidence = answer.results.answerable, answer.results.confidence
    said: set[str] = set() if isinstance(asked.query, str) else set(texts_of(asked.query))
    shown = {hit.id for hit in found.always}
    hits = await _with_members(runtime, scope, list(answer.results))
    fresh = [hit for hit in hits if hit.id not in shown and hit.text not in said]
    words = frozenset(one.term for one in answer.plan.words if one.weight >= _TELLING)
    pool, others = _related(asked, question, words, fresh)
    dropped = [Dropped(hit, "has nothing to do with it") for hit in others]
    likeness = _likeness(runtime, pool, answer)
    scores = np.array([hit.score for hit in pool], np.float64)
    order = select(scores, likeness, asked.how, terms=len(answer.plan.words))
    gate = _gate(runtime, asked, found, meter)
    taken = await _admitted(gate, question, pool, order, scores, likeness, words)
    if isinstance(gate, LikelihoodGate) and gate.note:
        found.notes.append(gate.note)
    rest = [at for at in order if at not in taken]
    found.hits = [pool[at] for at in order if at in taken]
    found.dropped = [Dropped(pool[at], _why(pool, likeness[at], taken)) for at in rest] + dropped


def _gate(runtime: Runtime, asked: Asked, found: Gathered, meter: Meter) -> Gate:
    share = ShareGate(asked.gain)
    if asked.gate == "share":
        return share
    if runtime.llm is None:
        found.notes.append("evidence was weighed without the model: there is no language model")
        return share
    return LikelihoodGate(runtime.llm.chat, meter, share)


async def _searched(
    runtime: Runtime, scope: Scope, asked: Asked, found: Gathered, meter: Meter
) -> Answer:
    """What is found for the question, and for other words for it."""
    question = found.intent.question
    search = Search(
        query=question,
        zone=asked.zone,
        now=asked.now,
        kinds=asked.kinds,
        strata=_strata(asked, question),
        limit=_POOL,
    )
    answer = await _find(runtime, scope, search, meter)
    if not any(hit.score >= UNRELATED for hit in answer.results) and search.strata == _OVERVIEW:
        search = replace(search, strata=strata_for(None, None))
        answer = await _find(runtime, scope, search, meter)
    for other in found.alternatives:
        also = await _find(runtime, scope, replace(search, query=other), meter)
        answer = _both(answer, also)
    found.notes += answer.results.notes
    return answer


async def _find(runtime: Runtime, scope: Scope, search: Search, meter: Meter) -> Answer:
    answer = await find_planned(runtime, scope, search, vectors=True)
    meter.embedding_calls += answer.results.ledger.embedding_calls
    return answer


def _both(one: Answer, other: Answer) -> Answer:
    """The first answer, with what else the other one has found; of each hit the better score."""
    best: dict[str, Hit] = {}
    for hit in (*one.results, *other.results):
        if hit.id not in best or best[hit.id].score < hit.score:
            best[hit.id] = hit
    hits = sorted(best.values(), key=lambda hit: -hit.score)[:_POOL]
    surer = one.results if one.results.confidence >= other.results.confidence else other.results
    results = Results(
        hits=hits,
        answerable=surer.answerable,
        confidence=surer.confidence,
        notes=one.results.notes,
    )
    return replace(one, results=results, vectors={**other.vectors, **one.vectors})


def _related(
    asked: Asked, question: str, words: frozenset[str], found: Sequence[Hit]
) -> tuple[list[Hit], list[Hit]]:
    """What may have to do with the turn, the best first, and the rest.

    Of a short question, what scores low and has no word of it does not. What is told in passing
    has few words of what it brings to mind, so that nothing is ruled out there. Where nothing
    stands out, a few will do.
    """
    if not asked.gain:
        return list(found), []
    short = len(words) <= _SHORT and asks(question)
    related = [
        hit
        for hit in found
        if not short or hit.score >= UNRELATED or words & frozenset(terms(hit.text))
    ]
    if related and related[0].score < RELATED:
        related = related[:_FEW]
    kept = {hit.id for hit in related}
    return related, [hit for hit in found if hit.id not in kept]


def _strata(asked: Asked, question: str) -> frozenset[int]:
    """What is looked through: for an overview not single messages, which have its words alone."""
    mode = make_plan(question, now=asked.now, zone=asked.zone, speakers={}).mode
    if asked.kinds is None and mode == "overview":
        return _OVERVIEW
    return strata_for(None, asked.kinds)


async def _with_members(runtime: Runtime, scope: Scope, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, best first, with records of the best themes found in place of these."""
    themes = [hit for hit in hits if hit.theme is not None and hit.score >= RELATED][:_THEMES]
    others = [hit for hit in hits if hit.theme is None]
    known = {hit.id for hit in others}
    led = {e.source_id: hit.score for hit in reversed(themes) for e in hit.evidence}
    fresh = [record_id for record_id in led if record_id not in known][:_MEMBERS]
    if fresh:
        found = await runtime.store.get(view_of(scope), fresh)
        records = [one for one in found.values() if isinstance(one, Record)]
        others += [_as_hit(one, led[one.id]) for one in records if _holds(one, runtime.clock())]
    return sorted(others, key=lambda hit: -hit.score)


async def _admitted(
    gate: Gate,
    question: str,
    pool: Sequence[Hit],
    order: Sequence[int],
    scores: NDArray[np.float64],
    likeness: NDArray[np.float64],
    words: frozenset[str],
) -> set[int]:
    """The places in the pool of what pays: of the records, then of episodes, then of messages."""
    share = shares(scores)
    offers = [
        Offer(
            at,
            hit.text,
            float(share[at]),
            words & frozenset(terms(hit.text)),
            _trust(hit),
            likeness[at],
        )
        for at in order
        for hit in (pool[at],)
    ]
    stages = [
        [offer for offer in offers if pool[offer.key].record is not None],
        [offer for offer in offers if pool[offer.key].episode is not None],
        [offer for offer in offers if pool[offer.key].message is not None],
    ]
    return {offer.key for offer in await admit(gate, question, stages)}


def _trust(hit: Hit) -> int:
    source = hit.record or hit.message
    return min(TRUST_RANK.values()) if source is None else TRUST_RANK[source.trust]


def _likeness(runtime: Runtime, pool: Sequence[Hit], answer: Answer) -> NDArray[np.float64]:
    """How near any two are, in levels: 1 where one rests on the other, 0 without vectors and for
    facts that differ, however like their words."""
    count = len(pool)
    likeness = np.zeros((count, count))
    known = [at for at, hit in enumerate(pool) if hit.id in answer.vectors]
    if known and runtime.embedder is not None:
        vectors = np.stack([answer.vectors[pool[at].id] for at in known])
        likeness[np.ix_(known, known)] = runtime.embedder.relate(vectors @ vectors.T)
    places = {hit.id: at for at, hit in enumerate(pool)}
    for at, hit in enumerate(pool):
        for source in _repeated(hit):
            if (other := places.get(source.source_id)) is not None:
                likeness[at, other] = likeness[other, at] = 1.0
    records = [(at, hit.record) for at, hit in enumerate(pool) if hit.record is not None]
    for (at, one), (other, another) in combinations(records, 2):
        if _differ(one, another):
            likeness[at, other] = likeness[other, at] = 0.0
    np.fill_diagonal(likeness, 1.0)
    return likeness


def _repeated(hit: Hit) -> Sequence[Evidence]:
    """What a hit says again: a digest quotes a sentence of each, a theme or an episode less."""
    record = hit.record
    return [] if record is None or KINDS[record.kind].is_derived(record) else hit.evidence


def _differ(one: Record, other: Record) -> bool:
    """Whether two facts say different things of one matter, in much the same words."""
    if one.kind != other.kind:
        return False
    followed = one.id in (other.supersedes, other.superseded_by)
    return followed or KINDS[one.kind].contradicts(one, other)


def _why(pool: Sequence[Hit], likeness: NDArray[np.float64], taken: set[int]) -> str:
    """Why something was not taken."""
    nearest = max(taken, key=lambda at: likeness[at], default=None)
    if nearest is not None and redundancy(likeness[nearest]) >= 0.5:
        return f"says the same as {pool[nearest].id}"
    return "adds too little to what is there"


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


def _as_hit(record: Record, score: float = 1.0) -> Hit:
    return Hit(
        id=record.id,
        stratum="records",
        kind=record.kind,
        text=record.text,
        occurred_at=record.occurred_at,
        score=score,
        evidence=record.evidence,
        record=record,
    )
