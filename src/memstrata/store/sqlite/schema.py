"""Recognises, creates and migrates the file, touching nothing that is not ours."""

from __future__ import annotations

import re
import time
import uuid
from importlib import resources

import apsw

from memstrata.errors import SchemaTooNew, StoreUnavailable
from memstrata.store.sqlite.typed import execute, pragma, pragma_number

__all__ = ["APPLICATION_ID", "latest_version", "prepare", "recognise"]

APPLICATION_ID = 0x6D656D73
"""`mems`: in the file's header, so that other programs' files are recognised."""

SWITCH_SECONDS = 10.0

_PACKAGE = "memstrata.store.sqlite"
_NUMBERED = re.compile(r"^(\d{4})_\w+\.sql$")


def migrations() -> dict[int, str]:
    """The numbered steps: version → the SQL that leads to it."""
    found: dict[int, str] = {}
    for entry in resources.files(_PACKAGE).joinpath("migrations").iterdir():
        if match := _NUMBERED.match(entry.name):
            found[int(match[1])] = entry.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def latest_version() -> int:
    """The schema version this program writes."""
    return max(migrations())


def prepare(connection: apsw.Connection, location: str, *, memory: bool) -> None:
    """Make the database ready, or raise without having changed it.

    A file is ours by its application id; an empty one becomes ours. Migrations run one by one,
    each in a transaction with its version number, so that a killed upgrade resumes.
    """
    version = recognise(connection, location)
    execute(connection, "PRAGMA secure_delete = on")
    if not memory:
        _use_wal(connection)
    execute(connection, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000")
    if version < latest_version():
        _migrate(connection)


def _use_wal(connection: apsw.Connection) -> None:
    """Switch to write-ahead logging; of several processes that do so at once SQLite lets one."""
    deadline = time.monotonic() + SWITCH_SECONDS
    while True:
        try:
            return _switch(connection)
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _switch(connection: apsw.Connection) -> None:
    if pragma(connection, "journal_mode") != "wal":
        pragma(connection, "journal_mode", "wal")


def recognise(connection: apsw.Connection, location: str) -> int:
    """The version of a file that is ours, 0 of an empty one; others are refused, untouched."""
    execute(connection, "BEGIN")  # one snapshot: another process may be creating the file now
    try:
        program = pragma_number(connection, "application_id")
        tables = execute(connection, "SELECT count(*) FROM sqlite_master")[0][0]
        version = pragma_number(connection, "user_version")
        used = bool(program or tables or version)
        foreign = used and program != APPLICATION_ID
    finally:
        if connection.in_transaction:  # a read that failed has ended it
            execute(connection, "COMMIT")
    if foreign:
        raise StoreUnavailable(
            f"{location} is a database of another program: choose another path; it was not touched"
        )
    if version > latest_version():
        raise SchemaTooNew(
            f"{location} was written by a newer memstrata (schema {version}, this one knows "
            f"{latest_version()}): upgrade memstrata; the file was not touched"
        )
    return version


def _migrate(connection: apsw.Connection) -> None:
    for number, sql in migrations().items():
        execute(connection, "BEGIN IMMEDIATE")
        try:
            # Another process may have taken this step while we waited for the lock.
            if pragma_number(connection, "user_version") < number:
                execute(connection, sql)
                if number == 1:
                    _first_row(connection)
                pragma(connection, "user_version", number)
            execute(connection, "COMMIT")
        except BaseException:
            if connection.in_transaction:
                execute(connection, "ROLLBACK")
            raise


def _first_row(connection: apsw.Connection) -> None:
    pragma(connection, "application_id", APPLICATION_ID)
    execute(
        connection,
        "INSERT INTO store (only, uuid, created_at) VALUES (1, :uuid, :at)",
        {"uuid": uuid.uuid4().hex, "at": time.time_ns() // 1000},
    )
