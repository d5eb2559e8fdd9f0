"""Groups that members join, leave and change, and that split and merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memstrata.themes.groups import Groups
from memstrata.themes.objective import objective
from memstrata.themes.rules import Rules

D = 8
RULES = Rules(attach=0.62, room=0.52, link=0.66, tight=0.72, merge=0.78)
Vector = NDArray[np.float32]


def unit(*numbers: float) -> Vector:
    vector = np.zeros(D, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.sqrt(vector @ vector))


def at_cosine(cosine: float, axis: int = 1) -> Vector:
    """A vector of this cosine to the first axis."""
    vector = np.zeros(D, np.float32)
    vector[0], vector[axis] = cosine, np.sqrt(1 - cosine**2)
    return vector


def vectors_of(seed: int, count: int, clusters: int, noise: float = 0.35) -> dict[str, Vector]:
    dice = np.random.default_rng(seed)
    middles = dice.normal(size=(clusters, D))
    rows = [
        middle / np.linalg.norm(middle) + noise * dice.normal(size=D) / np.sqrt(D)
        for middle in middles[dice.integers(0, clusters, count)]
    ]
    return {f"m{i}": (r / np.linalg.norm(r)).astype(np.float32) for i, r in enumerate(rows)}


def check(groups: Groups, told: dict[str, Vector]) -> None:
    """Each member is in one group, of at most so many, whose sum is that of its members."""
    found: list[str] = []
    for key in groups.keys:
        members = groups.members(key)
        found += members
        assert 0 < len(members) == groups.size(key)
        assert not groups.rules.splits or len(members) <= groups.rules.largest
        total = np.sum([told[name] for name in members], axis=0)
        np.testing.assert_allclose(groups.total(key), total, atol=1e-4)
        length = float(np.linalg.norm(total)) or 1.0
        np.testing.assert_allclose(groups.centroid(key), total / length, atol=1e-3)
    assert sorted(found) == sorted(told)
    for member, key in groups.homes.items():
        assert member in groups.members(key)


def grouped(vectors: dict[str, Vector], rules: Rules = RULES) -> Groups:
    groups = Groups(D, rules)
    for name, vector in vectors.items():
        groups.add(name, vector)
    return groups


def pieces(groups: Groups) -> set[frozenset[str]]:
    return {frozenset(groups.members(key)) for key in groups.keys}


# ── joining ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cosine", "together"), [(0.7, True), (0.53, True), (0.51, False), (-0.9, False)]
)
def test_a_member_joins_the_nearest_group_with_room_if_it_is_near(
    cosine: float, together: bool
) -> None:
    groups = grouped({"a": unit(1.0), "b": at_cosine(cosine)})
    assert (len(groups) == 1) is together
    check(groups, {"a": unit(1.0), "b": at_cosine(cosine)})


@pytest.mark.parametrize(("cosine", "tried"), [(0.65, True), (0.6, False)])
def test_a_full_group_takes_only_what_is_nearer_and_then_splits(cosine: float, tried: bool) -> None:
    told = {f"a{i}": unit(1.0) for i in range(12)}
    groups = grouped(told)
    assert groups.size(groups.keys[0]) == 12 and len(groups) == 1
    told["b"] = at_cosine(cosine)
    before = set(groups.touched)
    groups.touched.clear()
    groups.add("b", told["b"])
    check(groups, told)
    assert before and (len(groups.touched) > 1) is tried
    if not tried:
        assert pieces(groups) == {frozenset(told) - {"b"}, frozenset({"b"})}


def test_of_two_groups_the_nearer_one_is_joined() -> None:
    groups = grouped({"a": unit(1.0), "b": unit(0.0, 1.0), "c": at_cosine(0.8)})
    assert pieces(groups) == {frozenset({"a", "c"}), frozenset({"b"})}


# ── whatever the order ───────────────────────────────────────────────────────────────────────


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 9), st.floats(0.05, 2.0))
def test_no_group_is_too_large_after_any_add(
    seed: int, count: int, clusters: int, noise: float
) -> None:
    told: dict[str, Vector] = {}
    groups = Groups(D, RULES)
    for name, vector in vectors_of(seed, count, clusters, noise).items():
        told[name] = vector
        groups.add(name, vector)
        assert max(groups.size(key) for key in groups.keys) <= RULES.largest
    check(groups, told)


def keep(
    groups: Groups,
    kept: dict[int, dict[str, Vector]],
    homes: dict[str, int],
    numbers: Iterator[int],
) -> None:
    renamed = {key: next(numbers) for key in groups.touched if key < 0}
    for key in groups.touched:
        kept[renamed.get(key, key)] = dict(groups.members(key))
    for key in groups.gone:
        del kept[key]
    homes |= {name: renamed.get(key, key) for name, key in groups.homes.items()}
    groups.settled(renamed)
    assert set(groups.keys) == set(kept)


@settings(max_examples=40)
@given(st.data())
def test_added_changed_removed_tidied_and_kept_in_any_order(data: st.DataObject) -> None:
    """As a store does it: keys become lasting now and then, and members are fetched from it."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    supply = vectors_of(seed, 60, data.draw(st.integers(1, 6)), data.draw(st.floats(0.1, 1.0)))
    kept: dict[int, dict[str, Vector]] = {}
    groups = Groups(D, RULES, lambda key: kept[key])
    told: dict[str, Vector] = {}
    homes: dict[str, int] = {}
    numbers = iter(range(1, 1000))
    steps = st.lists(
        st.sampled_from(["add", "add", "add", "change", "remove", "tidy", "regroup", "keep"]),
        max_size=50,
    )
    for step in data.draw(steps):
        if step == "add" and supply:
            name, vector = supply.popitem()
            told[name] = vector
            groups.add(name, vector)
        elif step == "change" and told and supply:
            name = data.draw(st.sampled_from(sorted(told)))
            told[name] = supply.popitem()[1]
            groups.change(name, homes.get(name, 0), told[name])
        elif step == "remove" and told:
            name = data.draw(st.sampled_from(sorted(told)))
            groups.remove(name, homes.get(name, 0))
            del told[name]
            homes.pop(name, None)
        elif step == "tidy":
            groups.tidy()
        elif step == "regroup" and told:
            keep(groups, kept, homes, numbers)
            groups.regroup(dict(told), dict(homes))
            for name, key in homes.items():
                assert name in groups.members(groups.homes.get(name, key))
        elif step == "keep":
            keep(groups, kept, homes, numbers)
        check(groups, told)


# ── leaving and changing ─────────────────────────────────────────────────────────────────────


def test_the_last_member_takes_its_group_along() -> None:
    groups = grouped({"a": unit(1.0), "b": unit(0.0, 1.0)})
    groups.settled({-1: 1, -2: 2})
    groups.fetch = lambda key: {"a": unit(1.0)} if key == 1 else {"b": unit(0.0, 1.0)}
    groups.remove("a", 1)
    assert groups.keys == [2] and groups.gone == {1} and 1 not in groups
    check(groups, {"b": unit(0.0, 1.0)})


def test_a_member_is_found_where_a_split_has_put_it_meanwhile() -> None:
    """Removed by the key it had when the groups were last kept."""
    told = vectors_of(1, 12, 1, 0.3)
    groups = grouped(told)
    [key] = groups.keys
    groups.settled({key: 7})
    groups.fetch = lambda _: told
    more = {f"x{i}": v for i, v in enumerate(vectors_of(1, 12, 1, 0.3).values())}
    for name, vector in more.items():
        groups.add(name, vector)
    moved = next(name for name, key in groups.homes.items() if key != 7 and name in told)
    groups.remove(moved, 7)
    rest = {name: v for name, v in (told | more).items() if name != moved}
    check(groups, rest)


def test_a_member_of_a_group_that_has_merged_away_is_found_too() -> None:
    rules = Rules(attach=0.9, room=0.9, link=0.9, tight=0.5, merge=0.5)
    kept = {1: {"a": unit(1.0), "b": at_cosine(0.97)}, 2: {"c": at_cosine(0.8)}}
    groups = Groups(D, rules, lambda key: kept[key])
    for key, members in kept.items():
        groups.restore(key, len(members), np.sum(list(members.values()), axis=0))
    groups.tidy(1)
    assert groups.keys == [1] and groups.gone == {2}
    groups.change("c", 2, at_cosine(0.85))
    check(groups, {**kept[1], "c": at_cosine(0.85)})


def test_one_that_is_alone_keeps_its_group_when_it_changes() -> None:
    groups = grouped({"a": unit(1.0), "b": unit(0.0, 1.0)})
    home = groups.homes["a"]
    groups.change("a", home, unit(0.0, 0.0, 1.0))
    assert groups.homes["a"] == home
    check(groups, {"a": unit(0.0, 0.0, 1.0), "b": unit(0.0, 1.0)})
    groups.change("a", home, at_cosine(0.1))
    assert len(groups) == 1


def test_a_group_whose_members_have_changed_is_summed_anew() -> None:
    groups = Groups(D, RULES, lambda _: {"a": unit(0.0, 1.0), "b": unit(0.0, 1.0, 0.5)})
    groups.restore(3, 2, 2 * unit(1.0))
    groups.refresh(3)
    assert groups.touched == {3}
    check(groups, {"a": unit(0.0, 1.0), "b": unit(0.0, 1.0, 0.5)})


# ── splitting and merging ────────────────────────────────────────────────────────────────────


def total_worth(parts: Iterable[dict[str, Vector]]) -> float:
    parts = list(parts)
    return objective(
        np.array([len(p) for p in parts], np.float64),
        np.array([np.sum(list(p.values()), axis=0) for p in parts], np.float32),
    )


@pytest.mark.parametrize("second", [1, 6, 11])
def test_two_merge_only_when_the_objective_gains(second: int) -> None:
    one = {f"a{i}": unit(1.0) for i in range(1)}
    other = {f"b{i}": at_cosine(0.8) for i in range(second)}
    far = {f"c{i}": unit(0.0, 0.0, 1.0) for i in range(second)}
    kept = {1: one, 2: other, 3: far}
    groups = Groups(D, RULES, lambda key: kept[key])
    for key, members in kept.items():
        groups.restore(key, len(members), np.sum(list(members.values()), axis=0))
    gains = total_worth([one | other, far]) > total_worth([one, other, far]) + 1e-9
    groups.tidy(0)
    assert ((frozenset(one | other)) in pieces(groups)) is gains
    check(groups, one | other | far)


def test_what_would_be_too_large_together_stays_apart() -> None:
    kept = {1: {f"a{i}": unit(1.0) for i in range(7)}, 2: {f"b{i}": unit(1.0) for i in range(6)}}
    groups = Groups(D, RULES, lambda key: kept[key])
    for key, members in kept.items():
        groups.restore(key, len(members), np.sum(list(members.values()), axis=0))
    groups.tidy(0)
    assert len(groups) == 2


def test_a_loose_group_splits_from_its_size_on_and_a_tight_one_never_does() -> None:
    loose = Rules(attach=-1.0, room=-1.0, link=0.66, tight=0.72, merge=2.0)
    told = {f"a{i}": unit(1.0) for i in range(4)} | {f"b{i}": at_cosine(0.2) for i in range(3)}
    groups = grouped(told, loose)
    assert len(groups) == 1, "seven are too few"
    groups.add("b9", at_cosine(0.2))
    assert sorted(len(part) for part in pieces(groups)) == [4, 4]
    assert len(grouped({f"a{i}": at_cosine(0.99, 1 + i % 3) for i in range(12)}, loose)) == 1


def test_without_splits_groups_grow_and_without_merges_they_stay_apart() -> None:
    told = vectors_of(4, 50, 1, 0.2)
    whole = grouped(told, Rules(0.62, 0.52, 0.66, 0.72, 0.78, splits=False))
    check(whole, told)
    # What finds a full group, and is not near enough for that, begins one of its own.
    assert max(whole.size(key) for key in whole.keys) > 12
    kept = {1: {"a": unit(1.0)}, 2: {"b": unit(1.0)}, 3: {"c": unit(0.0, 1.0), "d": unit(0.0, 1.0)}}
    for merges, count in ((False, 3), (True, 2)):
        groups = Groups(D, Rules(0.62, 0.52, 0.66, 0.72, 0.78, merges=merges), lambda k: kept[k])
        for key, members in kept.items():
            groups.restore(key, len(members), np.sum(list(members.values()), axis=0))
        groups._settle(list(groups.keys))
        assert len(groups) == count


def test_the_larger_group_keeps_its_key_when_it_splits() -> None:
    loose = Rules(attach=-1.0, room=-1.0, link=0.66, tight=0.72, merge=2.0)
    told = {f"a{i}": unit(1.0) for i in range(5)} | {f"b{i}": at_cosine(0.2) for i in range(3)}
    groups = grouped(told, loose)
    assert frozenset(groups.members(-1)) == {f"a{i}" for i in range(5)}
