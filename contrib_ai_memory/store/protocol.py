"""The contract of a memory store: all that the rest of the package knows of one.

Each store that is offered is one class over it: Qdrant Edge in process (`qdrant_edge`), Qdrant
servers (`qdrant_server`) and PostgreSQL (`pgvector`). `memory_store.shared` is the process's one,
`mem0_adapter` is what Mem0 sees of it.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import conf
from ..embedding import embedder
from ..records import LOCKED, MemoryRecord
from . import condition, metadata
from .lanes import LINE, WINDOW, WORD_LANES, Keys, Vocabulary, keys_of_one, terms_of
from .payload import (
    ANYONE,
    EPOCH,
    OF_NIGHTS,
    RECORDS,
    Candidate,
    PointId,
    Row,
    entry_memory_id,
    from_payload,
    to_candidate,
    to_payload,
)

if TYPE_CHECKING:
    from .mem0_adapter import MemoryHistory

PAGE = 64  # memories read, embedded or written at once
SCROLLED = 1000  # rows read at once where only payloads are
VALUES_AT_MOST = 100_000  # of one field: agent ids
NEAREST = 8  # memories examined for those that were drawn from one entry
READY = "contrib_ai_memory.ready"  # in Mem0's metadata: what is written as it is

Filters = dict[str, Any] | None  # in Mem0's filter language
Memories = list[MemoryRecord]
Rows = list[Row]
Remake = Callable[[Rows], list[Keys]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A row and its score: a higher one is nearer, 0 if nothing was searched for."""

    id: str
    payload: dict[str, Any]
    score: float = 0.0


Hits = list[Hit]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory and its cosine similarity to what was asked."""

    memory: MemoryRecord
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class LaneSearch:
    """A prepared search."""

    agent_id: str
    queries: Mapping[str, Any]  # the store's own query for each lane
    fields: Sequence[str] = ()  # of the payloads that a server brings; all if it is empty


class MemoryStore(ABC):
    """Stores the memories of every NPC, each under the `agent_id` (UUID) of its NPC.

    A memory is an id (UUID text), a payload (`payload.to_payload`) and `lanes.Keys`. Lines of the
    journal are written in batches: `upsert` makes payloads of records, `upsert_rows` writes them as
    they are (an archive, a reindex). What is drawn or taught is written by Mem0's own verbs
    (`insert_new`, `change`, `delete`), which keep its history; see `mem0_adapter`.

    To add a store, write a class with the methods of the last section (`what an engine does`), put
    it into `memory_store._open_engine`, name it in `conf.STORES` and in tests/real_stores.py, and
    pass tests/test_store_contract.py. A server also belongs in `engine_config.addresses`.

    - One worker thread calls it, so it may block and needs no locks.
    - A write is on disk when its verb returns, and begins with `condition.check`. After a kill the
      same write is made again: known ids are overwritten, unknown ones are no error.
    - `where` filters by payload fields under the payload's names (`user_id`, not `about`): a value,
      or {"in": [values]}; a field that is a list matches if it contains one of them. A cluster may
      refuse fields without an index (`qdrant_server`). `listener=identity` leaves out what that
      person may not hear.
    - Every failure is a `StoreError` whose message says what to do.
    """

    provider: str  # its name in CONTRIB_AI_MEMORY["VECTOR_STORE"]
    mem0: Any  # Mem0's own `Memory` over this store, for scripts: its verbs work on all of it
    history: MemoryHistory  # what memories said before
    # whether `agents` and `rows` bring this game's memories alone, where others write there too
    scoped = True
    remote = False  # whether each call is a round trip, which takes longer than a search
    line_vector = LINE  # the engine's name for the vector of the lane `line`

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(conf.directory())

    # --- writing ------------------------------------------------------------------------------

    def upsert(
        self,
        agent_id: str,
        memories: Sequence[MemoryRecord],
        vectors: np.ndarray,
        keys: Sequence[Keys] | None = None,
    ) -> None:
        """Insert or overwrite memories of an NPC, and count their words.

        Vectors have the shape (len(memories), dimensions). By default a memory is found by its own
        words and vector alone.
        """
        if not memories:
            return
        tokens = embedder.shared().count_tokens
        rows = [
            (each.id, to_payload(agent_id, each) | {"tokens": tokens(each.content)})
            for each in memories
        ]
        words = [each.words for each in memories]
        self.upsert_rows(rows, keys or list(map(keys_of_one, vectors, words)))
        self.count_words(agent_id, memories)

    def insert_new(
        self, agent_id: str, memories: Sequence[MemoryRecord], vectors: np.ndarray
    ) -> Sequence[str]:
        """Add the memories whose id is unknown, by Mem0's `add`. Returns the ids that were new."""
        condition.check_writable(conf.directory())
        known = self.existing([memory.id for memory in memories])
        places = [place for place, memory in enumerate(memories) if memory.id not in known]
        if new := [memories[place] for place in places]:
            said = [{"role": "assistant", "content": memory.content} for memory in new]
            self.mem0.add(said, agent_id=agent_id, metadata={READY: (new, vectors[places])})
        return [memory.id for memory in new]

    def change(self, memory_id: str, **fields: Any) -> None:
        """Merge fields into the payload of a memory by Mem0's `update`, if it exists."""
        self.mem0.update({memory_id: fields})

    def delete(self, ids: Sequence[str]) -> None:
        """Delete memories and their history in one batch, by Mem0's `delete`."""
        self.mem0.delete(ids)

    def delete_with_history(self, ids: Sequence[str]) -> None:
        """Delete memories and what they said before, for Mem0's `delete`."""
        condition.check_writable(conf.directory())
        self.history.delete(ids)  # first: it is found by these ids alone
        self.delete_points(ids)

    def delete_all(self, agent_id: str) -> int:
        """Delete everything of an NPC. Returns how many memories that were."""
        ids = [memory_id for memory_id, _ in self.every_row(filters_of(agent_id, {}))]
        self.delete(ids)
        self.vocabulary.forget(agent_id)
        metadata.note_total(conf.directory(), self.total())
        return len(ids)

    def count_words(self, agent_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Count in how many memories of an NPC each word occurs, each memory once for ever.

        Facts, summaries and insights retell lines: their words would count as common.
        """
        said = (each for each in memories if each.record not in OF_NIGHTS)
        self.vocabulary.count(agent_id, {each.id: terms_of(each.words) for each in said})

    def close(self) -> None:
        self.disconnect()
        self.vocabulary.close()
        self.mem0.close()

    # --- reading ------------------------------------------------------------------------------

    def get(self, ids: Iterable[str]) -> Memories:
        """Return those of `ids` that exist, in the order asked."""
        wanted = [*ids]
        found = self.payloads(wanted)
        return [from_payload(each, found[each]) for each in wanted if each in found]

    def owners(self, ids: Collection[str]) -> dict[str, str]:
        found = self.payloads(ids)
        return {each: str(payload.get("agent_id", "")) for each, payload in found.items()}

    def vectors_of(self, memories: Sequence[MemoryRecord]) -> np.ndarray:
        """Return the unit vectors of these memories, shape (len(memories), dimensions)."""
        stored = self.line_vectors([memory.id for memory in memories])
        return np.array([stored[memory.id] for memory in memories], dtype=np.float32)

    def rows(
        self, agent_id: str | None, offset: Any = None, limit: int = PAGE, **where: Any
    ) -> tuple[Rows, Any]:
        """Return a page of (id, payload), of one NPC or all, and the next one's offset or None."""
        return self.scroll(filters_of(agent_id, where), offset, limit)

    def page(
        self, agent_id: str, offset: Any = None, limit: int = 4 * PAGE, **where: Any
    ) -> tuple[Memories, Any]:
        rows, offset = self.rows(agent_id, offset, limit, **where)
        return [from_payload(*row) for row in rows], offset

    def list(self, agent_id: str, limit: int | None = 100, **where: Any) -> Memories:
        """Return up to `limit` memories of an NPC (None: all), in no particular order."""
        return [from_payload(*row) for row in self.every_row(filters_of(agent_id, where), limit)]

    def newest(self, agent_id: str, record: str, limit: int) -> Memories:
        """Return the newest `limit` memories of one kind, newest first."""
        filters = filters_of(agent_id, {"record": record})
        rows = self.newest_rows(filters, limit)
        if len(rows) < limit:  # few, or without a time
            every = self.every_row(filters)
            rows = heapq.nlargest(limit, every, key=lambda row: row[1].get("created_at") or EPOCH)
        return [from_payload(*row) for row in rows]

    def count(self, agent_id: str, **where: Any) -> int:
        return self.count_rows(filters_of(agent_id, where))

    def counts(self, agent_id: str) -> dict[str, int]:
        found = self.facet("record", filters_of(agent_id, {}))
        return {kind: found.get(kind, 0) for kind in RECORDS}

    def agents(self) -> dict[str, int]:
        return self.facet("agent_id")

    def every_row(self, filters: Filters, limit: int | None = None) -> Iterator[Row]:
        """Yield up to `limit` rows that match (None: all)."""
        offset, left = None, math.inf if limit is None else limit
        while left > 0:
            rows, offset = self.scroll(filters, offset, int(min(SCROLLED, left)))
            yield from rows
            left -= len(rows)
            if offset is None:
                return

    # --- searching ----------------------------------------------------------------------------

    def nearest(
        self, agent_id: str, vector: np.ndarray, limit: int, **where: Any
    ) -> Sequence[Neighbour]:
        return self.nearest_each(agent_id, [vector], limit, **where)[0]

    def nearest_each(
        self, agent_id: str, vectors: Iterable[np.ndarray], limit: int, **where: Any
    ) -> Sequence[Sequence[Neighbour]]:
        """Return the `limit` nearest memories of each vector by cosine similarity, best first."""
        queries = [self.nearest_query(vector.tolist(), LINE) for vector in vectors]
        found = self.query_each(queries, limit, filters_of(agent_id, where)) if queries else []
        return [
            [Neighbour(from_payload(hit.id, hit.payload), hit.score) for hit in hits]
            for hits in found
        ]

    def prepare_search(
        self, agent_id: str, vector: np.ndarray, query: str, fields: Sequence[str] = ()
    ) -> LaneSearch:
        """Prepare a search by a vector and words in every lane; see `LaneSearch` for `fields`."""
        dense = vector.tolist()
        queries = {lane: self.nearest_query(dense, lane) for lane in (LINE, WINDOW)}
        return LaneSearch(agent_id, queries | self.word_queries(agent_id, query), fields)

    def word_queries(self, agent_id: str, query: str) -> dict[str, Any]:
        reaches = [lane.reach for lane in WORD_LANES.values()]
        rarity = self.vocabulary.rarity(agent_id, terms_of(query), reaches)
        return {
            lane: self.words_query(of_terms, lane)
            for lane, of_terms in zip(WORD_LANES, rarity, strict=True)
            if of_terms
        }

    def candidates(self, search: LaneSearch, limit: int, **where: Any) -> set[PointId]:
        """Return the ids of the `limit` best of each lane, in one round trip."""
        return self.best_of_lanes(search.queries, limit, filters_of(search.agent_id, where))

    def score(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        """Return those of `ids` that the NPC has, each with its score in every lane."""
        found = self.scores_in_lanes(search, ids) if ids else []
        # without that field, the store itself has looked
        own = search.agent_id
        return [each for each in found if each.payload.get("agent_id", own) == own]

    def find(
        self, search: LaneSearch, limit: int, also: Collection[PointId] = (), **where: Any
    ) -> Sequence[Candidate]:
        """Return the `limit` best of each lane, and `also` these, scored in every lane."""
        return self.score(search, self.candidates(search, limit, **where).union(also))

    def complete(self, candidates: Sequence[Candidate]) -> dict[str, Candidate]:
        """Return those candidates that still exist with their whole payloads, by id."""
        found = self.payloads([each.id for each in candidates])
        return {
            each.id: to_candidate(each.id, found[each.id], each.lanes)
            for each in candidates
            if each.id in found
        }

    # --- locks of a builder -------------------------------------------------------------------

    # They extend to a fact whose evidence is a locked journal entry, and to an entry from which
    # alone a locked fact was derived.

    def is_locked(self, agent_id: str, memory: MemoryRecord) -> bool:
        if LOCKED in memory.tags:
            return True
        lines = [entry_memory_id(agent_id, entry_id) for entry_id in memory.journal_ids]
        return any(LOCKED in line.tags for line in self.get(lines))

    def locked_among(self, agent_id: str, memory_ids: Collection[str]) -> set[str]:
        """Return those that are locked or the only evidence of a locked one."""
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

    # --- keys, as an engine has them ----------------------------------------------------------

    def vectors_by_name(self, key: Keys) -> dict[str, Any]:
        """Return the keys of a memory by the names of their vectors."""
        named: dict[str, Any] = {self.line_vector: key.line.tolist(), WINDOW: key.window.tolist()}
        return named | {lane: self.sparse(each) for lane, each in key.words.items() if each}

    # --- what an engine does ------------------------------------------------------------------
    # Queries are the engine's own: `Any`. An id that does not exist is left out, in each of them.

    @abstractmethod
    def upsert_rows(self, rows: Sequence[Row], keys: Sequence[Keys]) -> None:
        """Insert or overwrite memories by their (id, payload), each with the keys at its place."""

    @abstractmethod
    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Merge fields into the payloads of those memories (id → fields) that exist."""

    @abstractmethod
    def rekey(self, keys: Mapping[str, Keys]) -> None:
        """Replace the keys of memories that exist (id → keys) as talk goes on after them."""

    @abstractmethod
    def delete_points(self, ids: Sequence[str]) -> None: ...

    @abstractmethod
    def existing(self, ids: Collection[str]) -> set[str]: ...

    @abstractmethod
    def payloads(self, ids: Collection[str]) -> dict[str, dict[str, Any]]: ...

    @abstractmethod
    def line_vectors(self, ids: Collection[str]) -> Mapping[str, Sequence[float]]:
        """Return the vector in the lane `line` (unit length) of those `ids` that exist."""

    @abstractmethod
    def lane_vectors(self, ids: Collection[str]) -> Mapping[str, Keys]: ...

    @abstractmethod
    def scroll(self, filters: Filters, offset: Any, limit: int) -> tuple[Rows, Any]:
        """Return rows that match, by id, and the next page's offset or None."""

    @abstractmethod
    def newest_rows(self, filters: Filters, limit: int) -> Rows:
        """Return rows that match and have a time of creation, newest first."""

    @abstractmethod
    def count_rows(self, filters: Filters = None) -> int: ...

    @abstractmethod
    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        """Return how many rows that match have each value of an indexed field."""

    @abstractmethod
    def nearest_query(self, vector: Sequence[float], lane: str) -> Any:
        """Return the query for the points nearest to a vector in one lane."""

    @abstractmethod
    def words_query(self, rarity: Mapping[int, float], lane: str) -> Any:
        """Return BM25's query side in one lane: every term by how rare it is."""

    @abstractmethod
    def sparse(self, values: Mapping[int, float]) -> Any: ...

    @abstractmethod
    def query_each(
        self, queries: Sequence[Any], limit: int, filters: Filters
    ) -> Sequence[Hits]: ...

    @abstractmethod
    def best_of_lanes(
        self, queries: Mapping[str, Any], limit: int, filters: Filters
    ) -> set[PointId]:
        """Return the ids of the `limit` best of each lane, up to four times as many."""

    @abstractmethod
    def scores_in_lanes(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        """Return those of `ids` that exist, with their score in each lane (0 for no match).

        One that is not among the best of a lane may still be good there.
        """

    @abstractmethod
    def reset(self) -> None:
        """Delete everything of this game, for Mem0's `reset`."""

    @abstractmethod
    def disconnect(self) -> None: ...

    # Only a store with files of its own has these.

    def begin_rewriting(self, remake: Remake | None = None) -> bool:
        """Begin to write the files anew, so that deleted memories leave the disk as well.

        `remake` makes new keys of rows. Returns False where nothing is to be done.
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


def filters_of(agent_id: str | None, where: Mapping[str, Any]) -> dict[str, Any]:
    """Return Mem0's filters of what the contract calls `where`."""
    filters = {name: value for name, value in where.items() if name != "listener"}
    if agent_id is not None:
        filters["agent_id"] = agent_id
    if listener := where.get("listener"):
        filters["audience"] = {"in": [ANYONE, listener]}
    return filters
