"""Storing a file of messages: group after group, with progress, and a way to go on."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memstrata.cli import render
from memstrata.cli.call import Call, Failed
from memstrata.cli.output import dim, plural, safe
from memstrata.cli.reading import Group, Line
from memstrata.errors import InvalidInput, MemstrataError, ScopeRequired

if TYPE_CHECKING:
    from memstrata.memory import AsyncMemory
    from memstrata.records import Receipt

__all__ = ["Stored", "progress", "store_lines"]

_SHOWN = 20
_WORST_LAST = ("undone", "done", "running", "pending", "failed")

Store = Callable[["AsyncMemory", int, Group], Awaitable["Receipt"]]


@dataclass(slots=True)
class Stored:
    """What has become of the lines of a file."""

    lines: int
    tried: int = 0
    known: int = 0
    state: str = "done"
    reason: str | None = None
    message_ids: list[str] = field(default_factory=list[str])
    batch_ids: list[str] = field(default_factory=list[str])
    skipped: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    notes: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Stored:
        """Nothing stored yet; lines that are no message are noted."""
        bad = [
            {"line": line.number, "reason": line.problem, "id": None, "stored": False}
            for line in lines
            if line.problem is not None
        ]
        return cls(lines=len(lines), skipped=bad)

    @property
    def new(self) -> int:
        """How many messages were not in the store before."""
        return len(self.message_ids) - self.known

    def take(self, group: Group, receipt: Receipt) -> None:
        """Note what became of a group."""
        self.message_ids += receipt.message_ids
        self.batch_ids.append(receipt.batch_id)
        for item in receipt.skipped:
            if item.index is None:
                self.notes += [] if item.reason in self.notes else [item.reason]
            elif item.id is not None and not item.stored:
                self.known += 1
            else:
                line = group.lines[item.index].number
                self.skipped.append({"line": line, **item.model_dump(exclude={"index"})})
        if _WORST_LAST.index(receipt.state) > _WORST_LAST.index(self.state):
            self.state, self.reason = receipt.state, receipt.reason

    def refuse(self, group: Group, error: InvalidInput) -> None:
        """Note a group of which nothing could be stored."""
        first, last = group.lines[0].number, group.lines[-1].number
        line = first if first == last else f"{first}–{last}"
        item = {"line": line, "reason": str(error), "id": None, "stored": False}
        self.skipped.append(item)

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "lines": self.lines,
            "stored": self.new,
            "known": self.known,
            "state": self.state,
            "reason": self.reason,
            "message_ids": self.message_ids,
            "batch_ids": self.batch_ids,
            "skipped": self.skipped,
            "notes": self.notes,
        }

    def to_text(self) -> str:
        """For a person."""
        lines = [f"stored {plural(self.new, 'message')}"]
        if self.known:
            lines.append(f"{plural(self.known, 'message')} were stored before")
        for item in self.skipped[:_SHOWN]:
            what = render.skipped(item["reason"], item["id"], item["stored"])
            lines.append(f"line {item['line']}: {what}")
        if len(self.skipped) > _SHOWN:
            lines.append(f"… and {len(self.skipped) - _SHOWN:,} more such lines; see --json")
        text = safe("\n".join(lines))
        if not self.new:
            return text
        first, last = self.batch_ids[0], self.batch_ids[-1]
        return f"{text}\n{dim(first if first == last else f'{first} to {last}')}"


def store_lines(call: Call, work: Sequence[Group], store: Store, stored: Stored) -> Stored:
    """Store the groups one after another; what stops it says how far it came."""

    async def each(memory: AsyncMemory) -> None:
        refused: InvalidInput | None = None
        with progress("storing", sum(len(group.lines) for group in work)) as advance:
            for number, group in enumerate(work, 1):
                try:
                    stored.take(group, await store(memory, number, group))
                except ScopeRequired:
                    raise
                except InvalidInput as error:
                    refused = refused or error
                    stored.refuse(group, error)
                stored.tried += len(group.lines)
                advance(len(group.lines))
        if refused is not None and not stored.message_ids:
            raise refused

    try:
        call.scoped(each)
    except KeyboardInterrupt:
        raise Failed(_so_far("interrupted", stored), code=130, name="Interrupted") from None
    except MemstrataError as error:
        if not stored.message_ids:
            raise
        raise Failed(_so_far(str(error), stored), name=type(error).__name__) from error
    return stored


def _so_far(what: str, stored: Stored) -> str:
    return (
        f"{what}: {stored.tried:,} of {stored.lines:,} lines are done, and the group after them is "
        "stored whole or not at all; run the same command again to go on: nothing is stored twice"
    )


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Generator[Callable[[int], None]]:
    """A progress bar on standard error, if a terminal shows it; give it what has been done."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    rich = importlib.import_module("rich.progress")
    console = importlib.import_module("rich.console").Console(stderr=True)
    parts = [rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn()]
    parts += [rich.MofNCompleteColumn(), rich.TimeElapsedColumn(), rich.TimeRemainingColumn()]
    with rich.Progress(*parts, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
