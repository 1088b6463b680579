"""run_reflection [A, Park et al. 2023]: what the last days come to, as insights with citations.

A reflection is due when the importance of what was perceived since the last one adds up. It draws
on what may be told to anybody: an insight is public, and a secret never gets into one.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..english.tokens import content_words
from ..llm import router
from ..llm.provider import InsightDraft
from ..recall import recall
from ..recall.budget import BudgetExceeded
from ..records import INSIGHT, Entry, MemoryRecord, PassReport, Percept
from ..store import facts
from ..store.evidence import Work
from ..store.links import Link, link_id
from ..store.payload import entry_memory_id
from . import consolidation

CURSOR = "reflected"  # the importance of all entries up to it has been counted
LINKED_CURSOR = "insights_linked"

READ_AT_ONCE = 64
LOOKED_AT = 40  # the weightiest entries that the questions are drawn from
EVIDENCE = 10  # [A] pieces for each question
EVIDENCE_TOKENS = 4000
KNOWN = 200  # earlier insights that are not written again
_QUOTATION = re.compile(r'"[^"]*"|“[^”]*”')
WELL_FOUNDED = 5  # citations that make an insight worth 9 rather than 8 [A]


@defer.inlineCallbacks
def run_reflection(memory: Any) -> Generator[Any, Any, PassReport]:
    """Reflect if `cumulative_importance` has reached its threshold, and link what came of it."""
    due, end, weightiest = yield _gathered(memory)
    new = 0
    if due:
        with memory.evidence.work_on(weightiest, priority=offload.NIGHT) as work:
            insights = yield _insights(memory, weightiest, work)
        for provider, insight in insights:
            _write(memory, insight, provider)
        new = len(insights)
        # insights and cursor are one write: killed before it, nothing happened
        memory.journal.last_reflection = memory.clock()
        memory.journal.advance_cursor(CURSOR, end)
        memory.flush()
        yield memory.index_pending(offload.NIGHT)
    yield _link_insights(memory)
    return PassReport(done=True, read=len(weightiest), changed=new)


@defer.inlineCallbacks
def _gathered(memory: Any) -> Generator[Any, Any, tuple[bool, int, list[Entry]]]:
    """Whether a reflection is due, up to where it goes, and the weightiest public entries."""
    start = memory.journal.cursors.get(CURSOR, 0)
    settled = memory.journal.cursors.get(consolidation.CURSOR, 0)
    cumulative, public = 0, []
    for first in range(start + 1, settled + 1, READ_AT_ONCE):
        for entry in memory.journal.read(first, min(first + READ_AT_ONCE - 1, settled)):
            cumulative += 0 if entry.kind == INSIGHT else entry.importance
            if entry.learnable and not entry.private:
                public.append(entry)
        public = sorted(public, key=lambda entry: (-entry.importance, entry.id))[:LOOKED_AT]
        yield offload.breathe()
    return cumulative >= conf.get().REFLECT_AT, settled, public


@defer.inlineCallbacks
def _insights(
    memory: Any, weightiest: list[Entry], work: Work
) -> Generator[Any, Any, list[tuple[str, InsightDraft]]]:
    """Three questions that the entries raise, each answered from ten memories."""
    ids = [entry_memory_id(memory.id, entry.id) for entry in weightiest]
    memories = yield work.run(facts.ask, "get", ids)
    _provider, questions = yield work.ask("ask_oneself", memories, memory.name)
    said = yield work.run(facts.ask, "newest", memory.id, INSIGHT, KNOWN)
    known = {_gist(record.content) for record in said}
    insights: dict[frozenset[str], tuple[str, InsightDraft]] = {}
    for question in questions:
        evidence = yield _evidence(memory, question)
        work.add_evidence(evidence)
        if evidence:
            provider, drafts = yield work.ask("reflect", question, evidence, memory.name)
            for draft in drafts:
                if (gist := _gist(draft.text)) not in known:
                    insights.setdefault(gist, (provider, _as_links(draft, evidence)))
    return list(insights.values())


def _gist(text: str) -> frozenset[str]:
    """What an insight says, whatever the order and the sentence that it quotes."""
    return frozenset(content_words(_QUOTATION.sub("", text))) or frozenset({text})


@defer.inlineCallbacks
def _evidence(memory: Any, question: str) -> Generator[Any, Any, list[MemoryRecord]]:
    try:
        found = yield recall.recall(
            memory,
            question,
            listeners=(),  # nobody: what anybody may hear
            top_k=EVIDENCE,
            token_budget=EVIDENCE_TOKENS,
            priority=offload.NIGHT,
        )
    except BudgetExceeded:
        return []
    return [item.memory for item in found.memories if _is_evidence(item.memory)]


def _is_evidence(memory: MemoryRecord) -> bool:
    """An insight rests on no other insight, and on no talk of NPCs."""
    return memory.record != INSIGHT and memory.learnable


def _as_links(draft: InsightDraft, evidence: list[MemoryRecord]) -> InsightDraft:
    links = {memory.id: link_id(memory) for memory in evidence}
    return InsightDraft(draft.text, tuple(links[each] for each in draft.evidence if each in links))


def _write(memory: Any, insight: InsightDraft, provider: str) -> None:
    importance = 9 if len(insight.evidence) >= WELL_FOUNDED else 8
    entry = memory.perceive(
        Percept(
            content=insight.text,
            kind=INSIGHT,
            origin="sleep",
            source_type="inference",
            timestamp=memory.clock(),
            evidence=insight.evidence,
        )
    )
    method = "offline" if provider == router.OFFLINE.name else "llm"
    worded = {"importance": importance, "scoring_method": method, "provider": provider}
    memory.journal.update({entry.id: worded})


@defer.inlineCallbacks
def _link_insights(memory: Any) -> Generator[Any, Any, None]:
    """Insights and what they cite; an insight keeps its citations, so that this can be repeated."""
    start = memory.journal.cursors.get(LINKED_CURSOR, 0)
    end = len(memory.journal)
    for first in range(start + 1, end + 1, READ_AT_ONCE):
        last = min(first + READ_AT_ONCE - 1, end)
        for entry in memory.journal.read(first, last):
            if entry.kind == INSIGHT:
                yield memory.links.add_gently(
                    Link(str(entry.id), cited, 1.0, "evidence", entry.timestamp)
                    for cited in entry.evidence
                )
        memory.journal.advance_cursor(LINKED_CURSOR, last)
        yield offload.breathe()
