"""What a copy of a store is said to hold, and whether all of it is sound, whoever's it is."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.store.inspect import scopes, verify
from memstrata.store.ports import Tx
from memstrata.store.secrets import vault_key

__all__ = ["Held", "held", "unsound"]


@dataclass(frozen=True, slots=True)
class Held:
    """How much a store holds, over all tenants."""

    messages: int
    records: int
    key_id: str | None
    """The short name of the key that opens its secrets; None if nothing was ever sealed."""


def _tenants(tx: Tx) -> list[str]:
    return [str(row[0]) for row in tx.rows("tenant_list")]


def held(tx: Tx) -> Held:
    """Count it."""
    rows = [row for tenant in _tenants(tx) for row in scopes(tx, tenant)]
    key = vault_key(tx)
    return Held(
        messages=sum(int(row["messages"]) for row in rows),
        records=sum(int(row["records"]) for row in rows),
        key_id=None if key is None else key[0],
    )


def unsound(tx: Tx) -> list[str]:
    """The broken invariants of every tenant's memory, in words."""
    return [problem for tenant in _tenants(tx) for problem in verify(tx, None, tenant)]
