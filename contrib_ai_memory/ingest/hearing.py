"""Preferences heard in talk into their slots: what somebody says of themselves, as it is indexed.

A line of talk is a memory of its own already. Here its preference takes the slot that one which is
taught would take, and the memory that the slot named before is retired. Done again, in batches of
any length, it changes nothing: an entry that its slot knows, or that was said before what holds
now began, is in the past.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from twisted.internet import defer

from .. import offload
from ..records import Entry
from ..store.payload import entry_memory_id
from ..store.preferences import Preference
from ..text.signals import states_preference
from ..text.slots import Stated, stated
from ..text.testimony import own_statements
from . import preferring
from .preferring import Superseded
from .routing import parts_of

SLOTS_A_LINE = 4  # a line that fills more is talk for its own sake, and each is a row to write


@defer.inlineCallbacks
def settle_heard(
    mind: Any, entries: Sequence[Entry], priority: int = offload.AWAKE
) -> Generator[Any, Any, None]:
    """Put the preferences that indexed entries state into their slots. Reactor thread.

    Args:
        mind: The NPC's MemoryHandler.
        entries: Oldest first; they are in the store.
        priority: Of the job on the worker thread, if there is anything to retire.
    """
    superseded: list[Superseded] = []
    for entry in entries:
        for said in preferences_of(entry):
            superseded += _settle(mind, entry, said)
            yield offload.breathe()
            if not mind.owner.pk:
                return  # deleted meanwhile
    if superseded:
        yield offload.run(offload.MEMORY, preferring.retire, mind.id, superseded, priority=priority)


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


def _settle(mind: Any, entry: Entry, said: Stated) -> list[Superseded]:
    """One preference into its slot. Returns what is to be retired."""
    identity, audience = entry.source_entity, entry.audience
    memory_id = entry_memory_id(mind.id, entry.id)
    slot = preferring.slot_of(mind.preferences, identity, said, audience)
    holds = mind.preferences.get(identity, slot, audience)
    if holds is None or holds.says(said.text) or not _is_past(entry, holds):
        holds = mind.preferences.set(
            identity,
            slot,
            said.text,
            entry.timestamp,
            entry.id,
            memory_id=memory_id,
            mentions=preferring.compared_with(said, slot),
            private=entry.private,
            witnesses=entry.witnesses,
        )
    since = None if holds.says(said.text) else holds.since
    # what the slot itself knows comes last: there a memory's own successor is named
    marks = [Superseded(memory_id, holds.memory_id, since), *preferring.replaced(holds)]
    return [mark for mark in marks if mark.old != mark.new]


def _is_past(entry: Entry, holds: Preference) -> bool:
    """Whether an entry was settled before, or was said before what holds now began."""
    settled = [each.journal_id for each in (*holds.history, holds) if each.journal_id]
    return entry.id <= max(settled, default=0) or entry.timestamp < holds.since
