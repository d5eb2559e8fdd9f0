"""Which of the points that should be remembered are remembered, and by which records.

Without a judge a record covers a point if both hold: the two are as near as `NEAR` (on the scale
of `Embedder.relate`), and the record has at least `SHARE` of the point's content words (in their
normal forms, without function words). With a judge the nearest records are shown to it, and it says
which one has the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memstrata.bench import asking, qa_score
from memstrata.errors import ModelFailed
from memstrata.models.base import Embedder
from memstrata.models.chat import ChatModel, Prompt, Said
from memstrata.models.spending import Meter
from memstrata.passages import chunk, limits_of
from memstrata.text.analyse import terms
from memstrata.text.lexicon import HAN_STOP_WORDS, STOP_WORDS

__all__ = ["NEAR", "SHARE", "Judge", "Matches", "content_words", "match", "shared"]

NEAR = 0.45
"""From which level a record is near a point: of two records of one memory, one pair in 180 is."""
SHARE = 0.4
"""The share of a point's content words that a record must have."""
_SHOWN = 5
"""Records that a judge is shown for a point."""

_ASKED = """What should be remembered of a conversation:
{point}

What was remembered:
{records}

Does one of these say what should be remembered, in whatever words, without contradicting it? \
Reply with its number alone, or with 0 if none does."""


@dataclass(frozen=True, slots=True)
class Matches:
    """By point the record that covers it, by number; None where none does."""

    by_point: tuple[int | None, ...]
    records: int
    """How many there are."""
    unjudged: int = 0
    """Points of which a judge said nothing that can be read, or failed."""

    @property
    def matched(self) -> int:
        """How many records cover a point."""
        return len({one for one in self.by_point if one is not None})


class Judge:
    """A model that says which record covers a point."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.meter = Meter()

    @property
    def id(self) -> str:
        """The model's."""
        return self._model.id

    def pick(self, point: str, records: Sequence[str]) -> int | None:
        """The place of the record that covers the point, -1 for none; None if it cannot be read."""
        shown = "\n".join(f"{number}. {text}" for number, text in enumerate(records, 1))
        text = _ASKED.replace("{records}", shown).replace("{point}", point, 1)
        try:
            asked = Prompt("judge", "", (Said("user", text),), max_tokens=512)
            reply = asking.complete(self._model, asked)
        except ModelFailed:
            return None
        self.meter.note(reply.use)
        digits = qa_score.answer_of(reply.text).strip(" .\n")
        if not digits.isdecimal() or int(digits) > len(records):
            return None
        return int(digits) - 1


def content_words(text: str) -> frozenset[str]:
    """The words that carry the meaning, in their normal forms."""
    return frozenset(terms(text)) - STOP_WORDS - HAN_STOP_WORDS


def shared(point: str, record: str) -> float:
    """The share of the point's content words that the record has."""
    wanted = content_words(point)
    return len(wanted & content_words(record)) / len(wanted) if wanted else 0.0


def match(
    points: Sequence[str], records: Sequence[str], embedder: Embedder, judge: Judge | None = None
) -> Matches:
    """Find for every point the record that covers it, the best one if several do."""
    if not points or not records:
        return Matches((None,) * len(points), len(records))
    near = embedder.relate(_vectors(points, embedder) @ _vectors(records, embedder).T)
    if judge is None:
        return Matches(
            tuple(_nearest(p, records, row) for p, row in zip(points, near, strict=True)),
            len(records),
        )
    found: list[int | None] = []
    unjudged = 0
    for point, row in zip(points, near, strict=True):
        best: list[int] = np.argsort(-row, kind="stable")[:_SHOWN].tolist()
        picked = judge.pick(point, [records[at] for at in best])
        unjudged += picked is None
        found.append(best[picked] if picked is not None and picked >= 0 else None)
    return Matches(tuple(found), len(records), unjudged)


def _nearest(point: str, records: Sequence[str], row: NDArray[np.float64]) -> int | None:
    good = [
        at for at, text in enumerate(records) if row[at] >= NEAR and shared(point, text) >= SHARE
    ]
    return max(good, key=lambda at: row[at], default=None)


def _vectors(texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """By the first passage of each: what is compared is short."""
    limits = limits_of(embedder)
    return embedder.embed_passages([text[: chunk(text, limits)[0].end] for text in texts])
