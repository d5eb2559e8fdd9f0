"""Asking a language model for something definite: one request, at most one more, or an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from memstrata.errors import ModelFailed
from memstrata.models.chat import ChatModel, Prompt, Reply
from memstrata.models.reply import Malformed, Unfit, fitted, read_as, sift
from memstrata.models.spending import Meter

__all__ = ["Malformed", "Unfit", "fitted", "obtain", "read_as", "sift"]

T = TypeVar("T")

_SHOWN = 4000
"""Characters of a reply that its model is shown again: a runaway one would not fit."""


async def obtain(model: ChatModel, prompt: Prompt, read: Callable[[str], T], meter: Meter) -> T:
    """What `read` makes of the reply; every call is noted in the meter, whatever comes of it.

    When `read` raises `Malformed`, or the limit of tokens cut the reply short, the model is shown
    its reply and what is wrong with it, and asked once more; with twice the tokens if it was cut.
    Then it is `ModelFailed`, with both reasons; so is what `model` itself raises. A reply that was
    cut is never read, however complete it looks: its last word may be what is missing.
    """
    reply = await _asked(model, prompt, meter)
    try:
        return _whole(reply, prompt, read)
    except Malformed as error:
        first = str(error)
    again = _again(prompt, reply, first)
    reply = await _asked(model, again, meter)
    try:
        return _whole(reply, again, read)
    except Malformed as error:
        raise ModelFailed(
            f"{model.id} gave no usable reply ({prompt.purpose}). First: {first}. "
            f"Asked once more: {error}"
        ) from None


async def _asked(model: ChatModel, prompt: Prompt, meter: Meter) -> Reply:
    reply = await model.complete(prompt)
    meter.note(reply.use)
    return reply


def _whole(reply: Reply, prompt: Prompt, read: Callable[[str], T]) -> T:
    if reply.cut:
        raise Malformed(f"the reply was cut short by its limit of {prompt.max_tokens} tokens")
    return read(reply.text)


def _again(prompt: Prompt, reply: Reply, problem: str) -> Prompt:
    how = "in fewer words, nothing twice" if reply.cut else "corrected"
    told = (
        f"This cannot be used: {problem}. Write the whole reply once more, {how}, and nothing "
        "besides it. Keep to the language it was in."
    )
    tokens = prompt.max_tokens * 2 if reply.cut else prompt.max_tokens
    return replace(prompt.then(_clipped(reply.text), told), max_tokens=tokens)


def _clipped(text: str) -> str:
    if not text.strip():
        # Some endpoints refuse a turn without text.
        return "(nothing)"
    half = _SHOWN // 2
    return text if len(text) <= _SHOWN else f"{text[:half]} … {text[-half:]}"
