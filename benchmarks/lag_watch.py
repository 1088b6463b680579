"""What `benchmarks.lag` has a running server do: talk in its busy rooms, and watch its own reactor.

Evennia calls `at_server_start` of this module beside the game's own. It knows nothing of the
contrib, so that the same module runs in a game without it; there nobody can fall asleep.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path

from twisted.internet import defer, reactor, task

STEP = 0.005  # seconds between two looks
SPEECH = 2.0  # seconds between two lines of talk in a room
NAMED_EVERY = 8  # lines; one names an NPC, which answers
TALKER = "Talker"  # the keys of those who speak in busy rooms begin with it
SLEEPER = "Sleeper"  # and of those who sleep
SPEC = "AI_MEMORY_LAG"  # environment: the file that is written, seconds to wait, of each watch
TALKING = ".talking"  # ending of a file that is there from the first line of talk on


def at_server_start() -> None:
    if SPEC not in os.environ:  # the first start, which only makes the game
        return
    out, warm, idle, busy = os.environ[SPEC].split("|")
    if not Path(out).exists():  # it does after a reload
        reactor.callLater(float(warm), _watch, Path(out), float(idle), float(busy))


@defer.inlineCallbacks
def _watch(out: Path, idle: float, busy: float):
    began = time.process_time()
    told = {"idle late": (yield late(idle))}
    told["idle share"] = (time.process_time() - began) / idle
    scripts = _fall_asleep()
    talk = _talk()
    Path(f"{out}{TALKING}").touch()
    began = time.process_time()
    told["late"] = yield late(busy)
    told["share"] = (time.process_time() - began) / busy
    talk.stop()
    told["steps"] = sum(
        done["steps"] for script in scripts for done in script.sleep.night.passes.values()
    )
    told["over"] = sum(not script.asleep for script in scripts)
    part = out.with_suffix(".part")
    part.write_text(json.dumps(told))
    part.rename(out)


def _fall_asleep() -> list:
    """Let the sleepers that have a memory fall asleep. Returns their heartbeats."""
    from evennia.objects.models import ObjectDB

    sleepers = ObjectDB.objects.filter(db_key__startswith=SLEEPER)
    scripts = [each.assistant for each in sleepers if hasattr(each, "assistant")]
    for script in scripts:
        script.sleep.begin()
    return scripts


def _talk() -> task.LoopingCall:
    """Have somebody say a line every few seconds in each busy room, one room after the other."""
    from evennia.objects.models import ObjectDB

    from benchmarks import talk

    talkers = list(ObjectDB.objects.filter(db_key__startswith=TALKER))
    lines, turn = talk.lines(5), itertools.count()

    def say() -> None:
        number = next(turn)
        talker = talkers[number % len(talkers)]
        line = next(lines)
        if number // len(talkers) % NAMED_EVERY == 0:
            there = [each.key for each in talker.location.contents if each.key.startswith("Mara")]
            line = f"{there[number % len(there)]}, what do you know of the mill?" if there else line
        talker.execute_cmd(f"say {line}")

    speaking = task.LoopingCall(say)
    speaking.start(SPEECH / max(1, len(talkers)))
    return speaking


@defer.inlineCallbacks
def late(seconds: float):
    """How late the reactor came back to each look, in seconds."""
    late = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        due = time.perf_counter() + STEP
        yield task.deferLater(reactor, STEP, lambda: None)
        late.append(max(0.0, time.perf_counter() - due))
    return late
