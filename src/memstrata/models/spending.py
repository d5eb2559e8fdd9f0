"""Adding up what calls of models cost."""

from __future__ import annotations

from memstrata.records import Ledger, ModelUse

__all__ = ["Meter", "added"]


class Meter:
    """Collects what one batch or one question costs."""

    def __init__(self) -> None:
        self.uses: list[ModelUse] = []
        self.embedding_calls = 0

    def note(self, use: ModelUse) -> None:
        """Count a call."""
        self.uses.append(use)

    def take(self, model: object) -> None:
        """Count what a model has cost that keeps its own account: by `take_uses`, if it has it."""
        take = getattr(model, "take_uses", None)
        if take is not None:
            self.uses += take()

    def ledger(self, milliseconds: float = 0.0) -> Ledger:
        """All of it; `milliseconds` are those of the whole call, waits included."""
        return Ledger.of(self.uses, embedding_calls=self.embedding_calls, milliseconds=milliseconds)


def added(one: Ledger, other: Ledger) -> Ledger:
    """Both together."""
    return Ledger.of(
        [*one.models, *other.models],
        embedding_calls=one.embedding_calls + other.embedding_calls,
        milliseconds=one.milliseconds + other.milliseconds,
    )
