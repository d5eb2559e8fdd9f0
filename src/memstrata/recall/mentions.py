"""Whom and what a turn speaks of, and what kind of thing each is: persons, places, others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from memstrata.text.analyse import fold
from memstrata.text.chinese import tagged
from memstrata.text.given_names import gender_of, is_given_name
from memstrata.text.kin_words import HAN_KIN, KIN_WORDS
from memstrata.text.lexicon import ASKING_WORDS, HAN_STOP_WORDS, STOP_WORDS
from memstrata.text.name_words import STARTERS
from memstrata.text.names import Name, names, normal_form

__all__ = ["HAN", "Mention", "Word", "content_words", "mentions"]

Kind = Literal["person", "place", "thing"]


class Mention(NamedTuple):
    """Somebody or something a text speaks of, and where."""

    start: int
    end: int
    text: str
    normal: str
    kind: Kind
    gender: str = ""
    sure: bool = False
    """Whether it certainly is of that kind, and not just a word with a capital."""


class Word(NamedTuple):
    """A word that says what a text is about."""

    text: str
    key: str
    """By which its spellings are one."""
    noun: bool = True


HAN = re.compile(r"[\u3400-\u9fff]+")
_ADJECTIVES = (
    r"(?:(?:older|younger|big|little|elder|eldest|oldest|youngest|twin|best|other|late|new|old"
    r"|close|former|next-door|first|baby|half) ){0,2}"
)
_KIN = re.compile(
    r"\b(?:my|our|your|his|her|their|[A-Z][\w-]{1,30}['’]s) "
    rf"{_ADJECTIVES}(?P<kin>{'|'.join(sorted(KIN_WORDS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?P<kin>mom|mum|mommy|mummy|mama|dad|daddy|papa|grandma|grandpa|granny)\b", re.IGNORECASE
)
_HAN_KIN = re.compile(
    rf"(?:(?:我们|[我咱他她你您])的?)?(?P<kin>{'|'.join(sorted(HAN_KIN, key=len, reverse=True))})"
)
_HAN_AFTER = "去来在说是有和会要想住做买吃给跟对把被也都又就还不没爱叫到养学喜今明昨上下"
"""What the tagger takes for the end of a name, and is the verb or time after it."""
_HAN_BEFORE = ("那么", "还有", "那", "跟", "和", "给", "对", "问")


def mentions(text: str, known: Collection[str] = ()) -> list[Mention]:
    """What a text speaks of, in order, none overlapping another."""
    found = [*_kin(text), *(one for name in _located(text, known) if (one := _named(*name)))]
    if text.islower():
        found += _small(text)
    kept: list[Mention] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _kin(text: str) -> Iterator[Mention]:
    for match in chain(_KIN.finditer(text), _CALLED.finditer(text)):
        gender = KIN_WORDS[match["kin"].lower()].gender
        yield _mention(*match.span(), match[0], "person", gender, sure=True)
    if HAN.search(text):
        for match in _HAN_KIN.finditer(text):
            gender = HAN_KIN[match["kin"]].gender
            yield _mention(*match.span(), match[0], "person", gender, sure=True)


def _mention(
    start: int, end: int, text: str, kind: Kind, gender: str = "", *, sure: bool = False
) -> Mention:
    return Mention(start, end, text, normal_form(text), kind, gender, sure)


def _located(text: str, known: Collection[str]) -> Iterator[tuple[Name, int]]:
    """The names with every place each stands at."""
    for name in names(text, known):
        at = text.find(name.text)
        while at >= 0:
            yield name, at
            at = text.find(name.text, at + len(name.text))


def _named(name: Name, at: int) -> Mention | None:
    written = name.text
    if HAN.fullmatch(written) and name.type == "person":
        for before in _HAN_BEFORE:
            if written.startswith(before) and len(written) - len(before) >= 2:
                written, at = written[len(before) :], at + len(before)
                break
        if len(written) >= 3:
            written = written.rstrip(_HAN_AFTER) if written[-1] in _HAN_AFTER else written
        if len(written) < 2:
            return None
        return _mention(at, at + len(written), written, "person", gender_of(written), sure=True)
    end = at + len(written)
    gender = gender_of(written)
    if gender and (name.type not in ("place", "organisation") or is_given_name(written)):
        return _mention(at, end, written, "person", gender, sure=True)
    if name.type in ("place", "organisation"):
        return _mention(at, end, written, "place", sure=True)
    if fold(written) in STARTERS:
        return None
    if name.type == "person":
        return _mention(at, end, written, "person", gender)
    return _mention(at, end, written, "thing")


def _small(text: str) -> Iterator[Mention]:
    """Given names in a text without any capital."""
    for match in re.finditer(r"[^\W\d_]{3,20}", text):
        if is_given_name(match[0]):
            yield _mention(*match.span(), match[0], "person", gender_of(match[0]), sure=True)


# ── words ────────────────────────────────────────────────────────────────────────────────────


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DULL = STOP_WORDS.union(
    ASKING_WORDS,
    _set("""
    hi hey hello thanks thank yes yeah yep ok okay wow oh ah hmm well please sure sorry right let
    exactly else instead since until whose too though maybe anyway like want really great
    good nice wonderful awesome
    amazing cool today tomorrow yesterday tonight again ago don didn doesn isn wasn ve ll re
    """),
)
_HAN_DULL = HAN_STOP_WORDS.union(
    _set("""
    那 呢 谢谢 一起 已经 起来 出来 上 下 里 后 前 中 次 人 用 做 过 真的 特别 感觉 好的 哈哈 还有
    其他 别的 就是 不是 当然 有点 一定 每次 为啥 啥 咋 几点 哪天 那次 这次 后来 结果 那儿 这儿
    去 来 多 想
    """),
)
_DAYS = _set(
    """生日 纪念日 春节 中秋 中秋节 圣诞 圣诞节 端午 端午节 元旦 国庆 国庆节
    情人节 母亲节 父亲节 除夕"""
)
"""What the tagger takes for times, and one speaks of."""
_TOKEN = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+(?:['’-][^\W_\u3400-\u9fff]+)*")
_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m|t)?$")


def content_words(text: str, found: Sequence[Mention] = ()) -> list[Word]:
    """The words that carry content, in order, each once; Chinese ones as segmented.

    What is `found` in the text stands whole. Words of time are left out.
    """
    listed: dict[str, Word] = {}
    at = 0
    for one in found:
        for word in _words(text[at : one.start]):
            listed.setdefault(word.key, word)
        listed.setdefault(one.normal, Word(one.text, one.normal))
        at = one.end
    for word in _words(text[at:]):
        listed.setdefault(word.key, word)
    return list(listed.values())


def _words(text: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(text):
        if HAN.match(match[0]):
            for word, tag in tagged(match[0]):
                if word not in _HAN_DULL and (tag[:1] not in "rpuxcyemdtqf" or word in _DAYS):
                    yield Word(word, word, tag[:1] == "n" or tag in ("vn", "s", "j", "l"))
        else:
            written = _CLITIC.sub("", match[0])
            key = fold(written)
            if key not in _DULL and len(key) > 1 and fold(match[0]) not in _DULL:
                yield Word(written, key, not key.endswith(("ed", "ly")))
