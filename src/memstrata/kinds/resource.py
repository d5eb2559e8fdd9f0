"""Resource memory: documents, transcripts, images and code, kept whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue

from memstrata.kinds.attributes import Language
from memstrata.kinds.base import TEXT, KindModel, Stated, text_of
from memstrata.records import JsonObject, Record
from memstrata.text.clean import shorten

__all__ = ["Resource"]

_SHOWN = 2000
_LEAST = 400
"""Characters from which a text is kept as a document of its own."""


class Resource(KindModel):
    """One document; recalled by title and by passage, replaced when its content changes."""

    name_of_kind: ClassVar[str] = "resource"
    code: ClassVar[int] = 4
    prefix: ClassVar[str] = "res"
    block: ClassVar[str] = "resource_memory"
    rule: ClassVar[str] = (
        "an update with other content makes a new version; the same content changes nothing"
    )

    rarity: ClassVar[int] = 5
    hint: ClassVar[Mapping[Language, str]] = {
        "en": "resource: a document, list, code or transcript that stands in a message. It is kept "
        'whole by itself: give only a "title", a "summary" of one or two sentences, and '
        '"resource_type" (document, code, transcript, list, email).',
        "zh": "resource：消息里的文档、清单、代码或记录，原文会自动完整保存；只写 title、"
        "summary（一两句话）和 resource_type（document、code、transcript、list、email）。",
    }
    draft: ClassVar[Mapping[str, JsonObject]] = {
        "title": TEXT,
        "summary": TEXT,
        "resource_type": TEXT,
    }
    needs: ClassVar[tuple[str, ...]] = ("title", "summary")

    kind: Literal["resource"] = "resource"
    summary: str | None = None
    resource_type: str = "document"
    content: str = Field(min_length=1)

    @classmethod
    def may_be_in(cls, text: str) -> bool:
        return len(text) >= _LEAST

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        content = "\n\n".join(stated.texts)
        if len(content) < _LEAST:
            raise ValueError("no document stands in these messages: write a fact or an event")
        title = text_of(stated.fields.get("title"))
        return cls(
            title=title and shorten(title, 200),
            summary=text_of(stated.fields.get("summary")),
            resource_type=text_of(stated.fields.get("resource_type")) or "document",
            content=content,
        )

    def called_as(self, other: Resource) -> Self:
        """The same content under what another one is called, as far as that says."""
        told = {"title": other.title, "summary": other.summary}
        if other.resource_type != "document":
            told["resource_type"] = other.resource_type
        return self.model_copy(update={key: value for key, value in told.items() if value})

    def heading(self) -> str:
        return self.title or self.summary or shorten(self.content.strip().splitlines()[0], 80)

    def body(self) -> str:
        head = "\n".join(filter(None, [self.title, self.summary]))
        return f"{head}\n\n{self.content}" if head else self.content

    def identity(self) -> tuple[JsonValue, ...]:
        digest = hashlib.blake2b(self.content.encode(), digest_size=16).hexdigest()
        return (self.title, digest)

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        return {"title": None, "summary": None, "content": text}

    @classmethod
    def render(cls, record: Record) -> str:
        rest = len(record.text) - _SHOWN
        return record.text if rest <= 0 else f"{record.text[:_SHOWN]} [… {rest} more characters]"
