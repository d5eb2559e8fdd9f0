"""JSON as language models write it: taken where its meaning is beyond doubt, else refused.

Beyond the standard: single, curly and full-width quotes, quotes inside a text that nobody escaped,
keys without quotes, Python's `True`, `False` and `None`, trailing commas, comments, full-width
braces, commas and colons, raw line breaks, unknown escapes. Nothing is closed that was left open,
nothing left out (`...`) is taken as empty, no key that stands twice loses a value, and where a text
may as well be two, it is neither.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["Loose", "read_json"]

_DEPTH = 64
"""Of nesting: what goes deeper was never meant as an answer."""
_NEAR = 80
"""Characters in which what stands beside a quote is looked for."""
_BETWEEN = set(",，:：[]{}")
_ASCII = str.maketrans("｛｝［］，：", "{}[],:")
_CLOSERS = {'"': '"', "'": "'", "“": "“”＂", "”": "“”＂", "＂": "“”＂", "‘": "‘’", "’": "‘’"}
_SIGNS = {each: re.compile(rf"\\.?|[{each}]", re.DOTALL) for each in _CLOSERS.values()}
_SPACE = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"[\w$.+-]+")
_NUMBER = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,3})?")
_LITERALS = {
    "true": True, "True": True, "false": False, "False": False,
    "null": None, "None": None, "NaN": None,
}  # fmt: skip
_ENDS = re.compile(
    r"""
    \s*(?: [:：}\]｝］]                          # what may stand after a text
      |  [,，]\s*(?: ["'“”＂‘’{\[}\]｛［｝］\d-] | (?:[Tt]rue|[Ff]alse|null|None|NaN)\b
                   | [A-Za-z_]\w*\s*[:：] | //|/\*|\# | (?:\.\.\.|…)\s*[\]}"',] | \Z )
      |  \Z )
    | \s+(?:["“]|//|/\*)                        # perhaps the next text, without a comma
    """,
    re.VERBOSE,
)
"""What follows a quote that ends a text; any other quote belongs to the text."""
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\(.?)|"', re.DOTALL)
_OUTSIDE = re.compile(r"[{}\[\]｛｝［］]")


class Loose(NamedTuple):
    """What stands at a place of a text."""

    value: Any
    """An object or a list; None where there is a problem."""
    end: int
    """Where it ends; the text's end if it never does."""
    problem: str | None
    """Why it cannot be taken, for the model that wrote it; never quotes it."""


class _Broken(Exception):
    """It cannot be taken."""


@dataclass(slots=True)
class _Open:
    """An object or list not closed yet."""

    holds: Any
    wants: str
    key: str = ""
    closer: str = field(init=False)

    def __post_init__(self) -> None:
        self.closer = "}" if isinstance(self.holds, dict) else "]"


def read_json(text: str, start: int) -> Loose:
    """The object or list whose first bracket is at `start`. In linear time, whatever the text."""
    reader = _Reader(text, start)
    try:
        value = reader.read()
    except _Broken as error:
        line = text.count("\n", start, reader.at) + 1
        problem = f"{error} (line {line} of the JSON)"
        return Loose(None, _skipped(text, reader.at, len(reader.open)), problem)
    return Loose(value, reader.at, None)


def _skipped(text: str, at: int, depth: int) -> int:
    """Where the brackets that are still open are closed, as far as can be told."""
    for bracket in _OUTSIDE.finditer(text, at):
        depth += 1 if bracket[0] in "{[｛［" else -1
        if depth <= 0:
            return bracket.end()
    return len(text)


class _Reader:
    """Reads one object or list, without recursion."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.open: list[_Open] = []
        self._made: Any = None

    def read(self) -> Any:
        self._sign(self.text[self.at].translate(_ASCII))
        while self.open:
            self._step()
        return self._made

    def _step(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        char = self.text[self.at : self.at + 1].translate(_ASCII)
        if not char:
            raise _Broken("it was cut off, or a quote or bracket in it is never closed")
        if char in "{}[],:":
            self._sign(char)
        elif char in _CLOSERS:
            self._text(self._quoted(_CLOSERS[char]))
        else:
            self._bare()

    def _sign(self, char: str) -> None:
        if char in "{[":
            self._begin(char)
        elif char in "}]":
            self._close(char)
        else:
            top = self.open[-1]
            if top.wants != char:
                raise _Broken(f"there is a {char!r} too many")
            inside = "key" if isinstance(top.holds, dict) else "value"
            top.wants = "value" if char == ":" else inside
        self.at += 1

    def _begin(self, char: str) -> None:
        if self.open and self.open[-1].wants != "value":
            raise _Broken(f"no {char!r} may stand here: a comma, colon or key is missing before it")
        if len(self.open) >= _DEPTH:
            raise _Broken("it is nested too deeply")
        holds: Any = {} if char == "{" else []
        self.open.append(_Open(holds, "key" if char == "{" else "value"))

    def _close(self, char: str) -> None:
        top = self.open[-1]
        if top.closer != char:
            raise _Broken(f"there is a {char!r} where {top.closer!r} must come first")
        # A comma may stand before it.
        if top.wants not in (",", "key" if char == "}" else "value"):
            raise _Broken("a key has no value")
        self.open.pop()
        if self.open:
            self._place(top.holds)
        else:
            self._made = top.holds

    def _text(self, text: str) -> None:
        if self.open[-1].wants == "key":
            self.open[-1].key = text
            self.open[-1].wants = ":"
        else:
            self._place(text)

    def _place(self, value: Any) -> None:
        top = self.open[-1]
        if top.wants != "value":
            raise _Broken("a comma or colon is missing, or a quote inside a text is not escaped")
        if top.closer == "]":
            top.holds.append(value)
        elif top.key in top.holds and top.holds[top.key] != value:
            raise _Broken("a key stands twice in one object")
        else:
            top.holds[top.key] = value
        top.wants = ","

    def _quoted(self, closers: str) -> str:
        """The text between the quote here and the one that ends it."""
        begins = self.at + 1
        # A key has no quotes within: one that seems to has swallowed what stands after it.
        key = self.open[-1].wants == "key"
        inner: list[int] = []
        for found in _SIGNS[closers].finditer(self.text, begins):
            if found[0] not in closers:
                continue
            if key or _ENDS.match(self.text, found.end()):
                break
            inner.append(found.start())
        else:
            self.at = len(self.text)
            raise _Broken("it was cut off, or a quote in it is never closed")
        if _may_be_two(self.text, inner):
            raise _Broken("a quote is missing, or one inside a text is not escaped")
        self.at = found.end()
        body = _ESCAPE.sub(_standard, self.text[begins : found.start()])
        return str(json.loads(f'"{body}"', strict=False))

    def _bare(self) -> None:
        """A number, a literal, or a key without quotes."""
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else ""
        if self.open[-1].wants == "key" and word.isidentifier():
            self._text(word)
        elif word in _LITERALS:
            self._place(_LITERALS[word])
        elif _NUMBER.fullmatch(word):
            self._place(_number(word))
        elif word.startswith("...") or self.text.startswith("…", self.at):
            raise _Broken("it is abridged with '...': write everything out")
        else:
            raise _Broken("a text is not in quotes, or a quote inside a text is not escaped")
        self.at += len(word)


def _may_be_two(text: str, inner: Sequence[int]) -> bool:
    """Whether quotes within a text may be the end of one and the beginning of the next."""
    if any(other - one == 1 for one, other in pairwise(inner)):
        return True
    if len(inner) % 2 == 0:
        return False
    before = [text[max(0, place - _NEAR) : place].rstrip()[-1:] for place in inner]
    after = [text[place + 1 : place + _NEAR].lstrip()[:1] for place in inner]
    return bool(_BETWEEN & {*before, *after})


def _standard(found: re.Match[str]) -> str:
    """An escape, or a quote nobody escaped, as the standard has it."""
    if found[0] == '"':
        return '\\"'
    if found[1] is None:
        return found[0]
    # \' is Python's; another unknown one is a backslash: of a path, or of mathematics.
    return found[1] if found[1] in ("'", "“", "”") else "\\\\" + found[1]


def _number(word: str) -> int | float:
    if not any(sign in word for sign in ".eE"):
        return int(word)
    number = float(word)
    if not math.isfinite(number):
        raise _Broken("a number is too large")
    return number
