"""Limits of spending: a call that would come after one was reached is not made."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from memstrata.errors import BudgetExceeded, InvalidInput
from memstrata.models.chat import ChatModel, Prompt, Reply
from memstrata.records import ModelUse

__all__ = ["Budget", "Limited", "budget_of"]

_LIMITS: Mapping[str, type] = {"calls": int, "tokens": int, "cost": float}


class Budget:
    """What the language models of one opened store may cost together; None is no limit.

    `calls` counts requests, `tokens` those in and out, `cost` US dollars. Calls that run side by
    side are checked before any of them is paid for, so that tokens and cost may pass their limits
    by what is under way then; calls never do.
    """

    def __init__(
        self,
        calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
    ) -> None:
        self.calls = calls
        self.tokens = tokens
        self.cost = cost
        self.spent = ModelUse(model="all", cost=0.0)
        """So far."""
        self._unpriced: str | None = None
        self._lock = threading.Lock()

    def take(self) -> None:
        """Count a call that is about to be made; `BudgetExceeded` if there is nothing left."""
        with self._lock:
            reached = self._reached()
            if reached is None:
                self.spent = self.spent.model_copy(update={"calls": self.spent.calls + 1})
                return
        raise BudgetExceeded(
            f"{reached}; {self._so_far()}. Nothing is lost: what was not done can be retried. To "
            "go on, open the store anew, with a higher budget (MEMSTRATA_LLM_BUDGET, or budget=)"
        )

    def note(self, use: ModelUse) -> None:
        """Count what a call has cost."""
        with self._lock:
            if use.cost is None:
                self._unpriced = use.model
            self.spent = self.spent.model_copy(
                update={
                    "input_tokens": self.spent.input_tokens + use.input_tokens,
                    "output_tokens": self.spent.output_tokens + use.output_tokens,
                    "cost": (self.spent.cost or 0.0) + (use.cost or 0.0),
                }
            )

    def _reached(self) -> str | None:
        spent, tokens = self.spent, self.spent.input_tokens + self.spent.output_tokens
        if self.calls is not None and spent.calls >= self.calls:
            return f"the budget of {self.calls} calls is used up"
        if self.tokens is not None and tokens >= self.tokens:
            return f"the budget of {self.tokens} tokens is used up"
        if self.cost is None:
            return None
        if self._unpriced is not None:
            return f"the budget is ${self.cost:g}, and what {self._unpriced} costs is not known"
        if (spent.cost or 0.0) >= self.cost:
            return f"the budget of ${self.cost:g} is used up"
        return None

    def _so_far(self) -> str:
        spent = self.spent
        cost = "" if self._unpriced else f", ${spent.cost or 0.0:.4f}"
        tokens = f"{spent.input_tokens} tokens in and {spent.output_tokens} out"
        return f"spent since the store was opened: {spent.calls} calls, {tokens}{cost}"


def budget_of(given: object) -> Budget | None:
    """Read `{"calls": 500, "cost": 2.5}`, or the same as a text: `calls=500,cost=2.5`."""
    if given is None:
        return None
    if isinstance(given, str):
        pairs = [part.partition("=")[::2] for part in given.split(",") if part.strip()]
    elif isinstance(given, Mapping):
        pairs = [(str(name), value) for name, value in given.items()]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    else:
        raise InvalidInput(f"budget is a mapping such as {{'calls': 500}}, not {given!r}")
    limits = {str(name).strip(): _limit(str(name).strip(), value) for name, value in pairs}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return Budget(**limits) if limits else None


def _limit(name: str, value: object) -> Any:
    if name not in _LIMITS:
        raise InvalidInput(f"budget has no limit {name!r}: it has {', '.join(_LIMITS)}")
    kind = _LIMITS[name]
    good = isinstance(value, str | int | float) and not isinstance(value, bool)
    try:
        number = kind(str(value).strip()) if good else -1
    except ValueError:
        number = -1
    if not 0 <= number < float("inf"):
        what = "dollars" if name == "cost" else "a whole number"
        raise InvalidInput(f"budget: {name} is {what}, 0 or more, not {value!r}")
    return number


class Limited:
    """A `ChatModel` that asks another one as long as the budget allows; several may share one."""

    def __init__(self, model: ChatModel, budget: Budget) -> None:
        self.model = model
        self.budget = budget

    @property
    def id(self) -> str:
        """See `ChatModel.id`."""
        return self.model.id

    async def complete(self, prompt: Prompt) -> Reply:
        """See `ChatModel.complete`."""
        self.budget.take()
        reply = await self.model.complete(prompt)
        self.budget.note(reply.use)
        return reply

    def __repr__(self) -> str:
        return f"Limited({self.model!r})"
