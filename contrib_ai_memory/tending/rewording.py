"""Writing an edited memory wherever it lies: the store, the journal, the preference that it states.

What was said before goes into its history, and out of the running talk. Reactor thread; the store's
part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from twisted.internet import defer

from .. import offload
from ..ingest import rewriting
from ..ingest.index import to_memory
from ..records import Entry, MemoryRecord
from ..store import facts
from ..store.links import link_id
from ..store.payload import entry_memory_id
from . import forgetting
from .undo import Before, preference_as_plain


@defer.inlineCallbacks
def written(npc: Any, old: MemoryRecord, new: MemoryRecord) -> Generator[Any, Any, MemoryRecord]:
    """Write a changed memory where it lies: the store, and the journal if it is an entry."""
    mind, linked = npc.memory, link_id(old)
    entry = mind.journal.get(int(linked)) if linked.isdecimal() else None
    around: list[Entry] = []
    if entry:
        entry = _changed_entry(entry, old, new)
        mind.journal.put_back([entry])
        again = to_memory(mind.id, entry)
        new = replace(new, key=again.key, question=again.question, tags=entry.tags)
        around = list(mind.journal.read(entry.id - rewriting.AROUND, entry.id + rewriting.AROUND))
        if new.content != old.content:
            mind.conversations.forget_entries([entry.id])
            mind.history.forget_entries([entry.id])
            _reword_preferences(mind, entry)
        mind.flush()
    if entry is None or entry.recallable:
        yield offload.run(
            offload.MEMORY, write, mind.id, new, around, old.content, priority=offload.REPLY
        )
    return new


def _changed_entry(entry: Entry, old: MemoryRecord, new: MemoryRecord) -> Entry:
    if new.content != old.content:
        entry = replace(entry, content=new.content, line=None)
    if new.importance != old.importance:
        weight = round(new.importance * 10)
        entry = replace(entry, importance=weight, scoring_method="manual")
    return replace(entry, emotions=new.dominant_emotions or entry.emotions)


def _reword_preferences(mind: Any, entry: Entry) -> None:
    """A preference says what its entry says."""
    own = entry_memory_id(mind.id, entry.id)
    for preference in list(mind.preferences):
        if preference.memory_id == own or preference.journal_id == entry.id:
            mind.preferences.put(replace(preference, text=entry.content))


def write(mind: str, memory: MemoryRecord, around: list[Entry], before: str) -> None:
    """The store's part of an edit (worker thread)."""
    known = facts.shared().get([memory.id])
    if known and known[0].embedded == memory.embedded and known[0].key == memory.key:
        facts.shared().change(
            memory.id,
            importance=memory.importance,
            dominant_emotions=list(memory.dominant_emotions),
            the_lesson=memory.the_lesson,
            tags=list(memory.tags),
        )
    else:
        rewriting.rewrite(mind, memory, around, before=before)


@defer.inlineCallbacks
def state_of(npc: Any, memory: MemoryRecord) -> Generator[Any, Any, Before]:
    """One memory as it is now, for `undo`."""
    mind, linked = npc.memory, link_id(memory)
    entry = mind.journal.get(int(linked)) if linked.isdecimal() else None
    known, history, _ended = yield offload.run(
        offload.MEMORY, forgetting.stored_state, mind.id, [memory], priority=offload.REPLY
    )
    own = entry_memory_id(mind.id, entry.id) if entry else ""
    return Before(
        entries=[entry.to_dict()] if entry else [],
        memories=[each.to_dict() for each in known],
        history=history,
        preferences=[
            preference_as_plain(each)
            for each in (mind.preferences if entry else ())
            if each.memory_id == own
        ],
    )
