"""What Qdrant Edge and the client of a Qdrant server share.

Their classes (filters, vectors, points) have the same names and arguments, but for two.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .lanes import WINDOW, WORD_LANES, Keys
from .payload import PointId, Row
from .protocol import Filters, Hit, Hits, MemoryStore, Rows

GAME = "game_id"  # on a server, beside the payload: no part of a memory


class QdrantStore(MemoryStore):
    """A memory store of Qdrant's points."""

    kinds: Any  # the module of the engine's classes
    point: Any  # its class of a point
    newest_first: Any  # the order of `newest_rows`, by `created_at`

    @abstractmethod
    def retrieve(
        self, ids: Collection[PointId], with_payload: bool, with_vectors: bool | list[str]
    ) -> Sequence[Any]:
        """Return the points of those `ids` that exist."""

    @abstractmethod
    def move(self, points: Sequence[Any]) -> None:
        """Replace the vectors of points that exist (`PointVectors`)."""

    @abstractmethod
    def query(self, nearest_to: Any, lane: str) -> Any:
        """Return the query for the points nearest to a vector, dense or sparse, in one lane."""

    @abstractmethod
    def query_all(
        self, queries: Iterable[Any], limit: int, where: Any, with_payload: bool = False
    ) -> Sequence[Sequence[Any]]:
        """Return the `limit` best points of each query, best first."""

    @abstractmethod
    def scroll_points(self, where: Any, limit: int, **more: Any) -> tuple[Sequence[Any], Any]:
        """Return up to `limit` points and the next page's offset or None."""

    def where(self, filters: Filters) -> Any:
        return to_filter(filters, self.kinds)

    def sparse(self, values: Mapping[int, float]) -> Any:
        return self.kinds.SparseVector(indices=list(values), values=list(values.values()))

    def points(self, rows: Iterable[Row], keys: Iterable[Keys]) -> list[Any]:
        return [
            self.point(id=each, vector=self.vectors_by_name(key), payload=payload)
            for (each, payload), key in zip(rows, keys, strict=True)
        ]

    def nearest_query(self, vector: Sequence[float], lane: str) -> Any:
        return self.query(list(vector), lane)

    def words_query(self, rarity: Mapping[int, float], lane: str) -> Any:
        return self.query(self.sparse(rarity), lane)

    def best_of_lanes(
        self, queries: Mapping[str, Any], limit: int, filters: Filters
    ) -> set[PointId]:
        found = self.query_all(queries.values(), limit, self.where(filters))
        return {as_uuid(hit.id) for hits in found for hit in hits}

    def rekey(self, keys: Mapping[str, Keys]) -> None:
        there = self.existing(keys.keys())
        moved = [
            self.kinds.PointVectors(id=point_id, vector=self.vectors_by_name(key))
            for point_id, key in keys.items()
            if point_id in there
        ]
        if moved:
            self.move(moved)

    def existing(self, ids: Collection[str]) -> set[str]:
        return {str(each.id) for each in self.retrieve(ids, False, False)}

    def payloads(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        return dict(map(row_of, self.retrieve(ids, True, False)))

    def line_vectors(self, ids: Collection[str]) -> dict[str, Any]:
        found = {
            str(each.id): each.vector for each in self.retrieve(ids, False, [self.line_vector])
        }
        return {
            each: vector[self.line_vector] if isinstance(vector, dict) else vector
            for each, vector in found.items()
        }

    def lane_vectors(self, ids: Collection[str]) -> dict[str, Keys]:
        found = self.retrieve(ids, False, True)
        return {str(each.id): self._keys(each.vector) for each in found}

    def _keys(self, named: Mapping[str, Any]) -> Keys:
        """Return the keys of a memory from the vectors of its point: `vectors_by_name` undone."""
        words = {
            lane: dict(zip(named[lane].indices, named[lane].values, strict=True))
            for lane in WORD_LANES
            if lane in named
        }
        line, window = (
            np.asarray(named[name], dtype=np.float32) for name in (self.line_vector, WINDOW)
        )
        return Keys(line, window, words)

    def query_each(self, queries: Sequence[Any], limit: int, filters: Filters) -> Sequence[Hits]:
        found = self.query_all(queries, limit, self.where(filters), with_payload=True)
        return [[Hit(*row_of(hit), hit.score) for hit in hits] for hits in found]

    def scroll(self, filters: Filters, offset: Any, limit: int) -> tuple[Rows, Any]:
        points, offset = self.scroll_points(self.where(filters), limit, offset=offset)
        return list(map(row_of, points)), offset

    def newest_rows(self, filters: Filters, limit: int) -> Rows:
        where = self.where(filters)
        return list(map(row_of, self.scroll_points(where, limit, order_by=self.newest_first)[0]))


def as_uuid(point_id: PointId) -> uuid.UUID:
    return point_id if isinstance(point_id, uuid.UUID) else uuid.UUID(str(point_id))


def row_of(point: Any) -> Row:
    return str(point.id), without_game(point.payload or {})


def without_game(payload: dict[str, Any]) -> dict[str, Any]:
    if GAME not in payload:
        return payload
    return {name: value for name, value in payload.items() if name != GAME}


# --- Mem0's filter language -----------------------------------------------------------------------

_RANGE = {"gt", "gte", "lt", "lte"}
_MATCHES = {  # operator → class of the match, the name of its argument
    "eq": ("MatchValue", "value"),
    "ne": ("MatchExcept", "except"),
    "in": ("MatchAny", "any"),
    "nin": ("MatchExcept", "except"),
    "contains": ("MatchText", "text"),
    "icontains": ("MatchText", "text"),
}
_JOINS = {"AND": "must", "OR": "should", "NOT": "must_not"}


def to_filter(filters: Filters, kinds: Any) -> Any:
    """Translate equality, lists, operators, AND/OR/NOT; None if nothing is asked."""
    parts: dict[str, list[Any]] = {"must": [], "should": [], "must_not": []}
    for key, value in (filters or {}).items():
        join = _JOINS.get(key.removeprefix("$").upper())
        if join:
            parts[join] += [built for each in value if (built := to_filter(each, kinds))]
        elif value != "*":
            parts["must"].append(_condition(key, value, kinds))
    if not any(parts.values()):
        return None
    return kinds.Filter(**{join: some or None for join, some in parts.items()})


def _condition(key: str, value: Any, kinds: Any) -> Any:
    if isinstance(value, bool) and kinds.__name__ == "qdrant_edge":
        raise ValueError(
            f"filter {key!r}: {value!r}: Qdrant Edge matches no booleans; filter the results"
        )
    if not isinstance(value, dict):
        value = {"in" if isinstance(value, list | tuple) else "eq": value}
    if value and set(value) <= _RANGE:
        times = any(isinstance(bound, str) for bound in value.values())
        names = ("DatetimeRange", "RangeDateTime") if times else ("Range", "RangeFloat")
        range_of = next(getattr(kinds, name) for name in names if hasattr(kinds, name))
        return kinds.FieldCondition(key=key, range=range_of(**value))
    operator, wanted = next(iter(value.items()), ("", []))
    if len(value) != 1 or operator not in _MATCHES:
        known = ", ".join(sorted(_RANGE | set(_MATCHES)))
        raise ValueError(f"filter {key!r}: {value!r} is not one of Mem0's operators ({known})")
    kind, argument = _MATCHES[operator]
    if argument in ("any", "except"):
        wanted = [wanted] if operator == "ne" else list(wanted)
    return kinds.FieldCondition(key=key, match=getattr(kinds, kind)(**{argument: wanted}))
