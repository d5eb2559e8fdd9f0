"""Themes and what befalls a store: erasure, sealing, two processes, kills, dumps, rebuilding."""

from __future__ import annotations

import itertools
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from contract.conftest import Open
from contract.grouped import (
    IVO,
    Placed,
    fact,
    grouping,
    homes,
    leaves,
    rand_index,
    roots,
)

import memstrata
from memstrata import AsyncMemory, StoreUnavailable
from memstrata.models.fake import FakeEmbedder
from memstrata.records import Scope
from memstrata.store.themes import ThemeRows
from memstrata.text.analyse import term_hash
from memstrata.themes import keep

pytestmark = pytest.mark.anyio

SCOPE = Scope(tenant="default", user_id="ivo")
WORD = "zyxquilt"
KEY = "sk-test-4eC39HqLyjWDarjtT1zdp7dcAbCd"


def rows(memory: AsyncMemory) -> str:
    """Everything themes are kept as, and what they are found by."""
    backend: Any = memory._runtime.store._backend
    found = backend._writer.execute("SELECT * FROM themes").fetchall()
    return str([[bytes(c) if isinstance(c, bytes) else c for c in row] for row in found])


def meaning(memory: AsyncMemory, record_id: str) -> set[bytes]:
    """The sums and vectors that a record is part of: its theme's, and its parent's."""
    writer: Any = memory._runtime.store._backend._writer  # type: ignore[attr-defined]
    theme = "SELECT theme FROM theme_members WHERE record_id = :id"
    found = writer.execute(
        f"SELECT sum FROM themes t WHERE seq = ({theme}) OR seq IN "
        f"(SELECT u.parent FROM themes u WHERE u.seq = ({theme})) "
        f"UNION ALL SELECT vector FROM vectors WHERE seq = ({theme})",
        {"id": record_id},
    ).fetchall()
    assert len(found) == 3
    return {bytes(row[0]) for row in found}


def in_files(folder: Path, needles: set[bytes]) -> list[tuple[str, bytes]]:
    held = {one.name: one.read_bytes() for one in folder.glob("store.db*")}
    return [(name, needle) for name, data in held.items() for needle in needles if needle in data]


# ── what is forgotten ────────────────────────────────────────────────────────────────────────


async def test_no_word_of_what_is_forgotten_is_left_in_a_theme(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    stay = [await fact(memory, f"a violin costs {word}") for word in ("money", "time")]
    gone = await fact(memory, f"a violin costs {WORD}")
    needles = {WORD.encode(), term_hash(WORD).to_bytes(8, "little")}
    for n in range(30):  # so many that themes have parents, named after them
        needles |= meaning(memory, gone)
        await fact(memory, f"the {('boat', 'barge')[n % 2]} sails item{n} thing{n} part{n}")
    theme = (await homes(memory))[gone]
    assert WORD in rows(memory)
    needles |= meaning(memory, gone)
    receipt = await memory.forget(ids=[gone], **IVO)
    assert receipt.state == "done"
    found = await homes(memory)
    assert gone not in found and set(stay) <= found.keys(), "what stays is grouped again"
    assert len(found) == 32
    assert WORD not in rows(memory)
    assert theme.id not in {one.id for one in await leaves(memory)}
    assert await memory.search(WORD, strata=["themes"], method="bm25", **IVO) is not None
    assert in_files(tmp_path, needles) == []
    assert await memory.verify(erased=receipt.ids) == []
    assert await memory.verify() == []


async def test_what_a_record_said_before_is_in_no_theme_it_has_left(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    """The name of a theme, and of its parent, go with the word; erasing then finds nothing."""
    for n in range(12):
        await fact(memory, f"the boat sails item{n} thing{n} part{n}")
    name = WORD.capitalize()
    changed = [await fact(memory, f"the barge sails to {name} in {at}") for at in ("May", "June")]
    await fact(memory, "the barge sails to the west")
    assert any(top.children and name in top.text for top in await roots(memory))
    for n, record_id in enumerate(changed):
        await memory.update(record_id, name=f"violins cost money {n}", **IVO)
    assert any(top.children for top in await roots(memory)) and name not in rows(memory)
    await memory.forget(ids=changed, **IVO)
    assert in_files(tmp_path, {name.encode()}) == []
    assert await memory.verify() == []


async def test_all_of_it_goes_with_everything_and_by_session(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    await memory.add([f"I love {WORD}.", "I love sailing."], session_id="s", **IVO)
    other = await fact(memory, "the boat sails north")
    assert WORD in rows(memory)
    await memory.forget(session_id="s", **IVO)
    assert (await homes(memory)).keys() == {other}
    assert WORD not in rows(memory) and in_files(tmp_path, {WORD.encode()}) == []
    assert await memory.verify() == []
    await memory.forget(everything=True, **IVO)
    assert await roots(memory) == [] and rows(memory) == "[]"
    assert await memory.verify() == []


async def test_a_record_that_goes_back_to_what_it_said_finds_its_theme(
    memory: AsyncMemory,
) -> None:
    """Its later version rests on what is erased, the first one stands again, and is older than
    anything else in its theme."""
    made = await fact(memory, "My cat is called Minka", subject="user", attribute="cat_name",
                      value="Minka")  # fmt: skip
    said = await memory.add(f"The cat Minka is {WORD}.", infer=False, session_id="s", **IVO)
    await fact(memory, "the boat sails north")
    await memory.update(made, details=f"Minka is {WORD}", evidence=said.message_ids, **IVO)
    receipt = await memory.forget(session_id="s", **IVO)
    stands = [record.id for record in await memory.list(kinds=["semantic"], **IVO)]
    assert receipt.state == "done"
    assert (await homes(memory)).keys() == set(stands)
    assert WORD not in rows(memory)
    assert await memory.verify() == []


async def test_a_secret_that_is_found_in_a_record_leaves_its_theme_too(
    memory: AsyncMemory, tmp_path: Path
) -> None:
    made = await fact(memory, "the token is somewhere")
    near = [await fact(memory, "the token is old")]
    backend: Any = memory._runtime.store._backend
    for column in ("text", "title"):
        backend._writer.execute(
            f"UPDATE records SET {column} = 'the token is ' || ? WHERE id = ?", (KEY, made)
        )
    backend._writer.execute(
        "UPDATE records SET fields = json_set(fields, '$.name', 'the token is ' || ?) WHERE id = ?",
        (KEY, made),
    )
    near.append(await fact(memory, "the token is new"))
    assert KEY in rows(memory), "as if a program that knew no secrets had grouped it"
    await memory.audit_secrets(seal=True)
    assert KEY not in rows(memory)
    assert in_files(tmp_path, {KEY.encode()}) == []
    assert (await homes(memory)).keys() == {made, *near}
    assert await memory.verify() == []


# ── several at once, and one after the other ─────────────────────────────────────────────────


async def test_two_on_one_file_see_each_others_changes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    one = await memstrata.open_async(path, embedder=FakeEmbedder())
    other = await memstrata.open_async(path, embedder=FakeEmbedder())
    try:
        made = [await fact(one, "the boat sails north"), await fact(other, "the boat sails south")]
        made.append(await fact(one, "the boat sails west"))
        assert grouping(await homes(other)) == {frozenset(made)} == grouping(await homes(one))
        await other.forget(ids=made[:1], **IVO)
        made = [*made[1:], await fact(one, "the boat sails east")]
        assert grouping(await homes(one)) == {frozenset(made)} == grouping(await homes(other))
        await keep.rebuild_themes(other._runtime, SCOPE)
        made.append(await fact(one, "the boat sails slowly"))
        assert grouping(await homes(one)) == {frozenset(made)}
        assert "north" not in rows(one)
        assert await one.verify() == [] == await other.verify()
    finally:
        await one.close()
        await other.close()


async def test_all_at_once_on_one_file(tmp_path: Path) -> None:
    """Writers, one who makes themes anew, and one who tidies, on two handles."""
    path = tmp_path / "store.db"
    one = await memstrata.open_async(path, embedder=Placed())
    other = await memstrata.open_async(path, embedder=Placed())
    made: list[str] = []

    async def write(memory: AsyncMemory, place: int) -> None:
        for n in range(15):
            cluster = n % 4
            made.append(await fact(memory, f"thing {cluster} c{cluster}n{100 * place + n}"))
            if n % 5 == 4:
                moved = f"thing 9 c9n{100 * place + n}"
                await memory.update(made[-1], name=moved, **IVO)

    async def tidy(memory: AsyncMemory, *, anew: bool) -> None:
        for _ in range(3):
            await memory.consolidate(rebuild_themes=anew, **IVO)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(write, one, 1)
            group.start_soon(write, one, 2)
            group.start_soon(write, other, 3)
            group.start_soon(partial(tidy, one, anew=True))
            group.start_soon(partial(tidy, other, anew=False))
        for memory in (one, other):
            await memory.consolidate(**IVO)
            assert (await homes(memory)).keys() == set(made)
            assert await memory.verify() == []
            assert await off(memory) < 1e-4
    finally:
        await one.close()
        await other.close()


async def dumped(open_store: Open, path: Path, count: int) -> None:
    source = await open_store("source", model=Placed())
    for n in range(count):
        await fact(source, f"subject number {n % 5} c{n % 5}n{n}")
    await source.dump(path, **IVO)


async def test_work_that_was_interrupted_goes_on_where_it_was(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dumped(open_store, tmp_path / "dump.jsonl", 20)
    monkeypatch.setattr(keep, "_PAGE", 3)
    memory = await open_store("target", model=Placed())
    store, pages = memory._runtime.store, list[int]()
    whole = store.with_themes

    async def interrupted(*given: Any) -> Any:
        pages.append(1)
        if len(pages) == 4:
            raise StoreUnavailable("the power is gone")
        return await whole(*given)

    with monkeypatch.context() as patch:
        patch.setattr(store, "with_themes", interrupted)
        with pytest.raises(StoreUnavailable):
            await memory.load(tmp_path / "dump.jsonl")
    assert len(await homes(memory)) == 9
    assert await memory.verify() == []
    await fact(memory, "subject number 1 c1n99")
    found = await homes(memory)
    assert len(found) == 21
    assert {len(one) for one in grouping(found)} == {4, 5}
    assert await memory.verify() == []


async def test_a_dump_has_no_themes_and_they_are_made_again(
    open_store: Open, tmp_path: Path
) -> None:
    await dumped(open_store, tmp_path / "dump.jsonl", 40)
    lines = [json.loads(line) for line in (tmp_path / "dump.jsonl").read_text().splitlines()]
    assert "theme" not in str({str(line.get("table")) for line in lines})
    source = await open_store("again", model=Placed())
    await source.load(tmp_path / "dump.jsonl")
    found = await homes(source)
    assert {len(one) for one in grouping(found)} == {8}
    assert len(found) == 40
    assert await source.load(tmp_path / "dump.jsonl") == 0
    assert await homes(source) == found
    assert await source.verify() == []


async def test_with_an_embedder_again_what_came_without_one_is_grouped(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with await memstrata.open_async(path, embedder="none") as memory:
        made = [await fact(memory, "the boat sails north"), await fact(memory, "the boat sails")]
        assert await roots(memory) == []
    async with await memstrata.open_async(path, embedder=FakeEmbedder()) as memory:
        made.append(await fact(memory, "the boat sails south"))
        assert grouping(await homes(memory)) == {frozenset(made)}
    async with await memstrata.open_async(path, embedder="none") as memory:
        await memory.retire(made[0], **IVO)
        assert grouping(await homes(memory)) == {frozenset(made[1:])}
        await memory.forget(ids=made[1:2], **IVO)
        made.append(await fact(memory, "the boat sails east"))
        assert await memory.verify() == []
    async with await memstrata.open_async(path, embedder=FakeEmbedder()) as memory:
        await fact(memory, "violins cost money")
        assert frozenset(made[2:]) in grouping(await homes(memory))
        assert await memory.verify() == []


async def test_with_another_embedder_themes_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with await memstrata.open_async(path, embedder=FakeEmbedder()) as memory:
        made = [await fact(memory, f"the boat sails {word}") for word in ("north", "south", "west")]
        before = await leaves(memory)
    async with await memstrata.open_async(path, embedder=FakeEmbedder(dimensions=64)) as memory:
        new = await fact(memory, "the boat sails east")
        await memory.retire(made[0], **IVO)
        await memory.consolidate(rebuild_themes=True, **IVO)
        [theme] = await leaves(memory)
        assert theme.id == before[0].id and theme.record_ids == made[1:]
        assert await memory.verify() == []
    async with await memstrata.open_async(path, embedder=FakeEmbedder()) as memory:
        await fact(memory, "violins cost money")
        assert frozenset([*made[1:], new]) in grouping(await homes(memory))
        assert await memory.verify() == []


# ── made anew ────────────────────────────────────────────────────────────────────────────────


async def off(memory: AsyncMemory) -> float:
    """How far the sum of any theme is from that of what is in it."""

    def measure(rows: ThemeRows) -> float:
        found = [0.0]
        for theme in rows.all():
            within = rows.children(theme.seq) if theme.level else rows.members(theme.seq)
            total = np.sum(list(within.values()), axis=0)
            found.append(float(np.abs(total - theme.total).max()))
            assert len(within) == theme.size
        return max(found)

    return await memory._runtime.store.with_themes(SCOPE, 0, measure)


async def lived(memory: AsyncMemory, dice: random.Random, count: int) -> None:
    """Facts about thirty things in sessions of any size, some changed and some retired between."""
    known: list[str] = []
    written, changes = 0, itertools.count(1000)
    while written < count:
        for _ in range(min(dice.randrange(1, 25), count - written)):
            cluster = dice.randrange(30)
            known.append(await fact(memory, f"thing {cluster} is c{cluster}n{written}"))
            written += 1
        for _ in range(dice.randrange(4)):
            cluster, one = dice.randrange(30), dice.choice(known)
            text = f"thing {cluster} was c{cluster}n{next(changes)}"
            await memory.update(one, name=text, **IVO)
        if dice.random() < 0.6:
            one = known.pop(dice.randrange(len(known)))
            await memory.retire(one, **IVO)


@pytest.mark.parametrize("seed", [1, 2])
async def test_made_anew_they_are_what_they_were(open_store: Open, seed: int) -> None:
    memory = await open_store("lived", model=Placed())
    await lived(memory, random.Random(seed), 300)
    before = await homes(memory)
    assert await memory.verify() == []
    assert await off(memory) < 1e-4
    done = await keep.rebuild_themes(memory._runtime, SCOPE)
    after = await homes(memory)
    assert done < len(after) and before.keys() == after.keys()
    index = rand_index({key: one.id for key, one in before.items()},
                       {key: one.id for key, one in after.items()})  # fmt: skip
    assert index >= 0.8, index
    assert await memory.verify() == []
    assert await off(memory) < 1e-4
    kept = {one.id: one for one in before.values()}
    same = [one for one in after.values() if one.id in kept]
    assert len(same) >= 0.7 * len(after)
    whole = {one.id for one in same if one.record_ids == kept[one.id].record_ids}
    assert whole and all(one.name == kept[one.id].name for one in same if one.id in whole)
    # A second time nothing is different.
    await keep.rebuild_themes(memory._runtime, SCOPE)
    again = await homes(memory)
    assert {k: (t.id, t.name) for k, t in again.items()} == {
        k: (t.id, t.name) for k, t in after.items()
    }


async def test_regrouped_a_theme_keeps_its_id_and_a_name_that_fits(open_store: Open) -> None:
    memory = await open_store("regrouped", model=Placed())
    made = [await fact(memory, f"the jaguar with the engine at the garage c1n{n}") for n in (1, 2)]
    other = await fact(memory, "the violin in the case c2n1")
    before = await homes(memory)
    theme = before[made[0]]
    turned = ", ".join(reversed(theme.name.split(", ")))
    backend: Any = memory._runtime.store._backend
    backend._writer.execute("UPDATE themes SET name = ? WHERE id = ?", (turned, theme.id))
    # The violin's record lies with the others, as if centroids had wandered off.
    row = backend._writer.execute("SELECT seq FROM themes WHERE id = ?", (theme.id,)).fetchall()
    backend._writer.execute(
        "UPDATE theme_members SET theme = ? WHERE record_id = ?", (row[0][0], other)
    )
    done = await memory.consolidate(rebuild_themes=True, **IVO)
    assert done.themes == {"moved": 1}
    after = await homes(memory)
    assert after[made[0]].id == after[made[1]].id == theme.id != after[other].id
    assert after[made[0]].name == turned and "violin" in after[other].name
    assert await memory.verify() == []


async def test_what_waits_is_grouped_by_consolidate(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def later(*_: object) -> int:
        return 0

    with monkeypatch.context() as patch:
        patch.setattr("memstrata.ingest.work.keep_themes", later)
        made = [await fact(memory, f"the boat sails {word}") for word in ("north", "south")]
    assert await roots(memory) == []
    await memory.consolidate(**IVO)
    assert grouping(await homes(memory)) == {frozenset(made)}
    assert await memory.verify() == []


async def test_tidied_they_are_fewer_and_a_second_time_the_same(open_store: Open) -> None:
    memory = await open_store("lived", model=Placed())
    await lived(memory, random.Random(3), 120)
    before = await homes(memory)
    await memory.consolidate(**IVO)
    after = await homes(memory)
    assert after.keys() == before.keys() and len(grouping(after)) <= len(grouping(before))
    assert await memory.verify() == []
    assert await off(memory) < 1e-4
    assert await keep.tidy_themes(memory._runtime, SCOPE) == 0
    assert grouping(await homes(memory)) == grouping(after)
    assert await memory.verify() == []


async def test_another_process_sees_that_a_theme_lost_a_member(tmp_path: Path) -> None:
    """What a process knows of themes is good until another one changes them, if only by a member
    less."""
    path = tmp_path / "shared.db"
    async with (
        await memstrata.open_async(path, embedder=FakeEmbedder()) as one,
        await memstrata.open_async(path, embedder=FakeEmbedder()) as other,
    ):
        made = [
            (await one.create({"kind": "semantic", "name": f"red boat sails {n}"}, user_id="ivo"))
            for n in range(3)
        ]
        await other.create({"kind": "semantic", "name": "red boat sails 3"}, user_id="ivo")
        await one.retire(made[0].record_ids[0], user_id="ivo")
        await other.create({"kind": "semantic", "name": "red boat sails 4"}, user_id="ivo")
        [theme] = await one.themes(user_id="ivo")
        assert len(theme.record_ids) == 4
        assert await one.verify() == []
