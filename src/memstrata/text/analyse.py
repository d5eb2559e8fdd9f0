"""Text to terms: one analysis for what is stored and for what is asked.

Compatibility forms, case and accents fold away (accents of Latin and Greek only: dakuten and
Hangul are spelling); words become stems; compounds and identifiers give their parts and the
whole; scripts written without spaces give single characters and pairs. Punctuation is never
syntax, so any string is a safe query. Terms leave the process only as 64-bit hashes.
"""

from __future__ import annotations

import importlib
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import NamedTuple, cast

from memstrata.text.chinese import cut
from memstrata.text.lexicon import (
    ASKING_WORDS,
    CLITICS,
    HAN_STOP_WORDS,
    IRREGULAR,
    NUMBER_WORDS,
    STOP_WORDS,
    SYNONYMS,
)
from memstrata.text.type_words import TYPE_WORDS

__all__ = [
    "QueryTerm",
    "fold",
    "instances",
    "pack_terms",
    "query_terms",
    "repair",
    "term_hash",
    "terms",
]

_MAX_TF = 0xFFFF
_LONG = 48
"""Tokens longer than this (keys, encoded blobs) are analysed but not kept in the word cache."""
_WHOLE = 0.5
"""Weight of a compound as a whole beside its parts, in a question."""


class QueryTerm(NamedTuple):
    """A term of a question and how much it counts, relative to 1."""

    term: str
    weight: float = 1.0


# ── folding ──────────────────────────────────────────────────────────────────────────────────


_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe"}
_PUNCTUATION = {"’": "'", "‘": "'", "ʼ": "'", "′": "'", "“": '"', "”": '"'} | dict.fromkeys(
    "‐‑‒–−", "-"
)
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0e\ufe0f"


class _Folding(dict[int, str | None]):
    """A translation table that learns each character when it first sees it."""

    def __missing__(self, code: int) -> str | None:
        char = chr(code)
        base = unicodedata.normalize("NFD", char)[0]
        latin_or_greek = base < "\u0250" or "\u0370" <= base < "\u0400"
        self[code] = folded = _LETTERS.get(base, base) if latin_or_greek else char
        return folded


_FOLDING = _Folding(
    {ord(char): to for char, to in (_LETTERS | _PUNCTUATION).items()}
    | dict.fromkeys(map(ord, _INVISIBLE), None)
    # What NFKC left uncomposed is an accent on a letter that has no composed form.
    | dict.fromkeys(range(0x300, 0x370), None)
)


def fold(text: str) -> str:
    """Return `text` in NFKC, case-folded, without accents on Latin and Greek letters.

    Typographic quotes and hyphens become plain ones and invisible characters go, so that two
    spellings a reader takes for the same compare equal.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return folded.translate(_FOLDING)


_BROKEN = re.compile("[\x00\ud800-\udfff]")


def repair(text: str) -> tuple[str, int]:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD, and how many there were."""
    return _BROKEN.subn("\ufffd", text)


# ── tokens ───────────────────────────────────────────────────────────────────────────────────

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u3099\u309a\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
_OTHER_UNSPACED = "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u104f\u1780-\u17d3\u3105-\u312f"
_UNSPACED = re.compile(f"([{_HAN}{_KANA}{_HANGUL}{_OTHER_UNSPACED}]+)")

_MARKED = r"[\w\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff]"
"""Characters of words, with the vowel signs that `\\w` leaves out."""


def _token_pattern(char: str, flags: int = 0) -> re.Pattern[str]:
    """.NET, .env | a word, with connectors inside | C++, C#, A+."""
    return re.compile(
        rf"(?:(?<![\w.])\.(?=[^\W\d_]))?{char}+(?:[-./:@&'\\~]{char}+)*(?:\+\+|[+#](?!\w))?", flags
    )


_TOKEN = _token_pattern(_MARKED)
_ASCII_TOKEN = _token_pattern(r"\w", re.ASCII)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PARTS = re.compile(r"[^\W_]+(?:[\u0591-\u0dff]+[^\W_]*)*")
_CLITIC = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m))$")
_NUMBER_UNIT = re.compile(r"(\d+)([^\W\d_]+)")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (token, is a run of an unspaced script) of folded text, in order."""
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if text.isascii():
        for token in _ASCII_TOKEN.findall(text):
            yield token, False
        return
    for place, piece in enumerate(_UNSPACED.split(text)):
        if place % 2:
            yield piece, True
        else:
            for token in _TOKEN.findall(piece):
                yield token, False


# ── words ────────────────────────────────────────────────────────────────────────────────────

_STEMMERS = (("\u0400", "\u052f", "russian"), ("\u0370", "\u03ff", "greek"))


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Callable[[str], str]:
    # Reached lazily: importing this module must stay cheap.
    stemmer = importlib.import_module("Stemmer").Stemmer(language)
    return cast("Callable[[str], str]", stemmer.stemWord)


def _stem(word: str) -> str:
    base = IRREGULAR.get(word, word)
    if base.isascii():
        return _stemmer("english")(base)
    for first, last, language in _STEMMERS:
        if first <= base[0] <= last:
            return _stemmer(language)(base)
    return _stemmer("english")(base)


@lru_cache(maxsize=1)
def _canonical() -> dict[str, str]:
    """Stem to the term that stands for it: synonyms and numbers."""
    return {_stem(word): _stem(base) for word, base in (SYNONYMS | NUMBER_WORDS).items()}


def _word_term(word: str) -> str:
    """The term of one plain word."""
    if ordinal := _ORDINAL.fullmatch(word):
        return ordinal[1]
    stem = _stem(word)
    return _canonical().get(stem, stem)


def _unclitic(token: str) -> str:
    """Strip possessives and contractions: `team's` is `team`, `didn't` is `did`."""
    if "'" not in token:
        return token
    return CLITICS.get(token) or _CLITIC.sub("", token)


def _split(token: str) -> tuple[list[str], str | None]:
    """Split a token into plain words and, if it is more than one of them, the whole."""
    token = _unclitic(token)
    if token.isalpha():
        return [token], None
    words: list[str] = []
    for part in _PARTS.findall(token):
        unit = None if _ORDINAL.fullmatch(part) else _NUMBER_UNIT.fullmatch(part)
        words += unit.groups() if unit else (part,)
    whole = token.strip("_").replace("'", "")
    return words, None if words == [whole] else _canonical().get(whole, whole)


def _analyse(token: str) -> tuple[str, ...]:
    words, whole = _split(token)
    found = tuple(map(_word_term, words))
    return (*found, whole) if whole else found


_cached = lru_cache(maxsize=1 << 16)(_analyse)


def _ngrams(run: str) -> Iterator[str]:
    """Single characters and pairs of a run, interleaved: 图书馆 → 图 图书 书 书馆 馆."""
    for first, second in pairwise(run):
        yield first
        yield first + second
    yield run[-1]


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, with repeats: what is stored of it."""
    found: list[str] = []
    for token, unspaced in _tokens(fold(text)):
        if unspaced:
            found.extend(_ngrams(token))
        else:
            found.extend(_cached(token) if len(token) <= _LONG else _analyse(token))
    return found


@lru_cache(maxsize=1 << 16)
def term_hash(term: str) -> int:
    """Return the unsigned 64-bit hash that stands for a term (BLAKE2b of its UTF-8)."""
    # surrogatepass: a broken query is harmless, it just matches nothing.
    return int.from_bytes(
        blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def pack_terms(text: str) -> bytes:
    """Return the terms of `text` as little-endian (u8 hash, u2 frequency) pairs by hash."""
    counts = Counter(map(term_hash, terms(text)))
    if max(counts.values(), default=0) > _MAX_TF:
        counts = Counter({key: min(tf, _MAX_TF) for key, tf in counts.items()})
    return struct.pack("<" + "QH" * len(counts), *chain.from_iterable(sorted(counts.items())))


# ── questions ────────────────────────────────────────────────────────────────────────────────

_ASKING = 0.5
"""Weight of words of asking. Dropping them costs half a point of R@10 and one of R@1, full weight
one of R@10 where there are no vectors."""
_CHARACTER = 0.2
"""Weight of a Chinese character of a longer word, for words that were split or shortened
differently (on Chinese memories +6 points of R@10 without vectors; at 1 it loses 1 again)."""
_PARTICLE = 0.3
"""Weight of a pair of hiragana, which is mostly grammar."""

_HAN_RUN = re.compile(f"[{_HAN}]+")
_HIRAGANA = re.compile("[\u3041-\u309f]+")


def _run_query(run: str) -> Iterator[QueryTerm]:
    """The terms of a question's unspaced run: pairs of characters, in Chinese those of words."""
    if len(run) == 1:
        if run not in HAN_STOP_WORDS:
            yield QueryTerm(run)
    elif _HAN_RUN.fullmatch(run):
        for word in cut(run):
            if word not in HAN_STOP_WORDS:
                yield from _word_query(word)
    else:
        for pair in _pairs(run):
            yield QueryTerm(pair, _PARTICLE if _HIRAGANA.fullmatch(pair) else 1.0)


def _word_query(word: str) -> Iterator[QueryTerm]:
    """The terms of a Chinese word: its pairs in full, its characters in part."""
    if len(word) == 1:
        yield QueryTerm(word)
        return
    for pair in _pairs(word):
        yield QueryTerm(pair)
    for char in word:
        yield QueryTerm(char, _CHARACTER)


def _pairs(run: str) -> Iterator[str]:
    return map("".join, pairwise(run))


def _token_query(token: str) -> Iterator[QueryTerm]:
    """The terms of a question's spaced token, without words it can spare."""
    words, whole = _split(token)
    if whole and (whole[0] == "." or whole[-1] in "+#"):
        yield QueryTerm(whole)  # C++ is not C
        return
    for word in words:
        if word not in STOP_WORDS:
            yield QueryTerm(_word_term(word), _ASKING if word in ASKING_WORDS else 1.0)
    if whole:
        yield QueryTerm(whole, _WHOLE)


@lru_cache(maxsize=1)
def _instances() -> dict[str, tuple[str, ...]]:
    """By the term of a kind, the terms of what is of it."""
    found: dict[str, dict[str, None]] = {}
    for kind, words in TYPE_WORDS.items():
        if kind.isascii():
            of_kind, key = [_word_term(word) for word in words], _word_term(kind)
        else:
            # A pair of characters is a term; a longer word is too seldom written as one.
            of_kind, key = [word for word in words if len(word) <= 2], kind
        found.setdefault(key, {}).update(dict.fromkeys(of_kind))
    return {key: tuple(word for word in words if word != key) for key, words in found.items()}


def instances(term: str) -> tuple[str, ...]:
    """Return the terms of what is of the kind that `term` is a word for, none for most."""
    return _instances().get(term, ())


def query_terms(text: str) -> list[QueryTerm]:
    """Return the distinct terms a question searches for, in order, without what it can spare.

    Falls back to all terms of `text` with weight 1 if it can spare everything; empty only if
    `text` has no terms at all (blank, or punctuation alone).
    """
    found: dict[str, float] = {}
    for token, unspaced in _tokens(fold(text)):
        for term, weight in (_run_query if unspaced else _token_query)(token):
            found[term] = max(weight, found.get(term, 0.0))
    if not found:
        found = dict.fromkeys(terms(text), 1.0)
    return [QueryTerm(term, weight) for term, weight in found.items()]
