"""Slots of stated preferences, the key-value half of routing [C §1.6].

A preference that is taught (`fill`) or heard in talk (`fill_heard`) takes its slot, and the
memory that the slot named before is retired, so that recall finds the new one. Slots are Attributes
and are written on the reactor thread. Repeated calls change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import language
from ..conf import DISCARD_BELOW
from ..language import Stated
from ..llm import router
from ..records import LOCKED, Entry, MemoryRecord
from ..store import memory_store
from ..store.evidence import Work
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id, memory_id_for
from ..store.preferences import Preference, Preferences
from . import endings
from .endings import End

SLOTS_A_LINE = 4  # a line that fills more is talk for its own sake, and each is a row to write


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A memory that is about to be stored."""

    memory: MemoryRecord
    place: tuple[int, int]  # number of its chunk, and its own number in the chunk
    preference: Stated | None = None  # that it states
    vector: np.ndarray | None = None  # of its key
    kept: bool = False  # whether its chunk is important enough


# --- taught ---------------------------------------------------------------------------------------


def fill(
    memory: Memory, user: str | None, drafts: Sequence[Draft], locked: Collection[str] = ()
) -> tuple[list[Draft], list[End]]:
    """Put the preferences that a taught text states into their slots (reactor thread).

    The last statement about a slot holds. A preference that changes a known one is kept even if it
    weighs little: "I hate tea" is hardly novel beside "I love tea".

    Args:
        locked: Ids of memories that are not replaced; what contradicts them is kept as past.

    Returns:
        The drafts to store, each under the id of the memory that says it, and what they replace.
    """
    identity = user or ""
    stored: list[Draft] = []
    superseded: list[End] = []
    for slot, stating in _by_slot(memory.preferences, identity, drafts).items():
        known = memory.preferences.get(identity, slot, stating[0].memory.audience)
        # for those who heard it, a whisper may change what was said aloud
        changes = known or memory.preferences.get(identity, slot)
        stating = [draft for draft in stating if draft.kept or changes]
        if known and known.memory_id in locked:
            against = [draft for draft in stating if not known.says(draft.memory.key)]
            stored += [_under(draft.memory.id, draft) for draft in against]
            superseded += [End(draft.memory.id, known.memory_id, known.since) for draft in against]
            stating = [draft for draft in stating if known.says(draft.memory.key)]
        again = known and stating and known.says(stating[-1].memory.key)
        # when the last statement repeats the known one, those before it were settled then
        for draft in stating[-1:] if again else stating:
            known = _set(memory, identity, slot, draft, known)
        if known and stating:
            ids = [known.memory_of(draft.memory.key) for draft in stating]
            stored += [_under(i, draft) for i, draft in zip(ids, stating, strict=True) if i]
            superseded += replaced(known)
    return stored, superseded


def _by_slot(
    preferences: Preferences, identity: str, drafts: Sequence[Draft]
) -> dict[str, list[Draft]]:
    """Drafts that state a preference, by the slot that they fill."""
    slots: dict[str, list[Draft]] = {}
    compared: dict[str, set[str]] = {}  # slot → what this text compares it with
    for draft in drafts:
        if draft.preference is None:
            continue
        said = draft.preference
        slot = next(
            (other for other in said.mentions if said.filled in compared.get(other, ())),
            preferences.slot_for(identity, said.filled, said.mentions, draft.memory.audience),
        )
        slots.setdefault(slot, []).append(draft)
        compared.setdefault(slot, set()).update({said.slot, *said.mentions} - {slot})
    return slots


def _set(
    memory: Memory, identity: str, slot: str, draft: Draft, known: Preference | None
) -> Preference:
    record = draft.memory
    memory_id = record.id
    if known:
        # a preference that was changed and changed back is a new memory with a time of its own
        memory_id = memory_id_for(memory.id, record.id, "after", known.memory_id)
    return memory.preferences.set(
        identity,
        slot,
        record.key,
        record.created_at,
        memory_id=memory_id,
        mentions=_compared_with(draft.preference, slot) if draft.preference else (),
        private=record.private,
        witnesses=record.witnesses,
    )


def _under(memory_id: str, draft: Draft) -> Draft:
    """The draft under the id of the memory that says the same, weighty enough to be kept."""
    importance = max(draft.memory.importance, DISCARD_BELOW)
    memory = replace(draft.memory, id=memory_id, importance=importance, memory_weight=importance)
    return replace(draft, memory=memory, kept=True)


# --- heard ----------------------------------------------------------------------------------------


@defer.inlineCallbacks
def fill_heard(memory: Memory, entries: Sequence[Entry], work: Work) -> Generator[Any, Any, None]:
    """Put the preferences that stored entries state, oldest first, into their slots.

    Only where rules judge: a language model draws them at night, with their slots (`fill_by_fact`).
    """
    if not router.rules_judge(memory.settings):
        return
    superseded: list[End] = []
    for entry in entries:
        for said in preferences_of(entry):
            superseded += yield _fill(memory, entry, said, work)
            yield work.breathe()
    if superseded:
        yield work.run(retire, memory.id, superseded)


def preferences_of(entry: Entry) -> list[Stated]:
    """The preferences that the speaker of an entry states: the last of each slot, four at most.

    Only those that name a slot: "I love it" replaces nothing, and neither does a question.
    """
    heard = entry.origin == "perceived" and entry.learnable and entry.source_entity
    if not heard or entry.is_question:
        return []
    found = language.get().preferences(entry.content)
    return list({said.filled: said for said in found}.values())[:SLOTS_A_LINE]


def fill_by_fact(memory: Memory, fact: MemoryRecord, fact_id: str, slot: str) -> None:
    """Put a preference that a language model drew into the slot that it named (reactor thread).

    Nothing is retired here: what the fact replaces was decided when it was reconciled. What is
    nobody's in particular has no slot.
    """
    if fact.about is None:
        return
    known = memory.preferences.get(fact.about, slot, fact.audience)
    if known is None or known.since <= fact.valid_from:
        memory.preferences.set(
            fact.about,
            slot,
            fact.content,
            fact.valid_from,
            fact.journal_ids[-1],
            memory_id=fact_id,
            private=fact.private,
            witnesses=fact.witnesses,
        )


@defer.inlineCallbacks
def _fill(memory: Memory, entry: Entry, said: Stated, work: Work) -> Generator[Any, Any, list[End]]:
    """Put one preference into its slot. Returns (as a Deferred) what it replaces."""
    identity, audience = entry.source_entity or "", entry.audience
    memory_id = entry_memory_id(memory.id, entry.id)
    slot = memory.preferences.slot_for(identity, said.filled, said.mentions, audience)
    holds = memory.preferences.get(identity, slot, audience)
    stays = False
    if holds is not None and not holds.says(said.text):
        stays = _is_past(entry, holds)
        if not stays:  # nothing replaces what a builder locked
            locked = yield work.run(memory_store.locked_among, memory.id, {holds.memory_id})
            stays = bool(locked)
    if holds is None or not stays:
        holds = memory.preferences.set(
            identity,
            slot,
            said.text,
            entry.timestamp,
            entry.id,
            memory_id=memory_id,
            mentions=_compared_with(said, slot),
            private=audience is not None,
            witnesses=entry.witnesses,
        )
    since = None if holds.says(said.text) else holds.since
    # the history of the slot comes last: it names the direct successor of a memory
    marks = [End(memory_id, holds.memory_id, since), *replaced(holds)]
    return [mark for mark in marks if mark.past != mark.by]


def _is_past(entry: Entry, holds: Preference) -> bool:
    """Whether an entry was settled before, or is older than what the slot holds."""
    settled = [held.journal_id or 0 for held in holds.history] + [holds.journal_id or 0]
    return entry.id <= max(settled) or entry.timestamp < holds.since


# --- both -----------------------------------------------------------------------------------------


def _compared_with(said: Stated, slot: str) -> tuple[str, ...]:
    """The other slots of a comparison, whichever of them it is kept under."""
    return tuple(other for other in (said.slot, *said.mentions) if other != slot)


def replaced(preference: Preference) -> list[End]:
    """The earlier values of a slot, each with the one that replaced it."""
    ids = [*(held.memory_id for held in preference.history), preference.memory_id]
    return [
        End(old, new, held.until)
        for (old, new), held in zip(pairwise(ids), preference.history, strict=True)
    ]


def retire(agent_id: str, superseded: Sequence[End]) -> None:
    """Mark replaced memories as superseded, except locked ones (worker thread)."""
    store = memory_store.shared()
    marks = {mark.past: mark for mark in superseded if mark.past and mark.past != mark.by}
    there = {memory.id for memory in store.get({mark.by for mark in marks.values()})}
    for memory in store.get(marks):
        mark = marks[memory.id]
        if memory.superseded_by or LOCKED in memory.tags or _says_more(memory):
            continue
        told = [memory]
        if mark.since:
            told += store.derived_from(agent_id, memory)
        elif mark.by not in there:  # nothing would tell it
            continue
        endings.end(store, [replace(mark, past=each.id) for each in told], spared={LOCKED})


def _says_more(memory: MemoryRecord) -> bool:
    """Whether a line of talk says more than one preference, which would be retired with it.

    A greeting does not count.
    """
    return memory.record == "entry" and language.get().says_more(memory.content)
