"""What goes with that which is taken out of a memory: all that rests on it, here and elsewhere.

Reactor thread; the store's part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..records import INSIGHT
from ..store import memory_store
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from ..store.profiles import goes
from ..store.removal import Removal
from . import game_npcs, ids
from .jobs import NpcDeleted, batch_job, journal_pages, store_pages
from .undo_log import Notes


@defer.inlineCallbacks
def close(
    memory: Memory, removal: Removal, first: int = 1, run: Callable[..., defer.Deferred] = batch_job
) -> Generator[Any, Any, set[int]]:
    """Add to a removal what belongs to its subject, and what rests on that or on what is in it,
    until nothing is added. `first` is the first entry that can rest on any of it.

    Returns (as a Deferred) those of its entries that the NPC said itself.
    """
    spoken: set[int] = set()
    known = -1  # entries at the end of the round before
    while True:
        yield _add_entries(memory, removal, spoken, first)
        if known == len(removal.entries):
            return spoken
        known = len(removal.entries)
        removal.memories.update(entry_memory_id(memory.id, each) for each in removal.entries)
        before = len(removal.memories)
        of_entries = replace(removal, entries=set(removal.entries), memories=set())
        on_page = removal.memories.update
        yield store_pages(_taken, memory.id, of_entries, on_page=on_page, run=run)
        if before == len(removal.memories):
            return spoken  # no entry can be told from what was not there before


@defer.inlineCallbacks
def _add_entries(
    memory: Memory, removal: Removal, spoken: set[int], first: int
) -> Generator[Any, Any, None]:
    """Add entries in one pass: each can rest only on what comes before it.

    In an erasure, an utterance of the NPC that keeps no evidence answers whoever spoke last in its
    conversation.
    """
    spoke_last: dict[str | None, bool] = {}  # by conversation: whether that goes
    for page in journal_pages(memory.journal, first):
        for entry in page:
            own = entry.origin == "self"
            goes = entry.id in removal.entries or removal.takes_entry(entry)
            if own and removal.shown and not entry.evidence:
                goes = goes or spoke_last.get(entry.session_id, False)
            if goes:
                removal.entries.add(entry.id)
            if goes and own:
                spoken.add(entry.id)
            if not own and entry.kind != INSIGHT:
                spoke_last[entry.session_id] = goes
        yield offload.breathe()


def _taken(agent_id: str, removal: Removal, offset: Any) -> tuple[list[str], Any]:
    # without a subject, only what is drawn can rest on entries
    where: dict[str, Any] = {} if removal.subject.identity else {"record": {"in": list(ids.DRAWN)}}
    records, offset = memory_store.shared().page(agent_id, offset, **where)
    return [record.id for record in records if removal.takes_memory(record)], offset


@defer.inlineCallbacks
def notes(
    memory: Memory, removal: Removal, tells: Callable[[str], bool] = lambda value: True
) -> Generator[Any, Any, tuple[Notes, ...]]:
    """List what goes from each profile, as a Deferred `undo_log.Before.profiles`: of the attributes
    that rest on what goes those whose value `tells`."""
    found = []
    for identity in memory.profiles.identities():
        yield offload.breathe()
        if profile := memory.profiles.get(identity):
            noted = tuple(each for each in profile.observations if goes(each, removal))
            drawn = (each for each in profile.attributes if goes(each, removal))
            known = tuple(each for each in drawn if tells(each.value))
            if noted or known:
                found.append((identity, profile.name, noted, known))
    return tuple(found)


# --- elsewhere ------------------------------------------------------------------------------------


def utterances_of(memory: Memory, entries: Iterable[int]) -> set[str]:
    """Return `Entry.utterance` of these entries, as other NPCs have heard them."""
    return {f"{memory.id}:{number}" for number in entries}


@defer.inlineCallbacks
def heard(memory: Memory, utterances: Collection[str]) -> Generator[Any, Any, set[int]]:
    """Return the entries of a memory that are these utterances, as a Deferred set."""
    found: set[int] = set()
    speakers = {each.partition(":")[0] for each in utterances}
    first = min(filter(None, map(memory.journal.heard_from, speakers)), default=None)
    for page in journal_pages(memory.journal, first) if first else ():
        found.update(entry.id for entry in page if entry.utterance in utterances)
        yield offload.breathe()
    return found


@defer.inlineCallbacks
def spread(
    utterances: Collection[str], visit: Callable[[Any, frozenset[str]], defer.Deferred]
) -> Generator[Any, Any, None]:
    """Visit the NPCs that heard these utterances, then those that heard what these passed on.

    `visit` is called with a listener and all utterances so far; it returns a Deferred set of those
    that it passed on. Only one at a time, since two holders would wait for each other.
    """
    every, new = set(utterances), set(utterances)
    while new:
        latest, new = frozenset(new), set()
        for listener in game_npcs.npcs_that_heard(latest):
            try:
                new |= (yield visit(listener, frozenset(every))) - every
            except NpcDeleted:
                continue
            every |= new
            yield offload.breathe()
