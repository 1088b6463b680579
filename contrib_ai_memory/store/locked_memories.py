"""Memories locked by a builder: only a person changes, supersedes, merges or forgets them.

The lock extends to memories that say the same thing: to a fact whose evidence is a locked journal
entry, and to an entry from which alone a locked fact was derived. Worker threads only.
"""

from __future__ import annotations

from collections.abc import Collection

from ..records import LOCKED, MemoryRecord
from .payload import entry_memory_id
from .protocol import MemoryStore

NEAREST = 8  # memories examined for one entry


def is_locked(store: MemoryStore, agent_id: str, memory: MemoryRecord) -> bool:
    """Return whether a memory or one of the journal entries it rests on is locked."""
    if LOCKED in memory.tags:
        return True
    lines = [entry_memory_id(agent_id, entry_id) for entry_id in memory.journal_ids]
    return any(LOCKED in line.tags for line in store.get(lines))


def locked_among(store: MemoryStore, agent_id: str, memory_ids: Collection[str]) -> set[str]:
    """Return the ids of memories that are locked or the only evidence of a locked one."""
    return {
        memory.id
        for memory in store.get(memory_ids)
        if LOCKED in memory.tags
        or any(LOCKED in derived.tags for derived in derived_from(store, agent_id, memory))
    }


def derived_from(store: MemoryStore, agent_id: str, memory: MemoryRecord) -> list[MemoryRecord]:
    """Return the experiences and facts whose only evidence is this memory's entry."""
    if not memory.journal_ids:
        return []
    near = store.nearest(agent_id, store.vectors_of([memory])[0], NEAREST)
    return [
        hit.memory
        for hit in near
        if hit.memory.id != memory.id and hit.memory.journal_ids == memory.journal_ids
    ]
