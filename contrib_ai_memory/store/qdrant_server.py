"""A Qdrant server or cluster as the memory store, by the calls of its own client.

A recall takes two requests: one brings the candidates of all lanes with their scores and the fields
that ranking needs, one the payloads of those that are told. With `path` in the settings, the client
keeps the points in files of its own, in pure Python: for trying things out.

Several games may share a collection. The memories of an NPC are found by its `agent_id`, a UUID,
and each point also bears the id of its game, `game_id`: what concerns a whole store (`agents`, a
listing of all, `reset`) is about the points of this game alone (docs/adr/027). The field is no part
of a memory: it is added by each write and left out by each read. Every request may be made again:
writes give values and not differences. Worker thread only.
"""

from __future__ import annotations

import re
import time
import uuid
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from .. import conf
from ..log import logger
from . import condition
from .condition import StoreError, StoreMismatch, StoreRefused, StoreUnreachable, StoreUnusable
from .filters import Dialect, Filters, to_filter
from .lanes import LANES, LINE, WINDOW, WORD_LANES, Keys, LaneVectors
from .payload import (
    ANYONE,
    INDEXED_FIELDS,
    TIME,
    Candidate,
    PointId,
    Row,
    is_foreign,
    to_candidate,
)
from .protocol import (
    SCROLLED,
    VALUES_AT_MOST,
    Hit,
    Hits,
    LaneSearch,
    MemoryStore,
    Rows,
    filters_of,
)
from .qdrant_config import QdrantServerConfig

GAME = "game_id"
POINTS_AT_ONCE = 128  # written by one request; some 25 kB each, and a server takes 32 MB
# payloads changed by one request: a server does one after the other, within the time-out
CHANGES_AT_ONCE = 64
IDS_AT_ONCE = 1000  # of one request
OLDEST = (1, 12)  # version of a server
WITHOUT_GRAPH = (1, 17)  # since when a payload index may do without links in the graph

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
        self.client = _Client(config)
        version = self._version() if self.remote else OLDEST
        if not self.client.collection_exists(self.collection_name):
            self._create(config)
        info = self.client.get_collection(self.collection_name)
        self._check(info)
        self._read_limits(info)
        self._agree(config, info.config.params.replication_factor or 1)
        if self.remote:  # local files have no indexes
            self._index(info.payload_schema or {}, version)

    # --- life of the collection -------------------------------------------------------------

    def _version(self) -> tuple[int, ...]:
        """Return the server's version, or the oldest one if something before it keeps that back."""
        try:
            version = str(self.client.info().version)
        except StoreError:
            return OLDEST
        found = tuple(map(int, re.findall(r"\d+", version)[:2])) or OLDEST
        if found < OLDEST:
            raise StoreUnusable(
                f"The Qdrant server is of version {version}, and this contrib needs 1.12 or newer. "
                "Update the server (docs/guides/operators.md)."
            )
        return found

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
                write_consistency_factor=config.write_consistency_factor
                or _majority(config.replication_factor),
                on_disk_payload=config.on_disk_payload,
            )
        except StoreError:
            if not self.client.collection_exists(self.collection_name):
                raise  # else another game has made it meanwhile

    def _check(self, info: Any) -> None:
        """Check that the collection has our vectors."""
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

    def _read_limits(self, info: Any) -> None:
        """Read the collection's strict mode, and refuse limits under which nothing would work."""
        strict = info.config.strict_mode_config
        self._strict = strict if strict and strict.enabled else None
        self._exact = self._limit("search_allow_exact") is not False
        needed = _NEEDED | {
            "max_payload_index_count": len(_indexes(OLDEST).keys() | info.payload_schema)
        }
        given = {name: self._limit(name) for name in needed}
        sparse = self._limit("sparse_config") or {}
        for lane in sparse.keys() & WORD_LANES.keys():
            name = f"sparse_config.{lane}.max_length"
            given[name], needed[name] = sparse[lane].max_length, TERMS_AT_MOST
        for name, limit in given.items():
            if limit is not None and limit < needed[name]:
                raise StoreUnusable(
                    f"The strict mode of the collection {self.collection_name} has {name} = "
                    f"{limit}, and this contrib needs {needed[name]} or more. Raise that limit or "
                    "remove it (PATCH /collections/… with strict_mode_config), or name another "
                    'collection_name in CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"].'
                )

    def _limit(self, name: str) -> Any:
        return getattr(self._strict, name, None)

    def _at_most(self, ours: int, *limits: str) -> int:
        return min(ours, *(self._limit(name) or ours for name in limits))

    def _agree(self, config: QdrantServerConfig, replicas: int) -> None:
        """Settle how many replicas a read asks, and who orders writes."""
        read: Any = config.read_consistency
        if read is None and replicas > 2:  # of two, a quorum is both: one node down, and none reads
            read = "quorum"
        order = config.write_ordering or ("medium" if replicas > 1 else None)
        if isinstance(read, str):
            read = models.ReadConsistencyType(read)
        self._reads = {"consistency": read} if read else {}
        self._writes = {"ordering": models.WriteOrdering(order)} if order else {}

    def _index(self, known: Mapping[str, Any], version: tuple[int, ...]) -> None:
        """Make the payload indexes that are missing, and anew those of another kind."""
        others = []
        for name, wanted in _indexes(version).items():
            if name in known:
                if _kind(known[name].params, known[name].data_type) == _kind(wanted, wanted.type):
                    continue
                others.append(name)
            # over many memories it takes longer than a request may
            self.client.create_payload_index(
                self.collection_name, name, wanted, wait=name not in known
            )
        if others:
            logger().warning(
                "The collection %s had payload indexes of another kind (type, is_tenant or "
                "enable_hnsw): %s. The server makes them anew now.",
                self.collection_name,
                ", ".join(others),
            )

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
        for some in _parts(points, self._at_most(POINTS_AT_ONCE, "upsert_max_batchsize")):
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
        for some in _parts(operations, CHANGES_AT_ONCE):
            self._change("batch_update_points", some)

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        there = self.existing(keys.keys())
        moved = [
            models.PointVectors(id=point_id, vector=self.vectors_by_name(key))
            for point_id, key in keys.items()
            if point_id in there
        ]
        try:
            for some in _parts(moved, self._at_most(POINTS_AT_ONCE, "upsert_max_batchsize")):
                self._change("update_vectors", some)
        except StoreRefused:
            if self.existing(there) == there:
                raise
            self.rekey(keys)  # another process deleted one meanwhile

    def delete_points(self, ids: Sequence[str]) -> None:
        for some in _parts(ids, IDS_AT_ONCE):
            self._change("delete", models.PointIdsList(points=some))

    def _change(self, verb: str, what: Any) -> None:
        condition.check(conf.directory())
        getattr(self.client, verb)(self.collection_name, what, **self._writes)

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
            for record in self.client.retrieve(self.collection_name, some, **what, **self._reads)
        ]

    def nearest_query(self, vector: Sequence[float], lane: str) -> dict[str, Any]:
        return {"query": list(vector), "using": lane}

    def words_query(self, rarity: Mapping[int, float], lane: str) -> dict[str, Any]:
        return {"query": self.sparse(rarity), "using": lane}

    def query_each(
        self, queries: Sequence[dict[str, Any]], limit: int, filters: Filters
    ) -> Sequence[Hits]:
        limit = self._at_most(limit, "max_query_limit")
        found = self._query_all(
            queries, limit=limit, filter=self._where(filters), with_payload=True
        )
        return [[Hit(*_row(hit), hit.score) for hit in hits] for hits in found]

    def _query_all(self, queries: Iterable[dict[str, Any]], **common: Any) -> list[list[Any]]:
        requests = [models.QueryRequest(**(common | query)) for query in queries]
        return [
            answer.points
            for some in _parts(requests, self._at_most(len(requests), "search_max_batchsize"))
            for answer in self.client.query_batch_points(self.collection_name, some, **self._reads)
        ]

    def best_of_lanes(
        self, queries: Mapping[str, dict[str, Any]], limit: int, filters: Filters
    ) -> set[PointId]:
        limit = self._at_most(limit, "max_query_limit")
        found = self._query_all(
            queries.values(), limit=limit, filter=self._where(filters), with_payload=False
        )
        return {uuid.UUID(str(hit.id)) for hits in found for hit in hits}

    def find(
        self, search: LaneSearch, limit: int, also: Collection[PointId] = (), **where: Any
    ) -> Sequence[Candidate]:
        if not self.remote:  # that engine searches for the candidates of each lane anew
            return super().find(search, limit, also, **where)
        lanes = search.queries.values()
        limit = min(limit, self._at_most(VALUES_AT_MOST, "max_query_limit") // len(lanes))
        # the server weighs the best of all lanes in each lane: they need not come here before
        only = self._where(filters_of(search.agent_id, where))
        best = [models.Prefetch(**query, filter=only, limit=limit) for query in lanes]
        among = {"prefetch": best, "limit": limit * len(best)}
        return self._scored(search, [among, *self._each_of(search, also)])

    def scores_in_lanes(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        return self._scored(search, self._each_of(search, ids))

    def _each_of(self, search: LaneSearch, ids: Collection[PointId]) -> list[dict[str, Any]]:
        """Return what asks for these memories of an NPC and no others."""
        at_most = self._at_most(IDS_AT_ONCE, "max_query_limit", "condition_max_size")
        return [
            {"filter": _only(some, search.agent_id), "limit": len(some)}
            for some in _parts([*ids], at_most)
        ]

    def _scored(self, search: LaneSearch, among: Sequence[dict[str, Any]]) -> Sequence[Candidate]:
        """Return memories with their scores in each lane."""
        # every point has a vector in the lane `line`: that query brings all of them
        payload = [*search.fields] or True
        exact = models.SearchParams(exact=True) if self.remote and self._exact else None
        asked = [
            (lane, query | each | {"with_payload": lane == LINE and payload})
            for each in among
            for lane, query in search.queries.items()
        ]
        scores: dict[str, dict[Any, float]] = {lane: {} for lane in LANES}
        rows: dict[Any, dict[str, Any]] = {}
        found = self._query_all((query for _, query in asked), params=exact)
        for (lane, _), hits in zip(asked, found, strict=True):
            scores[lane].update((hit.id, hit.score) for hit in hits)
            if lane == LINE:
                rows.update((hit.id, hit.payload or {}) for hit in hits)
        if search.fields:
            # what another program wrote, or an earlier version, says too little in these fields
            thin = {e for e, row in rows.items() if is_foreign(row) or not row.get("tokens")}
            whole = self.payloads(thin) if thin else {}
            rows = whole | {
                each: row | {"private": row["audience"] != [ANYONE], "witnesses": row["audience"]}
                for each, row in rows.items()
                if each not in thin
            }
        return [
            to_candidate(each, _without_game(row), [of.get(each, 0.0) for of in scores.values()])
            for each, row in rows.items()
        ]

    def scroll(self, filters: Filters, offset: Any, limit: int) -> tuple[Rows, Any]:
        records, offset = self._scroll(filters, limit, offset=offset)
        return list(map(_row, records)), offset

    def newest_rows(self, filters: Filters, limit: int) -> Rows:
        order = models.OrderBy(key="created_at", direction=models.Direction.DESC)
        return list(map(_row, self._scroll(filters, limit, order_by=order)[0]))

    def _scroll(
        self, filters: Filters, limit: int, with_payload: Any = True, **more: Any
    ) -> tuple[list[Any], Any]:
        limit = self._at_most(limit, "max_query_limit")
        given = {"limit": limit, "with_payload": with_payload, **more, **self._reads}
        return self.client.scroll(self.collection_name, self._where(filters), **given)

    def count_rows(self, filters: Filters = None) -> int:
        if not self._exact:  # a server's own count would be an estimate
            return sum(1 for _ in self._every(filters, False))
        return self.client.count(self.collection_name, self._where(filters), exact=True).count

    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        limit = self._at_most(VALUES_AT_MOST, "max_query_limit")
        if self._exact:
            found = self.client.facet(
                self.collection_name,
                field,
                facet_filter=self._where(filters),
                limit=limit,
                exact=True,
                **self._reads,
            )
            if len(found.hits) < limit:
                return {str(hit.value): hit.count for hit in found.hits if hit.count}
        values = ((each.payload or {}).get(field) for each in self._every(filters, [field]))
        return Counter(str(value) for value in values if value is not None)

    def _every(self, filters: Filters, with_payload: Any) -> Iterator[Any]:
        records, offset = self._scroll(filters, SCROLLED, with_payload)
        yield from records
        while offset is not None:
            records, offset = self._scroll(filters, SCROLLED, with_payload, offset=offset)
            yield from records

    def _where(self, filters: Filters) -> models.Filter | None:
        """Translate a filter; one that names no NPC is about the whole of this game."""
        if "agent_id" not in (filters or {}):
            filters = (filters or {}) | self._mine
        return to_filter(filters, _FILTERS)


def _indexes(version: tuple[int, ...]) -> dict[str, Any]:
    """Return the payload indexes by field, as a server of this version has them.

    Clusters may refuse to filter by a field without one (strict mode). Only `agent_id` needs links
    in the graph: those of the others would connect nearly the whole collection.
    """
    plain: dict[str, Any] = {} if version < WITHOUT_GRAPH else {"enable_hnsw": False}
    keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, **plain)
    time_of = models.DatetimeIndexParams(type=models.DatetimeIndexType.DATETIME, **plain)
    kinds = INDEXED_FIELDS.items()
    return {name: time_of if kind == TIME else keyword for name, kind in kinds} | {
        GAME: keyword,
        "superseded_by": keyword,
        # what is of one NPC lies together on the disk
        "agent_id": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    }


def _kind(params: Any, data_type: Any) -> tuple[str, bool, bool]:
    tenant = bool(getattr(params, "is_tenant", None))
    return data_type.value, tenant, getattr(params, "enable_hnsw", None) is not False


def _majority(replicas: int | None) -> int | None:
    """Return how many of three or more replicas a write must reach: a quorum reads it then."""
    return replicas // 2 + 1 if replicas and replicas > 2 else None


def _only(ids: Iterable[PointId], agent_id: str = "") -> models.Filter:
    must: list[Any] = [models.HasIdCondition(has_id=[str(each) for each in ids])]
    if agent_id:
        match = models.MatchValue(value=agent_id)
        must.append(models.FieldCondition(key="agent_id", match=match))
    return models.Filter(must=must)


def _row(found: Any) -> Row:
    return str(found.id), _without_game(found.payload or {})


def _without_game(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != GAME}


def _parts(some: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for first in range(0, len(some), size or 1):
        yield list(some[first : first + size])


# --- strict mode ----------------------------------------------------------------------------------

TERMS_AT_MOST = 2048  # different words of the lines in one key
# limits of a collection, and the least that the store can work with
_NEEDED = {"max_query_limit": 120, "filter_max_conditions": 8, "condition_max_size": 16}
_REFUSED_BY = {  # by what a server says
    '"limit"': "max_query_limit",
    "search batch size": "search_max_batchsize",
    "upsert limit": "upsert_max_batchsize",
    "update limit": "upsert_max_batchsize",
    "Exact search": "search_allow_exact",
    "hnsw_config.m": "search_allow_exact",
    "Filter condition limit": "filter_max_conditions",
    "Condition size": "condition_max_size",
    "Index required": "unindexed_filtering_retrieve, unindexed_filtering_update",
    "vector storage size": "max_collection_vector_size_bytes",
    "payload storage size": "max_collection_payload_size_bytes",
    "points count limit": "max_points_count",
    "Resident memory": "max_resident_memory_percent",
}


def _strict_limit(said: str) -> str:
    """Return the setting of strict mode by which a server refuses a request, or ""."""
    said = said.replace("\\", "")  # before quotation marks, in the text of an answer
    other = "the one that it names" if "Help:" in said else ""
    return next((name for words, name in _REFUSED_BY.items() if words in said), other)


# --- the client -----------------------------------------------------------------------------------

_OF_CLIENT = {"host", "port", "grpc_port", "https", "prefix", "api_key", "prefer_grpc"}
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


def _connect(config: QdrantServerConfig) -> Iterator[QdrantClient]:
    """Yield a client for each node that is named."""
    if config.path is not None:
        # the store is closed by another thread than the one that works with it
        yield QdrantClient(path=config.path, force_disable_check_same_thread=True)
        return
    given = config.model_dump(include=_OF_CLIENT, exclude_none=True)
    for url in config.url if isinstance(config.url, list) else [config.url]:
        at = {"url": url} if url else {}
        yield QdrantClient(**given | at, timeout=config.timeout, check_compatibility=False)


class _Client:
    """A QdrantClient whose errors are a `StoreError`.

    Where a node does not answer the next one is asked. A server that is busy and says for how long
    is asked again then, within the time of one request; one that fails is asked once more, since a
    cluster has noticed by then which of its nodes is gone.
    """

    def __init__(self, config: QdrantServerConfig):
        self._nodes = deque(_connect(config))
        self._seconds = config.timeout

    def close(self) -> None:
        for each in self._nodes:
            each.close()

    def __getattr__(self, name: str) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            failures, until = 0, time.monotonic() + self._seconds
            while True:
                try:
                    return getattr(self._nodes[0], name)(*args, **kwargs)
                except ResourceExhaustedResponse as busy:
                    if time.monotonic() + busy.retry_after_s > until:
                        raise StoreUnreachable("qdrant", busy) from busy
                    time.sleep(busy.retry_after_s)
                except (ApiException, QdrantException, grpc.RpcError, OSError) as error:
                    if _is_refusal(error):
                        limit = _strict_limit(str(error))
                        raise StoreRefused("qdrant", error, limit) from error
                    failures += 1
                    if failures >= len(self._nodes) + isinstance(error, UnexpectedResponse):
                        raise StoreUnreachable("qdrant", error) from error
                    self._nodes.rotate(-1)

        return called


def _is_refusal(error: Exception) -> bool:
    """Return whether the server understood a request and will not do it, however often it comes."""
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 500
        return 400 <= status < 500 and status not in _TEMPORARY
    return isinstance(error, grpc.Call) and error.code() in _REFUSALS
