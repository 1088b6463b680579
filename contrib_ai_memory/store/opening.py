"""Opening Mem0 over the store that the settings name. Worker threads only."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from .. import conf
from ..embedding import embedder
from ..redaction import shown
from . import reach
from .errors import StoreError, StoreMismatch, StoreUnreachable, StoreUnusable

META = "store.json"


def open_mem0(*, any_model: bool = False) -> tuple[Any, str]:
    """Mem0 over the store of the settings, and the name of its provider.

    Args:
        any_model: Also where another embedding model wrote it: to make its vectors anew.

    Raises:
        StoreInUse, StoreMismatch, StoreUnreachable, StoreUnusable: Each says what to do.
    """
    folder = conf.directory()
    folder.mkdir(parents=True, exist_ok=True)
    words = embedder.shared()
    if not any_model:
        _check_model(folder / META, words.name, words.dimensions)
    prepare_environment(folder)
    settings = conf.get().VECTOR_STORE
    try:
        where = reach.address(settings.provider, settings.revealed())
        if where and (problem := reach.refusal(where)):
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
    """What wrote the store in a folder: embedding_model, dimensions, store_id. Empty: none did."""
    meta = folder / META
    return json.loads(meta.read_text()) if meta.exists() else {}


def note_model(folder: Path, name: str, dimensions: int) -> None:
    """Note that all vectors are of this model now."""
    known = written_by(folder) or {"store_id": str(uuid.uuid4())}
    beside = folder / (META + ".new")
    beside.write_text(
        json.dumps(known | {"embedding_model": name, "dimensions": dimensions}, indent=1)
    )
    beside.replace(folder / META)


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
        "qdrant_edge": "qdrant_edge.QdrantEdge",
        "qdrant": "qdrant_server.QdrantServer",
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
        from . import qdrant_edge

        edge = qdrant_edge.QdrantEdgeConfig(**({"path": str(folder / provider)} | config))
        return VectorStoreConfig.model_construct(provider=provider, config=edge)
    if provider == "pgvector":
        from .pgvector import conninfo

        config = conninfo({"hnsw": False} | config)
    return VectorStoreConfig(provider=provider, config=config)
