"""Facts in Mem0: one instance a process, opened and used on a worker thread only.

Ids are made from what a memory is (`memory_id_for`), and points are written through Mem0's own
vector store with them, because `Memory.add` draws a random id: a pass that is killed after the
write and run again would then double what it wrote (docs/adr/001). What is written keeps Mem0's
payload, so `Memory.search`, `get_all`, `history` and `delete` work on it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import conf
from ..embedding import embedder
from ..records import MemoryRecord, now_iso
from .errors import StoreClosed, StoreError, StoreMismatch, StoreUnusable

ANYONE = "*"
SECRETS_PASSED_OVER = 8  # fetched beyond what is asked, before the store is asked to filter
RECORDS = ("entry", "experience", "fact", "taught")
_LISTS_IN_FILTERS = ("qdrant_edge", "qdrant")  # stores that match a value inside a list


@dataclass(frozen=True, slots=True)
class Found:
    """A memory with the score that one search lane gave it."""

    memory: MemoryRecord
    score: float


def memory_id_for(mind: str, *parts: object) -> str:
    """The id of a memory of `mind` (its UUID) from what it is: the same parts, the same id."""
    return str(uuid.uuid5(uuid.UUID(mind), "\x1f".join(map(str, parts))))


class FactStore:
    """Every NPC's memories in one Mem0 collection, scoped by `agent_id`, the NPC's own UUID."""

    def __init__(self, mem0: Any, provider: str):
        self.mem0 = mem0
        self.provider = provider
        self._vectors = mem0.vector_store

    # --- writing ----------------------------------------------------------------------------

    def put(self, mind: str, memories: Sequence[MemoryRecord], vectors: np.ndarray) -> None:
        """Write memories with their vectors (shape (n, dimensions)); the same id overwrites."""
        if memories:
            self._vectors.insert(
                vectors=[vector.tolist() for vector in vectors],
                payloads=[to_payload(mind, memory) for memory in memories],
                ids=[memory.id for memory in memories],
            )

    def add(self, mind: str, memories: Sequence[MemoryRecord], vectors: np.ndarray) -> list[str]:
        """Write those that are not there yet, with their birth in Mem0's history.

        Returns:
            The ids that were new.
        """
        known = {memory.id for memory in self.get([memory.id for memory in memories])}
        new = [index for index, memory in enumerate(memories) if memory.id not in known]
        self.put(mind, [memories[index] for index in new], vectors[new])
        for memory in (memories[index] for index in new):
            self._history(memory.id, None, memory.content, "ADD")
        return [memories[index].id for index in new]

    def change(self, memory_id: str, **payload: Any) -> None:
        """Change payload fields of one memory; nothing is re-embedded."""
        self._vectors.update(vector_id=memory_id, vector=None, payload=payload)

    def note_access(self, ids: list[str], now: str) -> None:
        """Count one access of each of `ids`."""
        for memory in self.get(ids):
            self.change(memory.id, access_count=memory.access_count + 1, last_accessed=now)

    def delete(self, memory_id: str) -> None:
        """Forget one memory; unknown ids are no error, so that a pass can be run again."""
        if self.get([memory_id]):
            self.mem0.delete(memory_id)

    def delete_mind(self, mind: str) -> int:
        """Forget all that one NPC remembers. Returns how many memories that were."""
        memories = self.list(mind, limit=None)
        for memory in memories:
            self._vectors.delete(memory.id)
        self._forget_history([memory.id for memory in memories])
        return len(memories)

    def _forget_history(self, ids: list[str]) -> None:
        """Mem0 keeps the words of what it deletes; here they go, from the file as well."""
        connection = self.mem0.db.connection
        connection.execute("PRAGMA secure_delete = ON")
        with connection:
            connection.executemany(
                "DELETE FROM history WHERE memory_id = ?", [(memory_id,) for memory_id in ids]
            )

    def _history(self, memory_id: str, old: str | None, new: str | None, event: str) -> None:
        now = now_iso()
        self.mem0.db.add_history(memory_id, old, new, event, created_at=now, updated_at=now)

    # --- reading ----------------------------------------------------------------------------

    def nearest(self, mind: str, vector: np.ndarray, limit: int, **where: Any) -> list[Found]:
        """The `limit` nearest by cosine, best first. `where`: payload fields, or `listener`.

        A listener is asked for only where secrets of others crowd out the rest: that filter costs
        the store three times the search (`python -m benchmarks.recall`).
        """
        listener = where.pop("listener", None)
        if listener:
            hits = self._nearest(mind, vector, limit + SECRETS_PASSED_OVER, where)
            heard = [found for found in hits if found.memory.visible_to((listener,))]
            if len(heard) >= limit or len(hits) < limit + SECRETS_PASSED_OVER:
                return heard[:limit]
            where["listener"] = listener
        return self._nearest(mind, vector, limit, where)

    def _nearest(
        self, mind: str, vector: np.ndarray, limit: int, where: dict[str, Any]
    ) -> list[Found]:
        hits = self._vectors.search("", vector.tolist(), limit, self._filters(mind, dict(where)))
        return [Found(from_payload(hit.id, hit.payload), hit.score) for hit in hits]

    def by_words(self, mind: str, query: str, limit: int, **where: Any) -> list[Found]:
        """The `limit` best by BM25, best first; nothing where the store has no word index."""
        hits = self._vectors.keyword_search(query, limit, self._filters(mind, where)) or []
        return [Found(from_payload(hit.id, hit.payload), hit.score) for hit in hits]

    def cosines(self, vector: np.ndarray, memories: Sequence[MemoryRecord]) -> list[float]:
        """Cosine of each memory's key with `vector`."""
        return (self.vectors_of(memories) @ vector).tolist() if memories else []

    def vectors_of(self, memories: Sequence[MemoryRecord]) -> np.ndarray:
        """The unit vectors of these memories, shape (len(memories), dimensions)."""
        if hasattr(self._vectors, "vectors_of"):
            stored = self._vectors.vectors_of([memory.id for memory in memories])
            return np.array([stored[memory.id] for memory in memories], dtype=np.float32)
        return embedder.shared().encode([memory.key or memory.content for memory in memories])

    def get(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Those of `ids` that exist, in the order asked."""
        wanted = list(ids)
        if hasattr(self._vectors, "get_many"):
            hits = self._vectors.get_many(wanted)
        else:
            hits = filter(None, map(self._vectors.get, wanted))
        found = {str(hit.id): from_payload(hit.id, hit.payload) for hit in hits}
        return [found[memory_id] for memory_id in wanted if memory_id in found]

    def list(self, mind: str, limit: int | None = 100, **where: Any) -> list[MemoryRecord]:
        """Up to `limit` memories of one NPC (None: all), in no set order."""
        rows = self._vectors.list(self._filters(mind, where), limit if limit else 1_000_000)
        hits = rows[0] if rows and isinstance(rows[0], list) else rows
        return [from_payload(hit.id, hit.payload) for hit in hits]

    def newest(self, mind: str, record: str, limit: int) -> list[MemoryRecord]:
        """The newest `limit` memories of one kind, newest first."""
        found = self.list(mind, limit=None, record=record)
        return sorted(found, key=lambda memory: memory.created_at, reverse=True)[:limit]

    def counts(self, mind: str) -> dict[str, int]:
        """How many memories of each kind there are."""
        return {kind: self.count(mind, record=kind) for kind in RECORDS}

    def count(self, mind: str, **where: Any) -> int:
        if hasattr(self._vectors, "count"):
            return self._vectors.count(self._filters(mind, where))
        return len(self.list(mind, limit=None, **where))

    def _filters(self, mind: str, where: dict[str, Any]) -> dict[str, Any]:
        listener = where.pop("listener", None)
        filters = {"agent_id": mind, **where}
        if listener and self.provider in _LISTS_IN_FILTERS:
            filters["audience"] = {"in": [ANYONE, listener]}
        return filters

    def close(self) -> None:
        if hasattr(self._vectors, "close"):
            self._vectors.close()
        self.mem0.close()


# --- the payload: Mem0's own fields and ours --------------------------------------------------

_RENAMED = {"content": "data", "key": "text_lemmatized", "about": "user_id", "session_id": "run_id"}
_BACK = {theirs: ours for ours, theirs in _RENAMED.items()}


def to_payload(mind: str, memory: MemoryRecord) -> dict[str, Any]:
    """A memory as Mem0 keeps it (DESIGN §3). `audience` is what the privacy filter reads."""
    plain = memory.to_dict()
    plain.pop("id")
    payload = {_RENAMED.get(name, name): value for name, value in plain.items()}
    return payload | {
        "agent_id": mind,
        "hash": hashlib.md5(memory.content.encode()).hexdigest(),  # Mem0's own field
        "updated_at": now_iso(),
        "audience": list(memory.witnesses) if memory.private else [ANYONE],
        "private": memory.private,
    }


def from_payload(memory_id: Any, payload: dict[str, Any]) -> MemoryRecord:
    renamed = {_BACK.get(name, name): value for name, value in payload.items()}
    return MemoryRecord.from_dict(renamed | {"id": str(memory_id)})


# --- the one instance of the process ----------------------------------------------------------

_lock = threading.RLock()
_store: FactStore | None = None
_closed = False


def shared() -> FactStore:
    """The process's store, opened at the first call (worker threads only).

    Raises:
        StoreInUse: Another process holds it.
        StoreMismatch: It was written by another embedding model.
        StoreClosed: The server is stopping.
    """
    global _store
    with _lock:
        if _closed:
            raise StoreClosed("The server is stopping; the memory store is closed.")
        if _store is None:
            _store = _open()
        return _store


def ask(verb: str, *args: Any) -> Any:
    """Call a method of the process's store: the job that a worker thread is given."""
    return getattr(shared(), verb)(*args)


def close_shared(wait: float = 1.0, *, for_good: bool = True) -> None:
    """Close the store if no worker is in it; what was acknowledged is on disk either way.

    Args:
        wait: Seconds to wait for a worker that is using it.
        for_good: Refuse later calls of `shared()`, as at server stop.
    """
    global _store, _closed
    if _lock.acquire(timeout=wait):
        try:
            _closed = for_good
            if _store is not None:
                _store.close()
                _store = None
        finally:
            _lock.release()


def _open() -> FactStore:
    folder = conf.directory()
    folder.mkdir(parents=True, exist_ok=True)
    words = embedder.shared()
    _check_model(folder / "store.json", words.name, words.dimensions)
    prepare_environment(folder)
    settings = conf.get().VECTOR_STORE
    try:
        mem0 = _make_mem0(folder, settings.provider, dict(settings.config), words.dimensions)
    except StoreError:
        raise
    except Exception as error:  # whatever a vector store of somebody else may raise
        raise StoreUnusable(
            f'CONTRIB_AI_MEMORY["VECTOR_STORE"] = {settings.model_dump()!r} cannot be used: '
            f"{type(error).__name__}: {error}"
        ) from error
    return FactStore(mem0, settings.provider)


def prepare_environment(folder: Path) -> None:
    """No telemetry and no ~/.mem0: both are read by Mem0 once, when it is imported."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "mem0")
    (folder / "mem0").mkdir(exist_ok=True)


def _check_model(meta: Path, name: str, dimensions: int) -> None:
    mine = {"embedding_model": name, "dimensions": dimensions}
    if not meta.exists():
        meta.write_text(json.dumps(mine | {"store_id": str(uuid.uuid4())}, indent=1))
        return
    theirs = json.loads(meta.read_text())
    if any(theirs[key] != mine[key] for key in mine):
        raise StoreMismatch(
            f"The memory store in {meta.parent} was written with the embedding model "
            f"{theirs['embedding_model']!r} ({theirs['dimensions']} dimensions); the settings name "
            f"{name!r} ({dimensions}). Vectors of two models cannot be compared. Put the old model "
            f'back into CONTRIB_AI_MEMORY["EMBEDDING"], or give the new one a folder of its own '
            'with CONTRIB_AI_MEMORY["DIR"].'
        )


def _make_mem0(folder: Path, provider: str, config: dict[str, Any], dimensions: int) -> Any:
    from mem0 import Memory
    from mem0.configs.base import MemoryConfig
    from mem0.embeddings.configs import EmbedderConfig
    from mem0.llms.configs import LlmConfig
    from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory
    from mem0.vector_stores.configs import VectorStoreConfig

    from . import mem0_parts

    parts = mem0_parts.__name__
    EmbedderFactory.provider_to_class[mem0_parts.PROVIDER] = f"{parts}.SharedEmbedding"
    LlmFactory.register_provider(mem0_parts.PROVIDER, f"{parts}.NoLLM")
    if provider == "qdrant_edge":
        from . import qdrant_edge

        VectorStoreFactory.provider_to_class[provider] = f"{qdrant_edge.__name__}.QdrantEdge"
        defaults = {"path": str(folder / provider), "embedding_model_dims": dimensions}
        vector_store = VectorStoreConfig.model_construct(
            provider=provider, config=qdrant_edge.QdrantEdgeConfig(**(defaults | config))
        )
    else:
        vector_store = VectorStoreConfig(provider=provider, config=config)
    # model_construct, here and above: Mem0's validators know only its own providers
    nothing = {"provider": mem0_parts.PROVIDER, "config": {}}
    return Memory(
        MemoryConfig.model_construct(
            vector_store=vector_store,
            embedder=EmbedderConfig.model_construct(**nothing),
            llm=LlmConfig.model_construct(**nothing),
            history_db_path=str(folder / "mem0" / "history.db"),
        )
    )
