"""Verbs that run a store: batches, settings, checks, dumps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memstrata.arguments import (
    check_choice,
    check_choices,
    check_flag,
    check_id,
    check_key,
    check_limit,
    check_number,
    check_path,
    check_text,
    check_texts,
    moment,
    signed,
)
from memstrata.consolidate import run as tidying
from memstrata.doctor import examine
from memstrata.errors import InvalidInput, ScopeRequired
from memstrata.handle import Handle
from memstrata.ingest import add as adding
from memstrata.ingest import transfer
from memstrata.ingest.managers import Strategy
from memstrata.kinds import KINDS, describe
from memstrata.receipts import AuditEntry, Backup, Consolidation, Exposure
from memstrata.records import Batch, Page, Scope, instant, micros
from memstrata.runtime import Recalled, view_of, zone_named
from memstrata.safety.scan import audit_secrets
from memstrata.safety.traces import left_of
from memstrata.store.audit import Entry
from memstrata.store.read import TenantSettings
from memstrata.store.views import EVER, Listing
from memstrata.text.analyse import repair
from memstrata.text.secrets import find

__all__ = ["Operating"]


_LONGEST_INSTRUCTIONS = 2000


def _instructions(value: object) -> str | None:
    """What managers are told besides; None for none."""
    if not isinstance(value, str) or len(value) > _LONGEST_INSTRUCTIONS:
        raise InvalidInput(f"instructions is a text of at most {_LONGEST_INSTRUCTIONS} characters")
    if find(value):
        raise InvalidInput("instructions has a secret in it, and they are sent to a model")
    return repair(value)[0].strip() or None


class Operating(Handle):
    """Verbs that run a store: batches, settings, checks, dumps."""

    async def batches(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        state: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Batch]:
        """The calls that wrote, newest first, and how far each has got."""
        view = view_of(self._scope(user_id, agent_id))
        listing = Listing(limit=check_limit("limit", limit), cursor=cursor)
        states = ("pending", "running", "done", "failed", "undone")
        wanted = None if state is None else check_choices("state", [state], states)[0]
        return await self._runtime.store.list_batches(view, listing, wanted)

    async def wait_for(
        self,
        batch_id: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it returns the batch as it is then
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Batch:
        """Wait until a batch is done or has failed, at most `timeout` seconds, and return it."""
        scope = self._scope(user_id, agent_id)
        key = check_key("batch_id", batch_id)
        return await adding.wait_for(self._runtime, scope, key, check_number("timeout", timeout))

    async def retry(
        self, batch_id: str, *, user_id: str | None = None, agent_id: str | None = None
    ) -> Batch:
        """Do again what a failed batch left undone; nothing is stored twice."""
        scope = self._scope(user_id, agent_id)
        return await adding.retry(self._runtime, scope, check_key("batch_id", batch_id))

    async def consolidate(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        rebuild_themes: bool = False,
    ) -> Consolidation:
        """Tidy a scope: duplicates, plans whose time is over, digests, the profile, themes, pages.

        A language model, if there is one, also compares what is said in other words, writes the
        digests and the profile, and names themes; what it leaves undone is in `notes`. A second
        call right after changes nothing. `undo` takes the batch back. `rebuild_themes` lets every
        record find its theme anew.
        """
        scope = self._scope(user_id, agent_id)
        again = check_flag("rebuild_themes", rebuild_themes)
        return await tidying.consolidate(self._runtime, scope, rebuild_themes=again)

    async def scopes(self) -> list[dict[str, Any]]:
        """Who is in the store: users and agents, with how much each has."""
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: ask the store's own handle")
        return await self._runtime.store.scopes(self._tenant)

    async def set_user(
        self,
        *,
        timezone: str | None = None,
        locale: str | None = None,
        user_id: str | None = None,
    ) -> dict[str, str | None]:
        """Set a user's time zone (IANA name) and locale; times are read and shown in it.

        Returns the settings in force; with nothing to set it only does that.
        """
        scope = self._scope(user_id, None)
        if scope.user_id is None:
            raise ScopeRequired("an agent has no time zone of its own: give user_id")
        user = Scope(tenant=scope.tenant, user_id=scope.user_id)
        if timezone is not None:
            zone_named(check_text("timezone", timezone))
        locale = check_id("locale", locale)
        if timezone is not None or locale is not None:
            await self._runtime.store.set_user(user, timezone, locale)
            self._runtime.zones.pop(user, None)
        zone, spoken = await self._runtime.store.user_settings(user)
        return {"timezone": zone or str(self._runtime.zone), "locale": spoken}

    async def configure(
        self,
        *,
        managers: Sequence[str] | None = None,
        strategy: Strategy | None = None,
        instructions: str | None = None,
    ) -> dict[str, Any]:
        """Set what holds for all memory of the tenant, and return what is in force.

        `managers` are the kinds that are written, by a model or by rules. With a model, `strategy`
        is `single` (one call) or `managers` (one that routes, and one for each kind), and
        `instructions` are what the managers are told besides; "" takes them away. What is None
        stays as it is.
        """
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: configure with the store's own")
        store, tenant = self._runtime.store, self._tenant
        old = await store.tenant_settings(tenant)
        new = TenantSettings(
            old.managers if managers is None else check_choices("managers", managers, KINDS),
            check_choice("strategy", strategy, Strategy) or old.strategy,
            old.instructions if instructions is None else _instructions(instructions),
        )
        if new != old:
            await store.set_tenant(tenant, new)
        return {
            "managers": list(KINDS if new.managers is None else new.managers),
            "strategy": new.strategy or "single",
            "instructions": new.instructions or "",
        }

    async def kinds(self) -> list[dict[str, Any]]:
        """The six kinds of memory: their fields, rule for change, and block in a prompt."""
        return describe()

    async def stats(
        self, *, user_id: str | None = None, agent_id: str | None = None
    ) -> dict[str, Any]:
        """How much a scope holds, what waits, how its themes fare, and bytes on disk.

        `recall` says what `context` has looked at and taken since the store was opened.
        """
        scope = self._scope(user_id, agent_id)
        counted = await self._runtime.store.stats(view_of(scope))
        if self._runtime.model is None:
            counted["themes"]["note"] = "; ".join(self._runtime.notes)
        recalled = self._runtime.recalled.get(scope, Recalled())
        return {**counted, "recall": recalled.to_dict()}

    async def verify(
        self,
        *,
        erased: Sequence[str] | None = None,
        text: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> list[str]:
        """What is wrong with the store, in words; an empty list when it is sound.

        Without a scope the whole store is checked. With `erased`, whether anything is left of
        these ids, and with `text`, of this text, in any row, free page or journal of the files.
        """
        if erased is not None or text is not None:
            if self._bound is not None:
                raise InvalidInput(
                    "this handle is bound to one scope: what was erased is looked for in the whole "
                    "file, with the store's own handle"
                )
            ids = check_texts("erased", erased or ())
            sought = None if text is None else check_text("text", text)
            return await left_of(self._runtime, ids, sought)
        scope = self._scope_or_all(user_id, agent_id)
        view = None if scope is None else view_of(scope)
        return await self._runtime.store.verify(view, self._tenant)

    async def audit(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[AuditEntry]:
        """Who did what with what is protected, and why, newest first; never what it says.

        Without a scope the whole store's log.
        """
        scope = self._scope_or_all(user_id, agent_id)
        zone = self._runtime.zone if scope is None else await self._runtime.zone_of(scope)
        start, end = moment("since", since, zone), moment("until", until, zone)
        listing = Listing(
            limit=check_limit("limit", limit),
            cursor=cursor,
            since=EVER[0] if start is None else micros(start),
            until=EVER[1] if end is None else micros(end),
        )
        return await self._runtime.store.audit(self._tenant, scope, listing)

    async def audit_secrets(
        self,
        *,
        seal: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str = "user",
        reason: str = "",
    ) -> list[Exposure]:
        """Look through all that is stored for secrets in plain text, and say where they stand.

        `seal` moves them to the vault, out of every version and index. Without a scope the whole
        store is looked through.
        """
        scope = self._scope_or_all(user_id, agent_id)
        seal = check_flag("seal", seal)
        return await audit_secrets(
            self._runtime, self._tenant, scope, seal=seal, by=signed(actor, reason)
        )

    def _scope_or_all(self, user_id: str | None, agent_id: str | None) -> Scope | None:
        """The scope a call names; None for the whole store."""
        if user_id is None and agent_id is None and self._bound is None:
            return None
        return self._scope(user_id, agent_id)

    async def doctor(self) -> list[dict[str, Any]]:
        """Try every part and say in words what works and what does not."""
        return await examine(self._runtime, self._tenant)

    async def dump(
        self,
        path: str | Path,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> int:
        """Write a scope as JSON lines, lossless but for vectors; the number of rows.

        Without a scope the whole store is written.
        """
        scope = self._scope_or_all(user_id, agent_id)
        target = check_path("path", path)
        who = self._actor or (scope and scope.agent_id) or "user"
        entry = Entry(self._runtime.now(), who, "export")  # on record before it is done
        await self._runtime.store.note(scope or Scope(tenant=self._tenant), entry)
        return await transfer.dump(self._runtime, self._tenant, scope, target)

    async def backup(self, path: str | Path, *, force: bool = False) -> Backup:
        """Write a copy of the whole store, all tenants, to a file, while others go on writing.

        The file is whole and sound, or not there; with `force` it may replace another backup.
        Nothing that was erased before is in it, and neither is the key of the vault: keep that in
        another place.
        `memstrata.restore` puts it in place. Raises `StoreUnavailable` or `PermissionDenied` when
        it cannot be written, or the store is damaged.
        """
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: back up with the store's own")
        target, force = check_path("path", path), check_flag("force", force)
        store, at = self._runtime.store, self._runtime.now()
        who = Entry(at, self._actor or "user", "backup")  # on record before it is done
        await store.note(Scope(tenant=self._tenant), who)
        held, size = await store.backup(target, force=force)
        return Backup(
            path=str(target),
            at=instant(at),
            bytes=size,
            messages=held.messages,
            records=held.records,
            vault_key=held.key_id,
        )

    async def load(self, path: str | Path) -> int:
        """Read a file written by `dump`; rows that are there already are left alone.

        Returns how many rows were new. Vectors are computed again.
        """
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: load with the store's own")
        return await transfer.load(self._runtime, self._tenant, check_path("path", path))
