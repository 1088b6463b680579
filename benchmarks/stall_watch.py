"""What `benchmarks.stalls` has a running server do: watch its own reactor, idle and then asleep.

Evennia calls `at_server_start` of this module beside the game's own.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from twisted.internet import defer, reactor, task
from twisted.python import log

from .lag_watch import late

WARM = 10.0  # seconds from the first answer of the store until all is loaded
FIRST = ".first"  # suffix of a file with the seconds until the store's first answer
OUT = "AI_MEMORY_STALLS"  # environment: the file that is written, and the seconds of each watch


def at_server_start() -> None:
    reactor.callWhenRunning(lambda: _watch().addErrback(log.err))


@defer.inlineCallbacks
def _watch():
    from contrib_ai_memory import offload
    from contrib_ai_memory.admin import game_npcs
    from contrib_ai_memory.recall.mood import mood_of
    from contrib_ai_memory.records import now_iso
    from contrib_ai_memory.script import AssistantScript

    out, idle, asleep = os.environ[OUT].split("|")
    scripts = [AssistantScript.of(npc) for npc in game_npcs.npcs()]
    begun = time.perf_counter()
    job = "", now_iso()
    yield offload.run(offload.MEMORY, mood_of, *job, priority=offload.REPLY, timeout=300)
    told = {"first": round(time.perf_counter() - begun, 1)}
    _write(Path(out).with_suffix(FIRST), told["first"])
    yield task.deferLater(reactor, WARM, lambda: None)
    told["idle"] = yield late(float(idle))
    for script in scripts:
        script.sleep.begin()
    told["asleep"] = yield late(float(asleep))
    told["steps"] = sum(
        done["steps"] for script in scripts for done in script.sleep.night.passes.values()
    )
    told |= {"server": _megabytes(os.getpid()), "apart": sum(map(_megabytes, _processes_apart()))}
    told["over"] = sum(not script.asleep for script in scripts)
    _write(Path(out), told)


def _write(file: Path, told: Any) -> None:
    """Write a whole file at once, as it is waited for."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(told))
    part.rename(file)


def _processes_apart() -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line, here = (process / "cmdline").read_bytes(), (process / "cwd").resolve()
        except OSError:
            continue
        if b"contrib_ai_memory.memory_process" in line and here == Path(settings.GAME_DIR):
            found.append(int(process.name))
    return found


def _megabytes(pid: int) -> int:
    """Resident memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024
