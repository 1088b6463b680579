"""Forgetting single memories: what goes with one, and taking it out of everywhere it left a trace.

A memory may go alone, or with all that was drawn from it (a cascade): facts, summaries and insights
that rest on it in any part, and what the NPC said when it was given it (`records.ToldFrom`; of the
talk that an answer was given besides, nothing follows). What it had ended holds again. People are
forgotten in `erasing`. Reactor thread; the store's part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..embedding import embedder
from ..ingest import index
from ..records import INSIGHT, Entry, MemoryRecord
from ..store import facts, versions
from ..store.links import link_id
from ..store.preferences import Preference
from ..store.profiles import Profile
from ..text.plural import plural
from . import ids, provenance
from .undo_log import Before, preference_as_plain

ENTRIES_AT_ONCE = 32  # a page
_PLURALS = {
    "journal entry": "journal entries",
    "summary": "summaries",
    "taught memory": "taught memories",
}


@dataclass(frozen=True, slots=True)
class Doomed:
    """What is to be forgotten: the one that was named first, then what goes with it."""

    memories: tuple[MemoryRecord, ...]
    profiles: tuple[provenance.Drawn, ...] = ()

    def told(self) -> str:
        """How many of what, in words."""
        counts: dict[str, int] = {}
        for memory in self.memories:
            name = _names(memory)
            counts[name] = counts.get(name, 0) + 1
        for each in self.profiles:
            name = each.kind if each.kind in ("observation", "preference") else "profile attribute"
            counts[name] = counts.get(name, 0) + 1
        return ", ".join(
            plural(number, name, _PLURALS.get(name, "")) for name, number in counts.items()
        )


def _names(memory: MemoryRecord) -> str:
    named = {"entry": "journal entry", "taught": "taught memory"}
    return named.get(memory.record, memory.record)


@defer.inlineCallbacks
def doomed(npc: Any, memory_id: str, *, cascade: bool = False) -> Generator[Any, Any, Doomed]:
    """What forgetting a memory would take, as a Deferred `Doomed`. Nothing is changed.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous
    """
    root = yield ids.find(npc, memory_id)
    if not cascade:
        touched = {int(link_id(root))} if link_id(root).isdecimal() else set()
        profiles = yield provenance.profiled(npc.memory, touched)
        return Doomed((root,), tuple(each for each in profiles if each.kind == "preference"))
    traced = yield provenance.trace(
        npc, root.id if root.record not in ("entry", INSIGHT) else link_id(root)
    )
    drawn = [root, *(step.memory for step in traced.results)]
    told = yield _told_on(npc, drawn)
    entries = {int(link_id(memory)) for memory in told if link_id(memory).isdecimal()}
    profiles = yield provenance.profiled(npc.memory, entries) if entries else ()
    return Doomed((*drawn, *told), (*traced.profiles, *profiles))


@defer.inlineCallbacks
def heard(npc: Any, utterances: frozenset[str]) -> Generator[Any, Any, Doomed]:
    """What an NPC heard of what another one has forgotten, with all from it. Nothing is changed.

    Args:
        utterances: `Entry.utterance` of what the other one said.
    """
    journal = npc.memory.journal
    froms = {each.partition(":")[0] for each in utterances}
    first = min(filter(None, map(journal.heard_from, froms)), default=len(journal) + 1)
    found: dict[str, MemoryRecord] = {}
    for start in range(first, len(journal) + 1, ENTRIES_AT_ONCE):
        for entry in journal.read(start, start + ENTRIES_AT_ONCE - 1):
            if entry.utterance in utterances and str(entry.id) not in found:
                going = yield doomed(npc, str(entry.id), cascade=True)
                found |= {link_id(memory): memory for memory in going.memories}
        yield offload.breathe()
    return Doomed(tuple(found.values()))


@defer.inlineCallbacks
def _told_on(npc: Any, memories: Sequence[MemoryRecord]) -> Generator[Any, Any, list[MemoryRecord]]:
    """What the NPC said from these, and what was drawn from that, until nothing is added."""
    memory = npc.memory
    known = {link_id(record) for record in memories}
    first = min((number for record in memories for number in record.journal_ids), default=1)
    drawn = yield offload.run(offload.MEMORY, provenance.drawn_of, memory.id, priority=offload.LOOK)
    found: list[MemoryRecord] = []
    while True:
        new: list[MemoryRecord] = []
        for start in range(first, len(memory.journal) + 1, ENTRIES_AT_ONCE):
            for entry in memory.journal.read(start, start + ENTRIES_AT_ONCE - 1):
                if str(entry.id) not in known and not known.isdisjoint(entry.evidence):
                    known.add(str(entry.id))
                    new.append(ids.to_memory(memory.id, entry))
            yield offload.breathe()
        told = {number for record in new for number in record.journal_ids}
        for record in drawn:
            if record.id not in known and not told.isdisjoint(record.journal_ids):
                known.add(record.id)
                new.append(record)
        if not new:
            return found
        found += new


@defer.inlineCallbacks
def before_of(npc: Any, going: Doomed, *, cascade: bool) -> Generator[Any, Any, Before]:
    """Everything about these memories as it is now, for `undo`, as a Deferred `Before`."""
    memory = npc.memory
    memories = list(going.memories)
    entries = _entries_of(memory, memories)
    known, history, ended = yield offload.run(
        offload.MEMORY, stored_state, memory.id, memories, priority=offload.REPLY
    )
    links = []
    for record in memories:
        linked = link_id(record)
        links += [
            [linked, other, note["score"], note["kind"], note["created"]]
            for other, note in memory.links.of(linked).items()
        ]
        yield offload.breathe()
    numbers = {entry.id for entry in entries}
    return Before(
        entries=[entry.to_dict() for entry in entries],
        memories=[record.to_dict() for record in known],
        history=history,
        links=links,
        payload=[
            [each.id, {"superseded_by": each.superseded_by, "invalid_at": each.invalid_at}]
            for each in ended
        ],
        profiles=_profiles_before(memory, numbers) if cascade else [],
        preferences=[preference_as_plain(each) for each in _preferences_of(memory, memories)],
    )


def stored_state(
    agent_id: str, memories: Sequence[MemoryRecord]
) -> tuple[list[MemoryRecord], dict[str, list[list[str]]], list[MemoryRecord]]:
    """Those that the store holds, their history, and what they have ended (worker thread)."""
    store = facts.shared()
    known = store.get([memory.id for memory in memories])
    history = {m.id: [list(row) for row in versions.history_of(m.id)] for m in known}
    ended = [each for m in known for each in store.list(agent_id, limit=None, superseded_by=m.id)]
    return known, {key: rows for key, rows in history.items() if rows}, ended


@defer.inlineCallbacks
def take_out(npc: Any, going: Doomed, *, cascade: bool) -> Generator[Any, Any, None]:
    """Take memories out of the store, the links, the profiles, the talk, and the journal last.

    Killed in between and done again, it ends in the same.
    """
    with npc.memory.evidence.withdraw(map(link_id, going.memories)):
        yield _take_out(npc, going, cascade)


@defer.inlineCallbacks
def _take_out(npc: Any, going: Doomed, cascade: bool) -> Generator[Any, Any, None]:
    memory = npc.memory
    memories = list(going.memories)
    entries = _entries_of(memory, memories)
    numbers = {entry.id for entry in entries}
    around = {
        entry.id: list(memory.journal.read(entry.id - index.AROUND, entry.id + index.AROUND))
        for entry in entries
        if entry.recallable and entry.session_id
    }
    yield offload.run(
        offload.MEMORY, delete, memory.id, memories, entries, around, priority=offload.REPLY
    )
    if not npc.pk:
        return  # deleted meanwhile
    memory.links.remove(map(link_id, memories))
    for preference in _preferences_of(memory, memories):
        _without(memory, preference, memories)
    if numbers:
        if cascade:
            yield memory.profiles.forget_entries(numbers)
        memory.conversations.forget_entries(numbers)
        told = map(link_id, memories) if cascade else ()
        memory.history.forget_entries(numbers, summaries=cascade, told=told)
    memory.journal.remove(numbers)
    memory.flush()


def delete(
    agent_id: str,
    memories: Sequence[MemoryRecord],
    entries: Sequence[Entry],
    around: dict[int, list[Entry]],
) -> None:
    """The store's part of it (worker thread)."""
    store = facts.shared()
    for memory in memories:
        for ended in store.list(agent_id, limit=None, superseded_by=memory.id):
            store.change(ended.id, superseded_by=None, invalid_at=None)
    store.delete_points([memory.id for memory in memories])
    for entry in entries:
        index.rekey_around(agent_id, entry, around.get(entry.id, ()))
    words = {text for memory in memories for text in (memory.content, memory.key) if text}
    embedder.shared().forget(words | {text for entry in entries for text in entry.texts})


def _entries_of(memory: Any, memories: Sequence[MemoryRecord]) -> list[Entry]:
    numbers = [int(link_id(record)) for record in memories if link_id(record).isdecimal()]
    return [entry for entry in map(memory.journal.get, numbers) if entry]


def _profiles_before(memory: Any, numbers: set[int]) -> list[list[Any]]:
    """What `Profiles.forget_entries` will take out of each profile."""
    found = []
    for identity in memory.profiles.identities():
        profile: Profile | None = memory.profiles.get(identity)
        if profile is None:
            continue
        noted = [asdict(n) for n in profile.observations if n.journal_id in numbers]
        known = [asdict(a) for a in profile.attributes if not numbers.isdisjoint(a.evidence)]
        if noted or known:
            found.append([identity, profile.name, noted, known])
    return found


def _preferences_of(memory: Any, memories: Sequence[MemoryRecord]) -> list[Preference]:
    """The preferences that these memories say, now or before."""
    gone = {record.id for record in memories}
    return [
        preference
        for preference in memory.preferences
        if gone & {preference.memory_id, *(held.memory_id for held in preference.history)}
    ]


def _without(memory: Any, preference: Preference, memories: Sequence[MemoryRecord]) -> None:
    """A preference without what these memories say: what was before holds again."""
    gone = {record.id for record in memories}
    history = tuple(held for held in preference.history if held.memory_id not in gone)
    if preference.memory_id not in gone:
        memory.preferences.put(replace(preference, history=history))
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
