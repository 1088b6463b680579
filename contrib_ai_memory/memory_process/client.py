"""The game's side of the memory process: starts it, meets it again, and has jobs done by it.

All of it blocks: it runs on the thread of the MEMORY lane, which waits for each answer. So queue,
priorities and time-outs are those of `offload`, and the reactor never touches the socket.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from django.conf import settings

from .. import offload
from ..log import logger
from ..store import condition, memory_store
from ..store.condition import StoreHeld
from . import channel
from .channel import Done, Job

START_SECONDS = 30.0  # until a new process must listen
HELLO_SECONDS = 10.0
HUNG_SECONDS = 600.0  # a job that takes longer is ended with its process
# before the next start, by the starts that brought no answer
BACKOFF_SECONDS = (0.0, 0.0, 1.0, 2.0, 5.0, 10.0)
LOG = "ai_memory_process.log"  # what the process prints, in the game's folder of logs


class MemoryProcessAway(StoreHeld):
    """The memory process has ended, or does not start. What it was doing is done again."""

    def __init__(self, reason: str):
        super().__init__(
            f"The memory process does not answer: {reason}. NPCs go on hearing, and remember and "
            f"answer again when it is back. It is started again by itself; see server/logs/{LOG}."
        )


def end(wait: float = 0.0) -> None:
    """Tell the memory process of this game to end, if there is one; wait so many seconds for it."""
    if (connection := channel.connect()) is None:
        return
    with connection, suppress(OSError, EOFError):
        connection.send_bytes(channel.END)
        connection.poll(wait)  # readable at its end


def lives() -> bool:
    if (connection := channel.connect()) is None:
        return False
    connection.close()
    return True


class MemoryProcess:
    """The connection to the memory process, and the process if this one has started it."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._started: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._failures = 0  # starts since the last answer
        self._not_before = 0.0  # monotonic
        self._lock = threading.Lock()

    def do(self, job: Callable[..., Any], args: tuple[Any, ...], reads: bool) -> Any:
        """Return `job(*args)`, done by the memory process, or raise what it raised.

        Only the game's server starts a process. Elsewhere the job is done here unless one lives. A
        job that only `reads` is done again, once, if the process ends meanwhile.
        """
        game = offload.in_game() or offload.is_server()  # its reactor may not run yet
        with self._lock:
            connection = self._connected(game)
            if connection is None:
                return job(*args)
            troubles = condition.known() if game else None
            request = channel.dumps(Job(job, args, memory_store.expected, troubles))
            try:
                answer = self._ask(connection, request)
            except MemoryProcessAway:
                if not reads or (connection := self._connected(game)) is None:
                    raise
                answer = self._ask(connection, request)
        if troubles is not None:
            condition.take_over(troubles, answer.troubles, answer.writes, answer.embedder_trouble)
        for line in answer.log:
            logger().handle(line)
        if answer.failed:
            raise answer.value
        return answer.value

    def _ask(self, connection: Connection, request: bytes) -> Done:
        try:
            connection.send_bytes(channel.JOB + request)
            if not connection.poll(HUNG_SECONDS):
                os.kill(self._pid, signal.SIGKILL)
                raise EOFError
            data = connection.recv_bytes()
        except (OSError, EOFError) as error:
            self._drop()
            logger().warning("The memory process (%s) ended in the midst of a job.", self._pid)
            raise MemoryProcessAway("it ended in the midst of a job") from error
        self._failures = 0
        return pickle.loads(data)

    # --- meeting it -------------------------------------------------------------------------------

    def _connected(self, game: bool) -> Connection | None:
        if self._connection is not None and self._connection.poll():  # readable: it has ended
            self._drop()
        if self._connection is None:
            self._connection = self._meet(game) or (self._start() if game else None)
        return self._connection

    def _meet(self, game: bool) -> Connection | None:
        """Return a connection to a living process of the same settings and code, if there is."""
        try:
            connection = channel.connect()
            if connection is None:
                return None
            greeting = f"{int(game)} {channel.fingerprint()}"
            connection.send_bytes(channel.HELLO + greeting.encode())
            try:
                answered = connection.poll(HELLO_SECONDS)
                pid, stale = map(int, connection.recv_bytes().split() if answered else ())
            except (OSError, EOFError, ValueError):  # it is of a version with other messages
                connection.close()
                if game:
                    end()
                return None
        except (OSError, EOFError, AuthenticationError):
            return None
        if stale:
            connection.close()
            return None
        self._pid = pid
        return connection

    def _start(self) -> Connection:
        if time.monotonic() < self._not_before:
            raise MemoryProcessAway("it ended several times, and the next start has to wait")
        self._failures += 1
        step = min(self._failures, len(BACKOFF_SECONDS)) - 1
        self._started = _spawn()
        deadline, pause = time.monotonic() + START_SECONDS, threading.Event()
        while time.monotonic() < deadline and self._started.poll() is None:
            if (connection := self._meet(game=True)) is not None:
                logger().info("The memory process runs (%s).", self._pid)
                self._not_before = time.monotonic() + BACKOFF_SECONDS[step]
                return connection
            pause.wait(0.05)
        self._not_before = time.monotonic() + BACKOFF_SECONDS[step]
        raise MemoryProcessAway(f"it does not start (exit status {self._started.poll()})")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._started is not None:
            self._started.poll()  # leaves no zombie


def _spawn() -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "server.conf.settings"),
        "PYTHONPATH": os.pathsep.join(str(Path(each).resolve()) for each in sys.path),
    }
    folder = Path(settings.LOG_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("wb") as printed:
        return subprocess.Popen(
            [sys.executable, "-m", "contrib_ai_memory.memory_process"],
            cwd=settings.GAME_DIR,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the game's terminal is not for it
        )


do = MemoryProcess().do
