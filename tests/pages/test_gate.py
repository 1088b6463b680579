"""The way from a web thread to the reactor thread and back, with a real reactor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


SCRIPT = """
import sys, threading, time
import django, evennia
django.setup()
evennia._init()
from twisted.internet import defer, reactor, threads, task
from contrib_ai_memory.web import gate

def later():
    return task.deferLater(reactor, 0.05, lambda: threading.current_thread().name)

def bad():
    raise LookupError("the function's own")

def own_timeout():
    raise TimeoutError("the function's own")

def asked(function, **kwargs):
    try:
        return str(gate.on_reactor(function, **kwargs))
    except Exception as error:
        return f"{type(error).__name__}: {error}"

begun = []

def all_of_it():
    told = [asked(later), asked(bad), asked(own_timeout)]
    told.append(asked(defer.Deferred, timeout=0.1))
    reactor.callFromThread(time.sleep, 0.5)  # the reactor stalls
    told.append(asked(lambda: begun.append(1), timeout=0.1))
    told.append(asked(lambda: "after the stall", timeout=5))
    told.append(f"begun late: {begun}")
    return told

def main():
    try:
        gate.on_reactor(later)
    except RuntimeError as error:
        print(error)
    threads.deferToThread(all_of_it).addCallback(lambda told: print(*told, sep="\\n")).addBoth(
        lambda _: reactor.stop()
    )

reactor.callWhenRunning(main)
reactor.run()
"""


def test_on_reactor_waits_for_a_deferred_with_a_timeout_and_never_on_the_reactor_thread(settings):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=settings.GAME_DIR,
        env=os.environ | {"PYTHONPATH": f"{settings.GAME_DIR}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = run.stdout.splitlines()  # Evennia's own line comes first
    assert told[-8:] == [
        "on_reactor was called on the reactor thread; use the Deferred instead.",
        "MainThread",
        "LookupError: the function's own",
        "TimeoutError: the function's own",
        "TooSlow: No answer within 0.1 s.",
        "TooSlow: No answer within 0.1 s.",
        "after the stall",
        "begun late: []",
    ], run.stderr
