"""The vault: putting secrets away, revealing them on the record, and changing keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread

from memstrata.arguments import Signature
from memstrata.errors import InvalidInput, NotFound, VaultUnavailable
from memstrata.ingest.edit import commit, new_batch
from memstrata.ingest.standing import restore
from memstrata.receipts import KeyRotation
from memstrata.records import JsonObject, Receipt, Record, Scope
from memstrata.runtime import Runtime, view_of
from memstrata.safety.redact import marks_key, seal
from memstrata.store.audit import Entry
from memstrata.store.secrets import Held
from memstrata.vault_keys import MARKS, Keys, Sealed, bound_to

__all__ = ["reveal", "rotate", "rotate_key", "sealed_entry"]

_PAGE = 200


async def sealed_entry(runtime: Runtime, scope: Scope, record_id: str) -> tuple[Record, Held]:
    """A vault entry with its sealed secret; says what it is instead if it is not one."""
    view = view_of(scope)
    found = await runtime.store.sealed_by(view, record_id)
    if found is not None:
        return found
    if record_id in await runtime.store.get(view, [record_id]):
        raise InvalidInput(f"{record_id} is not sealed: read it with `get`")
    raise NotFound(f"no vault entry {record_id} in this scope")


async def reveal(runtime: Runtime, scope: Scope, record_id: str, by: Signature) -> str:
    """The secret of an entry, once the audit log says who asked for it and why."""
    _, held = await sealed_entry(runtime, scope, record_id)
    at = runtime.now()
    to = bound_to(held.scope, record_id)
    sealed = Sealed(held.key_id, held.sealed)
    try:
        secret = await anyio.to_thread.run_sync(runtime.keys.open, sealed, to)
    except VaultUnavailable:
        failed = Entry(at, by.actor, "reveal failed", record_id, by.reason)
        await runtime.store.note(held.scope, failed)
        raise
    entry = Entry(at, by.actor, "reveal", record_id, by.reason)
    await runtime.store.note_reveal(held, entry)
    return secret.decode()


async def rotate(
    runtime: Runtime, scope: Scope, record_id: str, secret: str, by: Signature
) -> Receipt:
    """Put another secret in the place of the old one, which is destroyed."""
    record, held = await sealed_entry(runtime, scope, record_id)
    write = await seal(runtime, held.scope, record_id, restore(record).model, secret)
    batch = new_batch(runtime, "rotate", by)
    rotated = replace(write, op="rotate", reason=by.reason, known=True)
    receipt = await commit(runtime, held.scope, batch, [rotated])
    await runtime.store.clean()
    return receipt.model_copy(update={"record_ids": [record_id]})


async def rotate_key(runtime: Runtime, tenant: str, by: Signature) -> KeyRotation:
    """Seal everything in the file with a new key; the old ones stay where keys are kept.

    A call after one that was cut short does what that one left, and makes no new key. A secret
    whose key is missing stays as it is, and counts as `remaining`.
    """
    marks = await marks_key(runtime, create=True)
    held = await runtime.store.vault_key()
    assert marks is not None and held is not None
    runtime.keys.reload()
    current = await anyio.to_thread.run_sync(runtime.keys.current)
    key_id = current.id if current else ""
    done = 0
    if held[0] != key_id or await runtime.store.count_not_under(key_id):
        await _note(runtime, tenant, by, key_id)
        done = await _reseal_all(runtime, key_id)
    if not done and held[0] == key_id:
        key_id = (await anyio.to_thread.run_sync(runtime.keys.new)).id
        await _note(runtime, tenant, by, key_id)
        done = await _reseal_all(runtime, key_id)
    if held[0] != key_id:
        sealed = await anyio.to_thread.run_sync(runtime.keys.seal, marks, MARKS)
        await runtime.store.reseal_marks(held[0], sealed.key_id, sealed.blob)
    left = await runtime.store.count_not_under(key_id)
    await runtime.store.clean()
    return KeyRotation(key_id=key_id, resealed=done, remaining=left)


async def _note(runtime: Runtime, tenant: str, by: Signature, key_id: str) -> None:
    """Put it on record before it is done."""
    detail: JsonObject = {"key": key_id}
    entry = Entry(runtime.now(), by.actor, "rotate key", reason=by.reason, detail=detail)
    await runtime.store.note(Scope(tenant=tenant), entry)


async def _reseal_all(runtime: Runtime, key_id: str) -> int:
    """Seal anew what needs another key than this one, page by page; how many were."""
    done, after = 0, (0, "")
    while page := await runtime.store.not_under(key_id, after, _PAGE):
        after = page[-1].place
        changes = await anyio.to_thread.run_sync(_resealed, runtime.keys, page)
        done += await runtime.store.reseal(changes)
    return done


def _resealed(keys: Keys, page: Sequence[Held]) -> list[tuple[Held, str, bytes]]:
    changes: list[tuple[Held, str, bytes]] = []
    for held in page:
        to = bound_to(held.scope, held.record_id)
        try:
            sealed = keys.seal(keys.open(Sealed(held.key_id, held.sealed), to), to)
        except VaultUnavailable:
            continue  # counted as remaining; the others need not wait for its key
        changes.append((held, sealed.key_id, sealed.blob))
    return changes
