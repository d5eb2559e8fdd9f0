"""`vault.release`: what was sealed was no secret, so it stands again where it was taken out."""

from __future__ import annotations

from dataclasses import replace

import anyio.to_thread

from memstrata.arguments import Signature
from memstrata.errors import Conflict
from memstrata.ingest.edit import retired
from memstrata.ingest.narrate import narrator
from memstrata.kinds import Vault
from memstrata.passages import limits_of
from memstrata.records import Receipt, Record, Scope
from memstrata.runtime import Runtime, new_id
from memstrata.safety.redact import marks_key
from memstrata.safety.rewriting import Replacing, indexed_in, rewritten
from memstrata.safety.vault import sealed_entry
from memstrata.store.audit import Entry
from memstrata.store.ports import NewBatch
from memstrata.store.rewrite import Rewrites
from memstrata.text.standin import sealed_as
from memstrata.vault_keys import Sealed, bound_to, mark_of

__all__ = ["release"]


class _Restoration(Replacing):
    """Puts a text in the place of what stands for it."""

    def __init__(self, record: Record, text: str) -> None:
        super().__init__()
        self._standin = sealed_as(record.id, Vault.type_of(record))
        self._text = text

    def text(self, text: str) -> str:
        return text.replace(self._standin, self._text)


async def release(runtime: Runtime, scope: Scope, record_id: str, by: Signature) -> Receipt:
    """Put it back, retire the entry, destroy what was sealed, and distil the messages again."""
    record, held = await sealed_entry(runtime, scope, record_id)
    to = bound_to(held.scope, record_id)
    sealed = Sealed(held.key_id, held.sealed)
    text = (await anyio.to_thread.run_sync(runtime.keys.open, sealed, to)).decode()
    if record.lifecycle == "retired":
        raise Conflict(f"vault entry {record_id} is retired: restore it first, with `undo`")
    if await runtime.store.was_replaced(held):
        raise Conflict(
            f"the secret of {record_id} was rotated since it was taken out: what stood there is "
            "destroyed, and the new one cannot stand in its place"
        )
    zone = await runtime.zone_of(held.scope)
    editor = _Restoration(record, text)
    key = await marks_key(runtime)
    assert key is not None  # it was needed to seal this
    found = Rewrites(released=(record_id, mark_of(text, held.scope, key)))
    after: int | None = 0
    while after is not None:
        page = await runtime.store.text_page(held.scope, after)
        fresh = await anyio.to_thread.run_sync(rewritten, page, editor, zone)
        found = found.and_(fresh)
        after = page.after
    ids = [new.message.id for _, new in found.messages]
    batch = NewBatch(
        new_id("batch"), "release", by.actor, runtime.now(), "pending", {"rebuild": list(ids)}
    )
    gone = retired(runtime, record, batch, by.reason or "it was no secret")
    gone = replace(gone, record=gone.record.model_copy(update={"fields": Vault.unsealed(record)}))
    entry = Entry(runtime.now(), by.actor, "release", record_id, by.reason)
    changes = await runtime.store.rewrite(
        held.scope,
        batch,
        found,
        [gone],
        indexed_in(limits_of(runtime.embedder)),
        narrator(zone),
        entry,
    )
    await runtime.store.clean()
    return Receipt(
        batch_id=batch.id,
        state=batch.state,
        message_ids=ids,
        record_ids=[record_id],
        changes=changes,
    )
