"""Opening Mem0 over the store that the settings name. Worker threads only.

Whether the server of a store can be reached at all: asked before a client waits for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import atomic_file, conf
from ..embedding import embedder
from ..text.redaction import shown
from . import condition
from .errors import StoreError, StoreMismatch, StoreUnreachable, StoreUnusable

META = "store.json"

Mark = list[Any]  # generation and random text: two times of one game may count alike

_WHAT_TO_DO = (
    "Until that is settled NPCs remember nothing new: journals go on, and the store takes no "
    "writes. Stop the game and put back what belongs together (evennia ai_memory restore FILE); "
    "or accept this pair, with the game's database taken as what happened: evennia ai_memory "
    "doctor --mend"
)


def open_mem0(*, any_model: bool = False) -> tuple[Any, str]:
    """Mem0 over the store of the settings, and the name of its provider.

    Args:
        any_model: Also where another embedding model wrote it: to make its vectors anew.

    Raises:
        StoreInUse, StoreMismatch, StoreUnreachable, StoreUnusable: Each says what to do.
    """
    folder = conf.directory()
    if restoring(folder).exists():
        raise StoreUnusable(
            f"A restore into {folder} was broken off. Stop the game and run the same command "
            "again: evennia ai_memory restore FILE"
        )
    condition.check_room(folder)
    folder.mkdir(parents=True, exist_ok=True)
    words = embedder.shared()
    if not any_model:
        _check_model(folder / META, words.name, words.dimensions)
    prepare_environment(folder)
    settings = conf.get().VECTOR_STORE
    try:
        where = address(settings.provider, settings.revealed())
        if where and (problem := refusal(where)):
            raise StoreUnreachable(settings.provider, problem)
        mem0 = make_mem0(folder, settings.provider, settings.revealed(), words.dimensions)
    except StoreError:
        raise
    except Exception as error:  # whatever a vector store of somebody else may raise
        raise StoreUnusable(
            f'CONTRIB_AI_MEMORY["VECTOR_STORE"] = {shown("", dict(settings))} cannot be used: '
            f"{type(error).__name__}: {error}"
        ) from error
    return mem0, settings.provider


def restoring(folder: Path) -> Path:
    """The file that lies beside a store's folder while a backup is put back into it."""
    return folder.with_name(folder.name + ".restoring")


def prepare_environment(folder: Path) -> None:
    """`settle_environment`, and the folder made that Mem0 keeps its own files in."""
    settle_environment(folder)
    (folder / "mem0").mkdir(parents=True, exist_ok=True)


def settle_environment(folder: Path) -> None:
    """No telemetry and no ~/.mem0: both are read by Mem0 once, when it is imported.

    Done when Django starts, before anything can import Mem0, and again for the folder in force.
    """
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "mem0")


def written_by(folder: Path) -> dict[str, Any]:
    """What wrote the store in a folder: embedding_model, dimensions, store_id; and how far it is
    (`pairing`): generation, mark, unsettled, memories, lost. Empty: none did.

    Raises:
        StoreUnusable: The file is there and cannot be read.
    """
    meta = folder / META
    if not meta.exists():
        return {}
    try:
        known = json.loads(meta.read_text())
        if not isinstance(known, dict) or not {"store_id", "embedding_model"} <= set(known):
            raise ValueError("it has no store_id or no embedding_model")
    except ValueError as broken:
        raise StoreUnusable(
            f"{meta} is damaged ({broken}): it says which embedding model wrote the memories. Put "
            "it back from a backup (evennia ai_memory restore FILE)."
        ) from None
    return known


def note_model(folder: Path, name: str, dimensions: int) -> None:
    """Note that all vectors are of this model now."""
    note(folder, embedding_model=name, dimensions=dimensions)


def note(folder: Path, **changes: Any) -> None:
    """Change what `written_by` gives; None takes a field out. The old file or the new one is there,
    and never half of one."""
    known = written_by(folder) or {"store_id": str(uuid.uuid4())}
    changed = {key: value for key, value in (known | changes).items() if value is not None}
    if changed != known or not (folder / META).exists():
        atomic_file.write(folder / META, json.dumps(changed, indent=1))


def mark_of(stored: dict[str, Any]) -> Mark | None:
    """The generation of a store, from what `written_by` gives; None before the first."""
    return [stored["generation"], stored["mark"]] if "generation" in stored else None


def mismatch(stored: dict[str, Any], store_id: str, mark: Mark | None) -> str:
    """Compare a store with the game's database. Returns what is wrong, or "".

    Args:
        stored: From `written_by`.
        store_id, mark: What the database has (`pairing`); "" is a game without a store so far.
    """
    own = mark_of(stored)
    if not stored or not store_id:
        return ""
    if stored["store_id"] != store_id:
        return (
            f"The memory store in {conf.directory()} is another one ({stored['store_id'][:8]}) "
            f"than the game's database was written with ({store_id[:8]}): a backup of one was put "
            f"back without the other, or the folder was changed. {_WHAT_TO_DO}"
        )
    # killed while both were marked: the store is ahead, and tells what the database still has
    if own == mark or (own and stored.get("unsettled") == (mark or [])):
        return ""
    mine, theirs = (own or [0])[0], (mark or [0])[0]
    if mine > theirs:
        older = "the game's database is older than the store"
    elif mine < theirs:
        older = "the store is older than the game's database"
    else:
        older = "each of them went its own way"
    return (
        f"The memory store in {conf.directory()} is of generation {mine} and the game's database "
        f"of generation {theirs}: {older}. A backup of one was put back without the other. "
        f"{_WHAT_TO_DO}"
    )


def told_of_loss(lost: dict[str, Any]) -> str:
    """What is said of a store that has far fewer memories than it had: `lost` of `written_by`."""
    return (
        f"The memory store in {conf.directory()} had {lost['had']} memories and was opened with "
        f"{lost['found']}: its files were cut off or taken away. Stop the game and put back a "
        "backup (evennia ai_memory restore FILE). Without one, evennia ai_memory doctor --mend "
        "makes what was heard anew from the journals; facts, experiences and summaries that only "
        "the store had are not made again."
    )


def _check_model(meta: Path, name: str, dimensions: int) -> None:
    mine = {"embedding_model": name, "dimensions": dimensions}
    theirs = written_by(meta.parent)
    if not theirs:
        note(meta.parent, **mine)
        return
    if any(theirs[key] != mine[key] for key in mine):
        raise StoreMismatch(
            f"The memory store in {meta.parent} was written with the embedding model "
            f"{theirs['embedding_model']!r} ({theirs['dimensions']} dimensions); the settings name "
            f"{name!r} ({dimensions}). Vectors of two models cannot be compared. Make them anew "
            "with the server down (evennia ai_memory reindex), or put the old model back into "
            'CONTRIB_AI_MEMORY["EMBEDDING"].'
        )


def make_mem0(folder: Path, provider: str, config: dict[str, Any], dimensions: int) -> Any:
    """Mem0 with our embedder and no language model, all that it keeps inside `folder`."""
    from mem0 import Memory
    from mem0.configs.base import MemoryConfig
    from mem0.embeddings.configs import EmbedderConfig
    from mem0.llms.configs import LlmConfig
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    from . import mem0_parts

    parts = mem0_parts.__name__
    EmbedderFactory.provider_to_class[mem0_parts.PROVIDER] = f"{parts}.SharedEmbedding"
    LlmFactory.register_provider(mem0_parts.PROVIDER, f"{parts}.NoLLM")
    vector_store = _vector_store(folder, provider, config, dimensions)
    # model_construct, here and below: Mem0's validators know only its own providers
    nothing = {"provider": mem0_parts.PROVIDER, "config": {}}
    return Memory(
        MemoryConfig.model_construct(
            vector_store=vector_store,
            embedder=EmbedderConfig.model_construct(**nothing),
            llm=LlmConfig.model_construct(**nothing),
            history_db_path=str(folder / "mem0" / "history.db"),
        )
    )


def _vector_store(folder: Path, provider: str, config: dict[str, Any], dimensions: int) -> Any:
    """Mem0's configuration of the store, which is one of ours over each provider."""
    from mem0.utils.factory import VectorStoreFactory
    from mem0.vector_stores.configs import VectorStoreConfig

    modules = {
        "qdrant_edge": "edge.QdrantEdge",
        "qdrant": "qdrant.QdrantServer",
        "pgvector": "pgvector.PGVectorStore",
    }
    VectorStoreFactory.provider_to_class[provider] = f"{__package__}.{modules[provider]}"
    config = {"collection_name": "memories", "embedding_model_dims": dimensions} | config
    if config["embedding_model_dims"] != dimensions:
        raise StoreMismatch(
            'CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"]["embedding_model_dims"] = '
            f"{config['embedding_model_dims']!r}: the embedding model makes vectors of "
            f"{dimensions} numbers. Leave it out, or name another model."
        )
    if provider == "qdrant_edge":
        from . import edge as edge_store

        edge = edge_store.QdrantEdgeConfig(**({"path": str(folder / provider)} | config))
        return VectorStoreConfig.model_construct(provider=provider, config=edge)
    if provider == "pgvector":
        from .pgvector import conninfo

        config = conninfo({"hnsw": False} | config)
    return VectorStoreConfig(provider=provider, config=config)


# --- reach ----------------------------------------------------------------------------------------

SECONDS = 2.0
QDRANT_PORT, POSTGRES_PORT = 6333, 5432

Address = tuple[str, int]


def address(provider: str, config: Mapping[str, Any]) -> Address | None:
    """Where a store listens; None where it is files, a socket file, or several hosts.

    Args:
        config: With its secrets.
    """
    if provider == "qdrant":
        return _qdrant(config)
    if provider == "pgvector":
        return _postgres(config)
    return None


def refusal(where: Address, seconds: float = SECONDS) -> str:
    """Why nothing can be reached there, "" if it can."""
    host, port = where
    try:
        socket.create_connection(where, timeout=seconds).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return ""


def _qdrant(config: Mapping[str, Any]) -> Address | None:
    if config.get("url"):
        parts = urlsplit(str(config["url"]))
        with contextlib.suppress(ValueError):  # no such port: the client says so
            return (parts.hostname, parts.port or QDRANT_PORT) if parts.hostname else None
    elif config.get("host") and config.get("port"):
        return str(config["host"]), int(config["port"])
    return None


def _postgres(config: Mapping[str, Any]) -> Address | None:
    host, port = config.get("host"), config.get("port")
    if config.get("connection_string"):
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(config["connection_string"])
        host, port = parts.get("host"), parts.get("port")
    if not host or str(host).startswith("/") or "," in str(host):
        return None
    return str(host), int(port or POSTGRES_PORT)
