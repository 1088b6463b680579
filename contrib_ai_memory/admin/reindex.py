"""Make vectors and keys anew, from the payloads in the store and the journals.

For the whole store: after a change of the embedding model, with the server down, into files of
their own that then take the place of the old ones. Keys of lines alone: in place, at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding import embedder
from ..ingest import index
from ..records import Entry
from ..store import memory_store, metadata
from ..store.condition import StoreMismatch
from ..store.lanes import REACH, Keys, keys_of_one
from ..store.payload import Row, from_payload
from ..store.protocol import PAGE
from . import game_npcs
from .jobs import ENTRIES_AT_ONCE, Progress, batch_job, silent, store_pages


@defer.inlineCallbacks
def reindex_all(progress: Progress = silent) -> Generator[Any, Any, int]:
    """Make every vector and key of the store anew, as a Deferred count of memories.

    Blocks for seconds at a time: for when the server is down. Interrupted, the store is as it was
    before. In a store that is a server, only the memories of this game's NPCs are made anew, and
    vectors of another length are a StoreMismatch.
    """
    provider = yield batch_job(_open_of_any_model)
    agents = None if conf.get().VECTOR_STORE.is_own else sorted(game_npcs.known_agent_ids())
    counts: dict[str, int] = yield batch_job(memory_store.agents)
    total = sum(each for agent_id, each in counts.items() if agents is None or agent_id in agents)
    done = 0
    if (yield batch_job(memory_store.begin_rewriting, keys_of)):
        while not (yield batch_job(memory_store.rewrite_some)):
            done = min(done + PAGE, total)
            progress("vectors", done, total)
    else:
        _check_dimensions(provider)
        for agent_id in agents or ():
            yield store_pages(_embed_page, agent_id)
            done += counts.get(agent_id, 0)
            progress("vectors", done, total)
    progress("vectors", total, total)
    model = embedder.shared()
    metadata.note(conf.directory(), embedding_model=model.name, dimensions=model.dimensions)
    for npc in game_npcs.npcs():
        yield batch_job(memory_store.forget_words, npc.memory.id)
        yield store_pages(_count_page, npc.memory.id)
        yield rekey(npc, progress=progress)
    yield batch_job(memory_store.optimize)
    return total


@defer.inlineCallbacks
def rekey(
    npc: Any, near: Collection[int] | None = None, progress: Progress = silent
) -> Generator[Any, Any, None]:
    """Make the search keys of journal lines anew, with the talk around them: of the whole journal,
    or on the pages with lines near these journal ids."""
    journal, name = npc.memory.journal, npc.key if npc.pk else ""  # it may be deleted meanwhile
    indexed = min(journal.cursors.get("indexed", 0), len(journal))
    pages: Collection[int] = range((indexed - 1) // ENTRIES_AT_ONCE + 1)
    if near is not None:
        around = (*range(-REACH, REACH, ENTRIES_AT_ONCE), REACH)  # some place of each page
        changed = {(each - 1 + away) // ENTRIES_AT_ONCE for each in near for away in around}
        pages = sorted(changed.intersection(pages))
    for page in pages:
        first = page * ENTRIES_AT_ONCE + 1
        last = min(first + ENTRIES_AT_ONCE - 1, indexed)
        lines: Sequence[Entry] = list(journal.read(first - REACH, min(last + REACH, indexed)))
        wanted = {entry.id for entry in lines if first <= entry.id <= last}
        if wanted:
            yield batch_job(index.rekey_entries, npc.memory.id, lines, wanted)
        progress(name, last, indexed)
        yield offload.breathe()


# --- on the worker thread -------------------------------------------------------------------------


def _open_of_any_model() -> str:
    """Open the store whichever model wrote it. Returns its provider."""
    return memory_store.open_of_any_model().provider


def keys_of(rows: Sequence[Row]) -> list[Keys]:
    """Embed memories, from their payloads. Each is found by its own words alone (see `rekey`)."""
    memories = [from_payload(*row) for row in rows]
    vectors = embedder.shared().encode([each.embedded for each in memories])
    return list(map(keys_of_one, vectors, (each.words for each in memories)))


def _embed_page(agent_id: str, offset: Any) -> tuple[None, Any]:
    store = memory_store.shared()
    rows, offset = store.rows(agent_id, offset)
    store.upsert_rows(rows, keys_of(rows))
    return None, offset


def _count_page(agent_id: str, offset: Any) -> tuple[None, Any]:
    store = memory_store.shared()
    records, offset = store.page(agent_id, offset)
    store.count_words(agent_id, records)
    return None, offset


def _check_dimensions(provider: str) -> None:
    known = metadata.read(conf.directory()).get("dimensions")
    own = embedder.shared().dimensions
    if known not in (None, own):
        raise StoreMismatch(
            f"The store at {provider} has vectors of {known} numbers and the embedding model "
            f"makes {own}: its collection cannot hold them. With the old model in the settings, "
            "export each NPC; then name a new collection and the new model, and import them."
        )
