"""`memory.keys`: who may use the service, and what each key lets one do."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import get_args

from memstrata.access import ApiKey, Grant, NewKey, Permission
from memstrata.arguments import (
    check_choices,
    check_flag,
    check_id,
    check_key,
    check_limit,
    check_text,
    moment,
    signed,
)
from memstrata.errors import InvalidInput
from memstrata.handle import Bound
from memstrata.records import JsonObject, Page, Scope, instant, micros
from memstrata.runtime import scope_of
from memstrata.store.audit import Entry
from memstrata.store.views import Listing

__all__ = ["AsyncKeys"]

# Digits and small letters alone: what finds secrets in a text then always knows where one ends.
_KEY = re.compile(r"mst_([0-9a-f]{16})_([0-9a-f]{64})")
_NOBODYS = bytes(32)
"""Stands for the hash of a key that is not there; no key has it."""
_ORDER: tuple[Permission, ...] = get_args(Permission)


class AsyncKeys(Bound):
    """The keys of a tenant to the service. The store has their hashes only."""

    async def create(
        self,
        name: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        permissions: Sequence[Permission] = ("read", "write"),
        expires_at: datetime | str | None = None,
        actor: str = "user",
        reason: str = "",
    ) -> NewKey:
        """Make a key; its `secret` is given once, here, and kept nowhere.

        With `user_id` or `agent_id` it is bound to these and reaches no other's memory; else to
        all of the tenant. `name` is for people and for the log, `Conflict` where another key that
        is not revoked has it. It opens nothing from `expires_at` on.
        """
        self._expect_whole("make")
        by = signed(actor, reason)
        scope = Scope(tenant=self._tenant)
        if user_id is not None or agent_id is not None:
            scope = scope_of(self._tenant, user_id, agent_id)
        now = self._runtime.now()
        key = ApiKey(
            id=secrets.token_hex(8),
            tenant=self._tenant,
            name=_name(name),
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            permissions=_permissions(permissions),
            created_at=instant(now),
            expires_at=self._later(expires_at, now),
        )
        whole = f"mst_{key.id}_{secrets.token_hex(32)}"
        told: JsonObject = {"name": key.name, "permissions": ", ".join(key.permissions)}
        entry = Entry(now, by.actor, "create key", key.id, by.reason, told)
        await self._runtime.store.create_api_key(key, _hash(whole), entry)
        return NewKey(**dict(key), secret=whole)

    async def list(
        self, *, revoked: bool = False, limit: int = 100, cursor: str | None = None
    ) -> Page[ApiKey]:
        """The keys of the tenant, oldest first, without their secrets; with `revoked` those too."""
        self._expect_whole("list")
        listing = Listing(limit=check_limit("limit", limit), cursor=cursor)
        also = check_flag("revoked", revoked)
        return await self._runtime.store.list_api_keys(self._tenant, listing, revoked=also)

    async def revoke(self, id: str, *, actor: str = "user", reason: str = "") -> ApiKey:
        """Let a key open nothing any more, from this moment on, in every process.

        This cannot be undone: make another one. Doing it twice does no more.
        """
        self._expect_whole("revoke")
        by = signed(actor, reason)
        key = check_key("id", id)
        entry = Entry(self._runtime.now(), by.actor, "revoke key", key, by.reason)
        return await self._runtime.store.revoke_api_key(self._tenant, key, entry)

    # For servers: these ask the store each time, so that what another process did holds at once.

    async def grant(self, secret: object) -> Grant | None:
        """What a key that somebody sent allows, in whichever tenant; None if it is not in force."""
        sent = _KEY.fullmatch(secret) if isinstance(secret, str) else None
        if sent is None:
            return None
        held = await self._runtime.store.api_key(sent[1])
        # Compared in the same way when there is no such key, so that time tells nothing of either.
        same = hmac.compare_digest(_NOBODYS if held is None else held.hash, _hash(sent[0]))
        if held is None or not same:
            return None
        key = held.key
        if not _in_force(key, self._runtime.now()):
            return None
        return Grant(
            tenant=key.tenant,
            user_id=key.user_id,
            agent_id=key.agent_id,
            permissions=frozenset(key.permissions),
            key=key.name,
        )

    async def required(self) -> bool:
        """Whether nobody may use the store over a network without a key.

        So it is once a key was ever made, for any tenant, and stays: to revoke the last one, or
        let it expire, opens nothing.
        """
        return await self._runtime.store.any_api_key()

    def _expect_whole(self, verb: str) -> None:
        if self._bound is not None:
            raise InvalidInput(f"this handle is bound to one scope: {verb} keys with the store's")

    def _later(self, expires_at: object, now: int) -> datetime | None:
        when = moment("expires_at", expires_at, self._runtime.zone)
        if when is not None and micros(when) <= now:
            raise InvalidInput("expires_at is over already: give a time to come, or leave it out")
        return when and instant(micros(when))


def _name(value: object) -> str:
    return check_id("name", check_text("name", value)) or ""


def _permissions(value: object) -> tuple[Permission, ...]:
    chosen = check_choices("permissions", value, _ORDER)
    if not chosen:
        raise InvalidInput(f"permissions is empty: give one of {', '.join(_ORDER)}, or more")
    return tuple(each for each in _ORDER if each in chosen)


def _in_force(key: ApiKey, now: int) -> bool:
    over = key.expires_at is not None and micros(key.expires_at) <= now
    return key.revoked_at is None and not over


def _hash(whole: str) -> bytes:
    """SHA-256: half of a key is 256 random bits, so there is nothing to guess that a slow hash
    would have to protect, and a fast one costs each request next to nothing.
    """
    return hashlib.sha256(whole.encode()).digest()
