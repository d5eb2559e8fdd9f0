"""Where bytes still stand: in rows, and in what the files hold beside their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import apsw

from memstrata.store.ports import Trace
from memstrata.store.sqlite.scrub import DatabaseFile
from memstrata.store.sqlite.typed import each_row, execute

__all__ = ["in_files", "in_rows"]

_JOURNALS = {"-wal": "the journal", "-journal": "the rollback journal"}
_CHUNK = 1 << 20
_WAL_HEADER, _FRAME_HEADER, _OVERFLOW_HEADER = 32, 24, 4
"""Bytes before the first frame, before the page of a frame, and before the text of a page that
goes on where another was full (sqlite.org/fileformat.html)."""
_FEW = 16
"""Needles that are also looked for in two parts, on two pages."""


class _Bytes(Protocol):
    def read_at(self, at: int, count: int) -> bytes: ...


class _Plain:
    """A file on which SQLite has no locks."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")

    def read_at(self, at: int, count: int) -> bytes:
        self._file.seek(at)
        return self._file.read(count)

    def close(self) -> None:
        self._file.close()


def _pattern(needles: Sequence[bytes]) -> re.Pattern[bytes]:
    """Matches any of the needles; the longest first, so that none hides behind another."""
    longest = sorted(set(needles), key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, longest)))


def in_rows(connection: apsw.Connection, needles: Sequence[bytes]) -> list[Trace]:
    """The columns of all tables that hold one of the needles."""
    pattern = _pattern(needles)
    found: set[tuple[bytes, str]] = set()
    tables = execute(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")
    for (table,) in tables:
        rows = execute(connection, f'SELECT name FROM pragma_table_info("{table}")')
        columns = [str(row[0]) for row in rows]
        listed = ", ".join(f'"{column}"' for column in columns)
        for row in each_row(connection, f'SELECT {listed} FROM "{table}"'):
            for column, value in zip(columns, row, strict=True):
                data = value.encode() if isinstance(value, str) else value
                if isinstance(data, bytes):
                    found.update((match, f"{table}.{column}") for match in pattern.findall(data))
    return [Trace(needle, where, row=True) for needle, where in sorted(found)]


def in_files(path: str, vfs: str | None, needles: Sequence[bytes]) -> Iterator[Trace]:
    """Where the needles stand in a database file and its journals, as they are on the disk.

    Free pages and old frames are looked through too; the shared memory holds numbers of pages.
    """
    with closing(DatabaseFile(path, vfs)) as file:
        page = file.page_size
        yield from _in_bytes(file, needles, f"the database file ({Path(path).name}", 0, page)
    for suffix, what in _JOURNALS.items():
        journal = Path(path + suffix)
        if not journal.exists():
            continue
        with closing(_Plain(journal)) as opened:
            first, before = (_WAL_HEADER, _FRAME_HEADER) if suffix == "-wal" else (0, 0)
            name = f"{what} ({journal.name}"
            yield from _in_bytes(opened, needles, name, first + before, page + before)


def _in_bytes(
    opened: _Bytes, needles: Sequence[bytes], name: str, first: int, step: int
) -> Iterator[Trace]:
    whole = _first(opened, needles)
    yield from (Trace(needle, f"{name}, byte {at})") for needle, at in sorted(whole.items()))
    rest = [needle for needle in needles if needle not in whole]
    if step and 0 < len(rest) <= _FEW:
        for needle, at in _parted(opened, rest, first, step):
            yield Trace(needle, f"{name}, in two parts, the second at byte {at})")


def _first(opened: _Bytes, needles: Sequence[bytes]) -> dict[bytes, int]:
    """Where each needle first stands, those that do."""
    first: dict[bytes, int] = {}
    if not needles:
        return first
    pattern = _pattern(needles)
    overlap = max(map(len, needles)) - 1
    held, at = b"", 0
    while chunk := opened.read_at(at + len(held), _CHUNK):
        held += chunk
        for match in pattern.finditer(held):
            first.setdefault(match.group(), at + match.start())
        kept = held[-overlap:] if overlap else b""
        at += len(held) - len(kept)
        held = kept
    return first


def _parted(
    opened: _Bytes, needles: Sequence[bytes], first: int, step: int
) -> Iterator[tuple[bytes, int]]:
    """Needles of which one part goes on at the head of another page, and where that is."""
    heads: dict[tuple[bytes, int], int] = {}
    longest = max(map(len, needles))
    at = first + _OVERFLOW_HEADER
    while head := opened.read_at(at, longest):
        for needle in needles:
            for cut in range(1, len(needle)):
                if head.startswith(needle[cut:]):
                    heads.setdefault((needle, cut), at)
        at += step
    starts = _first(opened, sorted({needle[:cut] for needle, cut in heads}))
    yield from {n: at for (n, cut), at in heads.items() if n[:cut] in starts}.items()
