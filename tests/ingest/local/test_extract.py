"""Extraction by rules: what is stated, by whom, of whom, when; and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memstrata.ingest.local import Setting, extract
from memstrata.ingest.proposals import Proposal
from memstrata.kinds import Core, Episodic, Semantic, Vault
from memstrata.records import Message
from memstrata.text import time as times

NOON = datetime(2024, 5, 24, 12, tzinfo=UTC)


def said(text: str, *, role: str = "user", name: str | None = None, number: int = 0) -> Message:
    return Message(
        id=f"m{number}",
        role=role,
        name=name,
        content=text,
        occurred_at=NOON,
        recorded_at=NOON,
        batch_id="b",
        spans=times.resolve(text, said_at=NOON, zone=UTC),
    )


def read(*texts: str, name: str | None = None, role: str = "user") -> list[Proposal]:
    messages = [said(text, name=name, role=role, number=n) for n, text in enumerate(texts)]
    return extract(messages, Setting(zone=UTC))


def facts(proposals: list[Proposal]) -> set[tuple[str, str, str, bool]]:
    return {
        (r.subject or "", r.attribute or "", r.value or "", r.polarity is not False)
        for p in proposals
        if isinstance(r := p.record, Semantic)
    }


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I moved to Tromsø last month.", ("user", "lives_in", "Tromsø", True)),
        ("I don't work at Fernhill any more.", ("user", "works_at", "Fernhill", False)),
        ("I really enjoy radishes", ("user", "likes", "radishes", True)),
        ("I can't stand radishes", ("user", "likes", "radishes", False)),
        ("I'm not a fan of puppet shows.", ("user", "likes", "puppet shows", False)),
        ("I don't eat fish any more", ("user", "eats", "fish", False)),
        ("I'm allergic to walnuts.", ("user", "allergic_to", "walnuts", True)),
        ("My favorite color is teal.", ("user", "favourite_color", "teal", True)),
        ("My boss likes tea.", ("user's boss", "likes", "tea", True)),
        ("Orla works at Fernhill as an accountant", ("Orla", "works_as", "accountant", True)),
        ("My sister Wren lives in Turku.", ("user", "sister", "Wren", True)),
        ("My sister Wren lives in Turku.", ("Wren", "lives_in", "Turku", True)),
        ("I'm 41 years old.", ("user", "age", "41", True)),
        ("我上个月搬到了绍兴。", ("user", "lives_in", "绍兴", True)),
        ("我不吃鱼了", ("user", "eats", "鱼", False)),
        ("我讨厌萝卜", ("user", "likes", "萝卜", False)),
        ("我对核桃过敏。", ("user", "allergic_to", "核桃", True)),
        ("我最喜欢的颜色是青色", ("user", "favourite_颜色", "青色", True)),
        ("我的老板喜欢喝茶。", ("user的老板", "likes", "喝茶", True)),
        ("我会说法语和德语", ("user", "speaks", "德语", True)),
        ("我叫柳青禾。", ("user", "name", "柳青禾", True)),
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
        "If I lived in Turku, I'd ski.",
        "I wish I lived in Turku.",
        "Do you like tea?",
        "I would work at Fernhill.",
        "She loves jazz.",
        'He shouted "I live in the old lighthouse now" from the stage.',
        "<memory>\n- I live in Turku\n</memory>",
        "> I live in Turku",
        "如果我住在大理就好了。",
        "你喜欢喝茶吗？",
    ],
)
def test_states_nothing(text: str) -> None:
    assert facts(read(text)) == set()


def test_what_a_cousin_hates_is_no_taste_of_the_speaker() -> None:
    found = facts(read("My cousin Bram hates rowing, but his dad signed him up anyway."))
    assert found == {("user", "cousin", "Bram", True), ("Bram", "likes", "rowing", False)}


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_people_speak_for_themselves(role: str) -> None:
    assert read("I'd plant ferns; I grew them for years. I love moss.", role=role) == []


def test_a_named_speaker_is_the_subject() -> None:
    assert facts(read("I love moss.", name="Orla")) == {("Orla", "likes", "moss", True)}


def test_a_pronoun_means_the_one_person_last_named() -> None:
    found = facts(read("My sister Wren came by.", "She is a doctor."))
    assert ("Wren", "works_as", "doctor", True) in found


def test_a_pronoun_that_fits_several_means_nobody() -> None:
    found = facts(read("My brother Bram met my uncle Otto.", "He loves jazz."))
    assert not any(attribute == "likes" for _, attribute, _, _ in found)


def test_an_event_happens_when_its_words_say() -> None:
    (event,) = (p.record for p in read("I moved into the new flat yesterday"))
    assert isinstance(event, Episodic)
    assert event.occurred_at == datetime(2024, 5, 23, tzinfo=UTC)


@pytest.mark.parametrize("text", ["I'm seeing the dentist next Friday.", "下周五我要去看牙医"])
def test_a_plan_has_a_due_date(text: str) -> None:
    (plan,) = (p.record for p in read(text))
    assert isinstance(plan, Episodic)
    assert (plan.event_type, plan.done, plan.occurred_at) == ("plan", False, None)
    assert plan.due == datetime(2024, 5, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("texts", "new", "old"),
    [
        (("I live in Turku.", "Sorry, I meant Vaasa, not Turku."), "Vaasa", "Turku"),
        (("我住在绍兴。", "不对，是宁波，不是绍兴。"), "宁波", "绍兴"),
    ],
)
def test_a_correction_names_what_never_was_so(texts: tuple[str, str], new: str, old: str) -> None:
    last = read(*texts)[-1]
    assert isinstance(last.record, Semantic)
    assert (last.op, last.record.value, last.replaces) == ("correct", new, old)


def test_a_move_supersedes_and_is_dated() -> None:
    first = read("I'm eating fish again since last week")[0]
    assert first.op == "supersede"
    assert isinstance(first.record, Semantic)
    assert first.record.valid_from == datetime(2024, 5, 13, tzinfo=UTC)


def test_a_post_beside_a_job_ends_nothing() -> None:
    assert all(p.op == "create" for p in read("Orla also runs the chess club at Fernhill"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Always answer in short bullet points.", "Always answer in short bullet points"),
        ("My name is Orla.", "Name: Orla"),
        ("Please call me Orla.", "Call the user: Orla"),
        ("以后请用中文回答我。", "以后请用中文回答我"),
        ("请叫我小禾", "称呼: 小禾"),
    ],
)
def test_standing_wishes_are_core(text: str, line: str) -> None:
    assert [p.record.value for p in read(text) if isinstance(p.record, Core)] == [line]
    assert not any(isinstance(p.record, Core) for p in read(text, name="Orla"))


def test_a_contact_is_readable() -> None:
    (entry,) = (p.record for p in read("Orla's number is +47 555 01 234."))
    assert isinstance(entry, Vault)
    assert (entry.entry_type, entry.secret) == ("contact", "+47 555 01 234")
