"""What the tests of the chat agent share: a store with a model, and replies that cite."""

from __future__ import annotations

import re
from typing import Any

from memstrata import AsyncMemory
from memstrata.models.chat import Prompt
from memstrata.models.fake import FakeChat

from .conftest import Open

__all__ = ["IVO", "SAID", "alias_of", "citing", "opened", "said", "shown"]

IVO: dict[str, Any] = {"user_id": "ivo"}
SAID = [
    {"role": "user", "name": "Ivo", "content": "The goats broke the fence on Sunday."},
    {"role": "assistant", "content": "Did you mend it?"},
    {"role": "user", "name": "Ivo", "content": "Yes, with wire from Kestrel Street."},
    {"role": "user", "name": "Ivo", "content": "The bees sleep under the plum tree."},
]


async def opened(open_store: Open, chat: FakeChat, **more: Any) -> AsyncMemory:
    """A store with a model and a few things said."""
    memory = await open_store(llm=chat, **more)
    await said(memory)
    chat.prompts.clear()
    return memory


async def said(memory: AsyncMemory) -> None:
    await memory.add(SAID, session_id="s1", occurred_at="2026-05-04T08:00:00Z", infer=False, **IVO)


def shown(prompt: Prompt) -> dict[str, str]:
    """The items in a prompt: their lines by alias."""
    text = "\n".join(turn.text for turn in prompt.turns)
    return {alias: line for line, alias in re.findall(r"^(- \(([mret]\d+);.*)$", text, re.M)}


def alias_of(prompt: Prompt, words: str) -> str:
    (found,) = [alias for alias, line in shown(prompt).items() if words in line]
    return found


def citing(words: str, text: str = "An answer.") -> Any:
    """A reply that cites the item with these words."""
    return lambda prompt: {"answer": text, "cites": [alias_of(prompt, words)], "known": True}
