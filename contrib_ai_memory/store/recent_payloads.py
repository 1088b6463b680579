"""The payloads of points that were written or looked at lately, so that a talk reads few anew."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from .payload import PointId

KEPT = 8192  # payloads, some 4 kB each

Read = tuple[PointId, dict[str, Any]]


class RecentPayloads:
    """A bounded cache of payloads, least recently used first. Worker thread only.

    Args:
        read: Gives (id, payload) of those of some points that exist.
    """

    def __init__(self, read: Callable[[list[PointId]], Iterable[Read]]):
        self._read = read
        self._kept: OrderedDict[int, Read] = OrderedDict()

    def of(self, ids: Collection[PointId]) -> dict[int, Read]:
        """Those of `ids` that exist, by number; their payloads are not to be changed."""
        found: dict[int, Read] = {}
        unread = []
        for point_id in ids:
            number = number_of(point_id)
            if kept := self._kept.get(number):
                self._kept.move_to_end(number)
                found[number] = kept
            else:
                unread.append(point_id)
        if unread:
            new = {number_of(read[0]): read for read in self._read(unread)}
            self._kept |= new
            found |= new
            self._bound()
        return found

    def keep(self, ids: Iterable[str], payloads: Iterable[dict[str, Any]]) -> None:
        """These were written just now: what is fresh is asked for most."""
        for point_id, payload in zip(ids, payloads, strict=True):
            point = uuid.UUID(str(point_id))
            self._kept[point.int] = (point, dict(payload))
        self._bound()

    def _bound(self) -> None:
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def forget(self, ids: Iterable[PointId]) -> None:
        """These change, or go: what is written next is read anew."""
        for point_id in ids:
            self._kept.pop(number_of(point_id), None)

    def clear(self) -> None:
        self._kept.clear()


def number_of(point_id: PointId) -> int:
    """A point's id as a number: to compare Edge's own ids takes longer than to search."""
    return point_id.int if isinstance(point_id, uuid.UUID) else uuid.UUID(str(point_id)).int
