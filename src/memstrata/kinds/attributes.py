"""The attributes of semantic facts: their names, which hold one value at a time, how they read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ATTRIBUTES",
    "ENDS",
    "FAVOURITE",
    "SUCCESSIVE",
    "Attribute",
    "Language",
    "canonical",
    "denies",
    "find",
    "statement",
]

Language = Literal["en", "zh"]

FAVOURITE = "favourite_"
"""What the attributes of favourites begin with: `favourite_colour`."""

_IS = re.compile(r"\b(is|has|was)\b")


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is said of a subject, and the words that say it.

    `{subject} {english} {value}` and `{subject}{chinese}{value}` are whole sentences.
    """

    name: str
    exclusive: bool
    """Whether a subject has one value at a time, so that a new one ends the old."""
    english: str
    """In the third person: `lives in`."""
    base: str
    """After `does not` and `used to`: `live in`; empty for forms of `is`."""
    chinese: str
    chinese_not: str = ""
    """Where 不 before it is not the negation."""

    def phrase(self, language: Language, *, polarity: bool, past: bool) -> str:
        """The words between subject and value."""
        if language == "zh":
            return self._in_chinese(polarity, past)
        if not self.base:
            return self._is(polarity, past)
        if past:
            return f"{'used' if polarity else 'did not use'} to {self.base}"
        return self.english if polarity else f"does not {self.base}"

    def _is(self, polarity: bool, past: bool) -> str:
        head, verb, rest = _IS.split(self.english, maxsplit=1)
        now = "was" if past and verb == "is" else verb
        return f"{head}{now}{'' if polarity else ' not'}{rest}"

    def _in_chinese(self, polarity: bool, past: bool) -> str:
        words = self.chinese if polarity else self.chinese_not or f"不{self.chinese}"
        return f"以前{words}" if past else words


def _verbs(exclusive: bool, *rows: tuple[str, ...]) -> list[Attribute]:
    return [Attribute(row[0], exclusive, *row[1:]) for row in rows]


def _relations(exclusive: bool, names: dict[str, str]) -> list[Attribute]:
    return [
        Attribute(
            name, exclusive, f"'s {name.replace('_', '-')} is", "", f"的{han}是", f"的{han}不是"
        )
        for name, han in names.items()
    ]


def _by_name(attributes: Iterable[Attribute]) -> dict[str, Attribute]:
    return {attribute.name: attribute for attribute in attributes}


ATTRIBUTES = _by_name(
    [
        *_verbs(
            True,
            ("name", "is called", "", "叫", "不叫"),
            ("lives_in", "lives in", "live in", "住在"),
            ("works_at", "works at", "work at", "的工作单位是", "的工作单位不是"),
            ("married_to", "is married to", "", "的配偶是", "的配偶不是"),
            ("marital_status", "is", "", "是"),
            ("partner", "'s partner is", "", "的伴侣是", "的伴侣不是"),
            ("birthday", "'s birthday is", "", "的生日是", "的生日不是"),
            ("age", "'s age is", "", "的年龄是", "的年龄不是"),
        ),
        *_verbs(
            False,
            ("alias", "is also called", "", "也叫", "不叫"),
            ("home", "has a home in", "have a home in", "住在"),
            ("lives_with", "lives with", "live with", "一起住的是", "不一起住的是"),
            ("from", "is from", "", "来自"),
            ("born_in", "was born in", "", "出生于"),
            ("grew_up_in", "grew up in", "grow up in", "成长于"),
            ("nationality", "is", "", "是"),
            ("works_as", "works as", "work as", "的职业是", "的职业不是"),
            ("works_in", "works in", "work in", "从事"),
            ("runs", "runs", "run", "经营"),
            ("teaches", "teaches", "teach", "教"),
            ("studies", "studies", "study", "学习"),
            ("studies_at", "studies at", "study at", "就读于"),
            ("graduated_from", "graduated from", "graduate from", "毕业于", "没有毕业于"),
            ("learning", "is learning", "", "在学", "没在学"),
            ("likes", "likes", "like", "喜欢"),
            ("fears", "is afraid of", "", "害怕"),
            ("eats", "eats", "eat", "吃"),
            ("drinks", "drinks", "drink", "喝"),
            ("smokes", "smokes", "smoke", "抽"),
            ("diet", "is", "", "是"),
            ("allergic_to", "is allergic to", "", "过敏："),
            ("has_condition", "has the condition", "have the condition", "有健康问题："),
            ("takes", "takes", "take", "服用"),
            ("has", "has", "have", "有", "没有"),
            ("has_pet", "has the pet", "have the pet", "养", "不养"),
            ("owns", "owns", "own", "拥有"),
            ("drives", "drives", "drive", "开"),
            ("uses", "uses", "use", "用"),
            ("wants", "wants", "want", "想"),
            ("plays", "plays", "play", "玩或演奏"),
            ("does", "does", "do", "做"),
            ("collects", "collects", "collect", "收集"),
            ("speaks", "speaks", "speak", "会说"),
            ("good_at", "is good at", "", "擅长"),
            ("habit", "has the habit:", "have the habit:", "的习惯：", "没有的习惯："),
            ("visited", "has been to", "", "去过", "没去过"),
            ("is", "is", "", "是"),
        ),
        *_relations(True, {"mother": "母亲", "father": "父亲"}),
        *_relations(
            False,
            {
                "sister": "姐妹",
                "brother": "兄弟",
                "sibling": "兄弟姐妹",
                "wife": "妻子",
                "husband": "丈夫",
                "fiance": "未婚伴侣",
                "girlfriend": "女朋友",
                "boyfriend": "男朋友",
                "ex": "前任",
                "son": "儿子",
                "daughter": "女儿",
                "child": "孩子",
                "cousin": "堂表亲",
                "aunt": "姑姨",
                "uncle": "叔舅",
                "niece": "侄女",
                "nephew": "侄子",
                "grandmother": "祖母",
                "grandfather": "祖父",
                "grandchild": "孙辈",
                "parent_in_law": "岳父母或公婆",
                "sibling_in_law": "姻亲",
                "stepparent": "继父母",
                "friend": "朋友",
                "roommate": "室友",
                "boss": "上司",
                "colleague": "同事",
                "neighbour": "邻居",
                "teacher": "老师",
                "student": "学生",
                "classmate": "同学",
                "coach": "教练",
                "mentor": "导师",
                "doctor": "医生",
                "therapist": "心理治疗师",
                "pet": "宠物",
            },
        ),
    ]
)
"""Every attribute by its name."""


SUCCESSIVE = frozenset({"diet", "drives", "studies_at", "works_as", "works_in"})
"""Attributes that may have several values, but where words of change (now, no longer) mean that the
new one took the old one's place."""

ENDS = {
    "marital_status": (
        "married_to",
        frozenset({"divorced", "separated", "widowed", "single", "unmarried"})
        | frozenset({"离婚", "离异", "单身", "未婚", "丧偶", "分居"}),
    )
}
"""Attributes that end another one, with the values that do."""


_OTHER_NAMES = {
    "lives_in": "residence location city home_city current_city lives living_in lives_at address "
    "current_location home_town_now resides_in moved_to",
    "works_at": "employer company workplace works_for employed_by employed_at job_at",
    "works_as": "job occupation profession job_title role position career",
    "works_in": "industry field",
    "married_to": "spouse",
    "birthday": "birth_date date_of_birth birthdate born_on",
    "born_in": "birthplace place_of_birth",
    "from": "origin hometown home_town comes_from",
    "likes": "enjoys loves hobby hobbies interest interests preference preferences prefers like "
    "fond_of interested_in passion taste",
    "eats": "food eating_habit",
    "allergic_to": "allergy allergies allergen",
    "has_pet": "pet_owned pets owns_pet",
    "diet": "dietary_preference dietary_restriction diet_type eating_style is_vegetarian",
    "speaks": "language languages speaks_language native_language",
    "studies": "major subject_of_study studying",
    "studies_at": "school university attends college",
    "graduated_from": "alma_mater",
    "owns": "possession possessions",
    "drives": "car vehicle",
    "wants": "goal goals wish desire plans_to intends_to",
    "good_at": "skill skills skilled_in",
    "habit": "habits routine",
    "has_condition": "condition illness disease medical_condition health_condition",
    "takes": "medication medicine medications",
    "name": "full_name first_name",
    "alias": "nickname",
    "marital_status": "relationship_status civil_status",
    "fears": "afraid_of fear phobia",
    "age": "years_old",
    "plays": "instrument sport",
    "child": "children kid",
    "sibling": "siblings",
}
_CANONICAL = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()} | {
    "favorite": "likes",
    "favourite": "likes",
}
_DENIED = frozenset(
    [
        "dislikes",
        "hates",
        "cannot_stand",
        "can_not_stand",
        "cant_stand",
        "dislike",
        "hate",
        "not_likes",
        "avoids_liking",
        "does_not_like",
        "doesnt_like",
    ]
)
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|nothing|nobody|cannot|lacks?|avoids?|refuses?|"
    r"dislikes?|hates?|detests?|loathes?|stopped|quit|against|unable|former(?:ly)?|no longer)\b"
    r"|n['’]t\b|不|没|无|未|非|讨厌|反感|戒",
    re.IGNORECASE,
)
_KEY = re.compile(r"[\s\-./]+")


def canonical(name: str) -> tuple[str, bool]:
    """An attribute as a model may call it, under its own name, and whether that affirms it.

    `Favorite Colour` is `favourite_colour`, `employer` is `works_at`; `dislikes` denies `likes`.
    A name that is not known stays, in lower case with underscores.
    """
    key = _KEY.sub("_", name.strip().strip("?!:").casefold()).strip("_").replace("'", "")
    if key in _DENIED:
        return "likes", False
    key = _CANONICAL.get(key, key)
    if key.startswith("favorite_"):
        key = FAVOURITE + key.removeprefix("favorite_")
    return key, True


def denies(sentence: str) -> bool:
    """Whether a sentence has a word by which it may say that something is not so."""
    return _DENIAL.search(sentence) is not None


def find(name: str) -> Attribute | None:
    """The attribute of that name; a favourite of any sort is one, and is exclusive."""
    known = ATTRIBUTES.get(name)
    if known is None and name.startswith(FAVOURITE):
        sort = name.removeprefix(FAVOURITE).replace("_", " ")
        han = f"最喜欢的{sort}是"
        return Attribute(name, True, f"'s favourite {sort} is", "", han, f"最喜欢的{sort}不是")
    return known


def statement(
    subject: str,
    attribute: str,
    value: str,
    polarity: bool | None,
    language: Language,
    *,
    past: bool = False,
) -> str:
    """One line that says the fact; an unknown attribute stands by its own name."""
    known = find(attribute)
    if language == "zh":
        who = "用户" if subject == "user" else subject.replace("user的", "用户的")
        words = known and known.phrase("zh", polarity=polarity is not False, past=past)
        return f"{who}{words}{value}" if words else f"{who}：{attribute} {value}"
    words = attribute.replace("_", " ")
    if known:
        words = known.phrase("en", polarity=polarity is not False, past=past)
    return f"{subject}{'' if words.startswith(chr(39)) else ' '}{words} {value}"
