"""Who asks a measured service, and writes down what came of it.

`service_child load URL REPORT CLIENTS SECONDS`: each client writes and asks in turn, until the time
is over or the server is gone; which messages were acknowledged, how long each call took, which
failed. `service_child compare URL REPORT STORE EMBEDDER QUESTIONS`: the same questions here and
there; how long each took.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

import memstrata
from memstrata.bench import texts
from memstrata.errors import MemstrataError, StoreUnavailable
from memstrata.memory import AsyncMemory

__all__ = ["USER"]

USER = "bench-user"
_USERS = 50
_BLOCK = 25


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


async def _load(url: str, report: str, clients: str, seconds: str) -> None:
    tally = Tally()
    started = time.monotonic()
    async with anyio.create_task_group() as group:
        for number in range(int(clients)):
            group.start_soon(_client, url, number, started + float(seconds), tally)
    done = {
        "acknowledged": tally.acknowledged,
        "latencies": tally.latencies,
        "errors": tally.errors,
        "seconds": time.monotonic() - started,
    }
    await anyio.Path(report).write_text(json.dumps(done), encoding="utf-8")


async def _compare(url: str, report: str, store: str, embedder: str, questions: str) -> None:
    """A block of questions here, then the same there, so that both have the same machine."""
    asked: list[str] = json.loads(await anyio.Path(questions).read_text("utf-8"))
    blocks = [asked[start : start + _BLOCK] for start in range(0, len(asked), _BLOCK)]
    took: dict[str, list[float]] = {"here": [], "there": []}
    async with (
        await memstrata.open_async(store, embedder=embedder, llm="none") as own,
        await memstrata.open_async(url) as client,
    ):
        for number, block in enumerate([blocks[0], *blocks]):
            mine = [await _timed(own, query) for query in block]
            theirs = [await _timed(client, query) for query in block]
            if [ids for _, ids in mine] != [ids for _, ids in theirs]:
                raise StoreUnavailable("the server finds something else than is found in process")
            if number:  # after the first, both have loaded what they need
                took["here"] += [seconds for seconds, _ in mine]
                took["there"] += [seconds for seconds, _ in theirs]
    await anyio.Path(report).write_text(json.dumps(took), encoding="utf-8")


async def _timed(memory: AsyncMemory, query: str) -> tuple[float, list[str]]:
    start = time.perf_counter()
    found = await memory.search(query, user_id=USER)
    return time.perf_counter() - start, [hit.id for hit in found]


if __name__ == "__main__":
    run: dict[str, Callable[..., Awaitable[None]]] = {"load": _load, "compare": _compare}
    anyio.run(run[sys.argv[1]], *sys.argv[2:])
