"""The seam to models that others wrote: whatever they raise becomes `ModelFailed`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import MemstrataError, ModelFailed
from memstrata.models.base import Embedder
from memstrata.models.chat import ChatModel, Prompt, Reply
from memstrata.models.saying import said
from memstrata.records import ModelUse

__all__ = ["GuardedChat", "GuardedEmbedder"]

T = TypeVar("T")


class GuardedEmbedder:
    """An embedder whose every failure is `ModelFailed`, with the original as its cause."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self.max_tokens = embedder.max_tokens

    @property
    def dimensions(self) -> int:
        return self._guarded(lambda: self._embedder.dimensions)

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except MemstrataError:
            raise
        except Exception as error:
            raise ModelFailed(
                f"the embedder {self.id} failed: {type(error).__name__}: {error}"
            ) from error

    def count_tokens(self, text: str) -> int:
        return self._guarded(lambda: self._embedder.count_tokens(text))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._guarded(lambda: self._embedder.embed_passages(texts))

    def take_uses(self) -> list[ModelUse]:
        """What it has cost since it was last asked, if it keeps count; see `Meter.take`."""
        take = getattr(self._embedder, "take_uses", None)
        return [] if take is None else self._guarded(take)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._guarded(lambda: self._embedder.embed_query(text))

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        return self._guarded(lambda: self._embedder.calibrate(cosines))

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        return self._guarded(lambda: self._embedder.relate(cosines))


class GuardedChat:
    """A language model whose every failure is `ModelFailed`, with the original as its cause."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model

    @property
    def id(self) -> str:
        return self.model.id

    async def complete(self, prompt: Prompt) -> Reply:
        try:
            return await self.model.complete(prompt)
        except MemstrataError:
            raise
        except Exception as error:
            told = [turn.text for turn in prompt.turns]
            words = said(f"{type(error).__name__}: {error}", told=told)
            raise ModelFailed(f"the model {self.id} failed: {words}") from error

    def __repr__(self) -> str:
        return f"GuardedChat({self.model!r})"
