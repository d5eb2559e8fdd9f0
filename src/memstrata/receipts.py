"""What the verbs that run and guard a store return."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from memstrata.records import BatchState, Change, JsonObject, Ledger, Value

__all__ = [
    "AuditEntry",
    "Backup",
    "Consolidation",
    "ErasureReceipt",
    "Exposure",
    "KeyRotation",
    "Restored",
]


class AuditEntry(Value):
    """One row of the audit log: who did what with something protected, when and why."""

    user_id: str | None = None
    agent_id: str | None = None
    at: datetime
    actor: str
    action: str
    target_id: str | None = None
    """What it was done with; of something erased since, a mark that says no more than that."""
    reason: str = ""
    detail: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Counts and the like; never what was remembered."""


class Backup(Value):
    """A copy of a whole store, sound when it was written, and what is in it."""

    path: str
    at: datetime
    """What was acknowledged before this is in it."""
    bytes: int
    messages: int
    records: int
    """Over all tenants; the records that stand."""
    vault_key: str | None = None
    """The short name of the key that opens its secrets, which is not in it; None if it has none."""


class Consolidation(Value):
    """What tidying a scope did: all of it is in the batch's changes, and can be undone."""

    batch_id: str
    """The batch that was written; empty if there was nothing to change."""
    state: BatchState
    reason: str | None = None
    """Why the state is `failed`."""
    duplicates: int = 0
    """Records that said what another one says, retired."""
    contradictions: int = 0
    """Facts that ended, or now wait for review, for a model found them to contradict another."""
    lapsed_plans: int = 0
    """Plans whose time is over, now past."""
    digests: int = 0
    """Digests of days and weeks that were written or made anew."""
    profile: bool = False
    """Whether the profile was written or made anew."""
    entities: int = 0
    """Entities dropped, for nothing mentions them any more; that is not undone."""
    themes: dict[str, int] = Field(default_factory=dict[str, int])
    """How many are `fewer`, how many records `moved` when they were rebuilt."""
    freed_bytes: int = 0
    """Given back to the file system."""
    changes: list[Change] = Field(default_factory=list[Change])
    notes: list[str] = Field(default_factory=list[str])
    """What was left alone, and why; what a model left undone; what may be two things by one name,
    or have changed, and stays as it is."""
    ledger: Ledger = Ledger()
    """What the batch has cost."""


class ErasureReceipt(Value):
    """What was, or with `dry_run` would be, erased for good."""

    batch_id: str = ""
    """The batch it is noted as, which names nothing of it; empty if nothing was erased."""
    state: Literal["done", "pending", "dry_run"]
    reason: str | None = None
    """Why the state is `pending`."""
    messages: int = 0
    records: int = 0
    versions: int = 0
    chunks: int = 0
    ids: list[str] = Field(default_factory=list[str])
    rebuilding: int = 0
    """How many messages that stay are distilled again, for records rested on them that went."""
    notes: list[str] = Field(default_factory=list[str])
    """What was not reached, in words."""


class Exposure(Value):
    """Something stored in which secrets stand in plain text."""

    id: str
    """The message, record, change or entity."""
    user_id: str | None = None
    agent_id: str | None = None
    captions: list[str]
    """What they are; not what they say."""


class KeyRotation(Value):
    """What a change of the vault's key did."""

    key_id: str
    """The short name of the key that seals now; it says nothing about the key."""
    resealed: int
    remaining: int
    """Secrets still under another key, which was not to be had: they stay as they were."""


class Restored(Value):
    """What a store holds that was put in place from a backup."""

    path: str
    bytes: int
    messages: int
    records: int
    """Over all tenants; the records that stand."""
    vault_key: str | None = None
    """The short name of the key that opens its secrets, which is not in it; None if it has none."""
    replaced: str | None = None
    """Where the store is now that was there before."""
