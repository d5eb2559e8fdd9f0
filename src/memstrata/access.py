"""Who may do what: permissions, and what a key allows."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from pydantic import Field

from memstrata.records import Value

__all__ = ["EVERYTHING", "ApiKey", "Grant", "NewKey", "Permission"]

Permission = Literal["read", "write", "vault:reveal", "admin"]
"""`read` memory, `write` it (erasing included), see secrets, run the store."""
EVERYTHING: frozenset[Permission] = frozenset(get_args(Permission))


class Grant(Value):
    """What a caller may do: in one tenant, and where bound, for one user or agent of it."""

    tenant: str = "default"
    user_id: str | None = None
    agent_id: str | None = None
    permissions: frozenset[Permission] = EVERYTHING
    key: str | None = None
    """The name of the key; None for the store's own operator, who needs none."""


class ApiKey(Value):
    """A key to the service, without what makes it one."""

    id: str
    """The part of the key that may be shown."""
    tenant: str = "default"
    name: str
    user_id: str | None = None
    agent_id: str | None = None
    permissions: tuple[Permission, ...]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class NewKey(ApiKey):
    """A key that was just made: the only time that all of it is to be had."""

    secret: str = Field(repr=False)
    """The whole key, as a client sends it."""
