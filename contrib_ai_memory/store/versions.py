"""What a memory said before: Mem0's own history of it, read, written and put back.

Mem0 notes the birth of a fact; a builder's edit is noted here beside it, of journal entries too.
Whoever deletes a memory deletes its history (`facts.delete_points`). Worker threads only.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from ..records import now_iso
from . import facts

Row = tuple[str, str, str, str]  # old, new, event, when

KEPT = 50  # newest rows that are shown of one memory


def history_of(memory_id: str, newest: int | None = KEPT) -> list[Row]:
    """The newest rows of one memory (None: all), oldest first."""
    rows = facts.shared().mem0.db.get_history(memory_id)
    told = [
        (
            row["old_memory"] or "",
            row["new_memory"] or "",
            row["event"],
            row["updated_at"] or row["created_at"] or "",
        )
        for row in rows
    ]
    return told if newest is None else told[-newest:]


def note(memory_id: str, old: str, new: str) -> None:
    """Note that a memory was changed."""
    put_back(memory_id, [(old, new, "UPDATE", now_iso())])


def put_back(memory_id: str, rows: Iterable[Row]) -> None:
    """Write rows as they were."""
    database = facts.shared().mem0.db
    for old, new, event, when in rows:
        database.add_history(
            memory_id, old or None, new or None, event, created_at=when, updated_at=when
        )


def replace(memory_id: str, rows: Iterable[Row]) -> None:
    """Make these the only rows of a memory: all of that, or nothing."""
    connection = facts.shared().mem0.db.connection
    connection.execute("PRAGMA secure_delete = ON")
    with connection:
        connection.execute("DELETE FROM history WHERE memory_id = ?", (memory_id,))
        connection.executemany(
            "INSERT INTO history (id, memory_id, old_memory, new_memory, event, created_at, "
            "updated_at, is_deleted) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
            [
                (str(uuid.uuid4()), memory_id, old or None, new or None, event, when, when)
                for old, new, event, when in rows
            ],
        )
