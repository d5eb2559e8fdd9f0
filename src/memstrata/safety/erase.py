"""`forget`: erase for good what one selection names."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.errors import InvalidInput, NotFound
from memstrata.ingest.distil import narrator
from memstrata.records import ErasureReceipt, Scope
from memstrata.runtime import Runtime
from memstrata.store.erase import Selection
from memstrata.store.filters import All, Filter

__all__ = ["Request", "forget"]


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `forget`, checked."""

    ids: tuple[str, ...] | None
    where: Filter | None
    session_id: str | None
    everything: bool
    dry_run: bool


async def forget(runtime: Runtime, scope: Scope, request: Request) -> ErasureReceipt:
    """Erase in the call's own scope only: an agent's call leaves what the user shares."""
    ways = (request.ids, request.where, request.session_id, request.everything or None)
    if sum(way is not None for way in ways) != 1:
        raise InvalidInput(
            "say what to forget in exactly one way: ids, filters, session_id or everything=True"
        )
    if request.where == All(()):
        raise InvalidInput("an empty filter would forget everything: pass everything=True for that")
    selection = Selection(request.ids, request.where, request.session_id, request.everything)
    narrate = narrator(await runtime.zone_of(scope))
    erased, clean = await runtime.store.erase(scope, selection, narrate, dry_run=request.dry_run)
    if request.ids and not erased.ids:
        named = ", ".join(key[:40] for key in request.ids[:5])
        raise NotFound(f"none of these ids is in this scope: {named}")
    return ErasureReceipt(
        state="dry_run" if request.dry_run else "done" if clean else "pending",
        reason=None
        if clean
        else "the rows are gone; their bytes still stand in the journal, because a reader holds an "
        "older view or the disk refused: forget again, or close every handle, to empty it",
        messages=erased.messages,
        records=erased.records,
        versions=erased.versions,
        chunks=erased.chunks,
        ids=list(erased.ids),
    )
