"""What a dump brings: secrets in plain text are sealed, and sealed ones made to open here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo

import anyio.to_thread

from memstrata.errors import VaultUnavailable
from memstrata.records import Episode, Message, Record, Scope, Trust
from memstrata.runtime import Runtime, new_id
from memstrata.safety.redact import Redactor, marks_key, redacted, sealings
from memstrata.safety.rewriting import Redaction, rewritten
from memstrata.store.ports import NewBatch
from memstrata.store.rewrite import Page, Stored
from memstrata.store.secrets import Found
from memstrata.store.transfer import (
    ChangeRow,
    EntityRow,
    EvidenceRow,
    Loadable,
    SecretRow,
)
from memstrata.vault_keys import MARKS, Keys, Sealed, bound_to, mark_of

__all__ = ["admitted"]

Rows = list[Loadable]


async def admitted(
    runtime: Runtime, scope: Scope, rows: Sequence[Loadable]
) -> tuple[Rows, tuple[NewBatch, Found] | None]:
    """The rows as they may be stored, and the secrets that were taken out of them.

    `VaultUnavailable` where there are some and none can be sealed: nothing is lost, for the dump
    has them.
    """
    zone = await runtime.zone_of(scope)
    clean, redactor = await redacted(
        runtime, scope, lambda stand_in: _redacted(rows, stand_in, zone)
    )
    if redactor.reason and redactor.lost:
        raise VaultUnavailable(
            f"the dump has secrets in plain text, which cannot be sealed: {redactor.reason}"
        )
    clean = [
        replace(row, value=await _opening_here(runtime, scope, row.value))
        if isinstance(row.value, SecretRow)
        else row
        for row in clean
    ]
    if not redactor.found and not redactor.again:
        return clean, None
    batch = NewBatch(new_id("batch"), "load", "load", runtime.now())
    trust: dict[str, Trust] = {
        row.value.id: row.value.trust for row in rows if isinstance(row.value, Message | Record)
    }
    made = tuple(sealings(runtime, redactor, batch.id, trust))
    return clean, (batch, Found(made, tuple(dict.fromkeys(redactor.again))))


def _redacted(rows: Sequence[Loadable], stand_in: Redactor, zone: tzinfo) -> Rows:
    editor = Redaction(stand_in)
    page = Page(
        messages=tuple(
            Stored(row.value, row.digest, row.identity)
            for row in rows
            if isinstance(row.value, Message)
        ),
        records=tuple(row.value for row in rows if isinstance(row.value, Record)),
        quotes=(),
        reasons=(),
        names=(),
        after=None,
    )
    found = rewritten(page, editor, zone)
    messages = {new.message.id: new for _, new in found.messages}
    records = {(record.id, record.version): record for record in found.records}
    clean: Rows = []
    for row in rows:
        match row.value:
            case Message(id=key) if key in messages:
                new = messages[key]
                clean.append(Loadable(new.message, new.digest, new.identity))
            case Record(id=key, version=version) if (key, version) in records:
                clean.append(replace(row, value=records[key, version]))
            case Episode() | ChangeRow() | EvidenceRow():
                clean.append(replace(row, value=_edited(row.value, editor)))
            case EntityRow(name=name) if editor.text(name) != name:
                continue  # no name is a secret
            case _:
                clean.append(row)
    return clean


def _edited(
    value: Episode | ChangeRow | EvidenceRow, editor: Redaction
) -> Episode | ChangeRow | EvidenceRow:
    match value:
        case Episode():
            editor.source = None
            told = {name: editor.json(getattr(value, name)) for name in ("people", "topics")}
            told |= {name: editor.text(getattr(value, name)) for name in ("title", "summary")}
            return value.model_copy(update=told)
        case EvidenceRow():
            editor.source = value.source_id
            return value.model_copy(update={"quote": value.quote and editor.text(value.quote)})
        case ChangeRow():
            editor.source = None
            return value.model_copy(update={"reason": editor.text(value.reason)})


async def _opening_here(runtime: Runtime, scope: Scope, row: SecretRow) -> SecretRow:
    """A dumped secret, sealed to its entry of this tenant, and known by this store's marks."""
    mine = await _marks_here(runtime, row.marks_key)
    same = mine and row.tenant == scope.tenant
    if same or row.sealed is None or row.key_id is None:
        return row if same else row.model_copy(update={"marks": []})
    sealed = Sealed(row.key_id, bytes.fromhex(row.sealed))
    there = Scope(tenant=row.tenant, user_id=scope.user_id, agent_id=scope.agent_id)
    try:
        again = await anyio.to_thread.run_sync(
            _sealed_again, runtime.keys, sealed, there, scope, row.record_id
        )
    except VaultUnavailable:
        if row.tenant != scope.tenant:
            raise
        return row.model_copy(update={"marks": []})
    fresh, secret = again
    key = await marks_key(runtime, create=True)
    marks = [] if key is None else [(mark_of(secret, scope, key).hex(), "sealed")]
    update = {"key_id": fresh.key_id, "sealed": fresh.blob.hex(), "marks": marks}
    return row.model_copy(update=update)


def _sealed_again(
    keys: Keys, sealed: Sealed, there: Scope, here: Scope, record_id: str
) -> tuple[Sealed, str]:
    secret = keys.open(sealed, bound_to(there, record_id))
    if keys.current() is None:
        keys.new(first=True)
    return keys.seal(secret, bound_to(here, record_id)), secret.decode()


async def _marks_here(runtime: Runtime, given: tuple[str, str] | None) -> bool:
    """Whether the dump's marks are this store's; a store without any takes them over."""
    if given is None:
        return False
    key_id, sealed = given[0], bytes.fromhex(given[1])
    try:
        theirs = await anyio.to_thread.run_sync(runtime.keys.open, Sealed(key_id, sealed), MARKS)
        mine = await marks_key(runtime)
    except VaultUnavailable:
        return False
    if mine is None:
        await runtime.store.set_vault_key(key_id, sealed, None)
        mine = await marks_key(runtime)
    return mine == theirs
