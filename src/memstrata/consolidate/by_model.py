"""What a language model does of a consolidation; what it does not do, the rules have done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial

import anyio.to_thread

from memstrata.consolidate.asking import Asking
from memstrata.consolidate.decide import Decided, decide
from memstrata.consolidate.derived import Derived, Key, sources_of
from memstrata.consolidate.judge import day_of, judge
from memstrata.consolidate.pairs import Pair, are_namesakes, pairs
from memstrata.consolidate.profile import PROFILE
from memstrata.consolidate.told import told
from memstrata.records import Change, Record, Scope
from memstrata.runtime import Runtime
from memstrata.store.ports import View

__all__ = ["COMPARED", "candidates", "compared", "rewritten", "undecided"]

COMPARED = "compared by "
"""What the reasons of changes begin with that a model's judgement of two facts led to."""
_MOST_DIGESTS = 24
"""Of one consolidation, a call each: the newest. The next one goes on."""


async def candidates(runtime: Runtime, scope: Scope, records: Sequence[Record]) -> list[Pair]:
    """The pairs of records that a model should judge."""
    model, embedder = runtime.model, runtime.embedder
    ids = [record.id for record in records]
    found = await runtime.store.comparable(scope, model or 0, ids if model else [])
    relate = embedder.relate if embedder is not None and model is not None else None
    look = partial(pairs, records, found.vectors, relate, found.judged.keys())
    return await anyio.to_thread.run_sync(look)


async def compared(asking: Asking, found: Sequence[Pair], zone: tzinfo) -> Decided:
    """What becomes of pairs, once the model has judged them."""
    return decide(await judge(asking, found, zone), f"{COMPARED}{asking.model.id}")


async def rewritten(asking: Asking, wanted: Mapping[Key, Derived]) -> dict[Key, Derived]:
    """The profile and the newest digests as the model writes them."""
    made: dict[Key, Derived] = {}
    newest = sorted(wanted, key=lambda key: _place(key, wanted[key]), reverse=True)
    most = _MOST_DIGESTS + (PROFILE in wanted)
    for key in newest[:most]:
        rules = wanted[key]
        made[key] = await told(asking, key, sources_of(rules.model), rules)
    asking.leave("digests", len(newest[most:]))
    return made


def _place(key: Key, one: Derived) -> tuple[bool, datetime | None, str]:
    begun = one.model.occurred_at
    return key == PROFILE, begun, key[0]


async def undecided(
    runtime: Runtime, scope: Scope, batch_id: str, changes: Sequence[Change]
) -> list[str]:
    """The pairs that a batch found to contradict each other, or to mean two things by one name, and
    that the rules for change leave as they are: each in words.

    What a name has meant is kept as it was meant, each in its time.
    """
    if runtime.llm is None or not batch_id:
        return []
    found = (await runtime.store.comparable(scope, 0, [])).judged
    changed = {change.target_id for change in changes}
    open_pairs = [
        (pair, verdict)
        for pair, (verdict, by) in found.items()
        if by == batch_id and verdict in ("contradict", "changed") and not changed & {*pair}
    ]
    ids = sorted({one for pair, _ in open_pairs for one in pair})
    records = await runtime.store.get(View((scope,)), ids) if ids else {}
    zone = await runtime.zone_of(scope)
    notes: list[str] = []
    for pair, verdict in open_pairs:
        both = [one for one in map(records.get, pair) if isinstance(one, Record)]
        if len(both) == 2:
            notes.append(_in_words(both, verdict, zone))
    return notes


def _in_words(both: Sequence[Record], verdict: str, zone: tzinfo) -> str:
    first, second = sorted(both, key=lambda one: (_times(one)[0], one.created_at))
    told = " and ".join(f"{one.id} ({_span(one, zone)})" for one in (first, second))
    if are_namesakes(first, second):
        return f"{first.title!r} means two things, each in its time; both are kept: {told}"
    what = "contradict each other" if verdict == "contradict" else "may tell of a change"
    return f"two memories {what}; nothing says that both cannot be so, and both are kept: {told}"


def _span(record: Record, zone: tzinfo) -> str:
    """When it is known to have been so."""
    begun, ended = _times(record)
    since = f"since {day_of(begun, zone)}"
    return since if ended is None else f"{day_of(begun, zone)} to {day_of(ended, zone)}"


def _times(record: Record) -> tuple[datetime, datetime | None]:
    """From when to when something is so, as far as it is known."""
    return record.valid_from or record.occurred_at or record.created_at, record.valid_to
