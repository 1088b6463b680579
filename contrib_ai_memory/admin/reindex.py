"""Every vector and key made anew, from what the store's payloads and the journals hold.

For the whole store: after a change of the embedding model, with the server down, into files of
their own that then take the place of the old. For one NPC: in place, any time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import conf, offload
from ..embedding import embedder
from ..ingest import index, novelty
from ..records import Entry
from ..store import bulk, facts, opening
from ..store.bulk import Row
from ..store.errors import StoreMismatch
from ..store.keys import REACH, Keys
from ..store.payload import from_payload
from . import inspect
from .jobs import ENTRIES_AT_ONCE, batch_job

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


def silent(_doing: str, _done: int, _total: int) -> None:
    """Nobody looks on."""


@defer.inlineCallbacks
def reindex(npc: Any, progress: Progress = silent) -> Generator[Any, Any, int]:
    """Make every vector and key of one NPC anew, in place, as a Deferred count of memories."""
    memory = npc.memory
    total = yield batch_job(facts.ask, "count", memory.id)
    yield batch_job(facts.ask, "forget_words", memory.id)
    done = yield _embed(memory.id, 0, total, progress)
    yield rekey(npc, progress)
    return done


@defer.inlineCallbacks
def reindex_all(progress: Progress = silent) -> Generator[Any, Any, int]:
    """Make every vector and key of the store anew, as a Deferred count of memories.

    Blocks for seconds at a time: for when the server is down. Broken off, the store is as it was
    before; begun again, what was embedded already comes from the embedding cache. In a store that
    is a server, only the minds that this game knows are made anew.

    Raises (in the Deferred):
        StoreMismatch: The store is no file of ours, and its vectors have another length.
    """
    store = yield batch_job(facts.open_of_any_model)
    minds = None if inspect.store_is_own() else sorted(inspect.known_agent_ids())
    total = yield batch_job(_count, minds)
    if (yield batch_job(facts.ask, "begin_rewriting", _remade)):
        done = 0
        while not (yield batch_job(facts.ask, "rewrite_some")):
            done = min(done + bulk.PAGE, total)
            progress("vectors", done, total)
    else:
        _same_length(store)
        done = 0
        for agent_id in minds or ():
            done = yield _embed(agent_id, done, total, progress)
    progress("vectors", total, total)
    words = embedder.shared()
    opening.note_model(conf.directory(), words.name, words.dimensions)
    for npc in inspect.npcs():
        yield recount(npc.memory.id)
        yield batch_job(novelty.carry_over, npc.memory.id)
        yield rekey(npc, progress)
    yield batch_job(_optimize)
    return total


@defer.inlineCallbacks
def _embed(agent_id: str, done: int, total: int, progress: Progress) -> Generator[Any, Any, int]:
    """Make every vector of a mind anew, in place. Gives how many are done by then."""
    offset = None
    while True:
        written, offset = yield batch_job(_embed_page, agent_id, offset)
        done += written
        progress("vectors", done, total)
        if offset is None:
            return done


@defer.inlineCallbacks
def recount(agent_id: str) -> Generator[Any, Any, None]:
    """Count the words of a mind anew."""
    yield batch_job(facts.ask, "forget_words", agent_id)
    offset = None
    while True:
        memories, offset = yield batch_job(facts.ask, "page", agent_id, offset)
        yield batch_job(facts.ask, "count_words", agent_id, memories)
        if offset is None:
            return


@defer.inlineCallbacks
def rekey(npc: Any, progress: Progress = silent) -> Generator[Any, Any, None]:
    """Make anew what the lines of a journal are found by, with the talk around them."""
    journal = npc.memory.journal
    indexed = min(journal.cursors.get("indexed", 0), len(journal))
    for first in range(1, indexed + 1, ENTRIES_AT_ONCE):
        last = min(first + ENTRIES_AT_ONCE - 1, indexed)
        around: Sequence[Entry] = list(journal.read(first - REACH, min(last + REACH, indexed)))
        wanted = {entry.id for entry in around if first <= entry.id <= last}
        if wanted:
            yield batch_job(index.rekey_entries, npc.memory.id, around, wanted)
        progress(npc.key, last, indexed)
        yield offload.breathe()


# --- on the worker thread -------------------------------------------------------------------------


def _embed_page(agent_id: str, offset: Any) -> tuple[int, Any]:
    store = facts.shared()
    rows, offset = bulk.page(store, agent_id, offset)
    bulk.write(store, rows, vectors_of(rows))
    return len(rows), offset


def vectors_of(rows: Sequence[Row]) -> np.ndarray:
    """The vectors of memories, from what their payloads say."""
    return embedder.shared().encode([from_payload(*row).embedded for row in rows], keep=True)


def _remade(rows: list[Row]) -> list[Keys]:
    return [bulk.alone(row, vector) for row, vector in zip(rows, vectors_of(rows), strict=True)]


def _count(minds: Sequence[str] | None) -> int:
    """How many memories these minds have; None: all in the store."""
    store = facts.shared()
    if minds is None:
        return sum(bulk.minds(store).values())
    return sum(map(store.count, minds))


def _optimize() -> None:
    vectors = facts.shared().mem0.vector_store
    if hasattr(vectors, "optimize"):
        vectors.optimize()


def _same_length(store: facts.FactStore) -> None:
    known = opening.written_by(conf.directory()).get("dimensions")
    own = embedder.shared().dimensions
    if known not in (None, own):
        raise StoreMismatch(
            f"The store at {store.provider} has vectors of {known} numbers and the embedding model "
            f"makes {own}: its collection cannot hold them. With the old model in the settings, "
            "export each NPC; then name a new collection and the new model, and import them."
        )
