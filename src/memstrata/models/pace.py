"""Waiting as an endpoint asks for it: how often to try again, when, and how many at once.

All workers of this process that ask the same endpoint share one `Pace`, on whatever thread or event
loop they run: when it says "not before ten seconds from now" to one, all of them wait.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import anyio
import anyio.lowlevel

from memstrata.errors import ModelFailed

__all__ = ["Attempts", "Pace", "Retries", "Trouble", "pace_of", "retry_after"]


class Trouble(Exception):
    """One call that went wrong, in words."""

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        again: bool = False,
        wait: float | None = None,
        slow: bool = False,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        """Of the HTTP response, if there was one."""
        self.again = again
        """Whether trying again may help."""
        self.wait = wait
        """How many seconds the endpoint asked to wait."""
        self.slow = slow
        """Whether it took too long."""
        self.cause = cause
        """What was raised, unless it tells a key."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How patient to be with an endpoint; times in seconds."""

    tries: int = 5
    """Calls in all, the first included."""
    timeouts: int = 2
    """Calls that may take too long; a server that hangs is not waited for five times."""
    first: float = 0.5
    """The pause after the first failure; doubled after each, and cut at random by up to a half."""
    longest: float = 30.0
    """The longest such pause."""
    patience: float = 300.0
    """From the beginning to the last try. An endpoint that asks for more is not waited for."""


def retry_after(
    headers: Mapping[str, str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> float | None:
    """The seconds that `retry-after-ms` or `Retry-After` asks to wait: a number or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = next((value for key, value in headers.items() if key.lower() == name), None)
        if text is None:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            seconds = _until(text, now())
        if seconds is not None and 0 <= seconds < float("inf"):
            return seconds
    return None


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


class Pace:
    """How many calls run at once, and before which moment none begins.

    Calls on event loops and calls on threads wait in one line.
    """

    def __init__(self, slots: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._not_before = 0.0
        self.slots = self._free = slots
        self._line: deque[Callable[[], object]] = deque()

    def resize(self, slots: int) -> None:
        """Let this many run at once; those that run already do."""
        with self._lock:
            self._free += slots - self.slots
            self.slots = slots
        self._give()

    def hold(self, seconds: float) -> None:
        """Let nobody begin for this long."""
        with self._lock:
            self._not_before = max(self._not_before, self.clock() + seconds)

    def left(self, until: float = 0.0) -> float:
        """The seconds until a call may begin, and the moment `until` has come."""
        return max(self._not_before, until) - self.clock()

    @asynccontextmanager
    async def turn(self, until: float = 0.0) -> AsyncGenerator[None]:
        """One of the places, when it is time. For event loops."""
        await self._wait(until)
        ready = anyio.Event()
        waiting = self._enter(_soon(ready.set))
        try:
            if waiting is not None:
                await ready.wait()
            await self._wait(until)
            yield
        finally:
            self._leave(waiting)

    async def _wait(self, until: float) -> None:
        # The moment may be put off meanwhile, by any thread.
        while (seconds := self.left(until)) > 0:  # noqa: ASYNC110
            await anyio.sleep(seconds)

    @contextmanager
    def turn_blocking(
        self, until: float = 0.0, *, pause: Callable[[float], object] = time.sleep
    ) -> Generator[None]:
        """One of the places, when it is time. For threads."""
        ready = threading.Event()
        waiting = self._enter(ready.set)
        try:
            if waiting is not None:
                ready.wait()
            while (seconds := self.left(until)) > 0:
                pause(seconds)
            yield
        finally:
            self._leave(waiting)

    def _enter(self, wake: Callable[[], object]) -> Callable[[], object] | None:
        """Take a place, or stand in line: what will be called when there is one."""
        with self._lock:
            if self._free > 0 and not self._line:
                self._free -= 1
                return None
            self._line.append(wake)
            return wake

    def _leave(self, waiting: Callable[[], object] | None) -> None:
        """Give the place to the next in line, or leave the line."""
        with self._lock:
            if waiting is not None and waiting in self._line:
                self._line.remove(waiting)
                return
            self._free += 1
        self._give()

    def _give(self) -> None:
        """Give free places to those first in line."""
        while True:
            with self._lock:
                if self._free <= 0 or not self._line:
                    return
                self._free -= 1
                wake = self._line.popleft()
            try:
                wake()
            except RuntimeError:  # its event loop has ended
                with self._lock:
                    self._free += 1


def _soon(call: Callable[[], object]) -> Callable[[], object]:
    """What makes the call on the event loop that runs now, from any thread."""
    token: Any = anyio.lowlevel.current_token().native_token
    later = getattr(token, "call_soon_threadsafe", None) or token.run_sync_soon
    return lambda: later(call)


_lock = threading.Lock()
_paces: dict[str, Pace] = {}


def pace_of(endpoint: str, slots: int) -> Pace:
    """The one pace of an endpoint in this process."""
    with _lock:
        pace = _paces.get(endpoint)
        if pace is None:
            return _paces.setdefault(endpoint, Pace(slots))
    if pace.slots != slots:
        pace.resize(slots)
    return pace


def _begin_anew() -> None:
    """In a forked child: places that threads of the parent hold would never be given back."""
    global _lock
    _lock = threading.Lock()
    _paces.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


class Attempts:
    """One call through all its tries."""

    def __init__(self, who: str, retries: Retries, pace: Pace) -> None:
        self._who = who
        self._retries = retries
        self._pace = pace
        self._tried = self._slow = 0
        self._end = pace.clock() + retries.patience
        self.until = 0.0
        """Not before this moment of the pace's clock is the next try."""

    def after(self, trouble: Trouble) -> None:
        """Say when to try again, or raise `ModelFailed`."""
        self._tried += 1
        self._slow += trouble.slow
        retries = self._retries
        if not trouble.again or self._tried >= retries.tries or self._slow >= retries.timeouts:
            asked = f"; {_later(trouble.wait)}" if trouble.wait else ""
            raise self.failure(f"{trouble}{asked}", trouble)
        pause = min(retries.longest, retries.first * 2 ** (self._tried - 1))
        seconds = pause * random.uniform(0.5, 1.0) if trouble.wait is None else trouble.wait
        until = self._pace.clock() + seconds
        if until > self._end:
            raise self.failure(f"{trouble}; {_later(seconds)}", trouble)
        if trouble.wait is not None or trouble.status in (429, 503):
            self._pace.hold(seconds)
        self.until = until

    def begin(self) -> None:
        """Raise `ModelFailed` if the endpoint has asked others for more patience than there is."""
        seconds = self._pace.left()
        if self._pace.clock() + seconds > self._end:
            raise self.failure(f"the endpoint has asked to wait; {_later(seconds)}", None)

    def failure(self, text: str, trouble: Trouble | None) -> ModelFailed:
        """The end of it, in words."""
        tried = f" (tried {self._tried} times)" if self._tried > 1 else ""
        failed = ModelFailed(f"{self._who}: {text}{tried}")
        failed.__cause__ = trouble and trouble.cause
        return failed


def _later(seconds: float) -> str:
    moment = datetime.fromtimestamp(time.time() + seconds, UTC)
    return f"try again in {seconds:.0f} seconds, at {moment:%H:%M:%S} UTC"
