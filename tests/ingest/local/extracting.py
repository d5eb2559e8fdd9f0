"""Messages for tests of extraction, and what is found in them in short form."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from memstrata.ingest.local import Setting, extract
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import Core, Episodic, Semantic
from memstrata.records import Message
from memstrata.text import time as times

__all__ = ["NOON", "core", "episodes", "facts", "read", "said", "semantics"]

NOON = datetime(2024, 5, 24, 12, tzinfo=UTC)


def said(text: str, *, role: str = "user", name: str | None = None, number: int = 0) -> Message:
    """A message said at noon of Friday, 24 May 2024."""
    return Message(
        id=f"m{number}",
        role=role,
        name=name,
        content=text,
        occurred_at=NOON,
        recorded_at=NOON,
        batch_id="b",
        spans=times.resolve(text, said_at=NOON, zone=UTC),
    )


def read(
    *texts: str, name: str | None = None, role: str = "user", before: Sequence[Message] = ()
) -> list[Proposal]:
    """What is found in texts that are said one after the other."""
    messages = [said(text, name=name, role=role, number=n) for n, text in enumerate(texts)]
    return extract(messages, Setting(zone=UTC, before=before))


def semantics(proposals: Sequence[Proposal]) -> list[Semantic]:
    """The facts among them."""
    return [p.record for p in proposals if isinstance(p.record, Semantic)]


def episodes(proposals: Sequence[Proposal]) -> list[Episodic]:
    """The events and plans among them."""
    return [p.record for p in proposals if isinstance(p.record, Episodic)]


def core(proposals: Sequence[Proposal]) -> list[str]:
    """The lines for the block about the user among them."""
    return [p.record.value for p in proposals if isinstance(p.record, Core)]


def facts(proposals: Sequence[Proposal]) -> set[tuple[str, str, str, bool]]:
    """Subject, attribute, value and polarity of the facts among them."""
    return {
        (r.subject or "", r.attribute or "", r.value or "", r.polarity is not False)
        for r in semantics(proposals)
    }
