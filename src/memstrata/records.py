"""The nouns: messages, records and what the verbs return.

Values only. They are immutable, validated when made, and know nothing of stores, models or
surfaces. Times are aware `datetime`s; ids are strings, `<prefix>_<UUIDv7 in hex>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar, get_args, overload

from pydantic import BaseModel, ConfigDict, Field, JsonValue

__all__ = [
    "TRUST_RANK",
    "Batch",
    "BatchState",
    "Change",
    "Chunk",
    "Context",
    "ContextItem",
    "Entity",
    "EntityType",
    "Episode",
    "Evidence",
    "Hit",
    "JsonObject",
    "Ledger",
    "Lifecycle",
    "Message",
    "Method",
    "ModelUse",
    "Page",
    "Receipt",
    "Record",
    "Results",
    "Review",
    "Scope",
    "Sensitivity",
    "Skipped",
    "Stratum",
    "Theme",
    "TimeSpan",
    "Trust",
    "Value",
    "instant",
    "micros",
]

JsonObject = dict[str, JsonValue]

Trust = Literal["user", "agent", "tool", "web", "import"]
TRUST_RANK: Mapping[str, int] = MappingProxyType(
    {name: -min(place, 3) for place, name in enumerate(get_args(Trust))}
)
"""The larger, the more a source is trusted; `web` and `import` are alike."""
Sensitivity = Literal["low", "medium", "high"]
Lifecycle = Literal["current", "past", "retired", "review"]
BatchState = Literal["pending", "running", "done", "failed", "undone"]
Method = Literal["hybrid", "embedding", "bm25", "string_match"]
EntityType = Literal["person", "place", "organisation", "product", "handle", "thing"]
Stratum = Literal["messages", "episodes", "records", "themes"]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(when: datetime) -> int:
    """An aware date-time as microseconds since the Unix epoch, UTC."""
    return (when - _EPOCH) // timedelta(microseconds=1)


def instant(when: int) -> datetime:
    """Microseconds since the Unix epoch as a UTC date-time."""
    return _EPOCH + timedelta(microseconds=when)


class Value(BaseModel):
    """What all nouns are: immutable, and nothing but what they name."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Scope(Value):
    """Whose memory: a tenant, and in it a user, an agent, or an agent for a user."""

    tenant: str = "default"
    user_id: str | None = None
    agent_id: str | None = None


class TimeSpan(Value):
    """A half-open interval `[start, end)` that a piece of text refers to."""

    start: datetime
    end: datetime
    text: str
    """The words that say so, as they stand in the source."""


class Message(Value):
    """One original turn, append-only (stratum 0)."""

    id: str
    external_id: str | None = None
    """The id the caller gave it; the same one is stored once per session."""
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    role: str
    name: str | None = None
    """The speaker, where the role alone does not say it."""
    content: str
    parts: list[JsonObject] = Field(default_factory=list[JsonObject])
    """What came with the text and is not text: images, tool calls, as they were given."""
    occurred_at: datetime
    recorded_at: datetime
    hidden_at: datetime | None = None
    """When an undo took the message out of default reads."""
    trust: Trust = "user"
    tags: list[str] = Field(default_factory=list[str])
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    spans: list[TimeSpan] = Field(default_factory=list[TimeSpan])
    batch_id: str

    @property
    def speaker(self) -> str:
        """The name if there is one, else the role."""
        return self.name or self.role


class Episode(Value):
    """Contiguous messages of one session about one thing (stratum 1)."""

    id: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    title: str
    """Date, people, topic."""
    summary: str
    """What was said that matters, in the words it was said in."""
    people: list[str] = Field(default_factory=list[str])
    topics: list[str] = Field(default_factory=list[str])
    started_at: datetime
    ended_at: datetime
    """When its last message so far was said."""
    open: bool = False
    """Whether it may still grow; a closed one stays as it is."""
    message_ids: list[str] = Field(default_factory=list[str])
    recorded_at: datetime
    batch_id: str

    @property
    def text(self) -> str:
        """What is indexed and shown."""
        return f"{self.title}\n{self.summary}"


class Theme(Value):
    """Related records (stratum 3), or related themes; it changes as they do."""

    id: str
    user_id: str | None = None
    agent_id: str | None = None
    name: str
    """The names and words its records have in common and others have not, or what a language model
    calls it."""
    summary: str
    """Titles of its most typical records, or a sentence of a language model."""
    parent_id: str | None = None
    children: int = 0
    """How many themes are under it; those of records have none."""
    record_ids: list[str] = Field(default_factory=list[str])
    """Its records, oldest first; of a theme of themes none."""
    namesakes: list[str] = Field(default_factory=list[str])
    """Other themes of the same name: the name has meant several things, each in its time."""
    started_at: datetime
    ended_at: datetime
    """When the first and the last of what is in it happened."""
    created_at: datetime
    changed_at: datetime

    @property
    def text(self) -> str:
        """What is indexed and shown."""
        return f"{self.name}\n{self.summary}"


class Evidence(Value):
    """A link from a record to a message (or import source) that supports it."""

    source_id: str
    quote: str | None = None


class Record(Value):
    """One version of one memory of one of the six kinds.

    `fields` holds what is particular to the kind, validated by it; everything else is common to
    all kinds. `title` and `text` are rendered by the kind from its fields.
    """

    id: str
    user_id: str | None = None
    agent_id: str | None = None
    kind: str
    version: int = 1
    title: str
    text: str
    fields: JsonObject
    tags: list[str] = Field(default_factory=list[str])
    metadata: JsonObject = Field(default_factory=dict[str, JsonValue])
    path: str | None = None
    occurred_at: datetime | None = None
    ended_at: datetime | None = None
    recorded_at: datetime
    """When this version was written."""
    created_at: datetime
    """When the first version was written."""
    closed_at: datetime | None = None
    """When this version was replaced by the next one, or taken back."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    retired_at: datetime | None = None
    expires_at: datetime | None = None
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    trust: Trust = "user"
    sensitivity: Sensitivity = "low"
    lifecycle: Lifecycle = "current"
    supersedes: str | None = None
    superseded_by: str | None = None
    fingerprint: str
    evidence: list[Evidence] = Field(default_factory=list[Evidence])
    batch_id: str


class Chunk(Value):
    """A passage of a long message or resource: characters `[start, end)` of its text."""

    start: int
    end: int


class Entity(Value):
    """A person, place, organisation, product or named thing, and how it is written."""

    id: str
    name: str
    type: str
    aliases: list[str] = Field(default_factory=list[str])
    mentions: int = 0
    """How many messages and records mention it; the fewer, the more a mention says."""
    sources: list[str] = Field(default_factory=list[str])
    """Ids of the newest of them."""


class ModelUse(Value):
    """What was asked of one model."""

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those the endpoint had read before."""
    milliseconds: float = 0.0
    cost: float | None = None
    """In US dollars; None where the price is not known."""

    def plus(self, other: ModelUse) -> ModelUse:
        """Both together, of this model; the cost is known if that of both is."""
        known = self.cost is not None and other.cost is not None
        return ModelUse(
            model=self.model,
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            milliseconds=self.milliseconds + other.milliseconds,
            cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None,
        )


class Ledger(Value):
    """What a call cost."""

    model_calls: int = 0
    embedding_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    milliseconds: float = 0.0
    cost: float | None = None
    """In US dollars; None where a price is not known, or nothing was to be paid."""
    models: list[ModelUse] = Field(default_factory=list[ModelUse])
    """The same by model; local embedders are not among them."""

    @classmethod
    def of(
        cls, uses: Iterable[ModelUse], *, embedding_calls: int = 0, milliseconds: float = 0.0
    ) -> Ledger:
        """What these uses come to, one entry per model in the order they were first used.

        A model's cost is known if that of every call is, and all of it if that of every model is.
        """
        merged: dict[str, ModelUse] = {}
        for use in uses:
            merged[use.model] = merged[use.model].plus(use) if use.model in merged else use
        models = list(merged.values())
        priced = [use.cost for use in models if use.cost is not None]
        return cls(
            model_calls=sum(use.calls for use in models),
            embedding_calls=embedding_calls,
            input_tokens=sum(use.input_tokens for use in models),
            output_tokens=sum(use.output_tokens for use in models),
            cached_tokens=sum(use.cached_tokens for use in models),
            milliseconds=milliseconds,
            cost=sum(priced) if models and len(priced) == len(models) else None,
            models=models,
        )


class Skipped(Value):
    """An input item that was not stored as given, or not at all, and why."""

    index: int | None
    """Its place in the list given; `None` when it concerns the whole call."""
    reason: str
    id: str | None = None
    """The stored message or record that already says it, if that is the reason."""
    stored: bool = False
    """True when the item was stored all the same (masked, repaired, not distilled)."""


class Change(Value):
    """One entry of the change log: who did what to what, from which evidence, when and why."""

    id: str
    batch_id: str
    op: str
    target_id: str
    version_before: int | None = None
    version_after: int | None = None
    before: Record | None = None
    after: Record | None = None
    actor: str
    reason: str = ""
    evidence: list[str] = Field(default_factory=list[str])
    at: datetime
    cursor: str | None = None
    """In `changes`: where the log goes on after this one."""


class Receipt(Value):
    """What a writing verb did: what is stored, what changed, what was skipped and why."""

    batch_id: str
    """The batch that was written; empty if there was nothing to write."""
    state: BatchState
    reason: str | None = None
    """Why the state is `failed`, or what was left undone."""
    message_ids: list[str] = Field(default_factory=list[str])
    record_ids: list[str] = Field(default_factory=list[str])
    changes: list[Change] = Field(default_factory=list[Change])
    skipped: list[Skipped] = Field(default_factory=list[Skipped])
    ledger: Ledger = Ledger()


class Batch(Value):
    """One call that writes, and how far it has got."""

    id: str
    user_id: str | None = None
    agent_id: str | None = None
    verb: str
    actor: str
    state: BatchState
    reason: str | None = None
    attempts: int = 0
    messages: int = 0
    changes: int = 0
    created_at: datetime
    finished_at: datetime | None = None
    idempotency_key: str | None = None
    refused: list[str] = Field(default_factory=list[str])
    """Why proposals of a model did not hold; not what they said."""
    ledger: Ledger = Ledger()
    """What it has cost so far, over all attempts, by whichever process."""


class Review(Value):
    """A record that could not be decided on, and what stands against it."""

    record: Record
    rivals: list[Record] = Field(default_factory=list[Record])
    reason: str = ""
    """Why it waits."""


class Hit(Value):
    """One thing found, with why: its score, the signals it was made of, and its evidence."""

    id: str
    stratum: Stratum
    kind: str | None = None
    text: str
    """The message or record; of a long one, the passage that matched."""
    occurred_at: datetime | None = None
    score: float
    """In [0, 1]; results come in its order."""
    signals: dict[str, float] = Field(default_factory=dict[str, float])
    evidence: list[Evidence] = Field(default_factory=list[Evidence])
    record: Record | None = None
    message: Message | None = None
    episode: Episode | None = None
    theme: Theme | None = None


class Results(Value):
    """Hits in order of score; iterates and indexes like a list."""

    hits: list[Hit]
    answerable: bool
    """Whether the evidence found is strong enough to answer from."""
    confidence: float
    ledger: Ledger = Ledger()
    notes: list[str] = Field(default_factory=list[str])
    """What was degraded, in words: for instance vectors of another model, so keywords only."""
    plan: JsonObject | None = None
    """With `explain=True`: the terms, names, window and weights used."""

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def to_dict(self) -> dict[str, Any]:
        """The results as plain JSON types."""
        return self.model_dump(mode="json")


class ContextItem(Value):
    """One remembered thing as it stands in a prompt."""

    id: str
    kind: str
    """One of the six kinds, `themes`, `episodes`, or `messages`."""
    text: str
    occurred_at: datetime | None = None
    score: float | None = None
    tokens: int
    """Of its lines in the prompt; 0 for what was dropped before the budget was looked at."""
    reason: str | None = None
    """For a dropped item: why it is not in the prompt."""


class Context(Value):
    """What to put before a model: `str(context)` is the prompt text."""

    text: str
    items: list[ContextItem] = Field(default_factory=list[ContextItem])
    dropped: list[ContextItem] = Field(default_factory=list[ContextItem])
    topics: list[str] = Field(default_factory=list[str])
    window: TimeSpan | None = None
    tokens: int = 0
    ledger: Ledger = Ledger()
    notes: list[str] = Field(default_factory=list[str])
    """What was done without a model, or without vectors, though they were asked for."""

    def __str__(self) -> str:
        return self.text


T = TypeVar("T")


class Page(Value, Generic[T]):
    """A slice of a listing; pass `next` as `cursor` to go on, `None` means the end."""

    items: list[T]
    next: str | None = None

    def __iter__(self) -> Iterator[T]:  # type: ignore[override]
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
