"""The embedder: batched and cached embedding of texts [C §1.4].

Worker threads only. One instance a process (`shared`).
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

import numpy as np

from .. import conf
from . import cache
from .model import EmbeddingModel, open_model, stay_offline


class Embedder:
    """Embeds texts by a model, with bounded caches in memory and on disk, by content hash.

    Args:
        cache_size: Vectors kept in memory.
        disk: Returns the present cache on disk, or None.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        cache_size: int = 4096,
        disk: Callable[[], cache.DiskCache | None] = lambda: None,
    ):
        self.model = model
        self._disk = disk
        self._cache: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._cache_size = cache_size
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def encode(self, texts: list[str], *, keep: bool = False, known: bool = False) -> np.ndarray:
        """Return unit vectors, float32, shape (len(texts), dimensions).

        Args:
            texts: Equal texts are embedded once.
            keep: They are stored texts: read and write the cache on disk.
            known: Many are stored texts: read the cache on disk only.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        disk = self._disk() if keep or known else None
        with self._lock:
            keys = [_content_hash(text) for text in texts]
            wanted = dict(zip(keys, texts, strict=True))
            found = {key: self._cache[key] for key in wanted if key in self._cache}
            if disk is not None:
                found |= disk.get(key for key in wanted if key not in found)
            missing = [key for key in wanted if key not in found]
            if missing:
                vectors = self.model.encode([wanted[key] for key in missing])
                found.update(zip(missing, vectors, strict=True))
            if disk is not None and keep:
                disk.put(found)
            self._remember(keys, found)
            return np.stack([found[key] for key in keys]).astype(np.float32, copy=False)

    def forget(self, texts: Iterable[str]) -> int:
        """Erase texts from both caches. Returns the number of vectors erased."""
        keys = {_content_hash(text) for text in texts}
        with self._lock:
            erased = sum(self._cache.pop(key, None) is not None for key in keys)
            disk = self._disk()
            return erased if disk is None else max(erased, disk.forget(keys))

    def count_tokens(self, text: str) -> int:
        """Count the model's own tokens, without special ones."""
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
    """Return the embedder of the process. The first call loads the model (seconds).

    Raises:
        ModelError: The model cannot be loaded; the next call tries again.
    """
    global _shared
    with _loading:
        if _shared is None:
            options = conf.get().EMBEDDING
            stay_offline(options.model, conf.get().RERANKER)
            model = open_model(
                options.model, threads=options.threads, batch_size=options.batch_size
            )
            _shared = Embedder(
                model,
                options.cache_size,
                disk=lambda: cache.shared(model.name, model.dimensions),
            )
    return _shared
