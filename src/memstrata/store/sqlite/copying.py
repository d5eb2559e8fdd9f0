"""A database file that is written beside its place, checked, and only then given its name."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Generator
from pathlib import Path

import apsw

from memstrata.errors import InvalidInput, PermissionDenied, StoreUnavailable
from memstrata.store.sqlite.schema import APPLICATION_ID, recognise
from memstrata.store.sqlite.scrub import DatabaseFile, scrub
from memstrata.store.sqlite.typed import execute

__all__ = [
    "SIDES",
    "beside",
    "check_copy",
    "check_place",
    "copy_pages",
    "file_errors",
    "finish",
    "give_name",
    "sync_folder",
]

SIDES = ("-wal", "-journal", "-shm")
"""What SQLite keeps beside a database: the first two hold what is not in the file yet."""
_PAGES = 1024
"""How many pages are copied before it is looked whether to go on."""
_ABANDONED_SECONDS = 86_400.0
_MODES = 18
"""The bytes of the header that say how a file is read and written: 1 needs no journal beside it."""


@contextlib.contextmanager
def file_errors(path: Path) -> Generator[None]:
    """Turn what the system says of files into errors of ours."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if isinstance(error, PermissionError):
            raise PermissionDenied(
                f"{path}: {why}: make the folder writable, or choose another"
            ) from error
        raise StoreUnavailable(f"{path} cannot be written: {why}") from error


def check_place(path: Path, *, force: bool) -> None:
    """Whether a file may be put there; only another backup that nobody has open is replaced."""
    if not path.parent.is_dir():
        raise StoreUnavailable(f"{path.parent} is no folder: create it first")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        raise InvalidInput(f"path: {path} is no file: give the path of one")
    if mode is not None and not force:
        raise InvalidInput(f"path: {path} is there already: give another, or force it")
    for side in SIDES[:2]:
        if Path(f"{path}{side}").exists():
            raise InvalidInput(
                f"path: {path}{side} is there, of a store that is in use or was not closed: give "
                "another path"
            )
    if mode is not None and not _is_ours(path):
        raise InvalidInput(f"path: {path} is no backup, so it is not replaced: give another path")


def _is_ours(path: Path) -> bool:
    """Whether a file says it is a store; a mistyped path must not cost somebody another file."""
    with path.open("rb") as file:
        head = file.read(100)
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION_ID.to_bytes(
        4, "big"
    )


@contextlib.contextmanager
def beside(path: Path) -> Generator[Path]:
    """An empty file beside `path`, for its owner alone, that is gone at the end if not renamed.

    What a killed process left there is removed a day later, by the next that comes.
    """
    for old in path.parent.glob(f".{_literal(path.name)}.*.part*"):
        with contextlib.suppress(OSError):  # another removes it, or it is not ours to remove
            if time.time() - old.stat().st_mtime > _ABANDONED_SECONDS:
                old.unlink()
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
    finally:
        for side in ("", *SIDES):
            with contextlib.suppress(OSError):
                os.unlink(f"{part}{side}")


def _literal(name: str) -> str:
    return "".join(f"[{character}]" if character in "[*?" else character for character in name)


def copy_pages(
    source: apsw.Connection, part: Path, vfs: str | None, pause: Callable[[], None]
) -> None:
    """Copy one snapshot, whatever others write meanwhile; `pause` may end it between pages.

    A reader of the write-ahead log holds up nobody, and nobody it: while its transaction is open,
    SQLite copies what it sees and does not begin anew.
    """
    target = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        # If this fails, the file goes: there is nothing to roll back to.
        execute(target, "PRAGMA journal_mode = off; PRAGMA synchronous = off")
        with target.backup("main", source, "main") as copy:
            while not copy.step(_PAGES):
                pause()
    finally:
        target.close()


def finish(part: Path, vfs: str | None) -> None:
    """Make it one file that needs nothing beside it, without what was deleted; and safe on disk."""
    with contextlib.closing(DatabaseFile(str(part), vfs, write=True)) as file:
        scrub(file)  # where its own could not yet be, as somebody read
        if file.size:
            file.write_at(_MODES, b"\1\1")
        file.sync()


def check_copy(part: Path, vfs: str | None, look: Callable[[apsw.Connection], object]) -> list[str]:
    """What is wrong with a copy, in words; `look` is done on it if nothing is."""
    connection = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    try:
        recognise(connection, str(part))
        found = execute(connection, "PRAGMA integrity_check(10)")
        if problems := [str(row[0]) for row in found if row[0] != "ok"]:
            return problems
        look(connection)
        return []
    finally:
        connection.close()


def give_name(part: Path, path: Path, *, force: bool) -> None:
    """Rename it; never over another file, unless `force` says so."""
    if not force:
        try:
            os.link(part, path)
        except FileExistsError:
            raise InvalidInput(f"path: {path} has come there meanwhile: give another") from None
        except OSError:  # a file system without links
            check_place(path, force=False)
            os.replace(part, path)
    else:
        os.replace(part, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have its names on the disk."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
