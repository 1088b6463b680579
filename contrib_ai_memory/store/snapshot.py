"""Snapshots: hold store and game database still while another process copies them.

`evennia ai_memory backup` puts a request file into the store's folder; the game answers with
another file when everything that NPCs heard is in its database. While that file exists store jobs
wait. The backup removes it when its copy is complete; if the game removes it first, the backup took
too long and the copy is useless.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.internet import defer

from .. import atomic_file, conf, offload
from ..errors import ExpectedError
from ..log import logger
from . import generations

REQUEST, STILL = "backup.request", "backup.still"  # files in the store's folder
LOOK_SECONDS = 1.0  # between checks for a request
ANSWER_SECONDS = 30.0  # a running game may take to answer
HOLD_SECONDS = 20.0  # the store is held at most
WRITE_SECONDS = 10.0  # the reactor may take to write what was heard


class NoAnswer(ExpectedError):
    """The running game did not hold the store still. The message says what to do."""


# --- the game's side ------------------------------------------------------------------------------


def answer(write_all: Callable[[], defer.Deferred]) -> None:
    """Answer a request, if there is one: the worker thread blocks until the copy is made.

    Before that the reactor thread writes all that NPCs heard to the game's database.
    """
    folder = conf.directory()
    if not (folder / REQUEST).exists():
        return
    asked = json.loads((folder / REQUEST).read_text())
    (folder / REQUEST).unlink()
    problem = _write_out(write_all)
    atomic_file.write(folder / STILL, json.dumps({"id": asked["id"], "problem": problem}))
    until = time.monotonic() + HOLD_SECONDS
    pause = threading.Event()
    while (folder / STILL).exists():
        if time.monotonic() > until or not _alive(asked["pid"]):
            (folder / STILL).unlink(missing_ok=True)
            logger().error("A backup took too long, or was interrupted; it is useless.")
            return
        pause.wait(0.005)
    if not problem:
        generations.mark_soon()
        logger().info("A backup was made.")


def _write_out(write_all: Callable[[], defer.Deferred]) -> str:
    from twisted.internet import reactor

    over, problems = threading.Event(), []

    def begin() -> None:
        done = defer.maybeDeferred(write_all)
        done.addErrback(lambda reason: problems.append(reason.getErrorMessage()))
        done.addCallback(lambda _: over.set())

    reactor.callFromThread(begin)
    if not over.wait(WRITE_SECONDS):
        return f"the game did not write what was heard within {WRITE_SECONDS:g} s"
    return problems[0] if problems else ""


def watch(write_all: Callable[[], defer.Deferred]) -> None:
    """Check for requests from now on. Reactor thread, once."""
    from twisted.internet import task

    def look() -> defer.Deferred:
        # here, as the game writes meanwhile; a memory process is idle as long as this lane is held
        looked = offload.run(
            offload.MEMORY,
            answer,
            write_all,
            priority=offload.LOOK,
            timeout=3 * HOLD_SECONDS,
            here=True,
        )
        looked.addErrback(lambda reason: reason.trap(offload.Busy, offload.TimedOut))
        return looked.addErrback(offload.log_failure, "answering a backup")

    task.LoopingCall(look).start(LOOK_SECONDS, now=False)


# --- the backup's side ----------------------------------------------------------------------------


@contextmanager
def hold_still(folder: Path) -> Iterator[None]:
    """Have the running game hold its store still: a context for the copy.

    NoAnswer is raised if it did not, or not until the end: the copy is useless.
    """
    mine = uuid.uuid4().hex
    (folder / STILL).unlink(missing_ok=True)
    atomic_file.write(folder / REQUEST, json.dumps({"id": mine, "pid": os.getpid()}))
    try:
        _wait_for(folder / STILL, mine)
        yield
        try:
            (folder / STILL).unlink()
        except FileNotFoundError:
            raise NoAnswer(
                f"The copy took longer than the {HOLD_SECONDS:g} s that the game waits for it. Run "
                "this again at a quieter time, or with the game stopped."
            ) from None
    finally:
        for name in (REQUEST, STILL):
            (folder / name).unlink(missing_ok=True)


def _wait_for(answer_file: Path, mine: str) -> None:
    until = time.monotonic() + ANSWER_SECONDS
    pause = threading.Event()
    while not answer_file.exists():
        if time.monotonic() > until:
            raise NoAnswer(
                f"The running game did not answer within {ANSWER_SECONDS:g} s: none of its NPCs "
                "has an active memory, or it is very busy. Run this again, or stop the game first: "
                "evennia stop"
            )
        pause.wait(0.005)
    answered = json.loads(answer_file.read_text())
    if answered["id"] != mine:
        raise NoAnswer("Another backup is being made. Run this again when it is done.")
    if answered["problem"]:
        raise NoAnswer(f"The running game cannot write what was heard: {answered['problem']}")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # alive, and another user's
    return True
