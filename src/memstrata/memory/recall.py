"""Verbs that find what is remembered for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from memstrata.arguments import (
    check_choice,
    check_choices,
    check_flag,
    check_id,
    check_limit,
    check_number,
    check_text,
    check_texts,
    moment,
)
from memstrata.errors import InvalidInput
from memstrata.handle import Handle
from memstrata.kinds import KINDS
from memstrata.recall import context as contexts
from memstrata.recall import find as finding
from memstrata.recall.count import Count, count_things
from memstrata.recall.gate import GAIN
from memstrata.recall.score import RELATED
from memstrata.recall.select import SELECTIONS, Selection
from memstrata.recall.timeline import Event, order_events
from memstrata.records import (
    Context,
    Method,
    Results,
    Scope,
    Stratum,
)
from memstrata.store.filters import parse_filter

__all__ = ["Recalling"]

_Messages = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
_When = datetime | str | None


_OVERVIEW = 200
"""How many hits a timeline or a count looks at."""


def _gain(value: object) -> float:
    number = check_number("gain", value, most=1.0)
    if number is None:
        raise InvalidInput("gain is a number from 0 to 1, not None")
    return number


def _weighing(value: contexts.Weighing) -> contexts.Weighing:
    chosen: Any = value or ""
    return check_choice("gate", chosen, contexts.Weighing)


class Recalling(Handle):
    """Verbs that find what is remembered for a question."""

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        kinds: Sequence[str] | None = None,
        strata: Sequence[Stratum] | None = None,
        method: Method = "hybrid",
        search_fields: Sequence[str] = (),
        filters: Mapping[str, Any] | None = None,
        since: _When = None,
        until: _When = None,
        now: _When = None,
        as_of: _When = None,
        known_at: _When = None,
        session_id: str | None = None,
        limit: int = 10,
        threshold: float | None = None,
        explain: bool = False,
    ) -> Results:
        """Find what is remembered, best first, each hit with its signals and evidence.

        `as_of` asks what was true then, `known_at` what was known then. A blank query is
        `InvalidInput`, never everything.
        """
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        asked = finding.Asked(
            query=check_text("query", query),
            zone=zone,
            method=check_choice("method", method, Method),
            kinds=None if kinds is None else check_choices("kinds", kinds, KINDS),
            strata=finding.strata_for(strata, kinds),
            search_fields=check_texts("search_fields", search_fields),
            where=parse_filter(filters, zone),
            since=moment("since", since, zone),
            until=moment("until", until, zone),
            now=moment("now", now, zone) or self._runtime.clock(),
            as_of=moment("as_of", as_of, zone),
            known_at=moment("known_at", known_at, zone),
            session_id=check_id("session_id", session_id),
            limit=check_limit("limit", limit),
            threshold=check_number("threshold", threshold, most=1.0),
            explain=check_flag("explain", explain),
        )
        results = await finding.find(self._runtime, scope, asked)
        await self._note_reads("search", scope, (hit.record for hit in results))
        return results

    async def context(
        self,
        query: _Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        max_tokens: int = 6000,
        kinds: Sequence[str] | None = None,
        now: _When = None,
        select: Selection = "discounted",
        gain: float = GAIN,
        rewrite: bool = False,
        gate: contexts.Weighing = "share",
    ) -> Context:
        """What to put before a model for a question or a conversation, within a token budget.

        `str()` of it is the prompt text: a block per kind, each item with id, date, and trust, as
        data that cannot close its block. Of what is alike one is chosen, as `select` says, and
        something is added only while its share of the evidence, less what it repeats, is at least
        `gain`; with 0 until the budget is full. With `rewrite` a language model makes the last turn
        a question that stands alone, with `gate="model"` it drafts answers to see what pays; where
        it cannot, rules do and `notes` says so.
        """
        scope = self._scope(user_id, agent_id)
        zone = await self._runtime.zone_of(scope)
        built, shown = await contexts.build(
            self._runtime,
            scope,
            contexts.Asked(
                query=query,
                zone=zone,
                max_tokens=check_limit("max_tokens", max_tokens, most=1_000_000),
                kinds=None if kinds is None else check_choices("kinds", kinds, KINDS),
                now=moment("now", now, zone) or self._runtime.clock(),
                how=cast("Selection", check_choices("select", [select], SELECTIONS)[0]),
                gain=_gain(gain),
                rewrite=check_flag("rewrite", rewrite),
                gate=_weighing(gate),
            ),
        )
        await self._note_reads("context", scope, shown)
        notes = await self._note_cost(scope, built.ledger)
        return built.model_copy(update={"notes": [*built.notes, *notes]}) if notes else built

    async def timeline(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        since: _When = None,
        until: _When = None,
        now: _When = None,
        limit: int = 50,
    ) -> list[Event]:
        """The dated events that have to do with a question, in order of time, each once.

        In the time the question names, or between `since` and `until`; of more than `limit` the
        strongest.
        """
        scope = self._scope(user_id, agent_id)
        asked = await self._overview(scope, query, since=since, until=until, now=now)
        found = await finding.find_planned(self._runtime, scope, asked)
        best = max((hit.score for hit in found.results), default=0.0)
        least = min(RELATED, best / 2) if found.plan.words else 0.0
        hits = [hit for hit in found.results if hit.score >= least]
        return order_events(hits, found.plan.window, asked.zone, most=check_limit("limit", limit))

    async def count(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        now: _When = None,
    ) -> Count:
        """How many there are of what a question asks the number of, with evidence for each.

        A `value` of None means that memory cannot tell, and `note` says why.
        """
        scope = self._scope(user_id, agent_id)
        asked = await self._overview(scope, query, since=None, until=None, now=now)
        found = await finding.find_planned(self._runtime, scope, asked)
        return count_things(asked.query, found.results.hits, found.plan, asked.zone)

    async def _overview(
        self, scope: Scope, query: str, *, since: _When, until: _When, now: _When
    ) -> finding.Asked:
        """A search for all that has to do with a question."""
        zone = await self._runtime.zone_of(scope)
        return finding.Asked(
            query=check_text("query", query),
            zone=zone,
            since=moment("since", since, zone),
            until=moment("until", until, zone),
            now=moment("now", now, zone) or self._runtime.clock(),
            limit=_OVERVIEW,
            once=False,
        )
