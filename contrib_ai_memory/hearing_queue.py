"""What NPCs have heard and not taken in yet: some milliseconds behind what is said.

To take in a line costs an NPC about a millisecond, and the first one of a new NPC far more, which
the people in a crowded room would wait for before they see what was said. So `at_msg_receive` only
notes what is said, by whom, and who is there; the rest is done a little later in turns of the
reactor, an NPC at a time, in order. Whoever looks at a memory (`npc.memory`) sees all that was said
before. Reactor thread only.

A line stays here until it is in the journal. While the game's database cannot be used, all wait, in
order, and are tried again. A line that fails by itself, as in a hook of the game, is logged, lets
the others by, and is tried again later, and once more when the server stops. Of one NPC
`LINES_KEPT` are kept, those in its journal that are not written yet included; what it hears beyond
them is lost, and the log says how many lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from django.db import Error
from twisted.internet import defer, task
from twisted.python.failure import Failure

from . import offload
from .log import logger
from .store import game_database

# seconds: by then the portal, too, has had a processor and has sent what was said to its hearers
LATER = 0.02
RETRY_SECONDS = 1.0  # until lines are tried again that the database did not let in
HELD_SECONDS = 60.0  # … and those that failed by themselves
LINES_KEPT = 2000  # of one NPC: some 2 MB


@dataclass(eq=False)
class _Line:
    """A line that was heard."""

    remember: Callable[[], Any]  # writes it into the journal, or fails and leaves that as it was
    # called with what `remember` returned: what comes of it. None for nothing.
    react: Callable[[Any], Any] | None
    source: str  # identity of the speaker; "" where it is nobody's
    remembered: list[Any] = field(default_factory=list)
    told: bool = False  # whether a failure was logged

    def take_in(self) -> None:
        if not self.remembered:
            self.remembered.append(self.remember())
        if self.react:
            self.react(self.remembered[0])


@dataclass(eq=False)
class _Heard:
    """What one NPC has heard, oldest first."""

    npc: Any
    lines: deque[_Line] = field(default_factory=deque)
    held: deque[_Line] = field(default_factory=deque)  # lines that failed by themselves
    under_way: bool = False  # whether the turns of the reactor take its lines in
    at_work: bool = False  # whether a line is being taken in right now
    lost: int = 0  # how many lines found no room, as far as the log has not told it yet
    retry: Any = None  # the scheduled call that tries held lines again, and tells what is lost


_waiting: dict[int, _Heard] = {}  # by `id`: an NPC that was deleted has no hash


def take_in(
    npc: Any,
    remember: Callable[[], Any],
    react: Callable[[Any], Any] | None = None,
    *,
    source: str = "",
) -> None:
    """Take in a line soon, after all that this NPC has heard before; at once without a reactor.

    Args:
        npc: Who heard it.
        remember, react, source: As of `_Line`.
    """
    line = _Line(remember, react, source)
    if not offload.in_game():
        line.take_in()
        return
    heard = _waiting.get(id(npc))
    if heard is None:
        heard = _waiting[id(npc)] = _Heard(npc)
    if unwritten(npc) < LINES_KEPT:
        heard.lines.append(line)
    else:
        if not heard.lost:
            logger().error(
                "%s: %s lines wait to be written, and no more are kept: what it hears now is lost.",
                npc.dbref,
                LINES_KEPT,
            )
        heard.lost += 1
    _begin(heard)


def catch_up(npc: Any) -> None:
    """Take in what an NPC has heard, now, as far as possible; not from within what it takes in."""
    heard = _waiting.get(id(npc))
    if heard and heard.lines and not heard.at_work and not game_database.still_locked():
        while heard.lines and _take_in_next(heard):
            pass


def catch_up_all() -> list[Any]:
    """Take in what any NPC has heard, now, and what NPCs say to it. Returns these NPCs."""
    caught_up: dict[int, Any] = {}
    while behind := [each for each in _waiting.values() if each.lines and not each.at_work]:
        before = sum(len(each.lines) for each in behind)
        for heard in behind:
            caught_up[id(heard.npc)] = heard.npc
            catch_up(heard.npc)
        if sum(len(each.lines) for each in behind) >= before:
            break  # none of them can be taken in now
    return [*caught_up.values()]


def release(npc: Any) -> None:
    """Put the lines that failed by themselves before the others, to be tried again."""
    if heard := _waiting.get(id(npc)):
        heard.lines.extendleft(reversed(heard.held))
        heard.held.clear()


def drop(npc: Any, source: str | None = None) -> None:
    """Forget what an NPC has heard and could not take in: all, or the lines of one speaker."""
    if heard := _waiting.get(id(npc)):
        for lines in (heard.lines, heard.held):
            kept = [] if source is None else [each for each in lines if each.source != source]
            lines.clear()
            lines.extend(kept)


def unwritten(npc: Any) -> int:
    """Return how many lines that an NPC has heard are not in the game's database yet."""
    heard, memory = _waiting.get(id(npc)), npc.__dict__.get("memory")
    waiting = len(heard.lines) + len(heard.held) if heard else 0
    return waiting + (memory.journal.unwritten if memory else 0)


def _begin(heard: _Heard) -> None:
    if not heard.under_way:
        heard.under_way = True
        taken_in = _take_in_slowly(heard)
        taken_in.addErrback(offload.log_failure, f"taking in what {heard.npc.dbref} heard")


@defer.inlineCallbacks
def _take_in_slowly(heard: _Heard) -> Generator[Any, Any, None]:
    from twisted.internet import reactor

    try:
        yield task.deferLater(reactor, LATER, offload.breathe)
        while heard.lines:
            if game_database.still_locked() or not _take_in_next(heard):
                yield task.deferLater(reactor, RETRY_SECONDS, offload.breathe)
            else:
                _tell_lost(heard)
                yield offload.breathe()
    finally:
        heard.under_way = False
    if not heard.npc.pk or not (heard.held or heard.lost):
        _waiting.pop(id(heard.npc), None)
    elif heard.retry is None:
        seconds = HELD_SECONDS if heard.held else RETRY_SECONDS
        heard.retry = reactor.callLater(seconds, _try_again, heard)


def _try_again(heard: _Heard) -> None:
    heard.retry = None
    release(heard.npc)
    if unwritten(heard.npc) < LINES_KEPT:
        _tell_lost(heard)
    _begin(heard)


def _take_in_next(heard: _Heard) -> bool:
    """Take in one line. Returns False if none can be taken in now."""
    if not heard.npc.pk:  # it was deleted
        heard.lines.clear()
        heard.held.clear()
        return True
    line = heard.lines[0]
    heard.at_work = True
    try:
        line.take_in()
    except Exception as error:  # noqa: BLE001  (hooks of a game may fail; the next line is heard)
        noted = game_database.note_unavailable(error)
        if not noted and not line.told:
            line.told = True
            offload.log_failure(Failure(), f"taking in what {heard.npc.dbref} heard")
        if noted or (isinstance(error, Error) and not game_database.is_usable()):
            return False
        if not line.remembered:
            heard.held.append(line)
    finally:
        heard.at_work = False
    if heard.lines and heard.lines[0] is line:  # it may have been dropped meanwhile
        heard.lines.popleft()
    return True


def _tell_lost(heard: _Heard) -> None:
    if heard.lost:
        logger().error("%s: %s lines that it heard are lost.", heard.npc.dbref, heard.lost)
        heard.lost = 0
