"""PostgreSQL with pgvector, through Mem0's adapter, with the verbs that it lacks.

Mem0's own replaces a whole payload when a field is changed, refuses to write a known id again, and
compares lists as text. Here the database merges a payload in one statement, known ids are
overwritten, and values are found inside lists. Without `hnsw` in the settings the search is exact:
an HNSW index over all NPCs filters afterwards, and would find little of one among many.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from mem0.vector_stores import pgvector as mem0_pgvector
from mem0.vector_stores.pgvector import OutputData, PGVector
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb
from psycopg_pool import PoolTimeout

from .condition import StoreMismatch, StoreUnreachable
from .filters import Filters
from .mem0_store import Points
from .payload import completed

LISTS = ("audience", "dominant_emotions", "entities", "journal_ids", "tags", "witnesses")
CONNECT_SECONDS = 5.0

Clause = tuple[list[str], list[Any]]  # conditions, joined by AND, and the values in them

_WORDS = "to_tsvector('simple', coalesce(payload->>'text_lemmatized', payload->>'data'))"
_INDEXES = {"agent": "((payload->>'agent_id'))", "words": f"USING gin ({_WORDS})"}


def conninfo(config: dict[str, Any]) -> dict[str, Any]:
    """Join a config's connection parts into one quoted string; passwords may hold any character."""
    parts = {name: config[name] for name in ("host", "port", "user", "password") if name in config}
    if config.get("connection_string") or config.get("connection_pool"):
        return config
    made = make_conninfo("", dbname=config.get("dbname", "postgres"), **parts)
    return {key: value for key, value in config.items() if key not in parts} | {
        "connection_string": made
    }


class PGVectorStore(PGVector):
    """One table in PostgreSQL, behind Mem0's vector-store interface."""

    def __init__(self, **config: Any):
        super().__init__(**config)
        self.connection_pool.timeout = CONNECT_SECONDS
        self._ensure_collection()
        self._check_size()

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
        super().create_col()
        with self._get_cursor() as cursor:
            for name, what in _INDEXES.items():
                index = sql.Identifier(f"{self.collection_name}_{name}_idx")
                made = sql.SQL(f"CREATE INDEX IF NOT EXISTS {{}} ON {{}} {what}")
                cursor.execute(made.format(index, self._col()))

    def _check_size(self) -> None:
        with self._get_cursor() as cursor:
            cursor.execute(
                "SELECT atttypmod FROM pg_attribute WHERE attname = 'vector' "
                "AND attrelid = %s::regclass",
                (f'"{self.collection_name}"',),
            )
            [size] = cursor.fetchone() or (None,)
        if size != self.embedding_model_dims:
            raise StoreMismatch.of_size(
                f"The table {self.collection_name}", size, self.embedding_model_dims
            )

    # --- writing ------------------------------------------------------------------------------

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Insert or overwrite points, all of them or none."""
        payloads = [dict(completed(each)) for each in payloads or [{} for _ in vectors]]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        query = sql.SQL(
            "INSERT INTO {} (id, vector, payload) VALUES (%s, %s, %s) ON CONFLICT (id) "
            "DO UPDATE SET vector = EXCLUDED.vector, payload = EXCLUDED.payload"
        ).format(self._col())
        rows = [
            (point_id, list(vector), Jsonb(payload))
            for point_id, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]
        with self._get_cursor() as cursor:
            cursor.executemany(query, rows)

    def update(
        self,
        vector_id: str,
        vector: Sequence[float] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        """Change a point. A payload alone is merged into the stored one; its vector stays."""
        both = vector is not None and payload is not None
        change = {"vector": vector and list(vector), "payload": payload and Jsonb(payload)}
        for column, value in change.items():
            if value is None:
                continue
            merged = "payload || %s" if column == "payload" and not both else "%s"
            query = f"UPDATE {{}} SET {column} = {merged} WHERE id = %s"
            with self._get_cursor() as cursor:
                cursor.execute(sql.SQL(query).format(self._col()), (value, vector_id))

    # --- reading ------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        vectors: Sequence[float],
        top_k: int | None = 5,
        filters: Filters = None,
    ) -> Points:
        """Return the `top_k` nearest by cosine similarity, best first."""
        best = ("ORDER BY 2 DESC LIMIT %s", [top_k])
        similarity = "1 - (vector <=> %s::vector)"
        return self._points(_where(filters), best, similarity, list(vectors))

    def keyword_search(self, query: str, top_k: int = 5, filters: Filters = None) -> Points:
        """Return the `top_k` best that have any word of the query, best first."""
        words = " or ".join(f'"{word}"' for word in query.replace('"', " ").split())
        if not words:
            return []
        asked = "websearch_to_tsquery('simple', %s)"
        conditions, values = _where(filters)
        matching = ([*conditions, f"{_WORDS} @@ {asked}"], [*values, words])
        best = ("ORDER BY 2 DESC LIMIT %s", [top_k])
        return self._points(matching, best, f"ts_rank_cd({_WORDS}, {asked})", words)

    def get_many(self, ids: Sequence[str]) -> Points:
        """Return the points of `ids` that exist, in no particular order."""
        return self._points((["id = ANY(%s)"], [_uuids(ids)]), ("", ()))

    def get(self, vector_id: str) -> OutputData | None:
        return next(iter(self.get_many([vector_id])), None)

    def vectors_of(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """Return the vectors of those `ids` that exist."""
        rows = self._select("id, vector::real[]", [], (["id = ANY(%s)"], [_uuids(ids)]))
        return {str(each): vector for each, vector in rows}

    def list(self, filters: Filters = None, top_k: int | None = 100) -> Sequence[Points]:
        """Return up to `top_k` points that match (None: all): a list in a list, as Mem0 expects."""
        return [self._points(_where(filters), ("LIMIT %s", [top_k]))]

    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Points, Any]:
        """Return up to `limit` points that match, by id, and the next page's offset or None."""
        conditions, values = _where(filters)
        if offset is not None:
            conditions, values = [*conditions, "id > %s::uuid"], [*values, offset]
        hits = self._points((conditions, values), ("ORDER BY id LIMIT %s", [limit]))
        return hits, (hits[-1].id if len(hits) == limit else None)

    def count(self, filters: Filters = None) -> int:
        [[count]] = self._select("count(*)", [], _where(filters))
        return count

    def agents(self) -> dict[str, int]:
        """Return how many points each agent id has."""
        rows = self._select("payload->>'agent_id', count(*)", [], ([], []), ("GROUP BY 1", []))
        return {agent_id or "": count for agent_id, count in rows}

    def _points(
        self, where: Clause, rest: tuple[str, Sequence[Any]], score: str = "NULL", *values: Any
    ) -> Points:
        """Return the points of a query; `score` is SQL with these values in it."""
        rows = self._select(f"id, {score}, payload", values, where, rest)
        return [OutputData(id=str(each), score=found, payload=data) for each, found, data in rows]

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


def _uuids(ids: Sequence[str]) -> list[uuid.UUID]:
    found = []
    for each in ids:
        try:
            found.append(uuid.UUID(str(each)))
        except ValueError:
            continue  # no point has such an id
    return found
