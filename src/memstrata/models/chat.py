"""The port every language model fills: one request, one reply, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from memstrata.records import JsonObject, ModelUse

__all__ = ["PATIENCE", "ChatModel", "Models", "Prompt", "Reply", "Said", "TokenProbability"]


class Said(NamedTuple):
    """One turn of a conversation with a model."""

    role: Literal["user", "assistant"]
    text: str


PATIENCE = 10.0
"""Seconds that are waited for what can be done without, such as a question put in other words."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked."""

    purpose: str
    """What the reply is for, one word: `extract`, `route`, `ask`, `judge`."""
    system: str
    turns: tuple[Said, ...]
    """At least one, the last one the user's."""
    schema: JsonObject | None = None
    """The JSON schema of the object asked for. A model may ignore it: what comes is checked."""
    max_tokens: int = 1024
    """Of the reply."""
    temperature: float = 0.0
    logprobs: int = 0
    """How many alternatives of every token to give with their log-probabilities; 0: none."""
    patience: float | None = None
    """Seconds that a reply is worth waiting for, where one can do without it; None: as long as the
    endpoint's limits allow."""

    def then(self, reply: str, answer: str) -> Prompt:
        """The same, gone on: what the model replied, and what it is told then."""
        turns = (*self.turns, Said("assistant", reply), Said("user", answer))
        return replace(self, turns=turns)


class TokenProbability(NamedTuple):
    """One token of a reply, and what else might have stood there; natural logarithms."""

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model replied."""

    text: str
    """As it came: with fences, think blocks and whatever else a model may write."""
    use: ModelUse
    cut: bool = False
    """Whether the limit of tokens cut it short."""
    tokens: tuple[TokenProbability, ...] = field(default=())
    """With log-probabilities, if they were asked for and the endpoint gives them."""


class ChatModel(Protocol):
    """A language model at an endpoint.

    Calls may run side by side. What fails for good raises `ModelFailed` with the reason, what a
    limit of spending forbids `BudgetExceeded`; waits and retries that an endpoint asks for are
    behind this.
    """

    @property
    def id(self) -> str:
        """Names provider and model, as in `openai:gpt-5-mini`; the ledger is kept by it."""
        ...

    async def complete(self, prompt: Prompt) -> Reply:
        """Ask once."""
        ...


@dataclass(frozen=True, slots=True)
class Models:
    """The language models of a memory, by what they are for; they may be one and the same."""

    extract: ChatModel
    """Writes memory: routes, proposes, titles, names, compares."""
    chat: ChatModel
    """Reads memory: rewrites questions, searches, answers."""
    judge: ChatModel
    """Judges answers in benchmarks."""
