"""What must hold on a file after processes were killed on it, whatever they were doing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
from faults.deeds import UNEARTHED, Ledger

from memstrata import Memory
from memstrata.errors import NotFound
from memstrata.records import Record

__all__ = ["problems"]

MANY = 10_000


def problems(memory: Memory, path: Path, ledger: Ledger) -> Iterator[str]:
    """What was acknowledged and is not so, before and after the waiting batches were worked off."""
    yield from (f"left unsound: {problem}" for problem in memory.verify())
    yield from _messages(path, ledger)
    yield from _work_off(memory)
    yield from (f"unsound when worked off: {problem}" for problem in memory.verify())
    yield from _messages(path, ledger)
    yield from _forgotten(path, ledger)
    yield from _themes(path)
    yield from _facts(memory, ledger)
    yield from _secrets(memory, path, ledger)
    yield from _rest(memory, ledger)


def _rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(5_000)
        return list(connection.execute(sql))
    finally:
        connection.close()


def _messages(path: Path, ledger: Ledger) -> Iterator[str]:
    """Acknowledged messages are there, once each; those of an undone batch are hidden."""
    rows = _rows(path, "SELECT id, content, batch_id, hidden_at IS NOT NULL FROM messages")
    there = {str(row[0]) for row in rows}
    for one, word in ledger.messages.items():
        if one not in there and word not in ledger.asked_gone:
            yield f"acknowledged message {one} ({word}) is gone"
    contents = [str(row[1]) for row in rows]
    said = "\n".join(contents)
    for word in ledger.owner:
        if said.count(word) > 1:
            yield f"{word} is stored {said.count(word)} times"
    for one, _, batch, hidden in rows:
        if batch in ledger.hidden and not hidden:
            yield f"message {one} of the undone batch {batch} is shown"
        if hidden and batch not in ledger.asked_hidden:
            yield f"message {one} is hidden, which nobody asked for"


def _work_off(memory: Memory) -> Iterator[str]:
    for scope in memory.scopes():
        view = {"user_id": scope["user_id"], "agent_id": scope["agent_id"]}
        for batch in memory.batches(limit=MANY, **view):
            if batch.state in ("pending", "running", "failed"):
                call = memory.retry if batch.state == "failed" else memory.wait_for
                ended = call(batch.id, **view)
                if ended.state not in ("done", "undone"):
                    yield f"batch {batch.id} ({batch.verb}) ended {ended.state}: {ended.reason}"


def _forgotten(path: Path, ledger: Ledger) -> Iterator[str]:
    """No column of any table has a word of what was forgotten."""
    if not ledger.gone:
        return
    for (table,) in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        texts = (str(cell) for row in _rows(path, f"SELECT * FROM {table}") for cell in row
                 if isinstance(cell, str))  # fmt: skip
        everything = "\n".join(texts)
        for word in sorted(ledger.gone):
            if word in everything:
                yield f"{word} was forgotten and stands in {table}"


def _themes(path: Path) -> Iterator[str]:
    """What stands and was looked through is in a theme, as it is now."""
    rows = _rows(
        path,
        "SELECT r.id FROM records r JOIN scopes c ON c.scope = r.scope AND r.seq < c.themed "
        "WHERE r.closed_at IS NULL AND r.kind NOT IN ('core', 'vault') "
        "AND r.lifecycle <> 'retired' AND r.sensitivity <> 'high' "
        "AND json_extract(r.fields, '$.event_type') IS NOT 'digest' AND NOT EXISTS (SELECT 1 "
        "FROM theme_members m WHERE m.scope = r.scope AND m.record_id = r.id AND m.seq = r.seq)",
    )
    yield from (f"record {one} was looked through and is in no theme" for (one,) in rows)


def _facts(memory: Memory, ledger: Ledger) -> Iterator[str]:
    for one, states in ledger.facts.items():
        try:
            record = memory.get(one, user_id="ann")
        except NotFound:
            yield f"record {one} is gone"
            continue
        assert isinstance(record, Record)
        state = (str(record.fields.get("details") or ""), str(record.lifecycle))
        if state not in states:
            yield f"record {one} is {state}, not one of {sorted(states)}"
        ledger.facts[one] = {state}


def _secrets(memory: Memory, path: Path, ledger: Ledger) -> Iterator[str]:
    """Each is what was put, or what it was being rotated to; none stands in a text."""
    for one, secrets in ledger.secrets.items():
        found = memory.vault.reveal(one, reason="chaos", user_id="ann")
        if found not in secrets:
            yield f"entry {one} of the vault holds neither the old nor the new secret"
        ledger.secrets[one] = {found}
    texts = {str(row[0]): str(row[1]) for row in _rows(path, "SELECT id, content FROM messages")}
    said = {word: one for one, word in ledger.messages.items()}
    for word, secret in ledger.released.items():
        if word not in ledger.asked_gone and secret not in texts.get(said.get(word, ""), ""):
            yield f"what was released does not stand in the message of {word}"
    for word, secret in ledger.sealed.items():
        content = texts.get(said.get(word, ""), "")
        if word in ledger.asked_gone or not content:
            continue
        before, mark, rest = content.partition("[vault:")
        if not mark or secret in content or word not in before:
            yield f"the secret of {word} was not sealed"
            continue
        entry = rest.partition(" ")[0]
        if memory.vault.reveal(entry, reason="chaos", user_id=ledger.owner[word]) != secret:
            yield f"entry {entry} of the vault does not hold the secret of {word}"


def _rest(memory: Memory, ledger: Ledger) -> Iterator[str]:
    for user in ledger.loaded:
        if len(memory.messages(user_id=user, limit=MANY).items) != 12:
            yield f"the dump of {user} was loaded and is not whole"
    for user in ledger.unearthed:
        shown = [memory.messages(user_id=user).items, memory.list(user_id=user).items]
        if UNEARTHED in str(shown) or memory.audit_secrets(user_id=user):
            yield f"what was found and sealed of {user} stands in plain text"
        entries = memory.vault.list(user_id=user).items
        told = {memory.vault.reveal(e.id, reason="chaos", user_id=user) for e in entries}
        if told != {UNEARTHED}:
            yield f"the vault of {user} has {len(entries)} entries, not the one that was found"
    for user in ledger.decided:
        if memory.review(user_id=user).items:
            yield f"what was decided for {user} waits again"
    for user, zones in ledger.zones.items():
        zone = memory.set_user(user_id=user)["timezone"]
        if zone not in {*zones, "UTC"}:
            yield f"the zone of {user} is {zone}, not one of {sorted(zones)}"
    yield from _keys(memory, ledger)


def _keys(memory: Memory, ledger: Ledger) -> Iterator[str]:
    for key, opens in ledger.keys.items():
        if (memory.keys.grant(key) is not None) not in opens:
            yield f"whether the key {key[:20]} opens anything is not among {opens}"
