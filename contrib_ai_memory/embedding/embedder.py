"""The embedder: batched embedding of texts, cached in memory by content hash [C §1.4].

Worker threads only. One instance a process (`shared`).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping

import numpy as np

from .. import conf
from .model import EmbeddingModel, open_model, stay_offline

Stored = Callable[[list[str]], Mapping[str, np.ndarray]]  # the vectors of those texts that it has


class Embedder:
    """Embeds texts by a model, with a bounded cache."""

    def __init__(self, model: EmbeddingModel, cache_size: int = 4096):
        self.model = model
        self.name = model.name
        self._cache: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._cache_size = cache_size
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: list[str], stored: Stored | None = None) -> np.ndarray:
        """Return unit vectors, float32, shape (len(texts), dimensions).

        Args:
            texts: Equal texts are embedded once.
            stored: Asked for the vectors of texts that are not in the cache, before the model.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        with self._lock:
            keys = [_content_hash(text) for text in texts]
            wanted = dict(zip(keys, texts, strict=True))
            found = {key: self._cache[key] for key in wanted if key in self._cache}
            if stored and (unknown := [wanted[key] for key in wanted if key not in found]):
                found |= {_content_hash(text): each for text, each in stored(unknown).items()}
            if missing := [key for key in wanted if key not in found]:
                vectors = self.model.encode([wanted[key] for key in missing])
                found.update(zip(missing, vectors, strict=True))
            for key in keys:
                self._cache[key] = found[key]
                self._cache.move_to_end(key)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)
            return np.stack([found[key] for key in keys]).astype(np.float32, copy=False)

    def forget(self) -> None:
        """Empty the cache: what is erased leaves no vector in the process."""
        with self._lock:
            self._cache.clear()

    def count_tokens(self, text: str) -> int:
        return self.model.count_tokens(text)


def _content_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_shared: Embedder | None = None
_loading = threading.Lock()


def shared() -> Embedder:
    """Return the embedder of the process. The first call loads the model (seconds; ModelError)."""
    global _shared
    with _loading:
        if _shared is None:
            stay_offline()
            options = conf.get().EMBEDDING
            if options.base_url is None:
                _shared = Embedder(open_model(options.model))
            else:
                from .endpoint import EndpointModel  # httpx takes a while to import

                _shared = Embedder(EndpointModel(options))
    return _shared


def trouble() -> str:
    """Return why texts cannot be embedded now, or ""; the server of a model may be away."""
    return getattr(_shared.model, "problem", "") if _shared else ""
