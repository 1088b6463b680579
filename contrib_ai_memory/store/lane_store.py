"""What the stores with search lanes have in common: Qdrant Edge in process (`qdrant_edge`), Qdrant
servers (`qdrant_server`) and PostgreSQL (`pgvector`).

`LaneStore` is the store of memories. `LaneVectorStore` is the Mem0 vector store below it: points
with a vector for each search lane (`lanes`), two dense and two sparse ones side by side, and
payloads with `agent_id` and other fields indexed (`payload.INDEXED_FIELDS`). How rare a word is,
the query side of the sparse lanes, is counted for each NPC in a file of the game
(`lanes.Vocabulary`).
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mem0.vector_stores.base import VectorStoreBase
from pydantic import BaseModel

from .. import conf
from ..records import MemoryRecord
from . import condition
from .filters import Filters
from .lanes import (
    LINE,
    NEAR,
    WINDOW,
    WORD_LANES,
    Keys,
    LaneVectors,
    Vocabulary,
    WordCounts,
    keys_of_one,
    terms_of,
)
from .mem0_store import Mem0Store, filters_of, list_pages
from .payload import (
    FOREIGN,
    OF_NIGHTS,
    RECORDS,
    Candidate,
    PointId,
    Row,
    completed,
    from_payload,
)
from .protocol import LaneSearch, Memories

PAGE = 1000  # points read in one scroll
VALUES_AT_MOST = 100_000  # of one field: agent ids


class LaneStore(Mem0Store):
    """A memory store with every search lane."""

    scoped = True
    _vectors: LaneVectorStore

    # --- writing ------------------------------------------------------------------------------

    def upsert_rows(
        self,
        rows: Sequence[Row],
        vectors: np.ndarray,
        keys: Sequence[Keys | LaneVectors] | None = None,
    ) -> None:
        ids, payloads = [each for each, _ in rows], [payload for _, payload in rows]
        self._vectors.write(ids, payloads, keys or list(map(keys_of, payloads, vectors)))

    def change(self, memory_id: str, **fields: Any) -> None:
        self._vectors.change_payloads({memory_id: fields})

    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        self._vectors.change_payloads(changes)

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        if keys:
            self._vectors.rekey(keys)

    def delete(self, ids: Sequence[str]) -> None:
        condition.check_writable(conf.directory())
        self.history.delete(ids)  # first: it is found by these ids alone
        self._vectors.delete_many(ids)

    def count_words(self, agent_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Count words, but not those of facts, summaries and insights.

        They retell lines: the words of a subject that is retold often would count as common, and
        the scores of its lines would change.
        """
        words = {each.id: each.words for each in memories if each.record not in OF_NIGHTS}
        self._vectors.count_words(agent_id, words)

    def forget_words(self, agent_id: str) -> None:
        self._vectors.forget_words(agent_id)

    def replace_word_counts(self, agent_id: str, counts: WordCounts) -> None:
        self._vectors.replace_word_counts(agent_id, counts)

    # --- reading ------------------------------------------------------------------------------

    def existing(self, ids: Collection[str]) -> set[str]:
        return self._vectors.existing(ids)

    def lane_vectors(self, ids: Collection[str]) -> Mapping[str, LaneVectors]:
        return self._vectors.lane_vectors(ids)

    def word_counts(self, agent_id: str) -> WordCounts:
        return self._vectors.word_counts(agent_id)

    def newest(self, agent_id: str, record: str, limit: int) -> Memories:
        if record != FOREIGN:
            hits = self._vectors.newest({"agent_id": agent_id, "record": record}, limit)
            if len(hits) == limit:
                return [from_payload(hit.id, hit.payload) for hit in hits]
        return super().newest(agent_id, record, limit)  # few, or without a time

    def counts(self, agent_id: str) -> dict[str, int]:
        found = self._vectors.facet("record", {"agent_id": agent_id})
        counts = {kind: found.get(kind, 0) for kind in RECORDS}
        counts[FOREIGN] += self.count(agent_id) - sum(counts.values())  # they bear no record
        return counts

    def prepare_search(self, agent_id: str, vector: np.ndarray, query: str) -> LaneSearch:
        return LaneSearch(
            agent_id, vector, query, self._vectors.lane_queries(agent_id, vector, query)
        )

    def candidates(self, search: LaneSearch, limit: int, **where: Any) -> set[PointId]:
        return self._vectors.candidates(search.queries, limit, filters_of(search.agent_id, where))

    def score(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        found = self._vectors.score(search.queries, ids) if ids else []
        return [each for each in found if each.payload.get("agent_id") == search.agent_id]


def keys_of(payload: Mapping[str, Any], vector: np.ndarray) -> Keys:
    """Return the keys of a memory that stands for itself."""
    return keys_of_one(vector, _words_of(completed(payload)))


def _words_of(payload: Mapping[str, Any]) -> str:
    """Return the words of a complete payload: `MemoryRecord.words`."""
    return payload.get("text_lemmatized") or payload.get("data") or ""


# --- the vector store -----------------------------------------------------------------------------


class Hit(BaseModel):
    """A result in the form that Mem0 reads; a higher `score` is nearer."""

    id: str
    score: float = 0.0
    payload: dict[str, Any]


Hits = list[Hit]


class LaneVectorStore(VectorStoreBase):
    """Points of a Qdrant engine behind Mem0's vector-store interface.

    Filters are in Mem0's own language. Subclasses make the engine's calls, and its queries: `Any`
    in `_nearest`, `_by_words` and whatever takes them.

    Args:
        folder: Of the file in which words are counted.
    """

    line_vector = LINE  # the name of that lane's vector; the other lanes' are called as they are

    def __init__(self, folder: Path, collection_name: str, embedding_model_dims: int):
        self.collection_name = collection_name
        self.embedding_model_dims = embedding_model_dims
        self._vocabulary = Vocabulary(folder)

    # --- what an engine does ----------------------------------------------------------------

    @abstractmethod
    def write(
        self,
        ids: Sequence[str],
        payloads: Sequence[dict[str, Any]],
        found_by: Sequence[Keys | LaneVectors],
    ) -> None:
        """Insert or overwrite points with all their keys."""

    @abstractmethod
    def change_payloads(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Merge fields into the payloads of those points (id → fields) that exist."""

    @abstractmethod
    def change_vectors(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace vectors, by name, of points that exist."""

    @abstractmethod
    def delete_many(self, ids: Sequence[str]) -> None:
        """Delete those of `ids` that exist."""

    @abstractmethod
    def existing(self, ids: Collection[str]) -> set[str]:
        """Return those of `ids` that exist."""

    @abstractmethod
    def get_many(self, ids: Sequence[str]) -> Hits:
        """Return the points of `ids` that exist, in no particular order."""

    @abstractmethod
    def lane_vectors(self, ids: Collection[str]) -> dict[str, LaneVectors]:
        """Return the vectors of every lane of those `ids` that exist."""

    @abstractmethod
    def candidates(self, queries: Mapping[str, Any], limit: int, filters: Filters) -> set[PointId]:
        """Return the ids of the `limit` best of each lane, up to four times as many."""

    @abstractmethod
    def score(self, queries: Mapping[str, Any], ids: Collection[PointId]) -> Sequence[Candidate]:
        """Return those of `ids` that exist, with their score in each lane (0 for no match).

        Every candidate is scored in every lane: one that is not among the best of a lane may still
        be good there, and counting it as 0 costs recall.
        """

    @abstractmethod
    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Hits, Any]:
        """Return up to `limit` points that match, by id, and the next page's offset or None."""

    @abstractmethod
    def newest(self, filters: Filters, limit: int) -> Hits:
        """Return up to `limit` points that match and have a time of creation, newest first."""

    @abstractmethod
    def count(self, filters: Filters = None) -> int: ...

    @abstractmethod
    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        """Return how many points that match have each value of an indexed field."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _nearest(self, vector: list[float], lane: str) -> Any:
        """Return the query for the points nearest to a vector in one lane."""

    @abstractmethod
    def _by_words(self, rarity: Mapping[int, float], lane: str) -> Any:
        """Return BM25's query side in one lane: every term by how rare it is."""

    @abstractmethod
    def _sparse(self, values: Mapping[int, float]) -> Any:
        """Return a sparse vector."""

    @abstractmethod
    def _query_each(self, queries: Sequence[Any], top_k: int, filters: Filters) -> list[Hits]:
        """Return the `top_k` best of each query, best first."""

    # --- writing ----------------------------------------------------------------------------

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Insert or overwrite points that stand for themselves, as Mem0 does."""
        whole = [dict(completed(each)) for each in payloads or [{} for _ in vectors]]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        self.write(ids, whole, list(map(keys_of, whole, np.asarray(vectors, dtype=np.float32))))
        for point_id, payload in zip(ids, whole, strict=True):
            self.count_words(payload.get("agent_id", ""), {point_id: _words_of(payload)})

    def rekey(self, found_by: Mapping[str, Keys]) -> None:
        """Change the keys of points that exist; their payloads stay."""
        there = self.existing(found_by.keys())
        moved = {each: self.vectors_by_name(found_by[each]) for each in found_by if each in there}
        if moved:
            self.change_vectors(moved)

    def update(
        self,
        vector_id: str,
        vector: Sequence[float] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        """Change a point. A payload alone is merged into the stored one; its vectors stay."""
        if vector is not None and payload is not None:
            self.insert([vector], [payload], [vector_id])
        elif payload is not None:
            self.change_payloads({vector_id: payload})
        elif vector is not None:
            self.change_vectors({vector_id: {self.line_vector: list(vector)}})

    def delete(self, vector_id: str) -> None:
        self.delete_many([vector_id])

    def vectors_by_name(self, key: Keys | LaneVectors) -> dict[str, Any]:
        """Return the keys of a memory by the names of their vectors."""
        of = key.vectors() if isinstance(key, Keys) else key
        named: dict[str, Any] = {self.line_vector: of.line.tolist(), WINDOW: of.window.tolist()}
        return named | {lane: self._sparse(each) for lane, each in of.words.items() if each}

    def to_lane_vectors(self, named: Mapping[str, Any]) -> LaneVectors:
        """Return the keys of a memory from the vectors of its point: `vectors_by_name` undone."""
        words = {
            lane: dict(zip(named[lane].indices, named[lane].values, strict=True))
            for lane in WORD_LANES
            if lane in named
        }
        line = np.asarray(named[self.line_vector], dtype=np.float32)
        return LaneVectors(line, np.asarray(named[WINDOW], dtype=np.float32), words)

    def count_words(self, agent_id: str, words_of: Mapping[str, str]) -> None:
        """Count the words of an NPC's memories (id → words), each memory once."""
        terms = {point_id: terms_of(words) for point_id, words in words_of.items()}
        self._vocabulary.count(agent_id, terms)

    def forget_words(self, agent_id: str) -> None:
        self._vocabulary.forget(agent_id)

    def word_counts(self, agent_id: str) -> WordCounts:
        return self._vocabulary.counts(agent_id)

    def replace_word_counts(self, agent_id: str, counts: WordCounts) -> None:
        self._vocabulary.replace(agent_id, counts)

    # --- reading ----------------------------------------------------------------------------

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters = None
    ) -> Hits:
        """Return the `top_k` nearest by cosine similarity, best first."""
        return self.search_batch([query], [vectors], top_k, filters)[0]

    def search_batch(
        self,
        queries: Sequence[str],
        vectors_list: Sequence[Sequence[float]],
        top_k: int = 1,
        filters: Filters = None,
    ) -> list[Hits]:
        """Return the `top_k` nearest of each by cosine similarity, best first."""
        nearest = [self._nearest(list(vector), LINE) for vector in vectors_list]
        return self._query_each(nearest, top_k, filters)

    def keyword_search(self, query: str, top_k: int = 5, filters: Filters = None) -> Hits:
        """Return the `top_k` best by BM25 (a sum of term scores, no upper bound), best first."""
        agent_id = str((filters or {}).get("agent_id", ""))
        queries = self._word_queries(agent_id, query)
        return self._query_each([queries[NEAR]], top_k, filters)[0] if queries else []

    def lane_queries(self, agent_id: str, vector: np.ndarray, query: str) -> dict[str, Any]:
        """Return the query for each lane; none for the word lanes if all words are stop words."""
        dense = vector.tolist()
        both = {lane: self._nearest(dense, lane) for lane in (LINE, WINDOW)}
        return both | self._word_queries(agent_id, query)

    def _word_queries(self, agent_id: str, query: str) -> dict[str, Any]:
        reaches = [lane.reach for lane in WORD_LANES.values()]
        rarity = self._vocabulary.rarity(agent_id, terms_of(query), reaches)
        return {
            lane: self._by_words(of_terms, lane)
            for lane, of_terms in zip(WORD_LANES, rarity, strict=True)
            if of_terms
        }

    def get(self, vector_id: str) -> Hit | None:
        found = self.get_many([vector_id])
        return found[0] if found else None

    def agents(self) -> dict[str, int]:
        """Return how many points each agent id has."""
        return self.facet("agent_id")

    def list(self, filters: Filters = None, top_k: int | None = 100) -> list[Hits]:
        """Return up to `top_k` points that match (None: all): a list in a list, as Mem0 expects."""
        return list_pages(self.page, filters, top_k, PAGE)
