"""A Mem0 vector store over Qdrant Edge: the real Qdrant engine, in process, with a write-ahead log.

Two dense and two BM25 sparse vectors live side by side (`keys`); `agent_id` and the other scoping
fields are indexed. What was acknowledged survives `kill -9`. One process at a time: the WAL is
locked. Not to be called on the reactor thread.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from mem0.vector_stores.base import VectorStoreBase
from pydantic import BaseModel, ConfigDict

from . import edge_keys
from .edge_filters import to_filter
from .edge_keys import LINE, NEAR, WIDE, WINDOW, WORD_LANES, words_query
from .errors import StoreInUse, StoreMismatch
from .keys import Keys
from .payload import PointId
from .vocabulary import Vocabulary

PROVIDER = "qdrant_edge"
INDEXED = (
    "agent_id",
    "user_id",
    "run_id",
    "record",
    "memory_type",
    "audience",
    "dominant_emotions",
    "tells",
)
PAGE = 1000  # points read in one scroll


class QdrantEdgeConfig(BaseModel):
    """What Mem0 hands to the store. `lock_wait` is how long a held lock is waited for, in s."""

    model_config = ConfigDict(extra="forbid")

    path: str
    collection_name: str = "memories"
    embedding_model_dims: int = 384
    lock_wait: float = 20.0


class Hit(BaseModel):
    """What Mem0 reads of a result: `id`, `score` (higher is nearer) and `payload`."""

    id: str
    score: float = 0.0
    payload: dict[str, Any]


class QdrantEdge(VectorStoreBase):
    """Qdrant Edge behind Mem0's vector-store interface, filters in Mem0's own language."""

    def __init__(
        self,
        path: str,
        collection_name: str = "memories",
        embedding_model_dims: int = 384,
        lock_wait: float = 20.0,
    ):
        self.collection_name = collection_name
        self.embedding_model_dims = embedding_model_dims
        self.path = Path(path) / collection_name
        self._vocabulary = Vocabulary(Path(path))
        self._shard = self._open(lock_wait)

    # --- life of the collection -------------------------------------------------------------

    def _open(self, lock_wait: float) -> edge.EdgeShard:
        if not any(self.path.glob("segments/*")):
            return self._create()
        deadline = time.monotonic() + lock_wait
        while True:
            try:
                return self._checked(edge.EdgeShard.load(str(self.path)))
            except StoreMismatch:
                raise
            except Exception as error:
                if "WouldBlock" not in str(error):
                    raise
                if time.monotonic() >= deadline:
                    raise StoreInUse(
                        f"Another process holds the memory store in {self.path}: most likely the "
                        "running game server. Stop it first (evennia stop), or work through it "
                        "from inside the game."
                    ) from None
                time.sleep(0.1)

    def forget_words(self, mind: str) -> None:
        """Forget which words one mind uses how often."""
        self._vocabulary.forget(mind)

    def _checked(self, shard: edge.EdgeShard) -> edge.EdgeShard:
        try:
            shard.query(edge.QueryRequest(limit=1, query=words_query({1: 1.0}, WIDE)))
        except Exception as error:
            shard.close()
            raise StoreMismatch(
                f"The memory store in {self.path} has another layout ({error}): it was written by "
                "another version of this contrib. Give this one a folder of its own with "
                'CONTRIB_AI_MEMORY["DIR"], or go back to the version that wrote it.'
            ) from error
        return shard

    def _create(self) -> edge.EdgeShard:
        self.path.mkdir(parents=True, exist_ok=True)
        dense = edge.EdgeVectorParams(size=self.embedding_model_dims, distance=edge.Distance.Cosine)
        sparse = edge.EdgeSparseVectorParams()  # rarity is of a mind, and comes with the question
        shard = edge.EdgeShard.create(
            str(self.path),
            edge.EdgeConfig(
                vectors={LINE: dense, WINDOW: dense},
                sparse_vectors=dict.fromkeys(WORD_LANES, sparse),
            ),
        )
        for name in INDEXED:
            shard.update(
                edge.UpdateOperation.create_field_index(name, edge.PayloadSchemaType.Keyword)
            )
        return shard

    def close(self) -> None:
        self._shard.close()

    def create_col(self, name: str, vector_size: int, distance: str = "cosine") -> None:
        """The collection is made when the store is opened; here for Mem0's interface."""

    def list_cols(self) -> list[str]:
        return [self.collection_name]

    def col_info(self) -> dict[str, Any]:
        info = self._shard.info()
        return {"name": self.collection_name, "points_count": info.points_count}

    def delete_col(self) -> None:
        self._shard.close()
        shutil.rmtree(self.path)

    def reset(self) -> None:
        self.delete_col()
        self._shard = self._create()

    # --- writing ----------------------------------------------------------------------------

    def insert(
        self,
        vectors: list[list[float]],
        payloads: list[dict[str, Any]] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Insert or overwrite points that stand for themselves, as Mem0 does."""
        payloads = payloads or [{} for _ in vectors]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        self.write(
            ids, payloads, [edge_keys.alone(*pair) for pair in zip(vectors, payloads, strict=True)]
        )

    def write(
        self, ids: Sequence[str], payloads: Sequence[dict[str, Any]], found_by: Sequence[Keys]
    ) -> None:
        """Insert or overwrite points with all their keys, in one acknowledged write."""
        points = [
            edge.Point(id=point_id, vector=edge_keys.vectors_of(key), payload=payload)
            for point_id, payload, key in zip(ids, payloads, found_by, strict=True)
        ]
        if not points:
            return
        self._shard.update(edge.UpdateOperation.upsert_points(points))
        terms: dict[str, dict[str, list[int]]] = {}
        for point_id, payload in zip(ids, payloads, strict=True):
            words = edge_keys.terms_of(edge_keys.words_of(payload))
            terms.setdefault(payload.get("agent_id", ""), {})[point_id] = words
        for mind, of_mind in terms.items():
            self._vocabulary.count(mind, of_mind)

    def rekey(self, found_by: Mapping[str, Keys]) -> None:
        """Change the keys of points that are there; what they say stays as it is."""
        there = {str(record.id) for record in self._shard.retrieve(list(found_by), False, False)}
        moved = [
            edge.PointVectors(point_id, edge_keys.vectors_of(key))
            for point_id, key in found_by.items()
            if point_id in there
        ]
        if moved:
            self._shard.update(edge.UpdateOperation.update_vectors(moved))

    def update(
        self,
        vector_id: str,
        vector: list[float] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        """Change a point. A payload alone is merged into what is there, and nothing re-embedded."""
        if vector is not None and payload is not None:
            self.insert([vector], [payload], [vector_id])
        elif payload is not None:
            self._shard.update(edge.UpdateOperation.set_payload([vector_id], payload))
        elif vector is not None:
            moved = edge.PointVectors(vector_id, {LINE: list(vector)})
            self._shard.update(edge.UpdateOperation.update_vectors([moved]))

    def delete(self, vector_id: str) -> None:
        self._shard.update(edge.UpdateOperation.delete_points([vector_id]))

    def delete_where(self, filters: dict[str, Any]) -> None:
        """Delete every point that the filters match, in one write."""
        self._shard.update(edge.UpdateOperation.delete_points_by_filter(to_filter(filters)))

    # --- reading ----------------------------------------------------------------------------

    def search(
        self, query: str, vectors: list[float], top_k: int = 5, filters: dict | None = None
    ) -> list[Hit]:
        """The `top_k` nearest by cosine similarity, best first."""
        return self._query(edge.Query.Nearest(list(vectors)), top_k, filters)

    def keyword_search(self, query: str, top_k: int = 5, filters: dict | None = None) -> list[Hit]:
        """The `top_k` best by BM25 (a sum of term scores, no upper bound), best first."""
        mind = str((filters or {}).get("agent_id", ""))
        lanes = self._word_queries(mind, query)
        return self._query(lanes[NEAR], top_k, filters) if lanes else []

    def _query(self, query: edge.Query, top_k: int, filters: dict | None) -> list[Hit]:
        request = edge.QueryRequest(
            limit=top_k, query=query, filter=to_filter(filters), with_payload=True
        )
        return [
            Hit(id=str(hit.id), score=hit.score, payload=hit.payload or {})
            for hit in self._shard.query(request)
        ]

    def _word_queries(self, mind: str, query: str) -> dict[str, edge.Query]:
        terms = edge_keys.terms_of(query)
        return {
            lane: words_query(self._vocabulary.rarity(mind, terms, reach), lane)
            for lane, (_weights, _average, reach) in WORD_LANES.items()
            if terms
        }

    def lanes(self, mind: str, vector: np.ndarray, query: str) -> dict[str, edge.Query]:
        """A question of one mind in every lane: line, window, and near and wide if it has words."""
        dense = vector.tolist()
        nearest = edge.Query.Nearest
        both = {"line": nearest(dense), WINDOW: nearest(dense, using=WINDOW)}
        return both | self._word_queries(mind, query)

    def candidates(
        self, lanes: Mapping[str, edge.Query], limit: int, filters: dict | None
    ) -> set[PointId]:
        """The ids of the `limit` best of each lane: up to four times as many points."""
        where = to_filter(filters)
        found: set[PointId] = set()
        for lane in lanes.values():
            request = edge.QueryRequest(limit=limit, query=lane, filter=where)
            found.update([hit.id for hit in self._shard.query(request)])
        return found

    def lane_scores(
        self, lanes: Mapping[str, edge.Query], ids: Collection[PointId]
    ) -> dict[str, dict[PointId, float]]:
        """What each lane says of these points: {lane: {id: cosine or BM25}}; no match is left out.

        Every candidate is asked of in every lane: one that is missing among the best of a lane is
        not a bad one there, and taking it for one costs recall.
        """
        only = edge.Filter(must=[edge.HasIdCondition(set(ids))])
        return {
            name: {
                hit.id: hit.score
                for hit in self._shard.query(
                    edge.QueryRequest(limit=len(ids), query=lane, filter=only)
                )
            }
            for name, lane in lanes.items()
        }

    def payloads(
        self, ids: Collection[PointId], fields: Sequence[str]
    ) -> dict[PointId, dict[str, Any]]:
        """Some payload fields of those of `ids` that exist."""
        records = self._shard.retrieve(list(ids), with_payload=list(fields), with_vector=False)
        return {record.id: record.payload or {} for record in records}

    def get(self, vector_id: str) -> Hit | None:
        found = self.get_many([vector_id])
        return found[0] if found else None

    def get_many(self, ids: list[str]) -> list[Hit]:
        """The points of `ids` that exist, in no set order."""
        records = self._shard.retrieve(ids, with_payload=True, with_vector=False)
        return [Hit(id=str(record.id), payload=record.payload or {}) for record in records]

    def vectors_of(self, ids: list[str]) -> dict[str, list[float]]:
        """The dense vectors (unit length) of those `ids` that exist."""
        records = self._shard.retrieve(ids, with_payload=False, with_vector=[LINE])
        return {str(record.id): record.vector for record in records}  # the unnamed one, bare

    def list(self, filters: dict | None = None, top_k: int | None = 100) -> list[list[Hit]]:
        """Up to `top_k` points that match (None: all), as Mem0 expects them: a list in a list."""
        found: list[Hit] = []
        offset = None
        while top_k is None or len(found) < top_k:
            limit = PAGE if top_k is None else min(PAGE, top_k - len(found))
            records, offset = self._shard.scroll(
                edge.ScrollRequest(
                    offset=offset, limit=limit, filter=to_filter(filters), with_payload=True
                )
            )
            found += [Hit(id=str(record.id), payload=record.payload or {}) for record in records]
            if offset is None:
                break
        return [found]

    def count(self, filters: dict | None = None) -> int:
        return self._shard.count(edge.CountRequest(filter=to_filter(filters), exact=True))
