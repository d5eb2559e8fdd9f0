"""The profile without a store: whose it is, and what stands in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memstrata.consolidate.derived import Derived, hashed
from memstrata.consolidate.profile import LONGEST, called, profile
from memstrata.ingest.statements import USER_NAMES
from memstrata.records import Evidence, Record

NOW = datetime(2026, 5, 8, 9, tzinfo=UTC)
ROW = {"recorded_at": NOW, "created_at": NOW, "fingerprint": "f", "batch_id": "b"}


def fact(attribute: str, value: str, *, told: int = 1, **more: Any) -> Record:
    """A fact about the user, told so many times."""
    subject, polarity = more.pop("subject", "user"), more.pop("polarity", True)
    fields = {
        "name": f"{subject} {attribute} {value}",
        "subject": subject,
        "attribute": attribute,
        "value": value,
        "polarity": polarity,
    }
    key = hashed([attribute, value, str(subject)])
    own: dict[str, Any] = {"id": f"sem_{key}", "kind": "semantic", "title": "t", "text": "t"}
    evidence = [Evidence(source_id=f"msg_{key}{n}") for n in range(told)]
    return Record(**{**ROW, **own, "fields": fields, "evidence": evidence, **more})


def lines(*facts: Record, names: frozenset[str] = USER_NAMES) -> list[str]:
    """The lines of the profile that these facts make."""
    made = profile(facts, names, NOW, known=None)
    if made is None:
        return []
    assert isinstance(made, Derived)
    return made.model.body().splitlines()


def test_one_line_for_each_attribute_the_best_supported_first() -> None:
    assert lines(
        fact("lives_in", "Lisbon"),
        fact("likes", "tea"),
        fact("likes", "jazz", told=3),
        fact("likes", "noise", polarity=False),
        fact("has_pet", "a dog", occurred_at=NOW - timedelta(days=9), told=2),
    )[:2] == ["user likes jazz, tea", "user has the pet a dog"]
    assert "user does not like noise" in lines(fact("likes", "noise", polarity=False))


def test_of_equals_the_newest_first() -> None:
    old = fact("likes", "tea", occurred_at=NOW - timedelta(days=90))
    new = fact("lives_in", "Lisbon", occurred_at=NOW - timedelta(days=1))
    assert lines(old, new) == ["user lives in Lisbon", "user likes tea"]


def test_in_chinese() -> None:
    found = lines(fact("likes", "爬山", subject="用户"), fact("likes", "喝茶", subject="用户"))
    assert sorted(found[0].removeprefix("用户喜欢").split("、")) == ["喝茶", "爬山"]


@pytest.mark.parametrize(
    "more",
    [
        {"trust": "tool"},
        {"trust": "web"},
        {"trust": "import"},
        {"lifecycle": "past"},
        {"lifecycle": "review"},
        {"sensitivity": "high"},
        {"confidence": 0.3},
        {"expires_at": NOW + timedelta(days=1)},
        {"valid_to": NOW + timedelta(days=1)},
        {"valid_from": NOW + timedelta(days=1)},
        {"subject": "Olga"},
    ],
    ids=str,
)
def test_what_does_not_belong_in_it(more: dict[str, Any]) -> None:
    assert lines(fact("lives_in", "Lisbon", **more)) == []


def test_it_is_held_within_a_length() -> None:
    facts = [fact(f"a{n}", f"{'x' * 90} {n}") for n in range(40)]
    assert LONGEST - 120 < len("\n".join(lines(*facts))) <= LONGEST


def test_it_rests_on_what_it_says_and_on_nothing_else() -> None:
    many = [fact("likes", f"thing {n}", told=2) for n in range(12)]
    made = profile(many, USER_NAMES, NOW, known=None)
    assert isinstance(made, Derived)
    assert len(made.records) == 8
    assert len(made.messages) == 16
    assert profile(many, USER_NAMES, NOW, known=_sources(made)) is True


def _sources(made: Derived) -> str:
    mark: Any = made.model.metadata["derived"]
    return str(mark["sources"])


@pytest.mark.parametrize(
    ("speakers", "name"),
    [
        ([None], None),
        (["Mara Lind"], "mara lind"),
        (["Mara", "mara"], "mara"),
        (["Mara", "Olga"], None),
        ([None, "Olga"], None),
        ([], None),
    ],
)
def test_who_the_user_is(speakers: list[str | None], name: str | None) -> None:
    assert called(speakers, []) - USER_NAMES == ({name} if name else frozenset())


def test_a_name_the_user_gave_is_the_users() -> None:
    named = fact("name", "Mara")
    assert called([None], [named]) - USER_NAMES == {"mara"}
    assert called([None, "Olga"], [named]) - USER_NAMES == {"mara"}
    assert called(["Mara", "Olga"], [named]) == USER_NAMES
    assert called([None], [fact("name", "Mara", trust="web")]) == USER_NAMES
