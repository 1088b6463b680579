"""The embedder: batched calls only, equal texts once, recent vectors kept [C §1.4].

Used on worker threads only. One instance a process (`shared()`).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

import numpy as np

from .. import conf
from .model import EmbeddingModel, SentenceTransformerModel


class Embedder:
    """Turns texts into unit vectors through a model and a bounded cache keyed by content hash."""

    def __init__(self, model: EmbeddingModel, cache_size: int = 4096):
        self.model = model
        self._cache: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._cache_size = cache_size
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: list[str]) -> np.ndarray:
        """Vectors of `texts`, float32, unit length, shape (len(texts), dimensions)."""
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        with self._lock:
            keys = [_content_hash(text) for text in texts]
            found = {key: self._cache[key] for key in keys if key in self._cache}
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
            if missing:
                vectors = self.model.encode(list(missing.values()))
                found.update(zip(missing, vectors, strict=True))
            self._remember(keys, found)
            return np.stack([found[key] for key in keys]).astype(np.float32, copy=False)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` in the model's own tokenizer, special tokens left out."""
        return self.model.count_tokens(text)

    def _remember(self, keys: list[bytes], found: dict[bytes, np.ndarray]) -> None:
        for key in keys:
            self._cache[key] = found[key]
            self._cache.move_to_end(key)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)


def _content_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_shared: Embedder | None = None
_loading = threading.Lock()


def shared() -> Embedder:
    """The process's embedder. The first call loads the model (seconds): worker threads only.

    Raises:
        ModelError: The model cannot be loaded; the next call tries again.
    """
    global _shared
    with _loading:
        if _shared is None:
            options = conf.get().EMBEDDING
            model = SentenceTransformerModel(
                options.model, threads=options.threads, batch_size=options.batch_size
            )
            _shared = Embedder(model, options.cache_size)
    return _shared
