"""Who has read what is protected, what dumps carry of it, what older files hold in plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from contract.conftest import Open
from contract.sealed import ANA, KEY, ONE, WHY, put

from memstrata import (
    AsyncMemory,
    InvalidInput,
    VaultUnavailable,
)

pytestmark = pytest.mark.anyio


async def test_the_audit_log_is_of_one_scope_or_of_all(memory: AsyncMemory) -> None:
    for user in ("ana", "bob"):
        entry = await put(memory, user_id=user)
        await memory.vault.reveal(entry, user_id=user, reason="check")
    assert len((await memory.audit()).items) == 4
    assert [entry.user_id for entry in (await memory.audit(user_id="bob")).items] == ["bob"] * 2
    assert (await memory.scoped(user_id="cleo").audit()).items == []
    page = await memory.audit(limit=2)
    rest = await memory.audit(limit=2, cursor=page.next)
    assert [entry.user_id for entry in (*page, *rest)] == ["bob", "bob", "ana", "ana"]
    assert rest.next is None


async def test_an_export_is_on_record(memory: AsyncMemory, tmp_path: Path) -> None:
    entry = await put(memory)
    await memory.dump(tmp_path / "dump.jsonl", **ANA)
    noted, _ = (await memory.audit(**ANA)).items
    assert (noted.action, noted.actor) == ("export", "user")
    written = (tmp_path / "dump.jsonl").read_text()
    assert "plum" not in written
    assert entry in written


async def test_a_dump_carries_secrets_sealed(open_store: Open, tmp_path: Path) -> None:
    memory = await open_store()
    entry = await put(memory)
    await memory.add(f"my key is {KEY}", session_id="s", **ANA)
    await memory.dump(tmp_path / "dump.jsonl")
    other = await open_store("other")
    await other.load(tmp_path / "dump.jsonl")
    assert await other.vault.reveal(entry, **WHY) == "plum-7719"
    assert len((await other.vault.list(**ANA)).items) == 2
    await other.add([f"my key is {KEY}", "and on"], session_id="s", **ANA)
    assert len((await other.messages(**ANA)).items) == 2
    third = await open_store("third", tenant="elsewhere")
    await third.load(tmp_path / "dump.jsonl")
    assert await third.vault.reveal(entry, **WHY) == "plum-7719"
    assert await third.verify() == []


async def test_secrets_of_an_older_file_are_found_and_sealed(memory: AsyncMemory) -> None:
    """As a detector of old would have left them: in messages, versions, quotes, reasons, names."""
    receipt = await memory.add(
        [{"role": "user", "content": "I work at Placeholder Ltd.", "metadata": {"a": ["b"]}}], **ANA
    )
    made = await memory.create({"kind": "semantic", "name": "n", "details": "old details"}, **ANA)
    await memory.update(made.record_ids[0], details="new details", **ANA)
    backend: Any = memory._runtime.store._backend
    writer = backend._writer
    writer.execute(
        "UPDATE messages SET content = 'I work at Placeholder Ltd. ' || ?, metadata = ?",
        (KEY, f'{{"a": ["{KEY}"]}}'),
    )
    writer.execute(
        "UPDATE records SET text = text || ' ' || ?, fields = json_set(fields, '$.details', ?)",
        (KEY, f"x {KEY}"),
    )
    writer.execute("UPDATE changes SET reason = ?", (f"because {KEY}",))
    found = await memory.audit_secrets()
    assert receipt.message_ids[0] in [item.id for item in found]
    assert {caption for item in found for caption in item.captions} == {"API key"}
    assert KEY not in str(found)
    sealed = await memory.audit_secrets(seal=True)
    assert {item.id for item in sealed} == {item.id for item in found}
    assert await memory.audit_secrets() == []
    [entry] = [e for e in (await memory.vault.list(**ANA)).items if e.title == "API key"]
    assert await memory.vault.reveal(entry.id, **WHY) == KEY
    for table in ("messages", "records", "evidence", "changes", "episodes", "entity_names"):
        rows = writer.execute(f"SELECT * FROM {table}").fetchall()
        assert KEY not in str(rows), table
    assert await memory.verify() == []
    [hit, *_] = await memory.search("Placeholder", strata=["messages"], **ANA)
    assert f"[vault:{entry.id} API key]" in hit.text


async def test_nothing_is_changed_where_it_cannot_be_sealed(open_store: Open) -> None:
    memory = await open_store(vault_key="none")
    await memory.add("plain words", **ANA)
    backend: Any = memory._runtime.store._backend
    writer = backend._writer
    writer.execute("UPDATE messages SET content = ?", (f"key {KEY}",))
    assert len(await memory.audit_secrets()) == 1
    with pytest.raises(VaultUnavailable):
        await memory.audit_secrets(seal=True)
    assert (await memory.messages(**ANA)).items[0].content == f"key {KEY}"


async def test_a_dump_of_an_older_file_is_sealed_on_the_way_in(
    open_store: Open, tmp_path: Path
) -> None:
    memory = await open_store(vault_key="none")
    receipt = await memory.add("plain words", **ANA)
    await memory.create({"kind": "semantic", "name": "n", "details": "old"}, **ANA)
    backend: Any = memory._runtime.store._backend
    writer = backend._writer
    for table, column in (("messages", "content"), ("records", "text"), ("changes", "reason")):
        writer.execute(f"UPDATE {table} SET {column} = ?", (f"use {KEY} here",))
    writer.execute("UPDATE episodes SET summary = ?", (f"user: use {KEY} here",))
    await memory.dump(tmp_path / "dump.jsonl")
    off = await open_store("off", vault_key="none")
    with pytest.raises(VaultUnavailable, match="plain text"):
        await off.load(tmp_path / "dump.jsonl")
    other = await open_store("other")
    await other.load(tmp_path / "dump.jsonl")
    [entry] = (await other.vault.list(**ANA)).items
    assert receipt.message_ids[0] in [source.source_id for source in entry.evidence]
    assert await other.vault.reveal(entry.id, **WHY) == KEY
    [message] = (await other.messages(**ANA)).items
    assert message.content == f"use [vault:{entry.id} API key] here"
    await other.dump(tmp_path / "again.jsonl")
    assert KEY not in (tmp_path / "again.jsonl").read_text()
    assert await other.verify() == []
    assert await other.load(tmp_path / "dump.jsonl") == 0


async def test_secrets_go_to_another_tenant_only_where_their_key_is(
    open_store: Open, tmp_path: Path
) -> None:
    memory = await open_store()
    await put(memory)
    await memory.dump(tmp_path / "dump.jsonl")
    there = await open_store("there", tenant="north", vault_key=ONE)
    with pytest.raises(VaultUnavailable, match="put that key back"):
        await there.load(tmp_path / "dump.jsonl")
    same = await open_store("same", vault_key=ONE)
    await same.load(tmp_path / "dump.jsonl")
    [entry] = (await same.vault.list(**ANA)).items
    with pytest.raises(VaultUnavailable, match="put that key back"):
        await same.vault.reveal(entry.id, **WHY)
    assert (await same.vault.put("pear-8820", caption="Bank", **ANA)).state == "done"


async def test_no_error_shows_a_secret(memory: AsyncMemory) -> None:
    wrong = [
        {"kind": "vault", "entry_type": "password", "secret": "plum-7719"},
        {"kind": "vault", "entry_type": "password", "caption": "", "secret": "plum-7719"},
        {"kind": "vault", "caption": 5, "entry_type": "password", "secret": "plum-7719"},
    ]
    for given in wrong:
        with pytest.raises(InvalidInput) as caught:
            await memory.create(given, **ANA)
        error: BaseException | None = caught.value
        while error is not None:
            assert "plum" not in f"{error!r} {error}"
            error = error.__cause__ or error.__context__
