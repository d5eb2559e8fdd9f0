"""Redaction: secrets leave a text before it is stored, into the vault, or for good."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio.to_thread

from memstrata.errors import VaultUnavailable
from memstrata.ingest.versions import new_record, put_version
from memstrata.kinds import KindModel, Vault
from memstrata.records import Evidence, Scope, Trust
from memstrata.runtime import Runtime, new_id
from memstrata.store.ports import PutSecret, Sealing
from memstrata.store.secrets import Known
from memstrata.text.standin import removed, sealed_as
from memstrata.vault_keys import MARKS, Keys, Sealed, bound_to, mark_of

__all__ = ["Redactor", "fingerprint_of", "marks_key", "redacted", "seal", "sealings"]

T = TypeVar("T")


@dataclass(slots=True)
class _Found:
    """A secret that is new in its scope."""

    record_id: str
    caption: str
    sealed: Sealed
    sources: list[str] = field(default_factory=list[str])


class Redactor:
    """What stands in for the secrets of one call: `[vault:<id> caption]`, where it is sealed.

    Where the vault cannot seal, `[secret removed: caption]`, and the secret is not kept.
    """

    def __init__(
        self, scope: Scope, keys: Keys, marks: bytes | None, known: dict[bytes, Known]
    ) -> None:
        self.scope = scope
        self.source: str | None = None
        """The message or record that is being read."""
        self.wanting = False
        """Whether a secret was found, and there is no vault yet to seal it in."""
        self.reason = ""
        """Why nothing can be sealed."""
        self.found: dict[bytes, _Found] = {}
        self.lost = False
        """Whether a secret was masked, and is not kept."""
        self.again: list[tuple[str, str]] = []
        """Entries that were there before, and the source that names their secret once more."""
        self._keys = keys
        self._marks = marks
        self._known = known
        self._sealed: dict[str | None, list[str]] = {}
        self._lost: dict[str | None, list[str]] = {}
        self._old: dict[str | None, list[str]] = {}

    def __call__(self, secret: str, caption: str) -> str:
        if self.reason or self._marks is None:
            self.wanting = not self.reason
            return self._remove(secret, caption)
        mark = mark_of(secret, self.scope, self._marks)
        known = self._known.get(mark)
        if known is not None:
            if known.state == "released":
                return secret
            record_id = known.record_id
            if self.source is not None:
                self.again.append((record_id, self.source))
            if known.state == "replaced":
                self._old.setdefault(self.source, []).append(f"{caption} ({record_id})")
                return sealed_as(record_id, caption)
        else:
            try:
                record_id = self._seal(mark, secret, caption)
            except VaultUnavailable as error:
                self.reason = str(error)
                return self._remove(secret, caption)
        self._sealed.setdefault(self.source, []).append(f"{caption} ({record_id})")
        return sealed_as(record_id, caption)

    def _remove(self, secret: str, caption: str) -> str:
        self.lost = True
        self._lost.setdefault(self.source, []).append(caption)
        return removed(secret, caption)

    def _seal(self, mark: bytes, secret: str, caption: str) -> str:
        found = self.found.get(mark)
        if found is None:
            record_id = new_id(Vault.prefix)
            sealed = self._keys.seal(secret.encode(), bound_to(self.scope, record_id))
            found = self.found[mark] = _Found(record_id, caption, sealed)
        if self.source is not None and self.source not in found.sources:
            found.sources.append(self.source)
        return found.record_id

    def notes(self, source: str | None) -> list[str]:
        """What was done to a source's secrets, in words."""
        notes: list[str] = []
        if sealed := self._sealed.get(source):
            notes.append(f"secrets were sealed in the vault: {', '.join(dict.fromkeys(sealed))}")
        if old := self._old.get(source):
            notes.append(
                "secrets were masked and not kept, because they had been replaced by newer ones: "
                f"{', '.join(dict.fromkeys(old))}; put them in the vault to keep them"
            )
        if lost := self._lost.get(source):
            why = f" ({self.reason})" if self.reason else ""
            what = ", ".join(dict.fromkeys(lost))
            notes.append(f"secrets were masked and not kept{why}: {what}")
        return notes


async def redacted(
    runtime: Runtime, scope: Scope, work: Callable[[Redactor], T]
) -> tuple[T, Redactor]:
    """Run `work` on a worker thread with a redactor that knows the scope's secrets.

    It runs again when it came upon the first secret of all, or one that is known already.
    """
    known: dict[bytes, Known] = {}
    reason = ""
    while True:
        try:
            marks = None if reason else await marks_key(runtime)
        except VaultUnavailable as error:
            marks, reason = None, str(error)
        redactor = Redactor(scope, runtime.keys, marks, known)
        redactor.reason = reason
        result = await anyio.to_thread.run_sync(work, redactor)
        if redactor.wanting:
            try:
                await marks_key(runtime, create=True)
            except VaultUnavailable as error:
                reason = str(error)
            continue
        if not redactor.found:
            return result, redactor
        again = await runtime.store.known_secrets(scope, redactor.found)
        if not again:
            return result, redactor
        known.update(again)


async def marks_key(runtime: Runtime, *, create: bool = False) -> bytes | None:
    """The key by which secrets are known again, opened once; None if nothing was ever sealed.

    With `create` it is made, and the vault's first key with it.
    """
    if runtime.marks_key is None:
        held = await runtime.store.vault_key()
        lost = None
        if held is not None:
            try:
                runtime.marks_key = await _open(runtime, held)
            except VaultUnavailable:
                if not create or await runtime.store.count_not_under(""):
                    raise
                lost = held[0]
        if create and runtime.marks_key is None:
            sealed = await anyio.to_thread.run_sync(_found_vault, runtime.keys)
            held = await runtime.store.set_vault_key(sealed.key_id, sealed.blob, lost)
            runtime.marks_key = await _open(runtime, held)
    return runtime.marks_key


async def _open(runtime: Runtime, held: tuple[str, bytes]) -> bytes:
    return await anyio.to_thread.run_sync(runtime.keys.open, Sealed(*held), MARKS)


def _found_vault(keys: Keys) -> Sealed:
    if keys.current() is None:
        keys.new(first=True)
    return keys.seal(os.urandom(32), MARKS)


def fingerprint_of(model: KindModel, mark: bytes) -> str:
    """The fingerprint of a sealed entry: of two with one caption each has its own secret."""
    return hashlib.blake2b(model.fingerprint().encode() + mark, digest_size=16).hexdigest()


async def seal(
    runtime: Runtime, scope: Scope, record_id: str, model: KindModel, secret: str
) -> PutSecret:
    """The write that seals the secret of an entry; `VaultUnavailable` where that cannot be."""
    key = await marks_key(runtime, create=True)
    assert key is not None
    to = bound_to(scope, record_id)
    sealed = await anyio.to_thread.run_sync(runtime.keys.seal, secret.encode(), to)
    mark = mark_of(secret, scope, key)
    return PutSecret(record_id, sealed.key_id, sealed.blob, mark, fingerprint_of(model, mark))


def sealings(
    runtime: Runtime, redactor: Redactor, batch_id: str, trust: dict[str, Trust]
) -> list[Sealing]:
    """The vault entries of the secrets that were found, each resting on what names it.

    `trust` is that of the sources.
    """
    made: list[Sealing] = []
    for mark, found in redactor.found.items():
        told: list[Trust] = [trust[source] for source in found.sources if source in trust]
        model = Vault(
            entry_type=found.caption,
            caption=found.caption,
            sealed=True,
            sensitivity="high",
            trust=told[0] if told else "user",
            evidence=[Evidence(source_id=source) for source in found.sources],
        )
        new = new_record(runtime, redactor.scope, model, batch_id, None)
        own = {"id": found.record_id, "fingerprint": fingerprint_of(model, mark)}
        write = put_version(runtime, new.model_copy(update=own), "create", reason="redaction")
        secret = PutSecret(found.record_id, found.sealed.key_id, found.sealed.blob, mark)
        made.append(Sealing(write, secret))
    return made
