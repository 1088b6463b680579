"""SQLite files for data that can be computed again, such as counts of words.

A corrupt file is started again, and a full disk costs only a warning.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .log import logger

Result = TypeVar("Result")

LOCK_SECONDS = 2.0  # to wait for the lock of another process

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_PRAGMAS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
"""


class SqliteFile:
    """A file with one connection and `CREATE … IF NOT EXISTS` statements. Worker threads only."""

    def __init__(self, path: Path, schema: str):
        self.path = path
        self._schema = schema
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._warned = False

    def use(self, work: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """Return what `work` does with the connection in one transaction.

        That is `otherwise` if the file is locked or unreadable, or the disk full.
        """
        with self._lock:
            try:
                return self._do(work)
            except sqlite3.DatabaseError as error:
                # errors of Python's own module have no code: they are mistakes of the caller
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
                if code in _BROKEN:
                    logger().warning("%s is corrupt (%s), and is started again.", self.path, error)
                    self.close()
                    for part in ("", "-wal", "-shm"):
                        self.path.with_name(self.path.name + part).unlink(missing_ok=True)
                    return self._do(work)
                if not isinstance(error, sqlite3.OperationalError):
                    raise
                if not self._warned:
                    self._warned = True
                    logger().warning("%s cannot be used: %s. It is done without.", self.path, error)
                return otherwise

    def forget_deleted(self) -> None:
        """Erase deleted rows from the write-ahead log."""
        with self._lock:
            if self._connection is not None:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _do(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=LOCK_SECONDS, check_same_thread=False)
            try:
                connection.executescript(_PRAGMAS + self._schema)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        with self._connection:  # commits, or rolls back
            return work(self._connection)
