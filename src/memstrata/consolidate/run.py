"""The verb `consolidate`: asks for the batch, waits for it, and says what it did."""

from __future__ import annotations

from memstrata.consolidate.batch import REQUEST, is_untidy
from memstrata.consolidate.derived import is_ours
from memstrata.consolidate.profile import LABEL
from memstrata.ingest.add import settle
from memstrata.ingest.work import drain
from memstrata.kinds import Core
from memstrata.receipts import Consolidation
from memstrata.records import Change, Receipt, Scope
from memstrata.runtime import Runtime, new_id
from memstrata.store.ports import NewBatch, View
from memstrata.store.views import Listing
from memstrata.themes import keep

__all__ = ["consolidate"]

_OWN_WORDS = (
    "the core block 'profile' is in somebody's own words: it is left as it is, and none is made"
)


async def consolidate(
    runtime: Runtime, scope: Scope, *, rebuild_themes: bool = False
) -> Consolidation:
    """Tidy one scope, in its turn: one batch at a time is worked on, by whichever process."""
    view = View((scope,))
    receipt = Receipt(batch_id="", state="done")
    await drain(runtime, scope)  # what waits may bring more to tidy
    if await is_untidy(runtime, scope):
        request = NewBatch(
            new_id("batch"),
            "consolidate",
            "consolidate",
            runtime.now(),
            "pending",
            request={"infer": False, REQUEST: "all"},
        )
        await runtime.store.apply(scope, request, [])
        receipt = await settle(runtime, scope, Receipt(batch_id=request.id, state="pending"))
    changes = receipt.changes
    again = await (_rebuilt if rebuild_themes else _tidied)(runtime, scope)
    return Consolidation(
        batch_id=receipt.batch_id,
        state=receipt.state,
        reason=receipt.reason,
        duplicates=sum(change.op == "retire" for change in changes),
        lapsed_plans=sum(change.op == "end" for change in changes),
        digests=sum(_is_made(change) and not _is_core(change) for change in changes),
        profile=any(_is_made(change) and _is_core(change) for change in changes),
        themes=again,
        entities=await runtime.store.drop_orphans(scope),
        freed_bytes=await runtime.store.compact(),
        changes=changes,
        notes=await _notes(runtime, view),
    )


async def _tidied(runtime: Runtime, scope: Scope) -> dict[str, int]:
    fewer = await keep.tidy_themes(runtime, scope)
    return {"fewer": fewer} if fewer else {}


async def _rebuilt(runtime: Runtime, scope: Scope) -> dict[str, int]:
    return {"moved": await keep.rebuild_themes(runtime, scope)}


def _is_made(change: Change) -> bool:
    """Whether it wrote something that is derived."""
    return change.op in ("create", "update", "withdraw")


def _is_core(change: Change) -> bool:
    return change.target_id.startswith(f"{Core.prefix}_")


async def _notes(runtime: Runtime, view: View) -> list[str]:
    listing = Listing(1000, kinds=(Core.name_of_kind,), lifecycles=("current",))
    blocks = await runtime.store.list_records(view, listing)
    for block in blocks:
        if Core.label_of(block) == LABEL:
            versions = await runtime.store.versions(view, block.id)
            return [] if is_ours(block, versions) else [_OWN_WORDS]
    return []
