"""Forget single memories: select what goes with one, and remove it from every place.

A memory is forgotten alone, or with everything that was drawn from it (a cascade): facts,
summaries and insights that rest on it, even in part, and replies of the NPC whose prompt contained
it (`records.Provenance`), in its own memory and in those of NPCs that heard them. What it had
superseded holds again. A
forgotten memory can be brought back (`edit.undo`); people are erased in `erase`.

Reactor thread; the store's part is done on the worker thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..embedding import embedder
from ..ingest import endings, index
from ..ingest.endings import End
from ..records import Entry, MemoryRecord
from ..store import memory_store
from ..store.links import link_id
from ..store.npc_memory import Memory
from ..store.removal import Removal
from ..text import plural
from . import audit, closure, ids, inspect, undo_log
from .arguments import RECORDS, Id
from .jobs import change_job, look_job
from .undo_log import Before, one_at_a_time

NAMES = {"entry": ("journal entry", "journal entries"), **RECORDS}


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be forgotten, or was: the named memories first, then those that go with them."""

    memories: tuple[MemoryRecord, ...]
    cascade: bool = False
    before: Before = field(default_factory=Before)  # notes, preferences and agenda items that go
    undoable: bool = True  # False if it was too large to be kept for an undo

    @property
    def removal(self) -> Removal:
        entries, memories = ids.entry_ids(self.memories), (each.id for each in self.memories)
        return Removal(set(entries), set(memories), drawn=self.cascade)

    def entries_in(self, memory: Memory) -> list[Entry]:
        return [entry for entry in map(memory.journal.get, ids.entry_ids(self.memories)) if entry]

    def summary(self) -> str:
        """Return the counts in words: "1 journal entry, 2 facts"."""
        kinds = [each.record for each in self.memories]
        kinds.sort(key=lambda record: (record != "entry", record))
        for _identity, _name, observations, known in self.before.profiles:
            kinds += ["profile attribute"] * len(known) + ["observation"] * len(observations)
        kinds += ["preference"] * len(self.before.preferences)
        kinds += ["agenda item"] * len(self.before.agenda)
        counts = Counter(kinds).items()
        return ", ".join(plural(number, *NAMES.get(kind, (kind,))) for kind, number in counts)

    @property
    def ids(self) -> list[str]:
        """The short ids of the memories."""
        return list(map(ids.short, self.memories))

    @property
    def told(self) -> str:
        large = "" if self.undoable else " This was too large to be undone."
        return f"{self.summary()}.{large}"


def forget(npc: Any, who: Any, memory_id: Id, cascade: bool = False) -> defer.Deferred[Selection]:
    """Forget one memory. It and its links are deleted. What was derived from it is deleted too only
    where that is asked for: experiences, facts, summaries, insights and profile details, and what
    the NPC said because of it. This can be undone."""
    return forget_several(npc, who, [memory_id], cascade)


@defer.inlineCallbacks
def forget_several(
    npc: Any, who: Any, memory_ids: Sequence[str], cascade: bool = False
) -> Generator[Any, Any, Selection]:
    """Forget some memories as one action, as a Deferred `Selection`; in a `cascade` with everything
    drawn from them (`select`), and with what other NPCs heard of it, which is undone there."""
    forgotten = yield _forget(npc, who, memory_ids, cascade)
    if cascade:
        heard = _utterances(npc, forgotten)
        yield closure.spread(heard, lambda other, heard: _forget_heard(other, who, heard))
    return forgotten


@one_at_a_time
@defer.inlineCallbacks
def _forget(
    npc: Any, who: Any, memory_ids: Sequence[str], cascade: bool
) -> Generator[Any, Any, Selection]:
    roots = yield _find_all(npc, memory_ids)
    with npc.memory.evidence.withdraw(map(link_id, roots)):  # from now on nothing is drawn from it
        selection = yield select(npc, memory_ids, cascade=cascade)
        forgotten = yield _record_and_remove(npc, who, selection)
    return forgotten


@one_at_a_time
@defer.inlineCallbacks
def _forget_heard(npc: Any, who: Any, utterances: frozenset[str]) -> Generator[Any, Any, set[str]]:
    """Forget what an NPC heard of another one's forgotten words, with all that came of it. Returns
    what it may have passed on."""
    heard = yield closure.heard(npc.memory, utterances)
    if not heard:
        return set()
    selection = yield select(npc, [*map(str, sorted(heard))], cascade=True)
    forgotten = yield _record_and_remove(npc, who, selection)
    return _utterances(npc, forgotten)


@defer.inlineCallbacks
def _record_and_remove(npc: Any, who: Any, selection: Selection) -> Generator[Any, Any, Selection]:
    memory, memories = npc.memory, selection.memories
    known, history, superseded = yield change_job(_stored_state, memory.id, memories)
    links = []
    for record in memories:
        linked = link_id(record)
        links += [
            (linked, other, note["score"], note["kind"], note["created"])
            for other, note in memory.links.of(linked).items()
        ]
        yield offload.breathe()
    before = replace(
        selection.before,
        entries=tuple(selection.entries_in(memory)),
        memories=tuple(known),
        history=history,
        links=tuple(links),
        payload=tuple((each.id, End.of(each).fields) for each in superseded),
    )
    undoable = undo_log.add(npc, who, "forget", selection.ids, before)
    action = "forget with all from it" if selection.cascade else "forget"
    audit.record(who, action, npc, *selection.ids)
    yield remove(npc, selection)
    return replace(selection, undoable=undoable)


def _utterances(npc: Any, forgotten: Selection) -> set[str]:
    """`Entry.utterance` of all that the NPC may have said to others."""
    return closure.utterances_of(npc.memory, ids.entry_ids(forgotten.memories))


# --- what goes ------------------------------------------------------------------------------------


@defer.inlineCallbacks
def select(
    npc: Any, memory_ids: Iterable[str], *, cascade: bool = False
) -> Generator[Any, Any, Selection]:
    """Find what forgetting some memories would remove, as a Deferred `Selection`."""
    roots = yield _find_all(npc, memory_ids)
    if cascade:
        removal = Selection(tuple(roots), cascade).removal
        first = min((number for root in roots for number in root.journal_ids), default=1)
        yield closure.close(npc.memory, removal, first, look_job)
        found = yield inspect.of_links(npc.memory, sorted(removal.linked, key=str.isdecimal))
        drawn = sorted(found.values(), key=lambda memory: (memory.created_at, memory.id))
        roots = list({memory.id: memory for memory in (*roots, *drawn)}.values())
    selection = Selection(tuple(roots), cascade)
    removal, memory = selection.removal, npc.memory
    before = Before(
        profiles=(yield closure.notes(memory, removal)) if cascade else (),
        preferences=tuple(memory.preferences.resting_on(removal)),
        agenda=tuple(memory.agenda.resting_on(removal)),
    )
    return replace(selection, before=before)


@defer.inlineCallbacks
def _find_all(npc: Any, memory_ids: Iterable[str]) -> Generator[Any, Any, list[MemoryRecord]]:
    """Return the memories of these ids, each once."""
    found: dict[str, MemoryRecord] = {}
    for memory_id in memory_ids:
        memory = yield ids.find(npc, memory_id)
        found[link_id(memory)] = memory
    return list(found.values())


def _stored_state(
    agent_id: str, memories: Sequence[MemoryRecord]
) -> tuple[list[MemoryRecord], dict[str, list[list[str]]], list[MemoryRecord]]:
    """Read those that are stored, their history, and what they superseded (worker thread)."""
    store = memory_store.shared()
    known = store.get([memory.id for memory in memories])
    history = {m.id: [list(row) for row in store.history.of(m.id)] for m in known}
    by = {"in": [m.id for m in known]}
    superseded = store.list(agent_id, limit=None, superseded_by=by) if known else []
    return known, {key: rows for key, rows in history.items() if rows}, superseded


# --- removing -------------------------------------------------------------------------------------


@defer.inlineCallbacks
def remove(npc: Any, selection: Selection) -> Generator[Any, Any, None]:
    """Remove memories from the store, links, profiles and conversations, and the journal last.

    Killed in between and called again, it ends in the same state.
    """
    memory, removal = npc.memory, selection.removal
    with memory.evidence.withdraw(map(link_id, selection.memories)):
        entries = selection.entries_in(memory)
        around = {
            entry.id: lines_around(memory, entry.id)
            for entry in entries
            if entry.recallable and entry.session_id
        }
        yield change_job(_delete_stored, memory.id, selection.memories, entries, around)
        if npc.pk:  # else it was deleted meanwhile
            yield memory.take_out(removal)
            memory.journal.remove(removal.entries)
            memory.flush()


def _delete_stored(
    agent_id: str,
    memories: Sequence[MemoryRecord],
    entries: Sequence[Entry],
    around: dict[int, list[Entry]],
) -> None:
    """Delete memories from the store, with their vectors and keys (worker thread)."""
    store = memory_store.shared()
    gone = [memory.id for memory in memories]
    superseded = store.list(agent_id, limit=None, superseded_by={"in": gone})
    endings.take_back(store, [each.id for each in superseded])
    store.delete(gone)
    for entry in entries:
        rest = [each for each in around.get(entry.id, ()) if each.id != entry.id]
        index.rekey_around(agent_id, entry, rest)
    embedder.shared().forget()


def lines_around(memory: Memory, entry_id: int) -> list[Entry]:
    """Return the journal entries around one, from whose words its search keys are made."""
    return list(memory.journal.read(entry_id - index.LOOK_BACK, entry_id + index.LOOK_BACK))
