"""AnswerQueue: lines that wait for an NPC's answer, taken in turn, one line per speaker."""

from __future__ import annotations

import enum
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .privacy import unmasked
from .records import Entry

LINES_EACH = 3  # of one speaker in the queue
LINES_IN_ALL = 30
FLOOD_SECONDS = 10.0  # without a line before a speaker who flooded is heard again
EXCUSE_SECONDS = 60.0  # between two excuses to the same speaker
SPEAKERS_KEPT = 200  # of whom floods and excuses are remembered


@dataclass(frozen=True, slots=True)
class PendingLine:
    """A line that waits for its answer."""

    entry: Entry
    speaker: Any
    asleep: bool = False  # whether the NPC was asleep when it was said
    put_off: bool = False  # whether its speaker was told that the NPC cannot think now


class Verdict(enum.Enum):
    """What becomes of a line that asks for an answer."""

    QUEUED = "queued"
    TOO_FAST = "too fast"  # refused, and the speaker is to be told
    CROWDED = "crowded"  # the same, because too many speakers wait already
    DROPPED = "dropped"  # refused, and the speaker has been told before


@dataclass(eq=False)
class _Speaker:
    """What is known of one speaker."""

    lines: deque[PendingLine] = field(default_factory=deque)
    flooded: float = -math.inf  # when they last said more than may wait
    excused: float = -math.inf


class AnswerQueue:
    """The lines that wait for an answer, one line of each speaker in turn, masked or not.

    A speaker with more lines than may wait is flooding: the first one waiting is still answered,
    the others are not, nor what follows until the speaker has been quiet for a while.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._speakers: OrderedDict[str, _Speaker] = OrderedDict()  # in turn

    def __len__(self) -> int:
        return sum(len(each.lines) for each in self._speakers.values())

    def add(self, line: PendingLine) -> Verdict:
        """Queue a line, if it may wait."""
        who, now = unmasked(line.entry.source_entity or ""), self._clock()
        own = self._speakers.setdefault(who, _Speaker())
        if not own.lines:
            self._speakers.move_to_end(who)
        while len(self._speakers) > SPEAKERS_KEPT:
            del self._speakers[next(who for who, each in self._speakers.items() if not each.lines)]
        if now - own.flooded < FLOOD_SECONDS:
            own.flooded = now
            return Verdict.DROPPED
        if any(waiting.entry.id == line.entry.id for waiting in own.lines):
            return Verdict.QUEUED
        if len(own.lines) >= LINES_EACH:
            own.lines, own.flooded, verdict = deque([own.lines[0]]), now, Verdict.TOO_FAST
        elif len(self) < LINES_IN_ALL:
            own.lines.append(line)
            return Verdict.QUEUED
        else:
            verdict = Verdict.CROWDED
        if now - own.excused < EXCUSE_SECONDS:
            return Verdict.DROPPED
        own.excused = now
        return verdict

    def take(self) -> PendingLine:
        """Take the next line of those that wait; its speaker's others go behind all others."""
        who, own = next(each for each in self._speakers.items() if each[1].lines)
        self._speakers.move_to_end(who)
        return own.lines.popleft()

    @property
    def lines(self) -> list[PendingLine]:
        """The lines that wait, oldest first."""
        waiting = [line for each in self._speakers.values() for line in each.lines]
        return sorted(waiting, key=lambda line: line.entry.id)

    def drop(self, identity: str | None) -> None:
        """Forget a speaker and their lines."""
        self._speakers.pop(unmasked(identity or ""), None)

    def clear(self) -> None:
        self._speakers.clear()
