"""New journal entries into the store: one batched embedding call, one write, ids that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..embedding import embedder
from ..records import Entry, MemoryRecord
from ..store import facts
from ..text.signals import salience, states_preference

MEMORY_TYPE_OF_PREFERENCE = "procedural"  # [C §1.6]


def index_entries(mind: str, entries: Sequence[Entry]) -> int:
    """Embed and write entries as memories (worker thread). Run twice, it writes the same points.

    Args:
        mind: The NPC's own UUID.
        entries: What the journal got; what cannot be learned from is passed over.

    Returns:
        How many were written.
    """
    memories = [to_memory(mind, entry) for entry in entries if entry.learnable]
    vectors = embedder.shared().encode([memory.key for memory in memories])
    store = facts.shared()
    known = {memory.id: memory for memory in store.get([memory.id for memory in memories])}
    store.put(mind, [_as_accessed(memory, known.get(memory.id)) for memory in memories], vectors)
    return len(memories)


def _as_accessed(memory: MemoryRecord, known: MemoryRecord | None) -> MemoryRecord:
    if known is None:
        return memory
    return replace(memory, access_count=known.access_count, last_accessed=known.last_accessed)


def to_memory(mind: str, entry: Entry) -> MemoryRecord:
    """One entry as a memory: its key is the words with their speaker, its value the words alone."""
    conscious = "conscious" in entry.tags
    return MemoryRecord(
        id=entry_memory_id(mind, entry.id),
        content=entry.content,
        key=entry.told(),
        record="entry",
        memory_type="procedural" if states_preference(entry.content) else "episodic",
        about=entry.source_entity,
        speaker=entry.seen_as,
        session_id=entry.session_id,
        importance=entry.importance / 10,
        memory_weight=0.8 if conscious else entry_weight(entry),
        source_type=entry.source_type,
        source_trust=entry.source_trust,
        journal_ids=(entry.id,),
        entities=entry.entities,
        witnesses=entry.witnesses,
        private=entry.private,
        question=entry.is_question,
        created_at=entry.timestamp,
        last_accessed=entry.timestamp,
        tags=entry.tags,
    )


def entry_memory_id(mind: str, entry_id: int) -> str:
    return facts.memory_id_for(mind, "entry", entry_id)


def entry_weight(entry: Entry) -> float:
    """Memory weight 0-1 of a bare entry: its importance, and what it holds besides."""
    return min(1.0, 0.6 * entry.importance / 10 + 0.4 * salience(entry.content))
