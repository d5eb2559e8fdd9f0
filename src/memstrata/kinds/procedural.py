"""Procedural memory: how to do something."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from memstrata.kinds.base import KindModel

__all__ = ["Procedural", "Step"]


class Step(BaseModel):
    """One step of a procedure."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    instruction: str = Field(min_length=1)
    condition: str | None = None
    expected: str | None = None

    def line(self, number: int) -> str:
        """The step as one numbered line."""
        when = f"if {self.condition}: " if self.condition else ""
        then = f" → {self.expected}" if self.expected else ""
        return f"{number}. {when}{self.instruction}{then}"


class Procedural(KindModel):
    """One workflow, guide or script; an update makes a new version of it."""

    name_of_kind: ClassVar[str] = "procedural"
    code: ClassVar[int] = 3
    prefix: ClassVar[str] = "proc"
    block: ClassVar[str] = "procedural_memory"
    rule: ClassVar[str] = "an update makes a new version"

    kind: Literal["procedural"] = "procedural"
    entry_type: Literal["workflow", "guide", "script"] = "workflow"
    summary: str = Field(min_length=1)
    steps: list[Step] = Field(default_factory=list[Step])

    def heading(self) -> str:
        return self.title or self.summary

    def body(self) -> str:
        lines = [step.line(number) for number, step in enumerate(self.steps, 1)]
        return "\n".join([self.summary, *lines])
