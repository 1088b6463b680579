"""Writing an edited memory wherever it lies: the store, the journal, the preference that it states.

What was said before goes into its history, and out of the running talk. Only what was changed is
written: nights go on meanwhile, and what is no more is not made again. Reactor thread; the store's
part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from twisted.internet import defer

from .. import offload
from ..ingest import rewriting
from ..ingest.index import to_memory
from ..records import ASKS, Entry, MemoryRecord
from ..store import facts
from ..store.links import link_id
from ..store.payload import entry_memory_id
from ..store.preferences import Preference
from . import forgetting
from .undo import Before, preference_as_plain

Kept = TypeVar("Kept", Entry, MemoryRecord)
OF_ENTRIES = {  # what of an entry changes with which field of its memory
    "content": ("content", "line"),
    "importance": ("importance", "scoring_method"),
    "dominant_emotions": ("emotions",),
}


@defer.inlineCallbacks
def written(npc: Any, old: MemoryRecord, new: MemoryRecord) -> Generator[Any, Any, MemoryRecord]:
    """Write a changed memory where it lies: the store, and the journal if it is an entry."""
    mind, entry = npc.memory, _entry_of(npc.memory, old)
    around: list[Entry] = []
    if entry:
        entry = _changed_entry(entry, old, new)
        mind.journal.put_back([entry])
        again = to_memory(mind.id, entry)
        new = replace(new, key=again.key, question=again.question, tags=entry.tags)
        if new.importance != old.importance:
            new = replace(new, memory_weight=again.memory_weight)
        around = list(mind.journal.read(entry.id - rewriting.AROUND, entry.id + rewriting.AROUND))
        if new.content != old.content:
            mind.conversations.forget_entries([entry.id])
            mind.history.forget_entries([entry.id])
            _reword_preferences(mind, entry)
        mind.flush()
    if entry is None or entry.recallable:
        changed = changed_fields(old, new)
        yield offload.run(
            offload.MEMORY, write, mind.id, new, changed, around, priority=offload.REPLY
        )
    return new


def changed_fields(old: MemoryRecord, new: MemoryRecord) -> list[str]:
    """The names of the fields in which two versions of a memory differ."""
    names = [spec.name for spec in fields(MemoryRecord)]
    return [name for name in names if getattr(old, name) != getattr(new, name)]


def merged(now: Kept, then: Kept, changed: Iterable[str]) -> Kept:
    """A record as it is now, but for the changed fields, which are taken from another version."""
    own = {spec.name for spec in fields(now)}
    return replace(now, **{name: getattr(then, name) for name in changed if name in own})


def as_felt(npc: Any, memory: MemoryRecord) -> MemoryRecord:
    """A memory with the emotions of its journal entry, which the store may not have."""
    entry = _entry_of(npc.memory, memory)
    return replace(memory, dominant_emotions=entry.emotions) if entry else memory


def _entry_of(mind: Any, memory: MemoryRecord) -> Entry | None:
    linked = link_id(memory)
    return mind.journal.get(int(linked)) if linked.isdecimal() else None


def _changed_entry(entry: Entry, old: MemoryRecord, new: MemoryRecord) -> Entry:
    if new.content != old.content:
        kept = tuple(tag for tag in entry.tags if tag != ASKS)
        entry = replace(entry, content=new.content, line=None, tags=kept)
    if new.importance != old.importance:
        weight = round(new.importance * 10)
        entry = replace(entry, importance=weight, scoring_method="manual")
    if new.dominant_emotions != old.dominant_emotions:
        entry = replace(entry, emotions=new.dominant_emotions)
    return entry


def _reword_preferences(mind: Any, entry: Entry) -> None:
    """A preference says what its entry says."""
    for preference in _stated_by(mind, entry):
        mind.preferences.put(replace(preference, text=entry.content))


def _stated_by(mind: Any, entry: Entry) -> list[Preference]:
    own = entry_memory_id(mind.id, entry.id)
    return [
        each for each in mind.preferences if each.memory_id == own or each.journal_id == entry.id
    ]


def write(
    mind: str,
    memory: MemoryRecord,
    changed: Sequence[str],
    around: list[Entry],
    note: bool = True,
) -> None:
    """The store's part of an edit (worker thread); what is no more, or not yet, is passed over.

    Args:
        changed: The fields that are taken from `memory`; the others stay as they are stored.
        around: As for `rewriting.rewrite`.
        note: Whether the memory's history tells of it.
    """
    store = facts.shared()
    for known in store.get([memory.id]):
        new = merged(known, memory, changed)
        if (new.content, new.embedded, new.words) == (known.content, known.embedded, known.words):
            store.change(memory.id, **_payload_of(new, changed_fields(known, new)))
        else:
            rewriting.rewrite(mind, new, around, before=known.content if note else None)


def _payload_of(memory: MemoryRecord, changed: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(memory, name) for name in changed if name != "key"}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}


@defer.inlineCallbacks
def state_of(npc: Any, memory: MemoryRecord, changed: Sequence[str]) -> Generator[Any, Any, Before]:
    """One memory as it is now, for `undo` of a change of these fields."""
    mind, entry = npc.memory, _entry_of(npc.memory, memory)
    known, history, _ended = yield offload.run(
        offload.MEMORY, forgetting.stored_state, mind.id, [memory], priority=offload.REPLY
    )
    more = [name for each in changed for name in OF_ENTRIES.get(each, ())] if entry else []
    if entry and "content" in changed:
        more.append("question")
    if entry and "importance" in changed:
        more.append("memory_weight")  # of an entry it follows from the importance
    # words that stay are not kept: they may be long, and an undo would not put them back
    wordless = {} if "content" in changed else {"content": "", "key": "", "line": ""}
    return Before(
        entries=[entry.to_dict() | wordless] if entry else [],
        memories=[each.to_dict() | wordless for each in known or [memory]],
        history=history,
        preferences=[
            preference_as_plain(each)
            for each in (_stated_by(mind, entry) if entry and "content" in changed else ())
        ],
        fields=list(dict.fromkeys((*changed, *more))),
    )
