"""Extraction by rules from Chinese: what is stated, by whom, of whom, when; and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ingest.local.extracting import core, episodes, facts, read, said, semantics

from memstrata.kinds import Semantic


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("我今年34岁", ("user", "age", "34", True)),
        ("我叫柳青禾，今年34岁。", ("user", "age", "34", True)),
        ("我叫柳青禾。", ("user", "name", "柳青禾", True)),
        ("我住在上海", ("user", "lives_in", "上海", True)),
        ("我家住绍兴", ("user", "lives_in", "绍兴", True)),
        ("我在青桐设计当会计。", ("user", "works_at", "青桐设计", True)),
        ("我在青桐设计当会计。", ("user", "works_as", "会计", True)),
        ("我在一所中学当老师", ("user", "works_as", "老师", True)),
        ("我是一名兽医。", ("user", "works_as", "兽医", True)),
        ("我家里有一个儿子", ("user", "has", "一个儿子", True)),
        ("我不喜欢萝卜", ("user", "likes", "萝卜", False)),
        ("我讨厌萝卜", ("user", "likes", "萝卜", False)),
        ("我喜欢画猫和兔子", ("user", "likes", "画兔子", True)),
        ("我妹妹小雨喜欢弹古筝", ("user", "sister", "小雨", True)),
        ("我妹妹小雨喜欢弹古筝", ("小雨", "likes", "弹古筝", True)),
        ("我有个哥哥叫大山", ("user", "brother", "大山", True)),
        ("我对核桃过敏。", ("user", "allergic_to", "核桃", True)),
        ("我对虾不过敏。", ("user", "allergic_to", "虾", False)),
        ("我养了一只猫叫豆花", ("user", "pet", "豆花", True)),
        ("我家有只狗，名字叫豆包", ("user", "has_pet", "一只狗", True)),
        ("我家有只狗，名字叫豆包", ("user", "pet", "豆包", True)),
        ("我没养猫", ("user", "has_pet", "猫", False)),
        ("我每天早上跑步", ("user", "habit", "每天早上跑步", True)),
        ("我一般早上六点起床", ("user", "habit", "一般早上六点起床", True)),
        ("我不再抽烟了", ("user", "smokes", "烟", False)),
        ("我不吃鱼了", ("user", "eats", "鱼", False)),
        ("我已经不在青桐科技上班了", ("user", "works_at", "青桐科技", False)),
        ("我最喜欢的颜色是青色", ("user", "favourite_颜色", "青色", True)),
        ("我的老板喜欢喝茶。", ("user的老板", "likes", "喝茶", True)),
        ("我会说法语和德语", ("user", "speaks", "德语", True)),
        ("Orla喜欢画画。", ("Orla", "likes", "画画", True)),
        ("我结婚三年了", ("user", "marital_status", "已婚", True)),
    ],
)
def test_states_a_fact_and_quotes_it(text: str, fact: tuple[str, str, str, bool]) -> None:
    proposals = read(text)
    assert fact in facts(proposals)
    for proposal in proposals:
        assert all(e.quote and e.quote in text for e in proposal.evidence)


@pytest.mark.parametrize(
    "text",
    [
        "如果我住在大理就好了。",
        "你喜欢喝茶吗？",
        "他喜欢爬山。",
        "我喜欢你。",
        "我害怕她会生气。",
        "我朋友家养了一只狗",
        "我妹妹小雨下个月结婚",
    ],
)
def test_states_nothing_of_the_user(text: str) -> None:
    assert not {fact for fact in facts(read(text)) if fact[1] not in ("sister", "friend")}


def test_tastes_turn_and_opposites_are_one_attribute() -> None:
    first, second = semantics(read("我很喜欢吃香菇", "我讨厌吃香菇"))
    assert (first.attribute, first.value, first.polarity) == ("likes", "吃香菇", True)
    assert (second.attribute, second.value, second.polarity) == ("likes", "吃香菇", False)


def test_what_changed_since_when_supersedes() -> None:
    before, after = [p for p in read("我不吃鱼了", "上周起我又开始吃鱼了") if p.op == "supersede"]
    assert isinstance(before.record, Semantic)
    assert isinstance(after.record, Semantic)
    assert (before.record.polarity, after.record.polarity) == (False, True)
    assert after.record.valid_from == datetime(2024, 5, 13, tzinfo=UTC)


def test_a_move_is_dated() -> None:
    (moved,) = [p for p in read("我上个月搬到了绍兴") if isinstance(p.record, Semantic)]
    assert isinstance(moved.record, Semantic)
    assert (moved.op, moved.record.value) == ("supersede", "绍兴")
    assert moved.record.valid_from == datetime(2024, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["以前我住在绍兴", "我以前住在绍兴", "我以前在绍兴住过"])
def test_what_was_so_before_is_past(text: str) -> None:
    (past,) = semantics(read(text))
    assert (past.attribute, past.value) == ("lives_in", "绍兴")
    assert past.valid_to is not None


def test_a_post_beside_a_job_ends_nothing() -> None:
    assert all(p.op == "create" for p in read("张伟在青桐设计当会计", "张伟还负责公司的象棋社"))


def test_what_a_cousin_hates_is_no_taste_of_the_speaker() -> None:
    found = facts(read("我表弟小强讨厌划船，但是他爸爸还是给他报了名。"))
    assert found == {("user", "cousin", "小强", True), ("小强", "likes", "划船", False)}


def test_only_people_speak_for_themselves() -> None:
    assert read("我种过蕨类植物，我喜欢苔藓。", role="assistant") == []


@pytest.mark.parametrize(
    ("texts", "new", "old"),
    [
        (("我住在绍兴。", "不对，是宁波，不是绍兴。"), "宁波", "绍兴"),
        (("我住在绍兴。", "不对，是宁波。"), "宁波", "绍兴"),
        (("我弟弟住在绍兴。", "说错了，是宁波，不是绍兴。"), "宁波", "绍兴"),
    ],
)
def test_a_correction_names_what_never_was_so(texts: tuple[str, str], new: str, old: str) -> None:
    first, last = read(*texts)
    assert read(texts[1], before=[said(texts[0])])[0].op == "correct"
    assert isinstance(first.record, Semantic)
    assert isinstance(last.record, Semantic)
    assert (last.op, last.record.value, last.replaces) == ("correct", new, old)
    assert last.record.subject == first.record.subject


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("以后请用中文回答我。", "以后请用中文回答我"),
        ("以后用中文回答", "以后用中文回答"),
        ("我希望你回答得简短一点", "我希望你回答得简短一点"),
        ("请叫我小禾", "称呼: 小禾"),
        ("我叫柳青禾", "姓名: 柳青禾"),
    ],
)
def test_standing_wishes_are_core(text: str, line: str) -> None:
    assert core(read(text)) == [line]
    assert core(read(text, name="小禾")) == []


def test_a_complaint_about_somebody_is_no_wish() -> None:
    assert core(read("她总是说话很啰嗦")) == []


@pytest.mark.parametrize(
    ("text", "day"),
    [("下周五我要去看牙医", 31), ("我明天有面试", 25), ("我下周五去宁波出差", 31)],
)
def test_a_plan_has_a_due_date(text: str, day: int) -> None:
    (plan,) = episodes(read(text))
    assert (plan.event_type, plan.done, plan.occurred_at) == ("plan", False, None)
    assert plan.due == datetime(2024, 5, day, tzinfo=UTC)


@pytest.mark.parametrize("text", ["我今天主要做评估", "我今天穿了新衣服", "今天天气很好"])
def test_today_alone_makes_no_plan(text: str) -> None:
    assert [one for one in episodes(read(text)) if one.event_type == "plan"] == []


def test_an_event_happens_when_its_words_say() -> None:
    (moved,) = episodes(read("我昨天搬进了新房子"))
    assert moved.occurred_at == datetime(2024, 5, 23, tzinfo=UTC)
    assert moved.actor == "user"


@pytest.mark.parametrize("text", ["我今天和同桌吵架了", "我今天发现了一家面馆"])
def test_what_happened_today_is_an_event(text: str) -> None:
    (event,) = episodes(read(text))
    assert (event.event_type, event.occurred_at) == (
        "event",
        datetime(2024, 5, 24, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "text", ["我很难过，今天小美和同桌吵架了", "我今天很开心了", "妈妈给我买了一辆自行车"]
)
def test_what_others_did_is_no_event_of_the_user(text: str) -> None:
    assert [one for one in episodes(read(text)) if one.actor == "user"] == []


def test_an_event_may_be_anothers() -> None:
    (won,) = episodes(read("Orla在学校的绘画比赛中获得了第一名"))
    assert (won.actor, won.event_type) == ("Orla", "event")
