"""Extraction by rules: what is stated, by whom, of whom, when; and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ingest.local.extracting import core, episodes, facts, read, said, semantics

from memstrata.ingest.local import Setting, extract
from memstrata.kinds import Core, Episodic, Procedural, Resource, Semantic, Vault


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
        ("I've been to Vaasa twice.", ("user", "visited", "Vaasa", True)),
        ("My best friend Otto's birthday is on June 4.", ("user", "friend", "Otto", True)),
        ("My best friend Otto's birthday is on June 4.", ("Otto", "birthday", "June 4", True)),
        ("I have two kids and a parrot named Kiwi.", ("user", "has", "two kids", True)),
        ("I have two kids and a parrot named Kiwi.", ("user", "has_pet", "a parrot", True)),
        ("I have two kids and a parrot named Kiwi.", ("user", "pet", "Kiwi", True)),
        ("Every morning I swim.", ("user", "habit", "swim every morning", True)),
        ("I usually cycle to work.", ("user", "habit", "usually cycle to work", True)),
        ("I quit smoking two years ago.", ("user", "smokes", "tobacco", False)),
        (
            "I love spending time with my cousins.",
            ("user", "likes", "spending time with my cousins", True),
        ),
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
        "I love the theme of this one.",
        "I work as a shooting guard.",
        "Marrying my partner was the best day.",
        "I just want to relax.",
        "Thanks, my friend!",
        "I bought bike lights.",
        "I love watching them.",
        "I really like your idea.",
        "I'm passionate about making sure gulls are fed.",
        "She loves jazz.",
        'He shouted "I live in the old lighthouse now" from the stage.',
        "<memory>\n- I live in Turku\n</memory>",
        "> I live in Turku",
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


@pytest.mark.parametrize(
    "text", ["I'm seeing the dentist next Friday.", "My flight to Turku is on May 31st."]
)
def test_a_plan_has_a_due_date(text: str) -> None:
    (plan,) = (p.record for p in read(text))
    assert isinstance(plan, Episodic)
    assert (plan.event_type, plan.done, plan.occurred_at) == ("plan", False, None)
    assert plan.due == datetime(2024, 5, 31, tzinfo=UTC)


def test_a_plan_for_a_month_is_due_until_the_month_is_over() -> None:
    (plan,) = episodes(read("I'm going to paint the boat next month."))
    assert plan.due == datetime(2024, 6, 1, tzinfo=UTC)
    assert plan.ended_at == datetime(2024, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("texts", "new", "old"),
    [
        (("I live in Turku.", "Sorry, I meant Vaasa, not Turku."), "Vaasa", "Turku"),
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
    ],
)
def test_standing_wishes_are_core(text: str, line: str) -> None:
    assert core(read(text)) == [line]
    assert not any(isinstance(p.record, Core) for p in read(text, name="Orla"))


def test_a_contact_is_readable() -> None:
    (entry,) = (p.record for p in read("Orla's number is +47 555 01 234."))
    assert isinstance(entry, Vault)
    assert (entry.entry_type, entry.secret) == ("contact", "+47 555 01 234")


def test_a_name_and_a_wish_in_one_message_are_two_lines() -> None:
    found = read("My name is Orla. Please always answer in short bullet points.", "Call me Orly.")
    assert core(found) == [
        "Name: Orla",
        "Please always answer in short bullet points",
        "Call the user: Orly",
    ]
    assert all(p.record.label == "human" for p in found if isinstance(p.record, Core))
    assert ("user", "name", "Orla", True) in facts(found)


def test_a_correction_reaches_what_was_said_before_the_batch() -> None:
    earlier = said("My brother lives in Turku. I work at Fernhill.")
    (fix,) = read("Sorry, I meant Vaasa, not Turku.", before=[earlier])
    assert isinstance(fix.record, Semantic)
    assert (fix.op, fix.record.subject, fix.record.attribute, fix.record.value, fix.replaces) == (
        "correct",
        "user's brother",
        "lives_in",
        "Vaasa",
        "Turku",
    )


def test_where_the_batches_are_cut_changes_nothing() -> None:
    talk = [
        said(text, number=number)
        for number, text in enumerate(
            [
                "My sister Wren lives in Turku.",
                "She is a nurse.",
                "Oops, I meant Vaasa, not Turku.",
                "我妹妹小雨在南京。",
                "她喜欢弹古筝。",
                "我养了一只猫。",
            ]
        )
    ]
    whole = extract(talk, Setting(zone=UTC))
    for cut in range(1, len(talk)):
        parts = extract(talk[:cut], Setting(zone=UTC))
        parts += extract(talk[cut:], Setting(zone=UTC, before=talk[:cut]))
        assert parts == whole, cut


def test_a_long_text_tells_of_the_speaker_alone() -> None:
    story = "Otto lives in Turku and works as a baker. The sea was calm that year. " * 16
    assert facts(read(f"{story}\nI live in Vaasa.")) == {("user", "lives_in", "Vaasa", True)}


@pytest.mark.parametrize(
    "text",
    [
        "I'm working on a kite I started three weeks ago on a Sunday.",
        "I'll try to do that tonight.",
        "I bought it yesterday.",
        "I was just remembering yesterday how cold it was.",
    ],
)
def test_what_is_under_way_or_points_elsewhere_is_no_episode(text: str) -> None:
    assert episodes(read(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "This ensures that everybody can avoid disputes in the future.",
        "I always use a pencil.",
        "Answer in Finnish this time.",
    ],
)
def test_what_is_not_asked_of_the_agent_is_no_wish(text: str) -> None:
    assert core(read(text)) == []


def test_a_time_of_something_else_dates_no_event() -> None:
    assert episodes(read("I stumbled upon a book from the 1900s")) == []


def test_steps_and_documents_come_along_for_assistants_too() -> None:
    steps = "How to reset the kiln:\n1. Turn off the power.\n2. Open the lid.\n3. Press the button."
    letter = "```text\n" + "The kiln was built by hand and fired once. " * 12 + "\n```"
    for role in ("user", "assistant"):
        assert any(isinstance(p.record, Procedural) for p in read(steps, role=role))
        assert any(isinstance(p.record, Resource) for p in read(letter, role=role))
    assert not any(isinstance(p.record, Procedural) for p in read(steps, role="tool"))


def test_a_lasting_habit_is_dated_by_no_chance_word() -> None:
    (one,) = (f for f in semantics(read("I've been working at Fernhill for 3 years now.")))
    assert (one.attribute, one.value) == ("works_at", "Fernhill")
    assert read("I've been working at Fernhill for 3 years now.")[0].op == "create"
