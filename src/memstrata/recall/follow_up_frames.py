"""Questions as frames: what a short turn names put in the place of what an earlier one asked of."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, tzinfo

from memstrata.recall.mentions import HAN, Mention, content_words, mentions
from memstrata.text.chinese import tagged
from memstrata.text.given_names import gender_of
from memstrata.text.kin_words import HAN_KIN
from memstrata.text.time import resolve

__all__ = ["Focus", "put", "read_focus", "with_question_word"]


@dataclass(frozen=True, slots=True)
class Focus:
    """What a turn like `and Bob?` names."""

    text: str
    gender: str = ""
    """`f` or `m` where it is a pronoun."""
    rest: str = ""
    """What of theirs: `brother` in `and her brother?`."""


@dataclass(frozen=True, slots=True)
class _Setting:
    frame: str
    found: list[Mention]
    known: Collection[str]
    now: datetime
    zone: tzinfo


# ── what a turn names ────────────────────────────────────────────────────────────────────────

_OPENING = r"(?:(?:ok|okay|and|but|or|so|also|well|then|hm+|oh|ah|um|uh)\b[\s,]*)"
_FOCUS = re.compile(
    rf"\W*(?P<lead>{_OPENING}{{0,4}}"
    r"(?:(?:(?:what|how) about|what of|how bout|same (?:question )?(?:for|with))\s+)?)"
    r"(?P<focus>[^?!.\n]{1,80}?)"
    r"(?:[\s,]+(?:too|also|then|instead|though|as well))?(?P<end>\s*[?!.…]*\s*)",
    re.IGNORECASE,
)
_NO_FOCUS = re.compile(
    r"(?:who|whom|whose|what|what's|when|where|why|how|which|is|are|was|were|am|do|does|did|has|have|had"
    r"|can|could|will|would|should|shall|may|might|if|because|please|tell|remind|show|list|not|no|yes"
    r"|i'm|i've|it's|that's|there|then|next|anything|something|nothing|everything|else|more|really)\b"
    r"|(?:i|we|you|he|she|they|it|that|this)\s+\w|(?:i|my \w+)\s+(?:am|was|have|had|think)\b",
    re.IGNORECASE,
)
_PERSONAL = {"him": "m", "he": "m", "his": "m", "her": "f", "she": "f", "hers": "f"}
_OF_PERSON = re.compile(r"(?P<whose>his|her)\s+(?P<rest>\S.*)", re.IGNORECASE)
_HAN_FOCUS = re.compile(
    r"\W*(?P<lead>那么?|还有|而|哦|嗯|对了)?[,，\s]*(?P<focus>[^?？。!！,，\n]{1,12}?)"
    r"(?P<end>呢|怎么样|咋样)?[?？。!！\s]*"
)
_NO_HAN_FOCUS = re.compile(
    r"什么|怎么|哪|谁|吗|为啥|几|多少|然后|后来|之后|以后|结果|^[你您它]|^[那这]|不|没|如果|要是|但|可是|因为"
)


def read_focus(text: str) -> Focus | None:
    """What a turn names instead of what was asked of before; None where it says more, or less."""
    if HAN.search(text):
        return _han_focus(text)
    match = _FOCUS.fullmatch(text)
    if match is None:
        return None
    focus, lead = match["focus"].strip(), match["lead"].strip()
    words = focus.split()
    if not words or len(words) > 6 or _NO_FOCUS.match(focus):
        return None
    if not lead and ("?" not in match["end"] or len(words) > 3 or not _nameable(focus)):
        return None
    if lead and "about" not in lead and "?" not in match["end"] and len(words) > 3:
        return None
    small = focus.lower()
    if small in _PERSONAL:
        return Focus(focus, _PERSONAL[small])
    if owned := _OF_PERSON.fullmatch(focus):
        return Focus(focus, _PERSONAL[owned["whose"].lower()], owned["rest"])
    return Focus(focus)


def _nameable(focus: str) -> bool:
    """Whether words alone, without `and`, are somebody, somewhere or somewhen."""
    found = mentions(focus)
    named = bool(found) and sum(one.end - one.start for one in found) >= len(focus) - 4
    return named or bool(_TIME_ONLY.fullmatch(focus)) or focus.lower() in _PERSONAL


_TIME_ONLY = re.compile(
    r"(?:(?:in|on|last|next|this) )?(?:yesterday|today|tomorrow|week|month|year|weekend|summer"
    r"|winter|spring|autumn|january|february|march|april|may|june|july|august|september|october|november"
    r"|december|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:19|20)\d\d)",
    re.IGNORECASE,
)


def _han_focus(text: str) -> Focus | None:
    match = _HAN_FOCUS.fullmatch(text)
    if match is None:
        return None
    focus, lead, end = match["focus"].strip(), match["lead"], match["end"]
    if not (
        end == "呢" or (lead in ("那", "那么", "还有") and (end or "?" in text or "？" in text))
    ):
        return None
    if not focus or _NO_HAN_FOCUS.search(focus):
        return None
    if focus in ("他", "她"):
        return Focus(focus, "m" if focus == "他" else "f")
    if len(focus) > 1 and focus[0] in "他她" and focus[1] != "们":
        return Focus(focus, "m" if focus[0] == "他" else "f", focus[1:].removeprefix("的"))
    if not mentions(focus) and any(tag == "v" for _, tag in tagged(focus)):
        return None
    return Focus(focus)


# ── putting it in ────────────────────────────────────────────────────────────────────────────


def put(
    frame: str,
    focus: Focus,
    text: str,
    *,
    known: Collection[str] = (),
    now: datetime,
    zone: tzinfo,
) -> str | None:
    """The frame with `text` (what the focus stands for) in its place; None where it has none."""
    setting = _Setting(frame, mentions(frame, known), known, now, zone)
    own = mentions(text, known)
    if not own and text.islower() and " " not in text and gender_of(text):
        own = [Mention(0, len(text), text, text, "person", gender_of(text), sure=True)]
    if text.lower() in ("me", "i", "mine", "myself") or text in ("我", "我自己"):
        return _of_asker(setting)
    if focus.gender or (own and own[0].kind == "person" and own[0].sure):
        return _person(setting, text)
    if _TIME_ONLY.fullmatch(text) or resolve(text, said_at=now, zone=zone):
        return _time(setting, text)
    if own and _covers(own[0], text):
        return _named(setting, own[0], text)
    return _noun(setting, text)


def _covers(one: Mention, text: str) -> bool:
    return one.end - one.start >= len(_PREPOSITION.sub("", text)) - 1


def _swap(frame: str, start: int, end: int, text: str) -> str:
    return f"{frame[:start]}{text}{frame[end:]}"


_POSSESSIVE = re.compile(r"['’]s?\b")


def _replaced(setting: _Setting, old: Mention, text: str) -> str:
    """The frame with one name for another everywhere; what is possessed stays so."""
    text = _PREPOSITION.sub("", text) or text
    bare = _unowned(text)
    frame = setting.frame
    for one in reversed(setting.found):
        if one.normal == old.normal:
            frame = _swap(frame, *_owner(one, text), bare)
    return frame


def _unowned(text: str) -> str:
    return text.removesuffix("的") if HAN.search(text) else re.sub(r"['’]s?$", "", text)


_OWNED = re.compile(r"(?P<owner>[^'’]+?)(?=['’]s\s)|(?P<mine>my|your|our|his|her|their)(?=\s)")


def _owner(one: Mention, text: str) -> tuple[int, int]:
    """What of somebody's relation makes way: the owner, or all if the other is one like it."""
    owned = None if _KIN_LIKE.search(text) else _OWNED.match(one.text)
    if owned is None or not owned["owner"]:
        return one.start, one.end
    return one.start, one.start + owned.end()


_KIN_LIKE = re.compile(r"^(?:my|our|his|her|their)\s|['’]s\s", re.IGNORECASE)


_ASKER = re.compile(r"\b(?:(?P<i>i)|(?P<my>my)|(?P<me>me|myself)|(?P<mine>mine))\b", re.IGNORECASE)
_VERBS = {"do": "does", "am": "is", "have": "has", "were": "was", "don't": "doesn't"}
_HELPER = re.compile(r"\b(do|don't|am|have)(?P<gap>\s+)$", re.IGNORECASE)
_REQUEST = re.compile(
    r"\b(?:tell|remind|show|give|ask|let|help)\s+me\b|\bdo you (?:know|remember)\b", re.I
)


def _person(setting: _Setting, text: str) -> str | None:
    persons = [one for one in setting.found if one.kind == "person"]
    if persons:
        kin = [one for one in persons if one.text in HAN_KIN] if text in HAN_KIN else []
        return _replaced(setting, (kin or persons)[0], text)
    if HAN.search(setting.frame):
        return _han_person(setting.frame, text)
    names = [one for one in setting.found if one.kind == "thing"]
    if len(names) == 1 and not _ASKER.search(setting.frame):
        return _replaced(setting, names[0], text)
    asked_of = [
        match
        for match in _ASKER.finditer(setting.frame)
        if not _REQUEST.match(setting.frame, max(0, match.start() - 7))
        and not re.search(
            r"\b(?:tell|remind|show|give|help)\s+$", setting.frame[: match.start()], re.I
        )
    ]
    if not asked_of:
        return None
    frame = setting.frame
    for match in reversed(asked_of):
        owned = bool(match["my"] or match["mine"])
        frame = _swap(frame, *match.span(), f"{_unowned(text)}'s" if owned else _unowned(text))
        if match["i"] and (helper := _HELPER.search(frame, 0, match.start())):
            frame = _swap(frame, *helper.span(1), _VERBS[helper[1].lower()])
    return frame


def _han_person(frame: str, text: str) -> str | None:
    match = re.search(r"我们?(?:自己)?|咱们?|[他她](?!们)", frame)
    return _swap(frame, *match.span(), text) if match else None


def _of_asker(setting: _Setting) -> str | None:
    """The frame asked of the asker."""
    persons = [one for one in setting.found if one.kind == "person"]
    if not persons:
        return None
    one, frame = persons[0], setting.frame
    if HAN.search(frame):
        return _swap(frame, one.start, one.end, "我")
    if owned := _POSSESSIVE.match(frame, one.end):
        return _swap(frame, one.start, owned.end(), "my")
    helper = re.search(
        r"\b(does|is|has|did|was|will|can|should|could|would)(\s+)$", frame[: one.start], re.I
    )
    if not helper:
        return _swap(frame, one.start, one.end, "me" if one.start else "I")
    verbs = {"does": "do", "is": "am", "has": "have"}
    verb = verbs.get(helper[1].lower(), helper[1])
    return f"{frame[: helper.start(1)]}{verb}{helper[2]}I{frame[one.end :]}"


_PREPOSITION = re.compile(
    r"^(?P<prep>(?:in|on|at|for|to|from|with|of|by|near|during|about|before|after|since)\s+)",
    re.IGNORECASE,
)
_BEFORE_TIME = re.compile(
    r"\b(?:in|on|at|for|during|of|from|since|by|before|after)\s+$", re.IGNORECASE
)
_FINAL = re.compile(r"\s*[?？.。!！]*\s*\Z")


def _time(setting: _Setting, text: str) -> str:
    """The frame with another time, or with one where it had none."""
    frame = setting.frame
    times = [span.text for span in resolve(frame, said_at=setting.now, zone=setting.zone)]
    places = [(frame.find(time), len(time)) for time in times if time in frame]
    if places:
        start, size = places[0]
        own = _PREPOSITION.match(text)
        before = _BEFORE_TIME.search(frame, 0, start)
        if own and before:
            size += start - before.start()
            start = before.start()
        return _swap(frame, start, start + size, text)
    if HAN.search(frame):
        subject = re.match(r"\s*(?:我们?|[他她]们?)", frame)
        start = subject.end() if subject else 0
        start = setting.found[0].end if setting.found and not subject else start
        return _swap(frame, start, start, text)
    end = _FINAL.search(frame)
    at = end.start() if end else len(frame)
    return f"{frame[:at]} {text}{frame[at:]}"


def _named(setting: _Setting, own: Mention, text: str) -> str | None:
    """The frame with another place, or another name of who knows what.

    None where it may be somebody and the frame has both persons and other names.
    """
    persons = [one for one in setting.found if one.kind == "person"]
    others = [one for one in setting.found if one.kind != "person"]
    alike = [one for one in others if one.kind == own.kind] or others
    if own.sure and alike:
        return _replaced(setting, alike[-1], text)
    if persons and others:
        return None
    if persons or others:
        return _replaced(setting, (persons or others)[0 if persons else -1], text)
    return _noun(setting, text) or (None if own.sure else _person(setting, text))


_PHRASE = re.compile(
    r"\b(?P<det>the|my|our|your|his|her|their|a|an|this|that|[A-Z]\w+['’]s)\s+(?P<noun>(?:\w+\s+){0,2}?\w+)"
    r"(?=\s*(?:[?.!,;]|\Z|\b(?:in|on|at|for|to|from|with|of|by|is|are|was|were|last|this|i|we|he|she"
    r"|called|cost|named|start|end|happen|take|go|come|live|work|about|that|when|yesterday|today)\b))",
    re.IGNORECASE,
)
_DETERMINER = re.compile(r"^(?:the|my|our|your|his|her|their|a|an|this|that)\s+", re.IGNORECASE)
_AFTER = r"\s+(?:(?:the|my|our|a|an)\s+)?[\w-]+(?=\s*(?:[?.!,]|\Z|\b(?:in|on|at|with|last|this)\b))"


def _noun(setting: _Setting, text: str) -> str | None:
    """The frame with another thing in the place of the last one like it."""
    frame = setting.frame
    if HAN.search(frame):
        return _han_noun(frame, text)
    if preposition := _PREPOSITION.match(text):
        like = re.compile(rf"\b{preposition[0].strip()}{_AFTER}", re.IGNORECASE)
        found = list(like.finditer(frame))
        return _swap(frame, *found[-1].span(), text) if found else None
    phrases = list(_PHRASE.finditer(frame))
    if not phrases:
        return None
    last = phrases[-1]
    determiner = _DETERMINER.match(text)
    if determiner:
        return _swap(frame, *last.span(), text)
    return _swap(frame, *last.span("noun"), text)


def _han_noun(frame: str, text: str) -> str | None:
    """The frame with another noun, for the one that shares a character or is the only one."""
    at = 0
    nouns: list[tuple[int, str]] = []
    for word, tag in tagged(frame):
        if tag[:1] == "n" or tag in ("vn", "t"):
            nouns.append((at, word))
        at += len(word)
    like = [one for one in nouns if set(one[1]) & set(text)]
    chosen = like or (nouns if len(nouns) == 1 else [])
    if not chosen:
        return None
    start, word = chosen[-1]
    return _swap(frame, start, start + len(word), text)


# ── another question word ────────────────────────────────────────────────────────────────────

_WORD = (
    r"(?:since when|until when|when|where|why|how long|how often|what time|what day|with whom"
    r"|who with)"
)
_OTHER_WORD = re.compile(
    rf"\W*{_OPENING}{{0,3}}(?P<word>{_WORD})(?:\s+exactly)?"
    r"(?:\s+(?:is|was|were|are|did|does|do|has|had|would)\s+(?:that|it|this|they|he|she)"
    r"(?:\s+(?:happen|happened|be|been|do|done|go|it|that|so|exactly|again)){0,3})?\W*",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\W*(?:(?P<old>(?:who|whom|what|when|where|why|how|which|whose|since when)\b"
    r"(?:(?!\b(?:do|does|did|is"
    r"|are|was|were|has|have|had|can|could|will|would|should)\b)[^?.!\n])*))?"
    r"(?P<rest>\b(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should)\s+.*?)[?.!\s]*",
    re.IGNORECASE | re.DOTALL,
)
_SUBJECT_WORD = re.compile(r"(?:who|what|which \w+)\s*\Z", re.IGNORECASE)


def with_question_word(text: str, frame: str) -> str | None:
    """`When did Ana move?` of `when?` and `Where did Ana move?`; None where it is not so simple."""
    if HAN.search(text) or HAN.search(frame):
        return None
    word, asked = _OTHER_WORD.fullmatch(text), _ASKED.fullmatch(frame)
    if word is None or asked is None:
        return None
    old = asked["old"] or ""
    if _SUBJECT_WORD.match(old) and re.match(
        r"(?:is|are|was|were|has|have)\b", asked["rest"], re.I
    ):
        return None
    new = {"who with": "with whom"}.get(word["word"].lower(), word["word"].lower())
    rest = asked["rest"][:1].lower() + asked["rest"][1:]
    have = {one.key for one in content_words(rest)}
    lost = [one.text for one in content_words(old) if one.key not in have]
    return " ".join([new.capitalize(), rest, *lost]) + "?"
