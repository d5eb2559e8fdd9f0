"""What a language model says of pairs of records: twenty to a call, each by its alias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from memstrata.consolidate.asking import Asking
from memstrata.consolidate.pairs import Pair
from memstrata.kinds import kind_of
from memstrata.models.chat import Prompt, Said
from memstrata.models.typed import Malformed, read_as, sift
from memstrata.models.wording import language_of, wording
from memstrata.records import JsonObject, Record
from memstrata.text.clean import shorten
from memstrata.text.untrusted import as_data

__all__ = ["Answer", "Verdict", "day_of", "judge"]

Answer = Literal["same", "different", "contradict", "changed"]

_AT_ONCE = 20
_LONGEST = 280
"""Characters of a record that are shown."""
_TOKENS = 60
"""Of the reply, for each pair."""
_ANSWERS: Mapping[str, Answer] = {
    **{name: name for name in get_args(Answer)},
    **dict.fromkeys(("duplicate", "identical", "equivalent"), "same"),
    **dict.fromkeys(("contradiction", "contradicts", "conflict", "contradictory"), "contradict"),
    **dict.fromkeys(("change", "updated", "drift", "supersede"), "changed"),
    **dict.fromkeys(("distinct", "unrelated", "none", "both"), "different"),
}
"""What models call them, whatever they were told."""
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "maxItems": _AT_ONCE,
            "items": {
                "type": "object",
                "properties": {
                    "pair": {"type": "string"},
                    "why": {"type": "string"},
                    "verdict": {"type": "string", "enum": [*get_args(Answer)]},
                    "stands": {"type": "string", "enum": ["a", "b"]},
                },
                "required": ["pair", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["pairs"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of one pair."""

    pair: Pair
    answer: Answer
    stands: Record | None
    """The one to believe, or that says it better; None where that was not said."""


class _One(BaseModel):
    """Of one pair. Why is asked for, for a model judges better by it, and not kept: it may repeat
    what is forgotten later."""

    model_config = ConfigDict(extra="ignore")

    pair: str
    verdict: Answer
    stands: str | None = None

    @field_validator("verdict", mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        return _ANSWERS.get(given.strip().casefold(), given) if isinstance(given, str) else given

    @field_validator("stands", mode="before")
    @classmethod
    def _side(cls, given: object) -> object:
        side = given.strip().casefold() if isinstance(given, str) else ""
        return side if side in ("a", "b") else None


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", title="Pairs")

    pairs: list[JsonValue] = Field(max_length=10 * _AT_ONCE)


async def judge(asking: Asking, pairs: Sequence[Pair], zone: tzinfo) -> list[Verdict]:
    """What the model says of pairs; what it leaves out, or cannot be asked, is left."""
    verdicts: list[Verdict] = []
    for begin in range(0, len(pairs), _AT_ONCE):
        some = pairs[begin : begin + _AT_ONCE]
        aliases = {f"p{place}": pair for place, pair in enumerate(some, 1)}
        text = "\n\n".join(_shown(alias, pair, zone) for alias, pair in aliases.items())
        language = language_of(" ".join(pair.newer.text for pair in some))
        prompt = Prompt(
            purpose="compare",
            system=wording("memstrata.consolidate", "pairs", language).text,
            turns=(Said("user", text),),
            schema=_SCHEMA,
            max_tokens=100 + _TOKENS * len(some),
        )
        key = ("pairs", *(pair.key for pair in some))
        said = await asking.ask(key, prompt, lambda reply, shown=aliases: _read(reply, shown))
        verdicts += said or ()
        asking.leave("pairs of memories", len(some) - len(said or ()))
    return verdicts


def _shown(alias: str, pair: Pair, zone: tzinfo) -> str:
    head = f"{alias} ({pair.older.kind})"
    return f"{head}\n  a{_record(pair.older, zone)}\n  b{_record(pair.newer, zone)}"


def _record(record: Record, zone: tzinfo) -> str:
    begun = record.valid_from or record.occurred_at
    times = [day_of(when, zone) for when in (begun, record.valid_to) if when is not None]
    told = " until ".join(times)
    text = shorten(kind_of(record.kind).render(record).replace("\n", "; "), _LONGEST)
    return f"{f' ({told})' if told else ''}: {as_data(text)}"


def day_of(when: datetime, zone: tzinfo) -> str:
    """The date in a zone."""
    try:
        return when.astimezone(zone).date().isoformat()
    except OverflowError:  # on the first or the last day there is
        return when.date().isoformat()


def _read(text: str, shown: Mapping[str, Pair]) -> tuple[Verdict, ...]:
    """The verdicts of a reply, one for each pair that it names; of a pair that was not shown, or
    is told two ways, nothing is taken."""
    good, bad = sift(read_as(text, _Reply).pairs, _One)
    found: dict[str, Verdict] = {}
    twice: set[str] = set()
    for _, one in good:
        alias = one.pair.strip().strip("[]()").casefold()
        pair = shown.get(alias)
        if pair is None:
            continue
        sides = {"a": pair.older, "b": pair.newer}
        verdict = Verdict(pair, one.verdict, sides.get(one.stands or ""))
        if found.setdefault(alias, verdict).answer != verdict.answer:
            twice.add(alias)
    kept = tuple(verdict for alias, verdict in found.items() if alias not in twice)
    if not kept:
        why = bad[0].reason if bad else f"no entry names one of {', '.join([*shown][:3])}, …"
        raise Malformed(why)
    return kept
