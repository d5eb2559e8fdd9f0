"""Puts a backup in the place of a store: checked before, and in one step or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Generator
from pathlib import Path

import apsw

from memstrata.errors import InvalidInput, StoreUnavailable
from memstrata.store.keeping import Held, held, unsound
from memstrata.store.ports import Tx
from memstrata.store.sqlite.copying import (
    SIDES,
    beside,
    copy_pages,
    file_errors,
    finish,
    give_name,
    sync_folder,
)
from memstrata.store.sqlite.schema import recognise
from memstrata.store.sqlite.store import check_path, open_backend, our_errors
from memstrata.store.sqlite.typed import execute

__all__ = ["restore"]

_PATIENCE_MILLISECONDS = 500


def restore(
    backup: Path, location: str, *, force: bool, vfs: str | None = None
) -> tuple[Held, int, Path | None]:
    """Make the store at `location` what the backup holds; the backup is only read.

    Returns what is in it, its bytes, and where the store is now that was there before: with
    `force`, it is moved aside. Raises without having changed anything.
    """
    if location == ":memory:":
        raise InvalidInput("url: a store in memory is gone when it is closed: give a path")
    target = Path(location).resolve()
    with file_errors(target):
        check_path(target)
        _check_backup(backup, target)
        _check_target(target, force=force)
        with beside(target) as part:
            with our_errors(str(backup)), _reading(backup, vfs) as source:
                copy_pages(source, part, vfs, lambda: None)
            counted = _checked(backup, part, vfs)
            with our_errors(str(target)):
                finish(part, vfs)
                size = part.stat().st_size
                replaced = _put(part, target, vfs, force=force)
    return counted, size, replaced


def _check_backup(backup: Path, target: Path) -> None:
    if backup.is_dir():
        raise StoreUnavailable(f"{backup} is a folder: give the path of a backup")
    if not backup.exists():
        raise StoreUnavailable(f"{backup} is not there: give the path of a backup")
    if backup.resolve() == target.resolve():
        raise InvalidInput(f"backup: {backup} is the store itself: give the path of a backup")
    if not backup.stat().st_size:
        raise StoreUnavailable(f"{backup} is empty: it is no backup of a memstrata store")


def _check_target(target: Path, *, force: bool) -> None:
    if force:
        return
    if target.exists():
        raise InvalidInput(
            f"url: {target} is there already: give another path, or force it, and it is moved aside"
        )
    for side in SIDES[:2]:
        if Path(f"{target}{side}").exists():
            raise InvalidInput(
                f"url: {target}{side} is left of another store: give another path, or force it, "
                "and it is moved aside"
            )


@contextlib.contextmanager
def _reading(backup: Path, vfs: str | None) -> Generator[apsw.Connection]:
    """The backup, opened so that nothing of it changes and nothing is made beside it.

    A copy of a file and its journal is read with its journal, which SQLite does not do without
    writing beside it.
    """
    journal = any(Path(f"{backup}{side}").exists() for side in SIDES[:2])
    flags = apsw.SQLITE_OPEN_READONLY if not journal else apsw.SQLITE_OPEN_READWRITE
    name = str(backup)
    if not journal:
        name, flags = f"{backup.absolute().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags, vfs=vfs)
    try:
        connection.set_busy_timeout(_PATIENCE_MILLISECONDS)
        if not recognise(connection, str(backup)):
            raise StoreUnavailable(f"{backup} is empty: it is no backup of a memstrata store")
        execute(connection, "BEGIN; SELECT count(*) FROM sqlite_master")
        yield connection
    finally:
        connection.close()


def _checked(backup: Path, part: Path, vfs: str | None) -> Held:
    """Open the copy as the store it is to be: it is brought to this version, and looked through."""
    backend = open_backend(str(part), vfs=vfs)
    try:
        problems = backend.check() or backend.read(unsound)
        counted = backend.read(_held)
    finally:
        backend.close()
    if problems:
        raise StoreUnavailable(
            f"{backup} is damaged, and nothing was restored: take another backup, or open a copy "
            f"of it and `dump` what can be read ({'; '.join(problems[:3])})"
        )
    return counted


def _held(tx: Tx) -> Held:
    return held(tx)


def _put(part: Path, target: Path, vfs: str | None, *, force: bool) -> Path | None:
    """Give the copy its name; what had it before keeps another one.

    The old store has both names before the new one takes the first: whenever the machine stops,
    there is one of the two.
    """
    if not force:
        give_name(part, target, force=False)
        return None
    if not target.exists():
        moved = _move_sides(target)
        give_name(part, target, force=False)
        return moved
    with _alone(target, vfs):
        aside = _aside(target)
        _keep(target, aside)
        _move_sides(target, aside)
        _like(target, part)
        give_name(part, target, force=True)
    return aside


@contextlib.contextmanager
def _alone(target: Path, vfs: str | None) -> Generator[None]:
    """Hold a store that nobody else has open, all of it in its file; a damaged one as it is."""
    connection = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    try:
        connection.set_busy_timeout(_PATIENCE_MILLISECONDS)
        try:
            # Told so before it looks at the file, SQLite locks it against all others for good.
            execute(connection, "PRAGMA locking_mode = exclusive; BEGIN IMMEDIATE; COMMIT")
            execute(connection, "PRAGMA journal_mode = delete; PRAGMA journal_mode = memory")
            Path(f"{target}-journal").unlink(missing_ok=True)  # all of it is in the file
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreUnavailable(
                f"{target} is in use: stop the programs that have it open, and repeat"
            ) from error
        except (apsw.NotADBError, apsw.CorruptError):
            pass  # why it is replaced
        yield
    finally:
        with contextlib.suppress(apsw.Error):
            connection.close()


def _aside(target: Path) -> Path:
    """A name for what is replaced."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    names = (f"{target.name}.replaced-{stamp}{'' if n == 1 else f'-{n}'}" for n in range(1, 1000))
    return next(path for name in names if not (path := target.with_name(name)).exists())


def _keep(target: Path, aside: Path) -> None:
    try:
        os.link(target, aside)
    except OSError:  # a file system without links
        shutil.copy2(target, aside)
        handle = os.open(aside, os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    sync_folder(aside.parent)


def _move_sides(target: Path, aside: Path | None = None) -> Path | None:
    """Journals must not stay: SQLite would take them for those of the new file."""
    moved: Path | None = None
    Path(f"{target}-shm").unlink(missing_ok=True)  # it holds nothing
    for side in SIDES[:2]:
        left = Path(f"{target}{side}")
        if left.exists():
            aside = aside or _aside(target)
            os.replace(left, f"{aside}{side}")
            moved = aside
    return moved


def _like(target: Path, part: Path) -> None:
    """With the owner and the mode of what it replaces: who could open that can open this."""
    before = target.stat()
    part.chmod(before.st_mode & 0o777)
    if os.name == "posix" and os.geteuid() == 0:
        os.chown(part, before.st_uid, before.st_gid)
