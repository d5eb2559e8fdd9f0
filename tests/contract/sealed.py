"""What the tests of the vault and of the audit log share."""

from __future__ import annotations

from typing import Any

from memstrata import AsyncMemory

__all__ = ["ANA", "KEY", "ONE", "WHY", "put"]

ANA: dict[str, Any] = {"user_id": "ana"}
WHY: dict[str, Any] = {"user_id": "ana", "reason": "she asked"}
ONE = "11" * 32
"""A key of the vault."""
KEY = "sk-TEST0000111122223333444455556666"
"""A secret that is told by its shape."""


async def put(memory: AsyncMemory, secret: str = "plum-7719", **given: Any) -> str:
    """Seal a secret; the id of its entry."""
    receipt = await memory.vault.put(secret, caption="Mail", **{**ANA, **given})
    return receipt.record_ids[0]
