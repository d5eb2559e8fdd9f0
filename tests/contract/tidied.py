"""A scope that has something to consolidate, and what was made of it."""

from __future__ import annotations

from typing import Any

from memstrata import AsyncMemory, Record

__all__ = ["IVO", "LAPSED", "MONDAY", "NEXT_MONDAY", "TUESDAY", "digests", "profile", "told"]

IVO: dict[str, Any] = {"user_id": "ivo"}
MONDAY = "2026-04-27T09:00:00Z"
TUESDAY = "2026-04-28T09:00:00Z"
NEXT_MONDAY = "2026-05-04T09:00:00Z"
LAPSED = "2026-05-02T00:00:00Z"


async def told(memory: AsyncMemory, **scope: Any) -> dict[str, str]:
    """Three days of talk; the batch of each by its word."""
    scope = scope or IVO
    batches: dict[str, str] = {}
    for word, when, said in (
        ("jazz", MONDAY, ["I live in Lisbon.", "I love jazz.", "The kitchen has a blue lamp."]),
        ("rex", TUESDAY, ["My dog is called Rex.", "We walked along the Tagus for hours."]),
        (
            "ferry",
            NEXT_MONDAY,
            ["I took the ferry to Cacilhas.", "The grilled sardines were good."],
        ),
    ):
        receipt = await memory.add(said, occurred_at=when, **scope)
        batches[word] = receipt.batch_id
    return batches


async def digests(memory: AsyncMemory, **scope: Any) -> dict[str, Record]:
    """The digests that stand, by title."""
    page = await memory.list(kinds=["episodic"], **(scope or IVO))
    return {r.title: r for r in page if r.fields.get("event_type") == "digest"}


async def profile(memory: AsyncMemory, **scope: Any) -> Record | None:
    """The profile that stands."""
    page = await memory.list(kinds=["core"], **(scope or IVO))
    return next((r for r in page if r.fields["label"] == "profile"), None)
