"""Make vectors and keys anew, from the payloads in the store and the journals.

For the whole store: after a change of the embedding model, with the server down, into files of
their own that then take the place of the old ones. For one NPC: in place, at any time.
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
from ..store import lanes, memory_store, metadata
from ..store.condition import StoreMismatch
from ..store.lanes import REACH, Keys
from ..store.payload import Row, from_payload
from ..store.protocol import PAGE
from . import inspect
from .jobs import ENTRIES_AT_ONCE, batch_job

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


def silent(_doing: str, _done: int, _total: int) -> None:
    """Report no progress."""


@defer.inlineCallbacks
def reindex(npc: Any, progress: Progress = silent) -> Generator[Any, Any, int]:
    """Make every vector and key of one NPC anew, in place, as a Deferred count of memories."""
    memory = npc.memory
    total = yield batch_job(memory_store.count, memory.id)
    done = yield _embed(memory.id, 0, total, progress)
    yield recount(memory.id)
    yield rekey(npc, progress)
    return done


@defer.inlineCallbacks
def reindex_all(progress: Progress = silent) -> Generator[Any, Any, int]:
    """Make every vector and key of the store anew, as a Deferred count of memories.

    Blocks for seconds at a time: for when the server is down. Interrupted, the store is as it was
    before; begun again, what was embedded already comes from the embedding cache. In a store that
    is a server, only the memories of this game's NPCs are made anew.

    Raises (in the Deferred):
        StoreMismatch: The store is a server, and its vectors have another length.
    """
    store = yield batch_job(memory_store.open_of_any_model)
    agents = None if inspect.store_is_own() else sorted(inspect.known_agent_ids())
    total = yield batch_job(_count, agents)
    if (yield batch_job(memory_store.begin_rewriting, _remade)):
        done = 0
        while not (yield batch_job(memory_store.rewrite_some)):
            done = min(done + PAGE, total)
            progress("vectors", done, total)
    else:
        _check_dimensions(store.provider)
        done = 0
        for agent_id in agents or ():
            done = yield _embed(agent_id, done, total, progress)
    progress("vectors", total, total)
    model = embedder.shared()
    metadata.note(conf.directory(), embedding_model=model.name, dimensions=model.dimensions)
    for npc in inspect.npcs():
        yield recount(npc.memory.id)
        yield batch_job(novelty.carry_over, npc.memory.id)
        yield rekey(npc, progress)
    yield batch_job(_optimize)
    return total


@defer.inlineCallbacks
def _embed(agent_id: str, done: int, total: int, progress: Progress) -> Generator[Any, Any, int]:
    """Make every vector of an NPC anew, in place. Returns how many are done by then."""
    offset = None
    while True:
        written, offset = yield batch_job(_embed_page, agent_id, offset)
        done += written
        progress("vectors", done, total)
        if offset is None:
            return done


@defer.inlineCallbacks
def recount(agent_id: str) -> Generator[Any, Any, None]:
    """Count the words of an NPC's memories anew."""
    yield batch_job(memory_store.forget_words, agent_id)
    offset = None
    while True:
        offset = yield batch_job(_count_page, agent_id, offset)
        if offset is None:
            return


@defer.inlineCallbacks
def rekey(npc: Any, progress: Progress = silent) -> Generator[Any, Any, None]:
    """Make the keys of journal lines anew, with the talk around them."""
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


def vectors_of(rows: Sequence[Row]) -> np.ndarray:
    """Embed memories, from their payloads."""
    return embedder.shared().encode([from_payload(*row).embedded for row in rows], keep=True)


def _embed_page(agent_id: str, offset: Any) -> tuple[int, Any]:
    store = memory_store.shared()
    rows, offset = store.rows(agent_id, offset)
    store.upsert_rows(rows, vectors_of(rows))
    return len(rows), offset


def _count_page(agent_id: str, offset: Any) -> Any:
    store = memory_store.shared()
    memories, offset = store.page(agent_id, offset)
    store.count_words(agent_id, memories)
    return offset


def _remade(rows: Sequence[Row]) -> list[Keys]:
    words = [from_payload(*row).words for row in rows]
    return list(map(lanes.keys_of_one, vectors_of(rows), words))


def _count(agents: Sequence[str] | None) -> int:
    """How many memories these NPCs have; None: all in the store."""
    store = memory_store.shared()
    if agents is None:
        return sum(store.agents().values())
    return sum(map(store.count, agents))


def _optimize() -> None:
    memory_store.shared().optimize()


def _check_dimensions(provider: str) -> None:
    known = metadata.read(conf.directory()).get("dimensions")
    own = embedder.shared().dimensions
    if known not in (None, own):
        raise StoreMismatch(
            f"The store at {provider} has vectors of {known} numbers and the embedding model "
            f"makes {own}: its collection cannot hold them. With the old model in the settings, "
            "export each NPC; then name a new collection and the new model, and import them."
        )
