"""What the cases share: a clock of their own, and short ways to say what is there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from memstrata import Memory
from memstrata.records import Hit, Message, Record

__all__ = ["FOREVER", "found", "python", "set_clock", "texts"]

FOREVER = 10_000
"""More than any test stores, as a `limit`."""


def texts(items: Iterable[Message | Record]) -> list[str]:
    """The texts of messages or records, in their order."""
    return [item.content if isinstance(item, Message) else item.text for item in items]


def found(hits: Iterable[Hit]) -> list[str]:
    """The texts of hits, in their order."""
    return [hit.text for hit in hits]


def set_clock(memory: Memory, when: datetime) -> None:
    """Make it `when` for everything this handle does from now on."""
    memory.aio._runtime.clock = lambda: when


def python(program: str, *args: str, env: Mapping[str, str] | None = None) -> str:
    """What a program printed (as UTF-8), run by this Python in a process of its own."""
    done: subprocess.CompletedProcess[Any] = subprocess.run(
        [sys.executable, "-c", program, *args],
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8")
