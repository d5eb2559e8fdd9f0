"""Asking a language model while tidying: what it costs, where it stopped, and what it has said.

What a model does not do is done by the rules, as if there were none: nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from memstrata.errors import BudgetExceeded, ModelFailed
from memstrata.models.chat import ChatModel, Prompt
from memstrata.models.spending import Meter
from memstrata.models.typed import obtain
from memstrata.text.clean import shorten

__all__ = ["Asking"]

T = TypeVar("T")

_PATIENCE = 2
"""After so many failures the model is asked no more: the next call would be as slow, and cost."""
_REASON = 300


class Asking:
    """One consolidation's use of a model; asked the same again, it answers as before."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self.model = model
        self.meter = meter
        self.left: dict[str, int] = {}
        """What was not done, and how much of it, in words: `pairs`, `digests`."""
        self.refused = 0
        """How much of what came did not hold."""
        self._failures = 0
        self._why: str | None = None
        self._stopped = False
        self._said: dict[Hashable, Any] = {}

    @property
    def stopped(self) -> bool:
        """Whether it is not asked any more."""
        return self._stopped

    async def ask(self, key: Hashable, prompt: Prompt, read: Callable[[str], T]) -> T | None:
        """What `read` makes of the reply; None if there is none, and then `note` says why.

        `key` names the question: work that must be done over, for something moved meanwhile, does
        not pay for it twice.
        """
        if key in self._said:
            return cast("T", self._said[key])
        if self._stopped:
            return None
        try:
            said = await obtain(self.model, prompt, read, self.meter)
        except BudgetExceeded as error:
            self._stopped, self._why = True, str(error)
            return None
        except ModelFailed as error:
            self._failures += 1
            self._stopped, self._why = self._failures >= _PATIENCE, str(error)
            return None
        self._said[key] = said
        return said

    def leave(self, what: str, count: int) -> None:
        """Note how much of something is left to the rules, or to the next call."""
        if count:
            self.left[what] = self.left.get(what, 0) + count

    def begin(self) -> None:
        """Start over: what was left is found anew."""
        self.left, self.refused = {}, 0

    def note(self) -> str | None:
        """What is left, why, and how to go on; None if nothing is."""
        parts: list[str] = []
        if self.left:
            listed = ", ".join(f"{count} {what}" for what, count in self.left.items())
            why = f" ({shorten(self._why, _REASON)})" if self._why else ""
            parts.append(
                f"left by the language model{why}: {listed}; until then the rules' results stand: "
                "call consolidate again to go on"
            )
        if self.refused:
            parts.append(
                f"{self.refused} of the language model's statements did not hold and were left out"
            )
        return "; ".join(parts) or None
