"""`dump` and `load`: everything a store holds, there and back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from memstrata import AsyncMemory, InvalidInput, StoreUnavailable
from memstrata.models.fake import FakeEmbedder

pytestmark = pytest.mark.anyio

IVO: dict[str, Any] = {"user_id": "ivo"}
JUNE = "2026-06-01T00:00:00Z"


SAID: list[dict[str, Any]] = [
    {
        "role": "user",
        "name": "Ivo",
        "content": "My boat is green, I painted it yesterday 🛶",
        "occurred_at": "2026-05-01T08:00:00.123456Z",
        "id": "m-1",
        "metadata": {"nested": {"list": [1, 2.5, None, True, "测试"]}, "nothing": None},
        "tags": ["boats"],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Nice colour"},
            {"type": "image_url", "image_url": {"url": "https://pictures.example/b.png"}},
        ],
    },
]


async def fill(memory: AsyncMemory, embedder: FakeEmbedder) -> dict[str, str]:
    """Everything a store can hold; ids of some of it."""
    await memory.set_user(timezone="Europe/Sofia", locale="bg", **IVO)
    said = await memory.add(SAID, session_id="s1", idempotency_key="k1", **IVO)
    hidden = await memory.add("taken back", **IVO)
    await memory.undo(hidden.batch_id, **IVO)
    long = " ".join(f"line {n} of the logbook." for n in range(1500))
    await memory.add(long, trust="import", occurred_at="2020-01-01T00:00:00Z", **IVO)
    fact = {
        "kind": "semantic",
        "name": "The boat is green",
        "evidence": [{"source_id": said.message_ids[0], "quote": "My boat is green"}],
        "valid_from": "2026-05-01T00:00:00Z",
        "metadata": {"k": {"deep": [1]}},
        "path": "a/b",
        "confidence": 0.123456789,
    }
    made = await memory.create(fact, reason="heard it", actor="agent", **IVO)
    changed = await memory.update(
        made.record_ids[0], name="The boat is blue", valid_from=JUNE, **IVO
    )
    edited = await memory.create({"kind": "core", "label": "human", "value": "Ivo sails"}, **IVO)
    await memory.update(edited.record_ids[0], value="Ivo sails and rows", **IVO)
    gone = await memory.create({"kind": "episodic", "summary": "Storm", "occurred_at": JUNE}, **IVO)
    await memory.retire(gone.record_ids[0], **IVO)
    undone = await memory.create({"kind": "procedural", "summary": "never mind"}, **IVO)
    await memory.undo(undone.batch_id, **IVO)
    await memory.add("an agent's own", user_id="ivo", agent_id="cook")
    await memory.add("an agent's alone", agent_id="cook")
    await memory.add("of mira", user_id="mira")
    embedder.fail_next()
    failed = await memory.add("not embedded", **IVO)
    return {
        "said": said.message_ids[0],
        "hidden": hidden.batch_id,
        "fact": made.record_ids[0],
        "changed": changed.batch_id,
        "edited": edited.record_ids[0],
        "failed": failed.batch_id,
    }


@pytest.fixture
async def filled(memory: AsyncMemory, embedder: FakeEmbedder) -> dict[str, str]:
    return await fill(memory, embedder)


@pytest.mark.parametrize("model", ["fake", "none"])
async def test_there_and_back_gives_the_same_bytes(
    open_store: Any, embedder: FakeEmbedder, tmp_path: Path, model: str
) -> None:
    memory: AsyncMemory = await open_store(model=None if model == "fake" else model)
    await fill(memory, embedder)
    embedder.fail_next(0)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    count = await memory.dump(first)
    assert count == len([row for row in lines(first) if row.get("type", "scope") != "scope"])
    copy: AsyncMemory = await open_store("copy", model=None if model == "fake" else model)
    assert await copy.load(first) == count
    assert await copy.dump(second) == count
    assert second.read_bytes() == first.read_bytes()
    assert await copy.verify() == []


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
async def copy(
    memory: AsyncMemory, filled: dict[str, str], open_store: Any, tmp_path: Path
) -> AsyncMemory:
    """Another store, loaded from a dump of the filled one."""
    await memory.dump(tmp_path / "dump.jsonl")
    other: AsyncMemory = await open_store("copy")
    await other.load(tmp_path / "dump.jsonl")
    return other


VIEWS: list[dict[str, Any]] = [
    {"user_id": "ivo"},
    {"user_id": "ivo", "agent_id": "cook"},
    {"agent_id": "cook"},
    {"user_id": "mira"},
]


async def test_every_read_is_the_same(memory: AsyncMemory, copy: AsyncMemory) -> None:
    everything = ["current", "past", "review", "retired"]
    for view in VIEWS:
        reads: dict[str, Callable[[AsyncMemory], Any]] = {
            "messages": lambda m, v=view: m.messages(hidden=True, **v),
            "list": lambda m, v=view: m.list(lifecycles=everything, **v),
            "zone": lambda m, v=view: m.messages(since="2026-05-01T11:00", **v),
        }
        for name, read in reads.items():
            assert (await read(copy)).items == (await read(memory)).items, name
        carried = [batch for batch in await copy.batches(**view) if batch.verb != "load"]
        assert carried == (await memory.batches(**view)).items
        for record in await memory.list(lifecycles=everything, **view):
            assert await copy.history(record.id, **view) == await memory.history(record.id, **view)


async def test_every_search_is_the_same(
    memory: AsyncMemory, filled: dict[str, str], copy: AsyncMemory
) -> None:
    for store in (memory, copy):
        await store.retry(filled["failed"], **IVO)
    times = ({}, {"as_of": "2026-05-15T00:00:00Z"}, {"known_at": "2026-05-08T09:00:00.1Z"})
    queries = ("boat", "line 700", "taken back", "not embedded", "storm", "never mind")
    methods: tuple[Any, ...] = ("bm25", "string_match", "embedding", "hybrid")
    for method, when, query in product(methods, times, queries):
        one = await memory.search(query, method=method, limit=50, **when, **IVO)
        other = await copy.search(query, method=method, limit=50, **when, **IVO)
        assert [(h.id, h.score, h.text) for h in one] == [(h.id, h.score, h.text) for h in other], (
            method,
            query,
            when,
        )


async def test_what_was_taken_back_stays_hidden(copy: AsyncMemory) -> None:
    assert len(await copy.search("taken back", method="string_match", **IVO)) == 0
    assert "taken back" not in [m.content for m in await copy.messages(**IVO)]


async def test_undo_works_in_the_copy(copy: AsyncMemory, filled: dict[str, str]) -> None:
    await copy.undo(filled["changed"], **IVO)
    current = {r.title for r in await copy.list(kinds=["semantic"], **IVO)}
    assert current == {"The boat is green"}
    log = await copy.history(filled["edited"], **IVO)
    await copy.undo(log[-1].batch_id, **IVO)
    (core,) = await copy.list(kinds=["core"], **IVO)
    assert core.text == "Ivo sails"
    assert await copy.verify() == []


async def test_what_was_sent_before_is_known_to_the_copy(
    copy: AsyncMemory, filled: dict[str, str]
) -> None:
    turn = {"id": "m-1", "content": "My boat is green, I painted it yesterday 🛶"}
    receipt = await copy.add(turn, session_id="s1", **IVO)
    assert receipt.message_ids == [filled["said"]]
    again = await copy.add("of mira", user_id="mira")
    assert len(await copy.messages(user_id="mira")) == 1
    assert again.skipped


async def test_vectors_are_computed_again(copy: AsyncMemory) -> None:
    for view in VIEWS:
        assert (await copy.stats(**view))["items_without_vector"] == 0
    assert len(await copy.search("boat", method="embedding", **IVO)) > 0


async def test_a_second_load_changes_nothing(copy: AsyncMemory, tmp_path: Path) -> None:
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    await copy.dump(before)
    assert await copy.load(tmp_path / "dump.jsonl") == 0
    await copy.dump(after)
    assert after.read_bytes() == before.read_bytes()
    assert await copy.verify() == []


async def test_a_newer_dump_into_an_older_copy(
    memory: AsyncMemory, copy: AsyncMemory, filled: dict[str, str], tmp_path: Path
) -> None:
    await memory.update(filled["edited"], value="Ivo flies", **IVO)
    await memory.add("news", user_id="mira")
    await memory.dump(tmp_path / "newer.jsonl")
    assert await copy.load(tmp_path / "newer.jsonl") > 0
    (core,) = await copy.list(kinds=["core"], **IVO)
    assert (core.text, core.version) == ("Ivo flies", 3)
    assert await copy.verify() == []
    await copy.dump(tmp_path / "after.jsonl")
    assert (tmp_path / "after.jsonl").read_bytes() == (tmp_path / "newer.jsonl").read_bytes()


async def test_an_older_dump_into_a_newer_store_takes_nothing_back(
    memory: AsyncMemory, filled: dict[str, str], tmp_path: Path
) -> None:
    await memory.dump(tmp_path / "older.jsonl")
    await memory.update(filled["edited"], value="Ivo flies", **IVO)
    assert await memory.load(tmp_path / "older.jsonl") == 0
    (core,) = await memory.list(kinds=["core"], **IVO)
    assert core.text == "Ivo flies"


async def test_two_stores_into_one(
    memory: AsyncMemory, filled: dict[str, str], open_store: Any, tmp_path: Path
) -> None:
    """What both have said alike is there once, and nobody's is lost."""
    other: AsyncMemory = await open_store("other")
    await other.add({"id": "m-1", "content": "My boat is green, I painted it yesterday 🛶"},
                    session_id="s1", **IVO)  # fmt: skip
    await other.add("only here", idempotency_key="k1", **IVO)
    await memory.dump(tmp_path / "dump.jsonl")
    assert await other.load(tmp_path / "dump.jsonl") > 0
    contents = [m.content for m in await other.messages(**IVO)]
    assert contents.count("My boat is green, I painted it yesterday 🛶") == 1
    assert "only here" in contents
    assert "Nice colour" in contents
    assert await other.verify() == []


async def test_one_scope_only(
    memory: AsyncMemory, filled: dict[str, str], open_store: Any, tmp_path: Path
) -> None:
    await memory.dump(tmp_path / "mira.jsonl", user_id="mira")
    assert "boat" not in (tmp_path / "mira.jsonl").read_text("utf-8")
    other: AsyncMemory = await open_store("other")
    await other.load(tmp_path / "mira.jsonl")
    assert [row["user_id"] for row in await other.scopes()] == ["mira"]
    scoped = memory.scoped(user_id="ivo")
    await scoped.dump(tmp_path / "ivo.jsonl")
    text = (tmp_path / "ivo.jsonl").read_text("utf-8")
    assert "boat" in text
    assert "of mira" not in text


async def test_more_than_a_page(memory: AsyncMemory, open_store: Any, tmp_path: Path) -> None:
    await memory.add([f"note number {n}" for n in range(1100)], infer=False, **IVO)
    assert await memory.dump(tmp_path / "dump.jsonl") == 1101
    other: AsyncMemory = await open_store("other")
    await other.load(tmp_path / "dump.jsonl")
    assert [m.content for m in await other.messages(limit=10_000, **IVO)] == [
        f"note number {n}" for n in range(1100)
    ]


def damaged(text: str, change: Callable[[list[str]], list[str]]) -> str:
    return "".join(f"{line}\n" for line in change(text.splitlines()))


def spoil(line: int, **values: Any) -> Callable[[list[str]], list[str]]:
    """Set or (None) drop keys of one line of a dump."""

    def change(rows: list[str]) -> list[str]:
        row = {**json.loads(rows[line - 1]), **values}
        rows[line - 1] = json.dumps({k: v for k, v in row.items() if v is not None})
        return rows

    return change


MESSAGE = 5  # header, scope, batch of the add, batch of a create, message, …

DAMAGE: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "cut off": (lambda rows: [*rows[:-1], rows[-1][:-10]], "line {last}"),
    "no JSON": (lambda rows: [*rows[:3], "not json", *rows[3:]], "line 4"),
    "a list": (lambda rows: [*rows[:3], "[1]", *rows[3:]], "line 4"),
    "unknown type": (spoil(3, type="dream"), "line 3"),
    "no type": (spoil(3, type=None), "line 3"),
    "no content": (spoil(MESSAGE, content=None), f"line {MESSAGE}"),
    "content is a number": (spoil(MESSAGE, content=5), f"line {MESSAGE}"),
    "no id": (spoil(MESSAGE, id=None), f"line {MESSAGE}"),
    "no digest": (spoil(MESSAGE, digest=None), f"line {MESSAGE}"),
    "digest is no hex": (spoil(MESSAGE, digest="xyz"), f"line {MESSAGE}"),
    "identity is a number": (spoil(MESSAGE, identity=5), f"line {MESSAGE}"),
    "bad time": (spoil(MESSAGE, occurred_at="soon"), f"line {MESSAGE}"),
    "unknown key": (spoil(MESSAGE, colour="green"), f"line {MESSAGE}"),
    "batch without id": (spoil(3, id=None), "line 3"),
    "batch in an odd state": (spoil(3, state="asleep"), "line 3"),
    "batch with text for a number": (spoil(3, attempts="many"), "line 3"),
    "unknown kind": (spoil(MESSAGE + 1, kind="dream"), f"line {MESSAGE + 1}"),
    "record without fields": (spoil(MESSAGE + 1, fields=None), f"line {MESSAGE + 1}"),
    "evidence without source": (spoil(MESSAGE + 2, source_id=None), f"line {MESSAGE + 2}"),
    "change without target": (spoil(MESSAGE + 3, target_id=None), f"line {MESSAGE + 3}"),
    "scope without owner": (spoil(2, user_id=None), "line 2"),
    "scope in an odd zone": (spoil(2, timezone="Mars/Olympus"), "line 2"),
    "row before a scope": (lambda rows: [rows[0], *rows[2:]], "line 2"),
    "no header": (lambda rows: rows[1:], "no memstrata dump"),
    "newer format": (spoil(1, memstrata=99), "format"),
    "empty": (lambda rows: [], "no memstrata dump"),
}


@pytest.mark.parametrize("what", sorted(DAMAGE))
async def test_a_damaged_dump_names_the_line(
    memory: AsyncMemory, open_store: Any, tmp_path: Path, what: str
) -> None:
    said = await memory.add("the key is under the mat", **IVO)
    await memory.create({"kind": "semantic", "name": "A key", "evidence": said.message_ids}, **IVO)
    path = tmp_path / "dump.jsonl"
    await memory.dump(path)
    text = path.read_text("utf-8")
    change, named = DAMAGE[what]
    path.write_text(damaged(text, change), "utf-8")
    other: AsyncMemory = await open_store("other")
    with pytest.raises(InvalidInput) as caught:
        await other.load(path)
    assert named.format(last=len(text.splitlines())) in str(caught.value)
    assert str(path) in str(caught.value)
    assert await other.verify() == []


async def test_what_is_no_file(memory: AsyncMemory, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        await memory.load(tmp_path / "nowhere.jsonl")
    with pytest.raises(StoreUnavailable, match="nowhere"):
        await memory.dump(tmp_path / "nowhere" / "dump.jsonl")
    with pytest.raises(StoreUnavailable):
        await memory.load(tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(b'{"memstrata": 1}\n\xff\xfe\n')
    with pytest.raises(InvalidInput, match="UTF-8"):
        await memory.load(tmp_path / "latin.jsonl")


async def test_a_dump_is_whole_or_absent(memory: AsyncMemory, tmp_path: Path) -> None:
    await memory.add("of mira", user_id="mira")
    path = tmp_path / "dump.jsonl"
    await memory.dump(path)
    await memory.dump(path)
    names = [name for name in os.listdir(tmp_path) if "jsonl" in name]
    assert names == ["dump.jsonl"]


async def test_characters_stand_for_themselves(memory: AsyncMemory, tmp_path: Path) -> None:
    """R16."""
    await memory.add("我喜欢喝茶 🍵", **IVO)
    await memory.dump(tmp_path / "dump.jsonl")
    text = (tmp_path / "dump.jsonl").read_text("utf-8")
    assert "我喜欢喝茶 🍵" in text
    assert "\\u" not in text
