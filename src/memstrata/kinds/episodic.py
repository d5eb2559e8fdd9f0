"""Episodic memory: what happened, or is planned, and when."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from memstrata.kinds.base import Instant, KindModel
from memstrata.records import Record

__all__ = ["Episodic"]


class Episodic(KindModel):
    """One event. Later events never overwrite earlier ones; an update corrects this one."""

    name_of_kind: ClassVar[str] = "episodic"
    code: ClassVar[int] = 1
    prefix: ClassVar[str] = "epi"
    block: ClassVar[str] = "episodic_memory"
    rule: ClassVar[str] = "an update corrects this event; later events never overwrite earlier ones"

    kind: Literal["episodic"] = "episodic"
    event_type: str = "event"
    summary: str = Field(min_length=1)
    details: str | None = None
    actor: str | None = None
    due: Instant | None = None
    """For `event_type="plan"`: when it should be done."""
    done: bool | None = None

    def heading(self) -> str:
        return self.title or self.summary

    def body(self) -> str:
        who = f"{self.actor}: " if self.actor else ""
        return "\n".join(filter(None, [who + self.summary, self.details]))

    def identity(self) -> tuple[JsonValue, ...]:
        when = self.occurred_at.isoformat() if self.occurred_at else None
        return (*super().identity(), when)

    @classmethod
    def about(cls, record: Record) -> str | None:
        about = record.fields.get("actor")
        return about if isinstance(about, str) else None

    @classmethod
    def due_at(cls, record: Record) -> datetime | None:
        due = record.fields.get("due")
        try:
            when = datetime.fromisoformat(due) if isinstance(due, str) else None
        except ValueError:
            return None
        return when if when is None or when.tzinfo else None
