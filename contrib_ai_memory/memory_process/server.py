"""The memory process: does one job at a time, in its main thread, until nobody needs it.

It ends when it is told to, when its settings or its code are older than the game's, and when no
client has been connected for `LINGER_SECONDS`: a reload is over by then, so the game is gone. A
file lock makes it the only one of its game. It may be killed at any moment: what the store
acknowledged is on disk, and a game that lost a job does it again as after a kill of its own.

Where the store's folder is another than it was after the last job (somebody put a backup back by
hand), it ends at once and writes nothing: what it has open are the files that were there before.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pickle
import queue
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

from django.conf import settings

from .. import atomic_file, conf, log
from ..embedding import embedder
from ..store import condition, memory_store
from . import channel
from .channel import Done

LINGER_SECONDS = 60.0
LOCK_SECONDS = 20.0  # for the process before this one to end
LOOK_SECONDS = 0.5  # between looks whether anybody is connected
REPLACED = 3  # exit status where the store's folder was replaced
LOG_LINES = 1000  # kept for the next answer
NICE = 10  # where processors are scarce, the game and its portal get them first
# Linux may share processors out among sessions first (sched(7)): this one's niceness among them
AUTOGROUP = Path("/proc/self/autogroup")


def main() -> int:
    born = time.time()
    _let_the_game_go_first()
    folder = channel.folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    with _only_one(folder / channel.LOCK) as alone:
        if not alone:
            return 0  # another one serves
        MemoryServer(folder, born).serve()
    return 0


def _let_the_game_go_first() -> None:
    os.nice(NICE)
    if os.getsid(0) != os.getpid():
        return  # whatever started it is in the same group
    with suppress(OSError):  # not there without autogroups; read-only in some containers
        AUTOGROUP.write_text(str(NICE))


@contextmanager
def _only_one(file: Path) -> Iterator[bool]:
    deadline, pause = time.monotonic() + LOCK_SECONDS, threading.Event()
    with file.open("w") as held:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield True
                return
            if time.monotonic() >= deadline:
                yield False
                return
            pause.wait(0.05)


class _Folder:
    """A folder as it was seen last; held open, so that no new one gets its inode."""

    def __init__(self, path: Path):
        self._path = path
        self._held: int | None = None

    def look(self) -> None:
        if self._held is not None and self.is_another():
            os.close(self._held)
            self._held = None
        if self._held is None:
            with suppress(FileNotFoundError):
                self._held = os.open(self._path, os.O_RDONLY)

    def is_another(self) -> bool:
        if self._held is None:
            return False
        try:
            return not os.path.samestat(os.fstat(self._held), self._path.stat())
        except FileNotFoundError:
            return True


class MemoryServer:
    """Listener, connections and the queue of jobs."""

    def __init__(self, folder: Path, born: float):
        self._folder = folder  # of socket and key; owner-only
        self._born = born  # before any code of the game was imported, seconds since 1970
        self._jobs: queue.SimpleQueue[tuple[Connection, bytes]] = queue.SimpleQueue()
        self._connected: set[Connection] = set()
        self._alone_since = time.monotonic()
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._lines: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._store = _Folder(conf.directory())

    def serve(self) -> None:
        key = secrets.token_bytes(32)
        with Listener(family="AF_UNIX", authkey=key) as listener:  # in a folder of this process
            peer = {"address": listener.address, "key": key.hex(), "pid": os.getpid()}
            atomic_file.write(self._folder / channel.PEER, json.dumps(peer))
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            try:
                log.send_to(QueueHandler(self._lines))
                import django
                import evennia

                django.setup()
                evennia._init()
                self._work()
            finally:
                (self._folder / channel.PEER).unlink(missing_ok=True)
                memory_store.close_shared()

    # --- connections (threads of their own) -------------------------------------------------------

    def _accept(self, listener: Listener) -> None:
        while not self._ending.is_set():
            try:
                connection = listener.accept()
            except (AuthenticationError, EOFError, OSError) as refused:
                logging.warning("a connection was refused: %r", refused)
                self._ending.wait(0.1)
                continue
            with self._lock:
                self._connected.add(connection)
            threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: Connection) -> None:
        try:
            while not self._ending.is_set():
                message = connection.recv_bytes()
                kind, data = message[:1], message[1:]
                if kind == channel.HELLO:
                    self._greet(connection, *data.decode().split())
                elif kind == channel.JOB:
                    self._jobs.put((connection, data))
                elif kind == channel.END:
                    self._ending.set()
        except (EOFError, OSError):
            pass  # the client is gone
        finally:
            with self._lock:
                self._connected.discard(connection)
                self._alone_since = time.monotonic()

    def _greet(self, connection: Connection, game: str, settings_seen: str) -> None:
        stale = settings_seen != channel.fingerprint() or self._code_changed()
        connection.send_bytes(f"{os.getpid()} {int(stale)}".encode())
        if stale and game == "1":  # a process with other settings or newer code makes room
            self._ending.set()

    def _code_changed(self) -> bool:
        ours = Path(__file__).parents[1], Path(settings.GAME_DIR)
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if not file or not any(Path(file).is_relative_to(each) for each in ours):
                continue
            with suppress(OSError):  # a file that is gone can be imported no more
                if Path(file).stat().st_mtime > self._born:
                    return True
        return False

    # --- jobs (main thread) -----------------------------------------------------------------------

    def _work(self) -> None:
        while not self._ending.is_set():
            try:
                connection, data = self._jobs.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                self._end_if_replaced()
                with self._lock:
                    alone = not self._connected
                if alone and time.monotonic() - self._alone_since >= LINGER_SECONDS:
                    return
                continue
            self._end_if_replaced()
            answer = channel.dumps(self._do(data))
            self._store.look()
            with suppress(OSError):  # nobody waits for it any more
                connection.send_bytes(answer)

    def _end_if_replaced(self) -> None:
        if self._store.is_another():
            logging.warning("The store's folder was replaced: this process ends.")
            os._exit(REPLACED)  # nothing is closed, since closing writes

    def _do(self, data: bytes) -> Done:
        writes = condition.writes()
        try:
            job, args, expected, troubles = pickle.loads(data)
            if troubles is not None:
                memory_store.expected = expected
                condition.take_over(condition.known(), troubles)
            value, failed = job(*args), False
            channel.dumps(value)
        except Exception as error:  # noqa: BLE001 - the caller gets it
            value, failed = channel.portable(error), True
        begun = condition.writes() - writes
        lines = (self._lines.get() for _ in range(min(LOG_LINES, self._lines.qsize())))
        return Done(value, failed, condition.known(), begun, embedder.trouble(), tuple(lines))
