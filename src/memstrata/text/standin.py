"""What stands in a text for a secret that left it."""

from __future__ import annotations

import re

__all__ = ["STANDIN", "has_standin", "removed", "sealed_as"]

STANDIN = re.compile(
    r"\[(?:vault:(?P<entry>vault_[0-9a-f]{32})|secret removed:)"
    r" (?P<caption>[A-Za-z0-9][A-Za-z0-9 ./-]{0,40})\]"
)
"""Both of them: `entry` is the vault entry that has the secret, None where nobody has."""


def sealed_as(entry: str, caption: str) -> str:
    """What stands for a secret that a vault entry has."""
    return f"[vault:{entry} {caption}]"


def removed(secret: str, caption: str) -> str:
    """What stands for a secret that is not kept."""
    return f"[secret removed: {caption}]"


def has_standin(text: str) -> bool:
    """Whether it is worth looking for one; a cheap test before the search."""
    return "[vault:" in text or "[secret removed:" in text
