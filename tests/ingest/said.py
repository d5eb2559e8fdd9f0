"""Messages for tests that need no store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memstrata.records import Message

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)


def said(
    content: str,
    name: str | None = None,
    *,
    at: float = 0,
    id: str = "msg_1",
    role: str = "user",
    session: str | None = "s1",
    **more: Any,
) -> Message:
    """A message said `at` minutes after noon of 8 May 2026."""
    when = NOON + timedelta(minutes=at)
    return Message(
        id=id,
        session_id=session,
        role=role,
        name=name,
        content=content,
        occurred_at=when,
        recorded_at=when,
        batch_id="batch_1",
        **more,
    )
