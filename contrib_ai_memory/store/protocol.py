"""The protocol of a memory store: all that the rest of the package knows of one.

Two kinds of class implement it: `lane_store.LaneStore` (with every search lane: each store that is
offered) and `mem0_store.Mem0Store` (any other Mem0 vector store, one vector for each memory).
`memory_store.shared` is the process's one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import conf
from ..embedding import embedder
from ..records import LOCKED, MemoryRecord
from . import condition, metadata
from .lanes import Keys, LaneVectors, WordCounts
from .mem0_history import MemoryHistory
from .payload import (
    EPOCH,
    FOREIGN,
    RECORDS,
    Candidate,
    PointId,
    Row,
    entry_memory_id,
    from_payload,
    to_payload,
)

PAGE = 64  # memories read, embedded or written at once
NEAREST = 8  # memories examined for those that were drawn from one entry

Memories = list[MemoryRecord]
Rows = list[Row]
Remake = Callable[[Rows], list[Keys]]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory and its cosine similarity to what was asked."""

    memory: MemoryRecord
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class LaneSearch:
    """A prepared search: its vector and words, and the store's own query for each lane."""

    agent_id: str
    vector: np.ndarray
    query: str
    queries: Mapping[str, Any]


class MemoryStore(Protocol):
    """Stores the memories of every NPC, each under the `agent_id` (UUID) of its NPC.

    A memory is an id (UUID text), a payload (`payload.to_payload`) and a unit vector. A *search
    lane* is one way of finding it: by the vector of its words or of the talk around it, or by BM25
    over that talk. A store with lanes keeps a key for each (`lanes.Keys`); any other makes its one
    vector and its keyword search, if it has one, stand for all.

    Three verbs write memories: `upsert_rows` writes payloads as they are (an archive, a reindex),
    `upsert` makes them of records, `insert_new` does so for unknown ids only and begins their
    history.

    To add a store that Mem0 has an adapter for, give the adapter the methods of
    `mem0_store.VectorStore` and put it into the table in `memory_store._vector_store`; a server
    also belongs in `reachability.address`. For a store without Mem0, implement this protocol and
    make it in `memory_store.open_store`. Name either in `conf.STORES` and in
    tests/real_stores.py, and pass tests/test_store_contract.py.

    - One worker thread calls it, so it may block and needs no locks.
    - A write is on disk when its verb returns, and begins with `condition.check`. After a kill the
      same write is made again: known ids are overwritten, unknown ones are no error.
    - `where` filters by payload fields under the payload's names (`user_id`, not `about`): a value,
      or {"in": [values]}; a field that is a list matches if it contains one of them. A cluster may
      refuse fields without an index (`qdrant_server`). `listener=identity` leaves out what that
      person may not hear.
    - Every failure is a `StoreError` whose message says what to do.

    Methods that do nothing here are optional. Those of the last section are built from the others;
    a store may override them with something faster.

    Attributes:
        provider: Its name in `CONTRIB_AI_MEMORY["VECTOR_STORE"]`.
        history: What memories said before.
        mem0: Mem0's own `Memory` over this store, for scripts: its public verbs work on all of it.
        scoped: Whether `agents` and `rows` bring this game's memories alone, even where other
            games write into the same collection.
        remote: Whether each call is a round trip over a network, which takes longer than a search.
    """

    provider: str
    history: MemoryHistory
    mem0: Any
    scoped: bool = False
    remote: bool = False

    # --- writing ------------------------------------------------------------------------------

    def upsert_rows(
        self,
        rows: Sequence[Row],
        vectors: np.ndarray,
        keys: Sequence[Keys | LaneVectors] | None = None,
    ) -> None:
        """Insert or overwrite memories by their payloads.

        Args:
            rows: (id, payload) of each.
            vectors: Shape (len(rows), dimensions).
            keys: Without them a memory is found by its own words and vector alone. Those of
                another store (`lane_vectors`) are written as they are.
        """

    def change(self, memory_id: str, **fields: Any) -> None:
        """Merge fields into the payload of a memory, if it exists. Its vector stays."""

    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """`change` several memories: id → fields."""
        for memory_id, fields in changes.items():
            self.change(memory_id, **fields)

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        """Replace the keys of memories (id → keys) as talk goes on after them."""
        return

    def delete(self, ids: Sequence[str]) -> None:
        """Delete memories and their history."""

    def count_words(self, agent_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Count in how many memories of an NPC each word occurs, each memory once for ever."""
        return

    def forget_words(self, agent_id: str) -> None:
        """Delete the word counts of an NPC, before they are made anew or for good."""
        return

    def replace_word_counts(self, agent_id: str, counts: WordCounts) -> None:
        """Replace the word counts of an NPC by those of another store (`word_counts`)."""
        return

    # --- reading ------------------------------------------------------------------------------

    def payloads(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the payloads of those `ids` that exist."""

    def vectors_of(self, memories: Sequence[MemoryRecord]) -> np.ndarray:
        """Return the unit vectors of these memories, shape (len(memories), dimensions)."""

    def lane_vectors(self, ids: Collection[str]) -> Mapping[str, LaneVectors]:
        """Return the keys of those `ids` that exist, if the store has lanes."""
        return {}

    def word_counts(self, agent_id: str) -> WordCounts:
        """Return the word counts of an NPC, if the store has lanes."""
        return WordCounts(0, {}, ())

    def rows(
        self, agent_id: str | None, offset: Any = None, limit: int = PAGE, **where: Any
    ) -> tuple[Rows, Any]:
        """Return a page of (id, payload), of one NPC or of all, and the offset of the next page.

        The offset is None after the last page.
        """

    def list(self, agent_id: str, limit: int | None = 100, **where: Any) -> Memories:
        """Return up to `limit` memories of an NPC (None: all), in no particular order."""

    def count(self, agent_id: str, **where: Any) -> int:
        """Return how many memories of an NPC match."""

    def agents(self) -> dict[str, int]:
        """Return how many memories each NPC has, by agent id."""

    # --- searching ----------------------------------------------------------------------------

    def nearest_each(
        self, agent_id: str, vectors: Iterable[np.ndarray], limit: int, **where: Any
    ) -> Sequence[Sequence[Neighbour]]:
        """Return the `limit` nearest memories of each vector by cosine similarity, best first."""

    def prepare_search(self, agent_id: str, vector: np.ndarray, query: str) -> LaneSearch:
        """Prepare a search by a vector and words in every lane that the store has."""

    def candidates(self, search: LaneSearch, limit: int, **where: Any) -> set[PointId]:
        """Return the ids of the `limit` best of each lane, in one round trip."""

    def score(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        """Return those of `ids` that the NPC has, each with its score in every lane."""

    # --- files --------------------------------------------------------------------------------

    def begin_rewriting(self, remake: Remake | None = None) -> bool:
        """Begin to write the files anew, so that deleted memories leave the disk as well.

        Args:
            remake: Makes new keys of rows; without it the old ones are copied.

        Returns:
            False where the store has no files of its own: nothing is to be done then.
        """
        return False

    def rewrite_some(self) -> bool:
        """Rewrite a small part. Returns whether all is done."""
        return True

    def optimize(self) -> None:
        """Build what indexes are missing; with the server down, as it takes seconds."""
        return

    def total(self) -> int | None:
        """Return how many memories the store's own files hold; None for a server."""
        return None

    def close(self) -> None:
        """Close files and connections."""
        return

    # --- made of the others -------------------------------------------------------------------

    def upsert(
        self,
        agent_id: str,
        memories: Sequence[MemoryRecord],
        vectors: np.ndarray,
        keys: Sequence[Keys] | None = None,
    ) -> None:
        """Insert or overwrite memories of an NPC, and count their words."""
        if not memories:
            return
        tokens = embedder.shared().count_tokens
        rows = [
            (each.id, to_payload(agent_id, each) | {"tokens": tokens(each.content)})
            for each in memories
        ]
        self.upsert_rows(rows, vectors, keys)
        self.count_words(agent_id, memories)

    def insert_new(
        self, agent_id: str, memories: Sequence[MemoryRecord], vectors: np.ndarray
    ) -> Sequence[str]:
        """Insert the memories whose id is unknown, each with an ADD row in the history before it.

        Returns:
            The ids that were new.
        """
        condition.check_writable(conf.directory())
        known = self.payloads([memory.id for memory in memories])
        new = [index for index, memory in enumerate(memories) if memory.id not in known]
        for memory in (memories[index] for index in new):
            if not self.history.of(memory.id):  # killed before it was written, it has one
                self.history.note(memory.id, "", memory.content, "ADD")
        self.upsert(agent_id, [memories[index] for index in new], vectors[new])
        return [memories[index].id for index in new]

    def delete_all(self, agent_id: str) -> int:
        """Delete everything of an NPC. Returns how many memories that were."""
        ids = [memory.id for memory in self.list(agent_id, limit=None)]
        self.delete(ids)
        self.forget_words(agent_id)
        metadata.note_total(conf.directory(), self.total())
        return len(ids)

    def get(self, ids: Iterable[str]) -> Memories:
        """Return those of `ids` that exist, in the order asked."""
        wanted = [*ids]
        found = self.payloads(wanted)
        return [from_payload(each, found[each]) for each in wanted if each in found]

    def existing(self, ids: Collection[str]) -> set[str]:
        """Return those of `ids` that exist."""
        return set(self.payloads(ids))

    def owners(self, ids: Collection[str]) -> dict[str, str]:
        """Return the agent id of each of `ids` that exists."""
        found = self.payloads(ids)
        return {each: str(payload.get("agent_id", "")) for each, payload in found.items()}

    def page(
        self, agent_id: str, offset: Any = None, limit: int = 4 * PAGE
    ) -> tuple[Memories, Any]:
        """Return a page of an NPC's memories, and the offset of the next page or None."""
        rows, offset = self.rows(agent_id, offset, limit)
        return [from_payload(*row) for row in rows], offset

    def newest(self, agent_id: str, record: str, limit: int) -> Memories:
        """Return the newest `limit` memories of one kind, newest first."""
        if record == FOREIGN:  # others write their time in forms of their own
            found = self.list(agent_id, None, record=record)
            return heapq.nlargest(limit, found, key=lambda memory: memory.created_at)
        rows = self._every_row(agent_id, record=record)
        best = heapq.nlargest(limit, rows, key=lambda row: row[1].get("created_at") or EPOCH)
        return [from_payload(*row) for row in best]

    def counts(self, agent_id: str) -> dict[str, int]:
        """Return how many memories of each kind an NPC has."""
        counts = {kind: self.count(agent_id, record=kind) for kind in RECORDS}
        counts[FOREIGN] += self.count(agent_id) - sum(counts.values())  # they bear no record
        return counts

    def nearest(
        self, agent_id: str, vector: np.ndarray, limit: int, **where: Any
    ) -> Sequence[Neighbour]:
        """Return the `limit` nearest memories of one vector, as `nearest_each` does."""
        return self.nearest_each(agent_id, [vector], limit, **where)[0]

    # Locks of a builder extend to memories that say the same thing: to a fact whose evidence is a
    # locked journal entry, and to an entry from which alone a locked fact was derived.

    def is_locked(self, agent_id: str, memory: MemoryRecord) -> bool:
        """Return whether a memory or one of the journal entries it rests on is locked."""
        if LOCKED in memory.tags:
            return True
        lines = [entry_memory_id(agent_id, entry_id) for entry_id in memory.journal_ids]
        return any(LOCKED in line.tags for line in self.get(lines))

    def locked_among(self, agent_id: str, memory_ids: Collection[str]) -> set[str]:
        """Return the ids of memories that are locked or the only evidence of a locked one."""
        return {
            memory.id
            for memory in self.get(memory_ids)
            if LOCKED in memory.tags
            or any(LOCKED in derived.tags for derived in self.derived_from(agent_id, memory))
        }

    def derived_from(self, agent_id: str, memory: MemoryRecord) -> Memories:
        """Return the experiences and facts whose only evidence is this memory's entry."""
        if not memory.journal_ids:
            return []
        near = self.nearest(agent_id, self.vectors_of([memory])[0], NEAREST)
        return [
            hit.memory
            for hit in near
            if hit.memory.id != memory.id and hit.memory.journal_ids == memory.journal_ids
        ]

    def _every_row(self, agent_id: str | None, **where: Any) -> Iterator[Row]:
        offset = None
        while True:
            rows, offset = self.rows(agent_id, offset, 4 * PAGE, **where)
            yield from rows
            if offset is None:
                return
