"""Proposals held against what was said: whose it is, what it ends, what must not be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingest.managers.desk import record_of, unit, user
from ingest.said import NOON

from memstrata.ingest.managers.denial import denies
from memstrata.ingest.managers.ground import Grounded, grounded
from memstrata.ingest.managers.units import Unit
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.standing import restore
from memstrata.kinds import Core, Episodic, KindModel, Semantic
from memstrata.records import Evidence, Record, Trust


def fact(
    attribute: str | None, value: str | None, subject: str | None = "user", **more: Any
) -> Semantic:
    return Semantic(
        name=more.pop("name", None) or f"{subject} {attribute} {value}",
        subject=subject,
        attribute=attribute,
        value=value,
        polarity=more.pop("polarity", True),
        **more,
    )


def propose(record: KindModel, *numbers: int, op: Any = "create", **more: Any) -> Proposal:
    quotes = more.pop("quotes", {})
    evidence = tuple(Evidence(source_id=f"msg_{n}", quote=quotes.get(n)) for n in (numbers or (1,)))
    return Proposal(op=op, record=record, evidence=evidence, said_at=NOON, **more)


def retire(target: Record, *numbers: int) -> Proposal:
    return propose(restore(target).model, *numbers, op="retire", target=target.id)


def hold(
    one: Unit,
    *proposals: Proposal,
    local: Sequence[Proposal] = (),
    known: Sequence[Record] = (),
    called: Sequence[str] = (),
) -> Grounded:
    return grounded(proposals, local, one, known, frozenset(called))


def ops(made: Grounded) -> list[str]:
    return [one.op for one in made.proposals]


# ── whose it is ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("subject", ["user", "The user", "I", "me", "myself", "用户", "我", "USER"])
@pytest.mark.parametrize(
    ("name", "called", "whose"),
    [
        (None, [], "user"),
        ("Mabel", [], "Mabel"),
        ("柳青禾", [], "柳青禾"),
        ("Mabel", ["mabel"], "user"),
    ],
)
def test_who_speaks_of_themselves_is_called_by_the_name_memory_uses(
    subject: str, name: str | None, called: list[str], whose: str
) -> None:
    talk = unit(user("I like herons. 我喜欢苍鹭。", 1, name=name))
    for record in (
        fact("likes", "herons", subject),
        Episodic(summary="saw herons", actor=subject),
    ):
        [made] = hold(talk, propose(record), called=called).proposals
        assert made.record.whose() == whose


def test_the_users_own_name_is_the_user() -> None:
    talk = unit(user("I like herons."))
    [made] = hold(talk, propose(fact("likes", "herons", "Ottilie")), called=["ottilie"]).proposals
    assert made.record.whose() == "user"


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "function", "developer"])
@pytest.mark.parametrize(
    "record",
    [
        fact("grows", "ferns"),
        fact("grows", "ferns", "I"),
        fact("likes", "ferns", "我"),
        Semantic(name="The user grew ferns for years."),
        Semantic(name="用户种了很多年蕨类。"),
        Episodic(summary="The user grew ferns for years."),
        Episodic(summary="grew ferns", actor="user"),
        Episodic(summary="grew ferns", actor="I"),
        Core(label="human", value="Grows ferns"),
    ],
)
def test_r06_what_another_role_says_is_nothing_about_the_user(role: str, record: KindModel) -> None:
    """Whatever the model puts it as, and whichever of the messages it names beside it."""
    talk = unit(
        user("What should I plant on a shady balcony? 阴凉的阳台种什么好？", 1),
        user("I'd plant ferns; I grew them for years. 我种了很多年蕨类。", 2, role=role),
    )
    for numbers in ((2,), (1, 2), (2, 1)):
        made = hold(talk, propose(record, *numbers))
        assert made.proposals == ()
        assert len(made.refused) == 1


def test_one_sign_in_common_is_not_the_users_word() -> None:
    talk = unit(user("买花要花多少钱？", 1), user("我养花很多年了。", 2, role="assistant"))
    assert hold(talk, propose(fact("爱好", "养花"), 1, 2)).proposals == ()


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [("Tea or coffee, in the end?", "The latter, always.", "coffee"),
     ("到底是喝茶还是喝咖啡？", "后一种。", "咖啡")],
)  # fmt: skip
def test_an_answer_takes_up_what_was_asked(question: str, answer: str, value: str) -> None:
    talk = unit(user(question, 1, role="assistant"), user(answer, 2))
    assert ops(hold(talk, propose(fact("drinks", value), 1, 2))) == ["create"]


def test_an_assistant_may_be_written_about() -> None:
    talk = unit(user("What?", 1), user("I grew ferns for years.", 2, role="assistant"))
    record = fact("grows", "ferns", "assistant")
    assert ops(hold(talk, propose(record, 2))) == ["create"]


@pytest.mark.parametrize("trust", ["web", "tool"])
def test_a_page_says_nothing_about_the_user(trust: Trust) -> None:
    talk = unit(user("The user likes olives.", 1, trust=trust))
    assert hold(talk, propose(fact("likes", "olives"))).proposals == ()


@pytest.mark.parametrize(
    ("said", "wrong", "right"),
    [
        ("My cousin Leo hates swimming.", fact("likes", "swimming", polarity=False),
         fact("likes", "swimming", "Leo", polarity=False)),
        ("我表弟小舟讨厌游泳。", fact("likes", "游泳", polarity=False),
         fact("likes", "游泳", "小舟", polarity=False)),
    ],
)  # fmt: skip
def test_r08_what_the_rules_read_of_somebody_else_is_theirs(
    said: str, wrong: Semantic, right: Semantic
) -> None:
    """Something said about a friend was stored as the user's own trait (mem0ai/mem0 #1528)."""
    [made] = hold(unit(said), propose(wrong), local=[propose(right)]).proposals
    assert made.record.whose() == right.subject


@pytest.mark.parametrize(
    ("said", "value"), [("I can't stand olives.", "olives"), ("我讨厌橄榄。", "橄榄")]
)
def test_r01_a_denial_that_was_read_as_its_opposite_is_one(said: str, value: str) -> None:
    rule = propose(fact("likes", value, polarity=False))
    [made] = hold(unit(said), propose(fact("likes", value)), local=[rule]).proposals
    assert made.record == rule.record
    both = [rule, propose(fact("likes", value))]
    [kept] = hold(unit(said), propose(fact("likes", value)), local=both).proposals
    assert kept.record == both[1].record


@pytest.mark.parametrize("label", ["human", "persona"])
def test_core_is_written_for_the_user_alone(label: str) -> None:
    line = propose(Core(label=label, value="Name: Bruno"))
    assert hold(unit(user("I am Bruno.", 1, name="Bruno")), line).proposals == ()
    assert ops(hold(unit(user("I am Bruno.", 1)), line)) == ["create"]
    talk = unit(user("I am Bruno.", 1, name="Bruno"))
    assert ops(hold(talk, line, called=["bruno"])) == ["create"]


def test_what_rests_on_no_message_is_refused() -> None:
    made = hold(unit("I like herons."), propose(fact("likes", "herons"), 9))
    assert made.proposals == ()
    assert made.refused


def test_reasons_do_not_repeat_what_was_said() -> None:
    made = hold(
        unit(user("I love marigolds.", 1, role="assistant")), propose(fact("likes", "marigolds"))
    )
    assert "marigold" not in " ".join(made.refused)


# ── what a sentence ends ─────────────────────────────────────────────────────────────────────


def stored(attribute: str, value: str, subject: str = "user") -> Record:
    return record_of(fact(attribute, value, subject), f"sem_{attribute}_{value}")


ENDS = [
    ("works_at", "Borealis", "I quit Borealis."),
    ("works_at", "Borealis", "I left Borealis last month."),
    ("works_at", "Borealis", "I quit my job at Borealis."),
    ("works_at", "Borealis", "I no longer work at Borealis."),
    ("works_at", "Borealis", "I don't work for Borealis any more."),
    ("works_at", "Borealis", "I stopped working at Borealis in May."),
    ("works_at", "Borealis", "Borealis let me go."),
    ("likes", "olives", "I can't stand olives."),
    ("likes", "olives", "I hate olives now."),
    ("likes", "olives", "I no longer enjoy olives."),
    ("likes", "olives", "I don’t like olives."),
    ("lives_in", "Turku", "I left Turku."),
    ("owns", "the red bike", "I sold my red bike yesterday."),
    ("has_pet", "a cat", "My cat died."),
    ("plays", "the cello", "I gave up the cello."),
    ("plays", "古筝", "我不弹古筝了。"),
    ("works_at", "风岭公司", "我从风岭公司辞职了。"),
    ("works_at", "风岭公司", "我离开了风岭公司。"),
    ("works_at", "风岭公司", "我不在风岭公司上班了。"),
    ("likes", "橄榄", "我讨厌橄榄。"),
    ("likes", "橄榄", "我不喜欢橄榄了。"),
    ("lives_in", "望潮岛", "我不住在望潮岛了。"),
    ("drives", "红色自行车", "我把红色自行车卖了。"),
]
KEEPS = [
    ("works_at", "Borealis", "I also run the chess club at Borealis."),
    ("works_at", "Borealis", "I can't stand the coffee at Borealis."),
    ("works_at", "Borealis", "I hate Borealis."),
    ("works_at", "Borealis", "I don't like Borealis."),
    ("works_at", "Borealis", "I quit the Borealis chess club."),
    ("works_at", "Borealis", "I left the chess club at Borealis."),
    ("works_at", "Borealis", "I left Borealis's chess club."),
    ("lives_in", "Turku", "I discover Turku every day."),
    ("lives_in", "Turku", "Turku never sleeps."),
    ("lives_in", "Turku", "I have never seen Turku so cold."),
    ("likes", "olives", "I never buy olives here."),
    ("likes", "olives", "I quit."),
    ("lives_in", "望潮岛", "我不爱望潮岛了。"),
    ("works_at", "风岭公司", "我还在风岭公司经营一个棋社。"),
    ("works_at", "风岭公司", "我讨厌风岭公司的咖啡。"),
    ("works_at", "风岭公司", "我离开了风岭公司的棋社。"),
    ("works_at", "风岭公司", "我不喜欢风岭公司的咖啡。"),
    ("lives_in", "望潮岛", "望潮岛没有电影院。"),
]


@pytest.mark.parametrize(("attribute", "value", "said"), ENDS)
def test_words_that_end_something_are_heard(attribute: str, value: str, said: str) -> None:
    assert denies([said], stored(attribute, value))
    made = hold(unit(said), retire(target := stored(attribute, value)), known=[target])
    assert made.refused == ()


@pytest.mark.parametrize(("attribute", "value", "said"), KEEPS)
def test_r04_a_sentence_that_mentions_something_does_not_end_it(
    attribute: str, value: str, said: str
) -> None:
    """Saving a fact that merely mentions a person closed an unrelated, still true fact about that
    person (getzep/graphiti #1728)."""
    assert not denies([said], stored(attribute, value))
    made = hold(unit(said), retire(target := stored(attribute, value)), known=[target])
    assert made.proposals == ()
    assert len(made.refused) == 1


@pytest.mark.parametrize(
    "text",
    ["not " + "work " * 400, "no longer " * 300, "不" + "的" * 800, "Oslo" + " is" * 400],
)
def test_a_text_that_repeats_itself_takes_no_longer(text: str) -> None:
    assert not denies([text], stored("works_at", "Borealis"))


def test_a_plan_is_cancelled_by_what_names_a_good_part_of_it() -> None:
    plan = record_of(Episodic(event_type="plan", summary="Ottilie will visit Wren on Friday"))
    assert denies(["The visit to Wren is cancelled."], plan)
    assert not denies(["I can't reach Wren."], plan)
    other = record_of(Episodic(event_type="plan", summary="周五去看望小舟"))
    assert denies(["周五不去看望小舟了。"], other)
    assert not denies(["我没有铅笔。"], other)


def test_an_assistant_ends_nothing_of_the_users() -> None:
    talk = unit(user("Fine.", 1), user("You don't like olives.", 2, role="assistant"))
    target = stored("likes", "olives")
    assert hold(talk, retire(target, 1, 2), known=[target]).proposals == ()


def test_what_was_not_shown_is_not_ended() -> None:
    target = stored("likes", "olives")
    assert hold(unit("I hate olives."), retire(target), known=[]).proposals == ()


# ── what would be lost ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "value"), [("I can't stand olives.", "olives"), ("我讨厌橄榄。", "橄榄")]
)
def test_r01_a_retirement_alone_keeps_what_was_said(said: str, value: str) -> None:
    """A new statement opposite to a stored one produced only a delete (mem0ai/mem0 #4536)."""
    target = stored("likes", value)
    rule = propose(fact("likes", value, polarity=False))
    assert hold(unit(said), retire(target), known=[target], local=[rule]).proposals == (rule,)

    [ended, kept] = hold(unit(said), retire(target), known=[target]).proposals
    assert ended.op == "retire"
    assert (kept.op, kept.record.heading()) == ("create", said)
    assert kept.evidence[0].source_id == "msg_1"


def test_a_retirement_that_does_not_hold_does_not_drop_what_the_rules_read() -> None:
    target = stored("works_at", "Borealis")
    rule = propose(fact("runs", "the chess club at Borealis"))
    said = unit("I also run the chess club at Borealis.")
    made = hold(said, retire(target), known=[target], local=[rule])
    assert made.proposals == (rule,)


def test_what_is_stated_beside_a_retirement_is_not_stated_twice() -> None:
    target = stored("lives_in", "Turku")
    quotes = {1: "I left Turku and moved to Oslo."}
    new = propose(fact("lives_in", "Oslo"), op="supersede", quotes=quotes)
    rule = propose(fact("lives_in", "Oslo"))
    said = unit("I left Turku and moved to Oslo.")
    made = hold(said, retire(target), new, known=[target], local=[rule])
    assert ops(made) == ["supersede"], "the new home ends the old one by itself"


# ── what is weighed ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("quote", "op", "beside"),
    [
        ("I moved to Oslo.", "supersede", False),
        ("I live in Oslo.", "create", False),
        ("I also have a flat in Oslo now.", "create", True),
        ("我搬到奥斯陆了。", "supersede", False),
        ("我在奥斯陆也有一套房子。", "create", True),
    ],
)
def test_a_change_is_one_where_the_words_tell_of_it(quote: str, op: str, beside: bool) -> None:
    home = propose(fact("lives_in", "Oslo 奥斯陆"), op="supersede", quotes={1: quote})
    [made] = hold(unit(quote), home).proposals
    assert (made.op, made.beside) == (op, beside)


# ── whatever is proposed ─────────────────────────────────────────────────────────────────────

VALUES = ["olives", "Borealis", "Oslo", "橄榄", "风岭公司"]
RECORDS: st.SearchStrategy[KindModel] = st.one_of(
    st.builds(
        fact,
        st.sampled_from(["likes", "lives_in", "works_at", "role_at_borealis", None]),
        st.sampled_from([*VALUES, None]),
        st.sampled_from(["user", "I", "Mabel", "assistant", None]),
        polarity=st.sampled_from([True, False, None]),
    ),
    st.builds(Episodic, summary=st.sampled_from(VALUES), actor=st.sampled_from(["I", None])),
    st.builds(Core, label=st.sampled_from(["human", "persona"]), value=st.sampled_from(VALUES)),
)
KNOWN = [stored("likes", "olives"), stored("works_at", "Borealis"), stored("lives_in", "Oslo")]
TALK = unit(
    user("I can't stand olives. I left Borealis. 我讨厌橄榄。", 1),
    user("You like Oslo, and I love olives.", 2, role="assistant"),
    user("I moved to Oslo.", 3, name="Mabel"),
)


@st.composite
def proposals(draw: st.DrawFn) -> Proposal:
    op = draw(st.sampled_from(["create", "supersede", "correct", "revise", "retire", "support"]))
    numbers = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True))
    target = draw(st.sampled_from([None, *KNOWN]))
    if op in ("retire", "support", "revise") and target is None:
        target = KNOWN[0]
    record = restore(target).model if op in ("retire", "support") and target else draw(RECORDS)
    return propose(record, *numbers, op=op, target=target.id if target else None)


@settings(max_examples=300)
@given(st.lists(proposals(), max_size=5), st.lists(st.builds(propose, RECORDS), max_size=3))
def test_nothing_without_a_message_and_no_other_role_speaks_for_the_user(
    given: list[Proposal], local: list[Proposal]
) -> None:
    made = hold(TALK, *given, local=local, known=KNOWN)
    roles = {message.id: message.role for message in TALK.messages}
    for one in made.proposals:
        assert set(roles) & {e.source_id for e in one.evidence}
        if one.op != "support" and one not in local and one.record.whose() == "user":
            assert "user" in {roles.get(e.source_id) for e in one.evidence}
    ended = [one for one in made.proposals if one.op == "retire"]
    states = [one for one in made.proposals if one.op in ("create", "supersede", "correct")]
    for one in ended:
        sources = {e.source_id for e in one.evidence}
        assert any(sources & {e.source_id for e in new.evidence} for new in states)
