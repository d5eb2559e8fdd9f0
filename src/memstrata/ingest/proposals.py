"""What a rule or a manager suggests to remember; `resolve` decides what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memstrata.kinds import KindModel
from memstrata.records import Evidence

__all__ = ["Proposal"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One record to write, with what it rests on.

    `create` states something; `supersede` states it and says that something else ended (moved, no
    longer, 搬到); `correct` states it and says that something else never was so (I meant, 不对).
    Whether a `create` ends an older fact too is for `resolve` to see.
    """

    op: Literal["create", "supersede", "correct"]
    record: KindModel
    evidence: tuple[Evidence, ...]
    """At least one, each quoting the words it rests on."""
    said_at: datetime
    """When the newest of the evidence was said, aware."""
    replaces: str | None = None
    """The value that ended or never was so, where the words name it."""
    reason: str = ""
    """Which rule or manager, in words for the change log."""
