"""PostgreSQL with pgvector as the memory store, in one table, with every search lane.

Connection and table are those of Mem0's own adapter. The keys of the word lanes are JSON objects
(term → weight), weighed in the database by our own BM25: PostgreSQL's full-text search knows no
rarity per NPC, and measured it finds a fifth less (docs/adr/006).

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
from mem0.configs.vector_stores.pgvector import PGVectorConfig
from mem0.vector_stores import pgvector as mem0_pgvector
from mem0.vector_stores.pgvector import PGVector
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from psycopg_pool import PoolTimeout

from .. import conf
from . import condition
from .condition import StoreMismatch, StoreUnreachable
from .lanes import LANES, LINE, NEAR, WIDE, WINDOW, WORD_LANES, Keys
from .payload import Candidate, PointId, Row, to_candidate
from .protocol import Filters, Hit, Hits, LaneSearch, MemoryStore, Rows

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
    if config.get("connection_string"):
        return config
    made = make_conninfo("", dbname=config.get("dbname", "postgres"), **parts)
    return {key: value for key, value in config.items() if key not in parts} | {
        "connection_string": made
    }


class _Table(PGVector):
    """Mem0's table and its connections, with a column for the key of each lane."""

    def __init__(self, config: dict[str, Any]):
        given = PGVectorConfig(**conninfo({"hnsw": False} | config))
        super().__init__(**given.model_dump())
        self.connection_pool.timeout = CONNECT_SECONDS
        self.name = sql.Identifier(self.collection_name)
        self._ensure_collection()

    @contextmanager
    def cursor(self, commit: bool = False) -> Iterator[Any]:
        try:
            with self.connection_pool.connection() as connection, connection.cursor() as cursor:
                yield cursor
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise StoreUnreachable("pgvector", error) from error

    _get_cursor = cursor

    def create_col(self) -> None:
        super().create_col()
        size = sql.Literal(self.embedding_model_dims)
        index = sql.Identifier(f"{self.collection_name}_agent_idx")
        with self.cursor() as cursor:
            for statement in (
                "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS window_vector vector({size}), "
                "ADD COLUMN IF NOT EXISTS near_words jsonb, "
                "ADD COLUMN IF NOT EXISTS wide_words jsonb",
                "CREATE INDEX IF NOT EXISTS {index} ON {table} ((payload->>'agent_id'))",
            ):
                made = sql.SQL(statement).format(table=self.name, size=size, index=index)
                cursor.execute(made)


class PostgresStore(MemoryStore):
    """A memory store in one table. A memory there does not say which game it is of."""

    provider = "pgvector"
    scoped = False

    def __init__(self, config: dict[str, Any]):
        self._table = _Table(config)
        self._check()

    def reset(self) -> None:
        self._table.reset()

    def disconnect(self) -> None:
        self._table.connection_pool.close(timeout=1.0)

    def _check(self) -> None:
        name, size = self._table.collection_name, self._table.embedding_model_dims
        with self._table.cursor() as cursor:
            cursor.execute(
                "SELECT attname, atttypmod FROM pg_attribute "
                "WHERE attrelid = %s::regclass AND attnum > 0",
                (f'"{name}"',),
            )
            columns = dict(cursor.fetchall())
        what = f"The table {name}"
        if not {*COLUMNS.values()} <= columns.keys():
            raise StoreMismatch.of_form(f"{what} has other columns")
        if columns["vector"] != size:
            raise StoreMismatch.of_size(what, columns["vector"], size)

    # --- writing ------------------------------------------------------------------------------

    def upsert_rows(self, rows: Sequence[Row], keys: Sequence[Keys]) -> None:
        columns = ["id", "payload", *COLUMNS.values()]
        changed = ", ".join(f"{name} = EXCLUDED.{name}" for name in columns[1:])
        query = (
            f"INSERT INTO {{}} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))}) "
            f"ON CONFLICT (id) DO UPDATE SET {changed}"
        )
        written = [
            (point_id, Jsonb(payload), *map(self.vectors_by_name(key).get, COLUMNS))
            for (point_id, payload), key in zip(rows, keys, strict=True)
        ]
        self._change_many(query, written)

    def change_each(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        rows = [(Jsonb(dict(fields)), each) for each, fields in changes.items()]
        self._change_many("UPDATE {} SET payload = payload || %s WHERE id = %s", rows)

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        columns = ", ".join(f"{name} = %s" for name in COLUMNS.values())
        rows = [(*map(self.vectors_by_name(key).get, COLUMNS), each) for each, key in keys.items()]
        self._change_many(f"UPDATE {{}} SET {columns} WHERE id = %s", rows)

    def delete_points(self, ids: Sequence[str]) -> None:
        self._change_many("DELETE FROM {} WHERE id = %s", [(each,) for each in _uuids(ids)])

    def _change_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement for each row, in one transaction."""
        if rows:
            condition.check(conf.directory())
            with self._table.cursor() as cursor:
                cursor.executemany(sql.SQL(query).format(self._table.name), rows)

    def sparse(self, values: Mapping[int, float]) -> Jsonb:
        return Jsonb({str(term): weight for term, weight in values.items()})

    # --- reading ------------------------------------------------------------------------------

    def existing(self, ids: Collection[str]) -> set[str]:
        return {str(each) for (each,) in self._select("id", [], _only(ids))}

    def payloads(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        return dict(self._rows(_only(ids)))

    def line_vectors(self, ids: Collection[str]) -> dict[str, list[float]]:
        rows = self._select("id, vector::real[]", [], _only(ids))
        return {str(each): vector for each, vector in rows}

    def lane_vectors(self, ids: Collection[str]) -> dict[str, Keys]:
        columns = "id, vector::real[], window_vector::real[], near_words, wide_words"
        found = {}
        for each, line, window, *words in self._select(columns, [], _only(ids)):
            weights = {
                lane: {int(term): weight for term, weight in (of or {}).items()}
                for lane, of in zip(WORD_LANES, words, strict=True)
            }
            found[str(each)] = Keys(
                np.asarray(line, dtype=np.float32), np.asarray(window, dtype=np.float32), weights
            )
        return found

    def best_of_lanes(
        self, queries: Mapping[str, Query], limit: int, filters: Filters
    ) -> set[PointId]:
        parts, values = [], []
        for query in queries.values():
            conditions, given = _both(_where(filters), query.where)
            parts.append(
                f"(SELECT id FROM {{}} WHERE {' AND '.join(conditions) or 'true'} "
                f"ORDER BY {query.score} DESC LIMIT %s)"
            )
            values += [*given, *query.values, limit]
        statement = sql.SQL(" UNION ".join(parts)).format(*[self._table.name] * len(parts))
        with self._table.cursor() as cursor:
            cursor.execute(statement, values)
            return {each for (each,) in cursor.fetchall()}

    def scores_in_lanes(self, search: LaneSearch, ids: Collection[PointId]) -> Sequence[Candidate]:
        lanes = [search.queries.get(lane) for lane in LANES]
        scores = ", ".join(query.score if query else "0.0" for query in lanes)
        values = [value for query in lanes if query for value in query.values]
        rows = self._select(f"id, payload, {scores}", values, _only(ids))
        return [to_candidate(each, payload, list(map(float, of))) for each, payload, *of in rows]

    def scroll(self, filters: Filters, offset: Any, limit: int) -> tuple[Rows, Any]:
        where = _where(filters)
        if offset is not None:
            where = _both(where, (["id > %s::uuid"], [offset]))
        rows = self._rows(where, ("ORDER BY id LIMIT %s", [limit]))
        return rows, (rows[-1][0] if len(rows) == limit else None)

    def newest_rows(self, filters: Filters, limit: int) -> Rows:
        timed = _both(_where(filters), (["payload->>'created_at' IS NOT NULL"], []))
        return self._rows(timed, ("ORDER BY payload->>'created_at' DESC LIMIT %s", [limit]))

    def count_rows(self, filters: Filters = None) -> int:
        [[count]] = self._select("count(*)", [], _where(filters))
        return count

    def facet(self, field: str, filters: Filters = None) -> dict[str, int]:
        rows = self._select("payload->>%s, count(*)", [field], _where(filters), ("GROUP BY 1", []))
        return {value or "": count for value, count in rows}

    def nearest_query(self, vector: Sequence[float], lane: str) -> Query:
        return Query(f"(1 - ({COLUMNS[lane]} <=> %s::vector))", [list(vector)], ([], []))

    def words_query(self, rarity: Mapping[int, float], lane: str) -> Query:
        column = COLUMNS[lane]
        term = f"coalesce(({column}->>%s)::float8, 0) * %s"
        values = [value for each, rare in rarity.items() for value in (str(each), rare)]
        found = ([f"{column} ?| %s::text[]"], [list(map(str, rarity))])
        return Query(f"({' + '.join([term] * len(rarity))})", values, found)

    def query_each(self, queries: Sequence[Query], limit: int, filters: Filters) -> Sequence[Hits]:
        best = ("ORDER BY score DESC LIMIT %s", [limit])
        found = []
        for query in queries:
            where = _both(_where(filters), query.where)
            rows = self._select(f"id, payload, {query.score} AS score", query.values, where, best)
            found.append([Hit(str(each), payload, score) for each, payload, score in rows])
        return found

    def _rows(self, where: Clause, rest: tuple[str, Sequence[Any]] = ("", ())) -> Rows:
        rows = self._select("id, payload", [], where, rest)
        return [(str(each), payload or {}) for each, payload in rows]

    def _select(
        self,
        columns: str,
        values: Sequence[Any],
        where: Clause,
        rest: tuple[str, Sequence[Any]] = ("", ()),
    ) -> Sequence[tuple[Any, ...]]:
        conditions = "WHERE " + " AND ".join(where[0]) if where[0] else ""
        query = sql.SQL(f"SELECT {columns} FROM {{}} {conditions} {rest[0]}").format(
            self._table.name
        )
        with self._table.cursor() as cursor:
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


def _both(one: Clause, other: Clause) -> Clause:
    return [*one[0], *other[0]], [*one[1], *other[1]]


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
