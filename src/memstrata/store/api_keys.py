"""Keys to the service: kept by hash, and for good."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from memstrata.access import ApiKey
from memstrata.errors import Conflict, NotFound
from memstrata.records import Page, Scope, instant, micros
from memstrata.store import audit
from memstrata.store.ports import Row, Tx
from memstrata.store.rows import dumps, scope_params
from memstrata.store.views import Listing, place

__all__ = ["Held", "any_made", "create", "find", "list_keys", "revoke"]

_PLACE = re.compile(r"(-?\d{1,18}):([0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class Held:
    """A key as the store has it; until its hash is compared, nothing depends on what it is."""

    row: Row

    @property
    def hash(self) -> bytes:
        """The SHA-256 of the whole key."""
        return bytes(self.row[-1])

    @property
    def key(self) -> ApiKey:
        """What it is."""
        return _key(self.row)


def create(tx: Tx, key: ApiKey, hash: bytes, entry: audit.Entry) -> None:
    """Keep a new key, and note it in the log; `Conflict` where its name is in use."""
    expires = None if key.expires_at is None else micros(key.expires_at)
    row = {**scope_params(_concerned(key)), "id": key.id, "name": key.name, "hash": hash}
    given = {"permissions": dumps(list(key.permissions)), "expires_at": expires}
    if not tx.run("api_key_add", {**row, **given, "at": micros(key.created_at)}):
        raise Conflict(
            f"there is a key named {key.name!r} already: choose another name, or revoke that one"
        )
    audit.note(tx, _concerned(key), entry)


def find(tx: Tx, key_id: str) -> Held | None:
    """A key by its id, whichever tenant's it is."""
    row = tx.one("api_key_by_id", {"id": key_id})
    return None if row is None else Held(row)


def list_keys(tx: Tx, tenant: str, listing: Listing, *, revoked: bool) -> Page[ApiKey]:
    """A tenant's keys, oldest first; with `revoked` those too."""
    after_time, after_id = str(listing.since), ""
    if listing.cursor is not None:
        after_time, after_id = place(listing.cursor, _PLACE)
    params = {"after_time": int(after_time), "after_id": after_id, "revoked": revoked}
    rows = tx.rows("api_key_list", {"tenant": tenant, "limit": listing.limit + 1, **params})
    keys = [_key(row) for row in rows[: listing.limit]]
    more = len(rows) > listing.limit
    last = f"{micros(keys[-1].created_at)}:{keys[-1].id}" if more else None
    return Page[ApiKey](items=keys, next=last)


def revoke(tx: Tx, tenant: str, key_id: str, entry: audit.Entry) -> ApiKey:
    """Revoke a key of a tenant, and note it in the log; one that is revoked stays as it is."""
    changed = tx.run("api_key_revoke", {"id": key_id, "tenant": tenant, "at": entry.at})
    row = tx.one("api_key_by_id", {"id": key_id})
    key = None if row is None else _key(row)
    if key is None or key.tenant != tenant:
        raise NotFound(f"there is no key {key_id[:40]!r}: list the keys for their ids")
    if changed:
        audit.note(tx, _concerned(key), entry)
    return key


def any_made(tx: Tx) -> bool:
    """Whether a key was ever made, for any tenant; a revoked one counts."""
    row = tx.one("api_key_any")
    return row is not None and bool(row[0])


def _concerned(key: ApiKey) -> Scope:
    """Whose memory the key is about."""
    return Scope(tenant=key.tenant, user_id=key.user_id, agent_id=key.agent_id)


def _key(row: Row) -> ApiKey:
    key_id, tenant, name, user_id, agent_id, permissions, created, expires, revoked, _ = row
    return ApiKey(
        id=key_id,
        tenant=tenant,
        name=name,
        user_id=user_id or None,
        agent_id=agent_id or None,
        permissions=tuple(json.loads(permissions)),
        created_at=instant(created),
        expires_at=None if expires is None else instant(expires),
        revoked_at=None if revoked is None else instant(revoked),
    )
