"""Digests and the profile as a language model writes them, each line held against its sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from memstrata.consolidate import digests, profile
from memstrata.consolidate.asking import Asking
from memstrata.consolidate.borne import lacking, telling
from memstrata.consolidate.derived import (
    Derived,
    Key,
    Line,
    by_model,
    least_trusted,
    most_sensitive,
)
from memstrata.models.chat import Prompt, Said
from memstrata.models.typed import Malformed, read_as, sift
from memstrata.models.wording import language_of, wording
from memstrata.records import JsonObject
from memstrata.text.clean import shorten
from memstrata.text.untrusted import as_data, as_word

__all__ = ["told"]

_SHOWN = 60
_LONGEST = 280
"""Characters of a source that are shown, and of a line that is kept."""
_TOKENS = 1000
_I = re.compile(r"\b(?:i|i['’]\w+|me|my|mine|we|us|our|ours)\b|我|咱|俺", re.IGNORECASE)
"""Words that mean nothing without who says them."""
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "from": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                },
                "required": ["text", "from"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["lines"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Form:
    """What is written, and how much of it."""

    name: str
    """Of the prompt."""
    letter: str
    field: str
    """Of the record, that holds what is written."""
    most: int
    longest: int
    what: str
    """What is left to the rules when it is not written."""


_PROFILE = _Form("profile", "f", "value", 12, profile.LONGEST, "profile")
_DIGEST = _Form("digest", "m", "summary", 8, digests.LONGEST, "digests")


class _Sentence(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    text: str = Field(min_length=1)
    sources: JsonValue = Field(
        default=None, validation_alias=AliasChoices("from", "sources", "facts", "aliases")
    )


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", title="Lines")

    lines: list[JsonValue] = Field(max_length=200)


async def told(asking: Asking, key: Key, sources: str, rules: Derived) -> Derived:
    """What the model makes of a basis; where it cannot be asked, what the rules made.

    `sources` is the hash of what it is made of. What none of its lines bears out is what the rules
    made too, marked so that it is not asked for again.
    """
    form = _PROFILE if key == profile.PROFILE else _DIGEST
    shown = {f"{form.letter}{place}": one for place, one in enumerate(rules.basis[:_SHOWN], 1)}
    if not shown:
        return rules
    language = language_of(" ".join(one.text for one in shown.values()))
    text = "\n".join(_row(alias, one) for alias, one in shown.items())
    prompt = Prompt(
        purpose=form.name,
        system=wording("memstrata.consolidate", form.name, language).text,
        turns=(Said("user", f"{as_data(rules.model.heading())}\n\n{text}"),),
        schema=_SCHEMA,
        max_tokens=_TOKENS,
    )
    reader = _Reader(shown)
    lines = await asking.ask((form.name, *key, sources), prompt, reader.read)
    if lines is None:
        asking.leave(form.what, 1)
        return rules
    asking.refused += reader.refused
    lines = lines[: form.most]
    made = _filled(lines, rules, form) if form is _PROFILE else _within(lines, rules, form)
    return _written(made or (), rules, form, asking.model.id)


def _row(alias: str, line: Line) -> str:
    head = f" ({as_word(line.head)})" if line.head else ""
    return f"{alias}{head}: {as_data(shorten(line.text, _LONGEST))}"


class _Reader:
    """Reads replies to one question; what does not hold is objected to once, then left out."""

    def __init__(self, shown: Mapping[str, Line]) -> None:
        self.shown = shown
        self.refused = 0
        self._again = False

    def read(self, text: str) -> tuple[Line, ...]:
        good, bad = sift(read_as(text, _Reply).lines, _Sentence)
        kept: dict[str, Line] = {}
        problems = [one.reason for one in bad]
        for place, one in good:
            line = " ".join(one.text.split())
            sources = self._sources(one.sources)
            if why := _unsound(line, sources):
                problems.append(f"line {place + 1}: {why}")
            else:
                kept.setdefault(line, _resting(line, sources))
        if problems and not kept and not self._again:
            self._again = True
            raise Malformed("; ".join(problems[:5]))
        self.refused = len(problems)
        return tuple(kept.values())

    def _sources(self, given: JsonValue) -> list[Line]:
        """What a line names; what was not shown is not counted."""
        named = re.findall(r"[a-z]\d+", str(given).casefold())
        return [self.shown[alias] for alias in dict.fromkeys(named) if alias in self.shown]


def _unsound(line: str, sources: Sequence[Line]) -> str | None:
    if not sources:
        return 'its "from" names nothing that was shown'
    if len(line) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if _I.search(line) and len({one.who for one in sources}) > 1:
        return "nobody can tell who 'I' is"
    heads = [f"{one.head} {one.day}" for one in sources]
    # What it lacks is not told: it may be a secret, and the reason is kept.
    return (
        "its sources do not say that" if lacking(line, [s.text for s in sources], heads) else None
    )


def _resting(text: str, sources: Sequence[Line]) -> Line:
    day = sources[0].day
    if _I.search(text) and sources[0].who and not text.startswith(sources[0].who):
        text = f"{sources[0].who} {text}"
    return Line(
        text=text if not day or day in text else f"{day}{'，' if '月' in day else ', '}{text}",
        messages=tuple(dict.fromkeys(one for line in sources for one in line.messages)),
        records=tuple(dict.fromkeys(one for line in sources for one in line.records)),
        trust=least_trusted(line.trust for line in sources),
        sensitivity=most_sensitive(line.sensitivity for line in sources),
    )


def _within(lines: Sequence[Line], rules: Derived, form: _Form) -> tuple[Line, ...] | None:
    """The lines that fit; None if they rest on less than half as much as the rules quote."""
    kept: list[Line] = []
    room = form.longest
    for line in lines:
        room -= len(line.text) + 1
        if room >= 0:
            kept.append(line)
    told = {one for line in kept for one in (line.records or line.messages)}
    enough = 2 * len(told) >= len(rules.model.body().splitlines())
    return tuple(kept) if enough else None


def _filled(lines: Sequence[Line], rules: Derived, form: _Form) -> tuple[Line, ...] | None:
    """The lines, and after them the rules' lines of facts that are not in them; None if no way of
    that fits: nothing that the rules tell may be lost."""
    for most in range(len(lines), 0, -1):
        some = lines[:most]
        rest = [line for line in rules.lines if not _is_told(line, some, rules.basis)]
        whole = (*some, *rest)
        if sum(len(line.text) + 1 for line in whole) <= form.longest:
            return whole
    return None


def _is_told(row: Line, lines: Sequence[Line], basis: Sequence[Line]) -> bool:
    """Whether all facts of a line of the rules are in lines that name them."""
    facts = [one for one in basis if set(one.records) <= set(row.records)]
    return all(
        any(
            set(fact.records) <= set(line.records) and telling(fact.core) <= telling(line.text)
            for line in lines
        )
        for fact in facts
    )


def _written(lines: Sequence[Line], rules: Derived, form: _Form, name: str) -> Derived:
    if not lines:
        return replace(rules, model=by_model(rules.model, name))
    model = rules.model.model_copy(
        update={
            form.field: "\n".join(line.text for line in lines),
            "trust": least_trusted(line.trust for line in lines),
            "sensitivity": most_sensitive(line.sensitivity for line in lines),
        }
    )
    return replace(
        rules,
        model=by_model(model, name),
        messages=tuple(dict.fromkeys(one for line in lines for one in line.messages)),
        records=tuple(dict.fromkeys(one for line in lines for one in line.records)),
    )
