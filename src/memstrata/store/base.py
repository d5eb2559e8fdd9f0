"""The store: every operation once, run whole on a worker thread, over any backend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

import anyio.to_thread

from memstrata.access import ApiKey
from memstrata.errors import StoreUnavailable
from memstrata.receipts import AuditEntry
from memstrata.records import (
    Batch,
    BatchState,
    Change,
    Entity,
    Episode,
    Ledger,
    Message,
    Page,
    Record,
    Scope,
    Theme,
)
from memstrata.store import (
    api_keys,
    apply,
    audit,
    batches,
    derive,
    distil,
    entities,
    episodes,
    erase,
    inspect,
    loading,
    read,
    rewrite,
    search,
    secrets,
    spending,
    themes,
    transfer,
    views,
)
from memstrata.store.owning import Owning
from memstrata.store.ports import (
    Appended,
    Backend,
    Draft,
    Found,
    Narrate,
    NewBatch,
    Pending,
    Sealing,
    Trace,
    View,
    Write,
)

__all__ = ["Store"]

T = TypeVar("T")

_INDEX_BYTES = 1 << 30
_NOTHING = Ledger()


class Store(Owning):
    """Whole operations, each one transaction; errors are ours already."""

    def __init__(self, backend: Backend, *, index_bytes: int = _INDEX_BYTES) -> None:
        super().__init__(backend)
        self._cache = search.IndexCache(index_bytes)
        self._owed: list[tuple[batches.Lease, Ledger]] = []

    # Writing

    async def append(
        self,
        scope: Scope,
        batch: NewBatch,
        drafts: Sequence[Draft],
        sealings: Sequence[Sealing] = (),
        again: Sequence[tuple[str, str]] = (),
    ) -> Appended:
        """Store new messages, the batch that brings them, and the secrets found in them."""
        return await self._write(secrets.append, scope, batch, drafts, sealings, again)

    async def apply(
        self,
        scope: Scope,
        batch: NewBatch,
        writes: Sequence[Write],
        narrate: Narrate | None = None,
    ) -> list[Change]:
        """Carry out changes; `Conflict` if a version moved."""
        return await self._write(apply.apply, scope, batch, writes, narrate)

    async def erase(
        self, scope: Scope, selection: erase.Selection, order: erase.Order, *, dry_run: bool
    ) -> tuple[erase.Erased, bool]:
        """Erase for good; the flag says whether the files are clean already."""
        operation = self._read if dry_run else self._write
        erased = await operation(erase.erase, scope, selection, order, dry_run=dry_run)
        clean = dry_run or await anyio.to_thread.run_sync(self._backend.clean)
        return erased, clean

    async def set_user(self, scope: Scope, timezone: str | None, locale: str | None) -> None:
        """Set a user's time zone and locale; None keeps what is there."""
        await self._write(inspect.set_user, scope, timezone, locale)

    async def load_rows(
        self,
        scope: Scope,
        rows: Sequence[transfer.Loadable],
        using: loading.Loading,
        at: int,
        found: tuple[NewBatch, secrets.Found] | None = None,
    ) -> int:
        """Store rows of a dump that are not there yet; how many."""
        return await self._write(loading.load_rows, scope, rows, using, at, found)

    # The vault

    async def vault_key(self) -> tuple[str, bytes] | None:
        """The sealed key of the marks."""
        return await self._read(secrets.vault_key)

    async def set_vault_key(
        self, key_id: str, sealed: bytes, lost: str | None
    ) -> tuple[str, bytes]:
        """Keep a first sealed key of the marks; the one in force."""
        return await self._write(secrets.set_vault_key, key_id, sealed, lost)

    async def known_secrets(
        self, scope: Scope, marks: Collection[bytes]
    ) -> dict[bytes, secrets.Known]:
        """Which of these marks the scope knows."""
        return await self._read(secrets.known, scope, marks)

    async def sealed_by(self, view: View, record_id: str) -> tuple[Record, secrets.Held] | None:
        """A vault entry and its sealed secret."""
        return await self._read(secrets.sealed_by, view, record_id)

    async def was_replaced(self, held: secrets.Held) -> bool:
        """Whether an entry ever had another secret."""
        return await self._read(secrets.was_replaced, held)

    async def note_reveal(self, held: secrets.Held, entry: audit.Entry) -> None:
        """Note a reveal, if the secret is still the same."""
        await self._write(secrets.reveal, held, entry)

    async def count_not_under(self, key_id: str) -> int:
        """How many secrets of the file need another key than this one."""
        return await self._read(secrets.count_not_under, key_id)

    async def not_under(
        self, key_id: str, after: tuple[int, str], limit: int
    ) -> list[secrets.Held]:
        """A page of them."""
        return await self._read(secrets.not_under, key_id, after, limit)

    async def reseal(self, changes: Sequence[tuple[secrets.Held, str, bytes]]) -> int:
        """Put secrets under a new key; how many."""
        return await self._write(secrets.reseal, changes)

    async def reseal_marks(self, was: str, key_id: str, sealed: bytes) -> None:
        """Put the key of the marks under a new key."""
        await self._write(secrets.reseal_marks, was, key_id, sealed)

    async def text_page(self, scope: Scope, after: int) -> rewrite.Page:
        """A page of all text a scope holds."""
        return await self._read(rewrite.read_page, scope, after)

    async def rewrite(
        self,
        scope: Scope,
        batch: NewBatch,
        changes: rewrite.Rewrites,
        writes: Sequence[Write],
        index: rewrite.Index,
        narrate: Narrate,
        entry: audit.Entry,
    ) -> list[Change]:
        """Change what stored text says, in every version."""
        return await self._write(
            rewrite.rewrite, scope, batch, changes, writes, index, narrate, entry
        )

    async def clean(self) -> bool:
        """Empty the journal of what was destroyed; False while a reader holds it."""
        return await anyio.to_thread.run_sync(self._backend.clean)

    # The audit log

    async def note(self, scope: Scope, entry: audit.Entry) -> None:
        """Write one row of the audit log."""
        await self._write(audit.note, scope, entry)

    async def audit(
        self, tenant: str, scope: Scope | None, listing: views.Listing
    ) -> Page[AuditEntry]:
        """Rows of the audit log, newest first."""
        return await self._read(audit.list_entries, tenant, scope, listing)

    # Keys to the service

    async def create_api_key(self, key: ApiKey, hash: bytes, entry: audit.Entry) -> None:
        """Keep a new key by its hash, and note it."""
        await self._write(api_keys.create, key, hash, entry)

    async def api_key(self, key_id: str) -> api_keys.Held | None:
        """A key of any tenant, as it is at this moment."""
        return await self._read_while_unchanged(api_keys.find, key_id)

    async def list_api_keys(
        self, tenant: str, listing: views.Listing, *, revoked: bool
    ) -> Page[ApiKey]:
        """A tenant's keys, oldest first."""
        return await self._read(api_keys.list_keys, tenant, listing, revoked=revoked)

    async def revoke_api_key(self, tenant: str, key_id: str, entry: audit.Entry) -> ApiKey:
        """Revoke a key of a tenant, and note it."""
        return await self._write(api_keys.revoke, tenant, key_id, entry)

    async def any_api_key(self) -> bool:
        """Whether a key was ever made."""
        return await self._read_while_unchanged(api_keys.any_made)

    # Batches

    async def lease_next(
        self,
        owner: str,
        now: int,
        until: int,
        scope: Scope | None,
        gone: Callable[[str], bool] = lambda owner: False,
    ) -> batches.Lease | None:
        """Take the oldest waiting batch, once those that could not be given back have been."""
        while self._owed:
            owed = self._owed.pop()
            await self.give_back(owed[0], now, owed[1])
            if owed in self._owed:
                break
        return await self._write(batches.lease_next, owner, now, until, scope, gone)

    async def give_back(self, lease: batches.Lease, now: int, spent: Ledger) -> None:
        """Put a leased batch back in the queue; if the store cannot now, before the next lease."""
        try:
            await self.finish(lease, "pending", None, now, spent)
        except StoreUnavailable:
            self._owed.append((lease, spent))

    async def renew(self, lease: batches.Lease, until: int) -> bool:
        """Keep a lease; False when it was lost."""
        return await self._write(batches.renew, lease, until)

    async def finish(
        self,
        lease: batches.Lease,
        state: BatchState,
        reason: str | None,
        now: int,
        spent: Ledger = _NOTHING,
    ) -> None:
        """Say how a batch ended, and what that cost."""
        await self._write(batches.finish, lease, state, reason, now, spent)

    async def spend(self, scope: Scope, spent: Ledger) -> None:
        """Add to what reading a scope has cost."""
        await self._write(spending.spend, scope, spent)

    async def requeue(self, scope: Scope, batch_id: str) -> None:
        """Put a failed batch back in the queue."""
        await self._write(batches.requeue, scope, batch_id)

    async def pending_items(self, lease: batches.Lease, limit: int) -> list[Pending]:
        """Items of the lease's scope that have no vector yet."""
        return await self._read(batches.pending_items, lease.number, limit)

    async def store_vectors(
        self, lease: batches.Lease, model: int, vectors: Sequence[tuple[Pending, bytes]]
    ) -> None:
        """Store float16 vectors by item."""
        await self._write(batches.store_vectors, lease.number, model, vectors)

    async def use_model(self, name: str, dimensions: int) -> tuple[int, str]:
        """The model whose vectors the store holds; the first one asked for becomes it."""
        known = await self._read(batches.model_in_use)
        return known or await self._write(batches.use_model, name, dimensions)

    # Distilling

    async def material(self, lease: batches.Lease) -> distil.Material:
        """What a leased batch brought, and what stands around it."""
        return await self._read(distil.material, lease)

    async def seen_names(self, lease: batches.Lease) -> set[str]:
        """The normal forms of all names known in the lease's scope."""
        return await self._read(distil.seen_names, lease)

    async def known_entities(
        self, lease: batches.Lease, normals: Collection[str]
    ) -> list[entities.KnownEntity]:
        """The entities written in one of these normal forms."""
        return await self._read(distil.known_entities, lease, normals)

    async def related(
        self,
        lease: batches.Lease,
        subjects: Iterable[tuple[str, str]],
        fingerprints: Collection[str],
        prefix: str,
        ids: Collection[str] = (),
    ) -> list[Record]:
        """Open records that new ones may touch."""
        return await self._read(distil.related, lease, subjects, fingerprints, prefix, ids)

    async def about(self, scope: Scope, subjects: Iterable[tuple[str, str]]) -> list[Record]:
        """Open records of a scope about these subjects and attributes."""
        return await self._read(distil.about, scope, subjects)

    async def rejected(self, lease: batches.Lease, fingerprints: Collection[str]) -> set[str]:
        """Of these fingerprints those of what a person took back, changed or had erased."""
        return await self._read(distil.rejected, lease, fingerprints)

    async def open_records(self, lease: batches.Lease) -> list[Record]:
        """The open records that a leased batch wrote."""
        return await self._read(distil.open_records, lease)

    async def distilled(
        self, lease: batches.Lease, made: distil.Distilled, at: int, actor: str
    ) -> list[Change] | None:
        """Write what came of a batch, once; None if it is not ours any more."""
        return await self._write(distil.commit, lease, made, at, actor)

    # Consolidating

    async def due(self, lease: batches.Lease) -> derive.Due:
        """What a leased batch asks of consolidation, and which digests it touched."""
        return await self._read(derive.due, lease)

    async def by_fingerprint(
        self, lease: batches.Lease, fingerprints: tuple[str, ...]
    ) -> list[Record]:
        """The open records with these fingerprints."""
        return await self._read(derive.by_fingerprint, lease, fingerprints)

    async def named_users(self, scope: Scope) -> list[str | None]:
        """The names under which somebody spoke as the user."""
        return await self._read(derive.named_users, scope)

    async def consolidated(
        self, lease: batches.Lease, made: derive.Made, at: int, batch: NewBatch | None
    ) -> list[Change]:
        """Write what consolidation made, as the leased batch or as one of its own."""
        return await self._write(derive.commit, lease, made, at, batch)

    async def comparable(self, scope: Scope, model: int, ids: Collection[str]) -> derive.Comparable:
        """The vectors of records, and the pairs of the scope that need not be judged again."""
        return await self._read(derive.comparable, scope, model, ids)

    async def drop_orphans(self, scope: Scope) -> int:
        """Forget the entities that nothing mentions any more; how many."""
        return await self._write(derive.drop_orphans, scope)

    async def compact(self) -> int:
        """Give free pages back to the file system; how many bytes."""
        return await anyio.to_thread.run_sync(self._backend.compact)

    # Themes

    async def themes_wait(self, scope: Scope, kinds: Collection[str]) -> bool:
        """Whether records of these kinds are to be put into themes, or out of them."""
        return await self._read(themes.waits, scope, kinds)

    async def with_themes(
        self, scope: Scope, at: int, work: Callable[[themes.ThemeRows], T], *, reads: bool = False
    ) -> T:
        """Do some work on the themes of a scope in one transaction; or only look at them."""
        operation = self._read if reads else self._write
        return await operation(lambda tx: work(themes.ThemeRows(tx, scope, at)))

    async def list_themes(
        self, view: View, listing: views.Listing, parent: str | None
    ) -> Page[Theme]:
        """Themes at the top, or those under one."""
        return await self._read(themes.list_themes, view, listing, parent)

    # Reading

    async def search(self, request: search.SearchRequest) -> list[Found]:
        """What the core ranks best, read in one snapshot."""
        return await self._read(search.search, self._cache, request)

    async def get(
        self, view: View, ids: Sequence[str]
    ) -> dict[str, Message | Record | Episode | Theme]:
        """Messages, records, episodes and themes by id."""
        return await self._read(read.get, view, ids)

    async def versions(self, view: View, record_id: str) -> list[Record]:
        """All versions of a record."""
        return await self._read(read.versions, view, record_id)

    async def history(self, view: View, target_id: str) -> list[Change]:
        """The log of one record."""
        return await self._read(read.history, view, target_id)

    async def changes(self, view: View, batch_or_change: str) -> list[tuple[Scope, Change]]:
        """The changes of a batch, or one change."""
        return await self._read(read.changes_of_batch, view, batch_or_change)

    async def leaning(self, scope: Scope, batch_id: str) -> list[tuple[str, str, str, bool]]:
        """What other batches built on a batch."""
        return await self._read(read.leaning, scope, batch_id)

    async def same_record(self, scope: Scope, fingerprint: str, now: int) -> tuple[str, str] | None:
        """The record with this fingerprint that stands now."""
        return await self._read(read.same_record, scope, fingerprint, now)

    async def list_messages(self, view: View, listing: views.Listing) -> Page[Message]:
        """Messages in the order they happened."""
        return await self._read(read.list_messages, view, listing)

    async def list_records(self, view: View, listing: views.Listing) -> Page[Record]:
        """Records in the order they were written."""
        return await self._read(read.list_records, view, listing)

    async def list_episodes(self, view: View, listing: views.Listing) -> Page[Episode]:
        """Episodes in the order they began."""
        return await self._read(episodes.list_episodes, view, listing)

    async def list_entities(
        self, view: View, listing: views.Listing, *, type: str | None, normals: Sequence[str] | None
    ) -> Page[Entity]:
        """Entities, the most mentioned first."""
        return await self._read(entities.list_entities, view, listing, type=type, normals=normals)

    async def get_batch(self, view: View, batch_id: str) -> Batch | None:
        """One batch."""
        return await self._read(read.get_batch, view, batch_id)

    async def list_batches(
        self, view: View, listing: views.Listing, state: str | None
    ) -> Page[Batch]:
        """Batches, newest first."""
        return await self._read(read.list_batches, view, listing, state)

    async def tenant_settings(self, tenant: str) -> read.TenantSettings:
        """What holds for all of a tenant's memory."""
        return await self._read(read.tenant_settings, tenant)

    async def set_tenant(self, tenant: str, settings: read.TenantSettings) -> None:
        """Set it."""
        await self._write(inspect.set_tenant, tenant, settings)

    async def user_settings(self, scope: Scope) -> tuple[str | None, str | None]:
        """A user's time zone and locale."""
        return await self._read(read.user_settings, scope)

    async def scopes(self, tenant: str) -> list[dict[str, Any]]:
        """Who is in the store."""
        return await self._read(inspect.scopes, tenant)

    async def stats(self, view: View) -> dict[str, Any]:
        """How much the view holds."""
        counted = await self._read(inspect.stats, view)
        counted["bytes_on_disk"] = await anyio.to_thread.run_sync(self._backend.size)
        return counted

    async def open_batches(self, tenant: str | None) -> tuple[int, int]:
        """How many batches of a tenant, or of all of them, wait, and how many have failed."""
        return await self._read(inspect.open_batches, tenant)

    async def verify(self, view: View | None, tenant: str) -> list[str]:
        """What is wrong, in words; empty when sound."""
        problems = await anyio.to_thread.run_sync(self._backend.check)
        return problems + await self._read(inspect.verify, view, tenant)

    async def traces(self, needles: Sequence[bytes]) -> list[Trace]:
        """Where these bytes stand in any row, and in the files beside the rows."""
        return await anyio.to_thread.run_sync(self._backend.traces, needles)

    async def dump_page(
        self, scope: Scope, part: str, after: int
    ) -> tuple[list[transfer.Carried], int | None]:
        """A page of a dump."""
        return await self._read(transfer.dump_page, scope, part, after)

    async def close(self) -> None:
        """Release the backend."""
        self._cache.clear()
        await anyio.to_thread.run_sync(self._backend.close)
