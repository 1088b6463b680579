"""Stated preferences into their slots: the key-value half of step 5 of [C §1].

`settle` puts those of a text that is taught into their slots; those heard in talk are `hearing`'s,
which shares `slot_of`, `compared_with` and `replaced`. All that runs on the reactor thread, which
alone writes Attributes. `retire` runs on the worker thread and marks what is preferred no longer,
so that recall brings the new one to mind. Done again, all change nothing.

Preferences heard in talk into their slots: what somebody says of themselves, as it is indexed.

A line of talk is a memory of its own already. Here its preference takes the slot that one which is
taught would take, and the memory that the slot named before is retired. Done again, in batches of
any length, it changes nothing: an entry that its slot knows, or that was said before what holds
now began, is in the past.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from twisted.internet import defer

from ..conf import DISCARD_BELOW
from ..english.preferences import Stated, preferences_in, stated, states_preference
from ..english.salience import signals_of
from ..english.sentences import own_statements
from ..records import LOCKED, Entry, MemoryRecord
from ..store import locked_memories, memory_store
from ..store.evidence import Work
from ..store.payload import entry_memory_id, memory_id_for
from ..store.preferences import Preference, Preferences
from .routing import parts_of, states_a_fact


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A memory on its way into the store.

    Attributes:
        memory: As it will be stored.
        place: The number of its chunk, and its own in the chunk.
        preference: What it states, if it is one.
        vector: Of its key.
        kept: Whether its chunk is important enough.
    """

    memory: MemoryRecord
    place: tuple[int, int]
    preference: Stated | None = None
    vector: np.ndarray | None = None
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Superseded:
    """A memory that holds no longer since `when`, and the one that took its place.

    Without a `when` it still holds, and the other says the same: it is told once.
    """

    old: str
    new: str
    when: str | None


def known_of(memory: Any, user: str | None, drafts: Sequence[Draft]) -> set[str]:
    """Return the ids of the memories that fill the slots of `drafts` now (reactor thread)."""
    identity = user or ""
    found = (
        memory.preferences.get(identity, slot, stating[0].memory.audience)
        for slot, stating in _by_slot(memory.preferences, identity, drafts).items()
    )
    return {known.memory_id for known in found if known and known.memory_id}


def locked_among(agent_id: str, memory_ids: Collection[str]) -> set[str]:
    """Return those of these memories that no talk and no lesson replaces (worker thread)."""
    return locked_memories.locked_among(memory_store.shared(), agent_id, memory_ids)


def settle(
    memory: Any, user: str | None, drafts: Sequence[Draft], locked: Collection[str] = ()
) -> tuple[list[Draft], list[Superseded]]:
    """Put the preferences among `drafts` into their slots (reactor thread).

    What a text says last of a slot is what holds. A preference that changes a known one is kept
    however little it weighs: "I hate tea" is hardly new beside "I love tea". What contradicts one
    of `locked` (memory ids) is kept as past.

    Returns:
        The drafts to store, each under the id of the memory that says it, and what they replace.
    """
    identity = user or ""
    stored: list[Draft] = []
    superseded: list[Superseded] = []
    for slot, stating in _by_slot(memory.preferences, identity, drafts).items():
        known = memory.preferences.get(identity, slot, stating[0].memory.audience)
        # a whisper may change what was said aloud, for those who heard it
        changes = known or memory.preferences.get(identity, slot)
        stating = [draft for draft in stating if draft.kept or changes]
        if not stating:
            continue
        if known and known.memory_id in locked:
            against = [draft for draft in stating if not known.says(draft.memory.key)]
            stored += [_under(draft.memory.id, draft) for draft in against]
            superseded += [
                Superseded(draft.memory.id, known.memory_id, known.since) for draft in against
            ]
            stating = [draft for draft in stating if known.says(draft.memory.key)]
            if not stating:
                continue
        again = known and known.says(stating[-1].memory.key)
        # said again, what came before it in the text was settled when it was said first
        for draft in stating[-1:] if again else stating:
            known = _set(memory, identity, slot, draft, known)
        for draft in stating:
            memory_id = known.memory_of(draft.memory.key)
            if memory_id:
                stored.append(_under(memory_id, draft))
        superseded += replaced(known)
    return stored, superseded


def _by_slot(
    preferences: Preferences, identity: str, drafts: Sequence[Draft]
) -> dict[str, list[Draft]]:
    slots: dict[str, list[Draft]] = {}
    compared: dict[str, set[str]] = {}  # slot → what this text compares it with
    for draft in drafts:
        if draft.preference is None:
            continue
        said = draft.preference
        slot = next(
            (other for other in said.mentions if said.filled in compared.get(other, ())),
            slot_of(preferences, identity, said, draft.memory.audience),
        )
        slots.setdefault(slot, []).append(draft)
        compared.setdefault(slot, set()).update({said.slot, *said.mentions} - {slot})
    return slots


def slot_of(
    preferences: Preferences, identity: str, said: Stated, audience: tuple[str, ...] | None
) -> str:
    """The slot that `identity` fills with what they said: that of a comparison turned round too."""
    return preferences.slot_for(identity, said.filled, said.mentions, audience)


def compared_with(said: Stated, slot: str) -> list[str]:
    """The slots that are mentioned with it, under whichever of them it is kept."""
    return [other for other in (said.slot, *said.mentions) if other != slot]


def _set(
    memory: Any, identity: str, slot: str, draft: Draft, known: Preference | None
) -> Preference:
    record, said = draft.memory, draft.preference
    memory_id = record.id
    if known:
        # said before, changed, and said again, it is another memory with a time of its own
        memory_id = memory_id_for(memory.id, record.id, "after", known.memory_id)
    return memory.preferences.set(
        identity,
        slot,
        record.key,
        record.created_at,
        memory_id=memory_id,
        mentions=compared_with(said, slot),
        private=record.private,
        witnesses=record.witnesses,
    )


def _under(memory_id: str, draft: Draft) -> Draft:
    importance = max(draft.memory.importance, DISCARD_BELOW)
    memory = replace(draft.memory, id=memory_id, importance=importance, memory_weight=importance)
    return replace(draft, memory=memory, kept=True)


def replaced(preference: Preference) -> list[Superseded]:
    """Every earlier value of a slot with the one that took its place."""
    ids = [*(held.memory_id for held in preference.history), preference.memory_id]
    return [
        Superseded(old, new, held.until)
        for (old, new), held in zip(pairwise(ids), preference.history, strict=True)
    ]


def retire(agent_id: str, superseded: Sequence[Superseded]) -> None:
    """Mark what holds no longer, once, and nothing that is locked (worker thread)."""
    store = memory_store.shared()
    marks = {mark.old: mark for mark in superseded if mark.old and mark.old != mark.new}
    there = {memory.id for memory in store.get({mark.new for mark in marks.values()})}
    for memory in store.get(marks):
        mark = marks[memory.id]
        if memory.superseded_by or LOCKED in memory.tags or _says_more(memory):
            continue
        if mark.when:
            drawn = locked_memories.derived_from(store, agent_id, memory)
            held = [each for each in drawn if not each.superseded_by and LOCKED not in each.tags]
            for each in (memory, *held):
                store.change(each.id, invalid_at=mark.when, superseded_by=mark.new)
        elif mark.new in there:  # else it would be told by nobody
            store.change(memory.id, superseded_by=mark.new)


def _says_more(memory: MemoryRecord) -> bool:
    """Whether a line of talk holds anything besides one preference: it would go with it.

    A greeting is nothing, by name or not.
    """
    if memory.record != "entry":
        return False
    rest = [part.text for part in parts_of(memory.content) if part.preference is None]
    return preferences_in(memory.content) > 1 or any(
        states_a_fact(text)
        or any(adds > 0 for name, adds in signals_of(text).items() if name != "named entity")
        for text in rest
    )


# --- hearing --------------------------------------------------------------------------------------

SLOTS_A_LINE = 4  # a line that fills more is talk for its own sake, and each is a row to write


@defer.inlineCallbacks
def settle_heard(memory: Any, entries: Sequence[Entry], work: Work) -> Generator[Any, Any, None]:
    """Put the preferences that indexed entries state into their slots. Reactor thread.

    Args:
        memory: The NPC's MemoryHandler.
        entries: Oldest first; they are in the store.
        work: Rests on them.
    """
    superseded: list[Superseded] = []
    for entry in entries:
        for said in preferences_of(entry):
            locked = yield _locked(memory, entry, said, work)
            superseded += _settle(memory, entry, said, locked)
            yield work.breathe()
    if superseded:
        yield work.run(retire, memory.id, superseded)


def preferences_of(entry: Entry) -> list[Stated]:
    """What the speaker of an entry says that they prefer: the last of each slot, four at most.

    Only what a rule can name a slot for: "I love it" takes the place of nothing. A question is
    never told again, so that it takes the place of nothing either.
    """
    heard = entry.origin == "perceived" and entry.learnable and entry.source_entity
    if not heard or not states_preference(entry.content) or entry.is_question:
        return []
    told = [part for part in parts_of(own_statements(entry.content)) if part.preference]
    found = filter(None, (stated(part.text) for part in told))
    return list({said.filled: said for said in found}.values())[:SLOTS_A_LINE]


@defer.inlineCallbacks
def _locked(
    memory: Any, entry: Entry, said: Stated, work: Work
) -> Generator[Any, Any, Collection[str]]:
    """The memory that fills the slot, if this would replace it and a builder has locked it."""
    slot = slot_of(memory.preferences, entry.source_entity, said, entry.audience)
    holds = memory.preferences.get(entry.source_entity, slot, entry.audience)
    if holds is None or holds.says(said.text) or _is_past(entry, holds):
        return ()
    return (yield work.run(locked_among, memory.id, {holds.memory_id}))


def _settle(
    memory: Any, entry: Entry, said: Stated, locked: Collection[str] = ()
) -> list[Superseded]:
    """One preference into its slot. Returns what is to be retired.

    Args:
        locked: Memories whose place none takes.
    """
    identity, audience = entry.source_entity, entry.audience
    memory_id = entry_memory_id(memory.id, entry.id)
    slot = slot_of(memory.preferences, identity, said, audience)
    holds = memory.preferences.get(identity, slot, audience)
    if (
        holds is None
        or holds.says(said.text)
        or not (_is_past(entry, holds) or holds.memory_id in locked)
    ):
        holds = memory.preferences.set(
            identity,
            slot,
            said.text,
            entry.timestamp,
            entry.id,
            memory_id=memory_id,
            mentions=compared_with(said, slot),
            private=entry.private,
            witnesses=entry.witnesses,
        )
    since = None if holds.says(said.text) else holds.since
    # what the slot itself knows comes last: there a memory's own successor is named
    marks = [Superseded(memory_id, holds.memory_id, since), *replaced(holds)]
    return [mark for mark in marks if mark.old != mark.new]


def _is_past(entry: Entry, holds: Preference) -> bool:
    """Whether an entry was settled before, or was said before what holds now began."""
    settled = [each.journal_id for each in (*holds.history, holds) if each.journal_id]
    return entry.id <= max(settled, default=0) or entry.timestamp < holds.since
