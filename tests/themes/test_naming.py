"""What themes are called."""

from __future__ import annotations

from collections import Counter

import pytest

from memstrata.text.analyse import terms
from memstrata.themes.naming import name_of, name_of_parent, summary_of

GARDEN = [
    "Mira planted tomatoes in the garden.",
    "The garden needs compost for the tomatoes.",
    "A hedgehog lives in the garden behind the compost.",
]


def key(word: str) -> str:
    return " ".join(terms(word))


def test_it_says_what_the_members_share() -> None:
    told = name_of(GARDEN, [None] * 3, Counter(), 1)
    assert told.name.split(", ")[:1] == ["garden"]
    assert len(told.name.split(", ")) == 3
    assert key("garden") in told.topics and len(told.topics) <= 12


def test_what_most_themes_share_is_in_no_name() -> None:
    shared = Counter({key("garden"): 9})
    told = name_of(GARDEN, [None] * 3, shared, 20)
    assert "garden" not in told.name and key("garden") not in told.topics
    # Of few themes nothing can be said to be common.
    assert key("garden") in name_of(GARDEN, [None] * 3, Counter({key("garden"): 3}), 3).topics


def test_where_there_is_nothing_else_common_words_are_better_than_none() -> None:
    words = ["The garden.", "A garden."]
    assert name_of(words, [None, None], Counter({key("garden"): 50}), 60).name == "garden"


def test_days_months_and_roles_are_in_no_name() -> None:
    told = name_of(["The user likes the harbour in March.", "The user's job on Friday"], [None] * 2,
                   Counter(), 1)  # fmt: skip
    assert not {"march", "friday", "user", "likes", "job"} & set(told.name.casefold().split(", "))
    assert "harbour" in told.name


def test_about_one_person_it_begins_with_the_name() -> None:
    texts = ["Mira: sails a dinghy in the harbour", "Mira: repairs the dinghy"]
    told = name_of(texts, ["Mira", "Mira"], Counter(), 1)
    assert told.name.startswith("Mira: ") and "dinghy" in told.name
    assert told.name.count("Mira") == 1
    for about in (["Mira", "Ivo"], ["Mira", None], ["user", "user"]):
        assert ": " not in name_of(texts, about, Counter(), 1).name


def test_a_name_that_still_fits_is_kept_and_another_is_not() -> None:
    first = name_of(GARDEN, [None] * 3, Counter(), 1).name
    turned = ", ".join(reversed(first.split(", ")))
    assert name_of(GARDEN, [None] * 3, Counter(), 1, turned).name == turned
    assert name_of(GARDEN, [None] * 3, Counter(), 1, "boats, garden").name == first
    assert name_of(GARDEN, ["Mira"] * 3, Counter(), 1, first).name.startswith("Mira: ")


def test_a_name_that_is_taken_takes_further_topics_until_it_differs() -> None:
    first = name_of(GARDEN, [None] * 3, Counter(), 1).name
    for old in ("", first):
        told = name_of(GARDEN, [None] * 3, Counter(), 1, old, free=lambda name: name != first)
        assert told.name.startswith(f"{first}, ") and len(told.name.split(", ")) == 4
    longest = name_of(GARDEN, [None] * 3, Counter(), 1, free=lambda _: False)
    assert longest.name == first, "where there are no more, the name is all the same"


def test_without_any_topic_it_is_the_most_typical_text() -> None:
    assert name_of(["12:30!"], [None], Counter(), 1).name == "12:30!"
    assert len(name_of(["7 " * 400], [None], Counter(), 1).name) <= 80
    assert name_of(["Mira: 12"], ["Mira"], Counter(), 1).name == "Mira: 12"


@pytest.mark.parametrize("old", ["", "番茄, 花园"])
def test_chinese(old: str) -> None:
    texts = ["小林在花园种了番茄。", "花园的番茄需要肥料。", "花园的番茄熟了。"]
    told = name_of(texts, [None] * 3, Counter(), 1, old)
    assert {"番茄", "花园"} <= set(told.name.split(", "))
    assert told.name.startswith(old)
    assert name_of(texts, ["小林"] * 3, Counter(), 1).name.startswith("小林: ")


def test_a_parent_is_called_by_the_words_of_the_larger_themes_first() -> None:
    children = [("Mira: dinghy, harbour", 9), ("bread, oven, flour", 2)]
    assert name_of_parent(children) == "dinghy, harbour, bread"
    assert name_of_parent(children, "harbour, bread, dinghy") == "harbour, bread, dinghy"
    assert name_of_parent(children, "harbour, dinghy") == "dinghy, harbour, bread"
    assert name_of_parent(children, "harbour, cheese") == "dinghy, harbour, bread"


def test_a_summary_has_a_few_titles_once_each_and_short() -> None:
    assert summary_of(["One", "One", "Two", "Three", "Four"]) == "One\nTwo"
    assert summary_of([]) == ""
    assert all(len(line) <= 80 for line in summary_of(["long " * 50, "b"]).split("\n"))
