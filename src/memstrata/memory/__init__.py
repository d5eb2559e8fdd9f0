"""`AsyncMemory`: the verbs. Each checks its arguments and hands over to the module that does it."""

from __future__ import annotations

from memstrata.arguments import check_words
from memstrata.errors import InvalidInput
from memstrata.memory.answer import Answering
from memstrata.memory.browse import Browsing
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.operate import Operating
from memstrata.memory.owners import AsyncOwners
from memstrata.memory.recall import Recalling
from memstrata.memory.remember import Remembering
from memstrata.memory.vault import AsyncVault
from memstrata.runtime import tenant_named

__all__ = ["AsyncMemory"]


class AsyncMemory(Remembering, Recalling, Answering, Browsing, Operating):
    """One memory store, or one user's or agent's part of it (`scoped`).

    Every verb takes `user_id` and `agent_id`, which say whose memory it is about; a handle made
    by `scoped` has them already. Times are `datetime`s or ISO 8601 texts; one without an offset is
    read in the user's zone.
    """

    def scoped(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str | None = None,
    ) -> AsyncMemory:
        """The same memory for one user or agent, so that calls need not name it.

        `actor` is who reads, for the audit log; by default the agent, else "user".
        """
        scope = self._scope(user_id, agent_id)
        who = self._actor if actor is None else check_words("actor", actor)
        return AsyncMemory(self._runtime, self._tenant, scope, who)

    def for_tenant(self, tenant: str, *, actor: str | None = None) -> AsyncMemory:
        """The same store, and in it another tenant's memory; what serves many opens it once."""
        who = self._actor if actor is None else check_words("actor", actor)
        if self._bound is not None:
            raise InvalidInput("this handle is bound to one scope: ask the store's own handle")
        return AsyncMemory(self._runtime, tenant_named(tenant), None, who)

    @property
    def vault(self) -> AsyncVault:
        """What is sealed, and the verbs for it."""
        return AsyncVault(self._runtime, self._tenant, self._bound, self._actor)

    @property
    def keys(self) -> AsyncKeys:
        """The keys to the service, and the verbs for them."""
        return AsyncKeys(self._runtime, self._tenant, self._bound, self._actor)

    @property
    def owners(self) -> AsyncOwners:
        """Whose a thing is, for surfaces that are given an id alone; no verb."""
        return AsyncOwners(self._runtime, self._tenant, self._bound, self._actor)
