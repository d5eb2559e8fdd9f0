"""What was erased, as hashes keyed with a random salt: a replay is known by them, nothing is read.

A scope has one salt of its own, and those of the stores its dumps came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from memstrata.store.ports import Tx
from memstrata.store.rows import dumps

__all__ = ["SALT_BYTES", "Tombstone", "Tombstones", "Turn", "bury", "mark"]

SALT_BYTES = 16

What = Literal["id", "identity", "batch", "key", "fact", "line", "prompt"]
"""What is hashed: an id, a message's identity, the digest or key of a batch whose all is gone, the
fingerprint of a record that was itself named to be erased, a turn or system prompt of a session."""


def mark(salt: bytes, what: str, value: bytes | str) -> bytes:
    """The keyed hash of a value; of equal values of two sorts it differs."""
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return hashlib.blake2b(data, digest_size=16, key=salt, person=what.encode()).digest()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One thing that is about to be erased."""

    what: What
    value: bytes | str
    ref: str | None = None
    """Of a batch or key: the id of the batch."""
    session_id: str | None = None
    place: int = 0
    """Of a turn: where it stood in its session."""
    id: str = ""
    identity: bytes | None = None
    """Of a turn: what else the message is known by."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a session that was erased."""

    place: int
    salt: bytes
    what: str
    mark: bytes
    identity: bytes | None
    """The mark of the message's identity."""

    def agrees(self, identity: bytes | None) -> bool:
        """Whether a message with this identity may be the one that was erased."""
        known = None if identity is None else mark(self.salt, "identity", identity)
        return known is None or self.identity is None or known == self.identity


def bury(tx: Tx, number: int, at: int, salt: bytes, stones: Iterable[Tombstone]) -> bytes:
    """Write tombstones, keyed with the scope's salt if it has one, else with this; the one used."""
    salts = Tombstones(tx, number).salts
    key = salts[0] if salts else salt
    tx.many("tombstone_add", ({"scope": number, "at": at, **_row(key, one)} for one in stones))
    return key


def _row(salt: bytes, stone: Tombstone) -> dict[str, Any]:
    session, ref = None, stone.ref
    if stone.session_id is not None:
        session = mark(salt, "session", stone.session_id)
        ref = mark(salt, "id", stone.id).hex()
        if stone.identity is not None:
            ref += f".{mark(salt, 'identity', stone.identity).hex()}"
    return {
        "salt": salt,
        "what": stone.what,
        "mark": mark(salt, stone.what, stone.value),
        "place": stone.place,
        "session": session,
        "ref": ref,
    }


@dataclass(slots=True)
class Tombstones:
    """What is known of what was erased in one scope; false if nothing was."""

    tx: Tx
    number: int
    salts: Sequence[bytes] = field(default=(), init=False)

    def __post_init__(self) -> None:
        found: list[bytes] = []
        last = b""
        while (row := self.tx.one("tombstone_salt", self._params(after=last))) and row[0]:
            last = bytes(row[0])
            found.append(last)
        self.salts = tuple(found)

    def __bool__(self) -> bool:
        return bool(self.salts)

    def _params(self, **more: Any) -> dict[str, Any]:
        return {"scope": self.number, **more}

    def find(
        self, what: What, values: Collection[bytes] | Collection[str]
    ) -> dict[bytes | str, str]:
        """Of these values those that were erased, each with what its tombstone refers to."""
        found: dict[bytes | str, str] = {}
        for salt in self.salts if values else ():
            marks = {mark(salt, what, value): value for value in values}
            sought = self._params(
                salt=salt, what=what, marks=dumps([known.hex() for known in marks])
            )
            for known, ref in self.tx.rows("tombstone_find", sought):
                found[marks[bytes(known)]] = ref or ""
        return found

    def turns(self, session_id: str, count: int, *, prompts: bool) -> list[Turn]:
        """The last erased turns of a session, newest first, system prompts among them if asked."""
        found: list[Turn] = []
        for salt in self.salts:
            session = mark(salt, "session", session_id)
            rows = self.tx.rows(
                "tombstone_turns", self._params(session=session, prompts=prompts, count=count)
            )
            for place, what, known, ref in rows:
                _, _, identity = str(ref or "").partition(".")
                own = bytes.fromhex(identity) if identity else None
                found.append(Turn(int(place), salt, str(what), bytes(known), own))
        return sorted(found, key=lambda turn: -turn.place)[:count]

    def prompts(self, session_id: str, digests: Collection[bytes]) -> set[bytes]:
        """Of these digests those of system prompts that were erased in a session."""
        found: set[bytes] = set()
        for salt in self.salts if digests else ():
            marks = {mark(salt, "prompt", digest): digest for digest in digests}
            sought = self._params(
                session=mark(salt, "session", session_id),
                salt=salt,
                marks=dumps([known.hex() for known in marks]),
            )
            rows = self.tx.rows("tombstone_prompts", sought)
            found.update(marks[bytes(row[0])] for row in rows)
        return found
