"""The Meta Memory Manager: decides which kinds are touched, and has their managers propose.

By the strategy `single` it proposes itself, in one call for each unit. By `managers` it routes, and
one manager per touched kind proposes, side by side: more calls, each with less to attend to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import anyio
from pydantic import JsonValue

from memstrata.errors import MemstrataError
from memstrata.ingest.managers.actions import (
    Actions,
    Drafted,
    Routing,
    actions_schema,
    drafted,
    numbers_in,
    routing_schema,
)
from memstrata.ingest.managers.prompting import prompt, version_of
from memstrata.ingest.managers.shown import Known, show
from memstrata.ingest.managers.units import Unit, kinds_in
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import KINDS, text_of
from memstrata.kinds.attributes import Language
from memstrata.models.chat import ChatModel, Prompt, Said
from memstrata.models.spending import Meter
from memstrata.models.typed import Malformed, obtain, read_as
from memstrata.text.analyse import repair
from memstrata.text.topics import is_chinese

__all__ = ["Desk", "Reading", "Strategy", "language_of", "read", "together"]

Strategy = Literal["single", "managers"]
T = TypeVar("T")

_MOST_TOKENS = 1500
_ITEM_TOKENS = 90
"""Of one memory, about; a small model that goes on and on is stopped by it."""
_ROUTE_TOKENS = 400


@dataclass(frozen=True, slots=True)
class Desk:
    """What the managers work with."""

    model: ChatModel
    meter: Meter
    count: Callable[[str], int]
    """Tokens of a text."""
    strategy: Strategy = "single"


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of one unit."""

    proposals: tuple[Proposal, ...] = ()
    title: str | None = None
    summary: str | None = None
    refused: tuple[str, ...] = field(default=())
    """What was proposed and does not hold, and why."""


def language_of(unit: Unit) -> Language:
    """The language that the new messages are in, as far as there are prompts for it."""
    return "zh" if is_chinese(" ".join(line.text for line in unit.lines)) else "en"


async def read(desk: Desk, unit: Unit, known: Known, kinds: Sequence[str]) -> Reading:
    """What the model proposes to remember of one unit, in some kinds.

    Raises `ModelFailed` when it does not answer, or twice in a form that cannot be read, and
    `BudgetExceeded`.
    """
    language = language_of(unit)
    kinds = kinds_in(unit, kinds)
    if not kinds:
        return Reading()
    if desk.strategy == "managers":
        return await _by_managers(desk, unit, known, kinds, language)
    most = _most(unit, desk)
    asked = Prompt(
        purpose="extract",
        system=prompt("single", language, known=bool(known.aliases), kinds=_hints(kinds, language)),
        turns=(Said("user", show(unit, known, language, desk.count)),),
        schema=actions_schema(kinds, len(unit.lines), [*known.aliases], told=True, most=most),
        max_tokens=_room(most),
    )
    actions, made = await obtain(
        desk.model, asked, lambda text: _actions(text, unit, known, kinds, language), desk.meter
    )
    return Reading(
        _signed(made.proposals, version_of("single", language)),
        _told(actions.title),
        _told(actions.summary),
        made.refused,
    )


def _told(value: JsonValue) -> str | None:
    text = text_of(value)
    return text and repair(text)[0]


def _most(unit: Unit, desk: Desk) -> int:
    """How many memories the new messages may hold: one in every few words of them."""
    return min(40, 4 + sum(desk.count(line.text) for line in unit.lines) // 25)


def _room(most: int) -> int:
    """Tokens for a reply of so many memories, with title and summary."""
    return min(_MOST_TOKENS, 200 + _ITEM_TOKENS * most)


def _hints(kinds: Sequence[str], language: Language) -> str:
    return "\n".join(f"- {KINDS[kind].hint[language]}" for kind in kinds)


def _actions(
    text: str, unit: Unit, known: Known, kinds: Sequence[str], language: Language
) -> tuple[Actions, Drafted]:
    """A reply, read; `Malformed` where none of what it holds is sound."""
    actions = read_as(text, Actions)
    made = drafted(actions.memories, unit, known, kinds, language)
    if made.refused and not made.proposals:
        raise Malformed("; ".join(made.refused[:5]))
    return actions, made


def _signed(proposals: Sequence[Proposal], version: str) -> tuple[Proposal, ...]:
    """The proposals with the prompt that they came of."""
    return tuple(replace(one, reason=f"{one.reason}, prompt {version}") for one in proposals)


# ── one manager per kind ─────────────────────────────────────────────────────────────────────


async def _by_managers(
    desk: Desk, unit: Unit, known: Known, kinds: Sequence[str], language: Language
) -> Reading:
    asked = Prompt(
        purpose="route",
        system=prompt("route", language, kinds=_hints(kinds, language)),
        turns=(Said("user", show(unit, known, language, desk.count)),),
        schema=routing_schema(kinds, len(unit.lines)),
        max_tokens=_ROUTE_TOKENS,
    )
    routing, shares = await obtain(
        desk.model, asked, lambda text: _shares(text, unit, kinds), desk.meter
    )
    made = await together(
        [
            lambda kind=kind, numbers=numbers: _manage(desk, unit, known, kind, numbers, language)
            for kind, numbers in shares.items()
        ]
    )
    return Reading(
        tuple(proposal for one in made for proposal in one.proposals),
        _told(routing.title),
        _told(routing.summary),
        tuple(why for one in made for why in one.refused),
    )


def _shares(
    text: str, unit: Unit, kinds: Sequence[str]
) -> tuple[Routing, dict[str, tuple[int, ...]]]:
    """Which kinds are touched, and by which messages; of an unknown kind nothing is kept."""
    routing = read_as(text, Routing)
    numbers = {line.number for line in unit.lines}
    shares: dict[str, tuple[int, ...]] = {}
    for item in routing.kinds:
        kind, given = _share(item)
        if kind in kinds:
            named = tuple(number for number in given if number in numbers)
            shares[kind] = (*shares.get(kind, ()), *(named or sorted(numbers)))
    if routing.kinds and not shares:
        raise Malformed(f"none of these kinds is one of {', '.join(kinds)}")
    return routing, shares


def _share(item: JsonValue) -> tuple[str, list[int]]:
    if isinstance(item, str):
        return item.casefold().removesuffix("_memory"), []
    if not isinstance(item, dict):
        return "", []
    kind = str(item.get("kind") or "").casefold().removesuffix("_memory")
    return kind, numbers_in(item.get("from"))


async def _manage(
    desk: Desk,
    unit: Unit,
    known: Known,
    kind: str,
    numbers: Sequence[int],
    language: Language,
) -> Drafted:
    """One manager's proposals from its share of the messages, which alone they may rest on."""
    own = known.of_kinds([kind])
    most = _most(unit, desk)
    share = replace(unit, lines=tuple(one for one in unit.lines if one.number in numbers))
    asked = Prompt(
        purpose=f"manage {kind}",
        system=prompt(
            "manager",
            language,
            known=bool(own.aliases),
            kind=kind,
            kinds=_hints([kind], language),
        ),
        turns=(Said("user", show(unit, own, language, desk.count, numbers=numbers)),),
        schema=actions_schema([kind], len(unit.lines), [*own.aliases], told=False, most=most),
        max_tokens=_room(most),
    )
    _, made = await obtain(
        desk.model, asked, lambda text: _actions(text, share, own, [kind], language), desk.meter
    )
    return Drafted(_signed(made.proposals, version_of("manager", language)), made.refused)


async def together(calls: Sequence[Callable[[], Awaitable[T]]], most: int = 4) -> list[T]:
    """The results of calls made side by side, in order; the first failure, when all have ended."""
    results: dict[int, T] = {}
    failed: dict[int, MemstrataError] = {}
    limit = anyio.CapacityLimiter(most)

    async def run(place: int, call: Callable[[], Awaitable[T]]) -> None:
        async with limit:
            try:
                results[place] = await call()
            except MemstrataError as error:
                failed[place] = error

    async with anyio.create_task_group() as group:
        for place, call in enumerate(calls):
            group.start_soon(run, place, call)
    if failed:
        raise failed[min(failed)]
    return [results[place] for place in range(len(calls))]
