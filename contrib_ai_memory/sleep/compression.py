"""compress_sessions [C §3]: old conversations become two or three sentences each.

With more than ten uncompressed conversations, the oldest five are summarised; also with fewer,
where they fill more of the journal than one step reads. The originals stay, marked as compressed,
and recall returns the summary instead (docs/adr/011). A summary is written after its originals are
marked: where it exists, its work is done.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation before one audience, from the journal."""

    session_id: str
    entries: tuple[Entry, ...]

    def summary_id(self, agent_id: str) -> str:
        return summary_id(agent_id, self.session_id, self.entries[0].audience)


@defer.inlineCallbacks
def compress_sessions(memory: Memory) -> Generator[Any, Any, PassReport]:
    """Summarise the oldest conversations if there are too many, one in each step."""
    settings = memory.settings
    with memory.evidence.work_on(priority=offload.NIGHT) as work:
        found = yield _pending(memory, work)
    pending = found.sessions
    before = memory.journal.cursors.get(CURSOR, 0)
    memory.journal.advance_cursor(CURSOR, found.begins - 1)
    if not pending:
        moved = memory.journal.cursors.get(CURSOR, 0) > before
        return PassReport(done=not (found.more and moved))
    under_way = pending[0].entries[0].id <= memory.journal.cursors.get(UNTIL_CURSOR, 0)
    if (len(pending) > settings.COMPRESS_ABOVE or found.more) and not under_way:
        # noted before the first is summarised, so that a night that was killed does no more
        at_once = max(1, int(conf.COMPRESS_SHARE * settings.COMPRESS_ABOVE))
        last = pending[min(at_once, len(pending)) - 1]
        memory.journal.advance_cursor(UNTIL_CURSOR, last.entries[0].id)
        memory.journal.flush()
    oldest = pending[0]
    if oldest.entries[0].id > memory.journal.cursors.get(UNTIL_CURSOR, 0):
        return PassReport(done=True, read=len(pending))
    lines = [entry.with_speaker() for entry in oldest.entries]
    with memory.evidence.work_on(oldest.entries, priority=offload.NIGHT) as work:
        provider, summary = yield work.ask("summarise", lines)
        yield work.run(store_summary, memory.id, oldest, summary, provider)
    return PassReport(done=False, read=len(oldest.entries), changed=1)


@dataclass(frozen=True, slots=True)
class _Found:
    """Uncompressed conversations after the cursor.

    Attributes:
        sessions: Those that are over and consolidated, oldest first, as many as decide whether
            there are too many.
        begins: The first entry that may belong to a conversation without a summary.
        more: Whether the journal goes on after the entries that one step reads.
    """

    sessions: list[Session]
    begins: int
    more: bool


@defer.inlineCallbacks
def _pending(memory: Memory, work: Work) -> Generator[Any, Any, _Found]:
    """Find the oldest conversations after the cursor that have no summary."""
    start = memory.journal.cursors.get(CURSOR, 0)
    settled = memory.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(settled, start + READ_AT_MOST)
    enough = wanted = memory.settings.COMPRESS_ABOVE + 1
    talks: dict[tuple, list[Entry]] = {}
    last_heard: dict[tuple, str] = {}  # the time of the last line
    pending: list[Session] = []
    for first in range(start + 1, end + 1, READ_AT_ONCE):
        last = min(first + READ_AT_ONCE - 1, end)
        when = ""
        for entry in memory.journal.read(first, last):
            when = entry.timestamp
            if entry.learnable and entry.session_id:
                circle = entry.session_id, entry.audience
                lines = talks.setdefault(circle, [])
                if len(lines) < LINES_SUMMARISED:  # later lines do not change the summary
                    lines.append(entry)
                    last_heard[circle] = when
        yield work.breathe()
        when = memory.clock() if last == end else when
        over = _over(talks, last_heard, when, conf.CONVERSATION_IDLE_SECONDS) if when else []
        if len(over) < enough and last < end:
            continue
        pending = yield _unsummarised(memory.id, over, work)
        if len(pending) >= wanted or last == end:
            break
        enough = len(over) + wanted - len(pending)
    waiting = yield _unsummarised(memory.id, [_session(*talk) for talk in talks.items()], work)
    begins = min((each.entries[0].id for each in waiting), default=max(start, end) + 1)
    return _Found(pending, begins, end < settled)


def _over(
    talks: dict[tuple, list[Entry]], last_heard: dict[tuple, str], when: str, stale: float
) -> list[Session]:
    """Those conversations that were idle for `stale` seconds at `when`, as far as their summary
    goes."""
    return [
        _session(circle, entries)
        for circle, entries in talks.items()
        if seconds_between(last_heard[circle], when) > stale
    ]


def _session(circle: tuple, entries: list[Entry]) -> Session:
    return Session(circle[0], tuple(entries))


@defer.inlineCallbacks
def _unsummarised(
    agent_id: str, sessions: list[Session], work: Work
) -> Generator[Any, Any, list[Session]]:
    ids = [session.summary_id(agent_id) for session in sessions]
    existing = yield work.run(memory_store.existing, ids)
    return [each for each in sessions if each.summary_id(agent_id) not in existing]


def store_summary(agent_id: str, session: Session, summary: str, provider: str) -> None:
    """Mark the originals, then write the summary (worker thread)."""
    store = memory_store.shared()
    originals = store.get([entry_memory_id(agent_id, entry.id) for entry in session.entries])
    store.change_each(
        {
            memory.id: {"compressed": True}
            for memory in originals
            if memory.memory_type == "episodic"
            and not memory.compressed
            and not KEPT_TAGS & set(memory.tags)
        }
    )
    importance = fmean(entry.importance for entry in session.entries) / 10  # [C §3] their mean
    memory = MemoryRecord.drawn(
        session.summary_id(agent_id),
        summary,
        "summary",
        session.entries,
        memory_type="semantic",
        session_id=session.session_id,
        importance=importance,
        memory_weight=importance,
        compression_source=True,
        provider=provider,
    )
    store.insert_new(
        agent_id, components.completed([memory]), embedder.shared().encode([summary], keep=True)
    )
