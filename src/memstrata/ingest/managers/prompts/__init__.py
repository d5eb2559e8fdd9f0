"""The prompts, as versioned files: `NAME.LANGUAGE.md`, the first line says the version."""

from __future__ import annotations

from functools import cache
from importlib import resources

from memstrata.kinds.attributes import Language

__all__ = ["prompt", "version_of"]

_FILES = resources.files(__name__)


@cache
def _read(name: str, language: Language) -> str:
    return (_FILES / f"{name}.{language}.md").read_text(encoding="utf-8").strip()


def prompt(name: str, language: Language, *, known: bool = True, **parts: object) -> str:
    """The text of a prompt with its parts filled in.

    `{rules}` is the file of that name, and `{ops}` the one that fits: what may be done to memories
    that are known is told only where some are.
    """
    _, _, text = _read(name, language).partition("\n")
    told = {"rules": _read("rules", language), "ops": _read("ops" if known else "new", language)}
    return text.format(**told, **parts)


def version_of(name: str, language: Language) -> str:
    """What a prompt is known by, as `single.en.1`."""
    first = _read(name, language).splitlines()[0]
    return f"{name}.{language}.{first.partition(':')[2].strip()}"
