"""The process's own event loops, on threads: one for blocking calls, one for background work."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Literal, TypeVar

import anyio
import anyio.to_thread
from anyio.from_thread import BlockingPortal

__all__ = ["Background", "loop_thread", "run"]

T = TypeVar("T")
Purpose = Literal["calls", "work"]

_lock = threading.Lock()
_threads: dict[Purpose, _LoopThread] = {}


class _LoopThread:
    """One daemon thread that runs an event loop until the process ends.

    A daemon, so that a program that forgets `close()` still exits.
    """

    def __init__(self, purpose: Purpose) -> None:
        self.pid = os.getpid()
        self._ready = threading.Event()
        self._portal: BlockingPortal | None = None
        thread = threading.Thread(target=anyio.run, args=(self._main,), daemon=True)
        thread.name = f"memstrata {purpose}"
        thread.start()
        self._ready.wait()

    async def _main(self) -> None:
        async with BlockingPortal() as portal:
            self._portal = portal
            self._ready.set()
            await anyio.sleep_forever()

    @property
    def portal(self) -> BlockingPortal:
        """Where to hand coroutines in."""
        assert self._portal is not None
        return self._portal


def loop_thread(purpose: Purpose) -> BlockingPortal:
    """The portal of this process's loop thread, started on first need and anew after a fork."""
    with _lock:
        thread = _threads.get(purpose)
        if thread is None or thread.pid != os.getpid():
            thread = _threads[purpose] = _LoopThread(purpose)
        return thread.portal


def run(call: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine function on the loop thread and wait for it; usable inside another loop."""
    return loop_thread("calls").call(call)


class Background:
    """One job at a time on the work thread; asked for again while it runs, it runs once more."""

    def __init__(self, job: Callable[[], Awaitable[object]]) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._running: Future[None] | None = None
        self._again = False
        self._idle = threading.Event()
        self._idle.set()

    def start(self) -> None:
        """See to it that the job runs after this call."""
        with self._lock:
            self._again = True
            if self._idle.is_set():
                self._idle.clear()
                self._running = loop_thread("work").start_task_soon(self._main)

    async def _main(self) -> None:
        try:
            while self._more():
                await self._job()
        except BaseException:
            self._idle.set()  # otherwise `_more` has said so, and another run may have begun
            raise

    def _more(self) -> bool:
        with self._lock:
            again, self._again = self._again, False
            if not again:
                self._idle.set()
            return again

    async def stop(self) -> None:
        """Cancel the job and wait until it has cleaned up."""
        with self._lock:
            running, self._again = self._running, False
        if running is not None:
            # A cancelled future is done at once, the job only when it has cleaned up.
            running.cancel()
            await anyio.to_thread.run_sync(self._idle.wait)
