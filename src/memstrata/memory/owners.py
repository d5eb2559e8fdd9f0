"""Finding whose a thing is, for surfaces whose calls name an id and nothing else.

It tells where something is, never what it says: the verb that shows it is called with the scope
that was found, and with the rights of who asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.arguments import check_key
from memstrata.errors import NotFound
from memstrata.handle import Bound
from memstrata.records import Record, Scope
from memstrata.runtime import view_of

__all__ = ["AsyncOwners"]


class AsyncOwners(Bound):
    """Of one tenant; of a handle that is bound, only what is within its binding."""

    async def of(self, id: str) -> Scope:
        """The scope that holds this record, message or batch; `NotFound` where none does."""
        key = check_key("id", id)
        held = await self._runtime.store.owners_of(self._tenant, key)
        within = [scope for scope in held if self._reaches(scope)]
        if not within:
            raise NotFound(f"no memory {key} is here")
        return within[0]

    async def agents(self, user_id: str) -> list[str]:
        """The agents that have memory of their own of a user."""
        user = Scope(tenant=self._tenant, user_id=user_id)
        agents = await self._runtime.store.agents_of(user)
        within = [user.model_copy(update={"agent_id": agent}) for agent in agents]
        return [str(scope.agent_id) for scope in within if self._reaches(scope)]

    async def resting(
        self, message_ids: Sequence[str], user_id: str | None, agent_id: str | None
    ) -> dict[str, list[Record]]:
        """The records that rest on each of these messages."""
        view = view_of(self._scope(user_id, agent_id))
        return await self._runtime.store.resting_on(view, message_ids)

    def _reaches(self, scope: Scope) -> bool:
        if self._bound is None:
            return True
        user = self._bound.user_id in (None, scope.user_id)
        # What a user shares is read by all the user's agents.
        agent = self._bound.agent_id in (None, scope.agent_id) or scope.agent_id is None
        return user and agent
