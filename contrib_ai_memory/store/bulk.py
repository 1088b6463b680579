"""Memories as the store holds them, page by page: for whoever moves, checks or rebuilds it whole.

Payloads go through here as they are; nothing is dated or weighed anew. Worker threads only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import keys
from .facts import FactStore
from .payload import from_payload

PAGE = 64

Row = tuple[str, dict[str, Any]]  # id, payload
HISTORY = ("old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted")


def page(store: FactStore, agent_id: str | None, offset: Any = None) -> tuple[list[Row], Any]:
    """Some memories by id, of one mind or of all, and the offset of the next page.

    The offset is None behind the last.
    """
    filters = {"agent_id": agent_id} if agent_id else None
    hits, offset = store.mem0.vector_store.page(filters, offset, PAGE)
    return sorted((str(hit.id), dict(hit.payload)) for hit in hits), offset


def write(store: FactStore, rows: Sequence[Row], vectors: np.ndarray) -> None:
    """Write memories that stand for themselves; the talk around a line is `index.rekey_entries`."""
    if not rows:
        return
    ids, payloads = [each for each, _ in rows], [payload for _, payload in rows]
    if store.has_lanes:
        found_by = [alone(row, vector) for row, vector in zip(rows, vectors, strict=True)]
        store.mem0.vector_store.write(ids, payloads, found_by)
    else:
        store.mem0.vector_store.insert(vectors=vectors.tolist(), payloads=payloads, ids=ids)


def alone(row: Row, vector: np.ndarray) -> keys.Keys:
    """What a memory is found by that stands for itself."""
    return keys.alone(vector, from_payload(*row).words)


def owners(store: FactStore, ids: Iterable[str]) -> dict[str, str]:
    """Whose those of these memories are that the store has: id → mind."""
    vectors, wanted = store.mem0.vector_store, list(ids)
    many = hasattr(vectors, "get_many")
    hits = vectors.get_many(wanted) if many else filter(None, map(vectors.get, wanted))
    return {str(hit.id): str((hit.payload or {}).get("agent_id", "")) for hit in hits}


def minds(store: FactStore) -> dict[str, int]:
    """Whose memories there are: mind → how many."""
    vectors = store.mem0.vector_store
    if hasattr(vectors, "minds"):
        return vectors.minds()
    found: Counter[str] = Counter()
    offset = None
    while True:
        rows, offset = page(store, None, offset)
        found.update(payload.get("agent_id", "") for _id, payload in rows)
        if offset is None:
            return dict(found)


def history(store: FactStore, ids: Iterable[str]) -> dict[str, list[list[Any]]]:
    """Mem0's history of memories, oldest first, in the order of `HISTORY`."""
    query = f"SELECT {', '.join(HISTORY)} FROM history WHERE memory_id = ? ORDER BY rowid"
    connection = store.mem0.db.connection
    found = {each: connection.execute(query, (each,)).fetchall() for each in ids}
    return {each: [list(row) for row in rows] for each, rows in found.items() if rows}


def put_history(store: FactStore, rows_of: Mapping[str, Iterable[Sequence[Any]]]) -> None:
    """Write history as it was."""
    for memory_id, rows in rows_of.items():
        for old, new, event, created, updated, deleted in rows:
            store.mem0.db.add_history(
                memory_id,
                old,
                new,
                event,
                created_at=created,
                updated_at=updated,
                is_deleted=deleted,
            )
