"""What a model has been shown of memory: short names for it, and room for more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import tzinfo

from memstrata.answers import Citation
from memstrata.recall.assemble import assemble
from memstrata.records import ContextItem, Hit, Record
from memstrata.text.clean import shorten

__all__ = ["ANSWERED_FROM", "Shown", "cited"]

ANSWERED_FROM = "answered_from"
"""The member of a message's metadata by which a reply of the chat agent says what it rests on."""

_LONGEST = 700
"""Characters of an item's text."""
_QUOTE = 400
_LETTERS = {"messages": "m", "episodes": "e", "records": "r", "themes": "t"}


class Shown:
    """The items shown so far, by alias."""

    def __init__(self, zone: tzinfo, count: Callable[[str], int]) -> None:
        self._zone = zone
        self._count = count
        self._names: dict[str, str] = {}
        self._texts: set[tuple[str, str]] = set()
        self._last = dict.fromkeys(_LETTERS, 0)
        self.hits: dict[str, Hit] = {}
        """By alias."""
        self.items: list[ContextItem] = []

    def show(self, hits: Sequence[Hit], max_tokens: int) -> tuple[str, list[Hit]]:
        """The hits that were not shown before as blocks of at most so many tokens, and these.

        Replies of the agent that were made from memory are left out: they would be evidence for
        themselves.
        """
        fresh = [hit for hit in hits if (hit.id, hit.text) not in self._texts and not _repeats(hit)]
        names = {hit.id: self._names.get(hit.id) or self._next(hit) for hit in fresh}
        made = assemble(
            fresh,
            max_tokens=max(max_tokens, 0),
            count=self._count,
            zone=self._zone,
            names=names,
            longest=_LONGEST,
        )
        inside = {item.id for item in made.items}
        shown = [hit for hit in fresh if hit.id in inside]
        for hit in shown:
            self._names[hit.id] = names[hit.id]
            self._texts.add((hit.id, hit.text))
            self.hits[names[hit.id]] = hit
        self.items += made.items
        return made.text, shown

    def known(self, hits: Iterable[Hit]) -> list[str]:
        """The aliases of those among hits that are shown already."""
        return [self._names[hit.id] for hit in hits if (hit.id, hit.text) in self._texts]

    def _next(self, hit: Hit) -> str:
        self._last[hit.stratum] += 1
        return f"{_LETTERS[hit.stratum]}{self._last[hit.stratum]}"

    def named(self, aliases: Iterable[str]) -> list[Hit]:
        """The hits behind aliases, each once; what was never shown is left out."""
        words = [word for alias in aliases for word in alias.replace(",", " ").split()]
        plain = dict.fromkeys(word.strip("[]()`'\"").lower() for word in words)
        return [self.hits[alias] for alias in plain if alias in self.hits]

    @property
    def records(self) -> list[Record]:
        """The records among them."""
        return [hit.record for hit in self.hits.values() if hit.record is not None]


def _repeats(hit: Hit) -> bool:
    return hit.message is not None and bool(hit.message.metadata.get(ANSWERED_FROM))


def cited(hit: Hit) -> Citation:
    """A hit as what an answer rests on."""
    return Citation(
        id=hit.id,
        stratum=hit.stratum,
        kind=hit.kind,
        text=shorten(hit.text, _QUOTE),
        occurred_at=hit.occurred_at,
        speaker=hit.message.speaker if hit.message is not None else None,
        evidence=list(hit.evidence),
    )
