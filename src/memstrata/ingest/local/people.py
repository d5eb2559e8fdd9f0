"""Who is spoken of: the speaker, the speaker's people, names, and what pronouns stand for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from memstrata.ingest.local.clauses import Sentence
from memstrata.ingest.local.findings import Finding
from memstrata.ingest.local.verbs_english import FORMS
from memstrata.text.kin_words import HAN_KIN, KIN_WORDS, Kin
from memstrata.text.name_words import CALENDAR, KIN, STARTERS
from memstrata.text.names import names

__all__ = [
    "HAN_KIN",
    "KIN_WORDS",
    "Kin",
    "Person",
    "Subject",
    "Talk",
    "is_name",
    "is_person",
    "opening",
    "relations",
    "subject",
]


@dataclass(slots=True)
class Person:
    """Somebody who was spoken of."""

    label: str
    gender: str = ""


@dataclass(slots=True)
class Talk:
    """Who has been spoken of so far, and who is speaking."""

    speaker: str = "user"
    participants: frozenset[str] = frozenset()
    """The first names of those who talk, folded; pronouns never mean them."""
    known: Collection[str] = ()
    lines: list[list[Person]] = field(default_factory=list[list[Person]])
    """The persons of each sentence, oldest first."""
    kin: dict[str, str] = field(default_factory=dict[str, str])
    """The names of people known by what they are to somebody: `Ana's sister`."""

    def mention(self, label: str, gender: str = "") -> None:
        """Note that a sentence speaks of somebody."""
        if label.split()[0].casefold() in self.participants:
            return
        line = self.lines[-1] if self.lines else []
        for person in line:
            if person.label == label:
                person.gender = person.gender or gender
                return
        earlier = next((p for old in reversed(self.lines) for p in old if p.label == label), None)
        line.append(Person(label, gender or (earlier.gender if earlier else "")))
        if not self.lines:
            self.lines.append(line)

    def who(self, gender: str) -> str | None:
        """The one person last spoken of whom `he` (m), `she` (f) or `they` may mean."""
        for line in reversed(self.lines[-6:]):
            fitting = [p for p in line if not p.gender or not gender or p.gender == gender]
            if len(fitting) == 1:
                fitting[0].gender = fitting[0].gender or gender
                return fitting[0].label
            if fitting:
                return None
        return None


class Subject(NamedTuple):
    """Who a clause is about, and where the subject ends."""

    label: str
    end: int
    first: bool = False
    aspect: str = ""
    """What of them: `name`, `birthday`, `favorite dish`."""


_OPENERS = re.compile(
    r"(?:(?:well|yeah|yep|yes|yup|no|nope|nah|oh|ah|ok|okay|hey|"
    r"hi|hello|wow|haha|lol|thanks|thank you|sure|right|actually"
    r"|honestly|seriously|luckily|unfortunately|fortunately|anyway|anyways|btw|by the way|also|and"
    r"|but|so|because|since|although|though|plus|fyi|recently|lately|nowadays|these days|currently"
    r"|now|today|personally|basically|finally|besides|like|i "
    r"mean|you know|as you know|to be honest|tbh"
    r"|in fact|of course|as for me|for me|for what it's worth|just so you know|guess what|sorry"
    r"|as a side note|on another note|speaking of which|at the "
    r"moment|right now|this year|even though|then"
    r"|i think|i guess|i believe|sadly|meanwhile|first of all|"
    r"one thing about me|quick update|update|good news|anymore)\b[\s,:.!-]*)+",
    re.IGNORECASE,
)
_ADJECTIVES = (
    r"(?:(?P<adj>older|younger|big|little|elder|eldest|oldest|youngest|twin|best|other|late)\s+"
    r"|(?:dear|new|old|good|close|longtime|childhood|college|"
    r"uni|school|work|current|amazing|lovely|beloved|sweet|wonderful|"
    r"first|former|next-door|upstairs|baby|half|\d+-year-old)\s+)*"
)
_KIN_PATTERN = "|".join(sorted(map(re.escape, KIN_WORDS), key=len, reverse=True))
_NAME_WORD = r"[A-Z](?:[a-zÀ-ÿ]|['-][A-Z])*[a-zÀ-ÿ]"
_NAME = rf"{_NAME_WORD}(?:\s{_NAME_WORD})?"
_POSSESSED = re.compile(
    rf"(?P<owner>my|our|his|her|their|i:)\s+{_ADJECTIVES}(?P<kin>{_KIN_PATTERN})\b(?!')(?:,?\s+(?:named\s+|"
    rf"called\s+)?(?P<name>(?-i:{_NAME})))?,?(?P<s>'s\s+(?=(?:name|"
    rf"birthday|favou?rite|job|age)\b))?",
    re.IGNORECASE,
)
_FIRST = re.compile(r"(?:I|i|we|We)(?=[\s',]|\Z)")
_THIRD = re.compile(r"(he|she|they)(?=[\s',]|\Z)", re.IGNORECASE)
_ASPECT = re.compile(
    r"(?P<owner>my|his|her|our|their)?\s*(?P<aspect>(?:full |"
    r"real |first |last |nick)?name|birthday|bday|date of birth|"
    r"job|dream job|age|hometown|nationality"
    r"|(?:all-time |absolute )?favou?rite(?:\s[a-z]+){1,3}?|dream|"
    r"native language|mother tongue|wife's name)\s*(?=is\b|was\b|"
    r"'s\b|are\b|has)",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"({_NAME})(?=\s|'s\b|,)")


def kin_label(owner: str, kin: str, adjective: str | None, name: str | None, talk: Talk) -> str:
    """What to call somebody's relation: by name if it is known."""
    label = f"{owner}'s {adjective.lower() + ' ' if adjective else ''}{kin.lower()}"
    if name:
        talk.kin[label] = name
    return talk.kin.get(label, label)


def opening(text: str, at: int = 0) -> int:
    """Where the clause begins, past interjections and linking words."""
    match = _OPENERS.match(text, at)
    return match.end() if match else at


def subject(text: str, at: int, talk: Talk) -> Subject | None:
    """The subject that stands at `at`, if it is somebody who can be named."""
    if match := _FIRST.match(text, at):
        return Subject(talk.speaker, match.end(), first=True)
    if match := _THIRD.match(text, at):
        gender = {"he": "m", "she": "f"}.get(match[1].lower(), "")
        label = talk.who(gender) if gender else None
        return Subject(label, match.end()) if label else None
    if match := _POSSESSED.match(text, at):
        return _possessed(text, match, talk)
    if match := _ASPECT.match(text, at):
        owner = owner_of(match["owner"], talk) if match["owner"] else None
        return (
            Subject(owner, match.end(), owner == talk.speaker, match["aspect"].lower())
            if owner
            else None
        )
    if match := _NAMED.match(text, at):
        name = match[1]
        if not is_person(name, text, talk.known):
            return None
        talk.mention(name)
        aspect = (
            _ASPECT.match(text, match.end() + 2) if text.startswith("'s ", match.end()) else None
        )
        if aspect and not aspect["owner"]:
            return Subject(name, aspect.end(), aspect=aspect["aspect"].lower())
        return Subject(name, match.end())
    return None


def owner_of(word: str, talk: Talk) -> str | None:
    """Whose: my and our the speaker's, his and her the person's last spoken of."""
    word = word.lower()
    if word in ("my", "our"):
        return talk.speaker
    gender = {"his": "m", "her": "f"}.get(word)
    return talk.who(gender) if gender else None


def _possessed(text: str, match: re.Match[str], talk: Talk) -> Subject | None:
    owner = owner_of(match["owner"], talk)
    if owner is None:
        return None
    name = match["name"]
    if name and not is_name(name):
        return None
    label = kin_label(owner, match["kin"], match["adj"], name, talk)
    talk.mention(label, KIN_WORDS[match["kin"].lower()].gender)
    if match["s"]:
        aspect = _ASPECT.match(text, match.end())
        return Subject(label, aspect.end(), aspect=aspect["aspect"].lower()) if aspect else None
    return Subject(label, match.end())


_NO_NAMES = STARTERS | CALENDAR | KIN | {"mr", "mrs", "ms", "dr", "prof", "figure"}


def is_name(words: str) -> bool:
    """Whether capitalised words may be somebody's name."""
    return all(
        word[:1].isupper() and word.lower() not in _NO_NAMES and not _is_deed(word.lower())
        for word in words.split()
    )


def _is_deed(word: str) -> bool:
    """Whether a word is a verb in -ing, as at the beginning of a sentence."""
    return word.endswith("ing") and (word in FORMS or len(word) > 8)


@lru_cache(maxsize=4096)
def _ordinary(word: str) -> bool:
    return not names(f"with {word}")


def is_person(name: str, text: str, known: Collection[str] = ()) -> bool:
    """Whether words at the beginning of a clause name somebody, and are not ordinary words."""
    if name.casefold() in known or name in known:
        return True
    if not is_name(name):
        return False
    found = names(text)
    first = next((one for one in found if one.text.startswith(name)), None)
    return first is not None and first.type in ("person", "thing") and not _ordinary(name)


_RELATED = re.compile(
    rf"\b(?P<owner>my|our|his|her)\s+{_ADJECTIVES}(?P<kin>{_KIN_PATTERN})(?:,?\s+(?:named\s+|"
    rf"called\s+|is called\s+|is named\s+)?|'s name is\s+)(?P<name>(?-i:{_NAME}))(?P<after>'s\b|"
    rf"\s|[,.!?;:)]|\Z)",
    re.IGNORECASE,
)
_APPOSED = re.compile(
    rf"(?P<name>{_NAME})(?:,|\sis)\s(?P<owner>my|our)\s{_ADJECTIVES}(?P<kin>{_KIN_PATTERN})\b(?!')"
)


def relations(sentence: Sentence, talk: Talk) -> Iterator[Finding]:
    """The relations a sentence names: `my sister Mia`; it takes note of who is spoken of."""
    text = sentence.text
    small = text.lower()
    if "my " not in small and "our " not in small and "his " not in small and "her " not in small:
        return
    for pattern in (_RELATED, _APPOSED):
        for match in pattern.finditer(text):
            if pattern is _APPOSED and not is_person(match["name"], text, talk.known):
                continue
            found = _relation(match, sentence, talk)
            if found:
                yield found


def _relation(match: re.Match[str], sentence: Sentence, talk: Talk) -> Finding | None:
    owner, name = owner_of(match["owner"], talk), match["name"]
    if owner is None or not is_name(name) or name.casefold() == owner.casefold():
        return None
    kin = KIN_WORDS[match["kin"].lower()]
    first = name.split()[0].casefold()
    if first in talk.participants and kin.attribute not in ("friend",):
        # Spoken to, not of: `Thanks to my friend, Mel.`
        return None
    if first in talk.participants or name == talk.speaker:
        return None
    kin_label(owner, match["kin"], match["adj"], name, talk)
    talk.mention(name, kin.gender)
    start = sentence.start
    return Finding(
        owner, kin.attribute, name, start + match.start(), start + match.end("name"), confidence=0.9
    )
