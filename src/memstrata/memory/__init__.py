"""`AsyncMemory`: the verbs. Each checks its arguments and hands over to the module that does it."""

from __future__ import annotations

from memstrata.memory.browse import Browsing
from memstrata.memory.operate import Operating
from memstrata.memory.recall import Recalling
from memstrata.memory.remember import Remembering

__all__ = ["AsyncMemory"]


class AsyncMemory(Remembering, Recalling, Browsing, Operating):
    """One memory store, or one user's or agent's part of it (`scoped`).

    Every verb takes `user_id` and `agent_id`, which say whose memory it is about; a handle made
    by `scoped` has them already. Times are `datetime`s or ISO 8601 texts; one without an offset is
    read in the user's zone.
    """

    def scoped(self, *, user_id: str | None = None, agent_id: str | None = None) -> AsyncMemory:
        """The same memory for one user or agent, so that calls need not name it."""
        return AsyncMemory(self._runtime, self._scope(user_id, agent_id))
