"""Stated preferences into their slots: the key-value half of step 5 of [C §1].

`settle` puts those of a text that is taught into their slots; those heard in talk are `hearing`'s,
which shares `slot_of`, `compared_with` and `replaced`. All that runs on the reactor thread, which
alone writes Attributes. `retire` runs on the worker thread and marks what is preferred no longer,
so that recall brings the new one to mind. Done again, all change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..conf import DISCARD_BELOW
from ..records import LOCKED, MemoryRecord
from ..store import facts, locks
from ..store.payload import memory_id_for
from ..store.preferences import Preference, Preferences
from ..text.signals import preferences_in, signals_of
from ..text.slots import Stated
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


def known_of(mind: Any, user: str | None, drafts: Sequence[Draft]) -> set[str]:
    """Return the ids of the memories that fill the slots of `drafts` now (reactor thread)."""
    identity = user or ""
    found = (
        mind.preferences.get(identity, slot, stating[0].memory.audience)
        for slot, stating in _by_slot(mind.preferences, identity, drafts).items()
    )
    return {known.memory_id for known in found if known and known.memory_id}


def locked_among(mind: str, memory_ids: Collection[str]) -> set[str]:
    """Return those of these memories that no talk and no lesson replaces (worker thread)."""
    return locks.locked_among(facts.shared(), mind, memory_ids)


def settle(
    mind: Any, user: str | None, drafts: Sequence[Draft], locked: Collection[str] = ()
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
    for slot, stating in _by_slot(mind.preferences, identity, drafts).items():
        known = mind.preferences.get(identity, slot, stating[0].memory.audience)
        # a whisper may change what was said aloud, for those who heard it
        changes = known or mind.preferences.get(identity, slot)
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
            known = _set(mind, identity, slot, draft, known)
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


def _set(mind: Any, identity: str, slot: str, draft: Draft, known: Preference | None) -> Preference:
    memory, said = draft.memory, draft.preference
    memory_id = memory.id
    if known:
        # said before, changed, and said again, it is another memory with a time of its own
        memory_id = memory_id_for(mind.id, memory.id, "after", known.memory_id)
    return mind.preferences.set(
        identity,
        slot,
        memory.key,
        memory.created_at,
        memory_id=memory_id,
        mentions=compared_with(said, slot),
        private=memory.private,
        witnesses=memory.witnesses,
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


def retire(mind: str, superseded: Sequence[Superseded]) -> None:
    """Mark what holds no longer, once, and nothing that is locked (worker thread)."""
    store = facts.shared()
    marks = {mark.old: mark for mark in superseded if mark.old and mark.old != mark.new}
    there = {memory.id for memory in store.get({mark.new for mark in marks.values()})}
    for memory in store.get(marks):
        mark = marks[memory.id]
        if memory.superseded_by or LOCKED in memory.tags or _says_more(memory):
            continue
        if mark.when:
            drawn = locks.drawn_from(store, mind, memory)
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
