"""Store and game database held still for a copy, at the request of another process.

`evennia ai_memory backup` copies while the game runs. It asks with a file in the store's folder;
the game answers with another one as soon as its one worker on the store has nothing in hand and
all that NPCs heard is written to the game's database. While that file is there the store does not
change. Whoever removes it first decides: the backup, when its copy is whole, or the game, when it
took too long; then the copy is of no use. The game itself goes on all the time; only what asks the
store waits.
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
from twisted.python.failure import Failure

from .. import atomic_file, conf, offload
from ..log import logger
from . import generations

REQUEST, STILL = "backup.request", "backup.still"  # files in the store's folder
LOOK_SECONDS = 1.0  # between two looks for a request
ANSWER_SECONDS = 30.0  # that a running game may take to answer
HOLD_SECONDS = 20.0  # that the store is held at most
WRITE_SECONDS = 10.0  # that the reactor may take to write what was heard


class NoAnswer(RuntimeError):
    """The running game did not hold the store still. The message says what to do."""


# --- the game's side ------------------------------------------------------------------------------


def answer(write_all: Callable[[], defer.Deferred]) -> None:
    """Look for a request, and answer it: worker thread, which is held as long as the copy takes.

    Args:
        write_all: Writes all that NPCs heard to the game's database. Reactor thread.
    """
    folder = conf.directory()
    if not (folder / REQUEST).exists():
        return
    asked = json.loads((folder / REQUEST).read_text())
    (folder / REQUEST).unlink()
    problem = _written(write_all)
    atomic_file.write(folder / STILL, json.dumps({"id": asked["id"], "problem": problem}))
    until = time.monotonic() + HOLD_SECONDS
    pause = threading.Event()
    while (folder / STILL).exists():
        if time.monotonic() > until or not _alive(asked["pid"]):
            (folder / STILL).unlink(missing_ok=True)
            logger().error("A backup took too long, or was broken off; it is of no use.")
            return
        pause.wait(0.005)
    if not problem:
        generations.mark_soon()
        logger().info("A backup was made.")


def _written(write_all: Callable[[], defer.Deferred]) -> str:
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
    """Look for requests from now on. Reactor thread, once."""
    from twisted.internet import task

    def look() -> defer.Deferred:
        looked = offload.run(
            offload.MEMORY, answer, write_all, priority=offload.LOOK, timeout=3 * HOLD_SECONDS
        )
        return looked.addErrback(_told)

    task.LoopingCall(look).start(LOOK_SECONDS, now=False)


def _told(reason: Failure) -> None:
    if not reason.check(offload.Busy, offload.TimedOut):
        offload.log_failure(reason, "answering a backup")


# --- the backup's side ----------------------------------------------------------------------------


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Have the running game hold its store still; used as a context for the copy.

    Raises:
        NoAnswer: It did not, or not until the end: the copy is of no use.
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
                "it again at a quieter time, or with the game stopped."
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
                f"The running game did not answer within {ANSWER_SECONDS:g} s: no NPC of it has a "
                "memory that is at work, or it is very busy. Run it again, or stop the game first: "
                "evennia stop"
            )
        pause.wait(0.005)
    answered = json.loads(answer_file.read_text())
    if answered["id"] != mine:
        raise NoAnswer("Another backup is being made at this moment. Run it again when it is over.")
    if answered["problem"]:
        raise NoAnswer(f"The running game cannot write what was heard: {answered['problem']}")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's, and alive
    return True
