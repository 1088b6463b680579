"""Session compression [C §3]: old conversations become two or three sentences each.

Above ten conversations that are not compressed, the oldest five are summarised; so they are where
fewer conversations fill more of the journal than one step reads. The originals stay:
they are marked, and give way to their summary where that is told (docs/adr/011). A summary is
written after its originals are marked, so that where it exists its work is done.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding import embedder
from ..records import (
    LOCKED,
    PINNED,
    Entry,
    MemoryRecord,
    PassReport,
    seconds_between,
    shared_privacy,
)
from ..store import facts
from ..store.evidence import Work
from ..store.payload import entry_memory_id, memory_id_for
from . import consolidation

CURSOR = "compressed"  # every conversation that began before it is compressed
UNTIL_CURSOR = "compress_until"  # and those up to it are to be

READ_AT_ONCE = 64
READ_AT_MOST = 4096  # entries looked at in one step; behind more, even few conversations are many
LINES_SUMMARISED = 200  # of one conversation; what is said beyond that stays as it is
KEPT_TAGS = frozenset({PINNED, LOCKED})


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation before one audience, as the journal has it."""

    session_id: str
    entries: tuple[Entry, ...]

    def summary_id(self, agent_id: str) -> str:
        audience = self.entries[0].audience
        return memory_id_for(agent_id, "summary", self.session_id, *(audience or ("*",)))


@defer.inlineCallbacks
def compress_sessions(memory: Any) -> Generator[Any, Any, PassReport]:
    """Summarise the oldest conversations where there are too many; one step does one of them."""
    settings = conf.get()
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
        # all of them are named before the first is done: a night that is killed does no more
        last = pending[min(settings.COMPRESS_SESSIONS, len(pending)) - 1]
        memory.journal.advance_cursor(UNTIL_CURSOR, last.entries[0].id)
        memory.journal.flush()
    oldest = pending[0]
    if oldest.entries[0].id > memory.journal.cursors.get(UNTIL_CURSOR, 0):
        return PassReport(done=True, read=len(pending))
    lines = [entry.told() for entry in oldest.entries]
    with memory.evidence.work_on(oldest.entries, priority=offload.NIGHT) as work:
        provider, summary = yield work.ask("summarise", lines)
        yield work.run(store_summary, memory.id, oldest, summary, provider)
    return PassReport(done=False, read=len(oldest.entries), changed=1)


@dataclass(frozen=True, slots=True)
class _Found:
    """What one look behind the cursor finds.

    Attributes:
        sessions: Conversations that are over, consolidated and not summarised, the oldest first:
            as many as decide whether there are too many.
        begins: The first entry that may belong to a conversation without a summary.
        more: Whether the journal goes on behind the entries that one step reads.
    """

    sessions: list[Session]
    begins: int
    more: bool


@defer.inlineCallbacks
def _pending(memory: Any, work: Work) -> Generator[Any, Any, _Found]:
    """Find the oldest conversations after the cursor that are to be summarised."""
    start = memory.journal.cursors.get(CURSOR, 0)
    settled = memory.journal.cursors.get(consolidation.CURSOR, 0)
    end = min(settled, start + READ_AT_MOST)
    enough = wanted = conf.get().COMPRESS_ABOVE + 1
    talks: dict[tuple, list[Entry]] = {}
    heard_last: dict[tuple, str] = {}  # when its last line was said
    pending: list[Session] = []
    for first in range(start + 1, end + 1, READ_AT_ONCE):
        last = min(first + READ_AT_ONCE - 1, end)
        when = ""
        for entry in memory.journal.read(first, last):
            when = entry.timestamp
            if entry.learnable and entry.session_id:
                lines = talks.setdefault(entry.circle, [])
                if len(lines) < LINES_SUMMARISED:  # what follows changes nothing of the summary
                    lines.append(entry)
                    heard_last[entry.circle] = when
        yield work.breathe()
        when = memory.clock() if last == end else when
        over = _over(talks, heard_last, when) if when else []
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
    talks: dict[tuple, list[Entry]], heard_last: dict[tuple, str], when: str
) -> list[Session]:
    """Those of these conversations that nothing was added to for an hour before `when`, or nothing
    that would change their summary."""
    stale = conf.get().STALE_CONVERSATION
    return [
        _session(circle, entries)
        for circle, entries in talks.items()
        if seconds_between(heard_last[circle], when) > stale
    ]


def _session(circle: tuple, entries: list[Entry]) -> Session:
    return Session(circle[0], tuple(entries))


@defer.inlineCallbacks
def _unsummarised(
    agent_id: str, sessions: list[Session], work: Work
) -> Generator[Any, Any, list[Session]]:
    ids = [session.summary_id(agent_id) for session in sessions]
    existing = yield work.run(existing_of, ids)
    return [each for each in sessions if each.summary_id(agent_id) not in existing]


# --- on the worker thread -------------------------------------------------------------------------


def existing_of(ids: list[str]) -> set[str]:
    """Those of these ids that the store has."""
    return {memory.id for memory in facts.shared().get(ids)}


def store_summary(agent_id: str, session: Session, summary: str, provider: str) -> None:
    """Mark the originals, then write the summary: where it exists, everything is done."""
    store = facts.shared()
    originals = store.get([entry_memory_id(agent_id, entry.id) for entry in session.entries])
    for memory in originals:
        if (
            memory.memory_type == "episodic"
            and not memory.compressed
            and not KEPT_TAGS & set(memory.tags)
        ):
            store.change(memory.id, compressed=True)
    private, witnesses = shared_privacy(session.entries)
    first, last = session.entries[0], session.entries[-1]
    importance = fmean(entry.importance for entry in session.entries) / 10  # [C §3] their mean
    memory = MemoryRecord(
        id=session.summary_id(agent_id),
        content=summary,
        key=summary,
        record="summary",
        memory_type="semantic",
        session_id=session.session_id,
        importance=importance,
        memory_weight=importance,
        journal_ids=tuple(entry.id for entry in session.entries),
        entities=tuple(sorted({who for entry in session.entries for who in entry.entities})),
        witnesses=witnesses,
        private=private,
        created_at=first.timestamp,
        last_accessed=last.timestamp,
        valid_from=first.timestamp,
        compression_source=True,
        provider=provider,
    )
    store.add(agent_id, [memory], embedder.shared().encode([summary], keep=True))
