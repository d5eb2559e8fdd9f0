"""What the store takes and gives, and the little that a backend must provide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from memstrata.records import (
    BatchState,
    Episode,
    Evidence,
    JsonObject,
    Message,
    Record,
    Scope,
    Theme,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Appended",
    "Backend",
    "Bind",
    "CloseRecord",
    "Dialect",
    "Draft",
    "Found",
    "LinkEvidence",
    "Narrate",
    "NewBatch",
    "Params",
    "Passage",
    "Pending",
    "PutEntity",
    "PutEpisode",
    "PutSecret",
    "PutVersion",
    "Row",
    "Sealing",
    "ShowMessages",
    "Told",
    "Trace",
    "Tx",
    "UnlinkEvidence",
    "View",
    "Write",
]

Row = tuple[Any, ...]
Params = Mapping[str, Any]
T = TypeVar("T")
Bind = Callable[[Any], str]
"""Binds a value to the statement and gives the placeholder that stands for it."""


class Dialect(Protocol):
    """How a database spells what filters need; every value is bound, every name allow-listed."""

    def json_value(self, column: str, path: Sequence[str], bind: Bind) -> str:
        """The text or number at a path of a JSON column, NULL where there is neither."""
        ...

    def json_exists(self, column: str, path: Sequence[str], bind: Bind) -> str:
        """Whether there is anything but null at a path."""
        ...

    def json_boolean(self, column: str, path: Sequence[str], value: bool, bind: Bind) -> str:
        """Whether the value at a path is this boolean."""
        ...

    def json_contains(
        self, column: str, path: Sequence[str], value: str | float | None, bind: Bind
    ) -> str:
        """Whether there is a list at a path with an element of this type and value."""
        ...

    def is_number(self, expression: str) -> str:
        """Whether an expression is a number."""
        ...

    def is_text(self, expression: str) -> str:
        """Whether an expression is text."""
        ...

    def in_list(self, expression: str, values: Sequence[Any], bind: Bind) -> str:
        """Whether an expression equals one of some values of its type."""
        ...

    def starts_with(self, expression: str, prefix: str) -> str:
        """Whether a text begins with a bound one."""
        ...

    def has_part(self, expression: str, part: str) -> str:
        """Whether a bound text stands somewhere in a text."""
        ...


class Tx(Protocol):
    """One open transaction: named statements, their values always bound."""

    dialect: Dialect

    def rows(self, name: str, params: Params = ...) -> list[Row]:
        """All rows of a statement."""
        ...

    def one(self, name: str, params: Params = ...) -> Row | None:
        """The first row of a statement, if there is one."""
        ...

    def run(self, name: str, params: Params = ...) -> int:
        """Execute a statement; the number of rows it changed."""
        ...

    def many(self, name: str, rows: Iterable[Params]) -> None:
        """Execute a statement once per mapping."""
        ...

    def select(self, name: str, where: str, params: Params) -> list[Row]:
        """A statement whose `/*where*/` is replaced by a compiled filter (store/filters.py)."""
        ...


class Backend(Protocol):
    """A database: transactions, and what is said about it."""

    location: str
    """What the user calls it: a path or a URL without credentials."""

    def write(self, operation: Callable[[Tx], T]) -> T:
        """Run in one write transaction, alone; commit, or roll back on any exception. Blocking."""
        ...

    def read(self, operation: Callable[[Tx], T]) -> T:
        """Run in one read-only snapshot. Blocking."""
        ...

    def version(self) -> object:
        """Another value once anything was committed, by whichever process. It waits for nobody, and
        so may be asked on an event loop; where it cannot tell, the value is one of a kind.
        """
        ...

    def clean(self) -> bool:
        """Leave no bytes of deleted rows in free pages or journals; False if a reader blocks it."""
        ...

    def compact(self) -> int:
        """Give free pages back to the file system where many are free; how many bytes.

        It stops readers for no longer than a write does, and leaves no bytes of what was erased.
        """
        ...

    def check(self) -> list[str]:
        """Problems the database itself reports about its file; empty when sound."""
        ...

    def traces(self, needles: Sequence[bytes]) -> list[Trace]:
        """Where these bytes stand in any row, and in the files beside the rows. Blocking."""
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def backup(
        self, path: Path, look: Callable[[Tx], T], *, force: bool, pause: Callable[[], None]
    ) -> tuple[T, int]:
        """Write all that is committed to a file, which is whole and sound or not there. Blocking.

        Returns what `look` finds in the copy, and its bytes. Writers go on meanwhile. `pause` is
        called now and then and may end it. Only with `force` does it replace a file.
        """
        ...

    def close(self) -> None:
        """Release every connection."""
        ...


@dataclass(frozen=True, slots=True)
class Trace:
    """A place where something that was looked for stands."""

    needle: bytes
    where: str
    """A table and column, or a file and a byte, in words."""
    row: bool = False
    """Whether it stands in a row."""


@dataclass(frozen=True, slots=True)
class View:
    """What one call may see: the shared scope and, if it names one, the agent's own."""

    scopes: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A searchable piece of a message or record: characters `[start, stop)` and its index form."""

    start: int
    stop: int
    header: bytes
    terms: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """A message about to be stored."""

    index: int
    message: Message
    digest: bytes
    """Hash of speaker and raw text: what a re-sent history is aligned by."""
    identity: bytes | None
    """Hash of what makes it one message wherever it is sent again; None if nothing does."""
    own_time: int | None
    """When it happened, if the message itself says so."""
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class NewBatch:
    """The call that writes."""

    id: str
    verb: str
    actor: str
    at: int
    state: BatchState = "done"
    request: JsonObject = field(default_factory=dict[str, Any])
    digest: bytes | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """What `append` did."""

    batch_id: str
    state: BatchState
    ids: dict[int, str]
    """Draft index → the id under which the message is stored, new or not."""
    known: dict[int, str]
    """Draft index → why it was not stored again."""
    repeated: bool = False
    """True when the whole batch had been stored before."""


@dataclass(frozen=True, slots=True)
class PutVersion:
    """Close the open version `expected` (None: there is none) and open `record`."""

    record: Record
    expected: int | None
    op: str
    passages: tuple[Passage, ...]
    reason: str = ""
    evidence: tuple[str, ...] = ()
    same_text: bool = False
    """The indexed text is that of the version it replaces: its vectors are carried over."""


@dataclass(frozen=True, slots=True)
class CloseRecord:
    """Close the open version and open no other: the record is as if it had not been written."""

    record_id: str
    expected: int
    op: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LinkEvidence:
    """Add sources to a record, keeping the ones it has."""

    record_id: str
    evidence: tuple[Evidence, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UnlinkEvidence:
    """Take sources from a record."""

    record_id: str
    sources: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ShowMessages:
    """Take a batch's messages out of default reads, or bring them back."""

    batch_id: str
    visible: bool
    op: Literal["hide", "show"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PutSecret:
    """Seal, or seal anew, what belongs to a vault entry; the old ciphertext is gone."""

    record_id: str
    key_id: str
    sealed: bytes
    mark: bytes
    """By which the same secret is known when it comes again."""
    fingerprint: str = ""
    """The entry's new one, when the secret is another one."""
    known: bool = False
    """Another entry is known by the mark, and stays so."""
    op: Literal["", "rotate"] = ""
    reason: str = ""


Write = PutVersion | CloseRecord | LinkEvidence | UnlinkEvidence | ShowMessages | PutSecret


@dataclass(frozen=True, slots=True)
class Sealing:
    """A secret found in what is being written, and its entry in the vault."""

    write: PutVersion
    secret: PutSecret


@dataclass(frozen=True, slots=True)
class Told:
    """What an episode is about, from its messages alone."""

    title: str
    summary: str
    people: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


Narrate = Callable[[Sequence[Message]], Told]
"""Tells what messages, in order, are about."""


@dataclass(frozen=True, slots=True)
class PutEpisode:
    """Begin an episode, or say what an open one has become."""

    id: str
    seq: int | None
    """Of the open one; None begins one."""
    session_id: str | None
    told: Told
    started_at: int
    ended_at: int
    is_open: bool
    message_ids: tuple[str, ...]
    """Those that join it."""


@dataclass(frozen=True, slots=True)
class PutEntity:
    """Add an entity, or what was learned of one: spellings, a fuller name, who mentions it."""

    id: str
    seq: int | None
    name: str
    type: str
    spellings: tuple[tuple[str, str, bool], ...]
    """(normal form, as written, whether it is only a given name) of those that are new."""
    owners: tuple[str, ...]
    """Ids of the messages and records that mention it."""


@dataclass(frozen=True, slots=True)
class Pending:
    """An item that has no vector yet, and where its text is."""

    seq: int
    text: str
    speaker: str | None
    title: str | None
    occurred: int | None
    stamp: int = 0
    """Of the item when the text was read; a vector of what it said before is not stored."""


@dataclass(frozen=True, slots=True)
class Found:
    """The row behind a candidate, and the passage of it that matched."""

    seq: int
    start: int
    stop: int
    whole: bool
    message: Message | None = None
    record: Record | None = None
    episode: Episode | None = None
    theme: Theme | None = None
    vector: NDArray[np.float32] | None = None
