"""The language models of an opened store, out of names, objects and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from memstrata.errors import InvalidInput
from memstrata.models.address import address_of
from memstrata.models.budget import Budget, Limited
from memstrata.models.chat import ChatModel, Models
from memstrata.models.endpoint import Endpoint
from memstrata.models.guard import GuardedChat

__all__ = ["Access", "close_models", "open_models"]

Wanted = str | ChatModel | None


@dataclass(frozen=True, slots=True)
class Access:
    """How endpoints are reached; `base_url` and `api_key` are those of the first model's."""

    base_url: str | None = None
    api_key: str | None = None
    timeout: float = 120.0
    concurrency: int = 4

    def __repr__(self) -> str:
        return f"Access({self.base_url!r})"


def open_models(
    llm: Wanted, chat: Wanted, judge: Wanted, access: Access, budget: Budget | None
) -> Models | None:
    """The models by what they are for; None without any. Raises `InvalidInput`."""
    if _none(llm):
        if not (_none(chat) and _none(judge)):
            raise InvalidInput(
                "llm_chat and llm_judge come beside llm: name the model that writes memory, too"
            )
        return None
    made: dict[str, ChatModel] = {}
    first = _provider(llm, access) if isinstance(llm, str) else None

    def model(wanted: Wanted) -> ChatModel:
        if not isinstance(wanted, str):
            return _prepared(cast("ChatModel", wanted), budget)
        if wanted not in made:
            named = wanted.strip()
            own = "@http" in named
            # URL and key belong to one endpoint: who is named otherwise does not get them.
            same = wanted == llm or (
                isinstance(llm, str) and not own and _provider(wanted, access) == first
            )
            made[wanted] = _prepared(_endpoint(named, access, same), budget)
        return made[wanted]

    extract = model(llm)
    pick: Callable[[Wanted], ChatModel] = lambda one: extract if _none(one) else model(one)  # noqa: E731
    return Models(extract, pick(chat), pick(judge))


def _none(wanted: object) -> bool:
    return wanted is None or (isinstance(wanted, str) and wanted.strip().casefold() == "none")


def _provider(name: str, access: Access) -> str | None:
    return address_of(name, access.base_url or "http://127.0.0.1/v1").provider


def _endpoint(name: str, access: Access, same: bool) -> Endpoint:
    return Endpoint(
        name,
        base_url=access.base_url if same else None,
        api_key=access.api_key if same else None,
        timeout=access.timeout,
        concurrency=access.concurrency,
    )


def _prepared(model: ChatModel, budget: Budget | None) -> ChatModel:
    """Guarded, and within the budget."""
    if not callable(getattr(model, "complete", None)):
        raise InvalidInput(f"llm is a name or a ChatModel, not {type(model).__name__}")
    if budget is not None and budget.cost is not None and not getattr(model, "priced", False):
        raise InvalidInput(
            f"the budget has a cost, and what {model.id} costs is not known: limit calls or tokens"
        )
    ready = model if isinstance(model, Endpoint) else GuardedChat(model)
    return ready if budget is None else Limited(ready, budget)


async def close_models(models: Models | None) -> None:
    """Close the connections of those that were opened by name; others are their owner's."""
    for model in (models.extract, models.chat, models.judge) if models else ():
        inner = model.model if isinstance(model, Limited) else model
        if isinstance(inner, Endpoint):
            await inner.aclose()
