"""Named places in the product at which a process kills itself; the product knows none of them.

The statements of `queries.sql` (`before message_add`, `after message_add`), the ends of writing
transactions (`before COMMIT`, `after COMMIT`), the steps of a migration, what is done with the
key file (`before replace`, `after fsync`); and, through the faulty disk, the n-th write, sync or
truncation of the store's files (`disk write`).
"""

from __future__ import annotations

import functools
import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from faults.vfs import WRITES, FaultyDisk

from memstrata.store.sqlite import schema, store
from memstrata.store.statements import load_statements

__all__ = ["FILE", "MIGRATION", "WRITING", "Failpoints", "Fate"]

_WRITES = re.compile(r"(?:\s*--[^\n]*\n)*\s*(?:INSERT|UPDATE|DELETE)\b")

WRITING = sorted(
    name for name, sql in load_statements("memstrata.store.sqlite").items() if _WRITES.match(sql)
)
"""The statements that write."""
MIGRATION = ("migration", "migration COMMIT")
FILE = ("replace", "link", "fsync", "unlink")


@dataclass(frozen=True, slots=True)
class Fate:
    """How a process ends: at the n-th time it comes by a failpoint, or by its own will."""

    failpoint: str = ""
    """`before NAME`, `after NAME`, `disk KIND`; empty to survive."""
    passing: int = 0
    """How often it passes there before it dies."""
    lines: int = 0
    """It is killed from outside when it has said so many lines; 0 for never."""

    def __str__(self) -> str:
        if self.lines:
            return f"killed after {self.lines} lines"
        return f"killed {self.failpoint}, time {self.passing + 1}" if self.failpoint else "survives"


class Failpoints:
    """Puts them into this process, which then meets its fate."""

    def __init__(self, fate: Fate, last_words: Callable[[str], object]) -> None:
        self.passed: set[str] = set()
        """The statements that were run since it was last emptied."""
        self._fate = fate
        self._left = fate.passing
        self._last_words = last_words

    def install(self, disk: FaultyDisk) -> None:
        """From now on the process may die."""
        kind = self._fate.failpoint.removeprefix("disk ")
        if kind in WRITES:
            disk.last_words = lambda: self._last_words(self._fate.failpoint)
            disk.kill(kind, after=self._fate.passing)
        for name in ("rows", "many", "select"):
            setattr(store.SqliteTx, name, self._statement(getattr(store.SqliteTx, name)))
        store.execute = self._transaction(store.execute, "COMMIT")
        steps = frozenset(schema.migrations().values())
        schema.execute = self._transaction(schema.execute, "migration COMMIT", steps)
        for name in FILE:
            setattr(os, name, self._around(name, getattr(os, name)))

    def reach(self, failpoint: str) -> None:
        """Die here, if this is the place and the time."""
        if failpoint != self._fate.failpoint:
            return
        self._left -= 1
        if self._left < 0:
            self._last_words(failpoint)
            os.kill(os.getpid(), signal.SIGKILL)

    def _around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def around(*args: Any, **named: Any) -> Any:
            self.reach(f"before {name}")
            result = call(*args, **named)
            self.reach(f"after {name}")
            return result

        return around

    def _statement(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(tx: Any, name: str, *args: Any) -> Any:
            self.passed.add(name)
            self.reach(f"before {name}")
            result = method(tx, name, *args)
            self.reach(f"after {name}")
            return result

        return run

    def _transaction(
        self, execute: Callable[..., Any], commit: str, steps: frozenset[str] = frozenset()
    ) -> Callable[..., Any]:
        writing: set[int] = set()

        def run(connection: Any, sql: str, params: Any = None) -> Any:
            name = "migration" if sql in steps else ""
            if sql == "BEGIN IMMEDIATE":
                writing.add(id(connection))
            elif sql == "COMMIT" and id(connection) in writing:
                writing.discard(id(connection))
                name = commit
            if name:
                self.reach(f"before {name}")
            result = execute(connection, sql, params)
            if name:
                self.reach(f"after {name}")
            return result

        return run
