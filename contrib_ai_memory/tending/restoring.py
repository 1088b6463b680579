"""Taking back the newest of the acts that `undo` keeps: everything it changed, as it was.

What it only changed gets back those fields: what nights made of the rest since then stays, and what
is no more since then stays away. Done again after a crash, it ends in the same. Reactor thread;
the store's part is done on the worker thread.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..ingest import hearing, index, preferring, rewriting
from ..ingest.preferring import Superseded
from ..records import Entry, MemoryRecord
from ..store import facts, versions
from ..store.links import Link
from ..store.payload import entry_memory_id
from ..store.preferences import Held, Preference, from_plain
from ..store.profiles import Noted, Profile, ProfileAttribute
from . import forgetting, rewording, tracing, undo
from .undo import Act, Before


@defer.inlineCallbacks
def take_back(npc: Any) -> Generator[Any, Any, Act]:
    """Undo the newest act, as a Deferred `Act`.

    Raises (in the Deferred):
        undo.NothingToUndo
    """
    kept = undo.acts(npc)
    if not kept:
        raise undo.NothingToUndo(
            f"Nothing was done to the memory of {npc.key} that can be undone: the last "
            f"{undo.ACTS_KEPT} acts are kept, as far as {undo.LARGEST // 1000} kB hold them."
        )
    act = kept[-1]
    mind, before = npc.memory, act.before
    if before.made:
        made = yield tracing.of_links(mind, before.made)
        for linked in made:  # and what nights drew from it: else it would be known all the same
            going = yield forgetting.doomed(npc, linked, cascade=True)
            yield forgetting.take_out(npc, going, cascade=True)
    mind.journal.put_back(_entries_as_before(mind, before))
    around = {plain["id"]: _around(mind, plain["id"]) for plain in before.entries}
    yield offload.run(offload.MEMORY, put_back, mind.id, before, around, priority=offload.REPLY)
    yield mind.links.add_gently(Link(*each) for each in before.links)
    for identity, name, noted, known in before.profiles:
        _restore_profile(mind, identity, name, noted, known)
    ended: list[Superseded] = []
    for plain in before.preferences:
        ended += _restore_preference(mind, from_plain(plain), before.fields)
    if ended:
        yield offload.run(offload.MEMORY, preferring.retire, mind.id, ended, priority=offload.REPLY)
    yield _index_passed(mind, before)
    mind.flush()
    undo.drop(npc, act)
    return act


def put_back(mind: str, before: Before, around: dict[int, list[Entry]]) -> None:
    """The store's part of it (worker thread)."""
    store = facts.shared()
    for plain in before.memories:
        memory = MemoryRecord.from_dict(plain)
        own = memory.journal_ids[0] if memory.record == "entry" else 0
        if before.fields:
            _change_back(mind, memory, around.get(own, []), before.fields)
            continue
        rewriting.rewrite(mind, memory, around.get(own, ()))
        versions.replace(memory.id, before.history.get(memory.id, []))
    for memory_id, payload in before.payload:
        if store.get([memory_id]):
            store.change(memory_id, **payload)


def _change_back(
    mind: str, memory: MemoryRecord, around: list[Entry], changed: Sequence[str]
) -> None:
    rewording.write(mind, memory, changed, around, note=False)
    said = versions.history_of(memory.id, newest=None)
    edits = [place for place, row in enumerate(said) if row[::2] == (memory.content, "UPDATE")]
    if "content" in changed and edits:
        versions.replace(memory.id, [*said[: edits[-1]], *said[edits[-1] + 1 :]])


def _entries_as_before(mind: Any, before: Before) -> list[Entry]:
    entries = [Entry.from_dict(plain) for plain in before.entries]
    if not before.fields:
        return entries
    there = [(mind.journal.get(entry.id), entry) for entry in entries]
    return [rewording.merged(now, entry, before.fields) for now, entry in there if now]


@defer.inlineCallbacks
def _index_passed(mind: Any, before: Before) -> Generator[Any, Any, None]:
    """Index what was forgotten before it was indexed, if the index has come further since then."""
    stored = {plain["id"] for plain in before.memories}
    indexed = mind.journal.cursors.get("indexed", 0)
    for plain in () if before.fields else before.entries:
        entry = Entry.from_dict(plain)
        passed = entry.recallable and entry.id <= indexed
        if passed and entry_memory_id(mind.id, entry.id) not in stored:
            earlier = list(mind.journal.read(entry.id - index.LOOK_BACK, entry.id - 1))
            job = index.index_entries, mind.id, [entry], earlier
            yield offload.run(offload.MEMORY, *job, priority=offload.REPLY)
            yield hearing.settle_heard(mind, [entry], offload.REPLY)


def _restore_preference(
    mind: Any, preference: Preference, changed: Sequence[str]
) -> list[Superseded]:
    """A preference as it was; of an edit, only its words, wherever they stand by now.

    What was said since then holds: what comes back is what was preferred before. Returns what is
    to be retired for that.
    """
    now = mind.preferences.get(preference.identity, preference.slot, preference.audience)
    if not changed:
        own = {preference.memory_id, *(held.memory_id for held in preference.history)}
        if now is None or now.memory_id in own or now.since <= preference.since:
            mind.preferences.put(preference)
            return []
        was = Held(
            preference.text,
            preference.memory_id,
            preference.since,
            now.since,
            preference.journal_id,
        )
        since = [held for held in now.history if held.memory_id not in own]
        history = (*preference.history, was, *since)[-conf.PREFERENCE_HISTORY :]
        mind.preferences.put(replace(now, history=history))
        return preferring.replaced(replace(now, history=history))
    if now:
        same = now.memory_id == preference.memory_id
        held = tuple(
            replace(each, text=preference.text) if each.memory_id == preference.memory_id else each
            for each in now.history
        )
        text = preference.text if same else now.text
        mind.preferences.put(replace(now, text=text, history=held))
    return []


def _around(mind: Any, entry_id: int) -> list[Entry]:
    return list(mind.journal.read(entry_id - rewriting.AROUND, entry_id + rewriting.AROUND))


def _restore_profile(
    mind: Any, identity: str, name: str, noted: list[dict], known: list[dict]
) -> None:
    profile = mind.profiles.get(identity) or Profile(identity, name=name)
    profile = profile.noting(Noted(**_tuples(each)) for each in noted)
    attributes_ = [ProfileAttribute(**_tuples(each)) for each in known]
    missing = [each for each in attributes_ if each not in profile.attributes]
    mind.profiles.put(replace(profile, attributes=(*profile.attributes, *missing)))


def _tuples(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}
