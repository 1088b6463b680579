"""The one memory store of the process.

`shared` opens it at its first call. The functions below `total` are jobs for the worker thread:
`offload.run(offload.MEMORY, memory_store.get, ids)`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from .. import conf
from ..records import MemoryRecord
from . import condition, connection, metadata
from .errors import StoreClosed
from .protocol import MemoryStore, Remake

_lock = threading.RLock()
_store: MemoryStore | None = None
_closed = False
expected: tuple[str, metadata.Mark | None] | None = None  # store id and mark: `generations.expect`


def shared() -> MemoryStore:
    """Return the process's store, opened at the first call (worker threads only).

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
            opened = open_store()
            metadata.find_lost(conf.directory(), opened.total())
            if expected is not None:
                stored = metadata.read(conf.directory())
                if problem := metadata.mismatch(stored, *expected):
                    condition.begin(condition.PAIR, problem)
            _store = opened
        return _store


def open_of_any_model() -> MemoryStore:
    """Open the store even if another embedding model wrote it, to make its vectors anew."""
    global _store
    with _lock:
        if _store is None:
            _store = open_store(any_model=True)
        return _store


def open_store(*, any_model: bool = False) -> MemoryStore:
    """Open the store of the settings (`connection.open_mem0`)."""
    mem0, provider = connection.open_mem0(any_model=any_model)
    if provider == connection.EDGE:
        from .qdrant_edge import EdgeStore

        return EdgeStore(mem0, provider)
    from .mem0_store import Mem0Store

    return Mem0Store(mem0, provider)


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
            condition.forget()
            if _store is not None:
                _store.close()
                _store = None
        finally:
            _lock.release()


def check_writable() -> None:
    """Raise what a write would raise now (`condition.check`)."""
    condition.check_writable(conf.directory())


def total() -> int | None:
    """Return how many memories the open store has; None if it is not open, or is a server."""
    with _lock:
        return _store.total() if _store is not None else None


# --- jobs for the worker thread: verbs of the shared store ----------------------------------------


def get(ids: Iterable[str]) -> Sequence[MemoryRecord]:
    return shared().get(ids)


def newest(agent_id: str, record: str, limit: int) -> Sequence[MemoryRecord]:
    return shared().newest(agent_id, record, limit)


def count(agent_id: str) -> int:
    return shared().count(agent_id)


def counts(agent_id: str) -> dict[str, int]:
    return shared().counts(agent_id)


def note_access(ids: Iterable[str], now: str) -> None:
    """Count one access of each of `ids`."""
    store = shared()
    for memory in store.get(ids):
        store.change(memory.id, access_count=memory.access_count + 1, last_accessed=now)


def delete(ids: Sequence[str]) -> None:
    shared().delete(ids)


def delete_all(agent_id: str) -> int:
    return shared().delete_all(agent_id)


def forget_words(agent_id: str) -> None:
    shared().forget_words(agent_id)


def begin_rewriting(remake: Remake | None = None) -> bool:
    return shared().begin_rewriting(remake)


def rewrite_some() -> bool:
    return shared().rewrite_some()
