"""Why an NPC said what it said: the memories that were weighed for each of its replies.

One JSON Attribute a reply, category `reply_reasons`; the key is the journal id of the words. Ids
and scores are all that is kept, so that nothing of what is forgotten is left here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ..records import Entry, Weighed
from . import attributes
from .removal import Removal

CATEGORY = "reply_reasons"
MOST_KEPT = 1000  # replies of one NPC, half a kilobyte each
DROPPED_AT_ONCE = 20  # old ones looked at for a new one


@dataclass(frozen=True, slots=True)
class ReplyReasons:
    """What was weighed for a reply.

    Attributes:
        said: Journal id of the NPC's words.
        when: ISO 8601 time of them; "" for those of older versions.
        asked: Journal id of the line that they answer.
        weighed: (link id of a memory, its best score, whether it was told), what was told first; ""
            is the persona. Without a model a score of 0 is as sure as that nothing answers; a
            model's are those of the recall, and none is marked as told.
        row: What it made from acts and stock phrases: "alarm: alarm of"; "" of other words.
    """

    said: int
    asked: int
    weighed: tuple[tuple[str, float, bool], ...] = ()
    row: str = ""
    when: str = ""

    @classmethod
    def of(
        cls, said: Entry, asked: Entry, weighed: Iterable[Weighed], row: str = ""
    ) -> ReplyReasons:
        rows: dict[str, tuple[str, float, bool]] = {}
        for each in weighed:
            rows.setdefault(each.memory, (each.memory, round(each.score, 3), each.told))
        return cls(said.id, asked.id, tuple(rows.values()), row, said.timestamp)

    def without(self, removal: Removal) -> ReplyReasons | None:
        """Return it without what goes; None if the line or the words go."""
        if not removal.entries.isdisjoint((self.said, self.asked)):
            return None
        gone = removal.linked
        return replace(self, weighed=tuple(e for e in self.weighed if e[0] not in gone))


class Reasons:
    """The reasons of one NPC's last replies. Reactor thread only."""

    counted, category = "messages", CATEGORY

    def __init__(self, npc: Any):
        self._npc = npc

    def __iter__(self) -> Iterator[ReplyReasons]:
        """Yield them, those of the last reply first."""
        found = attributes.read_all_json(self._npc, CATEGORY)
        known = (attributes.from_plain(ReplyReasons, each) for each in found)
        yield from sorted(known, key=lambda each: -each.said)

    def note(self, reasons: ReplyReasons, days: float) -> None:
        """Keep what was weighed for a reply, and drop some of those that are older than `days`."""
        self._put(reasons)
        keys = sorted(attributes.keys_of(self._npc, "", CATEGORY), key=int)
        since = datetime.fromisoformat(reasons.when) - timedelta(days=days)
        oldest = attributes.read_some_json(self._npc, keys[:DROPPED_AT_ONCE], CATEGORY)
        for key, each in oldest.items():
            when = attributes.from_plain(ReplyReasons, each).when
            if key not in keys[-MOST_KEPT:] or not when or datetime.fromisoformat(when) < since:
                attributes.remove_json(self._npc, key, CATEGORY)

    def _put(self, reasons: ReplyReasons) -> None:
        attributes.write_json(self._npc, str(reasons.said), attributes.to_plain(reasons), CATEGORY)

    def take_out(self, removal: Removal) -> int:
        """See `MemoryPart`. The words of a reply are counted by the chat log."""
        for each in [*self]:
            left = each.without(removal)
            if left is None:
                attributes.remove_json(self._npc, str(each.said), CATEGORY)
            elif left != each:
                self._put(left)
        return 0

    def clear(self) -> None:
        """Forget all of them."""
        self._npc.attributes.clear(category=CATEGORY)
