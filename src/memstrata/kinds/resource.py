"""Resource memory: documents, transcripts, images and code, kept whole."""

from __future__ import annotations

import hashlib
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from memstrata.kinds.base import KindModel
from memstrata.records import Record
from memstrata.text.clean import shorten

__all__ = ["Resource"]

_SHOWN = 2000


class Resource(KindModel):
    """One document; recalled by title and by passage, replaced when its content changes."""

    name_of_kind: ClassVar[str] = "resource"
    code: ClassVar[int] = 4
    prefix: ClassVar[str] = "res"
    block: ClassVar[str] = "resource_memory"
    rule: ClassVar[str] = (
        "an update with other content makes a new version; the same content changes nothing"
    )

    kind: Literal["resource"] = "resource"
    summary: str | None = None
    resource_type: str = "document"
    content: str = Field(min_length=1)

    def heading(self) -> str:
        return self.title or self.summary or shorten(self.content.strip().splitlines()[0], 80)

    def body(self) -> str:
        head = "\n".join(filter(None, [self.title, self.summary]))
        return f"{head}\n\n{self.content}" if head else self.content

    def identity(self) -> tuple[JsonValue, ...]:
        digest = hashlib.blake2b(self.content.encode(), digest_size=16).hexdigest()
        return (self.title, digest)

    @classmethod
    def render(cls, record: Record) -> str:
        rest = len(record.text) - _SHOWN
        return record.text if rest <= 0 else f"{record.text[:_SHOWN]} [… {rest} more characters]"
