"""`Memory`: the verbs of `AsyncMemory` as ordinary blocking calls, one line each."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Concatenate, Generic, ParamSpec, Self, TypeVar

from memstrata import jobs
from memstrata.memory import AsyncMemory
from memstrata.memory.keys import AsyncKeys
from memstrata.memory.vault import AsyncVault

__all__ = ["Keys", "Memory", "Vault"]

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")


class _Facade(Generic[A]):
    """Blocking calls of what has awaitable ones."""

    def __init__(self, aio: A) -> None:
        self.aio = aio
        """The same with awaitable verbs; use it on one event loop only."""


def _blocking(
    verb: Callable[Concatenate[A, P], Awaitable[T]],
) -> Callable[Concatenate[_Facade[A], P], T]:
    @functools.wraps(verb)
    def call(facade: _Facade[A], *args: P.args, **kwargs: P.kwargs) -> T:
        # By name: a memory at a server has verbs of its own.
        own = getattr(facade.aio, verb.__name__)
        return jobs.run(lambda: own(*args, **kwargs))

    return call


class Keys(_Facade[AsyncKeys]):
    """The keys to the service, with blocking verbs."""

    create = _blocking(AsyncKeys.create)
    grant = _blocking(AsyncKeys.grant)
    list = _blocking(AsyncKeys.list)
    required = _blocking(AsyncKeys.required)
    revoke = _blocking(AsyncKeys.revoke)


class Vault(_Facade[AsyncVault]):
    """What is sealed in a memory, with blocking verbs."""

    list = _blocking(AsyncVault.list)
    put = _blocking(AsyncVault.put)
    release = _blocking(AsyncVault.release)
    reveal = _blocking(AsyncVault.reveal)
    rotate = _blocking(AsyncVault.rotate)
    rotate_key = _blocking(AsyncVault.rotate_key)


class Memory(_Facade[AsyncMemory]):
    """A memory with blocking verbs; safe to use from any thread, also inside a running loop."""

    add = _blocking(AsyncMemory.add)
    ask = _blocking(AsyncMemory.ask)
    audit = _blocking(AsyncMemory.audit)
    audit_secrets = _blocking(AsyncMemory.audit_secrets)
    backup = _blocking(AsyncMemory.backup)
    batches = _blocking(AsyncMemory.batches)
    changes = _blocking(AsyncMemory.changes)
    chat = _blocking(AsyncMemory.chat)
    close = _blocking(AsyncMemory.close)
    configure = _blocking(AsyncMemory.configure)
    consolidate = _blocking(AsyncMemory.consolidate)
    context = _blocking(AsyncMemory.context)
    count = _blocking(AsyncMemory.count)
    create = _blocking(AsyncMemory.create)
    decide = _blocking(AsyncMemory.decide)
    doctor = _blocking(AsyncMemory.doctor)
    dump = _blocking(AsyncMemory.dump)
    entities = _blocking(AsyncMemory.entities)
    episodes = _blocking(AsyncMemory.episodes)
    forget = _blocking(AsyncMemory.forget)
    get = _blocking(AsyncMemory.get)
    history = _blocking(AsyncMemory.history)
    kinds = _blocking(AsyncMemory.kinds)
    list = _blocking(AsyncMemory.list)
    load = _blocking(AsyncMemory.load)
    messages = _blocking(AsyncMemory.messages)
    retire = _blocking(AsyncMemory.retire)
    retry = _blocking(AsyncMemory.retry)
    review = _blocking(AsyncMemory.review)
    scopes = _blocking(AsyncMemory.scopes)
    search = _blocking(AsyncMemory.search)
    set_user = _blocking(AsyncMemory.set_user)
    stats = _blocking(AsyncMemory.stats)
    themes = _blocking(AsyncMemory.themes)
    timeline = _blocking(AsyncMemory.timeline)
    undo = _blocking(AsyncMemory.undo)
    update = _blocking(AsyncMemory.update)
    verify = _blocking(AsyncMemory.verify)
    wait_for = _blocking(AsyncMemory.wait_for)

    def scoped(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        actor: str | None = None,
    ) -> Memory:
        """The same memory for one user or agent, so that calls need not name it."""
        return Memory(self.aio.scoped(user_id=user_id, agent_id=agent_id, actor=actor))

    def for_tenant(self, tenant: str, *, actor: str | None = None) -> Memory:
        """The same store, and in it another tenant's memory; what serves many opens it once."""
        return Memory(self.aio.for_tenant(tenant, actor=actor))

    @property
    def vault(self) -> Vault:
        """What is sealed, and the verbs for it."""
        return Vault(self.aio.vault)

    @property
    def keys(self) -> Keys:
        """The keys to the service, and the verbs for them."""
        return Keys(self.aio.keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self.aio).replace("AsyncMemory", "Memory")
