"""Search lanes: what a memory is found by (DESIGN §5.2).

A line of talk often does not name what it is about: "Yes, since spring!" The lines around it do.
So each memory has four *lanes*, each with a key of its own by which a search scores it:

- `line`: the vector of the words alone;
- `window`: a weighted mean of the vectors of three lines before and after;
- `near`, `wide`: BM25 over the words of four and ten lines before and after.

Only the line itself is embedded. The caller passes lines of one conversation before one audience: a
line must not get into the keys of another one that other people may hear.

BM25 is of Robertson & Zaragoza (2009). How rare a word is, its query side, is counted per NPC:
over all NPCs, the name of a friend would be a rare word. Words are term numbers of Qdrant Edge's
tokeniser.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..log import logger

LANES = LINE, WINDOW, NEAR, WIDE = "line", "window", "near", "wide"
SPAN = 10  # lines before and after that are part of a line's keys
REACH = 40  # journal entries; lines further apart belong to different talks, whatever the session


class WordLane(NamedTuple):
    """The constants of a BM25 lane."""

    weights: tuple[float, ...]  # how much a word counts, by its distance in lines
    average: float  # of the weighted number of words of a key
    reach: float  # how many lines a key spans; the rarity of words depends on it


# fitted by leave-one-conversation-out (docs/how_a_score_came_about.md)
WINDOW_WEIGHTS = tuple(0.6**distance for distance in range(4))
WORD_LANES = {
    NEAR: WordLane(tuple(0.55**distance for distance in range(5)), 40.0, 5.0),
    WIDE: WordLane((1.0,) * (SPAN + 1), 220.0, 10.0),
}
K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The search keys of one memory."""

    line: np.ndarray  # unit vector of its own words, shape (dimensions,)
    window: np.ndarray  # unit vector of the talk around it, the same shape
    words: Mapping[str, Mapping[int, float]]  # term → weight of each word lane, by its name


def keys_of_one(vector: np.ndarray, words: str) -> Keys:
    """Return the keys of a memory without talk around it: a fact, a note."""
    return Keys(vector, vector, _words_of([(0, words)]))


def keys_of_talk(
    ids: Sequence[int], words: Sequence[str], vectors: np.ndarray, first: int = 0
) -> list[Keys]:
    """Return the keys of consecutive lines of one conversation, before one audience.

    Args:
        ids: Their journal ids, ascending.
        words: Their words, with the speaker's name.
        vectors: Their unit vectors, shape (len(ids), dimensions).
        first: The place of the first line whose keys are wanted.
    """
    found = []
    for place in range(first, len(ids)):
        around = [
            (abs(other - place), other)
            for other in range(max(0, place - SPAN), min(len(ids), place + SPAN + 1))
            if abs(ids[other] - ids[place]) <= REACH
        ]
        near = [pair for pair in around if pair[0] < len(WINDOW_WEIGHTS)]
        weights = np.array([WINDOW_WEIGHTS[distance] for distance, _ in near], dtype=np.float32)
        mean = weights @ vectors[[other for _, other in near]]
        window = mean / (np.linalg.norm(mean) or 1.0)
        said = _words_of([(distance, words[other]) for distance, other in around])
        found.append(Keys(vectors[place], window, said))
    return found


def _words_of(around: Sequence[tuple[int, str]]) -> dict[str, dict[int, float]]:
    return {name: bm25(around, lane) for name, lane in WORD_LANES.items()}


# --- words ----------------------------------------------------------------------------------------


def bm25(around: Sequence[tuple[int, str]], lane: WordLane) -> dict[int, float]:
    """Return BM25's document side of a key: term → weight, from counts weighted by distance.

    Args:
        around: (distance in lines, words) of the lines around it; its own have distance 0.
    """
    counts: dict[int, float] = defaultdict(float)
    for distance, words in around:
        if distance < len(lane.weights):
            for term, count in _term_counts(words):
                counts[term] += lane.weights[distance] * count
    norm = K1 * (1 - B + B * sum(counts.values()) / lane.average)
    return {term: count * (K1 + 1) / (count + norm) for term, count in counts.items()}


def terms_of(words: str) -> Sequence[int]:
    """Return the different terms of a text."""
    return [term for term, _count in _term_counts(words)]


@lru_cache(maxsize=4096)
def _term_counts(words: str) -> tuple[tuple[int, int], ...]:
    """Return (term, count) pairs of a text, stemmed and without stop words."""
    terms = _tokeniser().embed_document(words)
    return tuple(
        (term, round(K1 * value / (K1 + 1 - value)))
        for term, value in zip(terms.indices, terms.values, strict=True)
    )


@lru_cache(maxsize=1)
def _tokeniser() -> Any:
    import qdrant_edge  # late: it is heavy, and needed on the worker thread only

    # b = 0: the value of a term tells how often it came, and the lengths are counted here
    return qdrant_edge.Bm25(qdrant_edge.Bm25Config(k=K1, b=0.0, avg_len=16.0, ascii_folding=True))


# --- rarity ---------------------------------------------------------------------------------------

FILE = "vocabulary.sqlite3"
FEW = 200  # memories; an NPC with fewer is taken to have so many, as they say little of rarity
LOCK_SECONDS = 2.0  # to wait for the lock of another process

# the column `mind` holds the agent id
_SCHEMA = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
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
_ADD = "ON CONFLICT DO UPDATE SET memories = memories + excluded.memories"
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)

Result = TypeVar("Result")


class Vocabulary:
    """How many memories of each NPC have a word. A memory stays counted after it is deleted.

    The counts can be made again: a corrupt file is started anew, and while it is locked or the disk
    is full, it is done without.
    """

    def __init__(self, folder: Path):
        self._path = folder / FILE
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._warned = False

    def count(self, agent_id: str, terms_of: Mapping[str, Iterable[int]]) -> None:
        """Count the terms of memories not counted yet: {memory id: its different terms}."""

        def add(db: sqlite3.Connection) -> None:
            insert = "INSERT OR IGNORE INTO counted VALUES (?, ?)"
            new = [each for each in terms_of if db.execute(insert, (agent_id, each)).rowcount]
            if not new:
                return
            found = Counter(term for each in new for term in set(terms_of[each]))
            rows = [(agent_id, term, count) for term, count in found.items()]
            db.executemany(f"INSERT INTO terms VALUES (?, ?, ?) {_ADD}", rows)
            db.execute(f"INSERT INTO sizes VALUES (?, ?) {_ADD}", (agent_id, len(new)))

        self._use(add, None)

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
        found: dict[int | None, int] = self._use(
            lambda db: dict(db.execute(query, (agent_id, agent_id, *wanted))), {}
        )
        size = max(found.get(None, 0), FEW)

        def idf(term: int, reach: float) -> float:
            share = min(1.0, found.get(term, 0) / size)
            holding = size * (1 - (1 - share) ** reach)
            return math.log((size - holding + 0.5) / (holding + 0.5) + 1)

        return [{term: idf(term, reach) for term in wanted} for reach in reaches]

    def forget(self, agent_id: str) -> None:
        def delete(db: sqlite3.Connection) -> None:
            for table in ("terms", "counted", "sizes"):
                db.execute(f"DELETE FROM {table} WHERE mind = ?", (agent_id,))

        with self._lock:
            self._use(delete, None)
            if self._connection is not None:  # deleted rows leave the write-ahead log too
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _use(self, work: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """Return what `work` does in one transaction, `otherwise` if the file cannot be used."""
        with self._lock:
            try:
                return self._do(work)
            except sqlite3.DatabaseError as error:
                # errors of Python's own module have no code: they are mistakes of the caller
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
                if code in _BROKEN:
                    logger().warning("%s is corrupt (%s), and is started again.", self._path, error)
                    self.close()
                    for part in ("", "-wal", "-shm"):
                        self._path.with_name(FILE + part).unlink(missing_ok=True)
                    return self._do(work)
                if not isinstance(error, sqlite3.OperationalError):
                    raise
                if not self._warned:
                    self._warned = True
                    told = "%s cannot be used: %s. It is done without."
                    logger().warning(told, self._path, error)
                return otherwise

    def _do(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=LOCK_SECONDS, check_same_thread=False)
            try:
                connection.executescript(_SCHEMA)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        with self._connection:  # commits, or rolls back
            return work(self._connection)
