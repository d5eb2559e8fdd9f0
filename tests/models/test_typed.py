"""Asking for something definite: at most twice, and every call counted."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from memstrata.errors import BudgetExceeded, ModelFailed
from memstrata.models.chat import Prompt, Reply, Said
from memstrata.models.fake import FakeChat
from memstrata.models.spending import Meter
from memstrata.models.typed import Malformed, obtain, read_as
from memstrata.records import ModelUse

pytestmark = pytest.mark.anyio

ASKED = Prompt("extract", "Give the facts.", (Said("user", "Ana keeps bees."),), max_tokens=100)


class Facts(BaseModel):
    facts: list[str]


def facts(text: str) -> list[str]:
    return read_as(text, Facts).facts


def cut(text: str) -> Reply:
    return Reply(text, ModelUse(model="fake-chat", calls=1, output_tokens=100), cut=True)


async def test_a_good_reply_is_one_call() -> None:
    chat, meter = FakeChat({"facts": ["Ana keeps bees."]}), Meter()
    assert await obtain(chat, ASKED, facts, meter) == ["Ana keeps bees."]
    assert chat.prompts == [ASKED]
    assert meter.ledger().model_calls == 1


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I would rather not.", "no JSON object"),
        ('{"facts": "Ana keeps bees."}', "facts: "),
        ('{"facts": ["Ana keeps', "cut off"),
        ("null", "no JSON object"),
    ],
)
async def test_a_bad_reply_is_shown_to_the_model_with_its_error_once(bad: str, why: str) -> None:
    chat, meter = FakeChat(bad, {"facts": ["Ana keeps bees."]}), Meter()
    assert await obtain(chat, ASKED, facts, meter) == ["Ana keeps bees."]
    first, second = chat.prompts
    assert first == ASKED
    assert second.turns[:2] == (*ASKED.turns, Said("assistant", bad))
    assert second.turns[2].role == "user"
    assert why in second.turns[2].text
    assert second.max_tokens == ASKED.max_tokens
    assert meter.ledger().model_calls == 2
    assert meter.ledger().input_tokens > 0


async def test_a_reply_without_text_is_shown_as_a_turn_with_text() -> None:
    chat = FakeChat("", {"facts": []})
    assert await obtain(chat, ASKED, facts, Meter()) == []
    assert chat.prompts[1].turns[1].text.strip()
    assert "empty" in chat.prompts[1].turns[2].text


async def test_a_runaway_reply_is_shown_clipped() -> None:
    chat = FakeChat("bees " * 50_000, {"facts": []})
    assert await obtain(chat, ASKED, facts, Meter()) == []
    assert len(chat.prompts[1].turns[1].text) < 5_000


@pytest.mark.parametrize("half", ['{"facts": ["Ana keeps', '{"facts": []}'])
async def test_a_reply_cut_by_its_limit_is_never_read_and_asked_for_with_twice_the_tokens(
    half: str,
) -> None:
    chat, meter = FakeChat(cut(half), {"facts": ["Ana keeps bees."]}), Meter()
    assert await obtain(chat, ASKED, facts, meter) == ["Ana keeps bees."]
    assert [prompt.max_tokens for prompt in chat.prompts] == [100, 200]
    assert "100 tokens" in chat.prompts[1].turns[2].text
    assert meter.ledger().output_tokens > 100


async def test_a_plain_text_that_was_cut_is_not_taken_for_the_whole() -> None:
    chat = FakeChat(cut("Ana keeps"), "Ana keeps bees.")
    assert await obtain(chat, ASKED, str.strip, Meter()) == "Ana keeps bees."


async def test_two_bad_replies_fail_with_both_reasons_and_are_both_counted() -> None:
    chat, meter = FakeChat("no", '{"facts": 1}', {"facts": ["too late"]}), Meter()
    with pytest.raises(ModelFailed, match="no JSON object") as caught:
        await obtain(chat, ASKED, facts, meter)
    assert "extract" in str(caught.value)
    assert "facts: Input should be" in str(caught.value)
    assert "fake-chat" in str(caught.value)
    assert len(chat.prompts) == 2
    assert meter.ledger().model_calls == 2


async def test_cut_twice_fails() -> None:
    chat, meter = FakeChat(cut("{"), cut('{"facts": []}')), Meter()
    with pytest.raises(ModelFailed, match="limit of 200 tokens"):
        await obtain(chat, ASKED, facts, meter)
    assert meter.ledger().output_tokens == 200


@pytest.mark.parametrize("error", [ModelFailed("down"), BudgetExceeded("spent")])
async def test_what_the_model_raises_goes_through_and_what_was_spent_before_is_counted(
    error: Exception,
) -> None:
    chat, meter = FakeChat("no", error, {"facts": []}), Meter()
    with pytest.raises(type(error), match=str(error)):
        await obtain(chat, ASKED, facts, meter)
    assert meter.ledger().model_calls == 1
    assert len(chat.script) == 1


async def test_an_error_of_the_reader_that_is_no_malformed_reply_is_not_hidden() -> None:
    def broken(text: str) -> str:
        raise LookupError(text)

    chat = FakeChat("bees", "bees")
    with pytest.raises(LookupError):
        await obtain(chat, ASKED, broken, Meter())
    assert len(chat.prompts) == 1


async def test_a_reader_may_refuse_in_its_own_words() -> None:
    def known(text: str) -> list[str]:
        found = facts(text)
        if "m9" in found:
            raise Malformed("m9 is no alias you were shown")
        return found

    chat = FakeChat({"facts": ["m9"]}, {"facts": ["m1"]})
    assert await obtain(chat, ASKED, known, Meter()) == ["m1"]
    assert "m9 is no alias" in chat.prompts[1].turns[2].text
