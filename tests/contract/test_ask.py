"""`ask` and `chat` without a model: what was said, quoted; or that memory does not know."""

from __future__ import annotations

from typing import Any

import pytest

from memstrata import Answer, AsyncMemory, InvalidInput, ScopeRequired

pytestmark = pytest.mark.anyio

ANA: dict[str, Any] = {"user_id": "ana"}
NOW = "2026-06-10T10:00:00Z"


@pytest.fixture
async def ana(memory: AsyncMemory) -> AsyncMemory:
    """Two conversations, in which a fact changes."""
    await memory.add(
        [
            {"name": "Ana", "content": "I moved to Lisbon. My sister Lena has a dog."},
            {"role": "assistant", "content": "How do you like Lisbon?"},
        ],
        session_id="may",
        occurred_at="2026-05-04T09:00:00Z",
        **ANA,
    )
    await memory.add(
        {"name": "Ana", "content": "I moved to Porto. Yesterday I saw an otter."},
        session_id="june",
        occurred_at="2026-06-04T09:00:00Z",
        **ANA,
    )
    return memory


async def ask(memory: AsyncMemory, question: str) -> Answer:
    return await memory.ask(question, now=NOW, **ANA)


async def test_an_answer_quotes_who_said_it_and_when(ana: AsyncMemory) -> None:
    answer = await ask(ana, "Who saw an otter?")
    assert answer.known and 0.5 <= answer.confidence <= 1
    assert "Yesterday I saw an otter." in answer.text
    assert "Ana, 2026-06-04" in answer.text
    assert answer.citations and all(one.occurred_at for one in answer.citations)
    assert {one.id for one in answer.citations} <= {item.id for item in answer.items}
    assert answer.ledger.model_calls == 0 and answer.ledger.embedding_calls == 1
    assert answer.wording is None and answer.receipt is None
    assert answer.searches[0].hits == len(answer.items)


async def test_asking_writes_nothing(ana: AsyncMemory) -> None:
    before = await ana.batches(**ANA)
    await ask(ana, "Who saw an otter?")
    assert await ana.batches(**ANA) == before


async def test_when_says_the_date(ana: AsyncMemory) -> None:
    answer = await ask(ana, "When did Ana see an otter?")
    assert "Yesterday = 2026-06-03" in answer.text


async def test_a_superseded_fact_is_not_given_as_current(ana: AsyncMemory) -> None:
    answer = await ask(ana, "Where does Ana live?")
    assert answer.known
    assert "Porto" in answer.text and "moved to Lisbon" not in answer.text
    assert all("moved to Lisbon" not in one.text for one in answer.citations)


@pytest.mark.parametrize("question", ["Where did Ana live before Porto?", "Ana以前住在Porto哪里？"])
async def test_what_was_so_before(ana: AsyncMemory, question: str) -> None:
    answer = await ask(ana, question)
    assert answer.known and "moved to Lisbon" in answer.text
    assert "2026-06-04" in answer.text  # until then


async def test_a_correction_is_not_quoted_as_it_was(memory: AsyncMemory) -> None:
    await memory.add("I live in Turku. The stove is new.", session_id="s", **ANA)
    await memory.add("Sorry, I meant Vaasa, not Turku.", session_id="s", **ANA)
    answer = await ask(memory, "Where do I live, in Turku or Vaasa?")
    assert "Vaasa" in answer.text and "I live in Turku" not in answer.text


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What is the name of the mayor of Dunmere?", "Memory does not know."),
        ("邓米尔的市长叫什么名字？", "记忆中没有相关内容。"),
        ("thanks!", "Memory does not know."),
    ],
)
async def test_memory_does_not_know(ana: AsyncMemory, question: str, says: str) -> None:
    answer = await ask(ana, question)
    assert (answer.text, answer.known, answer.confidence) == (says, False, 0)
    assert answer.citations == []


async def test_an_empty_memory_knows_nothing(memory: AsyncMemory) -> None:
    assert not (await ask(memory, "Where does Ana live?")).known


async def test_a_count(ana: AsyncMemory) -> None:
    answer = await ask(ana, "How many dogs does Lena have?")
    assert answer.known and answer.text.startswith("1: ") and answer.citations
    answer = await ask(ana, "How many boats do I have?")
    assert not answer.known and answer.text == "Memory cannot tell."
    assert any("cannot tell" in note for note in answer.notes)


async def test_a_timeline(ana: AsyncMemory) -> None:
    answer = await ask(ana, "Timeline of where Ana moved, Lisbon and Porto")
    lines = answer.text.split("\n")
    assert answer.known and lines == sorted(lines) and len(lines) > 1
    assert all(line.startswith("2026-0") for line in lines)


async def test_chinese(memory: AsyncMemory) -> None:
    await memory.add("我弟弟米洛在宁波工作。我上周去了杭州。", occurred_at="2026-06-05", **ANA)
    answer = await ask(memory, "米洛在哪里工作？")
    assert answer.known and "宁波" in answer.text and "2026-06-05" in answer.text
    answer = await ask(memory, "我什么时候去的杭州？")
    assert "上周 = 2026-05-25 – 2026-05-31" in answer.text


async def test_what_a_record_leaves_out_is_found(memory: AsyncMemory) -> None:
    """An event drawn from a message does not stand for the rest of it."""
    await memory.add("The spare key is under the blue pot. Yesterday I saw an otter.", **ANA)
    answer = await ask(memory, "Where is the spare key?")
    assert answer.known and "under the blue pot" in answer.text


async def test_a_question_is_not_quoted(memory: AsyncMemory) -> None:
    await memory.add("Where is the spare key?", **ANA)
    assert "?" not in (await ask(memory, "Where is the spare key?")).text


async def test_what_is_highly_sensitive_is_not_quoted_unasked(memory: AsyncMemory) -> None:
    """As in a search without kinds; what is shown would be on record."""
    door = {"kind": "semantic", "name": "The plum cellar has a hidden door"}
    await memory.create({**door, "sensitivity": "high"}, **ANA)
    question = "Where is the hidden door of the plum cellar?"
    assert not (await ask(memory, question)).known
    await memory.create({**door, "name": "The plum cellar has a hidden door behind jars"}, **ANA)
    assert "behind jars" in (await ask(memory, question)).text
    assert [one for one in await memory.audit(**ANA) if one.action == "read"] == []


async def test_others_memory_is_not_quoted(ana: AsyncMemory) -> None:
    answer = await ana.ask("Who saw an otter?", user_id="eve")
    assert not answer.known and answer.items == []


@pytest.mark.parametrize("question", ["", "  ", "\u200b", None, 5, ["x"]])
async def test_a_question_is_a_text(memory: AsyncMemory, question: Any) -> None:
    with pytest.raises(InvalidInput, match="question"):
        await memory.ask(question, **ANA)
    with pytest.raises(ScopeRequired):
        await memory.ask("Where?")


# ── conversations ────────────────────────────────────────────────────────────────────────────


async def test_a_correction_in_chat_changes_what_is_found(ana: AsyncMemory) -> None:
    told = {"name": "Ana", "content": "I moved to Braga."}
    answer = await ana.chat(told, session_id="later", now=NOW, **ANA)
    assert (answer.text, answer.known) == ("All right.", False)
    assert answer.receipt is not None and answer.receipt.state == "done"
    assert answer.receipt.changes
    (hit, *_) = await ana.search("where does Ana live?", kinds=["semantic"], now=NOW, **ANA)
    assert "Braga" in hit.text
    asked = await ana.chat("Where does Ana live?", session_id="later", now=NOW, **ANA)
    assert "Braga" in asked.text and "Porto" not in asked.text


async def test_a_history_sent_again_is_stored_once(ana: AsyncMemory) -> None:
    before = len((await ana.messages(**ANA)).items)
    history: list[dict[str, Any]] = []
    for said in ("I bought a red cart.", "What did I buy, a cart?", "我喜欢喝茶。"):
        history.append({"role": "user", "content": said})
        answer = await ana.chat(history, session_id="c", **ANA)
        history.append({"role": "assistant", "content": answer.text})
    stored = [one.content for one in (await ana.messages(session_id="c", **ANA)).items]
    assert stored == [turn["content"] for turn in history]
    assert len((await ana.messages(**ANA)).items) == before + 6


async def test_without_a_session_only_what_came_after_the_last_reply_is_new(
    memory: AsyncMemory,
) -> None:
    turns = [
        {"role": "user", "content": "My cat is called Juno."},
        {"role": "assistant", "content": "Lovely."},
        {"role": "user", "content": "She is grey."},
    ]
    answer = await memory.chat(turns, **ANA)
    stored = [one.content for one in (await memory.messages(**ANA)).items]
    assert stored == ["She is grey.", answer.text]


async def test_a_reply_teaches_no_fact_about_the_user(ana: AsyncMemory) -> None:
    """It quotes what the user said: that is no new statement of it, and is not quoted again."""
    before = await ana.chat("Where did Ana live before?", session_id="c", now=NOW, **ANA)
    (*_, reply) = await ana.messages(session_id="c", **ANA)
    assert reply.metadata == {"answered_from": [one.id for one in before.citations]}
    answer = await ask(ana, "Where does Ana live?")
    assert "Porto" in answer.text and "moved to Lisbon" not in answer.text
    again = await ask(ana, "Where did Ana live before?")
    assert again.text == before.text


async def test_learning_is_a_choice(ana: AsyncMemory) -> None:
    before = await ana.batches(**ANA)
    answer = await ana.chat("I moved to Braga.", learn=False, **ANA)
    assert answer.receipt is None
    assert await ana.batches(**ANA) == before


async def test_a_follow_up_is_answered(ana: AsyncMemory) -> None:
    turns = [
        {"role": "user", "content": "Does my sister Lena have a dog?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "What animal did Ana see then, the otter?"},
    ]
    answer = await ana.chat(turns, learn=False, now=NOW, **ANA)
    assert answer.known and "otter" in answer.text


async def test_the_users_words_go_before_the_assistants(memory: AsyncMemory) -> None:
    """Of what is asked about oneself."""
    mine = "The plum tree I have gets water on Mondays."
    yours = "I think that a plum tree is to be watered when the week is dry."
    turns = [{"role": "user", "content": mine}, {"role": "assistant", "content": yours}]
    await memory.add([*turns, "Thanks."], session_id="s", infer=False, **ANA)
    answer = await ask(memory, "When do I water my plum tree in a dry week?")
    assert answer.text.startswith(f"“{mine}”")
    answer = await ask(memory, "When is a plum tree to be watered in a dry week?")
    assert answer.text.startswith(f"“{yours}”")


async def test_a_request_tells_nothing(memory: AsyncMemory) -> None:
    said = ["给我一些养梅子树的建议", "梅子树在院子里，每周浇水。"]
    await memory.add(said, session_id="s", infer=False, **ANA)
    answer = await ask(memory, "梅子树在哪里，有什么养树的建议？")
    assert "院子" in answer.text and "给我" not in answer.text


async def test_a_session_that_is_new_is_stored_whole(memory: AsyncMemory) -> None:
    turns = [
        {"role": "user", "content": "My cat is called Juno."},
        {"role": "assistant", "content": "Lovely."},
        {"role": "user", "content": "She is grey."},
    ]
    answer = await memory.chat(turns, session_id="c", **ANA)
    stored = [one.content for one in (await memory.messages(**ANA)).items]
    assert stored == [*(turn["content"] for turn in turns), answer.text]


async def test_quotes_are_short(memory: AsyncMemory) -> None:
    long = "The otter lives by the weir. " + "It swims and dives and sleeps. " * 60
    await memory.add(long, infer=False, **ANA)
    await memory.add("獭住在堰边。" + "它游泳潜水睡觉。" * 80, infer=False, **ANA)
    answer = await ask(memory, "Where does the otter live, by the weir?")
    assert "by the weir" in answer.text and len(answer.text) < 360
    answer = await ask(memory, "獭住在哪里，堰边吗？")
    assert "獭住在堰边" in answer.text and len(answer.text) < 200
