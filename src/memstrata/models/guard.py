"""The seam to embedders that others wrote: whatever they raise becomes `ModelFailed`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import MemstrataError, ModelFailed
from memstrata.models.base import Embedder

__all__ = ["GuardedEmbedder"]

T = TypeVar("T")


class GuardedEmbedder:
    """An embedder whose every failure is `ModelFailed`, with the original as its cause."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens

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

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._guarded(lambda: self._embedder.embed_query(text))

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        return self._guarded(lambda: self._embedder.calibrate(cosines))

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        return self._guarded(lambda: self._embedder.relate(cosines))
