"""What is deleted from the game's own database: with SQLite, overwritten on the disk as well.

Journals and profiles are Attributes, and each write of one frees what it was before. SQLite leaves
freed bytes in the file until they are used again, unless `secure_delete` is on: so it is, for every
connection of the game. Another database has its own vacuum, and its own backups.
"""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.backends.signals import connection_created

_UID = "contrib_ai_memory.secure_delete"


def overwrite_what_is_deleted() -> None:
    """From now on, in every connection that is made to a SQLite database."""
    connection_created.connect(_secure, dispatch_uid=_UID)


def forget_deleted() -> None:
    """Leave nothing of what was deleted in a write-ahead log, where there is one."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def vacuum() -> bool:
    """Write the whole file anew, without a byte that is not in use; blocks, and needs its size on
    the disk once more. Returns whether it is a file of ours to write."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    forget_deleted()
    return True


def _secure(connection: Any, **_signal: Any) -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")
