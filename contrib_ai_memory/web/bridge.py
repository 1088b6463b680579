"""Calls from a web thread to the reactor thread.

Django's views run in pool threads, but memories and game objects belong to the reactor thread. A
view hands over a function and plain arguments and waits for a limited time; only plain data comes
back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from twisted.internet import defer
from twisted.python import threadable

from .. import offload
from ..embedding.model import ModelError
from ..store.condition import StoreError

TIMEOUT = 10.0  # seconds a page may take, which usually covers loading the embedding model
POLL = 0.25  # seconds between checks for a server stop, which waits for its web threads


class TooSlow(TimeoutError):
    """The reactor thread did not answer in time. Work already started goes on; its result is
    dropped."""


BUSY = (TooSlow, offload.Busy, offload.TimedOut)  # worth another try in a few seconds
UNAVAILABLE = (StoreError, ModelError)  # until an operator has fixed it


def on_reactor(
    function: Callable[..., Any], *args: Any, timeout: float = TIMEOUT, **kwargs: Any
) -> Any:
    """Call `function` on the reactor thread and return its result, or that of its Deferred.

    Without a running reactor (tests, a shell) it is called at once. Twisted's
    `blockingCallFromThread` would wait for ever, so a stalled reactor would take every web thread
    with it.

    Args:
        function: Must return plain data: no Evennia or Django object may leave the reactor thread.
        timeout: Seconds.

    Raises:
        TooSlow: No result in time. A call that was still queued is cancelled.
        RuntimeError: Called on the reactor thread, which must never wait.
    """
    from twisted.internet import reactor

    if not reactor.running:
        return offload.wait(defer.maybeDeferred(function, *args, **kwargs))
    if threadable.isInIOThread():
        raise RuntimeError("on_reactor was called on the reactor thread; use the Deferred instead.")
    answer: Future = Future()
    reactor.callFromThread(_begin, answer, function, args, kwargs)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        wait([answer], min(POLL, timeout))
        if answer.done():
            return answer.result()
        if offload.stopping():
            break
    answer.cancel()
    stopping = "The server is stopping."
    raise TooSlow(stopping if offload.stopping() else f"No answer within {timeout:g} s.")


def _begin(answer: Future, function: Callable[..., Any], args: tuple, kwargs: dict) -> None:
    if answer.set_running_or_notify_cancel():
        result = defer.maybeDeferred(function, *args, **kwargs)
        result.addCallbacks(answer.set_result, lambda failure: answer.set_exception(failure.value))
