"""What the embedders that run inside this process share.

A subclass brings a model's constants, its tokeniser and one forward pass. This class cleans and
counts the texts, refuses what is too long, batches, spreads batches over threads, normalises,
and turns whatever goes wrong into `ModelFailed`.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import InvalidInput, MemstrataError, ModelFailed

__all__ = ["LEVELS", "InProcessEmbedder", "as_model_failure"]

# What `calibrate` makes of the cosines in `BACKGROUND`, which are exceeded by this share of the
# pairs that do not belong together: all, 90 %, 50 %, 25 %, 10 %, 5 %, 1 %, 0.5 %, 0.1 %, 0.05 %,
# 0.01 %, none. The level is -log10(share) / 5: a plain quantile would leave no room to tell a hit
# from the best of the rest. In a sum with word coverage the two ranked equally well.
LEVELS = (0.0, 0.009, 0.06, 0.12, 0.2, 0.26, 0.4, 0.46, 0.6, 0.66, 0.8, 1.0)

# C strings end at a NUL, and a lone surrogate has no UTF-8.
_UNENCODABLE = re.compile("[\0\ud800-\udfff]")
_WORDS_CACHED = 1 << 15
_LONGEST_CACHED = 32
_MOST_THREADS = 4
_SPECIAL_TOKENS = 4  # added to every text by the model, prefix included
_PADDED = 1.1
"""Tokens with padding to those without, in batches of like lengths."""
_LEAST_TOKENS = 128
"""Smaller batches cost more than a second thread gains."""


@contextmanager
def as_model_failure(doing: str) -> Generator[None]:
    """Let only `MemstrataError` out: anything else becomes `ModelFailed`, its cause kept."""
    try:
        yield
    except MemstrataError:
        raise
    # Model runtimes raise classes of their own, and plain Exception, without documenting them.
    except Exception as exc:
        raise ModelFailed(f"{doing} failed: {str(exc) or type(exc).__name__}") from exc


class InProcessEmbedder(ABC):
    """An `Embedder` over a model in this process; `threads` is how many batches run at once.

    By default as many as there are processors, at most four. One text is always the work of one
    thread.
    """

    id: str
    dimensions: int
    max_tokens: int

    BACKGROUND: ClassVar[tuple[float, ...]]
    """The cosines that belong to `LEVELS` but for the last, which is 1; measured, rising."""

    KINSHIP: ClassVar[tuple[float, ...]]
    """The same of two passages of one memory, for `relate`."""

    SPACES: ClassVar[str]
    """The characters the tokeniser reads as a space, as the inside of a regex class."""

    BATCH_TOKENS: ClassVar[int] = 1024
    """How many tokens, padding included, go through the model at once: a bound on memory."""

    def __init__(self, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads must be at least 1, not {threads}")
        self._threads = threads or min(_MOST_THREADS, _processors())
        self._words = re.compile(f"[^{self.SPACES}]+")
        self._tail = re.compile(f"[{self.SPACES}]\\Z")
        # A token never crosses a space, so that a text is counted by its words, and words recur.
        self._count_known = lru_cache(maxsize=_WORDS_CACHED)(self._count)

    @abstractmethod
    def _count(self, word: str) -> int:
        """The exact number of tokens of a text without spaces."""

    @abstractmethod
    def _forward(self, texts: list[str], *, query: bool) -> NDArray[np.float32]:
        """One pass through the model: (n, dimensions), not necessarily normalised."""

    def _clean(self, text: str) -> str:
        return _UNENCODABLE.sub("\ufffd", text)

    def count_tokens(self, text: str) -> int:
        """The tokens of the text: exact, or one more where it ends with a space.

        A few microseconds for an English message; words not met lately and long runs without a
        space, as in Chinese, go to the model's tokeniser.
        """
        with as_model_failure("counting tokens"):
            return self._counted(self._clean(text))

    def _counted(self, text: str) -> int:
        known, exact = self._count_known, self._count
        words = self._words.findall(text)
        total = sum([known(w) if len(w) <= _LONGEST_CACHED else exact(w) for w in words])
        return total + (self._tail.search(text) is not None)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed_passages`."""
        if isinstance(texts, str):
            raise InvalidInput("embed_passages takes a list of texts, not one text")
        return self._embed(texts, query=False)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`."""
        return self._embed([text], query=True)[0]

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """See `Embedder.calibrate`; piecewise linear through the model's own `BACKGROUND`."""
        return np.interp(cosines, (*self.BACKGROUND, 1.0), LEVELS)

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """See `Embedder.relate`; piecewise linear through the model's own `KINSHIP`."""
        return np.interp(cosines, (*self.KINSHIP, 1.0), LEVELS)

    def _embed(self, texts: Sequence[str], *, query: bool) -> NDArray[np.float32]:
        with as_model_failure(f"the embedder {self.id}"):
            cleaned = [self._clean(text) for text in texts]
            counts = [self._counted(text) for text in cleaned]
            self._refuse_long(counts)
            batches = _batches(counts, _fair(counts, self._threads, self.BATCH_TOKENS))
            out = np.empty((len(cleaned), self.dimensions), np.float32)

            def run(batch: list[int]) -> None:
                out[batch] = self._forward([cleaned[i] for i in batch], query=query)

            if len(batches) < 2 or self._threads == 1:
                for batch in batches:
                    run(batch)
            else:
                with ThreadPoolExecutor(min(self._threads, len(batches))) as pool:
                    for _ in pool.map(run, batches):
                        pass
            return _normalised(out)

    def _refuse_long(self, counts: Sequence[int]) -> None:
        for index, count in enumerate(counts):
            if count > self.max_tokens:
                raise ModelFailed(
                    f"text {index} has {count} tokens and {self.id} takes {self.max_tokens}; "
                    "split it by count_tokens first"
                )


def _processors() -> int:
    """The processors this process may use, where the system tells; else all of them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _fair(counts: Sequence[int], threads: int, limit: int) -> int:
    """Tokens of a batch, at most `limit`, such that no thread is left without work."""
    total = sum(counts) + _SPECIAL_TOKENS * len(counts)
    share = int(total * _PADDED / threads) + 1
    return min(limit, max(share, _LEAST_TOKENS))


def _batches(counts: Sequence[int], limit: int) -> list[list[int]]:
    """Group texts by length, so that padding wastes little, into batches of `limit` tokens."""
    batches: list[list[int]] = []
    for index in sorted(range(len(counts)), key=counts.__getitem__):
        width = counts[index] + _SPECIAL_TOKENS
        if batches and (len(batches[-1]) + 1) * width <= limit:
            batches[-1].append(index)
        else:
            batches.append([index])
    # The longest first: no thread is left with a long batch at the end.
    return batches[::-1]


def _normalised(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelFailed("the model answered with a vector that has no direction")
    return rows / lengths
