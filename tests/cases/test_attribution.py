"""Who said it and of whom: nobody's words or traits become somebody else's."""

from __future__ import annotations

import pytest
from cases.support import texts

from memstrata import Memory
from memstrata.records import Message, Record


def facts(memory: Memory, user: str) -> dict[tuple[object, object], Record]:
    """The facts of a user, by whom and what they are about."""
    found = memory.list(user_id=user, kinds=["semantic"])
    return {(r.fields.get("subject"), r.fields.get("attribute")): r for r in found}


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("What could I grow on a dark windowsill?", "I'd grow moss; I kept moss for years."),
        ("What should I cook?", "I love dumplings. I always cook dumplings on Sundays."),
        ("背光的窗台种什么好？", "我喜欢苔藓，我养了很多年苔藓。"),
    ],
)
@pytest.mark.parametrize("name", [None, "Bertil"])
def test_r06_what_the_assistant_says_is_no_fact_of_the_user(
    memory: Memory, asked: str, answered: str, name: str | None
) -> None:
    """Roles were removed before extraction, and an assistant's proposals became the user's
    facts (mem0ai/mem0 #5642, MemTensor/MemOS-Cloud-OpenClaw-Plugin #10)."""
    reply = {"role": "assistant", "content": answered, **({"name": name} if name else {})}
    said = [{"role": "user", "content": asked}, reply]
    memory.add(said, user_id="ottilie", session_id="s")

    assert {subject for subject, _ in facts(memory, "ottilie")} <= {"assistant", name}
    assert memory.list(user_id="ottilie", kinds=["core"]).items == []
    [episode] = memory.episodes(user_id="ottilie")
    for line in episode.summary.splitlines():
        speaker, _, words = line.partition(": ")
        assert any(words in s["content"] for s in said)
        own = (name or "assistant", "助手") if words in answered else ("user", "用户")
        assert speaker in own
    hits = memory.search("what do I like to grow or cook?", user_id="ottilie")
    assert all(hit.message is not None or hit.stratum == "episodes" for hit in hits)


TIDE = "The tide at Ostholm was low and the gulls were loud. "
TIDE_ZH = "望潮岛的潮水很低，海鸥很吵。"


@pytest.mark.parametrize(
    ("speaker", "listener", "long", "attribute", "value"),
    [
        ("Mabel", "Bruno", TIDE * 120 + "I am allergic to walnuts. " + TIDE, "allergic_to",
         "walnuts"),
        ("柳青禾", "陶然", TIDE_ZH * 450 + "我对核桃过敏。" + TIDE_ZH, "allergic_to", "核桃"),
    ],
)  # fmt: skip
def test_r07_the_end_of_a_long_turn_is_its_speakers(
    memory: Memory, speaker: str, listener: str, long: str, attribute: str, value: str
) -> None:
    """A long turn was split, and what "I" said in its later parts went to the other speaker
    (vectorize-io/hindsight #4572)."""
    assert len(long) > 6000
    said = [
        {"role": "user", "name": listener, "content": "Go on." if long.isascii() else "说吧。"},
        {"role": "user", "name": speaker, "content": long},
        {"role": "user", "name": listener, "content": "Ah." if long.isascii() else "哦。"},
    ]
    receipt = memory.add(said, user_id="ottilie", session_id="s")

    record = facts(memory, "ottilie")[speaker, attribute]
    assert record.fields["value"] == value
    [evidence] = record.evidence
    assert evidence.source_id == receipt.message_ids[1]
    assert evidence.quote is not None
    assert evidence.quote in long
    assert not [key for key in facts(memory, "ottilie") if key[0] == listener]
    hits = memory.search(value, user_id="ottilie", strata=["messages"])
    assert isinstance(hits[0].message, Message)
    assert hits[0].message.name == speaker


@pytest.mark.parametrize(
    ("said", "whom", "what", "value"),
    [
        ("My cousin Felix hates diving, but his dad signed him up anyway.", "Felix", "likes",
         "diving"),
        ("我表弟小舟讨厌潜水，可是他爸爸还是给他报了名。", "小舟", "likes", "潜水"),
        ("My boss likes green tea.", "user's boss", "likes", "green tea"),
        ("我的老板喜欢绿茶。", "user的老板", "likes", "绿茶"),
    ],
)  # fmt: skip
def test_r08_what_is_said_of_somebody_else_is_theirs(
    memory: Memory, said: str, whom: str, what: str, value: str
) -> None:
    """Something said about a friend was stored as the user's own trait (mem0ai/mem0 #1528)."""
    memory.add(said, user_id="ottilie")
    found = facts(memory, "ottilie")
    assert found[whom, what].fields["value"] == value
    assert ("user", what) not in found
    assert texts(memory.messages(user_id="ottilie")) == [said]
    assert memory.list(user_id="ottilie", kinds=["core"]).items == []


@pytest.mark.parametrize(
    ("long", "value"),
    [
        (TIDE * 120 + "I am allergic to walnuts. " + TIDE, "walnuts"),
        (TIDE_ZH * 450 + "我对核桃过敏。" + TIDE_ZH, "核桃"),
    ],
)
def test_r07_the_passage_shown_is_the_one_that_says_it(
    memory: Memory, long: str, value: str
) -> None:
    """What was found in a long turn is shown, and not how the turn began."""
    said = [{"role": "user", "content": long}, {"role": "user", "content": "Ah."}]
    memory.add(said, user_id="ottilie", session_id="s")
    hits = memory.search(value, user_id="ottilie", strata=["messages"])
    assert value in hits[0].text
