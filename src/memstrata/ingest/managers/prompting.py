"""The managers' prompts, put together of their files."""

from __future__ import annotations

from memstrata.kinds.attributes import Language
from memstrata.models.wording import wording

__all__ = ["prompt", "version_of"]

_PACKAGE = "memstrata.ingest.managers"


def _text(name: str, language: Language) -> str:
    return wording(_PACKAGE, name, language).text


def prompt(name: str, language: Language, *, known: bool = True, **parts: object) -> str:
    """The text of a prompt with its parts filled in.

    `{rules}` is the file of that name, and `{ops}` the one that fits: what may be done to memories
    that are known is told only where some are.
    """
    told = {"rules": _text("rules", language), "ops": _text("ops" if known else "new", language)}
    return _text(name, language).format(**told, **parts)


def version_of(name: str, language: Language) -> str:
    """What a prompt is known by, as `single.en 1`."""
    return wording(_PACKAGE, name, language).name
