"""run_dreaming_tick [A, A-MEM]: important memories are linked with similar ones.

A link's score combines similarity, nearness in time and people in common. Links are by id, never by
rank, and written in both directions.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..records import MemoryRecord, PassReport, now_iso, seconds_between
from ..store import memory_store
from ..store.links import Link, link_id
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from . import consolidation

CURSOR = "linked"

LINKS_PER_MEMORY = 5  # most similar memories considered for links
LINK_THRESHOLD = 0.5  # least similarity for a link
SIMILARITY, TIME, PEOPLE = 0.7, 0.15, 0.15
TIME_HALF_HOURS = 24.0
LOOKED_AT = 2  # memories for each link: nothing is linked with own words, comings and goings


@defer.inlineCallbacks
def run_dreaming_tick(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Link the next batch of entries at or above `MIN_IMPORTANCE` with similar memories."""
    settings = memory.settings
    start = memory.journal.cursors.get(CURSOR, 0)
    last = memory.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(start + 2 * conf.NIGHT_BATCH, last)
    important = [
        entry
        for entry in memory.journal.read(start + 1, end)
        if entry.learnable and entry.importance >= settings.MIN_IMPORTANCE
    ]
    new = 0
    if important:
        with memory.evidence.work_on(important, priority=offload.NIGHT) as work:
            found = yield work.run(find_links, memory.id, [entry.id for entry in important])
            new = yield memory.links.add_gently(found, offload.NIGHT)
            work.check()
    memory.journal.advance_cursor(CURSOR, end)
    return PassReport(done=end >= last, read=len(important), changed=new)


def find_links(agent_id: str, entry_ids: list[int]) -> list[Link]:
    """Find links of these entries to similar memories, best first for each (worker thread)."""
    store = memory_store.shared()
    memories = store.get([entry_memory_id(agent_id, entry_id) for entry_id in entry_ids])
    now = now_iso()
    links = []
    most = LOOKED_AT * LINKS_PER_MEMORY + 1
    found = store.nearest_each(agent_id, store.vectors_of(memories), most)
    for memory, near in zip(memories, found, strict=True):
        drawn = [hit for hit in near if not hit.memory.only_recalled and hit.memory.id != memory.id]
        for hit in drawn[:LINKS_PER_MEMORY]:
            score = link_score(hit.score, memory, hit.memory)
            if score >= LINK_THRESHOLD:
                links.append(Link(link_id(memory), link_id(hit.memory), score, "similar", now))
    return links


def link_score(similarity: float, a: MemoryRecord, b: MemoryRecord) -> float:
    """0-1 from similarity, time proximity and entity overlap [A]."""
    hours = abs(seconds_between(a.created_at, b.created_at)) / 3600
    people = set(a.entities), set(b.entities)
    union = people[0] | people[1]
    overlap = len(people[0] & people[1]) / len(union) if union else 0.0
    return (
        SIMILARITY * max(0.0, similarity) + TIME / (1 + hours / TIME_HALF_HOURS) + PEOPLE * overlap
    )
