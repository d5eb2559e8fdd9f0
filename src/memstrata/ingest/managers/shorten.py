"""A block of core memory that is nearly full, written anew in fewer words without losing a fact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from memstrata.ingest.core_block import edited
from memstrata.ingest.managers.meta import Desk
from memstrata.ingest.managers.prompting import prompt, version_of
from memstrata.ingest.proposals import Proposal
from memstrata.ingest.standing import restore
from memstrata.kinds import Core
from memstrata.kinds.attributes import Language
from memstrata.models.chat import Prompt, Said
from memstrata.models.typed import obtain, read_as
from memstrata.records import Record
from memstrata.text.analyse import fold, repair, terms
from memstrata.text.chinese import tagged
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
    [
        *terms("the user user's name likes is are was has have and or also"),
        *("用户", "姓名", "名字", "喜欢", "是", "有", "和", "以及", "还", "也"),
    ]
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_DENYING = re.compile(r"^[不没别勿](?=.)")


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
    rewrite, label = repair(written.value)[0].strip(), Core.label_of(block)
    if len(rewrite) >= len(model.value):
        return f"the block {label!r} stays as it is: the rewrite is no shorter"
    if gone := lost(model.value, rewrite):
        return f"the block {label!r} stays as it is: the rewrite loses {len(gone)} of its words"
    return Proposal(
        op="revise",
        record=model.model_copy(update={"value": rewrite}),
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
    whole = _Said(after)
    clauses = [_Said(one) for one in _CLAUSE.split(after)]
    gone: list[str] = []
    for clause in _CLAUSE.split(before):
        denied = bool(_NOT.search(clause))
        for word, keys in _words(clause):
            if not whole.has(keys):
                gone.append(word)
            elif not any(one.denied == denied for one in clauses if one.has(keys)):
                gone.append(f"that it is {'not ' if denied else ''}{word}")
    return gone


class _Said:
    """What a clause says. Chinese words are looked for in its text: where they end is a guess."""

    def __init__(self, text: str) -> None:
        self.text = fold(text)
        self.terms = frozenset(terms(text))
        self.denied = bool(_NOT.search(text))

    def has(self, keys: frozenset[str]) -> bool:
        return all(key in (self.text if _HAN.search(key) else self.terms) for key in keys)


def _words(clause: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The words of a clause that tell something, each with what must be there for it."""
    for word in clause.split():
        keys = frozenset(terms(word)) - STOP_WORDS - _SPARE
        if _HAN.search(word):
            parts = {_DENYING.sub("", fold(one)) for one, _ in tagged(word) if _HAN.search(one)}
            others = {one for one in keys if not _HAN.search(one)}
            for key in sorted((parts | others) - HAN_STOP_WORDS - _SPARE):
                yield key, frozenset([key])
        elif keys and not _NOT.fullmatch(fold(word).strip(".,;:!?")):
            yield word.strip(".,;:!?"), keys
