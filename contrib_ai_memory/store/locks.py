"""What a builder has locked: nothing but a person changes, ends, joins, hides or forgets it.

A lock holds what says the same thing too: a fact rests on the locked line that told it, and the
line of a preference on the locked fact that was drawn from it alone. Worker threads only.
"""

from __future__ import annotations

from collections.abc import Collection

from ..records import LOCKED, MemoryRecord
from .payload import entry_memory_id
from .protocol import MemoryStore

DRAWN_LOOKED_AT = 8  # memories nearest to a line


def is_locked(store: MemoryStore, agent_id: str, memory: MemoryRecord) -> bool:
    """Return whether a memory is locked, or rests on a journal entry that is."""
    if LOCKED in memory.tags:
        return True
    lines = [entry_memory_id(agent_id, entry_id) for entry_id in memory.journal_ids]
    return any(LOCKED in line.tags for line in store.get(lines))


def locked_among(store: MemoryStore, agent_id: str, memory_ids: Collection[str]) -> set[str]:
    """Return those of these memories that are locked, or of which a locked one was drawn alone."""
    return {
        memory.id
        for memory in store.get(memory_ids)
        if LOCKED in memory.tags
        or any(LOCKED in drawn.tags for drawn in drawn_from(store, agent_id, memory))
    }


def drawn_from(store: MemoryStore, agent_id: str, memory: MemoryRecord) -> list[MemoryRecord]:
    """Return the experiences and facts that rest on nothing but this memory's entry."""
    if not memory.journal_ids:
        return []
    near = store.nearest(agent_id, store.vectors_of([memory])[0], DRAWN_LOOKED_AT)
    return [
        hit.memory
        for hit in near
        if hit.memory.id != memory.id and hit.memory.journal_ids == memory.journal_ids
    ]
