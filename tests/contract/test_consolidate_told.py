"""The profile and digests as a model writes them: what holds, what fails, what is made anew."""

from __future__ import annotations

from typing import Any

import pytest
from contract.answering import Answering, fact, known, lend, lines, record_of
from contract.conftest import Open
from contract.tidied import IVO, digests, profile

from memstrata import AsyncMemory, BudgetExceeded, ModelFailed
from memstrata.models.chat import Prompt

pytestmark = pytest.mark.anyio


@pytest.fixture
def model() -> Answering:
    return Answering(name={"themes": [{"theme": "t1", "name": "-"}]})


@pytest.fixture
async def memory(open_store: Open, model: Answering) -> AsyncMemory:
    memory = await open_store()
    lend(memory, model)
    return memory


# ── the profile and digests ──────────────────────────────────────────────────────────────────

LIVES = ("The user lives in Lisbon and works as a bookbinder.", ["Lisbon", "bookbinder"])


@pytest.fixture
def nothing_to_compare(model: Answering) -> None:
    model.by["compare"] = lambda prompt: {
        "pairs": [{"pair": f"p{n}", "verdict": "different"} for n in range(1, 21)]
    }


@pytest.mark.usefixtures("nothing_to_compare")
async def test_the_profile_is_the_models_where_the_facts_bear_it_out(
    memory: AsyncMemory, model: Answering
) -> None:
    ids = await known(memory)
    model.by["profile"] = lines(
        LIVES,
        ("The user likes golf.", ["old maps"]),
        ("The user has 3 herons.", ["heron"]),
        ("The user does not like old maps.", ["old maps"]),
    )
    done = await memory.consolidate(**IVO)
    block = await profile(memory)
    assert done.profile and block is not None
    first, *rest = block.text.splitlines()
    assert first == LIVES[0]
    assert sorted(rest) == ["user has the pet a heron", "user likes old maps"], "nothing is lost"
    assert {e.source_id for e in block.evidence} == set(ids)
    assert "3 of the language model's statements did not hold" in done.notes[0]
    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []


@pytest.mark.usefixtures("nothing_to_compare")
async def test_lines_that_name_no_fact_are_objected_to_once(
    memory: AsyncMemory, model: Answering
) -> None:
    await known(memory)
    model.by["profile"] = {"lines": [{"text": LIVES[0], "from": ["f99"]}, {"text": LIVES[0]}]}
    await memory.consolidate(**IVO)
    block = await profile(memory)
    assert block is not None and "user lives in Lisbon" in block.text.splitlines()
    assert model.asked("name", "compare") == ["profile", "profile"]
    assert "names nothing that was shown" in model.chat.prompts[-2].turns[-1].text + (
        model.chat.prompts[-1].turns[-1].text
    )
    model.forget()
    await memory.consolidate(**IVO)
    assert "profile" not in model.asked(), "it would say the same again"


@pytest.mark.usefixtures("nothing_to_compare")
async def test_new_facts_are_asked_for_and_what_a_person_wrote_is_theirs(
    memory: AsyncMemory, model: Answering
) -> None:
    await known(memory)
    model.by["profile"] = lines(LIVES)
    await memory.consolidate(**IVO)
    model.forget()
    await fact(memory, "The user sails", subject="user", attribute="likes", value="sailing")
    assert (await memory.consolidate(**IVO)).profile
    assert "profile" in model.asked() and "sailing" in model.shown("profile")
    block = await profile(memory)
    assert block is not None
    await memory.update(block.id, value="My own words.", **IVO)
    await fact(memory, "The user rows", subject="user", attribute="likes", value="rowing")
    model.forget()
    await memory.consolidate(**IVO)
    assert "profile" not in model.asked()
    assert (await record_of(memory, block.id)).text == "My own words."


@pytest.mark.usefixtures("nothing_to_compare")
async def test_forgetting_asks_no_model_and_the_next_consolidation_does(
    memory: AsyncMemory, model: Answering
) -> None:
    ids = await known(memory)
    model.by["profile"] = lines(LIVES)
    await memory.consolidate(**IVO)
    model.forget()
    gone = await memory.forget(ids=ids[1:2], **IVO)
    assert model.asked() == []
    block = await profile(memory)
    assert block is not None and "bookbinder" not in block.text and "Lisbon" in block.text
    assert await memory.verify(erased=gone.ids) == [] and await memory.verify(text="bookb") == []
    await fact(memory, "The user sails", subject="user", attribute="likes", value="sailing")
    model.by["profile"] = lines(("The user lives in Lisbon.", ["Lisbon"]))
    assert (await memory.consolidate(**IVO)).profile
    block = await profile(memory)
    assert block is not None and block.text.startswith("The user lives in Lisbon.")


async def week(memory: AsyncMemory, **scope: Any) -> None:
    """Two days of talk, of five sentences each."""
    for when, said in (
        ("2026-04-27T09:00:00Z", ["I live in Lisbon.", "The kitchen has a blue lamp.",
                                  "I bound the atlas of the harbour.", "It has 212 pages.",
                                  "Mr Quill paid for the felt."]),
        ("2026-04-28T09:00:00Z", ["My heron is called Rex.", "We walked along the Tagus.",
                                  "The press needs new felt.", "I ordered two metres.",
                                  "The register is due on Friday."]),
    ):  # fmt: skip
        await memory.add(said, occurred_at=when, **(scope or IVO))


@pytest.mark.usefixtures("nothing_to_compare")
async def test_digests_are_the_models_and_cite_what_they_say(
    memory: AsyncMemory, model: Answering
) -> None:
    await week(memory)

    def reply(prompt: Prompt) -> Any:
        if "atlas" not in prompt.turns[0].text:
            return lines(("The user ordered two metres of felt.", ["two metres", "felt"]))(prompt)
        return lines(
            ("The user bound the atlas of the harbour, 212 pages.", ["atlas", "212"]),
            ("The user bound the atlas in Porto.", ["atlas"]),
            ("I live in Lisbon.", ["Lisbon"]),
        )(prompt)

    model.by["digest"] = reply
    done = await memory.consolidate(**IVO)
    made = await digests(memory)
    assert done.digests == 3 and len(made) == 3 and "2 of the language" in done.notes[0]
    monday = made["Monday 27 April 2026"]
    said = ["The user bound the atlas of the harbour, 212 pages.", "user: I live in Lisbon."]
    assert monday.text.splitlines() == said
    assert len([e for e in monday.evidence if e.source_id.startswith("msg_")]) == 3
    assert made["Tuesday 28 April 2026"].text == "The user ordered two metres of felt."
    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []

    late = await memory.add("Late: the glue smells.", occurred_at="2026-04-27T19:00:00Z", **IVO)
    assert model.asked() == [] and late.state == "done"
    assert "user: I bound the atlas" in (await digests(memory))["Monday 27 April 2026"].text
    model.by["digest"] = lines(
        ("The glue smells.", ["glue"]), ("The kitchen has a blue lamp.", ["lamp"]),
        ("Mr Quill paid for felt.", ["Quill"]),
    )  # fmt: skip
    await memory.consolidate(**IVO)
    assert (await digests(memory))["Monday 27 April 2026"].text.startswith("The glue smells.\n")
    assert model.asked().count("digest") == 2, "Tuesday's is as it was"
    assert await memory.verify() == []


@pytest.mark.usefixtures("nothing_to_compare")
async def test_a_digest_that_leaves_out_most_is_not_taken(
    memory: AsyncMemory, model: Answering
) -> None:
    await week(memory)
    model.by["digest"] = {"lines": [{"text": "The user said so.", "from": ["m1"]}]}
    model.by["digest"] = lambda prompt: {
        "lines": [{"text": prompt.turns[0].text.splitlines()[2].partition(": ")[2], "from": ["m1"]}]
    }
    await memory.consolidate(**IVO)
    assert all("\n" in one.text for one in (await digests(memory)).values())
    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []


@pytest.mark.usefixtures("nothing_to_compare")
async def test_a_chinese_day_is_told_in_chinese(memory: AsyncMemory, model: Answering) -> None:
    said = [
        "我今天装订了港口地图集。",
        "一共有212页。",
        "奎尔先生付了毛毡的钱。",
        "厨房里有一盏蓝色的灯。",
    ]
    await memory.add(said, occurred_at="2026-04-27T09:00:00Z", **IVO)
    paid = ("奎尔先生付了毛毡的钱。", ["毛毡"])
    model.by["digest"] = lines(
        ("用户装订了港口地图集，一共212页。", ["地图集"]), ("用户在上海。", ["蓝色"]), paid
    )
    await memory.consolidate(**IVO)
    assert "只回复" in next(p.system for p in model.chat.prompts if p.purpose == "digest")
    (digest,) = (await digests(memory)).values()
    assert "我今天装订了港口地图集" in digest.text, "212 is in another message than it names"
    bound = ("用户装订了港口地图集，一共212页。", ["地图集", "212"])
    model.by["digest"] = lines(bound, paid)
    await memory.add("灯坏了。", occurred_at="2026-04-27T19:00:00Z", **IVO)
    await memory.consolidate(**IVO)
    (digest,) = (await digests(memory)).values()
    assert digest.text.splitlines() == [bound[0], paid[0]]


@pytest.mark.usefixtures("nothing_to_compare")
async def test_a_limit_in_the_middle_leaves_the_rest_to_the_rules_and_the_next_call(
    memory: AsyncMemory, model: Answering
) -> None:
    await known(memory)
    await week(memory)
    model.by["profile"] = lines(LIVES)
    model.by["digest"] = [
        lines(("The user ordered two metres of felt.", ["two metres", "felt"])),
        BudgetExceeded("4 of 4 calls are spent"),
    ]
    done = await memory.consolidate(**IVO)
    assert done.state == "done" and done.profile and done.digests == 3
    block = await profile(memory)
    assert block is not None and block.text.startswith(LIVES[0]), "what was done stands"
    made = await digests(memory)
    assert len(made) == 3 and "user: " in made["Monday 27 April 2026"].text
    assert "4 of 4 calls are spent" in done.notes[0] and "2 digests" in done.notes[0]
    assert "theme names" in done.notes[0] and "call consolidate again" in done.notes[0]
    assert await memory.verify() == []
    model.forget()
    model.by["digest"] = lines(
        ("The user bound the atlas of the harbour.", ["atlas"]),
    )

    def either(prompt: Prompt) -> Any:
        word = "atlas" if "atlas" in prompt.turns[0].text else "Tagus"
        text = "The user bound the atlas." if word == "atlas" else "They walked along the Tagus."
        return lines((text, [word]))(prompt)

    model.by["digest"] = either
    done = await memory.consolidate(**IVO)
    assert done.digests == 2 and not done.profile and done.notes == []
    assert model.asked("name") == ["digest", "digest"]
    model.forget()
    assert (await memory.consolidate(**IVO)).batch_id == "" and model.asked() == []


@pytest.mark.usefixtures("nothing_to_compare")
async def test_what_the_rules_made_is_made_by_a_model_once_there_is_one(
    memory: AsyncMemory, model: Answering
) -> None:
    lend(memory, None)
    await known(memory)
    await week(memory)
    done = await memory.consolidate(**IVO)
    assert done.digests == 3 and model.asked() == [] and done.ledger.model_calls == 0
    before = {title: one.text for title, one in (await digests(memory)).items()}
    lend(memory, model)
    model.by["profile"] = model.by["digest"] = ModelFailed("no")
    again = await memory.consolidate(**IVO)
    assert again.changes == [] and "3 digests" in again.notes[0] and "1 profile" in again.notes[0]
    assert {t: one.text for t, one in (await digests(memory)).items()} == before
    model.by["profile"] = lines(LIVES)
    model.by["digest"] = {"lines": []}
    done = await memory.consolidate(**IVO)
    assert done.profile and (await profile(memory)) is not None
    lend(memory, None)
    assert (await memory.consolidate(**IVO)).batch_id == "", "what a model wrote stays"
