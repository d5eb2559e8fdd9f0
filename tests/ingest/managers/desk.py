"""What the tests of the managers share: units, known records, a way to count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from ingest.said import NOON, said

from memstrata.ingest.managers.shown import Known
from memstrata.ingest.managers.units import Line, Unit
from memstrata.kinds import KindModel
from memstrata.records import Message, Record

__all__ = ["count", "known", "line", "record_of", "unit", "user"]


def count(text: str) -> int:
    """Tokens, about: a word, or a Chinese character."""
    return sum(1 for char in text if ord(char) > 0x2E80) + len(text.split())


def line(number: int, message: Message, text: str | None = None) -> Line:
    return Line(number, message, message.content if text is None else text)


def user(text: str, number: int = 1, **more: Any) -> Message:
    """What a user says, each a minute after the one before."""
    return said(text, id=f"msg_{number}", at=number, **more)


def unit(*given: str | Message, before: Sequence[Message] = ()) -> Unit:
    """A unit whose lines are whole messages."""
    messages = [user(one, n) if isinstance(one, str) else one for n, one in enumerate(given, 1)]
    return Unit(tuple(line(n, one) for n, one in enumerate(messages, 1)), tuple(before))


def record_of(model: KindModel, id: str = "rec_1", **more: Any) -> Record:
    """A stored record of a kind."""
    names = set(KindModel.model_fields) - {"title", "evidence"}
    common = {name: getattr(model, name) for name in names}
    return Record(
        id=id,
        kind=model.name_of_kind,
        title=model.heading(),
        text=model.body(),
        fields=model.fields(),
        recorded_at=NOON,
        created_at=NOON,
        fingerprint=model.fingerprint(),
        batch_id="batch_0",
        **{**common, **more},
    )


def known(
    aliases: Mapping[str, Record] | None = None,
    core: Sequence[Record] = (),
    zone: tzinfo = UTC,
    now: datetime = NOON + timedelta(days=1),
    instructions: str = "",
) -> Known:
    return Known(aliases or {}, core, now, zone, instructions)
