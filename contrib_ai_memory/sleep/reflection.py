"""run_reflection [A, Park et al. 2023]: insights into the last days, with citations.

A reflection is due when the importance perceived since the last one adds up to REFLECT_AT. It
draws on what anybody may hear: an insight is public, and contains no secret.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from twisted.internet import defer

from .. import offload
from ..embedding import embedder
from ..ingest import endings
from ..ingest.endings import End
from ..llm import router
from ..llm.provider import InsightDraft, Pair, Relation, Statement
from ..recall import search
from ..recall.budget import BudgetExceeded
from ..records import INSIGHT, Entry, MemoryRecord, PassReport, Percept, RecallRequest
from ..store import memory_store
from ..store.evidence import Work
from ..store.journal import join_ranges, ranges_of
from ..store.links import Link, link_id, linked_memory_id
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from . import consolidation
from .reconciliation import compared

CURSOR = "reflected"  # entries up to it counted towards a reflection
LINKED_CURSOR = "insights_linked"

READ_AT_ONCE = 64
LOOKED_AT = 40  # most important entries that the questions are drawn from
EVIDENCE = 10  # [A] memories for each question
EVIDENCE_TOKENS = 4000
NEAREST = 8  # known insights that a new one is compared with
STANDING = 64  # newest insights that end with what they rest on
WELL_FOUNDED = 5  # citations that make an insight worth 9 rather than 8 [A]


@defer.inlineCallbacks
def run_reflection(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Reflect if `cumulative_importance` has reached its threshold, and link the insights; end
    those that rest on what is over."""
    yield _end_outdated(memory)
    due, end, important = yield _gather(memory)
    insights: list[InsightDraft] = []
    if due:
        with memory.evidence.work_on(important, priority=offload.NIGHT) as work:
            provider, insights, shown = yield _insights(memory, important, work)
        for insight in insights:
            _write(memory, insight, provider, shown)
        # insights and cursor are one write: killed before it, nothing happened
        memory.journal.last_reflection = memory.clock()
        memory.journal.advance_cursor(CURSOR, end)
        memory.flush()
        yield memory.index_pending(offload.NIGHT)
    yield _link_insights(memory)
    return PassReport(done=True, read=len(important), changed=len(insights))


@defer.inlineCallbacks
def _end_outdated(memory: Memory) -> Generator[Any, Any, None]:
    """End insights of which a memory that they cite is over; run again, it changes nothing."""
    with memory.evidence.work_on(priority=offload.NIGHT) as work:
        insights = yield work.run(memory_store.newest, memory.id, INSIGHT, STANDING)
        written = {
            each.id: memory.journal.get(each.journal_ids[0])
            for each in insights
            if each.journal_ids and not each.superseded_by
        }
        cited = {each: entry.evidence for each, entry in written.items() if entry}
        yield work.run(end_outdated, memory.id, cited)


def end_outdated(agent_id: str, cited: Mapping[str, Sequence[str]]) -> None:
    """End insights with the first memory that they cite and that is over (worker thread).

    Args:
        cited: Link ids by the id of the insight.
    """
    store = memory_store.shared()
    for insight, ids in cited.items():
        found = store.get([linked_memory_id(agent_id, each) for each in ids])
        over = [each for each in found if each.superseded_by and each.invalid_at]
        endings.end(store, [End(insight, e.superseded_by or "", e.invalid_at) for e in over[:1]])


@defer.inlineCallbacks
def _gather(memory: Memory) -> Generator[Any, Any, tuple[bool, int, list[Entry]]]:
    """Whether a reflection is due, its last entry, and the most important public entries."""
    start = memory.journal.cursors.get(CURSOR, 0)
    settled = memory.journal.cursors.get(consolidation.CURSOR, 0)
    cumulative, public = 0, []
    for first in range(start + 1, settled + 1, READ_AT_ONCE):
        for entry in memory.journal.read(first, min(first + READ_AT_ONCE - 1, settled)):
            cumulative += 0 if entry.kind == INSIGHT else entry.importance
            if entry.learnable and entry.audience is None:
                public.append(entry)
        public = sorted(public, key=lambda entry: (-entry.importance, entry.id))[:LOOKED_AT]
        yield offload.breathe(offload.NIGHT)
    return cumulative >= memory.settings.REFLECT_AT, settled, public


@defer.inlineCallbacks
def _insights(
    memory: Memory, important: list[Entry], work: Work
) -> Generator[Any, Any, tuple[str, list[InsightDraft], str]]:
    """Answer three questions that the entries raise, each from ten memories: the provider, insights
    that are not known yet, and the journal ids of all that a language model was shown for them."""
    ids = [entry_memory_id(memory.id, entry.id) for entry in important]
    memories = in_order((yield work.run(memory_store.get, ids)))
    provider, questions = yield work.ask("ask_oneself", memories, memory.name)
    asked: list[tuple[str, list[MemoryRecord]]] = []
    for question in questions:
        evidence = yield _evidence(memory, question)
        work.add_evidence(evidence)
        if evidence:
            asked.append((question, evidence))
    if not asked:
        return provider, [], ""
    known = yield work.run(known_insights, memory.id, [question for question, _ in asked])
    work.add_evidence(known.values())
    provider, drafts = yield work.ask("reflect", asked, memory.name, list(known))
    cited = {each.id: each for _, evidence in asked for each in evidence}
    texts = list(dict.fromkeys(draft.text for draft in drafts))
    near = yield work.run(known_insights, memory.id, texts)
    work.add_evidence(near.values())
    known |= near
    again = {*known}
    if router.rules_judge(memory.settings) or provider == router.OFFLINE:  # was shown none of them
        pairs = {
            (new, old): Pair(Statement(new, INSIGHT), Statement(old, INSIGHT))
            for place, new in enumerate(texts)
            for old in (*known, *texts[:place])
        }
        relations = yield compared(pairs, work)
        again |= {new for (new, _), relation in relations.items() if relation is Relation.SAME}
    insights = {
        draft.text: InsightDraft(
            draft.text, tuple(link_id(cited[each]) for each in draft.evidence if each in cited)
        )
        for draft in reversed(drafts)  # of several with one text the first
        if draft.text not in again
    }
    seen = [*memories, *cited.values(), *known.values()]
    shown = ranges_of(number for each in seen for number in each.journal_ids)
    shown = join_ranges(shown, *(each.context for each in seen))
    return provider, list(insights.values())[::-1], "" if provider == router.OFFLINE else shown


def known_insights(agent_id: str, texts: list[str]) -> dict[str, MemoryRecord]:
    """The known insights nearest to these texts, by their own (worker thread)."""
    vectors = embedder.shared().encode(texts)
    found = memory_store.shared().nearest_each(agent_id, vectors, NEAREST, record=INSIGHT)
    hits = (hit.memory for near in found for hit in near)
    return {each.content: each for each in hits if not each.superseded_by}


@defer.inlineCallbacks
def _evidence(memory: Memory, question: str) -> Generator[Any, Any, list[MemoryRecord]]:
    """Recall public memories; insights and talk of NPCs are no evidence."""
    request = RecallRequest(
        question, listeners=(), top_k=EVIDENCE, token_budget=EVIDENCE_TOKENS, as_evidence=True
    )
    try:
        found = yield search.recall(memory, request, offload.NIGHT)
    except BudgetExceeded:
        return []
    recalled = (item.memory for item in found.memories)
    return in_order(each for each in recalled if each.record != INSIGHT and each.learnable)


def in_order(memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Return memories as they were told: what was said last holds."""
    return sorted(memories, key=lambda each: (each.created_at, each.journal_ids))


def _write(memory: Memory, insight: InsightDraft, provider: str, shown: str) -> None:
    importance = 9 if len(insight.evidence) >= WELL_FOUNDED else 8
    entry = memory.perceive(
        Percept(
            content=insight.text,
            kind=INSIGHT,
            origin="sleep",
            source_type="inference",
            timestamp=memory.clock(),
            evidence=insight.evidence,
            context=shown,
        )
    )
    method = "offline" if provider == router.OFFLINE else "llm"
    worded = {"importance": importance, "scoring_method": method, "provider": provider}
    memory.journal.update({entry.id: worded})


@defer.inlineCallbacks
def _link_insights(memory: Memory) -> Generator[Any, Any, None]:
    """Link insights with what they cite; run again, it changes nothing."""
    start = memory.journal.cursors.get(LINKED_CURSOR, 0)
    end = len(memory.journal)
    for first in range(start + 1, end + 1, READ_AT_ONCE):
        last = min(first + READ_AT_ONCE - 1, end)
        for entry in memory.journal.read(first, last):
            if entry.kind == INSIGHT:
                yield memory.links.add_gently(
                    (
                        Link(str(entry.id), cited, 1.0, "evidence", entry.timestamp)
                        for cited in entry.evidence
                    ),
                    offload.NIGHT,
                )
        memory.journal.advance_cursor(LINKED_CURSOR, last)
        yield offload.breathe(offload.NIGHT)
