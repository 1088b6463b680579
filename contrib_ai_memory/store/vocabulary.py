"""Document frequencies of words, counted per NPC: BM25's other half (Robertson & Zaragoza 2009).

Many NPCs share one store. Counted over all of them, the name of a friend would be a rare word, and
the talk in one inn would set the measure for another. A memory stays counted after it is deleted.
Words are stored as the term numbers of the search engine. Worker thread only.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from .. import sqlite_file

FILE = "vocabulary.sqlite3"
FEW = 200  # memories; an NPC with fewer is taken to have so many, as they say little of rarity

# the column `mind` holds the agent id
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
    """The word counts of every NPC in one store.

    Args:
        folder: Where its file is. If the file is lost, counting starts again from zero.
    """

    def __init__(self, folder: Path):
        self._path = folder / FILE

    def count(self, agent_id: str, terms_of: Mapping[str, Iterable[int]]) -> None:
        """Count the terms of memories not counted yet: {memory id: its different terms}."""

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
        """Return the inverse document frequency of each term, once for each reach.

        Args:
            reaches: How many lines one key spans. The share of keys with a term follows from the
                share of memories with it, taken as that many independent draws.
        """
        wanted = list(terms)
        holes = ", ".join("?" * len(wanted))
        query = (  # no term is NULL: that row is the number of memories
            "SELECT NULL, memories FROM sizes WHERE mind = ? UNION ALL "
            f"SELECT term, memories FROM terms WHERE mind = ? AND term IN ({holes})"
        )
        found: dict[int | None, int] = self._file().use(
            lambda db: dict(db.execute(query, (agent_id, agent_id, *wanted))), {}
        )
        size = max(found.get(None, 0), FEW)
        return [
            {term: _idf(found.get(term, 0) / size, size, reach) for term in wanted}
            for reach in reaches
        ]

    def forget(self, agent_id: str) -> None:
        """Erase the counts of one NPC."""

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
