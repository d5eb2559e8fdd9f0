"""What the tests of memory written by a model share: replies, and short ways to look."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

from memstrata import AsyncMemory
from memstrata.models.chat import Prompt, Reply
from memstrata.models.fake import FakeChat
from memstrata.records import Receipt, Record

__all__ = [
    "Meanwhile",
    "event",
    "fact",
    "listed",
    "meant",
    "said",
    "sound",
    "tell",
    "values",
    "while_reading",
]

DAY = "2026-03-01T10:00:00Z"
ANY = ["current", "past", "review", "retired"]


class Meanwhile(FakeChat):
    """A model during whose first call something else happens."""

    def __init__(self, *script: Any, **more: Any) -> None:
        super().__init__(*script, **more)
        self.happens: Callable[[], Awaitable[object]] | None = None

    async def complete(self, prompt: Prompt) -> Reply:
        if self.happens is not None:
            happens, self.happens = self.happens, None
            await happens()
        return await super().complete(prompt)


@asynccontextmanager
async def while_reading(
    chat: Meanwhile, change: Callable[[], Awaitable[object]], done: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[None]:
    """While the model reads, somebody changes something: what waits for its turn goes on after."""
    async with anyio.create_task_group() as group:

        async def happens() -> None:
            group.start_soon(change)
            while not await done():
                await anyio.lowlevel.checkpoint()

        chat.happens = happens
        yield


async def tell(
    memory: AsyncMemory, *texts: str | dict[str, Any], at: str = DAY, **more: Any
) -> Receipt:
    messages = [{"role": "user", "content": t} if isinstance(t, str) else t for t in texts]
    options = {"user_id": "ottilie", "session_id": "pier", "occurred_at": at, **more}
    return await memory.add(messages, **options)


def fact(attribute: str, value: str, number: Any = 1, **more: Any) -> dict[str, Any]:
    return {
        "kind": "semantic",
        "op": "create",
        "from": [number],
        "sentence": f"The user {attribute.replace('_', ' ')} {value}.",
        "subject": "user",
        "attribute": attribute,
        "value": value,
        **more,
    }


def event(summary: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"kind": "episodic", "from": [number], "summary": summary, **more}


def said(*memories: dict[str, Any], title: str = "A talk", summary: str = "They talked.") -> Any:
    return {"title": title, "summary": summary, "memories": [*memories]}


def meant(text: str, make: Callable[[str], Any]) -> Callable[[Prompt], Any]:
    """A reply that needs the alias of the record that says something."""

    def reply(prompt: Prompt) -> Any:
        found = re.search(rf"^(r\d+) \([^\n]*{re.escape(text)}", prompt.turns[0].text, re.MULTILINE)
        assert found, prompt.turns[0].text
        return make(found[1])

    return reply


async def listed(memory: AsyncMemory, **options: Any) -> list[Record]:
    return [*(await memory.list(user_id="ottilie", lifecycles=ANY, **options))]


async def values(memory: AsyncMemory) -> dict[Any, str]:
    """Value and lifecycle of each fact there is."""
    found = await listed(memory, kinds=["semantic"])
    assert len(found) == len({(r.fields.get("value"), r.fingerprint) for r in found})
    return {r.fields.get("value") or r.fields["name"]: r.lifecycle for r in found}


async def sound(memory: AsyncMemory) -> None:
    assert await memory.verify() == []
    for record in await listed(memory):
        assert record.evidence, record.text
