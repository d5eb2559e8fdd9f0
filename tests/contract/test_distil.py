"""What becomes of messages: records with quotes, episodes, entities; and taking it back."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from contract.conftest import Clock, Open

from memstrata import AsyncMemory
from memstrata.errors import Conflict, InvalidInput, NotFound
from memstrata.records import Message, Receipt, Record

pytestmark = pytest.mark.anyio

DAY = "2026-03-01T10:00:00Z"
TALK = [
    "I live in Ostholm. My favorite color is teal.",
    "My sister Wren lives in Turku and I am allergic to walnuts.",
]
TALK_ZH = ["我住在望潮岛。我最喜欢的颜色是青色。", "我对核桃过敏。我的老板喜欢喝茶。"]


async def tell(
    memory: AsyncMemory, *texts: str, at: str = DAY, role: str = "user", **more: Any
) -> Receipt:
    messages = [{"role": role, "content": text} for text in texts]
    options = {"user_id": "ottilie", "session_id": "pier", "occurred_at": at, **more}
    return await memory.add(messages, **options)


async def facts(memory: AsyncMemory, **options: Any) -> dict[tuple[Any, ...], Record]:
    page = await memory.list(user_id="ottilie", kinds=["semantic"], **options)
    return {(r.fields.get("attribute"), r.fields.get("value")): r for r in page}


async def sound(memory: AsyncMemory) -> None:
    assert await memory.verify() == []


@pytest.mark.parametrize("texts", [TALK, TALK_ZH])
async def test_every_record_quotes_the_message_it_rests_on(
    memory: AsyncMemory, texts: list[str]
) -> None:
    receipt = await tell(memory, *texts)
    records = (await memory.list(user_id="ottilie")).items
    assert len([r for r in records if r.kind == "semantic"]) >= 3
    assert set(receipt.record_ids) == {record.id for record in records}
    for record in records:
        assert record.evidence
        for evidence in record.evidence:
            source = await memory.get(evidence.source_id, user_id="ottilie")
            assert isinstance(source, Message)
            assert evidence.quote
            assert evidence.quote in source.content
        [made] = await memory.history(record.id, user_id="ottilie")
        assert (made.op, made.actor, made.batch_id) == ("create", "local rules", receipt.batch_id)
    await sound(memory)


async def test_said_again_it_is_more_evidence_and_no_more_records(memory: AsyncMemory) -> None:
    await tell(memory, TALK[0])
    before = await facts(memory)
    await tell(memory, TALK[0], at="2026-03-05T10:00:00Z", session_id="other")
    after = await facts(memory)
    assert {key: r.id for key, r in after.items()} == {key: r.id for key, r in before.items()}
    assert all(len(record.evidence) == 2 for record in after.values())
    await sound(memory)


async def test_the_same_messages_again_change_nothing(memory: AsyncMemory) -> None:
    sent = [{"role": "user", "content": text, "id": f"x{n}"} for n, text in enumerate(TALK)]
    scope: dict[str, Any] = {"user_id": "ottilie", "session_id": "pier", "occurred_at": DAY}
    await memory.add(sent, **scope)
    before = [
        (await memory.list(user_id="ottilie")).items,
        (await memory.episodes(user_id="ottilie")).items,
        (await memory.entities(user_id="ottilie")).items,
    ]
    again = await memory.add(sent, **scope)
    assert (again.message_ids, again.changes) != ([], None)
    assert again.record_ids == []
    assert before == [
        (await memory.list(user_id="ottilie")).items,
        (await memory.episodes(user_id="ottilie")).items,
        (await memory.entities(user_id="ottilie")).items,
    ]
    await sound(memory)


# ── episodes ─────────────────────────────────────────────────────────────────────────────────


async def test_an_episode_grows_while_it_is_open_and_then_stays(memory: AsyncMemory) -> None:
    first = await tell(memory, TALK[0])
    [young] = (await memory.episodes(user_id="ottilie")).items
    assert (young.open, young.message_ids) == (True, first.message_ids)

    second = await tell(memory, TALK[1], at="2026-03-01T10:20:00Z")
    [grown] = (await memory.episodes(user_id="ottilie")).items
    assert (grown.id, grown.open) == (young.id, True)
    assert grown.message_ids == [*first.message_ids, *second.message_ids]
    assert grown.started_at == young.started_at < grown.ended_at

    third = await tell(memory, "The tide is out.", at="2026-03-01T11:00:00Z")
    old, new = (await memory.episodes(user_id="ottilie")).items
    assert old == grown.model_copy(update={"open": False})
    assert (new.open, new.message_ids) == (True, third.message_ids)
    assert await memory.get(old.id, user_id="ottilie") == old
    await sound(memory)


@pytest.mark.parametrize("texts", [TALK, TALK_ZH])
async def test_one_by_one_and_at_once_give_the_same(open_store: Open, texts: list[str]) -> None:
    once, each = await open_store("once"), await open_store("each")
    await tell(once, *texts)
    for text in texts:
        await tell(each, text)
    told = [
        [
            (e.title, e.summary, e.people, e.topics, e.open, len(e.message_ids))
            for e in await memory.episodes(user_id="ottilie")
        ]
        for memory in (once, each)
    ]
    assert told[0] == told[1]
    assert set(await facts(once)) == set(await facts(each))
    names = [
        {(e.name, e.mentions) for e in await memory.entities(user_id="ottilie")}
        for memory in (once, each)
    ]
    assert names[0] == names[1]


async def test_episodes_are_found_and_filtered(memory: AsyncMemory) -> None:
    await tell(memory, TALK[0])
    await tell(memory, "我在码头看见了苍鹭。", session_id="bay", at="2026-03-09T10:00:00Z")
    both = (await memory.episodes(user_id="ottilie")).items
    assert [e.session_id for e in both] == ["pier", "bay"]
    assert (await memory.episodes(user_id="ottilie", session_id="bay")).items == both[1:]
    assert (await memory.episodes(user_id="ottilie", since="2026-03-05")).items == both[1:]
    assert (await memory.episodes(user_id="ottilie", until="2026-03-05")).items == both[:1]
    page = await memory.episodes(user_id="ottilie", limit=1)
    rest = await memory.episodes(user_id="ottilie", limit=1, cursor=page.next)
    assert [*page, *rest] == both
    hits = await memory.search("teal", user_id="ottilie", strata=["episodes"])
    assert [hit.id for hit in hits][:1] == [both[0].id]


# ── what is asked for ────────────────────────────────────────────────────────────────────────


async def test_without_infer_messages_stay_messages(memory: AsyncMemory) -> None:
    receipt = await tell(memory, *TALK, infer=False)
    assert len(receipt.message_ids) == 2
    assert (await memory.list(user_id="ottilie")).items == []
    assert (await memory.episodes(user_id="ottilie")).items == []
    assert (await memory.entities(user_id="ottilie")).items == []
    await sound(memory)


@pytest.mark.parametrize("kinds", [["core"], ["semantic"], ["vault"], []])
async def test_only_the_kinds_asked_for_are_written(memory: AsyncMemory, kinds: list[str]) -> None:
    await tell(memory, "My name is Ottilie. I live in Ostholm.", kinds=kinds)
    written = {record.kind for record in await memory.list(user_id="ottilie")}
    assert written <= set(kinds)
    assert ("semantic" in written) is ("semantic" in kinds)
    await sound(memory)


# ── taking back ──────────────────────────────────────────────────────────────────────────────


async def test_undo_of_a_batch_takes_its_records_back(memory: AsyncMemory) -> None:
    first = await tell(memory, TALK[0])
    kept = await facts(memory)
    second = await tell(memory, "I moved to Bergen.", at="2026-03-20T10:00:00Z")
    moved = await facts(memory)
    assert moved["lives_in", "Ostholm"].lifecycle == "past"
    assert moved["lives_in", "Bergen"].lifecycle == "current"

    await memory.undo(second.batch_id, user_id="ottilie")
    back = await facts(memory)
    assert set(back) == set(kept)
    home = back["lives_in", "Ostholm"]
    assert (home.lifecycle, home.valid_to, home.superseded_by) == ("current", None, None)
    await sound(memory)

    await memory.undo(first.batch_id, user_id="ottilie")
    assert (await memory.list(user_id="ottilie")).items == []
    assert not (await memory.search("Ostholm", user_id="ottilie")).hits
    await sound(memory)


async def test_undo_retells_the_episode_without_what_was_taken_back(memory: AsyncMemory) -> None:
    await tell(memory, TALK[0])
    [before] = (await memory.episodes(user_id="ottilie")).items
    second = await tell(memory, "Mabel keeps otters in the bath.", at="2026-03-01T10:05:00Z")
    await memory.undo(second.batch_id, user_id="ottilie")
    episodes = (await memory.episodes(user_id="ottilie")).items
    assert [(e.id, e.title, e.summary) for e in episodes] == [
        (before.id, before.title, before.summary)
    ]
    assert not (await memory.search("otters", user_id="ottilie", strata=["episodes"])).hits
    await sound(memory)


@pytest.mark.parametrize("texts", [TALK, TALK_ZH])
async def test_forget_takes_records_along_and_retells_the_episode(
    memory: AsyncMemory, tmp_path: Path, texts: list[str]
) -> None:
    receipt = await tell(memory, *texts)
    [before] = (await memory.episodes(user_id="ottilie")).items
    gone = receipt.message_ids[1]
    await memory.forget(ids=[gone], user_id="ottilie")

    [after] = (await memory.episodes(user_id="ottilie")).items
    assert (after.id, after.message_ids) == (before.id, receipt.message_ids[:1])
    words = ("walnuts", "Wren", "Turku", "核桃", "老板")
    told = f"{after.title} {after.summary} {after.topics}"
    assert not [word for word in words if word in told]
    records = (await memory.list(user_id="ottilie")).items
    assert records
    assert all(gone not in [e.source_id for e in record.evidence] for record in records)
    assert not [r for r in records if any(word in r.text for word in words)]
    assert not [e for e in await memory.entities(user_id="ottilie") if e.name in words]
    await memory.dump(tmp_path / "out.jsonl", user_id="ottilie")
    assert not [w for w in words if w in (tmp_path / "out.jsonl").read_text(encoding="utf-8")]
    await sound(memory)


async def test_forget_of_all_its_messages_takes_the_episode(memory: AsyncMemory) -> None:
    await tell(memory, *TALK)
    await tell(memory, "The tide is out.", session_id="bay")
    await memory.forget(session_id="pier", user_id="ottilie")
    assert [e.session_id for e in await memory.episodes(user_id="ottilie")] == ["bay"]
    assert (await memory.entities(user_id="ottilie")).items == []
    await memory.forget(everything=True, user_id="ottilie")
    assert (await memory.episodes(user_id="ottilie")).items == []
    await sound(memory)


# ── time ─────────────────────────────────────────────────────────────────────────────────────

HOMES = [("Ostholm", "2026-01-05"), ("Bergen", "2026-02-05"), ("Turku", "2026-03-05")]
HOMES_ZH = [("绍兴", "2026-01-05"), ("青岛", "2026-02-05"), ("大连", "2026-03-05")]


async def stays(memory: AsyncMemory) -> list[tuple[Any, ...]]:
    listed = await memory.list(user_id="ottilie", kinds=["semantic"])
    homes = [r for r in listed if r.fields.get("attribute") == "lives_in"]
    return [
        (r.fields["value"], r.lifecycle, r.valid_from and f"{r.valid_from:%m-%d}",
         r.valid_to and f"{r.valid_to:%m-%d}")
        for r in sorted(homes, key=lambda r: str(r.valid_from))
    ]  # fmt: skip


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("homes", [HOMES, HOMES_ZH])
async def test_late_arrivals_end_up_in_the_right_order(
    memory: AsyncMemory, homes: list[tuple[str, str]], order: tuple[int, ...]
) -> None:
    for number in order:
        place, day = homes[number]
        text = f"I live in {place}." if place.isascii() else f"我住在{place}。"
        await tell(memory, text, at=f"{day}T10:00:00Z", session_id=day)
    [(one, *_), (two, *_), (three, *_)] = homes
    assert await stays(memory) == [
        (one, "past", "01-05", "02-05"),
        (two, "past", "02-05", "03-05"),
        (three, "current", "03-05", None),
    ]
    await sound(memory)


async def test_what_was_so_longer_than_known_begins_earlier(memory: AsyncMemory) -> None:
    await tell(memory, "I live in Ostholm.", at="2026-01-05T10:00:00Z", session_id="a")
    await tell(memory, "I live in Bergen.", at="2026-03-05T10:00:00Z", session_id="b")
    late = await tell(memory, "I live in Bergen.", at="2026-02-05T10:00:00Z", session_id="c")
    assert await stays(memory) == [
        ("Ostholm", "past", "01-05", "02-05"),
        ("Bergen", "current", "02-05", None),
    ]
    await memory.undo(late.batch_id, user_id="ottilie")
    assert await stays(memory) == [
        ("Ostholm", "past", "01-05", "03-05"),
        ("Bergen", "current", "03-05", None),
    ]
    await sound(memory)


async def test_back_again_is_a_stay_of_its_own(memory: AsyncMemory) -> None:
    for place, day in HOMES[:2]:
        await tell(memory, f"I live in {place}.", at=f"{day}T10:00:00Z", session_id=day)
    back = await tell(memory, "I live in Ostholm.", at="2026-03-05T10:00:00Z", session_id="back")
    assert await stays(memory) == [
        ("Ostholm", "past", "01-05", "02-05"),
        ("Bergen", "past", "02-05", "03-05"),
        ("Ostholm", "current", "03-05", None),
    ]
    await memory.undo(back.batch_id, user_id="ottilie")
    assert (await stays(memory))[1:] == [("Bergen", "current", "02-05", None)]
    await sound(memory)


# ── entities ─────────────────────────────────────────────────────────────────────────────────


async def test_entities_say_what_a_name_is_linked_to(memory: AsyncMemory) -> None:
    first = await tell(memory, "My sister Wren Alder lives in Turku.")
    second = await tell(memory, "I met Wren at the pier.")
    await tell(memory, "I met Wren Quince in Turku.")
    [wren] = (await memory.entities("wren alder", user_id="ottilie")).items
    assert (wren.name, wren.type) == ("Wren Alder", "person")
    assert {*first.message_ids, *second.message_ids} <= set(wren.sources)
    assert wren.mentions == len(wren.sources)
    [quince] = (await memory.entities("Wren Quince", user_id="ottilie")).items
    assert quince.id != wren.id
    places = await memory.entities(user_id="ottilie", type="place")
    assert [place.name for place in places] == ["Turku"]
    everything = (await memory.entities(user_id="ottilie")).items
    assert [e.mentions for e in everything] == sorted(
        (e.mentions for e in everything), reverse=True
    )
    page = await memory.entities(user_id="ottilie", limit=1)
    rest = await memory.entities(user_id="ottilie", cursor=page.next)
    assert [*page, *rest] == everything
    assert (await memory.entities("Nobody", user_id="ottilie")).items == []


async def test_what_mentions_a_name_is_counted_once_while_it_stands(memory: AsyncMemory) -> None:
    await tell(memory, "I live in Ostholm.")
    moved = await tell(memory, "I moved to Bergen.", at="2026-03-20T10:00:00Z")
    [ostholm] = (await memory.entities("Ostholm", user_id="ottilie")).items
    assert ostholm.mentions == len(ostholm.sources)
    await memory.undo(moved.batch_id, user_id="ottilie")
    assert (await memory.entities("Bergen", user_id="ottilie")).items == []


async def test_no_word_of_ours_is_an_entity(memory: AsyncMemory) -> None:
    await tell(memory, *TALK)
    names = {entity.name for entity in await memory.entities(user_id="ottilie")}
    assert names == {"Ostholm", "Turku", "Wren"}


# ── review ───────────────────────────────────────────────────────────────────────────────────


async def doubt(memory: AsyncMemory, place: str = "Turku") -> tuple[Record, Record]:
    """Two homes stated at one moment: what stands and what waits."""
    stated = await tell(memory, "I live in Ostholm.")
    stood = next(r for r in (await facts(memory)).values() if r.id in stated.record_ids)
    await tell(memory, f"I live in {place}.", session_id="bay")
    [waiting] = (await memory.review(user_id="ottilie")).items
    assert [rival.id for rival in waiting.rivals] == [stood.id]
    assert "contradicts" in waiting.reason
    return stood, waiting.record


async def home(memory: AsyncMemory) -> dict[str, str]:
    listed = await facts(memory, lifecycles=["current", "past", "review", "retired"])
    return {value: r.lifecycle for (name, value), r in listed.items() if name == "lives_in"}


async def test_what_waits_is_in_no_answer_until_it_is_decided(memory: AsyncMemory) -> None:
    _, waiting = await doubt(memory)
    hits = await memory.search("where do I live?", user_id="ottilie", strata=["records"])
    assert waiting.id not in [hit.id for hit in hits]
    assert await home(memory) == {"Ostholm": "current", "Turku": "review"}
    await sound(memory)


async def test_accept_ends_what_stood(memory: AsyncMemory) -> None:
    stood, waiting = await doubt(memory)
    await memory.decide(waiting.id, "accept", user_id="ottilie", reason="seen it")
    assert await home(memory) == {"Ostholm": "past", "Turku": "current"}
    ended = await memory.get(stood.id, user_id="ottilie")
    assert isinstance(ended, Record)
    assert ended.superseded_by == waiting.id
    assert (await memory.history(waiting.id, user_id="ottilie"))[-1].reason == "seen it"
    assert (await memory.review(user_id="ottilie")).items == []
    with pytest.raises(Conflict):
        await memory.decide(waiting.id, "accept", user_id="ottilie")
    await sound(memory)


async def test_a_decision_can_be_undone(memory: AsyncMemory) -> None:
    _, waiting = await doubt(memory)
    decided = await memory.decide(waiting.id, "accept", user_id="ottilie")
    await memory.undo(decided.batch_id, user_id="ottilie")
    assert await home(memory) == {"Ostholm": "current", "Turku": "review"}
    await sound(memory)


async def test_reject_retires_it(memory: AsyncMemory) -> None:
    _, waiting = await doubt(memory)
    await memory.decide(waiting.id, "reject", user_id="ottilie")
    assert await home(memory) == {"Ostholm": "current", "Turku": "retired"}
    await sound(memory)


async def test_correct_accepts_it_as_changed(memory: AsyncMemory) -> None:
    _, waiting = await doubt(memory)
    changes = {"value": "Bergen", "name": "user lives in Bergen", "details": None}
    await memory.decide(waiting.id, "correct", user_id="ottilie", **changes)
    assert await home(memory) == {"Ostholm": "past", "Bergen": "current"}
    await sound(memory)


async def test_merge_moves_the_evidence(memory: AsyncMemory) -> None:
    stood, waiting = await doubt(memory, "Ostholm Harbour")
    await memory.decide(waiting.id, "merge", into=stood.id, user_id="ottilie")
    kept = await memory.get(stood.id, user_id="ottilie")
    assert isinstance(kept, Record)
    assert [e.source_id for e in kept.evidence] == [
        e.source_id for e in (*stood.evidence, *waiting.evidence)
    ]
    assert (await memory.review(user_id="ottilie")).items == []
    assert sorted((await home(memory)).values()) == ["current", "retired"]
    await sound(memory)


async def test_a_decision_must_make_sense(memory: AsyncMemory) -> None:
    stood, waiting = await doubt(memory)
    wrong: list[tuple[Any, dict[str, Any]]] = [
        ("merge", {}),
        ("accept", {"into": stood.id}),
        ("correct", {}),
        ("accept", {"value": "Bergen"}),
        ("perhaps", {}),
        ("merge", {"into": waiting.id}),
    ]
    for decision, options in wrong:
        with pytest.raises(InvalidInput):
            await memory.decide(waiting.id, decision, user_id="ottilie", **options)
    with pytest.raises(Conflict):
        await memory.decide(stood.id, "accept", user_id="ottilie")
    with pytest.raises(NotFound):
        await memory.decide(waiting.id, "accept", user_id="bruno")
    assert await home(memory) == {"Ostholm": "current", "Turku": "review"}


# ── moving ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("texts", [TALK, TALK_ZH])
async def test_dump_and_load_keep_it_all(
    open_store: Open, tmp_path: Path, texts: list[str], clock: Clock
) -> None:
    one, other = await open_store("one"), await open_store("other")
    await tell(one, *texts)
    clock.advance(days=1)
    await tell(one, "I live in Bergen now. Wren Alder came to visit.", at="2026-03-20T10:00:00Z")
    await one.dump(tmp_path / "out.jsonl", user_id="ottilie")
    await other.load(tmp_path / "out.jsonl")
    everything = ["current", "past", "review", "retired"]
    for memory in (one, other):
        assert len((await memory.episodes(user_id="ottilie")).items) == 2
    for listed in (
        lambda m: m.messages(user_id="ottilie"),
        lambda m: m.list(user_id="ottilie", lifecycles=everything),
        lambda m: m.episodes(user_id="ottilie"),
        lambda m: m.review(user_id="ottilie"),
    ):
        assert (await listed(one)).items == (await listed(other)).items
    known = [
        {(e.id, e.name, e.type, *e.aliases, *e.sources) for e in listed}
        for listed in [await memory.entities(user_id="ottilie") for memory in (one, other)]
    ]
    assert known[0] == known[1]
    await sound(other)

    await tell(other, "The tide is out.", at="2026-03-20T10:05:00Z")
    grown = (await other.episodes(user_id="ottilie")).items
    assert [len(e.message_ids) for e in grown] == [len(texts), 2]
    await sound(other)
