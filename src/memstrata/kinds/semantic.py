"""Semantic memory: stable facts, concepts and relations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, JsonValue

from memstrata.kinds.attributes import Language, canonical, denies, find, statement
from memstrata.kinds.base import TEXT, KindModel, Revision, Stated, text_of
from memstrata.records import JsonObject, Record, micros
from memstrata.text.analyse import fold
from memstrata.text.wording import wording

__all__ = ["Claim", "Semantic"]

_ROLES = ("user", "assistant")
"""Subjects that each language has a word of its own for."""


class Claim(NamedTuple):
    """What a stored fact says of whom; a part that is not known is empty."""

    name: str
    subject: str
    attribute: str
    value: str
    affirmed: bool


class Semantic(KindModel):
    """One fact or concept; with `subject`, `attribute` and `value` where they are known.

    An update that changes what is stated *and* gives `valid_from` says the world changed: the old
    fact ends then and is linked to its successor. Without `valid_from` it is a correction: the
    old wording never was true.
    """

    name_of_kind: ClassVar[str] = "semantic"
    code: ClassVar[int] = 2
    prefix: ClassVar[str] = "sem"
    block: ClassVar[str] = "semantic_memory"
    rule: ClassVar[str] = (
        "an update with valid_from ends the old fact and links its successor; without, it corrects"
    )

    hint: ClassVar[Mapping[Language, str]] = {
        "en": "semantic: a lasting fact: a taste, home, work, relation, possession, opinion, habit "
        'or concept. "sentence": the fact as one whole sentence; "subject": user, or the name of '
        'the person or thing it is about; "attribute": a short key, one of these where it fits: '
        "name, lives_in, works_at, works_as, likes, allergic_to, diet, has, has_pet, owns, uses, "
        'wants, married_to, birthday, favourite_…; "value": a few words; "negated": true only if '
        "the sentence says that it is not so (dislikes fish: likes, fish, true).",
        "zh": "semantic：长期成立的事实：喜好、住处、工作、关系、拥有、看法、习惯、概念。sentence："
        "把事实写成一句完整的话；subject：user，或所说的人或物的名字；attribute：简短的英文键，尽量"
        "用：name、lives_in、works_at、works_as、likes、allergic_to、diet、has、has_pet、owns、"
        "uses、wants、married_to、birthday、favourite_…；value：几个字；negated：只有否定的事实才"
        "写 true（不喜欢鱼：likes、鱼、true）。",
    }
    draft: ClassVar[Mapping[str, JsonObject]] = {
        "sentence": TEXT,
        "subject": TEXT,
        "attribute": TEXT,
        "value": TEXT,
        "negated": {"type": "boolean"},
        "details": TEXT,
    }
    needs: ClassVar[tuple[str, ...]] = ("sentence", "subject", "attribute", "value")

    kind: Literal["semantic"] = "semantic"
    name: str = Field(min_length=1)
    summary: str | None = None
    details: str | None = None
    source: str | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    polarity: bool | None = None
    """False for a fact that says something is not so."""

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        given = {key: text_of(stated.fields.get(key)) for key in (*cls.draft, "name")}
        subject, value = given["subject"], given["value"]
        name = given["sentence"] or given["name"]
        attribute, affirmed = canonical(given["attribute"] or "")
        denied = stated.fields.get("negated") is True or stated.fields.get("polarity") is False
        if denied and name and not denies(name):
            denied = False  # small models deny at random; what is not so is said in words
        polarity = affirmed != denied
        whole = bool(subject and attribute and value)
        if whole and (name is None or name.casefold() == (subject or "").casefold()):
            name = statement(subject or "", attribute, value or "", polarity, stated.language)
        if name is None:
            raise ValueError('semantic needs a "sentence" that says the whole fact')
        return cls(
            name=name,
            details=given["details"],
            subject=subject,
            attribute=attribute if whole else None,
            value=value if whole else None,
            polarity=polarity if whole else None,
            valid_from=stated.start,
            valid_to=stated.until,
        )

    def heading(self) -> str:
        return self.title or self.name

    def body(self) -> str:
        parts = [self.name, self.summary, self.details]
        text = "\n".join(dict.fromkeys(part for part in parts if part))
        if not (self.subject and self.value):
            return text
        # A sentence that says it is not followed by the same in telegram style.
        said = text.casefold()
        named = self.subject.casefold() in said or self.subject in _ROLES
        if named and self.value.casefold() in said:
            return text
        triple = (self.subject, (self.attribute or "").replace("_", " "), self.value)
        return f"{text}\n{' '.join(filter(None, triple))}"

    def whose(self) -> str | None:
        return self.subject

    def of(self, whose: str) -> Self:
        return self.model_copy(update={"subject": whose})

    def identity(self) -> tuple[JsonValue, ...]:
        if self.subject and self.attribute and self.value:
            words = (self.subject, self.attribute, self.value)
            return (*(word.casefold() for word in words), self.polarity is not False)
        return super().identity()

    @classmethod
    def revise(cls, old: Record, new: KindModel, touched: frozenset[str]) -> Revision:
        dated = "valid_from" in touched and new.valid_from is not None
        return "supersede" if dated and new.fields() != old.fields else "version"

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        # What was known of it in parts may no longer hold.
        parts = ("title", "summary", "details", "subject", "attribute", "value", "polarity")
        return {"name": text, **dict.fromkeys(parts)}

    @classmethod
    def about(cls, record: Record) -> str | None:
        about = record.fields.get("subject")
        return about if isinstance(about, str) else None

    @classmethod
    def gist(cls, record: Record) -> tuple[JsonValue, ...] | None:
        said = {name: str(value) for name, value in record.fields.items()}
        subject, attribute, value = (said.get(key, "") for key in ("subject", "attribute", "value"))
        what = (
            (fold(subject).strip(), _named(attribute), *wording(value))
            if subject and attribute and value
            else ("", *wording(said["name"]), "about", fold(subject).strip())
        )
        details = said.get("details", "")
        quoted = any(details in (item.quote or "") for item in record.evidence)
        ends = record.valid_to
        return (
            *what,
            "said",
            *wording(said.get("summary", "")),
            *(() if quoted else wording(details)),
            record.fields.get("polarity") is not False,
            None if ends is None else micros(ends),
        )

    @classmethod
    def claim(cls, record: Record) -> Claim:
        """What a fact says, in its parts."""
        known = (record.fields.get(part) for part in ("name", "subject", "attribute", "value"))
        parts = (part if isinstance(part, str) else "" for part in known)
        return Claim(*parts, affirmed=record.fields.get("polarity") is not False)

    @classmethod
    def keys(cls, record: Record) -> str:
        name, subject, attribute, value, affirmed = cls.claim(record)
        if not (name and subject and attribute and value):
            return ""
        return f"{subject} / {attribute} / {value}{'' if affirmed else ' / negated'}"

    @classmethod
    def contradicts(cls, one: Record, other: Record) -> bool:
        first, second = _exclusive(one), _exclusive(other)
        if first is None or second is None or first == second:
            return False
        return first[:2] == second[:2] and _overlap(one, other)


def _named(attribute: str) -> str:
    """An attribute however it is spelt: `lives_in`, `Lives-in`."""
    return "_".join(fold(attribute).replace("_", " ").replace("-", " ").split())


def _exclusive(record: Record) -> tuple[str, str, str] | None:
    """Subject, attribute and value of a fact of which a subject has one at a time."""
    claim = Semantic.claim(record)
    subject, attribute, value = (part.casefold() for part in claim[1:4])
    known = find(attribute) if attribute else None
    held = record.lifecycle != "retired" and claim.affirmed
    if not (subject and value and held and known and known.exclusive):
        return None
    return subject, attribute, value


def _overlap(one: Record, other: Record) -> bool:
    """Whether the times in which two facts are true have a moment in common."""
    starts = [when for when in (one.valid_from, other.valid_from) if when]
    ends = [when for when in (one.valid_to, other.valid_to) if when]
    return not starts or not ends or max(starts) < min(ends)
