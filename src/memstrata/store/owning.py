"""Whose a thing is, and what rests on it: for clients whose calls name an id and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.records import Record, Scope
from memstrata.store import read
from memstrata.store.following import Following
from memstrata.store.ports import Tx, View
from memstrata.store.rows import dumps, scope_params
from memstrata.store.views import numbered

__all__ = ["Owning", "agents_of", "owners_of", "resting_on"]

_WHERE = ("owners_of_record", "owners_of_message", "owners_of_batch")


def owners_of(tx: Tx, tenant: str, id: str) -> list[Scope]:
    """The scopes of a tenant that hold a record, message or batch of this id: one, or none.

    A dump that was loaded beside its source may make it more.
    """
    params = {"tenant": tenant, "id": id}
    found = [row for name in _WHERE for row in tx.rows(name, params)]
    return [
        Scope(tenant=tenant, user_id=user or None, agent_id=agent or None) for user, agent in found
    ]


def agents_of(tx: Tx, scope: Scope) -> list[str]:
    """The agents that have memory of their own of a user."""
    return [str(row[0]) for row in tx.rows("scope_agents", scope_params(scope))]


def resting_on(tx: Tx, view: View, source_ids: Sequence[str]) -> dict[str, list[Record]]:
    """The records, as they are now, that rest on each of these messages."""
    links: list[tuple[str, str]] = []
    for _, number in numbered(tx, view):
        params = {"scope": number, "ids": dumps(list(source_ids))}
        links += [(str(row[0]), str(row[1])) for row in tx.rows("evidence_from", params)]
    known = read.get(tx, view, list(dict.fromkeys(record_id for _, record_id in links)))
    found: dict[str, list[Record]] = {}
    for source, record_id in links:
        if isinstance(record := known.get(record_id), Record):
            found.setdefault(source, []).append(record)
    return found


class Owning(Following):
    """Finding what a call names by its id alone."""

    async def owners_of(self, tenant: str, id: str) -> list[Scope]:
        """The scopes of a tenant that hold this record, message or batch."""
        return await self._read(owners_of, tenant, id)

    async def agents_of(self, scope: Scope) -> list[str]:
        """The agents that have memory of their own of a user."""
        return await self._read(agents_of, scope)

    async def resting_on(self, view: View, source_ids: Sequence[str]) -> dict[str, list[Record]]:
        """The records that rest on each of these messages."""
        return await self._read(resting_on, view, source_ids)
