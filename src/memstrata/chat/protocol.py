"""What the chat agent's model may reply: searches to make, or an answer and what it rests on."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memstrata.arguments import check_choice, check_choices, check_text, moment
from memstrata.kinds import KINDS
from memstrata.models.typed import Malformed, read_as
from memstrata.recall import find as finding
from memstrata.records import JsonObject, Method

__all__ = ["ANSWER_SCHEMA", "SCHEMA", "Search", "Step", "read_again", "read_step", "to_search"]

_HITS = 10
"""Hits per search."""


# Models write one of a list without the list, nothing as null, and a search as its query alone.
def _listed(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str | dict) else value


def _texts(value: Any) -> Any:
    listed = _listed(value)
    if not isinstance(listed, list):
        return listed
    return [str(one) for one in cast("list[Any]", listed)]


def _searches(value: Any) -> Any:
    listed = _listed(value)
    if not isinstance(listed, list):
        return listed
    items = cast("list[Any]", listed)
    return [{"query": one} if isinstance(one, str) else one for one in items]


class Search(BaseModel):
    """One search the model asks for; `to_search` checks what stands in it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    query: str = ""
    kinds: tuple[str, ...] = ()
    method: str | None = None
    field: str | None = None
    since: str | None = None
    until: str | None = None
    as_of: str | None = None

    _kinds = field_validator("kinds", mode="before")(_texts)


class Step(BaseModel):
    """One reply: searches, or an answer."""

    model_config = ConfigDict(extra="ignore")

    searches: list[Search] = Field(default_factory=list[Search])
    answer: str | None = None
    cites: list[str] = Field(default_factory=list[str])
    known: bool = True

    _made = field_validator("searches", mode="before")(_searches)
    _cited = field_validator("cites", mode="before")(_texts)


_TEXT: JsonObject = {"type": "string"}
_ANSWER: JsonObject = {
    "answer": _TEXT,
    "cites": {"type": "array", "maxItems": 20, "items": _TEXT},
    "known": {"type": "boolean"},
}
ANSWER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": _ANSWER,
    "required": ["answer", "cites", "known"],
}
"""What is asked for where no search may be made any more."""
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "searches": {
            "type": "array",
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "query": _TEXT,
                    "kinds": {
                        "type": "array",
                        "maxItems": 6,
                        "items": {"type": "string", "enum": list(KINDS)},
                    },
                    "method": {
                        "type": "string",
                        "enum": ["hybrid", "embedding", "bm25", "string_match"],
                    },
                    "field": _TEXT,
                    "since": _TEXT,
                    "until": _TEXT,
                    "as_of": _TEXT,
                },
                "required": ["query"],
            },
        },
        **_ANSWER,
    },
}
"""What is asked for. What comes is read by `Step`, which takes more."""


_EXAMPLES: tuple[JsonObject, ...] = (
    {"searches": [{"query": "…"}]},
    {"answer": "…", "cites": ["m1", "r3"], "known": True},
)
"""As they stand in the prompts."""


def read_step(text: str) -> Step:
    """The step a reply holds; `Malformed` says what is wrong with it."""
    step = read_as(text, Step, echoes=_EXAMPLES)
    answered = bool(step.answer and step.answer.strip())
    if not answered and not step.searches:
        raise Malformed(
            "the object has neither `searches` nor an `answer`: give one of the two forms"
        )
    return step


def read_again(text: str) -> Step:
    """The same of an answer that is given again: its text may be left out."""
    return read_as(text, Step, echoes=_EXAMPLES)


def to_search(search: Search, *, now: datetime, zone: tzinfo) -> finding.Asked:
    """The search as the engine takes it; `InvalidInput` says what is wrong, by name."""
    method: Any = search.method or "hybrid"
    kinds = check_choices("kinds", search.kinds, KINDS) if search.kinds else None
    return finding.Asked(
        query=check_text("query", search.query),
        zone=zone,
        now=now,
        method=check_choice("method", method, Method),
        kinds=kinds,
        strata=finding.strata_for(None, kinds),
        search_fields=(search.field,) if search.field else (),
        since=moment("since", search.since or None, zone),
        until=moment("until", search.until or None, zone),
        as_of=moment("as_of", search.as_of or None, zone),
        limit=_HITS,
        once=False,
    )
