"""A server with keys, a store beside it to look into, and a client of another system."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.clients import Client, Worker, working
from surfaces.serving import serving

import memstrata
from memstrata import Memory

__all__ = ["Beside", "beside"]

_EVERY = ("read", "write", "admin")


@dataclass(frozen=True)
class Beside:
    """What a test has: the server's address, its file, our own verbs on it, the clients."""

    url: str
    file: Path
    memory: Memory
    worker: Worker
    made: dict[str, int]

    def key(self, **bound: Any) -> str:
        """A new key."""
        self.made["keys"] = number = self.made.get("keys", 0) + 1
        given = {"permissions": _EVERY, **bound}
        memory = self.memory
        return memory.keys.create(f"key {number}", **given).secret

    def mem0(self, key: str | None = None, kind: str = "MemoryClient") -> Client:
        """A client of mem0's, unmodified."""
        return self._client(kind, api_key=key or self.key(), host=self.url)

    def mirix(self, key: str | None = None) -> Client:
        """A client of MIRIX's, unmodified, ready to be used."""
        client = self._client("MirixClient", api_key=key or self.key(), base_url=self.url)
        client.initialize_meta_agent(config={"llm_config": {"model": "any"}})
        return client

    def _client(self, kind: str, **given: str) -> Client:
        self.made["clients"] = number = self.made.get("clients", 0) + 1
        return Client(self.worker, f"client {number}", kind, **given)

    def bytes(self) -> bytes:
        """All that the store's files say."""
        files = self.file.parent.glob(f"{self.file.name}*")
        return b"".join(each.read_bytes() for each in files)


@contextmanager
def beside(folder: Path, older: str | None = None, **given: Any) -> Generator[Beside]:
    """All of it, in a folder; the server's store is opened with what is given."""
    file = folder / "memory.db"
    with (
        working(folder, older) as worker,
        memstrata.open(str(file), embedder="fake") as memory,
        serving(str(file), embedder="fake", **given) as url,
    ):
        yield Beside(url, file, memory, worker, {})
