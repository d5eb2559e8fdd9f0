"""The prompts: texts a person picks in their host, that tell the model how to use the tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mcp.types import (
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from memstrata.errors import InvalidInput
from memstrata.models.wording import Language, language_of, wording

__all__ = ["PROMPTS", "Asking", "written_out"]

_LANGUAGE = PromptArgument(
    name="language",
    description="en or zh; by default that of the question, else English.",
    required=False,
)
_CHINESE = ("zh", "cn", "chinese", "中文", "汉语", "普通话")


@dataclass(frozen=True, slots=True)
class Asking:
    """One prompt; its text stands in `prompts/`, with `{about}` where its own argument goes."""

    name: str
    title: str
    about: str
    argument: PromptArgument | None = None

    def text(self, language: Language) -> str:
        """Its text."""
        return wording("memstrata.mcp_server", self.name, language).text

    def described(self) -> Prompt:
        """As hosts are told of it."""
        own = [] if self.argument is None else [self.argument]
        return Prompt(
            name=self.name, title=self.title, description=self.about, arguments=[*own, _LANGUAGE]
        )


_TABLE = (
    Asking(
        "remember_conversation",
        "Remember this conversation",
        "Store what was said in this conversation that is worth keeping.",
    ),
    Asking(
        "recall",
        "Recall before answering",
        "Answer a question with what is remembered.",
        PromptArgument(name="question", description="What you want to know.", required=True),
    ),
    Asking(
        "about_me",
        "What do you know about me",
        "Everything memory holds about you, in order, with where it comes from.",
    ),
    Asking(
        "forget_about",
        "Forget something",
        "Erase for good what has to do with something, after showing what would go.",
        PromptArgument(name="topic", description="What shall be forgotten.", required=True),
    ),
)

PROMPTS: Mapping[str, Asking] = MappingProxyType({each.name: each for each in _TABLE})
"""Every prompt by its name."""


def written_out(name: str, given: Mapping[str, str]) -> GetPromptResult:
    """A prompt with its arguments in it; `InvalidInput` for one that is unknown or lacks one."""
    asking = PROMPTS.get(name)
    if asking is None:
        raise InvalidInput(f"there is no prompt {name[:80]!r}: use {', '.join(PROMPTS)}")
    about = ""
    if asking.argument is not None:
        about = given.get(asking.argument.name, "").strip()
        if not about:
            raise InvalidInput(f"the prompt {name} needs {asking.argument.name}")
    # Not `format`: braces in what was given are text.
    text = asking.text(_language(given.get("language", ""), about)).replace("{about}", about)
    return GetPromptResult(
        description=asking.about,
        messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))],
    )


def _language(named: str, about: str) -> Language:
    """The language that was asked for, else that of what it is about."""
    if not named.strip():
        return language_of(about)
    return "zh" if named.strip().lower().startswith(_CHINESE) else "en"
