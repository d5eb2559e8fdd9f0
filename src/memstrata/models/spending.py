"""Adding up what calls of models cost."""

from __future__ import annotations

from collections.abc import Iterable

from memstrata.records import Ledger, ModelUse

__all__ = ["Meter", "added", "by_model"]


def by_model(uses: Iterable[ModelUse]) -> list[ModelUse]:
    """One entry per model, in the order they were first used.

    A model's cost is known if that of every call is.
    """
    merged: dict[str, ModelUse] = {}
    for use in uses:
        before = merged.get(use.model)
        merged[use.model] = use if before is None else _sum(before, use)
    return list(merged.values())


def _sum(one: ModelUse, other: ModelUse) -> ModelUse:
    known = one.cost is not None and other.cost is not None
    return ModelUse(
        model=one.model,
        calls=one.calls + other.calls,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        milliseconds=one.milliseconds + other.milliseconds,
        cost=(one.cost or 0.0) + (other.cost or 0.0) if known else None,
    )


class Meter:
    """Collects what one batch or one question costs."""

    def __init__(self) -> None:
        self.uses: list[ModelUse] = []
        self.embedding_calls = 0

    def note(self, use: ModelUse) -> None:
        """Count a call."""
        self.uses.append(use)

    def ledger(self, milliseconds: float = 0.0) -> Ledger:
        """All of it; `milliseconds` are those of the whole call, waits included."""
        return added(
            Ledger(embedding_calls=self.embedding_calls, milliseconds=milliseconds),
            _ledger_of(by_model(self.uses)),
        )


def _ledger_of(models: list[ModelUse]) -> Ledger:
    priced = [use.cost for use in models if use.cost is not None]
    return Ledger(
        model_calls=sum(use.calls for use in models),
        input_tokens=sum(use.input_tokens for use in models),
        output_tokens=sum(use.output_tokens for use in models),
        cached_tokens=sum(use.cached_tokens for use in models),
        cost=sum(priced) if models and len(priced) == len(models) else None,
        models=models,
    )


def added(one: Ledger, other: Ledger) -> Ledger:
    """Both together."""
    total = _ledger_of(by_model([*one.models, *other.models]))
    return total.model_copy(
        update={
            "embedding_calls": one.embedding_calls + other.embedding_calls,
            "milliseconds": one.milliseconds + other.milliseconds,
        }
    )
