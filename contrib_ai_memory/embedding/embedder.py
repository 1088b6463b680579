"""The embedder: batched embedding of texts, cached in memory and on disk [C §1.4].

Worker threads only. One instance a process (`shared`).
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from .. import conf, sqlite_file
from .model import EmbeddingModel, open_model, stay_offline

CACHE_FILE = "embeddings.sqlite3"
ON_DISK = 100_000  # vectors of stored texts, 1.5 kB each with MiniLM


class Embedder:
    """Embeds texts by a model, with bounded caches in memory and on disk, by content hash."""

    def __init__(
        self, model: EmbeddingModel, cache_size: int = 4096, disk: DiskCache | None = None
    ):
        self.model = model
        self.name = model.name
        self.disk = disk
        self._cache: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._cache_size = cache_size
        self._lock = threading.Lock()

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
        disk = self.disk if keep or known else None
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
            for key in keys:
                self._cache[key] = found[key]
                self._cache.move_to_end(key)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)
            return np.stack([found[key] for key in keys]).astype(np.float32, copy=False)

    def forget(self, texts: Iterable[str]) -> None:
        """Erase texts from both caches."""
        keys = {_content_hash(text) for text in texts}
        with self._lock:
            for key in keys:
                self._cache.pop(key, None)
            if self.disk is not None:
                self.disk.forget(keys)

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
                model = open_model(options.model)
            else:
                from .endpoint import EndpointModel  # httpx takes a while to import

                model = EndpointModel(options)
            _shared = Embedder(model, disk=DiskCache(model.name, lambda: model.dimensions))
    return _shared


def trouble() -> str:
    """Return why texts cannot be embedded now, or ""; the server of a model may be away."""
    return getattr(_shared.model, "problem", "") if _shared else ""


# --- the cache on disk ----------------------------------------------------------------------------

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS vectors (
        model TEXT NOT NULL,
        hash BLOB NOT NULL,
        vector BLOB NOT NULL,
        used INTEGER NOT NULL,
        PRIMARY KEY (model, hash)
    );
    CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used);
"""
_SELECT = "SELECT vector FROM vectors WHERE model = ? AND hash = ?"
_UPSERT = """
    INSERT INTO vectors (model, hash, vector, used)
    VALUES (?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM vectors))
    ON CONFLICT (model, hash) DO UPDATE SET used = excluded.used
"""
_COUNT = "SELECT count(*) FROM vectors"
_EVICT = f"""
    DELETE FROM vectors WHERE rowid IN
    (SELECT rowid FROM vectors ORDER BY used LIMIT max(0, ({_COUNT}) - ?))
"""
_DELETE = "DELETE FROM vectors WHERE model = ? AND hash = ?"


class DiskCache:
    """The cache on disk: the vectors of one model, in a file that several models may share.

    It keeps the `size` rows used last, of all models together, and of the texts only their hashes.
    Queries are not cached, since few are asked twice. Without a path it is in the game's folder.
    """

    def __init__(
        self,
        model: str,
        dimensions: Callable[[], int],
        path: Path | None = None,
        size: int = ON_DISK,
    ):
        self._path = path
        self._model = model
        self._dimensions = dimensions  # of a server that may be away now
        self._size = size

    @property
    def _file(self) -> sqlite_file.SqliteFile:
        return sqlite_file.open_file(self._path or conf.directory() / CACHE_FILE, _SCHEMA)

    def get(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        wanted = list(keys)
        length = self._dimensions() * np.dtype(np.float32).itemsize if wanted else 0

        def read(connection: sqlite3.Connection) -> dict[bytes, np.ndarray]:
            rows = ((key, connection.execute(_SELECT, (self._model, key))) for key in wanted)
            return {
                key: np.frombuffer(vector, dtype=np.float32)
                for key, row in rows
                for (vector,) in row
                if len(vector) == length
            }

        return self._file.use(read, {}) if wanted else {}

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Write new vectors, mark all as used, and evict the rows used longest ago."""
        rows = [
            (self._model, key, each.astype(np.float32).tobytes()) for key, each in vectors.items()
        ]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(_UPSERT, rows)
            connection.execute(_EVICT, (self._size,))

        self._file.use(write, None)

    def forget(self, keys: Iterable[bytes]) -> None:
        """Erase `keys` of every model."""

        def erase(connection: sqlite3.Connection) -> None:
            models = connection.execute("SELECT DISTINCT model FROM vectors").fetchall()
            connection.executemany(_DELETE, [(model, key) for key in keys for (model,) in models])

        self._file.use(erase, None)
        self._file.forget_deleted()

    def __len__(self) -> int:
        return self._file.use(lambda file: file.execute(_COUNT).fetchone()[0], 0)
