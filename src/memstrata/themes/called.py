"""Names and summaries of themes by a language model: up to twenty of them in one call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from memstrata.consolidate.asking import Asking
from memstrata.consolidate.borne import lacking
from memstrata.models.chat import Prompt, Said
from memstrata.models.typed import Malformed, read_as, sift
from memstrata.models.wording import language_of, wording
from memstrata.records import JsonObject
from memstrata.text.analyse import fold, terms
from memstrata.text.clean import clean_text, shorten
from memstrata.text.topics import is_chinese
from memstrata.text.untrusted import as_data

__all__ = ["AT_ONCE", "Given", "Unnamed", "call", "still_fits", "still_true"]

AT_ONCE = 20
"""Themes of one call."""
_SHOWN = 6
"""Members of a theme that are shown."""
_LONGEST = 140
"""Characters of a member that are shown."""
_NAME, _SUMMARY = 60, 240
_TOKENS = 90
"""Of the reply, for each theme."""
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "themes": {
            "type": "array",
            "maxItems": AT_ONCE,
            "items": {
                "type": "object",
                "properties": {
                    "theme": {"type": "string"},
                    "name": {"type": "string"},
                    "summary": {"type": "string"},
                },
                "required": ["theme", "name"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["themes"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A theme that no model has named as it is now."""

    seq: int
    name: str
    """What it is called."""
    texts: tuple[str, ...]
    """Of its members, the most typical first."""
    members: bytes
    """Who they are, packed by `store.themes.membership`."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a theme is called from now on."""

    members: bytes
    """Those by which it was named: of others it is not the name."""
    name: str | None
    summary: str | None
    """None where what the rules say stays."""


def still_fits(then: bytes, now: bytes) -> bool:
    """Whether a name given by some members is that of these: half of both together are the same."""
    one, other = ({given[at : at + 8] for at in range(0, len(given), 16)} for given in (then, now))
    return 2 * len(one & other) >= len(one | other)


def still_true(then: bytes, now: bytes) -> bool:
    """Whether all that a summary was made of is there, and says the same."""
    one, other = ({given[at : at + 16] for at in range(0, len(given), 16)} for given in (then, now))
    return one <= other


class _One(BaseModel):
    model_config = ConfigDict(extra="ignore")

    theme: str
    name: str
    summary: str | None = None


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", title="Themes")

    themes: list[JsonValue] = Field(max_length=10 * AT_ONCE)


async def call(
    asking: Asking, unnamed: Sequence[Unnamed], taken: Iterable[str]
) -> dict[int, Given]:
    """What the model calls some themes, by number; those it leaves out are left.

    `taken` are the names of the other themes. A name that is taken, too long, in another language
    or with a number or a name that no member has, is not used, and neither is a summary that says
    what no member says: what the rules made stays in their place.
    """
    if not unnamed:
        return {}
    shown = {f"t{place}": one for place, one in enumerate(unnamed, 1)}
    language = language_of(" ".join(text for one in unnamed for text in one.texts))
    prompt = Prompt(
        purpose="name",
        system=wording("memstrata.themes", "names", language).text,
        turns=(Said("user", "\n\n".join(_group(*pair) for pair in shown.items())),),
        schema=_SCHEMA,
        max_tokens=100 + _TOKENS * len(shown),
    )
    key = ("names", *((one.seq, one.members) for one in unnamed))
    said = await asking.ask(key, prompt, lambda text: _read(text, shown))
    asking.leave("theme names", len(shown) - len(said or {}))
    used = {fold(name) for name in taken}
    given: dict[int, Given] = {}
    for alias, one in (said or {}).items():
        theme = shown[alias]
        name = _name(one.name, theme, used)
        used |= {fold(name)} if name else set()
        given[theme.seq] = Given(theme.members, name, _summary(one.summary, theme))
    return given


def _group(alias: str, theme: Unnamed) -> str:
    lines = [f"- {as_data(shorten(text, _LONGEST))}" for text in theme.texts[:_SHOWN]]
    return "\n".join([f"{alias} (now: {as_data(theme.name)})", *lines])


def _read(text: str, shown: Mapping[str, Unnamed]) -> dict[str, _One]:
    good, bad = sift(read_as(text, _Reply).themes, _One)
    found: dict[str, _One] = {}
    for _, one in good:
        alias = one.theme.strip().strip("[]()").casefold()
        if alias in shown:
            found.setdefault(alias, one)
    if not found:
        raise Malformed(bad[0].reason if bad else f"no entry names one of {', '.join(shown)}")
    return found


def _name(given: str, theme: Unnamed, used: set[str]) -> str | None:
    """A name as it may stand; None for one that may not."""
    name = " ".join(clean_text(given).text.split()).strip(" .。\"'“”《》")
    whole = "\n".join(theme.texts)
    sound = (
        bool(fold(name).strip())
        and len(name) <= _NAME
        and fold(name) not in used
        and is_chinese(name) == is_chinese(whole)
        and _numbers(name) <= _numbers(whole)
    )
    return name if sound and _title_names(name, whole) else None


def _numbers(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if any(char.isdigit() for char in term))


def _title_names(name: str, whole: str) -> bool:
    """Whether a name that is written with a capital inside is in the members.

    The first word has a capital anyway, and where all have, none says that it is a name.
    """
    words = re.findall(r"[^\W\d_]+", name)
    capital = [word for word in words[1:] if word[0].isupper()]
    long = [word for word in words[1:] if len(word) > 3]
    if all(word[0].isupper() for word in long):
        return True
    known = frozenset(terms(whole))
    return all(known.issuperset(terms(word)) for word in capital)


def _summary(given: str | None, theme: Unnamed) -> str | None:
    summary = " ".join(clean_text(given or "").text.split())
    if not summary or len(summary) > _SUMMARY or lacking(summary, theme.texts):
        return None
    return summary
