"""The two parts that Mem0 asks for and that are ours: the embedder, and no language model.

Mem0 makes them by class path (`EmbedderFactory`, `LlmFactory`), so they live in a module of
their own that imports Mem0. Import it only after `facts.prepare_environment`.
"""

from __future__ import annotations

from mem0.embeddings.base import EmbeddingBase
from mem0.llms.base import LLMBase

from ..embedding import embedder

PROVIDER = "contrib_ai_memory"


class SharedEmbedding(EmbeddingBase):
    """Mem0's embedder interface over the process's own batched and cached embedder."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return embedder.shared().encode([text])[0].tolist()

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return embedder.shared().encode(texts).tolist()


class NoLLM(LLMBase):
    """Facts come to Mem0 ready made (`infer=False`): it never needs a model of its own."""

    def generate_response(self, messages: list[dict[str, str]], **kwargs: object) -> str:
        raise NotImplementedError(
            "Mem0 was asked to infer facts. This contrib extracts and reconciles them itself: "
            "use npc.memory, or Memory.add(..., infer=False)."
        )
