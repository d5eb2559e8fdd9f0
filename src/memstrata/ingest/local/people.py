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


class Kin(NamedTuple):
    """A word for somebody's relation to somebody."""

    attribute: str
    gender: str
    """`f`, `m` or empty."""


def _kin(rows: str) -> dict[str, Kin]:
    table: dict[str, Kin] = {}
    for line in rows.strip().splitlines():
        attribute, gender, *words = line.split()
        for word in words:
            table[word.replace("_", " ")] = Kin(attribute, gender.strip("-"))
    return table


KIN_WORDS = _kin(
    """
    mother f mother mom mum mommy mummy mama
    father m father dad daddy papa
    sister f sister sis
    brother m brother bro
    sibling - sibling twin
    wife f wife
    husband m husband hubby
    partner - partner spouse
    fiance f fiancée
    fiance - fiance fiancé fiancee
    girlfriend f girlfriend
    boyfriend m boyfriend
    ex - ex ex-wife ex-husband ex-boyfriend ex-girlfriend
    son m son
    daughter f daughter
    child - child kid baby toddler
    cousin - cousin
    aunt f aunt auntie
    uncle m uncle
    niece f niece
    nephew m nephew
    grandmother f grandmother grandma granny nana
    grandfather m grandfather grandpa granddad
    grandchild f granddaughter
    grandchild m grandson
    parent_in_law f mother-in-law
    parent_in_law m father-in-law
    sibling_in_law f sister-in-law
    sibling_in_law m brother-in-law
    stepparent f stepmother stepmom
    stepparent m stepfather stepdad
    friend - friend bestie buddy pal bff
    roommate - roommate flatmate housemate
    boss - boss manager supervisor
    colleague - colleague coworker co-worker workmate teammate
    neighbour - neighbor neighbour
    teacher - teacher professor tutor instructor
    student - student
    classmate - classmate
    coach - coach trainer
    mentor - mentor
    doctor - doctor gp dentist
    therapist - therapist counselor counsellor
    pet - dog cat puppy kitten pup parrot hamster rabbit horse tortoise turtle bunny pet
    """
)
HAN_KIN = _kin(
    """
    mother f 妈妈 母亲 老妈 我妈
    father m 爸爸 父亲 老爸
    sister f 姐姐 妹妹 大姐 二姐 小妹 姐 妹
    brother m 哥哥 弟弟 大哥 二哥 小弟 哥 弟
    wife f 妻子 老婆 太太 爱人 媳妇
    husband m 丈夫 老公 先生
    fiance f 未婚妻
    fiance m 未婚夫
    girlfriend f 女朋友 女友
    boyfriend m 男朋友 男友
    son m 儿子 大儿子 小儿子
    daughter f 女儿 闺女 大女儿 小女儿
    child - 孩子 小孩 宝宝
    cousin f 表姐 表妹 堂姐 堂妹
    cousin m 表哥 表弟 堂哥 堂弟
    aunt f 姑姑 姨妈 阿姨 舅妈 婶婶 小姨 姑妈 大姨
    uncle m 叔叔 舅舅 伯伯 姑父 姨父
    niece f 侄女 外甥女
    nephew m 侄子 外甥
    grandmother f 奶奶 外婆 姥姥 祖母
    grandfather m 爷爷 外公 姥爷 祖父
    grandchild f 孙女 外孙女
    grandchild m 孙子 外孙
    parent_in_law f 婆婆 岳母 丈母娘
    parent_in_law m 公公 岳父
    sibling_in_law f 嫂子 弟妹
    sibling_in_law m 姐夫 妹夫
    partner - 对象 伴侣 另一半
    friend - 朋友 好朋友 好友 闺蜜 哥们 死党 最好的朋友
    roommate - 室友 舍友
    boss - 老板 上司 领导 经理 主管
    colleague - 同事
    neighbour - 邻居
    teacher - 老师 班主任
    student - 学生
    classmate - 同学 同桌
    coach - 教练
    mentor - 导师
    doctor - 医生 主治医生 牙医
    therapist - 心理医生 心理咨询师
    pet - 狗 猫 小狗 小猫 猫咪 狗狗
    """
)


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
_MINE = re.compile(rf"\b(?:my|our|his|her)\s+{_ADJECTIVES}(?P<kin>{_KIN_PATTERN})\b", re.IGNORECASE)


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
