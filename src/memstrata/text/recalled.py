"""What was recalled from memory, found again in a text: it says nothing new."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["own_words", "without_recalled"]

# What a prompt was given from memory, sent back: whole, by block, or by item; as it was rendered or
# escaped once more. It says nothing new, and must not become its own evidence.
_RECALLED = re.compile(
    r"(?P<lt><|&lt;)(?P<block>memory|(?:core|episodic|semantic|procedural|resource)_memory|"
    r"knowledge_vault)\b"
    r"[^>\n]{0,200}?(?:>|&gt;).*?"
    r"(?:(?P=lt)/(?P=block)(?:>|&gt;)|\Z)"
    r"|^[ \t]*- \([a-z]{2,8}_[0-9a-f]{32};[^\n]*; trust [a-z]+\)[^\n]*(?:\n  [^\n]*)*",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_SIGN = re.compile(r"<|&lt;|- \(")


def own_words(text: str) -> str:
    """The text without what was recalled from memory."""
    return without_recalled(text, lambda match: "\n")


def without_recalled(text: str, instead: Callable[[re.Match[str]], str]) -> str:
    """The text with something in place of what was recalled from memory."""
    return _RECALLED.sub(instead, text) if _SIGN.search(text) else text
