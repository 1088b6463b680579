"""The one memory store of the process: opened from the settings at the first call of `shared`.

Mem0 and the store's engine are imported when the store is opened. Worker thread only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import conf, mem0_environment
from ..conf import VectorStoreSettings
from ..embedding import embedder
from ..text.redaction import shown
from . import condition, metadata
from .condition import StoreClosed, StoreError, StoreUnreachable, StoreUnusable
from .engine_config import (
    POSTGRES_PORT,
    QDRANT_PORT,
    EdgeConfig,
    QdrantServerConfig,
    addresses,
    qdrant_address,
    refusal,
)
from .protocol import MemoryStore

EDGE, SERVER = "qdrant_edge", "qdrant"

_lock = threading.RLock()
_store: MemoryStore | None = None
_closed = False
expected: tuple[str, metadata.Mark | None] | None = None  # store id and mark: `generations.expect`


def shared() -> MemoryStore:
    """Return the process's store, opened at the first call; StoreClosed if the server stops."""
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


def use(store: MemoryStore) -> None:
    """Make an open store the process's one, and close the one before it."""
    global _store
    with _lock:
        if _store is not None:
            _store.close()
        _store = store


def close_shared(*, for_good: bool = True) -> None:
    """Close the store if no worker is in it; what was acknowledged is on disk either way.

    Args:
        for_good: Refuse later calls of `shared()`, as at server stop.
    """
    global _store, _closed
    if _lock.acquire(timeout=1.0):  # a worker may be using it
        try:
            _closed = for_good
            condition.forget()
            closing, _store = _store, None
            if closing is not None:
                closing.close()
        finally:
            _lock.release()


def check_writable() -> None:
    condition.check_writable(conf.directory())


def total() -> int | None:
    """Return how many memories the open store has; None if it is not open, or is a server."""
    with _lock:
        return _store.total() if _store is not None else None


# --- jobs: `offload.run(offload.MEMORY, memory_store.get, ids)` -----------------------------------


def _verb(name: str) -> Callable[..., Any]:
    def job(*args: Any) -> Any:
        return getattr(shared(), name)(*args)

    job.__qualname__ = name
    return job


get, existing, owners = _verb("get"), _verb("existing"), _verb("owners")
newest, count, counts, agents = map(_verb, ("newest", "count", "counts", "agents"))
delete, delete_all = _verb("delete"), _verb("delete_all")
begin_rewriting, optimize = _verb("begin_rewriting"), _verb("optimize")
locked_among = _verb("locked_among")


def note_access(ids: Iterable[str], now: str) -> None:
    """Count one access of each of `ids`."""
    store = shared()
    store.change_each(
        {
            memory.id: {"access_count": memory.access_count + 1, "last_accessed": now}
            for memory in store.get(ids)
        }
    )


def forget_words(agent_id: str) -> None:
    shared().vocabulary.forget(agent_id)


def rewrite_some() -> bool:
    done = shared().rewrite_some()
    if done:
        metadata.note_total(conf.directory(), shared().total())
    return done


# --- opening --------------------------------------------------------------------------------------


def open_store(other: VectorStoreSettings | None = None, *, any_model: bool = False) -> MemoryStore:
    """Open the store of the settings, or raise a StoreError.

    Args:
        other: Another store in its place, which memories are moved into.
        any_model: Also if another embedding model wrote it, to make its vectors anew.
    """
    folder = conf.directory()
    if restore_marker(folder).exists():
        raise StoreUnusable(
            f"A restore into {folder} was interrupted. Stop the game and run the same command "
            "again: evennia ai_memory restore FILE"
        )
    condition.check_room(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for former in ("novelty.sqlite3*", "embeddings.sqlite3*", "*.sqlite3.broken"):
        for each in folder.glob(former):
            each.unlink(missing_ok=True)
    model = embedder.shared()
    settings = other or conf.get().VECTOR_STORE
    if other is None and metadata.read(folder).get("moving") == place(settings):
        raise StoreUnusable(
            f"A move of the memories into this store ({place(settings)}) was interrupted. Stop the "
            "game, put the store that they come from back into "
            'CONTRIB_AI_MEMORY["VECTOR_STORE"], and run the same command again: '
            "evennia ai_memory move --to …"
        )
    provider, config = settings.provider, settings.revealed()
    if not any_model:
        # on a server the memories are there still if this folder was lost, under the game's id
        known = expected[0] if expected and provider == SERVER else ""
        metadata.check_model(folder, model.name, model.dimensions, known)
    prepare_environment(folder)
    try:
        from . import mem0_adapter  # only now: it imports Mem0

        if problem := refusal(*addresses(provider, config)):
            raise StoreUnreachable(provider, problem)
        store = _open_engine(provider, config, folder, model.dimensions)
        mem0_adapter.put_over(store, settings.collection, folder)
        return store
    except StoreError:
        raise
    except Exception as error:  # whatever a client or Mem0 may raise
        raise StoreUnusable(
            f'CONTRIB_AI_MEMORY["VECTOR_STORE"] = {shown("", dict(settings))} cannot be used: '
            f"{type(error).__name__}: {error}"
        ) from error


def place(settings: VectorStoreSettings) -> str:
    """Return where a store is, without secrets: two settings of one store have the same place."""
    provider, config, name = settings.provider, settings.revealed(), settings.collection
    path = config.get("path") or (conf.directory() / provider if settings.is_own else None)
    if path:
        return f"{provider} {Path(path).absolute() / name}"
    if provider == "pgvector":
        from psycopg.conninfo import conninfo_to_dict

        from .pgvector import conninfo

        parts = conninfo_to_dict(conninfo(config)["connection_string"])
        host, port = parts.get("host") or "", parts.get("port") or POSTGRES_PORT
        return f"{provider} {host}:{port}/{parts.get('dbname') or ''} {name}"
    host, port = qdrant_address(config | {"prefer_grpc": False}) or ("", QDRANT_PORT)
    return f"{provider} {host}:{port} {name}"


def restore_marker(folder: Path) -> Path:
    return folder.with_name(folder.name + ".restoring")


def prepare_environment(folder: Path) -> None:
    mem0_environment.settle(folder)
    (folder / "mem0").mkdir(parents=True, exist_ok=True)


def _open_engine(
    provider: str, config: dict[str, Any], folder: Path, dimensions: int
) -> MemoryStore:
    if provider == EDGE:
        from .qdrant_edge import EdgeStore

        edge = EdgeConfig(**({"path": str(folder / provider)} | config))
        return EdgeStore(**edge.model_dump(), embedding_model_dims=dimensions)
    if provider == SERVER:
        from .qdrant_server import ServerStore

        return ServerStore(QdrantServerConfig(**config), metadata.store_id(folder), dimensions)
    from .pgvector import PostgresStore

    ours = {"collection_name": "memories"} | config | {"embedding_model_dims": dimensions}
    return PostgresStore(ours)
