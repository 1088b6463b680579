"""PostgreSQL with pgvector as the memory store, in one table, with every search lane.

`PostgresStore` is the store of memories, `PGVectorStore` the Mem0 vector store below it, which
takes the connection and the table from Mem0's own adapter; what they share with the Qdrant stores
is in `lane_store`. The vectors of the two dense lanes are columns of pgvector's type, the keys of
the word lanes are JSON objects (term → weight), weighed in the database by our own BM25:
PostgreSQL's full-text search knows no rarity per NPC, and measured it finds a fifth less
(docs/adr/006).

The search is exact, over the memories of one NPC, unless `hnsw` is set: an HNSW index over all NPCs
filters afterwards, and would find little of one among many. Worker thread only.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from mem0.vector_stores import pgvector as mem0_pgvector
from mem0.vector_stores.pgvector import PGVector
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from psycopg_pool import PoolTimeout

from .. import conf
from . import condition
from .condition import StoreMismatch, StoreUnreachable
from .filters import Filters
from .lane_store import Hit, Hits, LaneStore, LaneVectorStore
from .lanes import LANES, LINE, NEAR, WIDE, WINDOW, WORD_LANES, Keys, LaneVectors, Vocabulary
from .payload import Candidate, PointId, to_candidate

LISTS = ("audience", "dominant_emotions", "entities", "journal_ids", "tags", "witnesses")
CONNECT_SECONDS = 5.0

COLUMNS = {LINE: "vector", WINDOW: "window_vector", NEAR: "near_words", WIDE: "wide_words"}

Clause = tuple[list[str], list[Any]]  # conditions, joined by AND, and the values in them


@dataclass(frozen=True, slots=True)
class Query:
    """The search of one lane: SQL of its score, a condition on what it finds, and their values."""

    score: str
    values: Sequence[Any]
    where: Clause


def conninfo(config: dict[str, Any]) -> dict[str, Any]:
    """Join a config's connection parts into one quoted string; passwords may hold any character."""
    parts = {name: config[name] for name in ("host", "port", "user", "password") if name in config}
    if config.get("connection_string") or config.get("connection_pool"):
        return config
    made = make_conninfo("", dbname=config.get("dbname", "postgres"), **parts)
    return {key: value for key, value in config.items() if key not in parts} | {
        "connection_string": made
    }


class PostgresStore(LaneStore):
    """A memory store in PostgreSQL. A memory there does not say which game it is of."""

    scoped = False
    _vectors: PGVectorStore


class PGVectorStore(LaneVectorStore, PGVector):
    """One table in PostgreSQL, behind Mem0's vector-store interface."""

    def __init__(self, **config: Any):
        PGVector.__init__(self, **config)
        self._vocabulary = Vocabulary(conf.directory())
        self.connection_pool.timeout = CONNECT_SECONDS
        self._ensure_collection()
        self._check()

    # --- the connection -----------------------------------------------------------------------

    @contextmanager
    def _get_cursor(self, commit: bool = False) -> Iterator[Any]:
        try:
            with self.connection_pool.connection() as connection, connection.cursor() as cursor:
                yield cursor
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise StoreUnreachable("pgvector", error) from error

    def close(self) -> None:
        self.connection_pool.close(timeout=1.0)

    def create_col(self) -> None:
        """Create the table and its indexes."""
        PGVector.create_col(self)
        size = sql.Literal(self.embedding_model_dims)
        index = sql.Identifier(f"{self.collection_name}_agent_idx")
        with self._get_cursor() as cursor:
            for statement in (
                "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS window_vector vector({size}), "
                "ADD COLUMN IF NOT EXISTS near_words jsonb, "
                "ADD COLUMN IF NOT EXISTS wide_words jsonb",
                "CREATE INDEX IF NOT EXISTS {index} ON {table} ((payload->>'agent_id'))",
            ):
                made = sql.SQL(statement).format(table=self._col(), size=size, index=index)
                cursor.execute(made)

    def _check(self) -> None:
        """Check that the table has our columns, and vectors of our length."""
        with self._get_cursor() as cursor:
            cursor.execute(
                "SELECT attname, atttypmod FROM pg_attribute "
                "WHERE attrelid = %s::regclass AND attnum > 0",
                (f'"{self.collection_name}"',),
            )
            columns = dict(cursor.fetchall())
        what = f"The table {self.collection_name}"
        if not {*COLUMNS.values()} <= columns.keys():
            raise StoreMismatch(
                f"{what} has other columns than this contrib writes: an earlier version wrote it "
                "(one vector for each memory), or another program. Name another collection_name in "
                'CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"]. To take memories along, export each '
                "NPC with the version that wrote them (evennia ai_memory export), then import the "
                "files with this one (evennia ai_memory import --replace)."
            )
        if columns["vector"] != self.embedding_model_dims:
            raise StoreMismatch.of_size(what, columns["vector"], self.embedding_model_dims)

    # --- writing ------------------------------------------------------------------------------

    def write(
        self,
        ids: Sequence[str],
        payloads: Sequence[dict[str, Any]],
        found_by: Sequence[Keys | LaneVectors],
    ) -> None:
        """Insert or overwrite points with all their keys, all of them or none."""
        columns = ["id", "payload", *COLUMNS.values()]
        changed = ", ".join(f"{name} = EXCLUDED.{name}" for name in columns[1:])
        query = (
            f"INSERT INTO {{}} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))}) "
            f"ON CONFLICT (id) DO UPDATE SET {changed}"
        )
        rows = []
        for point_id, payload, key in zip(ids, payloads, found_by, strict=True):
            named = self.vectors_by_name(key)
            rows.append((point_id, Jsonb(payload), *map(named.get, COLUMNS)))
        self._change_many(query, rows)

    def change_payloads(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        rows = [(Jsonb(dict(fields)), each) for each, fields in changes.items()]
        self._change_many("UPDATE {} SET payload = payload || %s WHERE id = %s", rows)

    def change_vectors(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        for point_id, named in changes.items():
            lanes = (
                LANES if WINDOW in named else tuple(named)
            )  # whole keys: a lane may be empty now
            columns = ", ".join(f"{COLUMNS[lane]} = %s" for lane in lanes)
            row = (*map(named.get, lanes), point_id)
            self._change_many(f"UPDATE {{}} SET {columns} WHERE id = %s", [row])

    def delete_many(self, ids: Sequence[str]) -> None:
        self._change_many("DELETE FROM {} WHERE id = %s", [(each,) for each in _uuids(ids)])

    def _change_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row, in one transaction."""
        if rows:
            condition.check(conf.directory())
            with self._get_cursor() as cursor:
                cursor.executemany(sql.SQL(query).format(self._col()), rows)

    def _sparse(self, values: Mapping[int, float]) -> Jsonb:
        return Jsonb({str(term): weight for term, weight in values.items()})

    # --- reading ------------------------------------------------------------------------------

    def existing(self, ids: Collection[str]) -> set[str]:
        return {str(each) for (each,) in self._select("id", [], _only(ids))}

    def get_many(self, ids: Sequence[str]) -> Hits:
        return self._hits(_only(ids))

    def vectors_of(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """Return the dense vectors of those `ids` that exist."""
        rows = self._select("id, vector::real[]", [], _only(ids))
        return {str(each): vector for each, vector in rows}

    def lane_vectors(self, ids: Collection[str]) -> dict[str, LaneVectors]:
        columns = "id, vector::real[], window_vector::real[], near_words, wide_words"
        found = {}
        for each, line, window, *words in self._select(columns, [], _only(ids)):
            weights = {
                lane: {int(term): weight for term, weight in (of or {}).items()}
                for lane, of in zip(WORD_LANES, words, strict=True)
            }
            found[str(each)] = LaneVectors(
                np.asarray(line, dtype=np.float32), np.asarray(window, dtype=np.float32), weights
            )
        return found

    def candidates(
        self, queries: Mapping[str, Query], limit: int, filters: Filters
    ) -> set[PointId]:
        parts, values = [], []
        conditions, given = _where(filters)
        for query in queries.values():
            where = " AND ".join([*conditions, *query.where[0]]) or "true"
            parts.append(
                f"(SELECT id FROM {{}} WHERE {where} ORDER BY {query.score} DESC LIMIT %s)"
            )
            values += [*given, *query.where[1], *query.values, limit]
        statement = sql.SQL(" UNION ".join(parts)).format(*[self._col()] * len(parts))
        with self._get_cursor() as cursor:
            cursor.execute(statement, values)
            return {each for (each,) in cursor.fetchall()}

    def score(self, queries: Mapping[str, Query], ids: Collection[PointId]) -> Sequence[Candidate]:
        lanes = [queries.get(lane) for lane in LANES]
        scores = ", ".join(query.score if query else "0.0" for query in lanes)
        values = [value for query in lanes if query for value in query.values]
        rows = self._select(f"id, payload, {scores}", values, _only(ids))
        return [to_candidate(each, payload, list(map(float, of))) for each, payload, *of in rows]

    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Hits, Any]:
        conditions, values = _where(filters)
        if offset is not None:
            conditions, values = [*conditions, "id > %s::uuid"], [*values, offset]
        hits = self._hits((conditions, values), ("ORDER BY id LIMIT %s", [limit]))
        return hits, (hits[-1].id if len(hits) == limit else None)

    def newest(self, filters: Filters, limit: int) -> Hits:
        conditions, values = _where(filters)
        timed = ([*conditions, "payload->>'created_at' IS NOT NULL"], values)
        return self._hits(timed, ("ORDER BY payload->>'created_at' DESC LIMIT %s", [limit]))

    def count(self, filters: Filters = None) -> int:
        [[count]] = self._select("count(*)", [], _where(filters))
        return count

    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        rows = self._select("payload->>%s, count(*)", [field], _where(filters), ("GROUP BY 1", []))
        return {value or "": count for value, count in rows}

    def _nearest(self, vector: Sequence[float], lane: str) -> Query:
        return Query(f"(1 - ({COLUMNS[lane]} <=> %s::vector))", [list(vector)], ([], []))

    def _by_words(self, rarity: Mapping[int, float], lane: str) -> Query:
        column = COLUMNS[lane]
        term = f"coalesce(({column}->>%s)::float8, 0) * %s"
        values = [value for each, rare in rarity.items() for value in (str(each), rare)]
        found = ([f"{column} ?| %s::text[]"], [list(map(str, rarity))])
        return Query(f"({' + '.join([term] * len(rarity))})", values, found)

    def _query_each(self, queries: Sequence[Query], top_k: int, filters: Filters) -> list[Hits]:
        return [self._query(each, top_k, filters) for each in queries]

    def _query(self, query: Query, top_k: int, filters: Filters) -> Hits:
        conditions, values = _where(filters)
        where = ([*conditions, *query.where[0]], [*values, *query.where[1]])
        rows = self._select(
            f"id, payload, {query.score} AS score",
            query.values,
            where,
            ("ORDER BY score DESC LIMIT %s", [top_k]),
        )
        return [Hit(id=str(each), score=found, payload=data) for each, data, found in rows]

    def _hits(self, where: Clause, rest: tuple[str, Sequence[Any]] = ("", ())) -> Hits:
        rows = self._select("id, payload", [], where, rest)
        return [Hit(id=str(each), payload=data or {}) for each, data in rows]

    def _select(
        self,
        columns: str,
        values: Sequence[Any],
        where: Clause,
        rest: tuple[str, Sequence[Any]] = ("", ()),
    ) -> Sequence[tuple[Any, ...]]:
        conditions = "WHERE " + " AND ".join(where[0]) if where[0] else ""
        query = sql.SQL(f"SELECT {columns} FROM {{}} {conditions} {rest[0]}").format(self._col())
        with self._get_cursor() as cursor:
            cursor.execute(query, (*values, *where[1], *rest[1]))
            return cursor.fetchall()


def _where(filters: Filters) -> Clause:
    """Translate Mem0's filters into conditions; values match inside lists."""
    lists = {name: value for name, value in (filters or {}).items() if name in LISTS}
    rest = {name: value for name, value in (filters or {}).items() if name not in LISTS}
    conditions, values = mem0_pgvector._build_filter_conditions(rest)
    for name, value in lists.items():
        wanted = value.get("in", value.get("eq")) if isinstance(value, dict) else value
        wanted = wanted if isinstance(wanted, list) else [wanted]
        if isinstance(value, dict) and not set(value) <= {"in", "eq"}:
            raise ValueError(f"filter {name!r}: {value!r}: a list can be asked for 'in' and 'eq'")
        conditions.append("(" + " OR ".join(["payload->%s @> %s::jsonb"] * len(wanted)) + ")")
        values += [part for each in wanted for part in (name, json.dumps([each]))]
    return conditions, values


def _only(ids: Collection[PointId]) -> Clause:
    return ["id = ANY(%s)"], [_uuids(ids)]


def _uuids(ids: Collection[PointId]) -> list[uuid.UUID]:
    found = []
    for each in ids:
        try:
            found.append(uuid.UUID(str(each)))
        except ValueError:
            continue  # no point has such an id
    return found
