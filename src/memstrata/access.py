"""Who may do what: permissions, and what a key allows."""

from __future__ import annotations

from typing import Literal, get_args

from memstrata.records import Value

__all__ = ["EVERYTHING", "Grant", "Permission"]

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
