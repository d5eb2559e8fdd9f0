"""Themes: records find theirs as they come, move as they change, and leave nothing when they go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from contract.conftest import Clock, Open
from contract.grouped import IVO, Placed, fact, grouping, homes, leaves, roots

from memstrata import AsyncMemory, InvalidInput, NotFound
from memstrata.records import Scope, Theme
from memstrata.themes.keep import keep_themes

pytestmark = pytest.mark.anyio

BOATS = ("the red boat sails", "the blue boat sails", "the old boat sails fast")
BREAD = ("rye bread needs sourdough", "sourdough bread needs rest", "bread dough needs salt")
# By the fake's cosines, shares of common words, boats are near boats (≥ 0.67), bread near bread
# (≥ 0.5), and neither near the other (0); attach is 0.2, merge 0.48.


async def boats_and_bread(memory: AsyncMemory, **scope: Any) -> tuple[list[str], list[str]]:
    boats, bread = list[str](), list[str]()
    for boat, loaf in zip(BOATS, BREAD, strict=True):
        boats.append(await fact(memory, boat, **scope))
        bread.append(await fact(memory, loaf, **scope))
    return boats, bread


# ── records come ─────────────────────────────────────────────────────────────────────────────


async def test_records_written_by_hand_find_their_theme(memory: AsyncMemory) -> None:
    boats, bread = await boats_and_bread(memory)
    found = await homes(memory)
    assert grouping(found) == {frozenset(boats), frozenset(bread)}
    theme = found[boats[0]]
    assert "boat" in theme.name and "bread" not in theme.text
    assert set(theme.summary.split("\n")) <= set(BOATS)
    assert theme.record_ids == boats, "oldest first"
    assert (theme.user_id, theme.agent_id, theme.children) == ("ivo", None, 0)
    assert theme.id.startswith("theme_") and theme.created_at <= theme.changed_at
    assert await memory.verify() == []


async def test_what_is_distilled_from_messages_does_too(memory: AsyncMemory) -> None:
    await memory.add(["I love sailing.", "I love sailing boats.", "I am allergic to peanuts."],
                     session_id="s", **IVO)  # fmt: skip
    made = {r.title: r.id for r in await memory.list(kinds=["semantic"], **IVO)}
    assert made and (await homes(memory)).keys() == set(made.values())
    assert await memory.verify() == []


async def test_its_span_is_when_its_records_happened_or_were_learned(
    memory: AsyncMemory, clock: Clock
) -> None:
    days = ("2025-03-01T00:00:00Z", "2024-03-01T00:00:00Z", "2025-01-01T00:00:00Z")
    for day, name in zip(days, BOATS, strict=True):
        await memory.create({"kind": "episodic", "summary": name, "occurred_at": day}, **IVO)
    [theme] = await leaves(memory)
    assert (theme.started_at.isoformat()[:10], theme.ended_at.isoformat()[:10]) == (
        "2024-03-01",
        "2025-03-01",
    )
    await fact(memory, BREAD[0])
    [theme] = [one for one in await leaves(memory) if "boat" not in one.text]
    assert theme.started_at == theme.ended_at
    assert 0 < (clock.now - theme.started_at).total_seconds() < 1


async def test_only_what_stands_and_may_be_seen_is_in_a_theme(memory: AsyncMemory) -> None:
    kept = [
        await fact(memory, BOATS[0]),
        *(await memory.create({"kind": "episodic", "summary": BOATS[1]}, **IVO)).record_ids,
        *(await memory.create({"kind": "procedural", "summary": BOATS[2], "steps":
          [{"instruction": "the boat sails"}]}, **IVO)).record_ids,
        *(await memory.create({"kind": "resource", "title": "boat", "content": "the boat sails"},
          **IVO)).record_ids,
    ]  # fmt: skip
    await memory.create({"kind": "core", "label": "human", "value": BOATS[0]}, **IVO)
    await memory.create({"kind": "vault", "entry_type": "bookmark", "caption": "the boat sails",
                         "source": "https://boats.example"}, **IVO)  # fmt: skip
    await fact(memory, "the grey boat sails", sensitivity="high")
    gone = await fact(memory, "the wet boat sails")
    await memory.retire(gone, **IVO)
    assert grouping(await homes(memory)) == {frozenset(kept)}
    assert await memory.verify() == []


async def test_digests_and_the_profile_are_in_no_theme(memory: AsyncMemory) -> None:
    await memory.add(["I live in Lisbon.", "I love jazz.", "My dog is called Rex."],
                     occurred_at="2026-04-27T09:00:00Z", **IVO)  # fmt: skip
    done = await memory.consolidate(**IVO)
    assert done.digests and done.profile
    made = {change.target_id for change in done.changes}
    assert not made & (await homes(memory)).keys()
    assert await memory.verify() == []


async def test_full_themes_split_and_loose_ones_do(memory: AsyncMemory) -> None:
    made = [await fact(memory, f"the boat sails number{n}") for n in range(14)]
    found = await homes(memory)
    assert found.keys() == set(made)
    sizes = [len(one) for one in grouping(found)]
    assert len(sizes) > 1 and max(sizes) <= 12
    assert await memory.verify() == []


async def test_how_records_are_grouped_can_be_changed(open_store: Open) -> None:
    whole = await open_store("whole", grouping={"splits": 0, "largest": 5})
    small = await open_store("small", grouping={"largest": 3, "attach": 0.9})
    for memory in (whole, small):
        for n in range(8):
            await fact(memory, f"the red boat sails number{n}")
        assert await memory.verify() == []
    [theme] = await leaves(whole)
    assert len(theme.record_ids) == 8
    assert max(len(one) for one in grouping(await homes(small))) == 3
    with pytest.raises(InvalidInput):
        await open_store("none", grouping={"bigness": 3})


async def test_chinese_records_and_their_names(memory: AsyncMemory) -> None:
    garden = [await fact(memory, name) for name in ("花园的番茄熟了", "花园的番茄需要肥料")]
    other = await fact(memory, "小林每天骑自行车去公司")
    found = await homes(memory)
    assert grouping(found) == {frozenset(garden), frozenset([other])}
    assert {"番茄", "花园"} <= set(found[garden[0]].name.split(", "))
    [hit, *_] = await memory.search("番茄", strata=["themes"], **IVO)
    assert set(hit.theme.record_ids if hit.theme else ()) == set(garden)


# ── browsing ─────────────────────────────────────────────────────────────────────────────────


async def many(memory: AsyncMemory, count: int = 40, **scope: Any) -> list[str]:
    """Two kinds of subject, near enough that some themes share a parent."""
    made = list[str]()
    for n in range(count):
        what = ("boat sails wind", "bread dough oven")[n % 2]
        made.append(await fact(memory, f"{what} {'abcdefgh'[n // 2 % 8] * 4} item{n}", **scope))
    return made


async def test_the_tree_is_gone_down_from_its_roots(memory: AsyncMemory) -> None:
    made = await many(memory)
    tops = await roots(memory)
    assert any(top.children for top in tops)
    for top in tops:
        assert top.parent_id is None
        assert bool(top.children) != bool(top.record_ids)
        assert await memory.get(top.id, **IVO) == top
        assert top.children != 1, "a parent of one is none"
    assert (await homes(memory)).keys() == set(made)
    below = await leaves(memory)
    assert await roots(memory, below[0].id) == [], "records have nothing under them"
    assert await memory.verify() == []


async def test_pages_have_no_gaps_and_no_repeats_and_the_largest_first(memory: AsyncMemory) -> None:
    for n, word in enumerate(("kettle", "violin", "harbour", "peanut", "museum", "anorak", "snow")):
        for m in range(1 + n % 3):
            await fact(memory, f"{word} {word} {word} {'xyz'[m]}{n}")
    await many(memory, 30)
    whole = await roots(memory)
    assert len(whole) > 5
    sizes = [
        len(one.record_ids) or sum(len(u.record_ids) for u in await roots(memory, one.id))
        for one in whole
    ]
    assert sizes == sorted(sizes, reverse=True) and any(one.children for one in whole)
    for limit in (1, 2, 4, len(whole)):
        paged, cursor = list[Theme](), None
        while True:
            page = await memory.themes(limit=limit, cursor=cursor, **IVO)
            paged += page.items
            cursor = page.next
            if cursor is None:
                break
            assert len(page) == limit
        assert paged == whole


async def test_what_is_no_theme_has_nothing_under_it(memory: AsyncMemory) -> None:
    made = await fact(memory, BOATS[0])
    with pytest.raises(InvalidInput):
        await memory.themes(made, **IVO)
    with pytest.raises(NotFound):
        await memory.themes("theme_none", **IVO)
    with pytest.raises(InvalidInput):
        await memory.themes(cursor="nonsense", **IVO)
    assert (await memory.themes(user_id="nobody")).items == []


async def test_themes_are_found_by_their_words_and_lead_to_their_records(
    memory: AsyncMemory,
) -> None:
    boats, _ = await boats_and_bread(memory)
    for method in ("hybrid", "embedding", "bm25"):
        [hit, *_] = await memory.search("boat", strata=["themes"], method=method, **IVO)  # type: ignore[arg-type]
        assert (hit.stratum, hit.kind) == ("themes", None)
        assert hit.theme is not None and hit.id == hit.theme.id and hit.text == hit.theme.text
        assert {item.source_id for item in hit.evidence} == set(boats)
    assert {hit.stratum for hit in await memory.search("boat", **IVO)} == {"records"}
    assert await memory.history(hit.id, **IVO) == []


# ── records change ───────────────────────────────────────────────────────────────────────────


def moves(memory: AsyncMemory) -> dict[str, int]:
    backend: Any = memory._runtime.store._backend
    return dict(backend._writer.execute("SELECT record_id, moves FROM theme_members").fetchall())


async def test_a_record_whose_meaning_changes_moves_and_that_is_counted(
    memory: AsyncMemory,
) -> None:
    boats, bread = await boats_and_bread(memory)
    await memory.update(boats[0], name="wet bread needs sourdough", **IVO)
    found = await homes(memory)
    assert grouping(found) == {frozenset(boats[1:]), frozenset([*bread, boats[0]])}
    assert "red" not in "".join(one.text for one in await leaves(memory))
    counted = moves(memory)
    assert counted.pop(boats[0]) == 1 and set(counted.values()) == {0}
    await memory.update(boats[0], tags=["x"], **IVO)
    await memory.update(boats[1], name="the blue boat sails well", **IVO)
    assert moves(memory)[boats[0]] == 1 and moves(memory)[boats[1]] == 0
    assert grouping(await homes(memory)) == grouping(found)
    assert await memory.verify() == []


async def test_one_that_is_alone_keeps_its_theme_when_it_is_reworded(memory: AsyncMemory) -> None:
    await boats_and_bread(memory)
    alone = await fact(memory, "violins cost money")
    before = (await homes(memory))[alone]
    await memory.update(alone, name="cellos", **IVO)
    after = (await homes(memory))[alone]
    assert after.id == before.id and "cellos" in after.name and "violin" not in after.text
    assert moves(memory)[alone] == 0
    assert await memory.verify() == []


async def test_a_parent_says_nothing_that_no_record_under_it_says(memory: AsyncMemory) -> None:
    """Its name is of its themes' names, which change when their records do."""
    made = await many(memory)
    tops = [top for top in await roots(memory) if top.children]
    assert tops
    for record_id in made:
        await memory.update(record_id, name=f"plain stone {record_id[-5:]}", **IVO)
    for one in [*await roots(memory), *await leaves(memory)]:
        for word in ("boat", "sails", "wind", "bread", "dough", "oven"):
            assert word not in one.text, one
    assert await memory.verify() == []


async def test_what_is_retired_is_not_shown_and_not_counted(memory: AsyncMemory) -> None:
    boats, bread = await boats_and_bread(memory)
    receipt = await memory.retire(boats[0], **IVO)
    assert grouping(await homes(memory)) == {frozenset(boats[1:]), frozenset(bread)}
    assert "red" not in (await homes(memory))[boats[1]].text
    await memory.undo(receipt.batch_id, **IVO)
    assert grouping(await homes(memory)) == {frozenset(boats), frozenset(bread)}
    assert await memory.verify() == []


async def test_undone_it_is_gone_at_once_and_from_the_sums_with_the_batch(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    boats, bread = await boats_and_bread(memory)
    batch = (await memory.history(boats[0], **IVO))[0].batch_id
    with monkeypatch.context() as patch:

        async def later(*_: object) -> int:
            return 0

        patch.setattr("memstrata.ingest.work.keep_themes", later)
        await memory.undo(batch, **IVO)
        assert grouping(await homes(memory)) == {frozenset(boats[1:]), frozenset(bread)}
        assert await memory.verify() == []
    await fact(memory, "something else entirely")
    found = await homes(memory)
    assert {frozenset(boats[1:]), frozenset(bread)} <= grouping(found)
    assert "red" not in found[boats[1]].text
    assert await memory.verify() == []


async def test_an_undone_batch_of_messages_takes_its_records_out(memory: AsyncMemory) -> None:
    await boats_and_bread(memory)
    before = grouping(await homes(memory))
    receipt = await memory.add("I love sailing boats.", session_id="s", **IVO)
    assert grouping(await homes(memory)) != before
    await memory.undo(receipt.batch_id, cascade=True, **IVO)
    assert grouping(await homes(memory)) == before
    assert await memory.verify() == []


async def test_a_past_fact_stays_with_its_successor(memory: AsyncMemory) -> None:
    """A theme tells a story; what is over is a part of it."""
    old = await fact(memory, "the boat lies in Faro", valid_from="2024-01-01")
    await memory.update(old, name="the boat lies in Turku", valid_from="2025-01-01", **IVO)
    [theme] = await leaves(memory)
    assert len(theme.record_ids) == 2 and old in theme.record_ids
    assert await memory.verify() == []


async def test_a_waiting_record_holds_up_nobody(memory: AsyncMemory) -> None:
    """What another call has written meanwhile has no vector yet: it comes with its own batch."""
    backend: Any = memory._runtime.store._backend
    first = await fact(memory, BOATS[0])
    second = await fact(memory, BOATS[1])
    gone = await fact(memory, "the wet boat sails")
    await memory.retire(gone, **IVO)
    for table in ("theme_members", "themes"):
        backend._writer.execute(f"DELETE FROM {table}")
    backend._writer.execute("UPDATE scopes SET themed = 0, themes = themes + 1")
    backend._writer.execute(
        "DELETE FROM vectors WHERE seq IN (SELECT seq FROM records WHERE id = ?)", (second,)
    )
    with fail_after(10):
        await keep_themes(memory._runtime, Scope(tenant="default", user_id="ivo"))
    assert (await homes(memory)).keys() == {first}


# ── whose they are ───────────────────────────────────────────────────────────────────────────


async def test_an_agents_own_and_the_users_stay_apart(memory: AsyncMemory) -> None:
    cook = {**IVO, "agent_id": "cook"}
    shared = [await fact(memory, BOATS[0]), await fact(memory, BOATS[1])]
    own = [await fact(memory, "the grey boat sails", **cook)]
    assert grouping(await homes(memory)) == {frozenset(shared)}
    assert grouping(await homes(memory, **cook)) == {frozenset(shared), frozenset(own)}
    theme = (await homes(memory, **cook))[own[0]]
    assert theme.agent_id == "cook"
    with pytest.raises(NotFound):
        await memory.get(theme.id, **IVO)
    pages = [await memory.themes(limit=1, **cook)]
    pages.append(await memory.themes(limit=1, cursor=pages[0].next, **cook))
    assert len({page.items[0].id for page in pages}) == 2 and pages[1].next is None
    assert await memory.verify() == []


async def test_nobody_elses_can_be_seen_found_or_got(
    memory: AsyncMemory, open_store: Open, tmp_path: Path
) -> None:
    boats, _ = await boats_and_bread(memory)
    theme = (await homes(memory))[boats[0]]
    other = {"user_id": "mira"}
    await fact(memory, BOATS[0], **other)
    [own] = await leaves(memory, **other)
    assert not set(own.record_ids) & set(boats) and own.namesakes == []
    for call in (memory.get(theme.id, **other), memory.themes(theme.id, **other)):
        with pytest.raises(NotFound):
            await call
    found = await memory.search("boat", strata=["themes"], **other)
    assert [hit.id for hit in found] == [own.id]
    if (tmp_path / "store.db").exists():
        tenant = await open_store("store", tenant="other")
        assert await roots(tenant) == []
        with pytest.raises(NotFound):
            await tenant.get(theme.id, **IVO)


# ── drift ────────────────────────────────────────────────────────────────────────────────────


async def test_one_name_with_two_meanings_in_their_times_is_two_themes(
    open_store: Open,
) -> None:
    memory = await open_store("drift", model=Placed())
    early = await seen(memory, 1, "2019-01-01", "2020-01-01")
    late = await seen(memory, 2, "2023-01-01", "2024-01-01")
    found = await homes(memory)
    assert grouping(found) == {frozenset(early), frozenset(late)}
    first, second = found[early[0]], found[late[0]]
    assert first.name == second.name
    assert (first.namesakes, second.namesakes) == ([second.id], [first.id])
    assert first.ended_at < second.started_at
    assert (await memory.get(first.id, **IVO)) == first
    # When the first goes on to the time of the second, it is called more.
    [more] = await seen(memory, 1, "2023-06-01")
    first = (await homes(memory))[more]
    assert set(first.record_ids) == {*early, more}
    assert first.name.startswith(f"{second.name}, ") and first.namesakes == []
    assert await memory.verify() == []


async def test_two_of_one_time_are_called_differently(open_store: Open) -> None:
    memory = await open_store("drift", model=Placed())
    one = await seen(memory, 1, "2019-01-01", "2024-01-01")
    other = await seen(memory, 2, "2020-01-01", "2021-01-01")
    found = await homes(memory)
    first, second = found[one[0]], found[other[0]]
    assert second.name.startswith(f"{first.name}, ")
    assert first.namesakes == second.namesakes == []


async def seen(memory: AsyncMemory, cluster: int, *days: str) -> list[str]:
    """Events told in the same words, of a meaning that the cluster says."""
    made = list[str]()
    for n, day in enumerate(days):
        text = f"The jaguar with the engine at the garage near a hedge c{cluster}n{n}"
        event = {"kind": "episodic", "summary": text, "occurred_at": f"{day}T00:00:00Z"}
        made += (await memory.create(event, **IVO)).record_ids
    return made


async def test_without_an_embedder_there_are_no_themes_and_doctor_says_so(
    open_store: Open,
) -> None:
    memory = await open_store("plain", model="none")
    await fact(memory, BOATS[0])
    assert (await memory.themes(**IVO)).items == []
    told = [one["detail"] for one in await memory.doctor() if not one["ok"]]
    assert any("no themes" in detail for detail in told)
    assert await memory.verify() == []
