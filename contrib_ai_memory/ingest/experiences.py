"""Extraction of experiences from snippets, the background loop [B].

It runs where rules judge, and with the profile of the sources. Otherwise another provider gives an
experience with its look at a talk (`sleep.consolidation`).

A snippet is a run of talk in one conversation with one audience: six messages, or fewer if the
audience changes or the talk falls silent. A cursor in the journal marks what has been extracted, so
that no message is extracted twice, not even after a restart.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding import embedder, emotions
from ..llm import router
from ..llm.provider import Passage
from ..records import LOCKED, Entry, ExperienceDraft, MemoryRecord, seconds_between
from ..store import memory_store
from ..store.evidence import Work
from ..store.journal import join_ranges, ranges_of
from ..store.npc_memory import Memory
from ..store.payload import memory_id_for

CURSOR = "extracted"
LOOK_AHEAD = 200  # entries looked at for the next snippet
SNIPPETS_A_TICK = 4
LOOKS_A_TICK = 16  # windows looked at for these; some hold nothing to learn from


@defer.inlineCallbacks
def extract_experiences(
    memory: Memory, *, until_silent: bool = False, priority: int = offload.AWAKE
) -> Generator[Any, Any, int]:
    """Extract experiences from new journal entries, at most four snippets per call.

    Args:
        until_silent: Take a last snippet of fewer than six messages without waiting for silence.

    Returns (as a Deferred):
        The number of snippets read; `SNIPPETS_A_TICK` if there is more.
    """
    done = 0
    for _ in range(LOOKS_A_TICK):
        start = memory.journal.cursors.get(CURSOR, 0)
        run, end = _next_run(memory, until_silent)
        if run:
            context = _context(memory, run)
            with memory.evidence.work_on(context, priority=priority) as work:
                provider, draft = yield _ask(memory, run, context, work)
                if draft is not None and draft.memory_weight > conf.KEEP_EXPERIENCE_ABOVE:
                    ids = ranges_of(entry.id for entry in context)
                    shown = "" if provider == router.OFFLINE else ids
                    yield work.run(keep, memory.id, draft, run, provider, shown)
        memory.journal.advance_cursor(CURSOR, end)
        done += bool(run)
        if end == start or done == SNIPPETS_A_TICK:
            return done
        yield offload.breathe(offload.AWAKE)
    return SNIPPETS_A_TICK  # there is more


@defer.inlineCallbacks
def _ask(
    memory: Memory, run: tuple[Entry, ...], context: tuple[Entry, ...], work: Work
) -> Generator[Any, Any, tuple[str, ExperienceDraft | None]]:
    """Ask for the experience of a run, as a Deferred: who answered, and the draft."""
    passage = Passage(
        npc_name=memory.name,
        entries=run,
        around=tuple(each for each in context if each not in run),
        goals=memory.goals,
        known_names=memory.people.names(),
    )
    if router.rules_judge(memory.settings):
        return (yield work.ask("extract_experience", passage))
    provider, digest = yield work.ask("digest", passage)
    return provider, next(iter(digest.experiences), None)


def _next_run(memory: Memory, until_silent: bool) -> tuple[tuple[Entry, ...], int]:
    """The next run of messages if it is complete, and the entry id that the cursor moves to."""
    start = memory.journal.cursors.get(CURSOR, 0)
    run: list[Entry] = []
    end = start
    complete = until_silent
    for entry in memory.journal.read(start + 1, start + LOOK_AHEAD):
        if entry.learnable:
            if run and entry.circle != run[-1].circle:
                complete = True
                break
            run.append(entry)
            if len(run) == conf.CONTEXT_SNIPPET:
                complete = True
                break
        elif not run:
            end = entry.id  # nothing to learn from
    if not run:  # look further on with the next call
        return (), max(start, min(start + LOOK_AHEAD, len(memory.journal)))
    silence = seconds_between(run[-1].timestamp, memory.clock())
    if complete or silence >= memory.settings.QUIET_SECONDS:
        return tuple(run), run[-1].id
    return (), end


def _context(memory: Memory, run: Sequence[Entry]) -> tuple[Entry, ...]:
    """The run, what others and the NPC said in between, and some talk before it."""
    before = memory.journal.read(run[0].id - 4 * conf.CONTEXT_SNIPPET, run[-1].id)
    audience, new = run[0].audience, {entry.id for entry in run}
    around = [
        entry
        for entry in before
        if entry.id not in new
        and entry.session_id == run[0].session_id
        and entry.audience in (None, audience)
    ]
    between = [entry for entry in around if entry.id > run[0].id][-conf.CONTEXT_SNIPPET :]
    earlier = [entry for entry in around if entry.id < run[0].id][-conf.CONTEXT_SNIPPET :]
    return tuple(sorted([*earlier, *between, *run], key=lambda entry: entry.id))


def keep(
    agent_id: str,
    draft: ExperienceDraft,
    entries: tuple[Entry, ...],
    provider: str,
    shown: str = "",
) -> str:
    """Store an experience, or reinforce the same one if it is known (worker thread).

    Args:
        shown: Journal ids of all that the provider was shown (`store.journal.ranges_of`).

    Returns:
        The id of the experience that now rests on these entries.
    """
    if draft.journal_ids:
        entries = tuple(entry for entry in entries if entry.id in draft.journal_ids)
    speakers = {entry.source_entity for entry in entries}
    labels = draft.dominant_emotions or emotions.classify([draft.essence])[0]
    experience = MemoryRecord.drawn(
        memory_id_for(agent_id, "experience", *(entry.id for entry in entries)),
        draft.essence,
        "experience",
        entries,
        about=speakers.pop() if len(speakers) == 1 else None,
        importance=max(draft.memory_weight, max(entry.importance for entry in entries) / 10),
        memory_weight=draft.memory_weight,
        dominant_emotions=labels,
        the_lesson=draft.the_lesson,
        created_at=entries[-1].timestamp,
        valid_from="",
        provider=provider,
        context=shown,
    )
    return remember_or_reinforce(agent_id, experience)


def remember_or_reinforce(agent_id: str, experience: MemoryRecord) -> str:
    """Store an experience, unless one of the same audience has a cosine of 0.92 or more to it [B].

    That one is reinforced: one more access, the newer lesson, the higher weight, the evidence of
    both. Called again with the same evidence, nothing changes.
    """
    store = memory_store.shared()
    vector = embedder.shared().encode([experience.content])[0]
    for hit in store.nearest(agent_id, vector, 5, record="experience"):
        known = hit.memory
        if hit.score < conf.DEDUP_COSINE:
            break
        if known.audience != experience.audience:
            continue
        reinforce(known, experience, the_lesson=experience.the_lesson or known.the_lesson)
        return known.id
    store.insert_new(agent_id, [experience], vector[None])
    return experience.id


def reinforce(known: MemoryRecord, again: MemoryRecord, **more: Any) -> None:
    """Add the evidence of a memory to one that says the same, unless it has it or is locked.

    (Worker thread.) One more access and the higher weight, and `more` fields.
    """
    new = [each for each in again.journal_ids if each not in known.journal_ids]
    if new and LOCKED not in known.tags:
        memory_store.shared().change(
            known.id,
            access_count=known.access_count + 1,
            last_accessed=max(known.last_accessed, again.last_accessed),
            memory_weight=max(known.memory_weight, again.memory_weight),
            journal_ids=[*known.journal_ids, *new],
            context=join_ranges(known.context, again.context),
            **more,
        )
