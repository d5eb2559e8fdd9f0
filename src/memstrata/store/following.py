"""Operations for who follows what is written, or sends the same call again."""

from __future__ import annotations

from memstrata.records import Change, Page
from memstrata.store import once, read
from memstrata.store.ports import View
from memstrata.store.running import Running
from memstrata.store.views import Listing

__all__ = ["Following"]


class Following(Running):
    """The change log of a scope, and calls that were done before."""

    async def list_changes(self, view: View, listing: Listing) -> Page[Change]:
        """The log of a scope in the order it was written."""
        return await self._read(read.list_changes, view, listing)

    async def last_seq(self) -> int:
        """A number that grows with whatever is written, by whichever process."""
        return await self._read(read.last_seq)

    async def done_before(self, view: View, key: str, digest: bytes) -> tuple[str, bool] | None:
        """The batch that was written under a key, and whether it was erased since; `Conflict` where
        it was for another call.
        """
        return await self._read(once.done_before, view, key, digest)
