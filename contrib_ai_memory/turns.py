"""Turns: the lines that wait for an answer, one line of each speaker in turn.

A speaker's next line waits behind those of the others. Somebody who says more than can wait is
excused once; while they go on, none of it is answered.
"""

from __future__ import annotations

import enum
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .attention import Floor
from .records import Entry

LINES_EACH = 3  # of one speaker that wait at once
LINES_IN_ALL = 30
QUIET_SECONDS = 10.0  # without a line of theirs until a speaker who flooded is heard again
EXCUSED_AGAIN = 60.0  # seconds until the same speaker is given another excuse
SPEAKERS_KEPT = 200  # of whom it is remembered that they flooded or were excused


@dataclass(frozen=True, slots=True)
class Waiting:
    """A line that is to be answered: its entry, who said it, and the floor with its answer."""

    entry: Entry
    speaker: Any
    floor: Floor


class Verdict(enum.Enum):
    """What becomes of a line that asks for an answer."""

    WAITS = "waits"
    TOO_FAST = "too fast"  # it is not answered, and the speaker is to be told so
    CROWDED = "crowded"  # the same, for too many speakers wait already
    DROPPED = "dropped"  # it is not answered, and the speaker has been told


class Turns:
    """The lines that wait, in the order in which they are answered.

    Args:
        clock: Gives monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lines: OrderedDict[str | None, deque[Waiting]] = OrderedDict()
        self._flooding: OrderedDict[str | None, float] = OrderedDict()
        self._excused: OrderedDict[str | None, float] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[Waiting]:
        for lines in self._lines.values():
            yield from lines

    def add(self, waiting: Waiting) -> Verdict:
        """Let a line wait, if it may.

        One line too many of a speaker is a flood: their first waiting line is still answered, the
        others are not, nor what they say until they have been quiet for a while.
        """
        who, now = waiting.entry.source_entity, self._clock()
        if now - self._flooding.get(who, -QUIET_SECONDS) < QUIET_SECONDS:
            _keep(self._flooding, who, now)
            return Verdict.DROPPED
        self._flooding.pop(who, None)
        own = self._lines.get(who, ())
        if len(own) >= LINES_EACH:
            self._lines[who] = deque([own[0]])
            _keep(self._flooding, who, now)
            verdict = Verdict.TOO_FAST
        elif len(self) < LINES_IN_ALL:
            self._lines.setdefault(who, deque()).append(waiting)
            return Verdict.WAITS
        else:
            verdict = Verdict.CROWDED
        if now - self._excused.get(who, -EXCUSED_AGAIN) < EXCUSED_AGAIN:
            return Verdict.DROPPED
        _keep(self._excused, who, now)
        return verdict

    def take(self) -> Waiting:
        """The line whose turn it is; the next one of its speaker goes behind all others.

        Raises:
            KeyError: Nothing waits.
        """
        who, lines = self._lines.popitem(last=False)
        if len(lines) > 1:
            self._lines[who] = lines
        return lines.popleft()

    def drop(self, identity: str | None) -> None:
        """Forget a speaker and what they wait for."""
        for known in (self._lines, self._flooding, self._excused):
            known.pop(identity, None)

    def clear(self) -> None:
        for known in (self._lines, self._flooding, self._excused):
            known.clear()


def _keep(seconds: OrderedDict[str | None, float], who: str | None, now: float) -> None:
    seconds[who] = now
    seconds.move_to_end(who)
    while len(seconds) > SPEAKERS_KEPT:
        seconds.popitem(last=False)
