"""`create`, `update`, `retire`: what holds for records of every kind."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from contract.conftest import Open

from memstrata import AsyncMemory, Conflict, InvalidInput, NotFound, Record, VaultUnavailable
from memstrata.kinds import KINDS, Semantic

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}

EXAMPLES: dict[str, dict[str, Any]] = {
    "core": {"label": "human", "value": "Ivo keeps bees."},
    "episodic": {"summary": "The roof was mended", "occurred_at": "2026-04-01T10:00:00Z"},
    "semantic": {"name": "Ivo's boat is green", "summary": "Painted in spring"},
    "procedural": {"summary": "Start the pump", "steps": [{"instruction": "Open the valve"}]},
    "resource": {"title": "Pump manual", "content": "Never run it dry."},
    "vault": {"entry_type": "contact", "caption": "Mira, plumber", "secret": "555-0100"},
}
CHANGES: dict[str, dict[str, Any]] = {
    "core": {"value": "Ivo keeps bees and hens."},
    "episodic": {"details": "By two men"},
    "semantic": {"summary": "Painted in autumn"},
    "procedural": {"steps": [{"instruction": "Open the red valve"}]},
    "resource": {"content": "Never run it dry or hot."},
    "vault": {"secret": "555-0199"},
}
KIND = pytest.mark.parametrize("kind", sorted(KINDS))


def example(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, **EXAMPLES[kind], **more}


async def record(memory: AsyncMemory, record_id: str, **scope: Any) -> Record:
    found = await memory.get(record_id, **(scope or IVO))
    assert isinstance(found, Record)
    return found


async def made(memory: AsyncMemory, given: Any, **scope: Any) -> Record:
    receipt = await memory.create(given, **(scope or IVO))
    (record_id,) = receipt.record_ids
    return await record(memory, record_id, **scope)


@KIND
async def test_a_record_is_stored_as_it_was_given(memory: AsyncMemory, kind: str) -> None:
    receipt = await memory.create(example(kind), actor="mira", reason="she said so", **IVO)
    (change,) = receipt.changes
    assert (change.op, change.version_before, change.version_after) == ("create", None, 1)
    assert (change.actor, change.reason) == ("mira", "she said so")
    stored = await record(memory, receipt.record_ids[0])
    assert stored.id.startswith(f"{KINDS[kind].prefix}_")
    assert (stored.kind, stored.version, stored.lifecycle) == (kind, 1, "current")
    assert stored.created_at == stored.recorded_at
    for name in KINDS[kind].own_fields() & set(EXAMPLES[kind]):
        if name != "steps":
            assert stored.fields[name] == EXAMPLES[kind][name]
    assert stored.batch_id == receipt.batch_id
    assert receipt.state == "done"


@KIND
async def test_the_same_record_again_is_the_first_one(memory: AsyncMemory, kind: str) -> None:
    first = await memory.create(example(kind), **IVO)
    again = await memory.create(example(kind), **IVO)
    assert again.record_ids == first.record_ids
    assert [item.id for item in again.skipped] == first.record_ids
    assert again.changes == []
    assert len(await memory.list(**IVO)) == 1


@KIND
async def test_a_duplicate_adds_its_evidence(memory: AsyncMemory, kind: str) -> None:
    """R03: the sources of both are listed."""
    receipt = await memory.create(example(kind, evidence=["msg_1"]), **IVO)
    quoted = {"source_id": "msg_2", "quote": "as I told you"}
    again = await memory.create(example(kind, evidence=[quoted, "msg_1"]), **IVO)
    assert [change.op for change in again.changes] == ["evidence"]
    stored = await record(memory, receipt.record_ids[0])
    assert [(e.source_id, e.quote) for e in stored.evidence] == [
        ("msg_1", None),
        ("msg_2", "as I told you"),
    ]


@KIND
async def test_an_update_makes_a_new_version(memory: AsyncMemory, kind: str, clock: Any) -> None:
    old = await made(memory, example(kind))
    clock.advance(days=1)
    receipt = await memory.update(old.id, **CHANGES[kind], **IVO)
    new = await record(memory, old.id)
    assert (new.version, new.id, new.created_at) == (2, old.id, old.created_at)
    assert new.recorded_at > old.recorded_at
    assert new.text != old.text
    (change,) = receipt.changes
    assert (change.op, change.version_before, change.version_after) == ("update", 1, 2)
    assert len(await memory.list(**IVO)) == 1


@KIND
async def test_an_update_that_changes_nothing_writes_nothing(
    memory: AsyncMemory, kind: str
) -> None:
    old = await made(memory, example(kind, metadata={"a": 1}, tags=["x"]))
    receipt = await memory.update(
        old.id, **{k: v for k, v in EXAMPLES[kind].items()}, metadata={"a": 1}, **IVO
    )
    assert [item.id for item in receipt.skipped] == [old.id]
    assert receipt.changes == []
    assert await record(memory, old.id) == old


@KIND
async def test_versions_follow_each_other_without_a_gap(memory: AsyncMemory, kind: str) -> None:
    old = await made(memory, example(kind))
    await memory.update(old.id, **CHANGES[kind], **IVO)
    await memory.update(old.id, tags=["checked"], **IVO)
    await memory.retire(old.id, **IVO)
    versions = [change.after for change in await memory.history(old.id, **IVO)]
    assert [v.version for v in versions if v] == [1, 2, 3, 4]
    closed = [v.closed_at for v in versions if v]
    assert closed == [*(v.recorded_at for v in versions[1:] if v), None]


@KIND
async def test_untouched_fields_stay(memory: AsyncMemory, kind: str) -> None:
    """R36: an edit of one thing leaves everything else."""
    common = {
        "metadata": {"category": "health", "priority": 2},
        "tags": ["a"],
        "path": "home/garden",
        "confidence": 0.7,
        "trust": "agent",
        "sensitivity": "medium",
        "expires_at": "2030-01-01T00:00:00Z",
        "title": "A title of its own",
    }
    old = await made(memory, example(kind, **common))
    await memory.update(old.id, **CHANGES[kind], **IVO)
    await memory.update(old.id, metadata={"priority": 3}, **IVO)
    new = await record(memory, old.id)
    assert new.metadata == {"category": "health", "priority": 3}
    for name in ("tags", "path", "confidence", "trust", "sensitivity", "expires_at", "title"):
        assert getattr(new, name) == getattr(old, name), name
    assert (new.user_id, new.created_at) == ("ivo", old.created_at)


async def test_null_takes_a_field_or_a_key_away(memory: AsyncMemory) -> None:
    old = await made(memory, example("semantic", metadata={"a": 1, "b": 2}, tags=["x"], path="p"))
    await memory.update(old.id, summary=None, tags=None, path=None, metadata={"a": None}, **IVO)
    new = await record(memory, old.id)
    assert "summary" not in new.fields
    assert (new.tags, new.path, new.metadata) == ([], None, {"b": 2})


async def test_a_required_field_cannot_be_taken_away(memory: AsyncMemory) -> None:
    old = await made(memory, example("semantic"))
    with pytest.raises(InvalidInput, match="name"):
        await memory.update(old.id, name=None, **IVO)
    assert await record(memory, old.id) == old


async def test_the_title_follows_the_fields_unless_it_was_given(memory: AsyncMemory) -> None:
    plain = await made(memory, {"kind": "semantic", "name": "The boat is green"})
    titled = await made(memory, {"kind": "semantic", "name": "The cat is old", "title": "Cat"})
    await memory.update(plain.id, name="The boat is blue", **IVO)
    await memory.update(titled.id, name="The cat is young", **IVO)
    assert (await record(memory, plain.id)).title == "The boat is blue"
    assert (await record(memory, titled.id)).title == "Cat"


async def test_update_by_a_kinds_model(memory: AsyncMemory) -> None:
    stored = await made(memory, Semantic(name="The boat is green", subject="boat"))
    assert (stored.kind, stored.fields["subject"]) == ("semantic", "boat")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, "at least one"),
        ({"colour": "green"}, "colour"),
        ({"kind": "episodic"}, "kind"),
        ({"id": "sem_other"}, "id"),
        ({"lifecycle": "past"}, "lifecycle"),
        ({"confidence": 2}, "confidence"),
        ({"valid_from": "someday"}, "valid_from"),
        ({"metadata": ["no"]}, "metadata"),
    ],
)
async def test_wrong_changes_are_named_and_change_nothing(
    memory: AsyncMemory, changes: dict[str, Any], named: str
) -> None:
    old = await made(memory, example("semantic"))
    with pytest.raises(InvalidInput, match=named):
        await memory.update(old.id, **changes, **IVO)
    assert await record(memory, old.id) == old


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "record"),
        ("text", "record"),
        ({}, "kind"),
        ({"kind": "unheard-of"}, "unheard-of"),
        ({"kind": None}, "kind"),
        ({"kind": "semantic"}, "name"),
        ({"kind": "semantic", "name": ""}, "name"),
        ({"kind": "semantic", "name": "x", "colour": "green"}, "colour"),
        ({"kind": "core", "label": "human", "value": "x" * 2001}, "2000"),
        ({"kind": "procedural", "summary": "s", "steps": [{}]}, "instruction"),
        ({"kind": "resource", "content": ""}, "content"),
        ({"kind": "episodic", "summary": "x", "occurred_at": "someday"}, "occurred_at"),
        ({"kind": "semantic", "name": "x", "evidence": [5]}, "evidence"),
    ],
)
async def test_what_is_no_record_is_refused(memory: AsyncMemory, given: Any, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        await memory.create(given, **IVO)
    assert await memory.scopes() == []


async def test_a_version_that_moved_is_a_conflict(memory: AsyncMemory) -> None:
    old = await made(memory, example("semantic"))
    await memory.update(old.id, summary="first", if_version=1, **IVO)
    with pytest.raises(Conflict, match="version 2, not 1"):
        await memory.update(old.id, summary="second", if_version=1, **IVO)
    assert (await record(memory, old.id)).fields["summary"] == "first"
    await memory.update(old.id, summary="second", if_version=2, **IVO)


async def test_two_updates_at_once_lose_neither(memory: AsyncMemory) -> None:
    """R36, R39: whoever comes second builds on what the first has written."""
    old = await made(memory, example("semantic"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: memory.update(old.id, metadata={"a": 1}, **IVO))
        tasks.start_soon(lambda: memory.update(old.id, metadata={"b": 2}, **IVO))
    new = await record(memory, old.id)
    assert (new.version, new.metadata) == (3, {"a": 1, "b": 2})


async def test_the_same_record_at_once_is_stored_once(memory: AsyncMemory) -> None:
    async with anyio.create_task_group() as tasks:
        for n in range(6):
            given = example("semantic", evidence=[f"msg_{n}"])
            tasks.start_soon(lambda given=given: memory.create(given, **IVO))
    (stored,) = (await memory.list(**IVO)).items
    assert sorted(e.source_id for e in stored.evidence) == [f"msg_{n}" for n in range(6)]


@pytest.mark.parametrize("verb", ["update", "retire", "history", "get"])
async def test_an_id_of_somebody_else_does_not_exist(memory: AsyncMemory, verb: str) -> None:
    stored = await made(memory, example("semantic"))
    more = {"summary": "mine now"} if verb == "update" else {}
    for record_id, user in ((stored.id, "mira"), ("sem_unknown", "ivo"), ("msg_1", "ivo")):
        with pytest.raises(NotFound, match=record_id):
            await getattr(memory, verb)(record_id, user_id=user, **more)
    assert await record(memory, stored.id) == stored


async def test_retiring_takes_a_record_out_of_default_reads(memory: AsyncMemory) -> None:
    stored = await made(memory, example("semantic"))
    receipt = await memory.retire(stored.id, actor="mira", reason="it never was", **IVO)
    assert [(c.op, c.actor, c.reason) for c in receipt.changes] == [
        ("retire", "mira", "it never was")
    ]
    assert len(await memory.list(**IVO)) == 0
    assert len(await memory.search("green boat", **IVO)) == 0
    gone = await record(memory, stored.id)
    assert (gone.lifecycle, gone.version) == ("retired", 2)
    assert gone.retired_at == gone.recorded_at
    (listed,) = (await memory.list(lifecycles=["retired"], **IVO)).items
    assert listed == gone
    with pytest.raises(Conflict, match="already"):
        await memory.retire(stored.id, **IVO)


async def test_an_edit_of_a_retired_record_does_not_bring_it_back(memory: AsyncMemory) -> None:
    stored = await made(memory, example("semantic"))
    await memory.retire(stored.id, **IVO)
    retired = await record(memory, stored.id)
    await memory.update(stored.id, tags=["old"], **IVO)
    edited = await record(memory, stored.id)
    assert (edited.lifecycle, edited.retired_at) == ("retired", retired.retired_at)


async def test_a_retired_fact_can_be_stated_again(memory: AsyncMemory) -> None:
    stored = await made(memory, example("semantic"))
    await memory.retire(stored.id, **IVO)
    again = await made(memory, example("semantic"))
    assert again.id != stored.id
    assert [r.id for r in await memory.list(**IVO)] == [again.id]


async def test_a_secret_in_a_record_is_sealed(memory: AsyncMemory) -> None:
    stored = await made(
        memory,
        example(
            "semantic",
            details="the key is AKIAQ7TESTBOATS23KXE",
            metadata={"note": "AKIAQ7TESTBOATS23KXE"},
        ),
    )
    assert "AKIA" not in stored.model_dump_json()
    updated = await memory.update(stored.id, summary="AKIAQ7TESTBOATS23KXE", **IVO)
    assert updated.state == "done"
    assert "AKIA" not in (await record(memory, stored.id)).model_dump_json()


async def test_naive_times_are_read_in_the_users_zone(memory: AsyncMemory) -> None:
    await memory.set_user(user_id="ivo", timezone="America/Lima")
    plan = {"kind": "episodic", "event_type": "plan", "summary": "See the dentist"}
    stored = await made(
        memory,
        {**plan, "occurred_at": "2026-05-08T09:00", "due": datetime(2026, 5, 9, 9, 0)},  # noqa: DTZ001 - that is the case
    )
    assert stored.occurred_at == datetime(2026, 5, 8, 14, 0, tzinfo=UTC)
    assert datetime.fromisoformat(str(stored.fields["due"])) == datetime(2026, 5, 9, 14, tzinfo=UTC)


async def test_a_password_is_refused_where_it_cannot_be_sealed(open_store: Open) -> None:
    memory = await open_store(vault_key="none")
    entry = {"kind": "vault", "entry_type": "password", "caption": "Mail", "secret": "hunter2-test"}
    with pytest.raises(VaultUnavailable, match="the vault is off"):
        await memory.create(entry, **IVO)
    assert await memory.scopes() == []


async def test_a_contact_cannot_be_turned_into_an_unsealed_password(memory: AsyncMemory) -> None:
    contact = await made(memory, example("vault"))
    with pytest.raises(InvalidInput, match="rotate it, or put a new"):
        await memory.update(contact.id, entry_type="password", secret="hunter2-test", **IVO)
    assert await record(memory, contact.id) == contact
