"""Agenda: promises, debts, requests to the NPC and plans with a date (DESIGN §6, "Agenda").

One JSON Attribute an item, category `agenda`. The key is the item's id, which follows from the line
that states it, so that no line makes two items. An item that is past its due date stays open until
something says that it was done or broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from ..local_time import date_of
from ..records import AgendaItem
from .journal import ranges_include
from .removal import Removal, RowsPart

CATEGORY = "agenda"
ITEMS_KEPT = 200  # of one NPC; beyond, finished ones go first, the oldest first
BROUGHT_UP = 8  # items that one reply is given
RECENTLY_DUE = 7  # days for which an item of other people is brought up after it was due


class Agenda(RowsPart[AgendaItem]):
    """The agenda of one NPC."""

    counted, category, kind = "agenda", CATEGORY, AgendaItem

    def key(self, record: AgendaItem) -> str:
        return record.id

    def get(self, item_id: str) -> AgendaItem | None:
        return self.row(item_id)

    def items(self, listeners: Sequence[str] | None = None) -> list[AgendaItem]:
        """Return those that `listeners` may hear of (None: all), the newest due date first."""
        found = [item for item in self if item.visible_to(listeners)]
        return sorted(found, key=lambda item: (item.due, item.created, item.id), reverse=True)

    def of(self, identity: str, listeners: Sequence[str] | None = None) -> list[AgendaItem]:
        """Return the items that concern one person, in the order of `items`."""
        return [item for item in self.items(listeners) if item.concerns(identity)]

    def due_for(self, identity: str, now: str) -> list[AgendaItem]:
        """Return the open items to bring up when a person is there, the most pressing first.

        These are the person's own, and those of anyone that came due within the last week, as far
        as that person may hear of them.
        """
        lately = date_of(now) - timedelta(days=RECENTLY_DUE)
        found = [
            item
            for item in self
            if item.state == "open"
            and item.visible_to((identity,))
            and (
                item.concerns(identity)
                or (item.is_due(now) and date.fromisoformat(item.due) >= lately)
            )
        ]
        found.sort(key=lambda item: item.created, reverse=True)
        found.sort(
            key=lambda item: (not item.is_due(now), not item.concerns(identity), item.due or "~")
        )
        return found[:BROUGHT_UP]

    def put(self, record: AgendaItem) -> None:
        """Write an item as it is; drop the oldest if there are too many."""
        super().put(record)
        excess = len(self) - ITEMS_KEPT
        if excess > 0:
            oldest = sorted(self, key=lambda each: (each.state == "open", each.updated, each.id))
            for each in oldest[:excess]:
                self.remove(each.id)

    def without(self, record: AgendaItem, removal: Removal) -> AgendaItem | None:
        """Return an item without what goes; None if all of it goes.

        It is open again if what goes alone closed it. The sentence of a language model that was
        shown one of the entries goes too: it may tell of any line it was drawn beside.
        """
        subject, gone = removal.subject, removal.entries
        if not gone.isdisjoint(record.evidence) or record.concerns(subject.identity):
            return None
        if subject.named_in(record.text, record.told):
            return None
        if ranges_include(record.context, gone):
            record = replace(record, told="", context="")
        left = tuple(each for each in record.closed_by if each not in gone)
        state = record.state if left else "open"
        return replace(
            record, closed_by=left, state=state, witnesses=removal.others(record.witnesses)
        )
