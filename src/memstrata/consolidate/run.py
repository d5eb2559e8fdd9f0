"""The verb `consolidate`: asks for the batch, waits for it, and says what it did."""

from __future__ import annotations

from memstrata.consolidate.batch import REQUEST, is_untidy
from memstrata.consolidate.by_model import COMPARED, undecided
from memstrata.consolidate.decide import WAITS
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
    themes = _rebuilt if rebuild_themes else _tidied
    before: dict[str, int] = {}
    if runtime.llm is not None:  # so that a model names the themes that will be there
        before, themes = await themes(runtime, scope), _tidied
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
    again = await themes(runtime, scope)
    left = [receipt.reason] if receipt.state == "done" and receipt.reason else []
    return Consolidation(
        batch_id=receipt.batch_id,
        state=receipt.state,
        reason=None if left else receipt.reason,
        duplicates=sum(change.op == "retire" for change in changes),
        contradictions=sum(map(_contradicts, changes)),
        lapsed_plans=sum(change.op == "end" and not _contradicts(change) for change in changes),
        digests=sum(_is_made(change) and not _is_core(change) for change in changes),
        profile=any(_is_made(change) and _is_core(change) for change in changes),
        themes={key: before.get(key, 0) + again.get(key, 0) for key in {**before, **again}},
        entities=await runtime.store.drop_orphans(scope),
        freed_bytes=await runtime.store.compact(),
        changes=changes,
        notes=[
            *left,
            *await _notes(runtime, view),
            *await undecided(runtime, scope, receipt.batch_id, changes),
        ],
        ledger=receipt.ledger,
    )


async def _tidied(runtime: Runtime, scope: Scope) -> dict[str, int]:
    fewer = await keep.tidy_themes(runtime, scope)
    return {"fewer": fewer} if fewer else {}


async def _rebuilt(runtime: Runtime, scope: Scope) -> dict[str, int]:
    return {"moved": await keep.rebuild_themes(runtime, scope)}


def _is_made(change: Change) -> bool:
    """Whether it wrote something that is derived."""
    return change.op in ("create", "update", "withdraw") and not _is_compared(change)


def _is_compared(change: Change) -> bool:
    return change.reason.startswith(COMPARED)


def _contradicts(change: Change) -> bool:
    """Whether a fact ended, or waits for review, for it contradicts another."""
    return _is_compared(change) and (change.op == "end" or change.reason.endswith(WAITS))


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
