"""Working off batches: vectors for what was appended, what is distilled from it, its vectors and
its themes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
import anyio.to_thread
import numpy as np

from memstrata.consolidate.batch import consolidate_batch
from memstrata.errors import BudgetExceeded, Conflict, ModelFailed
from memstrata.ingest.distil import distil
from memstrata.ingest.held import held
from memstrata.models.base import Embedder
from memstrata.models.spending import Meter
from memstrata.passages import embedded_text
from memstrata.records import Ledger, Scope
from memstrata.runtime import Runtime, process_gone
from memstrata.store.batches import Lease
from memstrata.store.ports import Pending
from memstrata.themes.keep import keep_themes

__all__ = ["drain", "drain_all", "work_one"]

LEASE_MICROS = 30 * 1_000_000
"""Renewed after every group; the wait of others for a batch whose process was killed."""
GROUP = 64
_WORKERS = 4


async def drain(runtime: Runtime, scope: Scope | None, *, until: str | None = None) -> None:
    """Work off waiting batches in order: those of a scope, up to the batch `until`, or all."""
    while not runtime.closed:
        batch_id = await work_one(runtime, scope)
        if batch_id is None or batch_id == until:
            break


async def drain_all(runtime: Runtime) -> None:
    """Work off all that waits, of several users at once: a model may be far away."""
    async with anyio.create_task_group() as group:
        for _ in range(_WORKERS):
            group.start_soon(drain, runtime, None)


async def work_one(runtime: Runtime, scope: Scope | None) -> str | None:
    """Lease and finish one batch; its id, None when none is waiting.

    A model that fails marks the batch `failed` with the reason. When the work is cancelled, or
    the store fails, the batch goes back to `pending`, as it would when its lease ran out. However
    it ends, what models have cost is noted with it; of a process that is killed it is not known.
    """
    now = runtime.now()
    until = now + LEASE_MICROS
    lease = await runtime.store.lease_next(runtime.owner, now, until, scope, process_gone)
    if lease is None:
        return None
    started = anyio.current_time()
    meter = Meter()

    def spent() -> Ledger:
        return meter.ledger((anyio.current_time() - started) * 1000)

    try:
        # All that a batch brings is embedded at once: a remote model costs a round trip a call.
        failure = await distil(runtime, lease, meter)
        left = await consolidate_batch(runtime, lease, meter)
        await held(runtime, lease, partial(_embed_pending, runtime, lease, meter))
        await keep_themes(runtime, lease.scope)
    except (ModelFailed, BudgetExceeded, Conflict) as error:
        await runtime.store.finish(lease, "failed", str(error), runtime.now(), spent())
    except BaseException:
        with anyio.CancelScope(shield=True):
            await runtime.store.give_back(lease, runtime.now(), spent())
        raise
    else:
        state = "done" if failure is None else "failed"
        reason = left if failure is None else str(failure)
        await runtime.store.finish(lease, state, reason, runtime.now(), spent())
    return lease.batch_id


async def _embed_pending(runtime: Runtime, lease: Lease, meter: Meter) -> None:
    """Embed what has no vector yet in the lease's scope."""
    embedder, model = runtime.embedder, runtime.model
    if embedder is None or model is None:
        return
    while items := await runtime.store.pending_items(lease, GROUP):
        # A thread cannot be stopped: on cancellation its group is finished and kept.
        with anyio.CancelScope(shield=True):
            meter.embedding_calls += 1
            try:
                vectors = await anyio.to_thread.run_sync(_embed, embedder, items)
            finally:
                meter.take(embedder)
            await runtime.store.store_vectors(lease, model, vectors)
        if not await runtime.store.renew(lease, runtime.now() + LEASE_MICROS):
            break


def _embed(embedder: Embedder, items: Sequence[Pending]) -> list[tuple[Pending, bytes]]:
    texts = [embedded_text(item) for item in items]
    distinct = list(dict.fromkeys(texts))
    vectors = np.asarray(embedder.embed_passages(distinct), dtype=np.float32)
    if vectors.shape != (len(distinct), embedder.dimensions) or not np.isfinite(vectors).all():
        raise ModelFailed(
            f"{embedder.id} gave vectors of shape {vectors.shape} for {len(distinct)} texts, or "
            "numbers that are not finite: check the model, then retry the batch"
        )
    rows = {text: row.astype("<f2").tobytes() for text, row in zip(distinct, vectors, strict=True)}
    return [(item, rows[text]) for item, text in zip(items, texts, strict=True)]
