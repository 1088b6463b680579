"""A Mem0 vector store over Qdrant Edge: the real Qdrant engine, in process, with a write-ahead log.

Dense vectors and BM25 sparse vectors live side by side; `agent_id` and the other scoping fields
are indexed. What was acknowledged survives `kill -9`. One process at a time: the WAL is locked.
Not to be called on the reactor thread.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from mem0.vector_stores.base import VectorStoreBase
from pydantic import BaseModel, ConfigDict

from .errors import StoreInUse

PROVIDER = "qdrant_edge"
DENSE = ""
BM25 = "bm25"
BM25_AVERAGE_WORDS = 16.0  # a line of talk, stop words out; Qdrant's default of 256 is for pages
INDEXED = ("agent_id", "user_id", "run_id", "record", "memory_type", "audience")
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
        self._words = edge.Bm25(edge.Bm25Config(avg_len=BM25_AVERAGE_WORDS, ascii_folding=True))
        self._shard = self._open(lock_wait)

    # --- life of the collection -------------------------------------------------------------

    def _open(self, lock_wait: float) -> edge.EdgeShard:
        if not any(self.path.glob("segments/*")):
            return self._create()
        deadline = time.monotonic() + lock_wait
        while True:
            try:
                return edge.EdgeShard.load(str(self.path))
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

    def _create(self) -> edge.EdgeShard:
        self.path.mkdir(parents=True, exist_ok=True)
        shard = edge.EdgeShard.create(
            str(self.path),
            edge.EdgeConfig(
                vectors=edge.EdgeVectorParams(
                    size=self.embedding_model_dims, distance=edge.Distance.Cosine
                ),
                sparse_vectors={BM25: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
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
        """Insert or overwrite points, in one acknowledged write."""
        payloads = payloads or [{} for _ in vectors]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        points = [
            edge.Point(id=point_id, vector=self._vectors(vector, payload), payload=payload)
            for point_id, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]
        self._shard.update(edge.UpdateOperation.upsert_points(points))

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
            moved = edge.PointVectors(vector_id, {DENSE: list(vector)})
            self._shard.update(edge.UpdateOperation.update_vectors([moved]))

    def delete(self, vector_id: str) -> None:
        self._shard.update(edge.UpdateOperation.delete_points([vector_id]))

    def delete_where(self, filters: dict[str, Any]) -> None:
        """Delete every point that the filters match, in one write."""
        self._shard.update(edge.UpdateOperation.delete_points_by_filter(to_filter(filters)))

    def _vectors(self, dense: Iterable[float], payload: dict[str, Any]) -> dict[str, Any]:
        text = payload.get("text_lemmatized") or payload.get("data") or ""
        vectors: dict[str, Any] = {DENSE: list(dense)}
        sparse = self._words.embed_document(text)
        if sparse.indices:
            vectors[BM25] = sparse
        return vectors

    # --- reading ----------------------------------------------------------------------------

    def search(
        self, query: str, vectors: list[float], top_k: int = 5, filters: dict | None = None
    ) -> list[Hit]:
        """The `top_k` nearest by cosine similarity, best first."""
        return self._query(edge.Query.Nearest(list(vectors)), top_k, filters)

    def keyword_search(self, query: str, top_k: int = 5, filters: dict | None = None) -> list[Hit]:
        """The `top_k` best by BM25 (a sum of term scores, no upper bound), best first."""
        sparse = self._words.embed_query(query)
        if not sparse.indices:
            return []
        return self._query(edge.Query.Nearest(sparse, using=BM25), top_k, filters)

    def _query(self, query: edge.Query, top_k: int, filters: dict | None) -> list[Hit]:
        request = edge.QueryRequest(
            limit=top_k, query=query, filter=to_filter(filters), with_payload=True
        )
        return [
            Hit(id=str(hit.id), score=hit.score, payload=hit.payload or {})
            for hit in self._shard.query(request)
        ]

    def get(self, vector_id: str) -> Hit | None:
        found = self.get_many([vector_id])
        return found[0] if found else None

    def get_many(self, ids: list[str]) -> list[Hit]:
        """The points of `ids` that exist, in no set order."""
        records = self._shard.retrieve(ids, with_payload=True, with_vector=False)
        return [Hit(id=str(record.id), payload=record.payload or {}) for record in records]

    def vectors_of(self, ids: list[str]) -> dict[str, list[float]]:
        """The dense vectors (unit length) of those `ids` that exist."""
        records = self._shard.retrieve(ids, with_payload=False, with_vector=True)
        return {str(record.id): record.vector[DENSE] for record in records}

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


# --- Mem0's filter language -------------------------------------------------------------------

_RANGE = {"gt", "gte", "lt", "lte"}
_JOINS = {"AND": "must", "OR": "should", "NOT": "must_not"}


def to_filter(filters: dict[str, Any] | None) -> edge.Filter | None:
    """Mem0's filters (equality, lists, operators, AND / OR / NOT) as one Qdrant filter.

    Raises:
        ValueError: An operator that Mem0's language does not have.
    """
    parts: dict[str, list] = {"must": [], "should": [], "must_not": []}
    for key, value in (filters or {}).items():
        join = _JOINS.get(key.removeprefix("$").upper())
        if join:
            parts[join] += [built for built in map(to_filter, value) if built]
        elif value != "*":
            parts["must"].append(_condition(key, value))
    if not any(parts.values()):
        return None
    return edge.Filter(**{name: conditions or None for name, conditions in parts.items()})


def _condition(key: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return edge.FieldCondition(key=key, match=edge.MatchAny(list(value)))
    if isinstance(value, bool):
        raise ValueError(
            f"filter {key!r}: {value!r}: Edge matches no booleans; filter what it gives"
        )
    if not isinstance(value, dict):
        return edge.FieldCondition(key=key, match=edge.MatchValue(value))
    if value and set(value) <= _RANGE:
        return edge.FieldCondition(key=key, range=_range(value))
    if len(value) == 1:
        (operator, operand), *_ = value.items()
        if operator in _OPERATORS:
            return edge.FieldCondition(key=key, match=_OPERATORS[operator](operand))
    known = ", ".join(sorted(_RANGE | set(_OPERATORS)))
    raise ValueError(f"filter {key!r}: {value!r} is not one of Mem0's operators ({known})")


def _range(value: dict[str, Any]) -> Any:
    dates = any(isinstance(bound, str) for bound in value.values())
    return edge.RangeDateTime(**value) if dates else edge.RangeFloat(**value)


_OPERATORS: dict[str, Callable[[Any], Any]] = {
    "eq": edge.MatchValue,
    "ne": lambda operand: edge.MatchExcept([operand]),
    "in": lambda operand: edge.MatchAny(list(operand)),
    "nin": lambda operand: edge.MatchExcept(list(operand)),
    "contains": edge.MatchText,
    "icontains": edge.MatchText,
}
