"""The figures of answered questions: by condition and category, over runs, and what they cost."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from memstrata.bench import machine, qa_score
from memstrata.bench import report as reports
from memstrata.bench.qa_journal import Entry
from memstrata.bench.report import Block
from memstrata.models.spending import added
from memstrata.records import Ledger

__all__ = ["Outcome", "report", "show"]

_LOCOMO = frozenset({"multi-hop", "temporal", "open-domain", "single-hop", "adversarial"})
_APART = "adversarial"
"""The category that is no part of the overall figures, as the reports on the set have it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question answered in one condition and run."""

    category: str
    gold: str
    condition: str
    run: int
    answer: Entry
    """As the journal has it; empty if it was never asked."""
    judgement: Entry | None = None

    @property
    def failed(self) -> bool:
        """Whether there is no answer."""
        return not self.answer or bool(self.answer["failed"])

    @property
    def right(self) -> float | None:
        """What the judge says; 0 for an answer that failed, None where there is no judgement."""
        if self.failed:
            return 0.0
        right = self.judgement["right"] if self.judgement else None
        return None if right is None else float(right)

    @property
    def f1(self) -> float:
        """By the words of the answer, as LoCoMo scores each category."""
        if self.failed:
            return 0.0
        said = str(self.answer["answer"])
        if self.category in _LOCOMO:
            return qa_score.locomo_f1(said, self.gold, self.category)
        return qa_score.f1(said, self.gold)

    @property
    def bleu_1(self) -> float:
        """By the words of the answer."""
        return 0.0 if self.failed else qa_score.bleu_1(str(self.answer["answer"]), self.gold)


def report(outcomes: Sequence[Outcome], written: Sequence[Entry]) -> Block:
    """The figures by condition, overall and by category, and the ledger.

    Each metric is the mean over runs of the means over questions; `spread` has its standard
    deviation over runs, and the mean of each.
    """
    counted = [one for one in outcomes if one.category != _APART]
    apart = [one for one in outcomes if one.category == _APART]
    categories = dict.fromkeys(one.category for one in counted)
    result: Block = {
        "overall": _by_condition(counted),
        "by_category": {
            name: _by_condition([one for one in counted if one.category == name])
            for name in sorted(categories)
        },
    }
    if apart:
        result[_APART] = {
            name: {key: block[key] for key in ("questions", "f1", "spread", "failed")}
            for name, block in _by_condition(apart).items()
        }
    return result | {"ledger": _ledger(outcomes, written)}


def _by_condition(outcomes: Iterable[Outcome]) -> Block:
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(one.condition, []).append(one)
    return {name: _figures(group) for name, group in groups.items()}


def _figures(outcomes: Sequence[Outcome]) -> Block:
    runs: dict[int, list[Outcome]] = {}
    for one in outcomes:
        runs.setdefault(one.run, []).append(one)
    ways: Mapping[str, Callable[[Outcome], float | None]] = {
        "judge": lambda one: one.right,
        "f1": lambda one: one.f1,
        "bleu_1": lambda one: one.bleu_1,
    }
    block: Block = {"questions": len(next(iter(runs.values())))}
    spread: Block = {}
    for name, way in ways.items():
        means = [_mean([v for one in run if (v := way(one)) is not None]) for run in runs.values()]
        known = [mean for mean in means if mean is not None]
        block[name] = _mean(known)
        spread[name] = {"std": statistics.stdev(known) if len(known) > 1 else 0.0, "runs": means}
    answered = [one.answer for one in outcomes if not one.failed]
    ledgers = [entry["ledger"] for entry in answered]
    return block | {
        "spread": spread,
        "failed": len(outcomes) - len(answered),
        "unjudged": sum(one.right is None for one in outcomes),
        "context_tokens": _mean([entry["context_tokens"] for entry in answered]),
        "messages_left_out": _mean([entry["left_out"] for entry in answered]),
        "model_calls": _mean([one["model_calls"] for one in ledgers]),
        "input_tokens": _mean([one["input_tokens"] for one in ledgers]),
        "output_tokens": _mean([one["output_tokens"] for one in ledgers]),
        "recall_ms": _times([entry["recall_seconds"] for entry in answered]),
        "answer_ms": _times([entry["seconds"] for entry in answered]),
    }


def _ledger(outcomes: Sequence[Outcome], written: Sequence[Entry]) -> Block:
    by_purpose = {
        "writing": [entry["ledger"] for entry in written],
        "answering": [one.answer["ledger"] for one in outcomes if one.answer.get("ledger")],
        "judging": [one.judgement["ledger"] for one in outcomes if one.judgement],
    }
    sums = {name: _sum(ledgers) for name, ledgers in by_purpose.items()}
    total = _sum([ledger.model_dump() for ledger in sums.values()])
    return {
        **{name: ledger.model_dump() for name, ledger in sums.items()},
        "models": [use.model_dump() for use in total.models],
        "cost": total.cost,
        "messages": sum(entry["messages"] for entry in written),
        "not_distilled": [reason for entry in written for reason in entry["not_distilled"]],
        "writing_seconds": round(sum(entry["seconds"] for entry in written), 2),
        "setting": machine.setting(),
    }


def _sum(ledgers: Iterable[Mapping[str, Any]]) -> Ledger:
    total = Ledger()
    for ledger in ledgers:
        total = added(total, Ledger.model_validate(ledger))
    return total


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _times(seconds: Sequence[float]) -> dict[str, float]:
    return machine.milliseconds(seconds) if seconds else {}


# ── print ────────────────────────────────────────────────────────────────────────────────────

_HEADS = ("n", "judge", "±", "F1", "BLEU", "shown", "read", "s")


def show(result: Block, console: Console) -> None:
    """The figures as a table, and what they rest on in words."""
    title = f"{result['set']}, answered by {result['answerer']}, judged by {result['judge']}"
    table = reports.plain_table(f"{title}, in percent over {result['runs']} runs", _HEADS)
    for condition, block in result["overall"].items():
        table.add_row(condition, *_cells(block))
    for category, conditions in result["by_category"].items():
        for condition, block in conditions.items():
            table.add_row(f"{category}: {condition}", *_cells(block))
    console.print(table)
    for condition, block in result.get(_APART, {}).items():
        console.print(
            f"Adversarial, {condition}: {_percent(block['f1'])} of {block['questions']} say that "
            "it was not mentioned."
        )
    for condition, block in result["overall"].items():
        _print_lack(console, condition, block)
    prompts, ledger = result["prompts"], result["ledger"]
    console.print("Shown: tokens of the context; read: all input tokens; s: seconds, the median.")
    console.print(f"Answers: {prompts['answer']}. Judge: {prompts['judge']}.")
    if ledger["not_distilled"]:
        console.print(
            f"The model failed on {len(ledger['not_distilled'])} sessions, of which local rules "
            f"stand in: {ledger['not_distilled'][0]}"
        )
    for use in ledger["models"]:
        console.print(
            f"{use['model']}: {use['calls']} calls, {use['input_tokens']} tokens in, "
            f"{use['output_tokens']} out."
        )


def _print_lack(console: Console, condition: str, block: Block) -> None:
    if condition == "full" and block["messages_left_out"]:
        console.print(
            f"full: the oldest {block['messages_left_out']:.0f} messages did not fit, in the mean."
        )
    if block["failed"] or block["unjudged"]:
        console.print(
            f"{condition}: {block['failed']} answers failed and count as wrong, "
            f"{block['unjudged']} were not judged; the next start tries them again."
        )


def _cells(block: Block) -> tuple[str, ...]:
    times = block["answer_ms"]
    return (
        str(block["questions"]),
        _percent(block["judge"]),
        _percent(block["spread"]["judge"]["std"]),
        _percent(block["f1"]),
        _percent(block["bleu_1"]),
        _whole(block["context_tokens"]),
        _whole(block["input_tokens"]),
        f"{times['p50'] / 1000:.2f}" if times else "",
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value * 100:.1f}"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
