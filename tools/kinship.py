"""Measure how near two records of one memory come to each other, for `Embedder.relate`.

Prints the cosines that are exceeded by the shares of pairs in `memstrata.models.inprocess.LEVELS`,
as they stand in the models' `KINSHIP`: of the memory points of RealMem (English), the records
distilled from the LoCoMo conversations (English) and the memories of MADial-Bench by user
(Chinese), in equal parts.

    python tools/kinship.py DATA [EMBEDDER]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import memstrata
from memstrata.bench import data as locomo
from memstrata.bench import haystack, madial
from memstrata.bench.locomo import haystack_of
from memstrata.bench.realmem import realmem_points
from memstrata.bench.report import Ledger
from memstrata.models.base import Embedder, load_embedder
from memstrata.models.inprocess import LEVELS
from memstrata.passages import chunk, limits_of

__all__ = ["main"]


def _realmem(data: Path) -> Iterator[list[str]]:
    for path in sorted((data / "realmem").glob("*_dialogues_*.json")):
        yield realmem_points(path)


def _locomo(data: Path, embedder: Embedder) -> Iterator[list[str]]:
    with memstrata.open(":memory:", embedder=embedder) as memory:
        ledger = Ledger(embedder.id, limit=1, infer=True)
        for one in locomo.load(*locomo.find_files(data)):
            haystack.put(memory, haystack_of(one).items, ledger)
            yield [record.text for record in memory.list(user_id=one.id, limit=1000)]


def _chinese(data: Path) -> Iterator[list[str]]:
    found = madial.find_files(data, "zh")
    by_user: dict[str, list[str]] = defaultdict(list)
    for item in madial.load(*found, "zh").items if found else ():
        by_user[item.user_id].append(item.content)
    yield from by_user.values()


def _cosines(embedder: Embedder, memories: Iterator[list[str]]) -> NDArray[np.float32]:
    limits = limits_of(embedder)
    found: list[NDArray[np.float32]] = []
    for texts in memories:
        cut = [text[: chunk(text, limits)[0].end] for text in dict.fromkeys(texts)]
        if len(cut) > 1:
            vectors = embedder.embed_passages(cut)
            found.append((vectors @ vectors.T)[np.triu_indices(len(vectors), 1)])
    return np.concatenate(found)


def main(arguments: Sequence[str]) -> None:
    """Print the table for one embedder."""
    data = Path(arguments[0])
    embedder = load_embedder(*arguments[1:2])
    assert embedder is not None
    shares = [10.0 ** (-5 * level) for level in LEVELS[1:-1]]
    sets = {
        "RealMem": _realmem(data),
        "LoCoMo": _locomo(data, embedder),
        "MADial-Bench zh": _chinese(data),
    }
    rows: list[list[float]] = []
    for name, memories in sets.items():
        cosines = _cosines(embedder, memories)
        levels: list[float] = np.quantile(cosines, [1 - share for share in shares]).tolist()
        rows.append(levels)
        print(f"{name}: {len(cosines)} pairs", _rounded(levels))
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    print("mean of them:", _rounded(means))


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]


if __name__ == "__main__":
    main(sys.argv[1:])
