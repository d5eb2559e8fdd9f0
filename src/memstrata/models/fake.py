"""Models without a model, for tests: fast, deterministic, and telling what they were asked.

Each word has its own place in the vector, so that the cosine of two texts is the share of their
words they have in common: rankings in tests mean something, and can be worked out by hand::

    embedder = FakeEmbedder(max_tokens=64)
    memory = await memstrata.open_async("memory.db", embedder=embedder)
    embedder.fail_next(2)                 # the next two calls raise ModelFailed
    ...
    assert embedder.texts == 3            # three texts were embedded, in any number of calls
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memstrata.errors import InvalidInput, ModelFailed
from memstrata.models.chat import Prompt, Reply
from memstrata.records import ModelUse

__all__ = ["FakeChat", "FakeEmbedder"]

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORDS = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")
_TOKENS = re.compile(f"[{_CJK}]|[^\\W{_CJK}]{{1,8}}|[^\\w\\s]")


class FakeEmbedder:
    """An `Embedder` that hashes words; a Chinese, Japanese or Korean character is a word.

    A token is a word, eight characters of a longer word, or a sign. Texts of more than
    `max_tokens` are refused with `ModelFailed`, as real embedders refuse them. The calibration is
    the cosine itself, nothing below 0.
    """

    def __init__(
        self, *, dimensions: int = 256, max_tokens: int = 512, id: str | None = None
    ) -> None:
        if dimensions < 1 or max_tokens < 1:
            raise InvalidInput("dimensions and max_tokens must be at least 1")
        self.id = id or f"fake-{dimensions}"
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self.calls = 0
        """How often it was asked for vectors, failures included."""
        self.texts = 0
        """How many texts it has given a vector for, queries included."""
        self.queries = 0
        """How many of them were queries."""
        self._failures = 0
        self._lock = threading.Lock()

    def fail_next(self, calls: int = 1) -> None:
        """Make the next `calls` calls for vectors raise `ModelFailed`; 0 ends it."""
        with self._lock:
            self._failures = calls

    def count_tokens(self, text: str) -> int:
        """See `Embedder.count_tokens`."""
        return len(_TOKENS.findall(text))

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed_passages`."""
        if isinstance(texts, str):
            raise InvalidInput("embed_passages takes a list of texts, not one text")
        return self._embed(texts, queries=0)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`."""
        return self._embed([text], queries=1)[0]

    def calibrate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """See `Embedder.calibrate`."""
        return np.clip(np.asarray(cosines, np.float64), 0.0, 1.0)

    def relate(self, cosines: NDArray[Any]) -> NDArray[np.float64]:
        """See `Embedder.relate`."""
        return self.calibrate(cosines)

    def _embed(self, texts: Sequence[str], *, queries: int) -> NDArray[np.float32]:
        with self._lock:
            self.calls += 1
            if self._failures > 0:
                self._failures -= 1
                raise ModelFailed("the fake embedder was told to fail")
        for index, text in enumerate(texts):
            if (count := self.count_tokens(text)) > self.max_tokens:
                raise ModelFailed(
                    f"text {index} has {count} tokens and {self.id} takes {self.max_tokens}; "
                    "split it by count_tokens first"
                )
        rows = np.array([self._vector(text) for text in texts], np.float32)
        with self._lock:
            self.texts += len(texts)
            self.queries += queries
        return rows.reshape(len(texts), self.dimensions)

    def _vector(self, text: str) -> NDArray[np.float64]:
        row = np.zeros(self.dimensions)
        # A text without words has a direction too: that of the empty word.
        for word in _WORDS.findall(text.casefold()) or [""]:
            row[_place(word, self.dimensions)] += 1.0
        return row / math.sqrt(float(row @ row))


def _place(word: str, dimensions: int) -> int:
    digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % dimensions


class FakeChat:
    """A `ChatModel` that replies from a script, and keeps what it was asked.

    An item of the script is the text of a reply, a mapping or list (its JSON is the reply), an
    error to raise, a whole `Reply`, or a function of the prompt that gives one of these. When the
    script is at its end, `otherwise` stands for every further reply; without it the call fails::

        chat = FakeChat({"memories": []}, ModelFailed("down"), "not JSON at all")
        memory = await memstrata.open_async(":memory:", llm=chat)
        ...
        assert [prompt.purpose for prompt in chat.prompts] == ["extract"]
    """

    def __init__(self, *script: Any, otherwise: Any = None, id: str = "fake-chat") -> None:
        self.id = id
        self.script = list(script)
        """What is still to be replied, in order."""
        self.otherwise = otherwise
        self.prompts: list[Prompt] = []
        """All it was asked, oldest first."""

    async def complete(self, prompt: Prompt) -> Reply:
        """See `ChatModel.complete`. A token is counted as `FakeEmbedder` counts it."""
        self.prompts.append(prompt)
        item = self.script.pop(0) if self.script else self.otherwise
        if item is None:
            raise ModelFailed(f"the fake chat model has no reply left for {prompt.purpose!r}")
        if callable(item):
            item = item(prompt)
        if isinstance(item, BaseException):
            raise item
        if isinstance(item, Reply):
            return item
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        read = "\n".join([prompt.system, *(turn.text for turn in prompt.turns)])
        use = ModelUse(
            model=self.id,
            calls=1,
            input_tokens=len(_TOKENS.findall(read)),
            output_tokens=len(_TOKENS.findall(text)),
        )
        return Reply(text, use)
