"""The last turn of a conversation as a question that stands alone, made by a model.

Without one, `intent` does it by rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from pydantic import BaseModel, ConfigDict, Field

from memstrata.models.chat import PATIENCE, ChatModel, Prompt, Said
from memstrata.models.spending import Meter
from memstrata.models.typed import Malformed, obtain, read_as
from memstrata.models.wording import language_of, wording
from memstrata.records import JsonObject
from memstrata.text.analyse import fold
from memstrata.text.clean import clean_text, shorten
from memstrata.text.untrusted import as_data, as_word

__all__ = ["Rewritten", "conversation", "rewrite"]

_BACK = 8
"""How many turns before the last are shown."""
_EARLIER, _LAST = 500, 4000
"""Characters of an earlier turn, and of the last one."""
_QUESTION = 500
_ALTERNATIVES = 2
_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What to search for."""

    question: str
    alternatives: tuple[str, ...] = ()
    """Other words for it, at most two."""


class _Reply(BaseModel):
    """A question that stands alone, and other searches for its answer."""

    model_config = ConfigDict(extra="ignore", title="Rewritten")

    question: str
    alternatives: list[str] = Field(default_factory=list[str])


_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "alternatives": {
            "type": "array",
            "maxItems": _ALTERNATIVES,
            "items": {"type": "string"},
        },
    },
    "required": ["question", "alternatives"],
}


async def rewrite(
    model: ChatModel,
    turns: Sequence[tuple[str, str]],
    *,
    now: datetime,
    zone: tzinfo,
    meter: Meter,
) -> Rewritten:
    """Make the last of some turns of (role, text) a question that stands alone.

    Raises `ModelFailed` and `BudgetExceeded` as the model does.
    """
    today = now.astimezone(zone).strftime("%Y-%m-%d %A")
    prompt = Prompt(
        purpose="rewrite",
        system=wording("memstrata.recall", "rewrite", language_of(turns[-1][1])).text,
        turns=(Said("user", f"{conversation(turns, _BACK)}\n({today})"),),
        schema=_SCHEMA,
        max_tokens=_TOKENS,
        patience=PATIENCE,
    )
    return await obtain(model, prompt, _read, meter)


def _read(text: str) -> Rewritten:
    reply = read_as(text, _Reply)
    if not fold(reply.question).strip():
        raise Malformed("`question` is blank: give the last turn as a question")
    question = _one_line(reply.question)
    others = dict.fromkeys(map(_one_line, reply.alternatives))
    kept = [other for other in others if fold(other).strip() and other != question]
    return Rewritten(question, tuple(kept[:_ALTERNATIVES]))


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), _QUESTION)


def conversation(turns: Sequence[tuple[str, str]], back: int) -> str:
    """The last turns in a block that none of them can close, without their secrets."""
    shown = turns[-back - 1 :]
    lines = [_line(turn, _EARLIER) for turn in shown[:-1]]
    return "\n".join(["<conversation>", *lines, _line(shown[-1], _LAST), "</conversation>"])


def _line(turn: tuple[str, str], longest: int) -> str:
    role, text = turn
    return f"- {as_word(role)}: {as_data(shorten(clean_text(text).text, longest))}"
