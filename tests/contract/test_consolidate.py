"""`consolidate`: duplicates, plans that are over, digests, the profile; undone and made anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from contract.tidied import IVO, LAPSED, MONDAY, TUESDAY, digests, profile, told

from memstrata import AsyncMemory, Record, ScopeRequired

pytestmark = pytest.mark.anyio

# ── all of it ────────────────────────────────────────────────────────────────────────────────


async def test_all_of_it_is_one_batch_and_a_second_run_changes_nothing(memory: AsyncMemory) -> None:
    await told(memory)
    done = await memory.consolidate(**IVO)
    assert (done.state, done.digests, done.profile) == ("done", 4, True)
    assert {change.actor for change in done.changes} == {"consolidate"}
    batch = (await memory.batches(**IVO)).items[0]
    assert (batch.id, batch.verb, batch.actor) == (done.batch_id, "consolidate", "consolidate")
    assert (await memory.stats(**IVO))["items_without_vector"] == 0
    again = await memory.consolidate(**IVO)
    assert again.model_dump(exclude_defaults=True) == {"batch_id": "", "state": "done"}
    assert (await memory.batches(**IVO)).items[0].id == done.batch_id
    assert await memory.verify() == []


async def test_an_empty_scope_is_left_empty(memory: AsyncMemory) -> None:
    assert (await memory.consolidate(**IVO)).batch_id == ""
    assert len(await memory.batches(**IVO)) == 0
    with pytest.raises(ScopeRequired):
        await memory.consolidate()


async def test_two_calls_at_once_do_it_once(memory: AsyncMemory) -> None:
    await told(memory)
    done: list[int] = []

    async def call() -> None:
        done.append(len((await memory.consolidate(**IVO)).changes))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(call)
    assert len(await digests(memory)) == 3 + 1
    assert len([one for one in done if one]) == 1
    assert await memory.verify() == []


# ── duplicates ───────────────────────────────────────────────────────────────────────────────


async def test_what_says_the_same_is_retired_and_leaves_its_evidence(memory: AsyncMemory) -> None:
    said = (await memory.add(["One.", "Two."], infer=False, **IVO)).message_ids
    fact: dict[str, Any] = {"kind": "semantic", "name": "The barn is red."}
    first = (await memory.create({**fact, "evidence": said[:1]}, **IVO)).record_ids[0]
    other = {**fact, "name": "the barn is RED", "evidence": said[1:]}
    second = (await memory.create(other, **IVO)).record_ids[0]
    done = await memory.consolidate(**IVO)
    assert done.duplicates == 1
    kept, gone = await memory.get(first, **IVO), await memory.get(second, **IVO)
    assert isinstance(kept, Record) and isinstance(gone, Record)
    assert {e.source_id for e in kept.evidence} == set(said)
    assert (kept.lifecycle, gone.lifecycle) == ("current", "retired")
    assert (await memory.history(second, **IVO))[-1].reason == f"says the same as {first}"
    await memory.undo(done.batch_id, **IVO)
    kept, gone = await memory.get(first, **IVO), await memory.get(second, **IVO)
    assert isinstance(kept, Record) and isinstance(gone, Record)
    assert [e.source_id for e in kept.evidence] == said[:1]
    assert gone.lifecycle == "current"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"name": "Ana likes tea"}, {"name": "ana likes the tea."}, True),
        ({"name": "Ana lives here"}, {"name": "Ana lived here"}, False),
        ({"name": "The flat has 2 rooms"}, {"name": "The flat has 3 rooms"}, False),
        ({"name": "Ana came"}, {"name": "Ana came?"}, False),
        ({"name": "它是红色的。"}, {"name": "它是红色的"}, True),
        ({"name": "它是红色的"}, {"name": "它不是红色的"}, False),
        (
            {"name": "x", "subject": "Ana", "attribute": "lives_in", "value": "Lisbon"},
            {"name": "y", "subject": "ana", "attribute": "lives in", "value": "Lisbon"},
            True,
        ),
        (
            {"name": "x", "subject": "Ana", "attribute": "likes", "value": "tea"},
            {"name": "y", "subject": "Ana", "attribute": "likes", "value": "a tea",
             "polarity": False},
            False,
        ),
        ({"name": "Ana sails", "details": "On Sundays."}, {"name": "Ana sails."}, False),
    ],
)  # fmt: skip
async def test_what_says_the_same(
    memory: AsyncMemory, one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    for fact in (one, other):
        await memory.create({"kind": "semantic", **fact}, **IVO)
    assert (await memory.consolidate(**IVO)).duplicates == int(same)


async def test_events_at_two_times_are_two(memory: AsyncMemory) -> None:
    event = {"kind": "episodic", "summary": "Ivo swam"}
    for more in (
        {"occurred_at": MONDAY},
        {"occurred_at": TUESDAY},
        {},
        {"details": "in the sea"},
        {"summary": "Ivo swam.", "occurred_at": TUESDAY},
    ):
        await memory.create({**event, **more}, **IVO)
    assert (await memory.consolidate(**IVO)).duplicates == 1


# ── plans ────────────────────────────────────────────────────────────────────────────────────


async def test_a_plan_whose_day_is_over_is_past(memory: AsyncMemory) -> None:
    plan: dict[str, Any] = {"kind": "episodic", "event_type": "plan"}
    ids: dict[str, str] = {}
    for name, more in (
        ("lapsed", {"due": LAPSED}),
        ("done", {"due": LAPSED, "done": True}),
        ("today", {"due": "2026-05-08T00:00:00Z"}),
        ("ahead", {"due": "2026-06-01T00:00:00Z"}),
        ("undated", {}),
    ):
        made = await memory.create({**plan, "summary": f"Paint {name}", **more}, **IVO)
        ids[name] = made.record_ids[0]
    done = await memory.consolidate(**IVO)
    assert done.lapsed_plans == 1
    records = {name: await memory.get(key, **IVO) for name, key in ids.items()}
    past = records["lapsed"]
    assert isinstance(past, Record) and past.valid_to is not None
    assert (past.lifecycle, past.valid_to.isoformat()) == ("past", "2026-05-02T00:00:00+00:00")
    assert "time is over" in (await memory.history(past.id, **IVO))[-1].reason
    assert all(r.lifecycle == "current" for n, r in records.items() if n != "lapsed")  # type: ignore[union-attr]


async def test_what_has_expired_is_past(memory: AsyncMemory) -> None:
    """It is in no search since it expired; now it is not listed as current either."""
    fact = {"kind": "semantic", "name": "The bridge is closed"}
    made = await memory.create({**fact, "expires_at": LAPSED}, **IVO)
    kept = await memory.create({"kind": "semantic", "name": "The ferry goes at noon"}, **IVO)
    assert not [hit for hit in await memory.search("bridge", **IVO) if "bridge" in hit.text]
    assert (await memory.consolidate(**IVO)).lapsed_plans == 1
    over = await memory.get(made.record_ids[0], **IVO)
    assert isinstance(over, Record) and over.lifecycle == "past"
    assert over.valid_to == over.expires_at
    stays = await memory.get(kept.record_ids[0], **IVO)
    assert isinstance(stays, Record) and stays.lifecycle == "current"


# ── digests ──────────────────────────────────────────────────────────────────────────────────


async def test_digests_say_what_was_said_and_by_whom(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    found = await digests(memory)
    assert list(found) == [
        "Monday 27 April 2026",
        "Tuesday 28 April 2026",
        "Monday 4 May 2026",
        "Week of 27 April 2026",
    ]
    monday = found["Monday 27 April 2026"]
    assert monday.text.splitlines() == [
        "user: I live in Lisbon.",
        "user: I love jazz.",
        "user: The kitchen has a blue lamp.",
    ]
    assert (str(monday.occurred_at), str(monday.ended_at)) == (
        "2026-04-27 00:00:00+00:00",
        "2026-04-28 00:00:00+00:00",
    )
    said = {m.id for m in await memory.messages(until=TUESDAY, **IVO)}
    assert {e.source_id for e in monday.evidence} == said
    week = found["Week of 27 April 2026"].text
    assert "27 April, user: I live in Lisbon." in week
    assert "28 April, user: My dog is called Rex." in week


async def test_a_day_is_the_users_and_only_what_is_over(memory: AsyncMemory) -> None:
    await memory.set_user(timezone="Asia/Shanghai", user_id="ivo")
    await memory.add("The lamp is on.", occurred_at="2026-05-05T17:00:00Z", **IVO)
    await memory.add("It is today.", occurred_at="2026-05-08T02:00:00Z", **IVO)
    await memory.consolidate(**IVO)
    assert list(await digests(memory)) == ["Wednesday 6 May 2026"]


async def test_a_chinese_day(memory: AsyncMemory) -> None:
    said = ["我住在上海。", "我喜欢爬山。"]
    await memory.add(said, occurred_at=MONDAY, **IVO)
    await memory.add("我昨天去了苏州。", occurred_at=TUESDAY, **IVO)
    await memory.consolidate(**IVO)
    found = await digests(memory)
    assert next(iter(found)) == "2026年4月27日，星期一"
    assert "2026年4月27日这一周" in found
    day = found["2026年4月27日，星期一"].text.splitlines()
    assert "用户：我住在上海。" in [line.replace(": ", "：") for line in day]
    made = await profile(memory)
    assert made is not None
    assert "用户住在上海" in made.text
    assert (await memory.consolidate(**IVO)).batch_id == ""


async def test_events_of_a_day_stand_first(memory: AsyncMemory) -> None:
    await told(memory)
    event = {"kind": "episodic", "summary": "The roof was mended", "occurred_at": MONDAY}
    made = await memory.create(event, **IVO)
    await memory.consolidate(**IVO)
    day = (await digests(memory))["Monday 27 April 2026"]
    assert day.text.splitlines()[0] == "The roof was mended"
    assert made.record_ids[0] in {e.source_id for e in day.evidence}


async def test_long_days_are_held_within_a_length(memory: AsyncMemory) -> None:
    said = [
        f"In workshop number {n} I repaired a bicycle of the year {1900 + n} for Mrs Lind, with "
        f"new brakes, a new chain, and {n} spokes that I had made myself in the evening before."
        for n in range(60)
    ]
    await memory.add(said, occurred_at=MONDAY, **IVO)
    await memory.consolidate(**IVO)
    assert 600 < len((await digests(memory))["Monday 27 April 2026"].text) <= 1200


async def test_digests_are_made_of_no_digest(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    made = {r.id for r in (await digests(memory)).values()}
    for record in (await digests(memory)).values():
        assert not made & {e.source_id for e in record.evidence}


# ── the profile ──────────────────────────────────────────────────────────────────────────────


async def test_the_profile_rests_on_facts_and_messages(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    made = await profile(memory)
    assert made is not None
    lines = made.text.splitlines()
    assert "user lives in Lisbon" in lines
    assert "user likes jazz" in lines
    sources = {e.source_id.partition("_")[0] for e in made.evidence}
    assert sources == {"sem", "msg"}
    assert "user lives in Lisbon" in str(await memory.context("hello there", **IVO))


async def test_a_profile_in_somebodys_own_words_is_left_alone(memory: AsyncMemory) -> None:
    await told(memory)
    block = {"kind": "core", "label": "profile", "value": "I am Ivo."}
    [own] = (await memory.create(block, **IVO)).record_ids
    done = await memory.consolidate(**IVO)
    assert not done.profile
    assert "own words" in done.notes[0]
    standing = await profile(memory)
    assert standing is not None
    assert (standing.id, standing.text) == (own, "I am Ivo.")


async def test_a_profile_or_digest_that_was_edited_is_left_alone(memory: AsyncMemory) -> None:
    await told(memory)
    await memory.consolidate(**IVO)
    made, day = await profile(memory), (await digests(memory))["Monday 27 April 2026"]
    assert made is not None
    await memory.update(made.id, value="user lives by the sea", **IVO)
    await memory.update(day.id, summary="A quiet day.", **IVO)
    await memory.add(["I moved to Porto.", "I own a boat."], occurred_at=MONDAY, **IVO)
    done = await memory.consolidate(**IVO)
    assert not done.profile
    made = await profile(memory)
    assert made is not None
    assert made.text == "user lives by the sea"
    assert (await digests(memory))["Monday 27 April 2026"].text == "A quiet day."


async def test_what_a_page_says_of_the_user_is_not_in_the_profile(memory: AsyncMemory) -> None:
    fact: dict[str, Any] = {"kind": "semantic", "subject": "user", "attribute": "has"}
    for trust in ("tool", "web", "import"):
        said = {"name": f"user has {trust}", "value": f"a debt at {trust}", "trust": trust}
        await memory.create({**fact, **said}, **IVO)
    assert not (await memory.consolidate(**IVO)).profile
    await memory.create({**fact, "name": "user has a", "value": "a canoe", "trust": "agent"}, **IVO)
    await memory.consolidate(**IVO)
    made = await profile(memory)
    assert made is not None
    assert (made.text, made.trust) == ("user has a canoe", "agent")


async def test_a_chat_of_two_has_no_profile(memory: AsyncMemory) -> None:
    said = [
        {"role": "user", "name": "Mara", "content": "I live in Lisbon."},
        {"role": "user", "name": "Olga", "content": "I live in Bergen."},
    ]
    await memory.add(said, occurred_at=MONDAY, **IVO)
    done = await memory.consolidate(**IVO)
    assert (done.digests, done.profile) == (1, False)


async def test_somebody_else_who_is_named_is_not_the_user(memory: AsyncMemory) -> None:
    said = [
        {"role": "user", "content": "I live in Lisbon."},
        {"role": "user", "name": "Olga", "content": "I live in Bergen."},
    ]
    await memory.add(said, occurred_at=MONDAY, **IVO)
    await memory.consolidate(**IVO)
    made = await profile(memory)
    assert made is not None
    assert made.text == "user lives in Lisbon"


async def test_one_who_is_named_has_a_profile(memory: AsyncMemory) -> None:
    said = {"role": "user", "name": "Mara", "content": "I live in Lisbon."}
    await memory.add([said], occurred_at=MONDAY, **IVO)
    await memory.consolidate(**IVO)
    made = await profile(memory)
    assert made is not None
    assert made.text == "Mara lives in Lisbon"


# ── whose ────────────────────────────────────────────────────────────────────────────────────


async def test_users_and_agents_stay_apart(memory: AsyncMemory) -> None:
    agent = {**IVO, "agent_id": "butler"}
    await told(memory)
    await memory.add("The safe is behind the clock.", occurred_at=MONDAY, **agent)
    await memory.add("I live in Bergen.", occurred_at=MONDAY, user_id="olga")
    for scope in (IVO, agent, {"user_id": "olga"}, {"agent_id": "butler"}):
        await memory.consolidate(**scope)
    own = await digests(memory)
    assert "safe" not in "".join(r.text for r in own.values())
    assert "Bergen" not in "".join(r.text for r in own.values())
    page = await memory.list(kinds=["episodic"], **agent)
    of_agent = [r for r in page if r.agent_id == "butler"]
    assert [r.text for r in of_agent] == ["user: The safe is behind the clock."]
    other = await profile(memory, user_id="olga")
    assert other is not None
    assert other.text == "user lives in Bergen"
    assert len(await memory.list(agent_id="butler")) == 0
    assert await memory.verify() == []


# ── what takes up room ───────────────────────────────────────────────────────────────────────


async def test_an_interrupted_run_is_taken_up_again(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await told(memory)
    runtime = memory._runtime
    commit: Callable[..., Awaitable[Any]] = runtime.store.consolidated

    async def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runtime.store, "consolidated", fail)
    with pytest.raises(BaseException):  # noqa: B017 - however it is wrapped
        await memory.consolidate(**IVO)
    (waiting,) = await memory.batches(state="pending", **IVO)
    monkeypatch.setattr(runtime.store, "consolidated", commit)
    await memory.wait_for(waiting.id, **IVO)
    assert len(await digests(memory)) == 4


async def test_free_pages_are_given_back(open_store: Any) -> None:
    memory: AsyncMemory = await open_store()
    said = [f"Line {n}: {'water ' * 300}" for n in range(900)]
    await memory.add(said, infer=False, session_id="long", **IVO)
    await memory.add("Keep this.", infer=False, session_id="short", **IVO)
    await memory.forget(session_id="long", **IVO)
    before = (await memory.stats(**IVO))["bytes_on_disk"]
    done = await memory.consolidate(**IVO)
    after = (await memory.stats(**IVO))["bytes_on_disk"]
    if memory._runtime.store.location != ":memory:":
        assert done.freed_bytes > 1_000_000
        assert before - after > 1_000_000
    assert [m.content for m in await memory.messages(**IVO)] == ["Keep this."]
    assert await memory.verify() == []
    assert (await memory.consolidate(**IVO)).freed_bytes == 0
