"""The knowledge vault: credentials and keys, contacts and bookmarks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints

from memstrata.errors import InvalidInput
from memstrata.kinds.attributes import Language
from memstrata.kinds.base import TEXT, KindModel, Stated, text_of
from memstrata.records import JsonObject, Record

__all__ = ["Vault"]

_REACHED = re.compile(r"@|://|\bwww\.|\d{3}")
"""What an address, a link or a number has in it."""
_READABLE = frozenset({"contact", "bookmark"})


class Vault(KindModel):
    """One entry. Of contacts and bookmarks all can be read; of all else the secret is sealed."""

    name_of_kind: ClassVar[str] = "vault"
    code: ClassVar[int] = 5
    prefix: ClassVar[str] = "vault"
    block: ClassVar[str] = "knowledge_vault"
    themed: ClassVar[bool] = False
    rule: ClassVar[str] = "an update makes a new version; rotation destroys the old secret"

    rarity: ClassVar[int] = 4
    hint: ClassVar[Mapping[Language, str]] = {
        "en": 'vault: a contact or a bookmark. "entry_type": contact or bookmark; "caption": whose '
        'or what it is; "secret": the number, address or link, word for word. Passwords and keys '
        "are sealed by themselves: never write one.",
        "zh": "vault：联系方式或书签。entry_type：contact 或 bookmark；caption：谁的、什么的；"
        "secret：号码、地址或链接，照抄原文。密码和密钥会自动封存，绝不要写。",
    }
    draft: ClassVar[Mapping[str, JsonObject]] = {
        "entry_type": {"type": "string", "enum": ["contact", "bookmark"]},
        "caption": TEXT,
        "secret": TEXT,
    }
    needs: ClassVar[tuple[str, ...]] = ("entry_type", "caption", "secret")

    kind: Literal["vault"] = "vault"
    entry_type: str = Field(min_length=1)
    source: str | None = None
    caption: str = Field(min_length=1)
    secret: Annotated[str, StringConstraints(strip_whitespace=False)] | None = None
    sealed: Literal[True] | None = None
    """Whether the secret is kept apart, sealed; set by memstrata."""

    @classmethod
    def may_be_in(cls, text: str) -> bool:
        return bool(_REACHED.search(text))

    @classmethod
    def drafted(cls, stated: Stated) -> Self:
        given = {key: text_of(stated.fields.get(key)) for key in cls.draft}
        sort, caption, secret = given["entry_type"], given["caption"], given["secret"]
        if sort not in _READABLE or not caption or not secret:
            raise ValueError("vault takes a contact or a bookmark, with its caption and its secret")
        if not any(secret in text for text in stated.texts):
            raise ValueError("the secret does not stand in these messages: copy it word for word")
        return cls(entry_type=sort, caption=caption, secret=secret)

    def admit(self) -> None:
        if self.entry_type in _READABLE:
            if self.sealed:
                raise InvalidInput(
                    f"what is sealed cannot be kept as a {self.entry_type}: release it first"
                )
        elif self.secret is not None or not self.sealed:
            raise InvalidInput(
                "the secret of a vault entry is not changed by an update: rotate it, or put a new "
                "entry"
            )

    def take_secret(self) -> tuple[Self, str | None]:
        if self.sealed:
            raise InvalidInput("`sealed` is set by memstrata: give the secret, and it is sealed")
        if self.entry_type in _READABLE:
            return self, None
        if not self.secret:
            raise InvalidInput(
                f"a vault entry of type {self.entry_type!r} needs its secret; a 'contact' or a "
                "'bookmark' does not"
            )
        sealed: dict[str, object] = {"secret": None, "sealed": True}
        if "sensitivity" not in self.model_fields_set:
            sealed["sensitivity"] = "medium"
        return self.model_copy(update=sealed), self.secret

    @classmethod
    def retold(cls, record: Record, text: str) -> dict[str, Any]:
        open_too = {} if cls.is_sealed(record) else {"secret": None}
        return {"title": None, "caption": text, **open_too}

    @classmethod
    def is_sealed(cls, record: Record) -> bool:
        return bool(record.fields.get("sealed"))

    @classmethod
    def unsealed(cls, record: Record) -> JsonObject:
        """Its fields, once its secret was said to be none."""
        return {name: value for name, value in record.fields.items() if name != "sealed"}

    @classmethod
    def type_of(cls, record: Record) -> str:
        """What sort of entry it is; of one that was found in a text also its caption."""
        return str(record.fields["entry_type"])

    def heading(self) -> str:
        return self.title or self.caption

    def body(self) -> str:
        return "\n".join(filter(None, [self.caption, self.secret]))

    @classmethod
    def render(cls, record: Record) -> str:
        sealed = " (sealed; only a reveal shows it)" if cls.is_sealed(record) else ""
        return record.text + sealed
