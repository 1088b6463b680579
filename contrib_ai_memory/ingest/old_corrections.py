"""Corrections of what was said long before, read from the store.

A correction of a line shortly before it is completed from the journal
(`ingest.corrected_lines`). One of a line that it ended long ago ("my brother is Rob, not Hob", a
week later) finds that line here: completed, it tells all else that the line told. Worker threads
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import language
from ..records import MemoryRecord
from ..store import memory_store
from ..store.payload import entry_memory_id
from ..store.protocol import MemoryStore

CORRECTED_IN_TURN = 4  # corrections of corrections
CORRECTED = 8  # memories that one correction has ended, looked at when it is told


def completed_in_store(
    agent_id: str, told: Sequence[MemoryRecord], called: tuple[str, ...]
) -> dict[str, MemoryRecord]:
    """Return corrections as the statements that they mean, by their ids.

    Each has the numbers of the lines that it corrects too, on which an answer that tells it rests.
    A line with another audience completes nothing.

    Args:
        told: Lines that may correct.
        called: Forms of the NPC's name, by which they may address it.
    """
    store = memory_store.shared()
    found = ((line, _completed(store, agent_id, line, called)) for line in told)
    return {line.id: done[1] for line, done in found if done}


def set_right_in_store(agent_id: str, entry_id: int, called: tuple[str, ...]) -> str:
    """Return what an entry says in place of words of its speaker long before it, or ""."""
    store = memory_store.shared()
    for line in store.get([entry_memory_id(agent_id, entry_id)]):
        if done := _completed(store, agent_id, line, called):
            known, meant = done
            return language.get().changed(known, meant.quote)
    return ""


def _completed(
    store: MemoryStore,
    agent_id: str,
    line: MemoryRecord,
    called: tuple[str, ...],
    deep: int = CORRECTED_IN_TURN,
) -> tuple[str, MemoryRecord] | None:
    """Return what a line corrected, and the line as what it means; None if it corrected nothing.

    What it corrected may be a correction too.
    """
    spoken = language.get()
    said = spoken.without_address(line.said, called)
    if not (deep and spoken.may_correct(said)):
        return None
    for old in store.list(agent_id, limit=CORRECTED, superseded_by=line.id):
        if old.record != "entry" or (old.about, old.audience) != (line.about, line.audience):
            continue
        done = _completed(store, agent_id, old, called, deep - 1)
        old = done[1] if done else old
        known = spoken.without_address(old.said, called)
        if meant := spoken.corrected(said, [known], names_wrong=True):
            ids = (*line.journal_ids, *old.journal_ids)
            return known, replace(line, quote=meant[1], journal_ids=ids)
    return None


def meaning(store: MemoryStore, agent_id: str, line: MemoryRecord, called: tuple[str, ...]) -> str:
    """Return what a line says, or what it means if it corrected another."""
    done = _completed(store, agent_id, line, called) if line.record == "entry" else None
    return language.get().without_address((done[1] if done else line).said, called)
