"""Preferences heard in talk into their slots: what somebody says of themselves, as it is indexed.

A line of talk is a memory of its own already. Here its preference takes the slot that one which is
taught would take, and the memory that the slot named before is retired. Done again, in batches of
any length, it changes nothing: an entry that its slot knows, or that was said before what holds
now began, is in the past.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import Any

from twisted.internet import defer

from ..records import Entry
from ..store.evidence import Work
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
def settle_heard(mind: Any, entries: Sequence[Entry], work: Work) -> Generator[Any, Any, None]:
    """Put the preferences that indexed entries state into their slots. Reactor thread.

    Args:
        mind: The NPC's MemoryHandler.
        entries: Oldest first; they are in the store.
        work: Rests on them.
    """
    superseded: list[Superseded] = []
    for entry in entries:
        for said in preferences_of(entry):
            locked = yield _locked(mind, entry, said, work)
            superseded += _settle(mind, entry, said, locked)
            yield work.breathe()
    if superseded:
        yield work.run(preferring.retire, mind.id, superseded)


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
    mind: Any, entry: Entry, said: Stated, work: Work
) -> Generator[Any, Any, Collection[str]]:
    """The memory that fills the slot, if this would replace it and a builder has locked it."""
    slot = preferring.slot_of(mind.preferences, entry.source_entity, said, entry.audience)
    holds = mind.preferences.get(entry.source_entity, slot, entry.audience)
    if holds is None or holds.says(said.text) or _is_past(entry, holds):
        return ()
    return (yield work.run(preferring.locked_among, mind.id, {holds.memory_id}))


def _settle(
    mind: Any, entry: Entry, said: Stated, locked: Collection[str] = ()
) -> list[Superseded]:
    """One preference into its slot. Returns what is to be retired.

    Args:
        locked: Memories whose place none takes.
    """
    identity, audience = entry.source_entity, entry.audience
    memory_id = entry_memory_id(mind.id, entry.id)
    slot = preferring.slot_of(mind.preferences, identity, said, audience)
    holds = mind.preferences.get(identity, slot, audience)
    if (
        holds is None
        or holds.says(said.text)
        or not (_is_past(entry, holds) or holds.memory_id in locked)
    ):
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
