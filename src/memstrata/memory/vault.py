"""`memory.vault`: the verbs for what is sealed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memstrata.arguments import (
    check_choice,
    check_id,
    check_json_object,
    check_key,
    check_limit,
    check_text,
    check_texts,
    signed,
)
from memstrata.errors import InvalidInput
from memstrata.handle import Bound
from memstrata.ingest import add as adding
from memstrata.ingest import edit
from memstrata.ingest.once import once
from memstrata.kinds import Vault
from memstrata.receipts import KeyRotation
from memstrata.records import Page, Receipt, Record, Sensitivity
from memstrata.runtime import view_of
from memstrata.safety import release as releasing
from memstrata.safety import vault as keeping
from memstrata.store.views import Listing

__all__ = ["AsyncVault"]


class AsyncVault(Bound):
    """What is sealed in a memory: seen by caption, read only by a reveal that goes on record.

    Every verb but `rotate_key` takes `user_id` and `agent_id`, as the memory's own verbs do.
    """

    async def put(
        self,
        secret: str,
        *,
        caption: str,
        entry_type: str = "password",
        source: str | None = None,
        sensitivity: Sensitivity = "medium",
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Seal a secret under a caption; one that is in the vault already is not sealed twice.

        `sensitivity` says where the caption shows: low and medium in every search and context,
        high only where the kind `vault` is asked for.
        """
        entry = {
            "kind": Vault.name_of_kind,
            "entry_type": check_text("entry_type", entry_type),
            "caption": check_text("caption", caption),
            "secret": _secret(secret),
            "source": check_id("source", source),
            "sensitivity": check_choice("sensitivity", sensitivity, Sensitivity),
            "tags": check_texts("tags", tags),
            "metadata": check_json_object("metadata", metadata),
        }
        scope = self._scope(user_id, agent_id)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "vault.put", "record": entry},
            signed(actor, reason),
            lambda by: edit.create(self._runtime, scope, entry, by=by),
        )
        return await adding.settle(self._runtime, scope, receipt)

    async def list(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Record]:
        """The entries of the vault, by caption, contacts and bookmarks too; never a secret."""
        scope = self._scope(user_id, agent_id)
        listing = Listing(
            limit=check_limit("limit", limit),
            cursor=cursor,
            kinds=(Vault.name_of_kind,),
            lifecycles=("current", "review"),
        )
        page = await self._runtime.store.list_records(view_of(scope), listing)
        await self._note_reads("vault.list", scope, page.items)
        return page

    async def reveal(
        self,
        id: str,
        *,
        reason: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
    ) -> str:
        """The secret of an entry. Who asked, when and why stands in the audit log before it is
        given; without a reason, or where the log cannot be written, it is not.
        """
        by = signed(actor, check_text("reason", reason))
        scope = self._scope(user_id, agent_id)
        return await keeping.reveal(self._runtime, scope, check_key("id", id), by)

    async def release(
        self,
        id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
    ) -> Receipt:
        """Say that what was sealed is no secret: it stands again where it was taken out.

        It is not taken out of later messages either. The entry is retired. This cannot be undone,
        but `put` seals it again.
        """
        scope = self._scope(user_id, agent_id)
        by = signed(actor, reason)
        receipt = await releasing.release(self._runtime, scope, check_key("id", id), by)
        return await adding.settle(self._runtime, scope, receipt)

    async def rotate(
        self,
        id: str,
        secret: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Seal another secret in the place of the old one, which is destroyed for good."""
        scope = self._scope(user_id, agent_id)
        target, new = check_key("id", id), _secret(secret)
        receipt = await once(
            self._runtime,
            scope,
            check_id("idempotency_key", idempotency_key),
            {"verb": "vault.rotate", "id": target, "secret": new},
            signed(actor, reason),
            lambda by: keeping.rotate(self._runtime, scope, target, new, by),
        )
        return await adding.settle(self._runtime, scope, receipt)

    async def rotate_key(self, *, actor: str = "user", reason: str = "") -> KeyRotation:
        """Make a new key, and seal all secrets of the store with it; cut short, it goes on when
        called again. The old key stays where keys are kept: other stores may need it.
        """
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: rotate with the store's own")
        return await keeping.rotate_key(self._runtime, self._tenant, signed(actor, reason))


def _secret(value: object) -> str:
    """A secret as it is, padding included; no error shows it."""
    if not isinstance(value, str) or not value:
        raise InvalidInput("secret is a text that is not empty")
    if any(0xD800 <= ord(character) < 0xE000 for character in value):
        raise InvalidInput("secret has half a surrogate pair in it, so it is no text")
    return value
