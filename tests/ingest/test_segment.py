"""Episodes: where one ends, whatever the calls in which its messages came."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingest.said import said

from memstrata.ingest.segment import Run, segment
from memstrata.records import Message

KILN = [
    "The kiln at the pottery broke again and the glaze cracked on every bowl.",
    "Which glaze did you use on the bowls, the celadon?",
    "Celadon glaze, and the kiln ran forty degrees too hot for the bowls.",
    "A new thermocouple for the kiln costs less than one batch of bowls.",
]
WAGES = "By the way, the union negotiates wages with the tram company in autumn."
STOVE = [
    "陶艺教室的窑又坏了，青瓷碗上的釉全裂开了。",
    "青瓷碗用的是哪种釉，窑烧到多少度？",
    "窑比平时高了四十度，青瓷碗的釉就裂了。",
    "换一个窑的热电偶，比重做一批青瓷碗便宜。",
]
TRAM = "对了，电车公司的工会秋天要谈工资合同。"


def talk(texts: list[str], *, step: float = 1, start: int = 0, **more: object) -> list[Message]:
    return [
        said(text, at=step * n, id=f"m{n}", **more)  # type: ignore[arg-type]
        for n, text in enumerate(texts, start)
    ]


def sizes(runs: list[Run]) -> list[tuple[int, bool]]:
    return [(len(run.messages), run.closed) for run in runs]


def test_nothing_makes_no_run() -> None:
    assert segment([], []) == []


@pytest.mark.parametrize(("minutes", "runs"), [(30, 1), (30.1, 2)])
def test_a_gap_of_over_half_an_hour_ends_a_run(minutes: float, runs: int) -> None:
    found = segment([], talk(["The kiln is on.", "It is hot."], step=minutes))
    assert len(found) == runs
    assert [run.closed for run in found] == [True] * (runs - 1) + [False]


def test_twenty_five_messages_fill_a_run() -> None:
    runs = segment([], talk(["The kiln is on."] * 27))
    assert sizes(runs) == [(25, True), (2, False)]


def test_a_full_run_is_closed_at_once_and_stays_as_it_is() -> None:
    [full] = segment([], talk(["The kiln is on."] * 25))
    assert full.closed
    again = segment(full.messages, talk(["It is hot."], start=25))
    assert again[0] == full
    assert sizes(again) == [(25, True), (1, False)]


def test_a_session_ends_its_run() -> None:
    one, other = said("On.", id="a", session="s1"), said("Off.", id="b", session="s2")
    assert sizes(segment([], [one, other])) == [(1, True), (1, False)]


def test_a_late_message_is_a_run_of_its_own() -> None:
    now, late, after = said("On.", at=5, id="a"), said("Off.", id="b"), said("On.", at=6, id="c")
    runs = segment([now], [late, after])
    assert [[m.id for m in run.messages] for run in runs] == [["a"], ["b", "c"]]
    assert runs[0].closed


@pytest.mark.parametrize(("texts", "turn"), [(KILN, WAGES), (STOVE, TRAM)])
def test_a_cue_to_another_topic_ends_a_run(texts: list[str], turn: str) -> None:
    messages = talk([*texts, turn])
    assert sizes(segment([], messages)) == [(4, True), (1, False)]


@pytest.mark.parametrize(
    ("texts", "next_one"),
    [
        (KILN, "By the way, the kiln and the glaze on the bowls are mine."),
        (KILN, "Yes, that is how the tram company and its union negotiate wages in autumn."),
        (STOVE, "对了，窑和青瓷碗的釉都要换。"),
        (STOVE, "是的，电车公司的工会秋天要谈工资合同。"),
    ],
)
def test_what_takes_up_the_topic_goes_on(texts: list[str], next_one: str) -> None:
    assert sizes(segment([], talk([*texts, next_one]))) == [(5, False)]


@pytest.mark.parametrize(("texts", "turn"), [(KILN, WAGES), (STOVE, TRAM)])
def test_a_reply_of_the_assistant_never_ends_a_run(texts: list[str], turn: str) -> None:
    reply = said(turn, at=4, id="m4", role="assistant")
    assert sizes(segment(talk(texts), [reply])) == [(5, False)]


PIECES = [*KILN, WAGES, *STOVE, TRAM, "Yes.", "好的。", "", "?"]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    count = draw(st.integers(1, 60))
    at = 0.0
    found: list[Message] = []
    for number in range(count):
        at += draw(st.sampled_from([0.0, 1.0, 29.0, 31.0, -3.0]))
        found.append(
            said(
                draw(st.sampled_from(PIECES)),
                draw(st.sampled_from([None, "Ottilie"])),
                at=at,
                id=f"m{number}",
                role=draw(st.sampled_from(["user", "assistant"])),
                session=draw(st.sampled_from(["s1", "s1", "s1", "s2"])),
            )
        )
    return found


@given(conversations(), st.data())
def test_where_the_calls_part_does_not_matter(messages: list[Message], data: st.DataObject) -> None:
    """Every message is in one run, in order, and no run depends on what was added together."""
    whole = segment([], messages)
    assert [m for run in whole for m in run.messages] == messages
    assert all(run.closed for run in whole[:-1])

    closed: list[Run] = []
    open_run: tuple[Message, ...] = ()
    left = messages
    while left:
        size = data.draw(st.integers(1, len(left)))
        runs = segment(open_run, left[:size])
        left = left[size:]
        closed += [run for run in runs if run.closed]
        open_run = () if runs[-1].closed else runs[-1].messages
    assert [run.messages for run in closed] + [open_run] * bool(open_run) == [
        run.messages for run in whole
    ]
