"""RealMem: long dialogues, and what its authors hold should be remembered of each.

A JSON document by persona as published (https://github.com/AvatarMemory/RealMemBench); it does not
ship with memstrata.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter

from memstrata.bench import files
from memstrata.errors import InvalidInput

__all__ = ["Dialogue", "Point", "find_files", "load", "realmem_points"]


@dataclass(frozen=True, slots=True)
class Point:
    """Something that should be remembered, without the heading it stands under."""

    text: str
    kind: str
    """`Dynamic`, `Static` or `Schedule`."""
    turn: int
    """The turn it comes from, the first one 1; 0 where no single turn says it."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One session: what was said by role, in order, and what should be remembered of it."""

    id: str
    at: datetime
    """Its day, at noon."""
    turns: tuple[tuple[str, str], ...]
    points: tuple[Point, ...]


class _Point(BaseModel):
    content: str
    type: str = ""
    source_turn: int = 0


class _Turn(BaseModel):
    speaker: str
    content: str


class _Session(BaseModel):
    session_uuid: str = ""
    current_time: str = ""
    dialogue_turns: list[_Turn] = Field(default_factory=list[_Turn])
    extracted_memory: list[_Point] | None = None


class _Document(BaseModel):
    dialogues: list[_Session]


_DOCUMENT = TypeAdapter(_Document)
_HEADING = re.compile(r"^【.*?】\s*")


def find_files(data: Path) -> list[Path]:
    """The personas' files that `data` names: itself, or those in the folder or its `realmem`."""
    if data.is_file():
        return [data]
    for folder in (data, data / "realmem"):
        if found := sorted(folder.glob("*_dialogues_*.json")):
            return found
    raise InvalidInput(f"no *_dialogues_*.json in {data}: give the file, or the folder it is in")


def load(path: Path) -> tuple[Dialogue, ...]:
    """The sessions of one persona that have turns, in order."""
    document = files.read(path, _DOCUMENT)
    return tuple(_dialogue(one) for one in document.dialogues if one.dialogue_turns)


def realmem_points(path: Path) -> list[str]:
    """The memory points of one persona in order."""
    document = _DOCUMENT.validate_json(path.read_bytes())
    return [_point(p).text for one in document.dialogues for p in one.extracted_memory or []]


def _point(point: _Point) -> Point:
    return Point(_HEADING.sub("", point.content), point.type, point.source_turn)


def _dialogue(session: _Session) -> Dialogue:
    day = session.current_time[:10]
    try:
        at = datetime.strptime(day, "%Y-%m-%d").replace(hour=12, tzinfo=UTC)
    except ValueError as exc:
        raise InvalidInput(f"not a day of the data set: {session.current_time!r}") from exc
    turns = tuple((turn.speaker.lower(), turn.content) for turn in session.dialogue_turns)
    points = tuple(map(_point, session.extracted_memory or []))
    return Dialogue(session.session_uuid, at, turns, points)
