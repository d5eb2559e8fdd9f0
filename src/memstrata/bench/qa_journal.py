"""What a benchmark has asked and been told, kept line by line, so that a second start goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from memstrata.errors import InvalidInput

__all__ = ["Entry", "Journal", "key_of"]

Entry = dict[str, Any]


def key_of(*parts: Any) -> str:
    """One key for anything that JSON can hold; the order of mappings does not count."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Journal:
    """A file of one JSON object a line, each under a key; of two under the same the later counts.

    A line that was cut short when its writer died is left out.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        if path.is_file():
            self._read(path.read_bytes())
        path.parent.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, key: str) -> Entry | None:
        """What stands under a key."""
        return self._entries.get(key)

    def put(self, key: str, entry: Entry) -> None:
        """Keep an entry; it is in the file when this returns."""
        self._entries[key] = entry
        line = json.dumps({"key": key, **entry}, ensure_ascii=False)
        with self._path.open("ab") as out:
            out.write(line.encode("utf-8", "surrogatepass") + b"\n")
            out.flush()
            os.fsync(out.fileno())

    def _read(self, content: bytes) -> None:
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                entry = json.loads(line)
                self._entries[entry.pop("key")] = entry
            except (ValueError, KeyError, AttributeError, TypeError) as exc:
                raise InvalidInput(
                    f"{self._path}, line {number}: not an entry of a benchmark; name another "
                    "folder with --work, or take the line out"
                ) from exc
        if rest:
            # Its writer died in it: what is written next begins a line of its own.
            with self._path.open("r+b") as file:
                file.truncate(len(content) - len(rest))
