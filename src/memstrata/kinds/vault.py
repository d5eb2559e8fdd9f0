"""The knowledge vault: credentials and keys, contacts and bookmarks."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from memstrata.errors import VaultUnavailable
from memstrata.kinds.base import KindModel

__all__ = ["Vault"]

_READABLE = frozenset({"contact", "bookmark"})


class Vault(KindModel):
    """One entry. Contacts and bookmarks are readable; everything else must be sealed."""

    name_of_kind: ClassVar[str] = "vault"
    code: ClassVar[int] = 5
    prefix: ClassVar[str] = "vault"
    block: ClassVar[str] = "knowledge_vault"
    rule: ClassVar[str] = "an update makes a new version; what must be sealed is refused"

    kind: Literal["vault"] = "vault"
    entry_type: str = Field(min_length=1)
    source: str | None = None
    caption: str = Field(min_length=1)
    secret: str | None = None

    def admit(self) -> None:
        if self.entry_type not in _READABLE:
            raise VaultUnavailable(
                f"a vault entry of type {self.entry_type!r} must be sealed, and this version has "
                "no sealing yet: nothing was stored; keep the secret where it is, or store a "
                "'contact' or 'bookmark'"
            )

    def heading(self) -> str:
        return self.title or self.caption

    def body(self) -> str:
        return "\n".join(filter(None, [self.caption, self.secret]))
