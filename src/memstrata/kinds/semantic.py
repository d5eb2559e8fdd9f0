"""Semantic memory: stable facts, concepts and relations."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from memstrata.kinds.base import KindModel, Revision
from memstrata.records import Record

__all__ = ["Semantic"]

_ROLES = ("user", "assistant")
"""Subjects that each language has a word of its own for."""


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
    def about(cls, record: Record) -> str | None:
        about = record.fields.get("subject")
        return about if isinstance(about, str) else None
