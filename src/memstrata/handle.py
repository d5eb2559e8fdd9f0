"""What a memory handle is: an open store, or one user's or agent's part of it."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from memstrata.errors import InvalidInput, StoreUnavailable
from memstrata.models.base import close_embedder, interrupt
from memstrata.models.language import close_models
from memstrata.records import Ledger, Record, Scope
from memstrata.runtime import Runtime, scope_of
from memstrata.store.audit import Entry

__all__ = ["Bound", "Handle"]


class Bound:
    """An open store, and the scope its calls are bound to, if any."""

    def __init__(
        self,
        runtime: Runtime,
        tenant: str | None = None,
        bound: Scope | None = None,
        actor: str | None = None,
    ) -> None:
        self._runtime = runtime
        self._lent = tenant is not None
        self._tenant = runtime.tenant if tenant is None else tenant
        self._bound = bound
        self._actor = actor

    @property
    def tenant(self) -> str:
        """Whose memory it is, of those who share the store."""
        return self._tenant

    def _scope(self, user_id: str | None, agent_id: str | None) -> Scope:
        """Whose memory a call is about: what the handle is bound to, then what the call says."""
        if self._bound is None:
            return scope_of(self._tenant, user_id, agent_id)
        for name, given, bound in (
            ("user_id", user_id, self._bound.user_id),
            ("agent_id", agent_id, self._bound.agent_id),
        ):
            if given is not None and bound is not None and given != bound:
                raise InvalidInput(f"this handle is bound to {name} {bound!r}, not {given!r}")
        return scope_of(
            self._tenant, self._bound.user_id or user_id, self._bound.agent_id or agent_id
        )

    async def _note_reads(self, verb: str, scope: Scope, found: Iterable[object]) -> None:
        """Put on record who has been shown what is highly sensitive, before it is shown."""
        shown = [item for item in found if isinstance(item, Record) and item.sensitivity == "high"]
        actor = self._actor or scope.agent_id or "user"
        for record in shown:
            owner = Scope(tenant=scope.tenant, user_id=record.user_id, agent_id=record.agent_id)
            entry = Entry(self._runtime.now(), actor, "read", record.id, f"by {verb}")
            await self._runtime.store.note(owner, entry)

    async def _note_cost(self, scope: Scope, spent: Ledger) -> list[str]:
        """Keep what models have cost for reading; why that was not possible, if it was not."""
        if not spent.models:
            return []
        try:
            await self._runtime.store.spend(scope, spent)
        except StoreUnavailable as error:
            return [f"what it cost is not in the store's figures: {error}"]
        return []


class Handle(Bound):
    """Opened by `open_async` and closed once."""

    def __repr__(self) -> str:
        whose = "" if self._bound is None else f", {self._bound.user_id or self._bound.agent_id}"
        return f"{type(self).__name__}({self._runtime.store.location!r}{whose})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the store; what is still waiting stays pending. On a handle made from
        another one: nothing.
        """
        if not self._lent and not self._runtime.closed:
            self._runtime.closed = True
            interrupt(self._runtime.embedder)
            if self._runtime.background is not None:
                await self._runtime.background.stop()
            await close_models(self._runtime.llm)
            close_embedder(self._runtime.embedder)
            await self._runtime.store.close()
