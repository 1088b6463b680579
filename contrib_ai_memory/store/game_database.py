"""The game's database: secure deletion with SQLite, and a full disk.

Journals and profiles are Attributes, and each write of one frees what it was before. SQLite leaves
freed bytes in the file until they are used again, unless `secure_delete` is on: so it is, for every
connection of the game. Pages that SQLite has rearranged keep shreds of rows all the same, so after
an erasure the file is written anew (`vacuum`). Another database has its own vacuum, and its own
backups.
"""

from __future__ import annotations

from typing import Any

from django.db import OperationalError, connection
from django.db.backends.signals import connection_created

from . import condition

# of SQLite: FULL, and IOERR, which a write that finds no room may be as well
_FULL_SQLITE = (13, 10)
_FULL_ELSEWHERE = ("53100", 1021, 1114)  # PostgreSQL's disk_full; MySQL's and MariaDB's

_UID = "contrib_ai_memory.secure_delete"


def is_full(error: OperationalError) -> bool:
    """Return whether a write failed because the disk of the game's database is full."""
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _FULL_SQLITE
    codes = (getattr(cause, "sqlstate", None), *getattr(cause, "args", ())[:1])
    return any(code in _FULL_ELSEWHERE for code in codes)


def note_full(error: OperationalError) -> bool:
    """Log once that the disk is full, if this error says so. Returns whether it does."""
    if full := is_full(error):
        condition.begin(
            condition.DATABASE,
            f"The game's database cannot be written: its disk has no room ({error}). New journal "
            "entries are kept in memory until there is room; stopping the game before loses them.",
        )
    return full


def note_written() -> None:
    """Log the end of a full disk, if one was logged."""
    condition.end(condition.DATABASE, "The game's database accepts writes again: all is written.")


def enable_secure_delete() -> None:
    """Turn `secure_delete` on in every connection to SQLite opened from now on."""
    connection_created.connect(_enable, dispatch_uid=_UID)


def truncate_wal() -> None:
    """Empty SQLite's write-ahead log, which may still hold deleted data."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def is_sqlite() -> bool:
    """Return whether the database is SQLite."""
    return connection.vendor == "sqlite"


def vacuum() -> None:
    """Write the whole file anew, without a byte that is not in use; blocks, and needs its size on
    the disk once more.

    Raises:
        django.db.DatabaseError: There is no room, or another program uses the file.
    """
    if is_sqlite() and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")
        truncate_wal()


def _enable(connection: Any, **_signal: Any) -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")
