"""A block of core memory that is nearly full, written anew in fewer words without losing a fact."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel

from memstrata.ingest.core_block import edited
from memstrata.ingest.managers.meta import Desk
from memstrata.ingest.managers.prompts import prompt, version_of
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.standing import restore
from memstrata.kinds import Core
from memstrata.kinds.attributes import Language
from memstrata.models.chat import Prompt, Said
from memstrata.models.typed import obtain, read_as
from memstrata.records import Record
from memstrata.text.analyse import fold, terms
from memstrata.text.lexicon import HAN_STOP_WORDS, STOP_WORDS
from memstrata.text.topics import is_chinese
from memstrata.text.untrusted import as_data

__all__ = ["lost", "shorten"]

_FULL = 0.9
_AIM = 0.7
_NOT = re.compile(
    r"\b(?:not|no|never|without|avoid\w*|dislikes?|hates?|except|nor|neither)\b|n['’]t\b"
    r"|不|没|别|勿|讨厌|除了|无",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[\n.;!?。；！？]+|(?<=[^\d])[,，](?=[^\d])|\b(?:but|yet)\b|但")
_SPARE = frozenset(
    terms("the user user's name likes is are was has have prefer prefers and or also")
)


class _Block(BaseModel):
    value: str


async def shorten(desk: Desk, block: Record, lines: Sequence[Proposal]) -> Proposal | str | None:
    """The rewrite that makes room for lines in a block, if they would fill it to over 90 %.

    A text says why there is none: a rewrite that loses a fact is refused. None: there is room.
    """
    model = restore(block).model
    assert isinstance(model, Core)
    value = model.value
    for line in lines:
        assert isinstance(line.record, Core)
        value = edited(value, line.record.value, line.replaces)
    if not lines or len(value) <= _FULL * model.limit:
        return None
    language: Language = "zh" if is_chinese(model.value) else "en"
    limit = int(_AIM * model.limit)
    asked = Prompt(
        purpose="shorten",
        system=prompt("shorten", language, limit=limit),
        turns=(Said("user", as_data(model.value)),),
        schema=_Block.model_json_schema(),
        max_tokens=max(256, model.limit),
    )
    written = await obtain(desk.model, asked, lambda text: read_as(text, _Block), desk.meter)
    label = Core.label_of(block)
    if len(written.value) >= len(model.value):
        return f"the block {label!r} stays as it is: the rewrite is no shorter"
    if gone := lost(model.value, written.value):
        return f"the block {label!r} stays as it is: the rewrite loses {', '.join(gone[:5])}"
    return Proposal(
        op="revise",
        record=model.model_copy(update={"value": written.value.strip()}),
        evidence=lines[0].evidence,
        said_at=lines[0].said_at,
        reason=f"core manager, prompt {version_of('shorten', language)}: the block was nearly full",
        target=block.id,
    )


def lost(before: str, after: str) -> list[str]:
    """What a block says and its rewrite does not: words that tell something, and denials.

    Every word of a line must be there still, and where the line denies it a clause with it must
    deny too; where it does not, none may.
    """
    kept = frozenset(terms(after))
    clauses = [(frozenset(terms(one)), bool(_NOT.search(one))) for one in _CLAUSE.split(after)]
    gone: list[str] = []
    for clause in _CLAUSE.split(before):
        words = [word for word in clause.split() if any(c.isalnum() for c in word)]
        for word in words or [clause]:
            keys = _telling(word)
            if not keys:
                continue
            if not keys <= kept:
                gone.append(word.strip(".,;:!?"))
            elif not any(
                denied == bool(_NOT.search(clause)) for has, denied in clauses if keys <= has
            ):
                gone.append(f"that it is {'not ' if _NOT.search(clause) else ''}{word}")
    return gone


def _telling(word: str) -> frozenset[str]:
    if _NOT.fullmatch(fold(word).strip(".,;:!?")):
        return frozenset()
    return frozenset(terms(word)) - STOP_WORDS - HAN_STOP_WORDS - _SPARE
