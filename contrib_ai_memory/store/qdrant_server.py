"""A Qdrant server or cluster as the memory store, by the calls of its own client.

A recall takes two requests: all lanes at once for candidates, all lanes at once to weigh them. With
`path` in the settings, the client keeps the points in files of its own, in pure Python: for trying
things out.

Several games may share a collection. The memories of an NPC are found by its `agent_id`, a UUID,
and each point also bears the id of its game, `game_id`: what concerns a whole store (`agents`, a
listing of all, `reset`) is about the points of this game alone (docs/adr/027). The field is no part
of a memory: it is added by each write and left out by each read. Worker thread only.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from .. import conf
from . import condition
from .condition import StoreError, StoreMismatch, StoreRefused, StoreUnreachable
from .filters import Dialect, Filters, to_filter
from .lanes import LANES, LINE, WINDOW, WORD_LANES, Keys, LaneVectors
from .payload import INDEXED_FIELDS, KEYWORD, TIME, Candidate, PointId, Row, to_candidate
from .protocol import VALUES_AT_MOST, Hit, Hits, MemoryStore, Rows
from .qdrant_config import QdrantServerConfig

GAME = "game_id"
POINTS_AT_ONCE = 128  # written by one request; some 25 kB each, and a server takes 32 MB
IDS_AT_ONCE = 1000  # of one request

_SCHEMAS = {
    KEYWORD: models.PayloadSchemaType.KEYWORD,
    TIME: models.PayloadSchemaType.DATETIME,
}
_FILTERS = Dialect(
    models.Filter,
    models.FieldCondition,
    lambda value: models.MatchValue(value=value),
    lambda values: models.MatchAny(any=values),
    lambda values: models.MatchExcept(**{"except": values}),
    lambda text: models.MatchText(text=text),
    models.Range,
    models.DatetimeRange,
)


class ServerStore(MemoryStore):
    """A memory store in one collection on a server, or in the local files of its client.

    Args:
        folder: Of the game's own file, in which words are counted.
        game_id: Of this game.
    """

    provider = "qdrant"

    def __init__(self, config: QdrantServerConfig, folder: Path, game_id: str):
        super().__init__(folder)
        self.collection_name = config.collection_name
        self.embedding_model_dims = config.embedding_model_dims
        self.game_id = game_id
        self.remote = config.path is None
        self.client = _Client(_connect(config))
        if not self.client.collection_exists(self.collection_name):
            self._create(config)
        self._check()

    # --- life of the collection -------------------------------------------------------------

    def _create(self, config: QdrantServerConfig) -> None:
        dense = models.VectorParams(
            size=self.embedding_model_dims, distance=models.Distance.COSINE, on_disk=config.on_disk
        )
        index = models.SparseIndexParams(on_disk=config.on_disk)
        sparse = models.SparseVectorParams(index=index)
        try:
            self.client.create_collection(
                self.collection_name,
                vectors_config={self.line_vector: dense, WINDOW: dense},
                sparse_vectors_config=dict.fromkeys(WORD_LANES, sparse),
                # every search is of one NPC: a graph for each of them, and none over all
                hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
                shard_number=config.shard_number,
                replication_factor=config.replication_factor,
                write_consistency_factor=config.write_consistency_factor,
                on_disk_payload=config.on_disk_payload,
            )
        except StoreError:
            if not self.client.collection_exists(self.collection_name):
                raise  # else another game has made it meanwhile

    def _check(self) -> None:
        """Check that the collection has our vectors, and make the indexes that it lacks."""
        info = self.client.get_collection(self.collection_name)
        vectors, what = info.config.params.vectors, f"The collection {self.collection_name}"
        sparse = (info.config.params.sparse_vectors or {}).keys()
        named = vectors if isinstance(vectors, dict) else {}
        if not {self.line_vector, WINDOW} <= named.keys() or not WORD_LANES.keys() <= sparse:
            raise StoreMismatch(
                f"{what} has other vectors than this contrib writes: an earlier version wrote it "
                "(one vector for each memory), or another program. Name another collection_name in "
                'CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"]. To take memories along, export each '
                "NPC with the version that wrote them (evennia ai_memory export), then import the "
                "files with this one (evennia ai_memory import --replace)."
            )
        size = named[self.line_vector].size
        if size != self.embedding_model_dims:
            raise StoreMismatch.of_size(what, size, self.embedding_model_dims)
        if self.remote:  # local files have no indexes
            for name in _INDEXES.keys() - (info.payload_schema or {}).keys():
                self.client.create_payload_index(self.collection_name, name, _INDEXES[name])

    def disconnect(self) -> None:
        self.client.close()

    def reset(self) -> None:
        """Delete this game's points: the collection may have those of other games."""
        self._change("delete", models.FilterSelector(filter=self._where(None)))

    # --- writing ----------------------------------------------------------------------------

    def upsert_rows(self, rows: Sequence[Row], keys: Sequence[Keys | LaneVectors]) -> None:
        """Insert or overwrite memories; each request is all done or not."""
        points = [
            models.PointStruct(
                id=point_id, vector=self.vectors_by_name(key), payload=payload | self._mine
            )
            for (point_id, payload), key in zip(rows, keys, strict=True)
        ]
        for some in _parts(points, POINTS_AT_ONCE):
            self._change("upsert", some)

    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        # by a filter, because an id that does not exist would be an error
        operations = [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(
                    payload=dict(fields) | self._mine, filter=_only([point_id])
                )
            )
            for point_id, fields in changes.items()
        ]
        for some in _parts(operations, IDS_AT_ONCE):
            self._change("batch_update_points", some)

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        there = self.existing(keys.keys())
        moved = [
            models.PointVectors(id=point_id, vector=self.vectors_by_name(key))
            for point_id, key in keys.items()
            if point_id in there
        ]
        for some in _parts(moved, POINTS_AT_ONCE):
            self._change("update_vectors", some)

    def delete_points(self, ids: Sequence[str]) -> None:
        for some in _parts(ids, IDS_AT_ONCE):
            self._change("delete", models.PointIdsList(points=some))

    def _change(self, verb: str, what: Any) -> None:
        condition.check(conf.directory())
        getattr(self.client, verb)(self.collection_name, what)

    @property
    def _mine(self) -> dict[str, str]:
        return {GAME: self.game_id}

    def sparse(self, values: Mapping[int, float]) -> models.SparseVector:
        return models.SparseVector(indices=list(values), values=list(values.values()))

    # --- reading ----------------------------------------------------------------------------

    def existing(self, ids: Collection[str]) -> set[str]:
        return {str(record.id) for record in self._retrieve(ids, with_payload=False)}

    def payloads(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        return dict(map(_row, self._retrieve(ids, with_payload=True)))

    def line_vectors(self, ids: Collection[str]) -> dict[str, Any]:
        vectors = [self.line_vector]
        records = self._retrieve(ids, with_payload=False, with_vectors=vectors)
        return {str(record.id): record.vector[self.line_vector] for record in records}

    def lane_vectors(self, ids: Collection[str]) -> dict[str, LaneVectors]:
        records = self._retrieve(ids, with_payload=False, with_vectors=True)
        return {str(record.id): self.to_lane_vectors(record.vector) for record in records}

    def _retrieve(self, ids: Collection[str], **what: Any) -> list[Any]:
        return [
            record
            for some in _parts([*ids], IDS_AT_ONCE)
            for record in self.client.retrieve(self.collection_name, some, **what)
        ]

    def nearest_query(self, vector: Sequence[float], lane: str) -> dict[str, Any]:
        return {"query": list(vector), "using": lane}

    def words_query(self, rarity: Mapping[int, float], lane: str) -> dict[str, Any]:
        return {"query": self.sparse(rarity), "using": lane}

    def query_each(
        self, queries: Sequence[dict[str, Any]], limit: int, filters: Filters
    ) -> Sequence[Hits]:
        found = self._query_all(
            queries, limit=limit, filter=self._where(filters), with_payload=True
        )
        return [[Hit(*_row(hit), hit.score) for hit in hits] for hits in found]

    def _query_all(self, queries: Iterable[dict[str, Any]], **common: Any) -> list[list[Any]]:
        requests = [models.QueryRequest(**(common | query)) for query in queries]
        answers = self.client.query_batch_points(self.collection_name, requests)
        return [answer.points for answer in answers]

    def best_of_lanes(
        self, queries: Mapping[str, dict[str, Any]], limit: int, filters: Filters
    ) -> set[PointId]:
        found = self._query_all(
            queries.values(), limit=limit, filter=self._where(filters), with_payload=False
        )
        return {uuid.UUID(str(hit.id)) for hits in found for hit in hits}

    def scores_in_lanes(
        self, queries: Mapping[str, dict[str, Any]], ids: Collection[PointId]
    ) -> Sequence[Candidate]:
        # every point has a vector in the lane `line`: that query brings all of them
        asked = [query | {"with_payload": lane == LINE} for lane, query in queries.items()]
        only = _only(ids)
        exact = models.SearchParams(exact=True) if self.remote else None  # local files always are
        found = self._query_all(asked, limit=len(ids), filter=only, params=exact)
        scores = {
            lane: {hit.id: hit.score for hit in hits}
            for lane, hits in zip(queries, found, strict=True)
        }
        rows = [scores.get(lane, {}) for lane in LANES]
        return [
            to_candidate(*_row(hit), [row.get(hit.id, 0.0) for row in rows])
            for hit in dict(zip(queries, found, strict=True))[LINE]
        ]

    def scroll(self, filters: Filters, offset: Any, limit: int) -> tuple[Rows, Any]:
        return self._scroll(filters, limit, offset=offset)

    def newest_rows(self, filters: Filters, limit: int) -> Rows:
        order = models.OrderBy(key="created_at", direction=models.Direction.DESC)
        return self._scroll(filters, limit, order_by=order)[0]

    def _scroll(self, filters: Filters, limit: int, **more: Any) -> tuple[Rows, Any]:
        records, offset = self.client.scroll(
            self.collection_name, self._where(filters), limit=limit, with_payload=True, **more
        )
        return list(map(_row, records)), offset

    def count_rows(self, filters: Filters = None) -> int:
        return self.client.count(self.collection_name, self._where(filters), exact=True).count

    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        found = self.client.facet(
            self.collection_name,
            field,
            facet_filter=self._where(filters),
            limit=VALUES_AT_MOST,
            exact=True,
        )
        return {str(hit.value): hit.count for hit in found.hits if hit.count}

    def _where(self, filters: Filters) -> models.Filter | None:
        """Translate a filter; one that names no NPC is about the whole of this game."""
        if "agent_id" not in (filters or {}):
            filters = (filters or {}) | self._mine
        return to_filter(filters, _FILTERS)


# clusters may refuse to filter by a field without an index (strict mode)
_INDEXES: dict[str, Any] = {name: _SCHEMAS[kind] for name, kind in INDEXED_FIELDS.items()} | {
    GAME: models.PayloadSchemaType.KEYWORD,
    "superseded_by": models.PayloadSchemaType.KEYWORD,
    # what is of one NPC lies together on the disk
    "agent_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
}


def _only(ids: Iterable[PointId]) -> models.Filter:
    return models.Filter(must=[models.HasIdCondition(has_id=[str(each) for each in ids])])


def _row(found: Any) -> Row:
    """Return a point as a row, without the id of its game."""
    payload = {name: value for name, value in (found.payload or {}).items() if name != GAME}
    return str(found.id), payload


def _parts(some: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for first in range(0, len(some), size):
        yield list(some[first : first + size])


# --- the client -----------------------------------------------------------------------------------

_OF_CLIENT = {"url", "host", "port", "grpc_port", "https", "prefix", "api_key", "prefer_grpc"}
_TEMPORARY = (408, 429)  # of HTTP, below 500
_REFUSALS = {  # of gRPC
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
}


def _connect(config: QdrantServerConfig) -> QdrantClient:
    if config.path is not None:
        # the store is closed by another thread than the one that works with it
        return QdrantClient(path=config.path, force_disable_check_same_thread=True)
    given = config.model_dump(include=_OF_CLIENT, exclude_none=True)
    return QdrantClient(**given, timeout=config.timeout, check_compatibility=False)


class _Client:
    """A QdrantClient whose errors are a `StoreError`."""

    def __init__(self, client: QdrantClient):
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return found(*args, **kwargs)
            except (ApiException, QdrantException, grpc.RpcError, OSError) as error:
                if _is_refusal(error):
                    raise StoreRefused("qdrant", error) from error
                raise StoreUnreachable("qdrant", error) from error

        return called


def _is_refusal(error: Exception) -> bool:
    """Return whether the server understood a request and will not do it, however often it comes."""
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 500
        return 400 <= status < 500 and status not in _TEMPORARY
    return isinstance(error, grpc.Call) and error.code() in _REFUSALS
