"""Prompts as files beside the module that asks: one per name and language, each with a version.

A file is `NAME.LANGUAGE.md`, and its first line `version: N`: what was asked can be told by it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Language", "Wording", "language_of", "wording"]

Language = Literal["en", "zh"]

_HEAD = re.compile(r"version: (\d+)\n+")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff\uac00-\ud7af]")
_LATIN = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class Wording:
    """A prompt's fixed part."""

    name: str
    """Of the file, with its language and version: `ask.en 3`."""
    text: str


@cache
def wording(package: str, name: str, language: Language) -> Wording:
    """The file `prompts/NAME.LANGUAGE.md` beside the modules of a package."""
    file = files(package).joinpath("prompts", f"{name}.{language}.md")
    text = file.read_text(encoding="utf-8")
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"{file}: the first line is no `version: N`")
    return Wording(f"{name}.{language} {head[1]}", text[head.end() :].strip())


def language_of(text: str) -> Language:
    """The language to speak in: Chinese if it has at least as many Chinese characters as other
    words, else English."""
    han = len(_HAN.findall(text))
    if not han or _KANA.search(text):
        return "en"
    return "zh" if han >= len(_LATIN.findall(text)) else "en"
