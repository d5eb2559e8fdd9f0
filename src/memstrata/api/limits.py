"""What one caller may take of the service, so that something is left for the others."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from starlette.requests import HTTPConnection

from memstrata.access import Grant
from memstrata.api.problems import Refused

__all__ = ["Guard", "Options", "Pace", "guard_of"]

_BODIES = 16
"""How many bodies of full size may be in memory at once, of all requests together."""
_SHARE = 4
"""One key has at most a quarter of the requests that are answered at once."""
_ATTEMPTS_RATE, _ATTEMPTS_BURST = 10.0, 100
"""Unknown keys from one address: ten a second, a hundred at once."""
_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set about the service."""

    max_body: int = 10 * 2**20
    """The largest body that is read, in bytes."""
    max_load: int = 2 * 2**30
    """The largest file that `load` takes, in bytes; it goes to disk, not into memory."""
    max_requests: int = 1000
    """How many requests are answered at once, streams of events included."""
    rate: float = 0
    """Requests a second that one key may make for long, and twice as many at once; 0 is no limit.
    Without keys it holds for an address."""
    reveal: bool = False
    """Whether agents have the tool that shows secrets; their keys need `vault:reveal` besides."""
    patience: float = 60
    """Seconds that a client may let pass in the middle of a body."""


class Pace:
    """So much a second and so much at once, for each of many (GCRA: one number for each).

    It keeps `_REMEMBERED` of them; who is forgotten begins anew. `limits` was tried: its store in
    memory forgets nobody, and starts a thread for every hundredth of a second that is counted.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._each = 1 / rate
        self._most = burst / rate
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    def take(self, who: str) -> float:
        """Count one; 0, or if that was too much and is not counted, the seconds until it is not."""
        now = self._clock()
        until = max(self._until.get(who, now), now) + self._each
        # A little more than nothing, as the sums are of floats.
        if (wait := until - now - self._most) > 1e-9:
            return wait
        self._until[who] = until
        self._until.move_to_end(who)
        if len(self._until) > _REMEMBERED:
            self._until.popitem(last=False)
        return 0.0

    def give_back(self, who: str) -> None:
        """Take back one that was counted."""
        if who in self._until:
            self._until[who] -= self._each


class Guard:
    """Counts what callers take, and refuses what is too much. For one event loop.

    `refused` is told why, in one word of few.
    """

    def __init__(
        self,
        options: Options,
        refused: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options
        self.refused = refused
        self._pace = Pace(options.rate, 2 * options.rate, clock) if options.rate else None
        self._attempts = Pace(_ATTEMPTS_RATE, _ATTEMPTS_BURST, clock)
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._held = 0
        self._at_once = 0
        self._by_key: Counter[str] = Counter()
        self._running: set[anyio.CancelScope] = set()

    # Requests at once, and what of them is in memory

    @contextmanager
    def running(self) -> Generator[anyio.CancelScope]:
        """Surrounds a request, so that it can be called off."""
        with anyio.CancelScope() as scope:
            self._running.add(scope)
            try:
                yield scope
            finally:
                self._running.discard(scope)

    def call_off(self) -> None:
        """Call off what is under way."""
        for scope in self._running:
            scope.cancel()

    def enter(self) -> None:
        """Count a request that begins; `Refused` with 503 where there are too many."""
        if self._at_once >= self._options.max_requests:
            raise self._busy("the server answers as many requests at once as it may")
        self._at_once += 1

    def leave(self, state: dict[str, Any]) -> None:
        """Count it no more, nor what was counted for it."""
        self._at_once -= 1
        self._held -= state.get("held", 0)
        who = state.get("who")
        if who is not None:
            self._by_key[who] -= 1
            if not self._by_key[who]:
                del self._by_key[who]

    def hold(self, state: dict[str, Any], size: int) -> None:
        """Count what of a body is in memory; `Refused` with 503 where that is too much of all."""
        if self._held + size > _BODIES * self._options.max_body:
            raise self._busy("the server reads as much at once as it may")
        self._held += size
        state["held"] = state.get("held", 0) + size

    # Who calls

    def attempt(self, connection: HTTPConnection, key: str) -> None:
        """Before a key is looked up: `Refused` with 429 for one of too many unknown ones.

        A key that was in force here before is never refused for what others do from its address,
        such as that of a proxy; any other takes its turn. A key is 256 random bits: no rate lets
        anybody guess one, and this only bounds what guessing costs us.
        """
        if _digest(key) in self._known:
            return
        self._expect(self._attempts.take(_address(connection)), "attempts", "unknown keys")

    def passed(self, connection: HTTPConnection, key: str) -> None:
        """A key was in force."""
        digest = _digest(key)
        if digest not in self._known:
            self._attempts.give_back(_address(connection))
        self._known[digest] = None
        self._known.move_to_end(digest)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def admit(self, connection: HTTPConnection, grant: Grant) -> None:
        """Count a request for who makes it; `Refused` where that is too much of one."""
        state = connection.scope.setdefault("state", {})
        if "key" in state:
            return  # asked twice in one request
        state["key"] = grant.key
        who = _address(connection) if grant.key is None else f"{grant.tenant}\n{grant.key}"
        if self._pace is not None:
            self._expect(self._pace.take(who), "rate", "requests")
        if grant.key is not None:
            if self._by_key[who] >= max(1, self._options.max_requests // _SHARE):
                raise self._busy("as many requests of this key are answered at once as may be")
            state["who"] = who
            self._by_key[who] += 1

    def _expect(self, wait: float, reason: str, what: str) -> None:
        if wait:
            self.refused(reason)
            seconds = math.ceil(wait)
            detail = f"too many {what}: wait {seconds} s"
            raise Refused(429, "TooManyRequests", detail, {"Retry-After": str(seconds)})

    def _busy(self, detail: str) -> Refused:
        self.refused("busy")
        return Refused(503, "Busy", f"{detail}: try again", {"Retry-After": "1"})


def guard_of(connection: HTTPConnection) -> Guard | None:
    """The guard of the service a request came to; None outside of one."""
    return connection.scope.get("state", {}).get("guard")


def _address(connection: HTTPConnection) -> str:
    """Where a request comes from; of IPv6 the network, as one machine has all of that."""
    host = "" if connection.client is None else connection.client.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return host


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
