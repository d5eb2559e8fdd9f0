"""`search`: plan, candidates, score, and the rows behind the best, as hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any, get_args

import anyio
import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from memstrata.arguments import check_choices
from memstrata.errors import InvalidInput, ModelFailed
from memstrata.kinds import KINDS
from memstrata.models.base import Embedder
from memstrata.passages import chunk, limits_of
from memstrata.recall.plan import Plan, make_plan
from memstrata.recall.score import WEIGHTS, Scored, score
from memstrata.records import (
    Episode,
    Evidence,
    Hit,
    JsonObject,
    Ledger,
    Method,
    Results,
    Scope,
    Stratum,
    Theme,
    micros,
)
from memstrata.runtime import Runtime, view_of
from memstrata.store.filters import Filter
from memstrata.store.items import SENSITIVITIES, STRATA
from memstrata.store.ports import Found
from memstrata.store.scope_index import Candidates, Query
from memstrata.store.search import SearchRequest
from memstrata.text.analyse import fold, repair, term_hash, terms
from memstrata.text.names import names

__all__ = ["Answer", "Asked", "find", "find_planned", "strata_for"]

_EVER = (-(2**63), 2**63 - 1)
_LEAST_CANDIDATES = 60
_TELLS_AS_MUCH = 0.5
"""The share of its message's score from which a record says what the message was found for."""
_DEFAULT = frozenset((STRATA["messages"], STRATA["records"]))


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of `search`, checked."""

    query: str
    zone: tzinfo
    now: datetime
    method: Method = "hybrid"
    kinds: tuple[str, ...] | None = None
    strata: frozenset[int] = _DEFAULT
    search_fields: tuple[str, ...] = ()
    where: Filter | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    session_id: str | None = None
    limit: int = 10
    threshold: float | None = None
    explain: bool = False
    dense: bool = True
    """Whether the query is embedded; without, keywords and names find what they can."""
    once: bool = True
    """Whether a record takes the place of the messages it rests on."""


def strata_for(strata: Sequence[Stratum] | None, kinds: Sequence[str] | None) -> frozenset[int]:
    """The strata to search: those named; else records of the kinds named; else what was said and
    what is known from it, each piece of information once."""
    if strata is not None:
        return frozenset(STRATA[name] for name in check_choices("strata", strata, STRATA))
    return frozenset((STRATA["records"],)) if kinds is not None else _DEFAULT


@dataclass(slots=True)
class _Ranking:
    """What the pure core decides inside the store's snapshot, kept for making the hits."""

    asked: Asked
    vector: NDArray[np.float32] | None
    runtime: Runtime
    rows: int
    plan: Plan | None = None
    scored: Scored | None = None
    place: dict[int, int] = field(default_factory=dict[int, int])
    """`seq` of a chosen candidate → its position among the candidates."""

    def query(self, speakers: Mapping[str, int]) -> Query:
        asked = self.asked
        plan = make_plan(asked.query, now=asked.now, zone=asked.zone, speakers=speakers)
        self.plan = plan
        literal = asked.method == "string_match"
        kinds = None if asked.kinds is None else frozenset(KINDS[k].code for k in asked.kinds)
        return Query(
            terms=() if asked.method == "embedding" else plan.terms,
            alternatives=() if asked.method == "embedding" else plan.alternatives,
            vector=self.vector,
            speaker=plan.speaker,
            window=_EVER if literal or not plan.terms else plan.window,
            per_channel=max(4 * asked.limit, _LEAST_CANDIDATES),
            now=micros(asked.now),
            as_of=_micros(asked.as_of),
            known_at=_micros(asked.known_at),
            since=_micros(asked.since),
            until=_micros(asked.until),
            strata=asked.strata,
            kinds=kinds,
            session=_session(asked.session_id),
            sensitivity=SENSITIVITIES["high" if asked.kinds else "medium"],
        )

    def rank(self, candidates: Candidates) -> list[int]:
        assert self.plan is not None
        embedder = self.runtime.embedder
        calibrate = _unchanged if embedder is None else embedder.calibrate
        # A question of signs only has no terms to rank by: the store matches it literally.
        wordless = self.asked.method == "bm25" or self.vector is None
        literal = self.asked.method in ("bm25", "hybrid") and wordless and not self.plan.terms
        method = "string_match" if literal else self.asked.method
        weights = {**WEIGHTS, **self.runtime.weights}
        self.scored = score(candidates, self.plan, calibrate, method=method, weights=weights)
        groups: set[int] = set()
        for position in self.scored.order:
            if not candidates.wanted[position]:
                continue
            group, value = int(candidates.group[position]), float(self.scored.score[position])
            if group in groups or (self.asked.threshold or 0.0) > value:
                continue
            groups.add(group)
            self.place[int(candidates.seq[position])] = int(position)
            if len(groups) == self.rows:
                break
        return list(self.place)

    def hit(self, found: Found) -> Hit:
        assert self.scored is not None
        position = self.place[found.seq]
        value = float(self.scored.score[position])
        return _hit(found, value, self.scored.signals_of(position))

    def results(self, hits: list[Hit], notes: list[str], ledger: Ledger) -> Results:
        """What `search` returns."""
        assert self.scored is not None and self.plan is not None
        weighed: JsonObject = {**WEIGHTS, **self.runtime.weights}
        return Results(
            hits=hits,
            answerable=self.scored.answerable and bool(hits),
            confidence=self.scored.confidence if hits else 0.0,
            ledger=ledger,
            notes=notes,
            plan={**self.plan.to_dict(), "weights": weighed} if self.asked.explain else None,
        )


def _unchanged(cosines: NDArray[Any]) -> NDArray[Any]:
    """What stands for a calibration where there are no vectors: all are not a number."""
    return cosines


def _hit(found: Found, value: float, signals: dict[str, float]) -> Hit:
    if found.message is not None:
        message = found.message
        return Hit(
            id=message.id,
            stratum="messages",
            text=message.content if found.whole else message.content[found.start : found.stop],
            occurred_at=message.occurred_at,
            score=value,
            signals=signals,
            message=message,
        )
    if found.episode is not None:
        return _told(found.episode, value, signals)
    if found.theme is not None:
        return _grouped(found.theme, value, signals)
    record = found.record
    assert record is not None
    return Hit(
        id=record.id,
        stratum="records",
        kind=record.kind,
        text=record.text if found.whole else record.text[found.start : found.stop],
        occurred_at=record.valid_from or record.occurred_at,
        score=value,
        signals=signals,
        evidence=record.evidence,
        record=record,
    )


def _told(episode: Episode, value: float, signals: dict[str, float]) -> Hit:
    return Hit(
        id=episode.id,
        stratum="episodes",
        text=episode.text,
        occurred_at=episode.started_at,
        score=value,
        signals=signals,
        evidence=[Evidence(source_id=message_id) for message_id in episode.message_ids],
        episode=episode,
    )


def _grouped(theme: Theme, value: float, signals: dict[str, float]) -> Hit:
    return Hit(
        id=theme.id,
        stratum="themes",
        text=theme.text,
        occurred_at=theme.ended_at,
        score=value,
        signals=signals,
        evidence=[Evidence(source_id=record_id) for record_id in theme.record_ids],
        theme=theme,
    )


def _micros(when: datetime | None) -> int | None:
    return None if when is None else micros(when)


def _session(session_id: str | None) -> int:
    return term_hash(session_id) if session_id else 0


def _literals(asked: Asked) -> tuple[str, ...] | None:
    """The folded texts one of which must stand in the row; None when nothing must."""
    _check_fields(asked)
    if asked.method == "string_match":
        return (fold(asked.query),)
    if asked.search_fields:
        return tuple(word for word in map(fold, asked.query.split()) if word)
    if asked.method in ("hybrid", "bm25") and not terms(asked.query):
        return (fold(asked.query),)
    return None


def _check_fields(asked: Asked) -> None:
    if not asked.search_fields:
        return
    if asked.method == "embedding":
        raise InvalidInput(
            "search_fields needs words to look for: use method hybrid, bm25 or string_match"
        )
    known = {"title", "text"}.union(*(kind.own_fields() for kind in KINDS.values()))
    check_choices("search_fields", asked.search_fields, known)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found, and how the question was understood."""

    results: Results
    plan: Plan
    vectors: Mapping[str, NDArray[np.float32]]
    """By the id of a hit, if they were asked for; of what has one."""


async def find(runtime: Runtime, scope: Scope, asked: Asked) -> Results:
    """Search one scope; the strongest hits first."""
    return (await find_planned(runtime, scope, asked)).results


async def find_planned(
    runtime: Runtime, scope: Scope, asked: Asked, *, vectors: bool = False
) -> Answer:
    """The same, with how the question was understood."""
    started = anyio.current_time()
    asked = replace(asked, query=repair(asked.query)[0])
    if asked.method not in get_args(Method):
        raise InvalidInput(f"method is one of {', '.join(get_args(Method))}, not {asked.method!r}")
    if not fold(asked.query).strip():
        raise InvalidInput("query is blank: give at least one character that can be seen")
    literals = _literals(asked)
    vector, calls, notes = None, 0, []
    if asked.dense and asked.method in ("hybrid", "embedding"):
        vector, calls, notes = await _embed(runtime, asked)
    both = asked.strata >= {STRATA["messages"], STRATA["records"]}
    ranking = _Ranking(asked, vector, runtime, asked.limit * 2 if both else asked.limit)
    request = SearchRequest(
        view=view_of(scope),
        query=ranking.query,
        rank=ranking.rank,
        where=asked.where,
        literals=literals,
        fields=asked.search_fields,
        names=tuple(name.normal for name in names(asked.query)),
        similar=_similar(runtime) if asked.method == "hybrid" else None,
        vectors=vectors,
    )
    found = await runtime.store.search(request)
    hits = [ranking.hit(row) for row in found]
    beside = {hit.id: f.vector for hit, f in zip(hits, found, strict=True) if f.vector is not None}
    hits = (_once(hits) if asked.once else hits)[: asked.limit]
    spent = (anyio.current_time() - started) * 1000
    results = ranking.results(hits, notes, Ledger(embedding_calls=calls, milliseconds=spent))
    assert ranking.plan is not None
    return Answer(results, ranking.plan, beside)


def _similar(runtime: Runtime) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return _unchanged if runtime.embedder is None else runtime.embedder.calibrate


async def _embed(
    runtime: Runtime, asked: Asked
) -> tuple[NDArray[np.float32] | None, int, list[str]]:
    """The query's vector, calls to the model, and why there is none: then keywords must do."""
    if runtime.embedder is None or runtime.model is None:
        if asked.method == "embedding":
            raise InvalidInput(f"method embedding cannot be used here: {'; '.join(runtime.notes)}")
        return None, 0, list(runtime.notes)
    try:
        vector, calls = await anyio.to_thread.run_sync(_vector, runtime.embedder, asked.query)
    except ModelFailed as error:
        if asked.method == "embedding":
            raise
        return None, 1, [f"keyword search only, for the embedder failed: {error}"]
    return vector, calls, []


def _vector(embedder: Embedder, query: str) -> tuple[NDArray[np.float32], int]:
    """Of a query that is longer than the model takes: the mean of its pieces' vectors."""
    pieces = [query[part.start : part.end] for part in chunk(query, limits_of(embedder))]
    whole = np.sum([embedder.embed_query(piece) for piece in pieces], axis=0)
    return np.asarray(whole / (np.linalg.norm(whole) or 1.0), np.float32), len(pieces)


def _once(hits: Sequence[Hit]) -> list[Hit]:
    """Each piece of information once: a record in place of the best message it rests on.

    A message may say more than the record: where it answers far better, it stands for itself.
    """
    covering = {
        item.source_id: hit
        for hit in reversed(hits)
        if hit.record is not None and not KINDS[hit.record.kind].is_derived(hit.record)
        for item in hit.evidence
    }
    once: dict[str, Hit] = {}
    for hit in hits:
        shown = covering.get(hit.id, hit)
        if shown.score < _TELLS_AS_MUCH * hit.score:
            shown = hit
        if shown.id not in once:
            once[shown.id] = shown.model_copy(update={"score": max(shown.score, hit.score)})
    return list(once.values())
