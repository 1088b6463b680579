"""Any Mem0 vector store as a memory store, and what Mem0 needs of us to run over it.

Points are written through Mem0's vector store with ids that follow from what a memory is
(`payload.memory_id_for`), because `Memory.add` draws a random id: a pass that is killed after the
write and run again would then write everything twice (docs/adr/001). Payloads keep Mem0's fields,
so that all verbs of `Memory` work on them.

Importing this imports Mem0: only after `mem0_environment.settle`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from mem0.embeddings.base import EmbeddingBase
from mem0.llms.base import LLMBase

from .. import conf
from ..embedding import embedder
from ..records import MemoryRecord
from . import condition
from .filters import Filters
from .lanes import Keys, LaneVectors
from .mem0_history import MemoryHistory
from .payload import ANYONE, FOREIGN, Candidate, PointId, Row, from_payload, to_candidate
from .protocol import PAGE, LaneSearch, Memories, MemoryStore, Neighbour, Rows

PROVIDER = "contrib_ai_memory"  # of embeddings and language model, as Mem0 knows it

Points = list[Any]  # each with id, payload and, if it was searched for, score


class VectorStore(Protocol):
    """Mem0's vector-store interface, and the verbs that it lacks.

    Beyond Mem0's own adapters: `insert` overwrites known ids, `update` merges a payload without a
    vector into the stored one, and filters match values inside lists.
    """

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None: ...

    def update(
        self,
        vector_id: str,
        vector: Sequence[float] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None: ...

    def delete(self, vector_id: str) -> None: ...

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters = None
    ) -> Points: ...

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Sequence[float]],
        top_k: int = 1,
        filters: Filters = None,
    ) -> Sequence[Points]: ...

    def keyword_search(self, query: str, top_k: int = 5, filters: Filters = None) -> Points | None:
        """Return the best by their words; None if the store has no keyword search."""

    def list(self, filters: Filters = None, top_k: int | None = 100) -> Any:
        """Return up to `top_k` points that match (None: all): a list in a list, as Mem0 expects."""

    def get_many(self, ids: Sequence[str]) -> Points:
        """Return the points of `ids` that exist, in no particular order."""

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """Return the unit vectors of those `ids` that exist."""

    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Points, Any]:
        """Return up to `limit` points that match, by id, and the next page's offset or None."""

    def count(self, filters: Filters = None) -> int: ...

    def agents(self) -> dict[str, int]:
        """Return how many points each agent id has."""

    def close(self) -> None: ...


class Mem0Store(MemoryStore):
    """A store with one vector for each memory, and keyword search if its adapter has it."""

    _vectors: VectorStore

    def __init__(self, mem0: Any, provider: str):
        self.mem0 = mem0
        self.provider = provider
        self.history = MemoryHistory(mem0.db)
        self._vectors = mem0.vector_store

    # --- writing ------------------------------------------------------------------------------

    def upsert_rows(
        self,
        rows: Sequence[Row],
        vectors: np.ndarray,
        keys: Sequence[Keys | LaneVectors] | None = None,
    ) -> None:
        if not rows:
            return
        condition.check(conf.directory())
        ids, payloads = [each for each, _ in rows], [payload for _, payload in rows]
        self._vectors.insert(vectors=vectors.tolist(), payloads=payloads, ids=ids)

    def change(self, memory_id: str, **fields: Any) -> None:
        condition.check(conf.directory())
        if self._vectors.get_many([memory_id]):  # an update would bring a deleted one back
            self._vectors.update(vector_id=memory_id, vector=None, payload=fields)

    def delete(self, ids: Sequence[str]) -> None:
        condition.check(conf.directory())
        self.history.delete(ids)  # first: it is found by these ids alone
        for memory_id in ids:
            self._vectors.delete(memory_id)

    # --- reading ------------------------------------------------------------------------------

    def payloads(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        return {str(hit.id): hit.payload or {} for hit in self._vectors.get_many([*ids])}

    def vectors_of(self, memories: Sequence[MemoryRecord]) -> np.ndarray:
        stored = self._vectors.vectors_of([memory.id for memory in memories])
        return np.array([stored[memory.id] for memory in memories], dtype=np.float32)

    def rows(
        self, agent_id: str | None, offset: Any = None, limit: int = PAGE, **where: Any
    ) -> tuple[Rows, Any]:
        hits, offset = self._vectors.page(filters_of(agent_id, where), offset, limit)
        return [(str(hit.id), hit.payload) for hit in hits], offset

    def list(self, agent_id: str, limit: int | None = 100, **where: Any) -> Memories:
        foreign = where == {"record": FOREIGN}  # what other programs wrote bears no record of ours
        if foreign and self.count(agent_id, **where) < self.counts(agent_id)[FOREIGN]:
            return [each for each in self.list(agent_id, None) if each.record == FOREIGN][:limit]
        [hits] = self._vectors.list(filters_of(agent_id, where), limit)
        return [from_payload(hit.id, hit.payload) for hit in hits]

    def count(self, agent_id: str, **where: Any) -> int:
        return self._vectors.count(filters_of(agent_id, where))

    def agents(self) -> dict[str, int]:
        return self._vectors.agents()

    # --- searching ----------------------------------------------------------------------------

    def nearest_each(
        self, agent_id: str, vectors: Iterable[np.ndarray], limit: int, **where: Any
    ) -> Sequence[Sequence[Neighbour]]:
        asked = [vector.tolist() for vector in vectors]
        if not asked:
            return []
        filters = filters_of(agent_id, where)
        found = self._vectors.search_batch([""] * len(asked), asked, limit, filters)
        return [
            [Neighbour(from_payload(hit.id, hit.payload), hit.score) for hit in hits]
            for hits in found
        ]

    def prepare_search(self, agent_id: str, vector: np.ndarray, query: str) -> LaneSearch:
        return LaneSearch(agent_id, vector, query, {})

    def candidates(self, search: LaneSearch, limit: int, **where: Any) -> set[PointId]:
        filters = filters_of(search.agent_id, where)
        dense = self._vectors.search("", search.vector.tolist(), limit, filters)
        words = self._vectors.keyword_search(search.query, limit, filters) or []
        return {str(hit.id) for hit in [*dense, *words]}

    def score(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        """Return candidates; the vector scores both dense lanes, the words both keyword lanes."""
        hits = [
            hit
            for hit in self._vectors.get_many([str(each) for each in ids])
            if hit.payload.get("agent_id") == search.agent_id
        ]
        if not hits:
            return []
        vectors = self._vectors.vectors_of([str(hit.id) for hit in hits])
        filters = filters_of(search.agent_id, {})
        matches = self._vectors.keyword_search(search.query, len(ids), filters) or []
        words = {str(hit.id): hit.score for hit in matches}
        found = []
        for hit in hits:
            cosine = float(np.asarray(vectors[str(hit.id)], dtype=np.float32) @ search.vector)
            word = words.get(str(hit.id), 0.0)
            found.append(to_candidate(hit.id, hit.payload, (cosine, cosine, word, word)))
        return found

    def close(self) -> None:
        self._vectors.close()
        self.mem0.close()


def filters_of(agent_id: str | None, where: Mapping[str, Any]) -> dict[str, Any]:
    """Return Mem0's filters of what the protocol calls `where`."""
    filters = {name: value for name, value in where.items() if name != "listener"}
    if agent_id is not None:
        filters["agent_id"] = agent_id
    if listener := where.get("listener"):
        filters["audience"] = {"in": [ANYONE, listener]}
    return filters


def list_pages(
    page: Callable[[Filters, Any, int], tuple[Points, Any]],
    filters: Filters,
    top_k: int | None,
    at_once: int,
) -> list[Points]:
    """Implement `VectorStore.list` by `VectorStore.page`."""
    found: Points = []
    offset = None
    while top_k is None or len(found) < top_k:
        limit = at_once if top_k is None else min(at_once, top_k - len(found))
        hits, offset = page(filters, offset, limit)
        found += hits
        if offset is None:
            break
    return [found]


# --- what Mem0 makes by class path ----------------------------------------------------------------


class SharedEmbedding(EmbeddingBase):
    """Mem0's embedder interface over the process's own batched and cached embedder."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return embedder.shared().encode([text])[0].tolist()

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return embedder.shared().encode(texts).tolist()


class NoLLM(LLMBase):
    """No language model: facts come to Mem0 ready made (`infer=False`)."""

    def generate_response(self, messages: list[dict[str, str]], **kwargs: object) -> str:
        raise NotImplementedError(
            "Mem0 was asked to infer facts. This contrib extracts and reconciles them itself: "
            "use npc.memory, or Memory.add(..., infer=False)."
        )
