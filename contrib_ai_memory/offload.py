"""Worker threads and the way back to the reactor.

The reactor thread never waits: it submits plain data and gets a Deferred. The threads are daemons,
are never joined and never touch an Evennia or Django object: a worker that is still busy at
`evennia reload` would otherwise keep the old process alive and the game down. Where no reactor runs
(management commands, tests, a shell) the work is done at once in the caller's thread.

With the setting `MEMORY_PROCESS` the thread of `MEMORY` only waits: the jobs are done in a process
apart (`memory_process`), and what is written below about the GIL and the stop does not apply.
"""

from __future__ import annotations

import gc
import heapq
import itertools
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.internet import defer
from twisted.python import failure

from .errors import ExpectedError
from .log import logger

MEMORY = "memory"  # embedding, Mem0, Qdrant: one thread, so that the stores need no locks
MODEL = "model"  # language-model calls for replies, which wait on a network
BACKGROUND_MODEL = "background model"  # those for nights take no thread from replies
THREADS = {MEMORY: 1, MODEL: 4, BACKGROUND_MODEL: 4}

# answers to players first, then pages for staff, then housekeeping
REPLY, LOOK, AWAKE, NIGHT = range(4)

QUEUE_LENGTH = 256
SETTLE_SECONDS = 20.0
SWITCH_SECONDS = 0.001  # interpreter switch interval: how long a busy worker holds the GIL
GIVE_WAY_SECONDS = 0.05  # longest wait of `give_way`
TURN_SECONDS = 0.001  # of one reactor turn, for all work and results that wait for one
# how many times as long as a piece of housekeeping took the game has the reactor to itself after it
REST, LONGEST_REST = 3.0, 1.0  # times, seconds
# how much newer background work may be and still go before a night's: talk without end must not
# keep NPCs from their nights
NIGHT_WAITS = 10.0  # seconds

Apart = Callable[[Callable[..., Any], tuple[Any, ...], bool], Any]


class Busy(ExpectedError):
    """A lane's queue is full. Nothing was started; housekeeping retries at its next tick."""


class TimedOut(ExpectedError, TimeoutError):
    """A job took longer than its time-out. Its late result is dropped."""


def run(
    lane: str,
    job: Callable[..., Any],
    *args: Any,
    priority: int = AWAKE,
    timeout: float = 60.0,
    check: Callable[[], None] | None = None,
    here: bool = False,
    reads: bool = False,
) -> defer.Deferred:
    """Run `job(*args)` off the reactor thread; the Deferred fires on it.

    Args:
        job: A function of plain data. For MEMORY, where it may run in the memory process, it is one
            of a module, and changes none of its arguments (the tests check all that by type).
        priority: REPLY before LOOK before AWAKE before NIGHT; but a job of the night goes before
            background work that came more than `NIGHT_WAITS` after it.
        timeout: Seconds until the job is done, waiting in the queue included.
        check: Called on the worker thread right before the job, which is skipped if it raises.
        here: Run the job in this process even if memory jobs have a process apart. It may take
            and return what only this process has, such as open files.
        reads: The job changes nothing: it is done again if the process apart ends meanwhile.

    The Deferred fails with Busy or TimedOut.
    """
    from twisted.internet import reactor

    apart = _apart if lane == MEMORY and not here else None

    def task() -> Any:
        if check is not None:
            check()
        return apart(job, args, reads) if apart else job(*args)

    if not reactor.running:
        return defer.execute(task)
    if not _lanes and _apart is None:
        # at exit Python would free a million objects of the embedding model, which takes seconds,
        # while the new server of a reload waits for this one's ports: they are kept
        reactor.addSystemEventTrigger("after", "shutdown", gc.freeze)
        # the reactor releases the GIL on every database query, and gets it back within this time
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
    if lane not in _lanes:
        _lanes[lane] = Lane(lane, THREADS[lane])
    return _lanes[lane].submit(task, priority, timeout)


def read(job: Callable[..., Any], *args: Any, priority: int = REPLY) -> defer.Deferred:
    """`run` a job of MEMORY that changes nothing; by default somebody waits for it."""
    return run(MEMORY, job, *args, priority=priority, reads=True)


def run_apart(do: Apart) -> None:
    """Have `do(job, args, reads)` called for each job of MEMORY from now on."""
    global _apart
    _apart = do


def breathe(priority: int = LOOK) -> defer.Deferred:
    """Pause work of the reactor thread; fires at one of its next turns.

    A turn runs as much of it as fits into `TURN_SECONDS`, by priority. Housekeeping, of priority
    AWAKE or NIGHT, has at most a share of 1 / (1 + `REST`) of the reactor's time (no rest is longer
    than `LONGEST_REST`), and the results of its jobs wait for a turn too.
    """
    from twisted.internet import reactor

    if not reactor.running:
        return defer.succeed(None)
    done: defer.Deferred = defer.Deferred()
    _wait_for_turn(done, None, priority)
    return done


def give_way() -> None:
    """Let the reactor finish its piece of work before a night's job holds the GIL in a long call.

    The reactor releases the GIL on every database query; without this it would wait for a whole
    library call each time to get it back.
    """
    if getattr(_here, "gives_way", False) and _at_work.is_set():
        _paused.clear()
        if _at_work.is_set():
            _paused.wait(GIVE_WAY_SECONDS)


def wait(result: defer.Deferred) -> Any:
    """Return the result of a Deferred that has fired already, since no reactor runs."""
    seen: list[Any] = []
    result.addBoth(seen.append)
    if not seen:
        raise RuntimeError("offload.wait was called where the reactor runs: use the Deferred")
    if isinstance(seen[0], failure.Failure):
        seen[0].raiseException()
    return seen[0]


def log_failure(reason: failure.Failure, doing: str) -> None:
    """Log the error of work that nobody waits for (errback); an expected one in a line."""
    if reason.check(ExpectedError):
        logger().warning("%s: %s", doing, reason.getErrorMessage())
        return
    exc_info = reason.type, reason.value, reason.getTracebackObject()
    logger().error("%s failed: %s", doing, reason.getErrorMessage(), exc_info=exc_info)


def in_game() -> bool:
    """Return whether a reactor runs, which slow work would block."""
    from twisted.internet import reactor

    return bool(reactor.running)


def is_server() -> bool:
    """Return whether this process is the game's Server: twistd that runs Evennia's server.py.

    The launcher runs a reactor too, in `evennia start`, `status` and `stop`, beside the Server.
    """
    run = (each.removeprefix("--python=") for each in sys.argv[1:] if each.startswith("--python="))
    return any(Path(each).parts[-2:] == ("server", "server.py") for each in run)


def drain() -> None:
    """Wait for the memory worker's running job: the last thing before the server stops. May block.

    A process that ends while one of its threads imports the embedding model hangs; the new server
    of a reload meets it, and the game stays down. Neither language models nor a memory process,
    which finishes its job without this one, are waited for.
    """
    _stopping.set()
    if MEMORY in _lanes:
        _lanes[MEMORY].drain(SETTLE_SECONDS if _apart is None else 0.0)


def stopping() -> bool:
    """Return whether the server is about to stop, and work that waits gives up."""
    return _stopping.is_set()


# --- lanes ----------------------------------------------------------------------------------------


class Lane:
    """Daemon threads behind one bounded priority queue."""

    def __init__(self, name: str, threads: int):
        self.name = name
        self._queue: queue.PriorityQueue = queue.PriorityQueue(QUEUE_LENGTH)
        self._closed = False
        self._idle = threading.Event()
        self._idle.set()
        for number in range(1, threads + 1):
            own = f"ai_memory-{name}-{number}"
            threading.Thread(target=self._work, name=own, daemon=True).start()

    def submit(self, job: Callable[[], Any], priority: int, timeout: float) -> defer.Deferred:
        """Queue `job`, which takes nothing and touches only plain data; see `run`."""
        from twisted.internet import reactor

        if self._closed:
            return defer.fail(Busy("the server is stopping"))
        done: defer.Deferred = defer.Deferred()

        def expire() -> None:
            if not done.called:
                done.errback(TimedOut(f"the {self.name} worker gave no answer in {timeout:g} s"))

        timer = reactor.callLater(timeout, expire)
        try:
            self._queue.put_nowait((_rank(priority), next(_order), priority, job, done, timer))
        except queue.Full:
            timer.cancel()
            return defer.fail(Busy(f"the {self.name} worker has {QUEUE_LENGTH} jobs waiting"))
        return done

    def drain(self, timeout: float) -> None:
        """Start no more jobs, and wait for the running one (lanes of one thread)."""
        self._closed = True
        self._idle.wait(timeout)

    def _work(self) -> None:
        from twisted.internet import reactor

        while True:
            _place, _number, priority, job, done, timer = self._queue.get()
            self._idle.clear()
            try:
                if done.called or self._closed:  # it timed out in the queue
                    continue
                _here.gives_way = priority >= NIGHT
                result = job()
            except BaseException:  # noqa: BLE001  (passed on to the caller)
                result = failure.Failure()
            finally:
                self._idle.set()
            reactor.callFromThread(_deliver, done, timer, result, priority)


_lanes: dict[str, Lane] = {}
_apart: Apart | None = None  # does the jobs of MEMORY in a process apart
_here = threading.local()  # `gives_way`: whether this thread runs a job of the night
_at_work, _paused = threading.Event(), threading.Event()  # whether the reactor runs a piece of work
_stopping = threading.Event()
# what waits for a turn, with what it is given: heaps
_Waiting = list[tuple[tuple[int, float], int, defer.Deferred, Any]]
_people: _Waiting = []
_housekeeping: _Waiting = []
_order = itertools.count()
_rests_until = 0.0  # seconds of time.perf_counter, for housekeeping
_turn: Any = None  # the scheduled call of `_give_turn`


def _deliver(done: defer.Deferred, timer: Any, result: Any, priority: int) -> None:
    if timer.active():  # the job is done; that its result waits for a turn is no time-out
        timer.cancel()
    if priority >= AWAKE:
        _wait_for_turn(done, result, priority)
    elif not done.called:
        _fire(done, result)


def _fire(done: defer.Deferred, result: Any) -> None:
    """Resume the work that waits for `done`; workers give way until it pauses again."""
    _at_work.set()
    try:
        done.callback(result)
    finally:
        _at_work.clear()
        _paused.set()


def _rank(priority: int) -> tuple[int, float]:
    late = NIGHT_WAITS if priority >= NIGHT else 0.0
    return min(priority, AWAKE), time.monotonic() + late


def _wait_for_turn(done: defer.Deferred, result: Any, priority: int) -> None:
    waiting = _housekeeping if priority >= AWAKE else _people
    heapq.heappush(waiting, (_rank(priority), next(_order), done, result))
    _schedule_turn()


def _schedule_turn() -> None:
    from twisted.internet import reactor

    global _turn
    if _people:
        delay = 0.0
    elif _housekeeping:
        delay = max(0.0, _rests_until - time.perf_counter())
    else:
        return
    if _turn and _turn.active():
        if _turn.getTime() <= reactor.seconds() + delay:
            return
        _turn.cancel()
    _turn = reactor.callLater(delay, _let_writes_by)


def _let_writes_by() -> None:
    """Give the turn in the reactor's next round: before that it sends what players wait for."""
    from twisted.internet import reactor

    global _turn
    _turn = reactor.callLater(0, _give_turn)


def _give_turn() -> None:
    global _rests_until
    until = time.perf_counter() + TURN_SECONDS
    _fire_waiting(_people, until)
    begun = time.perf_counter()
    if begun >= _rests_until:
        _fire_waiting(_housekeeping, until)
        ended = time.perf_counter()
        _rests_until = ended + min(REST * (ended - begun), LONGEST_REST)
    _schedule_turn()


def _fire_waiting(waiting: _Waiting, until: float) -> None:
    while waiting:
        _place, _number, done, result = heapq.heappop(waiting)
        if not done.called:  # the one who waited has given up
            _fire(done, result)
        if time.perf_counter() >= until:
            break
