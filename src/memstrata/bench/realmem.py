"""The memory points of RealMem: what its authors hold should be remembered of long dialogues.

A JSON document by persona as published (https://github.com/AvatarMemory/RealMemBench); it does not
ship with memstrata.
"""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

__all__ = ["realmem_points"]


class _Point(BaseModel):
    content: str


class _Session(BaseModel):
    extracted_memory: list[_Point] | None = None


class _Document(BaseModel):
    dialogues: list[_Session]


_DOCUMENT = TypeAdapter(_Document)


def realmem_points(path: Path) -> list[str]:
    """The memory points of one persona in order, without the heading each stands under."""
    document = _DOCUMENT.validate_json(path.read_bytes())
    points = [point for session in document.dialogues for point in session.extracted_memory or []]
    return [re.sub(r"^【.*?】\s*", "", point.content) for point in points]
