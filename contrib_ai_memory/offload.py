"""Worker threads and the way back to the reactor.

The reactor thread never waits: it submits plain data and gets a Deferred. Two lanes:

- `MEMORY`, one thread: embedding, Mem0 and Qdrant. One thread, so that answers go first by
  priority and the stores need no locks of their own.
- `MODEL`, a few threads: language-model calls, which wait on a network.

The threads are daemons, are never joined and never touch an Evennia or Django object: a worker
that is still busy at `evennia reload` would otherwise keep the old process alive and the game down
(EVENNIA.md). Where no reactor runs (management commands, tests, a shell) there is nobody to keep
waiting, and the work is done at once in the caller's thread.
"""

from __future__ import annotations

import gc
import itertools
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet import defer
from twisted.python import failure

from .log import logger

MEMORY = "memory"
MODEL = "model"

# answers to players go first, then what staff look at, then housekeeping
REPLY, LOOK, AWAKE, NIGHT = range(4)

QUEUE_LENGTH = 256
SETTLE_SECONDS = 20.0
SWITCH_SECONDS = 0.001  # that a busy worker keeps the interpreter while the reactor waits for it
GIVE_WAY_SECONDS = 0.05  # at most
TURN_SECONDS = 0.001  # of one turn of the reactor, for all that `breathe`


class Busy(RuntimeError):
    """A lane's queue is full. Nothing was started; housekeeping tries again at its next tick."""


class TimedOut(TimeoutError):
    """A job took longer than its time-out. Its late result is dropped."""


class Lane:
    """Daemon threads behind one bounded priority queue."""

    def __init__(self, name: str, threads: int = 1, maxsize: int = QUEUE_LENGTH):
        self.name = name
        self._threads = threads
        self._queue: queue.PriorityQueue = queue.PriorityQueue(maxsize)
        self._order = itertools.count()
        self._started = 0
        self._lock = threading.Lock()
        self._closed = False
        self._idle = threading.Event()
        self._idle.set()

    def submit(self, job: Callable[[], Any], priority: int, timeout: float) -> defer.Deferred:
        """Run `job` on a thread of this lane; the Deferred fires on the reactor thread.

        Args:
            job: Takes nothing, touches only plain data.
            priority: REPLY, LOOK, AWAKE or NIGHT.
            timeout: Seconds from now, waiting in the queue included.

        Raises (in the Deferred):
            Busy: The queue is full.
            TimedOut: No result within `timeout`.
        """
        from twisted.internet import reactor

        if self._closed:
            return defer.fail(Busy("the server is stopping"))
        done: defer.Deferred = defer.Deferred()
        try:
            self._queue.put_nowait((priority, next(self._order), job, done))
        except queue.Full:
            return defer.fail(Busy(f"the {self.name} worker has {QUEUE_LENGTH} jobs waiting"))
        self._ensure_threads()

        def expire() -> None:
            if not done.called:
                done.errback(TimedOut(f"the {self.name} worker gave no answer in {timeout:g} s"))

        timer = reactor.callLater(timeout, expire)

        def settle(result: Any) -> Any:
            if timer.active():
                timer.cancel()
            return result

        return done.addBoth(settle)

    def settle(self, timeout: float) -> None:
        """Begin no more jobs, and wait for the running one (lanes of one thread)."""
        self._closed = True
        self._idle.wait(timeout)

    def _ensure_threads(self) -> None:
        with self._lock:
            while self._started < self._threads:
                self._started += 1
                threading.Thread(
                    target=self._work, name=f"ai_memory-{self.name}-{self._started}", daemon=True
                ).start()

    def _work(self) -> None:
        from twisted.internet import reactor

        while True:
            priority, _order, job, done = self._queue.get()
            self._idle.clear()
            try:
                if done.called or self._closed:  # its time ran out in the queue
                    continue
                _here.gives_way = priority >= NIGHT
                result = job()
            except BaseException:  # noqa: BLE001  (carried whole to whoever asked)
                result = failure.Failure()
            finally:
                self._idle.set()
            reactor.callFromThread(_deliver, done, result)


def _deliver(done: defer.Deferred, result: Any) -> None:
    if not done.called:
        _fire(done, result)


def _fire(done: defer.Deferred, result: Any) -> None:
    """Let the work go on that waits for this, and have workers give way until it pauses."""
    _at_work.set()
    try:
        done.callback(result)
    finally:
        _at_work.clear()
        _paused.set()


def give_way() -> None:
    """Where a worker is about to keep the interpreter for milliseconds, in one call of a library:
    a job of the night waits until the reactor thread has done its piece of work, if it is at one.

    That lets go of the interpreter at each query of the database; without this it would have it
    back only after a whole call of the worker's, once for every query.
    """
    if getattr(_here, "gives_way", False) and _at_work.is_set():
        _paused.clear()
        if _at_work.is_set():
            _paused.wait(GIVE_WAY_SECONDS)


_waiting: deque[defer.Deferred] = deque()  # for a turn of the reactor, the longest first
_turn: Any = None  # the call that gives it to them
_here = threading.local()  # `gives_way`: whether this thread is at a job of the night
_at_work, _paused = threading.Event(), threading.Event()  # whether the reactor is at a piece
_lanes: dict[str, Lane] = {}
_stopping = threading.Event()


def run(
    lane: str,
    job: Callable[..., Any],
    *args: Any,
    priority: int = AWAKE,
    timeout: float = 60.0,
) -> defer.Deferred:
    """Run `job(*args)` off the reactor thread and give its result as a Deferred.

    Args:
        lane: MEMORY or MODEL.
        job: A function of plain data.
        priority: REPLY before LOOK before AWAKE before NIGHT.
        timeout: Seconds until the Deferred fails with `TimedOut`.
    """
    from twisted.internet import reactor

    if not reactor.running:
        return defer.execute(job, *args)
    if not _lanes:
        # at its end Python would take apart a million objects of the embedding model, for seconds,
        # while the new server of a reload meets the old one's ports: they are left where they are
        reactor.addSystemEventTrigger("after", "shutdown", gc.freeze)
        # the reactor thread lets go at each query of the database, and has it back that soon
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
    if lane not in _lanes:
        _lanes[lane] = Lane(lane, threads=_threads_of(lane))
    return _lanes[lane].submit(lambda: job(*args), priority, timeout)


def in_game() -> bool:
    """Whether a reactor runs, so that others would wait for what takes long."""
    from twisted.internet import reactor

    return bool(reactor.running)


def settle() -> None:
    """Let the memory worker come to rest: the last thing before the server stops. It may block.

    A process cannot end while a thread of it imports the model (seconds, once after a start): it
    hangs, the new server of a reload meets it, and the game stays down. Jobs of embedding and store
    take milliseconds. Calls to language models are not waited for.
    """
    _stopping.set()
    if MEMORY in _lanes:
        _lanes[MEMORY].settle(SETTLE_SECONDS)


def stopping() -> bool:
    """Whether the server is about to stop: what still waits for the reactor thread gives up."""
    return _stopping.is_set()


def _threads_of(lane: str) -> int:
    from . import conf

    llm = conf.get().LLM
    return llm.max_concurrency if lane == MODEL and llm else 1


def breathe() -> defer.Deferred:
    """Fires at one of the reactor's next turns: a pause in work that only its thread may do.

    However many NPCs work at once, a turn goes to no more of them than `TURN_SECONDS` hold: the
    game has every turn's rest.
    """
    from twisted.internet import reactor

    if not reactor.running:
        return defer.succeed(None)
    _waiting.append(defer.Deferred())
    _next_turn(reactor)
    return _waiting[-1]


def _next_turn(reactor: Any) -> None:
    global _turn
    if _waiting and not (_turn and _turn.active()):
        _turn = reactor.callLater(0, _give_turn, reactor)


def _give_turn(reactor: Any) -> None:
    until = time.perf_counter() + TURN_SECONDS
    while _waiting:
        _fire(_waiting.popleft(), None)
        if time.perf_counter() >= until:
            break
    _next_turn(reactor)


def wait(result: defer.Deferred) -> Any:
    """The result of a Deferred where no reactor runs, and it has therefore fired already.

    Raises:
        RuntimeError: It has not fired: a reactor runs, and must not be waited for.
    """
    seen: list[Any] = []
    result.addBoth(seen.append)
    if not seen:
        raise RuntimeError("offload.wait was called where the reactor runs: use the Deferred")
    if isinstance(seen[0], failure.Failure):
        seen[0].raiseException()
    return seen[0]


def log_failure(reason: failure.Failure, doing: str) -> None:
    """Errback for work that nobody waits for: the error goes to the log, once."""
    logger().error("%s failed: %s", doing, reason.getErrorMessage(), exc_info=_exc_info(reason))


def _exc_info(reason: failure.Failure) -> tuple:
    return reason.type, reason.value, reason.getTracebackObject()
