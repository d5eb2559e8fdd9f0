"""One measurement of `bench speed`, in a process of its own.

Run as `python -P -m memstrata.bench.speed_child SECTION ARGUMENTS`, arguments as a JSON object;
the figures are the only line on standard output, as JSON. A process of its own gives each
section one thread, memory figures that are its own, and nothing warmed up by another.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import memstrata
from memstrata.bench import bare, machine, texts
from memstrata.errors import InvalidInput
from memstrata.models.base import Embedder, load_embedder
from memstrata.text.analyse import pack_terms, query_terms, term_hash

if TYPE_CHECKING:
    from memstrata.sync import Memory

__all__ = ["SECTIONS", "MadeUpVectors", "main"]

_SEED = 11
_BATCH = 100
_START = datetime(2024, 1, 1, 8, tzinfo=UTC)
_USER = "bench-user"
_WARM_UP = 20

Figures = dict[str, Any]


class MadeUpVectors:
    """A model whose passages get random unit vectors, so that large files are made quickly.

    Under the model's own id and dimensions: a scan takes as long over these vectors as over
    others. Questions are embedded by the model, or, with `live` off, looked up once known.
    """

    def __init__(self, model: Embedder) -> None:
        self.id = model.id
        self.dimensions = model.dimensions
        self.max_tokens = model.max_tokens
        self.count_tokens = model.count_tokens
        self.calibrate = model.calibrate
        self.relate = model.relate
        self.live = True
        self._model = model
        self._random = np.random.default_rng(_SEED)
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return random_vectors(self._random, len(texts), self.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if self.live or text not in self._known:
            self._known[text] = self._model.embed_query(text)
        return self._known[text]


def random_vectors(random: np.random.Generator, count: int, dimensions: int) -> NDArray[np.float32]:
    """Unit vectors in random directions: (count, dimensions)."""
    rows = random.standard_normal((count, dimensions), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def ingest(folder: str, embedder: str, count: int, batch: int) -> Figures:
    """Messages a second with this model, or with `none`, in calls of `batch` messages each."""
    written = _texts(count + batch)
    with memstrata.open(
        _file(folder, f"ingest-{embedder}-{batch}"), embedder=embedder, llm="none"
    ) as memory:
        _add(memory, written[:batch], batch=batch)
        wall, cpu = time.perf_counter(), time.process_time()
        _add(memory, written[batch:], batch=batch, first=batch)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "messages": count,
        "batch": batch,
        "per_second": count / wall,
        "ms_each": wall * 1000 / count,
        "cpu_ms_each": cpu * 1000 / count,
    }


def build(folder: str, embedder: str, count: int) -> Figures:
    """A file of `count` messages of one user, with made-up vectors; its size when closed."""
    written = _texts(count)
    started = time.perf_counter()
    with _open(_file(folder, str(count)), embedder) as (memory, _):
        _add(memory, written, batch=_BATCH)
    seconds = time.perf_counter() - started
    size = sum(item.stat().st_size for item in Path(folder).glob(f"{count}.db*"))
    return {
        "messages": count,
        "per_second_without_embedding": count / seconds,
        "bytes_per_message": size / count,
        "text_bytes_per_message": sum(len(text.encode()) for text in written) / count,
    }


def search(folder: str, embedder: str, count: int, queries: int) -> Figures:
    """Search over a file made by `build`: latency with and without embedding the question.

    With it the bare scan and the bare BM25 over the same rows, taking turns question by
    question, and the memory this process holds.
    """
    asked = _asked(count, queries)
    before = machine.resident_bytes()
    with _open(_file(folder, str(count)), embedder) as (memory, model):
        for query in asked:
            _find(memory, query)
        after, peak = machine.resident_bytes(), machine.peak_bytes()
        live = [_seconds(lambda q=q: _find(memory, q)) for q in asked[_WARM_UP:]]
        model.live = False
        matrix, terms = _bare_index(count, model.dimensions)
        timings: dict[str, list[float]] = {"search": [], "scan": [], "bm25": []}
        for at, query in enumerate(asked):
            vector = model.embed_query(query)
            hashes = list(dict.fromkeys(term_hash(term.term) for term in query_terms(query)))
            one = {
                "search": _seconds(lambda q=query: _find(memory, q)),
                "scan": _seconds(lambda v=vector: bare.scan(matrix, v)),
                "bm25": _seconds(lambda h=hashes: terms.search(h)),
            }
            if at >= _WARM_UP:
                for name, seconds in one.items():
                    timings[name].append(seconds)
    figures = {name: machine.milliseconds(values) for name, values in timings.items()}
    return {
        "messages": count,
        "queries": queries,
        "warm_up": _WARM_UP,
        "search_ms": machine.milliseconds(live),
        "search_without_embedding_ms": figures["search"],
        "bare_scan_ms": figures["scan"],
        "bare_bm25_ms": figures["bm25"],
        "ratio_to_bare": figures["search"]["p50"]
        / (figures["scan"]["p50"] + figures["bm25"]["p50"]),
        "resident_bytes": after,
        "resident_bytes_of_the_memory": after - before if after and before else None,
        "peak_bytes": peak,
        "load_average": machine.load_average(),
    }


def users(folder: str, embedder: str, others: int, own: int, each: int, queries: int) -> Figures:
    """One user's latency alone in a file, and in a file with `others` users, taking turns."""
    written, asked = _texts(own + 200), _asked(own, queries)
    with (
        _open(_file(folder, "alone"), embedder) as (alone, model),
        _open(_file(folder, "crowd"), embedder) as (crowd, crowd_model),
    ):
        model.live = crowd_model.live = False
        for memory in (alone, crowd):
            _add(memory, written[:own], batch=_BATCH)
        for number in range(others):
            part = [written[(number * 7 + at) % len(written)] for at in range(each)]
            _add(crowd, part, batch=each, user=f"other-{number}")
        for number in range(0, others, max(1, others // 50)):
            _find(crowd, asked[0], user=f"other-{number}")
        for query in asked:
            _find(alone, query)
            _find(crowd, query)
        timings: dict[int, list[float]] = {0: [], 1: []}
        for at, query in enumerate(asked):
            for which, memory in enumerate((alone, crowd)):
                seconds = _seconds(lambda m=memory, q=query: _find(m, q))
                if at >= _WARM_UP:
                    timings[which].append(seconds)
    first, second = machine.milliseconds(timings[0]), machine.milliseconds(timings[1])
    return {
        "messages_of_the_user": own,
        "messages_of_each_other": each,
        "queries": queries,
        "1": first,
        str(others + 1): second,
        "ratio_p50": second["p50"] / first["p50"],
        "load_average": machine.load_average(),
    }


SECTIONS: Mapping[str, Callable[..., Figures]] = {
    "build": build,
    "ingest": ingest,
    "search": search,
    "users": users,
}


def main(section: str, arguments: str) -> None:
    """Run one section and print its figures."""
    print(json.dumps(SECTIONS[section](**json.loads(arguments))))


def _texts(count: int) -> list[str]:
    return [fact.text for fact in texts.facts(count, seed=_SEED)]


def _asked(count: int, queries: int) -> list[str]:
    return texts.questions(texts.facts(count, seed=_SEED), _WARM_UP + queries, seed=_SEED)


def _file(folder: str, name: str) -> str:
    return str(Path(folder) / f"{name}.db")


@contextmanager
def _open(path: str, embedder: str) -> Generator[tuple[Memory, MadeUpVectors]]:
    model = load_embedder(embedder)
    if model is None:
        raise InvalidInput("search speed is measured with vectors: name an embedder, not 'none'")
    made_up = MadeUpVectors(model)
    with memstrata.open(path, embedder=made_up, llm="none") as memory:
        yield memory, made_up


def _add(
    memory: Memory, written: Sequence[str], *, batch: int, first: int = 0, user: str = _USER
) -> None:
    """Add texts, five minutes apart, in calls of `batch` messages and sessions of 50 or more."""
    session = max(batch, 50)
    for start in range(0, len(written), batch):
        memory.add(
            [
                {
                    "role": "user",
                    "content": text,
                    "occurred_at": _START + timedelta(minutes=5 * (first + start + at)),
                }
                for at, text in enumerate(written[start : start + batch])
            ],
            user_id=user,
            session_id=f"session-{(first + start) // session}",
            infer=False,
        )


def _find(memory: Memory, query: str, user: str = _USER) -> None:
    if not memory.search(query, user_id=user, limit=10).hits:
        raise InvalidInput(f"nothing was found, so nothing was measured: {query!r}")


def _bare_index(count: int, dimensions: int) -> tuple[NDArray[np.float32], bare.BM25]:
    written = _texts(count)
    random = np.random.default_rng(_SEED)
    return random_vectors(random, count, dimensions), bare.BM25(list(map(pack_terms, written)))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(*sys.argv[1:])
