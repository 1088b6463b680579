"""The default memory store: Qdrant Edge, the real Qdrant engine in process, with a write-ahead log.

`EdgeStore` is the store of memories. `QdrantEdge` is the Mem0 vector store below it: points with
two dense and two BM25 sparse vectors side by side (`keys`), indexed by `agent_id` and other payload
fields. What was acknowledged survives `kill -9`. One process at a time: the write-ahead log is
locked. Worker thread only.

Qdrant marks what is deleted and keeps its bytes: in the write-ahead log, in the pages of payloads
and of keyword indexes. `Rewriting` copies what is left, a part at a time, into a new folder that
then takes the place of the old one: `memories`, `memories.1`, `memories.2` … The last complete
one counts. A file beside them, `current`, names it: where newer folders lie beside files that were
restored from a backup, the restored ones count. An interrupted rewriting is begun again when the
store is opened next.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from mem0.vector_stores.base import VectorStoreBase
from pydantic import BaseModel, ConfigDict

from .. import atomic_file, conf, offload
from ..log import logger
from ..records import MemoryRecord
from . import condition, keys, metadata
from .errors import StoreFull, StoreInUse, StoreMismatch
from .keys import Keys
from .mem0_store import Filters, Mem0Store, filters_of, list_pages
from .payload import (
    FOREIGN,
    LANES,
    OF_NIGHTS,
    Candidate,
    PointId,
    Row,
    Weighed,
    adopted,
    from_payload,
    to_candidate,
)
from .protocol import LaneSearch, Memories, Remake
from .vocabulary import Vocabulary

PAGE = 1000  # points read in one scroll
AGENTS_AT_MOST = 100_000

LINE, WINDOW, NEAR, WIDE = "", "window", "near", "wide"  # vectors; Mem0 knows the unnamed one

# BM25 over counts that are weighted by distance: (weights, average length, reach of its rarity),
# fitted with the rest
K1, B = 1.2, 0.75
WORD_LANES = {NEAR: (keys.NEAR, 40.0, 5.0), WIDE: (keys.WIDE, 220.0, 10.0)}

# payload fields that Qdrant indexes
INDEXED = dict.fromkeys(
    "agent_id user_id run_id record memory_type audience dominant_emotions tells".split(),
    edge.PayloadSchemaType.Keyword,
) | {"created_at": edge.PayloadSchemaType.Datetime}

# b = 0: the value of a term tells how often it came, and the lengths are counted here
_TOKENIZER = edge.Bm25(edge.Bm25Config(k=K1, b=0.0, avg_len=16.0, ascii_folding=True))


class EdgeStore(Mem0Store):
    """A memory store with every lane: the vectors of line and window, near and wide words."""

    _vectors: QdrantEdge

    # --- writing ------------------------------------------------------------------------------

    def write(
        self, rows: Sequence[Row], vectors: np.ndarray, keys: Sequence[Keys] | None = None
    ) -> None:
        if not rows:
            return
        condition.check(conf.directory())
        found_by = keys or list(map(keys_of, rows, vectors))
        self._vectors.write([each for each, _ in rows], [payload for _, payload in rows], found_by)

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        if keys:
            self._vectors.rekey(keys)

    def count_words(self, agent_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Leave out what nights retell: it would make common what is told of most, and move the
        scores of the lines that it was drawn from."""
        words = {each.id: each.words for each in memories if each.record not in OF_NIGHTS}
        self._vectors.count_words(agent_id, words)

    def forget_words(self, agent_id: str) -> None:
        self._vectors.forget_words(agent_id)

    # --- reading ------------------------------------------------------------------------------

    def newest(self, agent_id: str, record: str, limit: int) -> Memories:
        if record != FOREIGN:
            hits = self._vectors.newest({"agent_id": agent_id, "record": record}, limit)
            if len(hits) == limit:
                return [from_payload(hit.id, hit.payload) for hit in hits]
        return super().newest(agent_id, record, limit)  # few, or without a time

    def search(self, agent_id: str, vector: np.ndarray, query: str) -> LaneSearch:
        return LaneSearch(agent_id, vector, query, self._vectors.lanes(agent_id, vector, query))

    def candidates(self, search: LaneSearch, limit: int, **where: Any) -> set[PointId]:
        return self._vectors.candidates(search.lanes, limit, filters_of(search.agent_id, where))

    def weighed(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        if not ids:
            return []
        return [
            to_candidate(each, payload, scores)
            for each, payload, scores in self._vectors.weighed(search.lanes, ids)
            if payload["agent_id"] == search.agent_id
        ]

    # --- files --------------------------------------------------------------------------------

    def begin_rewriting(self, remake: Remake | None = None) -> bool:
        self._vectors.begin_rewriting(remake)
        return True

    def rewrite_some(self) -> bool:
        done = self._vectors.rewrite_some()
        if done:
            metadata.note_total(conf.directory(), self.total())
        return done

    def optimize(self) -> None:
        self._vectors.optimize()

    def total(self) -> int | None:
        return self._vectors.count()


def keys_of(row: Row, vector: np.ndarray) -> Keys:
    """Return the keys of a memory that stands for itself."""
    return keys.alone(vector, from_payload(*row).words)


# --- the vector store -----------------------------------------------------------------------------


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


Hits = list[Hit]


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
        self.path = current(Path(path), collection_name)
        self._rewriting: Rewriting | None = None
        self._vocabulary = Vocabulary(Path(path))
        self._recent = RecentPayloads(self._payloads)
        self._shard = self._open(lock_wait)
        note_current(self.path)
        self._finish_rewriting()

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

    def _checked(self, shard: edge.EdgeShard) -> edge.EdgeShard:
        try:
            shard.query(edge.QueryRequest(limit=1, query=_words_query({1: 1.0}, WIDE)))
        except Exception as error:
            shard.close()
            raise StoreMismatch(
                f"The memory store in {self.path} has another layout ({error}): it was written by "
                "another version of this contrib. Give this one a folder of its own with "
                'CONTRIB_AI_MEMORY["DIR"], or go back to the version that wrote it.'
            ) from error
        for name in INDEXED.keys() - shard.info().payload_schema.keys():
            add_index(shard, name)
        return shard

    def _create(self, path: Path) -> edge.EdgeShard:
        shard = self._create_bare(path)
        for name in INDEXED:
            add_index(shard, name)
        return shard

    def _create_bare(self, path: Path) -> edge.EdgeShard:
        path.mkdir(parents=True, exist_ok=True)
        dense = edge.EdgeVectorParams(
            size=self.embedding_model_dims,
            distance=edge.Distance.Cosine,
            datatype=edge.VectorStorageDatatype.Turbo8,  # a third of the time, a quarter of the
            # memory, and cosines right to 0.002 (docs/adr/012)
        )
        sparse = edge.EdgeSparseVectorParams()  # rarity is counted per NPC and comes with the query
        return edge.EdgeShard.create(
            str(path),
            edge.EdgeConfig(
                vectors={LINE: dense, WINDOW: dense},
                sparse_vectors=dict.fromkeys(WORD_LANES, sparse),
            ),
        )

    def _update(self, operation: edge.UpdateOperation) -> None:
        """Write into the shard, if there is room."""
        condition.check(self.path)
        self._free.update(operation)

    @property
    def _free(self) -> edge.EdgeShard:
        """The shard, for a call that holds the GIL: the reactor goes first."""
        offload.give_way()
        return self._shard

    def optimize(self) -> bool:
        """Index what is not indexed; holds the GIL for seconds."""
        return self._shard.optimize()

    def close(self) -> None:
        self._stop_rewriting()
        self._shard.close()

    def create_col(self, name: str, vector_size: int, distance: str = "cosine") -> None:
        """Do nothing, as the collection is made when the store is opened; Mem0 requires it."""

    def list_cols(self) -> Sequence[str]:
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
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Insert or overwrite points that stand for themselves, as Mem0 does."""
        completed = [dict(adopted(each)) for each in payloads or [{} for _ in vectors]]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        self.write(ids, completed, list(map(_keys_of_point, vectors, completed)))
        for point_id, payload in zip(ids, completed, strict=True):
            self.count_words(payload.get("agent_id", ""), {point_id: _words_of(payload)})

    def write(
        self, ids: Sequence[str], payloads: Sequence[dict[str, Any]], found_by: Sequence[Keys]
    ) -> None:
        """Insert or overwrite points with all their keys, in one acknowledged write."""
        points = [
            edge.Point(id=point_id, vector=vectors_of(key), payload=payload)
            for point_id, payload, key in zip(ids, payloads, found_by, strict=True)
        ]
        if not points:
            return
        self._note(ids)
        self._update(edge.UpdateOperation.upsert_points(points))
        self._recent.keep(ids, payloads)

    def rekey(self, found_by: Mapping[str, Keys]) -> None:
        """Change the keys of points that are there; their payloads stay."""
        there = {str(record.id) for record in self._free.retrieve([*found_by], False, False)}
        moved = [
            edge.PointVectors(point_id, vectors_of(key))
            for point_id, key in found_by.items()
            if point_id in there
        ]
        if moved:
            self._note(there)
            self._update(edge.UpdateOperation.update_vectors(moved))

    def update(
        self,
        vector_id: str,
        vector: Sequence[float] | None = None,
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

    def count_words(self, agent_id: str, words_of: Mapping[str, str]) -> None:
        """Count the words of an NPC's memories (id → words), each memory once."""
        terms = {point_id: terms_of(words) for point_id, words in words_of.items()}
        self._vocabulary.count(agent_id, terms)

    def forget_words(self, agent_id: str) -> None:
        self._vocabulary.forget(agent_id)

    def _note(self, ids: Collection[str]) -> None:
        """Note points that are about to change; every write does."""
        self._recent.forget(ids)
        if self._rewriting is not None:
            self._rewriting.note(ids)

    # --- reading ----------------------------------------------------------------------------

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters = None
    ) -> Hits:
        """The `top_k` nearest by cosine similarity, best first."""
        return self._query(edge.Query.Nearest(list(vectors)), top_k, filters)

    def keyword_search(self, query: str, top_k: int = 5, filters: Filters = None) -> Hits:
        """The `top_k` best by BM25 (a sum of term scores, no upper bound), best first."""
        agent_id = str((filters or {}).get("agent_id", ""))
        lanes = self._word_queries(agent_id, query)
        return self._query(lanes[NEAR], top_k, filters) if lanes else []

    def _query(self, query: edge.Query, top_k: int, filters: Filters) -> Hits:
        request = edge.QueryRequest(
            limit=top_k, query=query, filter=to_filter(filters), with_payload=True
        )
        return [
            Hit(id=str(hit.id), score=hit.score, payload=hit.payload or {})
            for hit in self._free.query(request)
        ]

    def lanes(self, agent_id: str, vector: np.ndarray, query: str) -> dict[str, edge.Query]:
        """The queries of an NPC in every lane: line, window, and near and wide if it has words."""
        dense = vector.tolist()
        nearest = edge.Query.Nearest
        both = {"line": nearest(dense), WINDOW: nearest(dense, using=WINDOW)}
        return both | self._word_queries(agent_id, query)

    def _word_queries(self, agent_id: str, query: str) -> dict[str, edge.Query]:
        terms = terms_of(query)
        reaches = {lane: reach for lane, (_weights, _average, reach) in WORD_LANES.items()}
        rarity = self._vocabulary.rarity(agent_id, terms, reaches.values())
        return {
            lane: _words_query(of_lane, lane)
            for lane, of_lane in zip(reaches, rarity, strict=True)
            if of_lane
        }

    def candidates(
        self, lanes: Mapping[str, edge.Query], limit: int, filters: Filters
    ) -> set[PointId]:
        """The ids of the `limit` best of each lane: up to four times as many points."""
        where = to_filter(filters)
        requests = [
            edge.QueryRequest(limit=limit, query=lane, filter=where) for lane in lanes.values()
        ]
        found = self._free.query_batch(edge.QueryBatchRequest(requests))
        return {hit.id for hits in found for hit in hits}

    def weighed(
        self, lanes: Mapping[str, edge.Query], ids: Collection[PointId]
    ) -> Sequence[Weighed]:
        """Those of `ids` that exist: (id, payload, its score in each of `LANES`, 0 for no match).

        Every candidate is scored in every lane: one that is missing among the best of a lane is
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

    def _payloads(self, ids: Sequence[PointId]) -> Sequence[tuple[PointId, dict[str, Any]]]:
        # apart from the query, because a query is slow to bring payloads
        records = self._free.retrieve([*ids], with_payload=True, with_vector=False)
        return [(record.id, record.payload or {}) for record in records]

    def get(self, vector_id: str) -> Hit | None:
        found = self.get_many([vector_id])
        return found[0] if found else None

    def get_many(self, ids: Sequence[str]) -> Hits:
        """The points of `ids` that exist, in no particular order."""
        return [Hit(id=str(each), payload=payload) for each, payload in self._payloads(ids)]

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Any]:
        """The dense vectors (unit length) of those `ids` that exist."""
        records = self._free.retrieve([*ids], with_payload=False, with_vector=[LINE])
        return {str(record.id): record.vector for record in records}  # the unnamed one, bare

    def list(self, filters: Filters = None, top_k: int | None = 100) -> list[Hits]:
        """Up to `top_k` points that match (None: all), as Mem0 expects them: a list in a list."""
        return list_pages(self.page, filters, top_k, PAGE)

    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Hits, Any]:
        """Up to `limit` points that match, by id, and the offset of the next page or None."""
        return self._scroll(filters, limit, offset=offset)

    def newest(self, filters: Filters, limit: int) -> Hits:
        """Up to `limit` points that match and have a time of creation, newest first."""
        order = edge.OrderBy("created_at", edge.Direction.Desc)
        return self._scroll(filters, limit, order_by=order)[0]

    def _scroll(self, filters: Filters, limit: int, **more: Any) -> tuple[Hits, Any]:
        request = edge.ScrollRequest(
            limit=limit, filter=to_filter(filters), with_payload=True, **more
        )
        records, offset = self._free.scroll(request)
        return [Hit(id=str(each.id), payload=each.payload or {}) for each in records], offset

    def count(self, filters: Filters = None) -> int:
        return self._free.count(edge.CountRequest(filter=to_filter(filters), exact=True))

    def agents(self) -> dict[str, int]:
        """How many points each agent id has."""
        request = edge.FacetRequest("agent_id", limit=AGENTS_AT_MOST, exact=True)
        return {str(hit.value): hit.count for hit in self._shard.facet(request).hits if hit.count}

    # --- rewriting --------------------------------------------------------------------------

    def begin_rewriting(self, remake: Remake | None = None) -> None:
        """Begin to write the shard anew, a part at each `rewrite_some`.

        Args:
            remake: Makes the keys of points; without it they are copied.

        Raises:
            StoreFull: There is no room for both. It is done when the store is opened with room.
        """
        self._stop_rewriting()
        (self.path.parent / WANTED).touch()
        condition.check_room(self.path.parent, size_on_disk(self.path) + conf.NEW_SHARD_BYTES)
        self._rewriting = Rewriting(self._shard, self.path, self._create_bare, remake)

    def rewrite_some(self, points: int = 64) -> bool:
        """Copy up to so many points into the new shard. Returns whether it is in place.

        Raises:
            StoreFull: It is given up, and done when the store is opened with room.
        """
        try:
            condition.check_room(self.path.parent)
        except StoreFull:
            self._stop_rewriting()
            raise
        if self._rewriting is not None and self._rewriting.copy(points):
            self._shard, self.path = self._rewriting.finish()
            self._rewriting = None  # and with it the old shard: to close it stops the process
            note_current(self.path)
            _sweep(self.path)
            (self.path.parent / WANTED).unlink(missing_ok=True)
        return self._rewriting is None

    def _finish_rewriting(self) -> None:
        """Finish what was interrupted, if there is room."""
        _sweep(self.path)
        if (self.path.parent / WANTED).exists() and self._has_own_size():
            try:
                self.begin_rewriting()
                while not self.rewrite_some(1000):
                    pass
            except StoreFull as full:
                logger().warning("Deleted memories stay on the disk for now. %s", full)

    def _has_own_size(self) -> bool:
        """Whether the vectors in the shard are as long as those of the embedding model."""
        config = json.loads((self.path / "edge_config.json").read_text())
        return config["vectors"][""]["size"] == self.embedding_model_dims

    def _stop_rewriting(self) -> None:
        if self._rewriting is not None:
            self._rewriting.abandon()
            self._rewriting = None


# --- keys as vectors ------------------------------------------------------------------------------


def vectors_of(found_by: Keys) -> dict[str, Any]:
    """Return every key by the name of its vector."""
    vectors: dict[str, Any] = {LINE: found_by.line.tolist(), WINDOW: found_by.window.tolist()}
    for lane, (weights, average, _reach) in WORD_LANES.items():
        values = _bm25(found_by.around, weights, average)
        if values:
            vectors[lane] = edge.SparseVector(list(values), list(values.values()))
    return vectors


def _bm25(
    around: Sequence[tuple[int, str]], weights: Sequence[float], average: float
) -> dict[int, float]:
    """BM25's document side over counts weighted by distance (Robertson & Zaragoza 2009)."""
    counts: dict[int, float] = defaultdict(float)
    for distance, words in around:
        if distance < len(weights):
            for term, count in _term_counts(words):
                counts[term] += weights[distance] * count
    norm = K1 * (1 - B + B * sum(counts.values()) / average)
    return {term: count * (K1 + 1) / (count + norm) for term, count in counts.items()}


def terms_of(words: str) -> Sequence[int]:
    """Return the different terms of a text; none if all are stop words."""
    return [term for term, _count in _term_counts(words)]


@lru_cache(maxsize=4096)
def _term_counts(words: str) -> tuple[tuple[int, int], ...]:
    """(term, count) pairs, tokenised, stemmed and freed of stop words by Edge's own tokeniser."""
    terms = _TOKENIZER.embed_document(words)
    return tuple(
        (term, round(K1 * value / (K1 + 1 - value)))
        for term, value in zip(terms.indices, terms.values, strict=True)
    )


def _words_query(rarity: Mapping[int, float], lane: str) -> edge.Query:
    """BM25's query side in one lane: every term by how rare it is."""
    return edge.Query.Nearest(edge.SparseVector(list(rarity), list(rarity.values())), using=lane)


def _keys_of_point(vector: Sequence[float], payload: Mapping[str, Any]) -> Keys:
    return keys.alone(np.asarray(vector, dtype=np.float32), _words_of(payload))


def _words_of(payload: Mapping[str, Any]) -> str:
    """The words of a point, from Mem0's own payload fields."""
    return payload.get("text_lemmatized") or payload.get("data") or ""


# --- filters --------------------------------------------------------------------------------------

_RANGE = {"gt", "gte", "lt", "lte"}
_JOINS = {"AND": "must", "OR": "should", "NOT": "must_not"}


def to_filter(filters: Filters) -> edge.Filter | None:
    """Translate Mem0's filters (equality, lists, operators, AND / OR / NOT) into Qdrant's.

    Raises:
        ValueError: An operator that Mem0's language does not have.
    """
    parts: dict[str, list[Any]] = {"must": [], "should": [], "must_not": []}
    for key, value in (filters or {}).items():
        join = _JOINS.get(key.removeprefix("$").upper())
        if join:
            parts[join] += [built for built in map(to_filter, value) if built]
        elif value != "*":
            parts["must"].append(_condition(key, value))
    if not any(parts.values()):
        return None
    return edge.Filter(
        must=parts["must"] or None,
        should=parts["should"] or None,
        must_not=parts["must_not"] or None,
    )


def _condition(key: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return edge.FieldCondition(key=key, match=edge.MatchAny(list(value)))
    if isinstance(value, bool):
        raise ValueError(
            f"filter {key!r}: {value!r}: Qdrant Edge matches no booleans; filter the results"
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


# --- recent payloads ------------------------------------------------------------------------------

KEPT = 8192  # payloads, some 4 kB each

Read = tuple[PointId, dict[str, Any]]


class RecentPayloads:
    """A bounded cache of the payloads that were written or read last.

    Args:
        read: Returns (id, payload) of those of some points that exist.
    """

    def __init__(self, read: Callable[[Sequence[PointId]], Iterable[Read]]):
        self._read = read
        self._kept: OrderedDict[int, Read] = OrderedDict()

    def of(self, ids: Collection[PointId]) -> dict[int, Read]:
        """Return those of `ids` that exist, by number; their payloads are not to be changed."""
        found: dict[int, Read] = {}
        unread = []
        for point_id in ids:
            number = number_of(point_id)
            if kept := self._kept.get(number):
                self._kept.move_to_end(number)
                found[number] = kept
            else:
                unread.append(point_id)
        if unread:
            new = {number_of(read[0]): read for read in self._read(unread)}
            self._kept |= new
            found |= new
            self._bound()
        return found

    def keep(self, ids: Iterable[str], payloads: Iterable[dict[str, Any]]) -> None:
        """Keep what was written just now: it is read first."""
        for point_id, payload in zip(ids, payloads, strict=True):
            point = uuid.UUID(str(point_id))
            self._kept[point.int] = (point, dict(payload))
        self._bound()

    def forget(self, ids: Iterable[PointId]) -> None:
        """Drop what is about to change."""
        for point_id in ids:
            self._kept.pop(number_of(point_id), None)

    def clear(self) -> None:
        self._kept.clear()

    def _bound(self) -> None:
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)


def number_of(point_id: PointId) -> int:
    """Return a point's id as a number: to compare Edge's own ids takes longer than to search."""
    return point_id.int if isinstance(point_id, uuid.UUID) else uuid.UUID(str(point_id)).int


# --- rewriting ------------------------------------------------------------------------------------

WHOLE = "whole"  # a file in the new folder: everything is in it
CURRENT = "current"  # a file beside the folders: the name of the one that counts
WANTED = "rewriting"  # a file beside the folders, while the old one still has to go


class Rewriting:
    """A shard copied into a new folder, without what was deleted.

    Args:
        shard, path: The old shard and its folder.
        create: Makes an empty shard of the same kind in a folder, without indexes.
        remake: See `MemoryStore.begin_rewriting`.
    """

    def __init__(
        self,
        shard: edge.EdgeShard,
        path: Path,
        create: Callable[[Path], edge.EdgeShard],
        remake: Remake | None = None,
    ):
        self._remake = remake
        self._old, self._old_path = shard, path
        name = path.name.split(".")[0]
        self._path = path.with_name(f"{name}.{_number(path) + 1}")
        shutil.rmtree(self._path, ignore_errors=True)
        self._new = create(self._path)
        self._to_index = list(INDEXED)
        self._offset: Any = None
        self._over = False
        self._touched: set[str] = set()

    def note(self, ids: Iterable[str]) -> None:
        """Note points that change in the old shard meanwhile: they are copied again in the end."""
        self._touched.update(map(str, ids))

    def copy(self, points: int) -> bool:
        """Copy up to so many points, or make one index. Returns whether all are there."""
        if self._to_index:  # one at a time: making one holds the GIL
            add_index(self._new, self._to_index.pop())
        elif not self._over:
            request = edge.ScrollRequest(
                offset=self._offset, limit=points, with_payload=True, with_vector=True
            )
            records, self._offset = self._old.scroll(request)
            self._write(records)
            self._over = self._offset is None
        return self._over

    def finish(self) -> tuple[edge.EdgeShard, Path]:
        """Complete the new shard, which counts from now on. Returns it with its folder."""
        if self._touched:
            self._new.update(edge.UpdateOperation.delete_points([*self._touched]))
            self._write(self._old.retrieve([*self._touched], True, True))
        # not by its own flush, which holds the GIL; the old one's has nothing left to do then
        for folder in (self._path, self._old_path):
            for file in folder.rglob("*"):
                if file.is_file():
                    atomic_file.sync(file)
        (self._path / WHOLE).touch()
        atomic_file.sync(self._path)
        return self._new, self._path

    def abandon(self) -> None:
        """Give it up; it stays wanted."""
        self._new.close()
        shutil.rmtree(self._path, ignore_errors=True)

    def _write(self, records: Sequence[edge.Record]) -> None:
        if not records:
            return
        rows = [(str(each.id), each.payload or {}) for each in records]
        vectors: list[Any]
        if self._remake is None:
            vectors = [each.vector for each in records]
        else:
            vectors = list(map(vectors_of, self._remake(rows)))
        points = [
            edge.Point(id=point_id, vector=vector, payload=payload)
            for (point_id, payload), vector in zip(rows, vectors, strict=True)
        ]
        self._new.update(edge.UpdateOperation.upsert_points(points))


def add_index(shard: edge.EdgeShard, name: str) -> None:
    """Index one payload field of `INDEXED`."""
    shard.update(edge.UpdateOperation.create_field_index(name, INDEXED[name]))


def current(folder: Path, name: str) -> Path:
    """Return the folder of the shard `name` that counts."""
    whole = [each for each in _folders(folder, name) if _is_whole(each)]
    named = folder / CURRENT
    if named.exists() and not (folder / WANTED).exists():
        for each in whole:
            if each.name == named.read_text() and each.exists():
                return each
    return max(whole, key=_number)


def note_current(path: Path) -> None:
    """Name the folder that counts from now on."""
    named = path.parent / CURRENT
    if not named.exists() or named.read_text() != path.name:
        atomic_file.write(named, path.name)


def size_on_disk(folder: Path) -> int:
    """Return the bytes that a folder's files take; files with holes take less than their length."""
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


def _folders(folder: Path, name: str) -> Sequence[Path]:
    return [folder / name, *folder.glob(f"{name}.[0-9]*")]


def _number(path: Path) -> int:
    return int(path.suffix[1:] or 0)


def _is_whole(path: Path) -> bool:
    return not path.suffix or (path / WHOLE).exists()


def _sweep(path: Path) -> None:
    """Remove what lies beside the shard that counts. Only who holds its lock may."""
    for other in _folders(path.parent, path.name.split(".")[0]):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
