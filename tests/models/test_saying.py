"""What an endpoint said is shown without keys, and without what it was told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.models.saying import message_of, said, tells_key

KEY = "pear-7719-plum-4402-quince"


def test_keys_are_masked_also_those_nobody_named() -> None:
    other = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f"
    line = said(f"key {KEY} and\n{other} are wrong", [KEY])
    assert KEY not in line
    assert other not in line
    assert line.startswith("key [key] and [")
    assert said("the key x is wrong", ["x"]) == "the key x is wrong", "a placeholder is no secret"


def test_what_was_told_is_masked() -> None:
    told = ["My sister's clinic is in\nLindenstrasse.", "李子熟了，我们明天去摘李子和梨子吧。"]
    assert said("cannot read 'My sister's clinic is in Lindenstrasse.'", (), told) == (
        "cannot read '[…]'"
    )
    assert said("bad: 李子熟了，我们明天去摘李子和梨子吧。!", (), told) == "bad: […]!"
    assert said("the messages are no list", (), told) == "the messages are no list"


def test_it_is_short() -> None:
    assert len(said("plums and pears " * 900)) == 400


@given(st.text(min_size=13), st.text(max_size=30), st.text(max_size=30))
def test_nothing_long_that_was_told_is_ever_left(told: str, before: str, after: str) -> None:
    line = said(before + told + after, (), [told])
    text = " ".join(told.split())
    assert not any(text[at : at + 12] in line for at in range(len(text) - 11))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "no plums"}}, "no plums"),
        ({"error": "no plums"}, "no plums"),
        ({"message": "no plums"}, "no plums"),
        ({"detail": [{"msg": "no plums"}]}, "[{'msg': 'no plums'}]"),
        ({"plums": 0}, "{'plums': 0}"),
        ("<html>", "<html>"),
        (None, "without a word"),
        ("", "without a word"),
    ],
)
def test_the_words_of_an_error(body: object, words: str) -> None:
    assert message_of(body) == words


def test_errors_that_tell_a_key() -> None:
    assert not tells_key(None, [KEY])
    assert not tells_key(ValueError("plums"), [KEY])
    assert tells_key(ValueError(f"bad {KEY}"), [KEY])
    try:
        try:
            raise KeyError(KEY)
        except KeyError:
            raise ValueError("plums") from None
    except ValueError as error:
        assert tells_key(error, [KEY])
    error = ValueError("plums")
    error.body = {"key": KEY}  # type: ignore[attr-defined]
    assert tells_key(error, [KEY])
