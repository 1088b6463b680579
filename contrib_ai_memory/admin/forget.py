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
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from twisted.internet import defer

from .. import offload
from ..embedding import embedder
from ..english.tokens import content_words
from ..ingest import index
from ..ingest.index import to_memory
from ..records import INSIGHT, Entry, MemoryRecord
from ..store import memory_store
from ..store.links import link_id
from ..store.preferences import PastPreference, Preference
from ..text import plural
from . import audit, game_npcs, ids, inspect, undo_log
from .jobs import change_job, journal_pages, look_job, pages_heard_from
from .undo_log import Before, one_at_a_time

_NAMES = {"entry": "journal entry", "taught": "taught memory"}  # of a record, where they differ
_PLURALS = {
    "journal entry": "journal entries",
    "summary": "summaries",
    "taught memory": "taught memories",
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Memories to be forgotten: the named one first, then those that go with it."""

    memories: tuple[MemoryRecord, ...]
    profiles: tuple[inspect.Drawn, ...] = ()

    def summary(self) -> str:
        """Return the counts in words: "1 journal entry, 2 facts"."""
        counts = Counter(_NAMES.get(memory.record, memory.record) for memory in self.memories)
        counts.update(
            each.kind if each.kind in inspect.NO_ATTRIBUTES else "profile attribute"
            for each in self.profiles
        )
        return ", ".join(
            plural(number, name, _PLURALS.get(name, "")) for name, number in counts.items()
        )


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Forgotten memories; `undoable` is False if they were too large to be kept for an undo."""

    memories: tuple[MemoryRecord, ...]
    summary: str
    undoable: bool


def forget(npc: Any, who: Any, memory_id: str, cascade: bool = False) -> defer.Deferred:
    """Forget a memory, as a Deferred `Forgotten`; see `forget_several`."""
    return forget_several(npc, who, [memory_id], cascade)


@defer.inlineCallbacks
def forget_several(
    npc: Any, who: Any, memory_ids: Sequence[str], cascade: bool = False
) -> Generator[Any, Any, Forgotten]:
    """Forget some memories as one action, as a Deferred `Forgotten`.

    Args:
        cascade: With everything drawn from it (`select` says what that is), and with what other
            NPCs heard this one say from it, which is undone there.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous
    """
    forgotten = yield _forget(npc, who, memory_ids, cascade)
    new = _utterances(npc, forgotten) if cascade else frozenset()
    while new:
        passed_on: set[str] = set()
        for other in game_npcs.npcs_that_heard(new):
            heard = yield _forget_heard(other, who, new)
            passed_on |= _utterances(other, heard)
            yield offload.breathe()
        new = frozenset(passed_on)
    return forgotten


@one_at_a_time
@defer.inlineCallbacks
def _forget(
    npc: Any, who: Any, memory_ids: Sequence[str], cascade: bool
) -> Generator[Any, Any, Forgotten]:
    roots = yield _find_all(npc, memory_ids)
    with npc.memory.evidence.withdraw(map(link_id, roots)):  # from now on nothing is drawn from it
        selection = yield select_several(npc, memory_ids, cascade=cascade)
        forgotten = yield _record_and_remove(npc, who, selection, cascade)
    return forgotten


@one_at_a_time
@defer.inlineCallbacks
def _forget_heard(npc: Any, who: Any, utterances: frozenset[str]) -> Generator[Any, Any, Forgotten]:
    selection = yield _select_heard(npc, utterances)
    if not selection.memories:
        return Forgotten((), "", True)
    forgotten = yield _record_and_remove(npc, who, selection, cascade=True)
    return forgotten


@defer.inlineCallbacks
def _record_and_remove(
    npc: Any, who: Any, selection: Selection, cascade: bool
) -> Generator[Any, Any, Forgotten]:
    before = yield _state_before(npc, selection, cascade)
    shorts = [ids.short(memory) for memory in selection.memories]
    undoable = undo_log.add(npc, who, "forget", shorts, before)
    audit.record(who, "forget with all from it" if cascade else "forget", npc, *shorts)
    yield remove(npc, selection, cascade=cascade)
    return Forgotten(selection.memories, selection.summary(), undoable)


def _utterances(npc: Any, forgotten: Forgotten) -> frozenset[str]:
    """`Entry.utterance` of all that the NPC may have said to others."""
    return frozenset(f"{npc.memory.id}:{number}" for number in ids.entry_ids(forgotten.memories))


# --- what goes ------------------------------------------------------------------------------------


def select(npc: Any, memory_id: str, *, cascade: bool = False) -> defer.Deferred:
    """Find what forgetting a memory would remove, as a Deferred `Selection`; see
    `select_several`."""
    return select_several(npc, [memory_id], cascade=cascade)


@defer.inlineCallbacks
def select_several(
    npc: Any, memory_ids: Sequence[str], *, cascade: bool = False
) -> Generator[Any, Any, Selection]:
    """Find what forgetting some memories would remove, as a Deferred `Selection`. Changes nothing.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous
    """
    roots = yield _find_all(npc, memory_ids)
    if not cascade:
        profiles = yield inspect.profiled(npc.memory, set(ids.entry_ids(roots)))
        return Selection(
            tuple(roots), tuple(each for each in profiles if each.kind in inspect.BY_THEMSELVES)
        )
    drawn = {link_id(root): root for root in roots}
    found: list[inspect.Drawn] = []
    for root in roots:
        traced = yield inspect.trace(
            npc, root.id if root.record not in ("entry", INSIGHT) else link_id(root)
        )
        drawn |= {link_id(step.memory): step.memory for step in traced.results}
        found += traced.profiles
    told = yield _told_from(npc, list(drawn.values()))
    entries = set(ids.entry_ids(told))
    profiles = yield inspect.profiled(npc.memory, entries) if entries else ()
    return Selection((*drawn.values(), *told), tuple(dict.fromkeys((*found, *profiles))))


@defer.inlineCallbacks
def _find_all(npc: Any, memory_ids: Sequence[str]) -> Generator[Any, Any, list[MemoryRecord]]:
    """Return the memories of these ids, each once."""
    found: dict[str, MemoryRecord] = {}
    for memory_id in memory_ids:
        memory = yield ids.find(npc, memory_id)
        found[link_id(memory)] = memory
    return list(found.values())


@defer.inlineCallbacks
def _select_heard(npc: Any, utterances: frozenset[str]) -> Generator[Any, Any, Selection]:
    """Find what an NPC heard of another one's forgotten words, with all that came of it."""
    found: dict[str, MemoryRecord] = {}
    for page in pages_heard_from(npc.memory.journal, utterances):
        for entry in page:
            if entry.utterance in utterances and str(entry.id) not in found:
                selection = yield select(npc, str(entry.id), cascade=True)
                found |= {link_id(memory): memory for memory in selection.memories}
        yield offload.breathe()
    return Selection(tuple(found.values()))


@defer.inlineCallbacks
def _told_from(
    npc: Any, memories: Sequence[MemoryRecord]
) -> Generator[Any, Any, list[MemoryRecord]]:
    """Find what the NPC said from these memories, what was drawn from that, what it said from
    that, and so on."""
    memory = npc.memory
    known = {link_id(record) for record in memories}
    first = min((number for record in memories for number in record.journal_ids), default=1)
    drawn = yield look_job(inspect.drawn_of, memory.id)
    found: list[MemoryRecord] = []
    while True:
        new: list[MemoryRecord] = []
        for page in journal_pages(memory.journal, first):
            for entry in page:
                if str(entry.id) not in known and not known.isdisjoint(entry.evidence):
                    known.add(str(entry.id))
                    new.append(to_memory(memory.id, entry))
            yield offload.breathe()
        told = {number for record in new for number in record.journal_ids}
        for record in drawn:
            if record.id not in known and not told.isdisjoint(record.journal_ids):
                known.add(record.id)
                new.append(record)
        if not new:
            return found
        found += new


# --- the state before -----------------------------------------------------------------------------


@defer.inlineCallbacks
def _state_before(npc: Any, selection: Selection, cascade: bool) -> Generator[Any, Any, Before]:
    """Read the present state of the selected memories, as a Deferred `Before`."""
    memory = npc.memory
    memories = list(selection.memories)
    entries = _entries_of(memory, memories)
    known, history, superseded = yield change_job(stored_state, memory.id, memories)
    links = []
    for record in memories:
        linked = link_id(record)
        links += [
            [linked, other, note["score"], note["kind"], note["created"]]
            for other, note in memory.links.of(linked).items()
        ]
        yield offload.breathe()
    return Before(
        entries=[entry.to_dict() for entry in entries],
        memories=[record.to_dict() for record in known],
        history=history,
        links=links,
        payload=[
            [each.id, {"superseded_by": each.superseded_by, "invalid_at": each.invalid_at}]
            for each in superseded
        ],
        profiles=_profiles_before(memory, {entry.id for entry in entries}) if cascade else [],
        preferences=[asdict(each) for each in _preferences_of(memory, memories)],
        agenda=[asdict(each) for each in memory.agenda.resting_on({entry.id for entry in entries})],
    )


def stored_state(
    agent_id: str, memories: Sequence[MemoryRecord]
) -> tuple[list[MemoryRecord], dict[str, list[list[str]]], list[MemoryRecord]]:
    """Read those that are stored, their history, and what they superseded (worker thread)."""
    store = memory_store.shared()
    known = store.get([memory.id for memory in memories])
    history = {m.id: [list(row) for row in store.history.of(m.id)] for m in known}
    superseded = [
        each for m in known for each in store.list(agent_id, limit=None, superseded_by=m.id)
    ]
    return known, {key: rows for key, rows in history.items() if rows}, superseded


def _profiles_before(memory: Any, numbers: set[int]) -> list[list[Any]]:
    """List what `Profiles.forget_entries` will remove from each profile."""
    found = []
    for identity in memory.profiles.identities():
        if profile := memory.profiles.get(identity):
            noted = [asdict(n) for n in profile.observations if n.journal_id in numbers]
            known = [asdict(a) for a in profile.attributes if not numbers.isdisjoint(a.evidence)]
            if noted or known:
                found.append([identity, profile.name, noted, known])
    return found


# --- removing -------------------------------------------------------------------------------------


@defer.inlineCallbacks
def remove(npc: Any, selection: Selection, *, cascade: bool) -> Generator[Any, Any, None]:
    """Remove memories from the store, links, profiles and conversations, and the journal last.

    Killed in between and called again, it ends in the same state.
    """
    with npc.memory.evidence.withdraw(map(link_id, selection.memories)):
        yield _remove(npc, list(selection.memories), cascade)


@defer.inlineCallbacks
def _remove(npc: Any, memories: list[MemoryRecord], cascade: bool) -> Generator[Any, Any, None]:
    memory = npc.memory
    entries = _entries_of(memory, memories)
    numbers = {entry.id for entry in entries}
    around = {
        entry.id: lines_around(memory, entry.id)
        for entry in entries
        if entry.recallable and entry.session_id
    }
    yield change_job(_delete_stored, memory.id, memories, entries, around)
    if not npc.pk:
        return  # deleted meanwhile
    memory.links.remove(map(link_id, memories))
    for preference in _preferences_of(memory, memories):
        _withdraw_preference(memory, preference, memories)
    if numbers:
        memory.agenda.forget_entries(numbers)
        if cascade:
            yield memory.profiles.forget_entries(numbers)
        memory.conversations.forget_entries(numbers)
        told = map(link_id, memories) if cascade else ()
        memory.chat_log.forget_entries(numbers, summaries=cascade, told=told)
    memory.journal.remove(numbers)
    memory.flush()


def _delete_stored(
    agent_id: str,
    memories: Sequence[MemoryRecord],
    entries: Sequence[Entry],
    around: dict[int, list[Entry]],
) -> None:
    """Delete memories from the store, with their vectors and keys (worker thread)."""
    store = memory_store.shared()
    for memory in memories:
        for superseded in store.list(agent_id, limit=None, superseded_by=memory.id):
            store.change(superseded.id, superseded_by=None, invalid_at=None)
    store.delete([memory.id for memory in memories])
    for entry in entries:
        index.rekey_around(agent_id, entry, around.get(entry.id, ()))
    texts = {text for memory in memories for text in (memory.content, memory.key) if text}
    embedder.shared().forget(texts | {text for entry in entries for text in entry.texts})


def _entries_of(memory: Any, memories: Sequence[MemoryRecord]) -> list[Entry]:
    return [entry for entry in map(memory.journal.get, ids.entry_ids(memories)) if entry]


def lines_around(memory: Any, entry_id: int) -> list[Entry]:
    """Return the journal entries around one, from whose words its search keys are made."""
    return list(memory.journal.read(entry_id - index.AROUND, entry_id + index.AROUND))


def _preferences_of(memory: Any, memories: Sequence[MemoryRecord]) -> list[Preference]:
    """Return the preferences that these memories state, or stated before."""
    gone = {record.id for record in memories}
    return [
        preference
        for preference in memory.preferences
        if gone & {preference.memory_id, *(held.memory_id for held in preference.history)}
    ]


Held = TypeVar("Held", Preference, PastPreference)


def _by_itself(memory: Any, held: Held) -> Held:
    """Return a preference in the words of its own line alone, if an older line completed them."""
    entry = memory.journal.get(held.journal_id) if held.journal_id else None
    if entry is None or content_words(held.text) <= content_words(entry.words):
        return held
    return replace(held, text=entry.words)


def _withdraw_preference(
    memory: Any, preference: Preference, memories: Sequence[MemoryRecord]
) -> None:
    """Take what these memories state out of a preference: the one before it holds again."""
    gone = {record.id for record in memories}
    history = tuple(
        _by_itself(memory, held) for held in preference.history if held.memory_id not in gone
    )
    if preference.memory_id not in gone:
        memory.preferences.put(replace(_by_itself(memory, preference), history=history))
    elif history:
        last = history[-1]
        memory.preferences.put(
            replace(
                preference,
                text=last.text,
                memory_id=last.memory_id,
                since=last.since,
                seen=last.until,
                journal_id=last.journal_id,
                history=history[:-1],
            )
        )
    else:
        memory.preferences.remove(preference)
