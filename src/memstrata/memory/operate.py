"""Verbs that run a store: batches, settings, checks, dumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memstrata.arguments import (
    check_choices,
    check_id,
    check_key,
    check_limit,
    check_number,
    check_path,
    check_text,
)
from memstrata.doctor import examine
from memstrata.errors import InvalidInput, ScopeRequired
from memstrata.handle import Handle
from memstrata.ingest import add as adding
from memstrata.ingest import transfer
from memstrata.kinds import describe
from memstrata.records import (
    Batch,
    Page,
    Scope,
)
from memstrata.runtime import view_of, zone_named
from memstrata.store.ports import View
from memstrata.store.views import Listing

__all__ = ["Operating"]


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

    async def scopes(self) -> list[dict[str, Any]]:
        """Who is in the store: users and agents, with how much each has."""
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: ask the store's own handle")
        return await self._runtime.store.scopes(self._runtime.tenant)

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

    async def kinds(self) -> list[dict[str, Any]]:
        """The six kinds of memory: their fields, rule for change, and block in a prompt."""
        return describe()

    async def stats(
        self, *, user_id: str | None = None, agent_id: str | None = None
    ) -> dict[str, Any]:
        """How much a scope holds, what waits, and bytes on disk."""
        return await self._runtime.store.stats(view_of(self._scope(user_id, agent_id)))

    async def verify(self, *, user_id: str | None = None, agent_id: str | None = None) -> list[str]:
        """What is wrong with the store, in words; an empty list when it is sound.

        Without a scope the whole store is checked.
        """
        view: View | None = None
        if user_id is not None or agent_id is not None or self._bound is not None:
            view = view_of(self._scope(user_id, agent_id))
        return await self._runtime.store.verify(view, self._runtime.tenant)

    async def doctor(self) -> list[dict[str, Any]]:
        """Try every part and say in words what works and what does not."""
        return await examine(self._runtime)

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
        scope: Scope | None = None
        if user_id is not None or agent_id is not None or self._bound is not None:
            scope = self._scope(user_id, agent_id)
        return await transfer.dump(self._runtime, scope, check_path("path", path))

    async def load(self, path: str | Path) -> int:
        """Read a file written by `dump`; rows that are there already are left alone.

        Returns how many rows were new. Vectors are computed again.
        """
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: load with the store's own")
        return await transfer.load(self._runtime, check_path("path", path))
