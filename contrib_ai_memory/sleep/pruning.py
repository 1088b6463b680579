"""The pruning passes [A]: dangling links, old unimportant entries, stale conversations.

Each step looks at a bounded part; a cursor says where the next one goes on. What is removed goes
from the store and the links first and from the journal last: a step that was killed runs again and
finds the rest.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Any

from twisted.internet import defer

from .. import language, offload
from ..ingest.endings import KEPT_TAGS
from ..llm import router
from ..records import Entry, PassReport
from ..store import memory_store
from ..store.links import BUCKETS, linked_memory_id
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from . import consolidation

LINKS_CURSOR = "links_checked"  # the next bucket
PRUNED_CURSOR = "pruned"

BUCKETS_A_STEP = 128
ENTRIES_A_STEP = 128
TELLS_SOMETHING = 0.2  # salience of a name or a number


@defer.inlineCallbacks
def prune_orphaned_memory_links(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Remove links to memories that are gone, a few buckets at a time."""
    start = memory.journal.cursors.get(LINKS_CURSOR, 0)
    end = min(start + BUCKETS_A_STEP, BUCKETS)
    linked = memory.links.ids_in(range(start, end))
    gone: list[str] = []
    if linked:
        with memory.evidence.work_on(priority=offload.NIGHT) as work:
            missing = yield work.run(missing_of, memory.id, linked)
        # an entry that is not indexed yet is in the journal alone
        gone = [
            each for each in missing if not each.isdecimal() or not memory.journal.get(int(each))
        ]
        memory.links.remove(gone)
    over = end >= BUCKETS
    memory.journal.set_cursor(LINKS_CURSOR, 0 if over else end)
    return PassReport(done=over, read=len(linked), changed=len(gone))


def missing_of(agent_id: str, linked: list[str]) -> list[str]:
    """Those link ids that the store does not have (worker thread)."""
    ids = {linked_memory_id(agent_id, each): each for each in linked}
    there = memory_store.shared().existing(ids.keys())
    return [each for memory_id, each in ids.items() if memory_id not in there]


@defer.inlineCallbacks
def prune_low_importance_entries(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Remove old entries of low importance that became no fact [A].

    Stated preferences stay, what open agenda items rest on, and what was committed consciously,
    pinned or locked. Entries that are too young are looked at again at a later night.
    """
    settings = memory.settings
    before = datetime.fromisoformat(memory.clock()) - timedelta(days=settings.PRUNE_AFTER_DAYS)
    start = memory.journal.cursors.get(PRUNED_CURSOR, 0)
    settled = memory.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(start + ENTRIES_A_STEP, settled)
    entries = list(memory.journal.read(start + 1, end))
    batch = [each for each in entries if datetime.fromisoformat(each.timestamp) < before]
    reached = max(start, end)
    if entries and entries[-1] not in batch[-1:]:  # those after the last old enough are too young
        reached = batch[-1].id if batch else start
    open_items = (item for item in memory.agenda if item.state == "open")
    promised = {number for item in open_items for number in item.evidence} if batch else ()
    unimportant = [
        entry
        for entry in batch
        if _forgettable(entry, settings.PRUNE_AT_MOST) and entry.id not in promised
    ]
    by_rules = not settings.by_sources  # [A] asks only for importance and age
    if by_rules and not router.rules_judge(settings):
        # what rules weighed is kept until a model has
        unimportant = [entry for entry in unimportant if entry.scoring_method == "llm"]
    removed: list[int] = []
    if unimportant:
        with memory.evidence.work_on(unimportant, priority=offload.NIGHT) as work:
            removed = yield work.run(forget_entries, memory.id, unimportant, by_rules)
        memory.links.remove(map(str, removed))
        memory.journal.remove(removed)
    memory.journal.advance_cursor(PRUNED_CURSOR, reached)
    return PassReport(done=reached < end or end >= settled, read=len(batch), changed=len(removed))


def _forgettable(entry: Entry, importance: int) -> bool:
    kept = entry.consolidated or entry.origin in ("builder", "sleep") or KEPT_TAGS & set(entry.tags)
    return entry.importance <= importance and not kept


def forget_entries(agent_id: str, entries: list[Entry], by_rules: bool = True) -> list[int]:
    """Remove entries from the store (worker thread), but for preferences and, `by_rules`, for what
    may be asked for. Returns the journal ids of the removed entries."""
    store = memory_store.shared()
    known = {m.id: m for m in store.get([entry_memory_id(agent_id, entry.id) for entry in entries])}
    gone = []
    for entry in entries:
        memory = known.get(entry_memory_id(agent_id, entry.id))
        preferred = memory and memory.memory_type == "procedural" and not memory.superseded_by
        if not preferred and not (by_rules and _may_be_asked_for(entry)):
            gone.append(entry)
    store.delete([entry_memory_id(agent_id, entry.id) for entry in gone])
    return [entry.id for entry in gone]


def _may_be_asked_for(entry: Entry) -> bool:
    """Whether no model scored an entry and it has a name, a number or any telling word.

    Rules alone do not know what nobody will ask for: without this a night cost two points of recall
    (docs/adr/014).
    """
    if entry.scoring_method == "llm":
        return False
    tells = language.get().salience(entry.content) >= TELLS_SOMETHING
    return tells or language.get().telling_words(entry.content) > 0


@defer.inlineCallbacks
def clear_stale_conversations(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Drop conversations that were silent for an hour [A]."""
    yield offload.breathe(offload.NIGHT)
    cleared = memory.conversations.clear_stale(memory.clock())
    return PassReport(done=True, read=cleared, changed=cleared)
