"""The clients of a measured service: each writes and asks in turn, until the time is over.

`python -m memstrata.bench.service_child URL REPORT CLIENTS SECONDS`. The report says which messages
were acknowledged, how long each call took, and which calls failed. When the server is gone, the
clients end.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import anyio

import memstrata
from memstrata.bench import texts
from memstrata.errors import MemstrataError
from memstrata.memory import AsyncMemory

__all__: list[str] = []

_USERS = 50


@dataclass
class Tally:
    """What all clients have seen."""

    acknowledged: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    latencies: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter[str])


async def _client(url: str, number: int, until: float, tally: Tally) -> None:
    said = texts.facts(200, seed=number)
    user = f"user-{number % _USERS}"
    try:
        async with await memstrata.open_async(url) as memory:
            turn = 0
            while time.monotonic() < until:
                fact = said[turn % len(said)]
                text = f"{fact.text} ({number}/{turn})"
                await _write(memory, user, number, text, turn % 2 == 0, tally)
                start = time.perf_counter()
                await memory.search(fact.text, user_id=user, limit=5)
                tally.latencies["search"].append(time.perf_counter() - start)
                turn += 1
    except MemstrataError as error:
        tally.errors[f"{type(error).__name__}: {str(error)[:120]}"] += 1


async def _write(
    memory: AsyncMemory, user: str, number: int, text: str, wait: bool, tally: Tally
) -> None:
    start = time.perf_counter()
    receipt = await memory.add(text, user_id=user, session_id=f"s{number}", wait=wait)
    tally.latencies["add" if wait else "add_without_waiting"].append(time.perf_counter() - start)
    if receipt.state == "failed":
        tally.errors[f"batch failed: {receipt.reason}"] += 1
    tally.acknowledged += [(user, key, text) for key in receipt.message_ids]


async def _main(url: str, report: Path, clients: int, seconds: float) -> None:
    tally = Tally()
    started = time.monotonic()
    async with anyio.create_task_group() as group:
        for number in range(clients):
            group.start_soon(_client, url, number, started + seconds, tally)
    done = {
        "acknowledged": tally.acknowledged,
        "latencies": tally.latencies,
        "errors": tally.errors,
        "seconds": time.monotonic() - started,
    }
    await anyio.Path(report).write_text(json.dumps(done), encoding="utf-8")


if __name__ == "__main__":
    anyio.run(_main, sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
