"""What every recall benchmark does: put messages into a memory, search, see what came back.

A haystack is the messages with ids of their own, and the questions with the ids that answer them.
Everything goes through `add` and `search`, as an application would.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from memstrata.bench.report import Ledger
from memstrata.errors import InvalidInput
from memstrata.records import Message, Record

if TYPE_CHECKING:
    from memstrata.records import Results
    from memstrata.sync import Memory

__all__ = [
    "Case",
    "Found",
    "Haystack",
    "Item",
    "ask",
    "attend",
    "folder",
    "message",
    "put",
    "session_ids",
]


_ALL = 1_000_000
"""A budget of tokens in which everything has room."""


@dataclass(frozen=True, slots=True)
class Item:
    """One message; its id is `<session>:<turn>` where it stands in a session with others."""

    id: str
    user_id: str
    session_id: str
    content: str
    occurred_at: datetime
    role: str = "user"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a user's memory, asked at `now`; empty evidence: nothing answers it."""

    query: str
    user_id: str
    now: datetime
    evidence: frozenset[str]
    category: str
    turns: tuple[tuple[str, str], ...] = ()
    """Of a conversation, in which nothing is asked for: (role, text), oldest first."""


@dataclass(frozen=True, slots=True)
class Haystack:
    """The messages, in the order they are added, and the questions about them."""

    title: str
    items: tuple[Item, ...]
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What `search` said: ids of items best first, and how sure it was."""

    ranked: tuple[str, ...]
    confidence: float = 0.0
    answerable: bool = False


@contextmanager
def folder(name: str) -> Generator[Path]:
    """A folder for one benchmark's stores, gone afterwards."""
    with TemporaryDirectory(prefix=f"memstrata-{name}-", ignore_cleanup_errors=True) as made:
        yield Path(made)


def put(memory: Memory, items: Sequence[Item], ledger: Ledger, *, infer: bool = True) -> None:
    """Add every item, a session at a time."""
    started = time.perf_counter()
    for (user, session), group in groupby(items, lambda item: (item.user_id, item.session_id)):
        messages = [message(item) for item in group]
        receipt = memory.add(messages, user_id=user, session_id=session, infer=infer)
        if len(receipt.message_ids) != len(messages):
            raise InvalidInput(f"{user} {session}: {receipt.skipped}")
        ledger.count(receipt.ledger)
        ledger.messages += len(messages)
    ledger.ingest_seconds += time.perf_counter() - started


def ask(memory: Memory, case: Case, ledger: Ledger, *, limit: int) -> Found:
    """Search the messages for one question."""
    started = time.perf_counter()
    results = memory.search(
        case.query, user_id=case.user_id, strata=["messages"], limit=limit, now=case.now
    )
    ledger.searches.append(time.perf_counter() - started)
    ledger.count(results.ledger)
    return Found(_ids(results), results.confidence, results.answerable)


def attend(memory: Memory, case: Case, ledger: Ledger) -> Found:
    """What a context for a conversation has, most important first: messages, and in place of a
    record the messages it rests on."""
    started = time.perf_counter()
    turns = [{"role": role, "content": text} for role, text in case.turns]
    made = memory.context(turns, user_id=case.user_id, now=case.now, max_tokens=_ALL, gain=0)
    ledger.searches.append(time.perf_counter() - started)
    ledger.count(made.ledger)
    ranked: list[str] = []
    for item in made.items:
        found = memory.get(item.id, user_id=case.user_id)
        sources = [e.source_id for e in found.evidence] if isinstance(found, Record) else [item.id]
        messages = [memory.get(one, user_id=case.user_id) for one in sources]
        ranked += [str(one.metadata["item"]) for one in messages if isinstance(one, Message)]
    return Found(tuple(dict.fromkeys(ranked)))


def session_ids(memory: Memory, case: Case, ledger: Ledger, *, limit: int = 10) -> list[str]:
    """The sessions of the episodes found for one question, best first, each once."""
    results = memory.search(
        case.query, user_id=case.user_id, strata=["episodes"], limit=limit, now=case.now
    )
    ledger.count(results.ledger)
    found = [hit.episode.session_id for hit in results.hits if hit.episode is not None]
    return list(dict.fromkeys(session for session in found if session is not None))


def message(item: Item) -> dict[str, Any]:
    """An item as `add` takes it."""
    return {
        "role": item.role,
        "name": item.name,
        "content": item.content,
        "occurred_at": item.occurred_at,
        "metadata": {"item": item.id},
    }


def _ids(results: Results) -> tuple[str, ...]:
    return tuple(
        str(hit.message.metadata["item"]) for hit in results.hits if hit.message is not None
    )
