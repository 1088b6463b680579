"""run_sleep_consolidation [A]: important journal entries become facts in Mem0.

Extraction sees one audience at a time, so that a fact is as private as its sources. A fact's id is
made from its text and audience: a night that was killed and runs again finds its own facts and
doubles none.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..english.persona import about_itself
from ..ingest import endings, preference_slots
from ..records import Entry, FactDraft, MemoryRecord, PassReport, shared_privacy
from ..store import memory_store
from ..store.links import Link
from ..store.payload import entry_memory_id, memory_id_for
from . import scoring
from .reconciliation import reconcile

CURSOR = "consolidated"


@defer.inlineCallbacks
def run_sleep_consolidation(memory: Any) -> Generator[Any, Any, PassReport]:
    """Consolidate the next batch of scored entries at or above `MIN_IMPORTANCE`."""
    settings = conf.get()
    start = memory.journal.cursors.get(CURSOR, 0)
    scored = memory.journal.cursors.get(scoring.CURSOR, 0)
    end = min(start + settings.NIGHT_BATCH, scored)
    batch = [
        entry
        for entry in memory.journal.read(start + 1, end)
        if entry.learnable
        and not entry.consolidated
        and entry.importance >= settings.MIN_IMPORTANCE
    ]
    changed = 0
    for entries in _by_audience(batch):
        with memory.evidence.work_on(entries, priority=offload.NIGHT) as work:
            provider, drafts = yield work.ask("extract_facts", entries, memory.name)
            drafts = [draft for draft in drafts if not about_itself(draft.text, *memory.names)]
            facts = yield work.run(facts_of, memory.id, drafts, entries, provider)
            fact_ids = yield reconcile(memory, facts, work)
            now = memory.clock()
            yield memory.links.add_gently(
                Link(str(entry_id), fact_id, 1.0, "evidence", now)
                for fact, fact_id in zip(facts, fact_ids, strict=True)
                for entry_id in fact.journal_ids
            )
            work.check()
            topics = {draft.text: draft.slot for draft in drafts if draft.slot}
            for fact, fact_id in zip(facts, fact_ids, strict=True):
                if fact.about and fact.content in topics:
                    preference_slots.settle_fact(memory, fact, fact_id, topics[fact.content])
        changed += len(set(fact_ids))
    # a line that is no fact itself ends facts too; those of older lines are stored by now
    lines = list(memory.journal.read(start + 1, end))
    with memory.evidence.work_on(lines, priority=offload.NIGHT) as work:
        yield endings.settle(memory, lines, work, records=("fact",))
    memory.journal.update({entry.id: {"consolidated": True} for entry in batch})
    memory.journal.advance_cursor(CURSOR, end)
    return PassReport(done=end >= scored, read=len(batch), changed=changed)


def _by_audience(entries: Iterable[Entry]) -> list[list[Entry]]:
    circles: dict[Any, list[Entry]] = {}
    for entry in entries:
        circles.setdefault(entry.audience, []).append(entry)
    return list(circles.values())


def facts_of(
    agent_id: str, drafts: Iterable[FactDraft], entries: Iterable[Entry], provider: str
) -> list[MemoryRecord]:
    """Make facts of drafts, each with its evidence from `entries` (worker thread)."""
    known = {entry.id: entry for entry in entries}
    return [
        _fact(agent_id, draft, [known[entry_id] for entry_id in draft.journal_ids], provider)
        for draft in drafts
        if not _is_past(agent_id, draft)
    ]


def fact_id(agent_id: str, text: str, audience: tuple[str, ...] | None) -> str:
    """The id of the fact with this text and audience; None is everybody."""
    said = " ".join(text.lower().split())
    return memory_id_for(agent_id, "fact", said, *(("*",) if audience is None else audience))


def _is_past(agent_id: str, draft: FactDraft) -> bool:
    """Whether all sources of a preference are superseded."""
    if draft.memory_type != "procedural":
        return False
    ids = [entry_memory_id(agent_id, entry_id) for entry_id in draft.journal_ids]
    sources = memory_store.shared().get(ids)
    return bool(sources) and all(memory.superseded_by for memory in sources)


def _fact(agent_id: str, draft: FactDraft, sources: list[Entry], provider: str) -> MemoryRecord:
    private, witnesses = shared_privacy(sources)
    first, last = sources[0], sources[-1]
    importance = max(entry.importance for entry in sources) / 10
    return MemoryRecord(
        id=fact_id(agent_id, draft.text, witnesses if private else None),
        content=draft.text,
        key=draft.text,
        record="fact",
        memory_type=draft.memory_type,
        about=draft.about,
        speaker=first.seen_as,
        session_id=first.session_id,
        importance=importance,
        memory_weight=importance,
        source_type=first.source_type,
        source_trust=min(entry.source_trust for entry in sources),
        journal_ids=draft.journal_ids,
        entities=tuple(sorted({who for entry in sources for who in entry.entities})),
        witnesses=witnesses,
        private=private,
        created_at=first.timestamp,
        last_accessed=last.timestamp,
        valid_from=first.timestamp,
        provider=provider,
        quote=draft.quote,
    )
