"""Appending messages: what is new is told from what was sent before, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memstrata.errors import Conflict
from memstrata.records import Scope
from memstrata.store.items import own_header, speaker_hash
from memstrata.store.ports import Appended, Draft, NewBatch, Passage, Row, Tx
from memstrata.store.rows import dumps, message_params, scope_params, signed
from memstrata.store.tombstones import Tombstones, Turn, mark

__all__ = ["add_batch", "append", "ensure_scope", "find_scope", "item_rows", "overlaps", "reserve"]

_FORGOTTEN = (
    "the message was forgotten since it was first sent, and a replay does not bring it back; a new "
    "statement of it is stored"
)


def find_scope(tx: Tx, scope: Scope) -> int | None:
    """The number of a scope, None if nothing was ever written in it."""
    row = tx.one("scope_find", scope_params(scope))
    return None if row is None else int(row[0])


def ensure_scope(tx: Tx, scope: Scope, at: int) -> int:
    """The number of a scope, which is created if need be."""
    number = find_scope(tx, scope)
    if number is None:
        tx.run("scope_add", {**scope_params(scope), "at": at})
        number = find_scope(tx, scope)
    assert number is not None
    return number


def reserve(tx: Tx, count: int) -> int:
    """Take `count` sequence numbers; the first of them."""
    row = tx.one("reserve", {"count": count})
    assert row is not None
    return int(row[0]) - count + 1


def overlaps(stored: Sequence[bytes], sent: Sequence[bytes]) -> Iterator[int]:
    """The lengths of the beginnings of `sent` that `stored` ends with, the longest first.

    The Knuth-Morris-Pratt failure function over `sent + separator + stored`: linear in both.
    """
    pattern: list[bytes | None] = [*sent, None, *stored]
    fail = [0] * len(pattern)
    length = 0
    for place in range(1, len(pattern)):
        while length and pattern[place] != pattern[length]:
            length = fail[length - 1]
        if pattern[place] == pattern[length]:
            length += 1
        fail[place] = length
    length = fail[-1] if stored and sent else 0
    while length:
        yield length
        length = fail[length - 1]


def append(tx: Tx, scope: Scope, batch: NewBatch, drafts: Sequence[Draft]) -> Appended:
    """Store the drafts that are new, with their items, and the batch.

    The same idempotency key, or the same whole batch without a session, gives the earlier batch.
    What was erased is not stored again by a replay; a new statement of it is.
    """
    number = ensure_scope(tx, scope, batch.at)
    buried = Tombstones(tx, number)
    if (earlier := _earlier(tx, number, batch, drafts)) is not None:
        return earlier
    if (forgotten := _forgotten(buried, batch, drafts)) is not None:
        return forgotten
    ids: dict[int, str] = {}
    known: dict[int, str] = {}
    fresh = _unknown(tx, number, drafts, buried, ids, known)
    # Nothing is known by the hash of a batch that brought nothing, and erasing would not find it.
    digest = batch.digest if fresh or batch.idempotency_key else None
    add_batch(tx, number, replace(batch, digest=digest), brought=len(fresh))
    _insert(tx, number, fresh)
    ids.update({draft.index: draft.message.id for draft in fresh})
    return Appended(batch.id, batch.state, ids, known)


def add_batch(tx: Tx, number: int, batch: NewBatch, *, brought: int = 0) -> None:
    """Note the call that writes, and how many messages it brings."""
    tx.run(
        "batch_add",
        {
            "scope": number,
            "id": batch.id,
            "verb": batch.verb,
            "actor": batch.actor,
            "state": batch.state,
            "request": dumps(batch.request) if batch.request else None,
            "brought": brought,
            "digest": batch.digest,
            "idempotency_key": batch.idempotency_key,
            "at": batch.at,
        },
    )


def _earlier(tx: Tx, number: int, batch: NewBatch, drafts: Sequence[Draft]) -> Appended | None:
    row = None
    if batch.idempotency_key is not None:
        key = {"scope": number, "idempotency_key": batch.idempotency_key}
        row = tx.one("batch_by_key", key)
        if row is not None and row[2] != batch.digest:
            raise Conflict(
                f"idempotency_key {batch.idempotency_key!r} was used for other content (batch "
                f"{row[0]}): use a new key for new content"
            )
    elif batch.digest is not None and all(d.message.session_id is None for d in drafts):
        row = tx.one("batch_by_digest", {"scope": number, "digest": batch.digest})
    if row is None:
        return None
    stored = tx.rows("message_of_batch", {"scope": number, "batch_id": row[0]})
    ids = _repeated(tx, number, stored, drafts)
    same = f"the same content was stored before, as batch {row[0]}"
    known = {
        draft.index: same if draft.index in ids else f"{same}, and this part forgotten since"
        for draft in drafts
    }
    return Appended(str(row[0]), row[1], ids, known, repeated=True)


def _forgotten(buried: Tombstones, batch: NewBatch, drafts: Sequence[Draft]) -> Appended | None:
    """The batch that brought the same and was erased; `Conflict` as if it were there."""
    if not buried or batch.digest is None:
        return None
    key = batch.idempotency_key
    same = buried.find("batch", [batch.digest])
    if key is not None:
        keys = buried.find("key", [key])
        if not keys:
            return None
        if not same:
            raise Conflict(
                f"idempotency_key {key!r} was used for other content (batch {keys[key]}, whose "
                "content was forgotten): use a new key for new content"
            )
        return _nothing(keys[key], drafts)
    if not same or any(draft.message.session_id is not None for draft in drafts):
        return None
    return _nothing(same[batch.digest], drafts)


def _nothing(batch_id: str, drafts: Sequence[Draft]) -> Appended:
    why = (
        f"the same content was stored before, as batch {batch_id}, and forgotten since: it is not "
        "stored again; to state it anew, say it in a session or at a time of its own"
    )
    return Appended(batch_id, "done", {}, {d.index: why for d in drafts}, repeated=True)


def _repeated(
    tx: Tx, number: int, stored: Sequence[Row], drafts: Sequence[Draft]
) -> dict[int, str]:
    """Under which ids a batch that is repeated is stored; part of it was known even then."""
    own: dict[bytes, list[str]] = {}
    for _, message_id, digest in stored:
        own.setdefault(bytes(digest), []).append(str(message_id))
    elsewhere = _in_session(tx, number, [d for d in drafts if d.digest not in own])
    named = _identified(tx, number, drafts)
    ids: dict[int, str] = {}
    for draft in drafts:
        if same := own.get(draft.digest):
            ids[draft.index] = same.pop(0) if len(same) > 1 else same[0]
        elif draft.identity in named:
            ids[draft.index] = named[draft.identity][0]
        elif draft.digest in elsewhere:
            ids[draft.index] = elsewhere[draft.digest]
    return ids


def _identified(
    tx: Tx, number: int, drafts: Sequence[Draft]
) -> dict[bytes | None, tuple[str, str]]:
    """Id and text of the stored messages with the identities of these drafts, by identity."""
    identities = [draft.identity.hex() for draft in drafts if draft.identity is not None]
    rows = tx.rows("identity_find", {"scope": number, "identities": dumps(identities)})
    return {bytes(row[0]): (str(row[1]), str(row[2])) for row in rows}


def _in_session(tx: Tx, number: int, drafts: Sequence[Draft]) -> dict[bytes, str]:
    """Ids of the messages of the drafts' session that say the same, by digest."""
    session = drafts[0].message.session_id if drafts else None
    if session is None:
        return {}
    digests = dumps([draft.digest.hex() for draft in drafts])
    params = {"scope": number, "session_id": session, "digests": digests}
    return {bytes(row[0]): str(row[1]) for row in tx.rows("session_find", params)}


def _unknown(
    tx: Tx,
    number: int,
    drafts: Sequence[Draft],
    buried: Tombstones,
    ids: dict[int, str],
    known: dict[int, str],
) -> list[Draft]:
    """The drafts that are not stored yet; the others are noted in `ids` and `known`."""
    rest = _after_overlap(tx, number, drafts, buried, ids, known)
    stored = _identified(tx, number, rest)
    identities = {d.identity for d in rest if d.identity is not None and d.identity not in stored}
    forgotten = buried.find("identity", identities)
    fresh: list[Draft] = []
    for draft in rest:
        if draft.identity is not None and draft.identity in forgotten:
            known[draft.index] = _FORGOTTEN
            continue
        if draft.identity is None or draft.identity not in stored:
            fresh.append(draft)
            if draft.identity is not None:
                stored[draft.identity] = (draft.message.id, draft.message.content)
            continue
        ids[draft.index], content = stored[draft.identity]
        same = content == draft.message.content
        known[draft.index] = (
            "the message is stored already"
            if same
            else f"a message with the id {draft.message.external_id!r} is stored already, with "
            "other text, which was kept: give the new wording an id of its own"
        )
    return fresh


def _after_overlap(
    tx: Tx,
    number: int,
    drafts: Sequence[Draft],
    buried: Tombstones,
    ids: dict[int, str],
    known: dict[int, str],
) -> list[Draft]:
    session = drafts[0].message.session_id if drafts else None
    if session is None or all(draft.identity is not None for draft in drafts):
        return list(drafts)
    talk = [draft for draft in drafts if draft.message.role != "system"]
    _prompts(tx, number, drafts if talk else [], buried, ids, known)
    sent = talk or drafts
    params = {"scope": number, "session_id": session, "count": len(sent), "prompts": not talk}
    live = [_Live(*row) for row in tx.rows("session_tail", params)[::-1]]
    tails: list[Sequence[_Live | Turn]] = [live]
    if buried and (turns := buried.turns(session, len(sent), prompts=not talk)):
        # Who sends the history may have dropped what was forgotten from it, or not.
        tails.append(sorted([*live, *turns], key=lambda turn: turn.place)[-len(sent) :])
    overlap = max((_overlap(tail, sent) for tail in tails), key=len)
    for draft, turn in zip(sent, overlap, strict=False):
        if isinstance(turn, _Live):
            ids[draft.index] = turn.id
            known[draft.index] = "the message is part of the session's stored history"
        else:
            known[draft.index] = _FORGOTTEN
    return [draft for draft in drafts if draft.index not in known]


@dataclass(frozen=True, slots=True)
class _Live:
    """A turn of a session that is stored."""

    place: int
    digest: bytes
    id: str
    identity: bytes | None

    def agrees(self, identity: bytes | None) -> bool:
        return self.identity is None or identity is None or self.identity == identity


def _overlap(tail: Sequence[_Live | Turn], sent: Sequence[Draft]) -> Sequence[_Live | Turn]:
    """The longest end of a session with which what is sent begins.

    None of the sent has an id or a time of its own that is not the stored one's. A single turn
    that was erased, and nothing else, is no replay: who says it again states it anew.
    """
    digests = {draft.digest for draft in sent}
    keys = {(turn.salt, turn.what) for turn in tail if isinstance(turn, Turn)}
    said = {mark(*key, digest): digest for key in keys for digest in digests}
    stored = [t.digest if isinstance(t, _Live) else said.get(t.mark, b"") for t in tail]
    for length in overlaps(stored, [draft.digest for draft in sent]):
        end = tail[len(tail) - length :]
        agree = all(t.agrees(d.identity) for t, d in zip(end, sent, strict=False))
        if agree and not (length == 1 and isinstance(end[0], Turn)):
            return end
    return ()


def _prompts(
    tx: Tx,
    number: int,
    drafts: Sequence[Draft],
    buried: Tombstones,
    ids: dict[int, str],
    known: dict[int, str],
) -> None:
    """Note the system prompts that the session has: they are sent again before every window."""
    prompts = [d for d in drafts if d.message.role == "system" and d.identity is None]
    if not prompts:
        return
    stored = _in_session(tx, number, prompts)
    session = prompts[0].message.session_id or ""
    erased = buried.prompts(session, {d.digest for d in prompts if d.digest not in stored})
    for draft in prompts:
        if draft.digest in stored:
            ids[draft.index] = stored[draft.digest]
            known[draft.index] = "the session has this system prompt already"
        elif draft.digest in erased:
            known[draft.index] = _FORGOTTEN


def _insert(tx: Tx, number: int, drafts: Sequence[Draft]) -> None:
    total = sum(len(draft.passages) for draft in drafts)
    if not total:
        return
    seq = first = reserve(tx, total)
    rows: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    stamp = first + total - 1
    for draft in drafts:
        rows.append(
            {
                "scope": number,
                "seq": seq,
                "digest": draft.digest,
                "identity": draft.identity,
                **message_params(draft.message),
            }
        )
        items.extend(item_rows(number, seq, stamp, draft.passages))
        seq += len(draft.passages)
    tx.many("message_add", rows)
    tx.many("item_add", items)
    names = {draft.message.speaker for draft in drafts}
    speakers = ({"scope": number, "hash": signed(speaker_hash(n)), "name": n} for n in names)
    tx.many("speaker_add", speakers)
    tx.run("scope_touch", {"scope": number, "stamp": stamp})


def item_rows(
    number: int, owner: int, stamp: int, passages: Sequence[Passage]
) -> list[dict[str, object]]:
    """The index rows of a message or version whose first sequence number is `owner`."""
    return [
        {
            "scope": number,
            "seq": owner + place,
            "owner": owner,
            "stamp": stamp,
            "start": passage.start,
            "stop": passage.stop,
            "header": own_header(passage.header, owner),
            "terms": passage.terms,
        }
        for place, passage in enumerate(passages)
    ]
