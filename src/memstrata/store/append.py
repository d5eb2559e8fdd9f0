"""Appending messages: what is new is told from what was sent before, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memstrata.errors import Conflict
from memstrata.records import Scope
from memstrata.store.items import own_header, speaker_hash
from memstrata.store.ports import Appended, Draft, NewBatch, Passage, Row, Tx
from memstrata.store.rows import dumps, message_params, scope_params, signed

__all__ = ["add_batch", "append", "ensure_scope", "find_scope", "item_rows", "overlaps", "reserve"]


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
    """
    number = ensure_scope(tx, scope, batch.at)
    if (earlier := _earlier(tx, number, batch, drafts)) is not None:
        return earlier
    ids: dict[int, str] = {}
    known: dict[int, str] = {}
    fresh = _unknown(tx, number, drafts, ids, known)
    add_batch(tx, number, batch)
    _insert(tx, number, fresh)
    ids.update({draft.index: draft.message.id for draft in fresh})
    return Appended(batch.id, batch.state, ids, known)


def add_batch(tx: Tx, number: int, batch: NewBatch) -> None:
    """Note the call that writes."""
    tx.run(
        "batch_add",
        {
            "scope": number,
            "id": batch.id,
            "verb": batch.verb,
            "actor": batch.actor,
            "state": batch.state,
            "request": dumps(batch.request) if batch.request else None,
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
    tx: Tx, number: int, drafts: Sequence[Draft], ids: dict[int, str], known: dict[int, str]
) -> list[Draft]:
    """The drafts that are not stored yet; the others are noted in `ids` and `known`."""
    rest = _after_overlap(tx, number, drafts, ids, known)
    stored = _identified(tx, number, rest)
    fresh: list[Draft] = []
    for draft in rest:
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
    tx: Tx, number: int, drafts: Sequence[Draft], ids: dict[int, str], known: dict[int, str]
) -> list[Draft]:
    session = drafts[0].message.session_id if drafts else None
    if session is None or all(draft.identity is not None for draft in drafts):
        return list(drafts)
    talk = [draft for draft in drafts if draft.message.role != "system"]
    _prompts(tx, number, drafts if talk else [], ids, known)
    sent = talk or drafts
    params = {"scope": number, "session_id": session, "count": len(sent), "prompts": not talk}
    tail = tx.rows("session_tail", params)[::-1]
    lengths = overlaps([bytes(row[0]) for row in tail], [draft.digest for draft in sent])
    length = next((n for n in lengths if _agree(tail[len(tail) - n :], sent)), 0)
    for draft, row in zip(sent[:length], tail[len(tail) - length :], strict=True):
        ids[draft.index] = str(row[1])
        known[draft.index] = "the message is part of the session's stored history"
    return [draft for draft in drafts if draft.index not in known]


def _agree(stored: Sequence[Row], sent: Sequence[Draft]) -> bool:
    """Whether none of the sent has an id or a time of its own that is not the stored one's."""
    return all(
        row[2] is None or draft.identity is None or bytes(row[2]) == draft.identity
        for row, draft in zip(stored, sent, strict=False)
    )


def _prompts(
    tx: Tx, number: int, drafts: Sequence[Draft], ids: dict[int, str], known: dict[int, str]
) -> None:
    """Note the system prompts that the session has: they are sent again before every window."""
    prompts = [d for d in drafts if d.message.role == "system" and d.identity is None]
    stored = _in_session(tx, number, prompts)
    for draft in prompts:
        if draft.digest in stored:
            ids[draft.index] = stored[draft.digest]
            known[draft.index] = "the session has this system prompt already"


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
