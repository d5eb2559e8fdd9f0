"""Everything a scope holds as plain mappings, and back: ids and times as they were.

Terms, headers and vectors are not carried: they are computed again where it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memstrata.errors import InvalidInput
from memstrata.kinds import explain, kind_of
from memstrata.records import BatchState, Episode, Message, Record, Scope
from memstrata.store import episodes, secrets
from memstrata.store.append import find_scope
from memstrata.store.items import MAX
from memstrata.store.ports import Passage, Tx
from memstrata.store.rows import (
    dumps,
    message_from,
    record_from,
)

__all__ = [
    "PARTS",
    "BatchRow",
    "Carried",
    "ChangeRow",
    "EntityRow",
    "EvidenceRow",
    "Index",
    "Loadable",
    "SecretRow",
    "TombstoneRow",
    "Value",
    "dump_page",
    "read_row",
]

Carried = dict[str, Any]
"""One dumped row: `type`, its columns, and for messages `digest` and `identity` in hex."""

Index = Callable[[Message | Record], tuple[Passage, ...]]
"""Makes the index form of a message or record that is being loaded."""

PARTS = (
    *("batch", "message", "record", "secret", "evidence", "change", "episode", "entity"),
    "tombstone",
)
"""The parts of a dump, in the order in which they are written and read.

The tombstones of turns stand among the messages, where the turns were.
"""

_PAGE = 1000
_HEX = r"^(?:[0-9a-f]{2}){1,64}$"
_HEX_LONG = r"^(?:[0-9a-f]{2})+$"
_Amount = Annotated[int, Field(ge=0, le=10**15)]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SpendingRow(_Row):
    """What one model has cost a batch, in the order of the statement that reads it."""

    model: str
    calls: _Amount
    input_tokens: _Amount
    output_tokens: _Amount
    cached_tokens: _Amount
    milliseconds: float = Field(ge=0, allow_inf_nan=False)
    cost: _Amount | None = None


class BatchRow(_Row):
    """The columns of a batch, in the order of the statement that reads them; then its costs."""

    id: str
    verb: str
    actor: str
    state: BatchState
    reason: str | None = None
    attempts: int = 0
    request: str | None = None
    distilled: int = 0
    digest: str | None = None
    idempotency_key: str | None = None
    created_at: int
    finished_at: int | None = None
    spending: tuple[SpendingRow, ...] = ()


class EvidenceRow(_Row):
    """The columns of a link, in the order of the statement that reads them."""

    record_id: str
    source_id: str
    quote: str | None = None
    added_at: int
    removed_at: int | None = None
    batch_id: str


class ChangeRow(_Row):
    """The columns of a log entry but its number, in the order of the statement."""

    id: str
    batch_id: str
    op: str
    target_id: str
    version_before: int | None = None
    version_after: int | None = None
    actor: str
    reason: str
    evidence: str | None = None
    at: int


class EntityRow(_Row):
    """An entity: its spellings as (normal form, as written, given name only), what mentions it."""

    id: str
    name: str
    entity_type: str
    spellings: list[tuple[str, str, bool]]
    owners: list[str]


class SecretRow(_Row):
    """What was sealed for a vault entry, in hex, and the marks it is known by.

    `marks_key` is the key of the marks, sealed. What is no secret any more has marks alone.
    """

    tenant: str
    record_id: str
    key_id: str | None = None
    sealed: str | None = Field(default=None, pattern=_HEX_LONG)
    sealed_at: int | None = None
    marks: list[tuple[str, Literal["sealed", "replaced", "released"]]]
    marks_key: tuple[str, str] | None = None


class TombstoneRow(_Row):
    """What was erased, as hashes in hex."""

    salt: str = Field(pattern=_HEX)
    what: str
    mark: str = Field(pattern=_HEX)
    session: str | None = Field(default=None, pattern=_HEX)
    ref: str | None = None
    at: int


Value = (
    Message
    | Record
    | Episode
    | BatchRow
    | EvidenceRow
    | ChangeRow
    | EntityRow
    | SecretRow
    | TombstoneRow
)
"""What a row of a dump holds."""


@dataclass(frozen=True, slots=True)
class Loadable:
    """A row of a dump that was read and found in order."""

    value: Value
    digest: bytes = b""
    identity: bytes | None = None


_VALUES: dict[str, type[Value]] = {
    "batch": BatchRow,
    "episode": Episode,
    "message": Message,
    "record": Record,
    "evidence": EvidenceRow,
    "change": ChangeRow,
    "entity": EntityRow,
    "secret": SecretRow,
    "tombstone": TombstoneRow,
}


def dump_page(tx: Tx, scope: Scope, part: str, after: int) -> tuple[list[Carried], int | None]:
    """A page of one part of a scope, and where the next one begins (None: the part is done)."""
    number = find_scope(tx, scope)
    if number is None:
        return [], None
    if part in ("message", "record"):
        return _dump_rows(tx, scope, number, part, after)
    if part == "episode":
        return _dump_episodes(tx, scope, number), None
    if part == "entity":
        return _dump_entities(tx, number), None
    if part == "secret":
        rows = secrets.dump(tx, number)
        return [_carry(part, {"tenant": scope.tenant, **row}) for row in rows], None
    if part == "tombstone":
        rows = tx.rows("tombstone_all", {"scope": number})
        return [
            _buried(salt, what, mark, None, ref, at) for salt, what, mark, ref, at in rows
        ], None
    if part == "batch":
        return _dump_batches(tx, number), None
    statement, columns = {
        "evidence": ("evidence_all", tuple(EvidenceRow.model_fields)),
        "change": ("change_all", ("seq", *ChangeRow.model_fields)),
    }[part]
    rows = tx.rows(statement, {"scope": number})
    return [_carry(part, dict(zip(columns, row, strict=True))) for row in rows], None


def _dump_batches(tx: Tx, number: int) -> list[Carried]:
    columns = tuple(name for name in BatchRow.model_fields if name != "spending")
    spent: dict[str, list[Carried]] = {}
    for batch_id, *row in tx.rows("spending_all", {"scope": number}):
        costs = dict(zip(SpendingRow.model_fields, row, strict=True))
        spent.setdefault(str(batch_id), []).append(costs)
    rows = tx.rows("batch_all", {"scope": number})
    batches = (dict(zip(columns, row, strict=True)) for row in rows)
    return [_carry("batch", {**one, "spending": spent.get(one["id"])}) for one in batches]


def _dump_rows(
    tx: Tx, scope: Scope, number: int, part: str, after: int
) -> tuple[list[Carried], int | None]:
    rows = tx.rows(f"{part}_all", {"scope": number, "after": after, "limit": _PAGE})
    more = int(rows[-1][0]) if len(rows) == _PAGE else None
    if part == "record":
        records = (record_from(scope, row) for row in rows)
        values = (
            r.model_dump(mode="json", exclude_none=True, exclude={"evidence"}) for r in records
        )
        return [_carry(part, value) for value in values], more
    carried: list[tuple[int, Carried]] = []
    for row in rows:
        value = message_from(scope, row).model_dump(mode="json", exclude_none=True)
        value.update(digest=row[16], identity=row[17])
        carried.append((int(row[0]), _carry(part, value)))
    between = {"scope": number, "after": after, "until": MAX if more is None else more}
    for place, *stone in tx.rows("tombstone_line", between):
        carried.append((int(place), _buried(*stone)))
    return [value for _, value in sorted(carried, key=lambda one: one[0])], more


def _buried(
    salt: bytes, what: str, mark: bytes, session: bytes | None, ref: str | None, at: int
) -> Carried:
    turn = None if session is None else session.hex()
    hashes = {"salt": salt.hex(), "mark": mark.hex(), "session": turn}
    return _carry("tombstone", {**hashes, "what": what, "ref": ref, "at": at})


def _dump_episodes(tx: Tx, scope: Scope, number: int) -> list[Carried]:
    rows = tx.rows("episode_all", {"scope": number})
    told = episodes.episodes_with(tx, scope, number, rows, hidden=True)
    return [_carry("episode", one.model_dump(mode="json")) for one in told]


def _dump_entities(tx: Tx, number: int) -> list[Carried]:
    carried: list[Carried] = []
    for seq, entity_id, name, kind in tx.rows("entity_all", {"scope": number}):
        one = {"scope": number, "entity": seq, "seqs": dumps([seq]), "limit": -1}
        spellings = [list(row[1:]) for row in tx.rows("entity_names_of", one)]
        owners = [str(row[0]) for row in tx.rows("mention_sources", one)]
        named = {"id": entity_id, "name": name, "entity_type": kind}
        carried.append(_carry("entity", {**named, "spellings": spellings, "owners": owners}))
    return carried


def _carry(part: str, value: Carried) -> Carried:
    for name in ("digest", "identity"):
        if isinstance(value.get(name), bytes):
            value[name] = value[name].hex()
    value.pop("seq", None)
    return {"type": part, **{key: item for key, item in value.items() if item is not None}}


def read_row(row: Carried, where: str) -> Loadable:
    """A line of a dump, checked; `InvalidInput` says where it is and what is wrong with it."""
    part = row.get("type")
    if not isinstance(part, str) or part not in _VALUES:
        known = ", ".join(sorted(_VALUES))
        raise InvalidInput(f"{where}: no row of a memstrata dump (type one of {known})")
    plain = {key: value for key, value in row.items() if key != "type"}
    try:
        if part != "message":
            value = _VALUES[part].model_validate(plain)
            if isinstance(value, Record):
                kind_of(value.kind)
            return Loadable(value)
        digest, identity = plain.pop("digest", None), plain.pop("identity", None)
        value = Message.model_validate(plain)
        return Loadable(value, _unhex(digest), _unhex(identity) if identity else None)
    except ValidationError as error:
        raise InvalidInput(f"{where}: {explain(error)}") from error
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error


def _unhex(text: object) -> bytes:
    try:
        return bytes.fromhex(cast("str", text))
    except (TypeError, ValueError):
        raise InvalidInput(f"digest and identity are hexadecimal, not {text!r}") from None
