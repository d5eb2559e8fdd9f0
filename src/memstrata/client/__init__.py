"""A memory at a server: the verbs of `AsyncMemory`, each a request to `memstrata serve`."""

from __future__ import annotations

from memstrata.client.memory import AsyncClient, open_client

__all__ = ["AsyncClient", "open_client"]
