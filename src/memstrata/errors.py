"""Everything memstrata raises.

One root, so that `except MemstrataError` is enough, and one leaf per thing a caller can do
about it::

    MemstrataError
    ├── InvalidInput       the call is wrong: change the arguments
    ├── ScopeRequired      the call names no user or agent: name one
    ├── NotFound           no such id in this scope
    ├── Conflict           something changed meanwhile, or later changes build on this one
    ├── PermissionDenied   the key, or the file's mode, does not allow it
    ├── StoreUnavailable   the store cannot be opened, read or written
    ├── SchemaTooNew       the store was written by a newer memstrata: upgrade
    ├── ModelFailed        an embedder or a language model failed
    ├── BudgetExceeded     a limit on calls, tokens or cost was reached
    └── VaultUnavailable   the vault cannot seal or open secrets

Foreign exceptions are converted where they arise and kept as `__cause__`.
"""

from __future__ import annotations

__all__ = [
    "BudgetExceeded",
    "Conflict",
    "InvalidInput",
    "MemstrataError",
    "ModelFailed",
    "NotFound",
    "PermissionDenied",
    "SchemaTooNew",
    "ScopeRequired",
    "StoreUnavailable",
    "VaultUnavailable",
]


class MemstrataError(Exception):
    """The root of every error memstrata raises."""


class InvalidInput(MemstrataError):
    """An argument has the wrong type, shape or value; the message names it."""


class ScopeRequired(InvalidInput):
    """The call names neither `user_id` nor `agent_id`; nothing is global by omission."""


class NotFound(MemstrataError):
    """The id does not exist in the scope of the call."""


class Conflict(MemstrataError):
    """The target moved since it was read, or later changes build on it; the message names them."""


class PermissionDenied(MemstrataError):
    """The key or the file mode does not allow this."""


class StoreUnavailable(MemstrataError):
    """The store cannot be opened, read or written; what was acknowledged before is safe."""


class SchemaTooNew(StoreUnavailable):
    """The store was written by a newer version; it was not touched."""


class ModelFailed(MemstrataError):
    """An embedder, a reranker or a language model failed or answered nonsense."""


class BudgetExceeded(MemstrataError):
    """A configured limit on calls, tokens or cost was reached; the work can be resumed."""


class VaultUnavailable(MemstrataError):
    """The vault cannot seal or open secrets; nothing was destroyed."""
