"""What the verbs that answer return."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from memstrata.records import ContextItem, Evidence, Ledger, Receipt, Stratum, Value

__all__ = ["Answer", "Citation", "Searched"]


class Citation(Value):
    """One remembered thing that an answer rests on."""

    id: str
    stratum: Stratum
    kind: str | None = None
    text: str
    """What it says; of a long one the beginning or the passage."""
    occurred_at: datetime | None = None
    speaker: str | None = None
    """Of a message: who said it."""
    evidence: list[Evidence] = Field(default_factory=list[Evidence])
    """Of a record: the messages it rests on, with the words that say it."""


class Searched(Value):
    """One search that was made for an answer."""

    query: str
    kinds: list[str] | None = None
    method: str = "hybrid"
    hits: int = 0
    """How many hits it had that were not there before."""
    problem: str | None = None
    """Why it was not made: what was wrong with its arguments."""


class Answer(Value):
    """An answer from memory, with what it rests on: `str(answer)` is its text."""

    text: str
    known: bool
    """Whether memory knows: then the answer is cited. What is not known is never a memory."""
    confidence: float
    """In [0, 1], from the strength of the evidence; 0 if memory does not know."""
    citations: list[Citation] = Field(default_factory=list[Citation])
    searches: list[Searched] = Field(default_factory=list[Searched])
    items: list[ContextItem] = Field(default_factory=list[ContextItem])
    """All that was shown to the model; without a model all that was looked at."""
    wording: str | None = None
    """The prompt it was asked with, and its version; None without a model."""
    notes: list[str] = Field(default_factory=list[str])
    """What was degraded or refused, in words."""
    ledger: Ledger = Ledger()
    receipt: Receipt | None = None
    """What was learned from the turn; with state `failed` or `pending` and the reason where that
    did not work. None where nothing was to be learned."""

    def __str__(self) -> str:
        return self.text
