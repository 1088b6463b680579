"""run_sleep_consolidation [A]: what matters in the journal becomes facts in Mem0.

Extraction sees one audience at a time, so that a fact is as private as what it was drawn from. Ids
come from what a fact says and who may know it: a night that is killed and run again finds its own
facts and doubles none.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding import embedder
from ..llm import asking
from ..records import Entry, FactDraft, MemoryRecord, PassReport, shared_privacy
from ..store import facts
from ..store.links import Link
from ..store.payload import memory_id_for
from . import scoring

CURSOR = "consolidated"

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATION = re.compile(r"\b(?:not|no|never|nobody|nothing|none|without|cannot)\b|n['’]t\b")
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z]\w+")


@defer.inlineCallbacks
def run_sleep_consolidation(mind: Any) -> Generator[Any, Any, PassReport]:
    """Consolidate the next batch of scored entries at or above `MIN_IMPORTANCE`."""
    settings = conf.get()
    start = mind.journal.cursors.get(CURSOR, 0)
    scored = mind.journal.cursors.get(scoring.CURSOR, 0)
    end = min(start + settings.NIGHT_BATCH, scored)
    batch = [
        entry
        for entry in mind.journal.read(start + 1, end)
        if entry.learnable
        and not entry.consolidated
        and entry.importance >= settings.MIN_IMPORTANCE
    ]
    changed = 0
    for entries in _by_audience(batch):
        provider, drafts = yield asking.ask(
            "extract_facts", entries, mind.name, priority=offload.NIGHT
        )
        if not mind.owner.pk:
            return PassReport(done=True)
        evidence = yield offload.run(
            offload.MEMORY, store_facts, mind.id, drafts, entries, provider, priority=offload.NIGHT
        )
        if not mind.owner.pk:
            return PassReport(done=True)  # deleted meanwhile
        now = mind.clock()
        yield mind.links.add_gently(
            Link(str(entry_id), fact_id, 1.0, "evidence", now) for fact_id, entry_id in evidence
        )
        changed += len({fact_id for fact_id, _ in evidence})
    mind.journal.update({entry.id: {"consolidated": True} for entry in batch})
    mind.journal.advance_cursor(CURSOR, end)
    return PassReport(done=end >= scored, read=len(batch), changed=changed)


def _by_audience(entries: Iterable[Entry]) -> list[list[Entry]]:
    circles: dict[Any, list[Entry]] = {}
    for entry in entries:
        circles.setdefault(entry.audience, []).append(entry)
    return list(circles.values())


def store_facts(
    mind: str, drafts: list[FactDraft], entries: list[Entry], provider: str
) -> list[tuple[str, int]]:
    """Write facts, joining each to the known one that says the same (worker thread).

    Returns:
        Pairs of fact id and the id of a journal entry that is its evidence.
    """
    known = {entry.id: entry for entry in entries}
    vectors = embedder.shared().encode([draft.text for draft in drafts], keep=True)
    evidence = []
    for draft, vector in zip(drafts, vectors, strict=True):
        fact = _fact(mind, draft, [known[entry_id] for entry_id in draft.journal_ids], provider)
        fact_id = _reconcile(mind, fact, vector)
        evidence += [(fact_id, entry_id) for entry_id in draft.journal_ids]
    return evidence


def _fact(mind: str, draft: FactDraft, sources: list[Entry], provider: str) -> MemoryRecord:
    private, witnesses = shared_privacy(sources)
    said = " ".join(draft.text.lower().split())
    circle = witnesses if private else ("*",)
    first, last = sources[0], sources[-1]
    importance = max(entry.importance for entry in sources) / 10
    return MemoryRecord(
        id=memory_id_for(mind, "fact", said, *circle),
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


def _reconcile(mind: str, fact: MemoryRecord, vector) -> str:
    store = facts.shared()
    for hit in store.nearest(mind, vector, 5, record="fact"):
        if hit.score < conf.DEDUP_COSINE:
            break
        if hit.memory.audience == fact.audience and says_the_same(hit.memory.content, fact.content):
            _reinforce(store, hit.memory, fact)
            return hit.memory.id
    store.add(mind, [fact], vector[None])
    return fact.id


def _reinforce(store: facts.FactStore, known: MemoryRecord, again: MemoryRecord) -> None:
    new = [entry_id for entry_id in again.journal_ids if entry_id not in known.journal_ids]
    if new:
        store.change(
            known.id,
            access_count=known.access_count + 1,
            last_accessed=max(known.last_accessed, again.last_accessed),
            importance=max(known.importance, again.importance),
            memory_weight=max(known.memory_weight, again.memory_weight),
            journal_ids=[*known.journal_ids, *new],
        )


def says_the_same(a: str, b: str) -> bool:
    """Near in meaning is not the same where numbers, negations or names differ."""
    return (
        set(_NUMBER.findall(a)) == set(_NUMBER.findall(b))
        and bool(_NEGATION.search(a.lower())) == bool(_NEGATION.search(b.lower()))
        and set(_NAME.findall(a)) == set(_NAME.findall(b))
    )
