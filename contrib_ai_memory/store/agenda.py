"""Agenda: promises, debts, requests to the NPC and plans with a date (DESIGN §6, "Agenda").

One JSON Attribute an item, category `agenda`. The key is the item's id, which follows from the line
that states it, so that no line makes two items. An item that is past its due date stays open until
something says that it was done or broken.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from twisted.internet import defer

from .. import offload
from ..local_time import date_of
from ..records import AgendaItem
from . import attributes
from .journal import ranges_include
from .removal import Removal

CATEGORY = "agenda"
ITEMS_KEPT = 200  # of one NPC; beyond, finished ones go first, the oldest first
BROUGHT_UP = 8  # items that one reply is given
RECENTLY_DUE = 7  # days for which an item of other people is brought up after it was due


class Agenda:
    """The agenda of one NPC. Reactor thread only."""

    counted, category = "agenda", CATEGORY

    def __init__(self, npc: Any):
        self._npc = npc

    def __len__(self) -> int:
        return len(attributes.keys_of(self._npc, "", CATEGORY))

    def __iter__(self) -> Iterator[AgendaItem]:
        for plain in attributes.read_all_json(self._npc, CATEGORY):
            yield AgendaItem.from_dict(plain)

    def get(self, item_id: str) -> AgendaItem | None:
        """Return the item of an id, or None."""
        plain = attributes.read_json(self._npc, item_id, CATEGORY)
        return AgendaItem.from_dict(plain) if plain else None

    def items(self, listeners: Sequence[str] | None = None) -> list[AgendaItem]:
        """Return all items, the newest due date first, those without a date last.

        Args:
            listeners: Who will hear of them; None is a view from outside the game.
        """
        found = [item for item in self if item.visible_to(listeners)]
        return sorted(found, key=lambda item: (item.due, item.created, item.id), reverse=True)

    def of(self, identity: str, listeners: Sequence[str] | None = None) -> list[AgendaItem]:
        """Return the items that concern one person, in the order of `items`."""
        return [item for item in self.items(listeners) if item.concerns(identity)]

    def due_for(
        self, identity: str, now: str, listeners: Sequence[str] | None = None
    ) -> list[AgendaItem]:
        """Return the open items to bring up when a person is there, the most pressing first.

        These are the person's own, and those of anyone that came due within the last week.

        Args:
            identity: The person.
            now: ISO 8601.
            listeners: All who will hear of it; by default that person alone.
        """
        heard_by = (identity,) if listeners is None else (*listeners,)
        found = [
            item
            for item in self
            if item.state == "open"
            and item.visible_to(heard_by)
            and (
                item.concerns(identity)
                or (item.is_due(now) and _days_late(item, now) <= RECENTLY_DUE)
            )
        ]
        found.sort(key=lambda item: item.created, reverse=True)
        found.sort(
            key=lambda item: (not item.is_due(now), not item.concerns(identity), item.due or "~")
        )
        return found[:BROUGHT_UP]

    def put(self, item: AgendaItem) -> None:
        """Write an item as it is; drop the oldest if there are too many."""
        attributes.write_json(self._npc, item.id, item.to_dict(), CATEGORY)
        excess = len(self) - ITEMS_KEPT
        if excess > 0:
            oldest = sorted(self, key=lambda each: (each.state == "open", each.updated, each.id))
            for each in oldest[:excess]:
                self.remove(each.id)

    def remove(self, item_id: str) -> None:
        """Delete an item if it exists."""
        attributes.remove_json(self._npc, item_id, CATEGORY)

    def resting_on(self, removal: Removal) -> list[AgendaItem]:
        """Return the items that go with a removal, or change."""
        return [item for item in self if without(item, removal) != item]

    @defer.inlineCallbacks
    def take_out(self, removal: Removal) -> Generator[Any, Any, int]:
        """Remove the items that these entries state, and the end of those that they close; of a
        person also those that are theirs, owed to them or name them. See `MemoryPart`."""
        removed = 0
        for found in self.resting_on(removal):
            item = self.get(found.id)  # it may have changed since
            left = without(item, removal) if item else None
            if left:
                self.put(left)
            else:
                self.remove(found.id)
                removed += 1
            yield offload.breathe()
        return removed

    def clear(self) -> None:
        """Delete all items."""
        self._npc.attributes.clear(category=CATEGORY)


def without(item: AgendaItem, removal: Removal) -> AgendaItem | None:
    """Return an item without what goes; None if all of it goes.

    Open again if what goes alone closed it. The sentence of a language model that was shown one of
    the entries goes too: it may tell of any line it was drawn beside. The item's own words stay.
    """
    subject, gone = removal.subject, removal.entries
    if not gone.isdisjoint(item.evidence) or item.concerns(subject.identity):
        return None
    if subject.named_in(item.text, item.told):
        return None
    if ranges_include(item.context, gone):
        item = replace(item, told="", context="")
    left = tuple(each for each in item.closed_by if each not in gone)
    state = item.state if left else "open"
    return replace(item, closed_by=left, state=state, witnesses=removal.others(item.witnesses))


def _days_late(item: AgendaItem, now: str) -> int:
    return (date_of(now) - date.fromisoformat(item.due)).days
