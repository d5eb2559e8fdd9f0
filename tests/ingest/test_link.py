"""Entities: which names mean one person, and which only look alike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import pytest
from ingest.said import said

from memstrata.ingest.entities import Owner, link, lookups, owner_of
from memstrata.store.entities import KnownEntity
from memstrata.store.ports import PutEntity
from memstrata.text.names import Name, normal_form


def person(*names: str) -> tuple[Name, ...]:
    return tuple(Name(name, normal_form(name), "person") for name in names)


def owner(
    id: str, text: str, *names: str, speaker: str | None = None, present: Sequence[str] = ()
) -> Owner:
    return Owner(id, person(*names), text, speaker, frozenset(present))


def linked(*owners: Owner, known: Sequence[KnownEntity] = ()) -> list[PutEntity]:
    numbers = count(1)
    return link(owners, known, lambda: f"ent_{next(numbers)}")


def owned(*owners: Owner, known: Sequence[KnownEntity] = ()) -> dict[str, tuple[str, ...]]:
    return {put.name: put.owners for put in linked(*owners, known=known)}


def known(name: str, *given: str, forms: Sequence[str] = (), type: str = "person") -> KnownEntity:
    spelled = {normal_form(name), *map(normal_form, forms)}
    return KnownEntity(
        seq=7, id="ent_old", name=name, type=type, forms=spelled,
        given=set(map(normal_form, given)),
    )  # fmt: skip


def test_nothing_mentioned_is_no_entity() -> None:
    assert linked(owner("m1", "It rains.")) == []


@pytest.mark.parametrize(
    "spellings", [("Wren Alder", "wren alder", "WREN  ALDER"), ("Zoë", "zoe"), ("柳青禾", "柳青禾")]
)
def test_spellings_of_one_normal_form_are_one(spellings: tuple[str, ...]) -> None:
    owners = [owner(f"m{n}", name, name) for n, name in enumerate(spellings)]
    [one] = linked(*owners)
    assert one.name == spellings[0]
    assert one.owners == tuple(each.id for each in owners)


@pytest.mark.parametrize(("full", "given"), [("Wren Alder", "Wren"), ("柳青禾", "青禾")])
def test_a_given_name_is_the_one_person_known_by_it(full: str, given: str) -> None:
    owners = [owner("m1", full, full), owner("m2", given, given)]
    assert owned(*owners) == {full: ("m1", "m2")}
    assert owned(owners[1], known=[known(full, given)]) == {full: ("m2",)}


@pytest.mark.parametrize(("full", "given"), [("Wren Alder", "Wren")])
def test_a_person_known_by_the_given_name_gets_the_full_one(full: str, given: str) -> None:
    assert owned(owner("m1", given, given), owner("m2", full, full)) == {full: ("m1", "m2")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Wren Alder", "Wren Quince"),
        ("Bruno", "Bruna"),
        ("Mabel", "Mabelle"),
        ("Ann Moss", "Anna Moss"),
        ("柳青禾", "柳青荷"),
        ("陶然", "陶冉"),
        ("柳青禾", "周青禾"),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_two_people_of_similar_names_are_two(one: str, other: str, swap: bool) -> None:
    names = (other, one) if swap else (one, other)
    owners = [owner(f"m{n}", name, name) for n, name in enumerate(names)]
    assert owned(*owners) == {names[0]: ("m0",), names[1]: ("m1",)}
    later = owned(owners[1], known=[known(names[0])])
    assert later == {names[1]: ("m1",)}


@pytest.mark.parametrize(
    ("full", "given"), [(("Wren Alder", "Wren Quince"), "Wren"), (("柳青禾", "周青禾"), "青禾")]
)
def test_a_given_name_of_two_people_is_neither(full: tuple[str, str], given: str) -> None:
    owners = [owner(f"m{n}", name, name) for n, name in enumerate((*full, given))]
    assert owned(*owners) == {full[0]: ("m0",), full[1]: ("m1",), given: ("m2",)}


def test_a_speaker_of_a_given_name_is_not_the_full_name_spoken_of() -> None:
    spoken = owner("m1", "I saw Wren Alder.", "Wren Alder", speaker="Wren", present=["Wren"])
    assert owned(spoken)["Wren Alder"] == ("m1",)
    assert len(linked(spoken)) == 2


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("Hey Matt, the tide is in!", True),
        ("The tide is in, Matt.", True),
        ("Thanks Matt!", True),
        ("I met Matt at the pier.", False),
        ("Matt came late.", False),
    ],
)
def test_a_short_form_is_who_is_spoken_to(text: str, one: bool) -> None:
    hello = owner("m1", text, "Matt", speaker="Wren", present=["Wren", "Matthias"])
    assert (owned(hello).get("Matthias") == ("m1",)) is one
    assert ("Matt" in owned(hello)) is not one


def test_a_short_form_of_two_listeners_or_of_the_speaker_is_neither() -> None:
    two = owner("m1", "Hey Matt!", "Matt", speaker="Wren", present=["Matthias", "Mattea", "Wren"])
    assert owned(two)["Matt"] == ("m1",)
    self = owner("m1", "Hey Matt!", "Matt", speaker="Matthias", present=["Matthias"])
    assert owned(self)["Matt"] == ("m1",)


@pytest.mark.parametrize(
    ("text", "speaker", "nickname"),
    [
        ("My friends call me Pip.", "Philippa Moss", "Pip"),
        ("I go by Pip.", "Philippa Moss", "Pip"),
        ("Call me Pip.", "Philippa Moss", "Pip"),
        ("大家都叫我小禾。", "柳青禾", "小禾"),
    ],
)
def test_an_alias_that_is_told_is_one(text: str, speaker: str, nickname: str) -> None:
    told = owner("m1", text, speaker=speaker, present=[speaker])
    later = owner("m2", f"{nickname} is here", nickname)
    assert owned(told, later) == {speaker: ("m2",)}
    assert normal_form(nickname) in lookups([told])


def test_an_alias_in_brackets_is_one() -> None:
    told = owner("m1", "Philippa Moss (aka Pip) sails.", "Philippa Moss")
    first = owner("m0", "Philippa Moss sails.", "Philippa Moss")
    assert owned(first, told, owner("m2", "Pip!", "Pip")) == {"Philippa Moss": ("m0", "m1", "m2")}


def test_an_alias_that_is_somebody_else_is_taken() -> None:
    pip = owner("m0", "Pip Quince and Pip.", "Pip", speaker="Pip", present=["Pip"])
    told = owner("m1", "My friends call me Pip.", speaker="Philippa", present=["Philippa"])
    assert len(linked(pip, told)) == 2
    assert owned(pip, told, owner("m2", "Pip", "Pip"))["Pip"] == ("m0", "m2")


@pytest.mark.parametrize("text", ["Dr. Quince opened the pier.", "Mrs. Quince and Mr. Moss sail."])
def test_a_title_is_no_name(text: str) -> None:
    made = owner_of(said(text), ())
    names = {name for name, owners in owned(made).items() if owners}
    assert any("Quince" in name for name in names)
    assert not names & {"Dr", "Dr.", "Mrs", "Mrs.", "Mr", "Mr."}


def test_a_place_is_no_person_of_the_same_name() -> None:
    place = Owner("m1", (Name("Florence", normal_form("Florence"), "place"),), "I saw Florence.")
    spoken = owner("m2", "Florence!", "Florence", speaker="Florence", present=["Florence"])
    puts = linked(spoken, place)
    assert {put.type for put in puts if put.owners} <= {"person", "place"}
    city = Owner("m3", place.names, "I saw Florence.", "Florence", frozenset({"Florence"}))
    assert sorted(put.type for put in linked(city)) == ["person", "place"]


def test_a_thing_learns_what_it_is() -> None:
    thing = known("Kestrel", type="thing")
    [put] = linked(owner("m1", "Kestrel", "Kestrel"), known=[thing])
    assert (put.seq, put.id, put.type) == (7, "ent_old", "person")


def test_what_is_known_is_written_again_only_with_what_is_new() -> None:
    old = known("Wren Alder", "Wren")
    [put] = linked(owner("m1", "Wren Alder", "Wren Alder"), known=[old])
    assert (put.seq, put.spellings, put.owners) == (7, (), ("m1",))
    assert linked(known=[old]) == []


@pytest.mark.parametrize(
    ("content", "wanted"),
    [("I met Wren Alder.", {"wren alder", "wren"}), ("我见到了柳青禾。", {"柳青禾", "青禾"})],
)
def test_what_to_look_up(content: str, wanted: set[str]) -> None:
    made = owner_of(said(content), {"柳青禾", "wren alder"}, ["Mabel"])
    assert wanted | {"mabel"} <= lookups([made])
