from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memstrata.recall.plan import Plan, make_plan
from memstrata.records import micros
from memstrata.text.analyse import term_hash

NOW = datetime(2031, 6, 18, 12, 0, tzinfo=UTC)  # a Wednesday
SPEAKERS = {"Mira Okafor": 11, "Tomás": 12, "陈小雨": 13, "Will": 14, "user": 1, "assistant": 2}


def plan(question: str, speakers: dict[str, int] = SPEAKERS) -> Plan:
    return make_plan(question, now=NOW, zone=UTC, speakers=speakers)


def weights(question: str) -> dict[str, float]:
    return {word.term: word.weight for word in plan(question).words}


# ── people ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "speaker"),
    [
        ("What did Mira Okafor plant?", 11),
        ("what did mira plant?", 11),
        ("What is Mira's plan?", 11),
        ("Where did Tomas sail?", 12),
        ("陈小雨养了什么？", 13),
        ("小雨养了什么？", 13),
        ("What did Will say?", 14),
        ("Tomás的船叫什么？", 12),
        ("What will she plant?", 0),
        ("Will she plant roses?", 0),
        ("Did Mira and Tomás both sail?", 0),
        ("What did Miranda plant?", 0),
        ("What grows in the garden?", 0),
        ("Does the user interface have a dark mode?", 0),
        ("Which book did you recommend?", 2),
        ("你推荐过哪本书？", 2),
    ],
)
def test_the_one_participant_a_question_names(question: str, speaker: int) -> None:
    assert plan(question).speaker == speaker


def test_a_full_name_leaves_out_others_of_that_first_name() -> None:
    speakers = {"Mira Okafor": 11, "Mira Lund": 15}
    assert plan("What did Mira Lund cook?", speakers).speaker == 15
    assert plan("What did Mira cook?", speakers).speaker == 0


def test_two_spellings_of_one_participant_are_one() -> None:
    found = plan("What did Mira cook?", {"Mira": 11, "MIRA": 11})
    assert found.speaker == 11


def test_names_of_participants_count_less_than_what_is_asked_of_them() -> None:
    assert weights("What did Mira plant?") == {"mira": 0.3, "plant": 1.0}
    assert weights("What did Ludmila plant?") == {"ludmila": 1.0, "plant": 1.0}


# ── time ─────────────────────────────────────────────────────────────────────────────────────


def days(question: str) -> tuple[str, str] | None:
    window = plan(question).window
    if window is None:
        return None
    start, end = (datetime.fromtimestamp(at / 1e6, UTC).date().isoformat() for at in window)
    return start, end


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Mira plant in May 2031?", ("2031-05-01", "2031-06-01")),
        ("What did I cook yesterday?", ("2031-06-17", "2031-06-18")),
        ("上周三我做了什么？", ("2031-06-11", "2031-06-12")),
        ("I swam yesterday. Where did I swim in May 2031?", ("2031-05-01", "2031-06-01")),
        ("I swam yesterday. Any tips for the pool?", None),
        ("What did I plant?", None),
        ("", None),
    ],
)
def test_the_time_a_question_refers_to(question: str, expected: tuple[str, str] | None) -> None:
    assert days(question) == expected


def test_the_window_is_the_users_day() -> None:
    tokyo = timezone(timedelta(hours=9))
    found = make_plan("What did I cook today?", now=NOW, zone=tokyo, speakers={})
    start = micros(datetime(2031, 6, 18, tzinfo=tokyo))
    assert found.window == (start, start + 86_400_000_000)


def test_words_that_give_the_window_count_half() -> None:
    assert weights("What bloomed in May 2031?") == {"bloom": 1.0, "may": 0.5, "2031": 0.5}


# ── what is wanted ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "asks_when"),
    [
        ("When did Mira plant the pear tree?", True),
        ("What date is the regatta?", True),
        ("陈小雨什么时候搬家？", True),
        ("Where is the regatta?", False),
        ("Whenever possible, use metric units", False),
    ],
)
def test_asking_when(question: str, asks_when: bool) -> None:
    assert plan(question).asks_when is asks_when


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("Where does Mira live?", "lookup"),
        ("How many boats has Tomás owned?", "count"),
        ("他去过几次海边？", "count"),
        ("How do I prune the pear tree?", "how_to"),
        ("怎么做红烧茄子？", "how_to"),
        ("Give me a timeline of the move", "timeline"),
        ("Tell me about the regatta", "overview"),
        ("总结一下这个月", "overview"),
    ],
)
def test_modes(question: str, mode: str) -> None:
    assert plan(question).mode == mode


@pytest.mark.parametrize(
    ("question", "wants_list"),
    [
        ("What instruments does Tomás play?", True),
        ("List the plants on the balcony", True),
        ("陈小雨去过哪些城市？", True),
        ("What instrument does Tomás play?", False),
        ("Where does Mira live?", False),
    ],
)
def test_wanting_a_list(question: str, wants_list: bool) -> None:
    assert plan(question).wants_list is wants_list


# ── the whole ────────────────────────────────────────────────────────────────────────────────


def test_terms_are_hashes_with_weights() -> None:
    assert plan("pear tree").terms == ((term_hash("pear"), 1.0), (term_hash("tree"), 1.0))


def test_padding_does_not_change_the_plan() -> None:
    assert plan("  pear tree\n") == plan("pear tree")


@pytest.mark.parametrize("question", ["", "   ", "\n\t", "*", "("])
def test_a_question_without_words_is_a_plan_without_terms(question: str) -> None:
    found = plan(question)
    assert found.terms == ()
    assert found.window is None
    assert found.speaker == 0


def test_the_plan_explains_itself_in_plain_json() -> None:
    told = plan("When did Mira plant a pear tree in May 2031?").to_dict()
    assert json.loads(json.dumps(told)) == {
        "query": "When did Mira plant a pear tree in May 2031?",
        "terms": {"mira": 0.3, "plant": 1.0, "pear": 1.0, "tree": 1.0, "may": 0.5, "2031": 0.5},
        "instances": told["instances"],
        "speaker": "Mira Okafor",
        "window": {"start": "2031-05-01T00:00:00+00:00", "end": "2031-06-01T00:00:00+00:00"},
        "window_text": "May 2031",
        "asks_when": True,
        "mode": "lookup",
        "wants_list": False,
        "of_asker": False,
        "newest": False,
        "past": True,
    }


@pytest.mark.parametrize(
    ("query", "of_asker", "newest"),
    [
        ("How many lamps do I own?", True, True),
        ("Where did I buy the lamp?", True, True),
        ("When did I buy the lamp?", True, False),
        ("Which lamp did you recommend to me?", False, False),
        ("Which lamp does Mira own?", False, False),
        ("我现在有几盏灯？", True, True),
        ("我以前住在哪里？", True, False),
        ("I own a lamp. Nice weather. What now?", True, False),
    ],
)
def test_questions_about_the_asker(query: str, of_asker: bool, newest: bool) -> None:
    speakers = {"user": 1, "assistant": 2, "Mira Okafor": 3}
    plan = make_plan(query, now=datetime(2031, 6, 1, tzinfo=UTC), zone=UTC, speakers=speakers)
    assert (plan.of_asker, plan.newest) == (of_asker, newest)


@pytest.mark.parametrize(("written", "found"), [("Nat", 1), ("Na", 0), ("nat", 0), ("Ber", 0)])
def test_short_names_mean_the_one_they_begin(written: str, found: int) -> None:
    speakers = {"Nathalie": 1, "Bertha": 2, "Bernice": 3}
    now = datetime(2031, 6, 1, tzinfo=UTC)
    plan = make_plan(f"What did {written} plant?", now=now, zone=UTC, speakers=speakers)
    assert plan.speaker == found


def test_instances_stand_in_for_the_word_of_their_kind() -> None:
    now = datetime(2031, 6, 1, tzinfo=UTC)
    plan = make_plan("Which instruments, 乐器?", now=now, zone=UTC, speakers={})
    places = {other: place for place, other, _ in plan.alternatives}
    assert plan.words[places[term_hash("cello")]].term == "instrument"
    assert plan.words[places[term_hash("钢琴")]].term == "乐器"
    assert all(0 < share < 1 for _, _, share in plan.alternatives)
