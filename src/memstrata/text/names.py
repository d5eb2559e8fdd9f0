"""Names in a text, by how they are written: no model, English and Chinese first.

Capitalised words and what joins them, quoted titles, handles, e-mail addresses, identifiers,
names known from before; Chinese names by a tagger; Japanese and Korean ones where an honorific
gives them away.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, cast

from memstrata.text.analyse import fold
from memstrata.text.chinese import tagged
from memstrata.text.name_words import (
    ALSO_NAMES,
    CALENDAR,
    CHINESE_TITLES,
    COMPOUND_SURNAMES,
    CONNECTORS,
    HONORIFICS,
    KIN,
    NO_NAMES,
    ORGANISATIONS,
    PLACES,
    PREFIXES,
    STARTERS,
    SURNAMES,
)
from memstrata.text.standin import STANDIN, has_standin

__all__ = ["Name", "names", "normal_form"]


class Name(NamedTuple):
    """A name as it is written, as it is compared, and what it seems to name."""

    text: str
    normal: str
    type: str
    """`person`, `place`, `organisation`, `product`, `handle` or `thing`."""


class _Found(NamedTuple):
    start: int
    end: int
    type: str


def names(text: str, known: Collection[str] = ()) -> list[Name]:
    """The names in a text in order, each once by its normal form.

    `known` holds names met before, as normal forms or as they are written: they are found in
    small letters too. A set makes that fast.
    """
    found: list[_Found] = []
    if has_standin(text):  # it names nothing
        text = STANDIN.sub(lambda match: " " * len(match[0]), text)
    if _MARKED.search(text):
        found += _titles(text)
        found += _identifiers(text)
    if not (text.islower() or text.isupper()):
        found += _capitalised(text, known)
    if not text.isascii():
        found += _asian(text)
    if known:
        found += _known(text, known)
    if not found:
        return []
    listed: dict[str, Name] = {}
    for one in _apart(found):
        words = text[one.start : one.end]
        normal = normal_form(words)
        if normal and normal not in listed:
            listed[normal] = Name(words, normal, one.type)
    return list(listed.values())


def _apart(found: list[_Found]) -> Iterator[_Found]:
    """Without those that overlap an earlier or, from the same place, a longer one."""
    end = 0
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if one.start >= end:
            yield one
            end = one.end


# ── normal forms ─────────────────────────────────────────────────────────────────────────────

# What has nothing to take away.
_SIMPLE = re.compile(
    rf"(?!(?:{'|'.join(sorted(HONORIFICS))})\b)[a-z0-9]+(?:[ _-](?!(?:phd|md|esq)\b)[a-z0-9]+)*"
)
_HONORIFIC = re.compile(rf"(?:{'|'.join(sorted(HONORIFICS, key=len, reverse=True))})\.?\s+(?=\w)")
_DEGREE = re.compile(r"(?<=\w),?\s+(?:ph\.?d|m\.?d|esq)\.?$")
_INITIAL = re.compile(r"\b(\w)\.(?![\w@]{2})\s*")
_AFTER_NAME = re.compile(
    r"(?<=[一-龥]{2})(?:先生|女士|小姐)$|(?<=[一-龥ァ-ヶー]{2})(?:さん|くん|ちゃん|様)$"
)
_EDGES = "\"'“”‘’«»()[]{}<>《》「」『』.,;:!?。，、；：！？*`… \t\n\r\v\f\u3000"


def normal_form(name: str) -> str:
    """How a name is compared: two spellings of one meet, similar names of two do not.

    Case, accents, compatibility forms, honorifics and the punctuation around it are gone; the
    punctuation inside identifiers stays. Only a blank name has an empty one; a normal form is its
    own.
    """
    folded = fold(name)
    if _SIMPLE.fullmatch(folded):
        return folded
    for _ in range(8):
        shorter = _shorter(folded)
        if shorter == folded:
            break
        folded = fold(shorter)
    return folded or unicodedata.normalize("NFC", name.strip())


def _shorter(name: str) -> str:
    words = " ".join(name.split())
    stripped = words.strip(_EDGES)
    if stripped:
        words = stripped
    words = _HONORIFIC.sub("", words, count=1) if _HONORIFIC.match(words) else words
    words = _AFTER_NAME.sub("", _DEGREE.sub("", words))
    return _INITIAL.sub(r"\1 ", words).strip() or words


# ── titles, handles, identifiers ─────────────────────────────────────────────────────────────

_MARKED = re.compile(r"[\"“«《「『@_\d]|[a-z][A-Z]")
_TITLE = re.compile(
    r"\"([^\"\n]{2,60})\"|“([^”\n]{2,60})”|«([^»\n]{2,60})»|《([^》\n]{1,60})》|『([^』\n]{1,40})』"
    r"|「([^」\n]{1,30})」"
)
_WORK = re.compile(
    r"\b(?:books?|movies?|films?|songs?|shows?|series|albums?|games?|poems?|paintings?|podcasts?|called"
    r"|titled|named|read|reading|watch|watched|watching|play|played)\b[^\w\"“«]{0,3}\Z",
    re.IGNORECASE,
)
_PROSE = re.compile(r"[.!,;]\s|[.,;]\Z|[，。；！]|\b(?:I|I'm|you)\b")
_HAN_PROSE = re.compile(r"[我你您他她它的了吗吧呢啊不没，。？！、?!,.]")


def _titles(text: str) -> Iterator[_Found]:
    for match in _TITLE.finditer(text):
        group = match.lastindex or 1
        inner, start = match[group], match.start(group)
        if group >= 4:
            wanted = group < 6 or len(inner) <= 12
        elif _HAN.search(inner):
            wanted = len(inner) <= 8 and not _HAN_PROSE.search(inner)
        elif inner[0].isupper() or inner[0].isdigit():
            wanted = len(inner.split()) <= 7
        else:
            wanted = bool(_WORK.search(text, max(0, match.start() - 20), match.start()))
        if wanted and inner.strip() and not (group < 4 and _PROSE.search(inner)):
            yield _Found(start, start + len(inner), "thing")


_IDENTIFIER = re.compile(
    r"(?<![\w@.+-])(?:"
    r"(?P<mail>[A-Za-z0-9](?:[\w.+-]{0,62}\w)?@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4})"
    r"|(?P<handle>@[A-Za-z0-9_](?:[\w.-]{0,62}[A-Za-z0-9_])?)"
    r"|(?P<snake>[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,8})"
    r"|(?P<dashed>[A-Za-z][A-Za-z0-9]{0,40}(?:-[A-Za-z0-9]{1,40}){1,5})"
    r"|(?P<mixed>[A-Z]{1,6}\d{1,6}[A-Z]{0,2}|[a-z]{1,12}[A-Z][A-Za-z0-9]{1,40}"
    r"|[A-Z][a-z0-9]{1,20}(?:[A-Z][a-z0-9]{1,20}){1,4})"
    r")(?![A-Za-z0-9_@])",
    re.ASCII,
)
_NO_IDENTIFIER = re.compile(
    r"(?:mid|pre|post|top|non|sub|early|late|one|two|three|four|five|grade|age|under|over|level|part|step|day"
    r"|week|day|year|option|section|chapter|page)-\d+|q[1-4]",
    re.IGNORECASE,
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://\S{1,2000}")


def _identifiers(text: str) -> Iterator[_Found]:
    urls = [match.span() for match in _URL.finditer(text)] if "://" in text else []
    for match in _IDENTIFIER.finditer(text):
        kind, word = match.lastgroup, match[0]
        if kind == "dashed" and not any(char.isdigit() for char in word):
            continue
        if _NO_IDENTIFIER.fullmatch(word) or any(a <= match.start() < b for a, b in urls):
            continue
        yield _Found(*match.span(), "handle" if kind in ("mail", "handle") else "thing")


# ── capitalised words ────────────────────────────────────────────────────────────────────────

# Letters of scripts that have capitals; words of others may stand right beside them.
_NOT_CJK = "一-龥ぁ-ヿ가-힣"
_LETTER = rf"[^\W_{_NOT_CJK}]"
# More of a word: O'Brien, Jean-Luc, AT&T, but not the 's of Ana's.
_JOINT = rf"[ \u00a0](?:(?:{'|'.join(sorted(CONNECTORS, key=len, reverse=True))})[ \u00a0])?"
# After the first letter: the rest of "Dr." or of initials, or of a word.
_REST = rf"(?:(?:(?:r|rs|s|rof|t)?\.(?:[A-Z]\.)*(?= ))|{_LETTER}*(?:['’&-](?!s\b){_LETTER}+)*)"
_CAPITAL = rf"[^\W\d_a-zа-я{_NOT_CJK}]"
_CAPITALS = re.compile(rf"{_CAPITAL}{_REST}(?:{_JOINT}{_CAPITAL}{_REST})*")
_ASCII_CAPITALS = re.compile(rf"[A-Z]{_REST}(?:{_JOINT}[A-Z]{_REST})*", re.ASCII)
_NOT_BEFORE = re.compile(rf"[^\W{_NOT_CJK}]|[@#'’/\\]")
_PIECES = re.compile(r"[^ \u00a0]+")
_SPOKEN_TO = re.compile(
    r"\b(?:hi|hey|hello|thanks|dear|bye|wow|yes|sorry)[ ,]{1,2}\Z", re.IGNORECASE
)
_RELATED = re.compile(
    r"\b(?:friend|sister|brother|cousin|wife|husband|son|daughter|partner|colleague|boss|neighbou?r"
    r"|teacher|coach|named|called|i'm|i am|name is|with|met|and i|told|asked|by)\s{1,2}\Z",
    re.IGNORECASE,
)
_LOCATED = re.compile(
    r"\b(?:in|at|to|from|near|visit(?:ed|ing)?|toward|through|around|across)\s{1,2}(?:the\s{1,2})?\Z",
    re.IGNORECASE,
)
_ACTS = re.compile(
    r"(?:['’]s\b|\s(?:says?|said|told|asked|thinks|thought|loves?|loved|wants?|likes?|went|came"
    r"|called|is my|was my|and (?:I|me)|has|had|works|worked|lives|moved|helped|gave|got|made|met"
    r"|visited|invited|joined|wrote|bought|recommended|suggested|mentioned|taught|plays|played)\b)"
)


def _capitalised(text: str, known: Collection[str]) -> Iterator[_Found]:
    pattern = _ASCII_CAPITALS if text.isascii() else _CAPITALS
    matches = [
        match
        for match in pattern.finditer(text)
        if match[0][0].isupper()
        and not (match.start() and _NOT_BEFORE.match(text, match.start() - 1))
    ]
    if not matches:
        return
    inside = {match[0] for match in matches if not _begins(text, match.start())}
    for match in matches:
        pieces = [(match.start() + piece.start(), piece[0]) for piece in _PIECES.finditer(match[0])]
        begins = _begins(text, match.start())
        pieces = _without_ordinary(pieces, begins, inside, known)
        if pieces:
            start = pieces[0][0]
            end = pieces[-1][0] + len(pieces[-1][1].rstrip("."))
            yield _Found(start, end, _type(text, start, end))


def _begins(text: str, at: int) -> bool:
    """Whether a word stands where any word has a capital: first in a sentence, line or quote."""
    before = text[max(0, at - 4) : at].rstrip(" \u00a0\t")
    return not before or not (before[-1].isalnum() or before[-1] in ",&+")


def _without_ordinary(
    pieces: list[tuple[int, str]], begins: bool, inside: set[str], known: Collection[str]
) -> list[tuple[int, str]]:
    """What is left of a run of capitalised words once those that are no names are gone."""
    if begins and len(pieces) > 1 and _is_heading([word for _, word in pieces], inside):
        return []
    first = begins
    while pieces and _plain(pieces[0][1], begins, first, len(pieces) > 1, inside, known):
        pieces, first = pieces[1:], False
    while pieces and (_key(pieces[-1][1]) in CALENDAR or pieces[-1][1][0].islower()):
        pieces = pieces[:-1]
    if len(pieces) == 1 and _key(pieces[0][1]) in HONORIFICS | KIN:
        return []
    return pieces


def _is_heading(words: list[str], inside: set[str]) -> bool:
    """Whether a run that begins a line or sentence is made of ordinary words in large type."""
    if _key(words[-1]) in PLACES | ORGANISATIONS or " ".join(words) in inside:
        return False
    return all(_key(word) in STARTERS or word.islower() or _ordinary(word) for word in words)


def _key(word: str) -> str:
    return word.rstrip(".").lower().replace("’", "'")


def _plain(
    word: str, begins: bool, first: bool, more: bool, inside: set[str], known: Collection[str]
) -> bool:
    """Whether the first word left of a run is no part of a name.

    `begins`: the run began a sentence; `first`: with this word.
    """
    key = _key(word)
    if len(key) < 2 and not (more and word[1:] == "." and word != "I."):
        return True
    if not word[0].isupper() or key in CALENDAR:
        return True
    if more and (key in PREFIXES or key in HONORIFICS or key in ORGANISATIONS):
        return False
    if key in STARTERS:
        also = key in ALSO_NAMES and not first
        return not also and (begins or word.isupper() or key == "the" or not more)
    if word.isupper() and len(word) > 3 and _ordinary(key.capitalize()):
        return True  # shouting
    if not first or word in inside or key in known:
        return False
    # Of other alphabets there is no list of ordinary words.
    return _ordinary(word) if word[0] < "\u0250" else not more


def _ordinary(word: str) -> bool:
    """Whether a word with a capital is an English word that is usually written without."""
    return not _lemma(word)[:1].isupper()


def _lemma(word: str) -> str:
    lemmatize = cast("Callable[..., str]", importlib.import_module("simplemma").lemmatize)
    return lemmatize(word, lang="en")


def _type(text: str, start: int, end: int) -> str:
    words = [_key(word) for word in text[start:end].split()]
    if words[0] in HONORIFICS:
        return "person"
    if words[-1] in ORGANISATIONS:
        return "organisation"
    if words[-1] in PLACES or words[0] in ("mount", "lake", "mt"):
        return "place"
    before = max(0, start - 24)
    if _RELATED.search(text, before, start) or _SPOKEN_TO.search(text, before, start):
        return "person"
    if _LOCATED.search(text, before, start):
        return "place"
    spoken_to = text[max(0, start - 2) : start] in ("", ", ") and text[end : end + 1] in (
        *",.!?",
        "",
    )
    return "person" if spoken_to or _ACTS.match(text, end) else "thing"


# ── names known from before ──────────────────────────────────────────────────────────────────

_TOKEN = re.compile(r"[^\W_](?:[\w'’.&-]*[^\W_])?|[^\s\w]+")
_HAN_RUN = re.compile(r"[一-龥]{2,}")


def _known(text: str, known: Collection[str]) -> Iterator[_Found]:
    """Runs of up to four words, or two to six Chinese characters, that are known as a name."""
    words = [match.span() for match in _TOKEN.finditer(text)]
    form: Callable[[str], str] = str.lower if text.isascii() else normal_form
    for first, (start, _) in enumerate(words):
        for _, end in reversed(words[first : first + 4]):
            written = text[start:end]
            if written in known or form(written) in known:
                yield _Found(start, end, "thing")
                break
    for run in _HAN_RUN.finditer(text):
        for start in range(run.start(), run.end() - 1):
            for end in range(min(run.end(), start + 6), start + 1, -1):
                if text[start:end] in known:
                    yield _Found(start, end, "thing")
                    break


# ── Chinese, Japanese, Korean ────────────────────────────────────────────────────────────────

_HAN = re.compile(r"[一-龥]")
_KANA = re.compile(r"[ぁ-ゖァ-ヺ]")
_JAPANESE = re.compile(
    r"(?:昨日|今日|明日|先日)?([一-龥々]{1,4}|[ァ-ヺー]{2,12}|[ぁ-ゖ]{2,4})(?=さん|くん|ちゃん|様|先生)"
)
_KATAKANA = re.compile(r"[ァ-ヺー]{3,}")
_KOREAN = re.compile(r"(?<![가-힣])([가-힣]{2,4}?)(?=\s?씨|님|\s선생님)")
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a pair has no UTF-8, which the tagger wants
_PLACE_TAGS = {"ns": "place", "nt": "organisation"}
_GIVEN = frozenset({"n", "nr", "ns", "a", "nz", "x", "ng", "i", "nrt", "ad", "an"})
_SURNAME = f"[{''.join(sorted(SURNAMES))}]"
_TITLED = re.compile(
    rf"(?<![一两几这那每\d]){_SURNAME}(?:{'|'.join(CHINESE_TITLES)}"
    r"|[总哥姐](?=[，。！？、：说在和跟的上下今明昨要是会去来有给你我他她]|\Z))"
)
# A surname and one or two characters or a title; 小红, 老王, 阿强; 玛丽·居里.
_PERSON = re.compile(
    rf"(?:{_SURNAME}|{'|'.join(COMPOUND_SURNAMES)})"
    rf"(?:[一-龥]{{1,2}}|{'|'.join(CHINESE_TITLES)})|[小老阿][一-龥]|[一-龥]+(?:·[一-龥]+)+"
)


def _asian(text: str) -> Iterator[_Found]:
    if _KANA.search(text):
        yield from (_Found(*match.span(1), "person") for match in _JAPANESE.finditer(text))
        yield from (_Found(*match.span(), "thing") for match in _KATAKANA.finditer(text))
    elif _HAN.search(text):
        yield from _chinese(text)
    yield from (_Found(*match.span(1), "person") for match in _KOREAN.finditer(text))


def _chinese(text: str) -> Iterator[_Found]:
    for match in _TITLED.finditer(text):
        yield _Found(*match.span(), "person")
    at = 0
    surname = -1  # where one stands whose given name is still to come
    for word, tag in tagged(_SURROGATE.sub("?", text)):
        start, at = at, at + len(word)
        if surname >= 0:
            if len(word) <= 2 and tag in _GIVEN and _HAN.match(word):
                yield _Found(surname, at, "person")
            surname = -1
        elif word in COMPOUND_SURNAMES or (word in SURNAMES and tag.startswith("nr")):
            surname = start
        elif word not in NO_NAMES:
            yield from _tagged(word, tag, start)


def _tagged(word: str, tag: str, start: int) -> Iterator[_Found]:
    if tag in _PLACE_TAGS and len(word) > 1:
        yield _Found(start, start + len(word), _PLACE_TAGS[tag])
    elif tag.startswith("nr") and _PERSON.fullmatch(word) and not _TITLED.match(word):
        yield _Found(start, start + len(word), "person")
