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

from .. import conf, offload
from . import condition, edge_keys, edge_rewriting
from .edge_filters import to_filter
from .edge_keys import LINE, NEAR, WIDE, WINDOW, WORD_LANES, words_query
from .errors import StoreInUse, StoreMismatch
from .keys import Keys
from .payload import LANES, PointId, Weighed, adopted
from .recent import RecentPayloads, number_of
from .vocabulary import Vocabulary

PROVIDER = "qdrant_edge"
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


class QdrantEdge(edge_rewriting.Rewritable, VectorStoreBase):
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
        self.path = edge_rewriting.current(Path(path), collection_name)
        self._vocabulary = Vocabulary(Path(path))
        self._recent = RecentPayloads(self._payloads)
        self._shard = self._open(lock_wait)
        edge_rewriting.note_current(self.path)
        self.finish_rewriting()

    # --- life of the collection -------------------------------------------------------------

    def _open(self, lock_wait: float) -> edge.EdgeShard:
        new = not any(self.path.glob("segments/*"))
        condition.check_room(self.path.parent)
        if new:
            condition.check_room(self.path.parent, conf.NEW_SHARD_BYTES)
            return self._create(self.path)
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

    def _create(self, path: Path) -> edge.EdgeShard:
        shard = self._create_bare(path)
        for name in edge_keys.INDEXED:
            edge_keys.add_index(shard, name)
        return shard

    def _create_bare(self, path: Path) -> edge.EdgeShard:
        path.mkdir(parents=True, exist_ok=True)
        dense = edge.EdgeVectorParams(
            size=self.embedding_model_dims,
            distance=edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Turbo8,  # a third of the time, a quarter of the
            # memory, and cosines right to 0.002 (docs/adr/012)
        )
        sparse = edge.EdgeSparseVectorParams()  # rarity is of a mind, and comes with the question
        return edge.EdgeShard.create(
            str(path),
            edge.EdgeConfig(
                vectors={LINE: dense, WINDOW: dense},
                sparse_vectors=dict.fromkeys(WORD_LANES, sparse),
            ),
        )

    def _update(self, operation: edge.UpdateOperation) -> None:
        """Every write into the shard, where there is room for it."""
        condition.check(self.path)
        self._free.update(operation)

    @property
    def _free(self) -> edge.EdgeShard:
        """The shard, for a call in which nothing else of the process runs."""
        offload.give_way()
        return self._shard

    def close(self) -> None:
        self.stop_rewriting()
        self._shard.close()

    def create_col(self, name: str, vector_size: int, distance: str = "cosine") -> None:
        """The collection is made when the store is opened; here for Mem0's interface."""

    def list_cols(self) -> list[str]:
        return [self.collection_name]

    def col_info(self) -> dict[str, Any]:
        info = self._free.info()
        return {"name": self.collection_name, "points_count": info.points_count}

    def delete_col(self) -> None:
        self._shard.close()
        shutil.rmtree(self.path)

    def reset(self) -> None:
        self.delete_col()
        self._recent.clear()
        self._shard = self._create(self.path)

    # --- writing ----------------------------------------------------------------------------

    def insert(
        self,
        vectors: list[list[float]],
        payloads: list[dict[str, Any]] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Insert or overwrite points that stand for themselves, as Mem0 does."""
        payloads = [dict(adopted(each)) for each in payloads or [{} for _ in vectors]]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        self.write(
            ids, payloads, [edge_keys.alone(*pair) for pair in zip(vectors, payloads, strict=True)]
        )
        for point_id, payload in zip(ids, payloads, strict=True):
            self.count_words(payload.get("agent_id", ""), {point_id: edge_keys.words_of(payload)})

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
        self._note(ids)
        self._update(edge.UpdateOperation.upsert_points(points))
        self._recent.keep(ids, payloads)

    def count_words(self, mind: str, words_of: Mapping[str, str]) -> None:
        """Count the words of one mind's memories, each memory once."""
        terms = {point_id: edge_keys.terms_of(words) for point_id, words in words_of.items()}
        self._vocabulary.count(mind, terms)

    def _note(self, ids: Sequence[str]) -> None:
        self._recent.forget(ids)
        super()._note(ids)

    def rekey(self, found_by: Mapping[str, Keys]) -> None:
        """Change the keys of points that are there; what they say stays as it is."""
        there = {str(record.id) for record in self._free.retrieve(list(found_by), False, False)}
        moved = [
            edge.PointVectors(point_id, edge_keys.vectors_of(key))
            for point_id, key in found_by.items()
            if point_id in there
        ]
        if moved:
            self._note(list(there))
            self._update(edge.UpdateOperation.update_vectors(moved))

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
            self._note([vector_id])
            self._update(edge.UpdateOperation.set_payload([vector_id], payload))
        elif vector is not None:
            self._note([vector_id])
            moved = edge.PointVectors(vector_id, {LINE: list(vector)})
            self._update(edge.UpdateOperation.update_vectors([moved]))

    def delete(self, vector_id: str) -> None:
        self._note([vector_id])
        self._update(edge.UpdateOperation.delete_points([vector_id]))

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
            for hit in self._free.query(request)
        ]

    def _word_queries(self, mind: str, query: str) -> dict[str, edge.Query]:
        terms = edge_keys.terms_of(query)
        reaches = {lane: reach for lane, (_weights, _average, reach) in WORD_LANES.items()}
        rarity = self._vocabulary.rarity(mind, terms, reaches.values())
        return {
            lane: words_query(of_lane, lane)
            for lane, of_lane in zip(reaches, rarity, strict=True)
            if of_lane
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
        requests = [
            edge.QueryRequest(limit=limit, query=lane, filter=where) for lane in lanes.values()
        ]
        found = self._free.query_batch(edge.QueryBatchRequest(requests))
        return {hit.id for hits in found for hit in hits}

    def weighed(self, lanes: Mapping[str, edge.Query], ids: Collection[PointId]) -> list[Weighed]:
        """Those of `ids` that exist: (id, payload, what each of `LANES` says of it, 0: no match).

        Every candidate is asked of in every lane: one that is missing among the best of a lane is
        not a bad one there, and taking it for one costs recall.
        """
        only = edge.Filter(must=[edge.HasIdCondition(set(ids))])
        requests = [
            edge.QueryRequest(limit=len(ids), query=lane, filter=only) for lane in lanes.values()
        ]
        hits = self._free.query_batch(edge.QueryBatchRequest(requests))
        scores = {
            name: {number_of(hit.id): hit.score for hit in of_lane}
            for name, of_lane in zip(lanes, hits, strict=True)
        }
        rows = [scores.get(name, {}) for name in LANES]
        return [
            (point_id, payload, [row.get(number, 0.0) for row in rows])
            for number, (point_id, payload) in self._recent.of(ids).items()
        ]

    def _payloads(self, ids: list[PointId]) -> list[tuple[PointId, dict[str, Any]]]:
        # apart from the query, because a query is slow to bring payloads
        records = self._free.retrieve(ids, with_payload=True, with_vector=False)
        return [(record.id, record.payload or {}) for record in records]

    def get(self, vector_id: str) -> Hit | None:
        found = self.get_many([vector_id])
        return found[0] if found else None

    def get_many(self, ids: list[str]) -> list[Hit]:
        """The points of `ids` that exist, in no set order."""
        records = self._free.retrieve(ids, with_payload=True, with_vector=False)
        return [Hit(id=str(record.id), payload=record.payload or {}) for record in records]

    def vectors_of(self, ids: list[str]) -> dict[str, list[float]]:
        """The dense vectors (unit length) of those `ids` that exist."""
        records = self._free.retrieve(ids, with_payload=False, with_vector=[LINE])
        return {str(record.id): record.vector for record in records}  # the unnamed one, bare

    def list(self, filters: dict | None = None, top_k: int | None = 100) -> list[list[Hit]]:
        """Up to `top_k` points that match (None: all), as Mem0 expects them: a list in a list."""
        found: list[Hit] = []
        offset = None
        while top_k is None or len(found) < top_k:
            limit = PAGE if top_k is None else min(PAGE, top_k - len(found))
            hits, offset = self.page(filters, offset, limit)
            found += hits
            if offset is None:
                break
        return [found]

    def page(self, filters: dict | None, offset: Any, limit: int) -> tuple[list[Hit], Any]:
        """Up to `limit` points that match, by id, and the offset of the next page or None."""
        where = to_filter(filters)
        records, offset = self._free.scroll(
            edge.ScrollRequest(offset=offset, limit=limit, filter=where, with_payload=True)
        )
        hits = [Hit(id=str(record.id), payload=record.payload or {}) for record in records]
        return hits, offset

    def count(self, filters: dict | None = None) -> int:
        return self._free.count(edge.CountRequest(filter=to_filter(filters), exact=True))
