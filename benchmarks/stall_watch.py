"""What `benchmarks.stalls` has a running server do: watch its own reactor, idle and then asleep.

Evennia calls `at_server_start` of this module beside the game's own.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from twisted.internet import defer, reactor, task

STEP = 0.005  # seconds between two looks
WARM = 15.0  # seconds after the start until the embedding model is loaded
OUT = "AI_MEMORY_STALLS"  # environment: the file that is written, and the seconds of each watch


def at_server_start() -> None:
    reactor.callLater(WARM, _watch)


@defer.inlineCallbacks
def _watch():
    from contrib_ai_memory.admin import inspect
    from contrib_ai_memory.script import AssistantScript

    out, idle, asleep = os.environ[OUT].split("|")
    told = {"idle": (yield _late(float(idle)))}
    scripts = [AssistantScript.of(npc) for npc in inspect.npcs()]
    for script in scripts:
        script.sleep.begin()
    told["asleep"] = yield _late(float(asleep))
    told["steps"] = sum(
        done["steps"] for script in scripts for done in script.sleep.night.passes.values()
    )
    told["over"] = sum(not script.asleep for script in scripts)
    Path(out + ".part").write_text(json.dumps(told))
    Path(out + ".part").rename(out)


@defer.inlineCallbacks
def _late(seconds: float):
    """How late the reactor came back to each look, in seconds."""
    late = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        due = time.perf_counter() + STEP
        yield task.deferLater(reactor, STEP, lambda: None)
        late.append(max(0.0, time.perf_counter() - due))
    return late
