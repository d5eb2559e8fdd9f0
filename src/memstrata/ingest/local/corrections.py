"""Corrections of what the same speaker said before: `I meant X, not Y`, 不对，是X."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memstrata.ingest.local.clauses import Sentence
from memstrata.ingest.local.findings import Finding, trim

__all__ = ["correction", "marks"]

_MEANT = re.compile(
    r"\bI meant(?: to say)?\s+(?P<new>[^,.;!]+?)(?:,?\s+(?:not|"
    r"and not|instead of|rather than)\s+(?P<old>[^,.;!]+))?[.!,;]?$",
    re.IGNORECASE,
)
_SORRY = re.compile(
    r"(?:\b(?:sorry|oops|no|wait|correction|actually)\b[\s,:—–-]*)+(?:I "
    r"(?:said|wrote)[^,]*,\s*)?(?:it's|it is|it was|that's|that "
    r"should be|make that|should be)\s+(?P<new>[^,.;!]+?)(?:,?\s+not\s+(?P<old>[^,.;!]+))?[.!]?$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"\b(?:it's|it is|that's)\s+(?P<new>[^,.;!]+?),?\s+not\s+(?P<old>[^,.;!]+?)[.!]?$",
    re.IGNORECASE,
)
_MARK = re.compile(
    r"\b(?:I meant|I misspoke|my mistake|I was wrong|typo|correction|"
    r"scratch that|I made a mistake)\b",
    re.IGNORECASE,
)
_HAN = re.compile(
    r"(?:(?:不对|说错了?|写错了?|打错了?|我记错了?|更正一下|口误|抱歉|不好意思)[，,。！\s]*)+(?:应该)?是(?P<new>[^，,。！不]{1,16})(?:[，,]\s*不是(?P<old>[^，。！]{1,16}))?"
)
_HAN_MEANT = re.compile(
    r"我(?:是说|的意思是|指的是)(?P<new>[^，,。！不]{1,16})[，,]\s*(?:而)?不是(?P<old>[^，。！]{1,16})"
)
_HAN_NOT = re.compile(
    r"^(?:是|应该是)(?P<new>[^，,。！不]{1,16})[，,]\s*不是(?P<old>[^，。！]{1,16})"
)
_HAN_MARK = re.compile(r"不对|说错了|写错了|打错了|记错了|更正|口误|搞错了")


def marks(sentence: Sentence) -> bool:
    """Whether a sentence says that something before it was wrong."""
    return bool((_HAN_MARK if sentence.chinese else _MARK).search(sentence.text))


def correction(sentence: Sentence, earlier: Sequence[Finding]) -> Finding | None:
    """The fact a sentence puts right, of those the speaker stated before, newest last.

    The wrong value must be among them, or, where none is named, the newest must be of its sort.
    """
    found = _match(sentence)
    if found is None or not earlier:
        return None
    new, old = trim(found["new"]), trim(found["old"] or "")
    target = _target(earlier, old, new)
    if not new or target is None:
        return None
    return Finding(
        target.subject,
        target.attribute,
        new,
        sentence.start,
        sentence.end,
        polarity=target.polarity,
        replaces=target.value,
        correct=True,
        confidence=0.85,
        language=target.language,
    )


def _match(sentence: Sentence) -> re.Match[str] | None:
    patterns = (_HAN, _HAN_MEANT, _HAN_NOT) if sentence.chinese else (_MEANT, _SORRY, _NOT_BUT)
    return next((m for p in patterns if (m := p.search(sentence.text))), None)


def _target(earlier: Sequence[Finding], old: str, new: str) -> Finding | None:
    # That Emma is called Emma comes with whose daughter she is, and is not what was wrong.
    earlier = [one for one in earlier if one.subject.casefold() != one.value.casefold()]
    if not earlier:
        return None
    if old:
        fitting = [one for one in earlier if old.casefold() in one.value.casefold()]
        return fitting[-1] if fitting else None
    last = earlier[-1]
    alike = (
        last.value[:1].isupper() == new[:1].isupper()
        and last.value[:1].isdigit() == new[:1].isdigit()
    )
    return last if alike and len(new.split()) <= len(last.value.split()) + 1 else None
