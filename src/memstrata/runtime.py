"""What the verbs work with: a store, a model, a clock, and who is asking."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio.to_thread
import uuid_utils

from memstrata.errors import InvalidInput, ModelFailed, ScopeRequired
from memstrata.jobs import Background
from memstrata.models.base import Embedder
from memstrata.models.chat import Models
from memstrata.records import Scope, micros
from memstrata.store.base import Store
from memstrata.store.ports import View
from memstrata.text.secrets import names_secret
from memstrata.vault_keys import Keys, open_keys

__all__ = [
    "Recalled",
    "Runtime",
    "new_id",
    "new_owner",
    "now_utc",
    "process_gone",
    "scope_of",
    "tenant_named",
    "view_of",
    "zone_named",
]

LONGEST_ID = 512


def now_utc() -> datetime:
    """The clock."""
    return datetime.now(UTC)


def new_id(prefix: str) -> str:
    """A new id: the prefix and a UUIDv7, so that ids sort by when they were made."""
    return f"{prefix}_{uuid_utils.uuid7().hex}"


def new_owner() -> str:
    """Who holds leases: machine, process, and a random part."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid_utils.uuid7().hex}"


def process_gone(owner: str) -> bool:
    """Whether the process of an owner on this machine has ended; False where that is unknown."""
    machine, _, rest = owner.partition("/")
    number = rest.partition("/")[0]
    if machine != socket.gethostname() or not number.isdecimal() or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def zone_named(name: str) -> tzinfo:
    """The time zone of an IANA name such as `Europe/Lisbon`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"unknown time zone {name!r}: give an IANA name such as 'Europe/Lisbon'"
        ) from None


def _owner(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{name} is a text, not {type(value).__name__}")
    if not value.strip() or len(value) > LONGEST_ID:
        raise InvalidInput(f"{name} is blank or longer than {LONGEST_ID} characters")
    if any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in value):
        raise InvalidInput(f"{name} has a control character or half a surrogate pair in it")
    if names_secret(value):
        raise InvalidInput(f"{name} looks like a key or token: an id is no secret, use another")
    return value


def tenant_named(name: object) -> str:
    """A tenant's name, checked like any owner's."""
    tenant = _owner("tenant", name)
    if tenant is None:
        raise InvalidInput("tenant is a text, not None")
    return tenant


def scope_of(tenant: str, user_id: object, agent_id: object) -> Scope:
    """Whose memory a call is about; `ScopeRequired` when it names nobody."""
    user, agent = _owner("user_id", user_id), _owner("agent_id", agent_id)
    if user is None and agent is None:
        raise ScopeRequired("name whose memory this is about: give user_id, agent_id, or both")
    return Scope(tenant=tenant, user_id=user, agent_id=agent)


def view_of(scope: Scope) -> View:
    """What a call in this scope may read: its own, and for a user's agent what the user shares."""
    if scope.user_id is not None and scope.agent_id is not None:
        return View((Scope(tenant=scope.tenant, user_id=scope.user_id), scope))
    return View((scope,))


@dataclass(slots=True)
class Recalled:
    """What contexts have looked at and taken, since the store was opened."""

    queries: int = 0
    nodes: int = 0
    """Candidates that were looked at."""
    hits: Counter[int] = field(default_factory=Counter[int])
    """By the number of pieces of evidence taken, how many queries."""

    def note(self, nodes: int, hits: int) -> None:
        """Count one query."""
        self.queries += 1
        self.nodes += nodes
        self.hits[hits] += 1

    def to_dict(self) -> dict[str, Any]:
        """The figures for `stats`."""
        count = self.queries or 1
        shares = {str(n): round(self.hits[n] / count, 3) for n in range(3)}
        shares["more"] = round(sum(self.hits[n] for n in self.hits if n > 2) / count, 3)
        return {
            "queries": self.queries,
            "nodes_per_query": round(self.nodes / count, 1),
            "evidence_hits": shares,
        }


@dataclass(slots=True)
class Runtime:
    """Shared by a store's handles; closed once, by the one that opened it."""

    store: Store
    embedder: Embedder | None
    tenant: str = "default"
    """Whose memory it is where a handle names no other."""
    zone: tzinfo = UTC
    clock: Callable[[], datetime] = now_utc
    owner: str = field(default_factory=new_owner)
    model: int | None = None
    """The number of the embedder in the store; None while vectors cannot be used."""
    notes: list[str] = field(default_factory=list[str])
    """What is degraded, in words."""
    zones: dict[Scope, tzinfo] = field(default_factory=dict[Scope, tzinfo])
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a signal adds to a score, where that is not the default."""
    grouping: Mapping[str, float] = field(default_factory=dict[str, float])
    """When records belong together, where that is not the default; see themes/rules.py."""
    themes: dict[Scope, object] = field(default_factory=dict[Scope, object])
    """What this process knows of the themes of each scope."""
    keys: Keys = field(default_factory=lambda: open_keys("none"))
    """The vault's keys."""
    marks_key: bytes | None = None
    """By which secrets are known again; None until the vault was needed."""
    recalled: dict[Scope, Recalled] = field(default_factory=dict[Scope, Recalled])
    """What contexts of each scope have looked at and taken."""
    llm: Models | None = None
    """The language models; None: memory is written and read by rules alone."""
    background: Background | None = None
    """Works off batches that nobody waits for."""
    closed: bool = False

    def now(self) -> int:
        """The clock in microseconds."""
        return micros(self.clock())

    async def adopt_model(self) -> None:
        """Tell whether the store's vectors are this embedder's; the first becomes the store's.

        An embedder that cannot be reached keeps nobody from the store.
        """
        embedder = self.embedder
        if embedder is None:
            self.notes.append("no embedder: keyword search only")
            return
        try:  # one at an endpoint may have to ask
            dimensions = await anyio.to_thread.run_sync(lambda: embedder.dimensions)
        except ModelFailed as error:
            self.notes.append(
                f"keyword search only until the store is opened again, for the embedder failed: "
                f"{error}"
            )
            return
        number, name = await self.store.use_model(embedder.id, dimensions)
        if name == embedder.id:
            self.model = number
        else:
            self.notes.append(
                f"the store's vectors are of {name}, this embedder is {embedder.id}: they "
                "cannot be compared, so search uses keywords only; open the store with its own "
                "embedder, or dump it and load it into a new one"
            )

    async def zone_of(self, scope: Scope) -> tzinfo:
        """The user's time zone, or the default one."""
        user = Scope(tenant=scope.tenant, user_id=scope.user_id)
        if user not in self.zones:
            name, _ = await self.store.user_settings(user)
            self.zones[user] = zone_named(name) if name else self.zone
        return self.zones[user]
