"""Turns of the reactor, given in any order: what waits for one goes on when a test says so.

`offload.breathe`, `offload.run` and the reactor's timers leave what they are asked for here. A step
does the next job of the worker, lets one go on of those that wait, or lets the next timer ring, as
a number chooses: so two pieces of work meet at every place at which the reactor may come between
them, and each meeting can be had again.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet import defer, reactor
from twisted.internet.task import Clock
from twisted.python import threadable
from twisted.python.failure import Failure

from contrib_ai_memory import offload

SOON = 1.0  # seconds until a timer for which these steps wait; heartbeats are further away
MOST = 20_000  # steps without an end
_REPLACED = (
    (offload, "breathe"),
    (offload, "run"),
    (reactor, "callLater"),
    (reactor, "running"),
    (threadable, "ioThread"),
)

_lost: list[Any] = []  # what kills cut off: it is never collected, as then its `finally` would run


class Turns:
    """Takes the place of the reactor between `begin` and `end`.

    Attributes:
        given: How many turns there were.
    """

    def __init__(self) -> None:
        self._clock = Clock()
        self._waiting: list[tuple[defer.Deferred, Any]] = []
        self._jobs: list[tuple[Any, ...]] = []
        self._order = itertools.count()
        self._choices: Iterable[int] = iter(())
        self._before: list[Any] = []
        self.given = 0

    def begin(self, choices: Iterable[int]) -> None:
        """Give turns as these numbers choose, and in order when there are no more."""
        self._choices, self.given = iter(choices), 0
        self._before = [getattr(owner, name) for owner, name in _REPLACED]
        ours = self._breathe, self._run, self._clock.callLater, True, threading.get_ident()
        self._put(ours)

    def end(self) -> None:
        """Do all that waits, and put the reactor back."""
        while self.step():
            pass
        if self._before:
            self._put(self._before)
            self._before = []

    def kill(self) -> None:
        """Cut off all that waits, as the end of the process does."""
        _lost.extend([*self._waiting, *self._jobs, self._clock])
        self._waiting, self._jobs, self._clock = [], [], Clock()

    def step(self) -> bool:
        """Give one turn. Returns whether anything waited for one."""
        work = [self._work] * bool(self._jobs)
        rings = [self._ring] * self._rings_soon()
        options = len(work) + len(self._waiting) + len(rings)
        if not options:
            return False
        self.given += 1
        assert self.given < MOST, f"it has no end: {self._jobs} {self._waiting}"
        chosen = next(self._choices, self.given) % options
        if chosen < len(work):
            self._work()
        elif chosen < len(work) + len(self._waiting):
            done, result = self._waiting.pop(chosen - len(work))
            if not done.called:
                done.callback(result)
        else:
            self._ring()
        return True

    def until(self, held: Callable[[], bool]) -> None:
        """Give turns until something is so, or nothing waits."""
        while not held() and self.step():
            pass

    def _put(self, values: Iterable[Any]) -> None:
        for (owner, name), value in zip(_REPLACED, values, strict=True):
            setattr(owner, name, value)

    def _breathe(self, priority: int = offload.LOOK) -> defer.Deferred:
        done: defer.Deferred = defer.Deferred()
        self._waiting.append((done, None))
        return done

    def _run(self, lane: str, job: Callable[..., Any], *args: Any, **options: Any) -> Any:
        done: defer.Deferred = defer.Deferred()
        priority = min(options.get("priority", offload.AWAKE), offload.AWAKE)
        task = (priority, next(self._order), job, args, options.get("check"), done)
        heapq.heappush(self._jobs, task)
        return done

    def _work(self) -> None:
        _priority, _order, job, args, check, done = heapq.heappop(self._jobs)
        try:
            if check is not None:
                check()
            result = job(*args)
        except Exception:  # noqa: BLE001 - passed on to the caller
            result = Failure()
        self._waiting.append((done, result))

    def _rings_soon(self) -> bool:
        calls = self._clock.getDelayedCalls()
        return bool(calls) and min(c.getTime() for c in calls) - self._clock.seconds() <= SOON

    def _ring(self) -> None:
        first = min(call.getTime() for call in self._clock.getDelayedCalls())
        self._clock.advance(max(0.0, first - self._clock.seconds()))
