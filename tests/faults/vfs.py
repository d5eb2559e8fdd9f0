"""A disk that fails when told to: SQLite's own file access, with faults in front of it.

    disk = FaultyDisk("faulty")
    memory = memstrata.open(path, vfs=disk.name)
    disk.room = 4096             # files may grow by so much, then it is full
    disk.fail("sync", after=3)   # the fourth sync fails, and all that follow until `heal`
    disk.heal()

Only one test uses a disk at a time; the count of operations is per disk, over all its files.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection
from typing import Any

import apsw

__all__ = ["WRITES", "FaultyDisk"]

WRITES = ("write", "truncate", "sync")

_CODES = {
    "read": apsw.SQLITE_IOERR_READ,
    "write": apsw.SQLITE_IOERR_WRITE,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "sync": apsw.SQLITE_IOERR_FSYNC,
}


class FaultyDisk(apsw.VFS):
    """The default VFS with faults; it is registered while the object lives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations = 0
        """How many reads, writes, truncations and syncs there have been of the kinds that count."""
        self.failures = 0
        """How many of them failed."""
        self.room: int | None = None
        """By how many bytes files may still grow; None is without end."""
        self.read_only = False
        """The store opens read-only, as another user's file does."""
        self.read_only_folder = False
        """So does everything beside it, and nothing can be made there."""
        self._counted: Collection[str] = ()
        self._left = 0
        self._once = False
        self._kill = False
        self.last_words: Callable[[], object] = lambda: None
        """Called right before the process is killed."""
        self._lock = threading.Lock()
        super().__init__(name, base="")

    def heal(self) -> None:
        """All works again."""
        self.room, self._counted, self._kill = None, (), False
        self.read_only = self.read_only_folder = False

    def fail(self, *kinds: str, after: int = 0, once: bool = False) -> None:
        """Let `after` operations of these kinds pass; the next one fails, or all from there on."""
        self._counted, self._left, self._once, self._kill = kinds, after, once, False
        self.operations = self.failures = 0

    def kill(self, *kinds: str, after: int) -> None:
        """Let `after` operations of these kinds pass, then kill the process in the next one."""
        self.fail(*kinds, after=after)
        self._kill = True

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if self.read_only_folder or (self.read_only and flags[0] & apsw.SQLITE_OPEN_MAIN_DB):
            writable = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            flags[0] = (flags[0] & ~writable) | apsw.SQLITE_OPEN_READONLY
        return _File(self, name, flags)

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        """An error that SQLite lives with, as in a checkpoint that can wait, is no test's."""
        return True

    def step(self, kind: str, half: Callable[[], object] | None = None) -> None:
        """Count an operation; when its time has come raise, or end the process half-way."""
        with self._lock:
            if kind not in self._counted:
                return
            self.operations += 1
            self._left -= 1
            if self._left >= 0 or (self._once and self.failures):
                return
            self.failures += 1
            if self._kill:
                if half is not None:
                    half()
                self.last_words()
                os.kill(os.getpid(), signal.SIGKILL)
        raise apsw.exception_for(_CODES[kind])

    def take(self, size: int) -> None:
        """Take room for a file that grows by `size` bytes; `FullError` if there is not enough."""
        with self._lock:
            if self.room is None or size <= 0:
                return
            if size > self.room:
                self.failures += 1
                raise apsw.exception_for(apsw.SQLITE_FULL)
            self.room -= size


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        """See `FaultyDisk.excepthook`."""
        return True

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.step("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        half = bytes(data)[: len(data) // 2]
        self._disk.step("write", lambda: super(_File, self).xWrite(half, offset))
        if self._disk.room is not None:
            self._disk.take(offset + len(data) - self.xFileSize())
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.step("truncate")
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.step("sync")
        super().xSync(flags)
