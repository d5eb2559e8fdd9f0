"""Core memory: who the user is and how the agent should be; always before the model, whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from memstrata.errors import InvalidInput
from memstrata.kinds.attributes import Language
from memstrata.kinds.base import DERIVED, TEXT, KindModel, Stated, text_of
from memstrata.records import JsonObject, Record

__all__ = ["Core"]

_FOREIGN = ("tool", "web")


class Core(KindModel):
    """One block of core memory: one per label, held within a character limit."""

    name_of_kind: ClassVar[str] = "core"
    code: ClassVar[int] = 0
    prefix: ClassVar[str] = "core"
    block: ClassVar[str] = "core_memory"
    themed: ClassVar[bool] = False
    rule: ClassVar[str] = "an update replaces the value, within the limit; one block per label"
    always: ClassVar[bool] = True
    rarity: ClassVar[int] = 3
    hint: ClassVar[Mapping[Language, str]] = {
        "en": "core: what matters in every conversation, said by the user: their name (as the line "
        '"Name: …"), how the assistant should behave. "label": human (about the user) or persona '
        '(about the assistant); "line": one short line; "old": the line of the block that it '
        "takes the place of, word for word, if there is one.",
        "zh": "core：每次对话都用得上、由用户亲口说的事：姓名（写成“姓名：…”）、对助手的要求。"
        "label：human（关于用户）或 persona（关于助手）；line：一行短句；old：它所取代的原有一行"
        "（照抄），没有就不写。",
    }
    draft: ClassVar[Mapping[str, JsonObject]] = {
        "label": {"type": "string", "enum": ["human", "persona"]},
        "line": TEXT,
        "old": TEXT,
    }
    needs: ClassVar[tuple[str, ...]] = ("label", "line")

    kind: Literal["core"] = "core"
    label: str = Field(min_length=1, max_length=64)
    """`persona` (the agent), `human` (the user), or a label of your own."""
    value: str = ""
    limit: int = Field(default=2000, ge=1, le=100_000)

    @model_validator(mode="after")
    def _within_limit(self) -> Self:
        if len(self.value) > self.limit:
            raise ValueError(
                f"core block {self.label!r} holds at most {self.limit} characters and got "
                f"{len(self.value)}: shorten the value or raise `limit`"
            )
        return self

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        line = " ".join((text_of(stated.fields.get("line")) or "").split())
        if not line:
            raise ValueError('core needs a "line"')
        label = text_of(stated.fields.get("label"))
        return cls(label="persona" if label == "persona" else "human", value=line)

    def admit(self) -> None:
        if self.trust in _FOREIGN:
            raise InvalidInput(
                f"core memory does not rest on what a {self.trust} says alone: let the user say "
                "it, or write it in their name"
            )

    def heading(self) -> str:
        return self.title or self.label

    def body(self) -> str:
        return self.value

    def identity(self) -> tuple[JsonValue, ...]:
        return (self.label.casefold(),)

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        return {"value": text}

    @classmethod
    def label_of(cls, record: Record) -> str:
        """Which block it is."""
        return str(record.fields["label"])

    @classmethod
    def is_derived(cls, record: Record) -> bool:
        return DERIVED in record.metadata

    @classmethod
    def render(cls, record: Record) -> str:
        return f"{cls.label_of(record)}:\n{record.text}"
