"""`add`: clean, append, and (with `wait`) see the batch through."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from weakref import WeakValueDictionary

import anyio
from anyio.lowlevel import RunVar

from memstrata.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from memstrata.ingest.messages import EMPTY, Defaults, Prepared, prepare
from memstrata.ingest.work import drain, drain_all
from memstrata.jobs import Background
from memstrata.passages import limits_of
from memstrata.records import (
    Batch,
    Change,
    Episode,
    JsonObject,
    Message,
    Receipt,
    Record,
    Scope,
    Skipped,
    Trust,
)
from memstrata.runtime import Runtime, new_id, view_of
from memstrata.safety.redact import Redactor, redacted, sealings
from memstrata.store.apply import SecretKnown
from memstrata.store.ports import Appended, NewBatch
from memstrata.turns import as_list

__all__ = ["Request", "add", "appended", "in_background", "retry", "settle", "wait_for"]

_POLL = (0.002, 0.1)
_MOVES = 0.05
"""Seconds after which one who waits looks for work even if another of the process is at it."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of `add`, checked."""

    messages: object
    session_id: str | None
    occurred_at: datetime | None
    metadata: JsonObject
    tags: tuple[str, ...]
    trust: Trust | None
    kinds: tuple[str, ...] | None
    infer: bool
    wait: bool
    idempotency_key: str | None


async def add(runtime: Runtime, scope: Scope, zone: tzinfo, request: Request) -> Receipt:
    """Append messages durably; with `wait`, embed them before returning."""
    given = as_list(request.messages)
    started = anyio.current_time()
    defaults = Defaults(
        batch_id=new_id("batch"),
        now=runtime.clock(),
        zone=zone,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=request.session_id,
        occurred_at=request.occurred_at,
        metadata=request.metadata,
        tags=request.tags,
        trust=request.trust,
        limits=limits_of(runtime.embedder),
    )
    attempt = 0
    while True:
        prepared, redactor = await redacted(
            runtime, scope, lambda stand_in: prepare(given, defaults, stand_in)
        )
        if not prepared.drafts:
            if prepared.skipped and all(item.reason != EMPTY for item in prepared.skipped):
                raise InvalidInput(f"no message could be stored: {prepared.skipped[0].reason}")
            return Receipt(batch_id="", state="done", skipped=prepared.skipped)
        try:
            done = await _append(runtime, scope, defaults, request, prepared, redactor)
            break
        except (
            SecretKnown
        ) as error:  # sealed by another call meanwhile: this one names the same entry
            attempt += 1
            if attempt == _TRIES:
                raise Conflict(str(error)) from error
    receipt = _receipt(done, prepared)
    if request.wait:
        receipt = await settle(runtime, scope, receipt)
    elif receipt.state == "pending":
        in_background(runtime)
    spent = (anyio.current_time() - started) * 1000
    ledger = receipt.ledger.model_copy(update={"milliseconds": spent})
    return receipt.model_copy(update={"ledger": ledger})


async def _append(
    runtime: Runtime,
    scope: Scope,
    defaults: Defaults,
    request: Request,
    prepared: Prepared,
    redactor: Redactor,
) -> Appended:
    batch = _batch(runtime, defaults, request, prepared)
    trust: dict[str, Trust] = {draft.message.id: draft.message.trust for draft in prepared.drafts}
    sealed = sealings(runtime, redactor, batch.id, trust)
    return await runtime.store.append(scope, batch, prepared.drafts, sealed, redactor.again)


def _batch(runtime: Runtime, defaults: Defaults, request: Request, prepared: Prepared) -> NewBatch:
    wanted: JsonObject = {"infer": request.infer}
    if request.kinds is not None:
        wanted["kinds"] = list(request.kinds)
    return NewBatch(
        id=defaults.batch_id,
        verb="add",
        actor="agent" if defaults.user_id is None else "user",
        at=runtime.now(),
        state="pending" if request.infer or runtime.model is not None else "done",
        request=wanted,
        digest=prepared.digest,
        idempotency_key=request.idempotency_key,
    )


def _receipt(done: Appended, prepared: Prepared) -> Receipt:
    known = [
        Skipped(index=index, reason=reason, id=done.ids.get(index))
        for index, reason in done.known.items()
    ]
    skipped = sorted([*prepared.skipped, *known], key=lambda item: item.index or 0)
    return Receipt(
        batch_id=done.batch_id,
        state=done.state,
        message_ids=[done.ids[draft.index] for draft in prepared.drafts if draft.index in done.ids],
        skipped=skipped,
    )


def in_background(runtime: Runtime) -> None:
    """Work off waiting batches without anyone waiting for it."""
    if runtime.background is None:
        runtime.background = Background(lambda: drain_all(runtime))
    runtime.background.start()


async def settle(runtime: Runtime, scope: Scope, receipt: Receipt) -> Receipt:
    """Wait for the receipt's batch and say how it ended.

    What the receipt names is stored whatever happens here: a store that fails now leaves it
    `pending` with the reason, and a later call does the rest.
    """
    if receipt.state not in ("pending", "running"):
        return receipt
    try:
        owner = await _owner(runtime, scope, receipt.batch_id)
        batch = await _see_through(runtime, owner, receipt.batch_id)
    except StoreUnavailable as error:
        reason = f"stored, and waits for its vectors: {error}"
        return receipt.model_copy(update={"state": "pending", "reason": reason})
    found = await runtime.store.changes(view_of(scope), receipt.batch_id)
    changes = receipt.changes or [change for _, change in found]
    made = (change.target_id for change in changes if change.version_after is not None)
    return receipt.model_copy(
        update={
            "state": batch.state,
            "reason": batch.reason,
            "ledger": batch.ledger,
            "skipped": [*receipt.skipped, *map(_refused, batch.refused)],
            "changes": changes,
            "record_ids": receipt.record_ids or list(dict.fromkeys(made)),
        }
    )


def _refused(why: str) -> Skipped:
    return Skipped(index=None, reason=f"refused proposal: {why}", stored=True)


async def _owner(runtime: Runtime, scope: Scope, batch_id: str) -> Scope:
    batch = await runtime.store.get_batch(view_of(scope), batch_id)
    if batch is None:
        raise NotFound(f"no batch {batch_id} in this scope")
    return Scope(tenant=scope.tenant, user_id=batch.user_id, agent_id=batch.agent_id)


async def _see_through(runtime: Runtime, scope: Scope, batch_id: str) -> Batch:
    """Work in the batch's scope until it has ended; another worker may be the one that ends it."""
    line = _line(runtime, scope)
    pause = _POLL[0]
    while not await _has_ended(runtime, scope, batch_id):
        if line.working and await line.moves_within(max(pause, _MOVES)):
            continue
        async with line.work():
            await drain(runtime, scope, until=batch_id)
        if await _has_ended(runtime, scope, batch_id):
            break
        await anyio.sleep(pause)
        pause = min(pause * 2, _POLL[1])
    return await _as_it_is(runtime, scope, batch_id)


async def _as_it_is(runtime: Runtime, scope: Scope, batch_id: str) -> Batch:
    batch = await runtime.store.get_batch(view_of(scope), batch_id)
    if batch is None:
        raise NotFound(f"batch {batch_id} was forgotten meanwhile")
    return batch


async def _has_ended(runtime: Runtime, scope: Scope, batch_id: str) -> bool:
    batch = await runtime.store.get_batch(view_of(scope), batch_id)
    return batch is None or batch.state not in ("pending", "running")


class _Line:
    """Those who wait for one user's batches, on one event loop.

    One batch of a user is worked on at a time. Were all who wait to ask the store again and again
    whether theirs is next, asking would be all that the store does; so they wait until one of them
    has done something, and ask by themselves only now and then.
    """

    def __init__(self) -> None:
        self.working = False
        self._moved = anyio.Event()

    @asynccontextmanager
    async def work(self) -> AsyncGenerator[None]:
        """While one works."""
        self.working = True
        try:
            yield
        finally:
            self.working = False
            self._moved.set()
            self._moved = anyio.Event()

    async def moves_within(self, seconds: float) -> bool:
        """Wait until who works has ended."""
        moved = self._moved
        with anyio.move_on_after(seconds):
            await moved.wait()
        return moved.is_set()


def _line(runtime: Runtime, scope: Scope) -> _Line:
    lines = _LINES.get(None)
    if lines is None:
        lines = _Lines()
        _LINES.set(lines)
    return lines.setdefault((id(runtime), scope.tenant, scope.user_id), _Line())


_Lines = WeakValueDictionary[tuple[int, str, str | None], _Line]
_LINES: RunVar[_Lines] = RunVar("memstrata_lines")


async def wait_for(runtime: Runtime, scope: Scope, batch_id: str, seconds: float | None) -> Batch:
    """The batch when it has ended, or as it is after `seconds`."""
    owner = await _owner(runtime, scope, batch_id)
    if seconds is None:
        return await _see_through(runtime, owner, batch_id)
    # Work that is begun is not broken off, and so is left to others than who has little time.
    pause = _POLL[0]
    with anyio.move_on_after(seconds):
        while not await _has_ended(runtime, owner, batch_id):
            in_background(runtime)  # again and again: who has it now may die
            await anyio.sleep(pause)
            pause = min(pause * 2, _POLL[1])
    return await _as_it_is(runtime, owner, batch_id)


async def retry(runtime: Runtime, scope: Scope, batch_id: str) -> Batch:
    """Queue a failed batch again and see it through."""
    owner = await _owner(runtime, scope, batch_id)
    batch = await runtime.store.get_batch(view_of(scope), batch_id)
    if batch is None or batch.state in ("done", "undone"):
        state = "gone" if batch is None else batch.state
        raise Conflict(f"batch {batch_id} is {state}: there is nothing to retry")
    if batch.state == "failed":
        await runtime.store.requeue(owner, batch_id)
    return await wait_for(runtime, scope, batch_id, None)


def appended(message: Message | Record | Episode) -> Change:
    """The one change in a message's history: that it was appended."""
    return Change(
        id=f"chg_{message.id}",
        batch_id=message.batch_id,
        op="append",
        target_id=message.id,
        actor=message.speaker if isinstance(message, Message) else "unknown",
        at=message.recorded_at,
    )
