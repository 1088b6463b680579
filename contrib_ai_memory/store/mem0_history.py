"""Mem0's history: what each memory said before.

Mem0 notes when a memory was added; edits by builders are noted too, also those of journal entries.
Mem0 keeps the words of what it deletes; here a memory's history is deleted with it, from the file
as well. Worker thread only.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..records import now_iso

Version = tuple[str, str, str, str]  # old text, new text, event, time
KEPT = 50  # newest versions that are shown of one memory

COLUMNS = ("old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted")


class MemoryHistory:
    """The history table of one store.

    Args:
        mem0: Mem0's `Memory`, whose database is another one after its `reset`.
    """

    def __init__(self, mem0: Any):
        self._mem0 = mem0

    def of(self, memory_id: str, newest: int | None = KEPT) -> list[Version]:
        """Return the newest versions of a memory (None: all), oldest first."""
        versions = [
            (old or "", new or "", event, updated or created or "")
            for old, new, event, created, updated, _deleted in self._rows(memory_id)
        ]
        return versions if newest is None else versions[-newest:]

    def note(self, memory_id: str, old: str, new: str, event: str = "UPDATE") -> None:
        """Note that a memory was changed or made just now."""
        self.put_rows({memory_id: [_row((old, new, event, now_iso()))]})

    def replace(self, memory_id: str, versions: Iterable[Version]) -> None:
        """Replace all versions of a memory with these, in one transaction."""
        with self._connection:
            self._delete([memory_id])
            self._insert(memory_id, map(_row, versions))

    def delete(self, ids: Iterable[str]) -> None:
        """Delete the history of memories."""
        with self._connection:
            self._delete(ids)

    # --- whole rows, for archives -------------------------------------------------------------

    def rows_of(self, ids: Iterable[str]) -> dict[str, list[list[Any]]]:
        """Return the rows (`COLUMNS`) of memories that have a history, oldest first."""
        found = {each: self._rows(each) for each in ids}
        return {each: [list(row) for row in rows] for each, rows in found.items() if rows}

    def put_rows(self, rows_of: Mapping[str, Iterable[Sequence[Any]]]) -> None:
        """Append rows (`COLUMNS`), in one transaction."""
        with self._connection:
            for memory_id, rows in rows_of.items():
                self._insert(memory_id, rows)

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._mem0.db.connection

    def _rows(self, memory_id: str) -> list[tuple]:
        query = f"SELECT {', '.join(COLUMNS)} FROM history WHERE memory_id = ? ORDER BY rowid"
        return self._connection.execute(query, (memory_id,)).fetchall()

    def _insert(self, memory_id: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(
            f"INSERT INTO history (id, memory_id, {', '.join(COLUMNS)}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(str(uuid.uuid4()), memory_id, *row) for row in rows],
        )

    def _delete(self, ids: Iterable[str]) -> None:
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.executemany(
            "DELETE FROM history WHERE memory_id = ?", [(each,) for each in ids]
        )


def _row(version: Version) -> Sequence[Any]:
    old, new, event, when = version
    return old or None, new or None, event, when, when, 0
