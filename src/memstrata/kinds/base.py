"""What every kind of memory has in common, and what each must say about itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, cast

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    NaiveDatetime,
)

from memstrata.kinds.attributes import Language
from memstrata.records import Evidence, JsonObject, Record, Sensitivity, Trust

__all__ = ["DERIVED", "TEXT", "Instant", "KindModel", "Revision", "Stated", "text_of"]

Revision = Literal["version", "supersede"]

DERIVED = "derived"
"""The member of `metadata` by which what `consolidate` made of other memories says so."""


def _in_utc(when: datetime) -> datetime:
    try:
        return when.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is before the year 1 or after 9999 in UTC") from None


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)] | NaiveDatetime
"""In UTC, so that one instant is written one way; a naive one waits for the user's zone."""


TEXT: JsonObject = {"type": "string"}
"""The JSON schema of most fields."""


class Stated(NamedTuple):
    """What a manager says of one memory, before it is known to be sound."""

    fields: Mapping[str, Any]
    """As they came, under the names of the kind's `draft`."""
    texts: tuple[str, ...]
    """Of the messages it rests on."""
    said_at: datetime
    """When the last of these was said, aware."""
    start: datetime | None = None
    end: datetime | None = None
    """What its date names, `[start, end)`, aware; None where it names none."""
    until: datetime | None = None
    """When it ended, or will."""
    language: Language = "en"


def text_of(value: object) -> str | None:
    """A text of what a model wrote where one belongs, None for nothing."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, list):
        return ", ".join(filter(None, map(text_of, cast("list[Any]", value)))) or None
    return str(value).strip() or None if isinstance(value, str | int | float) else None


class KindModel(BaseModel):
    """The writable fields of one record; each kind adds its own.

    A naive date-time is read in the user's time zone by the verb that takes the record.
    """

    # An error must not repeat what it was given: it may be a secret.
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True)

    name_of_kind: ClassVar[str]
    code: ClassVar[int]
    """The kind's number in index headers; never reused."""
    prefix: ClassVar[str]
    """What ids of this kind begin with."""
    block: ClassVar[str]
    """The tag this kind's items stand in when they are put before a model."""
    rule: ClassVar[str]
    """The rule for change in one line."""
    always: ClassVar[bool] = False
    """Whether `context` shows every record of the kind, whatever the query."""

    hint: ClassVar[Mapping[Language, str]]
    """What a model is told of the kind: what belongs there, and what its fields hold."""
    draft: ClassVar[Mapping[str, JsonObject]]
    """The JSON schemas of the fields that a model fills."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Those of them without which there is nothing to keep."""

    rarity: ClassVar[int] = 0
    """The larger, the seldomer conversations hold something of the kind."""

    half_life: ClassVar[float | None] = None
    """Days in which half of a record fades from rankings; None for what does not fade."""
    themed: ClassVar[bool] = True
    """Whether its records are grouped into themes."""

    title: str | None = Field(default=None, max_length=500)
    tags: list[str] = Field(default_factory=list[str])
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    path: str | None = None
    occurred_at: Instant | None = None
    ended_at: Instant | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expires_at: Instant | None = None
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    trust: Trust = "user"
    sensitivity: Sensitivity = "low"
    evidence: list[Evidence | str] = Field(default_factory=list[Evidence | str])

    @classmethod
    def own_fields(cls) -> frozenset[str]:
        """The names of the fields that only this kind has."""
        return frozenset(cls.model_fields) - frozenset(KindModel.model_fields) - {"kind"}

    def fields(self) -> JsonObject:
        """The kind's own fields as plain JSON, without the ones left empty."""
        return self.model_dump(mode="json", include=set(self.own_fields()), exclude_none=True)

    @classmethod
    def may_be_in(cls, text: str) -> bool:
        """Whether a text may hold something of the kind: what surely holds none is not asked."""
        return True

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        """A record of what a manager stated; `ValueError` says what it lacks, in words for it."""
        raise NotImplementedError

    def admit(self) -> None:
        """Raise our error if a record like this cannot be stored at all."""

    def take_secret(self) -> tuple[Self, str | None]:
        """The record as it is stored, and what of it must be sealed (None: nothing)."""
        return self, None

    def heading(self) -> str:
        """A short title, made from the fields."""
        raise NotImplementedError

    def body(self) -> str:
        """The text that is shown and indexed."""
        raise NotImplementedError

    def parts(self) -> list[str]:
        """The statements it is made of, each of which must rest on its evidence."""
        return [self.body()]

    def whose(self) -> str | None:
        """Whose fact or deed it is, None where that is nobody's."""
        return None

    def of(self, whose: str) -> Self:
        """The same of somebody; of a kind that is nobody's, itself."""
        return self

    def identity(self) -> tuple[JsonValue, ...]:
        """What makes two records of this kind the same; by default all that is its own."""
        return (json.dumps(self.fields(), sort_keys=True, ensure_ascii=False),)

    def fingerprint(self) -> str:
        """A hash of the kind and the identity: equal for exact duplicates."""
        text = json.dumps([self.name_of_kind, *self.identity()], ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @classmethod
    def revise(cls, old: Record, new: KindModel, touched: frozenset[str]) -> Revision:
        """The kind's rule for change, given the fields an update names.

        `version` replaces the old text by the new; `supersede` keeps the old record as what was
        true until then, and makes a new one. An update that changes nothing is never written.
        """
        return "version"

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        """The changes that make a record say just this, for who knows of no fields but a text."""
        raise NotImplementedError

    @classmethod
    def is_sealed(cls, record: Record) -> bool:
        """Whether a secret of it is kept apart, sealed."""
        return False

    @classmethod
    def about(cls, record: Record) -> str | None:
        """Whose fact or deed it is, None where that is nobody's."""
        return None

    @classmethod
    def keys(cls, record: Record) -> str:
        """By what a manager may mean the same matter again; empty where its text says it all."""
        return ""

    @classmethod
    def contradicts(cls, one: Record, other: Record) -> bool:
        """Whether two records that stand cannot both be true at one time."""
        return False

    @classmethod
    def due_at(cls, record: Record) -> datetime | None:
        """When it is to be done, None where nothing says so."""
        return None

    @classmethod
    def has_lapsed(cls, record: Record, now: datetime) -> bool:
        """Whether it was to be done by a day that is over, and nothing says that it was."""
        return False

    @classmethod
    def is_derived(cls, record: Record) -> bool:
        """Whether it was made of other memories by `consolidate`, and is no evidence of its own."""
        return False

    @classmethod
    def gist(cls, record: Record) -> tuple[JsonValue, ...] | None:
        """What it says whatever the wording: equal for records that say the same.

        None for one that is never taken for the same as another.
        """
        return None

    @classmethod
    def render(cls, record: Record) -> str:
        """One record as it stands in a prompt (plain text, one or more lines)."""
        return record.text
