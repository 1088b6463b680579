"""score_pending_entries [A]: heuristic importances are scored again, where rules judge.

Any other provider scores lines in its one look at them (`consolidation`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..ingest.index import rewrite_fields
from ..llm import router
from ..records import LOCKED, PassReport
from ..store.npc_memory import Memory

CURSOR = "scored"


@defer.inlineCallbacks
def score_pending_entries(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Score the next batch of entries with `scoring_method == "heuristic"`, 1-10."""
    if not router.rules_judge(memory.settings):
        return PassReport(done=True)
    start = memory.journal.cursors.get(CURSOR, 0)
    end = min(start + conf.NIGHT_BATCH, len(memory.journal))
    batch = list(memory.journal.read(start + 1, end))
    pending = [
        e for e in batch if e.learnable and e.scoring_method == "heuristic" and LOCKED not in e.tags
    ]
    if pending:
        with memory.evidence.work_on(pending, priority=offload.NIGHT) as work:
            provider, scores = yield work.ask("score_importance", pending, memory.goals)
            method = "offline" if provider == router.OFFLINE else "llm"
            scored = [
                replace(entry, importance=score, scoring_method=method)
                for entry, score in zip(pending, scores, strict=True)
            ]
            yield work.run(rewrite_fields, memory.id, scored, "importance", "memory_weight")
        memory.journal.update(
            {
                entry.id: {"importance": entry.importance, "scoring_method": method}
                for entry in scored
            }
        )
    memory.journal.advance_cursor(CURSOR, end)
    return PassReport(done=end >= len(memory.journal), read=len(batch), changed=len(pending))
