"""The gate: what is taken, and what does not pay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memstrata.recall.gate import GAIN, Offer, ShareGate, admit, shares

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def offers(
    given: Sequence[float],
    likeness: np.ndarray | None = None,
    words: Sequence[str] = (),
    trust: Sequence[int] = (),
) -> list[Offer]:
    alike = np.eye(len(given)) if likeness is None else likeness
    return [
        Offer(
            at,
            f"text {at}",
            share,
            frozenset(words[at].split()) if words else frozenset(),
            trust[at] if trust else 0,
            alike[at],
        )
        for at, share in enumerate(given)
    ]


async def taken(gate: ShareGate, *stages: list[Offer]) -> list[int]:
    return [offer.key for offer in await admit(gate, "q", stages)]


def test_shares_sum_to_one_and_fall_with_the_odds() -> None:
    share = shares(np.array([0.9, 0.5, 0.5, 0.1]))
    assert share.sum() == pytest.approx(1)
    assert share[1] == share[2]
    # The odds are 9, 1 and 1/9: to the power of 1.5.
    assert share[0] / share[1] == pytest.approx(27)
    assert share[1] / share[3] == pytest.approx(27)
    assert shares(np.zeros(0)).tolist() == []
    assert shares(np.array([0.0, 1.0])).tolist()[1] == pytest.approx(1)


async def test_what_gains_too_little_is_left() -> None:
    one, two, three = offers([0.95, 0.04, 0.009])
    assert await taken(ShareGate(), [one, two, three]) == [0, 1]
    assert await taken(ShareGate(0.05), [one, two, three]) == [0]
    assert await taken(ShareGate(0.0), [one, two, three]) == [0, 1, 2]


async def test_what_is_said_already_gains_nothing_however_large_its_share() -> None:
    alike = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    records, messages = offers([0.5, 0.4, 0.1], alike)[:1], offers([0.5, 0.4, 0.1], alike)[1:]
    assert await taken(ShareGate(), records, messages) == [0, 2]


async def test_stages_are_gone_through_in_order() -> None:
    first, second = offers([0.1, 0.9])
    assert await taken(ShareGate(), [first], [second]) == [0, 1]


async def test_where_nothing_pays_by_itself_the_largest_share_does() -> None:
    flat = offers([GAIN / 2] * 199 + [GAIN * 0.6])
    assert await taken(ShareGate(), flat) == [199]
    assert await taken(ShareGate(), []) == []


async def test_a_word_of_the_question_that_nothing_taken_has_pays() -> None:
    jam, nuts, more = offers([0.99, 0.004, 0.004], words=["jam", "nut", "nut"])
    assert await taken(ShareGate(), [jam, nuts, more]) == [0, 1]


async def test_a_page_does_not_stand_in_for_what_the_user_said() -> None:
    page, user = offers([0.99, 0.004], words=["jam nut", "nut"], trust=[-3, 0])
    assert await taken(ShareGate(), [page, user]) == [0, 1]
    page, user = offers([0.99, 0.004], words=["jam nut", "nut"], trust=[0, 0])
    assert await taken(ShareGate(), [page, user]) == [0]
