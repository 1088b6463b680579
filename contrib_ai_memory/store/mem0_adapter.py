"""What Mem0 sees of a memory store, and what it needs of us to run over it.

`StoreMemory` is Mem0's own `Memory`, whose verbs work on every memory there is. Facts and all else
that is drawn or taught are written by them. Three private methods are overridden: `Memory.add`
would draw a random id, so that a pass that is killed and run again writes everything twice;
`update` would embed again what it does not reword; `delete` would keep the words that it deletes
(docs/adr/001). Tested with the version in constraints.txt.

Importing this imports Mem0: only after `mem0_environment.settle`.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mem0 import Memory
from mem0.configs.base import MemoryConfig
from mem0.embeddings.base import EmbeddingBase
from mem0.embeddings.configs import EmbedderConfig
from mem0.llms.base import LLMBase
from mem0.llms.configs import LlmConfig
from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory
from mem0.vector_stores.base import VectorStoreBase
from mem0.vector_stores.configs import VectorStoreConfig
from pydantic import BaseModel

from ..embedding import embedder
from ..records import now_iso
from .lanes import LINE, NEAR, keys_of_one
from .payload import completed, from_payload, reworded, rewritten
from .protocol import READY, Filters, Hit, Hits, MemoryStore

PROVIDER = "contrib_ai_memory"  # of store, embeddings and language model, as Mem0 knows it
SCOPE = ("user_id", "agent_id", "run_id", "actor_id")  # no update changes these


class StoreMemory(Memory):
    """Mem0's `Memory` over a store of ours.

    Its verbs also take what is ready made. With `protocol.READY` in its metadata `add` writes
    memories with their ids and vectors, over those of the same ids; `update` one with other words.
    """

    def add(self, messages: Any, **options: Any) -> dict[str, Any]:
        """Add memories; nothing is inferred."""
        return super().add(messages, **{"infer": False, **options})

    def update(
        self, memory_id: str | Mapping[str, Mapping[str, Any]], *more: Any, **options: Any
    ) -> dict[str, str]:
        """Change a memory, or fields of several (id → fields), of which some may be gone."""
        if isinstance(memory_id, str):
            return super().update(memory_id, *more, **options)
        self.vector_store.store.change_each(memory_id)
        return {"message": "Memories updated successfully!"}

    def delete(self, memory_id: str | Sequence[str]) -> dict[str, str]:
        if isinstance(memory_id, str):
            return super().delete(memory_id)
        self.vector_store.store.delete_with_history(memory_id)
        return {"message": "Memories deleted successfully!"}

    def _add_to_vector_store(
        self, messages: Any, metadata: dict[str, Any], *more: Any, **options: Any
    ) -> list[dict[str, Any]]:
        if READY not in metadata:
            return super()._add_to_vector_store(messages, metadata, *more, **options)
        memories, vectors = metadata[READY]
        for memory in memories:
            if not self.db.get_history(memory.id):  # killed before it was written, it has one
                self._note(memory.id, None, memory.content, "ADD")
        self.vector_store.store.upsert(metadata["agent_id"], memories, vectors)
        return [{"id": each.id, "memory": each.content, "event": "ADD"} for each in memories]

    def _update_memory(
        self, memory_id: str, data: str | None, existing_embeddings: Any, metadata: Any = None
    ) -> str:
        """Merge fields. Only other words make other keys, and a row of the history."""
        found = self.vector_store.get(memory_id)
        if found is None:
            raise ValueError(f"Memory with id {memory_id} not found.")
        stored = found.payload
        fields = {name: each for name, each in (metadata or {}).items() if name not in SCOPE}
        if data is None or data == stored.get("data"):
            self.vector_store.update(memory_id, payload=fields)
        else:
            ready = fields.pop(READY, None)
            new = ready or reworded(from_payload(memory_id, stored | fields), data)
            payload = rewritten(stored | fields, new)
            self.vector_store.update(memory_id, existing_embeddings[data], payload)
            self._note(memory_id, stored.get("data"), data, "UPDATE")
        return memory_id

    def _delete_memory(self, memory_id: str, existing_memory: Hit | None = None) -> str:
        """Note no deletion: an erasure would not find the words in the note."""
        self.vector_store.delete(memory_id)
        return memory_id

    def _note(self, memory_id: str, old: str | None, new: str, event: str) -> None:
        now = now_iso()
        self.db.add_history(memory_id, old, new, event, created_at=now, updated_at=now)

    @property
    def entity_store(self) -> Any:
        """Refuse Mem0's second collection: the names in it would outlive an erasure.

        Mem0 asks for it only where spaCy is installed, and does without.
        """
        raise NotImplementedError("entities are kept in no collection of their own")


def put_over(store: MemoryStore, collection_name: str, folder: Path) -> None:
    """Give an open store Mem0's `Memory` over it, with Mem0's own files in `folder`."""
    VectorStoreFactory.provider_to_class[PROVIDER] = f"{__name__}.{Mem0Adapter.__name__}"
    config = AdapterConfig(collection_name=collection_name, store=store)
    ours = VectorStoreConfig.model_construct(provider=PROVIDER, config=config)
    store.mem0 = StoreMemory(config_over(ours, folder))
    store.history = MemoryHistory(store.mem0)


def config_over(vector_store: VectorStoreConfig, folder: Path) -> MemoryConfig:
    """Return Mem0's configuration with our embedder and no language model; history in `folder`."""
    EmbedderFactory.provider_to_class[PROVIDER] = f"{__name__}.{SharedEmbedding.__name__}"
    LlmFactory.register_provider(PROVIDER, f"{__name__}.{NoLLM.__name__}")
    # model_construct: Mem0's validators know only its own providers
    nothing = {"provider": PROVIDER, "config": {}}
    return MemoryConfig.model_construct(
        vector_store=vector_store,
        embedder=EmbedderConfig.model_construct(**nothing),
        llm=LlmConfig.model_construct(**nothing),
        history_db_path=str(folder / "mem0" / "history.db"),
    )


# --- what Mem0 makes by class path ----------------------------------------------------------------


class AdapterConfig(BaseModel):
    collection_name: str
    store: Any


class Mem0Adapter(VectorStoreBase):
    """A memory store behind Mem0's vector-store interface."""

    def __init__(self, collection_name: str, store: MemoryStore):
        self.collection_name = collection_name
        self.store = store

    def insert(
        self,
        vectors: Sequence[Sequence[float]],
        payloads: Sequence[dict[str, Any]] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        whole = [dict(completed(each)) for each in payloads or [{} for _ in vectors]]
        ids = ids or [str(uuid.uuid4()) for _ in vectors]
        rows = list(zip(ids, whole, strict=True))
        memories = [from_payload(*row) for row in rows]
        for payload, memory in zip(whole, memories, strict=True):
            payload["tokens"] = embedder.shared().count_tokens(memory.content)
        dense, words = np.asarray(vectors, dtype=np.float32), [each.words for each in memories]
        self.store.upsert_rows(rows, list(map(keys_of_one, dense, words)))
        for payload, memory in zip(whole, memories, strict=True):
            self.store.count_words(payload.get("agent_id", ""), [memory])

    def update(
        self,
        vector_id: str,
        vector: Sequence[float] | None = None,
        payload: dict[str, Any] | None = None,
    ) -> None:
        """Change a memory. A payload alone is merged into the stored one; its keys stay."""
        if vector is not None:
            stored = payload or self.store.payloads([vector_id])[vector_id]
            self.insert([vector], [stored], [vector_id])
        elif payload is not None:
            self.store.change_each({vector_id: payload})

    def delete(self, vector_id: str) -> None:
        self.store.delete_with_history([vector_id])

    def reset(self) -> None:
        self.store.reset()

    def get(self, vector_id: str) -> Hit | None:
        found = self.store.payloads([vector_id])
        return Hit(vector_id, found[vector_id]) if found else None

    def list(self, filters: Filters = None, top_k: int | None = 100) -> Sequence[Hits]:
        """Return up to `top_k` memories that match (None: all): a list in a list."""
        return [[Hit(*row) for row in self.store.every_row(filters, top_k)]]

    def search(
        self, query: str, vectors: Sequence[float], top_k: int = 5, filters: Filters = None
    ) -> Hits:
        """Return the `top_k` nearest by cosine similarity, best first."""
        nearest = self.store.nearest_query(list(vectors), LINE)
        return self.store.query_each([nearest], top_k, filters)[0]

    def keyword_search(self, query: str, top_k: int = 5, filters: Filters = None) -> Hits:
        """Return the `top_k` best by BM25 (a sum of term scores, no upper bound), best first."""
        queries = self.store.word_queries(str((filters or {}).get("agent_id", "")), query)
        return self.store.query_each([queries[NEAR]], top_k, filters)[0] if queries else []

    def create_col(self, name: str, vector_size: int, distance: str = "cosine") -> None:
        """Do nothing, as the collection is made when the store is opened."""

    def delete_col(self) -> None:
        self.store.reset()

    def list_cols(self) -> Sequence[str]:
        return [self.collection_name]

    def col_info(self) -> dict[str, Any]:
        return {"name": self.collection_name, "points_count": self.store.count_rows()}


class SharedEmbedding(EmbeddingBase):
    """Mem0's embedder interface over the process's own embedder."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return embedder.shared().encode(texts).tolist()


class NoLLM(LLMBase):
    """No language model: facts come to Mem0 ready made (`infer=False`)."""

    def generate_response(self, messages: list[dict[str, str]], **kwargs: object) -> str:
        raise NotImplementedError(
            "Mem0 was asked to infer facts. This contrib extracts and reconciles them itself: "
            "use npc.memory, or Memory.add(..., infer=False)."
        )


# --- history --------------------------------------------------------------------------------------

Version = tuple[str, str, str, str]  # old text, new text, event, time
KEPT = 50  # newest versions that are shown of one memory


class MemoryHistory:
    """Mem0's history: what each memory of a store said before. Its verbs write it."""

    def __init__(self, mem0: Memory):
        self._mem0 = mem0

    def of(self, memory_id: str, newest: int | None = KEPT) -> list[Version]:
        """Return the newest versions of a memory (None: all), oldest first."""
        rows = self._connection.execute(
            "SELECT old_memory, new_memory, event, coalesce(updated_at, created_at) "
            "FROM history WHERE memory_id = ? ORDER BY rowid",
            (memory_id,),
        )
        versions = [(old or "", new or "", event, when or "") for old, new, event, when in rows]
        return versions if newest is None else versions[-newest:]

    def replace(self, versions_of: Mapping[str, Iterable[Sequence[Any]]]) -> None:
        """Replace all versions of memories (id → versions), in one transaction."""
        with self._connection:
            self._delete(versions_of)
            self._connection.executemany(
                "INSERT INTO history (id, memory_id, old_memory, new_memory, event, created_at, "
                "updated_at, is_deleted) VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                [
                    (str(uuid.uuid4()), memory_id, old or None, new or None, event, when, when)
                    for memory_id, versions in versions_of.items()
                    for old, new, event, when in versions
                ],
            )

    def delete(self, ids: Iterable[str]) -> None:
        with self._connection:
            self._delete(ids)

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._mem0.db.connection  # another one after Mem0's `reset`

    def _delete(self, ids: Iterable[str]) -> None:
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.executemany(
            "DELETE FROM history WHERE memory_id = ?", [(each,) for each in ids]
        )
