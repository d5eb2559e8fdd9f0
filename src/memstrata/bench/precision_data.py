"""The PrecisionMemBench data set: beliefs of a user, and what each query must and must not return.

Source: https://github.com/tenurehq/precisionMemBench, `beliefs.seed.json` and
`retrieval.cases.json`.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter

from memstrata.bench import files
from memstrata.errors import InvalidInput

__all__ = ["QUESTION", "RELATION", "USER", "Belief", "Budget", "Case", "Expected", "load"]

USER = "test-user"
"""Whose memory is asked where a case does not say."""

QUESTION, RELATION = "open_question", "relation"
"""The types of belief that are treated in a way of their own."""


class Belief(BaseModel):
    """One belief as published; `participants` are the ids a relation joins."""

    id: str = Field(alias="_id")
    user_id: str
    type: str
    canonical_name: str
    aliases: list[str] = Field(default_factory=list[str])
    content: str
    why_it_matters: str = ""
    scope: list[str]
    confidence: float = 1.0
    pinned: bool = False
    resolved_at: datetime | None = None
    superseded_by: str | None = None
    created_at: datetime
    updated_at: datetime
    participants: list[str] = Field(default_factory=list[str])


class _Ids(BaseModel):
    must_include: list[str] = Field(default_factory=list[str], alias="mustInclude")
    must_exclude: list[str] = Field(default_factory=list[str], alias="mustExclude")


class _Relevant(_Ids):
    only: list[str] | None = Field(default=None, alias="shouldOnlyInclude")


class _Prelude(BaseModel):
    not_empty: bool = Field(default=False, alias="nonEmpty")
    is_null: bool = Field(default=False, alias="isNull")
    contains: list[str] = Field(default_factory=list[str])
    must_not_contain: list[str] = Field(default_factory=list[str], alias="mustNotContain")


class Expected(BaseModel):
    """What a case asserts, tier by tier; a tier left out asserts nothing."""

    prelude: _Prelude = Field(default_factory=_Prelude, alias="personaPrelude")
    pinned: _Ids = Field(default_factory=_Ids, alias="pinnedFacts")
    relevant: _Relevant = Field(default_factory=_Relevant, alias="relevantBeliefs")
    questions: _Ids = Field(default_factory=_Ids, alias="openQuestions")


class Budget(BaseModel):
    """How many beliefs may be given, pinned ones first; the set's defaults."""

    beliefs: int = Field(default=20, alias="maxBeliefs")
    questions: int = Field(default=15, alias="maxQuestions")


class Case(BaseModel):
    """One query in one or more scopes."""

    id: str = Field(alias="caseId")
    category: str
    user_id: str = Field(default=USER, alias="userId")
    scope: list[str]
    query: str
    budget: Budget = Field(default_factory=Budget)
    expected: Expected = Field(alias="expect")

    @property
    def active(self) -> bool:
        """Whether something relevant must be returned, so that nothing passes by silence."""
        return bool(self.expected.relevant.only)


_BELIEFS = TypeAdapter(list[Belief])
_CASES = TypeAdapter(list[Case])


def load(data: Path) -> tuple[list[Belief], list[Case]]:
    """The beliefs and cases in a folder, or its `precisionmembench` folder."""
    for folder in (data, data / "precisionmembench"):
        beliefs, cases = folder / "beliefs.seed.json", folder / "retrieval.cases.json"
        if beliefs.is_file() and cases.is_file():
            return files.read(beliefs, _BELIEFS), files.read(cases, _CASES)
    raise InvalidInput(
        f"no beliefs.seed.json and retrieval.cases.json in {data}: give the folder they are in"
    )
