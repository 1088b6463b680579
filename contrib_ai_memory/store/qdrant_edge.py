"""The default memory store: Qdrant Edge, the real Qdrant engine in process, with a write-ahead log.

`EdgeStore` is the store of memories. `QdrantEdge` is the Mem0 vector store below it: points with a
vector for each search lane (`lanes`), two dense and two sparse ones side by side, and payloads with
`agent_id` and other fields indexed (`INDEXED`). What was acknowledged survives `kill -9`. One
process at a time: the write-ahead log is locked. Worker thread only.

Qdrant marks what is deleted and keeps its bytes: in the write-ahead log, in the pages of payloads
and of keyword indexes. `Rewriting` copies what is left, a part at a time, into a new folder that
then takes the place of the old one: `memories`, `memories.1`, `memories.2` … The last complete one
is used. A file beside them, `current`, names it: if a restored backup lies beside newer folders,
the restored one is used. An interrupted rewriting is begun again when the store is opened next.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from mem0.vector_stores.base import VectorStoreBase
from pydantic import BaseModel, ConfigDict

from .. import atomic_file, conf, offload
from ..log import logger
from ..records import MemoryRecord
from . import condition, metadata
from .condition import StoreFull, StoreInUse, StoreMismatch
from .lanes import (
    LANES,
    NEAR,
    WIDE,
    WINDOW,
    WORD_LANES,
    Keys,
    Vocabulary,
    bm25,
    keys_of_one,
    terms_of,
)
from .mem0_store import Filters, Mem0Store, filters_of, list_pages
from .payload import (
    FOREIGN,
    OF_NIGHTS,
    Candidate,
    PointId,
    Row,
    completed,
    from_payload,
    to_candidate,
)
from .protocol import LaneSearch, Memories, Remake

PAGE = 1000  # points read in one scroll
AGENTS_AT_MOST = 100_000

LINE = ""  # the vector of the lane `line`: Mem0 knows the unnamed one; the others have their names

# payload fields that Qdrant indexes
INDEXED = dict.fromkeys(
    "agent_id user_id run_id record memory_type audience dominant_emotions tells".split(),
    edge.PayloadSchemaType.Keyword,
) | {"created_at": edge.PayloadSchemaType.Datetime}


class EdgeStore(Mem0Store):
    """A memory store with every search lane."""

    _vectors: QdrantEdge

    # --- writing ------------------------------------------------------------------------------

    def upsert_rows(
        self, rows: Sequence[Row], vectors: np.ndarray, keys: Sequence[Keys] | None = None
    ) -> None:
        ids, payloads = [each for each, _ in rows], [payload for _, payload in rows]
        self._vectors.write(ids, payloads, keys or list(map(keys_of, payloads, vectors)))

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        if keys:
            self._vectors.rekey(keys)

    def count_words(self, agent_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Count words, but not those of facts, summaries and insights.

        They retell lines: the words of a subject that is retold often would count as common, and
        the scores of its lines would change.
        """
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

    def prepare_search(self, agent_id: str, vector: np.ndarray, query: str) -> LaneSearch:
        return LaneSearch(
            agent_id, vector, query, self._vectors.lane_queries(agent_id, vector, query)
        )

    def candidates(self, search: LaneSearch, limit: int, **where: Any) -> set[PointId]:
        return self._vectors.candidates(search.queries, limit, filters_of(search.agent_id, where))

    def score(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        found = self._vectors.score(search.queries, ids) if ids else []
        return [each for each in found if each.payload["agent_id"] == search.agent_id]

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


def keys_of(payload: Mapping[str, Any], vector: np.ndarray) -> Keys:
    """Return the keys of a memory that stands for itself."""
    return keys_of_one(vector, _words_of(completed(payload)))


def _words_of(payload: Mapping[str, Any]) -> str:
    """Return the words of a complete payload: `MemoryRecord.words`."""
    return payload.get("text_lemmatized") or payload.get("data") or ""


# --- the vector store -----------------------------------------------------------------------------


class QdrantEdgeConfig(BaseModel):
    """The arguments that Mem0 passes to the store. `lock_wait` is how long to wait for it, in s."""

    model_config = ConfigDict(extra="forbid")

    path: str
    collection_name: str = "memories"
    embedding_model_dims: int = 384
    lock_wait: float = 20.0


class Hit(BaseModel):
    """A result in the form that Mem0 reads; a higher `score` is nearer."""

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

    def _change(self, ids: Collection[str], operation: edge.UpdateOperation) -> None:
        """Write into the shard, if there is room: every change of these points comes this way."""
        self._recent.forget(ids)
        if self._rewriting is not None:
            self._rewriting.note(ids)
        condition.check(self.path)
        self._free.update(operation)

    @property
    def _free(self) -> edge.EdgeShard:
        """The shard, for a call that holds the GIL; the reactor gets its turn first."""
        offload.give_way()
        return self._shard

    def optimize(self) -> bool:
        """Build missing indexes; holds the GIL for seconds."""
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
        whole = [dict(completed(each)) for each in payloads or [{} for _ in vectors]]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        self.write(ids, whole, list(map(keys_of, whole, np.asarray(vectors, dtype=np.float32))))
        for point_id, payload in zip(ids, whole, strict=True):
            self.count_words(payload.get("agent_id", ""), {point_id: _words_of(payload)})

    def write(
        self, ids: Sequence[str], payloads: Sequence[dict[str, Any]], found_by: Sequence[Keys]
    ) -> None:
        """Insert or overwrite points with all their keys, in one acknowledged write."""
        points = [
            edge.Point(id=point_id, vector=vectors_by_name(key), payload=payload)
            for point_id, payload, key in zip(ids, payloads, found_by, strict=True)
        ]
        if points:
            self._change(ids, edge.UpdateOperation.upsert_points(points))
            self._recent.keep(ids, payloads)

    def rekey(self, found_by: Mapping[str, Keys]) -> None:
        """Change the keys of points that exist; their payloads stay."""
        there = {str(record.id) for record in self._free.retrieve([*found_by], False, False)}
        moved = [
            edge.PointVectors(point_id, vectors_by_name(key))
            for point_id, key in found_by.items()
            if point_id in there
        ]
        if moved:
            self._change(there, edge.UpdateOperation.update_vectors(moved))

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
            self._change([vector_id], edge.UpdateOperation.set_payload([vector_id], payload))
        elif vector is not None:
            moved = edge.PointVectors(vector_id, {LINE: list(vector)})
            self._change([vector_id], edge.UpdateOperation.update_vectors([moved]))

    def delete(self, vector_id: str) -> None:
        self._change([vector_id], edge.UpdateOperation.delete_points([vector_id]))

    def count_words(self, agent_id: str, words_of: Mapping[str, str]) -> None:
        """Count the words of an NPC's memories (id → words), each memory once."""
        terms = {point_id: terms_of(words) for point_id, words in words_of.items()}
        self._vocabulary.count(agent_id, terms)

    def forget_words(self, agent_id: str) -> None:
        self._vocabulary.forget(agent_id)

    # --- reading ----------------------------------------------------------------------------

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters = None
    ) -> Hits:
        """Return the `top_k` nearest by cosine similarity, best first."""
        return self._query(edge.Query.Nearest(list(vectors)), top_k, filters)

    def keyword_search(self, query: str, top_k: int = 5, filters: Filters = None) -> Hits:
        """Return the `top_k` best by BM25 (a sum of term scores, no upper bound), best first."""
        agent_id = str((filters or {}).get("agent_id", ""))
        queries = self._word_queries(agent_id, query)
        return self._query(queries[NEAR], top_k, filters) if queries else []

    def _query(self, query: edge.Query, top_k: int, filters: Filters) -> Hits:
        request = edge.QueryRequest(
            limit=top_k, query=query, filter=to_filter(filters), with_payload=True
        )
        return [
            Hit(id=str(hit.id), score=hit.score, payload=hit.payload or {})
            for hit in self._free.query(request)
        ]

    def lane_queries(self, agent_id: str, vector: np.ndarray, query: str) -> dict[str, edge.Query]:
        """Return the query for each lane; none for the word lanes if all words are stop words."""
        dense, nearest = vector.tolist(), edge.Query.Nearest
        both = {"line": nearest(dense), WINDOW: nearest(dense, using=WINDOW)}
        return both | self._word_queries(agent_id, query)

    def _word_queries(self, agent_id: str, query: str) -> dict[str, edge.Query]:
        reaches = [lane.reach for lane in WORD_LANES.values()]
        rarity = self._vocabulary.rarity(agent_id, terms_of(query), reaches)
        return {
            lane: _words_query(of_terms, lane)
            for lane, of_terms in zip(WORD_LANES, rarity, strict=True)
            if of_terms
        }

    def candidates(
        self, queries: Mapping[str, edge.Query], limit: int, filters: Filters
    ) -> set[PointId]:
        """Return the ids of the `limit` best of each lane, up to four times as many."""
        found = self._query_all(queries, limit, to_filter(filters))
        return {hit.id for hits in found for hit in hits}

    def _query_all(self, queries: Mapping[str, edge.Query], limit: int, where: Any) -> Any:
        requests = [
            edge.QueryRequest(limit=limit, query=each, filter=where) for each in queries.values()
        ]
        return self._free.query_batch(edge.QueryBatchRequest(requests))

    def score(
        self, queries: Mapping[str, edge.Query], ids: Collection[PointId]
    ) -> Sequence[Candidate]:
        """Return those of `ids` that exist, with their score in each lane (0 for no match).

        Every candidate is scored in every lane: one that is not among the best of a lane may still
        be good there, and counting it as 0 costs recall.
        """
        only = edge.Filter(must=[edge.HasIdCondition(set(ids))])
        found = self._query_all(queries, len(ids), only)
        scores = {
            name: {number_of(hit.id): hit.score for hit in hits}
            for name, hits in zip(queries, found, strict=True)
        }
        rows = [scores.get(name, {}) for name in LANES]
        return [
            to_candidate(point_id, payload, [row.get(number, 0.0) for row in rows])
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
        """Return the points of `ids` that exist, in no particular order."""
        return [Hit(id=str(each), payload=payload) for each, payload in self._payloads(ids)]

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Any]:
        """Return the dense vectors (unit length) of those `ids` that exist."""
        records = self._free.retrieve([*ids], with_payload=False, with_vector=[LINE])
        return {str(record.id): record.vector for record in records}  # the unnamed one, bare

    def list(self, filters: Filters = None, top_k: int | None = 100) -> list[Hits]:
        """Return up to `top_k` points that match (None: all): a list in a list, as Mem0 expects."""
        return list_pages(self.page, filters, top_k, PAGE)

    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Hits, Any]:
        """Return up to `limit` points that match, by id, and the next page's offset or None."""
        return self._scroll(filters, limit, offset=offset)

    def newest(self, filters: Filters, limit: int) -> Hits:
        """Return up to `limit` points that match and have a time of creation, newest first."""
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
        """Return how many points each agent id has."""
        request = edge.FacetRequest("agent_id", limit=AGENTS_AT_MOST, exact=True)
        return {str(hit.value): hit.count for hit in self._shard.facet(request).hits if hit.count}

    # --- rewriting --------------------------------------------------------------------------

    def begin_rewriting(self, remake: Remake | None = None) -> None:
        """Begin to write the shard anew, a part at each `rewrite_some`.

        Args:
            remake: Makes the keys of points; without it they are copied.

        Raises:
            StoreFull: There is no room for both. The next opening of the store tries it again.
        """
        self._stop_rewriting()
        (self.path.parent / WANTED).touch()
        condition.check_room(self.path.parent, size_on_disk(self.path) + conf.NEW_SHARD_BYTES)
        self._rewriting = Rewriting(self._shard, self.path, self._create_bare, remake)

    def rewrite_some(self, points: int = 64) -> bool:
        """Copy up to `points` points into the new shard. Returns whether it is in place.

        Raises:
            StoreFull: It was abandoned. The next opening of the store tries it again.
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
        """Do a rewriting that was interrupted, if there is room."""
        _sweep(self.path)
        if (self.path.parent / WANTED).exists() and self._has_own_size():
            try:
                self.begin_rewriting()
                while not self.rewrite_some(1000):
                    pass
            except StoreFull as full:
                logger().warning("Deleted memories stay on the disk for now. %s", full)

    def _has_own_size(self) -> bool:
        """Return whether the vectors in the shard are as long as the embedding model's."""
        config = json.loads((self.path / "edge_config.json").read_text())
        return config["vectors"][""]["size"] == self.embedding_model_dims

    def _stop_rewriting(self) -> None:
        if self._rewriting is not None:
            self._rewriting.abandon()
            self._rewriting = None


# --- keys as vectors ------------------------------------------------------------------------------


def vectors_by_name(key: Keys) -> dict[str, Any]:
    """Return the keys of a memory by the names of their vectors."""
    vectors: dict[str, Any] = {LINE: key.line.tolist(), WINDOW: key.window.tolist()}
    for name, lane in WORD_LANES.items():
        if values := bm25(key.around, lane):
            vectors[name] = edge.SparseVector(list(values), list(values.values()))
    return vectors


def _words_query(rarity: Mapping[int, float], lane: str) -> edge.Query:
    """Return BM25's query side in one lane: every term by how rare it is."""
    return edge.Query.Nearest(edge.SparseVector(list(rarity), list(rarity.values())), using=lane)


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
        """Return those of `ids` that exist, by number; callers must not change the payloads."""
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
        """Keep payloads that were just written, as they are read soon."""
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
    """Return a point's id as an int: comparing Edge's own ids takes longer than a search."""
    return point_id.int if isinstance(point_id, uuid.UUID) else uuid.UUID(str(point_id)).int


# --- rewriting ------------------------------------------------------------------------------------

WHOLE = "whole"  # a file in the new folder: everything is in it
CURRENT = "current"  # a file beside the folders: the name of the one in use
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
        """Note points that change in the old shard meanwhile; `finish` copies them again."""
        self._touched.update(map(str, ids))

    def copy(self, points: int) -> bool:
        """Copy up to `points` points, or make one index. Returns whether all are copied."""
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
        """Complete the new shard, which replaces the old one. Returns it with its folder."""
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
        """Delete the new shard; the rewriting is begun again later."""
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
            vectors = list(map(vectors_by_name, self._remake(rows)))
        points = [
            edge.Point(id=point_id, vector=vector, payload=payload)
            for (point_id, payload), vector in zip(rows, vectors, strict=True)
        ]
        self._new.update(edge.UpdateOperation.upsert_points(points))


def add_index(shard: edge.EdgeShard, name: str) -> None:
    """Index one payload field of `INDEXED`."""
    shard.update(edge.UpdateOperation.create_field_index(name, INDEXED[name]))


def current(folder: Path, name: str) -> Path:
    """Return the folder in use of the shard `name`."""
    whole = [each for each in _folders(folder, name) if _is_whole(each)]
    named = folder / CURRENT
    if named.exists() and not (folder / WANTED).exists():
        for each in whole:
            if each.name == named.read_text() and each.exists():
                return each
    return max(whole, key=_number)


def note_current(path: Path) -> None:
    """Record which folder is in use from now on."""
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
    """Remove the shard's other folders. Only the holder of its lock may call this."""
    for other in _folders(path.parent, path.name.split(".")[0]):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
