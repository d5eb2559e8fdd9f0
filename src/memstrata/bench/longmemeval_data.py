"""The LongMemEval data set: questions about a user's chats with an assistant, over months.

Read as published (https://github.com/xiaowu0162/LongMemEval: a JSON list, `longmemeval_*.json`),
or as one question a line with its evidence turns alone (`evidence*.jsonl`). Either way only the
turns that hold evidence are kept: pooled, they are one haystack of answers to other questions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter

from memstrata.bench import files
from memstrata.errors import InvalidInput

__all__ = ["UPDATE", "Question", "Session", "Turn", "find_file", "load", "moment"]

UPDATE = "knowledge-update"
"""The type of questions whose answer changed from one session to a later one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message that holds evidence."""

    id: str
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Session:
    """The evidence turns of one chat, in order; `id` is what their ids begin with."""

    id: str
    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the sessions that answer it; an abstention question has no answer."""

    id: str
    type: str
    text: str
    at: datetime | None
    abstention: bool
    sessions: tuple[Session, ...]
    answer: str = ""
    """The right one; of a preference what a good one heeds, of an abstention why there is none."""

    @property
    def evidence(self) -> frozenset[str]:
        """The ids of the evidence turns."""
        return frozenset(turn.id for session in self.sessions for turn in session.turns)


class _Turn(BaseModel):
    role: Literal["user", "assistant", "system"]
    content: str
    has_answer: bool = False


class _Session(BaseModel):
    date: str
    evidence_turns: list[_Turn]


class _Asked(BaseModel):
    question_id: str
    question_type: str
    question: str
    question_date: str | None = None
    answer: str | int | float = ""


class _Line(_Asked):
    abstention: bool
    evidence_sessions: list[_Session] = Field(default_factory=list[_Session])


class _Published(_Asked):
    haystack_dates: list[str]
    haystack_sessions: list[list[_Turn]]


_LINE = TypeAdapter(_Line)
_PUBLISHED = TypeAdapter(list[_Published])
_DATE = "%Y/%m/%d %H:%M"


def find_file(data: Path) -> Path:
    """The file `data` names: itself, or the one in the folder or its `longmemeval` folder."""
    return files.find(data, "longmemeval", ("evidence*.jsonl", "longmemeval*.json"))


def load(path: Path, *, whole: bool = False) -> tuple[Question, ...]:
    """The questions of a file in either format, in its order.

    With `whole` the sessions of the published format keep all their turns, not only the evidence.
    """
    if path.suffix == ".jsonl":
        return tuple(_of_line(line) for line in files.read_lines(path, _LINE))
    return tuple(_of_published(one, whole=whole) for one in files.read(path, _PUBLISHED))


def moment(text: str) -> datetime:
    """The instant of a date such as `2023/05/27 (Sat) 22:10`, read as UTC."""
    date, _, rest = text.strip().partition(" ")
    try:
        return datetime.strptime(f"{date} {rest.split()[-1]}", _DATE).replace(tzinfo=UTC)
    except (ValueError, IndexError) as exc:
        raise InvalidInput(f"not a date of the data set: {text!r}") from exc


def _of_line(line: _Line) -> Question:
    sessions = ((one.date, one.evidence_turns) for one in line.evidence_sessions)
    return _question(line, sessions, abstention=line.abstention)


def _of_published(one: _Published, *, whole: bool) -> Question:
    sessions = zip(one.haystack_dates, one.haystack_sessions, strict=True)
    kept = (
        (date, [turn for turn in turns if whole or turn.has_answer]) for date, turns in sessions
    )
    return _question(one, kept, abstention=one.question_id.endswith("_abs"))


def _question(
    asked: _Asked, sessions: Iterable[tuple[str, list[_Turn]]], *, abstention: bool
) -> Question:
    found = [(moment(date), turns) for date, turns in sessions if turns]
    return Question(
        id=asked.question_id,
        type=asked.question_type,
        text=asked.question,
        at=None if asked.question_date is None else moment(asked.question_date),
        abstention=abstention,
        sessions=tuple(
            _session(f"{asked.question_id}/{number}", at, turns)
            for number, (at, turns) in enumerate(found, start=1)
        ),
        answer=str(asked.answer),
    )


def _session(name: str, at: datetime, turns: list[_Turn]) -> Session:
    return Session(
        name, at, tuple(Turn(f"{name}:{n}", t.role, t.content) for n, t in enumerate(turns, 1))
    )
