"""Move the memories of a game from the store of the settings into another one, server down.

Payloads, vectors, keys and word counts are copied as they are; nothing is embedded. Mem0's history
and the embedding cache lie in the game's own folder and serve every store.

Every pass goes a page at a time and may be done again: what the target has already is compared and
not written. `store.json` names the target until it is whole, so that it does not open as the game's
store before; the source is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import conf
from ..conf import VectorStoreSettings
from ..errors import ExpectedError
from ..store import memory_store, metadata
from ..store.lanes import LaneVectors
from ..store.payload import Row, completed, is_foreign
from ..store.protocol import PAGE, MemoryStore
from . import game_npcs
from .jobs import Progress, local_job, silent, store_pages

AT_ONCE = 4 * PAGE  # memories of one page
SAME_COSINE = 0.99  # a store may round its vectors (docs/adr/012)
SAME_WEIGHT = 1e-3  # of a word in a key

WholeOrAgents = Sequence[str | None]  # [None]: all that is this game's


class CannotMove(ExpectedError):
    """The memories cannot be moved. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move came to.

    Attributes:
        memories: How many there are now, all of them compared.
        written: How many of them this run wrote.
        left: How many of the source belong to nobody in this game; they were not moved.
        source, target: The places of the two stores (`memory_store.place`).
    """

    memories: int
    written: int
    left: int
    source: str
    target: str


@defer.inlineCallbacks
def move(
    target: VectorStoreSettings, *, replace: bool = False, progress: Progress = silent
) -> Generator[Any, Any, Moved]:
    """Copy every memory into another store, as a Deferred `Moved`. The settings stay as they are.

    Killed, it is begun again with the same arguments and goes on where it was.

    Args:
        replace: Whether the target may have memories of this game already; it then becomes equal
            to the source.

    Raises (in the Deferred):
        CannotMove: It is the same store, there is nothing to move, the target is not empty, or
            something differs in the end.
        StoreError: One of the two cannot be opened.
    """
    folder = conf.directory()
    here, there = memory_store.place(conf.get().VECTOR_STORE), memory_store.place(target)
    if here == there:
        raise CannotMove(f"The memories are in that store already: {here}. Name another one.")
    if not metadata.read(folder):
        raise CannotMove(
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
        written = yield _walk(_copy_page, source, other, agents, progress, "copying", total)
        stale: WholeOrAgents = [None] if other.scoped else sorted({*ours, *filter(None, agents)})
        yield _walk(_prune_page, other, source, stale, progress, "pruning", total)
        found = yield _walk(_check_page, source, other, agents, progress, "comparing", total)
        for agent_id in sorted(ours):
            yield local_job(_check_count, source, other, agent_id)
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
    return Moved(found, written, stored - total, here, there)


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
    """Run a job of two stores for each page of the first. Returns the sum of its counts."""
    summed = seen = 0

    def count(page: tuple[int, int]) -> None:
        nonlocal summed, seen
        summed, seen = summed + page[0], seen + page[1]
        progress(task, min(seen, total), total)

    for agent_id in agents:
        yield store_pages(job, store, other, agent_id, on_page=count, run=local_job)
    return summed


# --- on the worker thread -------------------------------------------------------------------------

Page = tuple[tuple[int, int], Any]  # (what is counted, memories seen), the next page's offset


def _copy_page(source: MemoryStore, other: MemoryStore, agent_id: str | None, offset: Any) -> Page:
    """Write what the other store lacks or has otherwise. Counts what was written."""
    rows, offset = source.rows(agent_id, offset, AT_ONCE)
    if new := _different(source, other, rows):
        keys = source.lane_vectors([each for each, _ in new])
        other.upsert_rows(new, [keys[each] for each, _ in new])
    return (len(new), len(rows)), offset


def _prune_page(other: MemoryStore, source: MemoryStore, agent_id: str | None, offset: Any) -> Page:
    """Delete what the source does not have (any more). Counts what was deleted."""
    rows, offset = other.rows(agent_id, offset, AT_ONCE)
    known = source.payloads([each for each, _ in rows])
    gone = [each for each, _ in rows if each not in known]
    if gone:
        other.delete(gone)
    return (len(gone), len(rows)), offset


def _check_page(source: MemoryStore, other: MemoryStore, agent_id: str | None, offset: Any) -> Page:
    """Compare a page. Counts what is equal.

    Raises:
        CannotMove: Something differs.
    """
    rows, offset = source.rows(agent_id, offset, AT_ONCE)
    if wrong := _different(source, other, rows):
        which = ", ".join(each[:8] for each, _ in wrong[:5])
        raise CannotMove(
            f"{len(wrong)} memories differ after they were copied ({which} …): something else "
            "writes into one of the stores. Stop it, and run the same command again."
        )
    return (len(rows), len(rows)), offset


def _check_count(source: MemoryStore, other: MemoryStore, agent_id: str) -> None:
    had, has = source.count(agent_id), other.count(agent_id)
    if had != has:
        raise CannotMove(
            f"Of the NPC with the memory id {agent_id} the new store has {has} memories, and the "
            f"old one {had}: something else writes into it. Stop it, and run the command again."
        )


def _check_empty(other: MemoryStore, agents: WholeOrAgents, place: str) -> None:
    ids = game_npcs.known_agent_ids().union(filter(None, agents))
    held = sum(other.agents().values()) if other.scoped else sum(map(other.count, sorted(ids)))
    if held:
        raise CannotMove(
            f"{place} holds {held} memories of this game already. Name an empty store (another "
            "collection_name), or add --replace: it then becomes equal to the store of the "
            "settings, and what only it has is deleted."
        )


# --- comparing ------------------------------------------------------------------------------------


def _different(source: MemoryStore, other: MemoryStore, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the source that the other store lacks, or has otherwise."""
    there = other.payloads([each for each, _ in rows])
    alike = [row for row in rows if row[0] in there and _same_payload(row[1], there[row[0]])]
    ids = [each for each, _ in alike]
    mine, theirs = source.lane_vectors(ids), other.lane_vectors(ids)
    same = {each for each in ids if _same_keys(mine[each], theirs[each])}
    return [row for row in rows if row[0] not in same]


def _same_payload(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    if is_foreign(mine):  # a store may complete it when it is written, with the time of the day
        mine, theirs = ({**completed(each), "updated_at": ""} for each in (mine, theirs))
    return mine == theirs


def _same_keys(mine: LaneVectors, theirs: LaneVectors) -> bool:
    return (
        _cosine(mine.line, theirs.line) >= SAME_COSINE
        and _cosine(mine.window, theirs.window) >= SAME_COSINE
        and all(
            _same_words(mine.words.get(lane, {}), theirs.words.get(lane, {}))
            for lane in {*mine.words, *theirs.words}
        )
    )


def _same_words(mine: Mapping[int, float], theirs: Mapping[int, float]) -> bool:
    return mine.keys() == theirs.keys() and all(
        abs(mine[term] - theirs[term]) <= SAME_WEIGHT for term in mine
    )


def _cosine(mine: np.ndarray, theirs: np.ndarray) -> float:
    return float(mine @ theirs) / max(float(np.linalg.norm(mine) * np.linalg.norm(theirs)), 1e-9)
