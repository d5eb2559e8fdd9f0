"""Episodic memory: what happened, or is planned, and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from memstrata.kinds.attributes import Language
from memstrata.kinds.base import DERIVED, TEXT, Instant, KindModel, Stated, text_of
from memstrata.records import JsonObject, Record, micros
from memstrata.text.analyse import fold
from memstrata.text.wording import wording

__all__ = ["Episodic"]

_DIGEST = "digest"
_DAY = timedelta(days=1)


class Episodic(KindModel):
    """One event. Later events never overwrite earlier ones; an update corrects this one."""

    name_of_kind: ClassVar[str] = "episodic"
    code: ClassVar[int] = 1
    prefix: ClassVar[str] = "epi"
    block: ClassVar[str] = "episodic_memory"
    half_life: ClassVar[float | None] = 365.0
    rule: ClassVar[str] = "an update corrects this event; later events never overwrite earlier ones"

    rarity: ClassVar[int] = 1
    hint: ClassVar[Mapping[Language, str]] = {
        "en": 'episodic: what happened, or is planned. "summary": one whole sentence that names '
        'who did what; "actor": who; "when": the date; "plan": true for what is still to come; '
        '"done": true if a plan known already was carried out (op revise).',
        "zh": "episodic：发生过的事或计划。summary：一句完整的话，写明谁做了什么；actor：谁；when："
        "日期；plan：还没发生的计划写 true；done：已知的计划完成了写 true（op 用 revise）。",
    }
    draft: ClassVar[Mapping[str, JsonObject]] = {
        "summary": TEXT,
        "details": TEXT,
        "actor": TEXT,
        "plan": {"type": "boolean"},
        "done": {"type": "boolean"},
    }
    needs: ClassVar[tuple[str, ...]] = ("summary",)

    kind: Literal["episodic"] = "episodic"
    event_type: str = "event"
    summary: str = Field(min_length=1)
    details: str | None = None
    actor: str | None = None
    due: Instant | None = None
    """For `event_type="plan"`: when it should be done."""
    done: bool | None = None

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        given, start = stated.fields, stated.start
        summary = text_of(given.get("summary"))
        if summary is None:
            raise ValueError('episodic needs a "summary"')
        plan = given.get("plan") is True
        long = stated.end is not None and start is not None and stated.end - start > _DAY
        done = given.get("done")
        return cls(
            event_type="plan" if plan else "event",
            summary=summary,
            details=text_of(given.get("details")),
            actor=text_of(given.get("actor")),
            occurred_at=None if plan else start,
            ended_at=stated.until or (stated.end if long else None),
            due=start if plan else None,
            done=done if isinstance(done, bool) else False if plan else None,
        )

    def heading(self) -> str:
        return self.title or self.summary

    def body(self) -> str:
        who = f"{self.actor}: " if self.actor else ""
        return "\n".join(filter(None, [who + self.summary, self.details]))

    def whose(self) -> str | None:
        return self.actor

    def of(self, whose: str) -> Self:
        return self.model_copy(update={"actor": whose})

    def identity(self) -> tuple[JsonValue, ...]:
        made = self.metadata.get(DERIVED)
        if self.event_type == _DIGEST and isinstance(made, dict):
            return (_DIGEST, made.get("of"), made.get("period"))  # one of each period
        when = self.occurred_at.isoformat() if self.occurred_at else None
        return (*super().identity(), when)

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        return {"summary": text, **dict.fromkeys(("title", "details", "actor"))}

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

    @classmethod
    def has_lapsed(cls, record: Record, now: datetime) -> bool:
        due = cls.due_at(record)
        if due is None or record.fields.get("done") is True:
            return False
        return now - max(due, record.ended_at or due) >= _DAY

    @classmethod
    def is_derived(cls, record: Record) -> bool:
        return record.fields.get("event_type") == _DIGEST and DERIVED in record.metadata

    @classmethod
    def gist(cls, record: Record) -> tuple[JsonValue, ...] | None:
        said = record.fields
        if record.occurred_at is None and said.get("due") is None:
            return None  # told twice, or done twice: nothing says which
        times = (record.occurred_at, record.ended_at, record.valid_from, record.valid_to)
        return (
            said.get("event_type"),
            *wording(str(said.get("summary") or "")),
            "details",
            *wording(str(said.get("details") or "")),
            fold(str(said.get("actor") or "")),
            *(None if time is None else micros(time) for time in times),
            said.get("due"),
            said.get("done"),
        )
