"""Access control of pages and API: each request is checked and answered on the reactor thread.

Django's views run in pool threads, but memories and game objects belong to the reactor thread. A
view hands over a function and plain arguments and waits for a limited time; only plain data comes
back.

An account without access to memories gets the same answer whether an NPC exists or not. An account
with access gets "no such NPC" for one whose lock keeps it out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

from django.http import Http404
from evennia.accounts.models import AccountDB
from twisted.internet import defer
from twisted.python import threadable

from .. import offload
from ..admin import access, game_npcs, ids, jobs, requests, undo_log
from ..embedding.model import ModelError
from ..sleep.night import NotNow, SwitchedOff
from ..store.condition import StoreError

TIMEOUT = 10.0  # seconds a page may take, which usually covers loading the embedding model
WHOLE_MEMORY = 60.0  # seconds for a preview that reads whole memories
POLL = 0.25  # seconds between checks for a server stop, which waits for its web threads


class TooSlow(TimeoutError):
    """The reactor thread did not answer in time. Work already started goes on; its result is
    dropped."""


class NotPermitted(PermissionError):
    """The account is no staff, or may look at this memory and not change it or erase from it."""


class NotThere(LookupError):
    """There is no such NPC, task or file, or it is not for this account."""


NOT_FOUND = (
    NotThere,
    jobs.NpcDeleted,
    ids.UnknownMemory,
    ids.UnknownPerson,
    requests.UnknownRequest,
    Http404,
)
BUSY = (TooSlow, offload.Busy, offload.TimedOut)  # worth another try in a few seconds
INTERNAL_ERROR = "Internal error. Details are in server/logs/ai_memory.log."

_PROBLEMS: tuple[tuple[tuple[type[BaseException], ...], int, str], ...] = (
    ((NotPermitted,), 403, "Access denied"),
    (NOT_FOUND, 404, "Not found"),
    ((NotNow, SwitchedOff, undo_log.NothingToUndo), 409, "Not possible now"),
    (BUSY, 503, "The memory is busy"),
    ((StoreError, ModelError), 503, "The memory store is unavailable"),  # until it is repaired
    ((ValueError,), 400, "Not possible"),
)

_REFUSALS = {
    "edit": "You may view {npc}'s memory but not change it (lock memory_edit).",
    "erase": "Erasing from {npc}'s memory requires the Admin permission (lock memory_erase).",
}


def problem(error: BaseException) -> tuple[int, str, str]:
    """Return status, title and sentence for what a function raised; 500 for the unexpected."""
    for kinds, status, title in _PROBLEMS:
        if isinstance(error, kinds) and (status != 400 or jobs.is_expected(error)):
            return status, title, str(error)
    return 500, "Something went wrong", INTERNAL_ERROR


def ask(
    account_id: int | None,
    function: Callable[..., Any],
    *args: Any,
    timeout: float = TIMEOUT,
    **kwargs: Any,
) -> Any:
    """Return `function(account, *args, **kwargs)`, called on the reactor thread.

    Raises:
        NotPermitted: The account is neither staff nor a Builder.
        TooSlow
    """

    def checked() -> Any:
        account = AccountDB.objects.filter(id=account_id).first() if account_id else None
        if not access.may(account, None, "look"):
            raise NotPermitted(
                "These pages are for the staff of the game. It takes permission Builder."
            )
        return function(account, *args, **kwargs)

    return on_reactor(checked, timeout=timeout)


def ask_npc(
    account_id: int | None,
    npc_id: int,
    access_type: access.Action,
    function: Callable[..., Any],
    *args: Any,
    timeout: float = TIMEOUT,
    **kwargs: Any,
) -> Any:
    """Return `function(npc, account, *args, **kwargs)`, called on the reactor thread.

    Raises:
        NotThere: There is none of that id, or the account may not see it.
        NotPermitted
        NpcDeleted: Meanwhile.
        TooSlow
    """

    def checked(account: Any) -> Any:
        npc = game_npcs.npc_of(npc_id)
        if npc is None or not access.may(account, npc, "look"):
            raise NotThere("There is no NPC with a memory under that number.")
        if not access.may(account, npc, access_type):
            raise NotPermitted(_REFUSALS[access_type].format(npc=npc.key))
        return jobs.unless_deleted(function, npc, account, *args, **kwargs)

    return ask(account_id, checked, timeout=timeout)


# --- the way to the reactor thread ----------------------------------------------------------------


def on_reactor(
    function: Callable[..., Any], *args: Any, timeout: float = TIMEOUT, **kwargs: Any
) -> Any:
    """Call `function` on the reactor thread and return its result, or that of its Deferred; without
    a running reactor (tests, a shell) at once.

    Twisted's `blockingCallFromThread` would wait for ever: a stalled reactor would take every web
    thread with it.

    Args:
        function: Must return plain data: no Evennia or Django object may leave the reactor thread.
        timeout: Seconds.

    Raises:
        TooSlow: No result in time. A call that was still queued is cancelled.
        RuntimeError: Called on the reactor thread, which must never wait.
    """
    from twisted.internet import reactor

    work = partial(defer.maybeDeferred, function, *args, **kwargs)
    if not reactor.running:
        return offload.wait(work())
    if threadable.isInIOThread():
        raise RuntimeError("on_reactor was called on the reactor thread; use the Deferred instead.")
    answer: Future = Future()
    reactor.callFromThread(_begin, answer, work)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        wait([answer], min(POLL, timeout))
        if answer.done():
            return answer.result()
        if offload.stopping():
            break
    answer.cancel()
    stopping = offload.stopping()
    raise TooSlow("The server is stopping." if stopping else f"No answer within {timeout:g} s.")


def _begin(answer: Future, work: Callable[[], defer.Deferred]) -> None:
    if answer.set_running_or_notify_cancel():
        work().addCallbacks(answer.set_result, lambda failure: answer.set_exception(failure.value))
