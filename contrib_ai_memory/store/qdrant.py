"""What Qdrant Edge and the client of a Qdrant server share.

Their classes (filters, vectors, points) have the same names and arguments, but for two.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .filters import Filters, to_filter
from .lanes import Keys, LaneVectors
from .payload import PointId, Row
from .protocol import Hit, Hits, MemoryStore, Rows

GAME = "game_id"  # on a server, beside the payload: no part of a memory


class QdrantStore(MemoryStore):
    """A memory store of Qdrant's points.

    Attributes:
        kinds: The module of the engine's classes.
        newest_first: The order of `newest_rows`, by `created_at`.
    """

    kinds: Any
    newest_first: Any

    @abstractmethod
    def retrieve(
        self, ids: Collection[PointId], with_payload: bool, with_vectors: bool | list[str]
    ) -> Sequence[Any]:
        """Return the points of those `ids` that exist."""

    @abstractmethod
    def move(self, points: Sequence[Any]) -> None:
        """Replace the vectors of points that exist (`PointVectors`)."""

    @abstractmethod
    def query_all(
        self, queries: Iterable[Any], limit: int, where: Any, with_payload: bool
    ) -> Sequence[Sequence[Any]]:
        """Return the `limit` best points of each query, best first."""

    @abstractmethod
    def scroll_points(self, where: Any, limit: int, **more: Any) -> tuple[Sequence[Any], Any]:
        """Return up to `limit` points and the next page's offset or None."""

    def where(self, filters: Filters) -> Any:
        return to_filter(filters, self.kinds)

    def sparse(self, values: Mapping[int, float]) -> Any:
        return self.kinds.SparseVector(indices=list(values), values=list(values.values()))

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

    def lane_vectors(self, ids: Collection[str]) -> dict[str, LaneVectors]:
        return {
            str(each.id): self.to_lane_vectors(each.vector)
            for each in self.retrieve(ids, False, True)
        }

    def query_each(self, queries: Sequence[Any], limit: int, filters: Filters) -> Sequence[Hits]:
        found = self.query_all(queries, limit, self.where(filters), with_payload=True)
        return [[Hit(*row_of(hit), hit.score) for hit in hits] for hits in found]

    def scroll(self, filters: Filters, offset: Any, limit: int) -> tuple[Rows, Any]:
        points, offset = self.scroll_points(self.where(filters), limit, offset=offset)
        return list(map(row_of, points)), offset

    def newest_rows(self, filters: Filters, limit: int) -> Rows:
        where = self.where(filters)
        return list(map(row_of, self.scroll_points(where, limit, order_by=self.newest_first)[0]))


def row_of(point: Any) -> Row:
    """Return the id of a point, and its payload."""
    return str(point.id), without_game(point.payload or {})


def without_game(payload: dict[str, Any]) -> dict[str, Any]:
    """Return a payload without the game's id."""
    if GAME not in payload:
        return payload
    return {name: value for name, value in payload.items() if name != GAME}
