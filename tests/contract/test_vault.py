"""The vault: what is sealed, what shows of it, who has read it, and what happens to its keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from contract.conftest import Clock, Open
from contract.sealed import ANA, KEY, ONE, WHY, put

from memstrata import (
    AsyncMemory,
    Conflict,
    InvalidInput,
    MemstrataError,
    NotFound,
    Record,
    VaultUnavailable,
)

pytestmark = pytest.mark.anyio

TWO = "22" * 32


def key_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "memstrata" / "vault.key"


async def text_of(memory: AsyncMemory, record_id: str) -> str:
    found = await memory.get(record_id, **ANA)
    assert isinstance(found, Record)
    return found.text


async def actions(memory: AsyncMemory) -> list[str]:
    return [entry.action for entry in reversed((await memory.audit(limit=1000)).items)]


# ── putting and revealing ────────────────────────────────────────────────────────────────────


async def test_what_is_put_is_shown_by_caption_and_revealed_on_the_record(
    memory: AsyncMemory,
) -> None:
    entry = await put(memory, " plum-7719 密码 ", tags=["home"])
    shown = await memory.get(entry, **ANA)
    assert isinstance(shown, Record)
    assert (shown.title, shown.text, shown.tags) == ("Mail", "Mail", ["home"])
    assert (shown.sensitivity, shown.fields["sealed"]) == ("medium", True)
    assert "plum" not in shown.model_dump_json()
    assert await memory.vault.reveal(entry, **WHY) == " plum-7719 密码 "
    noted, sealed = (await memory.audit(**ANA)).items
    assert (sealed.action, sealed.detail) == ("seal", {"secrets": 1})
    assert (noted.action, noted.target_id, noted.actor) == ("reveal", entry, "user")
    assert noted.reason == "she asked"
    assert "plum" not in noted.model_dump_json()


async def test_a_reveal_needs_a_reason(memory: AsyncMemory) -> None:
    entry = await put(memory)
    with pytest.raises(InvalidInput, match="reason"):
        await memory.vault.reveal(entry, user_id="ana", reason="  ")
    assert "reveal" not in await actions(memory)


async def test_nobody_else_reveals_it(memory: AsyncMemory) -> None:
    entry = await put(memory)
    for other in ({"user_id": "bob"}, {"agent_id": "ana"}, {"user_id": "an"}):
        with pytest.raises(NotFound):
            await memory.vault.reveal(entry, reason="curious", **other)
    assert await memory.vault.reveal(entry, user_id="ana", agent_id="helper", reason="shared")


async def test_a_secret_is_sealed_once(memory: AsyncMemory) -> None:
    first = await memory.vault.put("plum-7719", caption="Mail", **ANA)
    again = await memory.vault.put("plum-7719", caption="Mail", **ANA)
    assert again.record_ids == first.record_ids
    assert [item.id for item in again.skipped] == first.record_ids
    other = await memory.vault.put("plum-7720", caption="Mail", **ANA)
    assert other.record_ids != first.record_ids
    theirs = await memory.vault.put("plum-7719", caption="Mail", user_id="bob")
    assert theirs.record_ids != first.record_ids


async def test_one_secret_for_two_things_is_two_entries(memory: AsyncMemory) -> None:
    mail = await put(memory)
    bank = (await memory.vault.put("plum-7719", caption="Bank", **ANA)).record_ids[0]
    assert bank != mail
    await memory.forget(ids=[mail], **ANA)
    assert await memory.vault.reveal(bank, **WHY) == "plum-7719"
    await memory.vault.rotate(bank, "pear-8820", **ANA)
    assert await memory.vault.reveal(bank, **WHY) == "pear-8820"


async def test_what_is_not_sealed_is_not_revealed(memory: AsyncMemory) -> None:
    contact = {"kind": "vault", "entry_type": "contact", "caption": "Mira", "secret": "555 0100"}
    made = await memory.create(contact, **ANA)
    with pytest.raises(InvalidInput, match="not sealed"):
        await memory.vault.reveal(made.record_ids[0], **WHY)
    with pytest.raises(NotFound):
        await memory.vault.reveal("vault_none", **WHY)


async def test_an_update_changes_the_caption_and_never_the_secret(memory: AsyncMemory) -> None:
    entry = await put(memory)
    await memory.update(entry, caption="Mail at home", **ANA)
    with pytest.raises(InvalidInput, match="rotate"):
        await memory.update(entry, secret="other", **ANA)
    assert await text_of(memory, entry) == "Mail at home"
    assert await memory.vault.reveal(entry, **WHY) == "plum-7719"


async def test_undoing_what_was_put_and_undoing_that(memory: AsyncMemory) -> None:
    receipt = await memory.vault.put("plum-7719", caption="Mail", **ANA)
    [entry] = receipt.record_ids
    undone = await memory.undo(receipt.batch_id, **ANA)
    with pytest.raises(NotFound):
        await memory.vault.reveal(entry, **WHY)
    await memory.undo(undone.batch_id, **ANA)
    assert await memory.vault.reveal(entry, **WHY) == "plum-7719"


# ── what search and context see ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sensitivity", "plainly"), [("low", True), ("medium", True), ("high", False)]
)
async def test_sensitivity_decides_what_shows(
    memory: AsyncMemory, sensitivity: str, plainly: bool
) -> None:
    entry = await put(memory, sensitivity=sensitivity)
    question = "the caption Mail"
    found = [hit.id for hit in await memory.search(question, **ANA)]
    assert (entry in found) == plainly
    assert (entry in str(await memory.context(question, **ANA))) == plainly
    asked = await memory.search(question, kinds=["vault"], **ANA)
    assert entry in [hit.id for hit in asked]
    prompt = str(await memory.context(question, kinds=["vault"], **ANA))
    assert entry in prompt
    assert "sealed" in prompt
    assert "plum" not in prompt
    reads = 0 if plainly else 2
    assert (await actions(memory)).count("read") == reads


@pytest.mark.parametrize("verb", ["get", "list", "search", "context", "history", "vault.list"])
async def test_reading_what_is_highly_sensitive_goes_on_record(
    memory: AsyncMemory, verb: str
) -> None:
    entry = await put(memory, sensitivity="high")
    nurse = memory.scoped(user_id="ana", actor="nurse")
    calls = {
        "get": lambda: nurse.get(entry),
        "list": lambda: nurse.list(),
        "search": lambda: nurse.search("Mail", kinds=["vault"]),
        "context": lambda: nurse.context("Mail", kinds=["vault"]),
        "history": lambda: nurse.history(entry),
        "vault.list": lambda: nurse.vault.list(),
    }
    await calls[verb]()
    noted, _ = (await memory.audit(**ANA)).items
    assert (noted.action, noted.target_id, noted.actor) == ("read", entry, "nurse")
    assert noted.reason == f"by {verb}"


# ── redaction on the way in ──────────────────────────────────────────────────────────────────


async def test_secrets_of_messages_go_to_the_vault_wherever_they_stand(memory: AsyncMemory) -> None:
    message = {
        "role": "user",
        "name": "Ana",
        "content": f"my key is {KEY}, 我的密码是 Tulip2020",
        "metadata": {"note": f"use {KEY}", "api_key": "abcd1234efgh5678"},
        "tags": [KEY],
    }
    receipt = await memory.add(message, **ANA)
    [stored] = (await memory.messages(**ANA)).items
    entries = (await memory.vault.list(**ANA)).items
    whole = stored.model_dump_json()
    for secret in (KEY, "Tulip2020", "abcd1234efgh5678"):
        assert secret not in whole
        assert secret not in receipt.model_dump_json()
    assert len(entries) == 3
    assert {entry.sensitivity for entry in entries} == {"high"}
    for entry in entries:
        assert [source.source_id for source in entry.evidence] == [stored.id]
        assert f"[vault:{entry.id} {entry.title}]" in whole
    revealed = {await memory.vault.reveal(entry.id, **WHY) for entry in entries}
    assert revealed == {KEY, "Tulip2020", "abcd1234efgh5678"}


async def test_a_history_with_a_secret_is_known_when_it_is_sent_again(memory: AsyncMemory) -> None:
    said: list[Any] = ["hello", f"my key is {KEY}"]
    await memory.add(said, session_id="s1", **ANA)
    await memory.add([*said, "thanks"], session_id="s1", **ANA)
    texts = [message.content for message in (await memory.messages(**ANA)).items]
    assert len(texts) == 3
    [entry] = (await memory.vault.list(**ANA)).items
    await memory.vault.rotate(entry.id, "sk-NEW00000111122223333444455556666", **ANA)
    await memory.add([*said, "thanks", "bye"], session_id="s1", **ANA)
    assert len((await memory.messages(**ANA)).items) == 4
    assert len((await memory.vault.list(**ANA)).items) == 1


async def test_one_secret_said_twice_is_one_entry_with_both_as_evidence(
    memory: AsyncMemory,
) -> None:
    first = await memory.add(f"my key is {KEY}", session_id="a", **ANA)
    second = await memory.add(f"still using {KEY}", session_id="b", **ANA)
    [entry] = (await memory.vault.list(**ANA)).items
    sources = [source.source_id for source in entry.evidence]
    assert sources == [*first.message_ids, *second.message_ids]
    await memory.forget(ids=first.message_ids, **ANA)
    assert await memory.vault.reveal(entry.id, **WHY) == KEY
    await memory.forget(ids=second.message_ids, **ANA)
    with pytest.raises(NotFound):
        await memory.vault.reveal(entry.id, **WHY)


async def test_one_secret_said_by_many_at_once_is_one_entry(memory: AsyncMemory) -> None:
    async with anyio.create_task_group() as group:
        for number in range(8):
            said = f"worker {number} says the key is {KEY}"
            group.start_soon(lambda said: memory.add(said, infer=False, **ANA), said)
        note = {"kind": "semantic", "name": "n", "details": f"it is {KEY}"}
        group.start_soon(lambda: memory.create(note, **ANA))
    [entry] = (await memory.vault.list(**ANA)).items
    assert len(entry.evidence) == 9
    for message in await memory.messages(**ANA):
        assert entry.id in message.content
    assert await memory.verify() == []


async def test_a_forgotten_entry_is_named_nowhere_any_more(memory: AsyncMemory) -> None:
    receipt = await memory.add(f"my key is {KEY}", session_id="s", **ANA)
    [entry] = (await memory.vault.list(**ANA)).items
    note = {"kind": "semantic", "name": "n", "details": f"it is {KEY}"}
    [kept] = (await memory.create(note, **ANA)).record_ids
    await memory.forget(ids=[entry.id], **ANA)
    [message] = (await memory.messages(**ANA)).items
    assert (message.id, message.content) == (
        receipt.message_ids[0],
        "my key is [secret removed: API key]",
    )
    assert "[secret removed: API key]" in await text_of(memory, kept)
    assert await memory.verify(erased=[entry.id]) == []
    assert await memory.verify() == []


async def test_undoing_an_add_takes_its_secrets_out_and_back(memory: AsyncMemory) -> None:
    receipt = await memory.add(f"my key is {KEY}", **ANA)
    undone = await memory.undo(receipt.batch_id, **ANA)
    assert (await memory.vault.list(**ANA)).items == []
    await memory.undo(undone.batch_id, **ANA)
    [entry] = (await memory.vault.list(**ANA)).items
    assert await memory.vault.reveal(entry.id, **WHY) == KEY


@pytest.mark.parametrize(
    "verb", ["add", "create", "search", "messages", "forget", "session", "idempotency"]
)
async def test_an_id_that_is_a_key_is_refused(memory: AsyncMemory, verb: str) -> None:
    calls = {
        "add": lambda: memory.add("hello", user_id=KEY),
        "create": lambda: memory.create({"kind": "semantic", "name": "x"}, agent_id=KEY),
        "search": lambda: memory.search("hello", user_id=KEY),
        "messages": lambda: memory.messages(user_id="ana", session_id=KEY),
        "forget": lambda: memory.forget(session_id=KEY, user_id="ana"),
        "session": lambda: memory.add("hello", user_id="ana", session_id=KEY),
        "idempotency": lambda: memory.add("hello", user_id="ana", idempotency_key=KEY),
    }
    with pytest.raises(InvalidInput, match="looks like a key or token") as caught:
        await calls[verb]()
    assert "TEST" not in str(caught.value)
    assert await memory.scopes() == []


async def test_a_reason_is_masked(memory: AsyncMemory) -> None:
    made = await memory.create({"kind": "semantic", "name": "x"}, reason=f"with {KEY}", **ANA)
    [change] = await memory.history(made.record_ids[0], **ANA)
    assert change.reason == "with [secret removed: API key]"


# ── rotation ─────────────────────────────────────────────────────────────────────────────────


async def test_a_rotated_secret_is_gone_for_good(memory: AsyncMemory) -> None:
    entry = await put(memory)
    receipt = await memory.vault.rotate(entry, "pear-8820", actor="ops", **WHY)
    assert await memory.vault.reveal(entry, **WHY) == "pear-8820"
    [created, rotated] = await memory.history(entry, **ANA)
    assert (created.op, rotated.op, rotated.actor) == ("create", "rotate", "ops")
    for target in (receipt.batch_id, rotated.id):
        with pytest.raises(Conflict, match="cannot be undone"):
            await memory.undo(target, **ANA)
    again = await memory.vault.put("pear-8820", caption="Mail", **ANA)
    assert again.record_ids == [entry]


async def test_a_replaced_secret_that_is_said_again_is_not_kept(memory: AsyncMemory) -> None:
    await memory.add(f"my key is {KEY}", **ANA)
    [entry] = (await memory.vault.list(**ANA)).items
    await memory.vault.rotate(entry.id, "pear-8820", **ANA)
    told = await memory.add(f"back to {KEY} then", session_id="later", **ANA)
    [note] = [item.reason for item in told.skipped]
    assert "not kept, because they had been replaced" in note
    assert await memory.vault.reveal(entry.id, **WHY) == "pear-8820"
    with pytest.raises(Conflict, match="rotated since"):
        await memory.vault.release(entry.id, **ANA)
    kept = await memory.vault.put(KEY, caption="the old one", **ANA)
    assert await memory.vault.reveal(kept.record_ids[0], **WHY) == KEY


async def test_another_key_opens_everything_and_the_old_one_nothing(
    open_store: Open, tmp_path: Path
) -> None:
    memory = await open_store()
    entries = [await put(memory, f"plum-{n}", user_id=f"user{n}") for n in range(5)]
    before = key_file(tmp_path).read_text()
    done = await memory.vault.rotate_key(actor="ops", reason="yearly")
    assert (done.resealed, done.remaining) == (5, 0)
    for n, entry in enumerate(entries):
        secret = await memory.vault.reveal(entry, user_id=f"user{n}", reason="check")
        assert secret == f"plum-{n}"
    key_file(tmp_path).write_text(before)
    memory._runtime.keys.reload()
    with pytest.raises(VaultUnavailable, match=done.key_id):
        await memory.vault.reveal(entries[0], user_id="user0", reason="check")
    assert next(entry.action for entry in (await memory.audit(user_id="user0")).items) == (
        "reveal failed"
    )


async def test_a_rotation_that_was_cut_short_goes_on(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(450):
        await put(memory, f"plum-{n}")
    first = memory._runtime.keys.current()
    calls: list[int] = []
    real = memory._runtime.store.reseal

    async def failing(changes: Any) -> int:
        calls.append(len(changes))
        if len(calls) == 2:
            raise RuntimeError("the power is gone")
        return await real(changes)

    monkeypatch.setattr(memory._runtime.store, "reseal", failing)
    with pytest.raises(RuntimeError):
        await memory.vault.rotate_key()
    second = memory._runtime.keys.current()
    assert second != first
    done = await memory.vault.rotate_key()
    assert (done.resealed, done.remaining) == (250, 0)
    assert memory._runtime.keys.current() == second
    assert second is not None
    assert done.key_id == second.id


async def test_a_bound_handle_changes_no_key(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInput, match="bound"):
        await memory.scoped(user_id="ana").vault.rotate_key()


# ── release ──────────────────────────────────────────────────────────────────────────────────


async def test_what_was_no_secret_stands_again_where_it_was(memory: AsyncMemory) -> None:
    words = "my favourite password: Tulip2020 is a rose"
    receipt = await memory.add([words, "and a second line"], session_id="s", **ANA)
    note = await memory.create(
        {"kind": "semantic", "name": "rose", "details": "password: Tulip2020"}, **ANA
    )
    [entry] = (await memory.vault.list(**ANA)).items
    released = await memory.vault.release(entry.id, **WHY)
    assert released.state == "done"
    first, _ = (await memory.messages(**ANA)).items
    assert (first.id, first.content) == (receipt.message_ids[0], words)
    assert "Tulip2020" in await text_of(memory, note.record_ids[0])
    assert next(hit.text for hit in await memory.search("Tulip2020", **ANA)).find("Tulip2020") > 0
    assert (await memory.vault.list(**ANA)).items == []
    with pytest.raises((NotFound, InvalidInput)):
        await memory.vault.reveal(entry.id, **WHY)
    with pytest.raises(Conflict, match="cannot be undone"):
        await memory.undo(released.batch_id, **ANA)
    await memory.add([words, "and a second line", "a third"], session_id="s", **ANA)
    assert len((await memory.messages(**ANA)).items) == 3
    assert await memory.verify() == []


# ── keys ─────────────────────────────────────────────────────────────────────────────────────


async def test_the_key_file_is_made_on_first_need_for_its_owner_only(
    open_store: Open, tmp_path: Path
) -> None:
    memory = await open_store()
    await memory.add("nothing to hide", **ANA)
    assert not key_file(tmp_path).exists()
    await put(memory)
    assert key_file(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
async def test_a_key_file_that_others_can_read_is_refused(open_store: Open, tmp_path: Path) -> None:
    memory = await open_store()
    entry = await put(memory)
    key_file(tmp_path).chmod(0o644)
    memory._runtime.keys.reload()
    with pytest.raises(VaultUnavailable, match="chmod 600"):
        await memory.vault.reveal(entry, **WHY)


async def test_without_its_key_nothing_opens_and_nothing_is_destroyed(
    open_store: Open, tmp_path: Path, clock: Clock
) -> None:
    memory = await open_store(vault_key=ONE)
    entry = await put(memory)
    wrong = AsyncMemory(memory._runtime)
    keys, marks = memory._runtime.keys, memory._runtime.marks_key
    other = await open_store("other", vault_key=TWO)
    memory._runtime.keys, memory._runtime.marks_key = other._runtime.keys, None
    with pytest.raises(VaultUnavailable, match="put that key back"):
        await wrong.vault.reveal(entry, **WHY)
    with pytest.raises(VaultUnavailable):
        await wrong.vault.put("pear-8820", caption="Bank", **ANA)
    with pytest.raises(VaultUnavailable):
        await wrong.vault.rotate(entry, "pear-8820", **ANA)
    with pytest.raises(VaultUnavailable):
        await wrong.vault.rotate_key()
    with pytest.raises(VaultUnavailable):
        await wrong.vault.release(entry, **ANA)
    told = await wrong.add(f"my key is {KEY}", **ANA)
    assert any("masked and not kept" in item.reason for item in told.skipped)
    memory._runtime.keys, memory._runtime.marks_key = keys, marks
    assert await memory.vault.reveal(entry, **WHY) == "plum-7719"


@pytest.mark.parametrize("setting", ["hunter2", "", " ", "00" * 31, "zz" * 32, "file:"])
async def test_what_is_no_key_is_refused(open_store: Open, setting: str) -> None:
    with pytest.raises(MemstrataError) as caught:
        memory = await open_store(vault_key=setting)
        await put(memory)
    assert not setting.strip() or "hunter2" not in str(caught.value)


async def test_several_keys_the_newest_first(open_store: Open) -> None:
    memory = await open_store(vault_key=ONE)
    entry = await put(memory)
    with pytest.raises(VaultUnavailable, match="new,old"):
        await memory.vault.rotate_key()
    other = await open_store("other", vault_key=f"{TWO},{ONE}")
    memory._runtime.keys = other._runtime.keys
    done = await memory.vault.rotate_key()
    assert (done.resealed, done.remaining) == (1, 0)
    only = await open_store("only", vault_key=TWO)
    memory._runtime.keys, memory._runtime.marks_key = only._runtime.keys, None
    assert await memory.vault.reveal(entry, **WHY) == "plum-7719"


async def test_a_secret_moved_to_another_entry_or_changed_does_not_open(
    memory: AsyncMemory,
) -> None:
    mine, theirs = await put(memory), await put(memory, "pear-8820", user_id="bob")
    backend: Any = memory._runtime.store._backend
    connection = backend._writer
    sealed = dict(connection.execute("SELECT record_id, sealed FROM secrets").fetchall())
    for blob in (
        sealed[theirs],
        sealed[mine][:-1] + bytes([sealed[mine][-1] ^ 1]),
        b"",
        sealed[mine][:5],
    ):
        connection.execute("UPDATE secrets SET sealed = ? WHERE record_id = ?", (blob, mine))
        with pytest.raises(VaultUnavailable, match="changed or moved"):
            await memory.vault.reveal(mine, **WHY)
    connection.execute("UPDATE secrets SET sealed = ? WHERE record_id = ?", (sealed[mine], mine))
    assert await memory.vault.reveal(mine, **WHY) == "plum-7719"
