"""The embedding cache on disk: vectors of stored texts by content hash [C §1.4].

It keeps a bounded number of rows, those used last, and of the texts only their hashes. Queries are
not cached, since few are asked twice. Worker threads only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from .. import conf
from . import sqlite_file

FILE = "embeddings.sqlite3"
VARIABLES = 900  # in one statement; SQLite's old limit is 999

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
_UPSERT = """
    INSERT INTO vectors (model, hash, vector, used) VALUES (?, ?, ?, ?)
    ON CONFLICT (model, hash) DO UPDATE SET used = excluded.used
"""
_EVICT = """
    DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used LIMIT ?)
"""


class DiskCache:
    """The vectors of one model in a file that several models may share.

    Args:
        size: Maximum number of rows, of all models together.
    """

    def __init__(self, path: Path, model: str, dimensions: int, size: int):
        self._file = sqlite_file.open_file(path, _SCHEMA)
        self._model = model
        self._bytes = dimensions * np.dtype(np.float32).itemsize
        self._size = size

    def get(self, keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
        """Return the cached vectors of `keys`."""
        wanted = list(keys)
        if not wanted:
            return {}
        return self._file.use(lambda connection: self._read(connection, wanted), {})

    def put(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Write new vectors, mark all as used, and evict the rows used longest ago."""
        if vectors:
            self._file.use(lambda connection: self._write(connection, vectors), None)

    def forget(self, keys: Iterable[bytes]) -> int:
        """Erase `keys` of every model. Returns the number of rows erased."""
        erased = list(keys)

        def erase(connection: sqlite3.Connection) -> int:
            # by model, since the index begins with it
            models = connection.execute("SELECT DISTINCT model FROM vectors").fetchall()
            pairs = [(model, key) for (model,) in models for key in erased]
            statement = "DELETE FROM vectors WHERE model = ? AND hash = ?"
            return connection.executemany(statement, pairs).rowcount

        gone = self._file.use(erase, 0)
        self._file.forget_deleted()
        return max(gone, 0)

    def __len__(self) -> int:
        return self._file.use(_count, 0)

    def _read(self, connection: sqlite3.Connection, keys: list[bytes]) -> dict[bytes, np.ndarray]:
        found: dict[bytes, np.ndarray] = {}
        for start in range(0, len(keys), VARIABLES):
            some = keys[start : start + VARIABLES]
            rows = connection.execute(
                "SELECT hash, vector FROM vectors WHERE model = ? "
                f"AND hash IN ({','.join('?' * len(some))})",
                (self._model, *some),
            )
            found |= {
                key: np.frombuffer(vector, dtype=np.float32)
                for key, vector in rows
                if len(vector) == self._bytes
            }
        return found

    def _write(self, connection: sqlite3.Connection, vectors: Mapping[bytes, np.ndarray]) -> None:
        (last,) = connection.execute("SELECT coalesce(max(used), 0) FROM vectors").fetchone()
        connection.executemany(
            _UPSERT,
            [
                (self._model, key, vector.astype(np.float32).tobytes(), last + 1)
                for key, vector in vectors.items()
            ],
        )
        connection.execute(_EVICT, (max(0, _count(connection) - self._size),))


def _count(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT count(*) FROM vectors").fetchone()[0]


def shared(model: str, dimensions: int) -> DiskCache | None:
    """Return the cache of a model, or None if the settings switch it off."""
    size = conf.get().EMBEDDING.disk_cache_size
    return DiskCache(conf.directory() / FILE, model, dimensions, size) if size else None
