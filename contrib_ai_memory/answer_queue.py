"""AnswerQueue: lines that wait for an NPC's answer, taken in turn, one line per speaker.

Who sends more lines than may wait is flooding, and is told so now and then.
"""

from __future__ import annotations

import enum
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
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
    put_off: bool = False  # whether its speaker was told that the NPC cannot think now


class Verdict(enum.Enum):
    """What becomes of a line that asks for an answer."""

    QUEUED = "queued"
    TOO_FAST = "too fast"  # refused, and the speaker is to be told
    CROWDED = "crowded"  # the same, because too many speakers wait already
    DROPPED = "dropped"  # refused, and the speaker has been told before


class AnswerQueue:
    """The lines that wait for an answer, one line of each speaker in turn, masked or not.

    A speaker with more lines than may wait is flooding: the first one waiting is still answered,
    the others are not, nor what follows until the speaker has been quiet for a while.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lines: OrderedDict[str, deque[PendingLine]] = OrderedDict()
        self._flooding: OrderedDict[str, float] = OrderedDict()
        self._excused: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def add(self, line: PendingLine) -> Verdict:
        """Queue a line, if it may wait."""
        who, now = unmasked(line.entry.source_entity or ""), self._clock()
        if now - self._flooding.get(who, -FLOOD_SECONDS) < FLOOD_SECONDS:
            _note_time(self._flooding, who, now)
            return Verdict.DROPPED
        self._flooding.pop(who, None)
        own = self._lines.get(who) or deque()
        if any(waiting.entry.id == line.entry.id for waiting in own):
            return Verdict.QUEUED
        if len(own) >= LINES_EACH:
            self._lines[who] = deque([own[0]])
            _note_time(self._flooding, who, now)
            verdict = Verdict.TOO_FAST
        elif len(self) < LINES_IN_ALL:
            self._lines.setdefault(who, deque()).append(line)
            return Verdict.QUEUED
        else:
            verdict = Verdict.CROWDED
        if now - self._excused.get(who, -EXCUSE_SECONDS) < EXCUSE_SECONDS:
            return Verdict.DROPPED
        _note_time(self._excused, who, now)
        return verdict

    def take(self) -> PendingLine:
        """Take the next line; its speaker's remaining lines go behind all others.

        Raises:
            KeyError: Nothing waits.
        """
        who, lines = self._lines.popitem(last=False)
        if len(lines) > 1:
            self._lines[who] = lines
        return lines.popleft()

    @property
    def lines(self) -> list[PendingLine]:
        """The lines that wait, oldest first."""
        waiting = [line for lines in self._lines.values() for line in lines]
        return sorted(waiting, key=lambda line: line.entry.id)

    def drop(self, identity: str | None) -> None:
        """Forget a speaker and their lines."""
        for known in (self._lines, self._flooding, self._excused):
            known.pop(unmasked(identity or ""), None)

    def clear(self) -> None:
        for known in (self._lines, self._flooding, self._excused):
            known.clear()


def _note_time(seconds: OrderedDict[str, float], who: str, now: float) -> None:
    seconds[who] = now
    seconds.move_to_end(who)
    while len(seconds) > SPEAKERS_KEPT:
        seconds.popitem(last=False)
