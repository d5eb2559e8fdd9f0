"""When two statements are the same, and when they cannot both be true. Pure."""

from __future__ import annotations

import re

from memstrata.kinds import KindModel, Semantic
from memstrata.kinds.attributes import ENDS, FAVOURITE, SUCCESSIVE
from memstrata.kinds.attributes import find as find_attribute
from memstrata.text.analyse import fold, terms

__all__ = ["USER_NAMES", "ends", "is_same", "is_wish", "opposed", "same_subject", "same_value"]

_WISHES = frozenset(
    {"likes", "loves", "enjoys", "dislikes", "hates", "wants", "wishes", "hopes", "needs"}
    | {"prefers", "preference"}
)
USER_NAMES = frozenset({"user", "the user", "用户"})
"""What a subject that is the user is called, folded."""


def is_wish(attribute: str | None) -> bool:
    """Whether an attribute says what somebody wishes, likes or prefers."""
    name = fold(attribute or "")
    return name in _WISHES or name.startswith(FAVOURITE)


def same_value(one: str | None, other: str | None) -> bool:
    """Whether two values are the same but for case, accents, plural and filler words."""
    if one is None or other is None:
        return one is other
    return fold(one) == fold(other) or _bare(one) == _bare(other)


_FILLERS = frozenset(terms("a an the my our your his her their some eating drinking"))
_EATEN = re.compile(r"^[吃喝](?=.)")


def _bare(value: str) -> frozenset[str]:
    own = frozenset(terms(_EATEN.sub("", value.strip())))
    return own - _FILLERS or own


def same_subject(one: KindModel, other: KindModel) -> bool:
    return (
        isinstance(one, Semantic)
        and isinstance(other, Semantic)
        and fold(one.subject or "") == fold(other.subject or "")
        and one.attribute == other.attribute
    )


def opposed(one: KindModel, other: KindModel, *, changed: bool = False) -> bool:
    """Whether two facts cannot both be true at one time; with `changed`, as the words say."""
    if not (isinstance(one, Semantic) and isinstance(other, Semantic)):
        return False
    if ends(other, one):
        return True
    if not same_subject(one, other):
        return False
    agree = (one.polarity is not False) == (other.polarity is not False)
    if same_value(one.value, other.value):
        return not agree
    attribute = find_attribute(one.attribute or "")
    exclusive = bool(attribute and attribute.exclusive) or (changed and one.attribute in SUCCESSIVE)
    return agree and one.polarity is not False and exclusive


def ends(one: Semantic, other: Semantic) -> bool:
    """Whether a fact of another attribute ends the other: who is divorced is not married."""
    attribute, values = ENDS.get(one.attribute or "", ("", frozenset[str]()))
    if attribute != other.attribute or other.polarity is False or one.polarity is False:
        return False
    same = fold(one.subject or "") == fold(other.subject or "")
    return same and fold(one.value or "") in values


def is_same(one: KindModel, other: KindModel) -> bool:
    """Whether they say the same; of facts that have no parts only the words can tell."""
    if not (isinstance(one, Semantic) and isinstance(other, Semantic)):
        return one.name_of_kind == other.name_of_kind and one.fingerprint() == other.fingerprint()
    if one.value is None and other.value is None:
        return one.fingerprint() == other.fingerprint()
    agree = (one.polarity is not False) == (other.polarity is not False)
    return same_subject(one, other) and agree and same_value(one.value, other.value)
