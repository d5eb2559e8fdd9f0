"""Chinese words: a text cut into them, with or without their parts of speech."""

from __future__ import annotations

import importlib
from functools import lru_cache
from types import ModuleType
from typing import cast

__all__ = ["cut", "tagged"]


@lru_cache(maxsize=1)
def _jieba() -> ModuleType:
    # Reached lazily: it loads a dictionary, and only Chinese needs it.
    return importlib.import_module("rjieba")


def cut(text: str) -> list[str]:
    """The words of a text."""
    return cast("list[str]", _jieba().cut(text))


def tagged(text: str) -> list[tuple[str, str]]:
    """The same, each with its part of speech, as jieba tags them."""
    return cast("list[tuple[str, str]]", _jieba().tag(text))
