"""A Qdrant server or cluster as the memory store, by the calls of its own client.

A recall takes two requests: one brings the candidates of all lanes with their scores and the fields
that ranking needs, one the payloads of those that are told. With `path` in the settings, the client
keeps the points in files of its own.

Several games may share a collection, so each point also bears the id of its game: what concerns a
whole store (`agents`, a listing of all, `reset`) is about this game alone (docs/adr/027). A write
adds that field and a read leaves it out. Every request may be made again: writes give values and
not differences. Worker thread only.
"""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import grpc
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from .. import conf
from ..log import logger
from . import condition
from .condition import StoreError, StoreMismatch, StoreRefused, StoreUnreachable, StoreUnusable
from .engine_config import QdrantServerConfig
from .lanes import LANES, LINE, WINDOW, WORD_LANES, Keys
from .payload import ANYONE, INDEXED_FIELDS, TIME, Candidate, PointId, Row, is_foreign, to_candidate
from .protocol import VALUES_AT_MOST, Filters, LaneSearch, filters_of
from .qdrant import GAME, QdrantStore, without_game

POINTS_AT_ONCE = 128  # written by one request; some 25 kB each, and a server takes 32 MB
# payloads changed by one request: a server does one after the other, within the time-out
CHANGES_AT_ONCE = 64
IDS_AT_ONCE = 1000  # of one request
OLDEST = (1, 12)  # version of a server
TERMS_AT_MOST = 2048  # different words of the lines in one key
# limits of a collection's strict mode, and the least that the store can work with
_NEEDED: dict[str, int] = {
    "max_query_limit": 120,
    "filter_max_conditions": 8,
    "condition_max_size": 16,
    "search_allow_exact": True,
}
WITHOUT_GRAPH = (1, 17)  # since when a payload index may do without links in the graph


class ServerStore(QdrantStore):
    """A memory store in one collection on a server, or in the local files of its client."""

    provider = "qdrant"
    kinds = models
    point = models.PointStruct
    newest_first = models.OrderBy(key="created_at", direction=models.Direction.DESC)

    def __init__(self, config: QdrantServerConfig, game_id: str, dimensions: int):
        self.collection_name = config.collection_name
        self.embedding_model_dims = dimensions
        self._mine = {GAME: game_id}
        self.remote = config.path is None
        self.client = _Client(config)
        version = self._version() if self.remote else OLDEST
        if not self.client.collection_exists(self.collection_name):
            self._create(config)
        info = self.client.get_collection(self.collection_name)
        self._check(info)
        strict = info.config.strict_mode_config
        self._strict = strict if strict and strict.enabled else None
        self._check_limits(info)
        self._agree(config, info.config.params.replication_factor or 1)
        if self.remote:  # local files have no indexes
            self._index(info.payload_schema or {}, version)

    # --- life of the collection -------------------------------------------------------------

    def _version(self) -> tuple[int, ...]:
        """Return the server's version; the oldest one if something before it keeps that back."""
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
        replicas = config.replication_factor or 1
        majority = replicas // 2 + 1 if replicas > 2 else None  # so that a quorum reads it
        try:
            self.client.create_collection(
                self.collection_name,
                vectors_config={self.line_vector: dense, WINDOW: dense},
                sparse_vectors_config=dict.fromkeys(WORD_LANES, sparse),
                # every search is of one NPC: a graph for each of them, and none over all
                hnsw_config=models.HnswConfigDiff(m=0, payload_m=16),
                shard_number=config.shard_number,
                replication_factor=config.replication_factor,
                write_consistency_factor=config.write_consistency_factor or majority,
                on_disk_payload=config.on_disk_payload,
            )
        except StoreError:
            if not self.client.collection_exists(self.collection_name):
                raise  # else another game has made it meanwhile, or the answer was lost

    def _check(self, info: Any) -> None:
        vectors, what = info.config.params.vectors, f"The collection {self.collection_name}"
        sparse = (info.config.params.sparse_vectors or {}).keys()
        named = vectors if isinstance(vectors, dict) else {}
        if not {self.line_vector, WINDOW} <= named.keys() or not WORD_LANES.keys() <= sparse:
            raise StoreMismatch.of_form(f"{what} has other vectors")
        size = named[self.line_vector].size
        if size != self.embedding_model_dims:
            raise StoreMismatch.of_size(what, size, self.embedding_model_dims)

    def _check_limits(self, info: Any) -> None:
        """Refuse limits of the collection's strict mode under which nothing would work."""
        indexes = len(_indexes(OLDEST).keys() | info.payload_schema)
        needed = _NEEDED | {"max_payload_index_count": indexes}
        given = {name: getattr(self._strict, name, None) for name in needed}
        for lane, sparse in (getattr(self._strict, "sparse_config", None) or {}).items():
            name = f"sparse_config.{lane}.max_length"
            given[name], needed[name] = sparse.max_length, TERMS_AT_MOST
        for name, limit in given.items():
            if limit is not None and limit < needed[name]:
                least = "True" if needed[name] is True else f"{needed[name]} or more"
                raise StoreUnusable(
                    f"The strict mode of the collection {self.collection_name} has {name} = "
                    f"{limit}, and this contrib needs {least}. Raise that limit or "
                    "remove it (PATCH /collections/… with strict_mode_config), or name another "
                    'collection_name in CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"].'
                )

    def _at_most(self, ours: int, *limits: str) -> int:
        return min(ours, *(getattr(self._strict, name, None) or ours for name in limits))

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
        self._change("delete", models.FilterSelector(filter=self.where(None)))

    # --- writing ----------------------------------------------------------------------------

    def upsert_rows(self, rows: Sequence[Row], keys: Sequence[Keys]) -> None:
        points = self.points(((each, payload | self._mine) for each, payload in rows), keys)
        self._in_batches("upsert", points)

    def _in_batches(self, verb: str, points: Sequence[Any]) -> None:
        for some in _parts(points, self._at_most(POINTS_AT_ONCE, "upsert_max_batchsize")):
            self._change(verb, some)

    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        operations = []
        for point_id, fields in changes.items():
            only = models.Filter(must=[_among([point_id])])  # an unknown id would be an error
            change = models.SetPayload(payload=dict(fields) | self._mine, filter=only)
            operations.append(models.SetPayloadOperation(set_payload=change))
        for some in _parts(operations, CHANGES_AT_ONCE):
            self._change("batch_update_points", some)

    def move(self, points: Sequence[models.PointVectors]) -> None:
        self._in_batches("update_vectors", points)

    def delete_points(self, ids: Sequence[str]) -> None:
        for some in _parts(ids, IDS_AT_ONCE):
            self._change("delete", models.PointIdsList(points=some))

    def _change(self, verb: str, what: Any) -> None:
        condition.check(conf.directory())
        getattr(self.client, verb)(self.collection_name, what, **self._writes)

    # --- reading ----------------------------------------------------------------------------

    def retrieve(
        self, ids: Collection[PointId], with_payload: bool, with_vectors: bool | list[str]
    ) -> Sequence[Any]:
        what = {"with_payload": with_payload, "with_vectors": with_vectors}
        return [
            record
            for some in _parts([*ids], IDS_AT_ONCE)
            for record in self.client.retrieve(self.collection_name, some, **what, **self._reads)
        ]

    def query(self, nearest_to: Any, lane: str) -> dict[str, Any]:
        return {"query": nearest_to, "using": lane}

    def query_all(
        self, queries: Iterable[Any], limit: int, where: Any, with_payload: bool = False
    ) -> list[list[Any]]:
        limit = self._at_most(limit, "max_query_limit")
        return self._query_all(queries, limit=limit, filter=where, with_payload=with_payload)

    def _query_all(self, queries: Iterable[dict[str, Any]], **common: Any) -> list[list[Any]]:
        requests = [models.QueryRequest(**(common | query)) for query in queries]
        return [
            answer.points
            for some in _parts(requests, self._at_most(len(requests), "search_max_batchsize"))
            for answer in self.client.query_batch_points(self.collection_name, some, **self._reads)
        ]

    def find(
        self, search: LaneSearch, limit: int, also: Collection[PointId] = (), **where: Any
    ) -> Sequence[Candidate]:
        if not self.remote:  # that engine searches for the candidates of each lane anew
            return super().find(search, limit, also, **where)
        lanes = search.queries.values()
        limit = min(limit, self._at_most(VALUES_AT_MOST, "max_query_limit") // len(lanes))
        # the server weighs the best of all lanes in each lane: they need not come here before
        only = self.where(filters_of(search.agent_id, where))
        best = [models.Prefetch(**query, filter=only, limit=limit) for query in lanes]
        among = {"prefetch": best, "limit": limit * len(best)}
        return self._scored(search, [among, *self._each_of(search, also)])

    def scores_in_lanes(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        return self._scored(search, self._each_of(search, ids))

    def _each_of(self, search: LaneSearch, ids: Collection[PointId]) -> list[dict[str, Any]]:
        at_most = self._at_most(IDS_AT_ONCE, "max_query_limit", "condition_max_size")
        match = models.MatchValue(value=search.agent_id)
        own = models.FieldCondition(key="agent_id", match=match)
        return [
            {"filter": models.Filter(must=[_among(some), own]), "limit": len(some)}
            for some in _parts([*ids], at_most)
        ]

    def _scored(self, search: LaneSearch, among: Sequence[dict[str, Any]]) -> Sequence[Candidate]:
        # every point has a vector in the lane `line`: that query brings all of them
        payload = [*search.fields] or True
        exact = models.SearchParams(exact=True) if self.remote else None
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
            to_candidate(each, without_game(row), [of.get(each, 0.0) for of in scores.values()])
            for each, row in rows.items()
        ]

    def scroll_points(self, where: Any, limit: int, **more: Any) -> tuple[Sequence[Any], Any]:
        limit = self._at_most(limit, "max_query_limit")
        given = {"limit": limit, "with_payload": True, **more, **self._reads}
        return self.client.scroll(self.collection_name, where, **given)

    def count_rows(self, filters: Filters = None) -> int:
        return self.client.count(self.collection_name, self.where(filters), exact=True).count

    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        limit = self._at_most(VALUES_AT_MOST, "max_query_limit")
        found = self.client.facet(
            self.collection_name,
            field,
            facet_filter=self.where(filters),
            limit=limit,
            exact=True,
            **self._reads,
        )
        if len(found.hits) < limit:
            return {str(hit.value): hit.count for hit in found.hits if hit.count}
        values = (payload.get(field) for _, payload in self.every_row(filters))
        return Counter(str(value) for value in values if value is not None)

    def where(self, filters: Filters) -> models.Filter | None:
        """Translate a filter; one that names no NPC is about the whole of this game."""
        if "agent_id" not in (filters or {}):
            filters = (filters or {}) | self._mine
        return super().where(filters)


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


def _among(ids: Iterable[PointId]) -> models.HasIdCondition:
    return models.HasIdCondition(has_id=[str(each) for each in ids])


def _parts(some: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for first in range(0, len(some), size or 1):
        yield list(some[first : first + size])


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
                        raise StoreRefused("qdrant", error) from error
                    failures += 1
                    if failures >= len(self._nodes) + isinstance(error, UnexpectedResponse):
                        raise StoreUnreachable("qdrant", error) from error
                    self._nodes.rotate(-1)

        return called


def _is_refusal(error: Exception) -> bool:
    if isinstance(error, UnexpectedResponse):
        status = error.status_code or 500
        return 400 <= status < 500 and status not in _TEMPORARY
    return isinstance(error, grpc.Call) and error.code() in _REFUSALS
