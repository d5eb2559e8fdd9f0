"""Long-term memory for LLM agents: six kinds of memory, four strata, one engine.

    memory = memstrata.open("memory.db")

Importing the package is cheap: all but the errors is fetched from its module at first use, so
that neither numpy nor a model is loaded before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from memstrata._version import __version__
from memstrata.errors import (
    BudgetExceeded,
    Conflict,
    InvalidInput,
    MemstrataError,
    ModelFailed,
    NotFound,
    PermissionDenied,
    SchemaTooNew,
    ScopeRequired,
    StoreUnavailable,
    VaultUnavailable,
)

if TYPE_CHECKING:
    from memstrata.access import ApiKey, Grant, NewKey
    from memstrata.answers import Answer, Citation, Searched
    from memstrata.config import open, open_async, restore
    from memstrata.memory import AsyncMemory
    from memstrata.recall.count import Count, Counted
    from memstrata.recall.timeline import Event
    from memstrata.receipts import (
        AuditEntry,
        Backup,
        Consolidation,
        ErasureReceipt,
        Exposure,
        KeyRotation,
        Restored,
    )
    from memstrata.records import (
        Batch,
        Change,
        Context,
        Entity,
        Episode,
        Evidence,
        Hit,
        Ledger,
        Message,
        Page,
        Receipt,
        Record,
        Results,
        Review,
        Scope,
        Skipped,
        Theme,
        TimeSpan,
    )
    from memstrata.sync import Memory

__all__ = [
    "Answer",
    "ApiKey",
    "AsyncMemory",
    "AuditEntry",
    "Backup",
    "Batch",
    "BudgetExceeded",
    "Change",
    "Citation",
    "Conflict",
    "Consolidation",
    "Context",
    "Count",
    "Counted",
    "Entity",
    "Episode",
    "ErasureReceipt",
    "Event",
    "Evidence",
    "Exposure",
    "Grant",
    "Hit",
    "InvalidInput",
    "KeyRotation",
    "Ledger",
    "Memory",
    "MemstrataError",
    "Message",
    "ModelFailed",
    "NewKey",
    "NotFound",
    "Page",
    "PermissionDenied",
    "Receipt",
    "Record",
    "Restored",
    "Results",
    "Review",
    "SchemaTooNew",
    "Scope",
    "ScopeRequired",
    "Searched",
    "Skipped",
    "StoreUnavailable",
    "Theme",
    "TimeSpan",
    "VaultUnavailable",
    "__version__",
    "open",
    "open_async",
    "restore",
]

_ELSEWHERE = {
    "Answer": "memstrata.answers",
    "ApiKey": "memstrata.access",
    "AsyncMemory": "memstrata.memory",
    "AuditEntry": "memstrata.receipts",
    "Backup": "memstrata.receipts",
    "Citation": "memstrata.answers",
    "Consolidation": "memstrata.receipts",
    "Count": "memstrata.recall.count",
    "Counted": "memstrata.recall.count",
    "ErasureReceipt": "memstrata.receipts",
    "Event": "memstrata.recall.timeline",
    "Exposure": "memstrata.receipts",
    "Grant": "memstrata.access",
    "KeyRotation": "memstrata.receipts",
    "Memory": "memstrata.sync",
    "NewKey": "memstrata.access",
    "Restored": "memstrata.receipts",
    "Searched": "memstrata.answers",
    "open": "memstrata.config",
    "open_async": "memstrata.config",
    "restore": "memstrata.config",
}


def __getattr__(name: str) -> object:
    """A public name not loaded yet (PEP 562); the records are all that `_ELSEWHERE` leaves out."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "memstrata.records")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
