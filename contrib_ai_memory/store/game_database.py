"""The game's database: the VACUUM after an erasure, statistics, a full disk, and locks.

`apps` switches on `secure_delete` in every connection to SQLite. Pages that it has rearranged keep
fragments of rows all the same, so after an erasure the file is rewritten (VACUUM). That blocks: in
a running game it waits for the next start, elsewhere it runs at once. Other databases have a vacuum
of their own.

Without statistics, which nobody keeps for it, SQLite finds an Attribute by walking all of its
object's: with 100,000 memories that takes 18 ms, with them 0.03 (docs/adr/031).
"""

from __future__ import annotations

import time
from typing import Any

from django.db import DatabaseError, Error, OperationalError, connection

from ..log import logger
from . import condition


def is_sqlite() -> bool:
    return connection.vendor == "sqlite"


def truncate_wal() -> None:
    """Empty SQLite's write-ahead log, which may still hold deleted data."""
    _execute("PRAGMA wal_checkpoint(TRUNCATE)")


# --- VACUUM ---------------------------------------------------------------------------------------

KEY = "ai_memory_freed"  # of the ServerConfig entry: a VACUUM is due


def vacuum() -> None:
    """Rewrite the whole file without its free space. It blocks, and needs its size once more."""
    _execute("VACUUM")
    truncate_wal()


def note_vacuum() -> None:
    if is_sqlite():
        _server_config().conf(KEY, value=True)


def is_vacuum_due() -> bool:
    return bool(_server_config().conf(KEY))


def run_due_vacuum() -> None:
    """Run a VACUUM that is due, and drop the note unless it failed. It blocks."""
    if connection.in_atomic_block or not is_vacuum_due():
        return
    try:
        vacuum()
    except DatabaseError as problem:
        logger().error(
            "The game's database could not be written anew (%s): shreds of what was erased may be "
            "left in its free space. The next start of the game tries it again. It needs room for "
            "the file once more, and no other program that uses it.",
            problem,
        )
    else:
        _server_config().conf(KEY, delete=True)


def _server_config() -> Any:
    from evennia.server.models import ServerConfig  # late: this is imported before the models

    return ServerConfig.objects


def _execute(statement: str) -> None:
    """Execute a statement of SQLite that no transaction allows; there and elsewhere do nothing."""
    if is_sqlite() and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute(statement)


# --- statistics -----------------------------------------------------------------------------------

STATISTICS_SECONDS = 3600.0  # between two runs of a process, at least
STATISTICS_ROWS = 400  # of each index that are looked at, as SQLite recommends

_counted = -STATISTICS_SECONDS  # when the statistics were made, by `time.monotonic`


def keep_statistics() -> None:
    """Make the statistics of the tables of Attributes anew, now and then; it takes milliseconds."""
    from evennia.objects.models import ObjectDB  # late: this is imported before the models
    from evennia.scripts.models import ScriptDB
    from evennia.typeclasses.attributes import Attribute

    global _counted
    if not is_sqlite() or connection.in_atomic_block:
        return
    if time.monotonic() - _counted < STATISTICS_SECONDS:
        return
    _counted = time.monotonic()
    try:
        _execute(f"PRAGMA analysis_limit = {STATISTICS_ROWS}")
        holders = (ObjectDB.db_attributes.through, ScriptDB.db_attributes.through)
        for model in (Attribute, *holders):
            _execute(f'ANALYZE "{model._meta.db_table}"')
    except DatabaseError as problem:  # it is only slower without them
        logger().warning("The game's database got no statistics: %s", problem)


# --- a database that takes no writes for now ------------------------------------------------------

_FULL_SQLITE = (13, 10)  # FULL, and IOERR, which a write that finds no room may be as well
_FULL_ELSEWHERE = ("53100", 1021, 1114)  # PostgreSQL's disk_full; MySQL's and MariaDB's
_LOCKED_SQLITE = (5, 6)  # BUSY, LOCKED
# PostgreSQL's lock_not_available, deadlock_detected, serialization_failure; MySQL's two
_LOCKED_ELSEWHERE = ("55P03", "40P01", "40001", 1205, 1213)
LOCK_PROBE_SECONDS = 0.2  # between two looks of `wait_for_lock`


def note_unavailable(error: BaseException) -> str:
    """Log once that the database takes no writes for now, if this error says so.

    Returns the trouble: `condition.DATABASE` (its disk is full), `LOCKED` (by another program), "".
    """
    if _is(error, _FULL_SQLITE, _FULL_ELSEWHERE):
        trouble, what, until = condition.DATABASE, "full: its disk has no room", "there is room"
    elif _is(error, _LOCKED_SQLITE, _LOCKED_ELSEWHERE):
        trouble, what, until = condition.LOCKED, "held by another program", "it is free"
    else:
        return ""
    condition.begin(
        trouble,
        f"The game's database is {what} ({error}). What NPCs hear is kept in memory until {until}; "
        "stopping the game before loses it.",
    )
    return trouble


def note_written() -> None:
    over = "The game's database accepts writes again: all is written."
    condition.end(condition.DATABASE, over)
    condition.end(condition.LOCKED, over)


def is_usable() -> bool:
    """Return whether the connection still works, after an error that says nothing of that."""
    return connection.connection is None or connection.is_usable()


def still_locked() -> bool:
    """Return whether a lock was noted and is still there; does not wait for it."""
    if condition.LOCKED not in condition.known():
        return False
    if _is_locked():
        return True
    condition.end(condition.LOCKED, "The game's database is free again.")
    return False


def wait_for_lock(seconds: float) -> None:
    """Wait until a lock that was noted is gone, for so long at most. Blocks: for the stop alone."""
    until = time.monotonic() + seconds
    while still_locked() and time.monotonic() < until:
        time.sleep(LOCK_PROBE_SECONDS)


def _is_locked() -> bool:
    """Return whether another connection keeps SQLite from writing; a reader does so as well."""
    if not is_sqlite() or connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        [patience] = cursor.fetchone()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            cursor.execute("BEGIN EXCLUSIVE")  # as a commit takes it
            cursor.execute("ROLLBACK")
        except OperationalError as error:
            return _is(error, _LOCKED_SQLITE, ())
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {patience}")
    return False


def _is(error: BaseException, sqlite: tuple[int, ...], elsewhere: tuple[Any, ...]) -> bool:
    if not isinstance(error, Error):
        return False
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in sqlite
    codes = (getattr(cause, "sqlstate", None), *getattr(cause, "args", ())[:1])
    return any(code in elsewhere for code in codes)
