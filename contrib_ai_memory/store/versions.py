"""What a memory said before: Mem0's own history of it, read, written and put back.

Mem0 notes the birth of a fact; a builder's edit is noted here beside it, of journal entries too.
Whoever deletes a memory deletes its history (`facts.delete_points`). Worker threads only.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..records import now_iso
from . import facts

Row = tuple[str, str, str, str]  # old, new, event, when

KEPT = 50  # newest rows that are shown of one memory


def history_of(memory_id: str) -> list[Row]:
    """The rows of one memory, oldest first."""
    rows = facts.shared().mem0.db.get_history(memory_id)
    return [
        (
            row["old_memory"] or "",
            row["new_memory"] or "",
            row["event"],
            row["updated_at"] or row["created_at"] or "",
        )
        for row in rows
    ][-KEPT:]


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
    """Make these the only rows of a memory."""
    connection = facts.shared().mem0.db.connection
    connection.execute("PRAGMA secure_delete = ON")
    with connection:
        connection.execute("DELETE FROM history WHERE memory_id = ?", (memory_id,))
    put_back(memory_id, rows)
