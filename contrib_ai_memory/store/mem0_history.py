"""Mem0's history: what each memory said before.

Mem0's verbs write it (`mem0_adapter`). Here it is read as the package needs it, restored, and
deleted from the file as well. Worker thread only.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Version = tuple[str, str, str, str]  # old text, new text, event, time
KEPT = 50  # newest versions that are shown of one memory


class MemoryHistory:
    """The history table of one store.

    Args:
        mem0: Mem0's `Memory`, whose database is another one after its `reset`.
    """

    def __init__(self, mem0: Any):
        self._mem0 = mem0

    def of(self, memory_id: str, newest: int | None = KEPT) -> list[Version]:
        """Return the newest versions of a memory (None: all), oldest first."""
        rows = self._connection.execute(
            "SELECT old_memory, new_memory, event, coalesce(updated_at, created_at) "
            "FROM history WHERE memory_id = ? ORDER BY rowid",
            (memory_id,),
        )
        versions = [(old or "", new or "", event, when or "") for old, new, event, when in rows]
        return versions if newest is None else versions[-newest:]

    def replace(self, versions_of: Mapping[str, Iterable[Sequence[Any]]]) -> None:
        """Replace all versions of memories (id → versions), in one transaction."""
        with self._connection:
            self._delete(versions_of)
            self._connection.executemany(
                "INSERT INTO history (id, memory_id, old_memory, new_memory, event, created_at, "
                "updated_at, is_deleted) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                [
                    (str(uuid.uuid4()), memory_id, old or None, new or None, event, when, when)
                    for memory_id, versions in versions_of.items()
                    for old, new, event, when in versions
                ],
            )

    def delete(self, ids: Iterable[str]) -> None:
        with self._connection:
            self._delete(ids)

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._mem0.db.connection

    def _delete(self, ids: Iterable[str]) -> None:
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.executemany(
            "DELETE FROM history WHERE memory_id = ?", [(each,) for each in ids]
        )
