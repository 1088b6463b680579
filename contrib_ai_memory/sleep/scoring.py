"""score_pending_entries [A]: what was weighed in passing is weighed again in peace."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..ingest.index import entry_memory_id
from ..llm import asking
from ..records import PassReport
from ..store import facts

CURSOR = "scored"


@defer.inlineCallbacks
def score_pending_entries(mind: Any) -> Generator[Any, Any, PassReport]:
    """Score the next batch of entries with `scoring_method == "heuristic"`, 1-10."""
    start = mind.journal.cursors.get(CURSOR, 0)
    batch = list(mind.journal.read(start + 1, start + conf.get().NIGHT_BATCH))
    pending = [e for e in batch if e.learnable and e.scoring_method == "heuristic"]
    if pending:
        provider, scores = yield asking.ask(
            "score_importance", pending, mind.goals, priority=offload.NIGHT
        )
        method = "offline" if provider == asking.OFFLINE.name else "llm"
        importance = {e.id: score for e, score in zip(pending, scores, strict=True)}
        yield offload.run(
            offload.MEMORY, _reweigh, mind.id, importance, priority=offload.NIGHT
        )
        mind.journal.update(
            {
                entry_id: {"importance": score, "scoring_method": method}
                for entry_id, score in importance.items()
            }
        )
    end = min(start + conf.get().NIGHT_BATCH, len(mind.journal))
    mind.journal.set_cursor(CURSOR, end)
    return PassReport(done=end >= len(mind.journal), read=len(batch), changed=len(pending))


def _reweigh(mind: str, importance: dict[int, int]) -> None:
    store = facts.shared()
    ids = {entry_memory_id(mind, entry_id): score for entry_id, score in importance.items()}
    for memory in store.get(ids):
        store.change(memory.id, importance=ids[memory.id] / 10)
