"""Novelty of a text [C §1.5]: its cosine distance to what the NPC knows through one person.

The centroid of a person is the running sum over the memories taught about them and the lines they
said. The ids of counted memories are stored beside it, so that a job that runs again counts none
twice. Worker threads only. The column `mind` holds the NPC's agent id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import conf, sqlite_file
from ..embedding import embedder
from ..store import memory_store

FILE = "novelty.sqlite3"

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS centroids (
        mind TEXT NOT NULL,
        person TEXT NOT NULL,
        model TEXT NOT NULL,
        count INTEGER NOT NULL,
        total BLOB NOT NULL,
        PRIMARY KEY (mind, person, model)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS counted (
        mind TEXT NOT NULL,
        person TEXT NOT NULL,
        model TEXT NOT NULL,
        memory TEXT NOT NULL,
        PRIMARY KEY (mind, person, model, memory)
    ) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Centroid:
    """Sum of `count` unit vectors; it has the direction of their mean."""

    total: np.ndarray
    count: int = 0

    def without(self, vectors: np.ndarray) -> Centroid:
        """The centroid without some vectors: a text taught again is not compared with itself."""
        return Centroid(
            self.total - vectors.sum(axis=0, dtype=np.float64), self.count - len(vectors)
        )

    def novelty(self, vectors: np.ndarray) -> np.ndarray:
        """Cosine distance of each unit vector, 0-1; 1 if nothing is known yet [C §1.5]."""
        length = float(np.linalg.norm(self.total))
        if self.count <= 0 or length == 0.0:
            return np.ones(len(vectors))
        return np.clip(1.0 - vectors @ self.total / length, 0.0, 1.0)


def centroid(agent_id: str, person: str | None) -> Centroid:
    """The centroid of what an NPC knows through `person`; None for nobody in particular."""
    words = embedder.shared()
    row = _file().use(lambda db: _row(db, agent_id, person or "", words.name), None)
    return row or Centroid(np.zeros(words.dimensions))


def counted(agent_id: str, person: str | None, memory_ids: Sequence[str]) -> set[str]:
    """Those of `memory_ids` that count in the centroid."""
    key = (agent_id, person or "", embedder.shared().name)

    def look(db: sqlite3.Connection) -> set[str]:
        query = "SELECT 1 FROM counted WHERE mind = ? AND person = ? AND model = ? AND memory = ?"
        return {each for each in memory_ids if db.execute(query, (*key, each)).fetchone()}

    return _file().use(look, set())


def count(
    agent_id: str, person: str | None, memory_ids: Sequence[str], vectors: np.ndarray
) -> None:
    """Add memories to the centroid, each only once."""
    key = (agent_id, person or "", embedder.shared().name)

    def add(db: sqlite3.Connection) -> None:
        new = [
            vector
            for memory_id, vector in zip(memory_ids, vectors, strict=True)
            if db.execute(
                "INSERT OR IGNORE INTO counted VALUES (?, ?, ?, ?)", (*key, memory_id)
            ).rowcount
        ]
        if new:
            known = _row(db, *key) or Centroid(np.zeros(vectors.shape[1]))
            total = known.total + np.sum(new, axis=0, dtype=np.float64)
            db.execute(
                "INSERT OR REPLACE INTO centroids VALUES (?, ?, ?, ?, ?)",
                (*key, known.count + len(new), total.tobytes()),
            )

    _file().use(add, None)


def forget(agent_id: str, person: str | None = None) -> None:
    """Erase the centroids of an NPC, or that of one person."""
    where, values = "mind = ?", [agent_id]
    if person is not None:
        where, values = f"{where} AND person = ?", [agent_id, person]

    def erase(db: sqlite3.Connection) -> None:
        db.execute(f"DELETE FROM centroids WHERE {where}", values)
        db.execute(f"DELETE FROM counted WHERE {where}", values)

    _file().use(erase, None)
    _file().forget_deleted()


def rows(agent_id: str) -> list[tuple[str, str, int, bytes, list[str]]]:
    """All centroids of an NPC: person, model, count, sum and ids of the counted memories."""

    def look(db: sqlite3.Connection) -> list[tuple[str, str, int, bytes, list[str]]]:
        query = "SELECT memory FROM counted WHERE mind = ? AND person = ? AND model = ? ORDER BY 1"
        return [
            (person, model, count, total, [row[0] for row in db.execute(query, key)])
            for person, model, count, total in db.execute(
                "SELECT person, model, count, total FROM centroids WHERE mind = ? ORDER BY 1, 2",
                (agent_id,),
            ).fetchall()
            for key in [(agent_id, person, model)]
        ]

    return _file().use(look, [])


def put_back(agent_id: str, row: tuple[str, str, int, bytes, list[str]]) -> None:
    """Write a row of `rows` back."""
    person, model, number, total, memories = row

    def write(db: sqlite3.Connection) -> None:
        key = (agent_id, person, model)
        values = (*key, number, total)
        db.execute("INSERT OR REPLACE INTO centroids VALUES (?, ?, ?, ?, ?)", values)
        db.executemany(
            "INSERT OR IGNORE INTO counted VALUES (?, ?, ?, ?)", [(*key, m) for m in memories]
        )

    _file().use(write, None)


def carry_over(agent_id: str) -> None:
    """Recompute the centroids of other embedding models with vectors of the current one."""
    words, store = embedder.shared(), memory_store.shared()
    others = [row for row in rows(agent_id) if row[1] != words.name]
    for person, _model, _count, _total, ids in others:
        if memories := store.get(ids):
            count(agent_id, person, [each.id for each in memories], store.vectors_of(memories))

    def erase(db: sqlite3.Connection) -> None:
        for table in ("centroids", "counted"):
            db.execute(f"DELETE FROM {table} WHERE mind = ? AND model != ?", (agent_id, words.name))

    if others:
        _file().use(erase, None)


def _row(db: sqlite3.Connection, agent_id: str, person: str, model: str) -> Centroid | None:
    row = db.execute(
        "SELECT total, count FROM centroids WHERE mind = ? AND person = ? AND model = ?",
        (agent_id, person, model),
    ).fetchone()
    return Centroid(np.frombuffer(row[0]), row[1]) if row else None


def _file() -> sqlite_file.SqliteFile:
    return sqlite_file.open_file(conf.directory() / FILE, _SCHEMA)
