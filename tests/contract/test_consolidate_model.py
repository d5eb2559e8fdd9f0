"""`consolidate` with a model: pairs of records; what fails, is undone, is forgotten."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import pytest
from contract.answering import (
    Answering,
    claim,
    fact,
    known,
    lend,
    lifecycles,
    lines,
    pair_of,
    record_of,
)
from contract.conftest import Open
from contract.tidied import IVO, told

from memstrata import AsyncMemory, Conflict, ModelFailed

pytestmark = pytest.mark.anyio

NURSE = "Ana is a nurse at Lakeside"
SAME = "At Lakeside Ana works as a nurse"


LIVES = ("The user lives in Lisbon and works as a bookbinder.", ["Lisbon", "bookbinder"])


@pytest.fixture
def model() -> Answering:
    return Answering(name={"themes": [{"theme": "t1", "name": "-"}]})


@pytest.fixture
async def memory(open_store: Open, model: Answering) -> AsyncMemory:
    memory = await open_store()
    lend(memory, model)
    return memory


# ── pairs ────────────────────────────────────────────────────────────────────────────────────


async def test_what_says_the_same_in_other_words_is_retired(
    memory: AsyncMemory, model: Answering
) -> None:
    said = (await memory.add(["One.", "Two."], infer=False, **IVO)).message_ids
    kept = await fact(memory, NURSE, evidence=said[:1])
    extra = await fact(memory, SAME, evidence=said[1:])
    model.by["compare"] = pair_of(NURSE, SAME, "same", "a")
    done = await memory.consolidate(**IVO)
    assert (done.state, done.duplicates, done.notes) == ("done", 1, [])
    assert await lifecycles(memory, kept, extra) == ["current", "retired"]
    assert {e.source_id for e in (await record_of(memory, kept)).evidence} == set(said)
    reason = (await memory.history(extra, **IVO))[-1].reason
    assert kept in reason and model.chat.id in reason
    assert done.ledger.model_calls == len(model.asked()) == 1
    (batch, *_) = (await memory.batches(**IVO)).items
    assert batch.ledger.model_calls == 1 and batch.reason is None

    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == ""
    await memory.undo(done.batch_id, **IVO)
    assert await lifecycles(memory, kept, extra) == ["current", "current"]
    assert (await memory.consolidate(**IVO)).duplicates == 0, "what was taken back stays so"
    assert "compare" not in model.asked()
    assert await memory.verify() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The flat has 2 rooms", "The flat has 3 rooms"),
        ("这套房有两间卧室", "这套房有三间卧室"),
        ("She met Quill in the park", "She met Perkin in the park"),
        ("They meet in the mill on Monday", "They meet in the mill on Tuesday"),
    ],
)
async def test_two_numbers_days_or_names_are_never_the_same(
    memory: AsyncMemory, model: Answering, one: str, other: str
) -> None:
    first, second = await fact(memory, one), await fact(memory, other)
    model.by["compare"] = pair_of(one, other, "same")
    assert (await memory.consolidate(**IVO)).duplicates == 0
    assert await lifecycles(memory, first, second) == ["current", "current"]
    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []


async def test_what_changed_ends_the_older_fact(memory: AsyncMemory, model: Answering) -> None:
    porto = await claim(memory, "lives_in", "Porto", valid_from="2025-01-01")
    faro = await claim(memory, "lives_in", "Faro", valid_from="2026-02-01")
    model.by["compare"] = pair_of("Porto", "Faro", "changed", "b")
    done = await memory.consolidate(**IVO)
    assert (done.contradictions, done.lapsed_plans, done.digests) == (1, 0, 0)
    old, new = await record_of(memory, porto), await record_of(memory, faro)
    assert (old.lifecycle, old.valid_to, old.superseded_by) == ("past", new.valid_from, faro)
    assert (new.lifecycle, new.supersedes) == ("current", porto)
    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []
    await memory.undo(done.batch_id, **IVO)
    assert await lifecycles(memory, porto, faro) == ["current", "current"]
    assert (await record_of(memory, faro)).supersedes is None
    assert await memory.verify() == []


async def test_taking_back_the_newer_fact_lets_the_older_stand_again(
    memory: AsyncMemory, model: Answering
) -> None:
    porto = await claim(memory, "lives_in", "Porto", valid_from="2025-01-01")
    made = await memory.create(
        {"kind": "semantic", "name": "Ana lives in Faro", "subject": "Ana", "value": "Faro",
         "attribute": "lives_in", "valid_from": "2026-02-01"},
        **IVO,
    )  # fmt: skip
    model.by["compare"] = pair_of("Porto", "Faro", "changed", "b")
    assert (await memory.consolidate(**IVO)).contradictions == 1
    with pytest.raises(Conflict):
        await memory.undo(made.batch_id, **IVO)
    await memory.undo(made.batch_id, cascade=True, **IVO)
    old = await record_of(memory, porto)
    assert (old.lifecycle, old.valid_to, old.superseded_by) == ("current", None, None)
    assert await memory.verify() == []


async def test_opposite_statements_do_not_both_stand(memory: AsyncMemory, model: Answering) -> None:
    likes = await claim(memory, "likes", "olives", valid_from="2025-01-01")
    hates = await claim(
        memory, "likes", "olives", polarity=False, name="Ana hates olives", valid_from="2026-02-01"
    )
    model.by["compare"] = pair_of("Ana likes olives", "hates", "contradict", "b")
    assert (await memory.consolidate(**IVO)).contradictions == 1
    assert await lifecycles(memory, likes, hates) == ["past", "current"]


async def test_what_cannot_be_decided_waits_for_review(
    memory: AsyncMemory, model: Answering
) -> None:
    ours = await claim(memory, "lives_in", "Porto", valid_from="2026-01-01")
    page = await claim(memory, "lives_in", "Faro", valid_from="2026-02-01", trust="web")
    model.by["compare"] = pair_of("Porto", "Faro", "changed", "b")
    assert (await memory.consolidate(**IVO)).contradictions == 1
    assert await lifecycles(memory, ours, page) == ["current", "review"]
    (waiting,) = (await memory.review(**IVO)).items
    assert [rival.id for rival in waiting.rivals] == [ours]
    assert "contradicts" in waiting.reason and model.chat.id in waiting.reason


@pytest.mark.parametrize("verdict", ["contradict", "changed"])
async def test_a_fact_that_only_mentions_the_same_stays(
    memory: AsyncMemory, model: Answering, verdict: str
) -> None:
    works = await claim(memory, "works_at", "Borealis", name="Ana works at Borealis")
    club = await claim(memory, "runs", "the club at Borealis", name="Ana runs the club at Borealis")
    model.by["compare"] = pair_of("Ana works", "the club", verdict, "b")
    done = await memory.consolidate(**IVO)
    assert await lifecycles(memory, works, club) == ["current", "current"]
    assert done.contradictions == 0 and done.changes == []
    (note,) = done.notes
    assert works in note and club in note and "both are kept" in note


async def test_a_name_that_means_something_else_by_now_is_two_things(
    memory: AsyncMemory, model: Answering
) -> None:
    book = await fact(memory, "Atlas", summary="the book of maps", valid_from="2024-01-01",
                      valid_to="2025-06-01")  # fmt: skip
    dog = await fact(memory, "Atlas", summary="the dog of the press", valid_from="2025-06-01")
    model.by["compare"] = pair_of("book of maps", "dog of the press", "changed", "b")
    (note,) = (await memory.consolidate(**IVO)).notes
    assert f"{book} (2024-01-01 to 2025-06-01) and {dog} (since 2025-06-01)" in note
    assert "means two things" in note
    assert await lifecycles(memory, book, dog) == ["current", "current"]


async def test_what_says_something_else_is_judged_anew(
    memory: AsyncMemory, model: Answering
) -> None:
    await fact(memory, NURSE)
    other = await fact(memory, SAME)
    model.by["compare"] = pair_of(NURSE, SAME, "different")
    await memory.consolidate(**IVO)
    model.forget()
    await memory.update(other, tags=["work"], **IVO)
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []
    await memory.update(other, name=f"{SAME}, at night", **IVO)
    model.by["compare"] = pair_of(NURSE, "at night", "different")
    await memory.consolidate(**IVO)
    assert model.asked() == ["compare"]


async def test_nothing_is_left_of_a_comparison_with_what_is_forgotten(
    memory: AsyncMemory, model: Answering
) -> None:
    kept, extra = await fact(memory, NURSE), await fact(memory, SAME)
    model.by["compare"] = pair_of(NURSE, SAME, "same", "a")
    await memory.consolidate(**IVO)
    model.forget()
    gone = await memory.forget(ids=[extra], **IVO)
    assert await memory.verify(erased=gone.ids) == []
    assert await memory.verify(text=SAME) == []
    assert await memory.verify() == []
    assert model.asked() == []
    assert await lifecycles(memory, kept) == ["current"]


@pytest.mark.parametrize("by_model", [True, False])
async def test_no_reason_names_what_is_forgotten(
    memory: AsyncMemory, model: Answering, by_model: bool
) -> None:
    model.by["compare"] = pair_of(NURSE, SAME, "same", "a")
    if not by_model:
        lend(memory, None)
    kept = await fact(memory, NURSE)
    extra = await fact(memory, SAME if by_model else NURSE.upper())
    assert (await memory.consolidate(**IVO)).duplicates == 1
    gone = await memory.forget(ids=[kept], **IVO)
    assert await memory.verify(erased=gone.ids) == [] and await memory.verify() == []
    assert "what was forgotten" in (await memory.history(extra, **IVO))[-1].reason


@pytest.mark.parametrize(
    "reply",
    [
        "I would rather not.",
        {"pairs": [{"pair": "p77", "verdict": "same"}]},
        {"pairs": [{"pair": "p1", "verdict": "perhaps"}]},
        '{"pairs": [{"pair": "p1", "verd',
        ModelFailed("the endpoint is down"),
    ],
)
async def test_a_model_that_fails_changes_nothing_and_is_asked_again_next_time(
    memory: AsyncMemory, model: Answering, reply: Any
) -> None:
    kept, extra = await fact(memory, NURSE), await fact(memory, SAME)
    model.by["compare"] = reply
    done = await memory.consolidate(**IVO)
    assert (done.state, done.reason, done.changes) == ("done", None, [])
    assert "1 pairs of memories" in done.notes[0] and "call consolidate again" in done.notes[0]
    assert (await memory.batches(**IVO)).items[0].reason == done.notes[0]
    assert await lifecycles(memory, kept, extra) == ["current", "current"]
    model.by["compare"] = pair_of(NURSE, SAME, "same", "a")
    assert (await memory.consolidate(**IVO)).duplicates == 1


async def test_sixty_pairs_are_three_calls_and_the_next_time_the_rest(
    memory: AsyncMemory, model: Answering
) -> None:
    for n in range(12):  # 66 pairs
        await claim(memory, "lives_in", f"town {n}")
    model.by["compare"] = lambda prompt: {
        "pairs": [
            {"pair": f"p{n}", "verdict": "different"}
            for n in range(1, 1 + prompt.turns[0].text.count("\n  a"))
        ]
    }
    model.by["name"] = ModelFailed("no")
    await memory.consolidate(**IVO)
    assert model.asked("name") == ["compare"] * 3
    model.forget()
    await memory.consolidate(**IVO)
    assert model.asked("name") == ["compare"]
    model.forget()
    await memory.consolidate(**IVO)
    assert model.asked("name") == []


async def test_other_verbs_ask_no_more_than_before(memory: AsyncMemory, model: Answering) -> None:
    await told(memory)
    await fact(memory, NURSE)
    await fact(memory, SAME)
    await memory.search("nurse", **IVO)
    assert model.asked() == []


async def test_what_moved_meanwhile_is_done_over_and_not_paid_for_twice(
    memory: AsyncMemory, model: Answering
) -> None:
    await known(memory)
    kept, extra = await fact(memory, NURSE), await fact(memory, SAME)
    model.by["compare"] = pair_of(NURSE, SAME, "same", "a")
    model.by["profile"] = lines(LIVES)
    commit = memory._runtime.store.consolidated
    tries: list[int] = []

    async def late(*args: Any, **kwargs: Any) -> Any:
        tries.append(len(model.asked()))
        if len(tries) == 1:
            # Its batch waits for its turn, what it writes does not.
            group.start_soon(partial(memory.update, extra, tags=["x"], **IVO))
            while (await record_of(memory, extra)).version == 1:
                pass
        return await commit(*args, **kwargs)

    async with anyio.create_task_group() as group:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory._runtime.store, "consolidated", late)
            done = await memory.consolidate(**IVO)
        assert (done.state, done.duplicates, done.profile) == ("done", 1, True)
    assert tries == [2, 3], "only what moved is asked about again"
    assert await lifecycles(memory, kept, extra) == ["current", "retired"]
    assert await memory.verify() == []
