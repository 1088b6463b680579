"""Move the memories of a game from the store of the settings into another one, server down.

Payloads, vectors and keys are copied as they are; nothing is embedded. Mem0's history lies in the
game's own folder and serves every store.

Every pass goes a page at a time and may be done again. `store.json` names the target until it is
whole, so that it does not open as the game's store before; the source is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from twisted.internet import defer

from .. import conf
from ..conf import VectorStoreSettings
from ..errors import InputError
from ..store import memory_store, metadata
from ..store.payload import completed, is_foreign
from ..store.protocol import PAGE, MemoryStore
from . import game_npcs
from .jobs import Progress, local_job, silent, store_pages

AT_ONCE = 4 * PAGE  # memories of one page

WholeOrAgents = Sequence[str | None]  # [None]: all that is this game's


@defer.inlineCallbacks
def move(
    target: VectorStoreSettings, *, replace: bool = False, progress: Progress = silent
) -> Generator[Any, Any, tuple[int, int]]:
    """Copy every memory into another store. The settings stay as they are.

    Killed, it is begun again with the same arguments. With `replace` the target may have memories
    of this game already; it then becomes equal to the source.

    Returns (as a Deferred) how many were written and compared, and how many of the source belong to
    nobody in this game and were not moved.
    """
    folder = conf.directory()
    here, there = memory_store.place(conf.get().VECTOR_STORE), memory_store.place(target)
    if here == there:
        raise InputError(f"The memories are in that store already: {here}. Name another one.")
    if not metadata.read(folder):
        raise InputError(
            f"There is no memory store in {folder} yet, so there is nothing to move. Name the new "
            'store in CONTRIB_AI_MEMORY["VECTOR_STORE"] and start the game.'
        )
    source: MemoryStore = yield local_job(memory_store.shared)
    other: MemoryStore = yield local_job(memory_store.open_store, target)
    try:
        agents: WholeOrAgents = [None] if source.scoped else sorted(game_npcs.known_agent_ids())
        if metadata.read(folder).get("moving") != there and not replace:
            yield local_job(_check_empty, other, agents, there)
        metadata.note(folder, moving=there)
        counts: dict[str, int] = yield local_job(source.agents)
        stored = sum(counts.values())
        ours = set(counts) if source.scoped else set(counts).intersection(agents)
        total = sum(counts[each] for each in ours)
        yield _walk(_copy_page, source, other, agents, progress, "copying", total)
        stale: WholeOrAgents = [None] if other.scoped else sorted({*ours, *filter(None, agents)})
        yield _walk(_prune_page, other, source, stale, progress, "pruning", total)
        moved = yield _walk(_check_page, source, other, agents, progress, "comparing", total)
    except BaseException:
        other.close()
        raise
    yield local_job(memory_store.use, other)
    try:
        yield local_job(other.optimize)
        metadata.note(folder, moving=None)
        metadata.note_total(folder, other.total())
    finally:
        memory_store.close_shared(for_good=False)
    return moved, stored - total


@defer.inlineCallbacks
def _walk(
    job: Callable[..., Any],
    store: MemoryStore,
    other: MemoryStore,
    agents: WholeOrAgents,
    progress: Progress,
    task: str,
    total: int,
) -> Generator[Any, Any, int]:
    """Run a job of two stores for each page of the first. Returns how many memories it has."""
    seen = 0

    def count(of_page: int) -> None:
        nonlocal seen
        seen += of_page
        progress(task, min(seen, total), total)

    for agent_id in agents:
        yield store_pages(job, store, other, agent_id, on_page=count, run=local_job)
    return seen


# --- on the worker thread -------------------------------------------------------------------------

Page = tuple[int, Any]  # (memories on it, the next page's offset)


def _copy_page(source: MemoryStore, other: MemoryStore, agent_id: str | None, offset: Any) -> Page:
    rows, offset = source.rows(agent_id, offset, AT_ONCE)
    if rows:
        keys = source.lane_vectors([each for each, _ in rows])
        other.upsert_rows(rows, [keys[each] for each, _ in rows])
    return len(rows), offset


def _prune_page(other: MemoryStore, source: MemoryStore, agent_id: str | None, offset: Any) -> Page:
    """Delete what the source does not have (any more)."""
    rows, offset = other.rows(agent_id, offset, AT_ONCE)
    known = source.payloads([each for each, _ in rows])
    if gone := [each for each, _ in rows if each not in known]:
        other.delete(gone)
    return len(rows), offset


def _check_page(source: MemoryStore, other: MemoryStore, agent_id: str | None, offset: Any) -> Page:
    """Compare a page."""
    rows, offset = source.rows(agent_id, offset, AT_ONCE)
    there = other.payloads([each for each, _ in rows])
    wrong = [each for each, payload in rows if not _same(payload, there.get(each))]
    if wrong:
        which = ", ".join(each[:8] for each in wrong[:5])
        raise InputError(
            f"{len(wrong)} memories differ after they were copied ({which} …): something else "
            "writes into one of the stores. Stop it, and run the same command again."
        )
    return len(rows), offset


def _same(mine: Mapping[str, Any], theirs: Mapping[str, Any] | None) -> bool:
    if theirs and is_foreign(mine):  # a store may complete it, with the time of the day
        mine, theirs = ({**completed(each), "updated_at": ""} for each in (mine, theirs))
    return mine == theirs


def _check_empty(other: MemoryStore, agents: WholeOrAgents, place: str) -> None:
    ids = game_npcs.known_agent_ids().union(filter(None, agents))
    held = sum(other.agents().values()) if other.scoped else sum(map(other.count, sorted(ids)))
    if held:
        raise InputError(
            f"{place} holds {held} memories of this game already. Name an empty store (another "
            "collection_name), or add --replace: it then becomes equal to the store of the "
            "settings, and what only it has is deleted."
        )
