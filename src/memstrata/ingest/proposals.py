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
    Whether a `create` ends an older fact too is for `resolve` to see. Of the record `target`,
    `revise` gives fields anew, `retire` says that it is no longer so, and `support` that it was
    said again; `record` is then the target as it was, with what is new.
    """

    op: Literal["create", "supersede", "correct", "revise", "retire", "support"]
    record: KindModel
    evidence: tuple[Evidence, ...]
    """At least one, each quoting the words it rests on."""
    said_at: datetime
    """When the newest of the evidence was said, aware."""
    replaces: str | None = None
    """The value that ended or never was so, where the words name it; of a block, the old line."""
    reason: str = ""
    """Which rule or manager, in words for the change log."""
    target: str | None = None
    """The id of the record that a manager was shown and means."""
    beside: bool = False
    """The words say that it is so besides what is known: it ends nothing but its opposite."""
    provisional: bool = False
    """A rule found it in place of a model that failed; it stands until the model has read it."""
