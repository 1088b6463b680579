"""Why an NPC said what it said: the memories that were weighed for each of its replies.

One JSON Attribute a reply, category `reply_reasons`; the key is the journal id of the words. Ids
and scores are all that is kept, so that nothing of what is forgotten is left here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from twisted.internet import defer

from ..records import Entry, Weighed
from .removal import Removal, RowsPart

CATEGORY = "reply_reasons"
MOST_KEPT = 1000  # replies of one NPC, half a kilobyte each
DROPPED_AT_ONCE = 20  # old ones looked at for a new one


@dataclass(frozen=True, slots=True)
class ReplyReasons:
    """What was weighed for a reply."""

    said: int  # journal id of the NPC's words
    asked: int  # that of the line that they answer
    # (link id of a memory, its best score, whether it was told), what was told first; "" is the
    # persona. Without a model a score of 0 is as sure as that nothing answers; a model's are those
    # of the recall, and none is marked as told.
    weighed: tuple[tuple[str, float, bool], ...] = ()
    row: str = ""  # what made it of acts and stock phrases: "alarm: alarm of"
    when: str = ""  # ISO 8601 time of the words; "" for those of older versions

    @classmethod
    def of(
        cls, said: Entry, asked: Entry, weighed: Iterable[Weighed], row: str = ""
    ) -> ReplyReasons:
        rows: dict[str, tuple[str, float, bool]] = {}
        for each in weighed:
            rows.setdefault(each.memory, (each.memory, round(each.score, 3), each.told))
        return cls(said.id, asked.id, tuple(rows.values()), row, said.timestamp)


class Reasons(RowsPart[ReplyReasons]):
    """The reasons of one NPC's last replies."""

    counted, category, kind = "messages", CATEGORY, ReplyReasons

    def key(self, record: ReplyReasons) -> str:
        return str(record.said)

    def __iter__(self) -> Iterator[ReplyReasons]:
        return iter(sorted(super().__iter__(), key=lambda each: -each.said))

    def note(self, reasons: ReplyReasons, days: float) -> None:
        """Keep what was weighed for a reply, and drop some of those that are older than `days`."""
        self.put(reasons)
        keys = sorted(self.keys(), key=int)
        since = datetime.fromisoformat(reasons.when) - timedelta(days=days)
        for key in keys[:DROPPED_AT_ONCE]:
            old = self.row(key)
            if old and (
                key not in keys[-MOST_KEPT:]
                or not old.when
                or datetime.fromisoformat(old.when) < since
            ):
                self.remove(key)

    def without(self, record: ReplyReasons, removal: Removal) -> ReplyReasons | None:
        """Return it without what goes; None if the line or the words go."""
        if not removal.entries.isdisjoint((record.said, record.asked)):
            return None
        gone = removal.linked
        return replace(record, weighed=tuple(e for e in record.weighed if e[0] not in gone))

    def take_out(self, removal: Removal) -> defer.Deferred:
        """See `MemoryPart`. The words of a reply are counted by the chat log."""
        return super().take_out(removal).addCallback(lambda removed: 0)
