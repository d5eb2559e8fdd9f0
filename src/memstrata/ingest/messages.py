"""Chat messages in the shapes callers have, read into drafts the store can append."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Protocol, cast

from memstrata.arguments import check_depth, moment
from memstrata.errors import InvalidInput
from memstrata.passages import Limits, chunk
from memstrata.records import JsonObject, Message, Skipped, Trust, micros
from memstrata.runtime import new_id
from memstrata.store.items import message_passages
from memstrata.store.ports import Draft
from memstrata.text import time as time_expressions
from memstrata.text.analyse import repair
from memstrata.text.clean import clean_json, clean_text
from memstrata.text.secrets import names_secret
from memstrata.turns import read_turn, split_content, unread_keys

__all__ = ["EMPTY", "Defaults", "Prepared", "StandsIn", "prepare", "rehashed"]

EMPTY = "the message is empty"

_TRUST: Mapping[str, Trust] = {"user": "user", "assistant": "agent", "tool": "tool"}


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for every message of a call that does not say otherwise."""

    batch_id: str
    now: datetime
    zone: tzinfo
    user_id: str | None
    agent_id: str | None
    session_id: str | None
    occurred_at: datetime | None
    metadata: JsonObject
    tags: Sequence[str]
    trust: Trust | None
    limits: Limits


@dataclass(slots=True)
class Prepared:
    """Drafts ready to append, and what was not taken as it was given."""

    drafts: list[Draft] = field(default_factory=list[Draft])
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    digest: bytes = b""


class StandsIn(Protocol):
    """What stands in for secrets: a `StandIn` that is told whose they are, and says what it did."""

    source: str | None

    def __call__(self, secret: str, caption: str) -> str: ...

    def notes(self, source: str | None) -> list[str]:
        """What was done to a source's secrets, in words."""
        ...


def prepare(messages: Sequence[Any], defaults: Defaults, stand_in: StandsIn) -> Prepared:
    """Validate, clean, redact and index messages; a bad one is reported by index, the rest kept.

    Pure but for new ids; slow for many messages, so callers run it on a worker thread.
    """
    prepared = Prepared()
    whole = hashlib.blake2b(digest_size=16)
    whole.update(repr((defaults.session_id, _stamp(defaults.occurred_at, defaults))).encode())
    last = b""
    for index, given in enumerate(messages):
        draft = _draft(index, given, defaults, prepared.skipped, stand_in)
        if draft is None:
            continue
        key = draft.digest + (draft.identity or b"") + str(draft.own_time).encode()
        if key == last and defaults.session_id is None:
            reason = "the same message stands right before it"
            prepared.skipped.append(Skipped(index=index, reason=reason))
            continue
        last = key
        whole.update(len(key).to_bytes(2, "little") + key)
        prepared.drafts.append(draft)
    prepared.digest = whole.digest()
    return prepared


def _stamp(when: datetime | None, defaults: Defaults) -> int | None:
    return None if when is None else micros(_aware(when, defaults.zone))


def _aware(when: datetime, zone: tzinfo) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=zone)


def _draft(
    index: int, given: Any, defaults: Defaults, skipped: list[Skipped], stand_in: StandsIn
) -> Draft | None:
    try:
        turn = read_turn(given)
        stated = moment("occurred_at", turn.occurred_at, defaults.zone)
        raw, parts = split_content(turn)
        check_depth("metadata", turn.metadata)
        check_depth("content", parts)
    except InvalidInput as error:
        skipped.append(Skipped(index=index, reason=str(error)))
        return None
    if not raw.strip() and not parts:
        skipped.append(Skipped(index=index, reason=EMPTY))
        return None
    stand_in.source = message_id = new_id("msg")
    cleaned = clean_text(raw, stand_in)
    notes = [*unread_keys(turn), *cleaned.notes]
    own_id = None if turn.id is None else repair(turn.id)[0]
    if own_id is not None and names_secret(own_id):
        own_id = None
        notes.append("its id looks like a secret and was not kept")
    occurred_at = stated or defaults.occurred_at or defaults.now
    stored = Message(
        id=message_id,
        external_id=own_id,
        user_id=defaults.user_id,
        agent_id=defaults.agent_id,
        session_id=defaults.session_id,
        role=clean_text(turn.role).text,
        name=clean_text(turn.name, stand_in).text if turn.name else None,
        content=cleaned.text,
        parts=cast("list[JsonObject]", clean_json(parts, stand_in)),
        occurred_at=_aware(occurred_at, defaults.zone),
        recorded_at=defaults.now,
        trust=turn.trust or defaults.trust or _trust(turn.role, parts),
        tags=cast("list[str]", clean_json([*defaults.tags, *turn.tags], stand_in)),
        metadata=cast("JsonObject", clean_json({**defaults.metadata, **turn.metadata}, stand_in)),
        batch_id=defaults.batch_id,
    )
    notes += stand_in.notes(message_id)
    skipped.extend(Skipped(index=index, reason=note, stored=True) for note in notes)
    return _finish(index, stored, stated, defaults)


def _trust(role: str, parts: Sequence[Any]) -> Trust:
    """By who speaks; a turn that carries what a tool answered is trusted no more than the tool."""
    blocks = [cast("Mapping[str, Any]", part) for part in parts if isinstance(part, Mapping)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return "tool"
    return _TRUST.get(role, "agent")


def _finish(index: int, message: Message, stated: datetime | None, defaults: Defaults) -> Draft:
    if time_expressions.has_cue(message.content):
        spans = time_expressions.resolve(
            message.content, said_at=message.occurred_at, zone=defaults.zone
        )
        message = message.model_copy(update={"spans": spans})
    # Of what is stored: a secret that comes again stands as the same entry of the vault.
    digest = _hash(message.speaker, message.content)
    chunks = chunk(message.content, defaults.limits, speaker=message.name)
    return Draft(
        index=index,
        message=message,
        digest=digest,
        identity=_identity(message, digest, stated),
        own_time=None if stated is None else micros(stated),
        passages=message_passages(message, chunks),
    )


def rehashed(message: Message, identity: bytes | None) -> tuple[bytes, bytes | None]:
    """Digest and identity of a message whose text has changed, given the identity it had."""
    digest = _hash(message.speaker, message.content)
    # It has one without an id of its own only where it says itself when it was said.
    stated = None if identity is None else message.occurred_at
    return digest, _identity(message, digest, stated)


def _identity(message: Message, digest: bytes, stated: datetime | None) -> bytes | None:
    """What makes it the same message when it is sent again; None leaves that to its place."""
    session = message.session_id or ""
    if message.external_id is not None:
        return _hash("id", session, message.external_id)
    if message.session_id is not None and stated is not None:
        return _hash("time", session, str(micros(stated)), digest.hex())
    return None


def _hash(*parts: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()
