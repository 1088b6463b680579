"""compress_sessions [C §3]: old conversations become two or three sentences each.

With more than ten uncompressed conversations, the oldest five are summarised; also with fewer,
where they fill more of the journal than one step reads. The originals stay, marked as compressed,
and recall returns the summary instead (docs/adr/011). A summary is written after its originals are
marked: where it exists, its work is done.
"""

from __future__ import annotations

from collections.abc import Generator
from statistics import fmean
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding import embedder
from ..ingest import components
from ..records import LOCKED, PINNED, Entry, MemoryRecord, PassReport, seconds_between
from ..store import memory_store
from ..store.evidence import Work
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id, summary_id
from . import consolidation

CURSOR = "compressed"  # every conversation that began before it is compressed
UNTIL_CURSOR = "compress_until"  # those that began up to it are being compressed

READ_AT_ONCE = 64
READ_AT_MOST = 4096  # entries read in one step
LINES_SUMMARISED = 200  # of one conversation; the lines after them stay uncompressed
KEPT_TAGS = frozenset({PINNED, LOCKED})


Session = list[Entry]  # one conversation before one audience, from the journal


@defer.inlineCallbacks
def compress_sessions(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Summarise the oldest conversations if there are too many, one in each step."""
    settings, journal = memory.settings, memory.journal
    with memory.evidence.work_on(priority=offload.NIGHT) as work:
        pending, begins, more = yield _pending(memory, work)
    before = journal.cursors.get(CURSOR, 0)
    journal.advance_cursor(CURSOR, begins - 1)
    if not pending:
        return PassReport(done=not more or journal.cursors.get(CURSOR, 0) == before)
    oldest = pending[0]
    under_way = oldest[0].id <= journal.cursors.get(UNTIL_CURSOR, 0)
    if not under_way and len(pending) <= settings.COMPRESS_ABOVE and not more:
        return PassReport(done=True, read=len(pending))
    if not under_way:
        # noted before the first is summarised, so that a night that was killed does no more
        at_once = max(1, int(conf.COMPRESS_SHARE * settings.COMPRESS_ABOVE))
        last = pending[min(at_once, len(pending)) - 1]
        journal.advance_cursor(UNTIL_CURSOR, last[0].id)
        journal.flush()
    lines = [entry.with_speaker() for entry in oldest]
    with memory.evidence.work_on(oldest, priority=offload.NIGHT) as work:
        provider, summary = yield work.ask("summarise", lines)
        yield work.run(store_summary, memory.id, oldest, summary, provider)
    return PassReport(done=False, read=len(oldest), changed=1)


@defer.inlineCallbacks
def _pending(memory: Memory, work: Work) -> Generator[Any, Any, tuple[list[Session], int, bool]]:
    """Find conversations after the cursor that have no summary, oldest first: those that are over
    and consolidated, the first entry that may belong to any, and whether the journal goes on after
    the entries that one step reads."""
    start = memory.journal.cursors.get(CURSOR, 0)
    settled = memory.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(settled, start + READ_AT_MOST)
    talks: dict[tuple, Session] = {}
    for first in range(start + 1, end + 1, READ_AT_ONCE):
        for entry in memory.journal.read(first, min(first + READ_AT_ONCE - 1, end)):
            if entry.learnable and entry.session_id:
                lines = talks.setdefault((entry.session_id, entry.audience), [])
                if len(lines) < LINES_SUMMARISED:  # later lines do not change the summary
                    lines.append(entry)
        yield work.breathe()
    by_summary = {summary_id(memory.id, *talk): lines for talk, lines in talks.items()}
    existing = yield work.run(memory_store.existing, [*by_summary])
    waiting = [lines for known, lines in by_summary.items() if known not in existing]
    now, stale = memory.clock(), conf.CONVERSATION_IDLE_SECONDS
    over = [each for each in waiting if seconds_between(each[-1].timestamp, now) > stale]
    begins = min((each[0].id for each in waiting), default=max(start, end) + 1)
    return over, begins, end < settled


def store_summary(agent_id: str, session: Session, summary: str, provider: str) -> None:
    """Mark the originals, then write the summary (worker thread)."""
    store = memory_store.shared()
    originals = store.get([entry_memory_id(agent_id, entry.id) for entry in session])
    store.change_each(
        {
            memory.id: {"compressed": True}
            for memory in originals
            if memory.memory_type == "episodic"
            and not memory.compressed
            and not KEPT_TAGS & set(memory.tags)
        }
    )
    importance = fmean(entry.importance for entry in session) / 10  # [C §3] their mean
    memory = MemoryRecord.drawn(
        summary_id(agent_id, session[0].session_id, session[0].audience),
        summary,
        "summary",
        session,
        memory_type="semantic",
        session_id=session[0].session_id,
        importance=importance,
        memory_weight=importance,
        compression_source=True,
        provider=provider,
    )
    store.insert_new(agent_id, components.completed([memory]), embedder.shared().encode([summary]))
