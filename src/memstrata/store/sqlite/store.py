"""SQLite through apsw: one write connection, a few read-only ones, each reading one snapshot."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TypeVar, cast

import apsw

from memstrata.errors import InvalidInput, MemstrataError, PermissionDenied, StoreUnavailable
from memstrata.store.ports import Dialect, Params, Row, Trace, Tx
from memstrata.store.sqlite.copying import (
    SIDES,
    beside,
    check_copy,
    check_place,
    copy_pages,
    file_errors,
    finish,
    give_name,
)
from memstrata.store.sqlite.dialect import SqliteDialect
from memstrata.store.sqlite.schema import prepare
from memstrata.store.sqlite.scrub import DatabaseFile, scrub
from memstrata.store.sqlite.traces import in_files, in_rows
from memstrata.store.sqlite.typed import add_function, execute, execute_many, pragma_number
from memstrata.store.statements import load_statements
from memstrata.text.analyse import fold

__all__ = ["SqliteBackend", "SqliteTx", "check_path", "open_backend", "our_errors"]

T = TypeVar("T")

BUSY_SECONDS = 10.0
READERS = 4
_CLOSING_MILLISECONDS = 500
"""How long closing waits for readers, to clean what could not be cleaned before."""
_CLEANINGS = 3
"""How often cleaning begins anew when another process writes in between."""
_FREE_PAGES, _FREE_SHARE = 256, 0.2
"""How many pages must be free, and how much of the file, to be worth writing it anew."""
_MOST_COPIED = 1 << 29
_NONE: Params = {}

_ADVICE: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk is full: nothing of this call was written; free space and repeat"),
    (
        apsw.BusyError,
        f"another process has held the write lock for over {BUSY_SECONDS:.0f} s: nothing was "
        "written; repeat, or stop that process",
    ),
    (apsw.LockedError, "the store is locked by another connection; repeat"),
    (apsw.CantOpenError, "the file cannot be opened: check the path, the folder and its mode"),
    (apsw.NotADBError, "the file is not a memstrata store: choose another path"),
    (apsw.CorruptError, "the file is damaged: restore a backup, or `dump` what can be read"),
    (apsw.IOError, "reading or writing the disk failed: nothing of this call was written"),
)


@contextlib.contextmanager
def our_errors(location: str) -> Generator[None]:
    """Turn apsw's errors into `StoreUnavailable` or `PermissionDenied` that say what to do."""
    try:
        yield
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise PermissionDenied(
            f"{location}: the file is read-only: make it and its folder writable to write ({error})"
        ) from error
    except apsw.Error as error:
        for kind, advice in _ADVICE:
            if isinstance(error, kind):
                raise StoreUnavailable(f"{location}: {advice} ({error})") from error
        raise StoreUnavailable(f"{location}: SQLite failed: {error}") from error


@functools.lru_cache(maxsize=64)
def _needles(listed: str) -> list[str]:
    return cast("list[str]", json.loads(listed))


def _contains_fold(text: object, needles: str) -> bool:
    """The SQL function: whether a text holds one of a JSON list of folded texts."""
    if text is None:
        return False
    folded = fold(str(text))
    return any(needle in folded for needle in _needles(needles))


class SqliteTx:
    """A transaction on one connection."""

    dialect: Dialect = SqliteDialect()

    def __init__(self, connection: apsw.Connection, statements: dict[str, str]) -> None:
        self.connection = connection
        self._statements = statements

    def rows(self, name: str, params: Params = _NONE) -> list[Row]:
        return execute(self.connection, self._statements[name], params)

    def one(self, name: str, params: Params = _NONE) -> Row | None:
        found = self.rows(name, params)
        return found[0] if found else None

    def run(self, name: str, params: Params = _NONE) -> int:
        self.rows(name, params)
        return self.connection.changes()

    def many(self, name: str, rows: Iterable[Params]) -> None:
        execute_many(self.connection, self._statements[name], rows)

    def select(self, name: str, where: str, params: Params) -> list[Row]:
        sql = self._statements[name].replace("/*where*/", where)
        return execute(self.connection, sql, params)


class SqliteBackend:
    """One SQLite file (or memory), safe for many threads and several processes."""

    def __init__(self, path: str, *, vfs: str | None = None) -> None:
        self.location = path
        self._memory = path == ":memory:"
        self._path = path
        self._vfs = vfs
        self._statements = load_statements("memstrata.store.sqlite")
        self._write_lock = threading.Lock()
        self._watching = threading.Lock()
        self._writes = 0
        """How many transactions this object has ended."""
        self._readers: queue.LifoQueue[apsw.Connection] = queue.LifoQueue()
        self._open: list[apsw.Connection] = []
        self._closed = False
        self._unclean = False
        """Whether bytes of what was erased are left on the disk, as far as this process knows."""
        with our_errors(self.location):
            try:
                self._writer = self._connect()
                prepare(self._writer, self.location, memory=self._memory)
                for _ in range(0 if self._memory else READERS):
                    self._readers.put(self._connect(read_only=True))
                self._watcher = self._writer
                if not self._memory:
                    self._watcher = self._connect(read_only=True)
                    self._watcher.set_busy_timeout(0)
            except BaseException:
                self._close_all()
                raise

    def _connect(self, *, read_only: bool = False) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
        if not read_only and (self._memory or not Path(self._path).exists()):
            flags |= apsw.SQLITE_OPEN_CREATE
        connection = apsw.Connection(self._path, flags=flags, vfs=self._vfs)
        self._open.append(connection)
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        add_function(connection, "contains_fold", _contains_fold, 2)
        execute(connection, "PRAGMA foreign_keys = off; PRAGMA temp_store = memory")
        return connection

    def write(self, operation: Callable[[Tx], T]) -> T:
        with self._write_lock, our_errors(self.location):
            try:
                return self._transaction(self._writer, "BEGIN IMMEDIATE", operation)
            finally:
                self._writes += 1

    def read(self, operation: Callable[[Tx], T]) -> T:
        if self._memory:
            with self._write_lock, our_errors(self.location):
                return self._transaction(self._writer, "BEGIN", operation)
        connection = self._readers.get()
        try:
            with our_errors(self.location):
                return self._transaction(connection, "BEGIN", operation)
        finally:
            self._readers.put(connection)

    def version(self) -> object:
        if self._memory:
            return object() if self._closed else self._writes
        try:
            with self._watching:
                return pragma_number(self._watcher, "data_version")
        except apsw.Error:
            return object()

    def _transaction(
        self, connection: apsw.Connection, begin: str, operation: Callable[[Tx], T]
    ) -> T:
        if self._closed:
            raise StoreUnavailable(f"{self.location}: the store is closed; open it again")
        execute(connection, begin)
        try:
            result = operation(SqliteTx(connection, self._statements))
            execute(connection, "COMMIT")
        except BaseException:
            # A failed COMMIT (disk full) may or may not leave the transaction open.
            if connection.in_transaction:
                execute(connection, "ROLLBACK")
            raise
        return result

    def clean(self) -> bool:
        if self._memory:
            return True  # nothing of it is on a disk
        with self._write_lock, our_errors(self.location):
            for _ in range(_CLEANINGS):
                try:
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                    self._unclean = not self._scrub()
                except (apsw.BusyError, apsw.FullError, apsw.IOError):
                    self._unclean = True  # what was erased is; only its bytes stand yet
                    break
                if not self._unclean:
                    break
        return not self._unclean

    def compact(self) -> int:
        """`VACUUM` writes the pages that are used anew, through the journal: readers go on with
        what they see. It holds a copy in memory, for one on the disk would not be erased later."""
        if self._memory:
            return 0
        with self._write_lock, our_errors(self.location):
            size = pragma_number(self._writer, "page_size")
            pages = pragma_number(self._writer, "page_count")
            free = pragma_number(self._writer, "freelist_count")
            if free < max(_FREE_PAGES, pages * _FREE_SHARE) or (pages - free) * size > _MOST_COPIED:
                return 0
            try:
                execute(self._writer, "VACUUM")
            except apsw.BusyError:
                return 0  # somebody else writes: another time
            left = pragma_number(self._writer, "page_count")
        self.clean()  # the file shrinks when the journal is moved into it
        return (pages - left) * size

    def _scrub(self) -> bool:
        """Zero what stands between cells; False if someone wrote since the journal was emptied.

        Pages that are held in memory would be written again as they were: ours are dropped before,
        and the row that is written at the end tells other processes to drop theirs.
        """
        execute(self._writer, "PRAGMA shrink_memory; BEGIN IMMEDIATE")
        try:
            journal = f"{self._path}-wal"
            if os.path.exists(journal) and os.path.getsize(journal):
                execute(self._writer, "ROLLBACK")
                return False
            with contextlib.closing(DatabaseFile(self._path, self._vfs, write=True)) as file:
                told = scrub(file)
            execute(self._writer, self._statements["reserve"], {"count": 0})
            execute(self._writer, "COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                execute(self._writer, "ROLLBACK")
            raise
        return told

    def check(self) -> list[str]:
        with self._write_lock, our_errors(self.location):
            found = execute(self._writer, "PRAGMA integrity_check")
        return [str(row[0]) for row in found if row[0] != "ok"]

    def traces(self, needles: Sequence[bytes]) -> list[Trace]:
        found: list[Trace] = []

        def look(tx: Tx) -> None:
            connection = cast("SqliteTx", tx).connection
            found.extend(in_rows(connection, needles))

        self.read(look)
        if not self._memory:
            with our_errors(self.location):
                try:
                    found.extend(in_files(self._path, self._vfs, needles))
                except OSError as error:
                    raise StoreUnavailable(f"{self.location}: cannot be read: {error}") from error
        return found

    def size(self) -> int:
        if self._memory:
            with self._write_lock, our_errors(self.location):
                pages = pragma_number(self._writer, "page_count")
                return pages * pragma_number(self._writer, "page_size")
        paths = (self._path, f"{self._path}-wal")
        return sum(os.path.getsize(path) for path in paths if os.path.exists(path))

    def backup(
        self, path: Path, look: Callable[[Tx], T], *, force: bool, pause: Callable[[], None]
    ) -> tuple[T, int]:
        found: list[T] = []
        with file_errors(path), our_errors(str(path)):
            self._check_other(path)
            check_place(path, force=force)
            with beside(path) as part:
                with self._snapshot() as source:
                    copy_pages(source, part, self._vfs, pause)
                finish(part, self._vfs)
                problems = check_copy(
                    part,
                    self._vfs,
                    lambda copy: found.append(look(SqliteTx(copy, self._statements))),
                )
                if problems:
                    raise StoreUnavailable(
                        f"{self.location} is damaged, so there is no backup of it now: restore an "
                        f"older one, or `dump` what can be read ({'; '.join(problems)})"
                    )
                size = part.stat().st_size
                give_name(part, path, force=force)
        return found[0], size

    def _check_other(self, path: Path) -> None:
        """It must not be the store itself, or what stands beside it."""
        mine = [Path(f"{self._path}{side}") for side in ("", *SIDES)]
        if not self._memory and any(path.resolve() == each.resolve() for each in mine):
            raise InvalidInput(f"path: {path} is the store itself: give another path")

    @contextlib.contextmanager
    def _snapshot(self) -> Generator[apsw.Connection]:
        """A connection that sees the store as it is now, and nothing that comes later."""
        if self._closed:
            raise StoreUnavailable(f"{self.location}: the store is closed; open it again")
        if self._memory:
            with self._write_lock:
                yield self._writer
            return
        flags = apsw.SQLITE_OPEN_READONLY
        connection = apsw.Connection(self._path, flags=flags, vfs=self._vfs)
        try:
            connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
            execute(connection, "BEGIN; SELECT count(*) FROM sqlite_master")
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        if self._unclean and not self._closed:
            self._writer.set_busy_timeout(_CLOSING_MILLISECONDS)
            with contextlib.suppress(StoreUnavailable):  # a later erasure tries again
                self.clean()
        with self._write_lock:
            if self._closed:
                return
            self._closed = True
            count = 0 if self._memory else READERS
            idle = [self._readers.get() for _ in range(count)]  # waits for reads under way
            self._close_all()
            for connection in idle:  # a read that comes too late is told so, and does not wait
                self._readers.put(connection)

    def _close_all(self) -> None:
        for connection in reversed(self._open):
            # What cannot be tidied up on a failing disk stays in the journal; nothing is lost.
            with contextlib.suppress(apsw.Error):
                connection.close()
        self._open.clear()


def open_backend(path: str, *, vfs: str | None = None) -> SqliteBackend:
    """Open or create the store at `path` (`:memory:` for one that is gone when closed).

    Raises `StoreUnavailable` (a folder, another program's file, no permission, full disk) or
    `SchemaTooNew`; in every case the file is left as it was.
    """
    if path != ":memory:":
        check_path(Path(path))
    try:
        return SqliteBackend(path, vfs=vfs)
    except MemstrataError:
        raise
    except (OSError, ValueError) as error:  # the latter: not even a path
        raise StoreUnavailable(f"{path!r} cannot be opened: {error}") from error


def check_path(path: Path) -> None:
    """Whether a store may stand there; else what is to be done."""
    if path.is_dir():
        raise StoreUnavailable(f"{path} is a folder: give the path of a file in it")
    if not path.parent.is_dir():
        raise StoreUnavailable(f"{path.parent} does not exist: create the folder first")
