"""Procedural memory: how to do something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field

from memstrata.kinds.attributes import Language
from memstrata.kinds.base import TEXT, KindModel, Stated, text_of
from memstrata.records import JsonObject, Record

__all__ = ["Procedural", "Step"]

_STEPS = re.compile(
    r"\b(?:first|then|next|after(?:wards| that)|finally|steps?|how to|before you|instructions?|"
    r"procedure|recipe|to do this|make sure)\b|(?:^|\s)\d{1,2}[.)]\s|^\s*[-*•]\s"
    r"|首先|然后|步骤|接着|最后|先.{1,30}再|流程|怎么做|第[一二三]步|[1-9]、",
    re.IGNORECASE | re.MULTILINE,
)
"""Words and signs one of which stands wherever steps are told."""
_NUMBER = re.compile(r"\A\s*(?:step\s*)?\d{1,2}\s*[.):、：]\s*(?=\S)", re.IGNORECASE)


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

    rarity: ClassVar[int] = 2
    hint: ClassVar[Mapping[Language, str]] = {
        "en": 'procedural: how something is done, in steps that will be repeated. "summary": what '
        'it is for; "steps": the instructions in order, each a short sentence; "entry_type": '
        "workflow, guide or script.",
        "zh": "procedural：做某事的步骤，以后会照着做。summary：用途；steps：按顺序的指令，每条一句"
        "短话；entry_type：workflow、guide 或 script。",
    }
    draft: ClassVar[Mapping[str, JsonObject]] = {
        "summary": TEXT,
        "entry_type": {"type": "string", "enum": ["workflow", "guide", "script"]},
        "steps": {"type": "array", "items": TEXT},
    }
    needs: ClassVar[tuple[str, ...]] = ("summary", "steps")

    kind: Literal["procedural"] = "procedural"
    entry_type: Literal["workflow", "guide", "script"] = "workflow"
    summary: str = Field(min_length=1)
    steps: list[Step] = Field(default_factory=list[Step])

    @classmethod
    def may_be_in(cls, text: str) -> bool:
        return bool(_STEPS.search(text))

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        given = stated.fields.get("steps")
        steps = [_step(one) for one in cast("list[Any]", given)] if isinstance(given, list) else []
        kept = [step for step in steps if step is not None]
        summary = text_of(stated.fields.get("summary")) or text_of(stated.fields.get("title"))
        if summary is None or not kept:
            raise ValueError('procedural needs a "summary" and a list of "steps"')
        sort = stated.fields.get("entry_type")
        return cls(
            summary=summary,
            entry_type=sort if sort in ("guide", "script") else "workflow",
            steps=kept,
        )

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        """Numbered lines after the first are its steps, as `body` writes them."""
        first, *rest = [line for line in text.splitlines() if line.strip()] or [text]
        if rest and all(_NUMBER.match(line) for line in rest):
            steps = [{"instruction": _NUMBER.sub("", line).strip()} for line in rest]
            return {"title": None, "summary": first, "steps": steps}
        return {"title": None, "summary": text, "steps": []}

    def parts(self) -> list[str]:
        return [self.summary, *(step.instruction for step in self.steps)]

    def heading(self) -> str:
        return self.title or self.summary

    def body(self) -> str:
        lines = [step.line(number) for number, step in enumerate(self.steps, 1)]
        return "\n".join([self.summary, *lines])


def _step(given: object) -> Step | None:
    """A step as a model may write one: a sentence, or its parts."""
    if isinstance(given, dict):
        parts = cast("dict[str, Any]", given)
        words = text_of(parts.get("instruction")) or text_of(parts.get("step"))
        rest = {key: text_of(parts.get(key)) for key in ("condition", "expected")}
        return Step(instruction=words, **rest) if words else None
    words = text_of(given)
    return Step(instruction=_NUMBER.sub("", words)) if words else None
