"""The shape of every recall report, and how it is printed.

`{"questions", "overall", "by_category", "intervals", …, "ledger"}`: `overall` and each category
map metrics to means over questions, `ledger` says what the run took.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from memstrata.bench import machine, metrics

if TYPE_CHECKING:
    import memstrata

__all__ = [
    "SEED",
    "Block",
    "Ledger",
    "Row",
    "certainty",
    "footer",
    "plain_table",
    "print_certainty",
    "progress",
    "recall",
    "table",
    "write",
]

SEED = 20230508
"""Of the bootstrap."""

Block = dict[str, Any]

Scores = Mapping[str, float]
Row = tuple[str, int, Scores, Mapping[str, tuple[float, float]]]


class Ledger:
    """What a run took."""

    def __init__(self, embedder: str, **settings: str | float | bool) -> None:
        self._fixed = {"embedder": embedder, **settings, "bootstrap_seed": SEED}
        self.bytes = 0
        self.messages = 0
        self.ingest_seconds = 0.0
        self.searches: list[float] = []
        self.model_calls = 0
        self.embedding_calls = 0

    def count(self, calls: memstrata.Ledger) -> None:
        """Add what one verb reports."""
        self.model_calls += calls.model_calls
        self.embedding_calls += calls.embedding_calls

    def to_dict(self) -> Block:
        """The figures, with the machine they come from."""
        return {
            **self._fixed,
            "messages": self.messages,
            "questions": len(self.searches),
            "model_calls": self.model_calls,
            "embedding_calls": self.embedding_calls,
            "ingest_seconds": round(self.ingest_seconds, 2),
            "search_ms": machine.milliseconds(self.searches) if self.searches else {},
            "bytes_per_message": self.bytes / self.messages if self.messages else None,
            "setting": machine.setting(),
        }


def recall(judged: Sequence[tuple[str, Scores]], seed: int = SEED) -> Block:
    """The means of questions by category, in the order the categories come, with intervals."""
    scores = [score for _, score in judged]
    groups: dict[str, list[Scores]] = {}
    for category, score in judged:
        groups.setdefault(category, []).append(score)
    return {
        "questions": len(scores),
        "overall": metrics.means(scores),
        "by_category": {
            name: {"questions": len(group), **metrics.means(group)}
            for name, group in groups.items()
        },
        "intervals": {
            "overall": metrics.intervals(scores, seed=seed),
            **{name: metrics.intervals(group, seed=seed) for name, group in groups.items()},
        },
    }


def certainty(
    with_answer: Sequence[tuple[float, bool]], without: Sequence[tuple[float, bool]]
) -> Block:
    """How well (`confidence`, `answerable`) tells questions with an answer from those without."""
    return {
        "answerable_share": _share(without),
        "answerable_share_of_the_others": _share(with_answer),
        "confidence_auroc": metrics.auroc([c for c, _ in with_answer], [c for c, _ in without]),
    }


def table(title: str, names: Sequence[str], rows: Iterable[Row]) -> Table:
    """Metrics in percent, a row each with its number of questions and, where given, intervals."""
    made = plain_table(title, ("n", *map(_short, names)))
    for label, count, scores, between in rows:
        made.add_row(label, str(count), *(_cell(name, scores, between) for name in names))
    return made


def plain_table(title: str, heads: Sequence[str]) -> Table:
    """An empty table: a column of names, then columns of figures."""
    made = Table(title=title, title_justify="left", box=box.SIMPLE, show_edge=False, pad_edge=False)
    made.add_column("", no_wrap=True)
    for head in heads:
        made.add_column(head, justify="right")
    return made


def print_certainty(console: Console, name: str, block: Block) -> None:
    """A line on questions without an answer, if both sorts were asked."""
    if block["confidence_auroc"] is not None:
        console.print(
            f"Called answerable: {block['answerable_share']:.1%} of the {name} questions, "
            f"{block['answerable_share_of_the_others']:.1%} of the others; confidence tells them "
            f"apart with AUROC {block['confidence_auroc']:.3f}."
        )


def footer(ledger: Block) -> str:
    """What the run took, in one line."""
    return (
        f"{ledger['messages']} messages in {ledger['ingest_seconds']} s, "
        f"{ledger['questions']} questions, search p50 {ledger['search_ms'].get('p50', 0.0):.1f} "
        f"ms, embedder {ledger['embedder']}, load {ledger['setting']['load_average']}."
    )


def progress(console: Console) -> Progress:
    """A line that says what is going on, gone at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def write(result: Block, out: Path | None) -> None:
    """The whole report as JSON, if a file is named."""
    if out:
        text = json.dumps(result, indent=2, ensure_ascii=False)
        out.write_text(text + "\n", encoding="utf-8")


def _share(asked: Sequence[tuple[float, bool]]) -> float | None:
    return sum(answerable for _, answerable in asked) / len(asked) if asked else None


def _short(name: str) -> str:
    short = name.replace("session_", "ses.\n").replace("recall", "R")
    return short.replace("any@", "any\n@").replace("all@", "all\n@") if "\n" not in short else short


def _cell(name: str, scores: Scores, between: Mapping[str, tuple[float, float]]) -> str:
    if name not in scores:
        return ""
    cell = f"{scores[name] * 100:.1f}"
    if name in between:
        low, high = between[name]
        cell += f"\n{low * 100:.0f}–{high * 100:.0f}"
    return cell
