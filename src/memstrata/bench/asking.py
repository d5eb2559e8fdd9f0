"""The models of a benchmark, by name, within the budget of the settings, closed at the end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import memstrata
from memstrata import jobs
from memstrata.config import Settings, load_settings
from memstrata.models.base import Embedder
from memstrata.models.budget import budget_of
from memstrata.models.chat import ChatModel, Models, Prompt, Reply
from memstrata.models.language import Access, close_models, open_models
from memstrata.sync import Memory

__all__ = ["Named", "complete", "memory", "models"]

Named = str | ChatModel
"""A model, or `provider:model`, or `NAME@URL` of any OpenAI-compatible endpoint."""


@contextmanager
def models(*named: Named | None) -> Generator[list[ChatModel | None]]:
    """The models in the order of their names; None stays None.

    They share the budget of the settings; its base URL and key are for the first one, and for those
    that are asked at the same endpoint.
    """
    settings = load_settings()
    first = next((one for one in named if one is not None), None)
    budget = budget_of(settings.llm_budget)
    made: list[ChatModel | None] = []
    for one in named:
        opened = open_models(first, one, None, _access(settings), budget) if one else None
        made.append(opened.chat if opened else None)
    try:
        yield made
    finally:
        for model in made:
            if model is not None:
                _close(model)


def complete(model: ChatModel, prompt: Prompt) -> Reply:
    """Ask once, on the loop that the blocking verbs use too."""
    return jobs.run(lambda: model.complete(prompt))


def memory(path: str, embedder: Embedder | None, model: ChatModel | None) -> Memory:
    """Open a memory that has this model for everything, whatever the settings say, or none."""
    llm = model or "none"
    return memstrata.open(path, embedder=embedder or "none", llm=llm, llm_chat=llm, llm_judge=llm)


def _access(settings: Settings) -> Access:
    return Access(
        settings.llm_base_url,
        settings.llm_api_key,
        float(settings.llm_timeout),
        int(settings.llm_concurrency),
    )


def _close(model: ChatModel) -> None:
    jobs.run(lambda: close_models(Models(model, model, model)))
