"""From a web thread to the reactor thread and back: what a page asks, it asks there.

Django's views run in pool threads, and everything of a memory belongs to the reactor thread. So a
view hands over a function and plain arguments, and waits, for so long and no longer; NPCs are
looked up inside that function, and only plain data comes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from twisted.internet import defer
from twisted.python import failure, threadable

from .. import offload

TIMEOUT = 10.0  # seconds that a page may take; the embedding model is loaded in less, mostly
LOOK_UP = 0.25  # seconds between two looks at whether the server stops: it waits for its threads


class TooSlow(TimeoutError):
    """The reactor thread gave no answer in time. What was begun goes on; its result is dropped."""


def on_reactor(
    function: Callable[..., Any], *args: Any, timeout: float = TIMEOUT, **kwargs: Any
) -> Any:
    """Call `function` on the reactor thread and give its result, or that of its Deferred.

    Where no reactor runs (tests, a shell) it is called at once. `blockingCallFromThread` of Twisted
    does nearly this, but waits for ever: a stalled reactor would take every web thread with it.

    Args:
        function: Gives plain data: no object of Evennia or Django leaves the reactor thread.
        timeout: Seconds.

    Raises:
        TooSlow: No result in time. What waits for its turn is not begun any more.
        RuntimeError: Called on the reactor thread, which must never wait.
    """
    from twisted.internet import reactor

    if not reactor.running:
        return offload.wait(defer.maybeDeferred(function, *args, **kwargs))
    if threadable.isInIOThread():
        raise RuntimeError("on_reactor was called on the reactor thread: use the Deferred itself.")
    answer: Future = Future()
    reactor.callFromThread(_begin, answer, function, args, kwargs)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        wait([answer], min(LOOK_UP, timeout))
        if answer.done():
            return answer.result()
        if offload.stopping():
            break
    answer.cancel()
    raise TooSlow(
        "The server is stopping."
        if offload.stopping()
        else f"There was no answer within {timeout:g} s."
    )


def _begin(answer: Future, function: Callable[..., Any], args: tuple, kwargs: dict) -> None:
    if not answer.set_running_or_notify_cancel():
        return  # whoever asked has gone
    result = defer.maybeDeferred(function, *args, **kwargs)
    result.addCallbacks(answer.set_result, lambda reason: _fail(answer, reason))


def _fail(answer: Future, reason: failure.Failure) -> None:
    answer.set_exception(reason.value)
