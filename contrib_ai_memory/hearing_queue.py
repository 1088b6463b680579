"""What NPCs have heard and not taken in yet: some milliseconds behind what is said.

To take in a line costs an NPC about a millisecond, and the first one of a new NPC far more, which
the people in a crowded room would wait for before they see what was said. So `at_msg_receive` only
notes what is said, by whom, and who is there; the rest is done a little later in turns of the
reactor, an NPC at a time, in order. Whoever looks at a memory (`npc.memory`) sees all that was said
before. Reactor thread only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from twisted.internet import defer
from twisted.python.failure import Failure

from . import offload

# seconds: by then the portal, too, has had a processor and has sent what was said to its hearers
LATER = 0.02


@dataclass(eq=False)
class _Heard:
    """What one NPC has heard, oldest first.

    Attributes:
        under_way: Whether the turns of the reactor take it in.
        at_work: Whether a line is being taken in right now.
    """

    npc: Any
    lines: deque[Callable[[], Any]] = field(default_factory=deque)
    under_way: bool = False
    at_work: bool = False


_waiting: dict[int, _Heard] = {}  # by `id`: an NPC that was deleted has no hash


def take_in(npc: Any, line: Callable[[], Any]) -> None:
    """Call `line` soon, after all that this NPC has heard before; at once without a reactor."""
    if not offload.in_game():
        line()
        return
    heard = _waiting.setdefault(id(npc), _Heard(npc))
    heard.lines.append(line)
    if not heard.under_way:
        from twisted.internet import reactor

        heard.under_way = True
        reactor.callLater(LATER, _take_in_slowly, heard)


def catch_up(npc: Any) -> None:
    """Take in all that an NPC has heard, now; not from within what it takes in."""
    heard = _waiting.get(id(npc))
    while heard and heard.lines and not heard.at_work:
        _take_in_next(heard)


def catch_up_all() -> list[Any]:
    """Take in all that any NPC has heard, now, and what NPCs say to it. Returns these NPCs."""
    caught_up: dict[int, Any] = {}
    while behind := [each for each in _waiting.values() if each.lines and not each.at_work]:
        for heard in behind:
            caught_up[id(heard.npc)] = heard.npc
            catch_up(heard.npc)
    return [*caught_up.values()]


@defer.inlineCallbacks
def _take_in_slowly(heard: _Heard) -> Generator[Any, Any, None]:
    yield offload.breathe()
    while heard.lines:
        _take_in_next(heard)
        yield offload.breathe()
    del _waiting[id(heard.npc)]


def _take_in_next(heard: _Heard) -> None:
    line = heard.lines.popleft()
    if not heard.npc.pk:
        return  # it was deleted
    heard.at_work = True
    try:
        line()
    except Exception:  # noqa: BLE001  (hooks of a game may fail; the next line is heard all the same)
        offload.log_failure(Failure(), f"taking in what #{heard.npc.id} heard")
    finally:
        heard.at_work = False
