"""A language model that answers by what it is asked for, and what it was shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from contract.tidied import IVO

from memstrata import AsyncMemory, Record
from memstrata.models.chat import Models, Prompt
from memstrata.models.fake import FakeChat

__all__ = [
    "Answering",
    "alias_of",
    "claim",
    "fact",
    "known",
    "lend",
    "lifecycles",
    "lines",
    "pair_of",
    "record_of",
]

FACTS = {
    "lives_in": "Lisbon",
    "works_as": "a bookbinder",
    "likes": "old maps",
    "has_pet": "a heron",
}


class Answering:
    """Replies by purpose: a reply, an error, or a function of the prompt; `extract` finds nothing.

    What nobody has set a reply for fails the test.
    """

    def __init__(self, **by_purpose: Any) -> None:
        self.by: dict[str, Any] = {"extract": {"memories": []}, **by_purpose}
        self.chat = FakeChat(otherwise=self._reply, id="fake:answering")

    def _reply(self, prompt: Prompt) -> Any:
        assert prompt.purpose in self.by, f"asked to {prompt.purpose}"
        reply = self.by[prompt.purpose]
        if isinstance(reply, list):
            reply = reply.pop(0) if len(reply) > 1 else reply[0]
        return reply(prompt) if callable(reply) else reply

    def asked(self, *but: str) -> list[str]:
        """The purposes of all prompts in order, without the managers'."""
        return [p.purpose for p in self.chat.prompts if p.purpose not in {"extract", *but}]

    def shown(self, purpose: str) -> str:
        """What was shown for a purpose the last time."""
        return next(p for p in reversed(self.chat.prompts) if p.purpose == purpose).turns[0].text

    def forget(self) -> None:
        """Start counting anew."""
        self.chat.prompts.clear()


def alias_of(prompt: Prompt, *words: str) -> str:
    """The alias of the item in which all these words stand."""
    for item in re.split(r"\n(?=[a-z]\d+\b)", prompt.turns[0].text):
        found = re.match(r"([a-z]\d+)\b", item)
        if found and all(word in item for word in words):
            return found[1]
    raise AssertionError(f"{words} was not shown in {prompt.turns[0].text!r}")


def pair_of(
    one: str, other: str, verdict: str, stands: str | None = None
) -> Callable[[Prompt], Any]:
    """Says something of the pair of two texts, and that all other pairs are different."""

    def reply(prompt: Prompt) -> Any:
        named = alias_of(prompt, one, other)
        shown = re.findall(r"^(p\d+) \(", prompt.turns[0].text, re.MULTILINE)
        rest = [{"pair": alias, "verdict": "different"} for alias in shown if alias != named]
        return {"pairs": [{"pair": named, "verdict": verdict, "stands": stands}, *rest]}

    return reply


def lend(memory: AsyncMemory, model: Answering | None) -> None:
    """Give an open memory a model, or take it away."""
    chat = model.chat if model else None
    memory._runtime.llm = Models(chat, chat, chat) if chat else None


async def fact(memory: AsyncMemory, name: str, **more: Any) -> str:
    """Write a fact by hand; its id."""
    record = {"kind": "semantic", "name": name, **more}
    return (await memory.create(record, **IVO)).record_ids[0]


async def claim(memory: AsyncMemory, attribute: str, value: str, **more: Any) -> str:
    """Write what is claimed of Ana; its id."""
    name = more.pop("name", f"Ana {attribute} {value}")
    return await fact(memory, name, subject="Ana", attribute=attribute, value=value, **more)


async def record_of(memory: AsyncMemory, record_id: str) -> Record:
    """A record as it is."""
    found = await memory.get(record_id, **IVO)
    assert isinstance(found, Record)
    return found


async def lifecycles(memory: AsyncMemory, *ids: str) -> list[str]:
    """Whether records are current, past, retired, in review."""
    return [(await record_of(memory, one)).lifecycle for one in ids]


async def known(memory: AsyncMemory) -> list[str]:
    """Some facts about the user."""
    return [
        await fact(memory, f"The user {key} {value}", subject="user", attribute=key, value=value)
        for key, value in FACTS.items()
    ]


def lines(*given: tuple[str, list[str]]) -> Any:
    """A reply of lines, each with words by which its sources are found."""

    def reply(prompt: Prompt) -> Any:
        return {
            "lines": [
                {"text": text, "from": [alias_of(prompt, word) for word in words]}
                for text, words in given
            ]
        }

    return reply
