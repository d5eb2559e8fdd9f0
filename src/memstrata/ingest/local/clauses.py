"""The speaker's own words in a message, cut into sentences and clauses with their places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memstrata.text.recalled import without_recalled

__all__ = ["Clause", "Sentence", "clauses", "readable", "sentences"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters `[start, end)` of a message."""

    start: int
    end: int
    text: str
    asks: bool
    chinese: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """Characters `[start, end)` of a message that have a subject of their own, or continue one."""

    start: int
    end: int
    text: str
    continues: bool = False
    """Whether the subject is that of the clause before (`I moved and work at …`)."""
    joined_by: str = ""
    """The word that joins it to the clause before."""


# What stands in a message and is not what its speaker says.
_FOREIGN = re.compile(
    r"<(?P<tag>memories|[a-z]+_memory|context|document|file|system)\b[^>]*>"
    r".*?(?:</(?P=tag)>|\Z)"
    r"|```.*?(?:```|\Z)|`[^`\n]*`"
    r"|^[ \t]*>[^\n]*$"
    r"|^-{2,} ?(?:original message|forwarded message|forwarded by).*\Z"
    r"|^begin forwarded message:.*\Z|^on [^\n]{5,120} wrote:\s*$.*\Z"
    r"|^from: [^\n]*\n(?:[^\n]*\n)?(?:sent|date|to|subject): .*\Z"
    r"|https?://\S+"
    r"|^\[[^\]\n]*\]$",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_FOREIGN_SIGN = re.compile(
    r"[<`>\[]|-- ?|wrote:|forwarded|^from:|://", re.IGNORECASE | re.MULTILINE
)
# A quotation, unless it is short enough for a name or a title.
_QUOTED = re.compile(
    r"\"[^\"\n]{12,600}\"|“[^”\n]{6,600}”|「[^」\n]{6,400}」|‘[^’\n]{20,400}’(?!\w)|"
    r"(?<!\w)'[^'\n]{12,400}'(?!\w)"
)
_TITLE_LIKE = re.compile(r"[A-Z][\w'’]*(?: (?:[A-Z][\w'’]*|of|the|and|in|to|a|for|on))*")


def _blank(match: re.Match[str]) -> str:
    inner = match[0]
    return "\n" * len(inner) if "\n" in inner else " " * len(inner)


def _blank_quote(match: re.Match[str]) -> str:
    inner = match[0][1:-1]
    if _TITLE_LIKE.fullmatch(inner):
        return match[0]
    return match[0][0] + "…" * len(inner) + match[0][-1]


def readable(content: str) -> str:
    """The text with all that is not the speaker's own words blanked, character for character."""
    text = content.replace("’", "'")
    text = without_recalled(text, _blank)
    if _FOREIGN_SIGN.search(text):
        text = _FOREIGN.sub(_blank, text)
    if '"' in text or "“" in text or "「" in text or "'" in text:
        text = _QUOTED.sub(_blank_quote, text)
    return text


_STOP = re.compile(r"[.!?…]+(?=[\s\"”')]|[^\x00-\x7f]|\Z)[\"”')]*|[。！？!?…；]+[”」』]*|\n+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|st|prof|vs|etc|e\.g|i\.e|no|approx|"
    r"jr|sr)|\b[a-z]\.[a-z]|(?:^|\s)[A-Z])\Z",
    re.IGNORECASE,
)
_HAN = re.compile(r"[一-鿿]")
_BULLET = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.)、])\s+")


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a readable text."""
    begin = 0
    for stop in _STOP.finditer(text):
        if stop[0] == "." and _is_abbreviation(text, stop.start()):
            continue
        found = _sentence(text, begin, stop.end())
        if found:
            yield found
        begin = stop.end()
    found = _sentence(text, begin, len(text))
    if found:
        yield found


def _is_abbreviation(text: str, at: int) -> bool:
    before = text[max(0, at - 6) : at]
    if before.endswith(" I"):
        return False
    return bool(_ABBREVIATION.search(before))


def _sentence(text: str, start: int, end: int) -> Sentence | None:
    bullet = _BULLET.match(text, start, end)
    if bullet:
        start = bullet.end()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end - start < 3:
        return None
    words = text[start:end]
    chinese = not words.isascii() and bool(_HAN.search(words))
    asks = "?" in words[-4:] or "？" in words[-4:]
    return Sentence(
        start, end, words, asks or (chinese and words.rstrip("。.!！")[-1:] in "吗呢"), chinese
    )


_OWN = r"(?:I(?:'m|'ve|'d|'ll)?|i(?:'m|'ve)|we|he|she|they|it|my|our|his|her|their)(?:'\w+)?\b"
# Where a new clause begins: a joint before something that can be a subject, or a verb.
_JOINT = re.compile(
    rf"\s*(?:[;:—–]|\s-{{1,2}}\s|\()\s*"
    rf"|(?:,\s*|\s+)(?P<soft>and|but|so|because|cause|cuz|since|"
    rf"although|though|while|whereas|then|yet|or|as|plus)"
    rf"\s+(?=(?:\w+ly\s+|now\s+|also\s+|even\s+|then\s+)?{_OWN}|"
    rf"[A-Z]\w+\s+(?:is|was|has|loves|likes|hates|works|lives)\b)"
    rf"|,\s*(?={_OWN}|(?:actually|but|and|so|because)\b)"
    rf"|(?:,\s*|\s+)(?P<hard>if|unless|when|whenever|until|after|"
    rf"before|who|whose|which|where|even though|in case)\s+"
    rf"|(?:,\s*|\s+)(?P<same>and|but|then)\s+(?=(?:\w+ly\s+|now\s+|also\s+|then\s+|still\s+)?"
    rf"(?:work|works|working|live|lives|living|moved|bought|adopted|"
    rf"love|loves|hate|hates|enjoy|enjoys"
    rf"|went|met|started|got|have|has|had|am|was|is|can't|don't|"
    rf"doesn't|visited|play|plays|study|studies"
    rf"|like|likes|joined|quit|won|took|made|saw|came|found|graduated|finished|attended)\b)",
)
_UNREAL = re.compile(
    r"\b(?:wish(?:es|ed)?|imagine|suppose|supposing|pretend|hypothetically|"
    r"if|unless|whether|in case"
    r"|would've|as though|joking|kidding|jk|lyrics|dreamt|dreamed|"
    r"someone who|people who|anyone who)\b",
    re.IGNORECASE,
)
_SKIPPED_AFTER = frozenset({"when", "whenever", "who", "whose", "which", "where", "until"})


def clauses(sentence: Sentence) -> Iterator[Clause]:
    """The clauses of an English sentence that state something.

    What depends on an `if` or a wish is left out, and so are relative clauses.
    """
    text = sentence.text
    unreal = _UNREAL.search(text)
    limit = unreal.start() if unreal else len(text)
    begin, joined, same = 0, "", False
    for joint in _JOINT.finditer(text):
        if joint.start() >= limit:
            break
        if joined not in _SKIPPED_AFTER:
            yield _clause(sentence, begin, joint.start(), same, joined)
        begin, same = joint.end(), joint["same"] is not None
        joined = (joint["hard"] or joint["soft"] or joint["same"] or "").lower()
    if begin < limit and joined not in _SKIPPED_AFTER:
        yield _clause(sentence, begin, limit, same, joined)


def _clause(sentence: Sentence, begin: int, end: int, same: bool, joined: str) -> Clause:
    start = sentence.start
    return Clause(start + begin, start + end, sentence.text[begin:end], same, joined)
