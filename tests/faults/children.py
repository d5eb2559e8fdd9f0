"""Programs that tests start as processes of their own, to be killed, or to get in each other's way.

    python -m faults.children add PATH USER LABEL COUNT
    python -m faults.children load PATH USER COUNT GROUP
    python -m faults.children crash PATH SEED ROUNDS inside|outside

Each acknowledged write is a line on standard output, written when the call has returned.
"""

from __future__ import annotations

import importlib
import os
import random
import signal
import sys
from typing import Any, NoReturn

from faults.vfs import WRITES, FaultyDisk

import memstrata
from memstrata.models.fake import FakeEmbedder

MOST_WRITES = 400
MOST_LINES = 12


def say(line: str) -> None:
    """One line to whoever started this, at once."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def add(path: str, user: str, label: str, count: int) -> None:
    """Add so many messages, one call each."""
    with memstrata.open(path, embedder="none") as memory:
        for number in range(count):
            say(memory.add(f"crate {number} {label}", user_id=user).message_ids[0])


def load(path: str, user: str, count: int, group: int) -> None:
    """Import so many messages with ids of their own, a group in each call, vectors included."""
    with memstrata.open(path, embedder=FakeEmbedder(dimensions=32)) as memory:
        for start in range(0, count, group):
            said = [
                {"role": "user", "content": f"crate {number}", "id": f"crate-{number}"}
                for number in range(start, start + group)
            ]
            memory.add(said, user_id=user, infer=False)
            say(str(start + group))


def crash(path: str, seed: int, rounds: int, where: str) -> None:
    """Fork writers that are killed at random points, one after the other on the same store.

    `inside`: in the middle of the n-th write, sync or truncation; `outside`: whenever it is that
    the n-th line has arrived. What each says is passed on with the number of its round.
    """
    importlib.import_module("memstrata.sync")  # once, not in every fork
    randomness = random.Random(seed)
    for number in range(rounds):
        writes = randomness.randrange(MOST_WRITES) if where == "inside" else None
        lines = 10**6 if where == "inside" else randomness.randrange(1, MOST_LINES)
        source, sink = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(source)
            os.dup2(sink, sys.stdout.fileno())
            write_for_ever(path, number, writes)
        os.close(sink)
        with os.fdopen(source, encoding="utf-8") as said:
            for _, line in zip(range(lines), said, strict=False):
                say(f"{number} {line.rstrip()}")
            os.kill(pid, signal.SIGKILL)
            for line in said:  # what it still said before it died counts too
                say(f"{number} {line.rstrip()}")
        _, status = os.waitpid(pid, 0)
        say(f"{number} killed by {os.waitstatus_to_exitcode(status)}")


def write_for_ever(path: str, number: int, writes: int | None) -> NoReturn:
    """Every kind of write, again and again, until killed: what is asked for, then what is done."""
    disk = FaultyDisk("mortal")
    memory = memstrata.open(path, embedder=FakeEmbedder(dimensions=32), vfs=disk.name)
    for problem in memory.verify():
        say(f"unsound {problem}")
    if writes is not None:
        disk.kill(*WRITES, after=writes)
    owner: dict[str, Any] = {"user_id": "ann"}
    [record] = memory.create({"kind": "semantic", "name": f"fact {number}"}, **owner).record_ids
    say(f"kept {record}")
    step = 0
    while True:
        step += 1
        pages = "long story " * 500 if step % 3 == 0 else ""
        said = [f"crate {number}/{step}", f"basket {number}/{step} {pages}"]
        first, second = memory.add(said, session_id=f"s{step % 2}", **owner).message_ids
        say(f"kept {first}")
        say(f"kept {second}")
        memory.update(record, details=f"step {step}", **owner)
        say(f"step {record} {step}")
        if step % 2 == 0:
            say(f"erase {first}")
            memory.forget(ids=[first], **owner)
            say(f"erased {first}")


if __name__ == "__main__":
    command, path, *rest = sys.argv[1:]
    if command == "add":
        add(path, rest[0], rest[1], int(rest[2]))
    elif command == "load":
        load(path, rest[0], int(rest[1]), int(rest[2]))
    else:
        crash(path, int(rest[0]), int(rest[1]), rest[2])
