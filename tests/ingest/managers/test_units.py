"""What one call reads: every new word once, with its speaker and date; nothing for small talk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.managers.desk import count, known
from ingest.said import said

from memstrata.ingest.managers import Unit, units
from memstrata.ingest.managers.shown import show
from memstrata.ingest.managers.units import NEW_TOKENS, is_worth_reading
from memstrata.records import Message

TIDE = "The tide at Ostholm was low and the gulls were loud. "
TIDE_ZH = "望潮岛的潮水很低，海鸥很吵。"
CODE = "The alarm code word is marigold."
CODE_ZH = "报警暗号是金盏花。"


def prompts(found: Sequence[Unit]) -> list[str]:
    return [show(one, known(), "en", count) for one in found]


@pytest.mark.parametrize(
    ("speaker", "long", "fact"),
    [
        ("Mabel", TIDE * 120 + "My locker is number 41. " + TIDE, "My locker is number 41."),
        ("柳青禾", TIDE_ZH * 450 + "我的柜子是41号。" + TIDE_ZH, "我的柜子是41号。"),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_r07_every_piece_of_a_long_turn_has_its_speaker_and_date(
    speaker: str, long: str, fact: str, role: str
) -> None:
    """Only the first piece of a long turn named its speaker, and what "I" said in the others went
    to somebody else (vectorize-io/hindsight #4572)."""
    talk = [
        said("Go on, tell me.", "Bruno", id="msg_1"),
        said(long, speaker, id="msg_2", at=1, role=role),
        said("Ah, the tide again.", "Bruno", id="msg_3", at=2),
    ]
    found = units(talk, [], count)
    assert len(found) > 1
    for one, prompt in zip(found, prompts(found), strict=True):
        _, _, new = prompt.partition("NEW messages:\n")
        rows = [row for row in new.splitlines() if row.startswith("[")]
        assert len(rows) == len(one.lines)
        for row, line in zip(rows, one.lines, strict=True):
            head = f"[{line.number}] {line.message.occurred_at:%Y-%m-%d %H:%M} {line.message.name}"
            assert row.startswith(f"{head} ({line.message.role}): "), row[:80]
    [telling] = [(one, line) for one in found for line in one.lines if fact in line.text]
    assert telling[1].message is talk[1]


@pytest.mark.parametrize(("filler", "fact"), [(TIDE, CODE), (TIDE_ZH, CODE_ZH)])
def test_r21_the_middle_of_a_long_message_reaches_a_prompt(filler: str, fact: str) -> None:
    """A conversation over a limit was dropped, or cut before it was read
    (NousResearch/hermes-agent #37421, mem0 #5148)."""
    half = (filler * (20_000 // len(filler) + 1))[: 20_000 - len(fact) // 2]
    message = said(f"{half}{fact}{half}"[:40_000])
    found = units([message], [], count)
    assert sum(fact in prompt for prompt in prompts(found)) == 1
    assert len(found) <= 2 + count(message.content) / NEW_TOKENS * 1.5
    whole = "".join(line.text for one in found for line in one.lines)
    assert "".join(whole.split()) == "".join(message.content.split())


TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["", " ", "Hi!", "thanks", "你好", "ok", "<memory>\nold\n</memory>"]),
    st.sampled_from([TIDE, TIDE_ZH, CODE, CODE_ZH]).flatmap(
        lambda text: st.integers(1, 300).map(lambda times: text * times)
    ),
)


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(0, 14))
def test_every_word_is_read_once_and_in_order(texts: list[str], earlier: int) -> None:
    before = [said(f"Earlier {n}.", id=f"old_{n}") for n in range(earlier)]
    run = [said(text, id=f"msg_{n}", at=n) for n, text in enumerate(texts)]
    found = units(run, before, count)
    if not is_worth_reading(run):
        assert found == []
        return
    lines = [line for one in found for line in one.lines]
    assert all([line.number for line in one.lines] == [*range(1, len(one.lines) + 1)]
               for one in found)  # fmt: skip
    places = [run.index(line.message) for line in lines]
    assert places == sorted(places)
    for message in run:
        pieces = [line.text for line in lines if line.message is message]
        if is_worth_reading([message]):
            heard = "".join("".join(pieces).split())
            expected = message.content.split("<memory>")[0] if "<memory>" in message.content else (
                message.content
            )  # fmt: skip
            assert heard == "".join(expected.split())
    for one in found:
        assert sum(count(line.text) for line in one.lines) <= NEW_TOKENS
        assert is_worth_reading(one.messages)
        assert len(one.before) <= 10
    for former, one in pairwise(found):
        new = {message.id for message in one.messages}
        told = [message for message in former.messages if message.id not in new]
        assert len(one.before) == 10 or all(message in one.before for message in told)


@pytest.mark.parametrize(
    "turns",
    [
        ["Hi!"], ["Hi!", "Hello Mabel, how are you?"], ["Thanks!", "You're welcome!"], ["ok"],
        ["你好！", "你好呀"], ["谢谢", "不客气"], ["", "  \n"], ["👍"], ["哈哈哈", "haha"],
        ["- (sem_" + "0" * 32 + "; 2026-05-01; trust user) Ottilie lives in Ostholm."],
        ["<memory>\n<core_memory>\nOttilie likes herons.\n</core_memory>\n</memory>"],
    ],
)  # fmt: skip
def test_small_talk_and_what_was_recalled_call_for_nothing(turns: list[str]) -> None:
    run = [said(text, id=f"m{n}", at=n, role=["user", "assistant"][n % 2])
           for n, text in enumerate(turns)]  # fmt: skip
    assert units(run, [], count) == []


@pytest.mark.parametrize("fact", ["Hi! I moved to Turku.", "你好！我搬到大连了。", "no olives"])
def test_one_turn_that_says_something_is_read(fact: str) -> None:
    run = [said("Hi!", id="a"), said(fact, id="b", at=1), said("Thanks!", id="c", at=2)]
    [one] = units(run, [], count)
    assert [line.text for line in one.lines] == ["Hi!", fact, "Thanks!"]


def test_small_talk_before_a_long_message_is_no_call_of_its_own() -> None:
    run = [said("Hi!", id="a"), said("word " * (NEW_TOKENS - 5), id="b", at=1)]
    [one] = units(run, [], count)
    assert one.messages == (run[1],)
    assert one.before == (run[0],)


def test_only_the_first_unit_goes_on_with_the_episode() -> None:
    message: Message = said(TIDE * 400)
    first, *rest = units([message], [], count)
    assert first.episode is None
    assert rest
    assert all(one.before == () for one in (first, *rest)), "a message is not before itself"
