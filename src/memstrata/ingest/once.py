"""Calls that are done once, however often they are sent with the same idempotency key.

A receipt is not kept, for it has content; it is made again from the batch. Neither is what was
asked: of it the batch has a digest, in which a secret is what the vault's key makes of it, so that
nobody can find it by trying.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import anyio.to_thread

from memstrata.arguments import Once, Signature
from memstrata.errors import Conflict, InvalidInput, VaultUnavailable
from memstrata.kinds import KindModel
from memstrata.records import Receipt, Scope, Skipped
from memstrata.runtime import Runtime, view_of
from memstrata.safety.redact import marks_key
from memstrata.text.clean import clean_json
from memstrata.text.standin import removed
from memstrata.vault_keys import mark_of

__all__ = ["once"]


async def once(
    runtime: Runtime,
    scope: Scope,
    key: str | None,
    asked: Mapping[str, Any],
    by: Signature,
    do: Callable[[Signature], Awaitable[Receipt]],
) -> Receipt:
    """Do it, or say again what was done; `Conflict` if the key was used for something else.

    `asked` is all that makes two calls the same; what stands under `secret` in it, in any depth,
    is one as a whole.
    """
    if key is None:
        return await do(by)
    digest = await _digest(runtime, scope, asked)
    done = await _done(runtime, scope, key, digest)
    if done is not None:
        return done
    try:
        return await do(by._replace(once=Once(key, digest)))
    except Conflict:
        # The same call, sent twice at once, may be what stood in the way.
        done = await _done(runtime, scope, key, digest)
        if done is None:
            raise
        return done


async def _done(runtime: Runtime, scope: Scope, key: str, digest: bytes) -> Receipt | None:
    """The receipt of a call that was done."""
    store, view = runtime.store, view_of(scope)
    found = await store.done_before(view, key, digest)
    if found is None:
        return None
    batch_id, gone = found
    batch = await store.get_batch(view, batch_id)
    changes = [change for _, change in await store.changes(view, batch_id)]
    since = ", and what it wrote was forgotten since, or part of it" if gone else ""
    told = f"the same call was done before, as batch {batch_id}{since}"
    return Receipt(
        batch_id=batch_id,
        state="done" if batch is None else batch.state,
        reason=None if batch is None else batch.reason,
        record_ids=list(dict.fromkeys(change.target_id for change in changes)),
        changes=changes,
        skipped=[Skipped(index=None, reason=told, stored=not gone)],
    )


class _Marking:
    """Puts in the place of a secret what the vault's key makes of it."""

    def __init__(self, scope: Scope, marks: bytes | None) -> None:
        self.scope = scope
        self.marks = marks
        self.wanting = False

    def __call__(self, secret: str, caption: str) -> str:
        if self.marks is None:
            self.wanting = True
            return removed(secret, caption)
        return f"secret {mark_of(secret, self.scope, self.marks).hex()}"


async def _digest(runtime: Runtime, scope: Scope, asked: Mapping[str, Any]) -> bytes:
    try:
        marking = _Marking(scope, await marks_key(runtime))
        plain = await anyio.to_thread.run_sync(_plain, asked, marking)
        if marking.wanting:
            marking = _Marking(scope, await marks_key(runtime, create=True))
            plain = await anyio.to_thread.run_sync(_plain, asked, marking)
    except VaultUnavailable:
        plain = await anyio.to_thread.run_sync(_plain, asked, _Marking(scope, None))
    text = json.dumps(plain, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _plain(asked: Any, marking: _Marking) -> Any:
    """What was asked as JSON, without secrets."""
    try:
        return clean_json(_sealed(asked, marking), marking)
    except RecursionError:
        raise InvalidInput("what is given is nested too deeply") from None


def _sealed(value: Any, marking: _Marking) -> Any:
    if isinstance(value, KindModel):
        value = {**value.model_dump(mode="json", exclude_unset=True), "kind": value.name_of_kind}
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {
            str(name): marking(str(item), "secret")
            if name == "secret" and item is not None
            else _sealed(item, marking)
            for name, item in items
        }
    if isinstance(value, list | tuple):
        return [_sealed(item, marking) for item in cast("list[Any]", value)]
    return value
