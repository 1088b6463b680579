"""Facts in Mem0: one instance a process, opened and used on a worker thread only.

Ids are made from what a memory is (`memory_id_for`), and points are written through Mem0's own
vector store with them, because `Memory.add` draws a random id: a pass that is killed after the
write and run again would then double what it wrote (docs/adr/001). What is written keeps Mem0's
payload, so `Memory.search`, `get_all`, `history` and `delete` work on it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import conf
from ..embedding import embedder
from ..records import MemoryRecord, now_iso
from . import condition, keys, opening
from .errors import StoreClosed
from .opening import open_mem0
from .payload import (
    ANYONE,
    FOREIGN,
    OF_NIGHTS,
    RECORDS,
    Candidate,
    PointId,
    Weighed,
    from_payload,
    to_candidate,
    to_payload,
)


@dataclass(frozen=True, slots=True)
class Found:
    """A memory with the score that one search lane gave it."""

    memory: MemoryRecord
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A question to the store: its vector, its words, and its form in every lane, made once."""

    agent_id: str
    vector: np.ndarray
    query: str
    lanes: Mapping[str, Any]


class FactStore:
    """Every NPC's memories in one Mem0 collection, scoped by `agent_id`, the NPC's own UUID."""

    def __init__(self, mem0: Any, provider: str):
        self.mem0 = mem0
        self.provider = provider
        self._vectors = mem0.vector_store
        self.has_lanes = hasattr(self._vectors, "weighed")

    # --- writing ----------------------------------------------------------------------------

    def put(
        self,
        agent_id: str,
        memories: Sequence[MemoryRecord],
        vectors: np.ndarray,
        found_by: Sequence[keys.Keys] | None = None,
    ) -> None:
        """Write memories with their vectors (shape (n, dimensions)); the same id overwrites.

        Args:
            found_by: The keys of each; without them a memory stands for itself.
        """
        if not memories:
            return
        condition.check(conf.directory())
        ids = [memory.id for memory in memories]
        tokens = embedder.shared().count_tokens
        payloads = [
            to_payload(agent_id, memory) | {"tokens": tokens(memory.content)} for memory in memories
        ]
        if self.has_lanes:
            found_by = found_by or [
                keys.alone(vector, memory.words)
                for memory, vector in zip(memories, vectors, strict=True)
            ]
            self._vectors.write(ids, payloads, found_by)
            self.count_words(agent_id, memories)
        else:
            self._vectors.insert(vectors=vectors.tolist(), payloads=payloads, ids=ids)

    def rekey(self, found_by: dict[str, keys.Keys]) -> None:
        """Change what memories are found by, as talk goes on after them; unknown ids are passed."""
        if self.has_lanes and found_by:
            self._vectors.rekey(found_by)

    def add(
        self, agent_id: str, memories: Sequence[MemoryRecord], vectors: np.ndarray
    ) -> list[str]:
        """Write those that are not there yet, with their birth in Mem0's history before them.

        Returns:
            The ids that were new.
        """
        condition.check(conf.directory())
        known = {memory.id for memory in self.get([memory.id for memory in memories])}
        new = [index for index, memory in enumerate(memories) if memory.id not in known]
        for memory in (memories[index] for index in new):
            if not self._has_history(memory.id):  # killed before it was written, it has one
                self._history(memory.id, None, memory.content, "ADD")
        self.put(agent_id, [memories[index] for index in new], vectors[new])
        return [memories[index].id for index in new]

    def change(self, memory_id: str, **payload: Any) -> None:
        """Merge fields into one memory's payload; its vector stays, and what is gone stays gone."""
        condition.check(conf.directory())
        if self._vectors.get(memory_id) is None:
            return
        self._vectors.update(vector_id=memory_id, vector=None, payload=payload)

    def note_access(self, ids: list[str], now: str) -> None:
        """Count one access of each of `ids`."""
        for memory in self.get(ids):
            self.change(memory.id, access_count=memory.access_count + 1, last_accessed=now)

    def delete(self, memory_id: str) -> None:
        """Forget one memory; unknown ids are no error, so that a pass can be run again."""
        condition.check(conf.directory())
        if self.get([memory_id]):
            self.mem0.delete(memory_id)

    def delete_points(self, ids: Sequence[str]) -> None:
        """Forget memories that Mem0's own verbs never saw; unknown ids are no error."""
        condition.check(conf.directory())
        self._forget_history(list(ids))
        for memory_id in ids:
            self._vectors.delete(memory_id)

    def begin_rewriting(self, remake: Any = None) -> bool:
        """Begin to write the files anew without what was deleted. False: not this store's files.

        Args:
            remake: Makes what memories are found by from their ids and payloads.
        """
        if can := hasattr(self._vectors, "begin_rewriting"):
            self._vectors.begin_rewriting(remake)
        return can

    def rewrite_some(self) -> bool:
        """A small part of that. Returns whether it is over."""
        over = self._vectors.rewrite_some()
        if over:
            self.note_total()
        return over

    def forget_words(self, agent_id: str) -> None:
        """Forget which words one NPC's memories have, before they are counted anew."""
        if self.has_lanes:
            self._vectors.forget_words(agent_id)

    def count_words(self, agent_id: str, memories: Sequence[MemoryRecord]) -> None:
        """Count how many memories have each word. What nights retell does not count: it would make
        common what is told of most, and move the scores of the lines that it was drawn from."""
        if self.has_lanes:
            told = {each.id: each.words for each in memories if each.record not in OF_NIGHTS}
            self._vectors.count_words(agent_id, told)

    def delete_mind(self, agent_id: str) -> int:
        """Forget all that one NPC remembers. Returns how many memories that were."""
        condition.check(conf.directory())
        memories = self.list(agent_id, limit=None)
        self._forget_history([memory.id for memory in memories])  # first: found by these ids alone
        for memory in memories:
            self._vectors.delete(memory.id)
        self.forget_words(agent_id)
        self.note_total()
        return len(memories)

    def _forget_history(self, ids: list[str]) -> None:
        """Mem0 keeps the words of what it deletes; here they go, from the file as well."""
        connection = self.mem0.db.connection
        connection.execute("PRAGMA secure_delete = ON")
        with connection:
            connection.executemany(
                "DELETE FROM history WHERE memory_id = ?", [(memory_id,) for memory_id in ids]
            )

    def _has_history(self, memory_id: str) -> bool:
        query = "SELECT 1 FROM history WHERE memory_id = ? LIMIT 1"
        return self.mem0.db.connection.execute(query, (memory_id,)).fetchone() is not None

    def _history(self, memory_id: str, old: str | None, new: str | None, event: str) -> None:
        now = now_iso()
        self.mem0.db.add_history(memory_id, old, new, event, created_at=now, updated_at=now)

    # --- reading ----------------------------------------------------------------------------

    def nearest(self, agent_id: str, vector: np.ndarray, limit: int, **where: Any) -> list[Found]:
        """The `limit` nearest by cosine, best first. `where`: payload fields, or `listener`."""
        hits = self._vectors.search("", vector.tolist(), limit, self._filters(agent_id, where))
        return [Found(from_payload(hit.id, hit.payload), hit.score) for hit in hits]

    def search(self, agent_id: str, vector: np.ndarray, query: str) -> Search:
        """A question as the store is asked it, in every lane that it has."""
        lanes = self._vectors.lanes(agent_id, vector, query) if self.has_lanes else {}
        return Search(agent_id, vector, query, lanes)

    def candidates(self, search: Search, limit: int, **where: Any) -> set[PointId]:
        """The ids of the `limit` best of each search lane."""
        filters = self._filters(search.agent_id, where)
        if self.has_lanes:
            return self._vectors.candidates(search.lanes, limit, filters)
        dense = self._vectors.search("", search.vector.tolist(), limit, filters)
        words = self._vectors.keyword_search(search.query, limit, filters) or []
        return {str(hit.id) for hit in [*dense, *words]}

    def weighed(self, search: Search, ids: Collection[PointId]) -> list[Candidate]:
        """Those of `ids` that this mind remembers, with what every lane says of them."""
        if not ids:
            return []
        if self.has_lanes:
            weighed = self._vectors.weighed(search.lanes, ids)
        else:
            weighed = self._weighed_by_hand(search, ids)
        return [
            to_candidate(each, payload, scores)
            for each, payload, scores in weighed
            if payload["agent_id"] == search.agent_id
        ]

    def _weighed_by_hand(self, search: Search, ids: Collection[str]) -> list[Weighed]:
        """A store of somebody else: one vector, words if it has them, and none of the talk."""
        hits = [
            hit
            for hit in self._vectors.get_many([str(each) for each in ids])
            if hit.payload.get("agent_id") == search.agent_id
        ]
        memories = [from_payload(hit.id, hit.payload) for hit in hits]
        cosines = self.vectors_of(memories) @ search.vector if hits else np.empty(0)
        filters = self._filters(search.agent_id, {})
        found = self._vectors.keyword_search(search.query, len(ids), filters) or []
        words = {str(hit.id): hit.score for hit in found}
        return [
            (hit.id, hit.payload, [cosine, cosine, word, word])
            for hit, cosine in zip(hits, cosines.tolist(), strict=True)
            for word in [words.get(str(hit.id), 0.0)]
        ]

    def vectors_of(self, memories: Sequence[MemoryRecord]) -> np.ndarray:
        """The unit vectors of these memories, shape (len(memories), dimensions)."""
        stored = self._vectors.vectors_of([memory.id for memory in memories])
        return np.array([stored[memory.id] for memory in memories], dtype=np.float32)

    def get(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Those of `ids` that exist, in the order asked."""
        wanted = list(ids)
        hits = self._vectors.get_many(wanted)
        found = {str(hit.id): from_payload(hit.id, hit.payload) for hit in hits}
        return [found[memory_id] for memory_id in wanted if memory_id in found]

    def list(self, agent_id: str, limit: int | None = 100, **where: Any) -> list[MemoryRecord]:
        """Up to `limit` memories of one NPC (None: all), in no set order."""
        taught = where == {"record": FOREIGN}  # what other programs wrote bears no record of ours
        if taught and self.count(agent_id, **where) < self.counts(agent_id)[FOREIGN]:
            return [each for each in self.list(agent_id, None) if each.record == FOREIGN][:limit]
        [hits] = self._vectors.list(self._filters(agent_id, where), limit)
        return [from_payload(hit.id, hit.payload) for hit in hits]

    def page(
        self, agent_id: str, offset: Any = None, limit: int = 256
    ) -> tuple[list[MemoryRecord], Any]:
        """Some memories of one NPC, and the offset of the next page, None behind the last."""
        hits, offset = self._vectors.page(self._filters(agent_id, {}), offset, limit)
        return [from_payload(hit.id, hit.payload) for hit in hits], offset

    def newest(self, agent_id: str, record: str, limit: int) -> list[MemoryRecord]:
        """The newest `limit` memories of one kind, newest first."""
        found = self.list(agent_id, limit=None, record=record)
        return sorted(found, key=lambda memory: memory.created_at, reverse=True)[:limit]

    def counts(self, agent_id: str) -> dict[str, int]:
        """How many memories of each kind there are."""
        counts = {kind: self.count(agent_id, record=kind) for kind in RECORDS}
        counts[FOREIGN] += self.count(agent_id) - sum(
            counts.values()
        )  # they bear no record of ours
        return counts

    def count(self, agent_id: str, **where: Any) -> int:
        return self._vectors.count(self._filters(agent_id, where))

    def total(self) -> int | None:
        """How many memories are in files of this game's own; None in a store that is a server."""
        return self._vectors.count() if self.provider == "qdrant_edge" else None

    def note_total(self) -> None:
        """Note how many there are now: fewer at the next start are lost."""
        known = opening.written_by(conf.directory())
        if known and "lost" not in known and (total := self.total()) is not None:
            opening.note(conf.directory(), memories=total)

    def find_lost(self) -> None:
        """Compare with the number that was noted last. A shard whose files were cut off opens
        without an error, and with nothing in it."""
        known, total = opening.written_by(conf.directory()), self.total()
        noted, lost = known.get("memories") or 0, known.get("lost")
        if total is not None and total < noted / 2 and not lost:
            lost = {"had": noted, "found": total, "seen": now_iso()}
            opening.note(conf.directory(), lost=lost)
        if lost:
            condition.begin(condition.LOST, opening.told_of_loss(lost))

    def _filters(self, agent_id: str, where: dict[str, Any]) -> dict[str, Any]:
        listener = where.pop("listener", None)
        filters = {"agent_id": agent_id, **where}
        if listener:
            filters["audience"] = {"in": [ANYONE, listener]}
        return filters

    def close(self) -> None:
        self._vectors.close()
        self.mem0.close()


# --- the one instance of the process ----------------------------------------------------------

_lock = threading.RLock()
_store: FactStore | None = None
_closed = False
expected: tuple[str, opening.Mark | None] | None = None  # of the game's database: see `pairing`


def shared() -> FactStore:
    """The process's store, opened at the first call (worker threads only).

    Raises:
        StoreInUse: Another process holds it.
        StoreMismatch: It was written by another embedding model.
        StoreClosed: The server is stopping.
    """
    global _store
    with _lock:
        if _closed:
            raise StoreClosed("The server is stopping; the memory store is closed.")
        if _store is None:
            opened = FactStore(*open_mem0())
            opened.find_lost()
            if expected is not None:
                stored = opening.written_by(conf.directory())
                if problem := opening.mismatch(stored, *expected):
                    condition.begin(condition.PAIR, problem)
            _store = opened
        return _store


def open_of_any_model() -> FactStore:
    """Open the store though another embedding model wrote it, to make its vectors anew."""
    global _store
    with _lock:
        if _store is None:
            _store = FactStore(*open_mem0(any_model=True))
        return _store


def check_writable() -> None:
    """Raise what a write would raise now (`condition.check`)."""
    condition.check_writable(conf.directory())


def total() -> int | None:
    """How many memories the open store has; None where it is not open, or is a server."""
    with _lock:
        return _store.total() if _store is not None else None


def ask(verb: str, *args: Any) -> Any:
    """Call a method of the process's store: the job that a worker thread is given."""
    return getattr(shared(), verb)(*args)


def close_shared(wait: float = 1.0, *, for_good: bool = True) -> None:
    """Close the store if no worker is in it; what was acknowledged is on disk either way.

    Args:
        wait: Seconds to wait for a worker that is using it.
        for_good: Refuse later calls of `shared()`, as at server stop.
    """
    global _store, _closed
    if _lock.acquire(timeout=wait):
        try:
            _closed = for_good
            condition.forget()
            if _store is not None:
                _store.close()
                _store = None
        finally:
            _lock.release()
