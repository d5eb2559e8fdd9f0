"""Titles and summaries: when, who, of what; and nothing that was not said."""

from __future__ import annotations

from datetime import UTC, datetime
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from ingest.said import said

from memstrata.ingest.narrate import narrate, own_words, sentences
from memstrata.records import Message

FERRY = [
    said("I booked the ferry to Ostholm for the choir. It leaves at 06:15.", "Ottilie"),
    said("Great! Is the ferry big enough for the double bass?", "Bruno", at=1, id="b"),
    said("My double bass travels in a crate, the ferry company agreed.", "Ottilie", at=2, id="c"),
]
BRIDGE = [
    said("我给合唱团订了去望潮岛的渡轮，早上六点一刻开船。", "柳青禾"),
    said("渡轮放得下低音提琴吗？", "陶然", at=1, id="b"),
    said("我的低音提琴装在木箱里，渡轮公司同意了。", "柳青禾", at=2, id="c"),
]


def test_the_title_names_date_people_and_topic() -> None:
    told = narrate(FERRY, UTC)
    assert told.title.startswith("8 May 2026: Ottilie and Bruno on ")
    assert told.people == ("Ottilie", "Bruno")
    assert "ferry" in told.topics
    assert all(topic in told.title for topic in told.topics)


def test_a_chinese_episode_is_told_in_chinese() -> None:
    told = narrate(BRIDGE, UTC)
    assert told.title.startswith("2026年5月8日：柳青禾和陶然谈")
    assert told.people == ("柳青禾", "陶然")
    assert "渡轮" in told.topics


@pytest.mark.parametrize(
    ("zone", "english", "chinese"),
    [
        ("Pacific/Kiritimati", "9 May 2026", "2026年5月9日"),
        ("Pacific/Niue", "8 May 2026", "2026年5月8日"),
    ],
)
def test_the_date_is_the_users(zone: str, english: str, chinese: str) -> None:
    assert narrate(FERRY, ZoneInfo(zone)).title.startswith(english)
    assert narrate(BRIDGE, ZoneInfo(zone)).title.startswith(chinese)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue"])
@pytest.mark.parametrize(
    "day", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)]
)
def test_the_first_and_the_last_day_there_is_have_a_title(zone: str, day: datetime) -> None:
    message = FERRY[0].model_copy(update={"occurred_at": day})
    assert str(day.year) in narrate([message], ZoneInfo(zone)).title


@pytest.mark.parametrize(
    ("messages", "who"),
    [
        ([said("Look at the heron.")], "user"),
        ([said("Look."), said("I see a heron.", role="assistant", id="b")], "user and assistant"),
        ([said("看那只苍鹭。"), said("看到苍鹭了。", role="assistant", id="b")], "用户和助手"),
        ([said("Look.", name) for name in "ABCDEF"], "A, B, C, D and 2 more"),
        ([said("看。", name) for name in ("甲一", "乙二", "丙三", "丁四", "戊五")], "等5人"),
        ([said("Be kind.", role="system"), said("A heron!", id="b")], "user"),
        ([said("Be kind.", role="system")], "system"),
    ],
)
def test_who_speaks(messages: list[Message], who: str) -> None:
    title = narrate(messages, UTC).title
    assert who in title
    assert who == "system" or "system" not in title


@pytest.mark.parametrize("messages", [FERRY, BRIDGE])
def test_the_summary_is_sentences_as_they_were_said(messages: list[Message]) -> None:
    told = [line.split(": ", 1) for line in narrate(messages, UTC).summary.splitlines()]
    assert told
    for speaker, sentence in told:
        assert any(m.speaker == speaker and sentence in m.content for m in messages)
    assert any("双" in s or "提琴" in s or "double bass" in s for _, s in told)


def test_a_summary_is_short_however_long_the_talk() -> None:
    long = [said(f"I bought lamp number {n} for the pier. " * 40, id=f"m{n}") for n in range(25)]
    told = narrate(long, UTC)
    assert len(told.summary.splitlines()) <= 5
    assert len(told.summary) <= 700
    assert len(told.title) <= 200


def test_what_a_memory_recalled_is_no_source() -> None:
    text = "<memory>\n- Mabel keeps otters in the bath.\n</memory>\nI planted a quince today."
    told = narrate([said(text), said("<memory>otters, otters", id="b")], UTC)
    assert "otter" not in f"{told.title} {told.summary} {told.topics}".lower()
    assert told.summary == "user: I planted a quince today."
    assert own_words("a<memory>b</memory>c<memory>d") == "a\nc\n"


@pytest.mark.parametrize("content", ["", " ", "\n\n", "?", "😀", "…", "12", "<memory></memory>"])
def test_a_message_that_says_nothing_has_a_title_all_the_same(content: str) -> None:
    told = narrate([said(content)], UTC)
    assert told.title.startswith("8 May 2026: user") or told.title.startswith("2026年5月8日：用户")
    assert told.topics == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rains. I stay.", ["It rains.", "I stay."]),
        ("Dr. Quince came. She left.", ["Dr. Quince came.", "She left."]),
        ("It cost 3.50 at e.g. Moss. Fine!", ["It cost 3.50 at e.g. Moss.", "Fine!"]),
        ("“It rains.” We stay", ["“It rains.”", "We stay"]),
        ("下雨了。我不走！真的？", ["下雨了。", "我不走！", "真的？"]),
        ("他说：“下雨了。”我不走。", ["他说：“下雨了。”", "我不走。"]),
        ("one\n two \n\n three", ["one", "two", "three"]),
        ("", []),
    ],
)
def test_sentences_are_parts_of_the_text(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts
    assert all(part in text for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 40_000 + "b",
        "Dr. X " * 7000,
        "。”" * 20_000,
        "." * 40_000,
        ("x" + "\n" * 50) * 800,
        ". " * 20_000,
    ],
)
def test_splitting_hostile_text_takes_no_time(text: str) -> None:
    began = perf_counter()
    sentences(text)
    narrate([said(text)], UTC)
    assert perf_counter() - began < 2
