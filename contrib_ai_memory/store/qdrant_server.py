"""A Qdrant server, or Qdrant's local files, through Mem0's adapter, with the verbs that it lacks.

Network errors of the client become `StoreUnreachable`, whose message says what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mem0.vector_stores.qdrant import Qdrant
from qdrant_client.http.exceptions import ApiException

from .condition import StoreMismatch, StoreUnreachable
from .mem0_store import Filters, Points, list_pages
from .payload import completed

AT_ONCE = 256  # points of one request


class QdrantServer(Qdrant):
    """One collection of a Qdrant server, behind Mem0's vector-store interface."""

    client: Any

    def __init__(self, **config: Any):
        super().__init__(**config)
        self.client = _Client(self.client)
        self._check_size()

    def _check_size(self) -> None:
        params = self.client.get_collection(self.collection_name).config.params.vectors
        size = (params.get("") if isinstance(params, dict) else params) or None
        if size is None or size.size != self.embedding_model_dims:
            raise StoreMismatch.of_size(
                f"The collection {self.collection_name}",
                size and size.size,
                self.embedding_model_dims,
            )

    def close(self) -> None:
        self.client.close()

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Insert or overwrite points."""
        given = payloads or [{} for _ in vectors]
        super().insert(vectors, [dict(completed(each)) for each in given], ids)

    def get_many(self, ids: Sequence[str]) -> Points:
        """Return the points of `ids` that exist, in no particular order."""
        return self._retrieve(ids, with_payload=True)

    def vectors_of(self, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """Return the dense vectors of those `ids` that exist."""
        records = self._retrieve(ids, with_payload=False, with_vectors=True)
        return {str(record.id): _dense(record.vector) for record in records}

    def _retrieve(self, ids: Sequence[str], **what: Any) -> Points:
        return [
            record
            for first in range(0, len(ids), AT_ONCE)
            for record in self.client.retrieve(
                self.collection_name, list(ids[first : first + AT_ONCE]), **what
            )
        ]

    def list(self, filters: Filters = None, top_k: int | None = 100) -> Sequence[Points]:
        """Return up to `top_k` points that match (None: all): a list in a list, as Mem0 expects."""
        return list_pages(self.page, filters, top_k, AT_ONCE)

    def page(self, filters: Filters, offset: Any, limit: int) -> tuple[Points, Any]:
        """Return up to `limit` points that match, by id, and the next page's offset or None."""
        return self._scroll(filters, offset, limit, True)

    def _scroll(
        self, filters: Filters, offset: Any, limit: int, payload: Any
    ) -> tuple[Points, Any]:
        return self.client.scroll(
            self.collection_name,
            scroll_filter=self._create_filter(filters) if filters else None,
            offset=offset,
            limit=limit,
            with_payload=payload,
            with_vectors=False,
        )

    def count(self, filters: Filters = None) -> int:
        where = self._create_filter(filters) if filters else None
        return self.client.count(self.collection_name, count_filter=where, exact=True).count

    def agents(self) -> dict[str, int]:
        """Return how many points each agent id has."""
        found: Counter[str] = Counter()
        offset = None
        while True:
            hits, offset = self._scroll(None, offset, AT_ONCE, ["agent_id"])
            found.update((hit.payload or {}).get("agent_id", "") for hit in hits)
            if offset is None:
                return dict(found)


def _dense(vector: Any) -> Sequence[float]:
    return vector[""] if isinstance(vector, dict) else vector


class _Client:
    """A QdrantClient whose network errors are `StoreUnreachable`."""

    def __init__(self, client: Any):
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return found(*args, **kwargs)
            except (ApiException, OSError) as error:
                raise StoreUnreachable("qdrant", error) from error

        return called
