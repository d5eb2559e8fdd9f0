"""Procedures: lists of instructions become steps, other lists stay what they are."""

from __future__ import annotations

from time import perf_counter

import pytest
from ingest.said import said

from memstrata.ingest.local.steps import procedures
from memstrata.kinds import Procedural

DESCALE = """How to descale the samovar:
1. Fill it with water and vinegar.
2. If the tap drips, tighten the nut.
3. Heat it until the limescale comes off.
4. Rinse it twice."""
KETTLE = """给茶炊除垢的步骤：
1. 倒入清水和白醋。
2. 如果龙头漏水，拧紧螺母。
3. 加热十分钟。
4. 用清水冲洗两遍。"""
PROSE = "To wax the skis: first, scrape the old wax off, then rub the new wax in, finally brush it."
PROSE_ZH = "给雪板打蜡：首先把旧蜡刮掉，然后把新蜡熨上去，最后用刷子刷亮。"
INLINE = "To reset the loom: 1) unplug the cable 2) wait ten seconds 3) plug the cable in."
BULLETS = "Steps to pack the tent:\n- Shake out the sand.\n- Fold the sheet.\n- Roll it up tightly."


def read(text: str) -> list[Procedural]:
    found = [p.record for p in procedures(said(text))]
    assert all(isinstance(record, Procedural) for record in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("text", "summary", "count"),
    [
        (DESCALE, "How to descale the samovar", 4),
        (KETTLE, "给茶炊除垢的步骤", 4),
        (BULLETS, "Steps to pack the tent", 3),
        (INLINE, "To reset the loom", 3),
        (PROSE, "To wax the skis", 3),
        (PROSE_ZH, "给雪板打蜡", 3),
    ],
)
def test_instructions_in_order_are_a_procedure(text: str, summary: str, count: int) -> None:
    [record] = read(text)
    assert record.summary == summary
    assert len(record.steps or []) == count


def test_a_step_says_on_what_condition_and_to_what_end() -> None:
    [record] = read(DESCALE)
    steps = record.steps or []
    assert [step.instruction for step in steps] == [
        "Fill it with water and vinegar.",
        "tighten the nut.",
        "Heat it",
        "Rinse it twice.",
    ]
    assert steps[1].condition == "the tap drips"
    assert steps[2].expected == "until the limescale comes off"
    assert record.entry_type == "workflow"
    [chinese] = read(KETTLE)
    assert (chinese.steps or [])[1].condition == "龙头漏水"


@pytest.mark.parametrize(
    "text",
    [
        "Groceries to buy:\n1. Take-away tea\n2. Mix of nuts\n3. Cut flowers",
        "Ideas for the fair:\n1. Paint a fence\n2. Bake a pie\n3. Sing a song",
        "Facts about herons:\n1. They wade.\n2. They fish.\n3. They nest in trees.",
        "- Open the door\n- Close the door\n- Lock the door",
        "How to get there:\n1. Walk.",
        "购物清单：\n1. 打折的茶\n2. 切好的瓜\n3. 洗洁精",
        "苍鹭的特点：\n1. 涉水\n2. 捕鱼\n3. 筑巢",
        "First I was late, then it rained, finally the tram came.",
        "首先我迟到了，然后下雨了，最后电车来了。",
        "",
    ],
)
def test_other_lists_are_none(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize("memory", [DESCALE, KETTLE])
def test_what_was_recalled_is_no_procedure_of_this_message(memory: str) -> None:
    assert read(f"<memory>\n{memory}\n</memory>\nThanks!") == []


@pytest.mark.parametrize(
    "text",
    [
        DESCALE,
        KETTLE,
        BULLETS,
        INLINE,
        PROSE,
        PROSE_ZH,
        DESCALE.replace("\n", "\r\n"),
        "1. Fill  it\n   with water.\n2. Heat it.\n3. Rinse it.",
        "1. **Fill** it.\n   - Use the jug.\n2. Heat it.\n3. Rinse it.",
        "First, scrape the ski.  Rub it dry. Then rub the wax in. Finally brush it.",
        "1. Fill <memory>nothing</memory> it.\n2. Heat it.\n3. Rinse it.",
        "## How to **prune** the quince:\n1. Cut the dead wood.\n2. Seal the cuts.\n3. Water it.",
    ],
)
def test_the_quote_stands_in_the_message(text: str) -> None:
    [proposal] = procedures(said(text))
    [evidence] = proposal.evidence
    assert evidence.source_id == "msg_1"
    assert evidence.quote
    assert evidence.quote in text


@pytest.mark.parametrize(
    "text",
    [
        " " * 40_000 + "x",
        "#" + " " * 40_000 + "x",
        "1." + " " * 40_000,
        "1. " * 13_000,
        "1. do\n" * 6000,
        "How to " + "* # _ " * 6600 + "x:\n1. Open it.\n2. Cut it.\n3. Mix it.",
        "If " * 13_000,
        "First, open it, then " * 1900,
        "先先先" * 13_000,
        "1. Open it\n" + "  x\n" * 9000,
        "将" * 40_000,
        "once now then " * 2800,
        "- [ ] " * 6000,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    began = perf_counter()
    procedures(said(text))
    assert perf_counter() - began < 2
