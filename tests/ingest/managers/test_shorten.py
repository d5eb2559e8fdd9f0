"""A block of core memory written anew: every fact stays, or the block does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest.managers.desk import count, record_of
from ingest.said import NOON

from memstrata.errors import ModelFailed
from memstrata.ingest.managers import Desk
from memstrata.ingest.managers.shorten import lost, shorten
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import Core
from memstrata.models.fake import FakeChat
from memstrata.models.spending import Meter
from memstrata.records import Evidence

pytestmark = pytest.mark.anyio

BLOCK = (
    "Name: Ottilie\nLikes herons, tea and 3 kinds of bread.\nDoes not eat olives.\n"
    "Never call before 09:30.\nThe birthday is on 1990-06-14."
)
BLOCK_ZH = "姓名: 柳青禾\n喜欢苍鹭和绿茶。\n不吃橄榄。\n生日是1990年6月14日。"
KEEPS = [
    (BLOCK, "Ottilie; likes herons, tea, 3 kinds of bread\nDoes not eat olives\n"
            "Never call before 09:30; birthday 1990-06-14"),
    (BLOCK, BLOCK.replace("Does not eat olives", "Doesn't eat olives")),
    (BLOCK, "\n".join(reversed(BLOCK.splitlines()))),
    (BLOCK_ZH, "柳青禾，生日1990年6月14日。喜欢苍鹭、绿茶；不吃橄榄"),
    (BLOCK_ZH, "\n".join(reversed(BLOCK_ZH.splitlines()))),
]  # fmt: skip
LOSES = [
    ("Name: Ottilie", "Name:", "Ottilie"),
    ("Name: Ottilie", "Name: Ottoline", "Ottilie"),
    ("Likes herons and tea.", "Likes tea.", "herons"),
    ("Never call before 09:30.", "Never call.", "09:30"),
    ("Never call before 09:30.", "Never call before 09:00.", "09:30"),
    ("Has 3 cats.", "Has cats.", "3"),
    ("Has 13 cats.", "Has 3 cats.", "13"),
    ("Born on 1990-06-14.", "Born on 1990-06-15.", "1990-06-14"),
    ("Does not eat olives.", "Eats olives.", "olives"),
    ("Doesn't eat olives.", "Does eat olives.", "olives"),
    ("Eats olives.", "Does not eat olives.", "olives"),
    ("Likes tea, hates coffee.", "Likes tea, coffee.", "coffee"),
    ("Likes tea but not coffee.", "Likes tea and coffee.", "coffee"),
    ("Likes tea but not coffee.", "Does not like tea and coffee.", "tea"),
    ("Lives without a car.", "Lives with a car.", "car"),
    ("Avoid calls on Mondays.", "Calls on Mondays.", "calls"),
    ("姓名: 柳青禾", "姓名: 柳青", "柳青禾"),
    ("喜欢苍鹭和绿茶。", "喜欢绿茶。", "苍鹭"),
    ("不吃橄榄。", "吃橄榄。", "橄榄"),
    ("吃橄榄。", "不吃橄榄。", "橄榄"),
    ("没有汽车。", "有汽车。", "汽车"),
    ("讨厌橄榄。", "喜欢橄榄。", "橄榄"),
    ("有3只猫。", "有猫。", "3"),
    ("生日是6月14日。", "生日是6月15日。", "14"),
    ("喜欢绿茶，不喜欢咖啡。", "喜欢绿茶和咖啡。", "咖啡"),
]


@pytest.mark.parametrize(("before", "after"), KEEPS)
def test_a_rewrite_that_keeps_all_loses_nothing(before: str, after: str) -> None:
    assert lost(before, after) == []


@pytest.mark.parametrize(("before", "after", "what"), LOSES)
def test_a_lost_name_number_or_denial_is_seen(before: str, after: str, what: str) -> None:
    assert lost(before, after) != []


@given(st.text(max_size=200))
def test_what_stays_as_it_is_loses_nothing(text: str) -> None:
    assert lost(text, text) == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_two_in_one_lose_nothing_of_either(one: str, other: str) -> None:
    assert lost(one, f"{one}\n{other}") == []


# ── asking for it ────────────────────────────────────────────────────────────────────────────


def full(value: str = BLOCK, limit: int | None = None) -> Any:
    return record_of(Core(label="human", value=value, limit=limit or len(value) + 10), "core_1")


def lines(*values: str, old: str | None = None) -> list[Proposal]:
    evidence = (Evidence(source_id="msg_1", quote=values[0] if values else None),)
    return [
        Proposal("create", Core(label="human", value=value), evidence, NOON, replaces=old)
        for value in values
    ]


def desk(*replies: Any) -> Desk:
    return Desk(FakeChat(*replies), Meter(), count)


async def test_a_block_with_room_is_not_rewritten() -> None:
    one = desk()
    assert await shorten(one, full(limit=2000), lines("Has 2 dogs.")) is None
    assert await shorten(one, full(), []) is None
    assert one.meter.uses == []


async def test_a_line_in_the_place_of_an_old_one_needs_no_room() -> None:
    block = full("Name: Ottilie\n" + "x" * 80, limit=110)
    assert await shorten(desk(), block, lines("Name: Mabel", old="Name: Ottilie")) is None


async def test_a_full_block_is_rewritten_in_its_own_language() -> None:
    for (before, after), language in ((KEEPS[0], "fewer words"), (KEEPS[3], "重写")):
        one = desk({"value": after})
        made = await shorten(one, full(before), lines("Has 2 dogs."))
        assert isinstance(made, Proposal)
        assert isinstance(made.record, Core)
        assert (made.op, made.target, made.record.value) == ("revise", "core_1", after)
        assert made.record.limit == len(before) + 10
        assert made.evidence
        assert "prompt shorten." in made.reason
        assert isinstance(one.model, FakeChat)
        [asked] = one.model.prompts
        assert language in asked.system
        assert asked.turns[0].text.split() == before.split(), "the block, and not the new line"
        assert one.meter.ledger().model_calls == 1


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ({"value": BLOCK}, "no shorter"),
        ({"value": BLOCK + " And much more besides."}, "no shorter"),
        ({"value": "Name: Ottilie"}, "loses"),
        ({"value": ""}, "loses"),
        ({"value": KEEPS[0][1].replace("not ", "")}, "loses"),
    ],
)
async def test_a_rewrite_that_loses_a_fact_is_refused(written: Any, why: str) -> None:
    found = await shorten(desk(written), full(), lines("Has 2 dogs."))
    assert isinstance(found, str)
    assert why in found
    assert "Ottilie" not in found, "what is refused outlives what is forgotten"
    assert "human" in found


async def test_a_reply_of_no_use_is_asked_for_once_more_and_then_fails() -> None:
    one = desk("I would rather not.", {"value": 7})
    with pytest.raises(ModelFailed):
        await shorten(one, full(), lines("Has 2 dogs."))
    assert one.meter.ledger().model_calls == 2


async def test_half_a_pair_in_a_rewrite_is_replaced() -> None:
    made = await shorten(desk({"value": KEEPS[0][1] + "\ud83d\x00"}), full(), lines("2 dogs."))
    assert isinstance(made, Proposal)
    made.record.body().encode()
    assert "\x00" not in made.record.body()
