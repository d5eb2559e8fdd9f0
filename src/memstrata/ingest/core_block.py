"""Line edits in blocks of core memory, within their limit."""

from __future__ import annotations

from typing import cast

from memstrata.ingest.proposals import Proposal
from memstrata.ingest.standing import Standing, add, support
from memstrata.ingest.statements import is_same
from memstrata.kinds import Core, Semantic
from memstrata.text.analyse import fold

__all__ = ["core_lines", "edit_core", "edited"]


def core_lines(value: str, line: str) -> str:
    """A block with one line more; a line `key: …` takes the place of the one with its key."""
    lines = [kept for kept in value.splitlines() if kept.strip()]
    key, colon, _ = line.partition(":") if ":" in line else line.partition("：")
    if any(fold(kept) == fold(line) for kept in lines):
        return "\n".join(lines)
    if colon and len(key) < 40:
        for place, kept in enumerate(lines):
            if fold(kept).startswith(fold(f"{key}{colon}")):
                lines[place] = line
                return "\n".join(lines)
    return "\n".join([*lines, line])


def _replaced(value: str, old: str, line: str) -> str | None:
    """The block with a line in the place of an old one; None if it has no such line."""
    lines = [kept for kept in value.splitlines() if kept.strip()]
    for place, kept in enumerate(lines):
        if fold(kept).strip() == fold(old).strip():
            lines[place] = line
            return "\n".join(dict.fromkeys(lines))
    return None


def edited(value: str, line: str, old: str | None) -> str:
    """The block with a line more, in the place of an old one if it has that."""
    replaced = _replaced(value, old, line) if old else None
    return core_lines(value, line) if replaced is None else replaced


def edit_core(proposal: Proposal, known: list[Standing]) -> None:
    """A line added to a block or in the place of an old one, if the words are the user's own.

    What the block has no room for is kept as a fact beside it.
    """
    model = cast("Core", proposal.record)
    if model.trust != "user":
        return
    for standing in known:
        if isinstance(standing.model, Core) and fold(standing.model.label) == fold(model.label):
            _edit(proposal, model, standing, known)
            return
    add(proposal, model, known)


def _edit(proposal: Proposal, model: Core, standing: Standing, known: list[Standing]) -> None:
    block = cast("Core", standing.model)
    value = edited(block.value, model.value, proposal.replaces)
    if value == block.value:
        support(standing, proposal)
    elif len(value) <= block.limit:
        standing.set(value=value)
        standing.op = standing.op or "update"
        standing.reason = standing.reason or proposal.reason
        support(standing, proposal)
    else:
        _beside(proposal, model, known)


def _beside(proposal: Proposal, model: Core, known: list[Standing]) -> None:
    fact = Semantic(name=model.value, confidence=model.confidence, trust=model.trust)
    reason = f"{proposal.reason}; the block {model.label!r} is full".removeprefix("; ")
    for standing in known:
        if is_same(standing.model, fact) and standing.lifecycle == "current":
            support(standing, proposal)
            return
    add(proposal, fact, known).reason = reason
