"""How rare a word is among the memories of one mind: BM25's other half (Robertson & Zaragoza 2009).

Many minds share one store. Rarity counted over all of them would make the name of a friend a rare
word, and the talk of one inn the measure of another. Words are kept as the numbers that the store
knows them by. A memory counts once for ever, whoever forgets it. Worker threads only.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..embedding import sqlite_file

FILE = "vocabulary.sqlite3"
FEW = 200  # memories; fewer say little of how rare a word is, and are taken for so many

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS terms (
        mind TEXT NOT NULL,
        term INTEGER NOT NULL,
        memories INTEGER NOT NULL,
        PRIMARY KEY (mind, term)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS counted (
        mind TEXT NOT NULL,
        memory TEXT NOT NULL,
        PRIMARY KEY (mind, memory)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sizes (
        mind TEXT PRIMARY KEY,
        memories INTEGER NOT NULL
    ) WITHOUT ROWID;
"""


class Vocabulary:
    """The words of every mind in one store.

    Args:
        folder: Where its file lies. Lost, it begins anew, and every word is rare until then.
    """

    def __init__(self, folder: Path):
        self._path = folder / FILE

    def count(self, agent_id: str, terms_of: Mapping[str, Iterable[int]]) -> None:
        """Take the words of memories in: {memory id: its different terms}."""

        def add(db: sqlite3.Connection) -> None:
            insert = "INSERT OR IGNORE INTO counted VALUES (?, ?)"
            new = [each for each in terms_of if db.execute(insert, (agent_id, each)).rowcount]
            if not new:
                return
            found = Counter(term for each in new for term in set(terms_of[each]))
            db.executemany(
                "INSERT INTO terms VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET memories = memories + excluded.memories",
                [(agent_id, term, count) for term, count in found.items()],
            )
            db.execute(
                "INSERT INTO sizes VALUES (?, ?) "
                "ON CONFLICT DO UPDATE SET memories = memories + excluded.memories",
                (agent_id, len(new)),
            )

        self._file().use(add, None)

    def rarity(
        self, agent_id: str, terms: Iterable[int], reaches: Iterable[float]
    ) -> list[dict[int, float]]:
        """The inverse document frequency of each term, once for each reach.

        Args:
            reaches: Memories that one key looks at. That many independent draws give the share of
                keys that hold a term from the share of memories that do.
        """
        wanted = list(terms)
        holes = ", ".join("?" * len(wanted))
        query = (  # no term is NULL: that row is the number of memories
            "SELECT NULL, memories FROM sizes WHERE mind = ? UNION ALL "
            f"SELECT term, memories FROM terms WHERE mind = ? AND term IN ({holes})"
        )
        found = self._file().use(
            lambda db: dict(db.execute(query, (agent_id, agent_id, *wanted))), {}
        )
        size = max(found.get(None, 0), FEW)
        return [
            {term: _idf(found.get(term, 0) / size, size, reach) for term in wanted}
            for reach in reaches
        ]

    def forget(self, agent_id: str) -> None:
        """Erase what is kept of one mind."""

        def erase(db: sqlite3.Connection) -> None:
            for table in ("terms", "counted", "sizes"):
                db.execute(f"DELETE FROM {table} WHERE mind = ?", (agent_id,))

        self._file().use(erase, None)
        self._file().forget_deleted()

    def _file(self) -> sqlite_file.SqliteFile:
        return sqlite_file.open_file(self._path, _SCHEMA)


def _idf(share: float, size: int, reach: float) -> float:
    holding = size * (1 - (1 - min(1.0, share)) ** reach)
    return math.log((size - holding + 0.5) / (holding + 0.5) + 1)
