"""How an open store does, for whoever watches over it; nothing of what it holds."""

from __future__ import annotations

from memstrata.handle import Bound
from memstrata.ingest.add import in_background

__all__ = ["Pulse"]


class Pulse(Bound):
    """The pulse of the store behind a memory, whichever tenant's that is."""

    def __init__(self, memory: Bound) -> None:
        super().__init__(memory._runtime, memory.tenant)

    async def beat(self) -> None:
        """Read something from the store; `StoreUnavailable` where it does not answer."""
        await self._runtime.store.last_seq()

    async def batches(self) -> tuple[int, int]:
        """How many batches of all tenants wait, and how many have failed."""
        return await self._runtime.store.open_batches(None)

    def wake(self) -> None:
        """See to it that what waits is worked on, whichever process left it."""
        in_background(self._runtime)

    async def newest(self) -> int:
        """A number that grows with whatever is written, by whichever process; cheap to ask.

        It is no less than any `cursor` of the change log.
        """
        return await self._runtime.store.last_seq()
