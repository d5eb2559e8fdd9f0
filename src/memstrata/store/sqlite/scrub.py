"""Zeroing what a database file holds between the cells of its pages.

`secure_delete` zeroes what is deleted where it stands. When SQLite balances a tree, though, it
moves cells from page to page and leaves the old copies in the room between the cell pointers and
the cells, where nothing deletes them any more (rebuildPage of btree.c, SQLite 3.54).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import apsw

__all__ = ["DatabaseFile", "scrub"]

_TREE = {2: 12, 5: 12, 10: 8, 13: 8}
"""The kinds of tree pages by their first byte, with the length of the header that begins so."""
_MOST = 1 << 24
"""Pages in a file from which on the first byte of other pages may look like that of a tree."""
_TOGETHER = 256
_ZEROES = bytes(65536)


class DatabaseFile:
    """A database's file, read and written beside SQLite but through its own file access.

    A file opened in any other way takes SQLite's locks of the process with it when it is closed
    (sqlite.org/howtocorrupt.html, 2.2).
    """

    def __init__(self, path: str, vfs: str | None, *, write: bool = False) -> None:
        mode = apsw.SQLITE_OPEN_READWRITE if write else apsw.SQLITE_OPEN_READONLY
        flags = [apsw.SQLITE_OPEN_MAIN_DB | mode, 0]
        self._file = apsw.VFSFile(vfs or "", path, flags)
        self.size = self._file.xFileSize()
        head = self.read_at(0, 100) if self.size >= 100 else bytes(100)
        size = int.from_bytes(head[16:18], "big")
        self.page_size = 65536 if size == 1 else size
        self.usable = self.page_size - head[20]
        self.plain = head[52:56] == bytes(4) and self.page_size > 0
        """No pages of pointers among the others (auto_vacuum)."""

    def read_at(self, at: int, count: int) -> bytes:
        """Bytes from a place on; fewer at the end of the file."""
        count = min(count, self.size - at)
        return self._file.xRead(count, at) if count > 0 else b""

    def write_at(self, at: int, data: bytes) -> None:
        """Write bytes in place."""
        self._file.xWrite(data, at)  # pyright: ignore[reportUnknownMemberType]

    def sync(self) -> None:
        """Have what was written on the disk."""
        self._file.xSync(apsw.SQLITE_SYNC_NORMAL)

    def close(self) -> None:
        """Close it; SQLite's locks stay."""
        self._file.xClose()


def scrub(file: DatabaseFile) -> bool:
    """Zero the room between the cells of all pages; False for a file whose pages it cannot tell.

    Nobody may write to the file, or move the journal into it, meanwhile. What is zeroed means
    nothing to SQLite, so that a crash in between does no harm.
    """
    size = file.page_size
    if not file.plain or file.size // size >= _MOST:
        return False
    written = False
    for start in range(0, file.size, size * _TOGETHER):
        pages = file.read_at(start, size * _TOGETHER)
        for at, length in _remains(pages, start, size, file.usable):
            file.write_at(at, _ZEROES[:length])
            written = True
    if written:
        file.sync()
    return True


def _remains(pages: bytes, start: int, size: int, usable: int) -> Iterator[tuple[int, int]]:
    """Where something stands between the cells of tree pages, and how long that room is."""
    for first in range(0, len(pages) - size + 1, size):
        head = first + (100 if start + first == 0 else 0)
        length = _TREE.get(pages[head])
        if length is None:
            continue
        count, cells = struct.unpack_from(">HH", pages, head + 3)
        low, high = head + length + 2 * count, first + (cells or 65536)
        pointers = struct.unpack_from(f">{count}H", pages, head + length) if low <= high else ()
        sound = low <= high <= first + usable and min(pointers, default=cells) >= cells
        if sound and pages[low:high] != _ZEROES[: high - low]:
            yield start + low, high - low
